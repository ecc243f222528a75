"""Input data of a party: numbers, or rows with columns, in memory or on an engine.

Bounds and categories are never read from the data: all parties declared them in the terms.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput, DataError, NotFound, Refused
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, FixedPoint, Units

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.core.engine import Engine

VALUE = "value"
"""Name of the column of plain numbers."""
_TEXT_SUFFIXES = (".txt", "")


class Data(ABC):
    """Rows of one party."""

    rows: int
    """Number of rows."""

    @staticmethod
    def from_value(value: Any) -> Data:
        """Data from a number, a list of numbers, columns by name, a data frame, or a table of ``dc.read``."""
        if isinstance(value, Data):
            return value
        if hasattr(value, "engine") and hasattr(value, "relation"):
            from discreet.releases.method import require_roles

            require_roles(value.card)
            return EngineData(value.engine, value.relation, value.card.unit)
        if isinstance(value, Mapping):
            return MemoryData(value)
        if isinstance(value, int | float | str | Decimal | Fraction | np.generic):
            return MemoryData({VALUE: [value]})
        if hasattr(value, "__dataframe__"):
            names = getattr(value, "column_names", None) or list(value.columns)
            return MemoryData({str(name): _as_list(value[name]) for name in names})
        if value is None or not isinstance(value, Iterable):
            raise BadInput(
                f"A party's input cannot be {'nothing' if value is None else f'of the type {type(value).__name__}'}.",
                hint="Give a number, a list of numbers, columns by name, a data frame, or a table of dc.read.",
            )
        return MemoryData({VALUE: value if isinstance(value, np.ndarray) else list(value)})

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """SHA-256 of the data: a session is resumed with the same data only."""

    @abstractmethod
    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """Values of some columns, row by row."""

    @abstractmethod
    def distinct(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], Units]:
        """Combinations of values of some columns, and the number of rows of each; one may come more than once."""

    @abstractmethod
    def require_one_row_each(self) -> None:
        """Refuse data in which a person has several rows, where that is known."""

    def numbers(self, name: str, encoding: FixedPoint) -> tuple[Units, Units]:
        """Values of a column in units, and the number of rows of each."""
        [values], times = self.distinct([name])
        return encoding.encode(values, "The input" if name == VALUE else f"Column {name!r}"), times

    def counts(self, names: Sequence[str]) -> Counter[tuple[str, ...]]:
        """Number of rows with each combination of values, as texts."""
        columns, times = self.distinct(names)
        counts: Counter[tuple[str, ...]] = Counter()
        for *values, n in zip(*(column.tolist() for column in columns), times.tolist(), strict=True):
            counts[tuple(as_text(value) for value in values)] += n
        return counts


class MemoryData(Data):
    """Data in memory."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: _array(values) for name, values in columns.items()}
        lengths = {column.size for column in self._columns.values()}
        if len(lengths) != 1:
            raise BadInput("All columns need the same number of values, and there must be at least one.")
        [self.rows] = lengths
        _require_row_limit(self.rows)

    @cached_property
    def digest(self) -> bytes:
        return _digest(self._columns)

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        return [self._columns[_known(name, self._columns)] for name in names]

    def distinct(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], Units]:
        """The rows themselves, once each."""
        return self.columns(names), np.ones(self.rows, dtype=np.int64)

    def require_one_row_each(self) -> None:
        """Accept: whose rows they are is unknown, and the statement says that one row each is assumed."""


class EngineData(Data):
    """Data on an engine, which counts rows in place; only what a function needs is fetched."""

    def __init__(self, engine: Engine, relation: exp.Query, unit: str | None = None, digest: bytes = b"") -> None:
        self._engine, self._relation, self._unit = engine, relation, unit
        self._names = list(engine.schema(relation).names)
        if unit is not None:
            _known(unit, self._names)
        self.rows = int(self._fetch("COUNT(*) AS n")[0][0])
        _require_row_limit(self.rows)
        self._digest = digest

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the file, or of names and values in the order in which the engine gives the rows."""
        return self._digest or _digest(dict(zip(self._names, self.columns(self._names), strict=True)))

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        from discreet.core import sql

        return self._fetch(*(sql.column(_known(name, self._names)) for name in names))

    def distinct(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], Units]:
        """Each combination of values once, counted by the engine (``GROUP BY``)."""
        from discreet.core import sql
        from discreet.core.table import count_name

        keys = [sql.column(_known(name, self._names)) for name in names]
        counted = sql.named(sql.count_rows(), count_name(names))
        *values, times = self._fetch(*keys, counted, by=keys)
        return values, times.astype(np.int64)

    def require_one_row_each(self) -> None:
        """Refuse data in which a person has several rows, if the card names the unit column."""
        if self._unit is None:
            return
        _, times = self.distinct([self._unit])
        if times.size and int(times.max()) > 1:
            raise Refused(
                "Some people have several rows, but the noise protects one row.",
                hint="Reduce the data to one row per person first.",
            )

    def _fetch(self, *what: Any, by: Sequence[Any] = ()) -> list[NDArray[Any]]:
        from sqlglot import exp

        query = exp.select(*what).from_(self._relation.subquery("t"))
        table = self._engine.fetch(query.group_by(*(key.copy() for key in by)) if by else query)
        return [column.combine_chunks().to_numpy(zero_copy_only=False) for column in table.columns]


def load(path: str | Path, unit: str | None = None) -> Data:
    """Load data from a text file with one number a line, or from a CSV or Parquet file.

    ``unit`` is the column that says whose each row is, if a person may have several.
    """
    path = Path(path)
    if not path.exists():
        raise NotFound(f"There is no file {path}.")
    if is_text(path):
        return MemoryData({VALUE: _read_numbers(path)})
    from discreet.engines.read import open_source

    source = open_source(path)
    digest = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
    return EngineData(source.engine, source.relation, unit, digest)


def is_text(path: str | Path) -> bool:
    """Whether a file has one number a line, each of another person."""
    return Path(path).suffix.lower() in _TEXT_SUFFIXES


def as_text(value: Any) -> str:
    """A value written as a category: true and false in small letters, whole numbers without a point."""
    if value is None or value != value:  # noqa: PLR0124  # NaN
        raise DataError("A category is missing in some rows.", hint="Remove such rows from the input.")
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _read_numbers(path: Path) -> list[Decimal]:
    numbers = []
    line_number = 0
    try:
        for line in path.read_text("utf-8").split("\n"):
            line_number += 1
            if text := line.strip():
                numbers.append(Decimal(text))
    except (ArithmeticError, UnicodeDecodeError):
        raise DataError(
            f"{path.name}, line {max(line_number, 1)}, is not a number.",
            hint="Write one number per line, with a decimal point.",
        ) from None
    return numbers


def _array(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise BadInput("A column is a list of values.")
    return array


def _as_list(column: Any) -> list[Any]:
    """The values of a data frame's column, as Python's."""
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _known(name: str, names: Iterable[str]) -> str:
    if name not in names:
        columns = ", ".join(names)
        if name == VALUE:
            raise NotFound(
                f"The manifest names no column, and the input has these: {columns}.",
                hint="Give a .txt file with one number a line, or name the column in a new manifest: "
                '--function "mean of=age:0:110".',
            )
        raise NotFound(f"The input has no column {name!r}.", hint=f"It has {columns}.")
    return name


def _require_row_limit(rows: int) -> None:
    if rows > MAX_PARTY_ROWS:
        raise BadInput(f"A party may have at most {MAX_PARTY_ROWS:,} rows, not {rows:,}.")


def _digest(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 of names and values; values that print alike are alike."""
    whole = hashlib.sha256()
    for name, column in sorted(columns.items()):
        kind = "object" if column.dtype.kind not in "iufb" else column.dtype.str
        body = "\0".join(map(str, column)).encode() if kind == "object" else np.ascontiguousarray(column).tobytes()
        for part in (name.encode(), kind.encode(), body):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.digest()

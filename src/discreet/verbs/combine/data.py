"""What a party brings: numbers, or rows with columns, in memory or where a database has them.

Bounds and categories never come from here: all parties declared them in the terms.
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
from discreet.verbs.combine.numbers import MOST_ROWS, Grid, Units

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.core.engine import Engine

VALUE = "value"
"""What the column of plain numbers is called."""
_TEXT = (".txt", "")


class Data(ABC):
    """Rows of one party."""

    @staticmethod
    def of(value: Any) -> Data:
        """A number, several numbers, columns by name, a data frame, or a table of ``dc.read``, as data."""
        if isinstance(value, Data):
            return value
        if hasattr(value, "engine") and hasattr(value, "relation"):
            return Stored(value.engine, value.relation, value.card.unit)
        if isinstance(value, Mapping):
            return Columns(value)
        if isinstance(value, int | float | str | Decimal | Fraction | np.generic):
            return Columns({VALUE: [value]})
        if hasattr(value, "__dataframe__"):
            names = getattr(value, "column_names", None) or list(value.columns)
            return Columns({str(name): _listed(value[name]) for name in names})
        if value is None or not isinstance(value, Iterable):
            raise BadInput(
                f"A party cannot bring {'nothing' if value is None else f'a {type(value).__name__}'}.",
                hint="Give a number, a list of numbers, columns by name, a data frame, or a table of dc.read.",
            )
        return Columns({VALUE: value if isinstance(value, np.ndarray) else list(value)})

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """SHA-256 of all that is brought: a session that is resumed goes on with the same."""

    @abstractmethod
    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """The values of some columns, row by row."""

    @abstractmethod
    def distinct(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], Units]:
        """Values of some columns, and how many rows have them; a combination may come more than once."""

    @abstractmethod
    def require_one_row_each(self) -> None:
        """Refuse rows of which several are one person's, where that is known."""

    def numbers(self, name: str, grid: Grid) -> tuple[Units, Units]:
        """The numbers of a column in units, and how many rows have each."""
        [values], times = self.distinct([name])
        return grid.units(values, _called(name)), times

    def counts(self, names: Sequence[str]) -> Counter[tuple[str, ...]]:
        """How many rows have each combination of values, these as texts."""
        columns, times = self.distinct(names)
        found: Counter[tuple[str, ...]] = Counter()
        for *values, n in zip(*(column.tolist() for column in columns), times.tolist(), strict=True):
            found[tuple(as_text(value) for value in values)] += n
        return found


class Columns(Data):
    """Columns in memory."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: _array(values) for name, values in columns.items()}
        lengths = {column.size for column in self._columns.values()}
        if len(lengths) != 1:
            raise BadInput("All columns have the same number of values, and there is one column at least.")
        [self._rows] = lengths
        _require_few(self._rows)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._rows

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of names and values."""
        return _digest(self._columns)

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """The values of some columns, row by row."""
        return [self._columns[_known(name, self._columns)] for name in names]

    def distinct(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], Units]:
        """The rows as they are, once each."""
        return self.columns(names), np.ones(self._rows, dtype=np.int64)

    def require_one_row_each(self) -> None:
        """Nothing is known of whose they are: the statement says that one row each is assumed."""


class Stored(Data):
    """Rows on an engine, which counts them where they are; only what a function asks for comes here."""

    def __init__(self, engine: Engine, relation: exp.Query, unit: str | None = None, digest: bytes = b"") -> None:
        self._engine, self._relation, self._unit = engine, relation, unit
        self._names = list(engine.schema(relation).names)
        if unit is not None:
            _known(unit, self._names)
        self._rows = int(self._fetched("COUNT(*) AS n")[0][0])
        _require_few(self._rows)
        self._digest = digest

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._rows

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the file, or of names and values in the order in which the engine gives the rows."""
        return self._digest or _digest(dict(zip(self._names, self.columns(self._names), strict=True)))

    def columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """The values of some columns, row by row."""
        from discreet.core import sql

        return self._fetched(*(sql.column(_known(name, self._names)) for name in names))

    def distinct(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], Units]:
        """Every combination of values once, counted by the engine (``GROUP BY``)."""
        from discreet.core import sql
        from discreet.core.table import count_name

        keys = [sql.column(_known(name, self._names)) for name in names]
        counted = sql.named(sql.count_rows(), count_name(names))
        *values, times = self._fetched(*keys, counted, by=keys)
        return values, times.astype(np.int64)

    def require_one_row_each(self) -> None:
        """Refuse rows of which several are one person's, where the card says whose they are."""
        if self._unit is None:
            return
        _, times = self.distinct([self._unit])
        if times.size and int(times.max()) > 1:
            raise Refused(
                "Some people have several rows, and the noise hides one row.",
                hint="Make one row of each person's rows first.",
            )

    def _fetched(self, *what: Any, by: Sequence[Any] = ()) -> list[NDArray[Any]]:
        from sqlglot import exp

        query = exp.select(*what).from_(self._relation.subquery("t"))
        table = self._engine.fetch(query.group_by(*(key.copy() for key in by)) if by else query)
        return [column.combine_chunks().to_numpy(zero_copy_only=False) for column in table.columns]


def load(path: str | Path, unit: str | None = None) -> Data:
    """The data in a file: a text file with one number a line, or a CSV or Parquet file with columns.

    ``unit`` is the column that says whose each row is, if several may be one person's.
    """
    path = Path(path)
    if not path.exists():
        raise NotFound(f"There is no file {path}.")
    if is_text(path):
        return Columns({VALUE: _lines(path)})
    from discreet.engines.read import open_source

    source = open_source(path)
    digest = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
    return Stored(source.engine, source.relation, unit, digest)


def is_text(path: str | Path) -> bool:
    """Whether a file has numbers alone, one a line, each of somebody else."""
    return Path(path).suffix.lower() in _TEXT


def as_text(value: Any) -> str:
    """A value as a category is written: true and false in small letters, whole numbers without a point."""
    if value is None or value != value:  # noqa: PLR0124  # NaN
        raise DataError("A category is missing in some rows.", hint="Leave such rows out of the input.")
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _lines(path: Path) -> list[Decimal]:
    found = []
    place = 0
    try:
        for line in path.read_text("utf-8").split("\n"):
            place += 1
            if text := line.strip():
                found.append(Decimal(text))
    except (ArithmeticError, UnicodeDecodeError):
        raise DataError(
            f"{path.name}, line {max(place, 1)}, is not a number.", hint="Write one number a line, with a point."
        ) from None
    return found


def _array(values: Any) -> NDArray[Any]:
    found = np.asarray(values)
    if found.dtype.kind in "US":
        found = np.asarray(values, dtype=object)
    if found.ndim != 1:
        raise BadInput("A column is a list of values.")
    return found


def _listed(column: Any) -> list[Any]:
    """The values of a data frame's column, as Python's."""
    for way in ("tolist", "to_pylist", "to_list"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    return list(column)


def _known(name: str, names: Iterable[str]) -> str:
    if name not in names:
        shown = "a column " + repr(name) if name != VALUE else "plain numbers, or a column 'value'"
        raise NotFound(f"The input has no {shown.removeprefix('a ')}.", hint=f"It has {', '.join(names)}.")
    return name


def _called(name: str) -> str:
    return "The input" if name == VALUE else f"Column {name!r}"


def _require_few(rows: int) -> None:
    if rows > MOST_ROWS:
        raise BadInput(f"A party brings at most {MOST_ROWS:,} rows, not {rows:,}.")


def _digest(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """SHA-256 of names and values; values that print alike are alike."""
    whole = hashlib.sha256()
    for name, column in sorted(columns.items()):
        kind = "object" if column.dtype.kind not in "iufb" else column.dtype.str
        body = "\0".join(map(str, column)).encode() if kind == "object" else np.ascontiguousarray(column).tobytes()
        for part in (name.encode(), kind.encode(), body):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.digest()

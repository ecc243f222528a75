"""What every hierarchy has: its interface, checks of what is declared, its SQL expression, and integer level codes.

Level 0 is the value itself, level ``height`` is ``*`` for everyone; between them each level is text and
coarser than the one below: two values that share a label share all labels above it. NULL is a value of its
own: it stays NULL below the top.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import HierarchyError

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

TOP = "*"


@runtime_checkable
class Hierarchy(Protocol):
    """One way of making values coarser, declared, immutable and comparable by value."""

    type: ClassVar[str]
    """The name it has in a card."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of column it can be laid over; some depend on what was declared (dates or numbers)."""

    @property
    def height(self) -> int:
        """The top level, where every value is ``*``; at least 1."""

    @property
    def other(self) -> str | None:
        """The label, on every level from 1 to below the top, of values the hierarchy does not know."""

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        """The label of ``value`` on a level strictly between 0 and ``height``.

        Called for known values only: ``apply`` takes care of the ends, of NULL and
        of unknown values. The text is the same on every engine.
        """

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr | None:
        """A condition that holds for every value (not NULL) that has labels; ``None``: all have."""

    def fields(self) -> dict[str, Any]:
        """What a card says of it besides ``type`` and ``other``; reading it back gives an equal hierarchy."""


def apply(hierarchy: Hierarchy, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
    """``value`` on a level: itself at 0, ``*`` at the top, its label between; NULL stays NULL below the top.

    Values the hierarchy does not know get its ``other``, or NULL if it declares none: ask ``unknown`` first.
    """
    _require_kind(hierarchy, kind)
    if not 0 <= level <= hierarchy.height:
        raise HierarchyError(f"{hierarchy.type}: there is no level {level}; levels go from 0 to {hierarchy.height}.")
    if level == 0:
        return value.copy()
    if level == hierarchy.height:
        # Cast, since a bare literal is refused by PostgreSQL in GROUP BY.
        return exp.cast(exp.Literal.string(TOP), exp.DType.TEXT)
    chosen = exp.case().when(value.is_(exp.null()), exp.null())
    known = hierarchy.knows(value, kind)
    if known is not None:
        other = exp.null() if hierarchy.other is None else exp.Literal.string(hierarchy.other)
        chosen = chosen.when(exp.not_(known), other)
    return chosen.else_(hierarchy.label(value, level, kind))


def unknown(hierarchy: Hierarchy, value: exp.Expr, kind: Kind) -> exp.Expr | None:
    """A condition that holds for values without a label (NULL has none and needs none); ``None``: there are none."""
    _require_kind(hierarchy, kind)
    known = hierarchy.knows(value, kind)
    if known is None or hierarchy.other is not None:
        return None
    return exp.and_(exp.not_(value.is_(exp.null())), exp.not_(known))


def _require_kind(hierarchy: Hierarchy, kind: Kind) -> None:
    if kind not in hierarchy.kinds:
        allowed = " or ".join(allowed.value for allowed in Kind if allowed in hierarchy.kinds)
        raise HierarchyError(f"{hierarchy.type}: this hierarchy is for {allowed} columns; this one is {kind.value}.")


@dataclass(frozen=True)
class LevelCodes:
    """For each level and each value the number of its label: searches compare labels millions of times.

    Numbers follow the first appearance among the values, so sorted values have ascending codes on every
    level whose groups are contiguous.
    """

    codes: npt.NDArray[np.int32]
    """Shape (height + 1, number of values)."""
    labels: tuple[pa.Array[Any], ...]
    """For each level the label of each code; level 0 has the values themselves."""


def codes(hierarchy: Hierarchy, kind: Kind, values: pa.Array[Any]) -> LevelCodes:
    """The codes of ``values`` on all levels. Values the hierarchy does not know are an error.

    The labels come from the very expression the engines run, on an in-process DuckDB, so that a search and the
    release it finds can never disagree.
    """
    column = sql.column("value")
    levels = [apply(hierarchy, column, level, kind) for level in range(1, hierarchy.height + 1)]
    with _scratch(os.getpid()).cursor() as connection:
        connection.register("given", pa.table({"value": values}))
        missing = unknown(hierarchy, column, kind)
        if missing is not None:
            _require_known(hierarchy, connection, missing.sql("duckdb"))
        shown = ", ".join(f"{tree.sql('duckdb')} AS l{level}" for level, tree in enumerate(levels, start=1))
        labelled = connection.sql(f"SELECT {shown} FROM given").to_arrow_table()  # noqa: S608
    encoded = [values.dictionary_encode(null_encoding="encode")]
    encoded += [column.combine_chunks().dictionary_encode(null_encoding="encode") for column in labelled.columns]
    rows = [np.asarray(level.indices.to_numpy(zero_copy_only=False), dtype=np.int32) for level in encoded]
    found = LevelCodes(np.stack(rows), tuple(level.dictionary for level in encoded))
    _require_nested(hierarchy, found, values)
    return found


@cache
def _scratch(_process: int) -> duckdb.DuckDBPyConnection:
    """One for each process, since opening it takes longer than labelling; what is registered on a cursor is its own."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def _require_known(hierarchy: Hierarchy, connection: duckdb.DuckDBPyConnection, missing: str) -> None:
    rows = connection.sql(f"SELECT value FROM given WHERE {missing}").to_arrow_table()  # noqa: S608
    if not rows.num_rows:
        return
    examples = ", ".join(repr(value) for value in rows.column(0)[:3].to_pylist())
    count = "1 value" if rows.num_rows == 1 else f"{rows.num_rows} values"
    raise HierarchyError(
        f"{hierarchy.type}: {count} unknown to the hierarchy, such as {examples}.",
        hint="Add them to the hierarchy, or declare other, the label of unknown values.",
    )


def _require_nested(hierarchy: Hierarchy, found: LevelCodes, values: pa.Array[Any]) -> None:
    for level, (fine, coarse) in enumerate(zip(found.codes, found.codes[1:], strict=False)):
        _, first = np.unique(fine, return_index=True)
        torn = np.flatnonzero(coarse[first][fine] != coarse)
        if len(torn):
            one, two = values[int(first[fine[torn[0]]])].as_py(), values[int(torn[0])].as_py()
            raise HierarchyError(
                f"{hierarchy.type}: {one!r} and {two!r} share a label on level {level} but not on level {level + 1}."
            )


# -- checks of what is declared

Number: TypeAlias = int | float | Decimal

SHOWN = 8


def refuse(hierarchy: str, problems: Iterable[str]) -> None:
    """Raise one error with all problems, if there are any."""
    distinct = list(dict.fromkeys(problems))
    if not distinct:
        return
    rest = [f"and {len(distinct) - SHOWN} more"] if len(distinct) > SHOWN else []
    raise HierarchyError(f"{hierarchy}: {'; '.join(distinct[:SHOWN] + rest)}.")


def as_decimal(value: object) -> Decimal | None:
    """The number as written (0.1 is a tenth); ``None`` if it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(str(value))
    return number if number.is_finite() else None


def plain(number: Decimal) -> int | float:
    """The number as a card writes it."""
    return int(number) if number == number.to_integral_value() else float(number)


def decimals_of(number: Decimal) -> int:
    """How many digits it needs after the point."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def listed(value: object) -> Sequence[object] | None:
    """The value as a tuple, if it is a list of things and not a text."""
    return tuple(value) if isinstance(value, list | tuple) else None


def wrong_label(label: object, what: str) -> list[str]:
    """What keeps ``label`` from being a label."""
    if not isinstance(label, str):
        return [f"{what} must be text, got {label!r}"]
    if not label or "\0" in label:
        return [f"{what} must not be empty or contain NUL characters, got {label!r}"]
    if label == TOP:
        return [f"{what} must not be {TOP!r}, the label of the top level"]
    return []


def wrong_other(other: object, labels: str = "(?!)") -> list[str]:
    """What keeps ``other`` from being the label of unknown values; ``labels`` is the pattern of the known ones'."""
    if other is None:
        return []
    problems = wrong_label(other, "other")
    if isinstance(other, str) and re.match(labels, other):
        problems.append(f"other must not look like a label, got {other!r}")
    return problems


def whole_numbers(value: object, what: str) -> tuple[tuple[int, ...], list[str]]:
    """A list of positive, ascending whole numbers, and what is wrong with it."""
    items = listed(value)
    if items is None or not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        return (), [f"{what} must be a list of whole numbers, got {value!r}"]
    numbers = tuple(item for item in items if isinstance(item, int))
    if any(number < 1 for number in numbers) or any(a >= b for a, b in pairwise(numbers)):
        return (), [f"{what} must be positive and ascending, got {list(numbers)}"]
    return numbers, []


def wrong_multiples(numbers: Sequence[int | Decimal], what: str) -> list[str]:
    """Each number must be a multiple of the one before, or groups would straddle the coarser ones."""
    return [
        f"{what}: {b} is not a multiple of {a}, so groups of {a} would straddle groups of {b}"
        for a, b in pairwise(numbers)
        if Fraction(b) % Fraction(a) != 0
    ]

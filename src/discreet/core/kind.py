"""Kinds of value a column can hold, the types of each on engines, in Arrow, Python and texts, and kinds that are alike.

Code that treats several kinds alike asks for one of the sets below, never for a list of its own, so that a new kind is
a row here, and what is particular to its values (docs/architecture.md); code that names a single kind treats that one
differently. A kind in none of the sets is counted and grouped by, and refused everywhere else.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | Decimal | str | dt.date | dt.datetime
"""A value of a column, as a card writes it."""

MOST_DECIMALS = 18
"""Largest number of digits after the point of a decimal read from text."""
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
_EXPONENT = "([eE][+-]?[0-9]+)?"
NOT_FINITE = "[nN][aA][nN]|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
"""Pattern of texts for NaN and infinite numbers."""


class Kind(Enum):
    """Kind of value in a column, the same on every engine; the value of a member is how cards spell it."""

    INTEGER = "integer"
    REAL = "real"
    DECIMAL = "decimal"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class KindTypes:
    """The types that values of one kind have, wherever they are read, kept or written."""

    python: tuple[type, ...]
    """Types of its values on a card."""
    sql: str
    """Type that holds it on every engine, by sqlglot's name."""
    arrow: str
    """Type that leaves every engine, by Arrow's alias."""
    arrow_family: tuple[str, ...]
    """Tests of ``pyarrow.types`` for all Arrow types that are read as it."""
    postgres: tuple[str, ...] = ()
    """PostgreSQL's types that are read as it; all others are text."""
    guess: str = ""
    """Pattern by which a column of texts without a card is taken for it: narrower than what a card that declares it
    accepts (``engines/text_values.py``), so that the code 00123 stays text. Empty: it is never guessed. Kinds are tried
    in their order above."""


TYPES = {
    Kind.INTEGER: KindTypes(
        (int,),
        "BIGINT",
        "int64",
        ("is_integer",),
        ("int2", "int4", "int8"),
        guess="[+-]?(0|[1-9][0-9]*)",
    ),
    Kind.REAL: KindTypes(
        (int, float),
        "DOUBLE",
        "float64",
        ("is_floating",),
        ("float4", "float8"),
        guess=f"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+){_EXPONENT}|{NOT_FINITE}",
    ),
    Kind.DECIMAL: KindTypes(
        (int, Decimal),
        "DECIMAL",
        "decimal128(38, scale)",
        ("is_decimal",),
        ("numeric",),
    ),
    Kind.TEXT: KindTypes((str,), "TEXT", "string", ("is_string", "is_large_string", "is_string_view")),
    Kind.BOOLEAN: KindTypes(
        (bool,),
        "BOOLEAN",
        "bool",
        ("is_boolean",),
        ("bool",),
        guess="(?i:true|false)",
    ),
    Kind.DATE: KindTypes((dt.date,), "DATE", "date32", ("is_date",), ("date",), guess=_DAY),
    Kind.TIMESTAMP: KindTypes(
        (dt.datetime,),
        "TIMESTAMPNTZ",
        "timestamp[us]",
        ("is_timestamp",),
        ("timestamp", "timestamptz"),
        guess=f"{_DAY}[ T]{_TIME}",
    ),
}

NUMBERS = frozenset({Kind.INTEGER, Kind.REAL, Kind.DECIMAL})
"""Kinds that can be added up and averaged."""

MOMENTS = frozenset({Kind.DATE, Kind.TIMESTAMP})
"""Kinds of points in time."""

ORDERED = NUMBERS | MOMENTS
"""Kinds with an order and distances: they have bounds, intervals and ranks."""

CATEGORICAL = frozenset({Kind.TEXT, Kind.BOOLEAN})
"""Kinds whose values are only equal or different."""

LISTABLE = CATEGORICAL | {Kind.INTEGER, Kind.DATE}
"""Kinds whose values can be listed one by one: equal values are the same on every engine."""

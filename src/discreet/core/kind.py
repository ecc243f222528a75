"""Kinds of value a column can hold, and the sets of kinds that behave alike.

Code that treats several kinds alike asks for one of the sets below, never for a list of its own, so that a new kind is
added here and where its values are read, cast and bounded (docs/architecture.md); code that names a single kind treats
that one differently. A kind in none of the sets is counted and grouped by, and refused everywhere else.
"""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """Kind of value in a column, the same on every engine."""

    INTEGER = "integer"
    REAL = "real"
    DECIMAL = "decimal"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


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

"""The kinds of value a column can hold, and the one Arrow type each has on the way out of any engine."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What a column's values are, whatever the engine calls it."""

    INTEGER = "integer"
    REAL = "real"
    DECIMAL = "decimal"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

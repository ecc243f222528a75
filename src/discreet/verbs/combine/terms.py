"""Terms of a session, all that parties agree on except their addresses and keys; and its result, which all learn."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypedDict

from discreet.core.exact import Number
from discreet.core.report import Picture, bars
from discreet.errors import BadInput

MIN_PARTIES, MAX_PARTIES = 2, 1000
"""Number of parties in a session."""
NAME = re.compile(r"[a-z][a-z0-9._-]{0,39}")
"""Names of parties and sessions between hosts."""
NAMES = "small letters, digits, . _ and -, at most 40, a letter first."


@dataclass(frozen=True)
class Terms:
    """What is computed, and by which protocol; the same for all parties."""

    parties: tuple[str, ...]
    protocol: str = "masks"
    """A protocol and its parameters, such as ``paths count=3``."""
    function: str = "sum"
    """A function and its parameters, such as ``histogram of=age edges=0,18,65,120``."""
    low: Fraction | None = None
    """Lower bound of the values; a smaller one is an error before anything is sent."""
    high: Fraction | None = None
    decimals: int = 0
    """Decimal places of the values, which are added exactly as integers."""
    threshold: int = 0
    """Number of parties that must stay, where the protocol allows dropouts; 0 means all."""
    adder: str = ""
    """The party that adds up and broadcasts the total; empty means that each adds up for itself."""
    epsilon: Fraction | None = None
    """Privacy loss of the result, by noise that the parties add; None means an exact result."""
    delta: Fraction = Fraction(0)
    """Delta of the privacy loss; 0 means Laplace noise."""
    honest: int = 0
    """Number of parties assumed to add their noise and keep it secret; 0 means all that must stay but
    one, who may be anyone who looks at the result."""
    unit: str = "person"
    """Unit that the noise protects."""

    def __post_init__(self) -> None:
        if not MIN_PARTIES <= len(self.parties) <= MAX_PARTIES or len(set(self.parties)) < len(self.parties):
            raise BadInput(f"A session has {MIN_PARTIES} to {MAX_PARTIES:,} parties with different names.")
        if self.threshold and not MIN_PARTIES <= self.threshold <= len(self.parties):
            raise BadInput(f"The threshold must be {MIN_PARTIES} to the number of parties, not {self.threshold}.")
        if self.adder and self.adder not in self.parties:
            raise BadInput(f"{self.adder} is to add up, but is not one of the parties.")

    def to_dict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


class TermOptions(TypedDict, total=False):
    """Optional terms as people write them; ``Terms`` explains each."""

    bounds: tuple[Number, Number] | str | None
    decimals: int
    threshold: int
    adder: str
    epsilon: Number | None
    delta: Number
    honest: int
    unit: str


def checked_name(name: str) -> str:
    """A party's name, or an error that says what names look like."""
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a party's name: {NAMES}")
    return name


@dataclass(frozen=True)
class Result:
    """Result of a session, which all parties learn."""

    value: Any
    """Plain data that ``core/document.py`` can write."""
    parties: tuple[str, ...]
    """Whose data are in it."""
    revealed: tuple[str, ...] = ()
    """What every party saw besides, as full sentences."""

    def __str__(self) -> str:
        return "\n".join(_lines(self.value))

    @property
    def caption(self) -> str:
        """The result as a sentence, or as several lines."""
        return text if "\n" in (text := str(self)) else f"The result is {text}."

    @property
    def picture(self) -> Picture | None:
        """Bar chart of counts; None for other results."""
        counts = self.value.get("counts") if isinstance(self.value, dict) else None
        if not counts:
            return None
        return bars("Rows", list(counts), list(counts.values()), caption=f"Of {', '.join(self.parties)} together.")


def _lines(value: Any, indent: str = "") -> list[str]:
    """Plain data as lines of text."""
    if not isinstance(value, dict):
        return [indent + _shown(value)]
    lines = []
    if "columns" in value and "rows" in value and isinstance(value["rows"], list):
        lines += _table(value["columns"], value["rows"], indent)
        value = {key: item for key, item in value.items() if key not in ("columns", "rows")}
    for key, item in value.items():
        if isinstance(item, dict):
            lines += [f"{indent}{key}", *_lines(item, indent + "  ")]
        else:
            lines.append(f"{indent}{key}: {_shown(item)}")
    return lines


def _table(columns: list[str], rows: list[list[Any]], indent: str) -> list[str]:
    cells = [columns, *([_shown(item) for item in row] for row in rows)]
    width = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    return [indent + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, width, strict=True)).rstrip() for row in cells]


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return str(value)

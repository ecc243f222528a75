"""The result of a session, and how it is shown to people."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.core.report import Picture, bars


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
    found = []
    if "columns" in value and "rows" in value and isinstance(value["rows"], list):
        found += _table(value["columns"], value["rows"], indent)
        value = {key: item for key, item in value.items() if key not in ("columns", "rows")}
    for key, item in value.items():
        if isinstance(item, dict):
            found += [f"{indent}{key}", *_lines(item, indent + "  ")]
        else:
            found.append(f"{indent}{key}: {_shown(item)}")
    return found


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

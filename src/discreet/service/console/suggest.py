"""What the Ask page can suggest from the cards alone: words to complete, and examples to click."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.service.shown import TableView

FUNCTIONS = (
    "COUNT", "COUNT_IF", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE_CONT", "VARIANCE", "STDDEV", "COVAR_POP",
    "CORR",
)  # fmt: skip
"""The aggregates that can be asked."""
_NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL)
_FEW = 40
_LISTED = 6


def words(tables: Iterable[TableView]) -> list[dict[str, str | int]]:
    """Completions for the editor, before its own: tables, columns with what is declared of them, aggregates."""
    found = [_word(name, "function", "aggregate") for name in FUNCTIONS]
    for view in tables:
        found.append(_word(spelled(view.name), "class", "table"))
        for column in view.card.columns:
            detail = f"{view.name}: {column.kind.value}" + (f", {column.declared}" if column.declared else "")
            found.append(_word(spelled(column.name), "property", detail))
    return found


def examples(name: str, card: Card) -> list[tuple[str, str]]:
    """Questions that a table's card allows, each with what it asks."""
    table = spelled(name)
    found = [(f"How many {name}", f"SELECT COUNT(*) AS n\nFROM {table}")]
    if card.unit is not None:
        found = [(f"How many people in {name}", f"SELECT COUNT(DISTINCT {spelled(card.unit)}) AS people\nFROM {table}")]
    group = _first(one for one in card.columns if one.categories is not None and len(one.categories) <= _FEW)
    amount = _first(one for one in card.columns if one.bounds is not None and one.kind in _NUMBERS)
    if group:
        found.append((f"{name} by {group}", f"SELECT {group}, COUNT(*) AS n\nFROM {table}\nGROUP BY {group}"))
    if amount:
        found.append((f"Average {amount}", f"SELECT AVG({amount}) AS average\nFROM {table}"))
        found.append((f"Median {amount}", f"SELECT MEDIAN({amount}) AS middle\nFROM {table}"))
    if group and amount:
        by = f"SELECT {group}, SUM({amount}) AS total\nFROM {table}\nGROUP BY {group}"
        found.append((f"Total {amount} by {group}", by))
    return found


def columns(card: Card) -> list[list[str]]:
    """The columns of a card: name, kind, and what is declared of the values."""
    return [[one.name, one.kind.value, _declared(one)] for one in card.columns]


def mentioned(sql: str, names: Sequence[str]) -> list[str]:
    """The tables whose names are in a question."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.IGNORECASE)]


def spelled(name: str) -> str:
    """A name as SQL takes it."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    return name if plain else '"' + name.replace('"', '""') + '"'


def _word(label: str, kind: str, detail: str) -> dict[str, str | int]:
    return {"label": label, "type": kind, "detail": detail, "boost": 99}


def _declared(column: Column) -> str:
    if column.categories is not None and len(column.categories) <= _LISTED:
        return ", ".join(str(one) for one in column.categories)
    return column.declared or "–"


def _first(columns: Iterable[Column]) -> str | None:
    found = next(iter(columns), None)
    return None if found is None else spelled(found.name)

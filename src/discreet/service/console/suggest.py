"""What the Ask page can suggest from the cards alone: words to complete, and values that look wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from discreet.core.card import Card, Column
from discreet.errors import BadQuery
from discreet.service.console.theme import Folded
from discreet.service.views import TableView
from discreet.verbs.ask.syntax import statements_of

FUNCTIONS = (
    "COUNT", "COUNT_IF", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE_CONT", "VARIANCE", "STDDEV", "COVAR_POP",
    "CORR",
)  # fmt: skip
"""The aggregates that can be asked."""
_LISTED = 6
_OPENED = 500


def words(tables: Iterable[TableView]) -> list[dict[str, str | int]]:
    """Completions for the editor, before its own: tables, columns with what is declared of them, aggregates."""
    found = [_word(name, "function", "aggregate") for name in FUNCTIONS]
    for view in tables:
        found.append(_word(spelled(view.name), "class", "table"))
        for column in view.card.columns:
            detail = f"{view.name}: {column.kind.value}" + (f", {column.declared}" if column.declared else "")
            found.append(_word(spelled(column.name), "property", detail))
    return found


def columns(card: Card) -> list[list[str | Folded]]:
    """The columns of a card: name, kind, and what is declared of the values; many of them are folded away."""
    return [[one.name, one.kind.value, _declared(one)] for one in card.columns]


def strangers(sql: str, tables: Sequence[TableView]) -> list[str]:
    """What a question compares a column with that is none of the column's declared values, in sentences."""
    named = mentioned(sql, [view.name for view in tables])
    cards = [view.card for view in tables if view.name in named]
    return list(dict.fromkeys(said for column, value in _compared(sql) if (said := _stranger(column, value, cards))))


def mentioned(sql: str, names: Sequence[str]) -> list[str]:
    """The tables whose names are in a question."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.IGNORECASE)]


def spelled(name: str) -> str:
    """A name as SQL takes it."""
    return exp.to_identifier(name, quoted=needs_quotes(name)).sql("duckdb")


def needs_quotes(name: str) -> bool:
    """Whether a name must be quoted: it is a keyword, or has other characters than letters, digits and underscores."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None or name.upper() in _keywords()


@cache
def _keywords() -> frozenset[str]:
    """Words that mean something to the reader of questions."""
    return frozenset(DuckDB.Tokenizer.KEYWORDS) | {word.upper() for word in DuckDB.Parser.FUNCTIONS}


def _word(label: str, kind: str, detail: str) -> dict[str, str | int]:
    return {"label": label, "type": kind, "detail": detail, "boost": 99}


def _declared(column: Column) -> str | Folded:
    if column.categories is None:
        return column.declared or "–"
    if len(column.categories) <= _LISTED:
        return _list(column.categories, _LISTED)
    return Folded(column.declared, _list(column.categories, _OPENED))


def _list(values: Sequence[object], most: int) -> str:
    return ", ".join(map(str, values[:most])) + (f" and {len(values) - most:,} more" if len(values) > most else "")


def _compared(sql: str) -> Iterator[tuple[str, str]]:
    """The columns of a question, each with a literal that it is compared with."""
    try:
        parsed = [one for one in statements_of(sql) if one is not None]
    except BadQuery:  # the price says why
        return
    for one in (found for tree in parsed for found in tree.find_all(exp.EQ, exp.NEQ, exp.In)):
        sides = [one.this, *one.expressions] if isinstance(one, exp.In) else [one.this, one.expression]
        named = [side.name for side in sides if isinstance(side, exp.Column)]
        if len(named) == 1:
            yield from ((named[0], side.name) for side in sides if isinstance(side, exp.Literal))


def _stranger(column: str, value: str, cards: Sequence[Card]) -> str:
    """Nothing, unless every card that has the column lists its values, and ``value`` is on none of the lists."""
    found = [one for card in cards for one in card.columns if one.name.lower() == column.lower()]
    known = [str(each) for one in found for each in one.categories or ()]
    if not found or value in known or any(one.categories is None for one in found):
        return ""
    near = [each for each in known if each.lower() == value.strip().lower()]
    meant = f"Is {near[0]!r} meant?" if near else f"There are: {_list(known, _LISTED)}."
    return f"{value!r} is not a value of {found[0].name}: the card does not list it. {meant}"

"""A session as one party plays it: charge, add up, answer; and what is promised about it.

The same generator runs between hosts and in one process. Everything that can be wrong with the terms or with the
party's own data shows before its first message; so does a budget that does not cover the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.core.loss import Loss
from discreet.core.picture import Picture, bars
from discreet.core.statement import Evidence, Secrecy, Statement
from discreet.errors import BadInput
from discreet.verbs.combine import distributed
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.functions.parse import function
from discreet.verbs.combine.functions.sums import Parity
from discreet.verbs.combine.protocols.dining import Dining
from discreet.verbs.combine.protocols.parse import protocol
from discreet.verbs.combine.summing import Summer
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.tools import Numeric

if TYPE_CHECKING:
    from discreet.core.release import Receipt

Charge: TypeAlias = "Callable[[Loss, str], Receipt]"
"""Charges a loss on the party's own ledger, once for each key."""
_MOST_COALITIONS = 64


@dataclass(frozen=True)
class Result:
    """What the parties learn."""

    value: Any
    """Plain data that ``core/document.py`` can write."""
    parties: tuple[str, ...]
    """Whose data are in it."""
    revealed: tuple[str, ...] = ()
    """What else everybody saw, as full sentences."""

    def __str__(self) -> str:
        return "\n".join(_lines(self.value))

    @property
    def picture(self) -> Picture | None:
        """Counts as bars; nothing for other results."""
        counts = self.value.get("counts") if isinstance(self.value, dict) else None
        if not counts:
            return None
        return bars("Rows", list(counts), list(counts.values()), caption=f"Of {', '.join(self.parties)} together.")


def play(terms: Terms, name: str, tools: Numeric, data: Data, *, charge: Charge | None = None) -> Play[Result]:
    """What the party ``name`` does, who brings ``data``; its loss is charged before its first message."""
    asked = function(terms.function)
    statement(terms)
    summer = Summer(terms, name, tools)
    if terms.epsilon is not None and not asked.replaces:
        data.require_one_row_each()
    playing = asked.play(summer, data)
    effect = next(playing)  # the party's own data are looked at here, and nothing is sent yet
    loss = distributed.loss(terms)
    if loss is not None and charge is not None:
        charge(loss, f"combine {tools.stream('charge').bytes(16).hex()}")
    answer = yield from _rest(playing, effect)
    return Result(answer.value, summer.parties, answer.revealed)


def reveals(terms: Terms) -> tuple[str, ...]:
    """What everybody learns besides the result, as full sentences."""
    return function(terms.function).reveals(terms)


def statement(terms: Terms) -> Statement:
    """What a session with these terms promises; whatever is wrong with them is an error here."""
    asked, way = function(terms.function), protocol(terms.protocol)
    asked.check(terms)
    if (way.name == Dining.name) != (asked.name == Parity.name):
        raise BadInput(
            "The dining cryptographers compute a parity, and nothing else does.", hint="Say dining and parity."
        )
    if terms.threshold and terms.threshold < len(terms.parties) and not way.drops:
        raise BadInput(
            f"With {way.name} nobody may leave, so the threshold is all {len(terms.parties)} parties.",
            hint="Use masks, or leave the threshold out.",
        )
    coalitions = tuple(islice(way.withstands(terms.parties, terms.threshold), _MOST_COALITIONS + 1))
    caveats = list(reveals(terms))
    if len(coalitions) > _MOST_COALITIONS:
        coalitions = coalitions[:_MOST_COALITIONS]
        caveats.append(f"There are more coalitions that are withstood; the first {_MOST_COALITIONS} are listed.")
    caveats.append("Nobody is kept from lying about the own value.")
    assumes = [way.adversary()]
    if asked.sums(terms) > 1:
        assumes.append(
            f"Every party brings the same data to each of the up to {asked.sums(terms)} sums: what is secret is so in "
            "each sum by itself, and a party that does not follow the protocol can choose, by what it brings to one "
            "sum, what is asked in the next, and so learn single values of others."
        )
    loss = distributed.loss(terms)
    if loss is not None:
        assumes += _noise_assumes(terms, asked.replaces)
        caveats += _noise_caveats(terms)
    return Statement(
        "party" if asked.replaces and terms.unit == "person" else terms.unit,
        loss,
        secrecy=Secrecy(terms.parties, coalitions),
        evidence=Evidence.ARGUED,
        assumes=tuple(assumes),
        caveats=tuple(caveats),
        replaces=asked.replaces and loss is not None,
    )


def _noise_assumes(terms: Terms, replaces: bool) -> list[str]:
    among = distributed.honest(terms)
    said = [
        f"At least {among} of the parties that stay to the end add their noise and tell it nobody.",
        "Only coalitions that are named above put together what they saw: in a single value there is little noise.",
    ]
    return said if replaces else [*said, f"No {terms.unit} has more than one row in all parties' data together."]


def _noise_caveats(terms: Terms) -> list[str]:
    least = terms.threshold or len(terms.parties)
    spare = least - distributed.honest(terms)
    if not spare:
        return [
            "The loss is what somebody learns who is no party: a party knows its own noise and can take it away, so "
            f"that it learns more. Without honest = {least} the loss would hold against every single party too."
        ]
    who = (
        "any one party, who knows its own noise"
        if spare == 1
        else f"any {spare} parties together, who know their noise"
    )
    return [f"The loss holds also against {who}."]


def _rest(playing: Play[Any], effect: Any) -> Play[Any]:
    """A play that has begun, from its first effect on."""
    while True:
        given = yield effect
        try:
            effect = playing.send(given)
        except StopIteration as ended:
            return ended.value


def _lines(value: Any, indent: str = "") -> list[str]:
    """Plain data for people."""
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
    wide = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    return [indent + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, wide, strict=True)).rstrip() for row in cells]


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

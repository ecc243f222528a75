"""Policy of an audited table: audited columns, columns that sets may be chosen by, and what its answers promise."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.card import Card, Role
from discreet.core.document import fields, texts
from discreet.core.exact import Number, exact
from discreet.core.kind import NUMBERS, Kind
from discreet.core.statement import Claim, Evidence, Statement
from discreet.errors import BadInput, NotDeclared, Refused

SUM, EXTREMES, BOUNDED = "sum", "extremes", "bounded"
AGGREGATES = {SUM: ("sum",), EXTREMES: ("max", "min"), BOUNDED: ("sum",)}
"""What each auditor can answer for."""
_SAID = re.compile(r"(?P<how>[a-z]+)(?:=(?P<width>[^=:]+))?(?P<look>:look)?")
FEW = 100
"""Of a column that takes fewer values than this, a sum or an extreme at an end of them is to be expected, and tells."""
NAME = "audited"
_CAVEATS = (
    "This is not differential privacy: it does not protect against close guesses, does not protect groups of "
    "people, and does not hold against intruders who know more than the answers, such as a group's other values.",
    "It does not compose: nothing is promised together with other releases about the same people, from here "
    "or elsewhere.",
)
_BEYOND_BOUNDS = "Values are assumed to be any number: someone who knows bounds may learn more from answers near them."
_AT_AN_END = (
    "No maximum is the lowest possible value, such as 0, and no minimum the highest: it would reveal everyone's value."
)
_APART = (
    "Columns that are audited for anything but sums are unrelated to other audited columns: inference across "
    "columns is audited for sums only."
)


@dataclass(frozen=True)
class Watch:
    """How a column is watched over."""

    how: str
    """``sum``, ``extremes`` or ``bounded``."""
    width: Fraction | None = None
    """Of a bounded one: how far apart what is possible for someone stays."""
    look: bool = False
    """Of a bounded one: that answers are looked at before they are denied was agreed to."""

    @classmethod
    def of(cls, said: str) -> Watch:
        """As people write it: ``sum``, ``extremes``, ``bounded=1000:look``."""
        found = _SAID.fullmatch(said.strip())
        bounded = found is not None and found["how"] == BOUNDED
        if (
            found is None
            or found["how"] not in AGGREGATES
            or bounded != (found["width"] is not None)
            or (found["look"] and not bounded)
        ):
            raise BadInput(
                f"{said!r} is not a kind of query auditing.", hint="Write sum, extremes, or bounded=WIDTH:look."
            )
        width = None if found["width"] is None else exact(found["width"], "the width")
        return cls(found["how"], width, look=found["look"] is not None)

    def __str__(self) -> str:
        said = self.how if self.width is None else f"{self.how}={plain(self.width)}"
        return f"{said}:look" if self.look else said


@dataclass(frozen=True)
class Policy:
    """What query auditing of a table allows. It is fixed once: sets asked about under another would not be known."""

    columns: Mapping[str, Watch]
    by: tuple[str, ...]
    """The columns that conditions and groups may use: they are taken to be known to everyone, of everyone."""

    @classmethod
    def of(cls, columns: Mapping[str, str | Number], by: Sequence[str], card: Card) -> Policy:
        """A policy for a table with this card; an error if no true promise is possible under it."""
        made = cls({name: Watch.of(str(said)) for name, said in columns.items()}, tuple(dict.fromkeys(by)))
        made.require_fits(card)
        return made

    def require_fits(self, card: Card) -> None:
        """An error if the card does not allow what is to be audited."""
        if not self.columns:
            raise BadInput("No columns to audit given.")
        for name, watch in self.columns.items():
            _require_watchable(card, name, watch)
        for name in self.by:
            if card[name].role is Role.SENSITIVE or name in self.columns:
                raise Refused(
                    f"{name} cannot be used in conditions: the selected sets would reveal it.",
                    hint="Conditions and groups may use publicly known columns only.",
                )

    def __str__(self) -> str:
        return ", ".join(f"{name} ({how})" for name, how in self.columns.items())

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"columns": {name: str(watch) for name, watch in self.columns.items()}, "by": list(self.by)}

    @classmethod
    def from_dict(cls, data: object) -> Policy:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "an audit policy", columns=dict, by=list)
        return cls({name: Watch.of(said) for name, said in read["columns"].items()}, texts(read["by"], "by"))


def _require_watchable(card: Card, name: str, watch: Watch) -> None:
    column = card[name]
    truth = column.kind is Kind.BOOLEAN and watch.how == BOUNDED
    if name == card.unit or not (truth or column.kind in NUMBERS):
        raise BadInput(
            f"{name} cannot be audited for {watch.how}.",
            hint="Audit numbers, or booleans as bounded=1:look, where SUM counts the true ones.",
        )
    if column.kind is Kind.DECIMAL and watch.how == BOUNDED:
        raise BadInput(
            f"{name} has decimals, for which bounded sums cannot be audited.",
            hint="Declare it as real, or as an integer of its smallest units.",
        )
    if watch.how == BOUNDED and not watch.look:
        raise Refused(
            f"{name}: any sum of bounded numbers could lie at its bound, where it reveals everyone's value. "
            "An auditor whose denials do not depend on the answer could answer nothing.",
            hint=f"If denials may depend on the data, write {watch}:look.",
        )
    if not column.required:
        raise NotDeclared(
            f"Missing values of {name} are not audited, and the card does not require a value.",
            hint="Declare required = true: rows without a value are then not counted.",
        )
    if column.bounds is None and not truth:
        raise NotDeclared(f"The card has no bounds of {name}.", hint="Declare them, so that sums cannot overflow.")
    if watch.how != BOUNDED and column.kind is Kind.INTEGER:
        require_many(name, ends_of(card, name), 1)
    if watch.width is not None:
        if card.unit is not None and card.rows_per_unit != 1:
            raise Refused(f"{name}: bounded sums need one row per person.", hint="Declare rows_per_unit = 1.")
        low, high = ends_of(card, name)
        if not 0 < watch.width <= high - low:
            raise BadInput(f"The width for {name} lies above 0, and is at most {plain(high - low)}.")


def ends_of(card: Card, name: str) -> tuple[Fraction, Fraction]:
    """The bounds of a number that is audited; a truth is 0 or 1."""
    bounds = card[name].bounds
    if bounds is None:
        return Fraction(0), Fraction(1)
    low, high = (Fraction(end) for end in bounds)  # type: ignore[arg-type]  # of a number
    return low, high


def require_many(name: str, ends: tuple[Fraction, Fraction], step: Fraction | int) -> None:
    """An error if a column takes so few values that its sums and extremes will often lie at an end, and tell."""
    low, high = ends
    if (high - low) / step + 1 < FEW:
        raise Refused(
            f"{name} takes fewer than {FEW} values, so it cannot be audited as an unbounded number.",
            hint=f"Sums of it can be audited as bounded={plain(high - low)}:look; or ask with noise.",
        )


def plain(number: Fraction) -> str:
    """A number as ``exact`` reads it."""
    return str(number.numerator) if number.denominator == 1 else str(number)


def promised(policy: Policy, card: Card, columns: Collection[str]) -> Statement:
    """What is promised with an answer about these columns, and with all audited answers before it."""
    watched = {name: watch for name, watch in policy.columns.items() if name in columns}
    assumes = [
        f"Anyone may know {_listed([*policy.by, *([card.unit] if card.unit else [])])} of everyone in {card.name}."
        if policy.by or card.unit
        else f"Anyone may know who is in {card.name}.",
        "All that is released about the audited columns is in audited answers, in one history.",
        f"{card.whose} No one has more rows in {card.name} than its card allows, or lacks a required value.",
    ]
    if any(watch.how != BOUNDED for watch in watched.values()):
        assumes.append(_BEYOND_BOUNDS)
    if any(watch.how == EXTREMES for watch in watched.values()):
        assumes.append(_AT_AN_END)
    if len(policy.columns) > 1 and any(watch.how != SUM for watch in policy.columns.values()):
        assumes.append(_APART)
    if any(watch.how == BOUNDED for watch in watched.values()):
        assumes.append("The linear-programming solver that computed the ranges of values is correct.")
    return Statement(
        card.unit or "row",
        models=tuple(_claim(name, watch, card) for name, watch in watched.items()),
        evidence=Evidence.PROVED,
        assumes=tuple(assumes),
        caveats=(*_CAVEATS, *(_looked(name) for name, watch in watched.items() if watch.look)),
    )


def _claim(name: str, watch: Watch, card: Card) -> Claim:
    if watch.width is not None:
        text = (
            f"audited: together with all earlier audited answers, it leaves values of {name} possible that "
            f"are {plain(watch.width)} apart"
        )
    else:
        text = (
            f"audited: together with all earlier audited answers, it determines no {name}, if values could "
            "be any number"
        )
    return Claim(NAME, text, {"column": name, "how": str(watch), "table": card.name})


def _looked(name: str) -> str:
    return (
        f"Denials about {name} depend on the answers. A denial that closes the column reveals that the "
        "answer was near a bound; and although several values stay possible, some may become likelier."
    )


def _listed(names: Collection[str]) -> str:
    *most, last = dict.fromkeys(names)
    return f"{', '.join(most)} and {last}" if most else last

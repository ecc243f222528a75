"""What audited answers promise, and what they do not."""

from __future__ import annotations

from collections.abc import Collection

from discreet.core.card import Card
from discreet.core.statement import Claim, Evidence, Statement
from discreet.verbs.ask.query_auditing.policy import BOUNDED, EXTREMES, SUM, Policy, Watch, plain

NAME = "audited"
_CAVEATS = (
    "This is not differential privacy: nothing is promised of what can be guessed closely, of groups of people, nor to "
    "anybody about whom somebody knows more than the answers say, such as a group's other values.",
    "It does not compose: with other releases about the same people, from here or elsewhere, nothing is promised.",
)
_BEYOND_BOUNDS = (
    "Values are taken to be any number: whoever knows that they lie between bounds may learn more from answers near "
    "the ends."
)
_AT_AN_END = "No largest value is the lowest there can be, such as 0, and no smallest the highest: all would have it."
_APART = (
    "Columns that are audited for anything but sums are not related to other audited ones: what follows from several "
    "of them together is weighed for sums alone."
)


def promised(policy: Policy, card: Card, columns: Collection[str]) -> Statement:
    """What is promised with an answer about these columns, and with all audited answers before it."""
    watched = {name: watch for name, watch in policy.columns.items() if name in columns}
    assumes = [
        f"Everybody may know {_listed([*policy.by, *([card.unit] if card.unit else [])])} of everybody in {card.name}."
        if policy.by or card.unit
        else f"Everybody may know who is in {card.name}.",
        "Everything that is told about the audited columns is told by audited answers, which all are in one history.",
        f"{card.whose} Nobody has more rows in {card.name} than its card allows, or lacks a value that it requires.",
    ]
    if any(watch.how != BOUNDED for watch in watched.values()):
        assumes.append(_BEYOND_BOUNDS)
    if any(watch.how == EXTREMES for watch in watched.values()):
        assumes.append(_AT_AN_END)
    if len(policy.columns) > 1 and any(watch.how != SUM for watch in policy.columns.values()):
        assumes.append(_APART)
    if any(watch.how == BOUNDED for watch in watched.values()):
        assumes.append("The linear-programming solver that found between what values can range is right.")
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
            f"audited: by it and all audited answers before it, values of {name} remain possible that lie "
            f"{plain(watch.width)} apart"
        )
    else:
        text = (
            f"audited: if values could be any number, by it and all audited answers before it no {name} is determined"
        )
    return Claim(NAME, text, {"column": name, "how": str(watch), "table": card.name})


def _looked(name: str) -> str:
    return (
        f"Answers about {name} are looked at before they are denied. A denial that closes the column depends on the "
        "data and tells that the answer lay near an end; and that several values stay possible does not mean that "
        "nothing was learnt of how likely they are."
    )


def _listed(names: Collection[str]) -> str:
    *most, last = dict.fromkeys(names)
    return f"{', '.join(most)} and {last}" if most else last

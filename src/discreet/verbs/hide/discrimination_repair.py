"""Discrimination prevention: change decisions until no rule discriminates.

After the direct rule protection of Hajian and Domingo-Ferrer (2013), "A methodology for direct and indirect
discrimination prevention in data mining". The elift of A, B => C goes down in two ways that change decisions only:

- *up* (the better treatment for the protected): of those with A and B, some lose C;
- *down* (the worse treatment for the others): of those with B and without A, some get C. That is the class item method
  of the paper.

Changing for one rule can make another one worse, so rules are looked for again until there is none. It can also leave
another with less support than is looked for: so a rule that was found once is watched to the end, however few still
bear it out. Why this ends: *up* only takes C out and *down* only puts C in, and there are finitely many. Redlining
rules go the same way: what they tell is a bound from below on the elift of a direct rule, so that it is below α as soon
as that elift is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal

import numpy as np

from discreet.core.exact import Number
from discreet.errors import BadInput
from discreet.verbs.hide.discrimination import (
    LONGEST,
    Discrimination,
    Disparity,
    discriminating,
    disparity,
    require_ratio,
)
from discreet.verbs.hide.transactions import Array, Transactions, places

Levelling = Literal["up", "down"]


@dataclass(frozen=True)
class Neutralised:
    """Transactions in which no rule that was found, at first or on the way, is α-discriminatory by elift any more."""

    transactions: Transactions
    before: Discrimination
    after: Discrimination
    changed: tuple[int, ...]
    """The transactions whose decision is another one."""


def neutralise(
    transactions: Transactions,
    *,
    protected: tuple[str, ...],
    decision: str,
    otherwise: str | None = None,
    least: int,
    alpha: Number,
    way: Levelling = "up",
    longest: int = LONGEST,
) -> Neutralised:
    """Change decisions until every rule found has an elift of less than ``alpha``.

    ``otherwise`` is the item that stands where the decision does not, if there is one: they change places. Of those
    whose decision may change, those come first that count in most discriminating rules and fewest protective ones.
    """
    if way not in ("up", "down"):
        raise BadInput(f"Treatment must be levelled up or down, not {way!r}.")
    if otherwise is not None and (otherwise == decision or otherwise in protected):
        what = "the decision" if otherwise == decision else "protected"
        raise BadInput(f"{otherwise!r} is {what}, and cannot replace the decision.")
    limit = require_ratio(alpha)

    def look(at: Transactions) -> Discrimination:
        return discriminating(at, protected=protected, decision=decision, least=least, alpha=limit, longest=longest)

    first = found = look(transactions)
    now = transactions
    watched: dict[tuple[frozenset[str], frozenset[str]], None] = {}
    while True:
        watched |= dict.fromkeys((one.protected, one.context) for one in found.direct)
        watched |= dict.fromkeys((one.protected, one.context) for one in found.indirect)
        worth, after = _worth(transactions, found), now
        for trait, context in watched:
            current = disparity(after, trait, context, decision)
            if current is not None and current.elift >= limit:
                after = _change(after, current, limit, way, worth, otherwise)
        if after is now:
            break
        now, found = after, look(after)
    here = transactions.number[decision]
    changed = places(transactions.bits[here] ^ now.bits[here])
    return Neutralised(now, first, found, tuple(changed.tolist()))


def _worth(transactions: Transactions, found: Discrimination) -> Array:
    """For each transaction: in the premises of how many discriminating rules it is, less those of protective ones."""
    worth = np.zeros(transactions.rows, np.int64)
    for rules, sign in ((found.direct, 1), (found.protective, -1)):
        for rule in rules:
            worth[transactions.rows_of(rule.protected | rule.context)] += sign
    return worth


def _change(  # noqa: PLR0917
    now: Transactions, rule: Disparity, alpha: Fraction, way: Levelling, worth: Array, otherwise: str | None
) -> Transactions:
    """Change as few decisions as bring the elift of one rule below ``alpha``."""
    number = needed(rule, alpha, way)
    about, trait = now.having(rule.context), now.having(rule.protected)
    decided = now.bits[now.number[rule.decision]]
    may = about & trait & decided if way == "up" else about & ~trait & ~decided
    rows = places(may)
    chosen = rows[np.argsort(-worth[rows], kind="stable")][:number].tolist()
    cells, opposite = [(row, rule.decision) for row in chosen], []
    if otherwise is not None:
        opposite = [(row, otherwise) for row in chosen]
    return now.changed(cells, opposite) if way == "up" else now.changed(opposite, cells)


def needed(rule: Disparity, alpha: Fraction, way: Levelling) -> int:
    """How many decisions must change, at least, for the elift of a rule to be below ``alpha``.

    With ``a`` of ``n`` hit, of ``s`` among ``m`` in the context, the elift after k changes is (a − k) m / (n (s − k))
    when levelled up and a m / (n (s + k)) when levelled down. Neither rises with k, since a is at most s. There are
    always enough to change: if all who may be are, then either no one with A is hit, or everyone without A is.
    """
    a, n = rule.hit, rule.having
    s, m = rule.hit + rule.others_hit, rule.having + rule.others
    if way == "down":
        return max(0, floor(Fraction(a * m) / (n * alpha)) + 1 - s)
    low, high = 0, a  # with all of them changed no one is hit
    while low < high:
        middle = (low + high) // 2
        if (a - middle) * m < alpha * n * (s - middle):
            high = middle
        else:
            low = middle + 1
    return low

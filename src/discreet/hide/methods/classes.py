"""Transactions that are alike for hiding: the same secrets, and the same itemsets that could get lost.

What an exact program is made of; the argument for leaving out all else is in ``exact.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.hide.mining.frequent import Itemset
from discreet.hide.problem import Problem
from discreet.hide.secrets import Secret
from discreet.hide.transactions import Array, Transactions, places

MOST_SETS = 4096
"""If more sets of items can be taken out of a transaction, the program is too large."""
_MOST_COMPARED = 200
_MOST_CELLS = 2_000_000_000


@dataclass(frozen=True)
class Choice:
    """A set of items that transactions of a class may lose, and what it hits: secrets, endangered, antecedents."""

    items: Itemset
    secrets: frozenset[int]
    endangered: frozenset[int]
    antecedents: frozenset[int]

    def at_least_as_good(self, other: Choice) -> bool:
        """Whether it breaks all that the other one breaks, and does no harm that the other one does not."""
        return (
            self.secrets >= other.secrets
            and self.endangered <= other.endangered
            and self.antecedents <= other.antecedents
            and len(self.items) <= len(other.items)
        )


@dataclass(frozen=True)
class Class:
    """Transactions that are alike, and the sets of items that it can make sense to take out of one."""

    rows: Array
    choices: tuple[Choice, ...]
    instead: dict[Itemset, int]
    """For each minimal set of items the choice that is as good."""


@dataclass(frozen=True, eq=False)
class Classes:
    """All that an exact program needs to know of the transactions."""

    problem: Problem
    secrets: tuple[Secret, ...]
    """Those that are visible, and all rules, as these can become so."""
    having: dict[Secret, frozenset[int]]
    """The transactions that have all of each secret."""
    endangered: tuple[tuple[Itemset, ...], ...]
    """Innocent itemsets that could get lost; those of one group are hit by the same changes and have the same room."""
    room: tuple[int, ...]
    """How many transactions each group can lose and stay frequent."""
    classes: tuple[Class, ...]

    @property
    def rows(self) -> int:
        """How many transactions there are in all classes."""
        return sum(len(one.rows) for one in self.classes)

    def chosen(self, after: Transactions) -> list[tuple[int, int, int]]:
        """What was done elsewhere, as choices: (class, choice, transaction)."""
        before = self.problem.transactions
        gone = before.bits & ~after.bits
        touched = set(places(np.bitwise_or.reduce(gone, axis=0)).tolist())
        found = []
        for place, one in enumerate(self.classes):
            for row in one.rows.tolist():
                if row in touched:
                    mask = gone[:, row // 64] >> np.uint64(row % 64) & np.uint64(1)
                    taken = frozenset(before.items[code] for code in np.flatnonzero(mask))
                    wholes = [secret.whole for secret in self.secrets if row in self.having[secret]]
                    needed = _thinned(taken, wholes)
                    if needed:
                        found.append((place, one.instead[needed], row))
        return found


def classified(problem: Problem) -> Classes:
    """Group the transactions that have a secret."""
    before = problem.transactions
    secrets = tuple(one for one in problem.secrets if one.is_rule or one in problem.visible(before))
    bits = [before.having(one.whole) for one in secrets]
    relevant = np.bitwise_or.reduce(bits, axis=0) if bits else np.zeros(before.bits.shape[1], np.uint64)
    rows = places(relevant)
    groups, room = _endangered(problem, secrets, bits)
    if (len(groups) + 1) * (len(rows) + 1) > _MOST_CELLS:
        raise BadInput(
            f"{len(groups):,} itemsets in {len(rows):,} transactions are endangered: too many for an exact solution.",
            hint="Use a heuristic such as bba or maxmin, or a higher support.",
        )
    wholes, antecedents = [one.whole for one in secrets], [one.antecedent for one in secrets]
    shown = [one[0] for one in groups]
    holds = np.concatenate([_holds(before, sets, rows) for sets in (wholes, shown, antecedents)])
    packed = np.packbits(holds, axis=0)
    _, first, which = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(first)))
    k, m = len(wholes), len(shown)
    known: dict[tuple[int, ...], list[Itemset]] = {}
    made = []
    for place, members in enumerate(np.split(order, ends[:-1]) if len(rows) else []):
        pattern = holds[:, first[place]]
        has = tuple(np.flatnonzero(pattern[:k]).tolist())
        if has not in known:
            known[has] = minimal_sets([wholes[one] for one in has])
        harmed = [(one, shown[one]) for one in np.flatnonzero(pattern[k : k + m]).tolist()]
        led = [(one, antecedents[one]) for one in np.flatnonzero(pattern[k + m :]).tolist() if antecedents[one]]
        choices = [
            Choice(
                taken,
                frozenset(one for one in has if wholes[one] & taken),
                frozenset(one for one, itemset in harmed if itemset & taken),
                frozenset(one for one, itemset in led if itemset & taken),
            )
            for taken in known[has]
        ]
        made.append(_class(rows[members], choices))
    having = {one: frozenset(places(mask).tolist()) for one, mask in zip(secrets, bits, strict=True)}
    return Classes(problem, secrets, having, groups, room, tuple(made))


def minimal_sets(secrets: Sequence[Itemset]) -> list[Itemset]:
    """The sets of items of which each item breaks a secret that no other item of the set does.

    These are the minimal sets for some of the secrets. Each is found: go through these secrets and, where the set so
    far does not break one, add the item that does.
    """
    found: set[Itemset] = {frozenset()}
    for secret in secrets:
        found |= {taken | {item} for taken in found if not taken & secret for item in secret}
        if len(found) > MOST_SETS:
            raise BadInput(
                f"A transaction has {len(secrets)} secrets, which can be broken in more than {MOST_SETS:,} ways: too "
                "many for an exact solution.",
                hint="Use a heuristic such as bba or maxmin.",
            )
    kept = (taken for taken in found if taken and _thinned(taken, secrets) == taken)
    return sorted(kept, key=lambda taken: (len(taken), sorted(taken)))


def _thinned(taken: Itemset, secrets: Sequence[Itemset]) -> Itemset:
    """A minimal part of what was taken out that breaks the same secrets."""
    broken = [secret for secret in secrets if secret & taken]
    for item in sorted(taken):
        less = taken - {item}
        if all(secret & less for secret in broken):
            taken = less
    return taken


def _class(rows: Array, choices: list[Choice]) -> Class:
    """A class without choices that another one is at least as good as."""
    kept, instead = list(range(len(choices))), {place: place for place in range(len(choices))}
    if len(choices) <= _MOST_COMPARED:
        for one, other in combinations(range(len(choices)), 2):
            for better, worse in ((one, other), (other, one)):
                if (
                    instead[worse] == worse
                    and instead[better] == better
                    and choices[better].at_least_as_good(choices[worse])
                ):
                    instead[worse] = better
        kept = [place for place in kept if instead[place] == place]
    number = {place: position for position, place in enumerate(kept)}

    def last(place: int) -> int:
        while instead[place] != place:
            place = instead[place]
        return number[place]

    by_items = {choice.items: last(place) for place, choice in enumerate(choices)}
    return Class(rows, tuple(choices[place] for place in kept), by_items)


def _endangered(
    problem: Problem, secrets: tuple[Secret, ...], bits: list[Any]
) -> tuple[tuple[tuple[Itemset, ...], ...], tuple[int, ...]]:
    """The innocent itemsets that could get lost, grouped, and the room of each group."""
    items = frozenset(item for one in secrets for item in one.whole)
    groups: dict[tuple[Itemset, int, bytes], list[Itemset]] = {}
    for itemset, support in problem.innocent.items():
        shared = itemset & items
        touching = [mask for one, mask in zip(secrets, bits, strict=True) if one.whole & shared]
        if not touching:
            continue
        reach = problem.transactions.having(itemset) & np.bitwise_or.reduce(touching, axis=0)
        room = support - problem.least
        if int(np.bitwise_count(reach).sum(dtype=np.int64)) > room:
            groups.setdefault((shared, room, reach.tobytes()), []).append(itemset)
    return tuple(tuple(one) for one in groups.values()), tuple(room for _, room, _ in groups)


def _holds(before: Transactions, itemsets: Sequence[Itemset], rows: Array) -> Array:
    """Which of some transactions (across) has which of some itemsets (down)."""
    found = np.empty((len(itemsets), len(rows)), bool)
    words, shifts = rows // 64, (rows % 64).astype(np.uint64)
    for place, itemset in enumerate(itemsets):
        found[place] = (before.having(itemset)[words] >> shifts & np.uint64(1)).astype(bool)
    return found

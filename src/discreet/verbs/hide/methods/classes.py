"""Equivalence classes of transactions for exact hiding: the same secrets and the same endangered itemsets.

What an exact program is made of; the argument for leaving out all else is in ``exact.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.verbs.hide.mining.borders import by_size
from discreet.verbs.hide.mining.frequent import Itemset
from discreet.verbs.hide.problem import HidingProblem
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array, Transactions, places

MOST_SETS = 2000
"""Largest number of item sets tried for a transaction; beyond, sets of at most two items and those of other methods."""
_MOST_CELLS = 2_000_000_000


@dataclass(frozen=True)
class Choice:
    """A set of items that transactions of a class may lose, and what it hits, as bits of whole numbers."""

    items: Itemset
    secrets: int
    endangered: int
    antecedents: int

    def at_least_as_good(self, other: Choice) -> bool:
        """Whether it breaks all that the other one breaks, and does no harm that the other one does not."""
        return not (
            other.secrets & ~self.secrets
            or self.endangered & ~other.endangered
            or self.antecedents & ~other.antecedents
            or len(self.items) > len(other.items)
        )


@dataclass(frozen=True)
class Class:
    """Transactions that are alike, and the sets of items that it can make sense to take out of one."""

    rows: Array
    choices: tuple[Choice, ...]
    instead: dict[Itemset, int]
    """For each minimal set of items the choice that is as good."""
    better: dict[str, str]
    """For each item one that breaks as many secrets and does no harm that it does not: the only one to be taken."""


@dataclass(frozen=True, eq=False)
class Classes:
    """All that an exact program needs to know of the transactions."""

    problem: HidingProblem
    secrets: tuple[Secret, ...]
    """Those that are visible, and all rules, as these can become so."""
    having: dict[Secret, frozenset[int]]
    """The transactions that have all of each secret."""
    endangered: tuple[tuple[Itemset, ...], ...]
    """Innocent itemsets that could get lost; those of one group are hit by the same changes and have the same room."""
    room: tuple[int, ...]
    """How many transactions each group can lose and stay frequent."""
    below: tuple[tuple[int, int], ...]
    """Pairs of groups: if the first is lost then so is the second, which has one item more."""
    classes: tuple[Class, ...]
    complete: bool
    """Whether all sets of items are considered that can make sense."""

    @property
    def rows(self) -> int:
        """How many transactions there are in all classes."""
        return sum(len(one.rows) for one in self.classes)

    def chosen(self, after: Transactions) -> list[tuple[int, int]]:
        """What was done elsewhere, as choices: (class, choice) for each transaction."""
        before = self.problem.transactions
        touched = _touched(before, after)
        wholes = [one.whole for one in self.secrets]
        found = []
        for place, one in enumerate(self.classes):
            for row in one.rows.tolist():
                if row in touched and (needed := _needed(before, after, row, wholes, one.better)):
                    found.append((place, one.instead[needed]))
        return found


def classified(problem: HidingProblem, also: Sequence[Transactions] = ()) -> Classes:
    """Group the transactions that have a secret. What was done to them in ``also`` is among the choices."""
    before = problem.transactions
    secrets = tuple(one for one in problem.secrets if one.is_rule or one in problem.visible(before))
    bits = [before.having(one.whole) for one in secrets]
    relevant = np.bitwise_or.reduce(bits, axis=0) if bits else np.zeros(before.bits.shape[1], np.uint64)
    rows = places(relevant)
    groups, room, below = _endangered(problem, secrets, bits)
    if (len(groups) + 1) * (len(rows) + 1) > _MOST_CELLS:
        raise BadInput(
            f"{len(groups):,} itemsets in {len(rows):,} transactions are endangered: too many for an exact solution.",
            hint="Use a heuristic such as bba or maxmin, or a higher support.",
        )
    wholes = [one.whole for one in secrets]
    kinds = (wholes, [one[0] for one in groups], [one.antecedent for one in secrets])
    held = [before.holds(sets, rows) for sets in kinds]
    _, first, which = np.unique(
        np.packbits(np.concatenate(held), axis=0), axis=1, return_index=True, return_inverse=True
    )
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(first)))
    hit_by = [_by_item(sets) for sets in kinds]
    known: dict[tuple[Itemset, ...], tuple[list[Itemset], bool]] = {}
    made, complete = [], True
    touched = [(other, _touched(before, other)) for other in also]
    for place, members in enumerate(np.split(order, ends[:-1]) if len(rows) else []):
        masks = [_as_number(one[:, first[place]]) for one in held]
        has = [one for number, one in enumerate(wholes) if masks[0] >> number & 1]
        hits = {
            item: tuple(by.get(item, 0) & mask for by, mask in zip(hit_by, masks, strict=True))
            for item in sorted(frozenset().union(*has))
        }
        better = _better(hits)
        best = tuple(frozenset(one & set(better.values())) for one in has)
        if best not in known:
            known[best] = minimal_sets(best)
        sets, all_of_them = known[best]
        if not all_of_them:
            complete = False
            done = (
                _needed(before, other, row, wholes, better)
                for other, changed in touched
                for row in changed.intersection(rows[members].tolist())
            )
            sets = sorted({*sets, *done} - {frozenset()}, key=by_size)
        choices = [_choice(taken, hits) for taken in sets]
        made.append(_class(rows[members], choices, better))
    having = {one: frozenset(places(mask).tolist()) for one, mask in zip(secrets, bits, strict=True)}
    return Classes(problem, secrets, having, groups, room, below, tuple(made), complete)


def minimal_sets(secrets: Sequence[Itemset]) -> tuple[list[Itemset], bool]:
    """The sets of items of which each item breaks a secret that no other item of the set does; and whether these are
    all, or there are too many, and those of two items at most were taken.

    They are the minimal sets for some of the secrets. Each is found: go through these secrets and, where the set so far
    does not break one, add the item that does. A set with an item that is not needed stays one, whatever is added.
    """
    found: set[Itemset] = {frozenset()}
    for secret in secrets:
        longer = {taken | {item} for taken in found if not taken & secret for item in secret} - found
        found |= {taken for taken in longer if _thinned(taken, secrets) == taken}
        if len(found) > MOST_SETS:
            items = sorted(frozenset().union(*secrets))
            few = {frozenset(pair) for pair in combinations(items, 2)}
            found = {frozenset((item,)) for item in items} | {one for one in few if _thinned(one, secrets) == one}
            return sorted(found, key=by_size), False
    return sorted(found - {frozenset()}, key=by_size), True


def _thinned(taken: Itemset, secrets: Sequence[Itemset]) -> Itemset:
    """A minimal part of what was removed that breaks the same secrets."""
    broken = [secret for secret in secrets if secret & taken]
    for item in sorted(taken):
        less = taken - {item}
        if all(secret & less for secret in broken):
            taken = less
    return taken


def _better(hits: dict[str, tuple[int, ...]]) -> dict[str, str]:
    """For each item one that breaks the same secrets and does at most its harm. Anyone who takes the first may take the
    second: a set with the one in the place of the other breaks as much, harms no more, and is no larger."""
    better: dict[str, str] = {}
    for item, (secrets, endangered, antecedents) in hits.items():
        for other, (breaks, harms, thins) in hits.items():
            if other != item and not (secrets & ~breaks or harms & ~endangered or thins & ~antecedents):
                same = hits[other] == hits[item]
                if not same or other < item:  # of two that are equal the first one
                    better[item] = other
                    break
        else:
            better[item] = item
    return {item: _last(better, item) for item in better}


def _last(better: dict[str, str], item: str) -> str:
    while better[item] != item:
        item = better[item]
    return item


def _needed(
    before: Transactions, after: Transactions, row: int, secrets: Sequence[Itemset], better: dict[str, str]
) -> Itemset:
    """What left a transaction, with better items instead, and without what breaks no secret."""
    word, bit = row // 64, np.uint64(1) << np.uint64(row % 64)
    had = before.bits[:, word] & bit
    taken, there = (
        frozenset(before.items[code] for code in np.flatnonzero(mask)) for mask in (had & ~after.bits[:, word], had)
    )
    instead = frozenset(better[item] for item in taken if item in better)
    return _thinned(instead, [secret for secret in secrets if secret <= there])


def _touched(before: Transactions, after: Transactions) -> frozenset[int]:
    """The transactions that lost something."""
    return frozenset(places(np.bitwise_or.reduce(before.bits & ~after.bits, axis=0)).tolist())


def _by_item(itemsets: Sequence[Itemset]) -> dict[str, int]:
    """For each item the numbers of the itemsets that have it, as bits."""
    found: dict[str, int] = {}
    for number, itemset in enumerate(itemsets):
        for item in itemset:
            found[item] = found.get(item, 0) | 1 << number
    return found


def _as_number(flags: Array) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _choice(taken: Itemset, hits: dict[str, tuple[int, ...]]) -> Choice:
    """What a set of items hits, which is what its items hit."""
    secrets, endangered, antecedents = (reduce(or_, one) for one in zip(*(hits[item] for item in taken), strict=True))
    return Choice(taken, secrets, endangered, antecedents)


def _class(rows: Array, choices: list[Choice], better: dict[str, str]) -> Class:
    """A class without choices that another one is at least as good as."""
    kept: list[Choice] = []
    instead: dict[Itemset, int] = {}
    for choice in choices:  # small sets come first, and what is as good as a larger one is not larger
        as_good = next((place for place, one in enumerate(kept) if one.at_least_as_good(choice)), len(kept))
        if as_good == len(kept):
            kept.append(choice)
        instead[choice.items] = as_good
    return Class(rows, tuple(kept), instead, better)


def _endangered(
    problem: HidingProblem, secrets: tuple[Secret, ...], bits: list[Any]
) -> tuple[tuple[tuple[Itemset, ...], ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The non-sensitive itemsets that could get lost, grouped, the room of each group, and which implies which.

    An itemset is as safe as those that contain it: if it were lost, they would be too. So it is not endangered if an
    innocent one with one item more is not.
    """
    items = frozenset(item for one in secrets for item in one.whole)
    found: dict[Itemset, tuple[Itemset, int, bytes]] = {}
    safe: set[Itemset] = set()
    pairs: list[tuple[Itemset, Itemset]] = []
    for itemset, support in sorted(problem.innocent.items(), key=lambda pair: -len(pair[0])):
        shared = itemset & items
        touching = [mask for one, mask in zip(secrets, bits, strict=True) if one.whole & shared]
        room = support - problem.least
        key = None
        if touching and itemset not in safe:
            reach = problem.transactions.having(itemset) & np.bitwise_or.reduce(touching, axis=0)
            if int(np.bitwise_count(reach).sum(dtype=np.int64)) > room:
                key = shared, room, reach.tobytes()
        parts = [itemset - {item} for item in itemset]
        if key is None:
            safe.update(parts)
        else:
            found[itemset] = key
            pairs += [(part, itemset) for part in parts]
    place: dict[tuple[Itemset, int, bytes], int] = {}
    groups: list[list[Itemset]] = []
    for itemset, key in found.items():
        if key not in place:
            place[key] = len(groups)
            groups.append([])
        groups[place[key]].append(itemset)
    below = {(place[found[part]], place[found[whole]]) for part, whole in pairs if part in found}
    above = tuple(sorted((one, other) for one, other in below if one != other))
    return tuple(map(tuple, groups)), tuple(room for _, room, _ in place), above

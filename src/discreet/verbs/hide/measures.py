"""Side effects of hiding: secrets still visible, innocent patterns lost, artificial patterns, each by name.

D are the transactions before and D' after; F and F' are what is frequent in them; an itemset is *sensitive* if it
contains a secret, since hiding the secret hides it too (unless the secret is visible only above the miner's support:
then it can stay frequent). After Oliveira and Zaïane (2002), "Privacy preserving frequent
itemset mining":

- hiding failure: secrets visible in D' over secrets visible in D;
- misses cost: of the itemsets in F that are not sensitive, the share that is not in F';
- artificial patterns: the share of F' that is not in F;
- dissimilarity: Σ |f(i) − f'(i)| / Σ f(i), f being the supports of single items;
- information loss: the same sum over the itemsets of F that are not sensitive.

All are 0 at best. Those of rules are the same shares among rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.verbs.hide.mining.frequent import Frequent, Itemset, frequent
from discreet.verbs.hide.mining.rules import rule_in, rules_up_to, written
from discreet.verbs.hide.transactions import Transactions

Sides = tuple[Itemset, Itemset]

MOST_COMPARED = 500_000
"""Largest number of rules that are compared one by one."""


@dataclass(frozen=True)
class Shift:
    """An itemset, and how many transactions had it before and have it after."""

    itemset: Itemset
    before: int
    after: int

    def __str__(self) -> str:
        return f"{written(self.itemset)}: {self.before:,} → {self.after:,}"


@dataclass(frozen=True)
class RuleShift:
    """A rule, with support and confidence before and after; 0 where a side is nowhere any more."""

    antecedent: Itemset
    consequent: Itemset
    before: tuple[int, Fraction]
    after: tuple[int, Fraction]

    def __str__(self) -> str:
        sides = f"{written(self.antecedent)} => {written(self.consequent)}"
        (support, confidence), (less, weaker) = self.before, self.after
        return f"{sides}: {support:,} ({float(confidence):.1%}) → {less:,} ({float(weaker):.1%})"


Shifts = tuple[Shift, ...] | tuple[RuleShift, ...]


@dataclass(frozen=True)
class Patterns:
    """Of itemsets, or of rules: what stays visible, what was lost, what appeared; and how many there are to compare."""

    visible: Shifts
    """Secrets that a miner finds still."""
    hidden: Shifts
    """Secrets that a miner finds no longer."""
    lost: Shifts
    """What is not sensitive, and is found no longer."""
    artificial: Shifts
    """What is found now, and was not before."""
    innocent: int
    """How many that are not sensitive were found before."""
    after: int
    """How many are found after."""

    @property
    def hiding_failure(self) -> float:
        """The share of secrets, visible before, that stay visible."""
        return _over(len(self.visible), len(self.visible) + len(self.hidden))

    @property
    def misses_cost(self) -> float:
        """The share of what is not sensitive that was lost."""
        return _over(len(self.lost), self.innocent)

    @property
    def artificial_patterns(self) -> float:
        """The share of what is found after that was not there before."""
        return _over(len(self.artificial), self.after)

    def to_dict(self) -> dict[str, Any]:
        """The figures and the names, as plain data."""
        figures = ("hiding_failure", "misses_cost", "artificial_patterns")
        names = ("visible", "hidden", "lost", "artificial")
        return {one: getattr(self, one) for one in figures} | {one: [*map(str, getattr(self, one))] for one in names}


@dataclass(frozen=True)
class SideEffects:
    """All measures of one change of transactions."""

    itemsets: Patterns
    rules: Patterns | None
    """None if no confidence was given, or there are more than ``MOST_COMPARED``: then rules were not looked at."""
    dissimilarity: float
    information_loss: float
    taken_out: int
    """How many cells have lost their item."""
    put_in: int
    touched: int
    """How many transactions are not what they were."""

    def to_dict(self) -> dict[str, Any]:
        """The figures and the names, as plain data."""
        return vars(self) | {"itemsets": self.itemsets.to_dict(), "rules": self.rules and self.rules.to_dict()}


def side_effects(
    before: Transactions,
    after: Transactions,
    *,
    least: int,
    itemsets: Mapping[Itemset, int] | None = None,
    confidence: Fraction | None = None,
    secret_rules: Mapping[Sides, tuple[int, Fraction]] | None = None,
) -> SideEffects:
    """Compare transactions before and after some secrets were hidden.

    ``least`` is the support of a miner, ``confidence`` the confidence. ``itemsets`` are secrets, each with the support
    at which it is visible, and ``secret_rules`` those with support and confidence at which they are. A secret that was
    not visible before counts nowhere.
    """
    before.require_like(after)
    secrets, hidden_rules = itemsets or {}, secret_rules or {}
    found, left = frequent(before, least), frequent(after, least)
    sensitive = [one for one, limit in secrets.items() if limit <= least]
    among, loss = _of_itemsets(before, after, (found, left), secrets, sensitive)
    of_rules = None
    if confidence is not None:
        mined = [rules_up_to(one, confidence, MOST_COMPARED) for one in (found, left)]
        was, now = (None if one is None else one.pairs for one in mined)
        if was is not None and now is not None:
            of_rules = _of_rules(before, after, (was, now), sensitive, hidden_rules)
    gone, fresh = before.bits & ~after.bits, after.bits & ~before.bits
    total = int(before.supports.sum())
    return SideEffects(
        among,
        of_rules,
        _over(int(np.abs(before.supports - after.supports).sum()), total),
        loss,
        int(np.bitwise_count(gone).sum(dtype=np.int64)),
        int(np.bitwise_count(fresh).sum(dtype=np.int64)),
        int(np.bitwise_count(np.bitwise_or.reduce(gone | fresh, axis=0)).sum(dtype=np.int64)),
    )


def _of_itemsets(
    before: Transactions,
    after: Transactions,
    mined: tuple[Frequent, Frequent],
    secrets: Mapping[Itemset, int],
    sensitive: Sequence[Itemset],
) -> tuple[Patterns, float]:
    """What became of itemsets; and the sum of what supports lost, over the sum of supports."""
    was, now = (one.as_dict() for one in mined)
    plain = {itemset: support for itemset, support in was.items() if not _touches(itemset, sensitive)}
    supports = {itemset: now[itemset] if itemset in now else after.support(itemset) for itemset in plain}
    watched = [(Shift(one, before.support(one), after.support(one)), limit) for one, limit in secrets.items()]
    seen = [(shift, limit) for shift, limit in watched if shift.before >= limit]
    patterns = Patterns(
        _sorted(shift for shift, limit in seen if shift.after >= limit),
        _sorted(shift for shift, limit in seen if shift.after < limit),
        _sorted(Shift(one, plain[one], supports[one]) for one in plain if one not in now),
        _sorted(Shift(one, before.support(one), now[one]) for one in now if one not in was),
        len(plain),
        len(now),
    )
    return patterns, _over(sum(abs(plain[one] - supports[one]) for one in plain), sum(plain.values()))


def _of_rules(
    before: Transactions,
    after: Transactions,
    mined: tuple[Mapping[Sides, int], Mapping[Sides, int]],
    sensitive: Sequence[Itemset],
    watched: Mapping[Sides, tuple[int, Fraction]],
) -> Patterns:
    """What became of rules. Those that contain a secret itemset are sensitive too."""
    was, now = mined
    plain = {sides for sides in was if sides not in watched and not _touches(sides[0] | sides[1], sensitive)}
    seen = []
    for sides, (support, least) in watched.items():
        shift = _rule_shift(before, after, sides)
        if shift.before[0] >= support and shift.before[1] >= least:
            seen.append((shift, shift.after[0] >= support and shift.after[1] >= least))
    return Patterns(
        _sorted(shift for shift, visible in seen if visible),
        _sorted(shift for shift, visible in seen if not visible),
        _sorted(_rule_shift(before, after, sides) for sides in plain if sides not in now),
        _sorted(_rule_shift(before, after, sides) for sides in now if sides not in was),
        len(plain),
        len(now),
    )


def _rule_shift(before: Transactions, after: Transactions, sides: Sides) -> RuleShift:
    both = [rule_in(one, *sides) for one in (before, after)]
    was, now = ((rule.support, rule.confidence) if rule else (0, Fraction(0)) for rule in both)
    return RuleShift(*sides, was, now)


def _touches(itemset: Itemset, secrets: Iterable[Itemset]) -> bool:
    return any(secret <= itemset for secret in secrets)


def _sorted(shifts: Iterable[Any]) -> tuple[Any, ...]:
    """The most frequent first, then by name."""

    def order(shift: Shift | RuleShift) -> tuple[int, Sequence[str]]:
        if isinstance(shift, Shift):
            return -shift.before, sorted(shift.itemset)
        return -shift.before[0], [written(shift.antecedent), written(shift.consequent)]

    return tuple(sorted(shifts, key=order))


def _over(part: float, whole: float) -> float:
    return part / whole if whole else 0.0

"""Discrimination discovery: rules whose decision C falls on a protected group A more often than on others like it.

Pedreschi, Ruggieri and Turini (2008), "Discrimination-aware data mining", and (2009), "Measuring discrimination in
socially-sensitive decision records". Items are declared protected by a person. A rule A, B => C, with A protected and a
context B that is not, is compared with its context:

- extended lift (elift): conf(A,B => C) / conf(B => C);
- selection lift (slift): conf(A,B => C) / conf(¬A,B => C);
- odds lift (olift): the same with odds, conf / (1 − conf);
- contrasted lift (clift): conf(A,B => C) over the confidence for that other value of the same attribute, among those
  someone in the context has, on which the decision falls least.

A rule is α-discriminatory if its measure is at least α, and α-protective if it is less.

Leaving the trait out does not help if others tell it. A rule D, B => C without protected items is a *redlining* rule
if D, B gives A away well enough that A, B => C must be α-discriminatory. Let β₁ = conf(A,B => D), β₂ = conf(D,B => A)
and γ = conf(D,B => C). Of the records with D and B at least a share β₂ + γ − 1 has both A and C (two parts of a whole
overlap by what they are more than it), and for each record with D and B there are β₂/β₁ with A and B. So conf(A,B => C)
is at least (β₁/β₂)(β₂ + γ − 1), whatever the records say otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import Literal, get_args

from discreet.core.exact import Number, exact
from discreet.errors import BadInput
from discreet.verbs.hide.mining.frequent import Frequent, Itemset, frequent
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.transactions import Transactions

Measure = Literal["elift", "slift", "olift"]
Ratio = Fraction | float
"""A fraction; or infinity, which is the only float."""

LONGEST = 4
"""Default length limit of a rule, items: longer ones concern a handful of people."""


@dataclass(frozen=True)
class Disparity:
    """A rule A, B => C in numbers: how many have A and B, and how many of these C; and the same without A."""

    protected: Itemset
    context: Itemset
    decision: str
    having: int
    hit: int
    others: int
    others_hit: int

    @property
    def confidence(self) -> Fraction:
        """conf(A,B => C)."""
        return Fraction(self.hit, self.having)

    @property
    def elift(self) -> Ratio:
        """conf(A,B => C) over conf(B => C)."""
        return _ratio(self.confidence, Fraction(self.hit + self.others_hit, self.having + self.others))

    @property
    def slift(self) -> Ratio:
        """conf(A,B => C) over conf(¬A,B => C); 1 if there are no others."""
        return _ratio(self.confidence, Fraction(self.others_hit, self.others)) if self.others else Fraction(1)

    @property
    def olift(self) -> Ratio:
        """The odds of C with A over those without; 1 if there are no others."""
        missed, others_missed = self.having - self.hit, self.others - self.others_hit
        if not self.others:
            return Fraction(1)
        return _ratio(Fraction(self.hit * others_missed), Fraction(self.others_hit * missed))

    def measured(self, by: Measure) -> Ratio:
        found: Ratio = getattr(self, by)
        return found

    def __str__(self) -> str:
        sides = f"{written(self.protected | self.context)} => {self.decision}"
        return f"{sides}: {self.hit:,} of {self.having:,}, elift {float(self.elift):.2f}, slift {float(self.slift):.2f}"


@dataclass(frozen=True)
class Redlining:
    """A rule D, B => C without protected items, from which A, B => C follows with at least this elift."""

    given: Itemset
    context: Itemset
    protected: Itemset
    decision: str
    bound: Fraction
    """What the elift of A, B => C is at least."""

    def __str__(self) -> str:
        told = f"{written(self.given | self.context)} => {self.decision}"
        return f"{told}: implies {written(self.protected)}, whose elift is at least {float(self.bound):.2f}"


@dataclass(frozen=True)
class Discrimination:
    """What was found: the rules that discriminate, the worst first, and those that do so in disguise."""

    direct: tuple[Disparity, ...]
    indirect: tuple[Redlining, ...]
    protective: tuple[Disparity, ...]
    """The rules about protected items that do not discriminate."""
    alpha: Fraction
    measure: Measure


def discriminating(
    transactions: Transactions,
    *,
    protected: Collection[str],
    decision: str,
    least: int,
    alpha: Number,
    measure: Measure = "elift",
    longest: int = LONGEST,
) -> Discrimination:
    """The rules for ``decision`` that discriminate against ``protected`` items.

    Rules that at least ``least`` transactions bear out are looked at, of at most ``longest`` items with the decision.
    Indirect ones are those of which all that the bound is made of is in as many.
    """
    share = _checked(transactions, protected, decision, alpha, measure)
    found = frequent(transactions, least, longest=longest)
    kept = frozenset(protected)
    direct: list[Disparity] = []
    protective: list[Disparity] = []
    for itemset, support in found:
        rest = itemset - {decision}
        if decision in itemset and rest & kept:
            one = _disparity(found, rest & kept, rest - kept, decision, support)
            (direct if one.measured(measure) >= share else protective).append(one)
    direct.sort(key=lambda one: (-one.measured(measure), -one.hit, str(one)))
    indirect = sorted(_redlining(found, kept, decision, share), key=lambda one: (-one.bound, str(one)))
    return Discrimination(tuple(direct), tuple(indirect), tuple(protective), share, measure)


def contrasted(transactions: Transactions, rule: Disparity) -> Ratio:
    """The contrasted lift of a rule about one protected item ``attribute=value``; 1 if there is no other value."""
    (item, *more) = rule.protected
    attribute, equals, _ = item.partition("=")
    if more or not equals:
        raise BadInput("A contrasted lift needs one protected item, written attribute=value.")
    least: Fraction | None = None
    for other in transactions.items:
        if other != item and other.startswith(f"{attribute}="):
            having = transactions.support({other, *rule.context})
            if having:
                hit = transactions.support({other, *rule.context, rule.decision})
                share = Fraction(hit, having)
                least = share if least is None else min(least, share)
    return Fraction(1) if least is None else _ratio(rule.confidence, least)


def disparity(
    transactions: Transactions, protected: Collection[str], context: Collection[str], decision: str
) -> Disparity | None:
    """One rule in numbers, however few bear it out; None if no one in the context is protected."""
    trait, about = frozenset(protected), frozenset(context)
    having, everybody = transactions.support(trait | about), transactions.support(about)
    if not having:
        return None
    hit, all_hit = transactions.support(trait | about | {decision}), transactions.support(about | {decision})
    return Disparity(trait, about, decision, having, hit, everybody - having, all_hit - hit)


def require_ratio(alpha: Number) -> Fraction:
    """α as a fraction above 1: less would call equal treatment discrimination."""
    share = exact(alpha, "Alpha")
    if share <= 1:
        raise BadInput(
            f"Alpha must be a ratio above 1, not {alpha}.",
            hint="For example 1.25 allows a quarter more than in the context.",
        )
    return share


def _checked(
    transactions: Transactions, protected: Collection[str], decision: str, alpha: Number, measure: str
) -> Fraction:
    if not protected:
        raise BadInput("No item is declared protected.", hint="Name items such as sex=female.")
    transactions.codes([*protected, decision])
    if decision in protected:
        raise BadInput(f"{decision!r} is the decision, and cannot be protected as well.")
    if measure not in get_args(Measure):
        raise BadInput(f"There is no measure {measure!r}.", hint=f"There are {', '.join(get_args(Measure))}.")
    return require_ratio(alpha)


def _disparity(found: Frequent, trait: Itemset, context: Itemset, decision: str, hit: int) -> Disparity:
    """A rule whose whole is frequent: so is every part of it."""
    having, all_hit, everybody = found[trait | context], found[context | {decision}], found[context]
    return Disparity(trait, context, decision, having, hit, everybody - having, all_hit - hit)


def _redlining(found: Frequent, kept: Itemset, decision: str, alpha: Fraction) -> Iterable[Redlining]:
    for itemset, together in found:
        trait, rest = itemset & kept, itemset - kept
        if not trait or not rest or decision in itemset:
            continue
        decided = found.get(rest | {decision})
        if decided is None:
            continue
        told = found[rest]
        tells, falls = Fraction(together, told), Fraction(decided, told)
        if tells + falls <= 1:
            continue
        for given in map(frozenset, chain.from_iterable(combinations(sorted(rest), n + 1) for n in range(len(rest)))):
            context = rest - given
            back = Fraction(together, found[trait | context])
            bound = back / tells * (tells + falls - 1) * found[context] / found[context | {decision}]
            if bound >= alpha:
                yield Redlining(given, context, trait, decision, bound)


def _ratio(one: Fraction, other: Fraction) -> Ratio:
    if other:
        return one / other
    return math.inf if one else Fraction(1)

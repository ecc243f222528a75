"""Association rules with their support, confidence and lift."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.exact import Number, exact
from discreet.errors import BadInput
from discreet.verbs.hide.mining.frequent import Frequent, Itemset
from discreet.verbs.hide.transactions import Transactions

Array = npt.NDArray[Any]

MOST_RULES = 20_000_000
"""Largest number of rules that are made."""


@dataclass(frozen=True)
class Rule:
    """``antecedent => consequent``: how many transactions have both, and how they stand to those that have one."""

    antecedent: Itemset
    consequent: Itemset
    support: int
    confidence: Fraction
    """The share of transactions with the antecedent that have the consequent too."""
    lift: Fraction
    """The confidence over the share of all transactions that have the consequent: 1 if the sides are independent."""

    def __str__(self) -> str:
        return (
            f"{written(self.antecedent)} => {written(self.consequent)} "
            f"(support {self.support:,}, confidence {float(self.confidence):.1%}, lift {float(self.lift):.2f})"
        )


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules between frequent itemsets; iterating gives each as a ``Rule``."""

    frequent: Frequent
    nodes: Array
    """A row a rule: the nodes of the whole itemset, of the antecedent and of the consequent."""
    least_confidence: Fraction

    @cached_property
    def pairs(self) -> dict[tuple[Itemset, Itemset], int]:
        """The number of each rule, by antecedent and consequent."""
        names = self.frequent.names
        return {(names[a], names[c]): place for place, (_, a, c) in enumerate(self.nodes.tolist())}

    def get(self, antecedent: Collection[str], consequent: Collection[str]) -> Rule | None:
        """One of these rules, or None if it is none of them."""
        place = self.pairs.get((frozenset(antecedent), frozenset(consequent)))
        return None if place is None else self[place]

    def __getitem__(self, place: int) -> Rule:
        whole, antecedent, consequent = self.nodes[place].tolist()
        support, below, other = (int(self.frequent.nodes[node, 1]) for node in (whole, antecedent, consequent))
        names, confidence = self.frequent.names, Fraction(support, below)
        return Rule(names[antecedent], names[consequent], support, confidence, confidence * self.frequent.rows / other)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Rule]:
        return (self[place] for place in range(len(self)))

    def __str__(self) -> str:
        return f"{len(self):,} rules with a confidence of at least {float(self.least_confidence):.4g}"

    __repr__ = __str__


def rules(frequent: Frequent, confidence: Number) -> Rules:
    """All rules of which the whole is frequent and the confidence is at least ``confidence``.

    Both sides of a rule are parts of the whole, so that their supports are known already. Shares are compared as
    whole numbers: a confidence of exactly the threshold is found.
    """
    found = rules_up_to(frequent, confidence, MOST_RULES)
    if found is None:
        raise BadInput(f"There are more than {MOST_RULES:,} rules.", hint="Use a higher support or confidence.")
    return found


def rules_up_to(frequent: Frequent, confidence: Number, most: int) -> Rules | None:
    """The same; None as soon as there are more than ``most``."""
    from discreet.verbs.hide.mining import kernels

    share = exact(confidence, "The confidence")
    if share > 1:
        raise BadInput(f"A confidence of {confidence} is above 100 %.", hint="Write 60% as 0.6 or 3/5.")
    different, which = np.unique(frequent.nodes[:, 1], return_inverse=True)
    needed = np.array([ceil(share * support) for support in different.tolist()], np.int64)
    found = kernels.implied(frequent.nodes, needed[which], frequent.deepest, most)
    return None if len(found) > most else Rules(frequent, found, share)


def rule_in(transactions: Transactions, antecedent: Collection[str], consequent: Collection[str]) -> Rule | None:
    """A rule as it is in some transactions, however weak; None if no transaction has one of its sides."""
    before, after = frozenset(antecedent), frozenset(consequent)
    if not before or not after or before & after:
        raise BadInput("A rule needs two non-empty sides with no item in common.")
    below, other = transactions.support(before), transactions.support(after)
    if not below or not other:
        return None
    support = transactions.support(before | after)
    confidence = Fraction(support, below)
    return Rule(before, after, support, confidence, confidence * transactions.rows / other)


def written(itemset: Itemset) -> str:
    """An itemset for a person."""
    return ", ".join(sorted(itemset))

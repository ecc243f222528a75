"""Hiding problems (transactions, secrets, a miner's thresholds) and the interface of hiding methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from discreet.releases.method import Progress, silent
from discreet.verbs.hide.measures import SideEffects, Sides, side_effects
from discreet.verbs.hide.mining.borders import revised
from discreet.verbs.hide.mining.frequent import Frequent, Itemset, frequent
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions

Action = Literal["out", "in", "unknown"]


@dataclass(frozen=True, eq=False)
class HidingProblem:
    """Transactions, their holder's secrets, and the thresholds of the miner that they are hidden from."""

    transactions: Transactions
    secrets: tuple[Secret, ...]
    least: int
    """The support, as a number of transactions, from which the miner calls an itemset frequent."""
    confidence: Fraction | None = None
    keep: tuple[Itemset, ...] = ()
    """Itemsets that must stay frequent, whatever else is lost."""

    @cached_property
    def frequent(self) -> Frequent:
        """What the miner finds as things are."""
        return frequent(self.transactions, self.least)

    @cached_property
    def itemsets(self) -> Mapping[Itemset, int]:
        """The secrets that are itemsets, each with the support at which it is visible."""
        return {one.whole: one.support for one in self.secrets if not one.is_rule}

    @cached_property
    def rules(self) -> Mapping[Sides, tuple[int, Fraction]]:
        """The secrets that are rules, each with the support and the confidence at which it is visible."""
        return {
            (one.antecedent, one.consequent): (one.support, one.confidence)
            for one in self.secrets
            if one.confidence is not None
        }

    @cached_property
    def sensitive(self) -> tuple[Itemset, ...]:
        """The secret itemsets that cannot be frequent once hidden, and neither can what contains one.

        A secret that is visible only above the miner's support can be hidden and frequent.
        """
        return tuple(one for one, support in self.itemsets.items() if support <= self.least)

    @cached_property
    def innocent(self) -> Mapping[Itemset, int]:
        """The frequent itemsets that hiding may leave frequent, as they contain nothing sensitive, with supports.

        Itemsets to keep are among them: they are frequent, and one with something sensitive is refused.
        """
        secret = self.sensitive
        return {one: support for one, support in self.frequent if not any(part <= one for part in secret)}

    @cached_property
    def border(self) -> tuple[Itemset, ...]:
        """The largest non-sensitive itemsets. Whatever is innocent is part of one, and is frequent as long as it is."""
        return revised(self.frequent, self.sensitive).positive

    def visible(self, after: Transactions) -> list[Secret]:
        """The secrets that a miner finds in other transactions of the same items."""
        return [one for one in self.secrets if one.visible(after.support(one.whole), after.support(one.antecedent))]

    def lost(self, after: Transactions) -> list[Itemset]:
        """What must stay frequent, and is not."""
        return [one for one in self.keep if after.support(one) < self.least]

    def effects(self, after: Transactions) -> SideEffects:
        """Everything that changed."""
        return side_effects(
            self.transactions,
            after,
            least=self.least,
            itemsets=self.itemsets,
            confidence=self.confidence,
            secret_rules=self.rules,
        )


@dataclass(frozen=True)
class Step:
    """A changed cell, the secret it was changed for, and the reason."""

    row: int
    item: str
    action: Action
    secret: str
    why: str

    def __str__(self) -> str:
        done = {"out": "leaves", "in": "enters", "unknown": "becomes unknown in"}[self.action]
        return f"{self.item} {done} transaction {self.row + 1}: {self.why}"


@dataclass(frozen=True, eq=False)
class HidingResult:
    """Changed transactions in which no secret is visible, and the list of changes."""

    after: Transactions
    """The items that are certain."""
    steps: Sequence[Step]
    possible: Transactions | None = None
    """The items that are certain or unknown; None if the method makes none unknown."""
    facts: Sequence[tuple[str, str]] = field(default=())
    """Facts about the result for its holder, by name."""


class HidingMethod(Protocol):
    """A method that hides the secrets of a problem."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """The transactions with all secrets hidden; an error if this method cannot hide them."""

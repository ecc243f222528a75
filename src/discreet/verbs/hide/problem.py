"""What is to be hidden in what, and the seam to every way of doing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from discreet.verbs.hide.measures import SideEffects, Sides, side_effects
from discreet.verbs.hide.mining.borders import revised
from discreet.verbs.hide.mining.frequent import Frequent, Itemset, frequent
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions

Progress = Callable[[float, str], None]
Action = Literal["out", "in", "unknown"]


def silent(done: float, what: str) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, eq=False)
class Problem:
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
        """The largest innocent itemsets. Whatever is innocent is part of one, and is frequent as long as it is."""
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
    """One cell that was changed, for which secret, and why this one."""

    row: int
    item: str
    action: Action
    secret: str
    why: str

    def __str__(self) -> str:
        done = {"out": "leaves", "in": "enters", "unknown": "becomes unknown in"}[self.action]
        return f"{self.item} {done} transaction {self.row + 1}: {self.why}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Transactions in which nothing secret is to be seen, and how they came to be."""

    after: Transactions
    """What is there for certain."""
    steps: Sequence[Step]
    possible: Transactions | None = None
    """What may be there, if a method makes items unknown."""
    facts: Sequence[tuple[str, str]] = field(default=())
    """What the method has to say of its result, for its holder."""


class Way(Protocol):
    """One way to hide."""

    name: ClassVar[str]

    def apply(self, problem: Problem, progress: Progress = silent) -> Outcome:
        """The transactions with all secrets hidden; an error if this way cannot hide them."""

"""Secrets: sensitive itemsets and rules, and the thresholds below which they count as hidden.

An itemset is found by anyone who mines with a support that it reaches; a rule if it reaches the support *and* the
confidence. A safety margin m puts the secret below (1 − m) of each threshold, so that a miner who asks for a little
less does not find it either.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Protocol

from discreet.core.exact import Number, exact, share_of
from discreet.core.text import meant
from discreet.errors import BadInput, NoPromise
from discreet.verbs.hide.mining.frequent import Itemset, least_of
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.transactions import Transactions

_ARROW = "=>"
_OPTIONS = ("support", "confidence", "margin")


class Vocabulary(Protocol):
    """The number of transactions and the names of items, by which secrets are read; ``Transactions`` has them."""

    @property
    def rows(self) -> int:
        """How many transactions there are."""

    def codes(self, itemset: Iterable[str], /) -> list[int]:
        """Numbers of the items; an error for a name that is not an item."""


@dataclass(frozen=True)
class Secret:
    """An itemset (no antecedent) or a rule, with the thresholds from which it is visible, less its margin."""

    antecedent: Itemset
    consequent: Itemset
    support: int
    """Support threshold, transactions: from here on it is frequent."""
    confidence: Fraction | None = None
    """From here on a rule is confident; None for an itemset."""

    @property
    def whole(self) -> Itemset:
        """All its items."""
        return self.antecedent | self.consequent

    @property
    def is_rule(self) -> bool:
        """Whether it has two sides."""
        return bool(self.antecedent)

    def visible(self, whole: int, antecedent: int) -> bool:
        """Whether mining finds it, given its support and that of its antecedent, in transactions."""
        return self.excess(whole, antecedent) > 0

    def excess(self, whole: int, antecedent: int) -> int:
        """How many transactions with all of it must lose an item of its consequent for it to be hidden.

        The antecedent keeps its support by that. A support s' is not frequent if s' < support, and not confident if
        s' < confidence · antecedent, of which the larger one is reached first.
        """
        most = self.support - 1
        if self.confidence is not None:
            most = max(most, ceil(self.confidence * antecedent) - 1)
        return max(0, whole - most)

    def __str__(self) -> str:
        return (
            f"{written(self.antecedent)} {_ARROW} {written(self.consequent)}" if self.is_rule else written(self.whole)
        )


@dataclass(frozen=True)
class Thresholds:
    """What a miner asks for, and how far below it secrets must be."""

    least: int
    """Support threshold: number of transactions from which an itemset is frequent."""
    confidence: Fraction | None
    margin: Fraction

    @classmethod
    def of(cls, rows: int, support: Number, confidence: Number | None = None, margin: Number = 0) -> Thresholds:
        """Thresholds as people give them: a support as a share or a number of transactions, the others as shares."""
        return cls(
            support_of(support, rows), None if confidence is None else confidence_of(confidence), _margin(margin)
        )


def support_of(said: Number, rows: int) -> int:
    """A support as a number of transactions: 50 (or "50") is that number; "2%", 0.02 and "1/50" are a share of all."""
    if isinstance(said, int) and not isinstance(said, bool):
        count = said
    elif isinstance(said, str) and said.strip().isdecimal():
        count = int(said)
    else:
        return least_of(share_of(said, "The support") if isinstance(said, str) else said, rows)
    if count < 1:
        raise BadInput(f"A support must be at least 1, not {count}.", hint="Give a share such as 2%, or a number.")
    if count > rows:
        raise BadInput(
            f"A support of {count:,} is above the {rows:,} transactions.",
            hint="Give a share such as 2%, or a smaller number.",
        )
    return count


def parse_secrets(
    transactions: Vocabulary, itemsets: Iterable[str | Iterable[str]], rules: Iterable[str], thresholds: Thresholds
) -> tuple[Secret, ...]:
    """Secrets as people write them: "bread, wine" and "beer => nappies", each with thresholds of its own if needed,
    as in "bread, wine; support=1% margin=10%". An item with a comma in its name is put into double quotes."""
    found = [_itemset(transactions, one, thresholds) for one in itemsets]
    found += [_rule(transactions, one, thresholds) for one in rules]
    if not found:
        raise BadInput("No secret given.", hint='Give an itemset "bread, wine" or a rule "beer => nappies".')
    once = tuple(dict.fromkeys(found))
    if len({(one.antecedent, one.consequent) for one in once}) < len(once):
        raise BadInput("A secret occurs twice, with different thresholds.", hint="Keep only the lower ones.")
    return once


def parse_kept(
    transactions: Transactions, itemsets: Iterable[str | Iterable[str]], secrets: Sequence[Secret], least: int
) -> tuple[Itemset, ...]:
    """Itemsets that must stay frequent. An error for one that is not frequent, or that cannot stay so."""
    found = []
    for said in itemsets:
        one = _known(transactions, _names(said) if isinstance(said, str) else list(said), said)
        if transactions.support(one) < least:
            raise BadInput(
                f"{written(one)!r} cannot stay frequent: its support is only {transactions.support(one):,}.",
                hint="Leave it out, or use a lower support.",
            )
        for secret in secrets:
            if not secret.is_rule and secret.whole <= one and secret.support <= least:
                raise NoPromise(
                    f"{str(secret)!r} cannot be hidden while {written(one)!r} stays frequent, of which it is a part.",
                    hint="Hide or keep one of them.",
                )
        found.append(one)
    return tuple(dict.fromkeys(found))


def require_items(known: Vocabulary, itemsets: Iterable[str]) -> None:
    """An error for something that is not an itemset as people write it."""
    for said in itemsets:
        _known(known, _names(said), said)


def _itemset(transactions: Vocabulary, said: str | Iterable[str], thresholds: Thresholds) -> Secret:
    if isinstance(said, str):
        text, options = _parts(said)
        if _ARROW in text:
            raise BadInput(f"{text!r} is a rule and not an itemset.", hint="Give it as a rule.")
        names = _names(text)
    else:
        names, options = list(said), {}
    whole = _known(transactions, names, said)
    if "confidence" in options:
        raise BadInput(f"{written(whole)!r} is an itemset, and has no confidence.", hint="Give a support.")
    support, _, margin = _own(options, thresholds, transactions.rows)
    return Secret(frozenset(), whole, _lowered(support, margin))


def _rule(transactions: Vocabulary, said: str, thresholds: Thresholds) -> Secret:
    if not isinstance(said, str):
        raise BadInput(f"{said!r} is not a rule.", hint='Write it as "beer => nappies".')
    text, options = _parts(said)
    sides = text.split(_ARROW)
    if len(sides) != 2:
        raise BadInput(f"{text!r} is not a rule.", hint='Write it as "beer => nappies".')
    antecedent, consequent = (_known(transactions, _names(side), said) for side in sides)
    if antecedent & consequent:
        raise BadInput(
            f"The rule {text!r} has {written(antecedent & consequent)!r} on both sides.", hint="Leave it out of one."
        )
    support, confidence, margin = _own(options, thresholds, transactions.rows)
    if confidence is None:
        raise BadInput(f"No confidence given for {text!r}.", hint="Give a confidence, such as 60%.")
    return Secret(antecedent, consequent, _lowered(support, margin), confidence * (1 - margin))


def _parts(said: str) -> tuple[str, dict[str, str]]:
    """The items or sides, and the thresholds behind a semicolon."""
    text, _, behind = said.partition(";")
    options: dict[str, str] = {}
    for word in behind.replace(",", " ").split():
        name, equals, value = word.partition("=")
        if name not in _OPTIONS or not value or not equals:
            raise BadInput(
                f"{word!r} is not a threshold{meant(name, _OPTIONS)}.",
                hint='Write "bread, wine; support=1% margin=10%", and for a rule confidence=50%.',
            )
        if name in options:
            raise BadInput(f"{text.strip()!r} has two of {name}.", hint="Give one.")
        options[name] = value
    return text.strip(), options


def _names(text: str) -> list[str]:
    (names,) = list(csv.reader([text], skipinitialspace=True)) or [[]]
    return [name.strip() for name in names if name.strip()]


def _known(transactions: Vocabulary, names: Sequence[str], said: Any) -> Itemset:
    if not names:
        raise BadInput(f"There is no item in {said!r}.", hint='Write "bread, wine" or "beer => nappies".')
    if odd := [name for name in names if not isinstance(name, str)]:
        raise BadInput(f"{odd[0]!r} is not the name of an item.", hint="Names must be texts.")
    transactions.codes(names)  # an error for a name that is none
    return frozenset(names)


def _own(options: Mapping[str, str], general: Thresholds, rows: int) -> tuple[int, Fraction | None, Fraction]:
    return (
        support_of(options["support"], rows) if "support" in options else general.least,
        confidence_of(options["confidence"]) if "confidence" in options else general.confidence,
        _margin(options["margin"]) if "margin" in options else general.margin,
    )


def _lowered(support: int, margin: Fraction) -> int:
    return max(1, ceil(support * (1 - margin)))


def confidence_of(said: Number) -> Fraction:
    """A confidence as people give it, as a share above 0."""
    share = _share(said, "The confidence")
    if not 0 < share <= 1:
        raise BadInput(f"A confidence must be above 0 and at most 1, not {said}.", hint="Write 60%, 0.6 or 3/5.")
    return share


def _margin(said: Number) -> Fraction:
    share = _share(said, "The margin")
    if not 0 <= share < 1:
        raise BadInput(f"A margin must be a share below 1 of the thresholds, not {said}.", hint="Write 10% or 0.1.")
    return share


def _share(said: Number, what: str) -> Fraction:
    return share_of(said, what) if isinstance(said, str) else exact(said, what)

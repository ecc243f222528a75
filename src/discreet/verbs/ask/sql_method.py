"""A question in SQL as a method like any other, so that it goes through the same door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa

from discreet.budget.dp_statement import kept_rows, promised
from discreet.core.card import Card
from discreet.core.release import Release
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.noise.entropy import Entropy
from discreet.releases.method import Method
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.identity import relabel
from discreet.verbs.ask.question import Question, expected_errors


@dataclass(frozen=True)
class SqlMethod(Method[pa.Table]):
    """A question that was planned and priced. Why its answer is private is said in ``verbs/ask/answer.py``."""

    name: ClassVar[str] = "ask"
    question: Question
    cards: tuple[Card, ...]
    """Of the private tables it is about."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The question."""
        return {"question": self.question.text}

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        return (
            kept_rows(*self.cards),
            "the figures were measured as whole numbers and given exact noise; error bars hold with 95 % confidence",
        )

    def promise(self, card: Card) -> Statement:
        """What it was priced at."""
        return promised(self.question.price.loss, *self.cards)

    def expected(self, rows: int | None) -> Mapping[str, float | None]:
        """How far the figures will be off, if so many rows are in a group."""
        return expected_errors(self.question.plan, self.question.price, rows)

    def run(self, table: Table, entropy: Entropy) -> pa.Table:
        """The figures and their error bars."""
        return answer(self.question.plan, self.question.price, entropy)

    def named(self, release: Release[pa.Table]) -> Release[pa.Table]:
        """A release that answers this question in this question's own words, which may have been made for others."""
        text = self.question.text
        if release.recipe.parameters["question"] == text:
            return release
        recipe = replace(release.recipe, parameters={**release.recipe.parameters, "question": text})
        return replace(release, payload=relabel(self.question.plan, release.payload), recipe=recipe)

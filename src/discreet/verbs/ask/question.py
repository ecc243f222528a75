"""A question in SQL with its price, known before any row is looked at, its identity, and the method that answers it.

Whether two questions are the same is decided by their fingerprints (``fingerprint.py``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import pyarrow as pa
from sqlglot import exp

from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.release import Release
from discreet.core.sql import kind_of
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.errors import BadInput, BadQuery
from discreet.noise.entropy import Entropy
from discreet.releases.method import Method, kept_rows, promised
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.fingerprint import fingerprint
from discreet.verbs.ask.plan import Plan, plan
from discreet.verbs.ask.price import Price, expected_errors, price
from discreet.verbs.ask.syntax import LONGEST, require_whole_characters, statements_of, written


@dataclass(frozen=True)
class Planned:
    """A question that can be asked, at whatever price."""

    text: str
    """As it was asked, without comments."""
    plan: Plan
    fingerprint: str
    """The same for all questions that are the same, however they are written."""


@dataclass(frozen=True)
class Question:
    """A question as it will be answered."""

    text: str
    """As it was asked, without comments."""
    fingerprint: str
    """The same for all questions that are the same, however they are written."""
    tables: tuple[str, ...]
    """The private tables it is about, in order: each is charged."""
    plan: Plan
    price: Price
    twins: Mapping[str, str]
    """The identities of all tables it reads, public ones too."""

    @property
    def identity(self) -> str:
        """The same for the same question about the same tables at the same loss, and for no other."""
        said = [sorted(self.twins.items()), self.fingerprint, self.price.loss.to_dict()]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def questions_in(text: str) -> list[str]:
    """The questions of a file, divided by semicolons."""
    parsed = statements_of(text)
    found = [written(one, len(text)) for one in parsed if one is not None and type(one) is not exp.Semicolon]
    if not found:
        raise BadQuery("There is no question in this file.", hint="Write SELECTs, with a semicolon between two.")
    return found


def planned(text: str, tables: Mapping[str, Table]) -> Planned:
    """Plan a question about ``tables``."""
    require_whole_characters(text)
    spelled = normal(text)
    made = plan(spelled, tables)
    return Planned(spelled, made, fingerprint(made, tables))


def pose(
    asked: Planned,
    twins: Mapping[str, str],
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
) -> Question:
    """Price a question, for an epsilon (and a delta, where groups are not declared) or for a rho."""
    read = {name: twins[name] for name in sorted(asked.plan.sources | asked.plan.public)}
    priced = price(asked.plan, epsilon, delta, rho)
    bars = expected_errors(asked.plan, priced, 1).values()
    if not all(bar is None or 0 <= bar < inf for bar in bars):  # which no row decides, so it is said before the charge
        raise BadInput("At this price there is no finite error bar.", hint="Spend more on the question.")
    return Question(asked.text, asked.fingerprint, tuple(sorted(asked.plan.sources)), asked.plan, priced, read)


def normal(text: str) -> str:
    """A question in one spelling: spaces, comments and the case of keywords do not matter.

    What cannot be read is left as it is, for ``plan`` to say why.
    """
    if len(text) > LONGEST:
        return text
    try:
        statements = statements_of(text)
    except BadQuery:
        return text
    first = statements[0] if len(statements) == 1 else None
    return text if first is None else written(first)


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
        """Expected error of each figure, given the number of rows in a group."""
        return expected_errors(self.question.plan, self.question.price, rows)

    @property
    def columns(self) -> Mapping[str, str]:
        """Kind of each column of the answer, known before any row is looked at."""
        schema = self.question.plan.schema
        return {one.name: kind.value if (kind := kind_of(one.type)) else "other" for one in schema or ()}

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


def relabel(plan: Plan, answer: pa.Table) -> pa.Table:
    """An answer to a question with the same fingerprint, under the names that this one has for its columns."""
    return answer.rename_columns([one.alias for one in plan.after.expressions])

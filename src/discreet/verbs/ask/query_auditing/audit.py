"""The audit of a table: every question is weighed by the auditors of the columns it asks about.

A question is answered as a whole or not at all, whatever groups and columns it has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadQuery
from discreet.releases.records import Answered
from discreet.verbs.ask.query_auditing.auditor import Auditor, Classes, Part, Verdict
from discreet.verbs.ask.query_auditing.bounded import Bounded
from discreet.verbs.ask.query_auditing.extremes import Extremes
from discreet.verbs.ask.query_auditing.facts import Facts, Raw, Sets
from discreet.verbs.ask.query_auditing.policy import BOUNDED, EXTREMES, SUM, Policy, ends_of
from discreet.verbs.ask.query_auditing.question import COUNT, AuditedQuestion, audited_question
from discreet.verbs.ask.query_auditing.sums import Sums

_MOST = 300
"""How many figures a question may ask for: they are written to one line of the ledger."""
Told = Mapping[tuple[str, str], Sequence[Raw]]
"""By aggregate and column: the figure of each set."""


class Outcome(Enum):
    """What became of a question."""

    ANSWERED = "answered"
    DENIED = "denied"
    """Without a look at its answer."""
    CLOSED = "closed"
    """After a look at its answer: its bounded columns answer nothing any more."""
    SHUT = "shut"
    """Without a look: one of its columns had been closed."""


_UNTOLD = (Outcome.DENIED, Outcome.SHUT)


@dataclass(frozen=True)
class Decision:
    """The decision about a question: its outcome, and its answer if it is given."""

    outcome: Outcome
    told: Told


class Audit:
    """An audited table with all that was asked of it so far."""

    def __init__(self, table: Table, policy: Policy) -> None:
        self.policy = policy
        self.card = table.card
        self._facts = Facts(table, policy)
        self._classes = Classes(self._facts.owner)
        self._auditors = {self._charge(name): self._auditor(name, table.card) for name in policy.columns}
        self._weighed: tuple[str, Sets, dict[str, list[Part]]] | None = None

    def _charge(self, column: str) -> str:
        """The auditor of a column: one auditor has all columns that are summed.

        So a linear relation between columns, such as net = 0.7 · gross, tells nothing more: a combination of sums of
        several columns has for each column a vector of the one span, and where one of them is about one person alone
        the span tells that.
        """
        return SUM if self.policy.columns[column].how == SUM else f"column {column}"

    def _auditor(self, name: str, card: Card) -> Auditor:
        watch = self.policy.columns[name]
        if watch.how == EXTREMES:
            return Extremes(self._classes)
        if watch.how == BOUNDED and watch.width is not None:
            whole = card[name].kind is not Kind.REAL
            return Bounded(self._classes, *ends_of(card, name), watch.width, whole=whole)
        return Sums(self._classes)

    def question(self, text: str) -> AuditedQuestion:
        """Parse a question about this table; an error if it cannot be audited."""
        return audited_question(text, self._facts.rows, self.policy)

    def decide(self, question: AuditedQuestion) -> Decision:
        """Weigh a question, and work out its answer if it may be given. Nothing is learnt yet: see ``learn``."""
        sets, parts = self._parts(question)
        verdicts = {one: self._auditors[one].weigh(some) for one, some in parts.items()}
        if Verdict.CLOSED in verdicts.values():
            return Decision(Outcome.SHUT, {})
        if Verdict.DENY in verdicts.values():
            return Decision(Outcome.DENIED, {})
        told = {one: self._facts.figures(*one, sets) for one in question.weighed}
        for one, verdict in verdicts.items():
            if verdict is Verdict.LOOK and not self._auditors[one].bears(parts[one], self._answers(told, one)):
                return Decision(Outcome.CLOSED, {})
        return Decision(Outcome.ANSWERED, told)

    def learn(self, question: AuditedQuestion, decision: Decision) -> None:
        """Learn the outcome of a question, once it is written down."""
        if decision.outcome in _UNTOLD:
            return
        _, parts = self._parts(question)
        for one, some in parts.items():
            if decision.outcome is Outcome.CLOSED:
                self._auditors[one].close()
            else:
                self._auditors[one].learn(some, self._answers(decision.told, one))

    def answer(self, question: AuditedQuestion, told: Told) -> pa.Table:
        """The figures as a table: groups first."""
        sets, _ = self._parts(question)
        made: dict[str, Any] = {name: sets.keys.column(name) for name in sets.keys.column_names}
        for figure in question.figures:
            if figure.aggregate == COUNT or figure.weighed is None:
                made[figure.name] = pa.array(sets.sizes, pa.int64())
            elif figure.aggregate == "avg":
                both = zip(told[figure.weighed], sets.sizes, strict=True)
                means = [None if one is None else float(Fraction(one) / int(size)) for one, size in both]
                made[figure.name] = pa.array(means, pa.float64())
            else:
                made[figure.name] = pa.array(told[figure.weighed], self._facts.arrow_type(figure.column))
        return pa.table(made)

    def sums(self, question: AuditedQuestion, told: Told) -> tuple[Answered, ...] | None:
        """What an answer tells, for joint exposure; ``None`` if it is no sum of whole numbers."""
        sets, _ = self._parts(question)
        whole = all(self.card[name].kind in (Kind.INTEGER, Kind.BOOLEAN) for _, name in told)
        if self._facts.unit is None or not whole or any(how != "sum" for how, _ in told):
            return None
        figures = {name: np.array([float(one or 0) for one in some]) for (_, name), some in told.items()}
        return tuple(
            Answered(
                name,
                self._facts.unit,
                sets.group,
                self._facts.amounts(name),
                some,
                nonnegative=not self.card[name].may_be_negative,
            )
            for name, some in figures.items()
        )

    def read(self, told: Mapping[tuple[str, str], Sequence[str | None]]) -> Told:
        """Figures as they were written down."""
        return {(how, column): [self._facts.read(column, one) for one in some] for (how, column), some in told.items()}

    def fingerprint(self, question: AuditedQuestion, decision: Decision) -> str:
        """Fingerprint of the row sets of a question, by which a history notices that they changed."""
        if decision.outcome in _UNTOLD:
            return ""
        sets, _ = self._parts(question)
        said = [sets.sizes.tolist(), [[str(one) for one in column.to_pylist()] for column in sets.keys.columns]]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def _parts(self, question: AuditedQuestion) -> tuple[Sets, dict[str, list[Part]]]:
        """The row sets of a question as unions of equivalence classes, by the auditor who weighs them."""
        if self._weighed is not None and self._weighed[0] == question.text:
            return self._weighed[1], self._weighed[2]
        sets = self._facts.sets(question)
        if sets.count * len(question.weighed) > _MOST:  # before each of them is held against all classes
            raise BadQuery(f"This asks for more than {_MOST} figures at once.", hint="Ask for fewer groups.")
        parents, of_class = self._classes.split(sets.group, sets.count)
        for auditor in self._auditors.values():
            auditor.widen(parents)
        parts: dict[str, list[Part]] = {}
        for how, column in question.weighed:
            parts.setdefault(self._charge(column), []).extend(
                Part(how, of_class == place) for place in range(sets.count)
            )
        self._weighed = question.text, sets, parts
        return sets, parts

    def _answers(self, told: Told, whose: str) -> list[Fraction]:
        """The answers that an auditor weighs, in the order of its parts; 0 for empty sets, which are ignored."""
        return [Fraction(one or 0) for (_, asked), some in told.items() if self._charge(asked) == whose for one in some]

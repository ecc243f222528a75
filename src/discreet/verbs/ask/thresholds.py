"""Thresholds: counts compared again and again, of which few reach theirs, for one price (sparse vector).

A `Thresholds` says how many questions may be answered "yes"; it is charged when the session starts, and what is
released then is its announcement, which is made of no row. "No" costs nothing more, however often it is said.

Why this is private: the mechanism is ``noise/sparse_vector.py``, which takes any number of figures of one sensitivity
that all move the same way. A figure here is a count of rows, of units or of values, which a unit changes by
``Measure.most`` at most, enforced where rows are read (``engines/measures.py``). A question is let in if that is no
more than the rows that the card allows a unit, which is what the noise is for. Removing a unit removes rows and adds
none (``engines/contribution.py``), so every count falls or stays. Thresholds are public, so comparing a count with one
is comparing their difference with 0.

The noise on the threshold is in the memory of one process and nowhere else: a session that ends cannot go on, and one
that is started again is charged again, since no two have the same name. A question that fails ends its session: what
makes it fail could be someone's row, and failing would be told for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core.card import Card
from discreet.core.exact import Number, whole
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, BadQuery
from discreet.noise.entropy import SYSTEM, Entropy, token
from discreet.noise.sparse_vector import SparseVector
from discreet.releases.method import BETA, Bench, Made, Method, kept_rows, loss_of, promised, rows_per_unit
from discreet.verbs.ask.answer import measured
from discreet.verbs.ask.plan import Part, Plan
from discreet.verbs.ask.postprocess import Count

_NAME_BYTES = 18


@dataclass(frozen=True)
class Thresholds(Method[Mapping[str, Any]]):
    """A session in which counts are compared with thresholds until ``positives`` of them have reached theirs."""

    name: ClassVar[str] = "thresholds"
    epsilon: Number
    positives: int = 1
    session: str = field(default_factory=lambda: token(_NAME_BYTES))
    """Its name: no two are the same, so that none is had for free."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything but the loss."""
        return {"positives": self.positives, "session": self.session}

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for."""
        return promised(self.mechanism(card).loss(), card)

    def mechanism(self, card: Card) -> SparseVector:
        """The noise that is needed for counts of this table's rows."""
        loss = loss_of(self.epsilon, None)
        most = whole(self.positives, "The number of positives")
        made = SparseVector.for_loss(loss, positives=most, sensitivity=rows_per_unit(card), monotone=True)  # type: ignore[arg-type]  # an epsilon makes a pure loss
        for noise in (made.threshold_noise, made.compare_noise):
            noise.require_drawable()
        return made

    def make(self, table: Table, bench: Bench) -> Made[Mapping[str, Any]]:
        """The announcement, of which no row is looked at."""
        said = {"session": self.session, "positives": self.positives}
        return Made(said, steps=self.steps(table.card), title="A session of thresholds")

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words."""
        return (
            kept_rows(card),
            "counts were compared with thresholds, both with exact noise, until "
            f"{number(self.positives, 'count')} had reached theirs",
        )


class ThresholdSession:
    """A session that has been charged. Threads may share it; processes may not."""

    def __init__(
        self,
        declared: Thresholds,
        card: Card,
        planned: Callable[[str, Callable[[Plan], int]], int],
        *,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """``planned`` plans a question about the tables there are, and gives what is made of the plan."""
        self._card, self._planned = card, planned
        self._mechanism = declared.mechanism(card)
        self._run = self._mechanism.start(0, entropy)

    @property
    def left(self) -> int:
        """How many more counts can be told to have reached their threshold."""
        return self._run.left

    def above(self, sql: str, threshold: int) -> bool:
        """Whether a count, with noise, reaches a threshold, with noise.

        ``sql`` asks for one count: ``SELECT COUNT(*) FROM visits WHERE …``.
        """
        if isinstance(threshold, bool) or not isinstance(threshold, int):
            raise BadInput(f"A threshold is a whole number, not {threshold!r}.")
        return self._run.above(self._planned(sql, self._figure) - threshold)

    def _figure(self, plan: Plan) -> int:
        part, measure = count_of(plan, self._card.name, rows_per_unit(self._card))
        if not self.left:
            return 0  # which the mechanism refuses
        try:
            [figure] = measured(part).figures[measure].tolist()
        except BaseException:
            self._run.end()
            raise
        return int(figure)

    def error(self, questions: int) -> int:
        """With 95 % confidence, of so many questions none is answered wrongly whose count is further from its threshold
        than this."""
        return self._mechanism.error(BETA, questions)

    def __repr__(self) -> str:
        return f"ThresholdSession({self._card.name!r}, left={self.left})"


def count_of(plan: Plan, table: str, most: int) -> tuple[Part, str]:
    """The one count that a question asks for, and the name of its measure; an error if it is anything else."""
    part, shown = plan.parts[0], plan.after.expressions
    figures = list(part.figures.items())
    plain = all(not value for key, value in plan.after.args.items() if key not in ("expressions", "from_"))
    if not (
        plain
        and len(plan.parts) == len(figures) == 1
        and not part.keys
        and isinstance(figures[0][1], Count)
        and isinstance(shown[0].unalias(), exp.Column)
        and shown[0].unalias().name == figures[0][0]
    ):
        raise BadQuery("A question of this session is one count.", hint="SELECT COUNT(*) FROM table WHERE …")
    measure = figures[0][1].measure
    if plan.sources != {table}:
        raise BadQuery(
            f"This session is about {table}, and was charged to it alone.",
            hint="Ask about that table, and public ones, or start another session.",
        )
    if part.measures[measure].most > most:
        raise BadQuery(
            f"One unit could change this count by {part.measures[measure].most:,}; the noise is for {most:,}.",
            hint="Count people, COUNT(DISTINCT unit), or rows that were not joined.",
        )
    return part, measure

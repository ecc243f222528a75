"""Base of learners with a privacy loss: what they promise, and the one way from a card and rows to a model.

A learner says which columns it learns from, as codes by the card (``coding.py``), and how a model is made of sums that
a ``Meter`` adds noise to (``meter.py``). Promise, charge, recipe, error report and picture are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

from discreet.budget.convert import largest_concentrated
from discreet.core.card import Card
from discreet.core.catalogue import check_parameters, parameter, parameterized, parameters_of
from discreet.core.exact import Number
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.markup import tag
from discreet.core.report import Picture
from discreet.core.statement import Statement, weakness
from discreet.core.table import Table
from discreet.errors import BadInput, NotDeclared
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import (
    Bench,
    Made,
    Method,
    Progress,
    kept_rows,
    loss_with_delta,
    promised,
    rows_per_unit,
    silent,
)
from discreet.verbs.learn.frame import features_of
from discreet.verbs.learn.private.coding import Coding, coded_rows, target_coding
from discreet.verbs.learn.private.meter import Allowance, Lesson, Meter, noise_for
from discreet.verbs.learn.private.scoring import report_sentence

REPORT = Fraction(1, 20)
"""Share of the allowance for the error report."""
_WIDEST = 2.0**22
_NOTHING = (
    "At this price the model says nothing: the noise is as large as the counts, and it predicts the same for everyone. "
    "To improve it: more rows, fewer columns, a larger loss, or a smaller rows_per_unit."
)


@dataclass(frozen=True)
class Fitted:
    """A model with its error report."""

    model: Any
    report: Mapping[str, Any]
    says_nothing: bool = False


@parameterized()
class PrivateLearner(Method[dict[str, Any]]):
    """Base of learners with a privacy loss.

    Why this is private: only the ``Meter`` sees rows, and its answers lose the allowance at most (``meter.py``): ε; or
    ρ, which is the largest whose restatement is (ε, δ) where that is promised (``budget/convert.py``). How rows are
    coded follows from the card. The model, its report and its picture are made of what the meter gave.
    """

    name: ClassVar[str]
    verb: ClassVar[str] = "learn"
    only_numbers: ClassVar[bool] = False
    """Whether only columns with numbers are learnt from."""
    classes: ClassVar[bool] = True
    """Whether the target has few values; else it is a number."""
    epsilon: Number | None = parameter("Privacy loss ε per person.", default=None)
    delta: Number | None = parameter("Delta (δ): even a small one allows far less noise.", default=None)
    rho: Number | None = parameter("Concentrated privacy loss ρ, instead of epsilon.", default=None)
    columns: Sequence[str] = parameter("Columns to learn from; default: all but the target.", default=(), clause="on")

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise BadInput(f"columns must be a list of names, not the text {self.columns!r}.")
        object.__setattr__(self, "columns", tuple(self.columns))
        check_parameters(self)
        _ = self.loss  # which says what is wrong with it

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters that determine the result, except rows, noise and loss."""
        kind: Any = type(self)
        said = {one.name: getattr(self, one.name) for one in parameters_of(kind)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}
        return {name: value for name, value in plain.items() if name not in ("epsilon", "delta", "rho")}

    @property
    def loss(self) -> Pure | Concentrated | Approximate:
        """The promised loss."""
        return loss_with_delta(self.epsilon, self.delta, self.rho)

    @property
    def allowance(self) -> Allowance:
        """The allowance of the meter: of (ε, δ) the largest ρ that is within it."""
        loss = self.loss
        return largest_concentrated(loss) if isinstance(loss, Approximate) else loss

    def codings(self, card: Card) -> tuple[Coding, ...]:
        """The codings of the columns to learn from."""
        found = features_of(card, self.columns, but=self.aim, graded=self.only_numbers)
        return tuple(Coding.of(one, card, self.bins_of_numbers) for one in found)

    @property
    def aim(self) -> str | None:
        """The column to predict, if one is."""
        return getattr(self, "target", None)

    @property
    def bins_of_numbers(self) -> int | None:
        """Number of intervals that numbers are cut into; None: they are used as numbers."""
        return getattr(self, "bins", None)

    def target_coding(self, card: Card) -> Coding | None:
        """The coding of the column to predict."""
        return None if self.aim is None else target_coding(card, self.aim, classes=self.classes)

    def promise(self, card: Card) -> Statement:
        """The loss that was asked for; an error if the card does not declare what is learnt from."""
        if card.from_data:
            raise NotDeclared(
                f"The card of {card.name} has fields taken from the data: {', '.join(card.from_data)}.",
                hint="Declare them from public knowledge, and remove from_data from the card.",
            )
        codings = self.codings(card)
        self.target_coding(card)
        self.require_columns(codings)
        if (by := getattr(self, "by", None)) and by not in {one.feature.name for one in codings}:
            raise BadInput(
                f"Errors cannot be reported by {by!r}, since the model is not learnt from it.",
                hint="Name it in columns.",
            )
        noise = noise_for(self.allowance, self.least_share, rows_per_unit(card), len(codings), len(codings))
        if sqrt(noise.variance) > _WIDEST:
            raise BadInput(
                f"{self.loss} is so small that the model would be pure noise.",
                hint="Spend more, or learn from fewer columns.",
            )
        caveats = ["What a model says of everyone it also says of a person, whether their row is in the table or not."]
        if weak := weakness(self.loss):
            caveats.append(weak)
        return replace(promised(self.loss, card), caveats=tuple(caveats))

    @property
    def least_share(self) -> Fraction:
        """The smallest share of the allowance that a measurement has."""
        return REPORT

    def require_columns(self, codings: Sequence[Coding]) -> None:
        """An error if this learner cannot learn from these columns."""

    def fit(self, lesson: Lesson) -> Fitted:
        """The model, from what the meter gives."""
        raise NotImplementedError

    def how(self) -> tuple[str, ...]:
        """The steps of learning, as sentences."""
        raise NotImplementedError

    def steps(self, card: Card) -> tuple[str, ...]:
        """The steps, in words."""
        names = ", ".join(one.feature.name for one in self.codings(card))
        return (kept_rows(card), f"columns were coded as declared: {names}", *self.how())

    def run(self, table: Table, entropy: Entropy = SYSTEM, progress: Progress | None = None) -> dict[str, Any]:
        """Code the rows of a bounded table, add up, fit.

        The table must be bounded (``engines/bounded_table.py``): no one has more rows in it than its card says. Else
        nothing is promised. A ``Curator`` sees to that, and charges the loss.
        """
        say = progress or silent
        codings, target = self.codings(table.card), self.target_coding(table.card)
        rows = coded_rows(table, codings, target, lambda what: say(0.0, what))
        say(0.4, "learning")
        meter = Meter(rows, self.allowance, rows_per_unit(table.card), entropy)
        fitted = self.fit(Lesson(meter, rows, codings, target))
        say(1.0, "done")
        return {
            "learner": self.name,
            "model": fitted.model.to_dict(),
            "report": dict(fitted.report),
            "says_nothing": fitted.says_nothing,
        }

    def make(self, table: Table, bench: Bench) -> Made[dict[str, Any]]:
        """The model, with its report in words."""
        from discreet.verbs.learn.private.load import load_model  # which knows all models, of which some are ours

        payload = self.run(table, bench.entropy, bench.progress)
        said = (
            (_NOTHING,)
            if payload["says_nothing"]
            else (report_sentence(payload["report"]),)
            if payload["report"]
            else ()
        )
        model = load_model(payload)
        return Made(
            payload,
            steps=self.steps(table.card),
            caveats=said,
            pictures=self.pictures(payload),
            layout=tag("pre", str(model)),
        )

    def pictures(self, payload: dict[str, Any]) -> tuple[Picture, ...]:
        """The model as a picture."""
        from discreet.verbs.learn.private.load import load_model

        return (load_model(payload).picture(),)

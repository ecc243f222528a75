"""/learn: release a model, with differential privacy or one that many sets of people also give (integral privacy).

data-testid: learn-table, learn-guarantee; learner-method, learner-<parameter>, learner-text, learn-budget;
learn-method, learn-<parameter>, learn-text, learn-despite; learn-title, learn-start, learn-why-not; job-learn,
job-open-<id>; learn-result, learn-model, learn-report, learn-open, learn-download, learn-holder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

from nicegui import ui

from discreet.core.card import Card
from discreet.core.catalogue import Entry
from discreet.core.families import LEARNERS, PRIVATE_LEARNERS
from discreet.core.kind import NUMBERS, Kind
from discreet.core.loss import Loss
from discreet.core.parameter import Parameter
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import explain, theme
from discreet.service.console.forms import DESPITE, MethodForm, example_values
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, choose_table, release_buttons, report_frame
from discreet.service.console.table_budget import TableBudget, budget_of
from discreet.service.jobs.checks import is_private, item_columns
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Learn
from discreet.service.views import BudgetView

_TERMS = ("Differential privacy", "Epsilon (ε)", "Delta (δ)", "Integral privacy")
_ABOUT = "Release a model instead of rows."
_PRIVATE, _INTEGRAL = "private", "integral"
_GUARANTEES = {_PRIVATE: "Differentially private", _INTEGRAL: "Integrally private"}
_MEANING = {
    _PRIVATE: "The model is learnt from noisy counts and sums. The privacy loss is charged to the table's own budget, "
    "and to no analyst's.",
    _INTEGRAL: "The model has no noise, and is one that many different sets of people would also have given. Nothing "
    "is charged, and it is not differential privacy.",
}
_DELTA = Fraction("1e-9")


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        bounded = (await seat.call(seat.desk.table, table)).card
        form = _Form(seat, bounded, card, await seat.call(budget_of, seat.desk, table), jobs)
        await form.show_price()
        return form.box

    with theme.page("Learn", _ABOUT, _TERMS):
        await choose_table(seat, "Table", Learn.kind, drawn)


PAGE = Page("/learn", "Learn", "model_training", (Role.STEWARD,), 42, _build)


def targets(card: Card, learner: Entry) -> list[str]:
    """The columns that a learner can tell: numbers for a linear model, declared values for a tree."""
    from discreet.verbs.learn.tree import MOST_CLASSES

    columns = [card[name] for name in item_columns(card)]
    if learner.name == "linear":
        return [one.name for one in columns if one.kind in NUMBERS]
    few = [one for one in columns if one.kind is Kind.BOOLEAN or 2 <= len(one.categories or ()) <= MOST_CLASSES]
    return [one.name for one in few]


def private_targets(card: Card, learner: Entry) -> list[str]:
    """The columns that a learner with a privacy loss can tell, by what the card declares."""
    from discreet.verbs.learn.private.coding import target_coding

    classes = bool(learner.kind.classes)
    return [name for name in item_columns(card) if _declared(partial(target_coding, card, name, classes=classes))]


def learnable(card: Card, learner: Entry) -> list[str]:
    """The columns that a learner with a privacy loss can learn from, by what the card declares."""
    from discreet.verbs.learn.frame import feature_of

    columns = [card[name] for name in item_columns(card)]
    columns = [one for one in columns if one.kind in NUMBERS or not learner.kind.only_numbers]
    return [one.name for one in columns if _declared(partial(feature_of, one))]


def _declared(read: Callable[[], object]) -> bool:
    try:
        read()
    except DiscreetError:
        return False
    return True


class _Form:
    """The choices for one table, and what was learnt."""

    def __init__(self, seat: Seat, bounded: Card, card: Card, budget: BudgetView, before: list[Job]) -> None:
        self._seat, self._bounded, self._card, self._view = seat, bounded, card, budget
        with theme.card("Guarantee"):
            self._guarantee = ui.toggle(_GUARANTEES, value=_PRIVATE, on_change=self._show)
            self._guarantee.props('unelevated no-caps data-testid=learn-guarantee aria-label="Guarantee"')
            self._meaning = theme.prose("", soft=True)
            with ui.element("div").classes("dc-stack") as self._private:
                self._learner = MethodForm(
                    (PRIVATE_LEARNERS,), "learner", values=self._values, columns=self._private_columns
                )
                self._learner.text.on_value_change(self.show_price)
                self._budget = TableBudget(budget, "learn")
                theme.promise(explain.EPSILON, "What do epsilon and delta mean?")
            with ui.element("div").classes("dc-stack") as self._integral:
                self._method = MethodForm((LEARNERS,), "learn", columns=self._columns)
                self._despite = theme.text(DESPITE, "learn-despite", props="maxlength=500")
                theme.promise(explain.INTEGRAL)
            self._title = theme.text("Title (optional)", "learn-title", props="maxlength=120")
        with theme.row():
            self._start = theme.button("Learn", "learn-start", self._go, icon="model_training", look="unelevated")
            self._why_not = ui.label().classes("dc-soft").props("aria-live=polite data-testid=learn-why-not")
            ui.label("Only you see the result until you share it.").classes("dc-soft")
        self.box: JobBox = JobBox(seat, "Learning", self._made)
        self.box.earlier("Earlier jobs", before, lambda job: job.spec["title"] or job.spec["method"])
        self._show()

    def _private_columns(self, entry: Entry, one: Parameter) -> list[str]:
        return private_targets(self._bounded, entry) if one.required else learnable(self._bounded, entry)

    def _columns(self, entry: Entry, one: Parameter) -> list[str]:
        return targets(self._card, entry) if one.required else item_columns(self._card)

    def _values(self, entry: Entry) -> dict[str, str]:
        """What the form of a learner begins with: the columns that are declared, and a small delta if there is any."""
        values = {}
        if "delta" in example_values(entry):
            values["delta"] = "1e-9" if theme.delta_left(self._view.left, self._view.budget) >= _DELTA else ""
        known = learnable(self._bounded, entry)
        if not entry.kind.only_numbers and len(known) < len(item_columns(self._bounded)):
            target = private_targets(self._bounded, entry)[:1]
            values["columns"] = ", ".join(name for name in known if name not in target)
        return values

    def _show(self) -> None:
        private = self._guarantee.value == _PRIVATE
        self._meaning.set_text(_MEANING[self._guarantee.value])
        self._private.set_visibility(private)
        self._integral.set_visibility(not private)
        self._allow()

    async def show_price(self) -> None:
        """Show what the model would take of the table's budget."""
        loss: Loss | None = None
        with suppress(DiscreetError):  # what is wrong is said when the job is submitted
            loss = await self._seat.call(_loss, self._learner.written, self._bounded)
        self._budget.show(loss, self._view)
        self._allow()

    def _allow(self) -> None:
        why_not = self._budget.why_not if self._guarantee.value == _PRIVATE else ""
        self._start.set_enabled(not why_not)
        self._why_not.set_text(why_not)

    async def _go(self) -> None:
        await self.box.start(self._spec)

    def _spec(self) -> Learn:
        private, title = self._guarantee.value == _PRIVATE, theme.said_in(self._title)
        method, despite = (self._learner, "") if private else (self._method, theme.said_in(self._despite))
        spec = Learn(self._view.table, method.written, title, despite)
        if is_private(spec) != private:
            raise BadInput(
                f"{method.written!r} is not {_GUARANTEES[self._guarantee.value].lower()}.",
                hint="Choose one of the methods in the list, or the other guarantee.",
            )
        return spec

    async def _made(self, job: Job) -> None:
        found = await self._seat.run(self._seat.desk.job_result, job.id)
        self._view = await self._seat.call(budget_of, self._seat.desk, self._view.table)
        await self.show_price()
        self.box.made.clear()
        if found is not None:
            with self.box.made:
                (_private_result if "loss" in found else _integral_result)(found, job)


def _loss(_: Person, method: str, card: Card) -> Loss:
    """What a learner would be charged."""
    from discreet.verbs.learn.learn import parse_private

    return parse_private(method, card).loss


def _private_result(found: Mapping[str, Any], job: Job) -> None:
    """The model, its errors and what it promises: all of it is in the release."""
    release = str(job.result)
    with theme.card(found["title"], testid="learn-result"):
        with theme.row():
            theme.badge("differentially private", "good").classes("dc-own")
            theme.badge("free: it was made before" if found["free"] else f"charged: {found['loss']}")
        theme.prose(theme.statement(found["promise"]))
        with theme.row():
            release_buttons(release, "learn", rows=False)
        ui.label(found["model"]).classes("dc-code dc-asked").props("data-testid=learn-model")
        report_frame(release).props("data-testid=learn-report")


def _integral_result(found: Mapping[str, Any], job: Job) -> None:
    """The model, what it promises, and how it compares with others."""
    with theme.card(found["title"], testid="learn-result"):
        theme.badge("integrally private, checked", "good").classes("dc-own")
        ui.label(found["model"]).classes("dc-code dc-asked").props("data-testid=learn-model")
        theme.promise(theme.statement(found["promise"]), "What is promised?")
        theme.holder_only("How it was found, and how it compares, is not in the release.")
        theme.prose(found["found"])
        rows = [(one["model"], f"{one['score']:.4f}") for one in found["scores"]]
        ui.label(f"{found['heading']}:").classes("dc-soft")
        theme.grid(["Model", found["measure"]], rows, numbers=(1,))
        with theme.row():
            release_buttons(str(job.result), "learn", job=job.id, rows=False)

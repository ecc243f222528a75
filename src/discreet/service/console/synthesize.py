"""/synthesize: release rows of people who never existed, with differential privacy or without a guarantee.

data-testid: synthesize-table, synthesize-guarantee, synthesize-budget, synthesize-now, synthesis-<parameter>,
synthesis-text, synthesizer-method, synthesizer-<parameter>, synthesizer-text, synthesize-title, synthesize-start,
synthesize-earlier, synthesize-result, synthesize-open, synthesize-csv, synthesize-holder, synthesize-attack;
job-synthesize, job-publish.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from nicegui import ui

from discreet.core.card import Card
from discreet.core.card import Role as Part
from discreet.core.families import PRIVATE_SYNTHESIS, SYNTHESIZERS
from discreet.core.kind import Kind
from discreet.core.loss import Loss
from discreet.curator.people.person import Person, Role
from discreet.errors import DiscreetError
from discreet.service.console import explain, theme
from discreet.service.console.forms import MethodForm
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, choose_table, is_synthesis, release_buttons
from discreet.service.console.publish import EarlierRelease, earlier_releases, list_earlier_releases
from discreet.service.console.table_budget import TableBudget, budget_of
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Publish, Synthesize
from discreet.service.operations.operations import Operations
from discreet.service.views import BudgetView

_TERMS = ("Differential privacy", "Epsilon (ε)", "Delta (δ)", "Synthetic stand-in")
_ABOUT = "Release rows of people who never existed, drawn so that together they look like the table."
_PRIVATE, _PLAIN = "private", "plain"
_GUARANTEES = {_PRIVATE: "Differentially private", _PLAIN: "No guarantee"}
_MEANING = {
    _PRIVATE: "Rows are drawn from noisy counts. The privacy loss is charged to the table's own budget, and to no "
    "analyst's. The rows become the table's synthetic stand-in: analysts may have them, and questions that a budget "
    "does not cover are answered on them, for free and marked as synthetic.",
    _PLAIN: "Rows are drawn from models that are fitted to the table without noise. Nothing is charged, and nothing is "
    "promised: a row may come close to someone's. The result is attacked before you have it, and no one else sees it "
    "until you share it.",
}


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        standing = await seat.call(_standing, seat.desk, table)
        form = _Form(seat, card, standing, [job for job in jobs if is_synthesis(job)])
        await form.show_price()
        return form.box

    with theme.page("Synthesize", _ABOUT, _TERMS):
        await choose_table(seat, "Table", Synthesize.kind, drawn, Publish.kind)


PAGE = Page("/synthesize", "Synthesize", "auto_awesome", (Role.STEWARD,), 32, _build)


@dataclass(frozen=True)
class _Standing:
    """A table's budget, the release of its stand-in if it has one, and earlier releases of the same people."""

    budget: BudgetView
    synthetic: str | None
    earlier: list[EarlierRelease]

    @property
    def table(self) -> str:
        return self.budget.table


def _standing(who: Person, desk: Operations, table: str) -> _Standing:
    return _Standing(budget_of(who, desk, table), desk.table(who, table).synthetic, earlier_releases(who, desk, table))


class _Form:
    """The choices for one table, and what was made of them."""

    def __init__(self, seat: Seat, card: Card, standing: _Standing, jobs: list[Job]) -> None:
        self._seat, self._card, self._standing = seat, card, standing
        with theme.card("Guarantee"):
            self._guarantee = ui.toggle(_GUARANTEES, value=_PRIVATE, on_change=self._show)
            self._guarantee.props('unelevated no-caps data-testid=synthesize-guarantee aria-label="Guarantee"')
            self._meaning = theme.prose("", soft=True)
            with ui.element("div").classes("dc-stack") as self._private:
                self._draw_private()
            with ui.element("div").classes("dc-stack") as self._plain:
                self._draw_plain()
        with theme.row():
            self._start = theme.button("Synthesize", "synthesize-start", self._go, icon="auto_awesome")
            self._start.props("unelevated")
            self._why_not = ui.label().classes("dc-soft").props("aria-live=polite data-testid=synthesize-why-not")
        self.box: JobBox = JobBox(seat, "Synthesizing", self._made)
        self.box.earlier("Earlier jobs", jobs, about)
        self._show()

    def _draw_private(self) -> None:
        if self._standing.synthetic is not None:
            with theme.row().props("data-testid=synthesize-now"):
                theme.prose("This table has a stand-in. A new one takes its place.")
                ui.link("Open it", f"/release/{self._standing.synthetic}")
        names = {"columns": ", ".join(declared(self._card))}
        self._synthesis = MethodForm((PRIVATE_SYNTHESIS,), "synthesis", values=lambda entry: names)
        self._synthesis.text.on_value_change(self.show_price)
        self._budget = TableBudget(self._standing.budget, "synthesize")
        theme.promise(explain.EPSILON, "What do epsilon and delta mean?")

    def _draw_plain(self) -> None:
        self._synthesizer = MethodForm((SYNTHESIZERS,), "synthesizer")
        self._title = theme.text("Title (optional)", "synthesize-title", props="maxlength=120")
        with ui.expansion("Earlier releases of the same people").classes("dc-more") as earlier:
            earlier.props("data-testid=synthesize-earlier")
            list_earlier_releases(self._standing.earlier)

    def _show(self) -> None:
        private = self._guarantee.value == _PRIVATE
        self._meaning.set_text(_MEANING[self._guarantee.value])
        self._private.set_visibility(private)
        self._plain.set_visibility(not private)
        self._allow()

    async def show_price(self) -> None:
        """Show what the stand-in would take of the table's budget."""
        loss = None
        with suppress(DiscreetError):  # what is wrong is said when the job is submitted
            loss = await self._seat.call(_loss, self._synthesis.written, self._card)
        self._budget.show(loss, self._standing.budget)
        self._allow()

    def _allow(self) -> None:
        """Whether the job can be paid for; if not, why."""
        why_not = self._budget.why_not if self._guarantee.value == _PRIVATE else ""
        self._start.set_enabled(not why_not)
        self._why_not.set_text(why_not)

    async def _go(self) -> None:
        await self.box.start(self._spec)

    def _spec(self) -> Synthesize | Publish:
        if self._guarantee.value == _PRIVATE:
            return Synthesize(self._standing.table, self._synthesis.written)
        return Publish(self._standing.table, (), self._synthesizer.written, title=theme.said_in(self._title))

    async def _made(self, job: Job) -> None:
        release = await self._seat.run(self._seat.desk.statement, str(job.result))
        self._standing = await self._seat.call(_standing, self._seat.desk, self._standing.table)
        await self.show_price()
        self.box.made.clear()
        if release is None:
            return
        private = job.kind == Synthesize.kind
        with self.box.made, theme.card(release.title, testid="synthesize-result"):
            with theme.row():
                theme.badge("shared with analysts" if private else "for you alone", "good" if private else "warn")
                theme.badge("differentially private" if private else "no guarantee", "good" if private else "bad")
            theme.prose(theme.statement(release.promise))
            with theme.row():
                release_buttons(str(job.result), "synthesize", job="" if private else job.id)
                attack = f"/attack?release={job.result}"
                theme.button(
                    "Attack these rows", "synthesize-attack", lambda: ui.navigate.to(attack), icon="gavel", look="flat"
                )


def _loss(_: Person, method: str, card: Card) -> Loss | None:
    """What a method would be charged."""
    from discreet.verbs.synthesize.private import parse_private

    return parse_private(method, card).loss


def declared(card: Card) -> list[str]:
    """The columns whose values are declared, so that rows can be drawn of them. None, if that is all of them."""
    released = [column for column in card.columns if column.role is not Part.IDENTIFIER and column.name != card.unit]
    known = [one.name for one in released if one.bounds or one.categories or one.kind is Kind.BOOLEAN]
    return known if len(known) < len(released) else []


def about(job: Job) -> str:
    """What a job was to make, in a few words."""
    if job.kind == Synthesize.kind:
        return f"synthetic stand-in, {job.spec.get('method', '–')}"  # a job of before may have no method
    return job.spec["title"] or f"no guarantee, {job.spec['method']}"

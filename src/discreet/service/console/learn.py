"""/learn: release a model that many different sets of people also give (integral privacy).

data-testid: learn-table, learn-method, learn-<parameter>, learn-text, learn-title, learn-despite, learn-start;
job-learn, job-open-<id>; learn-result, learn-model, learn-open, learn-holder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from discreet.core.card import Card
from discreet.core.catalogue import Entry
from discreet.core.families import LEARNERS
from discreet.core.kind import NUMBERS, Kind
from discreet.curator.people.person import Role
from discreet.service.console import explain, theme
from discreet.service.console.forms import DESPITE, MethodForm
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, choose_table, release_buttons
from discreet.service.jobs.checks import item_columns
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Learn

_TERMS = ("Integral privacy", "Differential privacy")
_ABOUT = "Release a model instead of rows: one that many different sets of people would also have given."


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        return _Form(seat, table, card, jobs).box

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


class _Form:
    """The choices for one table, and what was learnt."""

    def __init__(self, seat: Seat, table: str, card: Card, before: list[Job]) -> None:
        self._table = table
        with theme.card("Model", note="Integrally private"):
            self._method = MethodForm((LEARNERS,), "learn", columns=lambda entry: targets(card, entry))
            self._title = theme.text("Title (optional)", "learn-title", props="maxlength=120")
            self._despite = theme.text(DESPITE, "learn-despite", props="maxlength=500")
            theme.promise(explain.INTEGRAL)
        with theme.row():
            theme.button("Learn", "learn-start", self._start, icon="model_training", look="unelevated")
            ui.label("Only you see the result until you share it.").classes("dc-soft")
        self.box: JobBox = JobBox(seat, "Learning", draw=_result)
        self.box.earlier("Earlier jobs", before, lambda job: job.spec["title"] or job.spec["method"])

    async def _start(self) -> None:
        await self.box.start(self._spec)

    def _spec(self) -> Learn:
        return Learn(self._table, self._method.written, theme.said_in(self._title), theme.said_in(self._despite))


def _result(found: Mapping[str, Any], job: Job) -> None:
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

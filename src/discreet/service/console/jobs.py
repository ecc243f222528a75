"""Jobs on a page: a progress box for one job, and a list of earlier jobs.

data-testid: <kind>-table; job-<kind> (with data-state), job-said, job-cancel, job-error, job-open-<id>, job-link-<id>.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from discreet.core.card import Card
from discreet.curator.people.person import Person, Role
from discreet.errors import DiscreetError
from discreet.noise.entropy import SYSTEM
from discreet.service.console import theme
from discreet.service.console.frame import Seat
from discreet.service.console.releases import when
from discreet.service.jobs.queue import CANCELLED, DONE, FAILED, LOST, RUNNING, WAITING, Job
from discreet.service.jobs.specs import Attack, Combine, Hide, Learn, Prove, Publish, Spec, Synthesize, Tabulate

Then = Callable[[Job], Awaitable[None]]
Result = Mapping[str, Any]
"""Result of a job, as plain data."""
_TONES = {WAITING: "plain", RUNNING: "plain", DONE: "good", FAILED: "bad", LOST: "bad", CANCELLED: "warn"}
_POLL_SECONDS = 0.4
"""Polling interval, seconds."""
_LISTED = 8
"""Number of earlier jobs listed."""


class JobBox:
    """Submits a job and shows its progress; when it is done, calls ``then``, or ``draw`` with its result."""

    def __init__(
        self, seat: Seat, title: str, then: Then | None = None, *, draw: Callable[[Result, Job], None] | None = None
    ) -> None:
        self._seat = seat
        self._title = title
        self._then = then
        self._draw = draw
        self._place = ui.element("div").classes("dc-stack")
        self._place.set_visibility(False)
        self._submitting = False
        self._submission: tuple[Spec | None, str] = (None, "")
        """What was last submitted from this form, and the key it was submitted under."""
        self.made = ui.element("div").classes("dc-stack")
        """The room for what came of it, below; empty while there is a new one."""

    async def start(self, chosen: Callable[[], Spec]) -> None:
        """Submit the chosen job and follow it; errors are shown.

        A form submits once until it is changed or opened again, or until its job has failed: the second click of a
        double click finds the job of the first under its key, however late it comes.
        """
        if self._submitting:
            return
        self._submitting = True
        try:
            spec = chosen()
            if spec != self._submission[0]:
                self._submission = (spec, SYSTEM.bytes(16).hex())
            job = await self._seat.run(self._seat.desk.submit, spec, key=self._submission[1])
            if job is not None and job.state == DONE:
                ui.notify("This is done already. To make another, change something or open the page again.")
            if job is not None:
                await self.follow(job)
        except DiscreetError as error:
            self._seat.tell(error)
        finally:
            self._submitting = False

    async def show(self, job: Job) -> None:
        """Show the result of a job that is done."""
        if self._then is not None:
            await self._then(job)
            return
        found = await self._seat.run(self._seat.desk.job_result, job.id)
        self.made.clear()
        if found is not None and self._draw is not None:
            with self.made:
                self._draw(found, job)

    def earlier(self, title: str, jobs: Sequence[Job], about: Callable[[Job], str]) -> None:
        """A card of earlier jobs, if there are any; each can be opened."""
        if jobs:
            with theme.card(title):
                list_jobs(jobs, self.follow, about)

    async def follow(self, job: Job) -> None:
        """Show the progress of a job until it ends."""
        self.made.clear()
        self._place.clear()
        self._place.set_visibility(True)
        with self._place, theme.card(self._title) as box:
            box.props(f"data-testid=job-{job.kind} aria-live=polite")
            _Following(self._seat, job, box, self.show)


class _Following:
    """Progress of one job, polled until it ends."""

    def __init__(self, seat: Seat, job: Job, box: ui.element, then: Then) -> None:
        self._seat, self._job, self._box, self._then = seat, job, box, then
        with theme.row():
            self._badge = ui.label()
            self._said = ui.label().classes("dc-prose").props("data-testid=job-said")
            ui.space()
            self._cancel = ui.button("Cancel", on_click=self._stop).props("flat dense data-testid=job-cancel")
        self._bar = ui.linear_progress(0, show_value=False, size="8px").props('rounded aria-label="Progress"')
        self._error = ui.element("div").classes("dc-stack")
        self._told = ""
        self._show(job)
        self._timer = ui.timer(_POLL_SECONDS, self._look)

    async def _look(self) -> None:
        try:
            job = await self._seat.poll(self._seat.desk.job, self._job.id)
        except DiscreetError as error:
            self._timer.cancel()
            self._seat.tell(error)
            return
        self._show(job)
        if job.over:
            self._timer.cancel()
            if job.state == DONE:
                await self._then(job)

    def _show(self, job: Job) -> None:
        self._box.props(f"data-state={job.state}")
        self._badge.set_text(job.state)
        self._badge.classes(replace=f"dc-badge dc-{_TONES[job.state]}")
        self._said.set_text(job.said)
        self._cancel.set_visibility(not job.over)
        self._bar.set_visibility(not job.over)
        self._bar.set_value(job.progress or 0.0)
        unknown = job.state == RUNNING and job.progress is None
        self._bar.props("indeterminate" if unknown else None, remove=None if unknown else "indeterminate")
        if job.error != self._told:
            self._told = job.error
            with self._error:
                theme.refusal(DiscreetError(job.error)).props("data-testid=job-error")
        self._job = job

    async def _stop(self) -> None:
        if await self._seat.did(self._seat.desk.cancel, self._job.id):
            await self._look()


async def choose_table(
    seat: Seat, label: str, kind: str, drawn: Callable[[str, Card, list[Job]], Awaitable[JobBox]], *also: str
) -> None:
    """Let the user choose a table about people, and draw the page for it and for its jobs of some kinds.

    A job that the address names is shown in the box that comes back.
    """
    tables = [view.name for view in await seat.call(seat.desk.tables) if not view.public]
    chosen = seat.given.get("table") if seat.given.get("table") in tables else next(iter(tables), None)
    if chosen is None:
        theme.empty("There is no table about people here.")
        return

    async def show(table: str) -> None:
        room.clear()
        with room:
            try:
                card = await seat.call(seat.desk.full_card, table)
                jobs = [job for job in await recent(seat, kind, *also) if job.table == table]
                box = await drawn(table, card, jobs)
                wanted = requested_job(seat, jobs)
                if wanted is not None:
                    await box.follow(wanted)
            except DiscreetError as error:
                theme.refusal(error)

    theme.select(tables, label, f"{kind}-table", value=chosen, on_change=lambda event: show(event.value))
    room = ui.element("div").classes("dc-stack")
    await show(chosen)


def release_buttons(release: str, testid: str, *, job: str = "", rows: bool = True) -> None:
    """Buttons that open a release, download its ``rows`` and, for a ``job``, the page of the holder's copy."""

    def csv() -> None:
        ui.download.from_url(f"/v1/releases/{release}/rows.csv")

    def holder() -> None:
        ui.download.from_url(f"/v1/jobs/{job}/papers/holder.html", "holder.html")

    opened = f"/release/{release}"
    theme.button(
        "Open the release", f"{testid}-open", lambda: ui.navigate.to(opened), icon="description", look="unelevated"
    )
    if rows:
        theme.button("CSV", f"{testid}-csv", csv, icon="download", look="outline")
    if job:
        theme.button("The page for you alone", f"{testid}-holder", holder, icon="lock", look="flat")


def job_address(job: Job) -> str:
    """Address of the page that shows a job."""
    if job.kind == Attack.kind:
        return f"/attack?release={job.spec['release']}&job={job.id}"
    if job.kind == Combine.kind:
        return f"/combine?session={job.spec['session']}&job={job.id}"
    if job.kind == Prove.kind:
        return f"/prove?job={job.id}"
    if is_synthesis(job):
        return f"/synthesize?table={job.table}&job={job.id}"
    own = job.kind in (Tabulate.kind, Hide.kind, Learn.kind)
    return f"/{job.kind if own else 'publish'}?table={job.table}&job={job.id}"


def is_synthesis(job: Job) -> bool:
    """Whether a job makes synthetic rows: a table's stand-in, or rows that promise nothing."""
    made_up = job.kind == Publish.kind and str(job.spec["method"]).lower().split()[:1] == ["synthesize"]
    return made_up or job.kind == Synthesize.kind


def job_line(job: Job, who: Person) -> None:
    """One line about a job: its state, its error if it failed, and a link for stewards."""
    with theme.row():
        theme.badge(job.state, _TONES[job.state])
        title = f"{job.kind} {job.table}"
        if who.role is Role.STEWARD:
            ui.link(title, job_address(job)).classes("dc-strong").props(f"data-testid=job-link-{job.id}")
        else:
            ui.label(title).classes("dc-strong")
        ui.label(job.error or job.said).classes("dc-soft dc-small")


def requested_job(seat: Seat, jobs: Sequence[Job]) -> Job | None:
    """The job named in the address, if it is among these."""
    return next((job for job in jobs if job.id == seat.given.get("job")), None)


async def recent(seat: Seat, *kinds: str) -> list[Job]:
    """The newest jobs of some kinds."""
    return [job for job in await seat.call(seat.desk.jobs, most=100) if job.kind in kinds][:_LISTED]


def list_jobs(jobs: Sequence[Job], opened: Then, about: Callable[[Job], str]) -> None:
    """List of earlier jobs, each with a button that opens its result."""
    for job in jobs:
        with theme.row().classes("dc-line"):
            theme.badge(job.state, _TONES[job.state])
            with ui.element("div").classes("dc-grow"):
                ui.label(about(job))
                if job.error:
                    ui.label(job.error).classes("dc-soft dc-small")
            ui.label(f"{job.by}, {when(job.at)}").classes("dc-soft dc-small")
            button = ui.button("Open", on_click=lambda job=job: opened(job)).props("flat dense")
            theme.marked(button, f"job-open-{job.id}", f"Open {about(job)}")

"""Jobs on a page: an estimate, a progress box for each job that runs, and a list of earlier jobs.

data-testid: <kind>-table, job-estimate; job-<kind> (with data-state), job-said, job-time, job-cancel, job-error,
job-open-<id>, job-link-<id>.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
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
    """Submits jobs and shows their progress; when one is done, calls ``then``, or ``draw`` with its result.

    Several jobs may run at the same time, each with a card of its own.
    """

    def __init__(
        self, seat: Seat, title: str, then: Then | None = None, *, draw: Callable[[Result, Job], None] | None = None
    ) -> None:
        self._seat = seat
        self._title = title
        self._then = then
        self._draw = draw
        self._estimate = theme.prose("", soft=True).classes("dc-small").props("data-testid=job-estimate")
        self._estimate.set_visibility(False)
        self._place = ui.element("div").classes("dc-stack")
        self._followed: dict[str, _Following] = {}
        self._submitting = False
        self._submission: tuple[Spec | None, str] = (None, "")
        """What was last submitted from this form, and the key it was submitted under."""
        self.made = ui.element("div").classes("dc-stack")
        """The place for the result, below; empty while a new job runs."""

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
            if job is not None:
                await self.follow(job)
            if job is not None and job.state == DONE:
                self._seat.say("This job is done already. To run another, change the form or reload the page.")
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

    async def estimate(self, kind: str, table: str) -> None:
        """Say how long a job of a kind on a table will take, as far as earlier ones tell."""
        found = await self._seat.call(self._seat.desk.job_estimate, kind, table)
        self._estimate.set_text(estimate_text(found.seconds, found.memory))
        self._estimate.set_visibility(bool(found.seconds))

    def earlier(self, title: str, jobs: Sequence[Job], about: Callable[[Job], str]) -> None:
        """A card of earlier jobs, if there are any; each can be opened."""
        if jobs:
            with theme.card(title):
                list_jobs(jobs, self.follow, about)

    async def follow(self, job: Job) -> None:
        """Show the progress of a job until it ends; jobs that are over make room for it."""
        self.made.clear()
        for id, one in list(self._followed.items()):
            if one.over or id == job.id:
                one.end()
                del self._followed[id]
        with self._place, theme.card(self._title) as box:
            box.props(f"data-testid=job-{job.kind} aria-live=polite")
            self._followed[job.id] = _Following(self._seat, job, box, self.show)


def estimate_text(seconds: Sequence[float], memory: int | None = None) -> str:
    """A rough estimate from how long earlier jobs took, and the most memory one had; empty without any."""
    if not seconds:
        return ""
    jobs = "the last one" if len(seconds) == 1 else f"the last {len(seconds)} took {_span(seconds)}"
    had = "" if memory is None else f" Memory: up to {memory / 1e6:,.0f} MB."
    return f"Rough estimate: {duration(median(seconds))} ({jobs} of this kind on this table).{had}"


def _span(seconds: Sequence[float]) -> str:
    least, most = duration(min(seconds)), duration(max(seconds))
    return least if least == most else f"{least} to {most}"


def duration(seconds: float) -> str:
    """A duration in the largest unit that fits: seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


class _Following:
    """Progress of one job, polled until it ends."""

    def __init__(self, seat: Seat, job: Job, box: ui.element, then: Then) -> None:
        self._seat, self._job, self._box, self._then = seat, job, box, then
        with theme.row():
            self._badge = ui.label()
            self._said = ui.label().classes("dc-prose").props("data-testid=job-said")
            ui.space()
            self._time = ui.label().classes("dc-soft dc-small").props("data-testid=job-time aria-live=off")
            self._cancel = ui.button("Cancel", on_click=self._stop).props("flat dense data-testid=job-cancel")
        self._bar = ui.linear_progress(0, show_value=False, size="8px").props('rounded aria-label="Progress"')
        self._error = ui.element("div").classes("dc-stack")
        self._told = ""
        self._show(job)
        self._timer = ui.timer(_POLL_SECONDS, self._look)

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self._job.over

    def end(self) -> None:
        """Stop following, and take the card away."""
        self._timer.cancel()
        self._box.delete()

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
        self._time.set_text(_time_text(job))
        self._cancel.set_visibility(not job.over)
        self._bar.set_visibility(not job.over)
        self._bar.set_value(job.progress or 0.0)
        unknown = job.state == RUNNING and not job.progress
        self._bar.props("indeterminate" if unknown else None, remove=None if unknown else "indeterminate")
        if job.error != self._told:
            self._told = job.error
            with self._error:
                theme.refusal(DiscreetError(job.error)).props("data-testid=job-error")
        self._job = job

    async def _stop(self) -> None:
        if await self._seat.did(self._seat.desk.cancel, self._job.id):
            await self._look()


def _time_text(job: Job) -> str:
    """Share done, if it is known, and time since the job began; empty unless it runs."""
    if job.state != RUNNING or job.began is None:
        return ""
    since = f"{duration((dt.datetime.now(dt.UTC) - job.began).total_seconds())} so far"
    return f"{job.progress:.0%} · {since}" if job.progress else since


async def choose_table(
    seat: Seat, label: str, kind: str, drawn: Callable[[str, Card, list[Job]], Awaitable[JobBox]], *also: str
) -> None:
    """Let the user choose a table about people, and draw the page for it and for its jobs of some kinds.

    A job that the address names is shown in the box that comes back.
    """
    tables = [view.name for view in await seat.call(seat.desk.tables) if not view.public]
    chosen = seat.given.get("table") if seat.given.get("table") in tables else next(iter(tables), None)
    if chosen is None:
        theme.empty("There is no table about people yet.", "dataset", ("Add data", "/data"))
        return

    async def show(table: str) -> None:
        room.clear()
        with room:
            try:
                card = await seat.call(seat.desk.full_card, table)
                jobs = [job for job in await recent(seat, kind, *also) if job.table == table]
                box = await drawn(table, card, jobs)
                await box.estimate(kind, table)
                wanted = requested_job(seat, jobs)
                for job in jobs[::-1]:
                    if not job.over or job is wanted:
                        await box.follow(job)
            except DiscreetError as error:
                theme.refusal(error)

    theme.select(tables, label, f"{kind}-table", value=chosen, on_change=lambda event: show(event.value))
    room = ui.element("div").classes("dc-stack")
    await show(chosen)


def release_buttons(release: str, testid: str, *, job: str = "", rows: bool = True) -> None:
    """Buttons that open a release, download its ``rows`` (else all of it) and, for a ``job``, the holder's page."""

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
    else:
        theme.link_button(
            "Download", f"/v1/releases/{release}/download", f"{testid}-download", plain=True, icon="download"
        ).props("download")
    if job:
        theme.button("Holder's report", f"{testid}-holder", holder, icon="lock", look="flat")


def report_frame(release: str) -> ui.element:
    """The report of a release, in which nothing can run."""
    frame = ui.element("iframe").classes("dc-frame").props('sandbox="" loading=lazy title="Report of this release"')
    return frame.props(f'src="/v1/releases/{release}/report"')


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


def job_title(job: Job) -> str:
    """The verb and table of a job, as a title."""
    return f"{job.kind.capitalize()} {job.table}"


def job_line(job: Job, who: Person) -> None:
    """One line about a job: its state, and a link for stewards; the whole error if it failed."""
    with ui.element("div").classes("dc-line"):
        with theme.row():
            theme.badge(job.state, _TONES[job.state])
            if who.role is Role.STEWARD:
                ui.link(job_title(job), job_address(job)).classes("dc-strong").props(f"data-testid=job-link-{job.id}")
            else:
                ui.label(job_title(job)).classes("dc-strong")
            ui.label(job.said).classes("dc-soft dc-small")
        _draw_error(job)


def _draw_error(job: Job) -> None:
    if job.error:
        theme.refusal(DiscreetError(job.error)).classes("dc-small")


def requested_job(seat: Seat, jobs: Sequence[Job]) -> Job | None:
    """The job named in the address, if it is among these."""
    return next((job for job in jobs if job.id == seat.given.get("job")), None)


async def recent(seat: Seat, *kinds: str) -> list[Job]:
    """The newest jobs of some kinds."""
    return [job for job in await seat.call(seat.desk.jobs, most=100) if job.kind in kinds][:_LISTED]


def list_jobs(jobs: Sequence[Job], opened: Then, about: Callable[[Job], str]) -> None:
    """List of earlier jobs, each with a button that opens its result."""
    for job in jobs:
        with ui.element("div").classes("dc-line"):
            with theme.row():
                theme.badge(job.state, _TONES[job.state])
                ui.label(about(job)).classes("dc-grow")
                ui.label(f"{job.by}, {when(job.at)}").classes("dc-soft dc-small")
                button = ui.button("Open", on_click=lambda job=job: opened(job)).props("flat dense")
                theme.marked(button, f"job-open-{job.id}", f"Open {about(job)}")
            _draw_error(job)

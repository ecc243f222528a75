"""/combine: sessions with other holders: parties, leakage to coalitions, taking part, and the result.

data-testid: combine-session, combine-parties, combine-learnt, combine-brings, combine-start, combine-result,
combine-seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from discreet.curator.people.person import Role
from discreet.errors import DiscreetError
from discreet.service.console import theme
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, asked_for, listed, recent
from discreet.service.jobs.job import Job
from discreet.service.jobs.specs import Combine
from discreet.service.sessions import FOLDER, SessionView

_ABOUT = "Several holders compute together; each keeps its data and learns only the result."
_NONE = (
    f"There is no session yet. Put its manifest (discreet combine new) and the key of this workspace's party "
    f"(discreet combine keys) into the folder {FOLDER}/ of the workspace."
)


async def _build(seat: Seat) -> None:
    names = await seat.call(seat.desk.sessions)
    with theme.page("Combine", _ABOUT):
        if not names:
            theme.empty(_NONE)
            return
        asked = seat.given.get("session", "")
        chosen = asked if asked in names else names[0]

        async def show(name: str) -> None:
            place.clear()
            with place:
                try:
                    view = await seat.call(seat.desk.session, name)
                    jobs = [job for job in await recent(seat, Combine.kind) if job.table == name]
                    form = _Form(seat, view, jobs)
                    wanted = asked_for(seat, jobs)
                    if wanted is not None:
                        await form.follow(wanted)
                except DiscreetError as error:
                    theme.refusal(error)

        select = ui.select(names, value=chosen, label="Session", on_change=lambda event: show(event.value))
        select.props("outlined dense options-dense data-testid=combine-session").classes("dc-mid")
        place = ui.element("div").classes("dc-stack")
        await show(chosen)


PAGE = Page("/combine", "Combine", "hub", (Role.STEWARD,), 55, _build)


class _Form:
    """One session: its terms, taking part, and its result."""

    def __init__(self, seat: Seat, view: SessionView, before: list[Job]) -> None:
        self._seat, self._view = seat, view
        with theme.card("Parties", note=f"{view.function} by {view.protocol}") as box:
            box.props("data-testid=combine-parties")
            rows = [(f"{name} (you)" if name == view.me else name, at, key) for name, at, key in view.parties]
            theme.grid(["Party", "Address", "Key fingerprint"], rows)
            for line in view.brief:
                theme.prose(line)
            theme.promise(theme.statement(view.statement))
        if view.learnt:
            with theme.card("Leakage to coalitions", note="Beyond their own values and the result") as box:
                box.props("data-testid=combine-learnt")
                theme.grid(["Coalition", "What it learns"], view.learnt)
        with theme.card("Take part"):
            theme.prose(
                "All parties start at about the same time. Nothing is sent before all are connected.", soft=True
            )
            with theme.row():
                self._brings = ui.select(list(view.inputs), value=view.inputs[0], label="Data")
                self._brings.props("outlined dense options-dense data-testid=combine-brings").classes("dc-mid")
                start = ui.button("Take part", icon="hub", on_click=self._start)
                start.props("unelevated data-testid=combine-start")
        self._box = JobBox(seat, "Computing together", self._show)
        if before:
            with theme.card("Earlier sessions"):
                listed(before, self.follow, lambda job: f"{job.table}, with {job.spec['brings']}")

    async def follow(self, job: Job) -> None:
        """Show the outcome of a job."""
        await self._box.follow(job)

    async def _start(self) -> None:
        await self._box.start(lambda: Combine(self._view.name, self._brings.value or ""))

    async def _show(self, job: Job) -> None:
        found = await self._seat.run(self._seat.desk.job_result, job.id)
        self._box.made.clear()
        if found is not None:
            with self._box.made:
                _result(found)


def _result(found: Mapping[str, Any]) -> None:
    with theme.card("Result", note=f"Of {', '.join(found['included'])} together") as box:
        box.props("data-testid=combine-result")
        ui.label(found["result"]).classes("dc-code dc-strong").style("white-space: pre-wrap")
        if found.get("off"):
            theme.prose(found["off"], soft=True)
        theme.promise(theme.statement(found["promise"]))
    with theme.card("Your view", note="For you alone") as box:
        box.props("data-testid=combine-seen")
        ui.html(found["picture"], sanitize=False)
        with ui.expansion("Every message").classes("dc-more"):
            theme.grid(["", "From", "To", "Kind", "Contents"], found["lines"], numbers=(0,))

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
from discreet.service.console.jobs import JobBox, recent, requested_job
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Combine
from discreet.service.sessions import FOLDER, SessionView

_TERMS = ("Coalition", "Statement", "Privacy budget")
_ABOUT = "Several holders compute together; each keeps its data and learns only the result."
_NONE = (
    f"There is no session yet. Put its manifest (discreet combine new) and the key of this workspace's party "
    f"(discreet combine keys) into the folder {FOLDER}/ of the workspace."
)


async def _build(seat: Seat) -> None:
    names = await seat.call(seat.desk.sessions)
    with theme.page("Combine", _ABOUT, _TERMS):
        if not names:
            theme.empty(_NONE, "hub")
            return
        asked = seat.given.get("session", "")
        chosen = asked if asked in names else names[0]

        async def show(name: str) -> None:
            place.clear()
            with place:
                try:
                    view = await seat.call(seat.desk.session, name)
                    jobs = [job for job in await recent(seat, Combine.kind) if job.table == name]
                    box = _draw_session(seat, view, jobs)
                    wanted = requested_job(seat, jobs)
                    if wanted is not None:
                        await box.follow(wanted)
                except DiscreetError as error:
                    theme.refusal(error)

        theme.select(names, "Session", "combine-session", value=chosen, on_change=lambda event: show(event.value))
        place = ui.element("div").classes("dc-stack")
        await show(chosen)


PAGE = Page("/combine", "Combine", "hub", (Role.STEWARD,), 48, _build)


def _draw_session(seat: Seat, view: SessionView, before: list[Job]) -> JobBox:
    """One session: its terms, taking part, and its result."""
    with theme.card("Parties", note=f"{view.function} by {view.protocol}", testid="combine-parties"):
        rows = [(f"{name} (you)" if name == view.me else name, at, key) for name, at, key in view.parties]
        theme.grid(["Party", "Address", "Key fingerprint"], rows)
        for line in view.brief:
            theme.prose(line)
        theme.promise(theme.statement(view.statement), "Guarantee")
    if view.learnt:
        with theme.card(
            "Leakage to coalitions", note="Beyond their own values and the result", testid="combine-learnt"
        ):
            theme.grid(["Coalition", "What it learns"], view.learnt)
    with theme.card("Take part"):
        theme.prose("All parties start at about the same time. Nothing is sent before all are connected.", soft=True)
        with theme.row():
            brings = theme.select(view.inputs, "Data", "combine-brings")
            start = ui.button("Take part", icon="hub").props("unelevated data-testid=combine-start")
            start.on_click(lambda: box.start(lambda: Combine(view.name, brings.value or "")))
    box: JobBox = JobBox(seat, "Computing together", draw=_result)
    box.earlier("Earlier sessions", before, lambda job: f"{job.table}, with {job.spec['brings']}")
    return box


def _result(found: Mapping[str, Any], job: Job) -> None:
    with theme.card("Result", note=f"Of {', '.join(found['included'])} together", testid="combine-result"):
        ui.label(found["result"]).classes("dc-code dc-strong").style("white-space: pre-wrap")
        if found.get("off"):
            theme.prose(found["off"], soft=True)
        theme.promise(theme.statement(found["promise"]), "Guarantee")
    with theme.card("Your view", note="For the holder only", testid="combine-seen"):
        ui.html(found["picture"], sanitize=False)
        with ui.expansion("Every message").classes("dc-more"):
            theme.grid(["No.", "From", "To", "Kind", "Contents"], found["lines"], numbers=(0,))

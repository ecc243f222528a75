"""/audit: the audit log, and verification of ledger and log.

data-testid: audit-who, audit-failed, audit-text, audit-older, audit-verify, audit-verdict, audit-lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nicegui import ui

from discreet.curator.people.audit import AuditLine
from discreet.service.console import theme
from discreet.service.console.budget import verify_button
from discreet.service.console.frame import Page, Seat
from discreet.service.console.releases import when
from discreet.service.jobs.queue import ENDED
from discreet.service.operations.operations import ASKED_FOR
from discreet.service.operations.permissions import READERS

_TERMS = ("Audit log", "Ledger")
_MOST = 200
_ABOUT = "Who did what, and when. The log is append-only and holds no questions, answers or secrets."
_EVERYBODY = ""
_ERRORS = {
    "BadInput": "invalid input",
    "BadQuery": "invalid question",
    "BudgetExceeded": "the budget does not cover it",
    "Exposed": "exposes people together with earlier releases",
    "NoPromise": "no guarantee possible",
    "NotAllowed": "not allowed for this role",
    "NotDeclared": "the card does not declare enough",
    "NotFound": "not found",
    "NotSignedIn": "wrong name or password",
    "Taken": "the name is taken",
    "TooMany": "too many attempts",
}
"""Errors in words; others are shown by their name."""


async def _build(seat: Seat) -> None:
    names = [person.name for person in await seat.call(seat.desk.access.persons)]
    with theme.page("Audit", _ABOUT, _TERMS):
        with theme.card("Verify ledger and log"):
            theme.prose(
                "Recomputes every digest and sum of the ledger and of this log, and compares the ledger with every "
                "answer. A line that was changed later is detected.",
                soft=True,
            )
            with theme.row():
                verify_button(seat, "audit-verify", "audit-verdict", "unelevated", lambda: show(more=0))
        with theme.card("Audit log"):
            with theme.row():
                everybody = {_EVERYBODY: "all people", **{name: name for name in names}}
                who = theme.select(everybody, "Person", "audit-who", width="dc-short")
                text = theme.text("Contains", "audit-text", width="dc-short", props="clearable")
                failed = ui.checkbox("Only refused or failed actions").props("data-testid=audit-failed")
            place = ui.element("div").classes("dc-stack").props("data-testid=audit-lines")
            older = ui.button("Show more").props("flat data-testid=audit-older")
        shown = _MOST

        async def show(*_: object, more: int = 0) -> None:
            nonlocal shown
            shown += more
            lines = await seat.run(seat.desk.access.audit, most=shown, by=who.value or None)
            if lines is None:
                return
            older.set_visibility(len(lines) == shown)
            place.clear()
            with place:
                _lines(seen(lines, text.value or "", failed=failed.value))

        for box in (who, text, failed):
            box.on_value_change(show)
        older.on_click(lambda: show(more=_MOST))
        await show()


PAGE = Page("/audit", "Audit", "fact_check", READERS, 90, _build)


def seen(lines: Sequence[AuditLine], text: str, *, failed: bool) -> list[AuditLine]:
    """The lines that have ``text`` in them; with ``failed`` only those of what was not done."""
    wanted = text.strip().lower()
    return [
        line
        for line in lines
        if not (failed and line.well) and wanted in f"{line.who} {line.action} {outcome(line)} {about(line)}".lower()
    ]


def about(line: AuditLine) -> str:
    """What a line is about, in one text."""
    told = {name: value for name, value in line.about.items() if name != ENDED}
    if "error" in told:
        told["error"] = _ERRORS.get(told["error"]) or re.sub("(?<=[a-z])(?=[A-Z])", " ", told["error"]).lower()
    return ", ".join(f"{name}: {value}" for name, value in told.items())


def outcome(line: AuditLine) -> str:
    """What came of it: a job is asked for, and has another line when it is over."""
    if ENDED in line.about:
        return line.about[ENDED]
    if not line.well:
        return "refused"
    return "asked for" if line.action.startswith(ASKED_FOR) else "done"


def _lines(lines: Sequence[AuditLine]) -> None:
    if not lines:
        theme.empty("No line matches. Change the filter above.", "search_off")
        return
    rows = [(str(line.number), when(line.at), line.who, line.action, outcome(line), about(line)) for line in lines]
    theme.grid(["Line", "Time (UTC)", "Person", "Action", "Outcome", "Details"], rows, numbers=(0,)).classes("dc-log")

"""/release/{id}: the guarantee of a release, its rows, its recipe, its report, and how to download or share it.

data-testid: release-title, release-statement, release-rows, release-recipe, release-report, release-download,
release-csv, release-share, release-attack.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
from nicegui import ui

from discreet.core.markup import tag
from discreet.core.release import Release
from discreet.core.report import badge, plain, shortened
from discreet.core.statement import Evidence
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import LEARNT, Shelved
from discreet.service.console import answer_view, theme
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.jobs import report_frame
from discreet.service.console.releases import about
from discreet.service.operations.operations import Operations
from discreet.service.operations.surveys import COLLECTED

_TERMS = ("Statement", "Recipe")
_PREVIEW = 20
_NAMES = {"suppress": "suppression limit", "optimal": "optimal", "locally_optimal": "locally optimal"}


async def _build(seat: Seat) -> None:
    one, release = await seat.call(_found, seat.desk, seat.given["id"])
    with theme.page(one.title, about(one), _TERMS):
        if seat.who.role is not Role.AUDITOR:
            _take(seat, one, rows=one.kind != "answer" and isinstance(release.payload, pa.Table))
        with theme.card(testid="release-statement"):
            _claim(release)
            first, *notes = release.lines
            theme.prose(first)
            theme.facts([_note(line) for line in notes])
        if one.kind == "answer" and isinstance(release.payload, pa.Table):
            with theme.card("Answer"):
                answer_view.show(release, one.id, linked=False)
        elif isinstance(release.payload, pa.Table):
            with theme.card("First rows", testid="release-rows"):
                answer_view.preview(release.payload, _PREVIEW)
        _made(release)
        if seat.who.role is not Role.AUDITOR:
            _report(one)


def _claim(release: Release[Any]) -> None:
    """The guarantee as a headline, with the evidence for it."""
    headline, tone = badge(release)
    icon = {"good": "verified_user", "bad": "gpp_bad", "none": "gpp_maybe"}[tone]
    evidence = _EVIDENCE[release.statement.evidence]
    with ui.element("div").classes("dc-claim"):
        theme.round_icon(icon, "warn" if tone == "none" else tone)
        ui.html(tag("p", headline, tag("small", evidence) if tone == "good" else None), sanitize=False)


def _note(line: str) -> tuple[str, str]:
    """An assumption or a note of a statement, with what it is before it."""
    kind, _, text = line.partition(": ")
    return (kind, text) if text else ("Note", kind)


_EVIDENCE = {
    Evidence.PROVED: "It follows from a theorem, whatever the data.",
    Evidence.CALCULATED: "It follows from a theorem, with figures in floating point.",
    Evidence.CHECKED: "It was tested on the released rows before they left.",
    Evidence.ESTIMATED: "It was estimated by a statistical model, which may not fit.",
    Evidence.ARGUED: "There is a reason for it, but neither a proof nor a test.",
}
"""What each kind of evidence means."""

PAGE = Page("/release/{id}", "Release", "description", EVERYBODY, None, _build)


def _found(who: Person, desk: Operations, id: str) -> tuple[Shelved, Release[Any]]:
    """A release: complete, or for auditors its documentation alone."""
    one = desk.shelved(who, id)
    return one, desk.statement(who, id) if who.role is Role.AUDITOR else desk.release(who, id)


def _take(seat: Seat, one: Shelved, *, rows: bool) -> None:
    """Download buttons, with ``rows`` also as CSV; for stewards also sharing, and an attack where one may succeed.

    A differentially private answer promises that no attack does.
    """
    with theme.row():
        link = ui.element("a").classes("dc-button").props(f'href="/v1/releases/{one.id}/download" download')
        with link.props("data-testid=release-download"):
            ui.icon("download").props("aria-hidden=true")
            ui.label("Download with documentation" if rows else "Download")
        if rows:
            _button("CSV", f"/v1/releases/{one.id}/rows.csv", "release-csv").props("download")
        if seat.who.role is Role.STEWARD:
            if one.kind not in ("answer", COLLECTED, LEARNT):
                _button("Attack", f"/attack?release={one.id}", "release-attack")
            whom = f"the analysts of {', '.join(one.tables)}" if one.tables else "all analysts"
            shared = ui.switch(f"Shared with {whom}", value=one.shared)
            shared.props("data-testid=release-share")

            async def share() -> None:
                if await seat.did(seat.desk.share, one.id, bool(shared.value)):
                    seat.say(f"{'Shared' if shared.value else 'No longer shared'} with {whom}.")

            shared.on_value_change(share)


def _button(said: str, where: str, testid: str) -> ui.element:
    with ui.element("a").classes("dc-button dc-plainly").props(f'href="{where}" data-testid={testid}') as made:
        ui.label(said)
    return made


def _made(release: Release[Any]) -> None:
    recipe = release.recipe
    with theme.card("How it was made", testid="release-recipe"):
        said = [("method", recipe.method)]
        said += [
            (_NAMES.get(name, name.replace("_", " ")), shortened(in_words(name, value), 400))
            for name, value in recipe.parameters.items()
            if value
        ]
        if release.receipt is not None:
            said.append(("charged", str(release.receipt)))
        said.append(("made with", ", ".join(f"{name} {version}" for name, version in recipe.versions.items())))
        theme.facts(said)
        for step in recipe.steps:
            theme.prose(f"• {step}", soft=True)


def in_words(name: str, value: object) -> str:
    """A parameter in words."""
    if name == "suppress":
        return f"at most {float(100 * Fraction(str(value))):.3g}%"
    return "yes" if value is True else theme.number(value) if isinstance(value, int) else plain(value)


def _report(one: Shelved) -> None:
    with theme.card("Report", testid="release-report"):
        report_frame(one.id)

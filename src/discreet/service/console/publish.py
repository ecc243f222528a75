"""/publish: release the rows of a table under privacy models, and compare methods first.

data-testid: publish-table, publish-method, publish-mask, masking-method, masking-<parameter>, publish-suppress,
publish-quality, people-method, people-<parameter>, people-text, publish-title, publish-despite, publish-start,
publish-earlier, publish-open, publish-download, publish-csv, publish-attack; those of ``forms`` and ``riskmap``;
job-publish, job-compare.
"""

from __future__ import annotations

from typing import TypeAlias

from nicegui import ui

from discreet.core.card import Card
from discreet.core.card import Role as Part
from discreet.core.families import MASKING, PEOPLE, QUALITIES, RECODERS
from discreet.curator.people.person import Person, Role
from discreet.releases.register import Entry
from discreet.service.console import explain, theme
from discreet.service.console.forms import DESPITE, MethodForm, ModelRows
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, choose_table, is_synthesis, release_buttons
from discreet.service.console.releases import when
from discreet.service.console.riskmap import Comparison
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Publish
from discreet.service.operations.operations import Operations

_TERMS = ("Quasi-identifier", "Equivalence class", "Privacy model", "Suppression", "Masking", "Risk–utility map")
MASK = "mask"
_ABOUT = "Release rows that satisfy privacy models, such as k-anonymity. Each model is checked before anything leaves."
MASKED = (
    "Values are changed at random or exchanged between people, so that rows look like the original but "
    "none is quite true. Masking promises nothing by itself: compare and attack before you hand it over."
)
"""What masking does."""
PARTS = {
    Part.IDENTIFIER: ("Identifier", "never released", "bad"),
    Part.QUASI: ("Quasi-identifier", "known to outsiders: generalised or changed", "warn"),
    Part.SENSITIVE: ("Sensitive", "must not be learned about a person", "plain"),
    Part.OTHER: ("Other", "released unchanged", "good"),
}
"""What a column can do to a person, what becomes of it, and its colour."""


async def _build(seat: Seat) -> None:
    """The page."""

    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        mine = [job for job in jobs if not is_synthesis(job)]
        form = _Form(seat, table, card, await seat.call(earlier_releases, seat.desk, table), mine)
        await Comparison(seat, table, form.choose).begin()
        return form.box

    with theme.page("Publish", _ABOUT, _TERMS):
        await choose_table(seat, "Table", Publish.kind, drawn)


PAGE = Page("/publish", "Publish", "ios_share", (Role.STEWARD,), 30, _build)


class _Form:
    """The choices for one table, and what was started with them."""

    def __init__(self, seat: Seat, table: str, card: Card, out: list[EarlierRelease], jobs: list[Job]) -> None:
        self._seat, self._table = seat, table
        _roles(card)
        with theme.card("Privacy models", note="Every model is checked again on what leaves.") as self._rules:
            self._models = ModelRows([column.name for column in card.having(Part.SENSITIVE)])
        self._people: MethodForm | None = None
        if card.unit is not None and card.rows_per_unit != 1:
            with theme.card("People with several rows", note=f"A {card.unit} may have several."):
                self._people = MethodForm((PEOPLE,), "people")
                theme.prose(
                    "“with patients” behind “linked” publishes another table of the same people with it.", soft=True
                ).classes("dc-small")
        with theme.card("Method"):
            self._draw_method()
        with theme.card("Earlier releases", note="of the same people", testid="publish-earlier"):
            self._out = ui.element("div").classes("dc-stack")
            self._draw_out(out)
        with theme.row():
            start = ui.button("Publish", icon="ios_share", on_click=lambda: self.box.start(self._spec))
            start.props("unelevated data-testid=publish-start")
            ui.label("Only you see the result until you share it.").classes("dc-soft")
        self.box: JobBox = JobBox(seat, "Publishing", self._published)
        self.box.earlier("Earlier jobs", jobs, _about)

    def choose(self, method: str) -> None:
        """Take a masking method, as it is written."""
        self._mask.text.set_value(method)
        self._method.set_value(MASK)

    def _draw_method(self) -> None:
        self._recoders = {entry.name: entry for entry in RECODERS.entries()}
        labels = {name: name for name in self._recoders} | {MASK: "Changed values (masking)"}
        measures = [entry.name for entry in QUALITIES.entries() if not any(one.required for one in entry.parameters)]
        with theme.row():
            self._method = theme.select(labels, "Method", "publish-method", on_change=self._show_method)
            self._suppress = theme.figure("Suppressed rows at most, %", "publish-suppress", value=5, min=0, max=100)
            self._quality = theme.select(measures, "Optimise for", "publish-quality", width="dc-short")
        self._about = ui.label().classes("dc-prose dc-soft")
        self._left_out = theme.promise(explain.SUPPRESS, "What is suppression?")
        with ui.element("div").classes("dc-stack") as self._masking:
            self._mask = MethodForm((MASKING,), "masking", text="publish-mask")
            theme.prose(
                "“on age, income” behind it says which columns are changed; without it, all that outsiders may "
                "know and that the method can change.",
                soft=True,
            ).classes("dc-small")
        self._title = theme.text("Title (optional)", "publish-title", width="", props="maxlength=120")
        self._despite = theme.text(DESPITE, "publish-despite", width="", props="maxlength=500")
        self._show_method()

    def _show_method(self) -> None:
        method = self._method.value
        recoder = self._recoders.get(method)
        self._about.set_text(recoder.summary if recoder else MASKED)
        takes = {one.name for one in recoder.parameters} if recoder else set()
        self._masking.set_visibility(method == MASK)
        self._despite.set_visibility(method in self._recoders)
        self._suppress.set_visibility("suppress" in takes)
        self._left_out.set_visibility("suppress" in takes)
        self._quality.set_visibility("quality" in takes)

    def _draw_out(self, out: list[EarlierRelease]) -> None:
        self._out.clear()
        with self._out:
            list_earlier_releases(out)

    def _spec(self) -> Publish:
        method = self._method.value
        said = {"title": theme.said_in(self._title)}
        if self._people is not None:
            said["people"] = self._people.written
        if self._despite.visible:
            said["despite"] = theme.said_in(self._despite)
        if self._suppress.visible:
            said["suppress"] = f"{self._suppress.value or 0:g}%"
        if self._quality.visible:
            said["quality"] = self._quality.value
        written = self._mask.written if method == MASK else method
        return Publish(self._table, self._models.written(), written, **said)

    async def _published(self, job: Job) -> None:
        self._draw_out(await self._seat.run(earlier_releases, self._seat.desk, self._table) or [])
        self.box.made.clear()
        with self.box.made, theme.card("Released"):
            theme.prose("Read its statement, attack it, then share it with analysts or download it to hand it over.")
            with theme.row():
                release_buttons(str(job.result), "publish")
                down = ui.button("Download", icon="download").props("outline data-testid=publish-download")
                down.on_click(lambda: ui.download.from_url(f"/v1/releases/{job.result}/download"))
                attack = ui.button("Attack", icon="gavel").props("flat data-testid=publish-attack")
                attack.on_click(lambda: ui.navigate.to(f"/attack?release={job.result}"))


def _about(job: Job) -> str:
    """What a job was to make, in a few words."""
    return job.spec["title"] or ", ".join(job.spec["models"]) or str(job.spec["method"])


def _roles(card: Card) -> None:
    """The columns at a glance."""
    with theme.card("Columns", note="As declared on the card."), ui.element("div").classes("dc-parts"):
        for part, (name, becomes, tone) in PARTS.items():
            columns = card.having(part)
            if columns:
                with ui.element("div"):
                    ui.label(name).classes("dc-strong")
                    ui.label(becomes).classes("dc-soft dc-small")
                    with theme.row().classes("dc-tight"):
                        for column in columns:
                            theme.badge(column.name, tone).props["title"] = column.declared or column.kind.value


EarlierRelease: TypeAlias = tuple[str, str, str, str]
"""When something left, how, of how many rows it was made, and its name."""


def earlier_releases(who: Person, desk: Operations, table: str) -> list[EarlierRelease]:
    """Earlier releases of a table, rows and printed tables, in the order they were made."""
    rows = [(one.at[:10] or "unknown", one.kind, f"{one.rows:,}", _name(one)) for one in desk.published(who, table)]
    for kind, how in (("tabulated", "printed table"), ("synthetic", "synthetic stand-in")):
        rows += [(when(one.at)[:10], how, "–", one.id) for one in desk.releases(who, kind=kind, table=table)]
    return sorted(rows)


def list_earlier_releases(out: list[EarlierRelease]) -> None:
    """Draw the list of earlier releases of the same people."""
    if not out:
        theme.empty("No earlier releases of this table.", "inventory_2")
        return
    theme.prose(
        "Two releases that are each safe may not be safe together: the new one is checked with these before it leaves. "
        "Exposure says which cannot be checked; attack the new one with those in mind."
    )
    theme.grid(["Date", "Method", "Original rows", "Release"], out, numbers=(2,))


def _name(one: Entry) -> str:
    return one.release.replace("\\", "/").rstrip("/").rpartition("/")[2]

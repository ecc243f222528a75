"""/tabulate: print a table of counts or sums without giving anybody away.

data-testid: tabulate-table, tabulate-down, tabulate-across, tabulate-value, rule-<name>, rule-<name>-<letter>,
tabulate-method, tabulate-<parameter>, tabulate-text, tabulate-title, tabulate-start; job-tabulate,
job-open-<id>; crosstable, tabulate-csv, tabulate-xlsx, tabulate-open, tabulate-holder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nicegui import ui

from discreet.core.card import Card, Column
from discreet.core.card import Role as Part
from discreet.core.families import TABLE_METHODS
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput
from discreet.service.console import explain, theme
from discreet.service.console.crosstable import LEGEND, drawn
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, by_table, listed
from discreet.service.console.methods import MethodForm
from discreet.service.console.rules import RuleBoxes
from discreet.service.jobs.job import Job
from discreet.service.jobs.specs import Tabulate
from discreet.service.operations.operations import Operations

COUNT = ""
_NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL)
_ABOUT = "Print counts or sums, so that nobody's figure can be told from the table."


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        return _Form(seat, table, card, jobs).box

    with theme.page("Tabulate", _ABOUT):
        await by_table(seat, "Rows of", Tabulate.kind, drawn)


PAGE = Page("/tabulate", "Tabulate", "table_chart", (Role.STEWARD,), 40, _build)


def sides(card: Card) -> dict[str, str]:
    """What a table can be by: columns, and levels of their hierarchies, each with how it is called."""
    found = {}
    for column in card.columns:
        if column.role is Part.IDENTIFIER or column.name == card.unit:
            continue
        top = column.hierarchy.height if column.hierarchy else 1
        if column.role is not Part.SENSITIVE or column.categories:
            found[column.name] = column.name if top == 1 else f"{column.name}, in detail"
        found |= {f"{column.name}@{level}": f"{column.name}, {_coarser(column, level)}" for level in range(1, top)}
    return found


def _coarser(column: Column, level: int) -> str:
    """What a level of a column's hierarchy is called."""
    match column.hierarchy:
        case Dates(levels=levels):
            return f"by {levels[level - 1]}"
        case Intervals(widths=widths):
            return f"in steps of {widths[level - 1]}"
    return f"coarser by {level}"


def summable(card: Card) -> list[Column]:
    """The columns that can be added up."""
    named = (Part.IDENTIFIER,)
    return [one for one in card.columns if one.kind in _NUMBERS and one.role not in named and one.name != card.unit]


class _Form:
    """The choices for one table, and what was made of them."""

    def __init__(self, seat: Seat, table: str, card: Card, before: Sequence[Job]) -> None:
        self._seat, self._table = seat, table
        self._draw_shape(card)
        with theme.card("Which cells give somebody away?", note="Rules stay with you: the release does not tell them."):
            self._rules = RuleBoxes()
        self._draw_method()
        with theme.row():
            start = ui.button("Tabulate", icon="table_chart", on_click=lambda: self.box.start(self._spec))
            start.props("unelevated data-testid=tabulate-start")
        self.box: JobBox = JobBox(seat, "Tabulating", self._show)
        if before:
            with theme.card("Earlier tables"):
                listed(before, self.box.follow, lambda job: _titled(job.spec))

    def _draw_shape(self, card: Card) -> None:
        options = sides(card)
        values = {COUNT: "nothing: rows are counted"} | {one.name: f"the sum of {one.name}" for one in summable(card)}
        with theme.card("The table"), theme.row():
            self._down = ui.select(options, value=[], label="Down", multiple=True)
            self._down.props("outlined dense options-dense use-chips data-testid=tabulate-down").classes("dc-mid")
            self._across = ui.select(options, label="Across", clearable=True)
            self._across.props("outlined dense options-dense data-testid=tabulate-across").classes("dc-mid")
            self._value = ui.select(values, value=COUNT, label="What is added up")
            self._value.props("outlined dense options-dense data-testid=tabulate-value").classes("dc-mid")
            self._title = ui.input("Title, if you like").classes("dc-mid")
            self._title.props("outlined dense maxlength=120 data-testid=tabulate-title")

    def _draw_method(self) -> None:
        with theme.card("What is done about them"):
            self._method = MethodForm((TABLE_METHODS,), "tabulate")

    def _spec(self) -> Tabulate:
        by = [*self._down.value, *([self._across.value] if self._across.value else [])]
        if not by:
            raise BadInput("What is the table by?", hint="Choose at least one column, down or across.")
        if len({side.partition("@")[0] for side in by}) < len(by):
            raise BadInput("The table has the same column twice.", hint="Choose each column once, down or across.")
        title = (self._title.value or "").strip()
        return Tabulate(
            self._table,
            (" × ".join(by),),
            self._value.value or None,
            self._rules.written(),
            self._method.written,
            title,
        )

    async def _show(self, job: Job) -> None:
        found = await self._seat.run(self._seat.desk.job_result, job.id)
        self.box.made.clear()
        if found is not None and job.result is not None:
            with self.box.made:
                self._result(found, job.id, job.result)

    def _result(self, found: Mapping[str, Any], job: str, release: str) -> None:
        with theme.card(found["title"]) as box:
            box.props("data-testid=crosstable")
            with theme.row():
                theme.badge("for you alone", "bad")
                ui.label("Colours and intervals are not in the release.").classes("dc-soft dc-small")
            ui.html(LEGEND, sanitize=False)
            for table in found["tables"]:
                ui.html(drawn(table), sanitize=False).classes("dc-grid")
            theme.promise(explain.INTERVAL, "What is the interval?")
            theme.facts([(one["name"], one["told"]) for one in found["facts"]])
            if found["exposures"]:
                with ui.expansion("What would have been learned from it as it was").classes("dc-more"):
                    for told in found["exposures"]:
                        theme.prose(told)
            self._downloads(job, release)

    def _downloads(self, job: str, release: str) -> None:
        async def csv() -> None:
            made = await self._seat.run(_csv, self._seat.desk, release)
            if made is not None:
                ui.download.content(made, "table.csv", "text/csv")

        async def xlsx() -> None:
            made = await self._seat.run(_xlsx, self._seat.desk, release)
            if made is not None:
                ui.download.content(made, "table.xlsx")

        with theme.row():
            opened = ui.button("Open the release", icon="description").props("unelevated data-testid=tabulate-open")
            opened.on_click(lambda: ui.navigate.to(f"/release/{release}"))
            ui.button("CSV", icon="download", on_click=csv).props("outline data-testid=tabulate-csv")
            ui.button("XLSX", icon="download", on_click=xlsx).props("outline data-testid=tabulate-xlsx")
            holder = ui.button("The page for you alone", icon="lock").props("flat data-testid=tabulate-holder")
            holder.on_click(lambda: ui.download.from_url(f"/v1/jobs/{job}/papers/holder.html", "holder.html"))


def _titled(spec: Mapping[str, Any]) -> str:
    what = f"the sum of {spec['value']}" if spec["value"] else "rows counted"
    return spec["title"] or f"{'; '.join(spec['by'])}, {what}"


def _csv(who: Person, desk: Operations, release: str) -> bytes:
    """The rows of a released table as CSV."""
    import pyarrow as pa

    from discreet.core.spreadsheet import write_csv

    out = pa.BufferOutputStream()
    write_csv(desk.release(who, release).payload, out)
    return out.getvalue().to_pybytes()


def _xlsx(who: Person, desk: Operations, release: str) -> bytes:
    """A released table as a workbook."""
    from discreet.verbs.tabulate.printing.xlsx import save_xlsx

    with TemporaryDirectory(prefix="discreet-") as folder:
        place = save_xlsx(desk.release(who, release), Path(folder) / "table.xlsx")
        return place.read_bytes()

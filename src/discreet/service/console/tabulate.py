"""/tabulate: publish a table of counts or sums with sensitive cells protected.

data-testid: tabulate-table, tabulate-down, tabulate-across, tabulate-value, those of ``forms``,
tabulate-method, tabulate-<parameter>, tabulate-text, tabulate-title, tabulate-despite, tabulate-start; job-tabulate,
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
from discreet.core.kind import NUMBERS
from discreet.core.markup import Markup, tag
from discreet.core.markup import table as markup_table
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput
from discreet.service.console import explain, theme
from discreet.service.console.forms import DESPITE, MethodForm, RuleBoxes
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, choose_table, release_buttons
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Tabulate
from discreet.service.operations.operations import Operations

_TERMS = ("Sensitive cell", "Primary and secondary suppression", "Feasibility interval")
COUNT = ""
_ABOUT = "Publish a table of counts or sums with sensitive cells protected."


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        return _Form(seat, table, card, jobs).box

    with theme.page("Tabulate", _ABOUT, _TERMS):
        await choose_table(seat, "Table", Tabulate.kind, drawn)


PAGE = Page("/tabulate", "Tabulate", "table_chart", (Role.STEWARD,), 40, _build)


def sides(card: Card) -> dict[str, str]:
    """What a table can be by: columns, and levels of their hierarchies, each with how it is called."""
    found = {}
    for column in card.columns:
        if column.role is Part.IDENTIFIER or column.name == card.unit:
            continue
        top = column.hierarchy.height if column.hierarchy else 1
        if column.role is not Part.SENSITIVE or column.categories:
            found[column.name] = column.name if top == 1 else f"{column.name}, full detail"
        found |= {f"{column.name}@{level}": f"{column.name}, {_coarser(column, level)}" for level in range(1, top)}
    return found


def _coarser(column: Column, level: int) -> str:
    """What a level of a column's hierarchy is called."""
    match column.hierarchy:
        case Dates(levels=levels):
            return f"by {levels[level - 1]}"
        case Intervals(widths=widths):
            return f"in steps of {widths[level - 1]}"
    return f"level {level}"


def summable(card: Card) -> list[Column]:
    """The columns that can be added up."""
    named = (Part.IDENTIFIER,)
    return [one for one in card.columns if one.kind in NUMBERS and one.role not in named and one.name != card.unit]


class _Form:
    """The form for one table, and the result."""

    def __init__(self, seat: Seat, table: str, card: Card, before: Sequence[Job]) -> None:
        self._seat, self._table = seat, table
        self._draw_shape(card)
        with theme.card("Sensitive cells", note="The rules stay with you: they are not part of the release."):
            self._rules = RuleBoxes()
        with theme.card("Protection"):
            self._method = MethodForm((TABLE_METHODS,), "tabulate")
        with theme.row():
            start = ui.button("Tabulate", icon="table_chart", on_click=lambda: self.box.start(self._spec))
            start.props("unelevated data-testid=tabulate-start")
        self.box: JobBox = JobBox(seat, "Tabulating", draw=self._result)
        self.box.earlier("Earlier tables", before, lambda job: _titled(job.spec))

    def _draw_shape(self, card: Card) -> None:
        options = sides(card)
        values = {COUNT: "number of rows"} | {one.name: f"sum of {one.name}" for one in summable(card)}
        with theme.card("Dimensions"), theme.row():
            self._down = theme.select(options, "Rows", "tabulate-down", multiple=True)
            self._across = theme.select(options, "Columns", "tabulate-across", value=None, clearable=True)
            self._value = theme.select(values, "Figure", "tabulate-value")
            self._title = theme.text("Title (optional)", "tabulate-title", props="maxlength=120")
            self._despite = theme.text(DESPITE, "tabulate-despite", props="maxlength=500")

    def _spec(self) -> Tabulate:
        by = [*self._down.value, *([self._across.value] if self._across.value else [])]
        if not by:
            raise BadInput("The table has no dimensions.", hint="Choose at least one column under Rows or Columns.")
        if len({side.partition("@")[0] for side in by}) < len(by):
            raise BadInput(
                "The table has the same column twice.", hint="Choose each column once, under Rows or Columns."
            )
        sides, value, method = (" × ".join(by),), self._value.value or None, self._method.written
        title, despite = theme.said_in(self._title), theme.said_in(self._despite)
        return Tabulate(self._table, sides, value, self._rules.written(), method, title, despite)

    def _result(self, found: Mapping[str, Any], job: Job) -> None:
        with theme.card(found["title"], testid="crosstable"):
            theme.holder_only("Colours and feasibility intervals are not part of the release.")
            ui.html(LEGEND, sanitize=False)
            for table in found["tables"]:
                ui.html(crosstable(table), sanitize=False).classes("dc-grid")
            theme.promise(explain.INTERVAL, "What is the feasibility interval?")
            theme.facts([(one["name"], one["told"]) for one in found["facts"]])
            if found["exposures"]:
                with ui.expansion("Disclosures in the unprotected table").classes("dc-more"):
                    for told in found["exposures"]:
                        theme.prose(told)
            self._downloads(job.id, str(job.result))

    def _downloads(self, job: str, release: str) -> None:
        async def xlsx() -> None:
            made = await self._seat.run(_xlsx, self._seat.desk, release)
            if made is not None:
                ui.download.content(made, "table.xlsx")

        with theme.row():
            release_buttons(release, "tabulate", job=job)
            theme.button("XLSX", "tabulate-xlsx", xlsx, icon="download", look="outline")


def _titled(spec: Mapping[str, Any]) -> str:
    what = f"sum of {spec['value']}" if spec["value"] else "number of rows"
    return spec["title"] or f"{'; '.join(spec['by'])}, {what}"


def _xlsx(who: Person, desk: Operations, release: str) -> bytes:
    """A released table as a workbook."""
    from discreet.verbs.tabulate.printing.xlsx import save_xlsx

    with TemporaryDirectory(prefix="discreet-") as folder:
        place = save_xlsx(desk.release(who, release), Path(folder) / "table.xlsx")
        return place.read_bytes()


_HIDDEN = "×"
LEGEND = Markup(
    '<p class="dc-small dc-legend"><span class="dc-key dc-sensitive">×</span> sensitive (primary suppression); '
    '<span class="dc-key dc-hidden">×</span> suppressed to protect those (secondary). '
    "Point at a marked cell, or reach it with the Tab key, to see its value, why it is marked, and what an "
    "intruder can compute.</p>"
)
"""What the colours mean."""


def crosstable(table: Mapping[str, Any]) -> Markup:
    """A printed table for its holder, from plain data as ``verbs/tabulate/printing/holder.py`` gives it."""
    if table["too_large"]:
        return tag("p", f"The table has {table['size']:,} cells, too many to draw here. Download it as CSV.")
    down = table["sides"][:-1]
    heads = [tag("th", name, scope="col") for name in down] or [tag("td")]
    heads += [_label("col", label) for label in table["across"]]
    body = (
        tag("tr", [_label("row", label) for label in row["labels"]] or tag("td"), map(_cell, row["cells"]))
        for row in table["rows"]
    )
    inside = markup_table(heads, body, aria_label=" × ".join(table["sides"]))
    return tag("div", inside, class_="dc-scroll dc-cross", tabindex=0)


def _label(scope: str, label: Mapping[str, Any]) -> Markup:
    kind = "dc-total" if label["total"] else None
    inwards = f"padding-left:{12 + 14 * label['depth']}px" if scope == "row" and label["depth"] else None
    return tag("th", label["text"], scope=scope, class_=kind, style=inwards)


def _cell(cell: Mapping[str, Any]) -> Markup:
    names = "dc-number dc-total" if cell["total"] else "dc-number"
    text = cell["printed"]
    if cell["kind"] == "shown":
        return tag("td", text, class_=names)
    told = cell_text(cell)
    tip = tag("span", told, class_="dc-tip", role="tooltip")
    return tag("td", text, tip, class_=f"{names} dc-{cell['kind']}", tabindex=0, aria_label=f"{text}: {told}")


def cell_text(cell: Mapping[str, Any]) -> str:
    """What there is to say of a marked cell, in sentences."""
    done = "Suppressed" if cell["printed"] == _HIDDEN else "Changed"
    why = "Sensitive" if cell["kind"] == "sensitive" else f"{done} to protect sensitive cells"
    said = (f"The value is {cell['figure']}", why, *cell["why"].split("; "))
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in said if one)

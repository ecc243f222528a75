"""An answer on a page: its chart, a table with error bars, downloads, and the privacy statement.

One that a synthetic stand-in gave says so above the grid, and beside every figure.

data-testid: answer-figure, answer-chart, answer-note, answer-grid, answer-statement, answer-png, answer-svg,
answer-csv, answer-download, answer-synthetic; answer-one for a single figure.
"""

from __future__ import annotations

import io
from math import ceil
from typing import Any

import pyarrow as pa
from nicegui import ui

from discreet.core.markup import Markup, tag
from discreet.core.markup import table as markup_table
from discreet.core.release import Release
from discreet.core.report import is_number
from discreet.core.spreadsheet import write_csv
from discreet.curator.answer import banner, is_synthetic
from discreet.curator.answer import figures as figures_of
from discreet.service.console import answer_chart, explain, theme

_SHOWN = 200
"""Largest number of rows shown."""
_DECIMAL_BELOW = 10
"""Relative errors up to this have a decimal, percent."""
_BADGE = " ", tag("span", "synthetic", class_="dc-badge dc-warn")
"""Badge of every figure of an answer by a synthetic stand-in."""
_UNKNOWN = " ", tag("span", "± unknown", class_="dc-soft")
"""Mark of a figure whose error is not known."""


def show(release: Release[Any], identity: str, *, linked: bool = True) -> None:
    """Show a release that is a table of figures, with downloads; ``linked`` to a page of its own."""
    table = figures_of(release)
    synthetic = is_synthetic(release)
    if synthetic:
        ui.label(banner(release)).classes("dc-refusal dc-hint").props("data-testid=answer-synthetic role=note")
    chart = _charted(table, release, synthetic=synthetic)
    with theme.row():
        _downloads(release, chart)
        whole = ui.element("a").classes("dc-button").props(f'href="/v1/releases/{identity}/download" download')
        with whole.props("data-testid=answer-download"):
            ui.label("Download with documentation")
        if linked:
            ui.link("Open its page", f"/release/{identity}")
    _grid(table, synthetic=synthetic)
    said = theme.promise(theme.statement(release.promise))
    said.props("data-testid=answer-statement")
    if synthetic:
        theme.promise(explain.SYNTHETIC, "What does synthetic mean?")
    else:
        theme.promise(explain.ERROR, "What do the error bars say?")


def show_small(release: Release[Any]) -> None:
    """Show an answer beside others: its chart, and the table folded away where there is a chart."""
    table = figures_of(release)
    synthetic = is_synthetic(release)
    if synthetic:
        theme.badge("synthetic", "warn").classes("dc-own")
    chart = _charted(table, release, synthetic=synthetic)
    if chart.current is None:
        _grid(table, synthetic=synthetic)
    else:
        with ui.expansion("Table").classes("dc-more").props("dense"):
            _grid(table, synthetic=synthetic)
    with theme.row():
        _downloads(release, chart)


def preview(table: pa.Table, most: int) -> None:
    """First rows of a published table."""
    kinds = table.schema.types
    rows = table.slice(0, most).to_pylist()
    shown = [["–" if value is None else str(value) for value in row.values()] for row in rows]
    theme.grid(table.column_names, shown, numbers=[place for place, kind in enumerate(kinds) if is_number(kind)])
    theme.prose(f"{min(most, table.num_rows):,} of {table.num_rows:,} rows are shown.", soft=True)


class _Chart:
    """The chart of an answer, of one figure at a time."""

    def __init__(self, table: pa.Table, question: str, mark: str) -> None:
        names = list(answer_chart.figures(table))
        drawn = {name: answer_chart.drawing(table, name, question=question, mark=mark) for name in names}
        self._drawn = {name: one for name, one in drawn.items() if one is not None}
        self.current: ui.echart | None = None
        if len(self._drawn) > 1:
            chosen = theme.select([*self._drawn], "Figure in the chart", "answer-figure", width="dc-short")
            chosen.on_value_change(lambda event: self._show(event.value))
        self._place = ui.element("div").classes("dc-stack dc-tight")
        if self._drawn:
            self._show(next(iter(self._drawn)))

    def _show(self, name: str) -> None:
        self._place.clear()
        with self._place:
            self.current = answer_chart.show(self._drawn[name])

    def save(self, kind: str) -> None:
        """Have the browser save the chart that is shown, as ``svg`` or ``png``."""
        if self.current is not None:
            ui.run_javascript(f"({answer_chart.picture(self.current, kind)})()")


def _charted(table: pa.Table, release: Release[Any], *, synthetic: bool) -> _Chart:
    """The chart that fits; a single figure is written large."""
    barred = answer_chart.figures(table)
    if table.num_rows == 1 and list(table.column_names) == [*barred, *barred.values()] and len(barred) == 1:
        (row,) = table.to_pylist()
        ((name, bar),) = barred.items()
        if row[name] is not None and row[bar] is not None:
            off = relative_error(row[name], row[bar])
            reach = f"± {theme.number(row[bar])}" + (f", off by at most {off}" if off else "")
            said = tag("b", theme.number(row[name])), tag("span", reach), tag("small", name)
            ui.html(tag("p", said, class_="dc-one"), sanitize=False).props("data-testid=answer-one")
    question = str(release.recipe.parameters.get("question") or "")
    return _Chart(table, question, " (synthetic)" if synthetic else "")


def _downloads(release: Release[Any], chart: _Chart) -> None:
    """PNG and SVG of the chart that is shown, CSV of what was released, with its errors."""
    ui.button("CSV", icon="download", on_click=lambda: _save(release.payload)).props("outline data-testid=answer-csv")
    if chart.current is None:
        return
    for kind in ("png", "svg"):
        button = ui.button(kind.upper(), icon="download").props(f"outline data-testid=answer-{kind}")
        button.on("click", lambda _, kind=kind: chart.save(kind))


def _grid(table: pa.Table, *, synthetic: bool) -> None:
    barred = answer_chart.figures(table)
    shown = [name for name in table.column_names if name not in barred.values()]
    rows = table.slice(0, _SHOWN).to_pylist()
    numbers = {name for name in shown if is_number(table.schema.field(name).type)}
    heads = [tag("th", name, scope="col", class_=_kind(name in numbers)) for name in shown]
    reach = {name: _reach(rows, name, bar) for name, bar in barred.items()}
    body = (
        [
            _cell(row, name, barred.get(name), reach.get(name), is_number=name in numbers, synthetic=synthetic)
            for name in shown
        ]
        for row in rows
    )
    made = tag("div", markup_table(heads, body), class_="dc-scroll dc-tall", tabindex=0)
    ui.html(made, sanitize=False).classes("dc-grid").props("data-testid=answer-grid")
    if table.num_rows > _SHOWN:
        theme.prose(f"The first {_SHOWN} of {table.num_rows:,} rows are shown; the download has all.", soft=True)
    if any(row[bar] is not None for row in rows for bar in barred.values()):
        theme.prose("In brackets: the error as a share of the figure.", soft=True).classes("dc-small")
    if not table.num_rows:
        theme.empty("No group is large enough to be shown.")


def _kind(is_number: bool) -> str | None:
    return "dc-number" if is_number else None


def _reach(rows: list[dict[str, Any]], name: str, bar: str) -> float:
    """Largest figure of a column, including its error bar."""
    return max((abs(row[name]) + (row[bar] or 0.0) for row in rows if row[name] is not None), default=0.0)


def _cell(
    row: dict[str, Any], name: str, bar: str | None, reach: float | None, *, is_number: bool, synthetic: bool
) -> Markup:
    value = row[name]
    said = tag("b", theme.number(value)) if bar else theme.number(value)
    kind = _kind(is_number)
    badge = _BADGE if synthetic and (bar or is_number) else None
    off = None if bar is None else row[bar]
    if off is None or value is None:
        unknown = _UNKNOWN if synthetic and bar and value is not None else None
        return tag("td", said, unknown, badge, class_=kind)
    drawn = None
    if reach:  # noise may take a figure below 0, where the bar begins
        low, at, high = (max(end, 0.0) / reach for end in (value - off, value, value + off))
        ends = tag("i", style=f"width:{at:.2%}"), tag("u", style=f"left:{low:.2%};width:{high - low:.2%}")
        drawn = tag("span", ends, class_="dc-whisker", aria_hidden="true")
    relative = relative_error(value, off)
    error = f"± {theme.number(off)}" + (f" ({relative})" if relative else "")
    title = f"Off by at most {relative}, 95 times in 100" if relative else None
    return tag("td", said, " ", tag("span", error, class_="dc-soft", title=title), badge, drawn, class_=kind)


def relative_error(value: float, off: float) -> str:
    """An error as a share of its figure, rounded up: "18 %"; nothing for a figure of 0, or that is no plain number."""
    if not value or not isinstance(value, int | float):
        return ""
    percent = 100 * off / abs(value)
    if percent > 100:
        return "over 100 %"
    return f"{ceil(percent)} %" if percent > _DECIMAL_BELOW else f"{ceil(10 * percent) / 10} %"


def _save(table: pa.Table) -> None:
    sink = io.BytesIO()
    write_csv(table, sink)
    ui.download.content(sink.getvalue(), "answer.csv", "text/csv")

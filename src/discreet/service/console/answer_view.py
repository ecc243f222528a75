"""An answer on a page: a table with error bars, a chart of comparable figures, and the privacy statement.

One that a synthetic stand-in gave says so above the grid, and beside every figure.

data-testid: answer-grid, answer-chart, answer-statement, answer-csv, answer-download, answer-synthetic.
"""

from __future__ import annotations

import io
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
from discreet.service.console import explain, theme

ERROR = "_error"
_SHOWN = 200
"""Largest number of rows shown."""
_BARS = 40
"""Largest number of bars in a chart."""
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
    _grid(table, synthetic=synthetic)
    _chart(table, " (synthetic)" if synthetic else "")
    with theme.row():
        ui.button("CSV", icon="download", on_click=lambda: _save(release.payload)).props(
            "outline data-testid=answer-csv"
        )
        whole = ui.element("a").classes("dc-button").props(f'href="/v1/releases/{identity}/download" download')
        with whole.props("data-testid=answer-download"):
            ui.label("Download with documentation")
        if linked:
            ui.link("Open its page", f"/release/{identity}")
    said = theme.promise(theme.statement(release.promise))
    said.props("data-testid=answer-statement")
    if synthetic:
        theme.promise(explain.SYNTHETIC, "What does synthetic mean?")
    else:
        theme.promise(explain.ERROR, "What do the error bars say?")


def figures(table: pa.Table) -> dict[str, str]:
    """The columns with an error bar, each with the column that holds it."""
    names = table.column_names
    return {name: f"{name}{ERROR}" for name in names if f"{name}{ERROR}" in names}


def preview(table: pa.Table, most: int) -> None:
    """First rows of a published table."""
    kinds = table.schema.types
    rows = table.slice(0, most).to_pylist()
    shown = [["–" if value is None else str(value) for value in row.values()] for row in rows]
    theme.grid(table.column_names, shown, numbers=[place for place, kind in enumerate(kinds) if is_number(kind)])
    theme.prose(f"{min(most, table.num_rows):,} of {table.num_rows:,} rows are shown.", soft=True)


def _grid(table: pa.Table, *, synthetic: bool) -> None:
    barred = figures(table)
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
    made = tag("div", markup_table(heads, body), class_="dc-scroll", tabindex=0)
    ui.html(made, sanitize=False).classes("dc-grid").props("data-testid=answer-grid")
    if table.num_rows > _SHOWN:
        theme.prose(f"The first {_SHOWN} of {table.num_rows:,} rows are shown; the download has all.", soft=True)
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
    return tag("td", said, " ", tag("span", f"± {theme.number(off)}", class_="dc-soft"), badge, drawn, class_=kind)


def _chart(table: pa.Table, mark: str) -> None:
    """Bar chart with error bars, for one label column and one figure in each of a few rows."""
    barred = figures(table)
    labels = [name for name in table.column_names if name not in barred and name not in barred.values()]
    if not barred or len(labels) != 1 or not 2 <= table.num_rows <= _BARS:
        return
    name, error = next(iter(barred.items()))
    rows = [row for row in table.to_pylist() if row[name] is not None and row[error] is not None]
    where = [str(row[labels[0]]) for row in rows]
    whiskers = [[row[name] - row[error], *[row[name]] * 3, row[name] + row[error]] for row in rows]
    thin = {"color": "none", "borderColor": "var(--dc-ink)", "borderWidth": 1.6}
    theme.chart(
        {
            "xAxis": theme.axis(type="value", name=f"{name}{mark}", nameLocation="middle", nameGap=28),
            "yAxis": theme.axis(type="category", data=where, inverse=True),
            "series": [
                {
                    "type": "bar",
                    "name": name,
                    "data": [row[name] for row in rows],
                    "barMaxWidth": 22,
                    "itemStyle": {"color": theme.COLOURS[0], "opacity": 0.55},
                },
                {"type": "boxplot", "data": whiskers, "boxWidth": [6, 12], "itemStyle": thin},
            ],
        },
        height=60 + 32 * len(rows),
        label=f"{name}{mark} by {labels[0]}, with error bars",
    ).props("data-testid=answer-chart")


def _save(table: pa.Table) -> None:
    sink = io.BytesIO()
    write_csv(table, sink)
    ui.download.content(sink.getvalue(), "answer.csv", "text/csv")

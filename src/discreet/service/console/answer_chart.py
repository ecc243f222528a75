"""The chart that fits an answer: bars, a line over dates, a distribution over bins, or a heat map of two groupings.

Errors are always drawn or stated: as error bars, as a band around a line, and for a heat map in each cell's tooltip and
below it. The chart can be downloaded as it is seen, as SVG or PNG; the browser makes both, without the service.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from nicegui import ui
from sqlglot import exp

from discreet.core.markup import tag
from discreet.core.report import is_number
from discreet.errors import BadQuery
from discreet.service.console import theme
from discreet.verbs.ask.postprocess import ERROR
from discreet.verbs.ask.syntax import statements_of

BARS, POINTS, CELLS = 40, 1_500, 4_000
"""Most bars, points of a line or a distribution, and cells of a heat map."""
_ROWS = 60
"""Most rows of a heat map."""
_FIRST_OF_MONTH = 1
_PARTS_OF_DATES = (exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Day)
_LIGHTEST = 0.06
_THIN = {"color": "none", "borderColor": "var(--dc-ink)", "borderWidth": 1.6}
_PICTURE = """() => {
  const chart = getHtmlElement(%(id)s), drawn = chart.querySelector('svg'), box = drawn.getBoundingClientRect();
  const probe = chart.appendChild(document.createElement('i'));
  const colour = (name) => { probe.style.color = name; return getComputedStyle(probe).color; };
  const foot = 34, [width, height] = [Math.round(box.width), Math.round(box.height)], space = 'http://www.w3.org/2000/svg';
  const whole = drawn.cloneNode(true);
  whole.setAttribute('xmlns', space);
  for (const [name, value] of Object.entries({width, height: height + foot, viewBox: `0 0 ${width} ${height + foot}`}))
    whole.setAttribute(name, value);
  whole.removeAttribute('style');
  const ground = document.createElementNS(space, 'rect');
  for (const [name, value] of Object.entries({width: '100%%', height: '100%%', fill: 'var(--dc-paper)'}))
    ground.setAttribute(name, value);
  whole.prepend(ground);
  const said = whole.appendChild(document.createElementNS(space, 'text'));
  for (const [name, value] of Object.entries({x: 16, y: height + 18, 'font-size': 12, fill: 'var(--dc-soft)',
    'font-family': 'system-ui, sans-serif'})) said.setAttribute(name, value);
  said.textContent = chart.getAttribute('aria-label');
  const text = new XMLSerializer().serializeToString(whole).replace(/var\\(--[\\w-]+\\)/g, colour);
  probe.remove();
  const save = (blob) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = 'answer.%(kind)s';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  if ('%(kind)s' === 'svg') { save(new Blob([text], {type: 'image/svg+xml'})); return; }
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [2 * width, 2 * (height + foot)];
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(save, 'image/png');
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
}"""


@dataclass(frozen=True)
class Drawing:
    """A chart of one figure: options for ECharts, and what is said of it."""

    kind: str
    """``bars``, ``line``, ``distribution`` or ``heat map``."""
    options: dict[str, Any]
    height: int
    label: str
    """What it shows, for those who cannot see it; also the caption of a download."""
    notes: tuple[str, ...] = ()
    """What must be known to read it: the errors where they are not drawn, what was left out."""
    ends: tuple[str, str] | None = None
    """Of a heat map, the figures at both ends of its shades."""


def figures(table: pa.Table) -> dict[str, str]:
    """The columns with an error bar, each with the column that holds it."""
    names = table.column_names
    return {name: f"{name}{ERROR}" for name in names if f"{name}{ERROR}" in names}


def drawing(table: pa.Table, name: str, *, question: str = "", mark: str = "") -> Drawing | None:
    """The chart of the figure ``name``; ``None`` if the answer has no groups, one group, three groupings or too many.

    ``question`` is the SQL, which says whether whole numbers are parts of dates; ``mark`` is put behind the name.
    """
    barred = figures(table)
    labels = [one for one in table.column_names if one not in barred and one not in barred.values()]
    rows = [row for row in table.to_pylist() if row[name] is not None]
    if not 1 <= len(labels) <= 2 or len(rows) < 2:
        return None
    kinds = {one: _kind(table.schema.field(one).type) for one in labels}
    points = [_Point(tuple(row[one] for one in labels), row[name], row[barred[name]]) for row in rows]
    said = f"{name}{mark} by {' and '.join(labels)}, with 95 % error bars"
    if len(labels) == 2:
        return _heat_map(points, labels, kinds, f"{name}{mark} by {labels[0]} and {labels[1]}")
    ordered = kinds[labels[0]] != "text"
    if not ordered:
        return _bars(points, f"{name}{mark}", said)
    points = sorted((one for one in points if one.keys[0] is not None), key=lambda one: one.keys[0])
    if not 2 <= len(points) <= POINTS:
        return None
    if kinds[labels[0]] == "date" or _of_dates(question):
        return _line(points, labels[0], f"{name}{mark}", said)
    return _distribution(points, labels[0], f"{name}{mark}", said)


def show(drawn: Drawing) -> ui.echart:
    """The chart, and below it what must be known to read it."""
    made = theme.chart(drawn.options, height=drawn.height, label=drawn.label).props("data-testid=answer-chart")
    made.props["data-kind"] = drawn.kind
    if drawn.ends is not None:
        low, high = drawn.ends
        shades = tag("i", class_="dc-shades", aria_hidden="true")
        ui.html(tag("p", tag("span", low), shades, tag("span", high), class_="dc-scale dc-soft"), sanitize=False)
    for note in drawn.notes:
        theme.prose(note, soft=True).classes("dc-small").props("data-testid=answer-note")
    return made


def picture(chart: ui.echart, kind: str) -> str:
    """A JavaScript function that saves a chart as an ``svg`` or a ``png`` file."""
    return _PICTURE % {"id": chart.id, "kind": kind}


@dataclass(frozen=True)
class _Point:
    """A figure of a group, and how far it may be off, if that is known."""

    keys: tuple[Any, ...]
    value: float
    error: float | None

    @property
    def text(self) -> str:
        """The figure with its error."""
        off = "± unknown" if self.error is None else f"± {theme.number(self.error)}"
        return f"{theme.number(self.value)} {off}"


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return "date"
    return "number" if is_number(type_) else "text"


def _of_dates(question: str) -> bool:
    """Whether a question groups by parts of dates."""
    try:
        trees = [one for one in statements_of(question) if isinstance(one, exp.Select)] if question else []
    except BadQuery:
        return False
    keys = [key for tree in trees if tree.args.get("group") for key in tree.args["group"].expressions]
    selected = {one.alias_or_name: one.unalias() for tree in trees for one in tree.expressions}
    meant = [selected.get(key.name, key) if isinstance(key, exp.Column) else key for key in keys]
    return any(key.find(*_PARTS_OF_DATES) for key in meant)


def _names(values: Sequence[Any]) -> list[str]:
    """Labels of groups: months as 2024-05, numbers with thousands, missing values named."""
    dates = [value for value in values if isinstance(value, dt.date)]
    months = bool(dates) and all(value.day == _FIRST_OF_MONTH for value in dates)
    return [_name(value, months=months) for value in values]


def _name(value: Any, *, months: bool) -> str:
    if value is None:
        return "no value"
    if isinstance(value, dt.date):
        return value.strftime("%Y-%m") if months else str(value)
    return str(value) if isinstance(value, str | bool) else theme.number(value)


def _tip(name: str, point: _Point) -> str:
    return f"{name}: {point.text}"


def _unknown(points: Sequence[_Point]) -> tuple[str, ...]:
    missing = any(one.error is None for one in points)
    return ("Where no error bar is drawn, the error is not known.",) if missing else ()


def _bars(points: Sequence[_Point], name: str, said: str) -> Drawing:
    shown, notes = list(points), _unknown(points)
    if len(points) > BARS:
        largest = sorted(range(len(points)), key=lambda place: -points[place].value)[:BARS]
        shown = [points[place] for place in sorted(largest)]
        notes = (f"The {BARS} largest of {len(points):,} groups are drawn; the table has all.", *notes)
    names = _names([one.keys[0] for one in shown])
    options = {
        "tooltip": {"formatter": "{b}"},
        "xAxis": theme.axis(type="value", name=name, nameLocation="middle", nameGap=28),
        "yAxis": theme.axis(type="category", data=names, inverse=True),
        "series": _bars_with_errors(shown, names, width=22),
    }
    return Drawing("bars", options, 60 + 32 * len(shown), said, notes)


def _distribution(points: Sequence[_Point], label: str, name: str, said: str) -> Drawing:
    names = _names([one.keys[0] for one in points])
    options = {
        "tooltip": {"formatter": "{b}"},
        "xAxis": theme.axis(type="category", data=names, name=label, nameLocation="middle", nameGap=28),
        "yAxis": theme.axis(type="value", name=name, nameLocation="end", nameTextStyle=_NAME),
        "grid": _ROOM,
        "series": _bars_with_errors(points, names, width=None),
    }
    return Drawing("distribution", options, 340, said, _unknown(points))


def _bars_with_errors(points: Sequence[_Point], names: Sequence[str], *, width: int | None) -> list[dict[str, Any]]:
    known = zip(points, names, strict=True)
    bars = {
        "type": "bar",
        "data": [{"value": one.value, "name": _tip(name, one)} for one, name in known],
        "itemStyle": {"color": theme.COLOURS[0], "opacity": 0.55},
        **({"barCategoryGap": "4%"} if width is None else {"barMaxWidth": width}),
    }
    ends = [
        {"value": [one.value - one.error, *[one.value] * 3, one.value + one.error] if one.error is not None else [],
         "name": _tip(name, one)}
        for one, name in zip(points, names, strict=True)
    ]  # fmt: skip
    return [bars, {"type": "boxplot", "data": ends, "boxWidth": [4, 10], "itemStyle": _THIN}]


def _line(points: Sequence[_Point], label: str, name: str, said: str) -> Drawing:
    names = [theme.number(one.keys[0]).replace(",", "") for one in points]
    if isinstance(points[0].keys[0], dt.date):
        names = _names([one.keys[0] for one in points])
    low = [None if one.error is None else one.value - one.error for one in points]
    reach = [None if one.error is None else 2 * one.error for one in points]
    hidden = {"type": "line", "stack": "error", "stackStrategy": "all", "symbol": "none", "silent": True}
    band = {"color": theme.COLOURS[0], "opacity": 0.18}
    whole = isinstance(points[0].value, int)
    options = {
        "tooltip": {"formatter": "{b}"},
        "xAxis": theme.axis(type="category", data=names, name=label, nameLocation="middle", nameGap=28),
        "yAxis": theme.axis(type="value", name=name, nameLocation="end", nameTextStyle=_NAME, scale=not whole),
        "grid": _ROOM,
        "series": [
            {**hidden, "data": low, "lineStyle": {"opacity": 0}},
            {**hidden, "data": reach, "lineStyle": {"opacity": 0}, "areaStyle": band},
            {
                "type": "line",
                "data": [{"value": one.value, "name": _tip(at, one)} for one, at in zip(points, names, strict=True)],
                "symbol": "circle",
                "symbolSize": 7 if len(points) <= _ROWS else 4,
                "itemStyle": {"color": theme.COLOURS[0]},
                "lineStyle": {"color": theme.COLOURS[0], "width": 2.2},
            },
        ],
    }
    notes = ("The band is the 95 % error of each point.", *_unknown(points))
    return Drawing("line", options, 340, said.replace("error bars", "error band"), notes)


def _heat_map(points: Sequence[_Point], labels: Sequence[str], kinds: Mapping[str, str], said: str) -> Drawing | None:
    """Shades of one colour. Dates and numbers go along the foot; of two lists of texts the shorter one."""
    sizes = [len({one.keys[place] for one in points}) for place in (0, 1)]
    is_text = [kinds[label] == "text" for label in labels]
    across = max((1, 0), key=lambda place: (not is_text[place], -sizes[place] if is_text[place] else sizes[place]))
    columns, rows = (_axis_values(points, place, kinds[labels[place]]) for place in (across, 1 - across))
    if len(columns) * len(rows) > CELLS or len(rows) > _ROWS:
        return None
    low, high = min(one.value for one in points), max(one.value for one in points)
    column_names, row_names = _names(columns), _names(rows)
    cells = []
    for one in points:
        at, on = columns.index(one.keys[across]), rows.index(one.keys[1 - across])
        shade = _LIGHTEST + (1 - _LIGHTEST) * ((one.value - low) / (high - low) if high > low else 1)
        style = {"color": theme.COLOURS[0], "opacity": round(shade, 3), **_EDGE}
        tip = _tip(f"{column_names[at]} · {row_names[on]}", one)
        cells.append({"value": [at, on, one.value], "name": tip, "itemStyle": style})
    options = {
        "tooltip": {"formatter": "{b}"},
        "xAxis": theme.axis(type="category", data=column_names, name=labels[across], nameLocation="middle", nameGap=28),
        "yAxis": theme.axis(type="category", data=row_names, inverse=True),
        "visualMap": {"show": False, "min": low, "max": high, "inRange": {"opacity": [_LIGHTEST, 1]}},
        "series": [{"type": "heatmap", "data": cells}],
    }
    notes = (*_stated(points), "Point at a cell to see its figure and error; the table has all of them.")
    ends = theme.number(low), theme.number(high)
    return Drawing("heat map", options, 90 + 28 * max(len(rows), 4), f"{said}. {notes[0]}", notes, ends)


def _axis_values(points: Sequence[_Point], place: int, kind: str) -> list[Any]:
    values = list(dict.fromkeys(one.keys[place] for one in points))
    if kind == "text":
        return values
    return sorted(one for one in values if one is not None) + [one for one in values if one is None]


def _stated(points: Sequence[_Point]) -> tuple[str, ...]:
    """The errors of all cells in a sentence."""
    known = [one.error for one in points if one.error is not None]
    if not known:
        return ("The errors of these figures are not known.",)
    least, most = theme.number(min(known)), theme.number(max(known))
    reach = f"± {least}" if least == most else f"± {least} to ± {most}"
    return (f"Error of each figure, 95 times in 100: {reach}.", *_unknown(points))


_EDGE = {"borderColor": "var(--dc-paper)", "borderWidth": 1}
_NAME = {"color": "var(--dc-soft)", "fontSize": 12, "align": "left"}
"""Style of the name above an axis: it begins at the axis, or a long one would be cut off."""
_ROOM = {"containLabel": True, "left": 16, "right": 24, "top": 40, "bottom": 34}

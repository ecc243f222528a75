"""A release as one HTML page that opens offline, or as a piece of a notebook; and small charts as SVG.

No script, no request to anywhere: the page's own policy forbids both. Everything that comes from data is
escaped, and pictures are shown as images, so that nothing in them can run. Charts need no other package, have a light
and a dark look, and can be read aloud.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from discreet.core.document import fields, owned
from discreet.core.markup import Child, Markup, drawing, listed, markup, style, table, tag
from discreet.core.markup import page as whole_page
from discreet.core.statement import Statement, weakness
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.release import Release

_ROWS = 10
_COLUMNS = 12
_WORDS = {
    "at_random": "rounded at random",
    "factor_mean": "mean of the factors",
    "factor_variance": "variance of the factors",
    "noise_covariance": "covariance of the noise",
    "noise_mean": "mean of the noise",
    "noise_variance": "variance of the noise",
    "optimal": "proved optimal",
    "quasi_identifiers": "quasi-identifiers",
    "made": "synthetic rows",
    "rows": "original rows",
    "suppress": "maximum share of rows suppressed",
    "suppressed": "suppressed rows",
    "time_limit": "time limit, seconds",
}
"""What a parameter of a recipe is called for people, where its name says too little."""
_SHORT_CLAIM = 40
"""Longest text of a claim that fits into a headline; of a longer one its name is shown."""
_ANSWERS = (bool, int, float, str, Decimal, Fraction, dt.date)


def render(release: Release[object]) -> Markup:
    """The whole page."""
    return page(release.title, fragment(release))


def fragment(release: Release[object]) -> Markup:
    """The same without the page around it."""
    word, colour = badge(release)
    sections = [
        heading(release.title, word, colour),
        section("Privacy statement", _promise(release)),
        section("Released data", release.layout or _payload(release.payload)),
        *([section("Linked data", _payload(release.also))] if release.also is not None else []),
        *(section(picture.title, picture.figure) for picture in release.pictures),
        section("Method", _recipe(release)),
    ]
    if release.receipt is not None:
        receipt = release.receipt
        charged = {
            "account": receipt.account,
            "loss": str(receipt.loss),
            "ledger entry": f"{receipt.line:,}",
            "at": receipt.at.isoformat(sep=" ", timespec="seconds"),
            "key": receipt.key,
            "digest": receipt.digest,
        }
        sections.append(section("Charge", pairs(charged.items())))
    return styled(sections)


def page(title: str, content: Child) -> Markup:
    """A page of ``content`` that opens offline and can run or fetch nothing."""
    return whole_page(title, content, sheet=_PAGE)


def write_page(path: str | Path, title: str, content: Child) -> Path:
    """Write a page for its owner alone."""
    place = Path(path)
    with open(place, "w", encoding="utf-8", opener=owned) as file:
        file.write(page(title, content))
    return place


def styled(sections: Iterable[Child]) -> Markup:
    """Sections in the look of all reports."""
    inside = (markup(one, "\n") for one in sections)
    return tag("div", style(_STYLE), "\n", inside, class_="discreet-release")


def notes(texts: Sequence[str]) -> Markup:
    """Sentences that the holder should read first; nothing if there are none."""
    return styled([section("Before you release it", (tag("p", text) for text in texts))]) if texts else Markup()


def heading(title: str, word: str = "", colour: str = "bad") -> Markup:
    """The title of a report, and a word about it in a coloured pill."""
    return tag("header", tag("h1", title), pill(word, colour) if word else None)


def pill(word: str, colour: str = "bad") -> Markup:
    """A word in a coloured pill: ``good``, ``bad`` or ``none``."""
    return tag("span", word, class_=f"badge {colour}")


def section(title: str, *content: Child) -> Markup:
    """A part of a report."""
    return tag("section", tag("h2", title), content)


def pairs(facts: Iterable[tuple[str, str]]) -> Markup:
    """Names and what they stand for."""
    return tag("dl", ((tag("dt", name), tag("dd", value)) for name, value in facts))


def listing(heads: Sequence[str], kinds: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Markup:
    """A table: each column is ``text``, ``number`` (to the right) or ``prose`` (in lines, in full); None is NULL."""
    head = (tag("th", _cell(name), scope="col", class_=kind) for name, kind in zip(heads, kinds, strict=True))
    body = (
        [
            tag("td", cell if kind == "prose" and cell else _cell(cell), class_=kind)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        for row in rows
    )
    return tag("div", table(head, body), class_="scroll")


def plain(value: object) -> str:
    """A figure, or several in lists and mappings, as people read it."""
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{name}: {plain(item)}" for name, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def shortened(text: str, most: int) -> str:
    """``text``, cut to ``most`` characters with a mark that it was."""
    return text if len(text) <= most else text[: most - 1] + "…"


def badge(release: Release[object]) -> tuple[str, Literal["good", "bad", "none"]]:
    """The guarantee of a release in a few words, and whether that is good news."""
    if release.recipe.seed is not None or release.recipe.from_data:
        return "Not private", "bad"
    if release.statement.loss is not None and not release.statement.models and weakness(release.statement.loss):
        return "Almost no protection", "bad"
    if release.private:
        return claim_text(release.statement), "good"
    return ("Secrets hidden; people are not protected" if release.statement.promises else "No privacy promise"), "none"


def claim_text(statement: Statement) -> str:
    """What a statement guarantees, as a headline: "5-anonymous, checked" or "Differentially private, ε = 1"."""
    parts = [one.text if len(one.text) <= _SHORT_CLAIM else one.name.replace("-", " ") for one in statement.models]
    if statement.loss is not None:
        parts.append(f"differentially private, {statement.loss}")
    if statement.secrecy is not None:
        parts.append("computed without sharing data")
    if statement.models:
        parts.append(statement.evidence.value)
    headline = ", ".join(parts)
    return headline[0].upper() + headline[1:]


def _promise(release: Release[object]) -> Markup:
    statement = release.statement
    first, *notes = release.lines
    does = "hides" if statement.of_holder else "protects"
    facts = [(does, f"each {statement.unit}"), ("evidence", statement.evidence.value)]
    if statement.loss is not None:
        facts.insert(1, ("loss", str(statement.loss)))
    facts += [("model", claim.text) for claim in statement.models]
    return markup(tag("p", first), listed(notes), pairs(facts) if statement.promises else None)


def _recipe(release: Release[object]) -> Markup:
    recipe = release.recipe
    facts = [("method", recipe.method)]
    said = {name: value for name, value in recipe.parameters.items() if not _for_machines(value)}
    words = _WORDS if recipe.method != "synthesize" else _WORDS | {"rows": "synthetic rows"}
    facts += [(words.get(name) or name.replace("_", " "), shortened(plain(value), 400)) for name, value in said.items()]
    if recipe.seed is not None:
        facts.append(("seed", f"{recipe.seed} (every random choice can be repeated)"))
    facts.append(("made with", ", ".join(f"{name} {version}" for name, version in recipe.versions.items())))
    return markup(pairs(facts), tag("ol", (tag("li", step) for step in recipe.steps)) if recipe.steps else None)


def _for_machines(value: object) -> bool:
    """Whether there is nothing to read in a parameter: it is empty, or a list of structures."""
    return value in (None, "", (), [], {}) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _payload(payload: object) -> Markup:
    if isinstance(payload, pa.Table):
        return _table(payload)
    if payload is None or isinstance(payload, _ANSWERS):
        return tag("p", _cell(None if payload is None else str(payload)), class_="answer")
    if isinstance(payload, dict):
        return pairs((str(name), shortened(plain(value), 400)) for name, value in payload.items())
    return tag("p", shortened(plain(payload), 4000))


def _table(payload: pa.Table) -> Markup:
    shown = payload.slice(0, _ROWS).select(range(min(_COLUMNS, payload.num_columns)))
    kinds = ["number" if is_number(field.type) else "text" for field in shown.schema]
    columns = [_texts(column) for column in shown.columns]
    rows = ([column[row] for column in columns] for row in range(shown.num_rows))
    size = f"{payload.num_rows:,} rows, {payload.num_columns:,} columns"
    if (shown.num_rows, shown.num_columns) != (payload.num_rows, payload.num_columns):
        size += f"; the first {shown.num_rows} rows and {shown.num_columns} columns are shown"
    return markup(listing(shown.column_names, kinds, rows), tag("p", f"{size}.", class_="size"))


def _texts(column: pa.ChunkedArray[Any]) -> list[str | None]:
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        column = column.cast(pa.string())  # Python has no nanoseconds
    return [None if value is None else str(value) for value in column.to_pylist()]


def _cell(text: str | None) -> str:
    return tag("span", "NULL", class_="null") if text is None else shortened(text, 120)


def is_number(type_: pa.DataType) -> bool:
    """Whether values of an Arrow type are numbers."""
    return pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)


_PAGE = "body{margin:0;background:#eef1f4}@media(prefers-color-scheme:dark){body{background:#0f141a}}"
_STYLE = """
.discreet-release{--ink:#1d2733;--soft:#5b6876;--line:#dbe1e7;--paper:#fff;--good:#14683f;--good-bg:#ddf3e6;
--bad:#9b1c1c;--bad-bg:#fde4e1;--none:#7a5200;--none-bg:#fdf0d0;color-scheme:light dark;
font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:860px;
margin:24px auto;padding:28px 36px;border:1px solid var(--line);border-radius:10px}
@media(prefers-color-scheme:dark){.discreet-release{--ink:#e3e9ef;--soft:#97a5b3;--line:#2b3540;--paper:#171d24;
--good:#8be0b1;--good-bg:#123825;--bad:#ffaaa2;--bad-bg:#4a1717;--none:#f3cf7a;--none-bg:#43330c}}
.discreet-release header{display:flex;gap:16px;align-items:center;
justify-content:space-between;flex-wrap:wrap}
.discreet-release h1{font-size:24px;line-height:1.25;margin:0;overflow-wrap:anywhere}
.discreet-release h2{font-size:15px;margin:0 0 8px;overflow-wrap:anywhere}
.discreet-release section{border-top:1px solid var(--line);margin-top:20px;padding-top:16px}
.discreet-release p{margin:0 0 10px;overflow-wrap:anywhere}
.discreet-release .badge{font-weight:600;padding:4px 14px;border-radius:999px;white-space:nowrap}
.discreet-release .good{color:var(--good);background:var(--good-bg)}
.discreet-release .bad{color:var(--bad);background:var(--bad-bg)}
.discreet-release .none{color:var(--none);background:var(--none-bg)}
.discreet-release dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:0}
.discreet-release dt{color:var(--soft)}
.discreet-release dd{margin:0;overflow-wrap:anywhere}
.discreet-release .scroll{overflow-x:auto}
.discreet-release table{border-collapse:collapse;font-size:14px}
.discreet-release th,.discreet-release td{padding:5px 14px 5px 0;text-align:left;white-space:nowrap;
border-bottom:1px solid var(--line)}
.discreet-release .prose{white-space:normal;min-width:14em}
.discreet-release .number{text-align:right;font-variant-numeric:tabular-nums}
.discreet-release .null,.discreet-release .size{color:var(--soft);font-size:13px}
.discreet-release .null{font-style:italic}
.discreet-release .size{margin:8px 0 0}
.discreet-release .answer{font-size:28px;font-weight:600}
.discreet-release figure{margin:0}
.discreet-release img{max-width:100%;height:auto}
.discreet-release figcaption{color:var(--soft);font-size:14px}
.discreet-release ol{margin:10px 0 0;padding-left:20px}
.discreet-release ul{margin:0 0 10px;padding-left:20px}
"""


# -- charts

_WIDTH = 640
_BAR_HEIGHT = 26
_LABELS = 180
_VALUES = 80
_HEIGHT = re.compile(r' height="([0-9]+)"')
_CHART_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#243040}"
    ".bar{fill:#2f6f8f}.axis{stroke:#8a97a6}.error{stroke:#0b1520;stroke-width:1.5;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec}.bar{fill:#6fb3d2}.axis{stroke:#7b8896}.error{stroke:#fff}}"
)
_LINES = (
    ".line{fill:none;stroke-width:2}.line0{stroke:#2f6f8f}.line1{stroke:#a8501c;stroke-dasharray:8 4}"
    ".line2{stroke:#5d7030;stroke-dasharray:2 4}.grid{stroke:#8a97a6;stroke-opacity:.3}.dot{fill:#a8501c}"
    "@media(prefers-color-scheme:dark){.line0{stroke:#6fb3d2}.line1{stroke:#e9a06f}.line2{stroke:#b4cc78}"
    ".dot{fill:#e9a06f}}"
)
_SERIES = (
    ".bar1{fill:#b3a48a}.bar2{fill:#5d7030}@media(prefers-color-scheme:dark){.bar1{fill:#7d725f}.bar2{fill:#b4cc78}}"
)
_SHADES = (
    ".shade{fill:#a8501c}.cell{stroke:#8a97a6;stroke-opacity:.4;fill:none}"
    "@media(prefers-color-scheme:dark){.shade{fill:#e9a06f}}"
)
_THIN = 17
_LEFT, _TOP, _ACROSS, _UP = 64, 54, 548, 208  # where curves are drawn
_MOST_LINES = 3
_SHORT = 20  # letters of a label of a heat map


@dataclass(frozen=True)
class Picture:
    """A drawing and the sentence under it. It is shown as an image, so nothing in it can run."""

    title: str
    caption: str
    svg: str

    @property
    def figure(self) -> Markup:
        """The drawing and its caption as HTML that needs no network."""
        inside = f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"
        return tag("figure", tag("img", src=inside, alt=self.title), tag("figcaption", self.caption))

    def _repr_html_(self) -> str:
        return markup(tag("h4", self.title), self.figure)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"title": self.title, "caption": self.caption, "svg": str(self.svg)}

    @classmethod
    def from_dict(cls, data: object) -> Picture:
        """What ``to_dict`` gave, read back strictly."""
        return cls(**fields(data, "a picture", title=str, caption=str, svg=str))


def bars(
    title: str, labels: Sequence[str], values: Sequence[float], *, errors: Sequence[float] = (), caption: str = ""
) -> Picture:
    """Horizontal bars from a common zero, one a label; noisy counts may be negative, and may have error bars."""
    if len(labels) != len(values) or not labels or len(errors) not in (0, len(labels)):
        raise BadInput(f"Bars need one label per value, and at least one; got {len(labels)} and {len(values)}.")
    if not all(math.isfinite(value) for value in (*values, *errors)):
        raise BadInput("Bars need finite values.")
    off = errors or [0] * len(values)
    low = min(0, *(value - error for value, error in zip(values, off, strict=True)))
    high = max(0, *(value + error for value, error in zip(values, off, strict=True)))
    room = _WIDTH - _LABELS - _VALUES * (2 if low < 0 else 1)
    scale = room / ((high - low) or 1)
    zero = _WIDTH - _VALUES - high * scale
    rows = [
        _bar(index * _BAR_HEIGHT + 6, label, (value, error), zero, scale)
        for index, (label, value, error) in enumerate(zip(labels, values, off, strict=True))
    ]
    height = 8 + _BAR_HEIGHT * len(rows)
    read_aloud = "; ".join(
        f"{label}: {_number(value)}" + (f" ± {_number(error)}" if error else "")
        for label, value, error in zip(labels, values, off, strict=True)
    )
    axis = tag("line", class_="axis", x1=zero, x2=zero, y1=0, y2=height)
    return Picture(title, caption, drawing(_WIDTH, height, title, rows, axis, said=read_aloud, sheet=_CHART_STYLE))


def grouped_bars(
    title: str, labels: Sequence[str], series: Mapping[str, Sequence[float]], *, caption: str = ""
) -> Picture:
    """Under each label, which is written in full, a bar of every series from zero: up to three, told by a legend."""
    if not labels or not 1 <= len(series) <= _MOST_LINES or any(len(one) != len(labels) for one in series.values()):
        raise BadInput(f"Bars beside each other need some labels, and 1 to {_MOST_LINES} series of as many values.")
    if not all(math.isfinite(value) and value >= 0 for values in series.values() for value in values):
        raise BadInput("Bars beside each other need finite values that are not negative.")
    scale = (_WIDTH - _VALUES) / (max(value for values in series.values() for value in values) or 1)
    drawn = []
    for place, name in enumerate(series):
        left = place * _WIDTH // _MOST_LINES
        drawn.append(tag("rect", class_=f"bar bar{place}", x=left, y=8, width=28, height=_THIN - 4, rx=2))
        drawn.append(tag("text", name, x=left + 34, y=19))
    top = 30
    for row, label in enumerate(labels):
        drawn.append(tag("text", label, x=0, y=top + 14))
        top += 20
        for place, values in enumerate(series.values()):
            width = values[row] * scale
            drawn.append(tag("rect", class_=f"bar bar{place}", x=0, y=top, width=width, height=_THIN - 4, rx=2))
            drawn.append(tag("text", _number(values[row]), x=width + 6, y=top + 11))
            top += _THIN
        top += 6
    read_aloud = "; ".join(
        f"{label}: " + ", ".join(f"{name} {_number(values[row])}" for name, values in series.items())
        for row, label in enumerate(labels)
    )
    return Picture(title, caption, drawing(_WIDTH, top, title, drawn, said=read_aloud, sheet=_CHART_STYLE + _SERIES))


def heat(title: str, labels: Sequence[str], values: Any, *, caption: str = "") -> Picture:
    """A square of figures from 0 to their largest, the larger the darker; rows and columns are the same labels.

    NaN is left blank. Columns are numbered, as names do not fit above them.
    """
    count = len(labels)
    if not count or len(values) != count or any(len(row) != count for row in values):
        raise BadInput("A heat map needs some labels, and as many rows and columns of values.")
    known = {(i, j): float(values[i][j]) for i in range(count) for j in range(count) if not math.isnan(values[i][j])}
    if not all(math.isfinite(value) and value >= 0 for value in known.values()):
        raise BadInput("A heat map needs finite values that are not negative.")
    most = max(known.values(), default=0.0) or 1.0
    side = min((_WIDTH - _LABELS) / count, 44)
    drawn = []
    for i, label in enumerate(labels):
        middle = _TOP + (i + 0.5) * side + 4
        drawn.append(tag("text", f"{shortened(label, _SHORT)} {i + 1}", x=_LABELS - 12, y=middle, text_anchor="end"))
        drawn.append(tag("text", i + 1, x=_LABELS + (i + 0.5) * side, y=_TOP - 8, text_anchor="middle"))
        for j in range(count):
            at = {"x": _LABELS + j * side, "y": _TOP + i * side, "width": side, "height": side}
            if (i, j) in known:
                drawn.append(tag("rect", class_="shade", **at, fill_opacity=f"{known[i, j] / most:.3f}"))
            drawn.append(tag("rect", class_="cell", **at))
    drawn.append(tag("text", f"darkest: {_number(most)}", x=_LABELS, y=20))
    largest = sorted((pair for pair in known if pair[0] < pair[1]), key=lambda pair: -known[pair])[:10]
    said = "; ".join(f"{labels[i]} and {labels[j]}: {_number(known[i, j])}" for i, j in largest)
    height = math.ceil(_TOP + count * side + 8)
    return Picture(title, caption, drawing(_WIDTH, height, title, drawn, said=said, sheet=_CHART_STYLE + _SHADES))


@dataclass(frozen=True)
class Axis:
    """What is measured along a side of a chart, from the first mark to the last; with ``log``, equal steps multiply."""

    label: str
    marks: Sequence[float]
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1; one beyond the end is shown at the end."""
        low, high, at = (math.log(one) if self.log else one for one in (self.marks[0], self.marks[-1], value))
        return min(max((at - low) / (high - low), 0.0), 1.0)


Points = Sequence[tuple[float, float]]


def curves(
    title: str,
    across: Axis,
    up: Axis,
    lines: Mapping[str, Points],
    *,
    dots: Mapping[str, tuple[float, float]] | None = None,
    caption: str = "",
) -> Picture:
    """Up to three lines with their names above, each dashed in its own way, and dots with their names beside."""
    if not 1 <= len(lines) <= _MOST_LINES or any(len(points) < 2 for points in lines.values()):
        raise BadInput(f"A chart has 1 to {_MOST_LINES} lines of two points or more.")
    if not all(math.isfinite(value) for points in lines.values() for point in points for value in point):
        raise BadInput("A chart needs finite values.")

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + across.place(x) * _ACROSS, _TOP + (1 - up.place(y)) * _UP

    height = _TOP + _UP + 46
    drawn = []
    for mark in across.marks:
        x, y = at(mark, up.marks[0])
        drawn.append(tag("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=y))
        drawn.append(tag("text", _number(mark), x=x, y=_TOP + _UP + 18, text_anchor="middle"))
    for mark in up.marks:
        x, y = at(across.marks[0], mark)
        drawn.append(tag("line", class_="grid", x1=x, x2=_LEFT + _ACROSS, y1=y, y2=y))
        drawn.append(tag("text", _number(mark), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    for place, (name, points) in enumerate(lines.items()):
        left = _LEFT + place * _ACROSS // _MOST_LINES
        drawn.append(tag("line", class_=f"line line{place}", x1=left, x2=left + 28, y1=16, y2=16))
        drawn.append(tag("text", name, x=left + 34, y=20))
        path = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        drawn.append(tag("polyline", class_=f"line line{place}", points=path))
    first = next(iter(lines.values()))
    rises = first[-1][1] > first[0][1]  # then there is room to the left of a dot on it
    for name, point in (dots or {}).items():
        x, y = at(*point)
        drawn.append(tag("circle", class_="dot", cx=x, cy=y, r=5))
        aside, end = (x - 9, "end") if rises else (x + 9, None)
        drawn.append(tag("text", name, x=aside, text_anchor=end, y=y - 7))
    drawn.append(tag("text", across.label, x=_LEFT + _ACROSS // 2, y=height - 8, text_anchor="middle"))
    drawn.append(tag("text", up.label, x=0, y=_TOP - 12))
    ends = "; ".join(
        f"{name}: {_number(points[0][1])} at {_number(points[0][0])} to {_number(points[-1][1])} at "
        f"{_number(points[-1][0])}"
        for name, points in lines.items()
    )
    said = f"{up.label} by {across.label}. {ends}" + "".join(f"; {name}" for name in dots or {})
    return Picture(title, caption, drawing(_WIDTH, height, title, drawn, said=said, sheet=_CHART_STYLE + _LINES))


def stacked(title: str, pictures: Sequence[Picture], *, caption: str = "") -> Picture:
    """Several pictures as one, each under its title."""
    inside, top = [], 0
    for picture in pictures:
        found = _HEIGHT.search(picture.svg)
        height = int(found[1]) if found else 0
        inside.append(tag("text", picture.title, x=0, y=top + 18, style="font-weight:600"))
        inside.append(Markup(picture.svg.replace(" ", f' y="{top + 26}" ', 1)))
        top += height + 40
    said = ". ".join(picture.title for picture in pictures)
    return Picture(title, caption, drawing(_WIDTH, top, title, inside, said=said, sheet=_CHART_STYLE))


def _bar(top: int, label: str, figure: tuple[float, float], zero: float, scale: float) -> Markup:
    value, error = figure
    end, off = zero + value * scale, error * scale
    beside, anchor = (end + off + 6, None) if value >= 0 else (end - off - 6, "end")
    middle = top + _BAR_HEIGHT / 2 - 4
    ends = f"M{end - off:.1f},{middle - 4:.1f}v8M{end + off:.1f},{middle - 4:.1f}v8"
    return markup(
        tag("text", shortened(label, 22), x=_LABELS - 12, y=top + 13, text_anchor="end"),
        tag("rect", class_="bar", x=min(zero, end), y=top, width=abs(end - zero), height=_BAR_HEIGHT - 8, rx=2),
        tag("path", class_="error", d=f"M{end - off:.1f},{middle:.1f}h{2 * off:.1f}{ends}") if error else None,
        tag("text", _number(value), x=beside, text_anchor=anchor, y=top + 13),
    )


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"

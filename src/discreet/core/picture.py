"""Small charts as SVG text, for reports and notebooks: no dependency, light and dark, readable aloud."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.core.document import fields
from discreet.core.markup import Markup, drawing, markup, tag
from discreet.errors import BadInput

_WIDTH = 640
_ROW = 26
_LABELS = 180
_VALUES = 80
_HEIGHT = re.compile(r' height="([0-9]+)"')
_STYLE = (
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
        raise BadInput(f"Bars need as many labels as values, and some; got {len(labels)} and {len(values)}.")
    if not all(math.isfinite(value) for value in (*values, *errors)):
        raise BadInput("Bars need finite values.")
    off = errors or [0] * len(values)
    low = min(0, *(value - error for value, error in zip(values, off, strict=True)))
    high = max(0, *(value + error for value, error in zip(values, off, strict=True)))
    room = _WIDTH - _LABELS - _VALUES * (2 if low < 0 else 1)
    scale = room / ((high - low) or 1)
    zero = _WIDTH - _VALUES - high * scale
    rows = [
        _row(index * _ROW + 6, label, (value, error), zero, scale)
        for index, (label, value, error) in enumerate(zip(labels, values, off, strict=True))
    ]
    height = 8 + _ROW * len(rows)
    read_aloud = "; ".join(
        f"{label}: {_number(value)}" + (f" ± {_number(error)}" if error else "")
        for label, value, error in zip(labels, values, off, strict=True)
    )
    axis = tag("line", class_="axis", x1=zero, x2=zero, y1=0, y2=height)
    return Picture(title, caption, drawing(_WIDTH, height, title, rows, axis, said=read_aloud, sheet=_STYLE))


def beside(title: str, labels: Sequence[str], series: Mapping[str, Sequence[float]], *, caption: str = "") -> Picture:
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
    return Picture(title, caption, drawing(_WIDTH, top, title, drawn, said=read_aloud, sheet=_STYLE + _SERIES))


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
        short = label if len(label) <= _SHORT else label[: _SHORT - 1] + "…"
        drawn.append(tag("text", f"{short} {i + 1}", x=_LABELS - 12, y=middle, text_anchor="end"))
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
    return Picture(title, caption, drawing(_WIDTH, height, title, drawn, said=said, sheet=_STYLE + _SHADES))


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
    return Picture(title, caption, drawing(_WIDTH, height, title, drawn, said=said, sheet=_STYLE + _LINES))


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
    return Picture(title, caption, drawing(_WIDTH, top, title, inside, said=said, sheet=_STYLE))


def _row(top: int, label: str, figure: tuple[float, float], zero: float, scale: float) -> Markup:
    value, error = figure
    end, off = zero + value * scale, error * scale
    beside, anchor = (end + off + 6, None) if value >= 0 else (end - off - 6, "end")
    middle = top + _ROW / 2 - 4
    ends = f"M{end - off:.1f},{middle - 4:.1f}v8M{end + off:.1f},{middle - 4:.1f}v8"
    short = label if len(label) <= 22 else label[:21] + "…"
    return markup(
        tag("text", short, x=_LABELS - 12, y=top + 13, text_anchor="end"),
        tag("rect", class_="bar", x=min(zero, end), y=top, width=abs(end - zero), height=_ROW - 8, rx=2),
        tag("path", class_="error", d=f"M{end - off:.1f},{middle:.1f}h{2 * off:.1f}{ends}") if error else None,
        tag("text", _number(value), x=beside, text_anchor=anchor, y=top + 13),
    )


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"

"""Small charts as SVG text, for reports and notebooks: no dependency, light and dark, readable aloud."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet.core.document import fields
from discreet.errors import BadInput

_WIDTH = 640
_ROW = 26
_LABELS = 180
_VALUES = 80
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
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
    def figure(self) -> str:
        """The drawing and its caption as HTML that needs no network."""
        drawing = base64.b64encode(self.svg.encode()).decode()
        return (
            f'<figure><img src="data:image/svg+xml;base64,{drawing}" alt="{escape(self.title)}">'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )

    def _repr_html_(self) -> str:
        return f"<h4>{escape(self.title)}</h4>{self.figure}"

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"title": self.title, "caption": self.caption, "svg": self.svg}

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
    axis = f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{height}"/>'
    return Picture(title, caption, _svg(height, title, read_aloud, _STYLE, "".join(rows) + axis))


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
        drawn.append(f'<rect class="bar bar{place}" x="{left}" y="8" width="28" height="{_THIN - 4}" rx="2"/>')
        drawn.append(f'<text x="{left + 34}" y="19">{_xml(name)}</text>')
    top = 30
    for row, label in enumerate(labels):
        drawn.append(f'<text x="0" y="{top + 14}">{_xml(label)}</text>')
        top += 20
        for place, values in enumerate(series.values()):
            width = values[row] * scale
            drawn.append(
                f'<rect class="bar bar{place}" x="0" y="{top}" width="{width:.1f}" height="{_THIN - 4}" rx="2"/>'
                f'<text x="{width + 6:.1f}" y="{top + 11}">{_number(values[row])}</text>'
            )
            top += _THIN
        top += 6
    read_aloud = "; ".join(
        f"{label}: " + ", ".join(f"{name} {_number(values[row])}" for name, values in series.items())
        for row, label in enumerate(labels)
    )
    return Picture(title, caption, _svg(top, title, read_aloud, _STYLE + _SERIES, "".join(drawn)))


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
        drawn.append(f'<text x="{_LABELS - 12}" y="{middle:.1f}" text-anchor="end">{_xml(short)} {i + 1}</text>')
        across = _LABELS + (i + 0.5) * side
        drawn.append(f'<text x="{across:.1f}" y="{_TOP - 8}" text-anchor="middle">{i + 1}</text>')
        for j in range(count):
            at = f'x="{_LABELS + j * side:.1f}" y="{_TOP + i * side:.1f}" width="{side:.1f}" height="{side:.1f}"'
            if (i, j) in known:
                drawn.append(f'<rect class="shade" {at} fill-opacity="{known[i, j] / most:.3f}"/>')
            drawn.append(f'<rect class="cell" {at}/>')
    drawn.append(f'<text x="{_LABELS}" y="20">darkest: {_number(most)}</text>')
    largest = sorted((pair for pair in known if pair[0] < pair[1]), key=lambda pair: -known[pair])[:10]
    said = "; ".join(f"{labels[i]} and {labels[j]}: {_number(known[i, j])}" for i, j in largest)
    height = math.ceil(_TOP + count * side + 8)
    return Picture(title, caption, _svg(height, title, said, _STYLE + _SHADES, "".join(drawn)))


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

    def at(x: float, y: float) -> tuple[str, str]:
        return f"{_LEFT + across.place(x) * _ACROSS:.1f}", f"{_TOP + (1 - up.place(y)) * _UP:.1f}"

    height = _TOP + _UP + 46
    drawn = []
    for mark in across.marks:
        x, y = at(mark, up.marks[0])
        drawn.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{y}"/>')
        drawn.append(f'<text x="{x}" y="{_TOP + _UP + 18}" text-anchor="middle">{_number(mark)}</text>')
    for mark in up.marks:
        x, y = at(across.marks[0], mark)
        drawn.append(f'<line class="grid" x1="{x}" x2="{_LEFT + _ACROSS}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="{_LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{_number(mark)}</text>')
    for place, (name, points) in enumerate(lines.items()):
        left = _LEFT + place * _ACROSS // _MOST_LINES
        drawn.append(f'<line class="line line{place}" x1="{left}" x2="{left + 28}" y1="16" y2="16"/>')
        drawn.append(f'<text x="{left + 34}" y="20">{_xml(name)}</text>')
        path = " ".join(",".join(at(*point)) for point in points)
        drawn.append(f'<polyline class="line line{place}" points="{path}"/>')
    first = next(iter(lines.values()))
    rises = first[-1][1] > first[0][1]  # then there is room to the left of a dot on it
    for name, point in (dots or {}).items():
        x, y = at(*point)
        drawn.append(f'<circle class="dot" cx="{x}" cy="{y}" r="5"/>')
        beside = f'x="{float(x) - 9:.1f}" text-anchor="end"' if rises else f'x="{float(x) + 9:.1f}"'
        drawn.append(f'<text {beside} y="{float(y) - 7:.1f}">{_xml(name)}</text>')
    drawn.append(f'<text x="{_LEFT + _ACROSS // 2}" y="{height - 8}" text-anchor="middle">{_xml(across.label)}</text>')
    drawn.append(f'<text x="0" y="{_TOP - 12}">{_xml(up.label)}</text>')
    ends = "; ".join(
        f"{name}: {_number(points[0][1])} at {_number(points[0][0])} to {_number(points[-1][1])} at "
        f"{_number(points[-1][0])}"
        for name, points in lines.items()
    )
    said = f"{up.label} by {across.label}. {ends}" + "".join(f"; {name}" for name in dots or {})
    return Picture(title, caption, _svg(height, title, said, _STYLE + _LINES, "".join(drawn)))


def stacked(title: str, pictures: Sequence[Picture], *, caption: str = "") -> Picture:
    """Several pictures as one, each under its title."""
    inside, top = [], 0
    for picture in pictures:
        found = _HEIGHT.search(picture.svg)
        height = int(found[1]) if found else 0
        inside.append(f'<text x="0" y="{top + 18}" style="font-weight:600">{_xml(picture.title)}</text>')
        inside.append(picture.svg.replace("<svg ", f'<svg y="{top + 26}" ', 1))
        top += height + 40
    said = ". ".join(picture.title for picture in pictures)
    return Picture(title, caption, _svg(top, title, said, _STYLE, "".join(inside)))


def _svg(height: int, title: str, said: str, style: str, inside: str) -> str:
    """A drawing with what is read aloud of it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img"><title>{_xml(title)}</title><desc>{_xml(said)}</desc>'
        f"<style>{style}</style>{inside}</svg>"
    )


def _row(top: int, label: str, figure: tuple[float, float], zero: float, scale: float) -> str:
    value, error = figure
    end, off = zero + value * scale, error * scale
    left, width = min(zero, end), abs(end - zero)
    beside = f'x="{end + off + 6:.1f}"' if value >= 0 else f'x="{end - off - 6:.1f}" text-anchor="end"'
    middle = top + _ROW / 2 - 4
    ends = f"M{end - off:.1f},{middle - 4:.1f}v8M{end + off:.1f},{middle - 4:.1f}v8"
    whisker = f'<path class="error" d="M{end - off:.1f},{middle:.1f}h{2 * off:.1f}{ends}"/>' if error else ""
    short = label if len(label) <= 22 else label[:21] + "…"
    return (
        f'<text x="{_LABELS - 12}" y="{top + 13}" text-anchor="end">{_xml(short)}</text>'
        f'<rect class="bar" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW - 8}" rx="2"/>'
        f'{whisker}<text {beside} y="{top + 13}">{_number(value)}</text>'
    )


def _xml(text: str) -> str:
    """XML has no way to write control characters and halves of surrogate pairs."""
    return escape(_UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"

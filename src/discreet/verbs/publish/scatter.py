"""Labelled dots on two axes as SVG text, with a frontier: the picture of a risk–utility map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.core.markup import Markup, drawing, markup, tag
from discreet.core.report import Picture

_WIDTH, _HEIGHT = 760, 520
_LEFT, _TOP, _ACROSS, _UP = 70, 30, 660, 420
_LINE = 14
_LETTER = 7.4
_DOT = 5
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#243040;stroke:#fff;stroke-width:3px;paint-order:stroke}"
    ".grid{stroke:#8a97a6;stroke-opacity:.3}"
    ".front{fill:none;stroke:#2f6f8f;stroke-width:2}.dot{fill:#8a97a6}.best{fill:#2f6f8f}.first{fill:#a8501c}"
    ".lead{stroke:#8a97a6;stroke-opacity:.6}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec;stroke:#141a21}.front{stroke:#6fb3d2}.best{fill:#6fb3d2}.first{fill:#e9a06f}}"
)


@dataclass(frozen=True)
class Dot:
    """A named point; ``best``: on the frontier; ``first``: the original."""

    label: str
    x: float
    y: float
    best: bool
    first: bool


def scatter(
    title: str, axes: tuple[str, str], dots: Sequence[Dot], frontier: Sequence[tuple[float, float]], caption: str
) -> Picture:
    """The dots from 0 to the next tenth beyond the last, each with its label where no other one and no dot is."""
    wide, high = (_end([getattr(dot, side) for dot in dots]) for side in "xy")

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + x / wide * _ACROSS, _TOP + (1 - y / high) * _UP

    drawn = []
    for step in range(6):
        x, y = at(wide * step / 5, high * step / 5)
        drawn.append(tag("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=_TOP + _UP))
        drawn.append(tag("line", class_="grid", x1=_LEFT, x2=_LEFT + _ACROSS, y1=y, y2=y))
        drawn.append(tag("text", f"{wide * step / 5:.3g}", x=x, y=_TOP + _UP + 18, text_anchor="middle"))
        drawn.append(tag("text", f"{high * step / 5:.3g}", x=_LEFT - 8, y=y + 4, text_anchor="end"))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in frontier))
    drawn.append(tag("polyline", class_="front", points=path))
    taken = [_around(*at(dot.x, dot.y)) for dot in dots]
    for dot in sorted(dots, key=lambda dot: not dot.best):
        x, y = at(dot.x, dot.y)
        kind = "first" if dot.first else "best" if dot.best else "dot"
        drawn.append(tag("circle", class_=kind, cx=x, cy=y, r=5 if dot.best or dot.first else 4))
        drawn.append(_label(dot.label, x, y, taken))
    drawn.append(tag("text", axes[0], x=_LEFT + _ACROSS / 2, y=_HEIGHT - 22, text_anchor="middle"))
    drawn.append(tag("text", axes[1], x=4, y=16))
    said = "; ".join(f"{dot.label}: {dot.x:.3g}, {dot.y:.3g}" for dot in dots)
    svg = drawing(_WIDTH, _HEIGHT, title, drawn, said=said, sheet=_STYLE)
    return Picture(title, caption, svg)


@dataclass(frozen=True)
class _Box:
    """A place on the picture that something is on."""

    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def _around(x: float, y: float) -> _Box:
    return _Box(x - _DOT, x + _DOT, y - _DOT, y + _DOT)


def _label(text: str, x: float, y: float, taken: list[_Box]) -> Markup:
    """Beside the dot, right or left, or as near as there is room, with a line to it; none if there is no room."""
    short = text if len(text) <= 40 else text[:39] + "…"
    width = len(short) * _LETTER
    for step in range(2 * _UP // _LINE + 2):
        base = y + 4 + (step + 1) // 2 * _LINE * (1 if step % 2 else -1)
        for left, end in ((x + 9, x + 9), (x - 9 - width, x - 9)):
            box = _Box(left, left + width, base - 10, base + 4)
            inside = left >= _LEFT and box.right <= _WIDTH and _TOP < base < _TOP + _UP + 8
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                lead = tag("line", class_="lead", x1=x, y1=y, x2=end, y2=base - 4)
                return markup(lead if step else None, tag("text", short, x=left, y=base))
    return Markup()


def _end(values: Sequence[float]) -> float:
    """The next tenth; a picture needs some extent."""
    return max(-(-max(values, default=0.0) * 10 // 1), 1.0) / 10

"""Labelled dots on two axes as SVG text, with a frontier: the picture of a risk–utility map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from discreet.core.picture import Picture

_WIDTH, _HEIGHT = 760, 520
_LEFT, _TOP, _ACROSS, _UP = 70, 30, 660, 420
_LINE = 14
_LETTER = 7.4
_DOT = 5
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
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
        drawn.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _UP}"/>')
        drawn.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _ACROSS}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text x="{x:.1f}" y="{_TOP + _UP + 18}" text-anchor="middle">{wide * step / 5:.3g}</text>')
        drawn.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{high * step / 5:.3g}</text>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in frontier))
    drawn.append(f'<polyline class="front" points="{path}"/>')
    taken = [_around(*at(dot.x, dot.y)) for dot in dots]
    for dot in sorted(dots, key=lambda dot: not dot.best):
        x, y = at(dot.x, dot.y)
        kind = "first" if dot.first else "best" if dot.best else "dot"
        drawn.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{5 if dot.best or dot.first else 4}"/>')
        drawn.append(_label(dot.label, x, y, taken))
    drawn.append(f'<text x="{_LEFT + _ACROSS / 2}" y="{_HEIGHT - 22}" text-anchor="middle">{_xml(axes[0])}</text>')
    drawn.append(f'<text x="4" y="16">{_xml(axes[1])}</text>')
    said = "; ".join(f"{dot.label}: {dot.x:.3g}, {dot.y:.3g}" for dot in dots)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img"><title>{_xml(title)}</title><desc>{_xml(said)}</desc>'
        f"<style>{_STYLE}</style>{''.join(drawn)}</svg>"
    )
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


def _label(text: str, x: float, y: float, taken: list[_Box]) -> str:
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
                lead = f'<line class="lead" x1="{x:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{base - 4:.1f}"/>'
                return f'{lead if step else ""}<text x="{left:.1f}" y="{base:.1f}">{_xml(short)}</text>'
    return ""


def _end(values: Sequence[float]) -> float:
    """The next tenth; a picture needs some extent."""
    return max(-(-max(values, default=0.0) * 10 // 1), 1.0) / 10


def _xml(text: str) -> str:
    return escape(_UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text))

"""Lines of text, each under what it hangs on, as a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.core.picture import Picture

_WIDTH, _ROW, _STEP = 640, 24, 28
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#243040}path{stroke:#8a97a6;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec}path{stroke:#7b8896}}"
)


def lines_drawn(title: str, lines: Sequence[tuple[int, str]], caption: str) -> Picture:
    """Each line is moved in by its depth, and joined to the last one before it that is less deep."""
    drawn = []
    last: dict[int, int] = {}
    for row, (depth, text) in enumerate(lines):
        middle = row * _ROW + 14
        if depth:
            x = (depth - 1) * _STEP + 8
            drawn.append(f'<path d="M{x},{last[depth - 1] + 8}V{middle}h{_STEP - 12}"/>')
        last[depth] = middle
        drawn.append(f'<text x="{depth * _STEP + 4}" y="{middle + 4}">{escape(text)}</text>')
    height = len(lines) * _ROW + 8
    said = escape("; ".join(text for _, text in lines))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><desc>{said}</desc><style>{_STYLE}</style>{"".join(drawn)}</svg>'
    )
    return Picture(title, caption, svg)

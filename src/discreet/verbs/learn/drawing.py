"""Lines of text, each under what it hangs on, as a drawing."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.markup import drawing, tag
from discreet.core.report import Picture

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
            drawn.append(tag("path", d=f"M{x},{last[depth - 1] + 8}V{middle}h{_STEP - 12}"))
        last[depth] = middle
        drawn.append(tag("text", text, x=depth * _STEP + 4, y=middle + 4))
    said = "; ".join(text for _, text in lines)
    return Picture(title, caption, drawing(_WIDTH, len(lines) * _ROW + 8, title, drawn, said=said, sheet=_STYLE))

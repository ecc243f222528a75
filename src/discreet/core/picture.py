"""Small charts as SVG text, for reports and notebooks: no dependency, light and dark, readable aloud."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
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
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#243040}"
    ".bar{fill:#2f6f8f}.axis{stroke:#8a97a6}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec}.bar{fill:#6fb3d2}.axis{stroke:#7b8896}}"
)


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


def bars(title: str, labels: Sequence[str], values: Sequence[float], *, caption: str = "") -> Picture:
    """Horizontal bars from a common zero, one a label; noisy counts may be negative."""
    if len(labels) != len(values) or not labels:
        raise BadInput(f"Bars need as many labels as values, and some; got {len(labels)} and {len(values)}.")
    if not all(math.isfinite(value) for value in values):
        raise BadInput("Bars need finite values.")
    low, high = min(0, *values), max(0, *values)
    room = _WIDTH - _LABELS - _VALUES * (2 if low < 0 else 1)
    scale = room / ((high - low) or 1)
    zero = _WIDTH - _VALUES - high * scale
    rows = [
        _row(index * _ROW + 6, label, value, zero, scale)
        for index, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    height = 8 + _ROW * len(rows)
    read_aloud = "; ".join(f"{label}: {_number(value)}" for label, value in zip(labels, values, strict=True))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img"><title>{_xml(title)}</title><desc>{_xml(read_aloud)}</desc>'
        f"<style>{_STYLE}</style>{''.join(rows)}"
        f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{height}"/></svg>'
    )
    return Picture(title, caption, svg)


def _row(top: int, label: str, value: float, zero: float, scale: float) -> str:
    end = zero + value * scale
    left, width = min(zero, end), abs(end - zero)
    beside = f'x="{end + 6:.1f}"' if value >= 0 else f'x="{end - 6:.1f}" text-anchor="end"'
    short = label if len(label) <= 22 else label[:21] + "…"
    return (
        f'<text x="{_LABELS - 12}" y="{top + 13}" text-anchor="end">{_xml(short)}</text>'
        f'<rect class="bar" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW - 8}" rx="2"/>'
        f'<text {beside} y="{top + 13}">{_number(value)}</text>'
    )


def _xml(text: str) -> str:
    """XML has no way to write control characters and halves of surrogate pairs."""
    return escape(_UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"

"""Table as HTML: the last dimension across, the others down, totals in bold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from discreet.core.markup import Markup, markup, style, tag
from discreet.core.markup import table as html_table
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, Numbers

CROSS = "×"
MOST_CELLS = 20_000
_STYLE = (
    ".discreet-table{overflow:auto;max-height:80vh}"
    ".discreet-table table{border-collapse:collapse;font-size:14px}"
    ".discreet-table th,.discreet-table td{padding:3px 9px;border-bottom:1px solid var(--line)}"
    ".discreet-table td{text-align:right;font-variant-numeric:tabular-nums}"
    ".discreet-table th{text-align:left;font-weight:400}.discreet-table thead th{text-align:right}"
    ".discreet-table .total{font-weight:600}"
    ".discreet-table .sensitive{background:#b3261e;color:#fff}.discreet-table "
    ".added{background:#f2c27b;color:#241a05}"
)


def laid_out(table: CrossTable, hidden: Numbers, about: Callable[[int], tuple[str, str, str]] | None = None) -> Markup:
    """The table as HTML. ``about`` gives for a cell (its place, flattened) its text, its class and what stands in its
    tooltip; without it hidden cells are crosses and the others figures."""
    if table.size > MOST_CELLS:
        return tag("p", f"The table has {table.size:,} cells, too many to show here. See the rows of the release.")
    *down, across = table.dimensions
    told = about or (lambda cell: (shown(table, hidden, cell), "", ""))
    heads = [tag("th", side.name) for side in down] or [tag("td")]
    heads += [_label("col", across, place) for place in range(len(across))]
    body = []
    for row, places in enumerate(product(*(range(len(side)) for side in down))):
        labels = [_label("row", side, place) for side, place in zip(down, places, strict=True)] or [tag("td")]
        figures = (_figure(*told(row * len(across) + place), bool(parts)) for place, parts in enumerate(across.parts))
        body.append(tag("tr", labels, figures))
    return markup(style(_STYLE), tag("div", html_table(heads, body), class_="discreet-table"))


def headed(table: CrossTable, html: Markup, of: int) -> Markup:
    """A table laid out, with a heading if it is one of several."""
    return html if of == 1 else markup(tag("h3", " × ".join(side.name for side in table.dimensions)), html)


def shown(table: CrossTable, hidden: Numbers, cell: int) -> str:
    """What is printed in a cell: its figure, or a cross."""
    return CROSS if hidden.flat[cell] else table.written(int(table.values.flat[cell]))


def _label(scope: str, side: Dimension, place: int) -> Markup:
    kind = "total" if side.parts[place] else None
    inwards = f"padding-left:{9 + 14 * side.depths[place]}px" if scope == "row" else None
    return tag("th", side.codes[place], scope=scope, class_=kind, style=inwards)


def _figure(text: str, kind: str, tip: str, total: bool) -> Markup:
    names = " ".join(filter(None, (kind, "total" if total else "")))
    return tag("td", text, class_=names or None, title=tip or None)

"""A printed table for its holder, as HTML: hidden cells marked, and what an intruder can tell of them on hover and on
keyboard focus."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

_HIDDEN = "×"
LEGEND = (
    '<p class="dc-small dc-legend"><span class="dc-key dc-sensitive">×</span> gives somebody away; '
    '<span class="dc-key dc-hidden">×</span> is hidden to protect those. '
    "Point at a marked cell, or reach it with the Tab key, to see its figure, why it is marked, and what an "
    "intruder can tell.</p>"
)
"""What the colours mean."""


def drawn(table: Mapping[str, Any]) -> str:
    """A table, from plain data as ``verbs/tabulate/printing/view.py`` gives it."""
    if table["too_large"]:
        return f"<p>The table has {table['size']:,} cells: too many to be drawn here. All are in its rows.</p>"
    down = table["sides"][:-1]
    corner = "".join(f'<th scope="col">{escape(name)}</th>' for name in down) or "<th></th>"
    head = "".join(_label("col", label) for label in table["across"])
    body = "".join(
        f"<tr>{''.join(_label('row', label) for label in row['labels']) or '<th></th>'}"
        f"{''.join(map(_cell, row['cells']))}</tr>"
        for row in table["rows"]
    )
    caption = escape(" × ".join(table["sides"]))
    return (
        f'<div class="dc-scroll dc-cross" tabindex="0"><table aria-label="{caption}">'
        f"<thead><tr>{corner}{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _label(scope: str, label: Mapping[str, Any]) -> str:
    kind = "dc-total" if label["total"] else ""
    inwards = f' style="padding-left:{12 + 14 * label["depth"]}px"' if scope == "row" and label["depth"] else ""
    return f'<th scope="{scope}" class="{kind}"{inwards}>{escape(label["text"])}</th>'


def _cell(cell: Mapping[str, Any]) -> str:
    names = ["dc-number", *(["dc-total"] if cell["total"] else [])]
    text = escape(cell["printed"])
    if cell["kind"] == "shown":
        return f'<td class="{" ".join(names)}">{text}</td>'
    told = about(cell)
    names.append(f"dc-{cell['kind']}")
    return (
        f'<td class="{" ".join(names)}" tabindex="0" aria-label="{text}: {escape(told)}">{text}'
        f'<span class="dc-tip" role="tooltip">{escape(told)}</span></td>'
    )


def about(cell: Mapping[str, Any]) -> str:
    """What there is to say of a marked cell, in sentences."""
    done = "Hidden" if cell["printed"] == _HIDDEN else "Changed"
    why = "It gives somebody away" if cell["kind"] == "sensitive" else f"{done} to protect others"
    said = (f"The figure is {cell['figure']}", why, *cell["why"].split("; "))
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in said if one)

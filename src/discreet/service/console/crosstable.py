"""A printed table for its holder, as HTML: hidden cells marked, and what an intruder can tell of them on hover and on
keyboard focus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.markup import Markup, tag
from discreet.core.markup import table as markup_table

_HIDDEN = "×"
LEGEND = Markup(
    '<p class="dc-small dc-legend"><span class="dc-key dc-sensitive">×</span> gives somebody away; '
    '<span class="dc-key dc-hidden">×</span> is hidden to protect those. '
    "Point at a marked cell, or reach it with the Tab key, to see its figure, why it is marked, and what an "
    "intruder can tell.</p>"
)
"""What the colours mean."""


def drawn(table: Mapping[str, Any]) -> Markup:
    """A table, from plain data as ``verbs/tabulate/printing/holder.py`` gives it."""
    if table["too_large"]:
        return tag("p", f"The table has {table['size']:,} cells: too many to be drawn here. All are in its rows.")
    down = table["sides"][:-1]
    heads = [tag("th", name, scope="col") for name in down] or [tag("th")]
    heads += [_label("col", label) for label in table["across"]]
    body = (
        tag("tr", [_label("row", label) for label in row["labels"]] or tag("th"), map(_cell, row["cells"]))
        for row in table["rows"]
    )
    inside = markup_table(heads, body, aria_label=" × ".join(table["sides"]))
    return tag("div", inside, class_="dc-scroll dc-cross", tabindex=0)


def _label(scope: str, label: Mapping[str, Any]) -> Markup:
    kind = "dc-total" if label["total"] else None
    inwards = f"padding-left:{12 + 14 * label['depth']}px" if scope == "row" and label["depth"] else None
    return tag("th", label["text"], scope=scope, class_=kind, style=inwards)


def _cell(cell: Mapping[str, Any]) -> Markup:
    names = "dc-number dc-total" if cell["total"] else "dc-number"
    text = cell["printed"]
    if cell["kind"] == "shown":
        return tag("td", text, class_=names)
    told = about(cell)
    tip = tag("span", told, class_="dc-tip", role="tooltip")
    return tag("td", text, tip, class_=f"{names} dc-{cell['kind']}", tabindex=0, aria_label=f"{text}: {told}")


def about(cell: Mapping[str, Any]) -> str:
    """What there is to say of a marked cell, in sentences."""
    done = "Hidden" if cell["printed"] == _HIDDEN else "Changed"
    why = "It gives somebody away" if cell["kind"] == "sensitive" else f"{done} to protect others"
    said = (f"The figure is {cell['figure']}", why, *cell["why"].split("; "))
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in said if one)

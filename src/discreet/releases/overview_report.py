"""Exposure as pictures and as a page that opens offline."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence

from discreet.core.markup import Child, Markup, drawing, tag
from discreet.core.report import Picture, heading, listing, pairs, section, shortened, styled
from discreet.core.text import number
from discreet.releases.overview import (
    CHECKED,
    HELD,
    LOSS,
    NOT_CHECKED,
    OVERRIDDEN,
    Departure,
    Overview,
    Population,
    Standing,
)

_WIDTH, _LEFT, _RIGHT = 640, 24, 616
_STATES = (CHECKED, OVERRIDDEN, NOT_CHECKED, LOSS, HELD)
_ROW = 22
_MOST_ROWS = 40
"""Releases of a time line, the last ones."""
_MOST_NODES = 24
"""Releases of a graph, the last ones."""
_LONGEST = 46
_SHEET = (
    "text{font:13px system-ui,sans-serif;fill:#243040}.axis{stroke:#8a97a6}.small{font-size:11px}"
    ".state0{fill:#2f6f8f}.state1{fill:#9b1c1c}.state2{fill:#b3a48a}.state3{fill:#5d7030}.state4{fill:#6b4f8a}"
    ".edge{stroke:#8a97a6}.node{fill:#fff;stroke-width:2.5}"
    ".node.state0{stroke:#2f6f8f}.node.state1{stroke:#9b1c1c}.node.state4{stroke:#6b4f8a}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec}.state0{fill:#6fb3d2}.state1{fill:#ffaaa2}"
    ".state2{fill:#7d725f}.state3{fill:#b4cc78}.state4{fill:#c3aee0}.node{fill:#171d24}"
    ".node.state0{stroke:#6fb3d2}.node.state1{stroke:#ffaaa2}.node.state4{stroke:#c3aee0}}"
)


def time_line(population: Population) -> Picture:
    """Everything that left, a dot each, from the first to the last."""
    shown = population.departures[-_MOST_ROWS:]
    times = [_seconds(one.at) for one in shown]
    first, span = min(times, default=0.0), (max(times, default=0.0) - min(times, default=0.0)) or 1.0
    middle = _LEFT + 130
    drawn: list[Child] = []
    for place, name in enumerate(_STATES):
        drawn.append(tag("circle", class_=f"state{place}", cx=_LEFT + place * 125, cy=14, r=6))
        drawn.append(tag("text", name, x=_LEFT + 12 + place * 125, y=18))
    bottom = 40 + _ROW * len(shown)
    drawn.append(tag("line", class_="axis", x1=_LEFT, x2=_LEFT, y1=34, y2=bottom))
    drawn.append(tag("line", class_="axis", x1=middle, x2=middle, y1=34, y2=bottom))
    for row, (one, at) in enumerate(zip(shown, times, strict=True)):
        y = 48 + _ROW * row
        x = _LEFT + (at - first) / span * (middle - _LEFT)
        drawn.append(tag("line", class_="axis", x1=x, x2=middle, y1=y, y2=y, stroke_opacity="0.3"))
        drawn.append(tag("circle", class_=f"state{_STATES.index(one.state)}", cx=x, cy=y, r=5))
        what = shortened(f"{label(one)} {one.title}", _LONGEST)
        drawn.append(tag("text", what, x=middle + 10, y=y + 4))
        drawn.append(tag("text", one.at[:10], class_="small", x=_RIGHT, y=y + 4, text_anchor="end"))
    left_out = len(population.departures) - len(shown)
    caption = f"Releases about {population.name}, oldest first; dots are placed by date."
    if left_out:
        caption += f" {number(left_out, 'earlier one is', 'earlier ones are')} not drawn."
    said = "; ".join(f"{one.at[:10]} {label(one)} {one.title}: {one.state}" for one in shown)
    return Picture(
        "Time line",
        caption,
        drawing(_WIDTH, bottom + 8, f"Timeline of {population.name}", drawn, said=said, sheet=_SHEET),
    )


def overlap_graph(population: Population, standing: Standing) -> Picture | None:
    """Releases as nodes, joined where they tell of the same people; the thicker, the more of them."""
    nodes = [one for one in population.departures if one.number in standing.releases and not one.answer][-_MOST_NODES:]
    if len(nodes) < 2:
        return None
    height, radius = 360, 140
    middle = (_WIDTH // 2, height // 2)
    at = {}
    for place, one in enumerate(nodes):
        turn = 2 * math.pi * place / len(nodes) - math.pi / 2
        at[one.number] = middle[0] + radius * 1.5 * math.cos(turn), middle[1] + radius * math.sin(turn)
    edges = [one for one in standing.overlaps if one.first in at and one.second in at]
    most = max((one.people for one in edges), default=1)
    drawn: list[Child] = []
    for edge in edges:
        (x1, y1), (x2, y2) = at[edge.first], at[edge.second]
        width = f"{1 + 6 * edge.people / most:.1f}"
        dashes = None if edge.columns else "4 4"
        drawn.append(
            tag("line", class_="edge", x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, stroke_dasharray=dashes)
        )
    for one in nodes:
        x, y = at[one.number]
        drawn.append(tag("circle", class_=f"node state{_STATES.index(one.state)}", cx=x, cy=y, r=15))
        drawn.append(tag("text", one.number, x=x, y=y + 4, text_anchor="middle"))
        beside, end = (x + 21, None) if x >= middle[0] - 1 else (x - 21, "end")
        drawn.append(tag("text", shortened(one.title, 22), class_="small", x=beside, y=y + 4, text_anchor=end))
    said = "; ".join(f"{one.first} and {one.second}: {number(one.people, 'person', 'people')}" for one in edges)
    caption = (
        "Lines join releases about the same people: thicker for more people, dashed if they reveal different columns."
    )
    return Picture("Overlap", caption, drawing(_WIDTH, height, "Overlapping releases", drawn, said=said, sheet=_SHEET))


def summary(population: Population, standing: Standing) -> Iterator[tuple[str, str]]:
    """What everything that left tells, in figures."""
    group = population.policy.smallest_group
    people = number(standing.people, "person", "people")
    yield "covered", f"{people}, whom all releases together divide into {number(standing.groups, 'group')}"
    yield (
        f"in groups of fewer than {group}",
        number(standing.in_small, "person", "people") if standing.in_small else "no one",
    )
    yield (
        "most exposed",
        f"{number(standing.in_smallest, 'person', 'people')}, in {_groups_of(standing.smallest)}",
    )
    if standing.counts:
        exposed = number(standing.exposed, "person", "people")
        yield (
            "already exposed",
            f"{exposed}: {number(standing.determined, 'count')} of groups of fewer than {group} can be "
            "computed from all releases",
        )
    if standing.undecided:
        yield "not decided", "; ".join(standing.undecided)


def report(overview: Overview, title: str) -> Markup:
    """The page, without the frame around it."""
    sections: list[Child] = [heading(title, "confidential", "none")]
    for population in overview.populations:
        told = tag("p", advice(population)) if advice(population) else None
        drawn = time_line(population).figure
        sections.append(section(f"Releases about {population.name}", drawn, _lines(population), told))
        for standing in population.standings:
            graph = overlap_graph(population, standing)
            sections.append(
                section(
                    f"What they reveal together{state_name(standing)}",
                    pairs(summary(population, standing)),
                    _groups(standing),
                    graph.figure if graph else None,
                )
            )
    if overview.spent:
        rows = [(one.table, one.analyst or "table budget", one.spent, one.limit) for one in overview.spent]
        sections.append(section("Privacy loss", listing(("table", "whose", "spent", "limit"), ("text",) * 4, rows)))
    if not overview.populations:
        sections.append(section("Releases", tag("p", "Nothing has been released yet.")))
    return styled(sections)


def label(one: Departure) -> str:
    """How a release is called in lists: its line, or that it is an answer."""
    return "answer" if one.answer else f"{one.number}."


def check_said(one: Departure) -> str:
    """What became of the check of a release, in words, and of the attack that was run where there was none."""
    return f"{_check(one)}. {one.attack}" if one.attack else _check(one)


def _check(one: Departure) -> str:
    if one.state == OVERRIDDEN:
        return f"released despite exposure: {one.note}"
    if one.state == NOT_CHECKED:
        return f"not checked: {one.why}" if one.why else NOT_CHECKED
    if one.state == LOSS:
        return one.loss or LOSS
    if one.state == HELD:
        return "declared: held by a recipient, not released here"
    others = ", ".join(map(str, one.checked))
    return f"checked with {others}" if others else "checked; the first release"


def advice(population: Population) -> str:
    """What to do about releases that are not checked; empty if there are none."""
    count = sum(one.state == NOT_CHECKED and not one.attack for one in population.departures[1:])
    if not count:
        return ""
    what = number(count, "release was", "releases were")
    return f"{what} not checked jointly. To attack releases together: discreet attack RELEASE --also OTHER"


def state_name(standing: Standing) -> str:
    """Of which state of the table a standing is, where that needs to be said."""
    if standing.state == "1":
        return ""
    return ", columns that never change" if standing.state == "stable" else f", state {standing.state} of the table"


def departure_rows(departures: Sequence[Departure]) -> list[tuple[str, str, str, str, str]]:
    """Lines for a table of everything that left."""
    return [(label(one), one.at[:16].replace("T", " "), one.title, one.method, check_said(one)) for one in departures]


def _lines(population: Population) -> Markup:
    kinds = ("text", "text", "prose", "text", "prose")
    return listing(("no.", "when (UTC)", "title", "method", "check"), kinds, departure_rows(population.departures))


def group_rows(standing: Standing) -> list[tuple[str, str, str]]:
    """Lines for a table of the smallest groups."""
    return [
        (str(one.people), ", ".join(map(str, one.releases)), ", ".join(one.known) or "–")
        for one in standing.most_exposed
    ]


def _groups(standing: Standing) -> Markup:
    return listing(("people", "told by", "counts known of"), ("number", "text", "text"), group_rows(standing))


def _groups_of(size: int) -> str:
    return "groups of one" if size == 1 else f"groups of {size:,}"


def _seconds(at: str) -> float:
    return dt.datetime.fromisoformat(at).timestamp() if at else 0.0

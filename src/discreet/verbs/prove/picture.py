"""A verdict as an HTML page: both runs side by side, the coupling of each draw, and the accumulated cost.

Of a refuted program: the two inputs, and how likely the event is given each. No script, and no request to anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.markup import Markup, drawing, listed, markup, page, style, table, tag
from discreet.core.report import Picture
from discreet.verbs.prove.explain import CouplingRow, coupling_rows, invariant_texts
from discreet.verbs.prove.interpreter import value_of
from discreet.verbs.prove.number_text import probability_text, value_text
from discreet.verbs.prove.paired_runs import PairedRuns, PairedValue, pair_runs
from discreet.verbs.prove.syntax import Assign, Call, Program, Sample, statements
from discreet.verbs.prove.unparse import body_lines, head_lines, program_text
from discreet.verbs.prove.verdicts import ProofVerdict, Proved, Refuted

_WIDTH, _ROW_HEIGHT, _LABEL_WIDTH = 640, 26, 250
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.15rem .6rem;text-align:left;vertical-align:top}"
    "th{border-bottom:1px solid #8a97a6}code,pre{font:13px/1.5 ui-monospace,monospace;white-space:pre-wrap}"
    ".draw{background:#2f6f8f22}.n{color:#6b7786;text-align:right}.c{color:#2f6f8f}.w{font-weight:700}"
    ".proved{color:#1d6b3a}.refuted{color:#a8321c}.unknown{color:#7a5b00}.wide{overflow-x:auto}"
    "svg{max-width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{background:#12202a;color:#dde4ec}.c{color:#6fb3d2}.proved{color:#7fd1a0}"
    ".refuted{color:#f0a08c}.unknown{color:#e6c65c}.n{color:#9aa7b5}}"
)
_SVG_STYLE = (
    ".dcp text{font:13px system-ui,sans-serif;fill:#243040}.dcp .bar{fill:#2f6f8f}.dcp .now{fill:#a8501c}"
    ".dcp .axis{stroke:#8a97a6;stroke-dasharray:4 3}"
    "@media(prefers-color-scheme:dark){.dcp text{fill:#dde4ec}.dcp .bar{fill:#6fb3d2}.dcp .now{fill:#e9a06f}}"
)


@dataclass(frozen=True)
class ProofPicture(Picture):
    """A picture of a verdict; ``body`` is all of the page."""

    body: str = ""

    @property
    def page(self) -> str:
        """As a page that opens offline."""
        return page(self.title, self.body, sheet=_STYLE)

    def _repr_html_(self) -> str:
        return markup(style(_STYLE), self.body)


def draw_verdict(verdict: ProofVerdict) -> ProofPicture:
    """The page of a verdict, and its drawing."""
    word = verdict.word.lower()
    parts = [
        tag("h1", verdict.program.name),
        tag("p", tag("span", verdict.word, class_=f"w {word}"), " ", verdict.summary),
    ]
    svg = Markup()
    if isinstance(verdict, Proved):
        alignments = verdict.certificate.alignments
        pairing = pair_runs(verdict.program, alignments[0]) if alignments and not verdict.others else None
        parts += _proof_parts(verdict)
        if pairing is not None:
            svg = _cost_bars(verdict.program, pairing)
            parts += [_example_table(verdict.program, pairing), svg]
    else:
        svg = _probability_bars(verdict) if isinstance(verdict, Refuted) else Markup()
        parts += [tag("pre", "\n".join(verdict.lines)), svg, _listing(verdict.program)]
    return ProofPicture(f"{verdict.word}: {verdict.program.name}", verdict.summary, svg, markup(parts))


# -- the proof --------------------------------------------------------------------------------------------------------


def _proof_parts(verdict: Proved) -> Iterator[Markup]:
    for alignment in verdict.certificate.alignments:
        if len(verdict.certificate.alignments) > 1:
            way = "from the second input to the first" if alignment.backwards else "from the first input to the second"
            yield tag("h2", way.capitalize())
        couplings = {one.line: one for one in coupling_rows(verdict.program, alignment, verdict.others)}
        yield _side_by_side(verdict.program, couplings)
        for number, texts in enumerate(invariant_texts(verdict.program, alignment, verdict.others), 1):
            yield tag("h3", f"Invariants of loop {number}")
            yield listed(tag("code", text) for text in texts)
    if not verdict.certificate.alignments:
        yield tag("p", "; ".join(verdict.lines))
        yield _listing(verdict.program)


def _listing(program: Program) -> Markup:
    return tag("pre", program_text(program))


def _side_by_side(program: Program, couplings: Mapping[int, CouplingRow]) -> Markup:
    head = (tag("div", tag("code", line)) for line in head_lines(program))
    lines = []
    for text, statement in body_lines(program.body, ""):
        found = couplings.get(statement.at.line) if isinstance(statement, Sample | Call) else None
        middle = f"{found.sample} ↔ {found.sample}′, by {found.shift}" if found else ""
        line = str(statement.at.line) if statement is not None and statement.at.line else ""
        second = tag("td", tag("code", _primed(program, text)))
        cells = _number(line), tag("td", tag("code", text)), tag("td", middle, class_="c"), second
        cost = tag("td", found.cost if found else None, class_="c")
        lines.append(tag("tr", cells, cost, class_="draw" if found else None))
    return markup(head, _wide(("", "first run", "coupled", "second run", "cost of a draw"), lines))


def _number(line: int | str) -> Markup:
    return tag("td", line, class_="n")


def _wide(heads: Sequence[str], rows: Sequence[Markup]) -> Markup:
    return tag("div", table(heads, rows), class_="wide")


def _primed(program: Program, text: str) -> str:
    """A line of the second run: what may differ has a prime."""
    own = {one.name for one in program.private}
    own |= {one.name for one in statements(program.body) if isinstance(one, Assign | Sample | Call)}
    return re.sub(r"[A-Za-z_]\w*", lambda word: f"{word[0]}′" if word[0] in own else word[0], text)


# -- the example ------------------------------------------------------------------------------------------------------


def _example_table(program: Program, pairing: PairedRuns) -> Markup:
    def given(values: Mapping[str, object], names: Sequence[str], stroke: str = "") -> str:
        return ", ".join(f"{name}{stroke} = {value_text(values[name])}" for name in names)

    private = [one.name for one in program.private]
    public = [one.name for one in program.inputs if not one.private]
    lines, spent = [], Fraction(0)
    for moment in pairing.moments:
        spent += moment.cost
        shift = "" if moment.shift is None else value_text(moment.shift)
        figures = (f"{value_text(moment.cost)}", f"{value_text(spent)}") if moment.drawn else ("", "")
        cells = (moment.name, value_text(moment.first), shift, value_text(moment.second), *figures)
        drawn_row = "draw" if moment.drawn else None
        lines.append(tag("tr", _number(moment.line), (tag("td", cell) for cell in cells), class_=drawn_row))
    at = ", ".join(filter(None, (given(pairing.pair.parameters, ["eps"]), given(pairing.pair.inputs, public))))
    said = (
        f"With {at}: {given(pairing.pair.inputs, private)} beside {given(pairing.pair.neighbours, private, '′')}. "
        "The noise of the first run is an example; that of the second follows from it. Both give the same output."
    )
    heads = ("", "", "first run", "shift", "second run", "cost", "so far")
    return markup(tag("h2", "An example"), tag("p", said), _wide(heads, lines))


def _cost_bars(program: Program, pairing: PairedRuns) -> Markup:
    """A bar for each draw: what was spent before it, and what it costs; the claim is a line."""
    names = {**pairing.pair.parameters, **pairing.pair.inputs}
    found = value_of(program.epsilon, names)  # type: ignore[arg-type]
    claim = Fraction(found) if isinstance(found, int | Fraction) else Fraction(0)
    draws = [moment for moment in pairing.moments if moment.drawn]
    widest = max(claim, sum((moment.cost for moment in draws), Fraction(0)), Fraction(1, 1000))
    bars, spent = [], Fraction(0)
    for place, moment in enumerate(draws):
        bars.append(_bar(place, moment, spent / widest, moment.cost / widest))
        spent += moment.cost
    at = _LABEL_WIDTH + float(claim / widest) * (_WIDTH - _LABEL_WIDTH - 20)
    tall = len(draws) * _ROW_HEIGHT + 30
    title = f"The cost adds up to {value_text(spent)} of {value_text(claim)}"
    line = tag("line", class_="axis", x1=at, x2=at, y1=0, y2=tall - 22)
    claimed = tag("text", f"claim: {value_text(claim)}", x=at, y=tall - 6, text_anchor="end")
    return drawing(_WIDTH, tall, title, bars, line, claimed, sheet=_SVG_STYLE, class_="dcp")


def _bar(place: int, moment: PairedValue, before: Fraction, cost: Fraction) -> Markup:
    room, top = _WIDTH - _LABEL_WIDTH - 20, place * _ROW_HEIGHT
    text = f"{moment.name} (line {moment.line}), shift {value_text(moment.shift)}"
    spent = float(before) * room
    return markup(
        tag("text", text, x=0, y=top + 17),
        tag("rect", class_="bar", opacity=".35", x=_LABEL_WIDTH, y=top + 4, width=spent, height=16),
        tag("rect", class_="now", x=_LABEL_WIDTH + spent, y=top + 4, width=float(cost) * room, height=16),
    )


# -- the counterexample -----------------------------------------------------------------------------------------------


def _probability_bars(verdict: Refuted) -> Markup:
    """How likely the event is given each input, and how likely it may be at most given the first."""
    found = verdict.counterexample
    most = found.allowed.high * found.second.high + found.delta
    figures = (
        ("given the first input", found.first.low, "now", probability_text(found.first)),
        ("given the second", found.second.high, "bar", probability_text(found.second)),
        ("the first may have at most", most, "bar", probability_text(most)),
    )
    widest, room = max(*(value for _, value, _, _ in figures), Fraction(1, 10**9)), _WIDTH - _LABEL_WIDTH - 110
    lines = []
    for place, (text, value, kind, said) in enumerate(figures):
        top, long = place * _ROW_HEIGHT, float(value / widest) * room
        lines += [
            tag("text", text, x=0, y=top + 17),
            tag("rect", class_=kind, x=_LABEL_WIDTH, y=top + 4, width=long, height=16),
            tag("text", said, x=_LABEL_WIDTH + long + 6, y=top + 17),
        ]
    return drawing(_WIDTH, len(figures) * _ROW_HEIGHT + 8, found.event, lines, sheet=_SVG_STYLE, class_="dcp")

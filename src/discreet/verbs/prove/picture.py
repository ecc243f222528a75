"""A verdict as an HTML page: both runs side by side, the coupling of each draw, and the accumulated cost.

Of a refuted program: the two inputs, and how likely the event is given each. No script, and no request to anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from discreet.core.picture import Picture
from discreet.verbs.prove.explain import CouplingRow, coupling_rows, invariant_texts
from discreet.verbs.prove.interpreter import value_of
from discreet.verbs.prove.number_text import probability_text, value_text
from discreet.verbs.prove.paired_runs import PairedRuns, PairedValue, pair_runs
from discreet.verbs.prove.syntax import Assign, Call, Program, Sample
from discreet.verbs.prove.traverse import statements
from discreet.verbs.prove.unparse import body_lines, head_lines, program_text
from discreet.verbs.prove.verdicts import ProofVerdict, Proved, Refuted

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
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
    """A verdict as a picture; ``body`` is the content of its page."""

    body: str = ""

    @property
    def page(self) -> str:
        """The page as HTML that opens offline."""
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head><body>{self.body}</body></html>\n"
        )

    def _repr_html_(self) -> str:
        return f"<style>{_STYLE}</style>{self.body}"


def draw_verdict(verdict: ProofVerdict) -> ProofPicture:
    """Draw a verdict as a page and an SVG picture."""
    word = verdict.word.lower()
    parts = [
        f"<h1>{escape(verdict.program.name)}</h1>",
        f'<p><span class="w {word}">{verdict.word}</span> {escape(verdict.summary)}</p>',
    ]
    svg = ""
    if isinstance(verdict, Proved):
        pairing = _example_runs(verdict)
        parts += _proof_parts(verdict)
        if pairing is not None:
            svg = _cost_bars(verdict.program, pairing)
            parts += [_example_table(verdict.program, pairing), svg]
    else:
        svg = _probability_bars(verdict) if isinstance(verdict, Refuted) else ""
        parts += [f"<pre>{escape(chr(10).join(verdict.lines))}</pre>", svg, _listing(verdict.program)]
    return ProofPicture(f"{verdict.word}: {verdict.program.name}", verdict.summary, svg, "".join(parts))


# -- the proof --------------------------------------------------------------------------------------------------------


def _proof_parts(verdict: Proved) -> Iterator[str]:
    for alignment in verdict.certificate.alignments:
        if len(verdict.certificate.alignments) > 1:
            way = "from the second input to the first" if alignment.backwards else "from the first input to the second"
            yield f"<h2>{way.capitalize()}</h2>"
        couplings = {one.line: one for one in coupling_rows(verdict.program, alignment, verdict.others)}
        yield _side_by_side(verdict.program, couplings)
        for number, texts in enumerate(invariant_texts(verdict.program, alignment, verdict.others), 1):
            items = "".join(f"<li><code>{escape(text)}</code></li>" for text in texts)
            yield f"<h3>What stays true in loop {number}</h3><ul>{items}</ul>"
    if not verdict.certificate.alignments:
        yield f"<p>{escape('; '.join(verdict.lines))}</p>{_listing(verdict.program)}"


def _listing(program: Program) -> str:
    return f"<pre>{escape(program_text(program))}</pre>"


def _side_by_side(program: Program, couplings: Mapping[int, CouplingRow]) -> str:
    head = "".join(f"<div><code>{escape(line)}</code></div>" for line in head_lines(program))
    lines = []
    for text, statement in body_lines(program.body, ""):
        coupling = couplings.get(statement.at.line) if isinstance(statement, Sample | Call) else None
        middle = f"{coupling.sample} ↔ {coupling.sample}′, by {coupling.shift}" if coupling else ""
        line = str(statement.at.line) if statement is not None and statement.at.line else ""
        lines.append(
            f'<tr{" class=draw" * bool(coupling)}><td class="n">{line}</td><td><code>{escape(text)}</code></td>'
            f'<td class="c">{escape(middle)}</td><td><code>{escape(_primed(program, text))}</code></td>'
            f'<td class="c">{escape(coupling.cost) if coupling else ""}</td></tr>'
        )
    return (
        f'{head}<div class="wide"><table><thead><tr><th></th><th>first run</th><th>coupled</th><th>second run</th>'
        f"<th>cost of a draw</th></tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _primed(program: Program, text: str) -> str:
    """A line of the second run, with a prime on whatever may differ."""
    own = {one.name for one in program.private}
    own |= {one.name for one in statements(program.body) if isinstance(one, Assign | Sample | Call)}
    return re.sub(r"[A-Za-z_]\w*", lambda word: f"{word[0]}′" if word[0] in own else word[0], text)


# -- the example ------------------------------------------------------------------------------------------------------


def _example_runs(verdict: Proved) -> PairedRuns | None:
    alignments = verdict.certificate.alignments
    return pair_runs(verdict.program, alignments[0]) if alignments and not verdict.others else None


def _example_table(program: Program, pairing: PairedRuns) -> str:
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
        lines.append(
            f'<tr{" class=draw" * moment.drawn}><td class="n">{moment.line}</td>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + "</tr>"
        )
    at = ", ".join(filter(None, (given(pairing.pair.parameters, ["eps"]), given(pairing.pair.inputs, public))))
    return (
        f"<h2>An example</h2><p>With {escape(at)}: {escape(given(pairing.pair.inputs, private))} beside "
        f"{escape(given(pairing.pair.neighbours, private, '′'))}. The first run's noise is made up; the second run's "
        'follows from it. Both show the same.</p><div class="wide"><table><thead><tr><th></th><th></th>'
        "<th>first run</th><th>shift</th><th>second run</th><th>cost</th><th>so far</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cost_bars(program: Program, pairing: PairedRuns) -> str:
    """One bar per draw, with the cost so far and its own cost; the claim is a line."""
    names = {**pairing.pair.parameters, **pairing.pair.inputs}
    epsilon = value_of(program.epsilon, names)  # type: ignore[arg-type]
    claim = Fraction(epsilon) if isinstance(epsilon, int | Fraction) else Fraction(0)
    draws = [moment for moment in pairing.moments if moment.drawn]
    widest = max(claim, sum((moment.cost for moment in draws), Fraction(0)), Fraction(1, 1000))
    bars, spent = [], Fraction(0)
    for place, moment in enumerate(draws):
        bars.append(_bar(place, moment, spent / widest, moment.cost / widest))
        spent += moment.cost
    at = _LABEL_WIDTH + float(claim / widest) * (_WIDTH - _LABEL_WIDTH - 20)
    tall = len(draws) * _ROW_HEIGHT + 30
    title = f"The cost adds up to {value_text(spent)} of {value_text(claim)}"
    line = (
        f'<line class="axis" x1="{at:.0f}" x2="{at:.0f}" y1="0" y2="{tall - 22}"/>'
        f'<text x="{at:.0f}" y="{tall - 6}" text-anchor="end">claim: {escape(value_text(claim))}</text>'
    )
    return _svg(title, "".join(bars) + line, tall)


def _svg(title: str, inside: str, tall: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dcp" viewBox="0 0 {_WIDTH} {tall}" width="{_WIDTH}" '
        f'height="{tall}" role="img"><title>{escape(title)}</title><style>{_SVG_STYLE}</style>{inside}</svg>'
    )


def _bar(place: int, moment: PairedValue, before: Fraction, cost: Fraction) -> str:
    room, top = _WIDTH - _LABEL_WIDTH - 20, place * _ROW_HEIGHT
    spent = float(before) * room
    text = f"{moment.name} (line {moment.line}), shift {value_text(moment.shift)}"
    return (
        f'<text x="0" y="{top + 17}">{escape(text)}</text>'
        f'<rect class="bar" opacity=".35" x="{_LABEL_WIDTH}" y="{top + 4}" width="{spent:.1f}" height="16"/>'
        f'<rect class="now" x="{_LABEL_WIDTH + spent:.1f}" y="{top + 4}" width="{float(cost) * room:.1f}" height="16"/>'
    )


# -- the counterexample -----------------------------------------------------------------------------------------------


def _probability_bars(verdict: Refuted) -> str:
    """Bars of the event's probability for each input, and of what the claim allows."""
    counterexample = verdict.counterexample
    most = counterexample.allowed.high * counterexample.second.high + counterexample.delta
    figures = (
        ("given the first input", counterexample.first.low, "now", probability_text(counterexample.first)),
        ("given the second", counterexample.second.high, "bar", probability_text(counterexample.second)),
        ("the first may have at most", most, "bar", probability_text(most)),
    )
    widest, room = max(*(value for _, value, _, _ in figures), Fraction(1, 10**9)), _WIDTH - _LABEL_WIDTH - 110
    lines = []
    for place, (text, value, kind, label) in enumerate(figures):
        top, long = place * _ROW_HEIGHT, float(value / widest) * room
        lines.append(
            f'<text x="0" y="{top + 17}">{text}</text>'
            f'<rect class="{kind}" x="{_LABEL_WIDTH}" y="{top + 4}" width="{long:.1f}" height="16"/>'
            f'<text x="{_LABEL_WIDTH + long + 6:.1f}" y="{top + 17}">{escape(label)}</text>'
        )
    return _svg(counterexample.event, "".join(lines), len(figures) * _ROW_HEIGHT + 8)

"""What people are told of a session in a few lines: who learns what, how much noise there is, what a coalition learns.

The whole promise, with all that it assumes, is the statement; this is what to read first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.core.statement import Secrecy
from discreet.core.text import number
from discreet.verbs.combine import distributed, horizontal_or_vertical
from discreet.verbs.combine.distributed import LaplacePart, Part, SkellamPart
from discreet.verbs.combine.functions.parse import function
from discreet.verbs.combine.functions.sums import Sum
from discreet.verbs.combine.terms import Terms

if TYPE_CHECKING:
    from discreet.verbs.combine.symbolic.learnt import Learnt

_NAMED = 3
_LEAVES = "masked"
"""Before this message a party leaves, if it does: later ones are in the result."""
_LAPLACE, _NORMAL = math.log(20), 1.96
"""Within so many scales, or deviations, 95 of 100 draws lie."""
_COUNTED = ("sum", "count", "histogram", "table")
"""Functions whose result is the totals themselves."""


def brief(terms: Terms, included: Sequence[str] = ()) -> tuple[str, str]:
    """Who learns what, and how much noise there is; after a session, with those whose values are in the result."""
    statement = horizontal_or_vertical.statement(terms)
    assert statement.secrecy is not None  # noqa: S101  # every session has it
    said = [f"Who learns what: {_secrecy(statement.secrecy)}"]
    stay, brought = (
        len(included),
        [party for party in terms.parties if not horizontal_or_vertical.brings_nothing(terms, party)],
    )
    if 0 < stay < len(brought):
        said.append(f"But some left: to any {stay - 1} of the {stay} in the result it gives the last one's value away.")
    learns = " ".join((*said, *horizontal_or_vertical.reveals(terms)))
    if statement.loss is None:
        return learns, "Noise: none. The result is exact, and may itself tell something about somebody."
    off = error(terms, len(included))
    return learns, f"Noise: {statement.loss} for each {statement.unit}.{f' {off}' if off else ''}"


def error(terms: Terms, staying: int = 0) -> str:
    """How far off a result with noise is, when so many parties (0: all) added theirs; nothing without noise."""
    if terms.epsilon is None:
        return ""
    asked = function(terms.function)
    if asked.name not in _COUNTED:
        return "How far off it is depends on how many rows there are."
    [part] = distributed.parts(terms, asked.figures(terms))
    exact = math.ceil(_reach(part, staying or len(terms.parties)))
    off = round(exact, min(0, 2 - len(str(exact))))
    shown = asked.answer([off] * asked.length, terms) if isinstance(asked, Sum) else off
    several = isinstance(shown, list) or asked.name in ("histogram", "table")
    shown = shown[0] if isinstance(shown, list) else shown
    return f"{'Each number' if several else 'The result'} is off by up to about {shown:,} in 95 of 100 sessions."


def learnt(terms: Terms, found: Learnt) -> str:
    """What a coalition learns, in words that fit the function."""
    name = terms.function.split()[0]
    if name == Sum.name:
        return str(found)
    said = str(found).replace("the sum itself gives", f"the totals for {name} give")
    return said.replace("the sum", f"the totals for {name}").replace("'s value", "'s figures")


def afterwards(terms: Terms, coalition: Sequence[str], gone: Sequence[str] = ()) -> str:
    """What a coalition learns if ``gone`` left, or as many others as may; nothing if nobody may."""
    from discreet.verbs.combine.symbolic.coalition import learns
    from discreet.verbs.combine.symbolic.learnt import listed

    others = [party for party in terms.parties if party not in coalition]
    spare = len(terms.parties) - (terms.threshold or len(terms.parties))
    left = [party for party in gone if party in others] if gone else others[1:][-spare:] if spare else []
    if not left:
        return ""
    found = learnt(terms, learns(terms, terms.parties, coalition, drops=dict.fromkeys(left, _LEAVES)))
    if gone:
        return f"In the session that was run {listed(left)} left: {found}"
    return f"At worst, if {listed(left)} left (at least {terms.threshold} must stay): {found}"


def alone_with_another(terms: Terms) -> str:
    """What two should know before they begin; nothing if there are more, or noise, or other columns."""
    if len(terms.parties) > 2 or terms.epsilon is not None or horizontal_or_vertical.joins(terms):
        return ""
    what = "value" if terms.function.split()[0] == Sum.name else "figures"
    return f"With two parties each learns the other's {what} from the result itself: no protocol can prevent that."


def _secrecy(secrecy: Secrecy) -> str:
    some, count = secrecy.withstands, len(secrecy.parties)
    if not some:
        return str(secrecy)
    size = len(some[0])
    if len(some) == math.comb(count, size) and all(len(one) == size for one in some):
        together = "no party alone learns" if size == 1 else f"also up to {size} of {count} together learn"
        return f"each party its own value and the result; {together} {'' if size == 1 else 'no '}more."
    named = "; ".join(" and ".join(one) for one in some[:_NAMED])
    more = f", and {number(len(some) - _NAMED, 'other coalition')}" if len(some) > _NAMED else ""
    return f"each party its own value and the result; no more also for {named}{more} together."


def _reach(part: Part, staying: int) -> float:
    """What the noise of so many parties exceeds in 5 of 100 cases, about."""
    if isinstance(part, LaplacePart):
        return _LAPLACE * float(part.scale) * math.sqrt(staying / part.honest)
    assert isinstance(part, SkellamPart)  # noqa: S101  # there are two
    return _NORMAL * math.sqrt(2 * staying * part.rate)

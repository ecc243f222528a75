"""Short summaries of a session: who learns what, how much noise there is, what a coalition learns.

The whole promise, with all that it assumes, is the statement; this is what to read first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.core.families import COMBINE_FUNCTIONS
from discreet.core.statement import Secrecy
from discreet.core.text import number
from discreet.verbs.combine import distributed_noise, session
from discreet.verbs.combine.distributed_noise import LaplaceShare, NoiseShare, SkellamShare
from discreet.verbs.combine.functions.sums import Mean, Sum
from discreet.verbs.combine.terms import Terms

if TYPE_CHECKING:
    from discreet.verbs.combine.symbolic.leakage import Leakage

_NAMED_COALITIONS = 3
_DROPOUT_KIND = "masked"
"""Message before which a dropout leaves; anyone who leaves later is in the result."""
_LAPLACE_SCALES, _NORMAL_DEVIATIONS = math.log(20), 1.96
"""Scales, or standard deviations, within which 95 of 100 draws lie."""
_EXAMPLE_ROWS = 1_000
"""Rows for which the error of a noisy mean is told."""
_TOTAL_FUNCTIONS = ("sum", "count", "histogram", "table")
"""Functions whose result is the totals themselves."""


def brief(terms: Terms, included: Sequence[str] = ()) -> tuple[str, str]:
    """Who learns what, and how much noise there is; ``included`` are the parties in the result, after a session."""
    statement = session.statement(terms)
    assert statement.secrecy is not None  # noqa: S101  # every session has it
    sentences = [f"Who learns what: {_secrecy(statement.secrecy)}"]
    stay, brought = (len(included), [party for party in terms.parties if not session.brings_nothing(terms, party)])
    if 0 < stay < len(brought):
        sentences.append(
            f"But some dropped out: any {stay - 1} of the {stay} in the result can compute the other one's value."
        )
    learns = " ".join((*sentences, *session.reveals(terms)))
    if statement.loss is None:
        return learns, "Noise: none. The result is exact, and may itself reveal something about a person."
    off = expected_error(terms, len(included))
    return learns, f"Noise: {statement.loss} for each {statement.unit}.{f' {off}' if off else ''}"


def expected_error(terms: Terms, staying: int = 0) -> str:
    """Expected error of a result with noise of ``staying`` parties (0: all); empty without noise."""
    if terms.epsilon is None:
        return ""
    function = COMBINE_FUNCTIONS.parse(terms.function)
    if function.name == Mean.name:
        off = _mean_error(function, terms, staying or len(terms.parties))
        return (
            f"With {_EXAMPLE_ROWS:,} rows the mean is off by up to about {off:.2g} in 95 of 100 sessions; "
            "with ten times as many, by a tenth of that."
        )
    if function.name not in _TOTAL_FUNCTIONS:
        return "Its error depends on the number of rows."
    [part] = distributed_noise.noise_shares(terms, function.sensitivities(terms))
    exact = math.ceil(_reach(part, staying or len(terms.parties)))
    off = round(exact, min(0, 2 - len(str(exact))))
    shown = function.answer([off] * function.length, terms) if isinstance(function, Sum) else off
    several = isinstance(shown, list) or function.name in ("histogram", "table")
    shown = shown[0] if isinstance(shown, list) else shown
    return f"{'Each number' if several else 'The result'} is off by up to about {shown:,} in 95 of 100 sessions."


def describe_leakage(terms: Terms, leakage: Leakage) -> str:
    """Describe what a coalition learns, in words that fit the function."""
    name = terms.function.split()[0]
    if name == Sum.name:
        return str(leakage)
    return str(leakage).replace("the sum", f"the totals for {name}").replace("'s value", "'s figures")


def describe_dropout_leakage(terms: Terms, coalition: Sequence[str], gone: Sequence[str] = ()) -> str:
    """Describe what a coalition learns if ``gone`` dropped out, or as many others as may; empty if no one may."""
    from discreet.verbs.combine.symbolic.leakage import leakage, listed

    others = [party for party in terms.parties if party not in coalition]
    spare = len(terms.parties) - (terms.threshold or len(terms.parties))
    left = [party for party in gone if party in others] if gone else others[1:][-spare:] if spare else []
    if not left:
        return ""
    sentence = describe_leakage(
        terms, leakage(terms, terms.parties, coalition, drops=dict.fromkeys(left, _DROPOUT_KIND))
    )
    if gone:
        return f"In the session that was run, {listed(left)} dropped out: {sentence}"
    return f"At worst, if {listed(left)} dropped out (at least {terms.threshold} must stay): {sentence}"


def two_party_warning(terms: Terms) -> str:
    """Warning for two parties without noise; empty for others."""
    if len(terms.parties) > 2 or terms.epsilon is not None or session.joins(terms):
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
    named = "; ".join(" and ".join(one) for one in some[:_NAMED_COALITIONS])
    more = f", and {number(len(some) - _NAMED_COALITIONS, 'other coalition')}" if len(some) > _NAMED_COALITIONS else ""
    return f"each party its own value and the result; no more also for {named}{more} together."


def _mean_error(function: Mean, terms: Terms, staying: int) -> float:
    """Error of a mean of ``_EXAMPLE_ROWS`` values at a bound, where noise in the number of rows counts most."""
    parts = distributed_noise.noise_shares(terms, function.sensitivities(terms))
    rows, distances = (_reach(part, staying) for part in parts)
    encoding = function.measure(terms).encoding
    return (distances + encoding.width * rows) / (2 * _EXAMPLE_ROWS * 10.0**encoding.decimals)


def _reach(part: NoiseShare, staying: int) -> float:
    """Bound that the noise of a number of parties exceeds in about 5 of 100 cases."""
    if isinstance(part, LaplaceShare):
        return _LAPLACE_SCALES * float(part.scale) * math.sqrt(staying / part.honest)
    assert isinstance(part, SkellamShare)  # noqa: S101  # there are two
    return _NORMAL_DEVIATIONS * math.sqrt(2 * staying * part.rate)

"""A session of several parties, whether they hold different rows or different columns of the same people.

Parties with different rows add up by a secure-sum protocol (``horizontal.py``); parties with different columns use the
protocol *join* (``vertical/``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from discreet.core.exact import Number, exact
from discreet.core.families import COMBINE_FUNCTIONS, SUM_PROTOCOLS, VERTICAL_FUNCTIONS
from discreet.core.statement import Statement
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.noise.parameters import signed
from discreet.verbs.combine import horizontal
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.horizontal import Charge
from discreet.verbs.combine.protocols.rings import Paths
from discreet.verbs.combine.result import Result
from discreet.verbs.combine.terms import TermOptions, Terms, checked_name
from discreet.verbs.combine.vertical import session as vertical

JOIN = vertical.PROTOCOL


def agree_terms(parties: Sequence[str] | str, protocol: str, function: str, **options: Unpack[TermOptions]) -> Terms:
    """Make the terms of a session, and raise an error for whatever is wrong with them.

    Parties may be one text with commas, as a command has them, and bounds a text such as ``0:100000``.
    """
    if isinstance(parties, str):
        parties = [checked_name(name.strip()) for name in parties.split(",") if name.strip()]
    low, high = _bounds(options.get("bounds"))
    epsilon, others = options.get("epsilon"), {name: value for name, value in options.items() if name != "bounds"}
    exact_ones = {
        "low": None if low is None else signed(low, "the lower bound"),
        "high": None if high is None else signed(high, "the upper bound"),
        "epsilon": None if epsilon is None else exact(epsilon, "epsilon"),
        "delta": exact(options.get("delta", 0), "delta"),
    }
    terms = Terms(tuple(parties), protocol, function, **{**others, **exact_ones})  # type: ignore[arg-type]
    _require_intended(terms)
    statement(terms)
    return terms


def play(terms: Terms, name: str, crypto: NumericCrypto, data: Data, *, charge: Charge | None = None) -> Play[Result]:
    """Play the part of the party ``name``, who brings ``data``."""
    if joins(terms):
        return vertical.play(terms, name, crypto, data)  # there is no noise in it, so nothing to charge
    return horizontal.play(terms, name, crypto, data, charge=charge)


def statement(terms: Terms) -> Statement:
    """State what a session with these terms promises, and raise an error for whatever is wrong with them."""
    return vertical.statement(terms) if joins(terms) else horizontal.statement(terms)


def reveals(terms: Terms) -> tuple[str, ...]:
    """What every party sees besides the result, as full sentences."""
    return vertical.revealed(terms) if joins(terms) else horizontal.reveals(terms)


def require_sums(terms: Terms) -> Terms:
    """These terms, if what a coalition learns can be computed for them."""
    if joins(terms):
        raise BadInput(
            "What a coalition learns is computed for secure sums, not for joins across columns.",
            hint="The statement says which coalitions a join withstands.",
        )
    return terms


def joins(terms: Terms) -> bool:
    """Whether the parties hold different columns of the same people."""
    return terms.protocol.strip() == JOIN


def hides_rows(terms: Terms) -> bool:
    """Whether there is noise that hides one row, so that nobody may have several."""
    return terms.epsilon is not None and not joins(terms) and not COMBINE_FUNCTIONS.parse(terms.function).replaces


def brings_nothing(terms: Terms, name: str) -> bool:
    """Whether a party has no data to bring, and only helps the others."""
    return joins(terms) and name not in vertical.parse_checked(terms).holders(terms)


def known_functions() -> list[tuple[str, str, str]]:
    """All functions: name, how it is written, and what it gives."""
    known = [(one.name, one.kind.example, one.kind.title) for one in COMBINE_FUNCTIONS.entries()]
    for one in VERTICAL_FUNCTIONS.entries():
        known.append((one.name, one.kind.example, f"{one.kind.title} (protocol {JOIN})"))
    return known


def known_protocols() -> list[tuple[str, str, bool]]:
    """All protocols: name, how it works, and whether parties may drop out."""
    join = (JOIN, "different columns about the same people: private set intersection, then products", False)
    return [*((one.name, one.kind.title, one.kind.drops) for one in SUM_PROTOCOLS.entries()), join]


def _bounds(bounds: Any) -> tuple[Number | None, Number | None]:
    if bounds is None:
        return None, None
    pair = [part.strip() for part in bounds.split(":", 1)] if isinstance(bounds, str) else bounds
    if not isinstance(pair, Sequence) or len(pair) != 2:
        written = "--bounds 0:100000" if isinstance(bounds, str) else "bounds=(0, 100_000)"
        raise BadInput(f"{bounds!r:.60} are no bounds.", hint=f"Write {written}")
    return pair[0], pair[1]


def _require_intended(terms: Terms) -> None:
    """Refuse terms that would compute something other than their author most likely means."""
    known, name = [one[0] for one in known_protocols()], terms.protocol.strip().split(" ")[0]
    if name not in known:
        raise BadInput(f"There is no protocol {name!r}{meant(name, known)}.", hint=f"Known: {', '.join(known)}.")
    if terms.epsilon is not None and terms.epsilon <= 0:
        raise BadInput("epsilon is above 0.", hint="Leave it out for a result without noise.")
    if terms.epsilon is None and (terms.delta or terms.honest):
        raise BadInput(
            f"{'delta' if terms.delta else 'honest'} is about noise, and without epsilon there is none.",
            hint="Say --epsilon 1 as well, or leave it out.",
        )
    rings = len(terms.parties) // 2
    if name == Paths.name and isinstance(paths := SUM_PROTOCOLS.parse(terms.protocol), Paths) and paths.count > rings:
        raise BadInput(
            f"Among {len(terms.parties)} parties there {'is' if rings == 1 else 'are'} only {rings} different "
            f"ring{'s' * (rings > 1)}, not {paths.count}: further ones would protect nobody.",
            hint=f"Write paths count={rings}, or use masks." if rings > 1 else "Use masks or shares.",
        )

"""A session of either kind: across rows (``session.py``), or across columns by the protocol *join* (``vertical/``)."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.exact import Number, exact
from discreet.core.statement import Statement
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.noise.parameters import signed
from discreet.verbs.combine import session
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.functions.parse import function
from discreet.verbs.combine.protocols.parse import PROTOCOLS, protocol
from discreet.verbs.combine.protocols.paths import Paths
from discreet.verbs.combine.session import Charge, Result
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.tools import Numeric
from discreet.verbs.combine.vertical import session as across

JOIN = across.PROTOCOL


def agreed(
    parties: Sequence[str],
    way: str,
    asked: str,
    *,
    bounds: tuple[Number, Number] | None = None,
    decimals: int = 0,
    threshold: int = 0,
    adder: str = "",
    epsilon: Number | None = None,
    delta: Number = 0,
    honest: int = 0,
    unit: str = "person",
) -> Terms:
    """Terms that parties can agree on, for what is ``asked`` by a ``way``; whatever is wrong with them is an error."""
    terms = Terms(
        parties=tuple(parties),
        protocol=way,
        function=asked,
        low=None if bounds is None else signed(bounds[0], "the lower bound"),
        high=None if bounds is None else signed(bounds[1], "the upper bound"),
        decimals=decimals,
        threshold=threshold,
        adder=adder,
        epsilon=None if epsilon is None else exact(epsilon, "epsilon"),
        delta=exact(delta, "delta"),
        honest=honest,
        unit=unit,
    )
    _require_meant(terms)
    statement(terms)
    return terms


def _require_meant(terms: Terms) -> None:
    """Refuse what would be computed in another way than somebody thinks who writes it."""
    known, name = (*PROTOCOLS, JOIN), terms.protocol.strip().split(" ")[0]
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
    if name == Paths.name and isinstance(paths := protocol(terms.protocol), Paths) and paths.count > rings:
        raise BadInput(
            f"Among {len(terms.parties)} parties there {'is' if rings == 1 else 'are'} only {rings} different "
            f"ring{'s' * (rings > 1)}, not {paths.count}: further ones would protect nobody.",
            hint=f"Write paths count={rings}, or use masks." if rings > 1 else "Use masks or shares.",
        )


def play(terms: Terms, name: str, tools: Numeric, data: Data, *, charge: Charge | None = None) -> Play[Result]:
    """What the party ``name`` does, who brings ``data``."""
    if joins(terms):
        return across.play(terms, name, tools, data)  # there is no noise in it, so nothing to charge
    return session.play(terms, name, tools, data, charge=charge)


def statement(terms: Terms) -> Statement:
    """What a session with these terms promises; whatever is wrong with them is an error here."""
    return across.statement(terms) if joins(terms) else session.statement(terms)


def reveals(terms: Terms) -> tuple[str, ...]:
    """What everybody sees besides the result, as full sentences."""
    return across.revealed(terms) if joins(terms) else session.reveals(terms)


def require_sums(terms: Terms) -> Terms:
    """These terms, if what a coalition learns can be computed for them."""
    if joins(terms):
        raise BadInput(
            "What a coalition learns is computed for sums, not for what is joined across columns.",
            hint="What is withstood there is in the statement.",
        )
    return terms


def joins(terms: Terms) -> bool:
    """Whether the parties hold different columns about the same people."""
    return terms.protocol.strip() == JOIN


def hides_rows(terms: Terms) -> bool:
    """Whether there is noise that hides one row, so that nobody may have several."""
    return terms.epsilon is not None and not joins(terms) and not function(terms.function).replaces


def brings_nothing(terms: Terms, name: str) -> bool:
    """Whether a party has no data to bring, and only helps the others."""
    return joins(terms) and name not in across.checked(terms).holders(terms)

"""A session of either kind: across rows (``session.py``), or across columns by the protocol *join* (``vertical/``)."""

from __future__ import annotations

from discreet.combine import session
from discreet.combine.data import Data
from discreet.combine.effects import Play
from discreet.combine.session import Charge, Result
from discreet.combine.terms import Terms
from discreet.combine.tools import Numeric
from discreet.combine.vertical import session as across
from discreet.core.statement import Statement
from discreet.errors import BadInput


def play(terms: Terms, name: str, tools: Numeric, data: Data, *, charge: Charge | None = None) -> Play[Result]:
    """What the party ``name`` does, who brings ``data``."""
    if joins(terms):
        return across.play(terms, name, tools, data)  # there is no noise in it, so nothing to charge
    return session.play(terms, name, tools, data, charge=charge)


def statement(terms: Terms) -> Statement:
    """What a session with these terms promises; whatever is wrong with them is an error here."""
    return across.statement(terms) if joins(terms) else session.statement(terms)


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
    return terms.protocol.strip() == across.PROTOCOL

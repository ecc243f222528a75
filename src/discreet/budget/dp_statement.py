"""Statement of every answer on bounded tables, and its assumptions."""

from __future__ import annotations

from fractions import Fraction

from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.loss import Concentrated, Loss, Pure
from discreet.core.statement import Evidence, Statement
from discreet.core.text import number
from discreet.errors import BadInput, NotDeclared
from discreet.noise.parameters import positive

BETA = Fraction(1, 20)
"""How often an error bar may be too short."""


def promised(loss: Loss, *cards: Card) -> Statement:
    """A loss that was proved, given what these cards declare."""
    assumes = ["What the card declares (bounds, categories, rows per unit) was declared without looking at the data."]
    for card in cards:
        two = ", and nobody has two values of it." if card.unit is not None else "."
        assumes.append(card.whose.removesuffix(".") + two)
    assumes = list(dict.fromkeys(assumes))
    whose = next((card.unit for card in cards if card.unit is not None), "row")
    return Statement(whose, loss, evidence=Evidence.PROVED, assumes=tuple(assumes))


def kept_rows(*cards: Card) -> str:
    """Contribution bounds of the bounded tables with these cards, as a step of a recipe."""
    said = [
        "every row was kept as one unit"
        if card.unit is None
        else f"no more than {number(card.rows_per_unit or 0, 'row')} of each {card.unit} counted"
        for card in cards
    ]
    return f"{'; '.join(dict.fromkeys(said))}; values outside their declared bounds were moved to them"


def rows_per_unit(card: Card) -> int:
    """How many rows one unit may have: what a count can change by."""
    if card.unit is None:
        return 1
    if card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not say how many rows one {card.unit} may have.",
            hint="Declare rows_per_unit.",
        )
    return card.rows_per_unit


def loss_of(epsilon: Number | None, rho: Number | None) -> Pure | Concentrated:
    """The loss that is to be spent: exactly one of the two is given."""
    if (epsilon is None) == (rho is None):
        both = "" if epsilon is None else ", not both"
        raise BadInput(f"Say what to spend: an epsilon or a rho{both}.")
    if epsilon is not None:
        return Pure(positive(epsilon, "epsilon"))
    assert rho is not None  # noqa: S101  # one of the two is given
    return Concentrated(positive(rho, "rho"))

"""The price of a question as the Ask page shows it: what it takes, how far off it may be, and whether enough is left.

data-testid: price-beyond, price-stranger, price-synthetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from nicegui import ui

from discreet.core.exact import rounded
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.core.text import number
from discreet.curator.people.person import Person
from discreet.errors import BadInput
from discreet.service.console import theme
from discreet.service.operations.operations import Operations
from discreet.service.views import BudgetView, Spend
from discreet.verbs.ask.price import Quote

GUESS = "1000"
"""Rows behind an average, until someone says how many they expect."""
_ROWS_DIGITS = 15
"""Most digits of the rows that someone expects."""
_USUAL = Fraction(1, 1_000_000)


@dataclass(frozen=True)
class Offer:
    """A question at a price."""

    number: int
    sql: str
    spend: Spend
    quote: Quote
    rows: int | None
    """How many rows are taken to be behind an average."""
    worst: Mapping[str, float]
    """Of each average, how far off it may be if there are few."""


def offered(who: Person, desk: Operations, sql: str, spend: Spend, *, rows: int | None, number: int) -> Offer:
    """The price of a question; of averages also how far off they may be at worst."""
    quote = desk.price(who, [sql], spend)[0]
    averages = [name for name, off in quote.errors.items() if off is None]
    if not averages:
        return Offer(number, sql, spend, quote, None, {})
    fewest = desk.price(who, [sql], spend, rows=1)[0].errors
    worst = {name: off for name in averages if (off := fewest[name]) is not None}
    return Offer(number, sql, spend, desk.price(who, [sql], spend, rows=rows)[0], rows, worst)


def rows_in(text: str) -> int | None:
    """How many rows someone expects, as they typed it."""
    if not text.strip():
        return None
    plain = text.strip().replace(",", "").replace("_", "")
    if not plain.isdecimal() or len(plain) > _ROWS_DIGITS or not int(plain):
        raise BadInput("The rows you expect are a whole number above 0.", hint="A rough guess will do, such as 1000.")
    return int(plain)


def usual_delta(views: Sequence[BudgetView]) -> str:
    """A delta to begin with: a millionth, but no more than a tenth of each budget's, nor than is left of it."""
    parts = [min(theme.delta_left(view.left, view.budget), view.budget.ceiling.delta / 10) for view in views]
    least = min([_USUAL, *parts]) or _USUAL  # where none is left, the price says so
    down = Context(prec=2, rounding=ROUND_FLOOR).divide(Decimal(least.numerator), Decimal(least.denominator))
    return f"{down.normalize():e}"


def show(offer: Offer, views: Sequence[BudgetView], *, name: str, steward: bool, strangers: Sequence[str]) -> None:
    """All of it. ``views`` are the budgets that it takes from: those of ``name``, and those of all together."""
    quote = offer.quote
    ui.label("Free" if quote.answered else theme.amount(quote.loss)).classes("dc-big")
    if quote.answered:
        theme.prose("This was answered before: it costs nothing, and gets the same answer.", soft=True)
    if quote.synthetic:
        with ui.element("div").classes("dc-stack dc-tight").props("data-testid=price-synthetic"):
            theme.badge("synthetic", "warn").classes("dc-own")
            theme.prose(
                f"More than is left. The synthetic stand-in of {', '.join(quote.synthetic)} answers instead, free of "
                "charge: its figures are about people who never existed, and are marked. The errors below are those of "
                "a paid answer.",
                soft=True,
            ).classes("dc-small")
    for said in strangers:
        ui.label(said).classes("dc-refusal dc-hint").props("data-testid=price-stranger")
    _errors(offer)
    for view in views:
        over = not quote.answered and theme.beyond(quote.loss, view.left, view.budget)
        if view.analyst == name or over:
            _budget(quote, view, own=view.analyst == name)
        if over:
            with ui.element("div").classes("dc-stack dc-tight").props("data-testid=price-beyond"):
                theme.badge("more than is left", "bad").classes("dc-own")
                there = theme.delta_left(view.left, view.budget)
                theme.prose(advice(quote.loss, view.left, there, steward=steward)).classes("dc-small")


def is_covered(quote: Quote, views: Sequence[BudgetView]) -> bool:
    """Whether a question can be asked: it is free, a stand-in answers, or every budget it takes from has enough."""
    if quote.answered or quote.synthetic:
        return True
    return not any(theme.beyond(quote.loss, view.left, view.budget) for view in views)


def advice(asked: Loss, left: Loss, delta_left: Fraction, *, steward: bool) -> str:
    """What can be done when a budget does not cover what is asked."""
    raised = "raise the limit on the Budget page" if steward else "ask a steward to raise your budget, and say why"
    if _none(left):
        return f"Nothing is left to spend, however little. You can open earlier answers for free, or {raised}."
    if theme.delta_of(asked) > delta_left:
        some = f"δ {rounded(delta_left, 2)} is left: choose less" if delta_left else "there is no δ to spend"
        return (
            f"It takes δ {rounded(theme.delta_of(asked), 2)}, and {some}. You can also group by columns whose values "
            f"are on the table's card, which takes no δ, or {raised}."
        )
    return (
        f"It takes {theme.short(asked)}, and {theme.short(left)} is left: spend less on it (its error "
        f"grows), open earlier answers for free, or {raised}."
    )


def _errors(offer: Offer) -> None:
    if not offer.quote.errors:
        return
    ui.label("Expected error, 95 times in 100").classes("dc-small dc-soft")
    theme.facts([(name, _error(offer, name, off)) for name, off in offer.quote.errors.items()])
    if not offer.worst:
        return
    if any(offer.quote.errors[name] == worst for name, worst in offer.worst.items()):
        theme.badge("at this price it would say nothing", "bad").classes("dc-own")
    far = ", ".join(f"{name} by {theme.number(off)}" for name, off in offer.worst.items())
    theme.prose(
        f"The average of few rows has a larger error, up to the whole range ({far}), at the same price. Enter below "
        "how many rows you expect.",
        soft=True,
    ).classes("dc-small")


def _error(offer: Offer, name: str, off: float | None) -> str:
    if off is None:
        return f"up to ± {theme.number(offer.worst[name])}" if name in offer.worst else "the answer will say"
    behind = f", for a group of {number(offer.rows, 'row')}" if name in offer.worst and offer.rows else ""
    return f"± {theme.number(off)}{behind}"


def _budget(quote: Quote, view: BudgetView, *, own: bool) -> None:
    takes = 0.0 if quote.answered else theme.share(quote.loss, view.budget)
    striped = "; striped is what this takes" if takes else ""
    whose = "Your budget" if own else "Table budget"
    ui.label(f"{whose} on {view.table}{striped}").classes("dc-small dc-soft")
    theme.budget_gauge(view.left, view.budget, asked=quote.loss if takes else None, account=view.account)


def _none(left: Loss) -> bool:
    match left:
        case Pure(epsilon=most) | Approximate(epsilon=most) | Concentrated(rho=most):
            return most == 0
        case _:
            return not any(one for _, one in left.curve)

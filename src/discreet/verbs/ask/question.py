"""A question with its price: everything about an answer that is known before any row is looked at."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from sqlglot import exp

from discreet.core.exact import Number, exact
from discreet.core.loss import Loss
from discreet.core.table import Table
from discreet.errors import BadInput, BadQuery
from discreet.verbs.ask.figure import Mean
from discreet.verbs.ask.identity import fingerprint
from discreet.verbs.ask.parse import statements_of
from discreet.verbs.ask.plan import Plan, plan
from discreet.verbs.ask.postprocess import ERROR
from discreet.verbs.ask.price import Price, price

_RELATIVE = re.compile(r"(?P<share>[0-9.]+) *%( +at +95 *%)?")
_LONGEST = 20_000
_DIGITS = range(100, 1000)
_POWERS = range(-8, 2)


@dataclass(frozen=True)
class Planned:
    """A question that can be asked, at whatever price."""

    text: str
    """As it was asked, without comments."""
    plan: Plan
    fingerprint: str
    """The same for all questions that are the same, however they are written."""


@dataclass(frozen=True)
class Question:
    """A question as it will be answered."""

    text: str
    """As it was asked, without comments."""
    fingerprint: str
    """The same for all questions that are the same, however they are written."""
    tables: tuple[str, ...]
    """The private tables it is about, in order: each is charged."""
    plan: Plan
    price: Price
    twins: Mapping[str, str]
    """The identities of all tables it reads, public ones too."""

    @property
    def identity(self) -> str:
        """The same for the same question about the same tables at the same loss, and for no other."""
        said = [sorted(self.twins.items()), self.fingerprint, self.price.loss.to_dict()]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


@dataclass(frozen=True)
class Quote:
    """What an answer would cost, how far its figures would be off, and what would be left."""

    loss: Loss
    errors: Mapping[str, float | None]
    """By column of the answer, with 95 % confidence; ``None``: it shows only in the answer (for an average give the
    number of rows you expect)."""
    left: Loss
    """What the analyst may spend, before this."""
    answered: bool
    """Whether this was answered before: then it is free."""
    synthetic: tuple[str, ...] = ()
    """The tables whose synthetic twins would answer instead, for nothing, because the budget does not cover it."""

    def __str__(self) -> str:
        lines = [
            "Answered before: it is free." if self.answered else f"This would cost {self.loss}; {self.left} is left."
        ]
        if self.synthetic:
            lines.append(
                f"The budget does not cover it: the synthetic twin of {' and '.join(self.synthetic)} would answer "
                "instead, for nothing, about people who never existed. The errors below are those of a paid answer."
            )
        for name, error in self.errors.items():
            lines.append(f"  {name}: " + ("±" + _short(error) if error is not None else "the answer will say"))
        return "\n".join(lines)


def questions_in(text: str) -> list[str]:
    """The questions of a file, divided by semicolons."""
    parsed = statements_of(text)
    found = [one.sql("duckdb", comments=False) for one in parsed if one is not None and type(one) is not exp.Semicolon]
    if not found:
        raise BadQuery("There is no question in this file.", hint="Write SELECTs, with a semicolon between two.")
    return found


def planned(text: str, tables: Mapping[str, Table]) -> Planned:
    """Plan a question about ``tables``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadQuery("The question has half a character in it, which could not be kept.") from None
    spelled = normal(text)
    made = plan(spelled, tables)
    return Planned(spelled, made, fingerprint(made, tables))


def pose(
    asked: Planned,
    twins: Mapping[str, str],
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
) -> Question:
    """Price a question, for an epsilon (and a delta, where groups are not declared) or for a rho."""
    rows = asked.plan.rows
    read = {name: twins[name] for name in sorted(rows.sources | rows.public)}
    priced = price(asked.plan, epsilon, delta, rho)
    bars = expected_errors(asked.plan, priced, 1).values()
    if not all(bar is None or 0 <= bar < inf for bar in bars):  # which no row decides, so it is said before the charge
        raise BadInput("At this price an error bar would not be a finite number.", hint="Spend more on the question.")
    return Question(asked.text, asked.fingerprint, tuple(sorted(rows.sources)), asked.plan, priced, read)


def normal(text: str) -> str:
    """A question in one spelling: spaces, comments and the case of keywords do not matter.

    What cannot be read is left as it is, for ``plan`` to say why.
    """
    if len(text) > _LONGEST:
        return text
    try:
        statements = statements_of(text)
        first = statements[0] if len(statements) == 1 else None
        return text if first is None else first.sql("duckdb", comments=False, copy=False)
    except (BadQuery, RecursionError):
        return text


def expected_errors(planned: Plan, priced: Price, rows: int | None) -> dict[str, float | None]:
    """How far each column with an error bar will be off. An average's needs the number of rows behind it.

    Its values are taken to be as far from the middle of their bounds as they can be: it will be less.
    """
    most = Fraction(rows or 1, planned.rows.most)
    noisy = {name: np.array([float(most * measure.most)]) for name, measure in planned.measures.items()}
    off = priced.errors()
    errors: dict[str, float | None] = {}
    for name, figure in _barred(planned):
        bars = (
            None
            if isinstance(planned.figures[figure], Mean) and rows is None
            else planned.figures[figure].error(noisy, off)
        )
        errors[name] = None if bars is None else float(bars[0])
    return errors


def smallest_epsilon(planned: Plan, delta: Number, error: Number, expect: Number | None, rows: int | None) -> Fraction:
    """The smallest epsilon, of three digits, for which every error bar is at most ``error``.

    ``error`` is in the figure's own unit, or a share of the figure that is expected ("5%", with ``expect``).
    """
    wanted = _wanted(error, expect)
    price(planned, 1, delta)  # what is wrong with every epsilon is said here

    def enough(epsilon: Fraction) -> bool:
        try:
            errors = expected_errors(planned, price(planned, epsilon, delta), rows)
        except BadInput:  # so little that its noise could not be drawn
            return False
        open_ = [name for name, one in errors.items() if one is None]
        if open_ or not errors:
            which = f"{', '.join(open_)} has" if open_ else "This question has"
            raise BadInput(
                f"{which} no error that is known beforehand.",
                hint="For an average, say how many rows you expect (rows=…, --rows).",
            )
        return all(one is not None and one <= wanted for one in errors.values())

    return _first(enough)


def _wanted(error: Number, expect: Number | None) -> Fraction:
    found = _RELATIVE.fullmatch(error.strip()) if isinstance(error, str) else None
    if found is None:
        wanted = exact(error, "error")
    elif expect is None:
        raise BadInput(
            "An error in per cent is a share of the figure, and discreet will not look at the figure to find it.",
            hint="Say how large you expect it to be (expect=…, --expect), or give the error in the figure's own unit.",
        )
    else:
        wanted = exact(found["share"], "error") / 100 * exact(expect, "expect")
    if wanted == 0:
        raise BadInput("No epsilon gives an error of 0.", hint="Say how large it may be.")
    return wanted


def _first(enough: Callable[[Fraction], bool]) -> Fraction:
    """The first of 1.00e-6, 1.01e-6, … 999 that is enough, where all after one that is enough are too."""
    low, high = 0, len(_POWERS) * len(_DIGITS)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(_epsilon(middle)) else (middle + 1, high)
    if low == len(_POWERS) * len(_DIGITS):
        raise BadInput("No epsilon that protects anybody gives so small an error.", hint="Allow a larger one.")
    return _epsilon(low)


def _epsilon(place: int) -> Fraction:
    power, digits = divmod(place, len(_DIGITS))
    return _DIGITS[digits] * Fraction(10) ** _POWERS[power]


def _barred(planned: Plan) -> Iterator[tuple[str, str]]:
    """The answer's columns that have an error bar, each with the figure it is."""
    for one in planned.after.expressions:
        inner = one.unalias()
        if isinstance(inner, exp.Column) and inner.name.endswith(ERROR) and one.alias.endswith(ERROR):
            figure = inner.name.removesuffix(ERROR)
            if figure in planned.figures:
                yield one.alias.removesuffix(ERROR), figure


def _short(number: float) -> str:
    return f"{number:,.4g}" if abs(number) < 10_000 else f"{number:,.0f}"

"""Price of an answer: its loss, the noise each measure gets for it, and the error bars that follow.

Why an answer is private. One unit has at most ``rows.most`` rows, and changes every measure, added up over all
groups, by at most ``measure.most``.

* For an epsilon, each measure gets discrete Laplace noise that loses its share of epsilon for that change, and a
  quantile or a mode its share in permute-and-flip; the shares add up to epsilon (Dwork and others 2006).
* For a rho, each gets discrete Gaussian noise that loses its share of rho for the squares of the changes, which add up
  to at most ``measure.squares``; a quantile is chosen at the epsilon with epsilon² / 8 = its share, since the
  exponential mechanism has a bounded range (Bun and Steinke 2016; Cesar and Rogers 2021). In the groups a unit
  is in, a choice loses epsilon in proportion to its rows there, and the squares of parts are at most the square
  of the whole. Shares of rho add up to rho.

The groups that are shown are either declared beforehand, or those whose noisy number of units passes a threshold
that a group of one unit passes with at most its part of delta; a unit is in at most ``owned.groups`` groups, so all
groups that exist only because of it stay hidden but for delta (Korolova and others 2009); where a question has several
parts with such groups, delta is shared among them. That holds in both
directions. With p the chance of some outcomes without the unit, and q with it: q <= e^ε p + δ, the δ for those in which
one of its own groups is shown; and p (1 - δ) <= e^ε q, since its own groups are hidden independently of the rest, so
p <= e^ε q + δ.

How a loss is shared: every figure asks for one part for each measure it is made of, the choice of undeclared groups
for one more, and all parts are equal. What several ask for is measured once, with all their parts: no figure is worse
off than if each were measured on its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from discreet.core.exact import Number, exact, sqrt_lower
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.errors import BadInput
from discreet.noise.deviation import Noise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import Selection
from discreet.releases.method import loss_of
from discreet.verbs.ask.plan import Part, Plan
from discreet.verbs.ask.postprocess import Mean
from discreet.verbs.ask.result_columns import Bar

_BETA = Fraction(48, 1000)
"""How often a measure is further off than its error."""
_LAPLACE, _GAUSSIAN = 2.1184, 1.9774
"""Deviations that a Laplace draw is within with 95 %, and a Gaussian one with 95.2 %."""
_RELATIVE = re.compile(r"(?P<share>[0-9.]+) *%( +at +95 *%)?")
"""An error as a share of the figure: "5%", "5 % at 95 %"."""
_DIGITS = range(100, 1000)
_POWERS = range(-8, 2)


@dataclass(frozen=True)
class Price:
    """What an answer costs, and the noise each measure gets for it."""

    loss: Loss
    noise: Mapping[str, Noise]
    choices: Mapping[str, Selection]
    thresholds: Mapping[str, int]
    """By measure of units: a group is shown if its noisy number of units is above this."""

    @property
    def threshold(self) -> int | None:
        """The first of the thresholds; ``None``: all groups are declared."""
        return next(iter(self.thresholds.values()), None)

    def errors(self, added: int = 1) -> dict[str, int]:
        """How far each measure may be off, in its own steps, with 95.2 % confidence: 0.2 % are for rounding.

        ``added``: how many groups are added up.
        """
        return {name: _error(noise, added) for name, noise in self.noise.items()}

    def spreads(self, added: int = 1) -> dict[str, float]:
        """How far each may be off as a part of a sum, in its own steps.

        A sum of independent noises is within the root of the sum of the squares of these with 95 %. One Laplace draw
        is within 2.1184 deviations with 95 %, and a sum of draws of any scales with 95 to 96.6 %: the more draws, the
        nearer it is to Gaussian (computed for many weights in the tests). A sum of Gaussian draws is Gaussian.
        """
        return {name: _spread(noise) * sqrt(added) for name, noise in self.noise.items()}


def price(plan: Plan, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None) -> Price:
    """The price of an answer that loses an epsilon or a rho. Undeclared groups need an epsilon and a delta."""
    whole, chance = loss_of(epsilon, rho), exact(delta, "delta")
    if not plan.measures and not plan.quantiles:  # declared groups alone: no row is looked at
        return Price(Pure(0), {}, {}, {})
    if not plan.declared:
        _require_delta(plan, whole, chance)
    shares = _shares(plan)
    noise: dict[str, Noise] = {}
    choices: dict[str, Selection] = {}
    for name, measure in plan.measures.items():
        if isinstance(whole, Concentrated):
            noise[name] = DiscreteGaussian(measure.squares / (2 * whole.rho * shares[name]))
        else:
            noise[name] = DiscreteLaplace.for_loss(Pure(whole.epsilon * shares[name]), measure.most)
        noise[name].require_drawable()  # here, and not once there are many groups, which would tell
    for name, one in plan.quantiles.items():
        sharp = (
            sqrt_lower(8 * whole.rho * shares[name])
            if isinstance(whole, Concentrated)
            else whole.epsilon * shares[name]
        )
        choices[name] = one.mechanism(Pure(sharp), bounded_range=isinstance(whole, Concentrated))
    if plan.declared or isinstance(whole, Concentrated):
        return Price(whole, noise, choices, {})
    hidden = [part for part in plan.parts if part.units is not None]
    each = {part.units or "": _threshold(part, noise[part.units or ""], chance / len(hidden)) for part in hidden}
    return Price(Approximate(whole.epsilon, chance), noise, choices, each)


def _shares(plan: Plan) -> dict[str, Fraction]:
    """What part of the whole each measure and quantile gets."""
    parts = Counter(name for figure in plan.figures.values() for name in figure.made_of)
    parts.update(part.units for part in plan.parts if part.units is not None)
    return {name: Fraction(part, parts.total()) for name, part in parts.items()}


def _threshold(part: Part, noise: Noise, delta: Fraction) -> int:
    """The smallest t that a group of one unit passes with at most its share of delta: P(alone + noise > t) <= share."""
    alone = part.measures[part.units or ""].each
    return alone + noise.error(min(2 * delta / part.rows.owned.groups, Fraction(1, 2)))


def _require_delta(plan: Plan, whole: Loss, delta: Fraction) -> None:
    open_ = [value.name or "an expression" for value in plan.keys.values() if value.domain is None]
    said = f"The values of {', '.join(open_)} are not declared, so groups are released only"
    if isinstance(whole, Concentrated):
        raise BadInput(
            f"{said} for an epsilon and a delta, not for a rho.",
            hint="Give an epsilon and a delta such as 1e-6, or declare categories on the card.",
        )
    if not 0 < delta < 1:
        raise BadInput(
            f"{said} with a delta above 0.", hint="Give a delta such as 1e-6, or declare categories on the card."
        )


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
    """Tables whose synthetic stand-ins would answer instead, free of charge, because the budget does not cover it."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Kind of each column of the answer to a question, in order."""

    def __str__(self) -> str:
        lines = [
            "Answered before, so it is free." if self.answered else f"This would cost {self.loss}; {self.left} is left."
        ]
        if self.synthetic:
            lines.append(
                f"The budget does not cover it: the synthetic stand-in of {' and '.join(self.synthetic)} "
                "would answer instead, free, about people who never existed. The errors below are those of a "
                "paid answer."
            )
        for name, error in self.errors.items():
            lines.append(f"  {name}: " + ("±" + _short(error) if error is not None else "shown with the answer"))
        return "\n".join(lines)


def expected_errors(planned: Plan, priced: Price, rows: int | None) -> dict[str, float | None]:
    """How far each column with an error bar will be off. An average's needs the number of rows behind it.

    Its values are taken to be as far from the middle of their bounds as they can be: it will be less.
    """
    noisy = {
        name: np.array([float(Fraction(rows or 1, part.rows.most) * measure.most)])
        for part in planned.parts
        for name, measure in part.measures.items()
    }
    off: dict[str, int] = {}
    spreads: dict[str, float] = {}
    for part in planned.parts:
        errors, far = priced.errors(part.added), priced.spreads(part.added)
        off |= {name: errors[name] for name in part.measures}
        spreads |= {name: far[name] for name in part.measures}
    figures = planned.figures

    def error(bar: Bar) -> float | None:
        figure = figures[bar.figure]
        foreseen = bar.foreseen and not (isinstance(figure, Mean) and rows is None)
        bars = figure.error(noisy, off, spreads) if foreseen else None
        return None if bars is None else bar.factor * float(bars[0]) + bar.more

    expected: dict[str, float | None] = {}
    for name, bars in planned.bars.items():
        known = [error(bar) for bar in bars]
        expected[name] = None if None in known else max((one for one in known if one is not None), default=None)
    return expected


def smallest_epsilon(planned: Plan, delta: Number, error: Number, expect: Number | None, rows: int | None) -> Fraction:
    """The smallest epsilon, of three digits, for which every error bar is at most ``error``.

    ``error`` is in the figure's own unit, or a share of the figure that is expected ("5%", with ``expect``).
    """
    wanted = _wanted(error, expect)
    price(planned, 1, delta)  # what is wrong with every epsilon is said here

    def enough(epsilon: Fraction) -> bool:
        try:
            errors = expected_errors(planned, price(planned, epsilon, delta), rows)
            errors = {name: one for name, one in errors.items() if all(bar.foreseen for bar in planned.bars[name])}
        except BadInput:  # so little that its noise could not be drawn
            return False
        open_ = [name for name, one in errors.items() if one is None]
        if open_ or not errors:
            which = f"{', '.join(open_)} has" if open_ else "This question has"
            raise BadInput(
                f"{which} no error known in advance.",
                hint="For an average, give the expected number of rows (rows=…, --rows).",
            )
        return all(one is not None and one <= wanted for one in errors.values())

    return _first(enough)


def _wanted(error: Number, expect: Number | None) -> Fraction:
    found = _RELATIVE.fullmatch(error.strip()) if isinstance(error, str) else None
    if found is None:
        wanted = exact(error, "error")
    elif expect is None:
        raise BadInput(
            "A relative error needs the size of the answer, which discreet will not take from the data.",
            hint="Give the answer you expect (expect=…, --expect), or an absolute error.",
        )
    else:
        wanted = exact(found["share"], "error") / 100 * exact(expect, "expect")
    if wanted == 0:
        raise BadInput("No epsilon gives an error of 0.", hint="Give an error above 0.")
    return wanted


def _first(enough: Callable[[Fraction], bool]) -> Fraction:
    """The first of 1.00e-6, 1.01e-6, … 999 that is enough, where all after one that is enough are too."""
    low, high = 0, len(_POWERS) * len(_DIGITS)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(_epsilon(middle)) else (middle + 1, high)
    if low == len(_POWERS) * len(_DIGITS):
        raise BadInput("No epsilon that protects people gives such a small error.", hint="Allow a larger one.")
    return _epsilon(low)


def _epsilon(place: int) -> Fraction:
    power, digits = divmod(place, len(_DIGITS))
    return _DIGITS[digits] * Fraction(10) ** _POWERS[power]


def _short(number: float) -> str:
    return f"{number:,.4g}" if abs(number) < 10_000 else f"{number:,.0f}"


@lru_cache(maxsize=256)
def _error(noise: Noise, added: int) -> int:
    """Questions of one kind at one price have the same noise."""
    return noise.error(_BETA) if added == 1 else ceil(_spread(noise) * sqrt(added))


def _spread(noise: Noise) -> float:
    return (_LAPLACE if isinstance(noise, DiscreteLaplace) else _GAUSSIAN) * sqrt(noise.variance)

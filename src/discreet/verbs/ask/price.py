"""What an answer costs, and the noise each of its measures gets for it.

Why an answer is private. One unit has at most ``rows.most`` rows, and changes every measure, added up over all
groups, by at most ``measure.most``.

* For an epsilon, each measure gets discrete Laplace noise that loses its share of epsilon for that change, and a
  quantile its share in the exponential mechanism; the shares add up to epsilon (Dwork and others 2006).
* For a rho, each gets discrete Gaussian noise that loses its share of rho for the squares of the changes, which add up
  to at most ``measure.squares``; a quantile is chosen at the epsilon with epsilon² / 8 = its share, since the
  exponential mechanism has a bounded range (Bun and Steinke 2016; Cesar and Rogers 2021). In the groups a unit
  is in, a choice loses epsilon in proportion to its rows there, and the squares of parts are at most the square
  of the whole. Shares of rho add up to rho.

The groups that are shown are either declared beforehand, or those whose noisy number of units passes a threshold
that a group of one unit passes with at most its part of delta; a unit is in at most ``owned.groups`` groups, so all
groups that exist only because of it stay hidden but for delta (Korolova and others 2009). That holds in both
directions. With p the chance of some outcomes without the unit, and q with it: q <= e^ε p + δ, the δ for those in which
one of its own groups is shown; and p (1 - δ) <= e^ε q, since its own groups are hidden independently of the rest, so
p <= e^ε q + δ.

How a loss is shared: every figure asks for one part for each measure it is made of, the choice of undeclared groups
for one more, and all parts are equal. What several ask for is measured once, with all their parts: no figure is worse
off than if each were measured on its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.budget.dp_statement import loss_of, require_drawable
from discreet.core.directed_rounding import sqrt_lower
from discreet.core.exact import Number, exact
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.errors import BadInput
from discreet.noise.deviation import Noise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import Exponential
from discreet.verbs.ask.plan import UNITS, Plan

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Price:
    """What an answer costs, and the noise each measure gets for it."""

    loss: Loss
    noise: Mapping[str, Noise]
    choices: Mapping[str, Exponential]
    threshold: int | None
    """A group is shown if its noisy number of units is above this; ``None``: all groups are declared."""

    def errors(self) -> dict[str, int]:
        """How far each measure may be off, in its own steps, with 97.5 % confidence: a figure has two at most."""
        return {name: _error(noise, (1 - CONFIDENCE) / 2) for name, noise in self.noise.items()}


def price(plan: Plan, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None) -> Price:
    """The price of an answer that loses an epsilon or a rho. Undeclared groups need an epsilon and a delta."""
    whole, chance = loss_of(epsilon, rho), exact(delta, "delta")
    if not plan.declared:
        _require_delta(plan, whole, chance)
    shares = _shares(plan)
    noise: dict[str, Noise] = {}
    choices: dict[str, Exponential] = {}
    for name, measure in plan.measures.items():
        if isinstance(whole, Concentrated):
            noise[name] = DiscreteGaussian(measure.squares / (2 * whole.rho * shares[name]))
        else:
            noise[name] = DiscreteLaplace.for_loss(Pure(whole.epsilon * shares[name]), measure.most)
        require_drawable(noise[name])  # here, and not once there are many groups, which would tell
    for name, one in plan.quantiles.items():
        sharp = (
            sqrt_lower(8 * whole.rho * shares[name])
            if isinstance(whole, Concentrated)
            else whole.epsilon * shares[name]
        )
        choices[name] = Exponential.for_loss(Pure(sharp), one.sensitivity)
    if plan.declared or isinstance(whole, Concentrated):
        return Price(whole, noise, choices, None)
    return Price(Approximate(whole.epsilon, chance), noise, choices, _threshold(plan, noise[UNITS], chance))


def _shares(plan: Plan) -> dict[str, Fraction]:
    """What part of the whole each measure and quantile gets."""
    parts = Counter(name for figure in plan.figures.values() for name in figure.made_of)
    if not plan.declared:
        parts[UNITS] += 1
    return {name: Fraction(part, parts.total()) for name, part in parts.items()}


def _threshold(plan: Plan, noise: Noise, delta: Fraction) -> int:
    """The smallest t that a group of one unit passes with at most its share of delta: P(alone + noise > t) <= share."""
    return plan.measures[UNITS].each + noise.error(min(2 * delta / plan.rows.owned.groups, Fraction(1, 2)))


def _require_delta(plan: Plan, whole: Loss, delta: Fraction) -> None:
    open_ = [value.name or "what is made of a column" for value in plan.keys.values() if value.domain is None]
    said = f"Which values {', '.join(open_)} has is not declared, so groups are shown only"
    if isinstance(whole, Concentrated):
        raise BadInput(
            f"{said} for an epsilon and a delta, not for a rho.",
            hint="Give an epsilon and a delta such as 1e-6, or declare categories on the card.",
        )
    if not 0 < delta < 1:
        raise BadInput(
            f"{said} with a delta above 0.", hint="Give a delta such as 1e-6, or declare categories on the card."
        )


@lru_cache(maxsize=256)
def _error(noise: Noise, beta: Fraction) -> int:
    """Questions of one kind at one price have the same noise."""
    return noise.error(beta)

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

More undeclared groups than there is room for are no answer, and how many there are depends on the rows. So the limit is
drawn: the middle between the room there is and twice that, with discrete Laplace noise that loses ε₀ for as many groups
as a unit can be in, cut to half the room either way. Without the cut, whether there is an answer would lose ε₀; the cut
moves the limit with a chance t, which is so small that the (1 + e^ε₀) t it adds is a part of delta. What it loses is
taken off the epsilon, and what it adds off the delta, before the rest is shared.

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

from discreet.ask.plan import UNITS, Plan
from discreet.budget.bounds import sqrt_lower
from discreet.budget.promise import loss_of, require_drawable
from discreet.core.exact import Number, exact
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.errors import BadInput
from discreet.noise.deviation import Noise
from discreet.noise.entropy import Entropy
from discreet.noise.exponential import Exponential
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.powers import log_upper

CONFIDENCE = Fraction(95, 100)
_OF_LIMITS = Fraction(1, 10)
"""The part of delta that is for limits."""


@dataclass(frozen=True)
class Limit:
    """A limit between the room there is and twice that, drawn so that one unit hardly decides who is beyond it."""

    room: int
    noise: DiscreteLaplace

    @classmethod
    def within(cls, room: int, chance: Fraction) -> Limit:
        """One whose noise is cut with at most a chance: P(|noise| > n) < 2 e^-((n + 1) / scale). Rooms are large."""
        return cls(room, DiscreteLaplace(max(1, int((room // 2 + 1) / log_upper(2 / chance)))))

    def draw(self, entropy: Entropy) -> int:
        """A limit."""
        half = self.room // 2
        return self.room + half + max(-half, min(self.noise.draw(entropy), half))


@dataclass(frozen=True)
class Price:
    """What an answer costs, and the noise each measure gets for it."""

    loss: Loss
    noise: Mapping[str, Noise]
    choices: Mapping[str, Exponential]
    threshold: int | None
    """A group is shown if its noisy number of units is above this; ``None``: all groups are declared."""
    limits: Mapping[str, Limit]
    """How large what depends on rows in size may be, by the names of ``Plan.limits``."""

    def errors(self) -> dict[str, int]:
        """How far each measure may be off, in its own steps, with 97.5 % confidence: a figure has two at most."""
        return {name: _error(noise, (1 - CONFIDENCE) / 2) for name, noise in self.noise.items()}


def price(plan: Plan, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None) -> Price:
    """The price of an answer that loses an epsilon or a rho. Undeclared groups need an epsilon and a delta."""
    whole, chance = loss_of(epsilon, rho), exact(delta, "delta")
    if not plan.declared:
        _require_delta(plan, whole, chance)
    limits = _limits(plan, chance)
    left = _left(plan, whole, limits)
    shares = _shares(plan)
    noise: dict[str, Noise] = {}
    choices: dict[str, Exponential] = {}
    for name, measure in plan.measures.items():
        if isinstance(left, Concentrated):
            noise[name] = DiscreteGaussian(measure.squares / (2 * left.rho * shares[name]))
        else:
            noise[name] = DiscreteLaplace.for_loss(Pure(left.epsilon * shares[name]), measure.most)
        require_drawable(noise[name])  # here, and not once there are many groups, which would tell
    for name, one in plan.quantiles.items():
        sharp = (
            sqrt_lower(8 * left.rho * shares[name]) if isinstance(left, Concentrated) else left.epsilon * shares[name]
        )
        choices[name] = Exponential.for_loss(Pure(sharp), one.sensitivity)
    if plan.declared or isinstance(whole, Concentrated):
        return Price(whole, noise, choices, None, {})
    threshold = _threshold(plan, noise[UNITS], chance * (1 - _OF_LIMITS))
    return Price(Approximate(whole.epsilon, chance), noise, choices, threshold, limits)


def _limits(plan: Plan, delta: Fraction) -> dict[str, Limit]:
    """The limits of a plan, each with its part of delta: (1 + e^ε₀) t, where ε₀ is below 1."""
    wanted = plan.limits
    return {name: Limit.within(room, _OF_LIMITS * delta / (4 * len(wanted))) for name, (room, _) in wanted.items()}


def _left(plan: Plan, whole: Pure | Concentrated, limits: Mapping[str, Limit]) -> Pure | Concentrated:
    """What is left of a loss once limits are paid for."""
    if isinstance(whole, Concentrated) or not limits:
        return whole
    spent = sum((limit.noise.loss(plan.limits[name][1]).epsilon for name, limit in limits.items()), Fraction(0))
    if spent > min(whole.epsilon / 2, Fraction(1)):
        raise BadInput(
            "At this price, whether there is room for all groups could tell of one unit: "
            f"{float(spent):.2g} of epsilon would hide it.",
            hint="Spend twice that or more, declare categories or groups_per_unit on the card, or make texts shorter: "
            "LEFT(x, 20).",
        )
    return Pure(whole.epsilon - spent)


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

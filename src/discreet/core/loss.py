"""Privacy loss as data: how much one unit's presence may change what comes out, and how losses add up.

A loss says nothing about where it came from, and its meaning never changes; accountants interpret it.
All numbers are exact rationals; what is irrational is rounded up, so that a loss is never understated.
Neighbouring data sets differ by adding or removing everything that belongs to one unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.core.document import fields
from discreet.core.exact import Number, equation, exact, exp_upper, round_up
from discreet.errors import BadInput, NoPromise


@dataclass(frozen=True, init=False)
class Pure:
    """ε-differential privacy: P(M(x) in S) <= e^ε P(M(x') in S) (Dwork, McSherry, Nissim, Smith 2006)."""

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon"))

    def __str__(self) -> str:
        return equation("ε", self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"kind": "pure", "epsilon": str(self.epsilon)}


@dataclass(frozen=True, init=False)
class Approximate:
    """(ε, δ)-differential privacy: P(M(x) in S) <= e^ε P(M(x') in S) + δ."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact(delta, "delta"))
        if self.delta >= 1:
            raise BadInput(
                f"delta must be below 1, got {delta}.",
                hint="A delta of 1 promises nothing; choose one well below 1 / number of people.",
            )

    def __str__(self) -> str:
        return f"{equation('ε', self.epsilon)}, {equation('δ', self.delta)}"

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"kind": "approximate", "epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True, init=False)
class Concentrated:
    """ρ-zero-concentrated: the Rényi divergence of every order α is at most αρ (Bun and Steinke 2016)."""

    rho: Fraction

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", exact(rho, "rho"))

    def __str__(self) -> str:
        return equation("ρ", self.rho)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"kind": "concentrated", "rho": str(self.rho)}


@dataclass(frozen=True, init=False)
class Renyi:
    """The Rényi divergence of order α is at most ε(α), for the orders on the curve (Mironov 2017)."""

    curve: tuple[tuple[Fraction, Fraction], ...]
    """(order, epsilon), by order; every order is above 1."""

    def __init__(self, curve: Iterable[tuple[Number, Number]]) -> None:
        try:
            pairs = [(order, epsilon) for order, epsilon in curve]
        except (TypeError, ValueError):
            raise BadInput("A Rényi curve is a list of pairs of an order and an epsilon.") from None
        points = sorted((exact(order, "order"), exact(epsilon, "epsilon")) for order, epsilon in pairs)
        orders = [order for order, _ in points]
        if not orders or orders[0] <= 1 or len(set(orders)) < len(orders):
            raise BadInput("A Rényi curve needs one or more different orders, all above 1.")
        object.__setattr__(self, "curve", tuple(points))

    def __str__(self) -> str:
        shown = [equation(f"ε({order})", epsilon) for order, epsilon in self.curve]
        if len(shown) > 4:
            shown[2:-1] = ["…"]
        return ", ".join(shown)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"kind": "renyi", "curve": [[str(order), str(epsilon)] for order, epsilon in self.curve]}


_MOST_BITS = 1024
Loss: TypeAlias = Pure | Approximate | Concentrated | Renyi


def sequential(losses: Iterable[Loss]) -> Loss:
    """The loss of everything together, each run on the same data: they add up. Of nothing: ε = 0.

    Why this is right: given what came out so far, the ratio of probabilities of the next output is bounded
    by its own loss, and the bounds multiply; so epsilons add, and deltas (Dwork and others 2006, McSherry
    2009). Rényi divergences of one order add along the chain rule (Mironov 2017, Proposition 1), and ρ with
    them (Bun and Steinke 2016, Lemma 1.7). Later queries may depend on earlier answers; the losses
    themselves must be fixed beforehand.
    """
    return _folded(list(losses), _summed)


def parallel(losses: Iterable[Loss]) -> Loss:
    """The loss of everything together, each run on a part of its own: the largest. Of nothing: ε = 0.

    Why this is right: the parts are disjoint and a unit lies in one of them, so adding or removing it
    changes the input of one mechanism alone; the others' outputs are distributed as before (McSherry 2009,
    Theorem 4). The parts must be fixed without looking at other units: a split at the median moves others
    when one comes, and then this does not hold; nor where neighbours *replace* a unit, which may leave one
    part for another.
    """
    return _folded(list(losses), max)


def for_group(loss: Loss, k: int) -> Loss:
    """The loss of a group of ``k`` units taken together.

    Why this is right: two data sets that differ in a group of k are the ends of a chain of k steps, each
    of one unit.

    * Pure: the k factors multiply to e^(kε).
    * Approximate: step i carries the δ of the steps before it through e^ε, so δ grows to
      δ (1 + e^ε + … + e^((k-1)ε)) <= k e^((k-1)ε) δ.
    * Concentrated: k²ρ (Bun and Steinke 2016, Proposition 1.9).
    * Rényi: a mechanism that is (α, ε) loses at most (α / 2^c, 3^c ε) on a group of 2^c, provided that
      α >= 2^(c+1) (Mironov 2017, Proposition 2); c is the least with k <= 2^c.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise BadInput(f"A group has one unit or more, got {k!r}.")
    if k == 1:
        return loss
    match loss:
        case Pure(epsilon=epsilon):
            return Pure(k * epsilon)
        case Approximate(epsilon=epsilon, delta=delta):
            return Approximate(k * epsilon, _group_delta(epsilon, delta, k))
        case Concentrated(rho=rho):
            return Concentrated(k * k * rho)
        case Renyi(curve=curve):
            c = (k - 1).bit_length()
            points = [(order / 2**c, 3**c * epsilon) for order, epsilon in curve if order >= 2 ** (c + 1)]
            if not points:
                raise NoPromise(
                    f"The Rényi curve promises nothing for a group of {k}: that takes an order of "
                    f"{2 ** (c + 1)} or more, and its largest is {curve[-1][0]}.",
                    hint="Account with higher orders, or for smaller groups.",
                )
            return Renyi(points)


def from_dict(data: object) -> Loss:
    """The loss whose ``to_dict`` gave this."""
    kind = data.get("kind") if isinstance(data, dict) else None
    what = f"a loss of kind {kind!r}"
    match kind:
        case "pure":
            return Pure(fields(data, what, kind=str, epsilon=str)["epsilon"])
        case "approximate":
            read = fields(data, what, kind=str, epsilon=str, delta=str)
            return Approximate(read["epsilon"], read["delta"])
        case "concentrated":
            return Concentrated(fields(data, what, kind=str, rho=str)["rho"])
        case "renyi":
            curve = fields(data, what, kind=str, curve=list)["curve"]
            if not all(isinstance(point, list) and len(point) == 2 for point in curve):
                raise BadInput(f"{what}: curve must be a list of pairs.")
            return Renyi((order, epsilon) for order, epsilon in curve)
    raise BadInput(f"A loss is pure, approximate, concentrated or renyi, not {kind!r}.")


def parse_loss(text: str) -> Loss:
    """The loss that people write as "epsilon=3", "epsilon=3, delta=1e-6" or "rho=0.1"."""
    pairs = re.findall(r"(\w+)\s*=\s*([^,\s]+)", text)
    said = dict(pairs)
    rest = re.sub(r"\w+\s*=\s*[^,\s]+", "", text).strip(" ,") or len(pairs) > len(said)
    match sorted(said):
        case ["epsilon"] if not rest:
            return Pure(said["epsilon"])
        case ["delta", "epsilon"] if not rest:
            return Approximate(said["epsilon"], said["delta"])
        case ["rho"] if not rest:
            return Concentrated(said["rho"])
    raise BadInput(f"{text!r} is not a budget.", hint='Write "epsilon=3", "epsilon=3, delta=1e-6" or "rho=0.1".')


def _folded(losses: list[Loss], fold: Callable[[Iterable[Fraction]], Fraction | int]) -> Loss:
    """All losses in the least kind that can say each of them, and then number by number."""
    kinds = {type(loss) for loss in losses}
    if kinds & {Concentrated, Renyi}:
        losses = [_without_delta(loss) for loss in losses]
    if Renyi in kinds:
        reach = min(loss.curve[-1][0] for loss in losses if isinstance(loss, Renyi))
        orders = {order for loss in losses if isinstance(loss, Renyi) for order, _ in loss.curve}
        return Renyi((order, fold(_at(loss, order) for loss in losses)) for order in orders if order <= reach)
    if Concentrated in kinds:
        return Concentrated(fold(_rho(loss) for loss in losses))
    epsilon = fold(_epsilon(loss) for loss in losses) if losses else 0
    if Approximate not in kinds:
        return Pure(epsilon)
    delta = fold(loss.delta if isinstance(loss, Approximate) else Fraction(0) for loss in losses)
    if delta >= 1:
        raise NoPromise(
            f"Together these {len(losses)} losses have a delta of 1 or more, which promises nothing.",
            hint="Compose fewer, or give each a smaller delta.",
        )
    return Approximate(epsilon, delta)


def _summed(numbers: Iterable[Fraction]) -> Fraction:
    """The sum, rounded up a little when many different denominators would make it endless."""
    total = Fraction(0)
    for one in numbers:
        total += one
        if total.denominator.bit_length() > _MOST_BITS:
            total = round_up(total, _MOST_BITS)
    return total


def _without_delta(loss: Loss) -> Loss:
    if not isinstance(loss, Approximate):
        return loss
    if loss.delta == 0:
        return Pure(loss.epsilon)
    raise NoPromise(
        "An (ε, δ) loss and a concentrated or Rényi loss have no sum until a delta is chosen for the latter.",
        hint="Choose one and restate it as (ε, δ) first: ρ is worth ε = ρ + 2√(ρ ln(1/δ)) at any δ, "
        "a Rényi point (α, ε) is worth ε + ln(1/δ)/(α - 1).",
    )


def _epsilon(loss: Loss) -> Fraction:
    assert isinstance(loss, Pure | Approximate)  # noqa: S101  # _folded asks for no others
    return loss.epsilon


def _rho(loss: Loss) -> Fraction:
    """Pure ε is ρ = ε²/2 (Bun and Steinke 2016, Proposition 1.4)."""
    return loss.rho if isinstance(loss, Concentrated) else _epsilon(loss) ** 2 / 2


def _at(loss: Loss, order: Fraction) -> Fraction:
    """A bound on the Rényi divergence of ``order``.

    The divergence grows with its order, so a curve's point at any higher order is a bound too; at infinite
    order it is the pure ε.
    """
    if isinstance(loss, Renyi):
        return min(epsilon for known, epsilon in loss.curve if known >= order)
    bound = order * _rho(loss)
    return min(bound, loss.epsilon) if isinstance(loss, Pure) else bound


def _group_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    """k e^((k-1)ε) δ, rounded up; refused at 1, before a power of e is worked out that cannot fit."""
    if delta == 0:
        return delta
    exponent = (k - 1) * epsilon
    room = int(1 / (k * delta)).bit_length()  # 1/(kδ) < 2^room
    grown = round_up(k * delta * exp_upper(exponent)) if exponent < room else None
    if grown is None or grown >= 1:
        raise NoPromise(
            f"For a group of {k} the delta of this loss grows to 1 or more, which promises nothing.",
            hint="Ask for a smaller group, or release with a smaller epsilon or delta.",
        )
    return grown

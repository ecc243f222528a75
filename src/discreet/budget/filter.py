"""Budgets: what has been spent is folded into a few numbers, and a loss is admitted while they stay in bounds.

Why this is private: an analyst chooses the next question, and how much to lose on it, after seeing the
answers so far. Ordinary composition theorems fix the losses beforehand; a *filter* is a rule that stops in
time, so that what was answered keeps the limit even so. "Stop before the sum exceeds the limit" is such a
rule

* for ε, and for (ε, δ) coordinate by coordinate (Rogers, Roth, Ullman, Vadhan 2016, basic composition);
* for ρ, also beside a δ that is summed on its own (Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu
  2023, approximate zCDP);
* for the Rényi divergence of every order fixed beforehand (Feldman and Zrnic 2021; Lécuyer 2021).

So a ceiling is fixed when a budget is made, one number a coordinate, and never traded against another.

A budget may *renew*: then the ceiling is that of each period (``period.py``), and a lifetime cap may stand beside it.
Why that is private: within a period the filter is the one above. At any time in the n-th period, all that was ever
spent is, for sure and whatever was asked, at most n times the ceiling, coordinate by coordinate; so the same filters
say that n periods together keep n times the ceiling, and with a cap the smaller of the two. Nothing keeps n small but
time, so without a cap no loss bounds all periods to come: a statement must name the number of periods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import is_
from types import UnionType
from typing import Any, TypeAlias

from discreet.budget.convert import largest_concentrated, to_approximate
from discreet.budget.period import PERIODS
from discreet.core.document import fields
from discreet.core.exact import Number, equation, exact, sqrt_lower
from discreet.core.loss import (
    Approximate,
    Concentrated,
    Loss,
    Pure,
    Renyi,
    from_dict,
    parallel,
    parse_loss,
    sequential,
)
from discreet.errors import BadInput, NoPromise

Core: TypeAlias = Pure | Concentrated | Renyi

_LONGEST = 256
_GRID = 10**60
_EXAMPLE = 'Write "epsilon=1 per month" or "epsilon=1 per month; epsilon=10 in total".'


@dataclass(frozen=True)
class Spent:
    """What has been spent: the sum of the losses, and apart from it the sum of their δ."""

    core: Core
    delta: Fraction

    def __str__(self) -> str:
        return f"{self.core}, {equation('δ', self.delta)}" if self.delta else str(self.core)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"core": self.core.to_dict(), "delta": str(self.delta)}

    @classmethod
    def from_dict(cls, data: object) -> Spent:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "what was spent", core=dict, delta=str)
        core = from_dict(read["core"])
        if isinstance(core, Approximate):
            raise BadInput("A spent loss keeps its δ separate.")
        return cls(core, exact(read["delta"], "delta"))


@dataclass(frozen=True, init=False)
class Budget:
    """A limit on everything that will ever be lost; or, if it ``renews``, on what is lost in each period.

    The sum is kept in the limit's own kind. An (ε, δ) limit may be kept as ρ instead (``concentrated``),
    which admits many more small losses: the ceiling is the largest ρ that the limit can stand. The δ in
    ``reserve`` is set aside for losses that have a δ themselves; the rest goes into the ceiling.

    A renewing budget may have a ``lifetime`` cap beside it, of the same kind, on all periods together.
    """

    limit: Loss
    concentrated: bool = False
    reserve: Fraction = Fraction(0)
    renews: str | None = None
    """The period after which it renews: one of ``PERIODS``; ``None`` if never."""
    lifetime: Budget | None = None

    def __init__(
        self,
        limit: Loss,
        *,
        concentrated: bool = False,
        reserve: Number = 0,
        renews: str | None = None,
        lifetime: Budget | None = None,
    ) -> None:
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "concentrated", concentrated)
        object.__setattr__(self, "reserve", exact(reserve, "reserve"))
        object.__setattr__(self, "renews", renews)
        object.__setattr__(self, "lifetime", lifetime)
        if concentrated and not (isinstance(limit, Approximate) and self.reserve < limit.delta):
            raise BadInput(
                "A budget can be accounted as ρ only if its limit is (ε, δ) and the reserve is below δ.",
                hint="Give the limit a δ such as 1e-6, and reserve none or half of it.",
            )
        if self.reserve and not concentrated:
            raise BadInput("Only a budget accounted as ρ has a reserve of δ.")
        if renews is not None and renews not in PERIODS:
            raise BadInput(f"A budget cannot renew every {renews!r:.80}.", hint=f"Choose {', '.join(PERIODS)}.")
        if lifetime is not None:
            if renews is None or lifetime.renews is not None:
                raise BadInput("Only a budget that renews has a lifetime cap, and the cap does not renew.")
            if lifetime.nothing != self.nothing or type(lifetime.limit) is not type(limit):
                raise BadInput(
                    f"The lifetime cap {lifetime} is not of the kind of {limit}.",
                    hint="Give both as epsilon, both as epsilon and delta, or both as rho.",
                )

    @classmethod
    def parse(cls, text: str) -> Budget:
        """What people write as "epsilon=3", "epsilon=1 per month" or "epsilon=1 per month; epsilon=10 in total"."""
        first, semicolon, rest = text.partition(";")
        limit, per, renews = first.partition(" per ")
        if not per:
            if semicolon:
                raise BadInput(f"{text!r} is not a budget.", hint=f"Only one that renews has a total. {_EXAMPLE}")
            return cls(parse_loss(text))
        capped = re.fullmatch(r"\s*(.*?)\s+in total\s*", rest)
        if semicolon and not capped:
            raise BadInput(f"{text!r} is not a budget.", hint=_EXAMPLE)
        lifetime = cls(parse_loss(capped[1])) if capped else None
        return cls(parse_loss(limit), renews=renews.strip(), lifetime=lifetime)

    def __str__(self) -> str:
        said = f"{self.limit} (accounted as {self.ceiling})" if self.concentrated else str(self.limit)
        if self.renews is not None:
            said += f" per {self.renews}"
        return f"{said}; {self.lifetime} in total" if self.lifetime else said

    @property
    def promise(self) -> str:
        """What it promises of all that is ever charged to it, in a sentence."""
        if self.renews is None:
            return f"All answers together lose at most {self.limit}."
        cap = f", and never more than {self.lifetime.limit}" if self.lifetime else ", without end"
        return (
            f"All answers of one {self.renews} (UTC) together lose at most {self.limit}; those of n {self.renews}s at "
            f"most n times as much{cap}."
        )

    def restricted(self, past: Spent) -> Spent:
        """The ceiling of a period after so much was spent in earlier ones: what the lifetime cap leaves of it."""
        if self.lifetime is None:
            return self.ceiling
        left = _minus(self.lifetime.ceiling.core, past.core)
        pairs = zip(_coordinates(self.ceiling.core), _coordinates(left), strict=True)
        delta = min(self.ceiling.delta, self.lifetime._delta_left(past))
        return Spent(_like(left, [min(pair) for pair in pairs]), delta)

    @cached_property
    def ceiling(self) -> Spent:
        """What may be spent, coordinate by coordinate."""
        match self.limit:
            case Approximate(epsilon=epsilon, delta=delta) if self.concentrated:
                return Spent(largest_concentrated(Approximate(epsilon, delta - self.reserve)), self.reserve)
            case Approximate(epsilon=epsilon, delta=delta):
                return Spent(Pure(epsilon), delta)
            case limit:
                return Spent(limit, Fraction(0))

    @property
    def nothing(self) -> Spent:
        """Where an account begins."""
        core = self.ceiling.core
        return Spent(_like(core, [Fraction(0)] * len(_coordinates(core))), Fraction(0))

    def add(self, spent: Spent, loss: Loss) -> Spent:
        """``spent`` and ``loss`` together. Numbers that grow too long are rounded up."""
        if isinstance(loss, Approximate):
            return self.join(spent, Spent(Pure(loss.epsilon), loss.delta))
        return self.join(spent, Spent(loss, Fraction(0)))

    def join(self, one: Spent, other: Spent) -> Spent:
        """What was spent on the same people, added up."""
        return Spent(self._as_kept(sequential([_short(one.core), _short(other.core)])), _cut(one.delta + other.delta))

    def peak(self, one: Spent, other: Spent) -> Spent:
        """What was spent on different people at most, coordinate by coordinate."""
        return Spent(self._as_kept(parallel([one.core, other.core])), max(one.delta, other.delta))

    def covers(self, spent: Spent, ceiling: Spent | None = None) -> bool:
        """Whether this much keeps the limit, or another ``ceiling``; decided exactly."""
        most = ceiling or self.ceiling
        return spent.delta <= most.delta and _within(spent.core, most.core)

    def admits(self, spent: Spent, loss: Loss, ceiling: Spent | None = None) -> bool:
        """Whether ``loss`` may still be had after ``spent``."""
        return self.covers(self.add(spent, loss), ceiling)

    def left(self, spent: Spent, ceiling: Spent | None = None) -> Loss:
        """What may still be spent, in the kind the sum is kept in (without the reserve of δ)."""
        core = _minus((ceiling or self.ceiling).core, spent.core)
        if isinstance(core, Pure) and isinstance(self.limit, Approximate):
            return Approximate(core.epsilon, self._delta_left(spent, ceiling))
        return core

    def room(self, spent: Spent, asked: Loss, ceiling: Spent | None = None) -> Loss:
        """The largest loss of the kind that was ``asked`` for that would still be admitted, rounded down.

        A Rényi curve is answered with the orders of the ceiling.
        """
        left = _minus((ceiling or self.ceiling).core, spent.core)
        match asked:
            case Pure():
                return Pure(_pure_within(left))
            case Approximate():
                return Approximate(_pure_within(left), self._delta_left(spent, ceiling))
            case Concentrated() if isinstance(left, Renyi):
                return Concentrated(min(epsilon / order for order, epsilon in left.curve))
            case _:
                return left

    def restated(self, spent: Spent) -> Loss:
        """``spent`` in the terms of the limit."""
        if not isinstance(self.limit, Approximate):
            return spent.core
        if isinstance(spent.core, Pure) or spent.core == Concentrated(0):
            return Approximate(spent.core.epsilon if isinstance(spent.core, Pure) else 0, spent.delta)
        found = to_approximate(spent.core, self.limit.delta - self.reserve)
        return Approximate(found.epsilon, found.delta + spent.delta)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON. One that does not renew is written as it was before there were others."""
        said: dict[str, Any] = {
            "limit": self.limit.to_dict(),
            "concentrated": self.concentrated,
            "reserve": str(self.reserve),
        }
        if self.renews is not None:
            said |= {"renews": self.renews, "lifetime": self.lifetime.to_dict() if self.lifetime else None}
        return said

    @classmethod
    def from_dict(cls, data: object) -> Budget:
        """What ``to_dict`` gave, read back strictly."""
        kinds: dict[str, type | UnionType] = {"limit": dict, "concentrated": bool, "reserve": str}
        if isinstance(data, Mapping) and "renews" in data:
            kinds |= {"renews": str, "lifetime": dict | None}
        read = fields(data, "a budget", **kinds)
        if (lifetime := read.pop("lifetime", None)) is not None:
            lifetime = cls.from_dict(lifetime)
        return cls(from_dict(read.pop("limit")), lifetime=lifetime, **read)

    def _delta_left(self, spent: Spent, ceiling: Spent | None = None) -> Fraction:
        return max((ceiling or self.ceiling).delta - spent.delta, Fraction(0))

    def _as_kept(self, core: Loss) -> Core:
        """A sum in the coordinates of the ceiling, or a refusal if it says nothing about one of them."""
        kept = self.ceiling.core
        if isinstance(core, Renyi) and isinstance(kept, Renyi):
            known = dict(core.curve)
            if missing := [order for order, _ in kept.curve if order not in known]:
                raise NoPromise(
                    f"This Rényi curve has no bound at order {missing[0]}, which the budget limits.",
                    hint="Account for the mechanism at that order or a higher one.",
                )
            core = Renyi((order, known[order]) for order, _ in kept.curve)
        if type(core) is not type(kept) or isinstance(core, Approximate):
            raise NoPromise(
                f"A {_kind(core)} loss cannot be charged to a budget accounted as {_kind(kept)}.",
                hint="Restate the loss with to_approximate at a δ of your choice, or open an account with a "
                "budget of that kind.",
            )
        return _short(core)


def _coordinates(core: Core) -> tuple[Fraction, ...]:
    """The numbers of a loss that are kept below a ceiling, each on its own."""
    match core:
        case Pure(epsilon=epsilon):
            return (epsilon,)
        case Concentrated(rho=rho):
            return (rho,)
        case Renyi(curve=curve):
            return tuple(epsilon for _, epsilon in curve)


def _like(core: Core, numbers: Sequence[Fraction]) -> Core:
    """The loss with these numbers in place of those of ``core``."""
    if isinstance(core, Renyi):
        return Renyi((order, epsilon) for (order, _), epsilon in zip(core.curve, numbers, strict=True))
    return type(core)(numbers[0])


def _within(core: Core, ceiling: Core) -> bool:
    pairs = zip(_coordinates(core), _coordinates(ceiling), strict=True)
    return type(core) is type(ceiling) and all(spent <= most for spent, most in pairs)


def _minus(ceiling: Core, core: Core) -> Core:
    """What is left below the ceiling, and nothing where a limit was lowered since."""
    if type(ceiling) is not type(core):
        raise BadInput(f"A budget accounted as {_kind(ceiling)} cannot have spent {core}.")
    pairs = zip(_coordinates(ceiling), _coordinates(core), strict=True)
    return _like(ceiling, [max(most - spent, Fraction(0)) for most, spent in pairs])


def _pure_within(left: Core) -> Fraction:
    """The largest ε whose own ρ = ε²/2, or divergence min(ε, αε²/2) at every order α, is within ``left``."""
    match left:
        case Pure(epsilon=epsilon):
            return epsilon
        case Concentrated(rho=rho):
            return sqrt_lower(2 * rho)
        case Renyi(curve=curve):
            return min(max(epsilon, sqrt_lower(2 * epsilon / order)) for order, epsilon in curve)


def _short(core: Core) -> Core:
    """``core`` with its numbers cut."""
    numbers = _coordinates(core)
    cut = [_cut(number) for number in numbers]
    return core if all(map(is_, cut, numbers)) else _like(core, cut)


def _cut(value: Fraction) -> Fraction:
    """``value``, or the next multiple of 10^-60 above it once its denominator has grown long.

    Sums of thirds and tenths stay exact; sums of arbitrary fractions would take ever longer to add.
    """
    if value.denominator.bit_length() <= _LONGEST:
        return value
    return Fraction(-(-value.numerator * _GRID // value.denominator), _GRID)


def _kind(loss: Loss) -> str:
    return {Pure: "pure", Approximate: "(ε, δ)", Concentrated: "concentrated", Renyi: "Rényi"}[type(loss)]

"""Counterexamples: two neighbouring inputs and an event whose probabilities break the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.verbs.prove.number_text import Enclosure
from discreet.verbs.prove.refuter.arithmetic import (
    Arithmetic,
    BallArithmetic,
    Chance,
    Exact,
    Intractable,
    Logarithm,
    RationalArithmetic,
    ball,
    ball_precision,
    bounds,
    log,
)
from discreet.verbs.prove.refuter.chances import Between, Shape, Wanted, chance, chance_bound, shape
from discreet.verbs.prove.refuter.neighbours import Inputs, evaluate
from discreet.verbs.prove.refuter.paths import Path, Shown, Task, all_paths
from discreet.verbs.prove.refuter.symbolic import LinearForm

MAX_PATHS = 300
_MAX_CHOICES = 12
"""Choices after which paths are cut, if a program may run for ever."""

Evidence = Literal["exact", "enclosed", "sampled"]


@dataclass(frozen=True)
class Counterexample:
    """Given ``inputs`` the event has a chance above ``allowed`` times its chance given ``neighbours``, plus ``delta``.

    ``events`` is what is shown: any of these lists. ``density``: some of the numbers shown are continuous, and
    ``first`` and ``second`` are densities at the event's values, so the chances of a small neighbourhood have (nearly)
    this ratio. ``how``: by exact fractions, by rigorous bounds, or by samples (then both are bounds that are right but
    for a chance of 1e-9).
    """

    parameters: Mapping[str, Exact]
    inputs: Inputs
    neighbours: Inputs
    events: tuple[tuple[Wanted, ...], ...]
    density: bool
    first: Enclosure
    second: Enclosure
    allowed: Enclosure
    delta: Fraction
    how: Evidence

    @property
    def hopeless(self) -> bool:
        """Whether the event is impossible given the second input: then the program is private for no eps at all."""
        return self.second.high == 0 and self.how != "sampled"

    @property
    def ratio(self) -> Fraction | None:
        """How many times likelier the event is, at least; none if it is impossible given the second input."""
        return self.first.low / self.second.high if self.second.high else None

    @property
    def event(self) -> str:
        """The event in words."""
        return " or ".join(_event_text(one) for one in self.events[:6]) + (" or …" if len(self.events) > 6 else "")


def measure_event(
    task: Task, other: Task, events: Sequence[tuple[Wanted, ...]], most: int = MAX_PATHS
) -> Counterexample | None:
    """The counterexample of an event (any of ``events``, which exclude each other); None if it breaks no claim.

    ``Intractable`` if that cannot be computed, or takes more than ``most`` paths.
    """
    with ball_precision():
        return _measure(task, other, events, most)


def _measure(task: Task, other: Task, events: Sequence[tuple[Wanted, ...]], most: int) -> Counterexample | None:
    program = task.program
    names = {**task.parameters, **task.inputs}
    claim, delta = evaluate(program.epsilon, names), evaluate(program.delta, names)
    if not isinstance(claim, int | Fraction | Logarithm) or not isinstance(delta, int | Fraction):
        raise Intractable("The claim is not a number here.")
    eps = task.parameters["eps"]
    world: Arithmetic = RationalArithmetic(eps.base) if isinstance(eps, Logarithm) else BallArithmetic()
    allowed = allowed_ratio(world, claim)
    chosen, total, versus, density = [], None, None, False
    for wanted in events:
        paths, like = _paths_by_shape(task, wanted, most)
        if like is None or (delta and like[0]):
            continue
        first = _lower_chance(world, paths, wanted, like)
        if not _certainly_above(first, world.of(0)):
            continue
        second = world.of(0)
        for path in _matching_paths(other, wanted, most, like[0], complete=True):
            if path.cut and like[0]:
                raise Intractable("A density of what was cut.")
            second = second + (chance_bound(world, path) if path.cut else chance(world, path, wanted, like))
        if not _certainly_above(first, _product(allowed, second)):
            continue
        density = density or bool(like[0])
        chosen.append(wanted)
        total = first if total is None else total + first
        versus = second if versus is None else versus + second
        if not delta:
            break
    if total is None or not _certainly_above(total, sum(_alike(_product(allowed, versus), Fraction(delta)))):
        return None
    here, there, factor = (Enclosure(*bounds(one)) for one in (total, versus, allowed))
    if here.low <= factor.high * there.high + Fraction(delta):
        raise Intractable("The probabilities are too small to be distinguished when written out.")
    exact = all(isinstance(one, Fraction | int) for one in (total, versus))
    return Counterexample(
        task.parameters,
        task.inputs,
        other.inputs,
        tuple(chosen),
        density,
        first=here,
        second=there,
        allowed=factor,
        delta=Fraction(delta),
        how="exact" if exact else "enclosed",
    )


def allowed_ratio(world: Arithmetic, claim: Exact) -> Chance:
    """e to the power of the claim."""
    try:
        return world.exp(world.units(claim))
    except Intractable:
        pass
    if isinstance(claim, Logarithm):
        return (log(claim.base) ** claim.degree * ball(claim.factor)).exp()
    return ball(Fraction(claim)).exp()


# -- the chances of an event ------------------------------------------------------------------------------------------


def _paths_by_shape(task: Task, wanted: Sequence[Wanted], most: int) -> tuple[list[Path], tuple[int, Shape] | None]:
    """The paths that show what is wanted with the fewest free numbers, since single values outweigh densities, and
    their shape; none if there are no such paths."""
    for free in range(1 + sum(isinstance(one, Fraction) for one in wanted)):
        paths = _matching_paths(task, wanted, most, free, complete=False)
        like = _smallest_shape(paths, wanted)
        if like is not None and like[0] <= free:
            return paths, like
    return [], None


def _matching_paths(task: Task, wanted: Sequence[Wanted], most: int, free: int, *, complete: bool) -> list[Path]:
    """The paths that may show what is wanted; ``complete``: those that were cut as well, which may show anything.

    Paths with more than ``free`` continuous numbers are left out: the event has chance 0 on them (see chances.py). All
    to their ends if that is possible, otherwise cut after some choices.
    """
    shown: tuple[Shown, ...] = tuple(LinearForm(()) if isinstance(one, Between) else one for one in wanted)
    try:
        paths = list(all_paths(task, shown, most=most, free=free))
    except Intractable:
        paths = list(all_paths(task, shown, most=most, deepest=_MAX_CHOICES, free=free))
    return [path for path in paths if (complete if path.cut else len(path.shown) == len(wanted))]


def _smallest_shape(paths: Sequence[Path], wanted: Sequence[Wanted]) -> tuple[int, Shape] | None:
    """The shape of the path with the fewest free numbers."""
    shapes = []
    for path in paths:
        try:
            one = shape(path, wanted)
        except Intractable:
            continue
        if one is not None:
            shapes.append(one)
    return min(shapes, key=lambda one: one[0], default=None)


def _lower_chance(
    world: Arithmetic, paths: Sequence[Path], wanted: Sequence[Wanted], like: tuple[int, Shape]
) -> Chance:
    """The chance given the first input, or less: an intractable path is left out."""
    total = world.of(0)
    for path in paths:
        try:
            total = total + chance(world, path, wanted, like)
        except Intractable:
            continue
    return total


def _certainly_above(first: Chance, second: Chance) -> bool:
    """Whether the first is certainly above the second."""
    one, two = _alike(first, second)
    return bool(one > two)


def _product(first: Chance, second: Chance) -> Chance:
    one, two = _alike(first, second)
    return one * two


def _alike(*chances: Chance) -> list[Chance]:
    """Chances as fractions if all of them are, else as balls."""
    exact = [isinstance(one, Fraction | int) for one in chances]
    return [one if all(exact) or not known else ball(Fraction(one)) for one, known in zip(chances, exact, strict=True)]


# -- words ------------------------------------------------------------------------------------------------------------


def _event_text(wanted: Sequence[Wanted]) -> str:
    """What is shown, as a person would write it."""
    parts = [one for one in (_one_text(one) for one in wanted) if one]
    return "[" + ", ".join(parts).replace("returned, ", "returned ") + "]"


def _one_text(one: Wanted) -> str:
    if isinstance(one, Between):
        low, high = ("" if end is None else str(end) for end in (one.low, one.high))
        if not low and not high:
            return "any number"
        return f"at least {low}" if not high else f"at most {high}" if not low else f"{low} to {high}"
    if isinstance(one, bool):
        return str(one).lower()
    if isinstance(one, str):
        return "" if one == "end" else one
    return str(one)

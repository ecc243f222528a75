"""Probability (or density) that a path is taken and produces given outputs.

What is wanted of each thing shown is a value, or (for a number) that it lies between two bounds. A value of a
continuous number has no chance but a density: then the result is the density of all such numbers together, at that
point, and two results may be compared if they have the same ``shape``. A density that is continuous at a point and
larger than a multiple of another one there is so in a neighbourhood, so a ratio of densities is a ratio of chances of
small events.

Shape: the continuous numbers shown on a path are linear in the draws, so they fill an affine subspace, and the shape is
that subspace: which of them are free, and what the others are in terms of these. If two paths have different shapes of
the same dimension, or the second has a larger one, the event "near the point, in the first subspace" has chance 0 on
the second: it meets the first only in a null set. If the second has a smaller dimension it may carry a positive
chance, and nothing is concluded (``Intractable``), unless it misses the point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.verbs.prove.refuter.arithmetic import Arithmetic, Chance, Intractable, Logarithm, ball, load_flint
from discreet.verbs.prove.refuter.paths import Path, may_agree
from discreet.verbs.prove.refuter.piecewise import PiecewiseFunction, density
from discreet.verbs.prove.refuter.symbolic import Condition, Line, LinearForm, NoiseDraw, bound_of_draw

Wanted: TypeAlias = "bool | Fraction | Logarithm | str | Between"
Shape: TypeAlias = tuple["LinearForm | None", ...]
"""For each output: None if it is free or not continuous, else its linear form in the free outputs (by place)."""
_INTEGRATION_DEVIATIONS = 24
"""Range of integration, standard deviations: beyond it lies less than 1e-126."""


@dataclass(frozen=True)
class Between:
    """A number from ``low`` to ``high``, both included; None is infinity."""

    low: Fraction | None
    high: Fraction | None


def shape(path: Path, wanted: Sequence[Wanted]) -> tuple[int, Shape] | None:
    """Number of free continuous outputs and the linear forms of the others; None if ``wanted`` is impossible."""
    return _shape(path, wanted) if _solve_draws(path, wanted) is not None else None


def _shape(path: Path, wanted: Sequence[Wanted]) -> tuple[int, Shape]:
    rows: list[
        tuple[LinearForm, LinearForm]
    ] = []  # continuous draws of a free number, and the combination of places it is
    shape_: list[LinearForm | None] = []
    for place, (shown, one) in enumerate(zip(path.shown, wanted, strict=True)):
        if not isinstance(shown, LinearForm) or isinstance(one, Between) or not _continuous(shown, path.noises):
            shape_.append(None)
            continue
        left, combination_ = shown, LinearForm(((place, Fraction(1)),))
        for row, combination in rows:
            pivot = _pivot(row, path.noises)
            times = left.factor(pivot) / row.factor(pivot)
            left, combination_ = left.minus(row.times(times)), combination_.minus(combination.times(times))
        if _continuous(left, path.noises):
            rows.append((left, combination_))
            shape_.append(None)
        elif left.terms:
            raise Intractable("Integer noise between continuous numbers.")
        else:
            dependent = LinearForm((), left.constant).minus(combination_.minus(LinearForm(((place, Fraction(1)),))))
            shape_.append(dependent)
    return len(rows), tuple(shape_)


def chance(world: Arithmetic, path: Path, wanted: Sequence[Wanted], like: tuple[int, Shape] | None = None) -> Chance:
    """Probability (or density) that a path outputs ``wanted``; 0 if its shape is not ``like``."""
    solved = _solve_draws(path, wanted)
    if solved is None:
        return world.of(0)
    if like is not None:
        free, subspace = _shape(path, wanted)
        if free < like[0]:
            raise Intractable("A single value that has a chance of its own is near.")
        if (free, subspace) != like:
            return world.of(0)
    return _weight(world, path) * _integrate(world, path.noises, solved)


def chance_bound(world: Arithmetic, path: Path) -> Chance:
    """Probability of a path that was cut off, whatever its outputs: an upper bound for any event."""
    return _weight(world, path) * _integrate(world, path.noises, _SolvedDraws({}, list(path.conditions), Fraction(1)))


def may_show(shown: object, one: Wanted) -> bool:
    """Whether an output can take a wanted value."""
    if isinstance(one, Between):
        if isinstance(shown, Logarithm):
            raise Intractable("A logarithm between bounds.")
        if isinstance(shown, Fraction):
            return (one.low is None or one.low <= shown) and (one.high is None or shown <= one.high)
        return isinstance(shown, LinearForm)
    return may_agree(shown, one)  # type: ignore[arg-type]


def _weight(world: Arithmetic, path: Path) -> Chance:
    total = world.of(path.weight)
    for exponents, taken in path.picks:
        parts = [world.exp(world.units(one)) for one in exponents]
        total = total * parts[taken] / sum(parts[1:], parts[0])
    return total


# -- what is fixed by the values wanted -------------------------------------------------------------------------------


@dataclass
class _SolvedDraws:
    """Draws that are fixed in terms of others, the remaining conditions, and the factor of the density."""

    fixed: dict[int, LinearForm]
    conditions: list[Condition]
    factor: Fraction


def _solve_draws(path: Path, wanted: Sequence[Wanted]) -> _SolvedDraws | None:
    """Fix one draw for every value wanted of a linear form; None if that is impossible."""
    if len(wanted) != len(path.shown) or not all(may_show(*pair) for pair in zip(path.shown, wanted, strict=True)):
        return None
    solved = _SolvedDraws({}, list(path.conditions), Fraction(1))
    for shown, one in zip(path.shown, wanted, strict=True):
        if not isinstance(shown, LinearForm):
            continue
        if isinstance(one, Between):
            if one.low is not None:
                solved.conditions.append(Condition(shown.plus(LinearForm((), -one.low))))
            if one.high is not None:
                solved.conditions.append(Condition(LinearForm((), one.high).minus(shown)))
        elif isinstance(one, Fraction):
            if not _fix_draw(solved, shown.plus(LinearForm((), -one)), path.noises):
                return None
        else:
            raise Intractable("A logarithm among draws.")
    for place, condition in enumerate(solved.conditions):
        left = condition.form.with_draws(solved.fixed)
        solved.conditions[place] = Condition(left, condition.strict)
        if left.terms:
            continue
        if left.constant == 0 and _continuous(condition.form, path.noises):
            raise Intractable("A value at the very end of its range.")
        if left.constant < 0 or (left.constant == 0 and condition.strict):
            return None
    return solved


def _fix_draw(solved: _SolvedDraws, zero: LinearForm, noises: Sequence[NoiseDraw]) -> bool:
    """Solve ``zero`` = 0 for a continuous draw if it has one (the density changes by 1 over its factor)."""
    left = zero.with_draws(solved.fixed)
    if not left.terms:
        return left.constant == 0
    pivot = _pivot(left, noises)
    factor = left.factor(pivot)
    value = LinearForm(tuple(term for term in left.terms if term[0] != pivot), left.constant).times(-1 / factor)
    if noises[pivot].whole:
        if not value.terms and value.constant.denominator != 1:
            return False
        if value.constant.denominator != 1 or any(times.denominator != 1 for _, times in value.terms):
            raise Intractable("A sum of integers that must be divisible.")
    else:
        solved.factor /= abs(factor)
    solved.fixed = {draw: one.with_draw(pivot, value) for draw, one in solved.fixed.items()} | {pivot: value}
    return True


def _continuous(form: LinearForm, noises: Sequence[NoiseDraw]) -> bool:
    return any(not noises[draw].whole for draw in form.draws)


def _pivot(form: LinearForm, noises: Sequence[NoiseDraw]) -> int:
    """A continuous draw if there is one; the last, on which the fewest other outputs depend."""
    return max(form.draws, key=lambda draw: (not noises[draw].whole, draw))


# -- the integral over what is left -----------------------------------------------------------------------------------


def _integrate(world: Arithmetic, noises: Sequence[NoiseDraw], solved: _SolvedDraws) -> Chance:
    """Integrate over one draw after the other, each time one whose conditions involve at most one other draw."""
    if any(noise.declared.normal for noise in noises):
        return gaussian_chance(world, noises, solved.fixed, solved.conditions) * world.of(solved.factor)
    total = world.of(solved.factor)
    functions: dict[int, PiecewiseFunction] = {}
    used = {draw for one in solved.conditions for draw in one.form.draws}
    used |= {draw for one in solved.fixed.values() for draw in one.draws}
    for draw in used:
        functions[draw] = density(world, noises[draw])
    for draw, value in solved.fixed.items():
        found = density(world, noises[draw])
        if not value.terms:
            total = total * found.at(value.constant)
        elif len(value.terms) == 1:
            (other, slope), whole = value.terms[0], noises[value.terms[0][0]].whole
            functions[other] = functions[other].times(found.along((slope, value.constant), whole))
        else:
            raise Intractable("A draw is fixed by two others.")
    left = [one for one in solved.conditions if one.form.terms]
    for one in [one for one in left if len(one.form.terms) == 1]:
        draw = one.form.draws[0]
        low, high = bound_of_draw(one, draw, functions[draw].whole)
        functions[draw] = functions[draw].within(
            low[1] if low is not None else None, high[1] if high is not None else None
        )
    left = [one for one in left if len(one.form.terms) > 1]
    while functions:
        draw = _next_draw(functions, left)
        mine = [one for one in left if draw in one.form.draws]
        left = [one for one in left if draw not in one.form.draws]
        function = functions.pop(draw)
        if not mine:
            total = total * function.total()
            continue
        (other,) = {found for one in mine for found in one.form.draws} - {draw}
        bounds = [bound_of_draw(one, draw, function.whole) for one in mine]
        lowers = [low for low, _ in bounds if low is not None]
        uppers = [high for _, high in bounds if high is not None]
        functions[other] = functions[other].times(function.integral(lowers, uppers, functions[other].whole))
    return total


def _next_draw(functions: dict[int, PiecewiseFunction], conditions: Sequence[Condition]) -> int:
    """The draw whose conditions involve the fewest other draws, continuous ones first."""
    neighbours: dict[int, set[int]] = {draw: set() for draw in functions}
    for one in conditions:
        for draw in one.form.draws:
            neighbours[draw].update(set(one.form.draws) - {draw})
    draw = min(functions, key=lambda one: (len(neighbours[one]), functions[one].whole, len(functions[one].pieces)))
    if len(neighbours[draw]) > 1:
        raise Intractable("The conditions do not form a tree.")
    return draw


# -- Gaussian draws, enclosed by ball arithmetic ----------------------------------------------------------------------


def gaussian_chance(
    world: Arithmetic, noises: Sequence[NoiseDraw], fixed: Mapping[int, LinearForm], conditions: Sequence[Condition]
) -> Chance:
    """Density of the fixed Gaussian draws, times the probability of the conditions on the others.

    Draws with constant bounds count by the error function. If all other draws are compared with one and the same draw,
    the chance is an integral over that one, of the product of the others' chances: an entire function, integrated
    rigorously between bounds that leave out a chance which is enclosed as well.
    """
    total = world.of(1)
    left = [one for one in conditions if one.form.terms]
    for draw, value in fixed.items():
        if value.terms:
            raise Intractable("A Gaussian draw is fixed by another.")
        total = total * _density(_scale(noises[draw]), value.constant)
    draws = {draw for one in left for draw in one.form.draws}
    if any(len(one.form.terms) > 2 for one in left) or any(draw in fixed for draw in draws):
        raise Intractable("Gaussian draws that are not compared two by two.")
    bounds: dict[int, tuple[list[tuple[int | None, Line]], list[tuple[int | None, Line]]]] = {}
    root = _shared_draw(left)
    for one in left:
        leaf = next((found for found in one.form.draws if found != root), one.form.draws[0])
        other = next((found for found in one.form.draws if found != leaf), None)
        low, high = bound_of_draw(one, leaf, whole=False)
        lowers, uppers = bounds.setdefault(leaf, ([], []))
        lowers += [(other, low)] if low is not None else []
        uppers += [(other, high)] if high is not None else []
    for draw in draws:
        if root is None or (draw != root and root not in {other for side in bounds[draw] for other, _ in side}):
            total = total * _interval_chance(_scale(noises[draw]), *_constant_bounds(bounds.pop(draw)))
    if root is None:
        return total
    own = _constant_bounds(bounds.pop(root, ([], [])))
    return total * _integral(_scale(noises[root]), own, [(_scale(noises[draw]), *bounds[draw]) for draw in bounds])


def _shared_draw(conditions: Sequence[Condition]) -> int | None:
    """The draw that all pairs share."""
    pairs = [set(one.form.draws) for one in conditions if len(one.form.terms) == 2]
    if not pairs:
        return None
    common = set.intersection(*pairs)
    if not common:
        raise Intractable("Gaussian draws that are not compared with one of them.")
    return min(common)


def _scale(noise: NoiseDraw) -> Fraction:
    if not noise.declared.normal or not isinstance(noise.scale, int | Fraction):
        raise Intractable("Gaussian and other noise together.")
    return Fraction(noise.scale)


def _constant_bounds(sides: tuple[Sequence[tuple[int | None, Line]], ...]) -> tuple[Fraction | None, Fraction | None]:
    lowers, uppers = ([line[1] for _, line in side] for side in sides)
    return max(lowers, default=None), min(uppers, default=None)


def _density(scale: Fraction, point: Fraction) -> Chance:
    exponent = ball(-point * point / (2 * scale * scale))
    return exponent.exp() / (ball(2 * scale * scale) * load_flint().arb.pi()).sqrt()


def _interval_chance(scale: Fraction, low: Fraction | None, high: Fraction | None) -> Chance:
    """Probability that a draw lies between ``low`` and ``high``."""
    if low is not None and high is not None and low >= high:
        return ball(Fraction(0))
    root = ball(Fraction(2)).sqrt() * ball(scale)
    above = ball(Fraction(1)) if low is None else (ball(low) / root).erfc() / 2
    beyond = ball(Fraction(0)) if high is None else (ball(high) / root).erfc() / 2
    return above - beyond


def _integral(
    scale: Fraction,
    own: tuple[Fraction | None, Fraction | None],
    leaves: Sequence[tuple[Fraction, Sequence[tuple[int | None, Line]], Sequence[tuple[int | None, Line]]]],
) -> Chance:
    library = load_flint()
    if any(len(lowers) > 1 or len(uppers) > 1 for _, lowers, uppers in leaves):
        raise Intractable("A Gaussian draw with several bounds on a side.")
    lines = [
        (leaf, lowers[0][1] if lowers else None, uppers[0][1] if uppers else None) for leaf, lowers, uppers in leaves
    ]
    if any(low is not None and high is not None and low[0] != high[0] for _, low, high in lines):
        raise Intractable("A Gaussian draw between bounds that cross.")
    if any(low is not None and high is not None and low[1] >= high[1] for _, low, high in lines):
        return ball(Fraction(0))
    two = ball(Fraction(2)).sqrt()

    def tail(line: Line, leaf: Fraction, x: Any) -> Any:
        return ((x * ball(line[0]) + ball(line[1])) / (two * ball(leaf))).erfc() / 2

    def integrand(x: Any, _analytic: bool) -> Any:
        found = (-(x * x) / ball(2 * scale * scale)).exp()
        for leaf, low, high in lines:
            found = found * ((1 if low is None else tail(low, leaf, x)) - (0 if high is None else tail(high, leaf, x)))
        return found

    reach = _INTEGRATION_DEVIATIONS * scale
    start = -reach if own[0] is None else max(own[0], -reach)
    stop = reach if own[1] is None else min(own[1], reach)
    beyond = _interval_chance(scale, reach, None) * 2
    found = ball(Fraction(0))
    if start < stop:
        whole = library.acb.integral(integrand, library.acb(ball(start)), library.acb(ball(stop))).real
        found = whole / (ball(2 * scale * scale) * library.arb.pi()).sqrt()
    return found + beyond * library.arb(0.5, 0.5)

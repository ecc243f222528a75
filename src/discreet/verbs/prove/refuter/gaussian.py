"""Probabilities of conditions on Gaussian draws, enclosed by ball arithmetic.

Draws that are fixed count by their density, draws with constant bounds by the error function. If all other draws are
compared with one and the same draw, the chance is an integral over that one, of the product of the others' chances: an
entire function, integrated rigorously between bounds that leave out a chance which is enclosed as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.verbs.prove.refuter.arithmetic import Arithmetic, Chance, ball, load_flint
from discreet.verbs.prove.refuter.errors import Intractable
from discreet.verbs.prove.refuter.linear_forms import Condition, Line, LinearForm, NoiseDraw, bound_of_draw

_INTEGRATION_DEVIATIONS = 24
"""Range of integration, standard deviations: beyond it lies less than 1e-126."""


def gaussian_chance(
    world: Arithmetic, noises: Sequence[NoiseDraw], fixed: Mapping[int, LinearForm], conditions: Sequence[Condition]
) -> Chance:
    """The density of the draws that are fixed, times the chance of the conditions on the others."""
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
    """The draw that all pairs have in common."""
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
    """The chance of a draw from ``low`` to ``high``."""
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

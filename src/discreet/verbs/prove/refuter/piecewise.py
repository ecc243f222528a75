"""Piecewise exponential polynomials: exact integrals and sums of Laplace-like noise.

The densities of Laplace and exponential noise are such functions, and such functions stay such functions when they
are multiplied, shifted, and integrated from one linear function of another draw to another. So the chance of any event
whose conditions form a tree comes out in closed form: no quadrature, no truncated tail. For integers (``whole``) sums
take the place of integrals, and the ends of a piece belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, factorial, floor
from typing import TypeAlias

from discreet.verbs.prove.refuter.arithmetic import Arithmetic, Chance, Intractable, Logarithm
from discreet.verbs.prove.refuter.symbolic import Line, NoiseDraw

Terms: TypeAlias = dict[tuple[Fraction, int], Chance]
"""The coefficients by rate a (in units of the world) and power k."""

End: TypeAlias = "Fraction | None"
"""Where a piece ends; none is infinity."""


@dataclass(frozen=True)
class Piece:
    """A sum of terms from ``low`` to ``high``."""

    low: End
    high: End
    terms: Terms

    def covers(self, low: End, high: End) -> bool:
        """Whether everything from ``low`` to ``high`` is in it."""
        below = self.low is None or (low is not None and self.low <= low)
        return below and (self.high is None or (high is not None and high <= self.high))


@dataclass(frozen=True)
class PiecewiseFunction:
    """A function of one draw: 0 outside its pieces, which are in order and do not overlap."""

    world: Arithmetic
    whole: bool
    pieces: tuple[Piece, ...]

    def times(self, other: PiecewiseFunction) -> PiecewiseFunction:
        """The product."""
        return self._by_cells(
            (*self._ends(), *other._ends()), lambda low, high: _product(self._terms(low, high), other._terms(low, high))
        )

    def within(self, low: End, high: End) -> PiecewiseFunction:
        """The same between two ends, 0 elsewhere."""
        return self.times(
            PiecewiseFunction(self.world, self.whole, (Piece(low, high, {(Fraction(0), 0): self.world.of(1)}),))
        )

    def along(self, line: Line, whole: bool) -> PiecewiseFunction:
        """The function of x whose value is this one's at ``slope * x + constant``; the slope is not 0."""
        slope, constant = line
        crossings = [(end - constant) / slope for end in self._ends()]
        if self.whole and not (whole and slope.denominator == 1 and constant.denominator == 1):
            raise Intractable("Integer noise at what is not an integer.")

        def terms(low: End, high: End) -> Terms:
            middle = slope * _cell_point(low, high) + constant
            return _substituted(self.world, self._terms(middle, middle), line)

        return PiecewiseFunction(self.world, whole, ())._by_cells(crossings, terms)

    def at(self, point: Fraction) -> Chance:
        """The value at a point; ``Intractable`` where a density jumps."""
        if self.whole and point.denominator != 1:
            return self.world.of(0)
        touching = [piece for piece in self.pieces if piece.covers(point, point)]
        if not self.whole and len(touching) == 1 and point in (touching[0].low, touching[0].high):
            raise Intractable("A density jumps here.")
        return _value(self.world, touching[0].terms, point) if touching else self.world.of(0)

    def integral(self, lowers: Sequence[Line], uppers: Sequence[Line], whole: bool) -> PiecewiseFunction:
        """The function of x that integrates this one from the largest of ``lowers`` at x to the smallest of ``uppers``.

        Between two neighbouring crossings of the lines with each other and with the ends of pieces the order of all
        these is the same, so it can be taken from any point between them.
        """
        lines = (*lowers, *uppers)
        if self.whole and not (whole and all(slope.denominator == 1 for slope, _ in lines)):
            raise Intractable("Integer noise compared with what is not an integer.")
        crossings = [(other - constant) / slope for slope, constant in lines for other in self._ends() if slope]
        crossings += [
            (second[1] - first[1]) / (first[0] - second[0])
            for place, first in enumerate(lines)
            for second in lines[:place]
            if first[0] != second[0]
        ]
        primitives = [(piece, self._primitive(piece.terms)) for piece in self.pieces]

        def terms(low: End, high: End) -> Terms:
            x = _cell_point(low, high)
            lower = max(lowers, key=lambda line: line[0] * x + line[1], default=None)
            upper = min(uppers, key=lambda line: line[0] * x + line[1], default=None)
            total: Terms = {}
            for piece, primitive in primitives:
                first, last = _inner_end(lower, piece.low, x, 1), _inner_end(upper, piece.high, x, -1)
                if first is not None and last is not None:
                    start, stop = _line_at(first, x), _line_at(last, x)
                    if start > stop or (start == stop and not self.whole):
                        continue
                if not _vanish(primitive, first is None, last is None):
                    raise Intractable("An integral without bounds.")
                if last is not None:
                    _add(total, _substituted(self.world, primitive, last), 1)
                if first is not None:
                    step = (first[0], first[1] - 1) if self.whole else first
                    _add(total, _substituted(self.world, primitive, step), -1)
            return total

        return PiecewiseFunction(self.world, whole, ())._by_cells(crossings, terms)

    def total(self) -> Chance:
        """The integral, or sum, over everything."""
        constant = self.integral((), (), whole=True)
        return constant.at(Fraction(0))

    # -- cells --------------------------------------------------------------------------------------------------------

    def _ends(self) -> tuple[Fraction, ...]:
        return tuple(end for piece in self.pieces for end in (piece.low, piece.high) if end is not None)

    def _terms(self, low: End, high: End) -> Terms:
        return next((piece.terms for piece in self.pieces if piece.covers(low, high)), {})

    def _by_cells(self, crossings: Iterable[Fraction], terms: Callable[[End, End], Terms]) -> PiecewiseFunction:
        pieces = [Piece(low, high, terms(low, high)) for low, high in _cells(sorted(set(crossings)), self.whole)]
        return PiecewiseFunction(
            self.world, self.whole, tuple(piece for piece in _merge_cells(pieces, self.whole) if piece.terms)
        )

    # -- antiderivatives ----------------------------------------------------------------------------------------------

    def _primitive(self, terms: Terms) -> Terms:
        total: Terms = {}
        for (rate, power), factor in terms.items():
            polynomial = self._sum(rate, power) if self.whole else self._antiderivative(rate, power)
            for place, times in enumerate(polynomial):
                _add(total, {(rate, place): factor * times}, 1)
        return total

    def _antiderivative(self, rate: Fraction, power: int) -> list[Chance]:
        """The polynomial p with (p(x) e^(ax))' = x^power e^(ax), by parts."""
        if not self.world.continuous:
            raise Intractable("Continuous noise has no rational chances.")
        of = self.world.of
        if rate == 0:
            return [of(0)] * (power + 1) + [of(Fraction(1, power + 1))]
        return [
            of(Fraction((-1) ** (power - place) * factorial(power), factorial(place)) / rate ** (power - place + 1))
            for place in range(power + 1)
        ]

    def _sum(self, rate: Fraction, power: int) -> list[Chance]:
        """The polynomial p with p(n) r^n - p(n-1) r^(n-1) = n^power r^n for r = e^rate, from its highest power down."""
        of = self.world.of
        back = self.world.exp(-rate)
        degree = power + 1 if rate == 0 else power
        polynomial: list[Chance] = [of(0)] * (degree + 1)
        for place in range(degree, -1, -1):
            rest = of(0)
            target = place - 1 if rate == 0 else place
            for above in range(place + 1, degree + 1):
                rest = (
                    rest + polynomial[above] * of(comb(above, target) * (-1) ** (above - target))
                    if target >= 0
                    else rest
                )
            wanted = of(1 if target == power else 0)
            if rate == 0:
                polynomial[place] = (wanted + rest) / of(place) if place else of(0)
            else:
                polynomial[place] = (wanted + back * rest) / (of(1) - back)
        return polynomial


def density(world: Arithmetic, noise: NoiseDraw) -> PiecewiseFunction:
    """The density of a draw (for integers, the chance of each)."""
    if isinstance(noise.scale, Logarithm) and not noise.whole:
        raise Intractable("Continuous noise has no rational chances.")
    rate = world.units(1 / Fraction(noise.scale) if isinstance(noise.scale, int) else 1 / noise.scale)
    if noise.declared.peak is None:
        raise Intractable(f"{noise.distribution} noise has no pieces.")
    peak = noise.declared.peak(world, rate)
    pieces = (Piece(tail.low, tail.high, {(tail.direction * rate, 0): peak}) for tail in noise.declared.tails)
    return PiecewiseFunction(world, noise.whole, tuple(pieces))


# -- ends and cells ---------------------------------------------------------------------------------------------------


def _cells(crossings: Sequence[Fraction], whole: bool) -> list[tuple[End, End]]:
    """The line cut at the crossings. Integers are cut before and after each, so that none is in two cells."""
    if not crossings:
        return [(None, None)]
    if not whole:
        ends = [None, *crossings, None]
        return list(pairwise(ends))
    cells: list[tuple[End, End]] = []
    low: End = None
    for crossing in crossings:
        last = Fraction(ceil(crossing) - 1)
        if low is None or low <= last:
            cells.append((low, last))
        if crossing.denominator == 1:
            cells.append((crossing, crossing))
        low = Fraction(floor(crossing) + 1)
    return [*cells, (low, None)]


def _cell_point(low: End, high: End) -> Fraction:
    """A point of a cell: inside it, or, if it is of integers, at its end."""
    if low is None:
        return Fraction(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


def _merge_cells(pieces: Sequence[Piece], whole: bool) -> list[Piece]:
    """Neighbouring integer cells with the same terms as one."""
    if not whole:
        return list(pieces)
    merged: list[Piece] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        adjoining = last is not None and last.high is not None and piece.low == last.high + 1
        if last is not None and adjoining and _same_terms(last.terms, piece.terms):
            merged[-1] = Piece(last.low, piece.high, piece.terms)
        else:
            merged.append(piece)
    return merged


def _vanish(terms: Terms, below: bool, above: bool) -> bool:
    """Whether terms go to 0 towards minus infinity (``below``) and infinity (``above``)."""
    return all((rate > 0 or not below) and (rate < 0 or not above) for rate, _ in terms)


def _same_terms(first: Terms, second: Terms) -> bool:
    return first.keys() == second.keys() and all(first[key] is second[key] for key in first)


def _line_at(line: Line, x: Fraction) -> Fraction:
    return line[0] * x + line[1]


def _inner_end(line: Line | None, end: End, x: Fraction, sign: int) -> Line | None:
    """The larger of a line at ``x`` and an end (``sign`` 1), or the smaller (-1); none is infinity."""
    if end is None or (line is not None and sign * (_line_at(line, x) - end) > 0):
        return line
    return Fraction(0), end


# -- terms ------------------------------------------------------------------------------------------------------------


def _add(total: Terms, terms: Terms, sign: int) -> None:
    for key, factor in terms.items():
        signed = factor if sign == 1 else -factor
        total[key] = total[key] + signed if key in total else signed


def _product(first: Terms, second: Terms) -> Terms:
    total: Terms = {}
    for (rate, power), factor in first.items():
        for (other_rate, other_power), other in second.items():
            _add(total, {(rate + other_rate, power + other_power): factor * other}, 1)
    return total


def _substituted(world: Arithmetic, terms: Terms, line: Line) -> Terms:
    """The terms at ``slope * x + constant``, as terms of x."""
    slope, constant = line
    total: Terms = {}
    for (rate, power), factor in terms.items():
        scaled = factor * world.exp(rate * constant) if rate and constant else factor
        for place in range(power + 1):
            times = Fraction(comb(power, place)) * slope**place * constant ** (power - place)
            if times:
                coefficient = scaled * world.of(times) if times != 1 else scaled
                _add(total, {(rate * slope, place): coefficient}, 1)
    return total


def _value(world: Arithmetic, terms: Terms, point: Fraction) -> Chance:
    total = world.of(0)
    for (rate, power), factor in terms.items():
        total = total + factor * world.exp(rate * point) * world.of(point**power)
    return total

"""Functions made of pieces, each a sum of ``c * x^k * e^(a x)``: exact integrals and sums of Laplace-like noise.

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

from discreet.verbs.prove.refuter.forms import Noise
from discreet.verbs.prove.refuter.logarithms import Logarithm
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.refuter.worlds import Chance, World

Terms: TypeAlias = dict[tuple[Fraction, int], Chance]
"""The coefficients by rate a (in units of the world) and power k."""

End: TypeAlias = "Fraction | None"
"""Where a piece ends; none is infinity."""

Line: TypeAlias = tuple[Fraction, Fraction]
"""``(slope, constant)`` of a linear function."""


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
class Pieces:
    """A function of one draw: 0 outside its pieces, which are in order and do not overlap."""

    world: World
    whole: bool
    pieces: tuple[Piece, ...]

    def times(self, other: Pieces) -> Pieces:
        """The product."""
        return self._by_cells(
            (*self._ends(), *other._ends()),
            lambda low, high: _product(self._terms(low, high), other._terms(low, high)),
        )

    def within(self, low: End, high: End) -> Pieces:
        """The same between two ends, 0 elsewhere."""
        return self.times(Pieces(self.world, self.whole, (Piece(low, high, {(Fraction(0), 0): self.world.of(1)}),)))

    def along(self, line: Line, whole: bool) -> Pieces:
        """The function of x whose value is this one's at ``slope * x + constant``; the slope is not 0."""
        slope, constant = line
        crossings = [(end - constant) / slope for end in self._ends()]
        if self.whole and not (whole and slope.denominator == 1 and constant.denominator == 1):
            raise Outside("Integer noise at what is not an integer.")

        def terms(low: End, high: End) -> Terms:
            middle = slope * _inside(low, high) + constant
            return _along(self.world, self._terms(middle, middle), line)

        return Pieces(self.world, whole, ())._by_cells(crossings, terms)

    def at(self, point: Fraction) -> Chance:
        """The value at a point; ``Outside`` where a density jumps."""
        if self.whole and point.denominator != 1:
            return self.world.of(0)
        touching = [piece for piece in self.pieces if piece.covers(point, point)]
        if not self.whole and len(touching) == 1 and point in (touching[0].low, touching[0].high):
            raise Outside("A density jumps here.")
        return _value(self.world, touching[0].terms, point) if touching else self.world.of(0)

    def integral(self, lowers: Sequence[Line], uppers: Sequence[Line], whole: bool) -> Pieces:
        """The function of x that integrates this one from the largest of ``lowers`` at x to the smallest of ``uppers``.

        Between two neighbouring crossings of the lines with each other and with the ends of pieces the order of all
        these is the same, so it can be read off any point between them.
        """
        lines = (*lowers, *uppers)
        if self.whole and not (whole and all(slope.denominator == 1 for slope, _ in lines)):
            raise Outside("Integer noise compared with what is not an integer.")
        crossings = [(other - constant) / slope for slope, constant in lines for other in self._ends() if slope]
        crossings += [
            (second[1] - first[1]) / (first[0] - second[0])
            for place, first in enumerate(lines)
            for second in lines[:place]
            if first[0] != second[0]
        ]
        primitives = [(piece, self._primitive(piece.terms)) for piece in self.pieces]

        def terms(low: End, high: End) -> Terms:
            x = _inside(low, high)
            lower = max(lowers, key=lambda line: line[0] * x + line[1], default=None)
            upper = min(uppers, key=lambda line: line[0] * x + line[1], default=None)
            total: Terms = {}
            for piece, primitive in primitives:
                first = _later(lower, piece.low, x)
                last = _earlier(upper, piece.high, x)
                if first is not None and last is not None and self._empty(_at(first, x), _at(last, x)):
                    continue
                if not _fade(primitive, first is None, last is None):
                    raise Outside("An integral without end.")
                if last is not None:
                    _add(total, _along(self.world, primitive, last), 1)
                if first is not None:
                    step = (first[0], first[1] - 1) if self.whole else first
                    _add(total, _along(self.world, primitive, step), -1)
            return total

        return Pieces(self.world, whole, ())._by_cells(crossings, terms)

    def total(self) -> Chance:
        """The integral, or sum, over everything."""
        found = self.integral((), (), whole=True)
        return found.at(Fraction(0))

    def _empty(self, first: Fraction, last: Fraction) -> bool:
        return first > last if self.whole else first >= last

    # -- cells --------------------------------------------------------------------------------------------------------

    def _ends(self) -> tuple[Fraction, ...]:
        return tuple(end for piece in self.pieces for end in (piece.low, piece.high) if end is not None)

    def _terms(self, low: End, high: End) -> Terms:
        return next((piece.terms for piece in self.pieces if piece.covers(low, high)), {})

    def _by_cells(self, crossings: Iterable[Fraction], terms: Callable[[End, End], Terms]) -> Pieces:
        found = [Piece(low, high, terms(low, high)) for low, high in _cells(sorted(set(crossings)), self.whole)]
        return Pieces(self.world, self.whole, tuple(piece for piece in _merged(found, self.whole) if piece.terms))

    # -- antiderivatives ----------------------------------------------------------------------------------------------

    def _primitive(self, terms: Terms) -> Terms:
        total: Terms = {}
        for (rate, power), factor in terms.items():
            found = self._sum(rate, power) if self.whole else self._antiderivative(rate, power)
            for place, times in enumerate(found):
                _add(total, {(rate, place): factor * times}, 1)
        return total

    def _antiderivative(self, rate: Fraction, power: int) -> list[Chance]:
        """The polynomial p with (p(x) e^(ax))' = x^power e^(ax), by parts."""
        if not self.world.continuous:
            raise Outside("Continuous noise has no rational chances.")
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
        found: list[Chance] = [of(0)] * (degree + 1)
        for place in range(degree, -1, -1):
            rest = of(0)
            target = place - 1 if rate == 0 else place
            for above in range(place + 1, degree + 1):
                rest = rest + found[above] * of(comb(above, target) * (-1) ** (above - target)) if target >= 0 else rest
            wanted = of(1 if target == power else 0)
            if rate == 0:
                found[place] = (wanted + rest) / of(place) if place else of(0)
            else:
                found[place] = (wanted + back * rest) / (of(1) - back)
        return found


def density(world: World, noise: Noise) -> Pieces:
    """The density of a draw (for integers, the chance of each)."""
    if isinstance(noise.scale, Logarithm) and not noise.whole:
        raise Outside("Continuous noise has no rational chances.")
    rate = world.units(1 / Fraction(noise.scale) if isinstance(noise.scale, int) else 1 / noise.scale)
    zero = Fraction(0)
    if noise.distribution == "DLaplace":
        step = world.exp(-rate)
        top = (world.of(1) - step) / (world.of(1) + step)
        return Pieces(world, True, (Piece(None, Fraction(-1), {(rate, 0): top}), Piece(zero, None, {(-rate, 0): top})))
    if noise.distribution == "Laplace":
        top = world.of(rate / 2)
        return Pieces(world, False, (Piece(None, zero, {(rate, 0): top}), Piece(zero, None, {(-rate, 0): top})))
    if noise.distribution == "Exp":
        return Pieces(world, False, (Piece(zero, None, {(-rate, 0): world.of(rate)}),))
    raise Outside(f"{noise.distribution} noise has no pieces.")


# -- ends and cells ---------------------------------------------------------------------------------------------------


def _cells(crossings: Sequence[Fraction], whole: bool) -> list[tuple[End, End]]:
    """The line cut at the crossings. Integers are cut before and after each, so that none is in two cells."""
    if not crossings:
        return [(None, None)]
    if not whole:
        ends = [None, *crossings, None]
        return list(pairwise(ends))
    found: list[tuple[End, End]] = []
    low: End = None
    for crossing in crossings:
        last = Fraction(ceil(crossing) - 1)
        if low is None or low <= last:
            found.append((low, last))
        if crossing.denominator == 1:
            found.append((crossing, crossing))
        low = Fraction(floor(crossing) + 1)
    return [*found, (low, None)]


def _inside(low: End, high: End) -> Fraction:
    """A point of a cell: inside it, or, if it is of integers, at its end."""
    if low is None:
        return Fraction(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


def _merged(pieces: Sequence[Piece], whole: bool) -> list[Piece]:
    """Neighbouring integer cells with the same terms as one."""
    if not whole:
        return list(pieces)
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and last.high is not None and piece.low == last.high + 1 and _same(last.terms, piece.terms):
            found[-1] = Piece(last.low, piece.high, piece.terms)
        else:
            found.append(piece)
    return found


def _fade(terms: Terms, below: bool, above: bool) -> bool:
    """Whether terms go to 0 towards minus infinity (``below``) and infinity (``above``)."""
    return all((rate > 0 or not below) and (rate < 0 or not above) for rate, _ in terms)


def _same(first: Terms, second: Terms) -> bool:
    return first.keys() == second.keys() and all(first[key] is second[key] for key in first)


def _at(line: Line, x: Fraction) -> Fraction:
    return line[0] * x + line[1]


def _later(line: Line | None, end: End, x: Fraction) -> Line | None:
    if end is None:
        return line
    return line if line is not None and _at(line, x) > end else (Fraction(0), end)


def _earlier(line: Line | None, end: End, x: Fraction) -> Line | None:
    if end is None:
        return line
    return line if line is not None and _at(line, x) < end else (Fraction(0), end)


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


def _along(world: World, terms: Terms, line: Line) -> Terms:
    """The terms at ``slope * x + constant``, as terms of x."""
    slope, constant = line
    total: Terms = {}
    for (rate, power), factor in terms.items():
        scaled = factor * world.exp(rate * constant) if rate and constant else factor
        for place in range(power + 1):
            times = Fraction(comb(power, place)) * slope**place * constant ** (power - place)
            if times:
                found = scaled * world.of(times) if times != 1 else scaled
                _add(total, {(rate * slope, place): found}, 1)
    return total


def _value(world: World, terms: Terms, point: Fraction) -> Chance:
    total = world.of(0)
    for (rate, power), factor in terms.items():
        total = total + factor * world.exp(rate * point) * world.of(point**power)
    return total

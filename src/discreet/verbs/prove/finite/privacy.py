"""Skewed distance of two distributions, and the exact privacy loss of a finite program over all neighbours."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.errors import BadInput
from discreet.verbs.prove.finite.enumeration import outcomes, possible_inputs
from discreet.verbs.prove.number_text import Enclosure
from discreet.verbs.prove.refuter.arithmetic import Exact, Intractable, Logarithm, ball, ball_precision, bounds, log
from discreet.verbs.prove.refuter.neighbours import InputPair, Inputs, are_neighbours, evaluate
from discreet.verbs.prove.refuter.symbolic import Symbolic
from discreet.verbs.prove.syntax import Program

_T = TypeVar("_T", bound=Hashable)


def skewed_distance(mu: Mapping[_T, Fraction], nu: Mapping[_T, Fraction], eps: Exact) -> Enclosure:
    """The eps-skewed distance: the sum of ``max(0, mu(x) - e^eps nu(x))``.

    It is the least delta with which mu(S) <= e^eps nu(S) + delta for every set S: the set of all x where mu(x) exceeds
    e^eps nu(x) needs as much, and no other set needs more. Exact if e^eps is rational; it falls as eps grows, so that
    bounds of e^eps give bounds of it.
    """
    factor = exp_epsilon(eps)
    low, high = (_distance(mu, nu, one) for one in (factor.high, factor.low))
    return Enclosure(low, high)


def privacy_curve(mu: Mapping[_T, Fraction], nu: Mapping[_T, Fraction]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The skewed distance for every eps >= 0, exactly: pairs ``(e^eps, delta)``, in order.

    As a function of e^eps it is linear from each pair to the next, and constant from the last on, since outcomes leave
    the sum where e^eps passes mu(x) / nu(x).
    """
    ratios = {mu[one] / nu[one] for one in mu if nu.get(one)}
    knots = sorted({Fraction(1), *(ratio for ratio in ratios if ratio > 1)})
    return tuple((knot, _distance(mu, nu, knot)) for knot in knots)


def exp_epsilon(eps: Exact) -> Enclosure:
    """e to the power of ``eps``: exact for 0 and integer multiples of the logarithm of a rational number."""
    if isinstance(eps, Logarithm):
        if eps.degree != 1:
            raise BadInput(f"{eps} is not an epsilon.", hint="Give a number, or a logarithm such as ln 3.")
        if eps.factor.denominator == 1:
            exact = eps.base**eps.factor.numerator
            return Enclosure(exact, exact)
    elif eps == 0:
        return Enclosure(Fraction(1), Fraction(1))
    with ball_precision():
        exponent = log(eps.base) * ball(eps.factor) if isinstance(eps, Logarithm) else ball(Fraction(eps))
        try:
            return Enclosure(*bounds(exponent.exp()))
        except Intractable:
            raise BadInput(f"An epsilon of {eps} is too large to compute with.") from None


def _distance(mu: Mapping[_T, Fraction], nu: Mapping[_T, Fraction], factor: Fraction) -> Fraction:
    excess = (chance - factor * nu.get(one, Fraction(0)) for one, chance in mu.items())
    return sum((one for one in excess if one > 0), Fraction(0))


@dataclass(frozen=True)
class WorstNeighbours:
    """Two neighbours (of all, those farthest apart), and the least delta that covers them at the claimed epsilon."""

    inputs: Inputs
    neighbours: Inputs
    delta: Enclosure


def worst_neighbours(
    program: Program,
    parameters: Mapping[str, Exact] | None = None,
    *,
    length: int | None = None,
    public: Mapping[str, Symbolic] | None = None,
    others: Mapping[str, Program] | None = None,
) -> WorstNeighbours:
    """The largest skewed distance, at the program's claim, over all neighbours of a finite domain, in both orders.
    If the claimed delta is one number, the claim is true (for these parameters, this length, these public inputs)
    exactly if it is not below this distance; ``is_private`` has the general case."""
    given = {"eps": Fraction(1), **(parameters or {})}
    return max(_neighbour_distances(program, given, length, public, others), key=lambda one: one.delta.high)


def is_private(
    program: Program,
    parameters: Mapping[str, Exact] | None = None,
    *,
    length: int | None = None,
    public: Mapping[str, Symbolic] | None = None,
    others: Mapping[str, Program] | None = None,
) -> bool:
    """Whether the claim holds for every pair of neighbours of a finite domain, decided exactly: each pair with the
    epsilon and the delta that are claimed for its public inputs."""
    given = {"eps": Fraction(1), **(parameters or {})}
    close = False
    for pair in _neighbour_distances(program, given, length, public, others):
        delta = evaluate(program.delta, {**given, **pair.inputs})
        if not isinstance(delta, int | Fraction):
            raise BadInput("The claimed delta is not a number.")
        if delta < pair.delta.low:
            return False
        close = close or delta < pair.delta.high
    if close:
        raise BadInput("This is too close to decide.", hint="Give eps as a logarithm, which is exact.")
    return True


def _neighbour_distances(
    program: Program,
    given: Mapping[str, Exact],
    length: int | None,
    public: Mapping[str, Symbolic] | None,
    others: Mapping[str, Program] | None,
) -> Iterator[WorstNeighbours]:
    """All neighbours, in both orders, with their distance."""
    all_inputs = list(possible_inputs(program, length, public))
    distributions = [outcomes(program, one, given, others) for one in all_inputs]
    some = False
    for first, mu in zip(all_inputs, distributions, strict=True):
        claim = evaluate(program.epsilon, {**given, **first})
        if not isinstance(claim, int | Fraction | Logarithm):
            raise BadInput("The claim is not a number.")
        for second, nu in zip(all_inputs, distributions, strict=True):
            if first is not second and are_neighbours(program, InputPair(given, first, second)):
                some = True
                yield WorstNeighbours(first, second, skewed_distance(mu, nu, claim))
    if not some:
        raise BadInput(f"{program.name} has no two neighbouring inputs.")

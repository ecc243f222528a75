"""Couplings of two distributions that stay within a relation, and their approximate versions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from discreet.errors import BadInput
from discreet.verbs.prove.finite.distance import growth
from discreet.verbs.prove.finite.flow import Network
from discreet.verbs.prove.refuter.logarithms import Exact

_A = TypeVar("_A", bound=Hashable)
_B = TypeVar("_B", bound=Hashable)


@dataclass(frozen=True)
class Coupling(Generic[_A, _B]):
    """How the mass of the first distribution goes to related outcomes of the second: ``shares[a, b]``. ``left`` is the
    mass that could not go anywhere (0 for a coupling proper)."""

    shares: Mapping[tuple[_A, _B], Fraction]
    left: Fraction


def coupling(
    mu: Mapping[_A, Fraction],
    nu: Mapping[_B, Fraction],
    relation: Callable[[_A, _B], bool],
    eps: Exact = 0,
    delta: Fraction | int = 0,
) -> Coupling[_A, _B] | None:
    """A coupling of ``mu`` and ``nu`` within ``relation``, or (with eps or delta) an (eps, delta)-lifting of it.

    Strassen: such a coupling exists exactly if mu(S) <= nu(R(S)) for every set S, R(S) being what is related to S;
    and, with eps and delta, a lifting if mu(S) <= e^eps nu(R(S)) + delta (Sato). Both are what the largest flow decides
    from a source to each a (at most mu(a)), on to each related b, and from b to a sink (at most e^eps nu(b)): it is
    1 - delta at least. For the smallest cut has S on the source's side, and costs 1 - mu(S) + e^eps nu(R(S)).
    A larger e^eps lets more through, so its bounds decide unless the answer lies between them.
    """
    factor = growth(eps)
    found = _largest(mu, nu, relation, factor.low)
    if found.left <= delta:
        return found
    if factor.high != factor.low and _largest(mu, nu, relation, factor.high).left <= delta:
        raise BadInput("This is too close to decide.", hint="Give eps as a logarithm, which is exact.")
    return None


def _largest(
    mu: Mapping[_A, Fraction], nu: Mapping[_B, Fraction], relation: Callable[[_A, _B], bool], factor: Fraction
) -> Coupling[_A, _B]:
    firsts, seconds = list(mu), list(nu)
    source, sink = len(firsts) + len(seconds), len(firsts) + len(seconds) + 1
    network = Network(sink + 1)
    edges: dict[tuple[_A, _B], int] = {}
    for place, one in enumerate(firsts):
        network.add(source, place, mu[one])
    for place, two in enumerate(seconds, len(firsts)):
        network.add(place, sink, factor * nu[two])
    for place, one in enumerate(firsts):
        for other, two in enumerate(seconds, len(firsts)):
            if relation(one, two):
                edges[one, two] = network.add(place, other, mu[one])
    flow = network.fill(source, sink)
    shares = {pair: network.carried(edge) for pair, edge in edges.items() if network.carried(edge)}
    return Coupling(shares, sum(mu.values(), Fraction(0)) - flow)

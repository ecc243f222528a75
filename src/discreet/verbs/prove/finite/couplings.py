"""Couplings of two distributions, approximate liftings, and relational judgements ``c1 ~ c2 : P => Q``.

A judgement says: if two inputs are related by P, then the outputs of the two programs are related by Q, that is, their
distributions have a coupling within Q (or, with eps and delta, an approximate lifting of it). P speaks of the inputs,
whose names end in 1 and 2; Q of ``result1`` and ``result2``, and of the inputs too. A result is what is returned, else
the list of what is emitted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

from discreet.errors import BadInput
from discreet.verbs.prove.finite.enumeration import outcomes, possible_inputs
from discreet.verbs.prove.finite.privacy import exp_epsilon
from discreet.verbs.prove.interpreter import Outputs, value_of
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.refuter.arithmetic import Exact
from discreet.verbs.prove.refuter.symbolic import Symbolic
from discreet.verbs.prove.syntax import Expression, Program, Value

_A = TypeVar("_A", bound=Hashable)
_B = TypeVar("_B", bound=Hashable)


class FlowNetwork:
    """A flow network with rational capacities (Dinic's algorithm). The number of rounds does not depend on the
    capacities, so fractions do no harm."""

    def __init__(self, nodes: int) -> None:
        self._edges: list[list[int]] = [[] for _ in range(nodes)]
        self._heads: list[int] = []
        self._left: list[Fraction] = []

    def add(self, tail: int, head: int, capacity: Fraction) -> int:
        """Add an edge and return its number."""
        number = len(self._heads)
        for start, end, left in ((tail, head, capacity), (head, tail, Fraction(0))):
            self._edges[start].append(len(self._heads))
            self._heads.append(end)
            self._left.append(left)
        return number

    def carried(self, edge: int) -> Fraction:
        """Flow on an edge: the residual capacity of its reverse edge."""
        return self._left[edge ^ 1]

    def fill(self, source: int, sink: int) -> Fraction:
        """Send a maximum flow and return its value."""
        total = Fraction(0)
        while (levels := self._levels(source, sink)) is not None:
            waiting = [0] * len(self._edges)
            while sent := self._send(source, sink, None, levels, waiting):
                total += sent
        return total

    def _levels(self, source: int, sink: int) -> list[int] | None:
        levels = [-1] * len(self._edges)
        levels[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                if self._left[edge] and levels[self._heads[edge]] < 0:
                    levels[self._heads[edge]] = levels[node] + 1
                    queue.append(self._heads[edge])
        return levels if levels[sink] >= 0 else None

    def _send(self, node: int, sink: int, most: Fraction | None, levels: list[int], waiting: list[int]) -> Fraction:
        """Send flow along one path whose every edge leads to the next level; depth is at most the number of levels."""
        if node == sink:
            return most or Fraction(0)
        while waiting[node] < len(self._edges[node]):
            edge = self._edges[node][waiting[node]]
            head = self._heads[edge]
            if self._left[edge] and levels[head] == levels[node] + 1:
                narrow = self._left[edge] if most is None else min(most, self._left[edge])
                if sent := self._send(head, sink, narrow, levels, waiting):
                    self._left[edge] -= sent
                    self._left[edge ^ 1] += sent
                    return sent
            waiting[node] += 1
        return Fraction(0)


@dataclass(frozen=True)
class Coupling(Generic[_A, _B]):
    """How the mass of the first distribution goes to related outcomes of the second: ``shares[a, b]``. ``left`` is the
    mass that could not go anywhere (0 for a coupling proper)."""

    shares: Mapping[tuple[_A, _B], Fraction]
    left: Fraction


def find_coupling(
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
    factor = exp_epsilon(eps)
    coupling = _max_flow_coupling(mu, nu, relation, factor.low)
    if coupling.left <= delta:
        return coupling
    if factor.high != factor.low and _max_flow_coupling(mu, nu, relation, factor.high).left <= delta:
        raise BadInput("This is too close to decide.", hint="Give eps as a logarithm, which is exact.")
    return None


def _max_flow_coupling(
    mu: Mapping[_A, Fraction], nu: Mapping[_B, Fraction], relation: Callable[[_A, _B], bool], factor: Fraction
) -> Coupling[_A, _B]:
    firsts, seconds = list(mu), list(nu)
    source, sink = len(firsts) + len(seconds), len(firsts) + len(seconds) + 1
    network = FlowNetwork(sink + 1)
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


@dataclass(frozen=True)
class Quadruple:
    """``first ~ second : before => after``, up to eps and delta; ``length`` is that of lists that declare none."""

    first: Program
    second: Program
    before: Expression
    after: Expression
    eps: Exact = 0
    delta: Fraction = Fraction(0)
    parameters: Mapping[str, Exact] = field(default_factory=dict)
    length: int | None = None


def read_quadruple(
    text: str, programs: Mapping[str, Program], eps: Exact = 0, *, length: int | None = None
) -> Quadruple:
    """A judgement from its text, such as ``pad ~ pad : true => result1 == result2``."""
    names, colon, judgement = text.partition(":")
    before, arrow, after = judgement.partition("=>")
    first, tilde, second = (part.strip() for part in names.partition("~"))
    if not (colon and arrow and tilde):
        raise BadInput(
            "A judgement is written c1 ~ c2 : P => Q.", hint="Such as: pad ~ pad : true => result1 == result2"
        )
    if missing := [name for name in (first, second) if name not in programs]:
        raise BadInput(f"There is no program {missing[0]}.")
    return Quadruple(
        programs[first],
        programs[second],
        parse_expression(before.strip()),
        parse_expression(after.strip()),
        eps,
        length=length,
    )


def judgement_holds(quadruple: Quadruple) -> bool:
    """Whether a judgement is true, for all finite inputs; with lists of no declared length, for the given one."""
    return find_failing_inputs(quadruple) is None


def find_failing_inputs(quadruple: Quadruple) -> tuple[Mapping[str, Symbolic], Mapping[str, Symbolic]] | None:
    """Two inputs that P relates, for which there is no coupling within Q; none if the judgement is true."""
    q = quadruple
    seconds = list(possible_inputs(q.second, q.length))
    distributions = [outcomes(q.second, one, q.parameters) for one in seconds]
    for first in possible_inputs(q.first, q.length):
        distribution = outcomes(q.first, first, q.parameters)
        for second, other in zip(seconds, distributions, strict=True):
            names = {**_suffixed(first, "1"), **_suffixed(second, "2")}
            if value_of(q.before, names) is not True:
                continue

            def related(one: Outputs, two: Outputs, names: Mapping[str, Value] = names) -> bool:
                if one.fault or two.fault:
                    return one == two
                return value_of(q.after, {**names, "result1": _result(one), "result2": _result(two)}) is True

            if find_coupling(distribution, other, related, q.eps, q.delta) is None:
                return first, second
    return None


def _suffixed(given: Mapping[str, Symbolic], ending: str) -> dict[str, Value]:
    return {name + ending: value for name, value in given.items()}  # type: ignore[misc]


def _result(outcome: Outputs) -> Value:
    return outcome.emitted if outcome.returned is None else outcome.returned

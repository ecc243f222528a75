"""The exact privacy loss of a finite program, over all neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadInput
from discreet.verbs.prove.finite.distance import skewed_distance
from discreet.verbs.prove.finite.domains import possible_inputs
from discreet.verbs.prove.finite.enumeration import outcomes
from discreet.verbs.prove.number_text import Enclosure
from discreet.verbs.prove.refuter.evaluator import Symbolic
from discreet.verbs.prove.refuter.logarithms import Exact, Logarithm
from discreet.verbs.prove.refuter.neighbours import InputPair, Inputs, are_neighbours, evaluate
from discreet.verbs.prove.syntax import Program


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
    exactly if it is not below this distance; ``private`` has the general case."""
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
            raise BadInput("The delta that is claimed is no number.")
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
    laws = [outcomes(program, one, given, others) for one in all_inputs]
    some = False
    for first, mu in zip(all_inputs, laws, strict=True):
        claim = evaluate(program.epsilon, {**given, **first})
        if not isinstance(claim, int | Fraction | Logarithm):
            raise BadInput("The claim is no number.")
        for second, nu in zip(all_inputs, laws, strict=True):
            if first is not second and are_neighbours(program, InputPair(given, first, second)):
                some = True
                yield WorstNeighbours(first, second, skewed_distance(mu, nu, claim))
    if not some:
        raise BadInput(f"{program.name} has no two neighbours.")

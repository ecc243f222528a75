"""What a finite program loses, over all neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadInput
from discreet.prove.finite.distance import skewed
from discreet.prove.finite.domains import inputs
from discreet.prove.finite.enumeration import outcomes
from discreet.prove.refuter.counterexample import Enclosure
from discreet.prove.refuter.evaluating import Symbolic
from discreet.prove.refuter.logarithms import Exact, Logarithm
from discreet.prove.refuter.neighbours import Inputs, Pair, adjacent, known
from discreet.prove.syntax import Program


@dataclass(frozen=True)
class Worst:
    """The neighbours that are farthest apart, and the least delta that covers them at the claimed epsilon."""

    inputs: Inputs
    neighbours: Inputs
    delta: Enclosure


def worst(
    program: Program,
    parameters: Mapping[str, Exact] | None = None,
    *,
    length: int = 1,
    public: Mapping[str, Symbolic] | None = None,
    others: Mapping[str, Program] | None = None,
) -> Worst:
    """The largest skewed distance, at the program's claim, over all neighbours of a finite domain, in both orders.
    The claim is true (for these parameters, this length, these public inputs) exactly
    if it is not above the claimed delta."""
    given = {"eps": Fraction(1), **(parameters or {})}
    all_inputs = list(inputs(program, length, public))
    laws = [outcomes(program, one, given, others) for one in all_inputs]
    found: Worst | None = None
    for first, mu in zip(all_inputs, laws, strict=True):
        claim = known(program.epsilon, {**given, **first})
        if not isinstance(claim, int | Fraction | Logarithm):
            raise BadInput("The claim is no number.")
        for second, nu in zip(all_inputs, laws, strict=True):
            if first is second or not adjacent(program, Pair(given, first, second)):
                continue
            delta = skewed(mu, nu, claim)
            if found is None or delta.high > found.delta.high:
                found = Worst(first, second, delta)
    if found is None:
        raise BadInput(f"{program.name} has no two neighbours.")
    return found


def private(
    program: Program,
    parameters: Mapping[str, Exact] | None = None,
    *,
    length: int = 1,
    public: Mapping[str, Symbolic] | None = None,
    others: Mapping[str, Program] | None = None,
) -> bool:
    """Whether the claim holds for every pair of neighbours of a finite domain, decided exactly."""
    given = {"eps": Fraction(1), **(parameters or {})}
    found = worst(program, parameters, length=length, public=public, others=others)
    delta = known(program.delta, {**given, **found.inputs})
    if not isinstance(delta, int | Fraction):
        raise BadInput("The delta that is claimed is no number.")
    if found.delta.low <= delta < found.delta.high:
        raise BadInput("This is too close to decide.", hint="Give eps as a logarithm, which is exact.")
    return found.delta.high <= delta

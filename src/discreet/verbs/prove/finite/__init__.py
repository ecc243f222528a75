"""Finite programs, exactly: outcomes, distances, couplings, and relational judgements."""

from __future__ import annotations

from discreet.verbs.prove.finite.couplings import (
    Coupling,
    Quadruple,
    find_coupling,
    find_failing_inputs,
    judgement_holds,
    read_quadruple,
)
from discreet.verbs.prove.finite.enumeration import outcomes
from discreet.verbs.prove.finite.privacy import (
    WorstNeighbours,
    exp_epsilon,
    is_private,
    privacy_curve,
    skewed_distance,
    worst_neighbours,
)

__all__ = [
    "Coupling",
    "Quadruple",
    "WorstNeighbours",
    "exp_epsilon",
    "find_coupling",
    "find_failing_inputs",
    "is_private",
    "judgement_holds",
    "outcomes",
    "privacy_curve",
    "read_quadruple",
    "skewed_distance",
    "worst_neighbours",
]

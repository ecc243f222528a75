"""Finite programs, exactly: outcomes, distances, couplings, and relational judgements."""

from __future__ import annotations

from discreet.verbs.prove.finite.couplings import Coupling, find_coupling
from discreet.verbs.prove.finite.distance import exp_epsilon, privacy_curve, skewed_distance
from discreet.verbs.prove.finite.enumeration import outcomes
from discreet.verbs.prove.finite.privacy import WorstNeighbours, is_private, worst_neighbours
from discreet.verbs.prove.finite.quadruples import Quadruple, find_failing_inputs, judgement_holds, read_quadruple

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

"""Finite programs, exactly: outcomes, distances, couplings, and relational judgements."""

from __future__ import annotations

from discreet.verbs.prove.finite.distance import curve, growth, skewed
from discreet.verbs.prove.finite.enumeration import outcomes
from discreet.verbs.prove.finite.liftings import Coupling, coupling
from discreet.verbs.prove.finite.privacy import Worst, private, worst
from discreet.verbs.prove.finite.quadruples import Quadruple, failing, holds, read_quadruple

__all__ = [
    "Coupling",
    "Quadruple",
    "Worst",
    "coupling",
    "curve",
    "failing",
    "growth",
    "holds",
    "outcomes",
    "private",
    "read_quadruple",
    "skewed",
    "worst",
]

"""Search for two neighbouring inputs and an event that break a program's claim; what it finds is certain."""

from __future__ import annotations

from discreet.verbs.prove.refuter.counterexample import Counterexample
from discreet.verbs.prove.refuter.neighbours import InputPair
from discreet.verbs.prove.refuter.search import refute, replay

__all__ = ["Counterexample", "InputPair", "refute", "replay"]

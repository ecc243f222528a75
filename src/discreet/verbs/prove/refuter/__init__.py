"""Looks for two neighbouring inputs and an event that break a program's claim; what it finds is certain."""

from __future__ import annotations

from discreet.verbs.prove.refuter.counterexample import Counterexample, Enclosure
from discreet.verbs.prove.refuter.replaying import replay
from discreet.verbs.prove.refuter.searching import refute

__all__ = ["Counterexample", "Enclosure", "refute", "replay"]

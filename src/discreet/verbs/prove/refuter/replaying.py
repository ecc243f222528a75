"""A counterexample, once more from the beginning."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.verbs.prove.refuter.counterexample import Counterexample, measured
from discreet.verbs.prove.refuter.neighbours import Pair, adjacent
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.refuter.paths import Task
from discreet.verbs.prove.refuter.sampled import tested
from discreet.verbs.prove.syntax import Program


def replay(program: Program, counterexample: Counterexample, others: Mapping[str, Program] | None = None) -> bool:
    """Whether a counterexample is one: its inputs are neighbours, and the chances, computed afresh (or counted in other
    runs), break the claim."""
    found = counterexample
    pair = Pair(found.parameters, found.inputs, found.neighbours)
    if not adjacent(program, pair):
        return False
    task = Task(program, found.inputs, found.parameters, others or {})
    try:
        if found.how == "sampled":
            return tested(program, pair, found.events[0], others or {}, test=1, label="replay") is not None
        again = measured(task, task.with_inputs(found.neighbours), found.events)
    except Outside:
        return False
    return again is not None and again.events == found.events

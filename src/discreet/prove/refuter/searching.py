"""The search for a counterexample: inputs from the simplest, events that stand out, chances without error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from time import thread_time
from typing import Protocol

from discreet.prove.refuter.counterexample import Counterexample, measured, replay
from discreet.prove.refuter.evaluating import Fault, Symbolic
from discreet.prove.refuter.events import events
from discreet.prove.refuter.logarithms import Exact, Logarithm
from discreet.prove.refuter.neighbours import Inputs, Pair, adjacent, known, pairs
from discreet.prove.refuter.outside import Outside
from discreet.prove.refuter.paths import Task
from discreet.prove.refuter.scanning import distributions, mentions_eps
from discreet.prove.syntax import Program

_CONTINUOUS = {"Laplace", "Exp", "Gaussian"}
_RATIONAL = (Fraction(1), Fraction(1, 2), Fraction(2))
_TWO = Fraction(2)
_LOGARITHMS = (Logarithm(_TWO), Logarithm(_TWO, Fraction(2)), Logarithm(_TWO, Fraction(4)))


class Suggestion(Protocol):
    """Inputs that somebody has reasons to suspect."""

    @property
    def inputs(self) -> Mapping[str, Symbolic]: ...

    @property
    def neighbours(self) -> Mapping[str, Symbolic]: ...


def refute(
    program: Program,
    hints: Sequence[Suggestion] = (),
    *,
    seconds: float = 8.0,
    others: Mapping[str, Program] | None = None,
) -> Counterexample | None:
    """Two neighbouring inputs and an event that break the claim, or none if none is found in ``seconds`` (of CPU).

    Finding none says nothing. What is found is replayed before it is given. Programs that draw integers and coins alone
    are tried with eps a logarithm first, so that all chances are fractions.
    """
    end = thread_time() + seconds
    called = others or {}
    continuous = bool(distributions(program, called) & _CONTINUOUS)
    epsilons: tuple[Exact, ...] = _RATIONAL if continuous else (*_LOGARITHMS, *_RATIONAL)
    if not mentions_eps(program, called):
        epsilons = epsilons[:1]
    for pair in _tried(program, hints, epsilons):
        if thread_time() > end:
            break
        found = _broken(program, pair, called, end)
        if found is not None and replay(program, found, called):
            return found
    return None


def _tried(program: Program, hints: Sequence[Suggestion], epsilons: Sequence[Exact]) -> Iterator[Pair]:
    for hint in hints:
        for one, two in ((hint.inputs, hint.neighbours), (hint.neighbours, hint.inputs)):
            pair = _suggested(program, one, two)
            if adjacent(program, pair):
                yield pair
    yield from pairs(program, epsilons)


def _suggested(program: Program, first: Inputs, second: Inputs) -> Pair:
    """A hint as a pair; whatever it says of eps counts, and eps is 1 if it says nothing."""
    eps = first.get("eps", Fraction(1))
    names = [one.name for one in program.inputs]
    sides = ({name: side[name] for name in names if name in side} for side in (first, second))
    return Pair({"eps": eps if isinstance(eps, int | Fraction | Logarithm) else Fraction(1)}, *sides)


def _broken(program: Program, pair: Pair, others: Mapping[str, Program], end: float) -> Counterexample | None:
    """An event that breaks the claim for these inputs, if one of those tried does."""
    task = Task(program, pair.inputs, pair.parameters, others)
    other = task.with_inputs(pair.neighbours)
    try:
        delta = known(program.delta, {**pair.parameters, **pair.inputs})
        candidates = events(task, other, bounded=bool(delta))
        if delta:
            together = list(candidates)
            groups = [together] if not _overlapping(together) else [[one] for one in together]
        for group in groups if delta else ([one] for one in candidates):
            if thread_time() > end:
                return None
            found = _try(task, other, group)
            if found is not None:
                return found
    except (Outside, Fault):
        pass
    return None


def _overlapping(together: Sequence[Sequence[object]]) -> bool:
    from discreet.prove.refuter.chances import Between

    return any(isinstance(one, Between) for event in together for one in event)


def _try(task: Task, other: Task, group: Sequence[tuple[object, ...]]) -> Counterexample | None:
    try:
        return measured(task, other, group)  # type: ignore[arg-type]
    except Outside:
        return None

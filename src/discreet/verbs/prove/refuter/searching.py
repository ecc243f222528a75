"""The search for a counterexample: inputs from the simplest, events that stand out, chances without error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from time import thread_time
from typing import Protocol

from discreet.verbs.prove.refuter.chances import Between, Wanted
from discreet.verbs.prove.refuter.counterexample import MOST_PATHS, Counterexample, measured
from discreet.verbs.prove.refuter.evaluating import Symbolic
from discreet.verbs.prove.refuter.events import events
from discreet.verbs.prove.refuter.logarithms import Exact, Logarithm
from discreet.verbs.prove.refuter.neighbours import Inputs, Pair, adjacent, known, pairs
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.refuter.paths import Task
from discreet.verbs.prove.refuter.replaying import replay
from discreet.verbs.prove.refuter.sampled import sampled
from discreet.verbs.prove.refuter.scanning import distributions, mentions_eps
from discreet.verbs.prove.syntax import Program

_CONTINUOUS = {"Laplace", "Exp", "Gaussian"}
_RATIONAL = (Fraction(1), Fraction(1, 2), Fraction(2))
_TWO = Fraction(2)
_FIRST = 480
"""So many pairs are looked at quickly before any is looked at for long."""
_FEW_PATHS = 32
_LONGEST = 64
_IN_VAIN = 6
"""After so many events that could not be reckoned with, other kinds are tried."""
_ENOUGH = 12
"""If none of so many pairs has an event that can be reckoned with, none will."""
_SHARES = 5
"""No pair gets more than this part of the time."""
_LOGARITHMS = (Logarithm(_TWO), Logarithm(_TWO, Fraction(2)), Logarithm(_TWO, Fraction(4)))


class Suggestion(Protocol):
    """Inputs that somebody has reasons to suspect."""

    @property
    def parameters(self) -> Mapping[str, Fraction]: ...

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
    reckoned = 0
    for quick in (True, False):
        longest = _LONGEST
        for number, pair in enumerate(_tried(program, hints, epsilons, quick)):
            if thread_time() > (end - seconds / 3 if quick else end):
                break
            if number == (_FIRST if quick else _ENOUGH) and (quick or not reckoned):
                break
            if (size := _size(pair.inputs)) > longest:
                continue
            task, until = (
                Task(program, pair.inputs, pair.parameters, called),
                min(end, thread_time() + seconds / _SHARES),
            )
            try:
                found, count = _broken(task, pair.neighbours, quick, until)
            except Outside:
                continue
            if found is not None and replay(program, found, called):
                return found
            reckoned += count
            if not count and size > 1:
                longest = size - 1  # what cannot be reckoned with here cannot be with longer lists
    return None if reckoned else _by_samples(program, hints, called, end)


def _size(given: Inputs) -> int:
    return max((len(value) for value in given.values() if isinstance(value, tuple)), default=0)


def _by_samples(
    program: Program, hints: Sequence[Suggestion], others: Mapping[str, Program], end: float
) -> Counterexample | None:
    """The last resort, for programs none of whose events can be reckoned with."""
    for test, pair in enumerate(_tried(program, hints, _RATIONAL, True), 1):
        if thread_time() > end:
            break
        try:
            found = sampled(program, pair, others, test=test, end=end)
        except Outside:
            continue
        if found is not None and replay(program, found, others):
            return found
    return None


def _tried(program: Program, hints: Sequence[Suggestion], epsilons: Sequence[Exact], quick: bool) -> Iterator[Pair]:
    """What was suggested and what is tried anyway, in turns: suggestions that lead nowhere cost half the time.

    What is looked at for long begins with the simplest, since suggestions had their turn.
    """
    own = pairs(program, epsilons)
    yield from islice(own, 0 if quick else 2)
    for pair in _suggested(program, hints):
        yield pair
        yield from islice(own, 1)
    yield from own


def _suggested(program: Program, hints: Sequence[Suggestion]) -> Iterator[Pair]:
    for hint in hints:
        for one, two in ((hint.inputs, hint.neighbours), (hint.neighbours, hint.inputs)):
            pair = Pair({"eps": hint.parameters.get("eps", Fraction(1))}, _plain(one), _plain(two))
            if adjacent(program, pair):
                yield pair


def _plain(given: Mapping[str, Symbolic]) -> Inputs:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def _broken(task: Task, neighbours: Inputs, quick: bool, end: float) -> tuple[Counterexample | None, int]:
    """An event that breaks the claim for these inputs, if one of those tried does; and how many could be reckoned with.

    With a delta, events that exclude each other are put together, and numbers lie between bounds. They do so too if
    densities could not be had.
    """
    other = task.with_inputs(neighbours)
    bounded = bool(known(task.program.delta, {**task.parameters, **task.inputs}))
    reckoned = outside = 0
    while True:
        for group in _groups(events(task, other, bounded=bounded, quick=quick), bounded):
            if thread_time() > end:
                return None, reckoned
            try:
                found = measured(task, other, group, _FEW_PATHS if quick else MOST_PATHS)
            except Outside:
                outside += 1
                if outside == (1 if quick else _IN_VAIN) and not reckoned:
                    break
                continue
            reckoned += 1
            if found is not None:
                return found, reckoned
        if bounded or quick or not outside:
            return None, reckoned
        bounded, outside = True, 0


def _groups(candidates: Iterable[tuple[Wanted, ...]], bounded: bool) -> Iterator[Sequence[tuple[Wanted, ...]]]:
    """Events one by one; if they may be put together, first those without bounds, which exclude each other, as one."""
    if not bounded:
        yield from ([one] for one in candidates)
        return
    found = list(candidates)
    single = [one for one in found if not any(isinstance(part, Between) for part in one)]
    yield from [single] if single else []
    yield from ([one] for one in found if one not in single)

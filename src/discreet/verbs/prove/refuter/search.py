"""The search for a counterexample, and its replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from time import thread_time

from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.refuter.chances import Between, Wanted
from discreet.verbs.prove.refuter.counterexample import MAX_PATHS, Counterexample, measure_event
from discreet.verbs.prove.refuter.errors import Intractable
from discreet.verbs.prove.refuter.events import candidate_events
from discreet.verbs.prove.refuter.logarithms import Exact, Logarithm
from discreet.verbs.prove.refuter.neighbours import InputPair, Inputs, are_neighbours, candidate_pairs, evaluate
from discreet.verbs.prove.refuter.paths import Task
from discreet.verbs.prove.refuter.sampling import confirm_by_sampling, search_by_sampling
from discreet.verbs.prove.syntax import Program
from discreet.verbs.prove.traverse import drawn_distributions, mentions_eps

_RATIONAL_EPSILONS = (Fraction(1), Fraction(1, 2), Fraction(2))
_TWO = Fraction(2)
_QUICK_PAIRS = 480
"""Pairs that get a quick look before any gets a long one."""
_QUICK_PATHS = 32
_MAX_LIST_ITEMS = 64
_MAX_FAILED_EVENTS = 6
"""Intractable events of a pair after which other kinds are tried."""
_MAX_FAILED_PAIRS = 12
"""Pairs without a tractable event after which the search gives up."""
_TIME_SHARES = 5
"""No pair gets more than one part in so many of the time."""
_LOGARITHM_EPSILONS = (Logarithm(_TWO), Logarithm(_TWO, Fraction(2)), Logarithm(_TWO, Fraction(4)))


def refute(
    program: Program,
    hints: Sequence[InputPair] = (),
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
    continuous = any(DISTRIBUTIONS[name].continuous for name in drawn_distributions(program, called))
    epsilons: tuple[Exact, ...] = _RATIONAL_EPSILONS if continuous else (*_LOGARITHM_EPSILONS, *_RATIONAL_EPSILONS)
    if not mentions_eps(program, called):
        epsilons = epsilons[:1]
    reckoned = 0
    for quick in (True, False):
        longest = _MAX_LIST_ITEMS
        for number, pair in enumerate(_pairs_to_try(program, hints, epsilons, quick)):
            if thread_time() > (end - seconds / 3 if quick else end):
                break
            if number == (_QUICK_PAIRS if quick else _MAX_FAILED_PAIRS) and (quick or not reckoned):
                break
            if (size := _longest_list(pair.inputs)) > longest:
                continue
            task, until = (
                Task(program, pair.inputs, pair.parameters, called),
                min(end, thread_time() + seconds / _TIME_SHARES),
            )
            try:
                counterexample, count = _find_event(task, pair.neighbours, quick, until)
            except Intractable:
                continue
            if counterexample is not None and replay(program, counterexample, called):
                return counterexample
            reckoned += count
            if not count and size > 1:
                longest = size - 1  # what cannot be reckoned with here cannot be with longer lists
    return None if reckoned else _refute_by_sampling(program, hints, called, end)


def _longest_list(given: Inputs) -> int:
    return max((len(value) for value in given.values() if isinstance(value, tuple)), default=0)


def _refute_by_sampling(
    program: Program, hints: Sequence[InputPair], others: Mapping[str, Program], end: float
) -> Counterexample | None:
    """The last resort, for programs without tractable events."""
    for test, pair in enumerate(_pairs_to_try(program, hints, _RATIONAL_EPSILONS, True), 1):
        if thread_time() > end:
            break
        try:
            counterexample = search_by_sampling(program, pair, others, test=test, end=end)
        except Intractable:
            continue
        if counterexample is not None and replay(program, counterexample, others):
            return counterexample
    return None


def _pairs_to_try(
    program: Program, hints: Sequence[InputPair], epsilons: Sequence[Exact], quick: bool
) -> Iterator[InputPair]:
    """What was suggested and what is tried anyway, in turns: suggestions that lead nowhere cost half the time.

    What is looked at for long begins with the simplest, since suggestions had their turn.
    """
    own = candidate_pairs(program, epsilons)
    yield from islice(own, 0 if quick else 2)
    for pair in _suggested_pairs(program, hints):
        yield pair
        yield from islice(own, 1)
    yield from own


def _suggested_pairs(program: Program, hints: Sequence[InputPair]) -> Iterator[InputPair]:
    for hint in hints:
        for one, two in ((hint.inputs, hint.neighbours), (hint.neighbours, hint.inputs)):
            pair = InputPair(hint.parameters, one, two)
            if are_neighbours(program, pair):
                yield pair


def _find_event(task: Task, neighbours: Inputs, quick: bool, end: float) -> tuple[Counterexample | None, int]:
    """An event that breaks the claim for these inputs, if one of those tried does; and how many could be reckoned with.

    With a delta, events that exclude each other are put together, and numbers lie between bounds. They do so too if
    densities could not be had.
    """
    other = task.with_inputs(neighbours)
    bounded = bool(evaluate(task.program.delta, {**task.parameters, **task.inputs}))
    reckoned = outside = 0
    while True:
        for group in _event_groups(candidate_events(task, other, bounded=bounded, quick=quick), bounded):
            if thread_time() > end:
                return None, reckoned
            try:
                counterexample = measure_event(task, other, group, _QUICK_PATHS if quick else MAX_PATHS)
            except Intractable:
                outside += 1
                if outside == (1 if quick else _MAX_FAILED_EVENTS) and not reckoned:
                    break
                continue
            reckoned += 1
            if counterexample is not None:
                return counterexample, reckoned
        if bounded or quick or not outside:
            return None, reckoned
        bounded, outside = True, 0


def _event_groups(candidates: Iterable[tuple[Wanted, ...]], bounded: bool) -> Iterator[Sequence[tuple[Wanted, ...]]]:
    """Events one by one; if they may be put together, first those without bounds, which exclude each other, as one."""
    if not bounded:
        yield from ([one] for one in candidates)
        return
    events = list(candidates)
    single = [one for one in events if not any(isinstance(part, Between) for part in one)]
    yield from [single] if single else []
    yield from ([one] for one in events if one not in single)


def replay(program: Program, counterexample: Counterexample, others: Mapping[str, Program] | None = None) -> bool:
    """Whether a counterexample is one: its inputs are neighbours, and the chances, computed afresh (or counted in other
    runs), break the claim."""
    found = counterexample
    pair = InputPair(found.parameters, found.inputs, found.neighbours)
    if not are_neighbours(program, pair):
        return False
    task = Task(program, found.inputs, found.parameters, others or {})
    try:
        if found.how == "sampled":
            return confirm_by_sampling(program, pair, found.events[0], others or {}, test=1, label="replay") is not None
        again = measure_event(task, task.with_inputs(found.neighbours), found.events)
    except Intractable:
        return False
    return again is not None and again.events == found.events

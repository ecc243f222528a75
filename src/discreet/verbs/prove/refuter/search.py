"""The search for a counterexample, its candidate events, and its replay.

An event is an output that is likelier given the first input than given the second. Which events are tried decides only
whether a counterexample is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from math import ceil
from time import thread_time

from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.refuter.arithmetic import Exact, Intractable, Logarithm
from discreet.verbs.prove.refuter.chances import Between, Wanted
from discreet.verbs.prove.refuter.counterexample import MAX_PATHS, Counterexample, measure_event
from discreet.verbs.prove.refuter.neighbours import InputPair, Inputs, are_neighbours, candidate_pairs, evaluate
from discreet.verbs.prove.refuter.paths import Choose, Path, Task, all_paths, follow
from discreet.verbs.prove.refuter.sampling import confirm_by_sampling, search_by_sampling
from discreet.verbs.prove.refuter.symbolic import LinearForm, NoiseDraw
from discreet.verbs.prove.syntax import Program, drawn_distributions, mentions_eps

_MAX_LISTED_PATHS = 20
_MAX_CHOICES = 24
_QUARTERS = sorted(range(-16, 17), key=abs)
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
"""Largest share of the time for one pair, as 1 over this number."""
_LOGARITHM_EPSILONS = (Logarithm(_TWO), Logarithm(_TWO, Fraction(2)), Logarithm(_TWO, Fraction(4)))


def candidate_events(task: Task, other: Task, *, bounded: bool, quick: bool = False) -> Iterator[tuple[Wanted, ...]]:
    """Events to compare two runs by; ``bounded``: numbers between bounds, which have a chance even if continuous;
    ``quick``: only those that stand out most."""
    seen = set()
    for path in _typical_paths(task, other, quick=True) if quick else _paths(task, other):
        for wanted in _interval_events(path, quick) if bounded else _point_events(path, _same_path(other, path), quick):
            if wanted not in seen:
                seen.add(wanted)
                yield wanted


def _paths(task: Task, other: Task) -> Iterator[Path]:
    """Paths of the first run: all if they are few, otherwise some that stand out."""
    try:
        few = list(islice(all_paths(task), _MAX_LISTED_PATHS + 1))
    except Intractable:
        few = []
    yield from few if 0 < len(few) <= _MAX_LISTED_PATHS else _typical_paths(task, other, quick=False)


def _typical_paths(task: Task, other: Task, quick: bool) -> Iterator[Path]:
    for ways in dict.fromkeys(_way_policies(task, other, quick)):
        try:
            yield follow(task, _take_ways(ways, len(ways) - 1))
        except Intractable:
            continue


def _way_policies(task: Task, other: Task, quick: bool) -> Iterator[tuple[int, ...]]:
    """Ways to take, the last one from there on: at every comparison the way that is likelier given the first input than
    given the second, or (unless it must be quick) always the same way, or another way once."""
    telling = _likelier_ways(task, other, 1)
    yield telling
    yield _likelier_ways(task, other, 0)
    if quick:
        return
    yield (1,)
    yield (0,)
    choices = len(telling)
    for place in sorted({0, choices // 2, max(0, choices - 2)}, reverse=True):
        yield (*[1] * place, 0, 1)


def _take_ways(ways: Sequence[int], last: int) -> Choose:
    place = -1

    def choose(count: int, _form: LinearForm | None) -> int:
        nonlocal place
        place += 1
        return min(ways[min(place, last)], count - 1)

    return choose


class _ChoiceLimit(Exception):
    """The limit of choices is reached."""


def _compared_forms(task: Task, ways: Sequence[int], default: int) -> list[LinearForm | None]:
    """What is compared with 0 at each choice, on these ways and then the default."""
    forms: list[LinearForm | None] = []

    def choose(count: int, form: LinearForm | None) -> int:
        if len(forms) == _MAX_CHOICES:
            raise _ChoiceLimit
        forms.append(form)
        return min(ways[len(forms) - 1] if len(forms) <= len(ways) else default, count - 1)

    with suppress(_ChoiceLimit, Intractable):
        follow(task, choose)
    return forms


def _likelier_ways(task: Task, other: Task, tie: int) -> tuple[int, ...]:
    """At every comparison the branch that the first input is nearer to; ``tie`` if both are equally near.

    Both are followed as if all further ways were like the last one, and once more wherever that turns out wrong.
    """
    ways: list[int] = []
    while True:
        default = ways[-1] if ways else tie
        first, second = _compared_forms(task, ways, default), _compared_forms(other, ways, default)
        if len(first) <= len(ways):
            return (*ways, tie)
        for place in range(len(ways), len(first)):
            here, there = first[place], second[place] if place < len(second) else None
            apart = here.constant - there.constant if here is not None and there is not None else 0
            ways.append(0 if apart > 0 else 1 if apart < 0 else tie)
            if ways[-1] != default:
                break


def _same_path(other: Task, path: Path) -> Path | None:
    """The path that takes the same ways given the other input."""
    try:
        same = follow(other, _take_ways((*path.ways, 1), len(path.ways)))
    except Intractable:
        return None
    return same if len(same.shown) == len(path.shown) else None


# -- values for what depends on draws ---------------------------------------------------------------------------------


def _point_events(path: Path, twin: Path | None, quick: bool) -> Iterator[tuple[Wanted, ...]]:
    """A path with values for the numbers it shows: near their noiseless values or far from them, on either side, or on
    the side away from where they are given the other input."""
    if not any(isinstance(one, LinearForm) for one in path.shown):
        yield tuple(one for one in path.shown if not isinstance(one, LinearForm))
        return
    for far in (True, False):
        for toward in ((1, 0) if far else (1, -1)) if quick else (1, 0, -1):
            for sign in (1, -1):
                yield _point_event(path, twin, toward, sign, far)


def _point_event(path: Path, twin: Path | None, toward: int, sign: int, far: bool) -> tuple[Wanted, ...]:
    """``toward`` 1: away from the other input's number, -1: towards it, 0: as ``sign`` says. Numbers that are fixed by
    those before them get the value they must have."""
    fixed: dict[int, LinearForm] = {}
    others: dict[int, LinearForm] = {}
    event: list[Wanted] = []
    for place, shown in enumerate(path.shown):
        if not isinstance(shown, LinearForm):
            event.append(shown)
            continue
        left = shown.with_draws(fixed)
        if not left.terms:
            event.append(left.constant)
            continue
        there = twin.shown[place] if twin is not None else None
        rest = there.with_draws(others) if isinstance(there, LinearForm) else None
        apart = left.constant - rest.constant if rest is not None else Fraction(0)
        side = sign if toward == 0 or apart == 0 else toward * (1 if apart > 0 else -1)
        value = left.constant + side * _distance(path.noises[left.draws[-1]], far)
        event.append(value)
        _fix(fixed, left, value)
        if rest is not None and rest.terms:
            _fix(others, rest, value)
    return tuple(event)


def _distance(noise: NoiseDraw, far: bool) -> Fraction:
    scale = Fraction(4) if isinstance(noise.scale, Logarithm) else Fraction(noise.scale)
    if noise.declared.normal:
        return 4 * scale * (1 + 4 * scale) if far else Fraction(1, 3)
    if noise.whole:
        return Fraction(ceil(4 * scale)) if far else Fraction(0)
    return 4 * scale + Fraction(1, 3) if far else Fraction(1, 3)


def _fix(fixed: dict[int, LinearForm], form: LinearForm, value: Fraction) -> None:
    """Solve a form for its last draw, given the form's value."""
    draw, factor = form.terms[-1]
    solved = LinearForm(form.terms[:-1], form.constant - value).times(-1 / factor)
    fixed.update({one: form_.with_draw(draw, solved) for one, form_ in fixed.items()})
    fixed[draw] = solved


def _interval_events(path: Path, quick: bool) -> Iterator[tuple[Wanted, ...]]:
    """A path with every number it outputs above, below, or near a bound close to its noiseless value."""
    if not any(isinstance(one, LinearForm) for one in path.shown):
        yield tuple(one for one in path.shown if not isinstance(one, LinearForm))
        return
    for quarters in _QUARTERS[:5] if quick else _QUARTERS:
        for side in (1, -1, 0):
            event: list[Wanted] = []
            for shown in path.shown:
                if not isinstance(shown, LinearForm):
                    event.append(shown)
                    continue
                scale = path.noises[shown.draws[-1]].scale
                unit = Fraction(4) if isinstance(scale, Logarithm) else Fraction(scale)
                bound = shown.constant + unit * quarters / 4
                event.append(Between(bound if side >= 0 else None, {1: None, 0: bound + unit / 4, -1: bound}[side]))
            yield tuple(event)


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
    measured = 0
    for quick in (True, False):
        longest = _MAX_LIST_ITEMS
        for number, pair in enumerate(_pairs_to_try(program, hints, epsilons, quick)):
            if thread_time() > (end - seconds / 3 if quick else end):
                break
            if number == (_QUICK_PAIRS if quick else _MAX_FAILED_PAIRS) and (quick or not measured):
                break
            size = max((len(value) for value in pair.inputs.values() if isinstance(value, tuple)), default=0)
            if size > longest:
                continue
            task = Task(program, pair.inputs, pair.parameters, called)
            until = min(end, thread_time() + seconds / _TIME_SHARES)
            try:
                counterexample, count = _find_event(task, pair.neighbours, quick, until)
            except Intractable:
                continue
            if counterexample is not None and replay(program, counterexample, called):
                return counterexample
            measured += count
            if not count and size > 1:
                longest = size - 1  # what cannot be measured here cannot be with longer lists
    return None if measured else _refute_by_sampling(program, hints, called, end)


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
    """Suggested pairs and the usual candidates in turn: useless suggestions cost half the time.

    What is looked at for long begins with the simplest, since suggestions had their turn.
    """
    own = candidate_pairs(program, epsilons)
    yield from islice(own, 0 if quick else 2)
    for hint in hints:
        for one, two in ((hint.inputs, hint.neighbours), (hint.neighbours, hint.inputs)):
            pair = InputPair(hint.parameters, one, two)
            if are_neighbours(program, pair):
                yield pair
                yield from islice(own, 1)
    yield from own


def _find_event(task: Task, neighbours: Inputs, quick: bool, end: float) -> tuple[Counterexample | None, int]:
    """An event that breaks the claim for these inputs, if one of those tried does; and how many could be measured.

    With a delta, events that exclude each other are put together, and numbers lie between bounds. They do so too if
    densities could not be had.
    """
    other = task.with_inputs(neighbours)
    bounded = bool(evaluate(task.program.delta, {**task.parameters, **task.inputs}))
    measured = outside = 0
    while True:
        for group in _event_groups(candidate_events(task, other, bounded=bounded, quick=quick), bounded):
            if thread_time() > end:
                return None, measured
            try:
                counterexample = measure_event(task, other, group, _QUICK_PATHS if quick else MAX_PATHS)
            except Intractable:
                outside += 1
                if outside == (1 if quick else _MAX_FAILED_EVENTS) and not measured:
                    break
                continue
            measured += 1
            if counterexample is not None:
                return counterexample, measured
        if bounded or quick or not outside:
            return None, measured
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
    """Whether a counterexample holds: its inputs are neighbours, and the chances, computed afresh (or counted in other
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

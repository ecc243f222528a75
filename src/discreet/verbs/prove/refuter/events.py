"""What to look for: things that a program may show given the first input, and shows more rarely given the second.

Which events are tried decides only whether a counterexample is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from math import ceil

from discreet.verbs.prove.refuter.chances import Between, Wanted
from discreet.verbs.prove.refuter.forms import Form, Noise
from discreet.verbs.prove.refuter.logarithms import Logarithm
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.refuter.paths import Choose, Path, Task, all_paths, follow

_FEW = 20
_MOST_CHOICES = 24
_QUARTERS = sorted(range(-16, 17), key=abs)


def events(task: Task, other: Task, *, bounded: bool, quick: bool = False) -> Iterator[tuple[Wanted, ...]]:
    """Events to compare two runs by; ``bounded``: numbers between bounds, which have a chance even if continuous;
    ``quick``: only those that stand out most."""
    seen = set()
    for path in _outstanding(task, other, quick=True) if quick else _paths(task, other):
        for wanted in _bounded(path, quick) if bounded else _filled(path, _twin(other, path), quick):
            if wanted not in seen:
                seen.add(wanted)
                yield wanted


def _paths(task: Task, other: Task) -> Iterator[Path]:
    """Paths of the first run: all if they are few, otherwise some that stand out."""
    try:
        few = list(islice(all_paths(task), _FEW + 1))
    except Outside:
        few = []
    yield from few if 0 < len(few) <= _FEW else _outstanding(task, other, quick=False)


def _outstanding(task: Task, other: Task, quick: bool) -> Iterator[Path]:
    for ways in dict.fromkeys(_policies(task, other, quick)):
        try:
            yield follow(task, _by(ways, len(ways) - 1))
        except Outside:
            continue


def _policies(task: Task, other: Task, quick: bool) -> Iterator[tuple[int, ...]]:
    """Ways to take, the last one from there on: at every comparison the way that is likelier given the first input than
    given the second, or (unless it must be quick) always the same way, or another way once."""
    telling = _telling(task, other, 1)
    yield telling
    yield _telling(task, other, 0)
    if quick:
        return
    yield (1,)
    yield (0,)
    choices = len(telling)
    for place in sorted({0, choices // 2, max(0, choices - 2)}, reverse=True):
        yield (*[1] * place, 0, 1)


def _by(ways: Sequence[int], last: int) -> Choose:
    place = -1

    def choose(count: int, _form: Form | None) -> int:
        nonlocal place
        place += 1
        return min(ways[min(place, last)], count - 1)

    return choose


class _Enough(Exception):
    """So many choices were made."""


def _compared(task: Task, ways: Sequence[int], default: int) -> list[Form | None]:
    """What is compared with 0 at each choice, on these ways and then the default."""
    found: list[Form | None] = []

    def choose(count: int, form: Form | None) -> int:
        if len(found) == _MOST_CHOICES:
            raise _Enough
        found.append(form)
        return min(ways[len(found) - 1] if len(found) <= len(ways) else default, count - 1)

    with suppress(_Enough, Outside):
        follow(task, choose)
    return found


def _telling(task: Task, other: Task, tie: int) -> tuple[int, ...]:
    """At every comparison the way that the first input is nearer to; ``tie`` if both are as near.

    Both are followed as if all further ways were like the last one, and once more wherever that turns out wrong.
    """
    ways: list[int] = []
    while True:
        default = ways[-1] if ways else tie
        first, second = _compared(task, ways, default), _compared(other, ways, default)
        if len(first) <= len(ways):
            return (*ways, tie)
        for place in range(len(ways), len(first)):
            here, there = first[place], second[place] if place < len(second) else None
            apart = here.constant - there.constant if here is not None and there is not None else 0
            ways.append(0 if apart > 0 else 1 if apart < 0 else tie)
            if ways[-1] != default:
                break


def _twin(other: Task, path: Path) -> Path | None:
    """The path that takes the same ways given the other input."""
    try:
        found = follow(other, _by((*path.ways, 1), len(path.ways)))
    except Outside:
        return None
    return found if len(found.shown) == len(path.shown) else None


# -- values for what depends on draws ---------------------------------------------------------------------------------


def _filled(path: Path, twin: Path | None, quick: bool) -> Iterator[tuple[Wanted, ...]]:
    """A path with values for the numbers it shows: near or far from where they are without noise, on either side, or on
    the side away from where they are given the other input."""
    if not any(isinstance(one, Form) for one in path.shown):
        yield tuple(one for one in path.shown if not isinstance(one, Form))
        return
    for far in (True, False):
        for toward in ((1, 0) if far else (1, -1)) if quick else (1, 0, -1):
            for sign in (1, -1):
                yield _fill(path, twin, toward, sign, far)


def _fill(path: Path, twin: Path | None, toward: int, sign: int, far: bool) -> tuple[Wanted, ...]:
    """``toward`` 1: away from the other input's number, -1: towards it, 0: as ``sign`` says. Numbers that are fixed by
    those before them get the value they must have."""
    fixed: dict[int, Form] = {}
    others: dict[int, Form] = {}
    found: list[Wanted] = []
    for place, shown in enumerate(path.shown):
        if not isinstance(shown, Form):
            found.append(shown)
            continue
        left = _with(shown, fixed)
        if not left.terms:
            found.append(left.constant)
            continue
        there = twin.shown[place] if twin is not None else None
        rest = _with(there, others) if isinstance(there, Form) else None
        apart = left.constant - rest.constant if rest is not None else Fraction(0)
        side = sign if toward == 0 or apart == 0 else toward * (1 if apart > 0 else -1)
        value = left.constant + side * _distance(path.noises[left.draws[-1]], far)
        found.append(value)
        _fix(fixed, left, value)
        if rest is not None and rest.terms:
            _fix(others, rest, value)
    return tuple(found)


def _distance(noise: Noise, far: bool) -> Fraction:
    scale = Fraction(4) if isinstance(noise.scale, Logarithm) else Fraction(noise.scale)
    if noise.distribution == "Gaussian":
        return 4 * scale * (1 + 4 * scale) if far else Fraction(1, 3)
    if noise.whole:
        return Fraction(ceil(4 * scale)) if far else Fraction(0)
    return 4 * scale + Fraction(1, 3) if far else Fraction(1, 3)


def _with(form: Form, fixed: dict[int, Form]) -> Form:
    for draw in form.draws:
        if draw in fixed:
            form = form.with_draw(draw, fixed[draw])
    return form


def _fix(fixed: dict[int, Form], form: Form, value: Fraction) -> None:
    """The last draw of a form, so that the form has the value."""
    draw, factor = form.terms[-1]
    solved = Form(form.terms[:-1], form.constant - value).times(-1 / factor)
    fixed.update({one: found.with_draw(draw, solved) for one, found in fixed.items()})
    fixed[draw] = solved


def _bounded(path: Path, quick: bool) -> Iterator[tuple[Wanted, ...]]:
    """A path with every number it shows above, below, or not far from some bound near where it is without noise."""
    if not any(isinstance(one, Form) for one in path.shown):
        yield tuple(one for one in path.shown if not isinstance(one, Form))
        return
    for quarters in _QUARTERS[:5] if quick else _QUARTERS:
        for side in (1, -1, 0):
            found: list[Wanted] = []
            for shown in path.shown:
                if not isinstance(shown, Form):
                    found.append(shown)
                    continue
                scale = path.noises[shown.draws[-1]].scale
                unit = Fraction(4) if isinstance(scale, Logarithm) else Fraction(scale)
                bound = shown.constant + unit * quarters / 4
                found.append(Between(bound if side >= 0 else None, {1: None, 0: bound + unit / 4, -1: bound}[side]))
            yield tuple(found)

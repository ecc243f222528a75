"""Candidate pairs of neighbouring inputs, the simplest first, and the test that they are neighbours.

Which inputs are tried decides only whether a counterexample is found. That two inputs are neighbours at all is checked
by ``are_neighbours``, whatever they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias

from discreet.verbs.prove.refuter.arithmetic import Exact, Intractable
from discreet.verbs.prove.refuter.symbolic import Evaluator, LinearForm, ProgramFault, Symbolic
from discreet.verbs.prove.syntax import BOOL, INT, REAL, Expression, Input, ListOf, Program, Range, Scalar, Type

Inputs: TypeAlias = Mapping[str, Symbolic]

_LIST_LENGTHS = (1, 2, 3, 10, 5)
_MAX_LIST_ITEMS = 1000
"""Most items of a list."""
_BASE_VALUES = (0, 10, 1, -10, -1)
_PUBLIC_VALUES = {INT: (1, 2, 3, 0), REAL: (0, 30, 1, Fraction(1, 2), 3, -3, 2), BOOL: (False, True)}


@dataclass(frozen=True)
class InputPair:
    """Two inputs, by name (public ones too), and the parameters."""

    parameters: Mapping[str, Exact]
    inputs: Inputs
    neighbours: Inputs


def evaluate(expression: Expression, names: Mapping[str, Symbolic]) -> Symbolic:
    """The value of an expression without draws; ``Intractable`` if it has none."""
    try:
        return Evaluator(_refuse_draws).value(expression, names)
    except ProgramFault:
        raise Intractable("This has no value here.") from None


def _refuse_draws(_operator: str, _difference: LinearForm) -> bool:
    raise Intractable("There are no draws here.")


# -- are they neighbours? ---------------------------------------------------------------------------------------------


def are_neighbours(program: Program, pair: InputPair) -> bool:
    """Whether a pair are neighbours for the program: by types, assumptions, and their differences.

    The order does not matter: what is claimed for values that grow (``inc``) or shrink (``dec``) holds in both
    directions, so that these are the same pairs.
    """
    if not all(
        _is_a(one.type, side.get(one.name)) for side in (pair.inputs, pair.neighbours) for one in program.inputs
    ):
        return False
    if not pair.parameters["eps"] > 0:
        return False
    changes: list[Fraction] = []
    for one in program.inputs:
        first, second = _numbers_of(pair.inputs[one.name]), _numbers_of(pair.neighbours[one.name])
        if len(first) != len(second) or (not one.private and first != second):
            return False
        changes += [Fraction(after) - Fraction(before) for before, after in zip(first, second, strict=True)]
    try:
        names = {**pair.parameters, **pair.inputs}
        if not all(evaluate(one, names) is True for one in program.assumes):
            return False
        by = Fraction(0) if program.adjacent.kind == "any" else evaluate(program.adjacent.by, names)
    except Intractable:
        return False
    if isinstance(by, bool | tuple | LinearForm):
        return False
    return _close(program.adjacent.kind, changes, by)


def _close(kind: str, changes: Sequence[Fraction], by: Exact) -> bool:
    moved = [change for change in changes if change]
    if kind == "any":
        return True
    if kind == "l1":
        return sum((abs(change) for change in moved), Fraction(0)) <= by
    if not all(abs(change) <= by for change in moved):
        return False
    if kind == "one":
        return len(moved) <= 1
    return kind == "all" or len({change > 0 for change in moved}) <= 1


def _is_a(type_: Type, value: Symbolic | None) -> bool:
    if isinstance(type_, ListOf):
        if not isinstance(value, tuple) or (type_.length is not None and len(value) != type_.length):
            return False
        return all(_is_a(type_.item, item) for item in value)
    if type_ == BOOL:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return False
    if isinstance(type_, Range):
        return Fraction(value).denominator == 1 and type_.low <= value <= type_.high
    return type_ == REAL or Fraction(value).denominator == 1


def _numbers_of(value: Symbolic) -> tuple[int | Fraction, ...]:
    items = value if isinstance(value, tuple) else (value,)
    return tuple(item for item in items if isinstance(item, int | Fraction))


# -- which to try -----------------------------------------------------------------------------------------------------


def candidate_pairs(program: Program, epsilons: Sequence[Exact]) -> Iterator[InputPair]:
    """Candidate pairs of neighbours, those made of the simplest choices first.

    The choices (eps, public inputs, length, pattern, base) are ranked, and pairs come by the sum of their ranks, so
    that no choice is exhausted before another begins.
    """
    lists = any(isinstance(one.type, ListOf) and one.type.length is None for one in program.inputs)
    sizes = _LIST_LENGTHS if lists else (1,)
    public = [one for one in program.inputs if not one.private]
    settings = list(enumerate(_public_settings(public)))
    ranked = sorted(
        ((8 * e + 2 * s + z, e, s, z) for e in range(len(epsilons)) for s, _ in settings for z in range(len(sizes)))
    )
    waiting = [
        (rank, _pairs_of_length(program, {"eps": epsilons[e]}, settings[s][1], sizes[z])) for rank, e, s, z in ranked
    ]
    active: list[Iterator[InputPair]] = []
    rank = 0
    while waiting or active:
        while waiting and waiting[0][0] <= rank:
            active.append(waiting.pop(0)[1])
        for one in list(active):
            pair = next(one, None)
            if pair is None:
                active.remove(one)
            else:
                yield pair
        rank += 1


def _public_settings(public: Sequence[Input]) -> list[dict[str, Exact | bool]]:
    """Values of the public inputs that are no lists, the simplest first."""
    scalars = [one for one in public if not isinstance(one.type, ListOf)]
    choices = [list(enumerate(_values(one.type))) for one in scalars]
    ranked = sorted(product(*choices), key=lambda chosen: sum(rank for rank, _ in chosen))
    return [{one.name: value for one, (_, value) in zip(scalars, chosen, strict=True)} for chosen in ranked[:12]]


def _values(type_: Scalar | Range | ListOf) -> Sequence[Exact | bool]:
    if isinstance(type_, Range):
        return range(type_.low, min(type_.high, type_.low + 5) + 1)
    return _PUBLIC_VALUES[type_] if isinstance(type_, Scalar) else ()


@dataclass(frozen=True)
class _PrivateValue:
    """A private value: of an input, or at a place of a list."""

    name: str
    place: int | None
    type: Scalar | Range


def _pairs_of_length(
    program: Program, parameters: Mapping[str, Exact], setting: Mapping[str, Exact | bool], size: int
) -> Iterator[InputPair]:
    public: dict[str, Symbolic] = dict(setting)
    slots: list[_PrivateValue] = []
    if any(isinstance(one.type, ListOf) and (one.type.length or size) > _MAX_LIST_ITEMS for one in program.inputs):
        return
    for one in program.inputs:
        length = (one.type.length or size) if isinstance(one.type, ListOf) else None
        if one.private and isinstance(one.type, ListOf):
            slots += [_PrivateValue(one.name, place, one.type.item) for place in range(length or 0)]
        elif one.private and not isinstance(one.type, ListOf):
            slots.append(_PrivateValue(one.name, None, one.type))
        elif isinstance(one.type, ListOf):
            public[one.name] = (_values(one.type.item)[0],) * (length or 0)
    empty = {one.name: (0,) * size for one in program.private if isinstance(one.type, ListOf)}
    try:
        by = evaluate(program.adjacent.by, {**parameters, **public, **empty})
    except Intractable:
        return
    by = Fraction(by) if isinstance(by, int | Fraction) else Fraction(1)
    seen = set()
    for first, second in _vectors(program.adjacent.kind, slots, by):
        for before, after in ((first, second), (second, first)):
            if (before, after) in seen:
                continue
            seen.add((before, after))
            pair = InputPair(parameters, {**public, **_by_input(slots, before)}, {**public, **_by_input(slots, after)})
            if are_neighbours(program, pair):
                yield pair


_Vector: TypeAlias = tuple["bool | Fraction", ...]


def _by_input(slots: Sequence[_PrivateValue], values: _Vector) -> dict[str, Symbolic]:
    inputs: dict[str, Symbolic] = {}
    for slot, value in zip(slots, values, strict=True):
        before = inputs.get(slot.name, ())
        inputs[slot.name] = value if slot.place is None else (*(before if isinstance(before, tuple) else ()), value)
    return inputs


def _vectors(kind: str, slots: Sequence[_PrivateValue], by: Fraction) -> Iterator[tuple[_Vector, _Vector]]:
    if kind == "any":
        yield from _any_vectors(slots)
        return
    ranked = sorted(
        product(enumerate(_BASE_VALUES), enumerate(_difference_patterns(kind, len(slots), by))),
        key=lambda both: both[0][0] + both[1][0],
    )
    for (_, base), (_, change) in ranked:
        lowest = [max(Fraction(0), -one) for one in change]
        for start in (lowest, [Fraction(0)] * len(change)) if any(lowest) else (lowest,):
            first = [base + one for one in start]
            second = [one + two for one, two in zip(first, change, strict=True)]
            yield _as_types(slots, first), _as_types(slots, second)


def _as_types(slots: Sequence[_PrivateValue], values: Sequence[Fraction]) -> _Vector:
    """Values converted to their types: to a truth value, or counted from the lowest value of a range."""
    return tuple(
        bool(value) if slot.type == BOOL else value + slot.type.low if isinstance(slot.type, Range) else value
        for slot, value in zip(slots, values, strict=True)
    )


def _difference_patterns(kind: str, count: int, by: Fraction) -> Iterator[tuple[Fraction, ...]]:
    """How the second input differs from the first, item by item."""
    none, half = Fraction(0), count // 2
    single = [tuple(by if place == one else none for place in range(count)) for one in sorted({0, half, count - 1})]
    if kind == "one":
        yield from single
        return
    if kind == "l1":
        for size in (by / 2, Fraction(int(by / 2))) if count > 1 else ():
            yield (size, -size, *[none] * (count - 2))
            yield (size, size, *[none] * (count - 2))
        yield from single
        return
    if kind in ("inc", "dec"):
        others = (tuple(by - one for one in change) for change in reversed(single))
        yield from dict.fromkeys([(by,) * count, *others, *single, (*[by] * half, *[none] * (count - half))])
        return
    last = (*[by] * (count - 1), -by)
    halves = (*[by] * half, *[-by] * (count - half))
    yield from dict.fromkeys([last, halves, (by,) * count, (by, *[-by] * (count - 1)), *single])


def _any_vectors(slots: Sequence[_PrivateValue]) -> Iterator[tuple[_Vector, _Vector]]:
    """All pairs of small values, or (if those are many) of vectors that are alike, or differ in one place."""
    pools = [tuple(Fraction(v) if not isinstance(v, bool) else v for v in _small_values(slot.type)) for slot in slots]
    if not slots:
        return
    if prod(map(len, pools)) <= 8:
        vectors = list(product(*pools))
        yield from ((one, two) for place, one in enumerate(vectors) for two in vectors[place + 1 :])
        return
    low, high = tuple(pool[0] for pool in pools), tuple(pool[-1] for pool in pools)
    yield low, high
    for place in range(len(pools)):
        yield low, (*low[:place], high[place], *low[place + 1 :])
        yield high, (*high[:place], low[place], *high[place + 1 :])


def _small_values(type_: Scalar | Range) -> Sequence[int | bool]:
    if isinstance(type_, Range):
        return range(type_.low, min(type_.high, type_.low + 7) + 1)
    return (False, True) if type_ == BOOL else (0, 1, 10)

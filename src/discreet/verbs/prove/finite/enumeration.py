"""The inputs of a finite program, and its exact output distribution for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias

from discreet.errors import BadInput
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.interpreter import Outputs
from discreet.verbs.prove.refuter.arithmetic import Exact, Intractable, Logarithm, RationalArithmetic
from discreet.verbs.prove.refuter.chances import Wanted, chance
from discreet.verbs.prove.refuter.paths import Path, Task, all_paths
from discreet.verbs.prove.refuter.symbolic import LinearForm, Symbolic, bound_of_draw
from discreet.verbs.prove.syntax import BOOL, Input, ListOf, Program, Range, Scalar, Value

MAX_INPUTS = 1 << 12
"""Most inputs that are enumerated."""
Distribution: TypeAlias = Mapping[Outputs, Fraction]
"""The probability of each outcome; they add up to 1."""
_MAX_PATHS = 1 << 16
_MAX_VALUES = 1 << 12


def possible_inputs(
    program: Program, length: int | None = None, public: Mapping[str, Symbolic] | None = None
) -> Iterator[dict[str, Symbolic]]:
    """All possible inputs of ``program``: lists of ``length`` items where nothing else is declared, and
    ``public`` values for what is not finite."""
    given = public or {}
    choices = [
        (given[one.name],) if one.name in given else tuple(_possible_values(one, length)) for one in program.inputs
    ]
    count = prod(map(len, choices))
    if count > MAX_INPUTS:
        raise BadInput(f"{program.name} has {count} possible inputs; at most {MAX_INPUTS} can be enumerated.")
    for chosen in product(*choices):
        yield {one.name: value for one, value in zip(program.inputs, chosen, strict=True)}


def _possible_values(one: Input, length: int | None) -> Iterator[Symbolic]:
    if isinstance(one.type, ListOf):
        count = one.type.length if one.type.length is not None else length
        if count is None:
            hint = "Give a length, or declare one: list of 3 …. The result holds for that length only."
            raise BadInput(f"{one.name} may have any length, so its values cannot be enumerated.", hint=hint)
        items = _possible_items(one, one.type.item)
        if len(items) ** count > MAX_INPUTS:
            raise BadInput(f"{one.name} may be {len(items)}^{count} lists; at most {MAX_INPUTS} can be enumerated.")
        return iter(product(items, repeat=count))
    return iter(_possible_items(one, one.type))


def _possible_items(one: Input, type_: Scalar | Range) -> tuple[Symbolic, ...]:
    if isinstance(type_, Range):
        return tuple(range(type_.low, type_.high + 1))
    if type_ == BOOL:
        return (False, True)
    raise BadInput(
        f"{one.name} can be any {type_}, so its values cannot be enumerated.",
        hint="Declare a range such as 0..3, or give a value.",
    )


def outcomes(
    program: Program,
    inputs: Mapping[str, Symbolic],
    parameters: Mapping[str, Exact] | None = None,
    others: Mapping[str, Program] | None = None,
) -> dict[Outputs, Fraction]:
    """The exact probability of each outcome of ``program``.

    ``eps`` may be a ``Logarithm``, such as ``Logarithm(Fraction(3))`` for ln 3: then discrete Laplace noise and the
    exponential mechanism have rational chances. Refused: continuous noise, outcomes without end, and chances that are
    not rational.
    """
    given = dict(parameters or {})
    eps = given.get("eps")
    world = RationalArithmetic(eps.base if isinstance(eps, Logarithm) else Fraction(2))
    chances: dict[Outputs, Fraction] = {}
    try:
        for path in all_paths(Task(program, inputs, given, others or {}), most=_MAX_PATHS):
            for wanted in _values(path):
                outcome = outputs(wanted)
                chances[outcome] = chances.get(outcome, Fraction(0)) + chance(world, path, wanted)
    except Intractable as outside:
        always = [name for name, declared in DISTRIBUTIONS.items() if declared.chance]
        sometimes = [name for name, declared in DISTRIBUTIONS.items() if not declared.continuous and name not in always]
        raise BadInput(
            f"The outcomes of {program.name} cannot be enumerated with exact probabilities. {outside}",
            hint=f"Rational probabilities: {', '.join(always)} and (eps a logarithm) {', '.join(sometimes)}.",
        ) from None
    return {outcome: chance_ for outcome, chance_ in chances.items() if chance_}


def outputs(shown: Sequence[Wanted]) -> Outputs:
    """A sequence of shown values as the outputs of a run."""
    parts = list(shown)
    emitted: list[Value] = []
    while parts:
        if parts[0] == "fault":
            return Outputs(tuple(emitted), None, fault=True)
        if parts[0] == "end":
            break
        if parts[0] == "returned":
            parts.pop(0)
            return Outputs(tuple(emitted), _value(parts))
        emitted.append(_value(parts))
    return Outputs(tuple(emitted))


def _value(parts: list[Wanted]) -> Value:
    first = parts.pop(0)
    if isinstance(first, str):
        return tuple(_value(parts) for _ in range(int(first.removeprefix("list of "))))
    if isinstance(first, bool):
        return first
    if not isinstance(first, Fraction):
        raise Intractable("The output contains a logarithm.")
    return first.numerator if first.denominator == 1 else first


def _values(path: Path) -> Iterator[tuple[Wanted, ...]]:
    """The outputs of a path: every combination of the integers that its output draws can take."""
    draws = sorted({draw for shown in path.shown if isinstance(shown, LinearForm) for draw in shown.draws})
    ranges = [_range(path, draw) for draw in draws]
    if prod(map(len, ranges)) > _MAX_VALUES:
        raise Intractable("There are too many outcomes.")
    seen = set()
    for values in product(*ranges):
        known = dict(zip(draws, values, strict=True))
        wanted = tuple(_at(shown, known) if isinstance(shown, LinearForm) else shown for shown in path.shown)
        if wanted not in seen:
            seen.add(wanted)
            yield wanted


def _at(shown: LinearForm, known: Mapping[int, int]) -> Fraction:
    return shown.constant + sum((factor * known[draw] for draw, factor in shown.terms), Fraction(0))


def _range(path: Path, draw: int) -> range:
    """The integers that satisfy the conditions on one draw alone."""
    if not path.noises[draw].whole:
        raise Intractable("The output contains continuous noise.")
    lows, highs = [], []
    for condition in path.conditions:
        if condition.form.draws == (draw,):
            low, high = bound_of_draw(condition, draw, whole=True)
            lows += [low[1]] if low is not None else []
            highs += [high[1]] if high is not None else []
    if not lows or not highs:
        raise Intractable("It has infinitely many outcomes.")
    return range(int(max(lows)), int(min(highs)) + 1)

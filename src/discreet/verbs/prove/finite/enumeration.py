"""Everything a finite program may show, with its exact chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from discreet.errors import BadInput
from discreet.verbs.prove.refuter.chances import Wanted, chance
from discreet.verbs.prove.refuter.conditions import bound
from discreet.verbs.prove.refuter.evaluating import Symbolic
from discreet.verbs.prove.refuter.forms import Form
from discreet.verbs.prove.refuter.logarithms import Exact, Logarithm
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.refuter.paths import Path, Task, all_paths
from discreet.verbs.prove.refuter.worlds import Rational
from discreet.verbs.prove.running import Outputs, Value
from discreet.verbs.prove.syntax import Program

Distribution: TypeAlias = Mapping[Outputs, Fraction]
"""The chance of each outcome; they add up to 1."""

_MOST_PATHS = 1 << 16
_MOST_VALUES = 1 << 12


def outcomes(
    program: Program,
    inputs: Mapping[str, Symbolic],
    parameters: Mapping[str, Exact] | None = None,
    others: Mapping[str, Program] | None = None,
) -> dict[Outputs, Fraction]:
    """How likely each outcome of ``program`` is, exactly.

    ``eps`` may be a ``Logarithm``, such as ``Logarithm(Fraction(3))`` for ln 3: then discrete Laplace noise and the
    exponential mechanism have rational chances. Refused: continuous noise, outcomes without end, and chances that are
    not rational.
    """
    given = dict(parameters or {})
    eps = given.get("eps")
    world = Rational(eps.base if isinstance(eps, Logarithm) else Fraction(2))
    found: dict[Outputs, Fraction] = {}
    try:
        for path in all_paths(Task(program, inputs, given, others or {}), most=_MOST_PATHS):
            for wanted in _values(path):
                outcome = outputs(wanted)
                found[outcome] = found.get(outcome, Fraction(0)) + chance(world, path, wanted)
    except Outside as outside:
        raise BadInput(
            f"The outcomes of {program.name} cannot be listed with exact chances. {outside}",
            hint="Only coins, Uniform, and (with eps a logarithm) DLaplace and ExpMech have rational chances.",
        ) from None
    return {outcome: chance_ for outcome, chance_ in found.items() if chance_}


def outputs(shown: Sequence[Wanted]) -> Outputs:
    """What is shown, one thing after the other, as what a run shows."""
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
        raise Outside("A logarithm is shown.")
    return first.numerator if first.denominator == 1 else first


def _values(path: Path) -> Iterator[tuple[Wanted, ...]]:
    """What a path may show: every combination of the integers that the draws it shows may be."""
    draws = sorted({draw for shown in path.shown if isinstance(shown, Form) for draw in shown.draws})
    ranges = [_range(path, draw) for draw in draws]
    count = 1
    for one in ranges:
        count *= len(one)
    if count > _MOST_VALUES:
        raise Outside("There are too many outcomes.")
    seen = set()
    for values in product(*ranges):
        known = dict(zip(draws, values, strict=True))
        wanted = tuple(_at(shown, known) if isinstance(shown, Form) else shown for shown in path.shown)
        if wanted not in seen:
            seen.add(wanted)
            yield wanted


def _at(shown: Form, known: Mapping[int, int]) -> Fraction:
    return shown.constant + sum((factor * known[draw] for draw, factor in shown.terms), Fraction(0))


def _range(path: Path, draw: int) -> range:
    """The integers that the conditions on a draw alone leave."""
    if not path.noises[draw].whole:
        raise Outside("Continuous noise is shown.")
    lows, highs = [], []
    for condition in path.conditions:
        if condition.form.draws == (draw,):
            low, high = bound(condition, draw, whole=True)
            lows += [low[1]] if low is not None else []
            highs += [high[1]] if high is not None else []
    if not lows or not highs:
        raise Outside("There is no end to its outcomes.")
    return range(int(max(lows)), int(min(highs)) + 1)

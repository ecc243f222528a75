"""Proof by enumeration: exact outcome probabilities of a finite program, compared for all neighbours.

Nothing is guessed: every outcome of every pair of neighbours is computed with exact fractions by the interpreter, and
its probability is compared with a rational number f not above e^epsilon: the sum of P(x) - f P'(x) over all outcomes x
where that is above 0 is not below the delta that is needed. Only for claims that are numbers.

``finite`` and ``refuter`` enumerate as well, by paths with symbols instead of runs. That this is written twice is
meant: what makes a PROVED true depends on nothing of theirs, and tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from time import thread_time

from discreet.errors import BadInput
from discreet.verbs.prove.interpreter import Outputs, assumptions_hold, run, value_of
from discreet.verbs.prove.kernel.distribution_rules import rule_of
from discreet.verbs.prove.kernel.exp_bounds import exp_below
from discreet.verbs.prove.kernel.solver import Unsupported
from discreet.verbs.prove.syntax import (
    Expression,
    ListOf,
    Program,
    Range,
    Sample,
    Scalar,
    Type,
    Value,
    expressions,
    names_in,
    statements,
)

_MAX_CASES = 20_000
"""Most pairs of inputs, items of a domain, or runs of one input."""


class ClaimFails(Unsupported):
    """A pair of neighbours for which the claim fails."""

    def __init__(self, given: Mapping[str, Value], other: Mapping[str, Value]) -> None:
        super().__init__("an outcome whose probabilities for two neighbours differ by more than the claim allows")
        self.inputs, self.neighbours = given, other


def compare_neighbours(program: Program, others: Mapping[str, Program], until: float | None = None) -> int:
    """Compare all pairs of neighbours and return their number; ``Unsupported`` if there are too many.

    ``ClaimFails``, which is one of these, if the claim fails. ``until`` is of this thread's processor time; what takes
    longer is too much.
    """
    if any(name.name == "eps" for part in (program.adjacent.by, *program.assumes) for name in names_in(part)):
        raise Unsupported("neighbours that depend on eps")
    limit, delta = exp_below(_claimed_number(program.epsilon)), _claimed_number(program.delta)
    inputs = list(_inputs(program))
    distributions: list[dict[Outputs, Fraction]] = [_outcomes(program, given, others, until) for given in inputs]
    compared = 0
    for (given, first), (other, second) in product(zip(inputs, distributions, strict=True), repeat=2):
        if given != other and (_adjacent(program, given, other) or _adjacent(program, other, given)):
            compared += 1
            _require_time(until)
            excess = (chance - limit * second.get(outputs, Fraction(0)) for outputs, chance in first.items())
            if sum((one for one in excess if one > 0), Fraction(0)) > delta:
                raise ClaimFails(given, other)
    return compared


def _claimed_number(claim: Expression) -> Fraction:
    """The claimed number; ``Unsupported`` if it is none, or below 0."""
    try:
        value = Fraction(-1) if list(names_in(claim)) else value_of(claim, {})
    except BadInput:
        raise Unsupported("a claim that has no value") from None
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
        raise Unsupported("a claim that is not a number")
    return Fraction(value)


def _require_time(until: float | None) -> None:
    if until is not None and thread_time() > until:
        raise Unsupported("more outcomes than the time limit allows")


def _inputs(program: Program) -> Iterator[dict[str, Value]]:
    domains = [_domain(given.type) for given in program.inputs]
    if prod(map(len, domains)) ** 2 > _MAX_CASES:
        raise Unsupported("too many inputs to enumerate")
    for values in product(*domains):
        given = dict(zip((one.name for one in program.inputs), values, strict=True))
        if assumptions_hold(program, given, {}):
            yield given


def _domain(type_: Type) -> list[Value]:
    match type_:
        case Scalar("bool"):
            return [False, True]
        case Range(low, high) if high - low < 100:
            return list(range(low, high + 1))
        case ListOf(item, length) if length is not None:
            inside = _domain(item)
            if (
                length > _MAX_CASES
                or (len(inside) > 1 and length > _MAX_CASES.bit_length())
                or len(inside) ** length > _MAX_CASES
            ):
                raise Unsupported("too many inputs to enumerate")
            return [tuple(items) for items in product(inside, repeat=length)]
    raise Unsupported("infinitely many inputs")


def _adjacent(program: Program, given: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Whether the second input is a neighbour of the first."""
    if any(given[one.name] != other[one.name] for one in program.inputs if not one.private):
        return False
    kind = program.adjacent.kind
    if kind == "any":
        return True
    by = value_of(program.adjacent.by, dict(given))
    changes = [
        _fraction(second) - _fraction(first)
        for one in program.private
        for first, second in zip(_items(given[one.name]), _items(other[one.name]), strict=True)
    ]
    sizes = [abs(change) for change in changes]
    match kind:
        case "one":
            return sum(size > 0 for size in sizes) <= 1 and max(sizes, default=0) <= _fraction(by)
        case "l1":
            return sum(sizes) <= _fraction(by)
        case "inc":
            return all(0 <= change <= _fraction(by) for change in changes)
        case "dec":
            return all(0 <= -change <= _fraction(by) for change in changes)
    return max(sizes, default=0) <= _fraction(by)


def _items(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _fraction(value: Value) -> Fraction:
    if isinstance(value, tuple):
        raise Unsupported("a list inside a list")
    return Fraction(value)


def _outcomes(
    program: Program, given: Mapping[str, Value], others: Mapping[str, Program], until: float | None
) -> dict[Outputs, Fraction]:
    """Every outcome with its probability: run again and again, each time with the next sequence of draws."""
    bodies = (program.body, *(other.body for other in others.values()))
    drawn = {one.distribution for body in bodies for one in statements(body) if isinstance(one, Sample)}
    used = {
        name.name for body in bodies for one in statements(body) for part in expressions(one) for name in names_in(part)
    }
    if any(rule_of(name).chances is None for name in drawn) or "eps" in used:
        raise Unsupported("outcomes that are not numbers, or are infinitely many")
    distribution: dict[Outputs, Fraction] = {}
    pending: list[tuple[Value, ...]] = [()]
    runs = 0
    while pending:
        runs += 1
        if runs > _MAX_CASES:
            raise Unsupported("too many outcomes to enumerate")
        _require_time(until)
        script = _ScriptedDraws(pending.pop())
        try:
            outputs = run(program, given, {}, script.draw, others, steps=2000, exists=_exists)
        except BadInput:
            raise Unsupported("a run that may not terminate") from None
        distribution[outputs] = distribution.get(outputs, Fraction(0)) + script.chance
        pending += script.others
    return distribution


class _ScriptedDraws:
    """Draws that follow a script, then take the first possible value; the alternatives are kept."""

    def __init__(self, written: tuple[Value, ...]) -> None:
        self._written = written
        self._drawn: list[Value] = []
        self.chance = Fraction(1)
        self.others: list[tuple[Value, ...]] = []

    def draw(self, sample: Sample, arguments: tuple[Value, ...]) -> Value:
        chances = _chances(sample.distribution, arguments)
        place = len(self._drawn)
        if place < len(self._written):
            value = self._written[place]
        else:
            value, *rest = chances
            self.others += [(*self._drawn, other) for other in rest]
        self._drawn.append(value)
        self.chance *= chances[value]
        return value


def _chances(distribution: str, arguments: tuple[Value, ...]) -> dict[Value, Fraction]:
    rule = rule_of(distribution)
    if rule.chances is None or len(arguments) != rule.arity:
        raise Unsupported("outcomes that are not numbers, or are infinitely many")
    return rule.chances(arguments)


def _exists(distribution: str, arguments: tuple[Value, ...]) -> bool:
    return bool(_chances(distribution, arguments))

"""Programs with finitely many inputs and outcomes: compute all of them, and compare.

Nothing is guessed: every outcome of every pair of neighbours is computed with exact fractions by the interpreter, and
its probability is compared with a rational number not above e^claim. Only for claims that are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from discreet.errors import BadInput
from discreet.prove.inside import expressions, names_in, statements
from discreet.prove.kernel.layout import Unsupported
from discreet.prove.kernel.powers import below_exp
from discreet.prove.running import Outputs, Value, holds, run, value_of
from discreet.prove.syntax import ListOf, Number, Program, Range, Sample, Scalar, Type

_MOST = 20_000


def enumerated(program: Program, others: Mapping[str, Program]) -> int:
    """How many pairs of neighbours were compared; ``Unsupported`` if the claim fails or there are too many."""
    public = (program.epsilon, program.adjacent.by, *program.assumes)
    if any(name.name == "eps" for part in public for name in names_in(part)) or program.delta != Number(Fraction(0)):
        raise Unsupported("a claim that is no number")
    if list(names_in(program.epsilon)):
        raise Unsupported("a claim that is no number")
    epsilon = value_of(program.epsilon, {})
    if not isinstance(epsilon, int | Fraction) or epsilon < 0:
        raise Unsupported("a claim that is no number")
    limit = below_exp(Fraction(epsilon))
    inputs = list(_inputs(program))
    found: list[dict[Outputs, Fraction]] = [_outcomes(program, given, others) for given in inputs]
    compared = 0
    for (given, first), (other, second) in product(zip(inputs, found, strict=True), repeat=2):
        if given != other and (_adjacent(program, given, other) or _adjacent(program, other, given)):
            compared += 1
            if any(chance > limit * second.get(outputs, 0) for outputs, chance in first.items()):
                raise Unsupported("an outcome that is too much likelier for one neighbour")
    return compared


def _inputs(program: Program) -> Iterator[dict[str, Value]]:
    domains = [_domain(given.type) for given in program.inputs]
    count = 1
    for domain in domains:
        count *= len(domain)
    if count * count > _MOST:
        raise Unsupported("too many inputs to enumerate")
    for values in product(*domains):
        given = dict(zip((one.name for one in program.inputs), values, strict=True))
        if holds(program, given, {}):
            yield given


def _domain(type_: Type) -> list[Value]:
    match type_:
        case Scalar("bool"):
            return [False, True]
        case Range(low, high) if high - low < 100:
            return list(range(low, high + 1))
        case ListOf(item, length) if length is not None:
            inside = _domain(item)
            if len(inside) ** length > _MOST:
                raise Unsupported("too many inputs to enumerate")
            return [tuple(items) for items in product(inside, repeat=length)]
    raise Unsupported("inputs that are not finitely many")


def _adjacent(program: Program, given: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Whether the second is a neighbour of the first."""
    if any(given[one.name] != other[one.name] for one in program.inputs if not one.private):
        return False
    kind = program.adjacent.kind
    if kind == "any":
        return True
    by = value_of(program.adjacent.by, dict(given))
    changes = [
        _whole(second) - _whole(first)
        for one in program.private
        for first, second in zip(_flat(given[one.name]), _flat(other[one.name]), strict=True)
    ]
    sizes = [abs(change) for change in changes]
    match kind:
        case "one":
            return sum(size > 0 for size in sizes) <= 1 and max(sizes, default=0) <= _whole(by)
        case "l1":
            return sum(sizes) <= _whole(by)
        case "inc":
            return all(0 <= change <= _whole(by) for change in changes)
        case "dec":
            return all(0 <= -change <= _whole(by) for change in changes)
    return max(sizes, default=0) <= _whole(by)


def _flat(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _whole(value: Value) -> Fraction:
    if isinstance(value, tuple):
        raise Unsupported("a list inside a list")
    return Fraction(value)


def _outcomes(program: Program, given: Mapping[str, Value], others: Mapping[str, Program]) -> dict[Outputs, Fraction]:
    """Every outcome with its probability: run again and again, each time with the next sequence of draws."""
    bodies = (program.body, *(other.body for other in others.values()))
    drawn = {one.distribution for body in bodies for one in statements(body) if isinstance(one, Sample)}
    used = {
        name.name for body in bodies for one in statements(body) for part in expressions(one) for name in names_in(part)
    }
    if drawn - {"Bernoulli", "Uniform"} or "eps" in used:
        raise Unsupported("outcomes that are not finitely many numbers")
    found: dict[Outputs, Fraction] = {}
    pending: list[tuple[Value, ...]] = [()]
    runs = 0
    while pending:
        runs += 1
        if runs > _MOST:
            raise Unsupported("too many outcomes to enumerate")
        script = _Script(pending.pop())
        try:
            outputs = run(program, given, {}, script.draw, others, steps=2000)
        except BadInput:
            raise Unsupported("a run that may not end") from None
        found[outputs] = found.get(outputs, Fraction(0)) + script.chance
        pending += script.others
    return found


class _Script:
    """Draws what is written, then the first possible value each time; keeps the other ways to go on."""

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
    if distribution == "Bernoulli":
        chance = _whole(arguments[0])
        return {side: odds for side, odds in ((True, chance), (False, 1 - chance)) if odds}
    low, high = (int(_whole(argument)) for argument in arguments)
    return {value: Fraction(1, high - low + 1) for value in range(low, high + 1)}

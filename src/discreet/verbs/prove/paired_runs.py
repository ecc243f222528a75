"""An example of a proof: both runs side by side, draw by draw.

The first run gets made-up noise; the second run's noise is what the proof says. If the proof is right, both show the
same, whatever the noise. This is for people to look at; the checker does not rely on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import cycle, islice

from discreet.errors import BadInput
from discreet.verbs.prove.certificate import Alignment
from discreet.verbs.prove.distributions import DISTRIBUTIONS, Pairing
from discreet.verbs.prove.interpreter import value_of
from discreet.verbs.prove.kernel.layout import NumberedStep, number_program
from discreet.verbs.prove.kernel.solver import Unsupported
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.refuter.neighbours import InputPair, candidate_pairs
from discreet.verbs.prove.syntax import Assign, Call, Emit, Expression, If, Program, Return, Sample, Value, While

_EXAMPLE_NOISE = tuple(Fraction(n, 4) for n in (1, -2, 3, 0, -3, 5, -1, 2, -5, 4))
_MAX_STEPS = 400
_MAX_PAIRS, _MAX_EXAMPLES = 400, 24
_PREFERRED_LENGTH = 3
"""Preferred number of items of an example's lists."""


@dataclass(frozen=True)
class PairedValue:
    """A draw or an output of both runs, with the shift and the cost of a draw."""

    line: int
    name: str
    first: Value
    second: Value
    shift: Value | None = None
    cost: Fraction = Fraction(0)

    @property
    def drawn(self) -> bool:
        """Whether it is a draw, and not an output."""
        return self.shift is not None


@dataclass(frozen=True)
class PairedRuns:
    """An example: two neighbouring inputs, and the draws and outputs in order."""

    pair: InputPair
    moments: tuple[PairedValue, ...]


def pair_runs(program: Program, alignment: Alignment) -> PairedRuns | None:
    """The most expensive of a few examples of a proof; None if it is too long or the program calls others."""
    examples: list[PairedRuns] = []
    for pair in _examples(program):
        try:
            examples.append(PairedRuns(pair, tuple(_PairedInterpreter(program, alignment, pair).run())))
        except (Unsupported, BadInput, KeyError):
            continue
    return max(examples, key=lambda one: sum(moment.cost for moment in one.moments), default=None)


def _examples(program: Program) -> Sequence[InputPair]:
    """A few neighbours that differ, those with lists of the preferred length first."""
    differing = [
        pair for pair in islice(candidate_pairs(program, (Fraction(1),)), _MAX_PAIRS) if pair.inputs != pair.neighbours
    ]
    private = {one.name for one in program.private}

    def far(pair: InputPair) -> tuple[int, int]:
        lists = [value for name, value in pair.inputs.items() if isinstance(value, tuple) and name in private]
        same = sum(pair.inputs[name] == pair.neighbours[name] for name in private)
        return max((abs(len(value) - _PREFERRED_LENGTH) for value in lists), default=0), same

    return sorted(differing, key=far)[:_MAX_EXAMPLES]


@dataclass
class _Round:
    """What the first run showed in one round of a loop, and the rounds of loops inside it."""

    seen: dict[str, Value] = field(default_factory=dict)
    inner: list[_Round] = field(default_factory=list)


class _PairedInterpreter:
    def __init__(self, program: Program, alignment: Alignment, pair: InputPair) -> None:
        self._program, self._layout = program, number_program(program, {})
        self._couplings = {one.number: one for one in alignment.couplings}
        one, two = (pair.neighbours, pair.inputs) if alignment.backwards else (pair.inputs, pair.neighbours)
        self._first: dict[str, Value] = {**_values(pair.parameters), **_values(one)}
        self._second: dict[str, Value] = {**_values(pair.parameters), **_values(two)}
        self._own = _difference_names(program, self._first, self._second)
        self._costs: dict[str, Value] = {f"cost{number}''": Fraction(0) for number in self._couplings}
        self._rounds: list[_Round] = []
        self._steps = 0

    def run(self) -> Iterator[PairedValue]:
        """Run the first input alone, for what it shows, then both."""
        start, noise = dict(self._first), cycle(_EXAMPLE_NOISE)
        draws: list[Value] = []
        whole = _Round()
        self._alone(self._layout.steps, start, [whole], noise, draws)
        self._rounds = [whole]
        yield from self._both(self._layout.steps, iter(draws))

    # -- the first run ------------------------------------------------------------------------------------------------

    def _alone(
        self,
        steps: Sequence[NumberedStep],
        names: dict[str, Value],
        rounds: list[_Round],
        noise: Iterator[Fraction],
        draws: list[Value],
    ) -> None:
        for step in steps:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise BadInput("The example is too long.")
            match step.statement:
                case Assign(name, value):
                    names[name] = value_of(value, names)
                case Sample() as sample:
                    names[sample.name] = _example_draw(sample, names, noise)
                    draws.append(names[sample.name])
                case Call():
                    raise Unsupported("a call")
                case If(condition):
                    true = value_of(condition, names)
                    rounds[-1].seen[f"branch{step.number}''"] = true
                    self._alone(step.then if true else step.other, names, rounds, noise, draws)
                case While(condition):
                    while value_of(condition, names):
                        inner = _Round()
                        rounds[-1].inner.append(inner)
                        self._alone(step.then, names, [*rounds, inner], noise, draws)
                case Emit(value) | Return(value):
                    rounds[-1].seen[f"shown{step.number}''"] = value_of(value, names)

    # -- both ---------------------------------------------------------------------------------------------------------

    def _both(self, steps: Sequence[NumberedStep], draws: Iterator[Value]) -> Iterator[PairedValue]:
        for step in steps:
            match step.statement:
                case Assign(name, value):
                    self._first[name], self._second[name] = self._values(value)
                case Sample() as sample:
                    yield self._draw(step.number, sample, next(draws))
                case If(condition):
                    one, two = self._values(condition)
                    if step.number == 0:
                        self._apart(step, bool(one), bool(two))
                    elif one is not two:
                        raise BadInput("The two runs take different branches.")
                    else:
                        yield from self._both(step.then if one else step.other, draws)
                case While(condition):
                    while value_of(condition, self._first):
                        self._rounds.append(self._rounds[-1].inner.pop(0))
                        yield from self._both(step.then, draws)
                        self._rounds.pop()
                case Emit(value) | Return(value):
                    word = "emit" if isinstance(step.statement, Emit) else "return"
                    yield PairedValue(step.statement.at.line, word, *self._values(value))

    def _draw(self, number: int, sample: Sample, drawn: Value) -> PairedValue:
        coupling = self._couplings[number]
        proof: dict[str, Value] = dict(self._own)
        proof |= {name: value for one in self._rounds for name, value in one.seen.items()}
        proof |= self._costs | self._first | {f"{name}'": value for name, value in self._second.items()}
        shift = value_of(parse_expression(coupling.shift), proof)
        charge = value_of(parse_expression(coupling.charge), proof)
        second, cost = self._moved(sample, drawn, shift, charge)
        counted = self._costs[f"cost{number}''"]
        self._costs[f"cost{number}''"] = _fraction(counted) + _fraction(charge)
        self._first[sample.name], self._second[sample.name] = drawn, second
        return PairedValue(sample.at.line, sample.name, drawn, second, shift, cost)

    def _moved(self, sample: Sample, drawn: Value, shift: Value, charge: Value) -> tuple[Value, Fraction]:
        """The second run's value, and what the shift costs."""
        declared = DISTRIBUTIONS[sample.distribution]
        if declared.pairing is Pairing.FLIP:
            return drawn is not shift, _fraction(charge)
        if declared.pairing is Pairing.ROTATE:
            low, high = (int(_fraction(value_of(end, self._second))) for end in sample.arguments)
            return low + (int(_fraction(drawn)) - low + int(_fraction(shift))) % (high - low + 1), Fraction(0)
        if declared.same_value:
            raise Unsupported("a draw that is the same in both runs")
        one, two = self._values(sample.arguments[1]) if len(sample.arguments) > 1 else (0, 0)
        scale = _fraction(value_of(sample.arguments[0], self._first))
        moved = _fraction(drawn) - _fraction(one) + _fraction(two) + _fraction(shift)
        return (moved if declared.continuous else int(moved)), _fraction(charge) / scale

    def _apart(self, step: NumberedStep, one: bool, two: bool) -> None:
        """A hidden branch: each run takes its own side."""
        for names, true in ((self._first, one), (self._second, two)):
            self._alone(step.then if true else step.other, names, [_Round()], iter(()), [])

    def _values(self, expression: Expression) -> tuple[Value, Value]:
        return value_of(expression, self._first), value_of(expression, self._second)


def _example_draw(sample: Sample, names: Mapping[str, Value], noise: Iterator[Fraction]) -> Value:
    """A possible value of a draw, in proportion to its scale."""
    example = DISTRIBUTIONS[sample.distribution].example
    if example is None:
        raise Unsupported("a draw that has no example")
    return example([value_of(argument, names) for argument in sample.arguments], next(noise))


def _difference_names(program: Program, first: Mapping[str, Value], second: Mapping[str, Value]) -> dict[str, Value]:
    """Where the two inputs differ, under the names that proofs use."""
    names: dict[str, Value] = {"where''": -1, "which''": -1}
    for which, one in enumerate(program.private):
        before, after = first[one.name], second[one.name]
        if isinstance(before, tuple) and isinstance(after, tuple):
            changes = [abs(_fraction(b) - _fraction(a)) for a, b in zip(before, after, strict=True)]
            names[f"spent_{one.name}''"] = tuple(sum(changes[:place], Fraction(0)) for place in range(len(changes) + 1))
            where = next((place for place, change in enumerate(changes) if change), None)
            if where is not None:
                names |= {"where''": where, "which''": which}
        elif before != after:
            names |= {"where''": 0, "which''": which}
    return names


def _values(values: Mapping[str, object]) -> dict[str, Value]:
    return {name: _value(value) for name, value in values.items()}


def _value(value: object) -> Value:
    """A value of the language, integers as such."""
    if isinstance(value, tuple):
        return tuple(_value(item) for item in value)
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    if not isinstance(value, bool | int | Fraction):
        raise Unsupported("a value that is not a number")
    return value


def _fraction(value: Value) -> Fraction:
    if isinstance(value, tuple):
        raise BadInput("A list is not a number.")
    return Fraction(value)

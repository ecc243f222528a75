"""Symbolic execution: the paths of a program for given inputs, with draws as unknowns.

A path is what was drawn, the linear conditions on it that lead along this way, and what is shown. Continuous and
discrete Laplace, exponential and Gaussian draws stay symbols; coins, uniform integers and the exponential mechanism are
gone through value by value. Together the paths are the whole distribution of what a program shows. Whatever is not
linear in the draws is ``Intractable``; the semantics are those of interpreter.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from discreet.verbs.prove.distributions import DISTRIBUTIONS, Arguments, Distribution, Pairing
from discreet.verbs.prove.refuter.arithmetic import Exact, Intractable, Logarithm
from discreet.verbs.prove.refuter.symbolic import Condition, Evaluator, LinearForm, NoiseDraw, ProgramFault, Symbolic
from discreet.verbs.prove.syntax import Assign, Call, Emit, If, Program, Return, Sample, Statement, While

Shown: TypeAlias = "bool | Fraction | Logarithm | LinearForm | str"
"""One output: a truth value, a number, a number that depends on draws, or a mark such as ``list of 2``."""

Choose: TypeAlias = Callable[[int, "LinearForm | None"], int]
"""Chooses a branch, given the number of branches and the form a comparison compares with 0 (branch 0: it holds)."""

MAX_STATEMENTS = 3_000
"""Statements after which a path counts as endless."""
_MAX_CHOICES = 64
"""Choices after which a path counts as endless."""
_MAX_ALL_STATEMENTS = 60_000
"""Most statements of all paths together."""
_MAX_DRAW_VALUES = 1 << 12
"""Most values of one draw."""


@dataclass(frozen=True)
class Path:
    """One way through a program."""

    noises: tuple[NoiseDraw, ...]
    conditions: tuple[Condition, ...]
    weight: Fraction
    picks: tuple[tuple[tuple[Exact, ...], int], ...]
    shown: tuple[Shown, ...]
    ways: tuple[int, ...]
    cut: bool = False
    """``weight`` is the chance of the coins; each pick is a choice by e to the power of the scores; ``ways`` is which
    way was taken at each choice; ``cut``: it was not followed to its end, and may show anything after ``shown``."""


class OtherOutput(Exception):
    """The path outputs something other than what is wanted."""


@dataclass(frozen=True)
class Task:
    """A program with its inputs and parameters."""

    program: Program
    inputs: Mapping[str, Symbolic]
    parameters: Mapping[str, Exact]
    others: Mapping[str, Program] = field(default_factory=dict)

    def with_inputs(self, inputs: Mapping[str, Symbolic]) -> Task:
        """The same program on other inputs."""
        return replace(self, inputs=inputs)


class _PathCut(Exception):
    """The path is cut before this choice."""


def follow(task: Task, choose: Choose) -> Path:
    """The one path on which every choice is as ``choose`` says."""
    return _Follower(task, choose, None).path()


def all_paths(
    task: Task,
    wanted: tuple[Shown, ...] | None = None,
    *,
    most: int = 2048,
    deepest: int | None = None,
    free: int | None = None,
) -> Iterator[Path]:
    """Every path (that shows ``wanted``, up to what depends on draws), each cut after ``deepest`` choices.

    ``free``: without those that show more than this number of independent continuous numbers where a value is wanted.
    Each number that has a draw in it which none before it has is independent of these, so that only such paths are left
    out.
    ``Intractable`` if there are more than ``most``, or if following them takes too long.
    """
    taken: list[list[int]] = []  # way taken, number of ways
    steps = 0
    for _ in range(most):
        depth = 0

        def choose(ways: int, _form: LinearForm | None) -> int:
            nonlocal depth
            if depth == deepest:
                raise _PathCut
            if depth == len(taken):
                taken.append([0, ways])
            depth += 1
            return taken[depth - 1][0]

        follower = _Follower(task, choose, wanted, free)
        try:
            path: Path | None = follower.path()
        except OtherOutput:
            path = None
        steps += follower.steps
        if steps > _MAX_ALL_STATEMENTS:
            raise Intractable("Following every path through this program takes too long.")
        if path is not None and path.weight:
            yield path
        del taken[depth:]
        while taken and taken[-1][0] == taken[-1][1] - 1:
            taken.pop()
        if not taken:
            return
        taken[-1][0] += 1
    raise Intractable("There are too many paths through this program.")


class _Follower:
    def __init__(self, task: Task, choose: Choose, wanted: tuple[Shown, ...] | None, free: int | None = None) -> None:
        self._task, self._chooser, self._wanted, self._free = task, choose, wanted, free
        self._independent, self._revealed = 0, set[int]()
        self._noises, self._conditions, self._weight = list[NoiseDraw](), list[Condition](), Fraction(1)
        self._picks: list[tuple[tuple[Exact, ...], int]] = []
        self._shown, self._ways, self._left = list[Shown](), list[int](), MAX_STATEMENTS
        self._values = Evaluator(self._compare)

    @property
    def steps(self) -> int:
        """How many statements were run."""
        return MAX_STATEMENTS - self._left

    def path(self) -> Path:
        cut = False
        try:
            returned = self._program(self._task.program, self._task.inputs, self._show)
            if returned is not None:
                self._show_one("returned")
                self._show(returned)
            self._show_one("end")
        except ProgramFault:
            self._show_one("fault")
        except _PathCut:
            cut = True
        noises, conditions, picks = tuple(self._noises), tuple(self._conditions), tuple(self._picks)
        return Path(noises, conditions, self._weight, picks, tuple(self._shown), tuple(self._ways), cut)

    def _program(
        self, program: Program, inputs: Mapping[str, Symbolic], show: Callable[[Symbolic], None]
    ) -> Symbolic | None:
        return self._block(program.body, {**self._task.parameters, **inputs}, show)

    def _block(
        self, body: tuple[Statement, ...], names: dict[str, Symbolic], show: Callable[[Symbolic], None]
    ) -> Symbolic | None:
        value_of = self._values.value
        for statement in body:
            self._step()
            match statement:
                case Assign(name, value):
                    names[name] = value_of(value, names)
                case Sample(name, distribution, arguments):
                    names[name] = self._draw(distribution, tuple(value_of(one, names) for one in arguments))
                case Call(name, called, arguments):
                    names[name] = self._call(called, tuple(value_of(one, names) for one in arguments))
                case If(condition, then, other):
                    returned = self._block(then if value_of(condition, names) else other, names, show)
                    if returned is not None:
                        return returned
                case While(condition, inner):
                    while value_of(condition, names):
                        self._step()
                        self._block(inner, names, show)
                case Emit(value):
                    show(value_of(value, names))
                case Return(value):
                    return value_of(value, names)
        return None

    def _call(self, called: str, arguments: tuple[Symbolic, ...]) -> Symbolic:
        program = self._task.others.get(called)
        if program is None:
            raise Intractable(f"The program {called} is not in this file.")
        given = {one.name: value for one, value in zip(program.inputs, arguments, strict=True)}
        names = {**self._task.parameters, **given}
        if not all(self._values.value(assumed, names) is True for assumed in program.assumes):
            raise ProgramFault
        emitted: list[Symbolic] = []
        returned = self._program(program, given, emitted.append)
        return tuple(emitted) if returned is None else returned

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Intractable("A run does not terminate.")

    def _choose(self, count: int, form: LinearForm | None) -> int:
        if len(self._ways) == _MAX_CHOICES:
            raise Intractable("A run does not terminate.")
        self._ways.append(self._chooser(count, form))
        return self._ways[-1]

    # -- what is seen -------------------------------------------------------------------------------------------------

    def _show(self, value: Symbolic) -> None:
        if isinstance(value, tuple):
            self._show_one(f"list of {len(value)}")
            for item in value:
                self._show(item)
        elif isinstance(value, bool | LinearForm | Logarithm):
            self._show_one(value)
        else:
            self._show_one(Fraction(value))

    def _show_one(self, shown: Shown) -> None:
        if self._wanted is not None:
            place = len(self._shown)
            if place >= len(self._wanted) or not may_agree(shown, self._wanted[place]):
                raise OtherOutput
            if isinstance(shown, LinearForm) and not isinstance(self._wanted[place], LinearForm):
                self._count(shown)
        self._shown.append(shown)

    def _count(self, shown: LinearForm) -> None:
        new = {draw for draw in shown.draws if not self._noises[draw].whole} - self._revealed
        self._revealed |= new
        self._independent += bool(new)
        if self._free is not None and self._independent > self._free:
            raise OtherOutput

    # -- what is drawn and compared -----------------------------------------------------------------------------------

    def _compare(self, operator: str, difference: LinearForm) -> bool:
        """Whether ``difference`` is in this relation to 0; both ways are taken, one after the other."""
        if operator in ("==", "!="):
            if not all(self._noises[draw].whole for draw in difference.draws):
                return operator == "!="  # continuous noise hits no single value: the chance is 0
            way = self._choose(3, difference)
            if way == 0:
                self._conditions += [Condition(difference), Condition(difference.times(-1))]
            else:
                self._conditions.append(Condition(difference.times(1 if way == 1 else -1), strict=True))
            return (way == 0) == (operator == "==")
        above = difference if operator in (">", ">=") else difference.times(-1)
        strict = operator in (">", "<")
        true = self._choose(2, above) == 0
        self._conditions.append(Condition(above, strict) if true else Condition(above.times(-1), not strict))
        return true

    def _draw(self, distribution: str, arguments: tuple[Symbolic, ...]) -> Symbolic:
        declared = DISTRIBUTIONS[distribution]
        if declared.pairing is not Pairing.SHIFT:
            return self._pick(declared, tuple(_known_argument(one) for one in arguments))
        scale = _known_number(arguments[0])
        if not declared.exists((scale,)):
            raise ProgramFault
        drawn = LinearForm(((len(self._noises), Fraction(1)),))
        noise = NoiseDraw(distribution, scale)
        self._noises.append(noise)
        if len(arguments) == 1:
            return drawn
        centre = arguments[1]
        if noise.whole and not self._integer(centre):
            raise Intractable("Integer noise around what is not an integer.")
        return self._values.sum(drawn, centre)

    def _integer(self, value: Symbolic) -> bool:
        if isinstance(value, LinearForm):
            return value.constant.denominator == 1 and all(
                self._noises[draw].whole and factor.denominator == 1 for draw, factor in value.terms
            )
        return isinstance(value, int | Fraction) and Fraction(value).denominator == 1

    def _pick(self, declared: Distribution, arguments: Arguments) -> Symbolic:
        """A draw of finitely many values: each is a branch."""
        if not declared.exists(arguments):
            raise ProgramFault
        if declared.exponents is None and any(isinstance(one, Logarithm) for one in arguments):
            raise Intractable("A probability that depends on a logarithm.")
        values = declared.values(arguments)
        if len(values) > _MAX_DRAW_VALUES:
            raise Intractable("A draw of too many values.")
        way = self._choose(len(values), None) if len(values) > 1 else 0
        if declared.exponents is not None:
            self._picks.append((declared.exponents(arguments), way))
        if declared.chance is not None:
            self._weight *= declared.chance(arguments, values[way])
        return values[way]


def may_agree(shown: Shown, wanted: Shown) -> bool:
    """Whether an output can equal the wanted one: a number that depends on draws may be any number."""
    if isinstance(shown, LinearForm) or isinstance(wanted, LinearForm):
        return not isinstance(shown, bool | str) and not isinstance(wanted, bool | str)
    return isinstance(shown, bool) == isinstance(wanted, bool) and shown == wanted


def _known_argument(value: Symbolic) -> Exact | tuple[Exact, ...]:
    return tuple(_known_number(one) for one in value) if isinstance(value, tuple) else _known_number(value)


def _known_number(value: Symbolic) -> Exact:
    """A number that does not depend on draws."""
    if isinstance(value, bool | LinearForm | tuple):
        raise Intractable("A distribution whose parameters depend on what was drawn.")
    return value

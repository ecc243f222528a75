"""Data flow of a draw to the outputs and comparisons that it influences.

Every such expression that is linear in the draw gives the shift that makes it equal in both runs, and the differences
of the other parts as words for more shifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS, Pairing
from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout, assigned_variables, read_variables
from discreet.verbs.prove.syntax import expressions, statements, subexpressions

ZERO = syntax.Number(Fraction(0))


def negate(change: syntax.Expression) -> syntax.Expression:
    """The negation of a difference."""
    match change:
        case syntax.Operation("-", (left, right)):
            return syntax.Operation("-", (right, left))
    return syntax.Operation("neg", (change,))


def operation(operator: str, *arguments: syntax.Expression) -> syntax.Expression:
    return syntax.Operation(operator, arguments)


def difference(layout: ProgramLayout, expression: syntax.Expression) -> syntax.Expression:
    """Second run's value minus the first's; public inputs and counters are equal in both."""
    private = {given.name for given in layout.program.private}
    changing = differing_variables(layout)

    def second(part: syntax.Expression) -> syntax.Expression:
        match part:
            case syntax.Name(name):
                return syntax.Name(name + "'") if name in changing or name in private else part
            case syntax.Item(of, index):
                return syntax.Item(syntax.Name(of.name + "'") if of.name in private else of, second(index))
            case syntax.Operation(operator, arguments):
                return syntax.Operation(operator, tuple(second(argument) for argument in arguments))
        return part

    return operation("-", second(expression), expression)


def differing_variables(layout: ProgramLayout) -> set[str]:
    """Variables that may differ between the two runs: those that private values, draws or hidden branches reach."""
    variables = {given.name for given in layout.program.private}
    while True:
        before = len(variables)
        _spread_difference(layout.steps, variables, hidden=False)
        if len(variables) == before:
            return variables


def _spread_difference(steps: Iterable[NumberedStep], variables: set[str], *, hidden: bool) -> None:
    for step in steps:
        match step.statement:
            case syntax.Assign(name, value) if hidden or read_variables(value) & variables:
                variables.add(name)
            case syntax.Sample(name, distribution) if not DISTRIBUTIONS[distribution].same_value:
                variables.add(name)
            case syntax.If(condition):
                inside = hidden or (not step.number and bool(read_variables(condition) & variables))
                _spread_difference((*step.then, *step.other), variables, hidden=inside)
            case syntax.While():
                _spread_difference(step.then, variables, hidden=hidden)


def shows_loop_variable(output: NumberedStep, loop: NumberedStep) -> bool:
    """Whether an output reads variables that a loop sets."""
    shown, inside = output.statement, loop.statement
    if not isinstance(shown, syntax.Emit | syntax.Return) or not isinstance(inside, syntax.While):
        return False
    return bool(read_variables(shown.value) & assigned_variables(inside.body))


def multiplied_parameters(layout: ProgramLayout, program: syntax.Program) -> list[str]:
    """Public numbers in products, quotients, scales, the claim, or the adjacency."""
    variables: set[str] = set(read_variables(program.epsilon)) | read_variables(program.adjacent.by)
    for statement in statements(program.body):
        if isinstance(statement, syntax.Sample):
            variables |= read_variables(statement.arguments[0])
        for expression in expressions(statement):
            for part in subexpressions(expression):
                if isinstance(part, syntax.Operation) and part.operator in ("*", "/"):
                    variables |= read_variables(part)
    numbers = {given.name for given in program.inputs if not given.private}
    return sorted(name for name in variables & numbers if layout.kinds[name] in ("int", "real") and name != "eps")


class DrawFlow:
    """Follows a draw to outputs and comparisons, in variables known where it is drawn."""

    def __init__(self, layout: ProgramLayout, site: NumberedStep, level: tuple[int, ...]) -> None:
        self.layout, self.site, self.level = layout, site, level
        statement = site.statement
        assert isinstance(statement, syntax.Sample)  # noqa: S101
        self.draw = statement.name
        self.met: list[syntax.Expression] = []
        self.compared: list[syntax.Expression] = []
        self.branches: list[int] = []
        self._active = False
        self._known: dict[str, syntax.Expression] = {}
        if DISTRIBUTIONS[statement.distribution].pairing is Pairing.SHIFT and len(statement.arguments) > 1:
            self._start: syntax.Expression = operation("+", statement.arguments[1], syntax.Name(self.draw))
        else:
            self._start = syntax.Name(self.draw)
        self._steps(layout.steps, level)

    def _steps(self, steps: Iterable[NumberedStep], level: tuple[int, ...]) -> None:
        for step in steps:
            self._step(step, level)

    def _step(self, step: NumberedStep, level: tuple[int, ...]) -> None:
        statement = step.statement
        if step is self.site or (isinstance(statement, syntax.Sample) and step.number == self.site.number):
            self._active, self._known = True, {self.draw: self._start}
            return
        match statement:
            case syntax.Assign(name, value) if self._active:
                for part in _list_items(value):
                    self._meet(part)
                if not isinstance(value, syntax.Listing | syntax.Joined):
                    self._known[name] = self._put(value)
            case syntax.Sample(name, _, arguments) if self._active:
                for argument in arguments[1:]:
                    self._meet(argument)
                self._known[name] = syntax.Name("?")
            case syntax.Emit(value) | syntax.Return(value) if self._active:
                self._meet(value)
            case syntax.If(condition):
                if self._active and self._meet(condition) and step.number:
                    self.branches.append(step.number)
                known = dict(self._known)
                self._steps(step.then, level)
                self._known, after = (known if self._active else {}), self._known
                self._steps(step.other, level)
                self._known = {**after, **self._known}
            case syntax.While(condition, body):
                changed = assigned_variables(body)
                self._known = {name: value for name, value in self._known.items() if name not in changed}
                if self._active:
                    self._known |= {name: syntax.Name("?") for name in changed}
                    self._meet(condition)
                self._steps(step.then, level)
                self._known |= {name: syntax.Name("?") for name in changed if self._known.get(name) is None}

    def ties(self) -> list[syntax.Expression]:
        """Values of the draw at which the two sides of a comparison are equal."""
        values: dict[syntax.Expression, None] = {}
        for change in self.compared:
            factor = linear_parts(change).get(syntax.Name(self.draw))
            rest = _without_draw(change, self.draw)
            if factor in (1, -1) and "?" not in read_variables(rest):
                values[rest if factor == -1 else negate(rest)] = None
        return list(values)

    def _put(self, expression: syntax.Expression) -> syntax.Expression:
        match expression:
            case syntax.Name(name):
                return self._known.get(name, expression)
            case syntax.Item(of, index):
                return syntax.Item(of, self._put(index))
            case syntax.Operation(operator, arguments):
                return syntax.Operation(operator, tuple(self._put(argument) for argument in arguments))
        return expression

    def _meet(self, expression: syntax.Expression) -> bool:
        """Record an expression if the draw influences it."""
        reached = self._put(expression)
        if self.draw not in read_variables(reached):
            return False
        for part in subexpressions(reached):
            if isinstance(part, syntax.Operation) and part.operator in ("*", "/"):
                self.met += [factor for factor in part.arguments if self.draw in read_variables(factor)]
            if isinstance(part, syntax.Operation) and part.operator in ("<", "<=", ">", ">=", "==", "!="):
                self.met.append(operation("-", *part.arguments))
                self.compared.append(self.met[-1])
        if not any(
            isinstance(part, syntax.Operation) and part.operator in ("<", "<=", ">", ">=")
            for part in subexpressions(reached)
        ):
            self.met.append(reached)
        return True


def _without_draw(expression: syntax.Expression, draw: str) -> syntax.Expression:
    """An expression with 0 for a draw."""
    match expression:
        case syntax.Name(name) if name == draw:
            return ZERO
        case syntax.Item(of, index):
            return syntax.Item(of, _without_draw(index, draw))
        case syntax.Operation(operator, arguments):
            left = tuple(_without_draw(argument, draw) for argument in arguments)
            if operator == "+" and ZERO in left:
                return left[1] if left[0] == ZERO else left[0]
            return syntax.Operation(operator, left)
    return expression


def _list_items(value: syntax.Expression) -> Iterator[syntax.Expression]:
    match value:
        case syntax.Listing(items):
            yield from items
        case syntax.Joined(first, second):
            yield from _list_items(first)
            yield from _list_items(second)


def linear_parts(expression: syntax.Expression) -> dict[syntax.Expression, Fraction]:
    """An expression as multiples of parts that are not sums; constants are left out."""
    match expression:
        case syntax.Number():
            return {}
        case syntax.Operation("neg", (inner,)):
            return {part: -factor for part, factor in linear_parts(inner).items()}
        case syntax.Operation("+" | "-" as operator, (left, right)):
            factors = linear_parts(left)
            for part, factor in linear_parts(right).items():
                factors[part] = factors.get(part, Fraction(0)) + (factor if operator == "+" else -factor)
            return factors
        case syntax.Operation("*", (syntax.Number(factor), inner)) | syntax.Operation(
            "*", (inner, syntax.Number(factor))
        ):
            return {part: factor * inside for part, inside in linear_parts(inner).items()}
        case syntax.Operation("/", (inner, syntax.Number(factor))) if factor:
            return {part: inside / factor for part, inside in linear_parts(inner).items()}
    return {expression: Fraction(1)}


def counters(layout: ProgramLayout, loop: int) -> list[str]:
    """Integers that a loop only increments; those incremented in every round first."""
    statement = layout.loops[loop - 1].statement
    assert isinstance(statement, syntax.While)  # noqa: S101
    grown: dict[str, bool] = {}
    for inner in statements(statement.body):
        match inner:
            case syntax.Assign(name, syntax.Operation("+", (syntax.Name(same), syntax.Number(value)))) if (
                same == name and value > 0
            ):
                grown.setdefault(name, True)
            case syntax.Assign(name) | syntax.Sample(name) | syntax.Call(name):
                grown[name] = False
    always = {inner.name for inner in statement.body if isinstance(inner, syntax.Assign)}
    integers = [name for name, grows in grown.items() if grows and layout.kinds[name] == "int"]
    return sorted(integers, key=lambda name: (name not in always, name))

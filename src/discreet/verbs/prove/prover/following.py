"""Following a draw through a program to where it matters: what is shown, and what is compared.

Every such expression that is linear in the draw gives the shift that makes it equal in both runs, and the differences
of the other parts as words for more shifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from discreet.verbs.prove.inside import expressions, parts, statements
from discreet.verbs.prove.kernel.layout import Layout, Step, assigned, names
from discreet.verbs.prove.syntax import (
    Assign,
    Call,
    Emit,
    Expression,
    If,
    Item,
    Joined,
    Listing,
    Name,
    Number,
    Operation,
    Program,
    Return,
    Sample,
    While,
)

ZERO = Number(Fraction(0))


def negated(change: Expression) -> Expression:
    """Minus a difference."""
    match change:
        case Operation("-", (left, right)):
            return Operation("-", (right, left))
    return Operation("neg", (change,))


def op(operator: str, *arguments: Expression) -> Expression:
    return Operation(operator, arguments)


def primed(expression: Expression) -> Expression:
    """The same in the second run."""
    match expression:
        case Name(name):
            return Name(name + "'")
        case Item(of, index):
            return Item(Name(of.name + "'"), primed(index))
        case Operation(operator, arguments):
            return Operation(operator, tuple(primed(argument) for argument in arguments))
    return expression


def difference(layout: Layout, expression: Expression) -> Expression:
    """How much larger it is in the second run; public inputs and counters are the same in both."""
    private = {given.name for given in layout.program.private}
    changing = differing(layout)

    def second(part: Expression) -> Expression:
        match part:
            case Name(name):
                return Name(name + "'") if name in changing or name in private else part
            case Item(of, index):
                return Item(Name(of.name + "'") if of.name in private else of, second(index))
            case Operation(operator, arguments):
                return Operation(operator, tuple(second(argument) for argument in arguments))
        return part

    return op("-", second(expression), expression)


def differing(layout: Layout) -> set[str]:
    """Variables that may be different in both runs: those that private values, draws or hidden branches reach."""
    found = {given.name for given in layout.program.private}
    while True:
        before = len(found)
        _reach(layout.steps, found, hidden=False)
        if len(found) == before:
            return found


def _reach(steps: Iterable[Step], found: set[str], *, hidden: bool) -> None:
    for step in steps:
        match step.statement:
            case Assign(name, value) if hidden or names(value) & found:
                found.add(name)
            case Sample(name, distribution) if distribution not in ("ExpMech", "Gaussian"):
                found.add(name)
            case If(condition):
                inside = hidden or (not step.number and bool(names(condition) & found))
                _reach((*step.then, *step.other), found, hidden=inside)
            case While():
                _reach(step.then, found, hidden=hidden)


def tells(output: Step, loop: Step) -> bool:
    """Whether an output shows variables that a loop sets."""
    shown, inside = output.statement, loop.statement
    if not isinstance(shown, Emit | Return) or not isinstance(inside, While):
        return False
    return bool(names(shown.value) & assigned(inside.body))


def multiplied(layout: Layout, program: Program) -> list[str]:
    """Public numbers that occur in products, quotients, scales, the claim, or what neighbours are."""
    found: set[str] = set(names(program.epsilon)) | names(program.adjacent.by)
    for statement in statements(program.body):
        if isinstance(statement, Sample):
            found |= names(statement.arguments[0])
        for expression in expressions(statement):
            for part in parts(expression):
                if isinstance(part, Operation) and part.operator in ("*", "/"):
                    found |= names(part)
    numbers = {given.name for given in program.inputs if not given.private}
    return sorted(name for name in found & numbers if layout.kinds[name] in ("int", "real") and name != "eps")


class Follow:
    """Follows a draw to what is shown or compared, in words of the place of the draw."""

    def __init__(self, layout: Layout, site: Step, level: tuple[int, ...]) -> None:
        self.layout, self.site, self.level = layout, site, level
        statement = site.statement
        assert isinstance(statement, Sample)  # noqa: S101
        self.draw = statement.name
        self.met: list[Expression] = []
        self.compared: list[Expression] = []
        self.branches: list[int] = []
        self._active = False
        self._known: dict[str, Expression] = {}
        if statement.distribution in ("Laplace", "DLaplace"):
            self._start: Expression = op("+", statement.arguments[1], Name(self.draw))
        else:
            self._start = Name(self.draw)
        self._steps(layout.steps, level)

    def _steps(self, steps: Iterable[Step], level: tuple[int, ...]) -> None:
        for step in steps:
            self._step(step, level)

    def _step(self, step: Step, level: tuple[int, ...]) -> None:
        statement = step.statement
        if step is self.site or (isinstance(statement, Sample) and step.number == self.site.number):
            self._active, self._known = True, {self.draw: self._start}
            return
        match statement:
            case Assign(name, value) if self._active:
                for part in _list_items(value):
                    self._meet(part)
                if not isinstance(value, Listing | Joined):
                    self._known[name] = self._put(value)
            case Sample(name, _, arguments) if self._active:
                for argument in arguments[1:]:
                    self._meet(argument)
                self._known[name] = Name("?")
            case Emit(value) | Return(value) if self._active:
                self._meet(value)
            case If(condition):
                if self._active and self._meet(condition) and step.number:
                    self.branches.append(step.number)
                known = dict(self._known)
                self._steps(step.then, level)
                self._known, after = (known if self._active else {}), self._known
                self._steps(step.other, level)
                self._known = {**after, **self._known}
            case While(condition, body):
                changed = assigned(body)
                self._known = {name: value for name, value in self._known.items() if name not in changed}
                if self._active:
                    self._known |= {name: Name("?") for name in changed}
                    self._meet(condition)
                self._steps(step.then, level)
                self._known |= {name: Name("?") for name in changed if self._known.get(name) is None}

    def ties(self) -> list[Expression]:
        """The values of the draw at which two sides of a comparison are equal."""
        found: dict[Expression, None] = {}
        for change in self.compared:
            factor = linear(change).get(Name(self.draw))
            rest = _without(change, self.draw)
            if factor in (1, -1) and "?" not in names(rest):
                found[rest if factor == -1 else negated(rest)] = None
        return list(found)

    def _put(self, expression: Expression) -> Expression:
        match expression:
            case Name(name):
                return self._known.get(name, expression)
            case Item(of, index):
                return Item(of, self._put(index))
            case Operation(operator, arguments):
                return Operation(operator, tuple(self._put(argument) for argument in arguments))
        return expression

    def _meet(self, expression: Expression) -> bool:
        """Note an expression if the draw reaches it."""
        found = self._put(expression)
        if self.draw not in names(found):
            return False
        for part in parts(found):
            if isinstance(part, Operation) and part.operator in ("*", "/"):
                self.met += [factor for factor in part.arguments if self.draw in names(factor)]
            if isinstance(part, Operation) and part.operator in ("<", "<=", ">", ">=", "==", "!="):
                self.met.append(op("-", *part.arguments))
                self.compared.append(self.met[-1])
        if not any(isinstance(part, Operation) and part.operator in ("<", "<=", ">", ">=") for part in parts(found)):
            self.met.append(found)
        return True


def _without(expression: Expression, draw: str) -> Expression:
    """The same with 0 for a draw."""
    match expression:
        case Name(name) if name == draw:
            return ZERO
        case Item(of, index):
            return Item(of, _without(index, draw))
        case Operation(operator, arguments):
            left = tuple(_without(argument, draw) for argument in arguments)
            if operator == "+" and ZERO in left:
                return left[1] if left[0] == ZERO else left[0]
            return Operation(operator, left)
    return expression


def _list_items(value: Expression) -> Iterator[Expression]:
    match value:
        case Listing(items):
            yield from items
        case Joined(first, second):
            yield from _list_items(first)
            yield from _list_items(second)


def linear(expression: Expression) -> dict[Expression, Fraction]:
    """A sum of multiples of what is no sum itself; numbers are left out."""
    match expression:
        case Number():
            return {}
        case Operation("neg", (inner,)):
            return {part: -factor for part, factor in linear(inner).items()}
        case Operation("+" | "-" as operator, (left, right)):
            found = linear(left)
            for part, factor in linear(right).items():
                found[part] = found.get(part, Fraction(0)) + (factor if operator == "+" else -factor)
            return found
        case Operation("*", (Number(factor), inner)) | Operation("*", (inner, Number(factor))):
            return {part: factor * inside for part, inside in linear(inner).items()}
        case Operation("/", (inner, Number(factor))) if factor:
            return {part: inside / factor for part, inside in linear(inner).items()}
    return {expression: Fraction(1)}


def counters(layout: Layout, loop: int) -> list[str]:
    """The integers that only grow in a loop, and by numbers; those that grow in every round first."""
    statement = layout.loops[loop - 1].statement
    assert isinstance(statement, While)  # noqa: S101
    grown: dict[str, bool] = {}
    for inner in statements(statement.body):
        match inner:
            case Assign(name, Operation("+", (Name(same), Number(value)))) if same == name and value > 0:
                grown.setdefault(name, True)
            case Assign(name) | Sample(name) | Call(name):
                grown[name] = False
    always = {inner.name for inner in statement.body if isinstance(inner, Assign)}
    found = [name for name, grows in grown.items() if grows and layout.kinds[name] == "int"]
    return sorted(found, key=lambda name: (name not in always, name))

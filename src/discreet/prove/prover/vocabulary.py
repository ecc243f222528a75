"""Which shifts are worth trying at a draw, and in which cases.

A draw matters where it is shown or compared. Following it forward from its place, every such expression that is linear in it
gives the shift that makes it equal in both runs, and the differences of the other parts as words for more shifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from discreet.prove.inside import expressions, parts, statements
from discreet.prove.kernel.layout import Kind, Layout, Step, assigned, kind_of, names
from discreet.prove.syntax import (
    Assign,
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
    Truth,
    While,
)
from discreet.prove.texts import written

ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))


@dataclass(frozen=True)
class Slot:
    """A draw in one case: the shifts to choose from, the plainest first, each with how plain it is."""

    site: int
    when: Expression
    words: tuple[Expression, ...]
    weights: tuple[int, ...]


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


# -- where a draw matters ---------------------------------------------------------------------------------------------


class _Follow:
    """Follows a draw to what is shown or compared, in words of the place of the draw."""

    def __init__(self, layout: Layout, site: Step, level: tuple[int, ...]) -> None:
        self.layout, self.site, self.level = layout, site, level
        statement = site.statement
        assert isinstance(statement, Sample)  # noqa: S101
        self.draw = statement.name
        self.met: list[Expression] = []
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
            if isinstance(part, Operation) and part.operator in ("<", "<=", ">", ">=", "==", "!="):
                self.met.append(op("-", *part.arguments))
        if not any(isinstance(part, Operation) and part.operator in ("<", "<=", ">", ">=") for part in parts(found)):
            self.met.append(found)
        return True


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


# -- words ------------------------------------------------------------------------------------------------------------


def slots(layout: Layout, site: Step, level: tuple[int, ...]) -> list[Slot]:
    """The cases of a draw of Laplace, DLaplace, Exp or Uniform kind, with words."""
    follow = _Follow(layout, site, level)
    statement = site.statement
    assert isinstance(statement, Sample)  # noqa: S101
    weighed = _turns(layout, follow) if statement.distribution == "Uniform" else _words(layout, follow)
    if statement.distribution in ("DLaplace", "Uniform"):
        kinds = {**layout.kinds, **{f"{name}'": kind for name, kind in layout.kinds.items()}}
        kinds |= {f"{given.name}'[]": layout.kinds[f"{given.name}[]"] for given in layout.program.inputs if f"{given.name}[]" in kinds}
        weighed = {word: weight for word, weight in weighed.items() if _is_int(word, kinds)}
    ordered = sorted(weighed.items(), key=lambda pair: pair[1])[:40]
    words, weights = tuple(word for word, _ in ordered), tuple(weight for _, weight in ordered)
    return [Slot(site.number, when, words, weights) for when in cases(layout, follow)]


def _is_int(word: Expression, kinds: Mapping[str, Kind]) -> bool:
    return kind_of(word, kinds) == "int"


def _words(layout: Layout, follow: _Follow) -> dict[Expression, int]:
    found: dict[str, tuple[Expression, int]] = {}

    def add(word: Expression, weight: int) -> None:
        text = written(word)
        if text not in found or found[text][1] > weight:
            found[text] = (word, weight)

    changing = differing(layout)
    basis: dict[str, Expression] = {}
    add(ZERO, 0)
    for met in follow.met:
        sum_ = linear(met)
        factor = sum_.pop(Name(follow.draw), Fraction(0))
        if not factor or any(follow.draw in names(part) for part in sum_):
            continue
        rest = {part: -times / factor for part, times in sum_.items() if times and names(part) & changing}
        if any("?" in names(part) for part in rest):
            rest = {part: times for part, times in rest.items() if "?" not in names(part)}
        word: Expression = ZERO
        for part, times in rest.items():
            change = difference(layout, part)
            basis.setdefault(written(change), change)
            scaled = change if times == 1 else negated(change) if times == -1 else op("*", Number(times), change)
            word = scaled if word == ZERO else op("+", word, scaled)
        add(word, 1)
    _combine(layout, list(basis.values())[:4], add)
    return {word: weight for word, weight in found.values()}


def _combine(layout: Layout, basis: list[Expression], add: object) -> None:
    assert callable(add)  # noqa: S101
    by = layout.program.adjacent.by
    steps: list[Expression] = [] if layout.program.adjacent.kind == "any" else [by, op("neg", by)]
    for step in steps:
        add(step, 1)
        add(_twice(step), 3)
    for change in basis:
        for signed in (change, negated(change)):
            add(signed, 2)
            for step in steps:
                add(op("+", step, signed), 2)
    for one, two in combinations(basis, 2):
        for left in (one, negated(one)):
            for right in (two, negated(two)):
                add(op("+", left, right), 3)


def _twice(step: Expression) -> Expression:
    match step:
        case Number(value):
            return Number(2 * value)
        case Operation("neg", (Number(value),)):
            return Number(-2 * value)
    return op("*", Number(Fraction(2)), step)


def _turns(layout: Layout, follow: _Follow) -> dict[Expression, int]:
    """For a uniform draw: not at all, or by the bit in which what it is added to differs."""
    found: dict[Expression, int] = {ZERO: 0}
    for met in follow.met:
        for part in parts(met):
            if isinstance(part, Operation) and part.operator == "xor":
                for argument in part.arguments:
                    change = difference(layout, argument)
                    assert isinstance(change, Operation)  # noqa: S101
                    if follow.draw not in names(argument) and "?" not in names(argument):
                        found.setdefault(op("xor", *change.arguments), 1)
    return found


# -- cases ------------------------------------------------------------------------------------------------------------


def cases(layout: Layout, follow: _Follow) -> list[Expression]:
    """The cases of a draw: ways through the visible branches it decides, and whether its round is the one shown."""
    levels = {step.number: at for step, at in layout.branches}
    found = _ways(layout.steps, {n for n in follow.branches if levels[n] == follow.level[: len(levels[n])]})
    rounds = counters(layout, follow.level)
    for step, at in layout.outputs:
        kind = layout.shown(step)
        if at != follow.level[: len(at)] or kind not in ("int", "bool") or _literal(step):
            continue
        shown = Name(f"shown{step.number}''")
        if kind == "bool" and at == follow.level:
            found = [way + [split] for way in found for split in (shown, op("not", shown))]
        elif kind == "int" and rounds and len(at) < len(follow.level):
            here = op("==", Name(rounds[-1]), shown)
            found = [way + [split] for way in found for split in (here, op("not", here))]
    return [_all(way) for way in found[:8]]


def _literal(step: Step) -> bool:
    statement = step.statement
    return isinstance(statement, Emit | Return) and isinstance(statement.value, Truth | Number)


def _all(way: list[Expression]) -> Expression:
    found: Expression = Truth(True)
    for condition in way:
        found = condition if found == Truth(True) else op("and", found, condition)
    return found


def _ways(steps: Iterable[Step], wanted: set[int]) -> list[list[Expression]]:
    """Every way through the wanted branches."""
    found: list[list[Expression]] = [[]]
    for step in steps:
        if isinstance(step.statement, While):
            inside = _ways(step.then, wanted)
        elif isinstance(step.statement, If) and step.number:
            then, other = _ways(step.then, wanted), _ways(step.other, wanted)
            if step.number in wanted:
                name = Name(f"branch{step.number}''")
                inside = [[name, *way] for way in then] + [[op("not", name), *way] for way in other]
            else:
                inside = then if len(then) > 1 else other
        else:
            continue
        found = [way + more for way in found for more in inside]
    return found


def counters(layout: Layout, level: tuple[int, ...]) -> list[str]:
    """For each loop around a place, the variable that grows by 1 in every round."""
    found = []
    for loop in level:
        for step in layout.loops[loop - 1].then:
            match step.statement:
                case Assign(name, Operation("+", (Name(same), Number(value)))) if same == name and value == 1:
                    found.append(name)
                    break
    return found



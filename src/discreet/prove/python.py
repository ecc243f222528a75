"""The same programs as Python functions: read from their source, never run.

    @private(adjacent="all by 1", claim="eps")
    def above(q: Private[list[float]], T: float):
        rho = Laplace(2 / eps)
        for i in range(len(q)):
            eta = Laplace(4 / eps)
            yield q[i] + eta >= T + rho

A draw is a call of a distribution's name, ``yield`` emits, ``assert`` at the beginning assumes, ``len`` is the size of
a list, and ``r = r + [x]`` makes it longer (``append`` and ``r += [x]`` would also change other names of the same list
and are refused). ``for i in range(…)`` is a loop that counts, where nothing in it changes the counter or the limit and
nothing outside uses the counter. Whatever else Python has is refused, and so is what would make a name something else
than it looks like: a second decorator, a name bound twice, a function from around it (``shadows.py``).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from discreet.errors import BadInput, BadProgram
from discreet.prove.inside import names_in, statements
from discreet.prove.reading import KEYWORDS, read_adjacent, read_expression
from discreet.prove.shadows import FUNCTIONS, called, hidden, outside, rebound
from discreet.prove.syntax import (
    BOOL,
    DISTRIBUTIONS,
    INT,
    REAL,
    Assign,
    At,
    Call,
    Emit,
    Expression,
    If,
    Input,
    Item,
    Joined,
    Listing,
    ListOf,
    Name,
    Number,
    Operation,
    Program,
    Range,
    Return,
    Sample,
    Scalar,
    Size,
    Statement,
    Truth,
    Type,
    While,
)

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., object])
Private = Annotated[_T, "private"]
"""Marks an input that is to be protected: ``Private[list[float]]``."""

_MARK = "__discreet_claim__"
_ALONE = "Leave private as the only decorator."
_SCALARS = {"float": REAL, "int": INT, "bool": BOOL}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.BitXor: "xor",
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def private(*, adjacent: str, claim: str, delta: str = "0") -> Callable[[_F], _F]:
    """Mark a function as a program with a claim, to be checked when somebody asks: ``prove.check(function)``.

    ``adjacent`` says which inputs are neighbours (``"all by 1"``), ``claim`` the epsilon. The function stays as it is.
    """

    def mark(function: _F) -> _F:
        setattr(function, _MARK, (adjacent, claim, delta))
        return function

    return mark


def is_marked(found: object) -> bool:
    """Whether something is a function that ``private`` marked."""
    return callable(found) and hasattr(found, _MARK)


def read_function(function: Callable[..., Any]) -> tuple[tuple[Program, ...], str]:
    """The programs that a marked function stands for: those it calls first, itself last; and its source."""
    found: dict[Callable[..., Any], Program] = {}
    text = _read(function, found, ())
    return tuple(found.values()), text


def read_module(text: str) -> tuple[Program, ...]:
    """The marked functions of a Python file, in their order; the file is parsed and never run."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        at = At(error.lineno or 1, error.offset or 1)
        raise BadProgram(f"This is not Python: {error.msg}.", at, (error.text or "").rstrip("\n")) from None
    claims = [(node, _claimed(node, text)) for node in tree.body if isinstance(node, ast.FunctionDef)]
    marked = [(node, claimed) for node, claimed in claims if claimed is not None]
    if not marked:
        raise BadProgram(
            "No function is marked here.", At(1, 1), hint='Mark one: @private(adjacent="one", claim="eps").'
        )
    if again := rebound(tree, [node for node, _ in marked]):
        node, name = again
        line = getattr(node, "lineno", 1)
        raise BadProgram(
            "Everything is imported here, so that no name is sure." if name == "*" else f"{name} is bound anew here.",
            At(line, getattr(node, "col_offset", 0) + 1),
            text.splitlines()[line - 1],
            hint="What a program calls must be what it looks like: one meaning for each name of a file.",
        )
    found: dict[str, Program] = {}
    for node, claimed in marked:
        found[node.name] = _Function(node, text, 0).program(*claimed, frozenset(found))
    return tuple(found.values())


def _claimed(node: ast.FunctionDef, text: str) -> tuple[str, str, str] | None:
    """What the decorator says, if there is one."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and _last(mark.func) == "private":
            said = {one.arg: one.value.value for one in mark.keywords if isinstance(one.value, ast.Constant)}
            adjacent, claim, delta = said.get("adjacent"), said.get("claim"), said.get("delta", "0")
            if isinstance(adjacent, str) and isinstance(claim, str) and isinstance(delta, str):
                return adjacent, claim, delta
            line = text.splitlines()[mark.lineno - 1]
            raise BadProgram("adjacent and claim are texts.", At(mark.lineno, mark.col_offset + 1), line)
    return None


def _read(
    function: Callable[..., Any], found: dict[Callable[..., Any], Program], callers: tuple[Callable[..., Any], ...]
) -> str:
    if not is_marked(function):
        hint = 'Mark it: @dc.prove.private(adjacent="one", claim="eps").'
        raise BadInput(f"Nothing is claimed of {getattr(function, '__name__', function)}.", hint=hint)
    if hasattr(function, "__wrapped__"):
        raise BadInput("This function is wrapped around another: what is run is not what is read.", hint=_ALONE)
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise BadInput("The source of the function cannot be read.", hint="Write it in a file.") from None
    source = "".join(lines)
    text = textwrap.dedent(source)
    tree = ast.parse(text).body[0]
    if not isinstance(tree, ast.FunctionDef) or not inspect.isfunction(function):
        raise BadInput("A program is a function that begins with def.")
    if strange := outside(function):
        raise BadInput(f"{strange} is something else where {tree.name} stands.", hint="Give that another name.")
    reader = _Function(tree, text, max(start, 1) - 1)
    known: set[str] = set()
    for name in dict.fromkeys(called(tree)):
        if name in function.__code__.co_freevars:
            raise BadInput(f"{name} is from a function around {tree.name}.", hint="Call marked functions of the file.")
        other: Any = function.__globals__.get(name)
        if is_marked(other):
            if other in (*callers, function):
                raise BadInput(f"{name} calls itself.", hint="A program may call those above it.")
            if other not in found:
                _read(other, found, (*callers, function))
            if found[other].name != name:
                raise BadInput(f"{name} is another name of {found[other].name}.", hint="Call it by its own name.")
            known.add(name)
    if any(program.name == tree.name for program in found.values()):
        raise BadInput(f"Two functions are called {tree.name}.", hint="Give one of them another name.")
    adjacent, claim, delta = getattr(function, _MARK)
    found[function] = reader.program(adjacent, claim, delta, frozenset(known))
    return "\n" * reader.before + text


class _Function:
    """Reads one function; ``before`` is how many lines stand above it in its file."""

    def __init__(self, tree: ast.FunctionDef, text: str, before: int) -> None:
        self._tree, self._text, self._lines, self.before = tree, text, text.splitlines(), before
        self._callable: frozenset[str] = frozenset()

    def program(self, adjacent: str, claim: str, delta: str, callable_: frozenset[str]) -> Program:
        tree, self._callable = self._tree, callable_
        if len(tree.decorator_list) > 1:
            raise self._refused(tree.decorator_list[0], "There is a second decorator, which may change all.", _ALONE)
        if own := hidden(tree):
            raise self._refused(tree, f"{own} is called, and is a name of this function's own.")
        given = tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
            raise self._refused(tree, "A program has plain inputs, without defaults.")
        inputs = tuple(self._input(one) for one in given.args)
        body = tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and ast.get_docstring(tree):
            body = body[1:]
        assumed = next((place for place, node in enumerate(body) if not isinstance(node, ast.Assert)), len(body))
        assumes = tuple(self._expression(node.test) for node in body[:assumed] if isinstance(node, ast.Assert))
        result = None if tree.returns is None else self._type(tree.returns)
        return Program(
            tree.name,
            inputs,
            result,
            read_adjacent(adjacent),
            read_expression(claim),
            read_expression(delta),
            assumes,
            self._block(body[assumed:]),
        )

    # -- inputs -------------------------------------------------------------------------------------------------------

    def _input(self, given: ast.arg) -> Input:
        if given.annotation is None:
            raise self._refused(given, f"{given.arg} has no type.", "Write q: Private[list[float]], T: float, N: int.")
        note = given.annotation
        hidden = isinstance(note, ast.Subscript) and _last(note.value) == "Private"
        if hidden and isinstance(note, ast.Subscript):
            note = note.slice
        return Input(self._name(given, given.arg), self._type(note), hidden, self._at(given))

    def _type(self, note: ast.expr) -> Type:
        if isinstance(note, ast.Subscript) and _last(note.value) in ("list", "List", "Iterator", "Generator"):
            inner = note.slice.elts[0] if isinstance(note.slice, ast.Tuple) else note.slice
            return ListOf(self._simple(inner))
        return self._simple(note)

    def _simple(self, note: ast.expr) -> Scalar | Range:
        if isinstance(note, ast.Name) and note.id in _SCALARS:
            return _SCALARS[note.id]
        if isinstance(note, ast.Subscript) and _last(note.value) == "Literal":
            items = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
            whole = [item.value for item in items if isinstance(item, ast.Constant) and type(item.value) is int]
            if len(whole) == len(items) and whole == list(range(whole[0], whole[0] + len(whole))):
                return Range(whole[0], whole[-1])
        raise self._refused(
            note, "This is no type of the language.", "It has float, int, bool, Literal[0, 1], and list[…]."
        )

    # -- statements ---------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for node in body:
            if isinstance(node, ast.For):
                found += self._counted(node)
            elif not isinstance(node, ast.Pass):
                found.append(self._statement(node))
        return tuple(found)

    def _statement(self, node: ast.stmt) -> Statement:
        at = self._at(node)
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                return self._assign(node, self._name(node, name), value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in _BINARY:
                before = Name(self._name(node, name), at)
                return Assign(name, Operation(_BINARY[type(op)], (before, self._expression(value)), at), at)
            case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
                return Emit(self._expression(value), at)
            case ast.Return(value=ast.expr() as value):
                return Return(self._expression(value), at)
            case ast.If(test=test, body=body, orelse=other):
                return If(self._expression(test), self._block(body), self._block(other), at)
            case ast.While(test=test, body=body, orelse=[]):
                return While(self._expression(test), self._block(body), at)
            case ast.Assert():
                raise self._refused(
                    node, "An assert stands at the beginning: it says what is assumed of public inputs."
                )
        hint = "There are x = e, x = Laplace(…), if, while, for i in range(…), yield and return."
        raise self._refused(node, "This statement is no part of the language.", hint)

    def _assign(self, node: ast.stmt, name: str, value: ast.expr) -> Statement:
        at = self._at(node)
        if not isinstance(value, ast.Call) or value.keywords:
            return Assign(name, self._expression(value), at)
        by = value.func.id if isinstance(value.func, ast.Name) else ""
        if by in DISTRIBUTIONS:
            arguments = tuple(self._expression(argument) for argument in value.args)
            if by in ("Laplace", "DLaplace", "Gaussian") and len(arguments) == 1:
                arguments = (*arguments, Number(Fraction(0), at))
            if len(arguments) != DISTRIBUTIONS[by]:
                raise self._refused(value, f"{by} has {DISTRIBUTIONS[by]} arguments, not {len(arguments)}.")
            return Sample(name, by, arguments, at)
        if by in self._callable:
            return Call(name, by, tuple(self._expression(argument) for argument in value.args), at)
        return Assign(name, self._expression(value), at)

    def _counted(self, node: ast.For) -> Iterator[Statement]:
        """``for i in range(n)`` as a while, which it is as long as nobody touches ``i`` or ``n``."""
        at = self._at(node)
        match node:
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[*bounds], keywords=[]),
                orelse=[],
            ) if len(bounds) in (1, 2):
                first = self._expression(bounds[0]) if len(bounds) > 1 else Number(Fraction(0), at)
                limit = self._expression(bounds[-1])
            case _:
                raise self._refused(node, "A for counts: for i in range(n), or range(m, n).")
        counter, body = self._name(node, name), self._block(node.body)
        changed = {one.name for one in statements(body) if isinstance(one, Assign | Sample | Call)}
        if touched := changed & {counter, *(used.name for used in names_in(limit))}:
            raise self._refused(node, f"{min(touched)} is changed inside the loop.", "Use while.")
        if _outside(self._tree, counter):
            raise self._refused(node, f"{counter} is used outside the loop.", "Use while, or another name.")
        yield Assign(counter, first, at)
        more = Assign(counter, Operation("+", (Name(counter, at), Number(Fraction(1), at)), at), at)
        yield While(Operation("<", (Name(counter, at), limit), at), (*body, more), at)

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> Expression:
        at = self._at(node)
        match node:
            case ast.Constant(value=bool() as true):
                return Truth(true, at)
            case ast.Constant(value=int() | float()):
                return Number(self._number(node), at)
            case ast.Name(id=name):
                return Name(self._name(node, name), at)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if isinstance(left, ast.List) or isinstance(
                right, ast.List
            ):
                return Joined(self._expression(left), self._expression(right), at)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return Operation(_BINARY[type(op)], (self._expression(left), self._expression(right)), at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Operation("neg", (self._expression(operand),), at)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Operation("not", (self._expression(operand),), at)
            case ast.BoolOp(op=op, values=values):
                return self._all([self._expression(value) for value in values], type(op) is ast.And, at)
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
                terms = [self._expression(term) for term in (left, *others)]
                pairs = zip(ops, terms, terms[1:], strict=False)
                return self._all([Operation(_COMPARED[type(op)], (a, b), at) for op, a, b in pairs], True, at)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return Operation("if", tuple(self._expression(part) for part in (test, yes, no)), at)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if not isinstance(index, ast.Slice):
                return Item(Name(self._name(node, name), at), self._expression(index), at)
            case ast.List(elts=items):
                return Listing(tuple(self._expression(item) for item in items), at)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
                return Size(Name(name, at), at)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if FUNCTIONS.get(name) == len(args):
                return Operation(name, tuple(self._expression(argument) for argument in args), at)
            case ast.Call(func=ast.Attribute(attr=name)) if name in DISTRIBUTIONS:
                raise self._refused(node, f"This {name} may be anything.", f"Write {name}(…), without a dot.")
            case ast.Call(func=ast.Name(id=name)) if name in DISTRIBUTIONS:
                raise self._refused(node, "A draw is a statement of its own.", "Write x = Laplace(…), and use x.")
        hint = "There are + - * / ^, comparisons, and, or, not, … if … else …, min, max, abs, len, q[i] and [x]."
        raise self._refused(node, "This expression is no part of the language.", hint)

    def _all(self, found: list[Expression], every: bool, at: At) -> Expression:
        together = found[0]
        for one in found[1:]:
            together = Operation("and" if every else "or", (together, one), at)
        return together

    def _number(self, node: ast.expr) -> Fraction:
        """As it is written: 0.1 is a tenth, not the nearest float."""
        text = (ast.get_source_segment(self._text, node) or "").replace("_", "")
        try:
            return Fraction(text)
        except ValueError:
            raise self._refused(node, "A number is written in digits.") from None

    def _name(self, node: ast.AST, name: str) -> str:
        if name in KEYWORDS:
            raise self._refused(node, f"{name!r} is a word of the language and cannot be a name.")
        return name

    def _at(self, node: ast.AST) -> At:
        return At(getattr(node, "lineno", 1) + self.before, getattr(node, "col_offset", 0) + 1)

    def _refused(self, node: ast.AST, what: str, hint: str = "") -> BadProgram:
        line = self._lines[getattr(node, "lineno", 1) - 1]
        return BadProgram(what, self._at(node), line, hint=hint)


def _last(node: ast.expr) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _outside(tree: ast.AST, counter: str) -> bool:
    """Whether a name is mentioned anywhere but in loops that it counts."""
    if isinstance(tree, ast.For) and _last(tree.target) == counter:
        return _outside(tree.iter, counter)
    if isinstance(tree, ast.Name):
        return tree.id == counter
    return any(_outside(inner, counter) for inner in ast.iter_child_nodes(tree))

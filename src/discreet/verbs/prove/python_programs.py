"""Programs written as Python functions: read from their source, never run.

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
than it looks like: a second decorator, a name bound twice, a function from around it (``name_safety.py``).
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from discreet.errors import BadInput, BadProgram
from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.name_safety import (
    FUNCTIONS,
    called_names,
    find_foreign_word,
    find_rebinding,
    find_shadowed_call,
)
from discreet.verbs.prove.parser import MAX_NUMBER_DIGITS, is_keyword, parse_adjacent, parse_expression
from discreet.verbs.prove.syntax import names_in, statements

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d+))?")
ONLY_DECORATOR_HINT = "Leave private as the only decorator."
_SCALARS = {"float": syntax.REAL, "int": syntax.INT, "bool": syntax.BOOL}
_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitXor: "xor"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class FunctionParser:
    """Parses one function; ``before`` is the number of lines above it in its file."""

    def __init__(self, tree: ast.FunctionDef, text: str, before: int) -> None:
        self._tree, self._text, self._lines, self.before = tree, text, text.splitlines(), before
        self._callable: frozenset[str] = frozenset()

    def program(self, adjacent: str, claim: str, delta: str, callable_: frozenset[str]) -> syntax.Program:
        tree, self._callable = self._tree, callable_
        if len(tree.decorator_list) > 1:
            raise self._refused(
                tree.decorator_list[0],
                "There is a second decorator, which may change what the function does.",
                ONLY_DECORATOR_HINT,
            )
        if own := find_shadowed_call(tree):
            raise self._refused(tree, f"{own} is called, but is also a local name of this function.")
        given = tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
            raise self._refused(tree, "The inputs of a program are plain parameters, without defaults.")
        inputs = tuple(self._input(one) for one in given.args)
        body = tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and ast.get_docstring(tree):
            body = body[1:]
        assumed = next((place for place, node in enumerate(body) if not isinstance(node, ast.Assert)), len(body))
        assumes = tuple(self._expression(node.test) for node in body[:assumed] if isinstance(node, ast.Assert))
        result = None if tree.returns is None else self._type(tree.returns)
        return syntax.Program(
            tree.name,
            inputs,
            result,
            parse_adjacent(adjacent),
            parse_expression(claim),
            parse_expression(delta),
            assumes,
            self._block(body[assumed:]),
        )

    # -- inputs -------------------------------------------------------------------------------------------------------

    def _input(self, given: ast.arg) -> syntax.Input:
        if given.annotation is None:
            raise self._refused(given, f"{given.arg} has no type.", "Write q: Private[list[float]], T: float, N: int.")
        note = given.annotation
        hidden = isinstance(note, ast.Subscript) and last_name(note.value) == "Private"
        if hidden and isinstance(note, ast.Subscript):
            note = note.slice
        return syntax.Input(self._name(given, given.arg), self._type(note), hidden, self._at(given))

    def _type(self, note: ast.expr) -> syntax.Type:
        if isinstance(note, ast.Subscript) and last_name(note.value) in ("list", "List", "Iterator", "Generator"):
            inner = note.slice.elts[0] if isinstance(note.slice, ast.Tuple) else note.slice
            return syntax.ListOf(self._simple(inner))
        return self._simple(note)

    def _simple(self, note: ast.expr) -> syntax.Scalar | syntax.Range:
        if isinstance(note, ast.Name) and note.id in _SCALARS:
            return _SCALARS[note.id]
        if isinstance(note, ast.Subscript) and last_name(note.value) == "Literal":
            items = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
            whole = [item.value for item in items if isinstance(item, ast.Constant) and type(item.value) is int]
            if len(whole) == len(items) and whole == list(range(whole[0], whole[0] + len(whole))):
                return syntax.Range(whole[0], whole[-1])
        raise self._refused(
            note, "This is not a type of the language.", "Types are float, int, bool, Literal[0, 1], and list[…]."
        )

    # -- statements ---------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> tuple[syntax.Statement, ...]:
        statements_: list[syntax.Statement] = []
        for node in body:
            if isinstance(node, ast.For):
                statements_ += self._counted(node)
            elif not isinstance(node, ast.Pass):
                statements_.append(self._statement(node))
        return tuple(statements_)

    def _statement(self, node: ast.stmt) -> syntax.Statement:
        at = self._at(node)
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                return self._assign(node, self._name(node, name), value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in _BINARY:
                before = syntax.Name(self._name(node, name), at)
                return syntax.Assign(
                    name, syntax.Operation(_BINARY[type(op)], (before, self._expression(value)), at), at
                )
            case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
                return syntax.Emit(self._expression(value), at)
            case ast.Return(value=ast.expr() as value):
                return syntax.Return(self._expression(value), at)
            case ast.If(test=test, body=body, orelse=other):
                return syntax.If(self._expression(test), self._block(body), self._block(other), at)
            case ast.While(test=test, body=body, orelse=[]):
                return syntax.While(self._expression(test), self._block(body), at)
            case ast.Assert():
                raise self._refused(
                    node, "An assert must be at the beginning: it states an assumption about public inputs."
                )
        hint = "Statements are x = e, x = Laplace(…), if, while, for i in range(…), yield and return."
        raise self._refused(node, "This statement is not part of the language.", hint)

    def _assign(self, node: ast.stmt, name: str, value: ast.expr) -> syntax.Statement:
        at = self._at(node)
        if not isinstance(value, ast.Call) or value.keywords:
            return syntax.Assign(name, self._expression(value), at)
        by = value.func.id if isinstance(value.func, ast.Name) else ""
        if by in DISTRIBUTIONS:
            arguments = tuple(self._expression(argument) for argument in value.args)
            complete = DISTRIBUTIONS[by].complete(arguments, at)
            if complete is None:
                wanted = len(DISTRIBUTIONS[by].parameters)
                raise self._refused(value, f"{by} has {wanted} arguments, not {len(arguments)}.")
            return syntax.Sample(name, by, complete, at)
        if by in self._callable:
            return syntax.Call(name, by, tuple(self._expression(argument) for argument in value.args), at)
        return syntax.Assign(name, self._expression(value), at)

    def _counted(self, node: ast.For) -> Iterator[syntax.Statement]:
        """``for i in range(n)`` as a while loop, which it is if nothing changes ``i`` or ``n``."""
        at = self._at(node)
        match node:
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[*bounds], keywords=[]),
                orelse=[],
            ) if len(bounds) in (1, 2):
                first = self._expression(bounds[0]) if len(bounds) > 1 else syntax.Number(Fraction(0), at)
                limit = self._expression(bounds[-1])
            case _:
                raise self._refused(node, "A for counts: for i in range(n), or range(m, n).")
        counter, body = self._name(node, name), self._block(node.body)
        changed = {one.name for one in statements(body) if isinstance(one, syntax.Assign | syntax.Sample | syntax.Call)}
        if touched := changed & {counter, *(used.name for used in names_in(limit))}:
            raise self._refused(node, f"{min(touched)} is changed inside the loop.", "Use while.")
        if _used_outside_loop(self._tree, counter):
            raise self._refused(node, f"{counter} is used outside the loop.", "Use while, or another name.")
        yield syntax.Assign(counter, first, at)
        more = syntax.Assign(
            counter, syntax.Operation("+", (syntax.Name(counter, at), syntax.Number(Fraction(1), at)), at), at
        )
        yield syntax.While(syntax.Operation("<", (syntax.Name(counter, at), limit), at), (*body, more), at)

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> syntax.Expression:
        at = self._at(node)
        match node:
            case ast.Constant(value=bool() as true):
                return syntax.Truth(true, at)
            case ast.Constant(value=int() | float()):
                return syntax.Number(self._number(node), at)
            case ast.Name(id=name):
                return syntax.Name(self._name(node, name), at)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if isinstance(left, ast.List) or isinstance(
                right, ast.List
            ):
                return syntax.Joined(self._expression(left), self._expression(right), at)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return syntax.Operation(_BINARY[type(op)], (self._expression(left), self._expression(right)), at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return syntax.Operation("neg", (self._expression(operand),), at)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return syntax.Operation("not", (self._expression(operand),), at)
            case ast.BoolOp(op=op, values=values):
                return self._all([self._expression(value) for value in values], type(op) is ast.And, at)
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
                terms = [self._expression(term) for term in (left, *others)]
                pairs = zip(ops, terms, terms[1:], strict=False)
                return self._all([syntax.Operation(_COMPARISONS[type(op)], (a, b), at) for op, a, b in pairs], True, at)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return syntax.Operation("if", tuple(self._expression(part) for part in (test, yes, no)), at)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if not isinstance(index, ast.Slice):
                return syntax.Item(syntax.Name(self._name(node, name), at), self._expression(index), at)
            case ast.List(elts=items):
                return syntax.Listing(tuple(self._expression(item) for item in items), at)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
                return syntax.Size(syntax.Name(name, at), at)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if FUNCTIONS.get(name) == len(args):
                return syntax.Operation(name, tuple(self._expression(argument) for argument in args), at)
            case ast.Call(func=ast.Attribute(attr=name)) if name in DISTRIBUTIONS:
                raise self._refused(
                    node, f"It is not certain what this {name} refers to.", f"Write {name}(…), without a dot."
                )
            case ast.Call(func=ast.Name(id=name)) if name in DISTRIBUTIONS:
                raise self._refused(node, "A draw must be a statement of its own.", "Write x = Laplace(…), and use x.")
        hint = "Expressions have + - * / ^, comparisons, and, or, not, … if … else …, min, max, abs, len, q[i] and [x]."
        raise self._refused(node, "This expression is not part of the language.", hint)

    def _all(self, conditions: list[syntax.Expression], every: bool, at: syntax.At) -> syntax.Expression:
        together = conditions[0]
        for one in conditions[1:]:
            together = syntax.Operation("and" if every else "or", (together, one), at)
        return together

    def _number(self, node: ast.expr) -> Fraction:
        """A number exactly as written: 0.1 is a tenth, not the nearest float."""
        text = (ast.get_source_segment(self._text, node) or "").replace("_", "")
        match_ = _NUMBER.fullmatch(text)
        if match_ is None:
            raise self._refused(node, "A number is written in digits.")
        if len(text) > MAX_NUMBER_DIGITS or len(match_[1] or "") > 5 or abs(int(match_[1] or 0)) > MAX_NUMBER_DIGITS:
            raise self._refused(node, "This number has too many digits.")
        return Fraction(text)

    def _name(self, node: ast.AST, name: str) -> str:
        if is_keyword(name):
            raise self._refused(node, f"{name!r} is a reserved word and cannot be a name.")
        return name

    def _at(self, node: ast.AST) -> syntax.At:
        return syntax.At(getattr(node, "lineno", 1) + self.before, getattr(node, "col_offset", 0) + 1)

    def _refused(self, node: ast.AST, what: str, hint: str = "") -> BadProgram:
        line = self._lines[getattr(node, "lineno", 1) - 1]
        return BadProgram(what, self._at(node), line, hint=hint)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _used_outside_loop(tree: ast.AST, counter: str) -> bool:
    """Whether a name is mentioned anywhere but in loops that it counts."""
    if isinstance(tree, ast.For) and last_name(tree.target) == counter:
        return _used_outside_loop(tree.iter, counter)
    if isinstance(tree, ast.Name):
        return tree.id == counter
    return any(_used_outside_loop(inner, counter) for inner in ast.iter_child_nodes(tree))


_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., object])
Private = Annotated[_T, "private"]
"""Marks an input that is to be protected: ``Private[list[float]]``."""

_MARK = "__discreet_claim__"


def private(*, adjacent: str, claim: str, delta: str = "0") -> Callable[[_F], _F]:
    """Mark a function as a program with a claim, for ``prove(function)``.

    ``adjacent`` says which inputs are neighbours (``"all by 1"``), ``claim`` the epsilon. The function stays as it is.
    """

    def mark(function: _F) -> _F:
        setattr(function, _MARK, (adjacent, claim, delta))
        return function

    return mark


def is_marked(candidate: object) -> bool:
    """Whether something is a function that ``private`` marked."""
    return callable(candidate) and hasattr(candidate, _MARK)


def read_function(function: Callable[..., Any]) -> tuple[tuple[syntax.Program, ...], str]:
    """The programs of a marked function, those it calls first and itself last, and its source."""
    programs: dict[Callable[..., Any], syntax.Program] = {}
    text = _read_function(function, programs, ())
    return tuple(programs.values()), text


def read_module(text: str) -> tuple[syntax.Program, ...]:
    """The marked functions of a Python file, in their order; the file is parsed and never run."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        at = syntax.At(error.lineno or 1, error.offset or 1)
        raise BadProgram(f"This is not Python: {error.msg}.", at, (error.text or "").rstrip("\n")) from None
    claims = [(node, _decorator_claim(node, text)) for node in tree.body if isinstance(node, ast.FunctionDef)]
    marked = [(node, claimed) for node, claimed in claims if claimed is not None]
    if not marked:
        raise BadProgram(
            "No function is marked here.", syntax.At(1, 1), hint='Mark one: @private(adjacent="one", claim="eps").'
        )
    if again := find_rebinding(tree, [node for node, _ in marked]):
        node, name = again
        line = getattr(node, "lineno", 1)
        raise BadProgram(
            "An import of * may give any name another meaning."
            if name == "*"
            else f"{name} gets another meaning here.",
            syntax.At(line, getattr(node, "col_offset", 0) + 1),
            text.splitlines()[line - 1],
            hint="Give each name one meaning in the file, so that it is certain what a program calls.",
        )
    programs: dict[str, syntax.Program] = {}
    for node, claimed in marked:
        programs[node.name] = FunctionParser(node, text, 0).program(*claimed, frozenset(programs))
    return tuple(programs.values())


def _decorator_claim(node: ast.FunctionDef, text: str) -> tuple[str, str, str] | None:
    """The arguments of the decorator ``private``; None without one."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and last_name(mark.func) == "private":
            keywords = {one.arg: one.value.value for one in mark.keywords if isinstance(one.value, ast.Constant)}
            adjacent, claim, delta = keywords.get("adjacent"), keywords.get("claim"), keywords.get("delta", "0")
            if isinstance(adjacent, str) and isinstance(claim, str) and isinstance(delta, str):
                return adjacent, claim, delta
            line = text.splitlines()[mark.lineno - 1]
            raise BadProgram("adjacent and claim must be strings.", syntax.At(mark.lineno, mark.col_offset + 1), line)
    return None


def _read_function(
    function: Callable[..., Any],
    programs: dict[Callable[..., Any], syntax.Program],
    callers: tuple[Callable[..., Any], ...],
) -> str:
    if not is_marked(function):
        hint = 'Mark it: @private(adjacent="one", claim="eps").'
        raise BadInput(f"{getattr(function, '__name__', function)} makes no privacy claim.", hint=hint)
    if hasattr(function, "__wrapped__"):
        raise BadInput("This function wraps another one, so what runs is not what was read.", hint=ONLY_DECORATOR_HINT)
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise BadInput("The source of the function cannot be read.", hint="Write it in a file.") from None
    source = "".join(lines)
    text = textwrap.dedent(source)
    tree = ast.parse(text).body[0]
    if not isinstance(tree, ast.FunctionDef) or not inspect.isfunction(function):
        raise BadInput("A program must be a function defined with def.")
    if strange := find_foreign_word(function):
        raise BadInput(f"{strange} is redefined in the module of {tree.name}.", hint="Give that another name.")
    reader = FunctionParser(tree, text, max(start, 1) - 1)
    known: set[str] = set()
    for name in dict.fromkeys(called_names(tree)):
        if name in function.__code__.co_freevars:
            raise BadInput(
                f"{name} comes from a function that encloses {tree.name}.", hint="Call marked functions of the file."
            )
        other: Any = function.__globals__.get(name)
        if is_marked(other):
            if other in (*callers, function):
                raise BadInput(f"{name} calls itself.", hint="A program may call only programs above it.")
            if other not in programs:
                _read_function(other, programs, (*callers, function))
            if programs[other].name != name:
                raise BadInput(f"{name} is another name of {programs[other].name}.", hint="Call it by its own name.")
            known.add(name)
    if any(program.name == tree.name for program in programs.values()):
        raise BadInput(f"Two functions are called {tree.name}.", hint="Give one of them another name.")
    adjacent, claim, delta = getattr(function, _MARK)
    programs[function] = reader.program(adjacent, claim, delta, frozenset(known))
    return "\n" * reader.before + text

"""One Python function as a program; what may stand in it is said in ``python.py``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.errors import BadProgram
from discreet.verbs.prove.inside import names_in, statements
from discreet.verbs.prove.reading import KEYWORDS, read_adjacent, read_expression
from discreet.verbs.prove.shadows import FUNCTIONS, hidden
from discreet.verbs.prove.syntax import (
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
from discreet.verbs.prove.tokens import LONGEST_NUMBER

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d+))?")
ALONE = "Leave private as the only decorator."
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


class FunctionReader:
    """Reads one function; ``before`` is how many lines stand above it in its file."""

    def __init__(self, tree: ast.FunctionDef, text: str, before: int) -> None:
        self._tree, self._text, self._lines, self.before = tree, text, text.splitlines(), before
        self._callable: frozenset[str] = frozenset()

    def program(self, adjacent: str, claim: str, delta: str, callable_: frozenset[str]) -> Program:
        tree, self._callable = self._tree, callable_
        if len(tree.decorator_list) > 1:
            raise self._refused(tree.decorator_list[0], "There is a second decorator, which may change all.", ALONE)
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
        hidden = isinstance(note, ast.Subscript) and last_name(note.value) == "Private"
        if hidden and isinstance(note, ast.Subscript):
            note = note.slice
        return Input(self._name(given, given.arg), self._type(note), hidden, self._at(given))

    def _type(self, note: ast.expr) -> Type:
        if isinstance(note, ast.Subscript) and last_name(note.value) in ("list", "List", "Iterator", "Generator"):
            inner = note.slice.elts[0] if isinstance(note.slice, ast.Tuple) else note.slice
            return ListOf(self._simple(inner))
        return self._simple(note)

    def _simple(self, note: ast.expr) -> Scalar | Range:
        if isinstance(note, ast.Name) and note.id in _SCALARS:
            return _SCALARS[note.id]
        if isinstance(note, ast.Subscript) and last_name(note.value) == "Literal":
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
        found = _NUMBER.fullmatch(text)
        if found is None:
            raise self._refused(node, "A number is written in digits.")
        if len(text) > LONGEST_NUMBER or len(found[1] or "") > 5 or abs(int(found[1] or 0)) > LONGEST_NUMBER:
            raise self._refused(node, "This number has too many digits.")
        return Fraction(text)

    def _name(self, node: ast.AST, name: str) -> str:
        if name in KEYWORDS:
            raise self._refused(node, f"{name!r} is a word of the language and cannot be a name.")
        return name

    def _at(self, node: ast.AST) -> At:
        return At(getattr(node, "lineno", 1) + self.before, getattr(node, "col_offset", 0) + 1)

    def _refused(self, node: ast.AST, what: str, hint: str = "") -> BadProgram:
        line = self._lines[getattr(node, "lineno", 1) - 1]
        return BadProgram(what, self._at(node), line, hint=hint)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _outside(tree: ast.AST, counter: str) -> bool:
    """Whether a name is mentioned anywhere but in loops that it counts."""
    if isinstance(tree, ast.For) and last_name(tree.target) == counter:
        return _outside(tree.iter, counter)
    if isinstance(tree, ast.Name):
        return tree.id == counter
    return any(_outside(inner, counter) for inner in ast.iter_child_nodes(tree))

"""Whether two questions are the same: fingerprints of plans, with every expression in a normal form.

A plan has resolved names, aliases, positions, ``COUNT(1)`` and ``BETWEEN`` already, and an answer is made of the plan
and its price alone. So questions with one plan have one answer, whatever their texts are. What is left to decide is
which expressions of two plans compute the same value, and that is decided by the rules below, each with its reason.

Where a table's rows lie is no part of it: a bounded table is the same wherever it is opened, and which one it is
stands beside the fingerprint.

Why a wrong answer is never given for free. Every field of a plan is part of its fingerprint, except those that
no answer depends on (``_UNUSED``) and the names of the answer's columns, which ``relabel`` puts on a kept answer. Every
rule is an identity of SQL with NULL, NaN and doubles: sums and products are commuted, which doubles allow, and never
regrouped. Expressions over rows cannot fail (``value.py``). Those over noisy figures can, and are NULL then; there
conditions change places only where none of them can fail. What no rule covers is compared as it is: two questions that
mean the same may then be charged twice, which is the safe side.
"""

from __future__ import annotations

import hashlib
import json
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.core.kind import Kind, Scalar
from discreet.core.sql import is_attempt
from discreet.core.table import Table
from discreet.engines.contribution import OwnedRows
from discreet.verbs.ask.plan import Part, Plan
from discreet.verbs.ask.postprocess import MostFrequent
from discreet.verbs.ask.rows import Rows

_UNUSED: dict[object, set[str]] = {Rows: {"engine", "columns", "table"}, OwnedRows: {"places"}, Part: {"written"}}
"""Fields that no answer depends on: the engine, columns and places that a plan has no more, the text of a query, and
the table that rows are all of, which decides only what is measured."""
_ALWAYS = {"name", "units", "sets", "written"}
"""Fields without a mention where a plan has one part, with one set of groups."""
_WRITER = json.JSONEncoder(sort_keys=True, check_circular=False)
_READ = {"this", "expression", "expressions", "low", "high", "table", "is_string", "to", "safe"}
"""Arguments of a node that the rules know: a node with any other is compared as it is."""
_TRUTH, _TEXT, _NUMBER, _WHOLE = "truth", "text", "number", "whole number"
_TYPES = {Kind.TEXT: _TEXT, Kind.INTEGER: _NUMBER, Kind.REAL: _NUMBER, Kind.BOOLEAN: _TRUTH}


def fingerprint(plan: Plan, tables: Mapping[str, Table]) -> str:
    """The same for all questions that are the same about ``tables``."""
    return _digest(_said(plan, tables, _Normal()))


class Refillable:
    """The fingerprints of plans that differ from one plan in the values of some literals over rows, and in no more.

    Only the forms of those literals, and of what they stand in, are made anew, by the same rules.
    """

    def __init__(self, plan: Plan, tables: Mapping[str, Table], slots: Mapping[str, int]) -> None:
        """``slots`` are the texts of the literals, which are unlike any other, each with its number."""
        rows = _Remembering()
        self._said = _said(plan, tables, rows)
        self._rows = rows
        self._paths: list[tuple[str, dict[int, _Form], list[tuple[exp.Expr, int | None]]]] = []
        for tree, forms in rows.trees:
            path: list[tuple[exp.Expr, int | None]] = []
            changed: set[int] = set()
            for node in reversed(list(tree.bfs())):
                slot = slots.get(node.name) if isinstance(node, exp.Literal) else None
                if slot is not None or any(id(child) in changed for child in node.iter_expressions()):
                    path.append((node, slot))
                    changed.add(id(node))
            if path:
                self._paths.append((forms[id(tree)].digest, forms, path))

    def fingerprint(self, literals: Sequence[exp.Literal]) -> str:
        """That of the plan with these literals, by the numbers of their slots."""
        said = self._said
        for digest, forms, path in self._paths:
            anew = ChainMap({}, forms)
            for node, slot in path:
                anew[id(node)] = self._rows.form(node if slot is None else literals[slot], anew)
            said = said.replace(digest, anew[id(path[-1][0])].digest)
        return _digest(said)


def _said(plan: Plan, tables: Mapping[str, Table], rows: _Normal) -> str:
    places = {rows.of(tables[name].relation): name for name in sorted(plan.sources | plan.public)}
    rows.places = places
    after = plan.after.copy()
    after.set("expressions", [one.unalias() for one in after.expressions])  # what the columns are called is no matter
    types = {name: _TYPES.get(value.kind, "") for name, value in plan.keys.items()}
    types |= {name: _NUMBER for name, figure in plan.figures.items() if not isinstance(figure, MostFrequent)}
    return _WRITER.encode([_measured(plan, rows), _Normal(types).of(after)])


def _digest(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()


def _measured(plan: Plan, rows: _Normal) -> Any:
    """The measured parts of a plan; a single part is written as before plans had parts, so stored answers are found.

    Its name is always the same, and ``units`` is among its measures if there is one.
    """
    part = plan.parts[0]
    if len(plan.parts) > 1 or part.sets:
        return _plain(plan.parts, rows)
    return _plain({one.name: getattr(part, one.name) for one in fields(part) if one.name not in _ALWAYS}, rows)


@dataclass(frozen=True)
class _Form:
    """An expression in its normal form."""

    kind: type[exp.Expr]
    parts: tuple[_Form, ...]
    """What a rule may look at."""
    digest: str
    type: str = ""
    """What it is, if that is known and it cannot fail."""


class _Normal:
    """Brings expressions into their normal form, from the leaves up: over rows, or over columns of these types."""

    def __init__(self, types: Mapping[str, str] | None = None) -> None:
        self.places: Mapping[str, str] = {}
        """What stands for the rows of a table, by name."""
        self._types = types
        self._rules: dict[type[exp.Expr], Callable[[exp.Expr, Mapping[str, Any]], _Form]] = {
            exp.Paren: self._paren,
            exp.Anonymous: self._function,
            exp.Column: self._column,
            exp.TryCast: self._key,
            exp.Literal: self._literal,
            exp.Neg: self._negative,
            exp.Boolean: self._boolean,
            exp.Is: self._is,
            exp.In: self._in,
            exp.Not: self._not,
            exp.Between: self._between,
            **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), self._comparison),
            **dict.fromkeys((exp.And, exp.Or), self._connective),
            **dict.fromkeys((exp.Add, exp.Mul), self._commutative),
        }

    def of(self, tree: exp.Expr) -> str:
        """The fingerprint of an expression or a query."""
        return self.forms(tree)[id(tree)].digest

    def forms(self, tree: exp.Expr) -> dict[int, _Form]:
        """The forms of all its nodes."""
        forms: dict[int, _Form] = {}
        for node in reversed(list(tree.bfs())):  # children come before their parents, and no call is nested
            forms[id(node)] = self.form(node, forms)
        return forms

    def form(self, node: exp.Expr, forms: Mapping[int, _Form]) -> _Form:
        """The form of a node, given those of what stands in it."""
        args = {key: _formed(value, forms) for key, value in node.args.items() if not _absent(value)}
        rule = self._rules.get(type(node)) if args.keys() <= _READ else None
        form = (rule or self._as_it_is)(node, args)
        name = self.places.get(form.digest)
        return form if name is None else _Form(exp.Table, (), _hash(["table", name]))

    @property
    def _over_rows(self) -> bool:
        """Whether everything is of the kind that it has to be, and cannot fail: the planner sees to that."""
        return self._types is None

    def _as_it_is(self, node: exp.Expr, args: Mapping[str, Any], type_: str = "") -> _Form:
        """A node with all it has; which of its arguments have no value makes no difference."""
        return _Form(type(node), (), _hash([type(node).__name__, _digests(args)]), type_)

    def _paren(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """Parentheses say how to read a text; here it has been read."""
        inner: _Form = args["this"]
        return inner

    def _function(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """Over rows, an attempt at an expression is that expression, which cannot fail."""
        if self._over_rows and is_attempt(node):
            inner: _Form = args["expressions"][0]
            return inner
        return self._as_it_is(node, args)

    def _key(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """Over rows, only keys of joins are cast so, and to the type that they have: the planner sees to that."""
        inner: _Form = args["this"]
        return inner if self._over_rows else self._as_it_is(node, args)

    def _column(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        return self._as_it_is(node, args, (self._types or {}).get(node.name, ""))

    def _literal(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """As it is written: 1 and 1.0 are of different types, and 'a' is not 'A'."""
        whole = _WHOLE if node.name.isdecimal() else _NUMBER
        return self._as_it_is(node, args, _TEXT if node.is_string else whole)

    def _negative(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        return self._as_it_is(node, args, args["this"].type if isinstance(node.this, exp.Literal) else "")

    def _boolean(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        return self._as_it_is(node, args, _TRUTH)

    def _is(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        known = args["this"].type and isinstance(node.expression, exp.Null)
        return self._as_it_is(node, args, _TRUTH if known else "")

    def _in(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """One of a list: of a set, that is, where the types do not depend on the order."""
        listed = args.get("expressions", [])
        alike = bool(listed) and all(_alike(args["this"], one) for one in listed)
        if self._over_rows or alike:
            args = {**args, "expressions": _sorted(listed)}
        return self._as_it_is(node, args, _TRUTH if alike else "")

    def _comparison(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """``a > b`` is ``b < a``, and ``a = b`` is ``b = a``; a condition that equals TRUE is that condition."""
        left, right = args["this"], args["expression"]
        if isinstance(node, exp.GT | exp.GTE):
            return _compared(exp.LT if isinstance(node, exp.GT) else exp.LTE, right, left)
        if isinstance(node, exp.EQ | exp.NEQ):
            for one, other in ((left, right), (right, left)):
                if one.kind is exp.Boolean and (self._over_rows or other.type == _TRUTH):
                    return other if isinstance(node, exp.EQ) == (one.digest == _TRUE) else self._negated(other)
        return _compared(type(node), left, right)

    def _between(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """Two comparisons, unless one end could change the type that the other is compared in."""
        value, low, high = args["this"], args["low"], args["high"]
        same = value.type == low.type == high.type == _TEXT
        whole = low.type == high.type == _WHOLE and value.type in (_NUMBER, _WHOLE)
        if not (self._over_rows or same or whole):
            return self._as_it_is(node, args)
        return self._joined(exp.And, [_compared(exp.LTE, low, value), _compared(exp.LTE, value, high)])

    def _not(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """Values are in one order on every engine, NaN too, so a comparison has an opposite; what is NULL stays NULL.

        Twice NOT is nothing, of a condition: of a number it would make a truth.
        """
        return self._negated(args["this"])

    def _negated(self, inner: _Form) -> _Form:
        if inner.kind in (exp.EQ, exp.NEQ):
            return _compared(exp.NEQ if inner.kind is exp.EQ else exp.EQ, *inner.parts)
        if inner.kind in (exp.LT, exp.LTE):
            return _compared(exp.LTE if inner.kind is exp.LT else exp.LT, *reversed(inner.parts))
        if inner.kind is exp.Not and (self._over_rows or inner.type == _TRUTH):
            return inner.parts[0]
        return _node(exp.Not, [inner], inner.type if inner.type == _TRUTH else "")

    def _connective(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        return self._joined(type(node), [args["this"], args["expression"]])

    def _joined(self, kind: type[exp.Expr], operands: list[_Form]) -> _Form:
        """AND and OR of three values (true, false, NULL) are associative; where nothing can fail they are commutative,
        what is said twice is said once, and AND TRUE, OR FALSE say nothing."""
        flat = [part for one in operands for part in (one.parts if one.kind is kind else (one,))]
        sure = all(one.type == _TRUTH for one in flat)
        if self._over_rows or sure:
            silent = _TRUE if kind is exp.And else _FALSE
            once = _sorted(list({one.digest: one for one in flat}.values()))
            flat = [one for one in once if one.digest != silent] or once
            if len(flat) == 1:
                return flat[0]
        return _node(kind, flat, _TRUTH if sure else "")

    def _commutative(self, node: exp.Expr, args: Mapping[str, Any]) -> _Form:
        """``a + b`` is ``b + a``, in doubles too. ``(a + b) + c`` is not ``a + (b + c)``: that is rounded elsewhere."""
        return _node(type(node), _sorted([args["this"], args["expression"]]))


class _Remembering(_Normal):
    """Keeps the forms of all it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.trees: list[tuple[exp.Expr, dict[int, _Form]]] = []

    def forms(self, tree: exp.Expr) -> dict[int, _Form]:
        found = super().forms(tree)
        self.trees.append((tree, found))
        return found


def _compared(kind: type[exp.Expr], left: _Form, right: _Form) -> _Form:
    sides = _sorted([left, right]) if kind in (exp.EQ, exp.NEQ) else [left, right]
    return _node(kind, sides, _TRUTH if _alike(left, right) else "")


def _node(kind: type[exp.Expr], parts: list[_Form], type_: str = "") -> _Form:
    return _Form(kind, tuple(parts), _hash([kind.__name__, [one.digest for one in parts]]), type_)


def _alike(one: _Form, other: _Form) -> bool:
    """Whether two values can be compared without a cast that could fail."""
    numbers = (_NUMBER, _WHOLE)
    return bool(one.type) and (one.type == other.type or (one.type in numbers and other.type in numbers))


def _sorted(forms: list[_Form]) -> list[_Form]:
    return sorted(forms, key=lambda one: one.digest)


def _absent(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, list) and not value)


def _formed(value: Any, forms: Mapping[int, _Form]) -> Any:
    if isinstance(value, exp.Expr):
        return forms[id(value)]
    return [_formed(one, forms) for one in value] if isinstance(value, list) else value


def _digests(value: Any) -> Any:
    if isinstance(value, _Form):
        return ["node", value.digest]
    if isinstance(value, dict):
        return {key: _digests(one) for key, one in value.items()}
    return [_digests(one) for one in value] if isinstance(value, list) else _plain(value, None)


def _plain(value: Any, rows: _Normal | None) -> Any:
    """Anything a plan is made of, as JSON in which different things are different."""
    if isinstance(value, Enum):
        return [type(value).__name__, value.name]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, exp.Expr) and rows is not None:
        return ["tree", rows.of(value)]
    if isinstance(value, Fraction | Scalar):
        return [type(value).__name__, str(value)]
    if isinstance(value, Mapping):
        return ["mapping", [[_plain(key, rows), _plain(one, rows)] for key, one in value.items()]]
    if isinstance(value, frozenset):
        return ["set", sorted(_plain(one, rows) for one in value)]
    if isinstance(value, list | tuple):
        return ["list", [_plain(one, rows) for one in value]]
    if is_dataclass(value):
        unused = _UNUSED.get(type(value), set())
        said = {one.name: getattr(value, one.name) for one in fields(value) if one.name not in unused}
        return [type(value).__name__, _plain(said, rows)]
    raise TypeError(f"A plan with a {type(value).__name__} in it has no fingerprint.")


def _hash(said: Any) -> str:
    return _digest(_WRITER.encode(said))


_TRUE, _FALSE = (_Normal().of(exp.Boolean(this=one)) for one in (True, False))

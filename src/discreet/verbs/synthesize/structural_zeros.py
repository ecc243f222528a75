"""Structural zeros: what a card calls impossible, for synthetic rows to keep to.

Cells all of whose values meet a condition are structural zeros of the model. A cell that is too coarse to tell, or a
condition that is not worked out here, is left to the rows that are drawn: those that meet a condition are drawn again.
Both look at declarations and drawn rows only, so they cost no privacy.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.edit_rules import known
from discreet.core.kind import MOMENTS, Kind
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, DiscreetError
from discreet.verbs.publish.recoding import unused_name
from discreet.verbs.synthesize.attributes import Attribute, Binned, Listed, Merged
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.graph.measurement import Zeros

_MOST = 1 << 22
"""Largest number of cells looked at for a condition."""
_SORTS = 4
"""Largest number of sorts of codes that a condition sets apart."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Impossible:
    """The conditions of a card about columns that are drawn."""

    conditions: Mapping[str, exp.Expr]
    left_out: tuple[str, ...]
    """Conditions that name a column that is not drawn."""

    @classmethod
    def of(cls, card: Card, domain: Domain) -> Impossible:
        """The conditions about the columns of a domain."""
        return cls.among(card, domain.schema)

    @classmethod
    def among(cls, card: Card, schema: pa.Schema) -> Impossible:
        """The conditions on these columns; an error for one that cannot be evaluated on rows of these types."""
        found = {text: known(text, schema.names) for text in card.impossible}
        kept = cls(
            {text: one for text, one in found.items() if one is not None},
            tuple(text for text, one in found.items() if one is None),
        )
        nobody = schema.empty_table()
        for text, one in kept.conditions.items():
            try:
                cls({text: one}, ()).met(nobody)
            except DiscreetError as error:
                raise BadInput(f"The impossible condition {text!r} of the card cannot be evaluated: {error}") from None
        return kept

    def met(self, rows: pa.Table) -> NDArray[np.int64]:
        """The numbers of the rows that meet a condition. Where one cannot be worked out, such as a text that is no
        number, it is not met."""
        if not self.conditions:
            return np.empty(0, np.int64)
        number = unused_name("row", rows.column_names)
        numbered = rows.append_column(number, pa.array(np.arange(rows.num_rows)))
        tried = [exp.Try(this=one.copy()) for one in self.conditions.values()]
        asked = exp.select(sql.column(number)).from_(sql.table("drawn")).where(exp.or_(*tried))
        engine = DuckDB()
        try:
            return engine.fetch(asked, {"drawn": numbered}).column(0).to_numpy()
        finally:
            engine.close()

    def apart(self, domain: Domain) -> list[NDArray[np.int64]]:
        """For each attribute a number for each code: codes of which something else is impossible have different ones.

        A condition that would set more than a few sorts of codes apart, such as one that compares two columns, sets
        none apart: then codes that are too rare to be counted would be left.
        """
        found = [np.zeros(size, np.int64) for size in domain.sizes]
        for one in self.zeros(domain):
            for axis, place in enumerate(one.columns):
                lines = np.moveaxis(one.possible, axis, 0).reshape(domain.sizes[place], -1)
                _, sorts = np.unique(lines, axis=0, return_inverse=True)
                if sorts.max() < _SORTS:
                    both = found[place] * _SORTS + sorts.reshape(-1)
                    found[place] = np.unique(both, return_inverse=True)[1].reshape(-1)
        return found

    def zeros(self, domain: Domain) -> list[Zeros]:
        """The cells that no row can be in, for each condition that rules some out."""
        found = []
        for one in self.conditions.values():
            places = tuple(sorted({domain.names.index(column.name) for column in one.find_all(exp.Column)}))
            sizes = tuple(domain.sizes[place] for place in places)
            if not places or prod(sizes) > _MOST:
                continue
            true, _ = _Cells({domain.names[place]: domain.attributes[place] for place in places}).certain(one)
            ruled_out = np.broadcast_to(true, sizes)
            if ruled_out.any():
                found.append(Zeros(places, ~ruled_out))
        return found


@dataclass(frozen=True)
class _Ends:
    """An operand: the least and the greatest value it can have in each cell, and where it has one at all."""

    low: NDArray[Any]
    high: NDArray[Any]
    there: Flags
    sort: str
    """Sort of its values: only values of one sort are compared."""


_Truth = tuple[Flags, Flags]
"""Cells where a condition is true of all values, and where it is false of all. NULL is neither."""


@dataclass(frozen=True)
class _Cells:
    """The cells over some attributes, each along its own axis."""

    attributes: Mapping[str, Attribute]

    def certain(self, condition: exp.Expr) -> _Truth:
        """Cells where the condition holds for certain, and where it fails; what is not understood is neither."""
        match condition:
            case exp.Paren():
                return self.certain(condition.this)
            case exp.Not():
                true, false = self.certain(condition.this)
                return false, true
            case exp.And() | exp.Or():
                (true, false), (also, neither) = self.certain(condition.this), self.certain(condition.expression)
                if isinstance(condition, exp.And):
                    return true & also, false | neither
                return true | also, false & neither
            case exp.In() if condition.expressions:
                each = [self._compare(exp.EQ, condition.this, one) for one in condition.expressions]
                return reduce(lambda a, b: (a[0] | b[0], a[1] & b[1]), each)
            case exp.Between():
                low = self._compare(exp.GTE, condition.this, condition.args["low"])
                high = self._compare(exp.LTE, condition.this, condition.args["high"])
                return low[0] & high[0], low[1] | high[1]
            case exp.Is() if isinstance(condition.expression, exp.Null) and isinstance(condition.this, exp.Column):
                there = self._ends(condition.this, condition.this)
                return (_nowhere(), _nowhere()) if there is None else (~there.there, there.there)
            case exp.Column():
                return self._compare(exp.EQ, condition, exp.true())
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._compare(type(condition), condition.this, condition.expression)
        return _nowhere(), _nowhere()

    def _compare(self, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> _Truth:
        if kind in (exp.GT, exp.GTE):
            return self._compare(exp.LT if kind is exp.GT else exp.LTE, right, left)
        if kind is exp.NEQ:
            true, false = self._compare(exp.EQ, left, right)
            return false, true
        one, other = self._ends(left, right), self._ends(right, left)
        if one is None or other is None or one.sort != other.sort or (one.sort == "text" and kind is not exp.EQ):
            return _nowhere(), _nowhere()
        there = one.there & other.there
        if kind is exp.EQ:
            true = (one.low == one.high) & (other.low == other.high) & (one.low == other.low)
            false = (one.high < other.low) | (other.high < one.low)
        elif kind is exp.LT:
            true, false = one.high < other.low, one.low >= other.high
        else:
            true, false = one.high <= other.low, one.low > other.high
        return there & true.astype(np.bool_), there & false.astype(np.bool_)

    def _ends(self, operand: exp.Expr, beside: exp.Expr) -> _Ends | None:
        """Range of an operand; a constant is read as the kind of the column that it is compared with."""
        if isinstance(operand, exp.Column):
            names = list(self.attributes)
            axis, attribute = names.index(operand.name), self.attributes[operand.name]
            low, high, there = _code_ranges(attribute)
            shape = [-1 if place == axis else 1 for place in range(len(names))]
            return _Ends(low.reshape(shape), high.reshape(shape), there.reshape(shape), _sort(low[0]))
        if not isinstance(beside, exp.Column):
            return None
        value = _constant_value(operand, self.attributes[beside.name].column.kind)
        if value is None:
            return None
        point = np.array(value, dtype=object)
        return _Ends(point, point, np.array(True), _sort(value))


def _code_ranges(attribute: Attribute) -> tuple[NDArray[Any], NDArray[Any], Flags]:
    """The ends of each code's values, and which codes have values."""
    fine = attribute.fine if isinstance(attribute, Merged) else attribute
    if isinstance(fine, Binned):
        lows, highs = ([_comparable(value) for value in some] for some in fine.ends())
    else:
        assert isinstance(fine, Listed)  # noqa: S101  # there is no other
        lows = highs = [_comparable(value) for value in fine.values]
    groups = attribute.groups if isinstance(attribute, Merged) else range(fine.size)
    low, high = np.full(attribute.size, None, object), np.full(attribute.size, None, object)
    there = np.zeros(attribute.size, np.bool_)
    for group, least, most in zip(groups, lows, highs, strict=False):
        low[group] = least if not there[group] else min(low[group], least)
        high[group] = most if not there[group] else max(high[group], most)
        there[group] = True
    low[~there] = high[~there] = lows[0]  # of missing values nothing is believed
    return low, high, there


def _comparable(value: Any) -> Any:
    """A value that compares exactly with others of its kind."""
    if isinstance(value, str):
        return value
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is None else value.astimezone(dt.UTC)
    return value if isinstance(value, dt.date) else Fraction(value)


def _sort(value: Any) -> str:
    """Sort of a value; moments with and without a time zone are two sorts."""
    if isinstance(value, dt.datetime):
        return "moment" if value.tzinfo is None else "moment in a zone"
    return "text" if isinstance(value, str) else "day" if isinstance(value, dt.date) else "number"


_READ: Mapping[Kind, Callable[[str], Any]] = {
    Kind.DATE: dt.date.fromisoformat,
    Kind.TIMESTAMP: dt.datetime.fromisoformat,
    Kind.TEXT: str,
    Kind.REAL: float,
}
_SAME = {
    "day": (exp.DType.DATE,),
    "moment": (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ),
    "moment in a zone": (exp.DType.TIMESTAMPTZ,),
}


def _constant_value(operand: exp.Expr, kind: Kind) -> Any:
    """A constant as ``_comparable`` gives values of the kind; ``None`` for anything else.

    A cast to another kind may change a value (3.4 becomes 3), and is not worked out here. Beside real numbers a
    constant is the nearest real number, as it is to the engine.
    """
    if isinstance(operand, exp.Cast):
        value = _constant_value(operand.this, kind)
        return value if operand.is_type(*_SAME.get(_sort(value), ())) else None
    sign = 1
    while isinstance(operand, exp.Paren | exp.Neg):
        sign = -sign if isinstance(operand, exp.Neg) else sign
        operand = operand.this
    if isinstance(operand, exp.Boolean):
        return Fraction(bool(operand.this)) if kind is Kind.BOOLEAN else None
    quoted = kind in MOMENTS or kind is Kind.TEXT
    if not isinstance(operand, exp.Literal) or operand.is_string != quoted:
        return None
    with suppress(ValueError, ArithmeticError):
        value = _comparable(_READ.get(kind, Decimal)(operand.name))
        return sign * value if isinstance(value, Fraction) else value
    return None


def _nowhere() -> Flags:
    return np.array(False)

"""What a question makes of its noisy figures, worked out by a DuckDB that holds nothing and sees nothing else.

Nothing may fail here: an answer is charged by then. So a question is tried on a table without rows when it is planned,
and refused if that fails; and what only a value can make fail, such as a number that grows too large, is NULL. So is
what is not finite, such as a logarithm of 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type, kind_of
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadQuery, DiscreetError
from discreet.verbs.ask.figure import Figure
from discreet.verbs.ask.value import Value

NOISY = "discreet_noisy"
ERROR = "_error"
_COMPUTED = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL, Kind.TEXT, Kind.BOOLEAN)


def work_out(after: exp.Select, noisy: pa.Table) -> pa.Table:
    """The answer to the rest of a question, given the table of keys and noisy figures."""
    if all(key in ("expressions", "from_") or not value for key, value in after.args.items()) and all(
        isinstance(one.unalias(), exp.Column) for one in after.expressions
    ):  # it only names them: most questions need no engine, which would cost as much as their noise
        shown = [noisy.column(one.unalias().name) for one in after.expressions]
        return pa.table(shown, names=[one.alias for one in after.expressions])
    made = _empty_engine(os.getpid()).fetch(after, {NOISY: noisy})
    for place, one in enumerate(after.expressions):
        if not isinstance(one.unalias(), exp.Column) and pa.types.is_floating(made.schema.field(place).type):
            finite = pc.if_else(pc.is_finite(made.column(place)), made.column(place), None)
            made = made.set_column(place, made.schema.field(place), finite)
    return made


def require_works(
    after: exp.Select, keys: Mapping[str, Value], figures: Mapping[str, Figure], noisy: Mapping[str, type[np.generic]]
) -> None:
    """An error if the rest of a question could not be worked out, whatever the figures are.

    ``noisy`` says of what type the numbers are that figures are made of.
    """
    nothing = {name: np.zeros(0, dtype=type_) for name, type_ in noisy.items()}
    columns: dict[str, pa.Array[Any]] = {
        name: pa.array([], arrow_type(value.kind, scale=2)) for name, value in keys.items()
    }
    for name, figure in figures.items():
        columns[name] = pa.array(figure.worth(nothing))
        columns[f"{name}{ERROR}"] = pa.array([], pa.float64())
    try:
        made = work_out(after, pa.table(columns))
    except DiscreetError as error:
        raise BadQuery(f"This cannot be computed from the answer's figures: {error.message}") from None
    for shown, field in zip(after.expressions, made.schema, strict=True):
        if not isinstance(shown.unalias(), exp.Column) and kind_of(field.type) not in _COMPUTED:
            raise BadQuery(f"{field.name!r} would be of a kind that no answer has.", hint="Numbers, texts and truths.")


def attempt(computed: exp.Expr) -> exp.Expr:
    """The value of an expression, and NULL where it has none."""
    return computed if isinstance(computed, exp.Column) else sql.attempt(computed)


@lru_cache(maxsize=1)
def _empty_engine(_process: int) -> DuckDB:
    """One for each process, since connecting costs more than asking."""
    return DuckDB()

"""Top and bottom coding: values beyond a threshold become the threshold, or the mean of the values beyond it.

Only the tails change. With ``by_mean`` totals and means stay; the mean of one row is its value, and of two each can
tell the other's, so a tail has three rows or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import MaskingPlan, columns_to_mask, mask_rows, with_numbers
from discreet.verbs.publish.mask.values import numbers

_LEAST = 3
"""Minimum number of values beyond a threshold for their mean to be released."""


@declare(MASKING, "code", example="code top=90 on age")
class Code:
    """Top and bottom coding: values beyond a threshold become the threshold."""

    name: ClassVar[str]
    top: Mapping[str, float] = parameter("Upper limit, for all columns or by name.", default_factory=dict)
    bottom: Mapping[str, float] = parameter("Lower limit, for all columns or by name.", default_factory=dict)
    by_mean: bool = parameter("Whether to replace values beyond the limit by their mean.", default=False)
    columns: Sequence[str] = parameter("Columns to code, if one limit is for all.", default=(), clause="on")

    mask = mask_rows

    def __post_init__(self) -> None:
        for side in ("top", "bottom"):
            if not isinstance(getattr(self, side), Mapping):
                if not self.columns:
                    raise BadInput("No columns to code given.", hint="Write: code top=90 on age")
                object.__setattr__(self, side, dict.fromkeys(self.columns, getattr(self, side)))
        object.__setattr__(self, "columns", ())
        check_parameters(self)
        if not self.top and not self.bottom:
            raise BadInput("Coding needs a limit.", hint='Such as top={"age": 90}.')
        for name in self.top.keys() & self.bottom.keys():
            if not self.bottom[name] < self.top[name]:
                raise BadInput(f"The bottom of {name!r} is not below its top.")

    def plan(self, table: Table) -> MaskingPlan:
        """The thresholds and, with ``by_mean``, the means beyond them."""
        names = columns_to_mask(table.card, tuple(dict.fromkeys((*self.top, *self.bottom))), NUMBERS, self.name)
        top, bottom = dict(self.top), dict(self.bottom)
        shown = {"top": top, "bottom": bottom}
        if self.by_mean:
            shown = {
                "top": {n: _mean_beyond(table, n, b, above=True) for n, b in top.items()},
                "bottom": {n: _mean_beyond(table, n, b, above=False) for n, b in bottom.items()},
            }
        said = [f"{n} above {b:g} became {shown['top'][n]:g}" for n, b in top.items()]
        said += [f"{n} below {b:g} became {shown['bottom'][n]:g}" for n, b in bottom.items()]
        return MaskingPlan(
            (names, top, bottom, shown),
            {"columns": list(names), "top": top, "bottom": bottom, "by_mean": self.by_mean, "written": shown},
            (f"{'; '.join(said)}.",),
            (
                "Values between the limits are unchanged.",
                *(("The mean of a small tail is close to each of its values.",) if self.by_mean else ()),
            ),
        )

    def batch(self, state: Any, rows: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """A batch of rows, with values beyond a threshold coded."""
        names, top, bottom, shown = state
        for name in names:
            found = numbers(rows.column(name))
            made = found.values
            if name in top:
                made = np.where(found.values > top[name], shown["top"][name], made)
            if name in bottom:
                made = np.where(found.values < bottom[name], shown["bottom"][name], made)
            rows = with_numbers(rows, name, made, found.there, rng)
        return rows


def _mean_beyond(table: Table, name: str, border: float, *, above: bool) -> float:
    """Mean of the values beyond a threshold; the threshold if there are none. An error if they are too few."""
    value = exp.cast(sql.column(name), exp.DType.DOUBLE)
    edge = sql.literal(float(border))
    beyond = exp.GT(this=value, expression=edge) if above else exp.LT(this=value, expression=edge)
    mean = sql.named(exp.cast(exp.Avg(this=value.copy()), exp.DType.DOUBLE), "m")
    many = sql.named(sql.count_rows(), "n")
    (row,) = table.engine.fetch(table.query(mean, many).where(exp.and_(beyond, sql.finite(value)))).to_pylist()
    if 0 < row["n"] < _LEAST:
        raise DataError(
            f"Fewer than {_LEAST} rows have {name!r} {'above' if above else 'below'} {border:g}: their mean "
            "would expose them.",
            hint="Move the limit inwards, or leave by_mean out.",
        )
    return float(border if row["m"] is None else row["m"])

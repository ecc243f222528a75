"""Run a plan and answer: noise first, then whatever the question makes of the noisy figures.

Why this is private: the noise is what ``price.py`` argues for, and is added to whole numbers before anything else is
done with them. Which groups there are is declared, or told by noisy numbers of units alone. Everything after the noise
is post-processing, and sees no row. Nothing here may fail on somebody's value: keys are never turned into what Python
could not hold.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.ask.after import ERROR, work_out
from discreet.ask.figure import Association, Chosen, Mean, Spread
from discreet.ask.plan import UNITS, Plan
from discreet.ask.price import Price
from discreet.ask.quantile import Quantile, counts_by_group, slice_query
from discreet.ask.value import Value
from discreet.core.arrow import arrow_type
from discreet.core.sql import scale_of
from discreet.engines.fetch import fetch
from discreet.engines.limits import seconds_left
from discreet.noise.entropy import SYSTEM, Entropy

_FEW_ROWS = 10_000
_Group = tuple[Any, ...]
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Measured:
    """What was measured, group by group: never to be shown as it is, unless the rows are private already."""

    keys: pa.Table
    figures: Mapping[str, _Numbers]
    sliced: Mapping[str, Mapping[_Group, _Numbers]]

    @cached_property
    def groups(self) -> list[_Group]:
        """The keys as Python's values: only where something is looked up by group, since they take much room."""
        return _groups(self.keys)


def answer(plan: Plan, price: Price, entropy: Entropy = SYSTEM) -> pa.Table:
    """Measure where the rows are, add noise, and work out the answer."""
    found = measured(plan, {name: limit.draw(entropy) for name, limit in price.limits.items()})
    noisy = {name: price.noise[name].add_all(found.figures[name], entropy) for name in plan.measures}
    for name, one in plan.quantiles.items():
        nobody = np.zeros(one.slices, dtype=np.int64)
        chosen = []
        for group in found.groups:
            seconds_left()  # an error if there are none: this takes longer than asking the engine
            chosen.append(one.choose(found.sliced[name].get(group, nobody), price.choices[name], entropy))
        noisy[name] = np.array(chosen, dtype=np.float64)
    made = _table(plan, found, noisy, dict.fromkeys(plan.figures, price.errors()))
    if price.threshold is not None:
        shown = made.filter(pa.array(noisy[UNITS] > price.threshold))
        made = shown.sort_by([(name, "ascending") for name in plan.keys])  # the engine's order could tell something
    return work_out(plan.after, made)


def exact_answer(plan: Plan, errors: Mapping[str, Mapping[str, int]]) -> pa.Table:
    """The answer without any noise: only for rows that are private already, such as those of a synthetic twin.

    ``errors`` says, for each figure whose distance from the truth is bounded, how far what it is made of may be off;
    others get no error bar. An average of no rows is NULL here, since nothing is told by that.
    """
    found = measured(plan)
    figures = dict(found.figures)
    empty: dict[str, _Numbers] = {}
    for name, one in plan.quantiles.items():
        nobody = np.zeros(one.slices, dtype=np.int64)
        counts = [found.sliced[name].get(group, nobody) for group in found.groups]
        figures[name] = np.array([one.best(some) for some in counts], dtype=np.float64)
        empty[name] = np.array([not some.any() for some in counts], dtype=bool)
    made = _table(plan, found, figures, errors)
    for name, figure in plan.figures.items():
        if isinstance(figure, Chosen):
            made = _without(made, name, empty[figure.quantile])
        elif isinstance(figure, Mean | Spread | Association):
            mean = figure if isinstance(figure, Mean) else figure.mean if isinstance(figure, Spread) else figure.x
            made = _without(made, name, figures[mean.count] == 0)
    ordered = made if plan.declared else made.sort_by([(name, "ascending") for name in plan.keys])
    return work_out(plan.after, ordered)


def _without(made: pa.Table, name: str, empty: _Numbers) -> pa.Table:
    """The table with NULL for a figure, and for its error, where nothing is behind it."""
    for one in (name, f"{name}{ERROR}"):
        column = made.column(one)
        kept = pc.if_else(pa.array(empty), pa.scalar(None, column.type), column)
        made = made.set_column(made.schema.get_field_index(one), one, kept)
    return made


def measured(plan: Plan, most: Mapping[str, int] | None = None) -> Measured:
    """What noise is added to. More groups, or slices of them, than ``most`` are no answer: ``price.py`` draws it."""
    keys, limits = list(plan.keys), most or {}
    fetched = _measured(plan, limits.get(UNITS)) if plan.measures else None
    sliced = {
        name: counts_by_group(one, _sliced(plan, one, limits.get(name)), keys) for name, one in plan.quantiles.items()
    }
    figures: dict[str, _Numbers] = {}
    there = pa.table({})
    if fetched is not None:
        there = _one_zero(fetched.select(keys))
        figures = {name: np.asarray(fetched.column(name).to_numpy(), dtype=np.int64) for name in plan.measures}
    if not plan.declared:
        return Measured(there, figures, sliced)
    wanted = _declared(plan.keys)
    known, groups = _groups(there), _groups(wanted)
    return Measured(wanted, {name: _filled(one, known, groups) for name, one in figures.items()}, sliced)


def _measured(plan: Plan, most: int | None) -> pa.Table:
    """The measures of all groups. Which of the two ways is gone may take longer, and makes no other difference."""
    found = fetch(plan.rows.engine, plan.query, most=most)
    if any(found.column(name).null_count for name in plan.measures):
        return fetch(plan.rows.engine, plan.query_of_large, most=most)
    return found


def _table(
    plan: Plan, found: Measured, noisy: Mapping[str, _Numbers], errors: Mapping[str, Mapping[str, int]]
) -> pa.Table:
    """The keys of all groups, and their figures with their error bars."""
    columns: dict[str, Any] = dict(zip(found.keys.column_names, found.keys.columns, strict=True))
    for name, figure in plan.figures.items():
        bars = figure.error(noisy, errors[name]) if name in errors else None
        columns[name] = pa.array(figure.worth(noisy))
        many = len(columns[name])
        columns[f"{name}{ERROR}"] = pa.nulls(many, pa.float64()) if bars is None else pa.array(bars)
    return pa.table(columns)


def _declared(keys: Mapping[str, Value]) -> pa.Table:
    """The keys of every declared group, those without rows too; rows of no declared group are in none."""
    groups = list(product(*(value.domain or () for value in keys.values())))
    types = []
    for value in keys.values():
        scale = max((scale_of(one) for one in value.domain or () if isinstance(one, Decimal)), default=0)
        zoned = any(isinstance(one, dt.datetime) and one.tzinfo is not None for one in value.domain or ())
        types.append(arrow_type(value.kind, scale=scale, zoned=zoned))
    columns = [pa.array([group[place] for group in groups], type_) for place, type_ in enumerate(types)]
    made = pa.table(columns, names=list(keys))
    place = {group: at for at, group in enumerate(_groups(made))}  # no group twice: it would be measured twice
    return made if len(place) == made.num_rows or not keys else made.take(list(place.values()))


def _one_zero(keys: pa.Table) -> pa.Table:
    """The keys with 0 for -0: both are one group, and which of them an engine shows could tell whose row came first."""
    columns = [pc.add(one, 0.0) if pa.types.is_floating(one.type) else one for one in keys.columns]
    return pa.table(columns, names=keys.column_names)


def _filled(values: _Numbers, there: list[_Group], wanted: list[_Group]) -> _Numbers:
    """The values of the wanted groups, added up; 0 for those that are not there."""
    found = dict.fromkeys(wanted, 0)
    for group, value in zip(there, values.tolist(), strict=True):
        if group in found:
            found[group] += value
    return np.array(list(found.values()), dtype=np.int64)


def _groups(keys: pa.Table) -> list[_Group]:
    """The groups that a table of keys has; without keys there is one."""
    plain = [_whole(column).to_pylist() for column in keys.columns]
    return list(zip(*plain, strict=True)) if plain else [()]


def _sliced(plan: Plan, quantile: Quantile, most: int | None) -> Iterator[dict[str, Any]]:
    """The slices of all groups that have rows, a few at a time: all of them would be large as Python has them."""
    found = fetch(plan.rows.engine, slice_query(quantile, plan.keys, plan.rows.owned), most=most)
    whole = pa.table([_whole(column) for column in found.columns], names=found.column_names)
    for batch in whole.to_batches(max_chunksize=_FEW_ROWS):
        yield from batch.to_pylist()


def _whole(column: Any) -> Any:
    """Days and moments as whole numbers: an engine knows some after the year 9999, and Python does not."""
    if pa.types.is_date32(column.type):
        return pc.cast(column, pa.int32())
    return pc.cast(column, pa.int64()) if pa.types.is_timestamp(column.type) else column

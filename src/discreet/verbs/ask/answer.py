"""Run a plan and answer: noise first, then whatever the question makes of the noisy figures.

Why this is private: the noise is what ``price.py`` argues for, and is added to whole numbers before anything else is
done with them. Which groups there are is declared, or told by noisy numbers of units alone. Everything after the noise
is post-processing, and sees no row. Nothing here may fail on someone's value: keys are never turned into what Python
could not hold.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.sql import arrow_type, scale_of
from discreet.engines.limits import fetch, seconds_left
from discreet.errors import Refused
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.verbs.ask.grouping import ADDED, totals
from discreet.verbs.ask.plan import MOST_QUANTILES, MOST_VALUES, Part, Plan
from discreet.verbs.ask.postprocess import (
    ERROR,
    Association,
    Chosen,
    Errors,
    Mean,
    MostFrequent,
    Regression,
    Spread,
    Spreads,
    error_column,
    work_out,
)
from discreet.verbs.ask.price import Price
from discreet.verbs.ask.quantile import counts_by_group, slice_query

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.core.engine import Part as Passing
    from discreet.core.engine import Written

_AT_ONCE = 10_000
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
    noisy = {part.name: _noisy(part, price, entropy) for part in plan.parts}
    if plan.values({name: one.num_rows for name, one in noisy.items()}) > MOST_VALUES:
        raise Refused("Too many groups for this number of columns.")
    return work_out(plan.after, noisy)


def _noisy(part: Part, price: Price, entropy: Entropy) -> pa.Table:
    """The keys and noisy figures of one part.

    Groups that are not declared get their noise as they come in, and only those that are shown are kept: whether there
    is an answer depends on how many are shown, and not on how many there are, which one row may change.
    """
    found = measured(part, None if part.declared else _passing(part, price, entropy))
    noisy = dict(found.figures)
    if part.declared:
        noisy = {name: price.noise[name].add_all(one, entropy) for name, one in noisy.items()}
    for name, one in part.quantiles.items():
        nobody = np.zeros(one.slices, dtype=np.int64)
        chosen: dict[_Group, float] = {}
        for group in found.groups:
            seconds_left()  # an error if there are none: this takes longer than asking the engine
            if group not in chosen:  # two whose keys an engine could not hold apart have their rows together
                chosen[group] = one.choose(found.sliced[name].get(group, nobody), price.choices[name], entropy)
        noisy[name] = np.array([chosen[group] for group in found.groups], dtype=np.float64)
    if part.sets:
        return _with_totals(part, found, noisy, price)
    return _ordered(part, _table(part, found.keys, noisy, dict.fromkeys(part.figures, price.errors()), price.spreads()))


def _with_totals(part: Part, found: Measured, noisy: Mapping[str, _Numbers], price: Price) -> pa.Table:
    """The groups of all groupings, with the error bars of sums of as many groups."""
    keys, whole = totals(found.keys, noisy, part.sets)
    many, places = np.unique(whole[ADDED], return_inverse=True)
    far, spreads = (
        {name: np.array([one[name] for one in each], dtype=np.float64)[places] for name in part.measures}
        for each in ([some(int(one)) for one in many] for some in (price.errors, price.spreads))
    )
    return _table(part, keys, whole, dict.fromkeys(part.figures, far), spreads)


def _ordered(part: Part, made: pa.Table) -> pa.Table:
    """Groups that are not declared in the order of their keys: the engine's order could tell something."""
    return made if part.declared else made.sort_by([(name, "ascending") for name in part.keys])


def _passing(part: Part, price: Price, entropy: Entropy) -> Passing:
    """Of some groups those with enough units, by their noisy number, with noise on all that was measured."""

    units = part.units or ""

    def passing(some: pa.Table) -> pa.Table:
        if missing := [name for name in part.measures if some.column(name).null_count]:  # too large for the quick way
            return some.filter(pc.is_null(some.column(missing[0]))).slice(0, 1)
        noisy = {name: price.noise[name].add_all(_integers(some, name), entropy) for name in part.measures}
        columns: dict[str, Any] = {name: some.column(name) for name in part.keys}
        return pa.table(columns | {name: pa.array(one) for name, one in noisy.items()}).filter(
            pa.array(noisy[units] > price.thresholds[units])
        )

    return passing


def exact_answer(plan: Plan, errors: Mapping[str, Mapping[str, int]]) -> pa.Table:
    """The answer without any noise: only for rows that are private already, such as those of a synthetic stand-in.

    ``errors`` says, for each figure whose distance from the truth is bounded, how far what it is made of may be off;
    others get no error bar. An average of no rows is NULL here, since nothing is told by that.
    """
    return work_out(plan.after, {part.name: _exact(part, errors) for part in plan.parts})


def _exact(part: Part, errors: Mapping[str, Mapping[str, int]]) -> pa.Table:
    found = measured(part)
    keys, figures = found.keys, dict(found.figures)
    if part.sets:  # how far off a total is, is not known
        (keys, figures), errors = totals(keys, figures, part.sets), {}
    empty: dict[str, _Numbers] = {}
    for name, one in part.quantiles.items():
        nobody = np.zeros(one.slices, dtype=np.int64)
        counts = [found.sliced[name].get(group, nobody) for group in found.groups]
        figures[name] = np.array([one.best(some) for some in counts], dtype=np.float64)
        empty[name] = np.array([not some.any() for some in counts], dtype=bool)
    made = _table(part, keys, figures, errors)
    for name, figure in part.figures.items():
        if isinstance(figure, Chosen | MostFrequent):
            (choice,) = figure.made_of
            made = _without(made, name, empty[choice])
        elif isinstance(figure, Mean | Spread | Association | Regression):
            mean = figure if isinstance(figure, Mean) else figure.mean if isinstance(figure, Spread) else figure.x
            made = _without(made, name, figures[mean.count] == 0)
    return _ordered(part, made)


def _without(made: pa.Table, name: str, empty: _Numbers) -> pa.Table:
    """The table with NULL for a figure, and for its error, where nothing is behind it."""
    for one in (name, f"{name}{ERROR}"):
        column = made.column(one)
        kept = pc.if_else(pa.array(empty), pa.scalar(None, column.type), column)
        made = made.set_column(made.schema.get_field_index(one), one, kept)
    return made


def measured(plan: Part, each: Passing | None = None) -> Measured:
    """What noise is added to; or what ``each`` makes of some groups with all that is measured of them."""
    there, figures = pa.table({}), {}
    if plan.measures:
        fetched = _measured(plan, each)
        there = _one_zero(fetched.select(list(plan.keys)))
        figures = {name: _integers(fetched, name) for name in plan.measures}
    if not plan.declared:
        return Measured(there, figures, _sliced(plan, there))
    wanted = _declared(plan)
    known, groups = _groups(there), _groups(wanted)
    filled = {name: _filled(one, known, groups) for name, one in figures.items()}
    return Measured(wanted, filled, _sliced(plan, wanted))


def _measured(plan: Part, each: Passing | None) -> pa.Table:
    """The measures of all groups. Which of the two ways is gone makes no difference but in time; from how many rows on,
    a million and more, is drawn, so that hardly ever a single person decides it."""
    query: exp.Select | Written = plan.written or plan.query
    if any(one.large is not None for one in plan.measures.values()):
        query = plan.query_of_small(lambda rows: rows // 2 + SYSTEM.below(rows // 2 + 1))
    found = fetch(plan.rows.engine, query, each=each)
    if any(found.column(name).null_count for name in plan.measures):
        return fetch(plan.rows.engine, plan.query_of_large, each=each)
    return found


def _sliced(plan: Part, wanted: pa.Table) -> dict[str, dict[_Group, _Numbers]]:
    """By quantile: the counts of all slices of the groups that are wanted, of which there may not be many."""
    if not plan.quantiles:
        return {}
    keys, groups = list(plan.keys), set(_groups(wanted))
    if len(groups) * len(plan.quantiles) > MOST_QUANTILES:
        raise Refused("Too many groups for quantiles.")

    def among(some: pa.Table) -> pa.Table:
        return some.filter(pa.array([one in groups for one in _groups(some.select(keys))], pa.bool_()))

    made = {}
    for name, one in plan.quantiles.items():
        query = slice_query(one, plan.keys, plan.rows.owned)
        found = fetch(plan.rows.engine, query, each=among if keys else None)
        parts = (pa.Table.from_batches([batch]) for batch in found.to_batches(max_chunksize=_AT_ONCE))
        made[name] = counts_by_group(one, (row for part in parts for row in _plain(part)), keys)
    return made


def _integers(found: pa.Table, name: str) -> _Numbers:
    return np.asarray(found.column(name).to_numpy(), dtype=np.int64)


def _table(
    plan: Part,
    keys: pa.Table,
    noisy: Mapping[str, _Numbers],
    errors: Mapping[str, Errors],
    spreads: Spreads | None = None,
) -> pa.Table:
    """The keys of all groups, and their figures with their error bars."""
    columns: dict[str, Any] = dict(zip(keys.column_names, keys.columns, strict=True))
    for name, figure in plan.figures.items():
        bars = figure.error(noisy, errors[name], spreads) if name in errors else None
        columns[name] = pa.array(figure.worth(noisy))
        columns[f"{name}{ERROR}"] = error_column(bars, len(columns[name]))
    return pa.table(columns)


def _declared(part: Part) -> pa.Table:
    """The keys of every declared group, those without rows too; rows of no declared group are in none."""
    keys, groups = part.keys, list(product(*part.values_of_keys))
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


def _plain(found: pa.Table) -> list[dict[str, Any]]:
    return pa.table([_whole(column) for column in found.columns], names=found.column_names).to_pylist()


def _whole(column: Any) -> Any:
    """Days and moments as whole numbers, and texts as bytes: an engine knows days after the year 9999, and one takes
    whatever it read for text, and Python does not."""
    if pa.types.is_string(column.type):
        return pc.cast(column, pa.binary())
    if pa.types.is_date32(column.type):
        return pc.cast(column, pa.int32())
    return pc.cast(column, pa.int64()) if pa.types.is_timestamp(column.type) else column

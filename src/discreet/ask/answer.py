"""Price a plan, run it, and answer: noise first, then whatever the question makes of the noisy figures.

Why an answer is private. One unit has at most ``rows.most`` rows, and changes every measure, added up over all
groups, by at most ``measure.most``. Each measure gets discrete Laplace noise that loses its share of epsilon for
that change (a quantile its share of the exponential mechanism), and the shares add up to epsilon (Dwork and others
2006). The groups that are shown are either declared
beforehand, or those whose noisy number of units passes a threshold that a group of one unit passes with
probability at most delta / rows.most; a unit is in at most rows.most groups, so all groups that exist only because
of it stay hidden but for delta (Korolova and others 2009). Everything after the noise is post-processing, and sees
no row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.ask.fetch import fetch
from discreet.ask.plan import ERROR, NOISY, UNITS, Plan
from discreet.ask.quantile import counts_by_group, slice_query
from discreet.core.arrow import arrow_type
from discreet.core.exact import Number, exact
from discreet.core.loss import Approximate, Loss, Pure
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.exponential import Exponential
from discreet.noise.geometric import require_array_scale
from discreet.noise.laplace import DiscreteLaplace

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Price:
    """What an answer costs, and the noise each measure gets for it."""

    loss: Loss
    noise: Mapping[str, DiscreteLaplace]
    choices: Mapping[str, Exponential]
    threshold: int | None
    """A group is shown if its noisy number of units is above this; ``None``: all groups are declared."""

    def errors(self) -> dict[str, int]:
        """How far each measure may be off, in its own steps, with 97.5 % confidence: a figure has two at most."""
        return {name: noise.error((1 - CONFIDENCE) / 2) for name, noise in self.noise.items()}


def price(plan: Plan, epsilon: Number, delta: Number = 0) -> Price:
    """Share epsilon equally among the measures. Undeclared groups need a delta."""
    whole, chance = exact(epsilon, "epsilon"), exact(delta, "delta")
    if whole == 0:
        raise BadInput("An answer needs an epsilon above 0.")
    share = Pure(whole / (len(plan.measures) + len(plan.quantiles)))
    noise = {name: DiscreteLaplace.for_loss(share, measure.most) for name, measure in plan.measures.items()}
    for one in noise.values():
        require_array_scale(one.scale)  # here, and not once there are many groups, which would tell
    choices = {name: Exponential.for_loss(share, one.sensitivity) for name, one in plan.quantiles.items()}
    if plan.declared:
        return Price(Pure(whole), noise, choices, None)
    if not 0 < chance < 1:
        missing = [value.name or "what is made of a column" for value in plan.keys.values() if value.domain is None]
        raise BadInput(
            f"Which values {', '.join(missing)} has is not declared, so groups are shown only with a delta above 0.",
            hint="Give a delta such as 1e-6, or declare categories on the card.",
        )
    return Price(Approximate(whole, chance), noise, choices, _threshold(noise[UNITS], chance / plan.rows.most))


def _threshold(noise: DiscreteLaplace, chance: Fraction) -> int:
    """The smallest t for which a group of one unit passes with at most this chance: P(1 + noise > t) <= chance."""
    return 1 + noise.error(min(2 * chance, Fraction(1, 2)))


def answer(plan: Plan, price: Price, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
    """Measure on the engine of ``table``, add noise, and work out the answer."""
    measured = fetch(table.engine, plan.query) if plan.measures else None
    sliced = {
        name: fetch(table.engine, slice_query(one, plan.keys, plan.rows.query)).to_pylist()
        for name, one in plan.quantiles.items()
    }
    return _after(plan, _noisy(plan, price, measured, sliced, entropy))


def _noisy(
    plan: Plan,
    price: Price,
    measured: pa.Table | None,
    sliced: Mapping[str, list[dict[str, Any]]],
    entropy: Entropy,
) -> pa.Table:
    groups: list[tuple[Any, ...]] = [()]
    figures: dict[str, np.ndarray[Any, Any]] = {}
    if measured is not None:
        keys = [measured.column(name).to_pylist() for name in plan.keys]
        groups = list(zip(*keys, strict=True)) if keys else [()]
        figures = {name: np.asarray(measured.column(name).to_numpy(), dtype=np.int64) for name in plan.measures}
    if plan.declared:
        groups, figures = _declared_groups(plan, groups, figures)
    noisy = {name: price.noise[name].add_all(figures[name], entropy) for name in plan.measures}
    for name, one in plan.quantiles.items():
        counts = counts_by_group(one, sliced[name], list(plan.keys))
        nobody = np.zeros(one.slices, dtype=np.int64)
        chosen = [one.choose(counts.get(group, nobody), price.choices[name], entropy) for group in groups]
        noisy[name] = np.array(chosen, dtype=np.float64)
    columns: dict[str, pa.Array[Any]] = {}
    for place, (name, value) in enumerate(plan.keys.items()):
        type_ = arrow_type(value.kind) if measured is None else measured.schema.field(name).type
        columns[name] = pa.array([group[place] for group in groups], type_)
    errors = price.errors()
    for name, figure in plan.figures.items():
        bars = figure.error(noisy, errors)
        columns[name] = pa.array(figure.worth(noisy))
        columns[f"{name}{ERROR}"] = pa.nulls(len(groups), pa.float64()) if bars is None else pa.array(bars)
    made = pa.table(columns)
    if price.threshold is None:
        return made
    shown = made.filter(pa.array(noisy[UNITS] > price.threshold))
    return shown.sort_by([(name, "ascending") for name in plan.keys])  # the engine's order could tell something


def _declared_groups(
    plan: Plan, groups: list[tuple[Any, ...]], figures: Mapping[str, np.ndarray[Any, Any]]
) -> tuple[list[tuple[Any, ...]], dict[str, np.ndarray[Any, Any]]]:
    """Every declared group, those without rows too; rows of no declared group are in none."""
    place = {group: at for at, group in enumerate(groups)}
    wanted = list(product(*(value.domain or () for value in plan.keys.values())))
    at = np.array([place.get(group, -1) for group in wanted], dtype=np.int64)
    filled = {
        name: np.where(at >= 0, values[np.maximum(at, 0)] if len(values) else 0, 0) for name, values in figures.items()
    }
    return wanted, filled


def _after(plan: Plan, noisy: pa.Table) -> pa.Table:
    """The rest of the question, by a DuckDB that holds nothing and sees nothing but these noisy figures."""
    return _empty_engine(os.getpid()).fetch(plan.after, {NOISY: noisy})


@lru_cache(maxsize=1)
def _empty_engine(_process: int) -> DuckDB:
    """One for each process, since connecting costs more than asking."""
    return DuckDB()

"""Many answers in one: a table with very many declared groups, each of which is a run of its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy.special import betaincinv
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB

FALSE_ALARM = 1e-9
_names = (f"groups_{number}" for number in itertools.count())


def grouped(
    engine: DuckDB, runs: int, values: Sequence[float], *, kind: Kind = Kind.REAL, declared: bool = True, low: float = 0
) -> Table:
    """``runs`` groups ``g``, each with a row for every one of ``values``, which lie between ``low`` and 1."""
    rows = np.tile(np.asarray(values, dtype=float), runs)
    data = {"g": np.repeat(np.arange(runs), len(values)), "x": rows.astype(np.int64) if kind is Kind.INTEGER else rows}
    name = next(_names)
    engine.load(name, pa.table(data))
    ends = (int(low), 1) if kind is Kind.INTEGER else (float(low), 1.0)
    card = Card(
        "t",
        (
            Column("g", Kind.INTEGER, categories=tuple(range(runs)) if declared else None),
            Column("x", kind, bounds=ends),
        ),
    )
    return Table(card, engine, exp.select(sql.column("g"), sql.column("x")).from_(sql.table(name)))


def at_least(happened: int, runs: int) -> float:
    """A lower bound on a probability, after Clopper and Pearson."""
    return float(betaincinv(happened, runs - happened + 1, FALSE_ALARM / 2)) if happened else 0.0


def at_most(happened: int, runs: int) -> float:
    """An upper bound on a probability, after Clopper and Pearson."""
    return float(betaincinv(happened + 1, runs - happened, 1 - FALSE_ALARM / 2)) if happened < runs else 1.0


WRONG = Fraction(5, 4)
"""How much more is lost by the faulty mechanisms that the tests must catch."""

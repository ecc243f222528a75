"""Bounds nobody declared: found where the rows are, the same on every engine, with what is promised kept."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from tests.ask.recording import RecordingLaplace, apart
from tests.noise.bits import Repeatable

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.table import Table
from discreet.engines.contribution import OwnedRows, owned_rows
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.bounds import BoundsSearch
from discreet.verbs.ask.value import Value

SILENT = DiscreteLaplace("1/1000")
NAN = float("nan")
"""Counts, on every engine, as more than everything."""
REALS = [None, 0.0, -0.0, 1.0, 1.5, 2.0, 2.0**-41, -(2.0**-41), 2.0**40, 1e300, -1e300, -1.0, -1.5, float("inf"), NAN]
WHOLES = [None, 0, 1, 2, 3, 4, -1, -2, -3, 2**40, 2**62, -(2**62)]
DECIMALS = [None, Decimal("0.00"), Decimal("1.50"), Decimal("-99999999999999999999.99"), Decimal("0.01")]


def column(engine: Engine, name: str, values: list[object], kind: Kind) -> tuple[Value, OwnedRows]:
    types = {Kind.INTEGER: pa.int64(), Kind.REAL: pa.float64(), Kind.DECIMAL: pa.decimal128(38, 2)}
    engine.load(name, pa.table({"x": pa.array(values, types[kind])}))
    query = sqlglot.exp.select(sql.column("x")).from_(sql.table(name))
    return Value(sql.column("x"), kind), owned_rows(Table(Card("t", (Column("x", kind),)), engine, query), rename=False)


@pytest.mark.parametrize(
    ("kind", "values"), [(Kind.REAL, REALS), (Kind.INTEGER, WHOLES), (Kind.DECIMAL, DECIMALS)], ids=lambda p: str(p)[:9]
)
def test_every_value_is_in_its_slice_on_every_engine(
    engine: Engine, fresh: Callable[[], str], kind: Kind, values: list[object]
) -> None:
    value, rows = column(engine, fresh(), values, kind)
    search = BoundsSearch.for_loss(Pure(1), value)
    there = [float("inf") if one is NAN else one for one in values if one is not None]
    expected = [0] * search.slices
    for one in there:
        expected[sum(end <= one for end in search.ends)] += 1  # type: ignore[operator]
    noise = RecordingLaplace(1)
    BoundsSearch(search.ends, noise).search(engine, value, rows, Repeatable(1))
    assert noise.seen == expected


def test_a_unit_changes_what_gets_noise_by_its_rows(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    records = []
    for values in ([1.0, 5.0, 700.0], [1.0, 5.0, 700.0, -3.0, 5.5]):
        value, rows = column(duckdb, fresh(), list(values), Kind.REAL)
        noise = RecordingLaplace(1)
        BoundsSearch(BoundsSearch.for_loss(Pure(1), value).ends, noise).search(duckdb, value, rows, Repeatable(1))
        records.append(noise.seen)
    assert apart(*records) == 2


def test_bounds_are_found_and_the_loss_is_known(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    incomes = np.random.default_rng(1).lognormal(10, 0.7, 5000)
    value, rows = column(duckdb, fresh(), [*incomes.tolist(), 1e12], Kind.REAL)
    search = BoundsSearch.for_loss(Pure("1/2"), value, 2)
    assert search.loss(2) == Pure("1/2")
    found = search.search(duckdb, value, rows, Repeatable(2))
    assert found is not None
    low, high = found
    assert (incomes < float(low)).sum() <= search.outside
    assert (incomes > float(high)).sum() <= search.outside
    assert low > 0
    assert float(high) <= 2 * incomes.max()


def whole_search(epsilon: int = 1, beta: str = "1/20") -> BoundsSearch:
    return BoundsSearch.for_loss(Pure(epsilon), Value(sql.column("x"), Kind.INTEGER), beta=beta)


def counts(search: BoundsSearch, values: list[int]) -> list[int]:
    found = [0] * search.slices
    for value in values:
        found[sum(end <= value for end in search.ends)] += 1
    return found


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([0], (0, 1)),
        ([5], (4, 8)),
        ([0, 100], (0, 128)),
        ([-1], (-1, 0)),
        ([-100, 7], (-128, 8)),
        ([2**50], (2**40, 2**40)),
        ([-(2**50), 2**50], (-(2**40), 2**40)),
        ([-(2**50)], (-(2**40), -(2**40))),
    ],
)
def test_bounds_enclose_the_slices_that_have_rows(values: list[int], bounds: tuple[int, int]) -> None:
    assert BoundsSearch(whole_search().ends, SILENT).choose(counts(whole_search(), values)) == bounds


def test_few_rows_give_no_bounds() -> None:
    search = whole_search()
    assert search.choose([0] * search.slices, Repeatable(1)) is None
    assert search.choose(counts(search, [3, 4, 5]), Repeatable(1)) is None
    spread = [20 if abs(i - search.slices // 2) < 2 else 0 for i in range(search.slices)]
    assert sum(spread) <= 2 * search.outside
    assert search.choose(spread, Repeatable(1)) is None, "what passes from below lies above what passes from above"


def test_more_epsilon_leaves_fewer_rows_outside() -> None:
    assert whole_search(1).outside <= 120
    assert whole_search(10).outside < whole_search(1).outside / 5
    assert whole_search(1, "1/1000").outside > whole_search(1).outside


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="not for text"):
        BoundsSearch.for_loss(Pure(1), Value(sql.column("x"), Kind.TEXT))
    with pytest.raises(BadInput, match="counts, not"):
        whole_search().choose([1, 2, 3])
    with pytest.raises(BadInput, match="each above the one before"):
        BoundsSearch((Fraction(1), Fraction(0)), SILENT)
    with pytest.raises(BadInput, match="beta must be below 1"):
        whole_search(1, "1")

"""Marginals: the price split where it does most good, counts that agree, nothing beyond the declared change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from tests.ask.recording import RecordingLaplace, apart
from tests.noise.bits import Repeatable

from discreet.ask.deviation import Noise
from discreet.ask.marginals import Marginal, Marginals, domain
from discreet.ask.rows import Rows, rows_of
from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Pure, sequential
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, NotDeclared, NotFound, Refused
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.samples import cases

SILENT = DiscreteLaplace("1/1000")
CITIES = ("Oslo", "Paris", "Rome")
PEOPLE = [
    (1, "Oslo", True, 2),
    (1, "Rome", False, 0),
    (2, "Oslo", True, 1),
    (3, None, True, 1),
    (4, "Rome", None, 2),
    (5, "Bern", True, 2),
    (6, "Paris", False, 2),
]
CARD = Card(
    "people",
    (
        Column("who", Kind.INTEGER),
        Column("city", Kind.TEXT, categories=CITIES),
        Column("ill", Kind.BOOLEAN),
        Column("visits", Kind.INTEGER, bounds=(0, 2)),
        Column("income", Kind.REAL, bounds=(0, 1)),
    ),
    unit="who",
    rows_per_unit=2,
)


def people(engine: Engine, name: str, rows: list[tuple[object, ...]] = PEOPLE) -> Table:
    columns = dict(zip(("who", "city", "ill", "visits"), zip(*rows, strict=True), strict=True))
    data = pa.table({name: list(values) for name, values in columns.items()} | {"income": [0.5] * len(rows)})
    engine.load(name, data)
    return Table(CARD, engine, sqlglot.exp.select(*map(sql.column, data.column_names)).from_(sql.table(name)))


def rows_in(table: Table) -> Rows:
    return rows_of(sqlglot.exp.select("*").from_(sql.table(table.card.name)), {table.card.name: table})


def silent(rows: Rows, *sets: tuple[str, ...]) -> Marginals:
    return replace(Marginals.for_loss(Pure(1), rows, sets), noises=(SILENT,) * len(sets))


@pytest.fixture
def rows(duckdb: DuckDB, fresh: Callable[[], str]) -> Rows:
    return rows_in(people(duckdb, fresh()))


def test_three_marginals_of_the_bits_at_epsilon_each_cost_three_epsilon() -> None:
    table, epsilon = cases.bits(), Fraction(1, 2)
    rows = rows_in(table)
    marginals = Marginals.for_loss(Pure(3 * epsilon), rows, [("d1",), ("d2",), ("d3",)])
    assert [noise.loss(1) for noise in marginals.noises] == [Pure(epsilon)] * 3
    assert marginals.loss() == sequential([Pure(epsilon)] * 3) == Pure(3 * epsilon)
    told = silent(rows, ("d1",), ("d2",), ("d3",)).measure(table.engine)
    assert [marginal.counts.tolist() for marginal in told] == [[6, 4], [7, 3], [6, 4]]


def test_the_counts_are_the_same_on_every_engine(engine: Engine, fresh: Callable[[], str]) -> None:
    table = people(engine, fresh())
    (one, two) = silent(rows_in(table), ("city", "ill"), ("visits",)).measure(engine)
    assert one.counts.tolist() == [[0, 2], [1, 0], [1, 0]]
    assert two.counts.tolist() == [1, 1, 2], "rows without a city or an illness are in no marginal"


def test_a_marginal_shows_as_a_table(rows: Rows) -> None:
    shown = Marginal(("ill",), (domain(rows, "ill"),), np.array([3, 4])).to_arrow([Kind.BOOLEAN])
    assert shown.to_pylist() == [{"ill": False, "n": 3}, {"ill": True, "n": 4}]


@pytest.mark.parametrize("loss", [Pure(1), Concentrated("1/2")], ids=str)
def test_no_other_split_has_less_error(rows: Rows, loss: Pure | Concentrated) -> None:
    sets = [("city", "ill", "visits"), ("ill",), ("city",)]
    cells = (18, 2, 3)
    marginals = Marginals.for_loss(loss, rows, sets)
    assert marginals.loss() == loss
    power = 2 if isinstance(loss, Pure) else 1

    def cost(shares: np.ndarray) -> float:
        return float(sum(m / share**power for m, share in zip(cells, shares, strict=True)))

    whole = loss.epsilon if isinstance(loss, Pure) else loss.rho
    each = [noise.loss(rows.most) for noise in marginals.noises]
    chosen = np.array([float((one.epsilon if isinstance(one, Pure) else one.rho) / whole) for one in each])
    best = min(cost(np.array((a, b, 100 - a - b)) / 100) for a, b in product(range(1, 99), repeat=2) if a + b < 100)
    assert cost(chosen) <= best
    assert cost(chosen) < 0.85 * cost(np.full(3, 1 / 3))
    assert marginals.variances() == tuple(noise.variance for noise in marginals.noises)
    assert marginals.errors("1/20") == tuple(noise.error("1/20") for noise in marginals.noises)


@pytest.mark.parametrize("who", range(1, 7))
def test_a_unit_changes_what_gets_noise_by_its_rows_at_most(duckdb: DuckDB, fresh: Callable[[], str], who: int) -> None:
    def records(data: list[tuple[object, ...]]) -> list[list[int]]:
        table = people(duckdb, fresh(), data)
        noises = (RecordingLaplace(3), RecordingLaplace(3))
        marginals = Marginals(rows_in(table), (("city", "ill"), ("visits",)), noises)
        marginals.measure(duckdb, Repeatable(1))
        return [noise.seen for noise in noises]

    pairs = zip(records(PEOPLE), records([row for row in PEOPLE if row[0] != who]), strict=True)
    assert max(apart(*pair) for pair in pairs) == {1: 2, 2: 1, 6: 1}.get(who, 0)


SETS = (("city", "ill"), ("visits", "city"), ("ill", "visits"), ("city", "visits", "ill"), ("ill",))
NOISES: tuple[Noise, ...] = tuple(map(DiscreteLaplace, (2, 3, 1, 5, 4)))


def agree_map(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What ``agreed`` does to counts as a matrix, which cells make up each count, and the noise's variances."""
    marginals = Marginals(rows, SETS, NOISES)
    values = [tuple(domain(rows, name) for name in columns) for columns in SETS]
    shapes = [tuple(map(len, value)) for value in values]
    sizes = [int(np.prod(shape)) for shape in shapes]
    total = sum(sizes)

    def through(flat: np.ndarray) -> np.ndarray:
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        given = [Marginal(c, v, p.reshape(s)) for c, v, p, s in zip(SETS, values, parts, shapes, strict=True)]
        return np.concatenate([one.counts.ravel() for one in marginals.agreed(given)])

    linear = np.array([through(one) for one in np.eye(total)]).T
    full = ("city", "ill", "visits")
    cells = list(product(*(range(len(domain(rows, name))) for name in full)))
    design = []
    for columns, shape in zip(SETS, shapes, strict=True):
        for cell in product(*map(range, shape)):
            design.append([all(one[full.index(c)] == v for c, v in zip(columns, cell, strict=True)) for one in cells])
    variances = np.concatenate([np.full(size, noise.variance) for size, noise in zip(sizes, NOISES, strict=True)])
    return linear, np.array(design, dtype=float), variances


def test_agreeing_is_weighted_least_squares(rows: Rows) -> None:
    linear, design, variances = agree_map(rows)
    weighted = design / np.sqrt(variances)[:, None]
    best = design @ np.linalg.pinv(weighted) / np.sqrt(variances)
    assert linear == pytest.approx(best, abs=1e-9)


def test_agreeing_makes_no_variance_larger(rows: Rows) -> None:
    linear, _, variances = agree_map(rows)
    after = (linear**2 * variances).sum(axis=1)
    assert (after <= variances * (1 + 1e-9)).all()
    assert after.sum() < 0.6 * variances.sum()


def test_marginals_that_agree_add_up(rows: Rows, duckdb: DuckDB) -> None:
    marginals = Marginals.for_loss(Pure(1), rows, [("city", "ill"), ("visits", "city")])
    noisy = marginals.measure(duckdb, Repeatable(4))
    one, two = marginals.agreed(noisy)
    assert one.counts.sum(axis=1) == pytest.approx(two.counts.sum(axis=0))
    assert noisy[0].counts.sum(axis=1).tolist() != noisy[1].counts.sum(axis=0).tolist()


def test_gaussian_noise_follows_from_its_share(rows: Rows) -> None:
    marginals = Marginals.for_loss(Concentrated(1), rows, [("ill",), ("city",)])
    assert all(isinstance(noise, DiscreteGaussian) for noise in marginals.noises)
    assert marginals.loss() == Concentrated(1)


def test_an_engine_that_fails_says_nothing_of_the_rows(rows: Rows, duckdb: DuckDB) -> None:
    nowhere = sqlglot.exp.select("*").from_("nowhere")
    with pytest.raises(Refused, match="could not be answered"):
        silent(replace(rows, query=nowhere), ("ill",)).measure(duckdb)


def test_what_is_not_declared_or_makes_no_sense_is_refused(rows: Rows) -> None:
    for name in ("income", "who"):
        with pytest.raises(NotDeclared, match=f"over '{name}' needs its values"):
            Marginals.for_loss(Pure(1), rows, [(name,)])
    with pytest.raises(NotFound, match="no column 'town'"):
        Marginals.for_loss(Pure(1), rows, [("town",)])
    for sets in ([], [()], [("ill", "city"), ("city", "ill")]):
        with pytest.raises(BadInput, match="different sets"):
            Marginals.for_loss(Pure(1), rows, sets)
    with pytest.raises(BadInput, match="a column once"):
        Marginals.for_loss(Pure(1), rows, [("ill", "ill")])

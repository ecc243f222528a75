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

from discreet.ask.marginals import Marginal, MarginalCounts, declared_values
from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Pure, sequential
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, NotDeclared, NotFound, Refused
from discreet.noise.deviation import Noise
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


def silent(card: Card, *sets: tuple[str, ...]) -> MarginalCounts:
    return replace(MarginalCounts.for_loss(Pure(1), card, sets), noises=(SILENT,) * len(sets))


def test_three_marginals_of_the_bits_at_epsilon_each_cost_three_epsilon() -> None:
    table, epsilon = cases.bits(), Fraction(1, 2)
    marginals = MarginalCounts.for_loss(Pure(3 * epsilon), table.card, [("d1",), ("d2",), ("d3",)])
    assert [noise.loss(1) for noise in marginals.noises] == [Pure(epsilon)] * 3
    assert marginals.loss() == sequential([Pure(epsilon)] * 3) == Pure(3 * epsilon)
    told = silent(table.card, ("d1",), ("d2",), ("d3",)).measure(table)
    assert [marginal.counts.tolist() for marginal in told] == [[6, 4], [7, 3], [6, 4]]


def test_the_counts_are_the_same_on_every_engine(engine: Engine, fresh: Callable[[], str]) -> None:
    table = people(engine, fresh())
    (one, two) = silent(CARD, ("city", "ill"), ("visits",)).measure(table)
    assert one.counts.tolist() == [[0, 2], [1, 0], [1, 0]]
    assert two.counts.tolist() == [1, 1, 2], "rows without a city or an illness are in no marginal"


@pytest.mark.parametrize("loss", [Pure(1), Concentrated("1/2")], ids=str)
def test_no_other_split_has_less_error(loss: Pure | Concentrated) -> None:
    sets = [("city", "ill", "visits"), ("ill",), ("city",)]
    cells = (18, 2, 3)
    marginals = MarginalCounts.for_loss(loss, CARD, sets)
    assert marginals.loss(2) == loss
    power = 2 if isinstance(loss, Pure) else 1

    def cost(shares: np.ndarray) -> float:
        return float(sum(m / share**power for m, share in zip(cells, shares, strict=True)))

    whole = loss.epsilon if isinstance(loss, Pure) else loss.rho
    each = [noise.loss(2) for noise in marginals.noises]
    chosen = np.array([float((one.epsilon if isinstance(one, Pure) else one.rho) / whole) for one in each])
    best = min(cost(np.array((a, b, 100 - a - b)) / 100) for a, b in product(range(1, 99), repeat=2) if a + b < 100)
    assert cost(chosen) <= best
    assert cost(chosen) < 0.85 * cost(np.full(3, 1 / 3))
    assert marginals.variances() == tuple(noise.variance for noise in marginals.noises)


@pytest.mark.parametrize("who", range(1, 7))
def test_a_unit_changes_what_gets_noise_by_its_rows_at_most(duckdb: DuckDB, fresh: Callable[[], str], who: int) -> None:
    def records(data: list[tuple[object, ...]]) -> list[list[int]]:
        table = people(duckdb, fresh(), data)
        noises = (RecordingLaplace(3), RecordingLaplace(3))
        replace(silent(CARD, ("city", "ill"), ("visits",)), noises=noises).measure(table, Repeatable(1))
        return [noise.seen for noise in noises]

    pairs = zip(records(PEOPLE), records([row for row in PEOPLE if row[0] != who]), strict=True)
    assert max(apart(*pair) for pair in pairs) == {1: 2, 2: 1, 6: 1}.get(who, 0)


SETS = (("city", "ill"), ("visits", "city"), ("ill", "visits"), ("city", "visits", "ill"), ("ill",))
NOISES: tuple[Noise, ...] = tuple(map(DiscreteLaplace, (2, 3, 1, 5, 4)))


def agree_map() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What ``agreed`` does to counts as a matrix, which cells make up each count, and the noise's variances."""
    marginals = replace(silent(CARD, *SETS), noises=NOISES)
    values = [tuple(declared_values(CARD, name) for name in columns) for columns in SETS]
    shapes = [tuple(map(len, value)) for value in values]
    sizes = [int(np.prod(shape)) for shape in shapes]
    total = sum(sizes)

    def through(flat: np.ndarray) -> np.ndarray:
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        given = [Marginal(c, v, p.reshape(s)) for c, v, p, s in zip(SETS, values, parts, shapes, strict=True)]
        return np.concatenate([one.counts.ravel() for one in marginals.agreed(given)])

    linear = np.array([through(one) for one in np.eye(total)]).T
    full = ("city", "ill", "visits")
    cells = list(product(*(range(len(declared_values(CARD, name))) for name in full)))
    design = []
    for columns, shape in zip(SETS, shapes, strict=True):
        for cell in product(*map(range, shape)):
            design.append([all(one[full.index(c)] == v for c, v in zip(columns, cell, strict=True)) for one in cells])
    variances = np.concatenate([np.full(size, noise.variance) for size, noise in zip(sizes, NOISES, strict=True)])
    return linear, np.array(design, dtype=float), variances


def test_agreeing_is_weighted_least_squares() -> None:
    linear, design, variances = agree_map()
    weighted = design / np.sqrt(variances)[:, None]
    best = design @ np.linalg.pinv(weighted) / np.sqrt(variances)
    assert linear == pytest.approx(best, abs=1e-9)


def test_agreeing_makes_no_variance_larger() -> None:
    linear, _, variances = agree_map()
    after = (linear**2 * variances).sum(axis=1)
    assert (after <= variances * (1 + 1e-9)).all()
    assert after.sum() < 0.6 * variances.sum()


def test_marginals_that_agree_add_up(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    marginals = MarginalCounts.for_loss(Pure(1), CARD, [("city", "ill"), ("visits", "city")])
    noisy = marginals.measure(people(duckdb, fresh()), Repeatable(4))
    one, two = marginals.agreed(noisy)
    assert one.counts.sum(axis=1) == pytest.approx(two.counts.sum(axis=0))
    assert noisy[0].counts.sum(axis=1).tolist() != noisy[1].counts.sum(axis=0).tolist()


def test_gaussian_noise_follows_from_its_share() -> None:
    marginals = MarginalCounts.for_loss(Concentrated(1), CARD, [("ill",), ("city",)])
    assert all(isinstance(noise, DiscreteGaussian) for noise in marginals.noises)
    assert marginals.loss(2) == Concentrated(1)


def test_an_engine_that_fails_says_nothing_of_the_rows(duckdb: DuckDB) -> None:
    nowhere = sqlglot.exp.select("*").from_("nowhere")
    with pytest.raises(Refused, match="could not be answered"):
        silent(CARD, ("ill",)).measure(Table(CARD, duckdb, nowhere))


def test_what_is_not_declared_or_makes_no_sense_is_refused() -> None:
    for name in ("income", "who"):
        with pytest.raises(NotDeclared, match=f"over '{name}' needs its values"):
            MarginalCounts.for_loss(Pure(1), CARD, [(name,)])
    with pytest.raises(NotFound, match="no column 'town'"):
        MarginalCounts.for_loss(Pure(1), CARD, [("town",)])
    for sets in ([], [()], [("ill", "city"), ("city", "ill")]):
        with pytest.raises(BadInput, match="different sets"):
            MarginalCounts.for_loss(Pure(1), CARD, sets)
    with pytest.raises(BadInput, match="a column once"):
        MarginalCounts.for_loss(Pure(1), CARD, [("ill", "ill")])


def test_the_error_of_several_holds_for_the_worst_of_their_weights() -> None:
    """For every cell, its own Chernoff bound with the weights that agreeing gives is no larger than what is said."""
    linear, _, _ = agree_map()
    said = np.repeat(
        replace(silent(CARD, *SETS), noises=NOISES).errors("1/20"),
        [int(np.prod([len(declared_values(CARD, name)) for name in columns])) for columns in SETS],
    )
    scales = np.repeat([float(noise.scale) for noise in NOISES if isinstance(noise, DiscreteLaplace)], [6, 9, 6, 18, 2])
    for weights, bound in zip(linear, said, strict=True):
        furthest = min(1 / (scales * np.maximum(np.abs(weights), 1e-12)))
        t = furthest * np.linspace(0.01, 0.99, 200)[:, None]
        q = np.exp(-1 / scales)
        with np.errstate(all="ignore"):
            moments = np.log((1 - q) ** 2) - np.log(1 - 2 * q * np.cosh(t * weights) + q * q)
            best = np.nanmin((np.log(40) + moments.sum(axis=1)) / t[:, 0])
        assert best <= bound * (1 + 1e-9)


def test_one_marginal_alone_has_the_error_of_its_noise() -> None:
    marginals = MarginalCounts.for_loss(Pure(1), CARD, [("city",)])
    assert marginals.errors("1/20") == (float(marginals.noises[0].error("1/20")),)

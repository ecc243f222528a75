"""What gets noise: exact counts, no more than the declared change, and agreement by least squares."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sqlglot
from tests.ask.recording import RecordingLaplace, apart
from tests.noise.bits import Repeatable
from tests.tabulate.private.people import CARD, PEOPLE, people

from discreet.core.card import Card
from discreet.core.engine import Engine
from discreet.core.loss import Concentrated, Pure, sequential
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import NotDeclared, NotFound, Refused
from discreet.noise.deviation import Noise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.samples import cases
from discreet.verbs.tabulate.private.counts import NoisyCounts, overlaps
from discreet.verbs.tabulate.private.macro_table import DeclaredSide, declared_values
from discreet.verbs.tabulate.private.strategy import Strategy

SILENT = DiscreteLaplace("1/1000")
FULL = ("city", "ill", "visits")


def counts(card: Card, noises: tuple[Noise, ...], *sets: tuple[str, ...]) -> NoisyCounts:
    names = dict.fromkeys(name for columns in sets for name in columns)
    return NoisyCounts({name: declared_values(card, name) for name in names}, sets, noises)


def silent(card: Card, *sets: tuple[str, ...]) -> NoisyCounts:
    return counts(card, (SILENT,) * len(sets), *sets)


def test_three_tables_of_the_bits_at_epsilon_each_cost_three_epsilon() -> None:
    table, epsilon = cases.bits(), Fraction(1, 2)
    sets = [("d1",), ("d2",), ("d3",)]
    even = Strategy(tuple(map(frozenset, sets)), (Fraction(1, 3),) * 3)
    values = {name: declared_values(table.card, name) for (name,) in sets}
    made = NoisyCounts.for_loss(Pure(3 * epsilon), table.card, values, even)
    assert [noise.loss(1) for noise in made.noises] == [Pure(epsilon)] * 3
    assert made.loss() == sequential([Pure(epsilon)] * 3) == Pure(3 * epsilon)
    assert [one.tolist() for one in silent(table.card, *sets).measure(table)] == [[6, 4], [7, 3], [6, 4]]


def test_gaussian_noise_follows_from_its_share() -> None:
    strategy = Strategy((frozenset({"ill"}), frozenset()), (Fraction(3, 4), Fraction(1, 4)))
    made = NoisyCounts.for_loss(Concentrated(1), CARD, {"ill": (False, True)}, strategy)
    assert all(isinstance(noise, DiscreteGaussian) for noise in made.noises)
    assert [noise.loss(2) for noise in made.noises] == [Concentrated("3/4"), Concentrated("1/4")]
    assert made.loss(2) == Concentrated(1)


def test_the_counts_are_the_same_on_every_engine(engine: Engine, fresh: Callable[[], str]) -> None:
    table = people(engine, fresh())
    one, two, all_rows = silent(CARD, ("city", "ill"), ("visits",), ()).measure(table)
    assert one.tolist() == [[0, 2], [1, 0], [1, 0]]
    assert two.tolist() == [1, 1, 2], "rows without a city or an illness are in no table"
    assert all_rows == 4


@pytest.mark.parametrize("who", range(1, 7))
def test_a_unit_changes_what_gets_noise_by_its_rows_at_most(duckdb: DuckDB, fresh: Callable[[], str], who: int) -> None:
    def records(data: list[tuple[object, ...]]) -> list[list[int]]:
        noises = tuple(RecordingLaplace(3) for _ in range(3))
        counts(CARD, noises, ("city", "ill"), ("visits",), ()).measure(people(duckdb, fresh(), data), Repeatable(1))
        return [noise.seen for noise in noises]

    pairs = zip(records(PEOPLE), records([row for row in PEOPLE if row[0] != who]), strict=True)
    assert {apart(*pair) for pair in pairs} == {{1: 2, 2: 1, 6: 1}.get(who, 0)}


@pytest.mark.parametrize("cell", list(product(range(3), range(2), range(3))))
def test_every_row_is_in_exactly_one_cell_of_every_table(
    duckdb: DuckDB, fresh: Callable[[], str], cell: tuple[int, int, int]
) -> None:
    """Of all rows there can be, so that what noise is added to changes by one for each row, and never by more."""
    row = (9, *(declared_values(CARD, name)[place] for name, place in zip(FULL, cell, strict=True)))
    sets = [("city", "ill"), ("ill", "visits"), FULL, ("visits",), ()]
    for columns, found in zip(sets, silent(CARD, *sets, FULL).measure(people(duckdb, fresh(), [row])), strict=False):
        assert found.sum() == 1
        assert found[tuple(cell[FULL.index(name)] for name in columns)] == 1


SETS = (("city", "ill"), ("city", "visits"), ("ill", "visits"), ("city", "ill", "visits"), ("ill",), ())
NOISES: tuple[Noise, ...] = tuple(map(DiscreteLaplace, (2, 3, 1, 5, 4, 6)))


def agree_map() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What ``agreed`` does to counts as a matrix, which cells make up each count, and the noise's variances."""
    made = counts(CARD, NOISES, *SETS)
    shapes = [tuple(len(made.values[name]) for name in columns) for columns in SETS]
    sizes = [int(np.prod(shape)) for shape in shapes]

    def through(flat: np.ndarray) -> np.ndarray:
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        given = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return np.concatenate([one.ravel() for one in made.agreed(given)])

    linear = np.array([through(one) for one in np.eye(sum(sizes))]).T
    cells = list(product(*(range(len(declared_values(CARD, name))) for name in FULL)))
    design = []
    for columns, shape in zip(SETS, shapes, strict=True):
        for cell in product(*map(range, shape)):
            design.append([all(one[FULL.index(c)] == v for c, v in zip(columns, cell, strict=True)) for one in cells])
    variances = np.concatenate([np.full(size, noise.variance) for size, noise in zip(sizes, NOISES, strict=True)])
    return linear, np.array(design, dtype=float), variances


def test_agreeing_is_weighted_least_squares() -> None:
    linear, design, variances = agree_map()
    weighted = design / np.sqrt(variances)[:, None]
    best = design @ np.linalg.pinv(weighted) / np.sqrt(variances)
    assert linear == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("groups", [{"city": 1, "ill": 1}, {"city": 2, "visits": 1}, {"visits": 2}, {}], ids=str)
def test_weights_and_variances_are_those_of_the_covariance_by_brute_force(groups: dict[str, int]) -> None:
    """A cell that is the total of the first so many leaves of some columns, and of all of the others."""
    linear, design, variances = agree_map()
    made = counts(CARD, NOISES, *SETS)
    inside = [all(cell[FULL.index(n)] < g for n, g in groups.items()) for cell in product(range(3), range(2), range(3))]
    first = sum(int(np.prod([len(made.values[n]) for n in columns])) for columns in SETS[:3])
    row = np.array(inside, dtype=float) @ linear[first : first + 18]
    assert made.precision.variance(groups) == pytest.approx(float(row**2 @ variances))
    told = made.precision.weights(groups)
    sizes = [int(np.prod([len(made.values[n]) for n in columns])) for columns in SETS]
    for one, part in zip(told, np.split(row, np.cumsum(sizes)[:-1]), strict=True):
        expected = np.repeat(one.sizes, one.times.astype(int))
        assert np.sort(expected) == pytest.approx(np.sort(part[np.abs(part) > 1e-12]))
    assert sum(one.variance for one in told) == pytest.approx(made.precision.variance(groups))
    assert design.shape[0] == linear.shape[0]


def test_one_table_alone_has_the_error_of_its_noise() -> None:
    noise = DiscreteLaplace(3)
    made = counts(CARD, (noise,), ("city",)).precision
    assert made.error({"city": 1}, "1/20") == pytest.approx(noise.error("1/20"))
    assert made.variance({"city": 1}) == pytest.approx(noise.variance)
    assert made.variance({}) == pytest.approx(3 * noise.variance)


def test_an_engine_that_fails_says_nothing_of_the_rows(duckdb: DuckDB) -> None:
    nowhere = sqlglot.exp.select("*").from_("nowhere")
    with pytest.raises(Refused, match="could not be answered"):
        silent(CARD, ("ill",)).measure(Table(CARD, duckdb, nowhere))


def test_what_is_not_declared_is_refused() -> None:
    for name in ("income", "who"):
        with pytest.raises(NotDeclared, match=f"by '{name}' needs its values"):
            declared_values(CARD, name)
    with pytest.raises(NotFound, match="no column 'town'"):
        declared_values(CARD, "town")


def test_a_side_has_the_levels_of_its_hierarchy_if_they_are_asked_for() -> None:
    flat, nested = (DeclaredSide.of(CARD, "city", levels=levels) for levels in (False, True))
    assert flat.printed == ("Oslo", "Paris", "Rome")
    assert nested.dimension.codes == ("Total", "Oslo", "south", "Paris", "Rome")
    assert (nested.leaves_below, nested.values) == ((1, 2, 1, 1), ("Oslo", "Paris", "Rome"))
    assert DeclaredSide.of(CARD, "visits", levels=True).printed == (0, 1, 2)


def test_tables_overlap_in_whatever_two_of_them_share() -> None:
    ab, bc, ac = map(frozenset, ("ab", "bc", "ac"))
    assert overlaps([ab]) == []
    assert overlaps([ab, bc]) == [frozenset("b")]
    assert overlaps([ab, bc, ac]) == [frozenset(), *map(frozenset, "abc")]
    assert overlaps([ab, frozenset("abc")]) == [ab]

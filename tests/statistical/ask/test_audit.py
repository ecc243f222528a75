"""What an auditor sees of whole answers: no more loss than was paid for, and more where noise is 1.25 × too small."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import bdtr
from sqlglot import exp
from tests.ask.visits import CARD
from tests.noise.bits import Repeatable
from tests.statistical.ask.groups import FALSE_ALARM, WRONG, at_least, at_most, grouped

from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import Price, price

RUNS = 50_000
Event = Callable[[pa.Table], np.ndarray]


def asked(text: str, table: Table, epsilon: Fraction, delta: str = "0", seed: int = 1) -> pa.Table:
    made = plan(text, {"t": table})
    return answer(made, price(made, epsilon, delta), Repeatable(seed))


def column(found: pa.Table, name: str) -> np.ndarray:
    return np.asarray(found.column(name).to_numpy())


def loss_at_least(text: str, neighbours: tuple[Table, Table], event: Event, epsilon: Fraction) -> float:
    """A lower bound on what is lost, from how often an event happens on both neighbours."""
    counts = [int(event(asked(text, table, epsilon, seed=seed)).sum()) for seed, table in enumerate(neighbours)]
    few, many = sorted(counts)
    return math.log(at_least(many, RUNS) / at_most(few, RUNS))


CASES: dict[str, tuple[str, tuple[list[float], list[float]], Event]] = {
    "count": (
        "SELECT g, COUNT(*) AS n FROM t GROUP BY g",
        ([1.0], [1.0, 0.0]),
        lambda found: column(found, "n") <= 1,
    ),
    "sum": ("SELECT g, SUM(x) AS s FROM t GROUP BY g", ([0.0], [0.0, 1.0]), lambda found: column(found, "s") <= 0),
    "count and sum": (
        "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g",
        ([0.5], [0.5, 1.0]),
        lambda found: (column(found, "n") <= 1) & (column(found, "s") <= 0.5),
    ),
}


@pytest.fixture(scope="module")
def neighbours(duckdb: DuckDB) -> dict[str, tuple[Table, Table]]:
    """For each case the tables without and with one more unit in every group."""
    return {
        name: (grouped(duckdb, RUNS, without), grouped(duckdb, RUNS, with_))
        for name, (_, (without, with_), _) in CASES.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_the_loss_seen_is_within_the_price_and_noise_that_is_too_small_is_caught(
    neighbours: dict[str, tuple[Table, Table]], name: str
) -> None:
    text, _, event = CASES[name]
    epsilon = Fraction(3, 2)
    assert 0.5 * epsilon < loss_at_least(text, neighbours[name], event, epsilon) <= epsilon
    assert loss_at_least(text, neighbours[name], event, epsilon * WRONG) > epsilon


def test_an_average_loses_no_more_than_its_price(duckdb: DuckDB) -> None:
    both = grouped(duckdb, RUNS, [0.0, 0.0]), grouped(duckdb, RUNS, [0.0, 0.0, 1.0])
    text, epsilon = "SELECT g, AVG(x) AS m FROM t GROUP BY g", Fraction(3, 2)
    for edge in (0.0, 0.25, 0.5, 0.75, 1.0):
        assert loss_at_least(text, both, lambda found, e=edge: column(found, "m") <= e, epsilon) <= epsilon  # type: ignore[misc]


def test_a_group_of_one_is_shown_no_more_often_than_delta_allows(duckdb: DuckDB) -> None:
    table = grouped(duckdb, RUNS, [0.0], declared=False)
    text, delta = "SELECT g, COUNT(*) AS n FROM t GROUP BY g", Fraction(1, 20)
    shown = asked(text, table, Fraction(1), "1/20").num_rows
    assert 0 < at_least(shown, RUNS) <= delta
    made = plan(text, {"t": table})
    paid = price(made, 1, "1/20")
    large = {name: DiscreteLaplace(one.scale * 2) for name, one in paid.noise.items()}
    too_much = answer(made, replace(paid, noise=large), Repeatable(4)).num_rows
    assert at_least(too_much, RUNS) > delta, "noise twice as large passes the threshold too often, and that shows"


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1.0, 5e-324, 1 - 2**-53])
def test_every_sum_that_can_come_out_of_one_table_can_come_out_of_its_neighbour(duckdb: DuckDB, value: float) -> None:
    """The attack of Mironov (2012): sums lie on one grid, whatever was summed, and each part of it is reached."""
    text = "SELECT g, SUM(x) AS s FROM t GROUP BY g"
    residues = []
    for values in ([0.0], [0.0, value]):
        table = grouped(duckdb, 2000, values)
        ((_, measure),) = plan(text, {"t": table}).measures.items()
        steps = column(asked(text, table, Fraction(2) ** 22), "s") / float(measure.step)
        assert (steps == np.round(steps)).all()
        residues.append(set((steps % 4).tolist()))
    assert residues[0] == residues[1] == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.REAL])
def test_every_average_is_the_quotient_of_two_whole_numbers(duckdb: DuckDB, kind: Kind) -> None:
    """An average tells no more than two noisy whole numbers do: it is computed from nothing else."""
    text = "SELECT g, AVG(x) AS m FROM t GROUP BY g"
    for values in ([0, 1], [0, 1, 1]):
        table = grouped(duckdb, 2000, values, kind=kind)
        made = plan(text, {"t": table})
        (figure,) = made.figures.values()
        for mean in column(asked(text, table, Fraction(20)), "m"):
            found = False
            for count in range(1, 60):
                total = round((mean - float(figure.centre)) * count / float(figure.step))
                noisy = {figure.total: np.array([total]), figure.count: np.array([count])}
                found = found or figure.worth(noisy)[0] == mean
            assert found


SHAPES = {
    "nobody but one": [1.0],
    "two at the ends": [0.0, 1.0],
    "a few": [0.2, 0.3, 0.9],
    "ten": [0.1 * i for i in range(10)],
    "all at an end": [1.0] * 30,
    "a hundred": [i / 100 for i in range(100)],
}


@pytest.mark.parametrize("loss", [{"epsilon": "1/10"}, {"epsilon": 1}, {"epsilon": 10}, {"rho": "1/100"}, {"rho": 2}])
@pytest.mark.parametrize("shape", SHAPES)
def test_error_bars_hold_as_often_as_they_say(duckdb: DuckDB, shape: str, loss: dict[str, int | str]) -> None:
    runs, values = 3000, SHAPES[shape]
    table = grouped(duckdb, runs, values)
    made = plan("SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY g", {"t": table})
    found = answer(made, price(made, **loss), Repeatable(1))
    true = {"n": len(values), "s": sum(values), "m": sum(values) / len(values)}
    for name, figure in true.items():
        off = abs(column(found, name) - figure) - 1e-6
        held = int((off <= column(found, f"{name}_error")).sum())
        assert bdtr(held, runs, 0.95) > FALSE_ALARM, name


@pytest.mark.parametrize("loss", [{"epsilon": "1/10"}, {"rho": "1/100"}])
def test_error_bars_that_are_half_as_long_are_caught(duckdb: DuckDB, loss: dict[str, int | str]) -> None:
    runs = 3000
    table = grouped(duckdb, runs, [0.5] * 30)
    made = plan("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", {"t": table})
    found = answer(made, price(made, **loss), Repeatable(1))
    for name, figure in (("n", 30), ("s", 15)):
        held = int((abs(column(found, name) - figure) <= column(found, f"{name}_error") / 2).sum())
        assert bdtr(held, runs, 0.95) < FALSE_ALARM


def test_the_price_is_what_the_noise_loses(duckdb: DuckDB) -> None:
    """By calculation: the losses of all measures add up to epsilon exactly."""
    table = grouped(duckdb, 3, [0.0])
    made = plan("SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, STDDEV(x) AS d FROM t GROUP BY g", {"t": table})
    paid: Price = price(made, "0.7")
    lost = [paid.noise[name].loss(measure.most).epsilon for name, measure in made.measures.items()]
    assert sum(lost) == Fraction(7, 10)
    noise = price(made, rho="0.7").noise
    squares = [measure.squares / (2 * noise[name].sigma_squared) for name, measure in made.measures.items()]
    assert sum(squares) == Fraction(7, 10)


@pytest.mark.parametrize("delta", ["0.9", "1/20", "1e-6", "1e-30"])
def test_all_groups_of_one_unit_together_stay_hidden_but_for_delta(delta: str) -> None:
    """By calculation: a unit with three rows may be alone in three groups."""
    made = plan(
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", {"visits": Table(CARD, DuckDB(), exp.select("1"))}
    )
    paid = price(made, 1, delta)
    assert paid.threshold is not None and made.rows.most == 3
    passes = [paid.noise["units"].tail(edge - 1) / 2 for edge in (paid.threshold, paid.threshold - 1)]
    assert 3 * passes[0] <= Fraction(delta)
    assert delta == "0.9" or 3 * passes[1] > Fraction(delta), "and no group is hidden that need not be"

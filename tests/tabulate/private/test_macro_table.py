"""Macro-tables: counts that are whole, add up exactly and stay within their bars; through the one door, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv
from tests.curator.clinics import BUDGET, clinic
from tests.noise.bits import Repeatable
from tests.tabulate.private.people import CARD, CITIES, people

from discreet.core.loss import Pure
from discreet.core.statement import Evidence
from discreet.curator.curator import Curator
from discreet.engines.duckdb import DuckDB
from discreet.engines.read import read
from discreet.errors import BadInput, BudgetExceeded
from discreet.verbs.tabulate.private.macro_table import MacroTable, Plan, compared
from discreet.verbs.tabulate.tables.cells import Cells

SILENT = 10**6
COLUMNS = ("city", "ill", "visits")
rows = st.tuples(
    st.integers(0, 9), st.sampled_from([*CITIES, "Bern", None]), st.sampled_from([True, False, None]), st.integers(0, 2)
)


def test_without_noise_every_total_is_what_is_there(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    found = MacroTable([["city", "ill"]], epsilon=SILENT).run(people(duckdb, fresh())).to_pylist()
    assert [(row["city"], row["ill"], row["n"]) for row in found] == [
        (None, None, 4),
        ("Oslo", None, 2),
        ("south", None, 2),
        ("Paris", None, 1),
        ("Rome", None, 1),
        (None, False, 2),
        (None, True, 2),
        ("Oslo", False, 0),
        ("Oslo", True, 2),
        ("south", False, 2),
        ("south", True, 0),
        ("Paris", False, 1),
        ("Paris", True, 0),
        ("Rome", False, 1),
        ("Rome", True, 0),
    ]
    assert {row["n_error"] for row in found} == {0}


TABLES = [[["city", "ill"], ["visits", "city"], ["ill", "visits"]], [["visits", "city", "ill"]], [["city"], ["ill"]]]


@pytest.mark.parametrize("by", TABLES, ids=str)
@pytest.mark.parametrize("spent", [{"epsilon": "1/4"}, {"rho": "1/50"}], ids=str)
@settings(max_examples=4, deadline=None)
@given(data=st.lists(rows, max_size=12), seed=st.integers(0, 999))
def test_counts_are_whole_and_every_total_is_the_sum_of_its_parts(
    by: list[list[str]], spent: dict[str, str], data: list[tuple[object, ...]], seed: int
) -> None:
    kinds = {"who": pa.int64(), "city": pa.string(), "ill": pa.bool_(), "visits": pa.int64(), "income": pa.float64()}
    columns = [*zip(*data, strict=True)] if data else [()] * 4
    arrays = zip(kinds.items(), [*columns, [0.5] * len(data)], strict=True)
    table = read(pa.table({name: pa.array(list(some), kind) for (name, kind), some in arrays}), CARD)
    method = MacroTable(by, **spent)  # type: ignore[arg-type]
    found = method.run(table, Repeatable(seed))
    assert found["n"].type == pa.int64()
    assert min(found["n"].to_pylist()) >= 0
    made = method.tables(CARD, found)
    assert [tuple(side.name for side in one.dimensions) for one in made] == list(map(tuple, by))
    assert not len(Cells.of(*made).broken())
    cells = [tuple(row.values())[:-2] for row in found.to_pylist()]
    assert len(set(cells)) == len(cells), "a cell that tables share is printed once"


def test_the_figures_of_least_squares_add_up_too(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    method = MacroTable.every(COLUMNS, 2, epsilon="1/4", levels=False, whole=False)
    found = method.run(people(duckdb, fresh()), Repeatable(3)).to_pylist()
    total = found[0]["n"]
    for name in COLUMNS:
        others = [one for one in COLUMNS if one != name]
        alone = [row["n"] for row in found if row[name] is not None and all(row[one] is None for one in others)]
        assert sum(alone) == pytest.approx(total)
    with pytest.raises(BadInput, match="whole numbers"):
        method.tables(CARD, pa.table({"n": [1.0]}))


def test_the_error_bars_hold() -> None:
    """Of 150 tables, each cell's bar is too short in no more than one of twenty, but for one chance in 1e9 of all."""
    plan = MacroTable([["city", "visits"]], epsilon="1/2").plan(CARD)
    true = np.array([[0, 0, 30], [2, 0, 1], [0, 9, 0]])
    entropy, runs = Repeatable(5), 150
    short: np.ndarray | int = 0
    for _ in range(runs):
        counted = [
            true.sum(axis=tuple(i for i, n in enumerate(("city", "visits")) if n not in s)) for s in plan.counts.sets
        ]
        noisy = [
            noise.add_all(np.asarray(one), entropy) for noise, one in zip(plan.counts.noises, counted, strict=True)
        ]
        agreed = plan.counts.agreed(noisy)
        near = {one: plan.counts.table(agreed, one) for one in plan.workload.printed}
        whole = plan.whole(near)
        both = frozenset({"city", "visits"})
        told, exact = plan.shown(both, near[both], whole[both]), plan.shown(both, near[both], true)
        short = short + (np.abs(told["n"].to_numpy() - exact["n"].to_numpy()) > told["n_error"].to_numpy())
    worst = int(np.max(short))
    assert not worst or betaincinv(worst, runs - worst + 1, 1e-9) <= 0.05


def test_the_same_is_charged_once_and_then_free(tmp_path: Path) -> None:
    method = MacroTable([["city"]], epsilon="1/2")
    with clinic(tmp_path / "clinic") as curator:
        quote = curator.quote(method, "visits")
        assert quote.loss == Pure("1/2")
        assert set(quote.errors) == {"city"}
        release = curator.release(method, "visits")
        assert release.statement.loss == Pure("1/2")
        assert release.statement.evidence is Evidence.PROVED
        assert "every total is exactly the sum of its parts" in release.recipe.steps[2]
        again = curator.release(MacroTable([("city",)], epsilon="0.5"), "visits")
        assert again.payload.equals(release.payload)
        assert curator.left("visits").table == BUDGET.__class__("2.5", BUDGET.delta)
        with pytest.raises(BudgetExceeded):
            curator.release(MacroTable([["city"]], epsilon=9), "visits")
        assert curator.verify().sound
    with Curator(tmp_path / "clinic") as curator:
        assert curator.release(method, "visits").payload.equals(release.payload)


def test_what_makes_no_sense_is_refused_before_anything_is_charged() -> None:
    for by in ([], [[]], [["ill", "city"], ["city", "ill"]]):
        with pytest.raises(BadInput, match="different sets"):
            MacroTable(by, epsilon=1).promise(CARD)
    with pytest.raises(BadInput, match="too much noise"):
        MacroTable([["city"]], epsilon="1e-12").promise(CARD)
    assert MacroTable([["city"]], epsilon="1e-12", whole=False).promise(CARD).loss == Pure("1e-12")
    with pytest.raises(BadInput, match="overlaps too much"):
        MacroTable(
            [["city", "ill", "visits"], ["city", "ill"], ["ill", "visits"], ["city", "visits"]], epsilon=1
        ).promise(CARD)


def test_asking_table_by_table_is_compared_with_making_all_at_once() -> None:
    method = MacroTable.every(COLUMNS, 2, epsilon=1, levels=False)
    found = {row["table"]: row for row in compared(method, CARD).to_pylist()}
    assert next(iter(found)) == "all rows"
    assert found["city × visits"]["cells"] == 9
    bars = method.expected_errors(CARD)
    for name in ("city × ill", "city × visits", "ill × visits"):
        assert found[name]["made_error"] == bars[name]
        assert found[name]["made_deviation"] < found[name]["asked_deviation"] < found[name]["asked_error"]
    assert found["all rows"]["made_error"] < found["all rows"]["asked_error"]
    gauss = compared(MacroTable.every(COLUMNS, 2, rho="1/8", levels=False), CARD).to_pylist()
    assert all(row["made_deviation"] < row["asked_deviation"] for row in gauss)


def test_an_error_bar_in_whole_numbers_reaches_from_0_to_the_largest_count_that_is_likely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures of least squares within 1.5: a count that was printed as another is as far from the ends as it is."""
    plan = Plan.of(CARD, [["city"]], Pure(1), levels=False)
    monkeypatch.setattr(Plan, "errors", lambda self, columns: np.full(3, 1.5))
    near, printed = np.array([0.25, 3.5, 2.0]), np.array([4, 0, 2])
    shown = plan.shown(frozenset(["city"]), near, printed)
    assert shown.column("n").to_pylist() == [4, 0, 2]
    assert shown.column("n_error").to_pylist() == [4, 5, 1]

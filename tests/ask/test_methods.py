"""Beyond one query, as methods: what is promised beforehand, exact counts, and never more than was promised."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ask.visits import CARD, ROWS, loaded
from tests.noise.bits import Repeatable

from discreet.core.card import Card, Column
from discreet.core.document import dumps, loads
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Loss, Pure
from discreet.core.statement import Evidence
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded
from discreet.engines.duckdb import DuckDB
from discreet.engines.read import read
from discreet.errors import BadInput, NotDeclared, NotFound
from discreet.noise.additive import Additive
from discreet.noise.entropy import Entropy, Integers
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.releases.method import Method
from discreet.verbs.ask.bounds import Bounds
from discreet.verbs.ask.distribution import MOST_BINS, Bins, Distribution
from discreet.verbs.tabulate.private.macro_table import MacroTable

SILENT = 10**6
"""An epsilon at which noise is hardly ever drawn: once in e**10000 draws."""
METHODS: list[Method[pa.Table]] = [
    Distribution("age", 20, epsilon="1/2"),
    Distribution("income", 200, epsilon="1/2"),
    Distribution("born", 30, rho="1/8"),
    MacroTable.every(["city", "grade", "member"], 2, epsilon="1/2"),
    MacroTable.every(["city", "grade"], 1, rho="1/8", whole=False),
    Bounds("change", "1/2"),
    Bounds("paid", epsilon="1/2"),
]


def visits(engine: Engine, name: str) -> Table:
    return loaded(engine, CARD, ROWS, name)


def values(name: str) -> list[Any]:
    place = [column.name for column in CARD.columns].index(name)
    return [row[place] for row in ROWS if row[place] is not None]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_promise_and_the_errors_are_known_beforehand(method: Method[pa.Table]) -> None:
    statement = method.promise(CARD)
    assert statement.unit == "person"
    assert statement.evidence is Evidence.PROVED
    assert statement.loss in (Pure("1/2"), Concentrated("1/8"))
    assert all(error is not None and error > 0 for error in method.expected_errors(CARD).values())
    assert method.expected_errors(CARD)
    assert "no more than 3 rows of each person counted" in method.steps(CARD)[0]


@pytest.mark.parametrize("name", ["age", "change", "income", "paid", "born"])
@pytest.mark.parametrize("bins", [1, 7, 64])
def test_a_distribution_counts_every_value_once_on_every_engine(
    engine: Engine, fresh: Callable[[], str], name: str, bins: int
) -> None:
    found = Distribution(name, bins, epsilon=SILENT).run(visits(engine, fresh()))
    there = values(name)
    low, high = found["low"].to_pylist(), found["high"].to_pylist()
    assert len(low) <= bins
    assert found["n_up_to"].to_pylist()[-1] == len(there)
    for a, b, n in zip(low, high, found["n"].to_pylist(), strict=True):
        last = b == high[-1] or CARD[name].kind in (Kind.INTEGER, Kind.DATE)
        assert n == sum(a <= one <= b if last else a <= one < b for one in there)
    assert found["share_up_to"].to_pylist()[-1] == 1


def test_ranges_and_quantiles_are_read_off(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    method = Distribution("age", 121, epsilon=SILENT)
    found = method.run(visits(duckdb, fresh()))
    ages = sorted(values("age"))
    count, error = method.between(CARD, found, 20, 59)
    assert count == sum(20 <= age <= 59 for age in ages)
    assert 0 <= error < 1
    assert method.quantile(found, "1/2") == ages[-(-len(ages) // 2) - 1]
    assert method.quantile(found, 1) == ages[-1]
    with pytest.raises(BadInput, match="No bins go from 20 to 200"):
        method.between(CARD, found, 20, 200)
    with pytest.raises(BadInput, match="between 0 and 1"):
        method.quantile(found, 2)


def test_the_errors_in_the_result_are_those_that_were_expected(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    table = visits(duckdb, fresh())
    method = Distribution("age", 20, epsilon="1/2")
    found, expected = method.run(table, Repeatable(1)), method.expected_errors(CARD)
    assert max(found["n_error"].to_pylist()) == expected["n"]
    assert max(found["n_up_to_error"].to_pylist()) == expected["n_up_to"]
    marginals = MacroTable.every(["city", "member"], 1, epsilon="1/2", whole=False)
    cells, bars = marginals.run(table, Repeatable(1)), marginals.expected_errors(CARD)
    assert cells["n_error"].to_pylist()[1:] == [bars["city"]] * 4 + [bars["member"]] * 2


def test_whole_numbers_and_dates_are_in_bins_of_whole_values() -> None:
    ages = Bins.of(CARD["age"], 10)
    assert (ages.starts[:2], ages.ends[:2], ages.ends[-1]) == ((0, 13), (12, 25), 120)
    assert len(Bins.of(CARD["age"], 1000)) == 121, "not more bins than values"
    days = Bins.of(CARD["born"], 3)
    assert days.starts[0] == dt.date(1920, 1, 1)
    assert days.ends[-1] == dt.date(2020, 12, 31)
    assert days.starts[1] - dt.timedelta(days=1) == days.ends[0]  # type: ignore[operator]
    moments = Column("at", Kind.TIMESTAMP, bounds=(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 3)))
    assert Bins.of(moments, 2).starts == (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2))
    assert Bins.of(Column("x", Kind.DECIMAL, bounds=(0, Decimal("0.5"))), 2).ends == (0.25, 0.5)


def test_marginals_are_one_table_and_null_is_all_of_a_column(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    found = MacroTable.every(["city", "grade", "member"], 2, epsilon=SILENT).run(visits(duckdb, fresh())).to_pylist()
    assert len(found) == 4 * 4 + 4 * 2 + 4 * 2 + 4 + 4 + 2 + 1
    place = [column.name for column in CARD.columns].index
    whole = [row for row in ROWS if row[place("city")] is not None and row[place("member")] is not None]
    for row in found:
        asked = {name: row[name] for name in ("city", "grade", "member") if row[name] is not None}
        expected = sum(all(one[place(name)] == value for name, value in asked.items()) for one in whole)
        assert row["n"] == expected


def test_results_are_drawn(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    table = visits(duckdb, fresh())
    for method, labels in (
        (Distribution("age", 121, epsilon=1), "0 to 5"),
        (MacroTable.every(["city", "member"], 2, epsilon=1), "Oslo × True"),
    ):
        (picture,) = method.pictures(method.run(table, Repeatable(2)))  # type: ignore[attr-defined]
        assert labels in picture.svg
    many = MacroTable.every(["city", "grade", "member"], 3, epsilon=1)
    assert many.pictures(many.run(table, Repeatable(2))) == ()


def test_bounds_enclose_what_is_there(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    table = visits(duckdb, fresh())
    assert Bounds("age", SILENT).run(table).to_pylist() == [{"low": 0, "high": 128, "outside": 0}]
    assert Bounds("income", SILENT).run(table)["high"].to_pylist() == [1024.0]
    few = Bounds("age", "1/100").run(table).to_pylist()[0]
    assert (few["low"], few["high"]) == (None, None)
    assert few["outside"] > len(ROWS)


def test_parameters_are_plain_data() -> None:
    for method in METHODS:
        assert loads(dumps(dict(method.parameters))) == method.parameters


@pytest.mark.parametrize(
    ("method", "error", "said"),
    [
        (Distribution("note", epsilon=1), BadInput, "over numbers or dates"),
        (Distribution("seen", epsilon=1), NotDeclared, "needs its bounds"),
        (Distribution("nowhere", epsilon=1), NotFound, "no column 'nowhere'"),
        (Distribution("age", 0, epsilon=1), BadInput, "number of bins must be 1 to 1,024"),
        (Distribution("age", MOST_BINS + 1, epsilon=1), BadInput, "number of bins must be 1 to 1,024"),
        (Distribution("age"), BadInput, "set epsilon or rho"),
        (Distribution("age", epsilon=1, rho=1), BadInput, "set epsilon or rho"),
        (Distribution("age", epsilon=0), BadInput, "above 0"),
        (Distribution("age", epsilon="1e-30"), BadInput, "scale"),
        (MacroTable.every(["city", "note"], epsilon=1), NotDeclared, "by 'note' needs its values"),
        (MacroTable([["city", "city"]], epsilon=1), BadInput, "a column once"),
        (MacroTable([["city"]]), BadInput, "set epsilon or rho"),
        (MacroTable([["city"]], epsilon="1e-30"), BadInput, "scale"),
        (MacroTable([["city"]], rho="1e-60"), BadInput, "scale"),
        (Bounds("city", 1), BadInput, "not for text"),
        (Bounds("age", "1e-30"), BadInput, "scale"),
    ],
    ids=str,
)
def test_what_cannot_be_promised_is_refused_beforehand(
    method: Method[pa.Table], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        method.promise(CARD)


def test_a_list_of_columns_is_not_one_text() -> None:
    with pytest.raises(BadInput, match="a list of columns"):
        MacroTable.every("city", 1, epsilon=1)
    with pytest.raises(BadInput, match="lists of columns"):
        MacroTable(["city"], epsilon=1)
    with pytest.raises(BadInput, match="no tables by 2 of 1 columns"):
        MacroTable.every(["city"], 2, epsilon=1)
    count = Card("t", (Column("n", Kind.BOOLEAN),))
    with pytest.raises(BadInput, match="called n would be confused with a count"):
        MacroTable([["n"]], epsilon=1).promise(count)


FEW = Card(
    "few",
    (
        Column("who", Kind.INTEGER),
        Column("city", Kind.TEXT, categories=("a", "b")),
        Column("ill", Kind.BOOLEAN),
        Column("x", Kind.INTEGER, bounds=(0, 9)),
    ),
    unit="who",
    rows_per_unit=2,
)
AUDITED: list[Method[pa.Table]] = [
    Distribution("x", 4, epsilon="1/2"),
    Distribution("x", 4, rho="1/8"),
    MacroTable.every(["city", "ill", "x"], 2, epsilon="1/2"),
    MacroTable.every(["city", "ill"], 1, rho="1/8"),
    Bounds("x", "1/2"),
]
rows = st.tuples(
    st.integers(0, 2), st.sampled_from(["a", "b", "c", None]), st.sampled_from([True, False, None]), st.integers(-5, 15)
)


@pytest.mark.parametrize("method", AUDITED, ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.lists(rows, min_size=1, max_size=12))
def test_a_person_changes_what_gets_noise_by_no_more_than_is_promised(
    method: Method[pa.Table], data: list[tuple[Any, ...]]
) -> None:
    """Without person 0, what every noise is added to is recorded, on the twin of the card, and the losses add up."""
    lost = _lost(_recorded(method, data), _recorded(method, [row for row in data if row[0] != 0]))
    assert lost <= _number(method.promise(FEW).loss)


def test_the_audit_would_notice() -> None:
    """As many rows as the card allows reach what is promised; on the table itself, which is not bounded, they pass."""
    data: list[tuple[Any, ...]] = [(0, "a", True, 0)] * 3
    method = Bounds("x", "1/2")
    assert _lost(_recorded(method, data), _recorded(method, [])) == Fraction(1, 2)
    assert _lost(_recorded(method, data, twin=False), _recorded(method, [])) > Fraction(1, 2)


def _recorded(
    method: Method[pa.Table], data: list[tuple[Any, ...]], *, twin: bool = True
) -> list[tuple[Additive, Integers]]:
    types = {"who": pa.int64(), "city": pa.string(), "ill": pa.bool_(), "x": pa.int64()}
    columns = zip(*data, strict=True) if data else ((),) * 4
    table = read(pa.table({n: pa.array(c, t) for (n, t), c in zip(types.items(), columns, strict=True)}), FEW)
    seen: list[tuple[Additive, Integers]] = []

    def add_all(self: Additive, given: Integers, entropy: Entropy) -> Integers:
        seen.append((self, np.array(given)))
        return given

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Additive, "add_all", add_all)
        method.run(bounded(table) if twin else table, Repeatable(1))
    table.engine.close()
    return seen


def _lost(here: list[tuple[Additive, Integers]], there: list[tuple[Additive, Integers]]) -> Fraction:
    lost = Fraction(0)
    for (noise, one), (same, other) in zip(here, there, strict=True):
        assert noise == same
        change = (one - other).ravel().tolist()
        if isinstance(noise, DiscreteLaplace):
            lost += sum(map(abs, change)) / noise.scale
        else:
            assert isinstance(noise, DiscreteGaussian)
            lost += sum(one * one for one in change) / (2 * noise.sigma_squared)
    return lost


def _number(loss: Loss | None) -> Fraction:
    assert isinstance(loss, Pure | Concentrated)
    return loss.epsilon if isinstance(loss, Pure) else loss.rho

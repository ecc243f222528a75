"""A second attack on `ask`: what was tried to read one person's value or presence, and did not work.

Each attempt is replayed with and without the person. What noise is added to moves by no more than is charged for; and
whatever is not noise is the same: whether there is an answer, its groups, its error bars, what is said of it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.ask.hostile import Neighbours
from tests.ask.test_sabotage import planned, require_bounded
from tests.noise.bits import Repeatable

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Pure
from discreet.core.table import Table
from discreet.curator.curator import Curator
from discreet.engines.bounded_table import bounded
from discreet.engines.duckdb import ROW_BY_ROW, DuckDB
from discreet.errors import BadInput, BadQuery, DiscreetError, LedgerError
from discreet.verbs.ask.answer import answer, measured
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import price
from discreet.verbs.ask.question import planned as question_planned
from discreet.verbs.ask.question import pose

SALARY = 91_234.56
TYPES = {
    Kind.TEXT: pa.string(),
    Kind.REAL: pa.float64(),
    Kind.DECIMAL: pa.decimal128(38, 20),
    Kind.DATE: pa.date32(),
    Kind.INTEGER: pa.int64(),
}
UNITS: dict[str, tuple[Kind, list[Any], list[Any]]] = {
    "texts that look alike": (Kind.TEXT, ["a"], ["A", "a ", "a\0", "á", "a\u0301", "ﬀ", "", "a" * 2000]),
    "zeros of both signs": (Kind.REAL, [0.0, -0.0], [5e-324, float("inf"), float("nan"), -1.0, 1e308]),
    "decimals that differ in the last digit": (
        Kind.DECIMAL,
        [Decimal("1.1"), Decimal("1.10")],
        [Decimal("1.10000000000000000001"), Decimal(10) ** 17, Decimal(-1)],
    ),
    "days at both ends": (Kind.DATE, [dt.date(1, 1, 1)], [dt.date(9999, 12, 31), dt.date(1970, 1, 1)]),
    "the ends of 64 bits": (Kind.INTEGER, [2**63 - 1], [-(2**63), 2**63 - 2, 0]),
}
"""By what was hoped for: the kind of a unit, the spellings of the one that goes, and the others."""
ASKED = (
    "SELECT COUNT(*) AS n, COUNT(DISTINCT who) AS p, SUM(x) AS s, MEDIAN(x) AS m FROM t",
    "SELECT who, COUNT(*) AS n FROM t GROUP BY who",
    "SELECT k, COUNT(*) AS n FROM (SELECT who, COUNT(*) AS k, MAX(x) AS m FROM t GROUP BY who) GROUP BY k",
    "SELECT COUNT(*) AS n, SUM(a.x + b.x) AS s FROM t AS a JOIN t AS b USING (who)",
    "SELECT SUM(x) AS s FROM (SELECT who, x FROM t UNION ALL SELECT DISTINCT who, x FROM t)",
    "SELECT COUNT(*) AS n FROM t AS a LEFT JOIN (SELECT who, k FROM t WHERE x > 9) AS b ON a.who = b.who AND a.k = b.k",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    """DuckDB as a workspace has it."""
    engine = DuckDB(settings=ROW_BY_ROW)
    yield engine
    engine.close()


def both(engine: DuckDB, card: Card, rows: list[tuple[Any, ...]], gone: Callable[[Any], bool]) -> Neighbours:
    """A table with and without those whose unit is gone, cut to its card."""
    found = []
    for kept in (rows, [row for row in rows if not gone(row[0])]):
        values = list(zip(*kept, strict=True)) or [()] * len(card.columns)
        arrays = [pa.array(list(one), TYPES[column.kind]) for one, column in zip(values, card.columns, strict=True)]
        name = engine.new_name("attacked")
        engine.load(name, pa.table(arrays, names=[column.name for column in card.columns]))
        shown = [sql.column(column.name) for column in card.columns]
        table = bounded(Table(card, engine, exp.select(*shown).from_(sql.table(name))))
        found.append({"t": table.store(engine.new_name("cut"))})
    return Neighbours(*found)


@pytest.mark.parametrize("hope", UNITS)
def test_units_that_look_alike_are_told_apart_and_cut_together(engine: DuckDB, hope: str) -> None:
    kind, target, others = UNITS[hope]
    columns = (
        Column("who", kind),
        Column("x", Kind.REAL, bounds=(0.0, 10.0)),
        Column("k", Kind.TEXT),
    )
    card = Card("t", columns, unit="who", rows_per_unit=2)
    whose = [*target * 5, *others, *others]
    rows = [(who, 10.0 - place % 3, f"k{place}") for place, who in enumerate(whose)]
    people = both(engine, card, rows, lambda who: who in target)
    for text in ASKED:
        plans = planned(text, people)
        assert plans is not None or kind in (Kind.REAL, Kind.DECIMAL), text  # which are not joined
        assert plans is None or require_bounded(text, plans) is not None


STAFF = Card(
    "t",
    (
        Column("who", Kind.TEXT),
        Column("salary", Kind.REAL, bounds=(0.0, 200_000.0)),
        Column("exact", Kind.DECIMAL),
        Column("raw", Kind.REAL),
        Column("big", Kind.INTEGER),
        Column("born", Kind.DATE),
        Column("note", Kind.TEXT),
    ),
    unit="who",
    rows_per_unit=1,
)


@pytest.fixture(scope="module")
def staff(engine: DuckDB) -> Neighbours:
    """Ordinary people with and without p77, who has what is at some end of everything."""
    hers = ("p77", SALARY, Decimal("99999999999999999.00000000000000000001"), float("inf"), -(2**63))
    rows: list[tuple[Any, ...]] = [(*hers, dt.date(9999, 12, 31), '\0,"\r\n%_!\\ ' * 90)]
    for n in range(20):
        rows.append((f"p{n}", 1000.0 * n, Decimal(n), float(n), n, dt.date(1980, 1, 1 + n), "x"))
    return both(engine, STAFF, rows, lambda who: who == "p77")


KEYS = (
    "exact", "raw", "big", "born", "note", "NULLIF(exact, 3)", "NULLIF(raw, 1)", "CAST(exact AS DOUBLE)", "SIGN(raw)",
    "LEAST(raw, 1)", "GREATEST(big, 0)", "born + INTERVAL 3 YEAR", "born - INTERVAL '-9' YEAR", "CAST(big AS TEXT)",
    "UPPER(note) || note", "EXTRACT(year FROM born)", "DATE_DIFF('month', born, DATE '0001-01-01')",
    "COALESCE(raw, exact)", "DATE_TRUNC('quarter', born)", "SUBSTRING(note, 900)",
    "CASE WHEN salary > 91234 THEN note ELSE 'x' END",
)  # fmt: skip
"""What groups may be made of, where hers cannot be shown, printed or computed with."""


@pytest.mark.parametrize("key", KEYS)
def test_whether_there_is_an_answer_depends_on_nobody(staff: Neighbours, key: str) -> None:
    """With the noise that hides every group, the answers with and without her are the same, to the byte."""
    texts = [
        f"SELECT {key} AS k, COUNT(*) AS n FROM t WHERE who >= 'p3' GROUP BY 1",
        f"SELECT {key} AS k, MEDIAN(salary) AS n FROM t WHERE salary > 91234.5 GROUP BY 1",
        f"SELECT m, COUNT(*) AS n FROM (SELECT who, MIN({key}) AS m FROM t GROUP BY who) GROUP BY m ORDER BY n LIMIT 3",
    ]
    for text in texts:
        try:
            plans = planned(text, staff)
        except BadQuery:
            continue
        if plans is None:  # MIN of some
            continue
        made = [answer(one, price(one, "0.001", "1e-9"), Repeatable(7)) for one in plans]
        shown = [one.drop_columns(["n"]) if plans[0].declared else one for one in made]  # a group that all know of
        assert shown[0].equals(shown[1]), text
        require_bounded(text, plans)


FAILING = (
    "SQRT(salary - 91234)", "LN(salary - 91234)", "1 / (salary - 91234.56)", "EXP(salary)", "big * big", "-big",
    "ABS(big)", "big - 1", "CAST(raw AS INTEGER)", "CAST(exact AS INTEGER)", "ROUND(raw)", "raw - raw",
    "CAST(note AS INTEGER)", "POWER(salary, 8) * POWER(salary, 8)", "born + INTERVAL 1 DAY - born", "MOD(big, -1)",
    "10 % big", "LENGTH(note) * big",
)  # fmt: skip
"""What would fail on her row alone, if it could be asked."""


@pytest.mark.parametrize("made", FAILING)
def test_what_fails_on_one_row_alone_is_refused_or_fails_nowhere(staff: Neighbours, made: str) -> None:
    for text in (f"SELECT SUM({made}) AS s FROM t", f"SELECT COUNT(*) AS n FROM t WHERE who = 'p77' AND {made} > 0"):
        try:
            plans = [plan(text, tables) for tables in (staff.present, staff.absent)]
        except DiscreetError as refusal:
            assert "91234.56" not in str(refusal) or "91234.56" in made
            continue
        for one in plans:
            one.rows.engine.fetch(sql.without_attempts(one.query))  # nothing had to be caught
            measured(one.parts[0])
        require_bounded(text, (plans[0], plans[1]))


ODD_PRICES: list[dict[str, Any]] = [
    {"epsilon": value}
    for value in (
        0,
        -1,
        "-0.1",
        float("nan"),
        float("inf"),
        "1e-999",
        "1e4000",
        "1/0",
        True,
        "",
        "0x1",
        "１/0",
        "1e-40",
    )
] + [{"rho": 0}, {"rho": "1e-300"}, {"rho": -1}, {"epsilon": 1, "rho": 1}, {}]


@pytest.mark.parametrize("paid", ODD_PRICES, ids=str)
def test_odd_prices_are_refused_before_anything_is_charged(staff: Neighbours, paid: dict[str, Any]) -> None:
    asked = question_planned("SELECT COUNT(*) AS n FROM t", staff.present)
    with pytest.raises(BadInput):
        pose(asked, {"t": "it"}, **paid)


@pytest.mark.parametrize("delta", [0, 1, 2, -1, "nan", float("inf")])
def test_odd_deltas_are_refused_before_anything_is_charged(staff: Neighbours, delta: Any) -> None:
    asked = question_planned("SELECT note, COUNT(*) AS n FROM t GROUP BY note", staff.present)
    with pytest.raises(BadInput):
        pose(asked, {"t": "it"}, epsilon=1, delta=delta)


@pytest.mark.parametrize("delta", ["1e-999", "1e-6", "0.999"])
def test_a_group_of_one_is_hidden_at_every_delta(staff: Neighbours, delta: str) -> None:
    """Her group passes with a chance of at most delta, and of a quarter where that is more."""
    made = plan("SELECT note, COUNT(*) AS n FROM t GROUP BY note", staff.present)
    paid = price(made, 1, delta)
    assert paid.threshold is not None
    assert paid.threshold >= 1
    shown = paid.noise["units"].tail(paid.threshold - 1) / 2
    assert float(shown) <= min(float(delta), 0.25) * (1 + 1e-9)


def test_no_key_of_one_question_pays_for_another(tmp_path: Path) -> None:
    """Keys of the second table of a join are made of the key that was given: they cannot be paid for cheaply before."""
    card = Card(
        "t", (Column("who", Kind.INTEGER), Column("x", Kind.REAL, bounds=(0.0, 1.0))), unit="who", rows_per_unit=1
    )
    rows = pa.table({"who": pa.array([1, 2, 3], pa.int64()), "x": [0.1, 0.2, 0.3]})
    tables = {"one": (rows, card), "two": (rows, card)}
    with Curator.create(tmp_path / "w", tables, Approximate(3, "1e-6")) as curator:
        curator.ask("SELECT COUNT(*) AS n FROM two", epsilon="0.01", key="k on two")
        joined = "SELECT COUNT(*) AS n FROM one JOIN two USING (who)"
        with pytest.raises(LedgerError):
            curator.ask(joined, epsilon=1, key="k")
        spent = curator.ledger.account("two").total.core
        answered = curator.ask(joined, epsilon=1)
        again = curator.ask("select count(1) from one as a join two as b on b.who = a.who", epsilon=1, key="other")
        assert again.free
        assert again.table.column(0) == answered.table.column(0)
        assert isinstance(spent, Pure)
        assert curator.ledger.account("two").total.core == Pure(spent.epsilon + 1)
        assert curator.verify().sound

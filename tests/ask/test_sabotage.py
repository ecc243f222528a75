"""Sabotage: the analysis of expressions lies, and still no measure moves by more than is charged.

Every question is planned by an analysis that is wrong about bounds, about NULL, about domains, about what is a column,
and about how many rows a join has; it is then run on neighbouring tables of hostile values. What noise is added to is
compared: the exact loss of all its differences is at most what was charged. Whether there is an answer, and which
declared groups are in it, depends on nobody.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp
from tests.ask.hostile import Neighbours, Questions, lying, neighbours

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.table import Table
from discreet.engines import measures
from discreet.engines.contribution import owned_rows
from discreet.engines.duckdb import ROW_BY_ROW, DuckDB
from discreet.engines.measures import measured_query, values_counted
from discreet.errors import BadInput
from discreet.verbs.ask.answer import Measured, measured
from discreet.verbs.ask.mode import Mode
from discreet.verbs.ask.plan import Part, Plan, plan
from discreet.verbs.ask.postprocess import MeasuredMean
from discreet.verbs.ask.price import Price, price
from discreet.verbs.ask.scalar import _RULES

_number = itertools.count()
Planner: TypeAlias = Callable[[str, Neighbours], tuple[Plan, Plan] | None]
_EACH = 25
"""Questions that are accepted, of every pair of neighbours."""
_EACH_SHORT, _SHORT = 48, 250
"""The same of short ones, and their length in characters."""
_TELLING, _OTHERS = (3, 4), (0, 1, 2, 5, 6, 7, 8, 9)
"""Seeds: those of the neighbours by whom missing clamps are noticed soon, and others."""


def planned(text: str, both: Neighbours) -> tuple[Plan, Plan] | None:
    """The plans for both neighbours, or neither has one, for the same reason."""
    made: list[Plan | str] = []
    for tables in (both.present, both.absent):
        try:
            made.append(plan(text, tables))
        except Exception as error:  # noqa: BLE001  # a lie may make the analysis itself fail, before any row is read
            made.append(f"{type(error)} {error}")
    one, other = made
    if isinstance(one, Plan) and isinstance(other, Plan):
        assert one.measures == other.measures
        return one, other
    assert one == other
    return None


def planned_once(text: str, both: Neighbours) -> tuple[Plan, Plan] | None:
    """As ``planned``, by planning for one of the two: the plan of the other differs in where its rows are."""
    try:
        made = plan(text, both.present)
    except Exception:  # noqa: BLE001  # a lie may make the analysis itself fail, before any row is read
        return None
    return made, replace(made, parts=tuple(map(_of_other, made.parts)))


def _of_other(part: Part) -> Part:
    query = part.rows.query.copy()
    for table in query.find_all(exp.Table):
        table.this.set("this", re.sub(r"_0(_kept)?$", r"_1\1", table.name))
    return replace(part, rows=replace(part.rows, owned=replace(part.rows.owned, query=query)))


def planned_if_short(text: str, both: Neighbours) -> tuple[Plan, Plan] | None:
    """As ``planned_once``, of questions that cost little: short ones without quantiles, whose queries are long."""
    cheap = len(text) <= _SHORT and not re.search("MEDIAN|QUANTILE|MIN|MAX", text)
    return planned_once(text, both) if cheap else None


def require_bounded(text: str, plans: tuple[Plan, Plan]) -> Fraction | None:
    """The exact loss of everything that differs between neighbours, which is at most what is charged; its share."""
    try:
        paid = price(plans[0], 1, "1e-6")
    except BadInput:
        return None
    lost = Fraction(0)
    for part, counterpart in zip(plans[0].parts, plans[1].parts, strict=True):
        one, other = measured(part), measured(counterpart)
        if part.declared:
            assert one.groups == other.groups
        lost += _lost_by_measures(text, part, paid, one, other) + _lost_by_choices(part, paid, one, other)
    assert lost <= 1, f"{text}: loses {float(lost)} of 1"
    return lost


def _lost_by_measures(text: str, made: Part, paid: Price, one: Measured, other: Measured) -> Fraction:
    lost = Fraction(0)
    for name, measure in made.measures.items():
        a, b = (dict(zip(map(repr, found.groups), found.figures[name].tolist(), strict=True)) for found in (one, other))
        changes = [abs(a.get(group, 0) - b.get(group, 0)) for group in a.keys() | b.keys()]
        assert sum(changes) <= measure.most, f"{text}: {name} moves by {sum(changes)}, not {measure.most}"
        assert sum(change**2 for change in changes) <= measure.squares, text
        if name == made.units:
            own = [(a.get(group) or b.get(group) or 0) for group in a.keys() ^ b.keys()]
            assert len(own) <= made.rows.owned.groups, text
            assert max(own, default=0) <= measure.each, text
        loss = paid.noise[name].loss(max(sum(changes), 1))
        assert isinstance(loss, Pure)
        lost += loss.epsilon if any(changes) else 0
    return lost


def _lost_by_choices(made: Part, paid: Price, one: Measured, other: Measured) -> Fraction:
    lost = Fraction(0)
    for name, quantile in made.quantiles.items():
        nobody: np.ndarray[Any, Any] = np.zeros(quantile.slices, dtype=np.int64)
        a, b = one.sliced[name], other.sliced[name]
        moved = 0
        for group in a.keys() | b.keys():
            scores = [quantile.scores(counts.get(group, nobody)) for counts in (a, b)]
            moved += int(np.abs(scores[0] - scores[1]).max())
        assert moved <= quantile.sensitivity
        lost += paid.choices[name].loss(moved, monotone=isinstance(quantile, Mode)).epsilon if moved else 0
    return lost


def replay(
    seed: int,
    engine: Engine,
    count: int,
    *,
    lies: bool = True,
    planned: Planner = planned,
    question: Callable[[Questions], str] = Questions.question,
) -> Iterator[tuple[str, Fraction]]:
    """Questions about one pair of neighbours, and what share of the charge each of them really loses."""
    random = Random(seed)  # noqa: S311
    both, asked = neighbours(random, engine, f"sabotage_{seed}_{next(_number)}"), Questions(random)
    found = 0
    for turn in range(100 * count):
        text = question(asked)
        with lying(seed * 1000 + turn, 0.4 if lies else 0.0):
            plans = planned(text, both)
            lost = None if plans is None else require_bounded(text, plans)
        if lost is not None:
            found += 1
            yield text, lost
        if found == count:
            return


@pytest.fixture(scope="module")
def duckdb() -> Iterator[DuckDB]:
    """DuckDB as a workspace has it."""
    engine = DuckDB(settings=ROW_BY_ROW)
    yield engine
    engine.close()


@pytest.mark.parametrize("seed", [*_TELLING, *(pytest.param(n, marks=pytest.mark.slow) for n in _OTHERS)])
def test_no_lie_makes_a_measure_move_by_more_than_is_charged(duckdb: DuckDB, seed: int) -> None:
    planner = planned_once if seed == _TELLING[-1] else planned
    assert len(list(replay(seed, duckdb, _EACH, planned=planner))) == _EACH


@pytest.mark.parametrize("seed", [30, 31, 32])
def test_nor_in_many_short_questions(duckdb: DuckDB, seed: int) -> None:
    """With the others some 200 questions whenever the tests run."""
    assert len(list(replay(seed, duckdb, _EACH_SHORT, planned=planned_if_short))) == _EACH_SHORT


@pytest.mark.parametrize("seed", [40, 41, *(pytest.param(n, marks=pytest.mark.slow) for n in range(42, 60))])
def test_nor_in_questions_around_others(duckdb: DuckDB, seed: int) -> None:
    found = list(replay(seed, duckdb, _EACH, planned=planned_once, question=Questions.nested))
    assert len(found) == _EACH


@pytest.mark.parametrize(("seed", "count"), [(11, 8), pytest.param(12, 30, marks=pytest.mark.slow)])
def test_nor_on_postgres(postgres: Engine, seed: int, count: int) -> None:
    assert len(list(replay(seed, postgres, count))) == count


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_nor_on_spark(spark: Engine, count: int) -> None:
    assert len(list(replay(13, spark, count, planned=planned_once))) == count


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 500))
def test_no_lie_does_in_ten_thousand_questions(duckdb: DuckDB, seed: int) -> None:
    assert len(list(replay(seed, duckdb, _EACH, planned=planned_once))) == _EACH


@pytest.mark.parametrize("seed", [20, pytest.param(21, marks=pytest.mark.slow)])
def test_the_honest_analysis_reaches_what_is_charged(duckdb: DuckDB, seed: int) -> None:
    """So a sensitivity that is half of what it must be would be seen."""
    shares = (share for _, share in replay(seed, duckdb, _EACH, lies=False, planned=planned_once))
    assert any(share > Fraction(1, 2) for share in shares)


def test_without_the_clamps_the_same_replay_finds_a_person(duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "clamped", lambda number, low, high: number)
    with pytest.raises(AssertionError, match="moves by"):
        for seed in _TELLING:
            list(replay(seed, duckdb, _EACH, planned=planned_once))


def test_without_the_cut_of_public_rows_too(duckdb: DuckDB) -> None:
    """A lie about how many public rows have one key costs rows, and would cost privacy without the cut."""
    both = neighbours(Random(2), duckdb, "sabotage_cut")  # noqa: S311
    text = "SELECT COUNT(*) AS n FROM t JOIN p ON c = pc"
    honest = plan(text, both.present)
    with lying(1, 0.0):  # it says 1
        plans = planned(text, both)
        assert plans is not None
        assert plans[0].rows.most < honest.rows.most
        require_bounded(text, plans)
        query = plans[0].query.copy()
    for condition in list(query.find_all(exp.Where)):
        condition.pop()
    assert duckdb.fetch(query).column(0)[0].as_py() > measured(plans[0].parts[0]).figures["m0"][0]


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 30))])
def test_no_lie_makes_a_mean_of_many_rows_move_by_more_than_is_charged(duckdb: DuckDB, seed: int) -> None:
    """However few rows there are of those that the card counts on."""
    random, furthest, found = Random(seed), Fraction(0), 0  # noqa: S311
    for turn in range(30):
        both, asked = neighbours(random, duckdb, f"sabotage_mean_{seed}_{turn}"), Questions(random)
        for tables in (both.present, both.absent):
            card = tables["t"].card
            columns = tuple(replace(one, required=True) for one in card.columns)
            tables["t"] = replace(tables["t"], card=replace(card, columns=columns, at_least=(1, 2, 5, 40)[turn % 4]))
        for figure in ("AVG(i)", "AVG(x)", f"AVG({asked.number(1)})", f"AVG({asked.whole(2)})"):
            with lying(seed * 1000 + turn, 0.4 if turn % 2 else 0.0):
                plans = planned_once(f"SELECT {figure} AS m FROM t", both)
                lost = None if plans is None else require_bounded(figure, plans)
            if plans is not None and lost is not None and isinstance(plans[0].figures["f0"], MeasuredMean):
                furthest, found = max(furthest, lost), found + 1
    assert found > 20 and furthest > Fraction(1, 3)


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.TEXT])
@pytest.mark.parametrize("server", ["duckdb", "postgres"])
def test_a_lie_about_the_kind_of_keys_multiplies_no_rows(
    request: pytest.FixtureRequest, server: str, kind: Kind
) -> None:
    """2**53 as a double is equal to two whole numbers, and 1 to two texts, each of which may count once."""
    engine: Engine = request.getfixturevalue(server)
    keys: tuple[Any, ...] = {Kind.INTEGER: (2.0**53, 2**53, 2**53 + 1), Kind.TEXT: (1, "1", "01")}[kind]
    name = f"kinds_{server}_{kind.value}"
    types: tuple[Any, ...] = (pa.float64(), pa.int64()) if kind is Kind.INTEGER else (pa.int64(), pa.string())
    engine.load(name, pa.table({"u": pa.array([7], pa.int64()), "x": pa.array([keys[0]], types[0])}))
    engine.load(f"{name}_public", pa.table({"x": pa.array(keys[1:], types[1])}))
    who, lie = Column("u", Kind.INTEGER), Column("x", kind)
    private, public = Card("t", (who, lie), unit="u", rows_per_unit=1), Card("p", (lie,), public=True)
    left, right = (
        owned_rows(Table(card, engine, exp.select(*(sql.column(one.name) for one in card.columns)).from_(table)))
        for card, table in ((private, name), (public, f"{name}_public"))
    )
    on = [(sql.column("c1"), sql.column("c0"))]
    joined, full = (left.join(right, on, [kind], how=how, matches=1) for how in ("inner", "left"))
    for rows in (joined, full, left.matched(right, on, [kind], "c2")):
        found = engine.fetch(exp.select(sql.named(sql.count_rows(), "n")).from_(rows.query.subquery("r")))
        assert found.column("n")[0].as_py() <= rows.most == 1


def test_no_more_values_are_counted_than_are_listed(duckdb: DuckDB) -> None:
    """Two whole numbers that are equal to the same double are two values."""
    duckdb.load("listed", pa.table({"u": [1, 1, 1], "x": [2**53, 2**53 + 1, 5]}))
    card = Card("t", (Column("u", Kind.INTEGER), Column("x", Kind.INTEGER)), unit="u", rows_per_unit=3)
    rows = owned_rows(Table(card, duckdb, exp.select("u", "x").from_("listed")))
    measure = values_counted(rows, sql.column("c1"), [sql.literal(2.0**53)], grouped=False)
    found = duckdb.fetch(measured_query(rows, {}, {"n": measure.sql}))
    assert found.column("n")[0].as_py() <= measure.most == measure.each == 1


def used(unused: set[type[exp.Expr]], question: Callable[[Questions], str], turns: int = 3000) -> None:
    """Take out what occurs in some questions."""
    asked = Questions(Random(1))  # noqa: S311
    for _ in range(turns):
        if not unused:
            return
        unused -= {type(node) for node in sqlglot.parse_one(question(asked), dialect="duckdb").walk()}


def test_the_questions_use_every_function_that_is_accepted() -> None:
    unused: set[type[exp.Expr]] = set(_RULES)
    used(unused, Questions.question)
    assert not unused


_ARGUMENTS = ("i", "b", "x, i", "i, 0.5", "")
_AROUND = {
    "aggregates": "SELECT {} AS a FROM t",
    "those of one unit": "SELECT SUM(a) AS s FROM (SELECT u, {} AS a FROM t GROUP BY u)",
    "windows of one unit": (
        "SELECT COUNT(*) AS n FROM (SELECT u, {} OVER (PARTITION BY u ORDER BY x) AS a FROM t) WHERE a IS NOT NULL"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", _AROUND)
def test_and_every_aggregate_and_window(duckdb: DuckDB, where: str) -> None:
    """Whatever sqlglot knows is tried with several arguments: what is accepted must occur in the questions."""
    tables = neighbours(Random(3), duckdb, f"accepted_{next(_number)}").present  # noqa: S311
    accepted: set[type[exp.Expr]] = set()
    for function in exp.ALL_FUNCTIONS:
        if not issubclass(function, exp.AggFunc) and (where != "windows of one unit" or function in _RULES):
            continue
        name = function.sql_name()
        calls = [f"{name}({one})" for one in _ARGUMENTS] + [f"{name}(0.5) WITHIN GROUP (ORDER BY x)"]
        for text in map(_AROUND[where].format, calls):
            try:
                plan(text, tables)
            except Exception:  # noqa: BLE001, S112  # refused, in whichever words
                continue
            accepted |= {type(one) for one in sqlglot.parse_one(text, dialect="duckdb").find_all(function)}
    assert len(accepted) >= 4
    for question in (Questions.question, Questions.in_other_words):
        used(accepted, question)
    assert not accepted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 80))
def test_nor_in_other_words(duckdb: DuckDB, seed: int) -> None:
    found = list(replay(seed, duckdb, _EACH, planned=planned_once, question=Questions.in_other_words))
    assert len(found) == _EACH

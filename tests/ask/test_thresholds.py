"""Sessions of thresholds: what they tell, what they cost, and that no count moves further than their noise is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.ask.hostile import Questions, lying, neighbours
from tests.ask.test_results import CARD, ROWS
from tests.ask.visits import PEOPLE_CARD, loaded
from tests.noise.bits import Repeatable

import discreet as dc
from discreet.core.loss import Pure
from discreet.core.table import Table
from discreet.curator.curator import Curator
from discreet.engines.duckdb import ROW_BY_ROW, DuckDB
from discreet.errors import BadInput, BadQuery, BudgetExceeded, DiscreetError, NoPromise, Refused
from discreet.verbs.ask import thresholds
from discreet.verbs.ask.answer import measured
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.thresholds import Thresholds, ThresholdSession, count_of

OLD = "SELECT COUNT(*) FROM t WHERE age > {}"


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Table]]:
    engine = DuckDB()
    people = [(i, "Oslo", 1.5) for i in range(30)]
    yield {"t": loaded(engine, CARD, ROWS, "t"), "people": loaded(engine, PEOPLE_CARD, people, "people")}
    engine.close()


def session(tables: dict[str, Table], epsilon: object, positives: int = 1, seed: int = 1) -> ThresholdSession:
    declared = Thresholds(epsilon, positives)  # type: ignore[arg-type]
    return ThresholdSession(declared, CARD, lambda sql, use: use(plan(sql, tables)), entropy=Repeatable(seed))


def test_it_tells_what_is_above_until_enough_was(tables: dict[str, Table]) -> None:
    asked = session(tables, 1000, positives=2)
    assert [asked.above(OLD.format(age), 30) for age in (80, 70, 20)] == [False, False, True]
    assert asked.above("SELECT COUNT(DISTINCT person) FROM t", 29) and asked.left == 0
    with pytest.raises(NoPromise, match="all its 2 positives"):
        asked.above(OLD.format(80), 30)


def test_as_often_wrong_as_it_says(tables: dict[str, Table]) -> None:
    """Of ten questions at the distance of the error none is wrong, 95 times in 100 or more. False positives: 1e-9."""
    made, runs, right = plan("SELECT COUNT(*) FROM t", tables), 200, 0
    for seed in range(runs):
        asked = ThresholdSession(Thresholds(1), CARD, lambda _, use: use(made), entropy=Repeatable(seed))
        right += not any(asked.above("", len(ROWS) + asked.error(10)) for _ in range(10) if asked.left)
    assert binom.ppf(1e-9, runs, 0.95) <= right


def test_the_loss_is_what_was_asked_for_and_names_differ() -> None:
    one, other = Thresholds("0.3", 5), Thresholds("0.3", 5)
    assert one.promise(CARD).loss == Pure("0.3")
    assert one.parameters != other.parameters
    assert one.mechanism(CARD).sensitivity == CARD.rows_per_unit
    with pytest.raises(BadInput, match="positives"):
        Thresholds(1, 0).promise(CARD)
    with pytest.raises(BadInput):
        Thresholds("1e-17").promise(CARD)


REFUSED = {
    "SELECT SUM(age) FROM t": "one count",
    "SELECT city, COUNT(*) FROM t GROUP BY city": "one count",
    "SELECT COUNT(*), COUNT(DISTINCT city) FROM t": "one count",
    "SELECT COUNT(*) + 1 FROM t": "one count",
    "SELECT COUNT(*) FROM t HAVING COUNT(*) > 3": "one count",
    "SELECT COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM t WHERE age > 3": "one count",
    "SELECT SUM(COUNT(*)) OVER () FROM t": "one count",
    "SELECT MEDIAN(age) FROM t": "one count",
    "SELECT DISTINCT city FROM t": "one count",
    "SELECT COUNT(*) FROM people": "charged to it alone",
    "SELECT COUNT(*) FROM t JOIN people USING (person)": "charged to it alone",
    "SELECT COUNT(*) FROM t WHERE person IN (SELECT person FROM people)": "charged to it alone",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.person = b.person": "could change this count by 4",
    "SELECT COUNT(*) FROM (SELECT age FROM t UNION ALL SELECT age FROM t)": "could change this count by 4",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_count_of_its_table_is_refused_and_costs_nothing(tables: dict[str, Table], text: str) -> None:
    asked = session(tables, 1)
    with pytest.raises(BadQuery, match=REFUSED[text]):
        asked.above(text, 3)
    with pytest.raises(BadInput, match="whole number"):
        asked.above(OLD.format(3), 2.5)  # type: ignore[arg-type]
    assert asked.left == 1


def test_a_question_that_fails_ends_the_session(tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise Refused("The question could not be answered.")

    asked = session(tables, 1000)
    monkeypatch.setattr(thresholds, "measured", fails)
    with pytest.raises(Refused):
        asked.above(OLD.format(3), 3)
    monkeypatch.undo()
    with pytest.raises(NoPromise):
        asked.above(OLD.format(3), 3)


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 40))])
def test_no_lie_makes_a_count_move_further_than_the_noise_is_for_or_rise(seed: int) -> None:
    """The analysis lies, and values are hostile: without a unit a count is less by what is paid for at most."""
    random, engine, found, moved = Random(seed), DuckDB(settings=ROW_BY_ROW), 0, 0  # noqa: S311
    both, questions = neighbours(random, engine, f"thresholds_{seed}"), Questions(random)
    most = both.present["t"].card.rows_per_unit or 1
    for turn in range(4000):
        figure = random.choice(("COUNT(*)", "COUNT(DISTINCT u)", f"COUNT(DISTINCT {questions.text(1)})"))
        text = f"SELECT {figure} AS n FROM {questions._source()} WHERE {questions.truth(2)}"
        with lying(seed * 10_000 + turn, 0.4):
            try:
                parts = [count_of(plan(text, one), "t", most) for one in (both.present, both.absent)]
            except (DiscreetError, ArithmeticError, ValueError, TypeError, AssertionError):
                continue
            here, there = (int(measured(part).figures[name][0]) for part, name in parts)
        assert 0 <= here - there <= most, text
        found, moved = found + 1, moved + (here != there)
        if found == 25:
            break
    engine.close()
    assert found == 25 and moved


def test_it_is_charged_when_it_starts_and_every_time(tmp_path: Path) -> None:
    rows = pa.table({"person": list(range(40)), "age": [20 + i for i in range(40)]})
    columns = (dc.Column("person", dc.Kind.INTEGER, "identifier"), dc.Column("age", dc.Kind.INTEGER, bounds=(0, 99)))
    card = dc.Card("visits", columns, unit="person", rows_per_unit=1)
    with Curator.create(tmp_path / "clinic", {"visits": (rows, card)}, Pure(201)) as curator:
        asked = curator.thresholds("visits", epsilon=100, positives=1)
        assert not asked.above("SELECT COUNT(*) FROM visits WHERE age > 50", 30)
        assert curator.left("visits").table == Pure(101)
        assert asked.above("SELECT COUNT(*) FROM visits WHERE age > 25", 20)
        curator.thresholds("visits", epsilon=100)
        assert curator.left("visits").table == Pure(1)
        with pytest.raises(BudgetExceeded):
            curator.thresholds("visits", epsilon=2)
        assert curator.verify().sound

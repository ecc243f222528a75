"""The most frequent of declared values is chosen privately, and is what SQL says where there is no noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
import sqlglot
from scipy.stats import binom
from tests.ask.test_results import CARD, ROWS
from tests.ask.visits import loaded
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import NotDeclared
from discreet.noise.selection import Exponential, PermuteAndFlip
from discreet.verbs.ask.answer import answer, exact_answer, measured
from discreet.verbs.ask.mode import Mode
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import price
from discreet.verbs.ask.question import fingerprint, normal

QUESTIONS = (
    "SELECT city, MODE(grade) AS m, MODE(age > 50) AS o FROM t GROUP BY city ORDER BY 1",
    "SELECT MODE(city) AS c, MODE() WITHIN GROUP (ORDER BY grade) AS g FROM t",
    "SELECT MODE(city) FILTER (WHERE age > 400) AS c FROM t",
    "SELECT c, n FROM (SELECT MODE(city) AS c, COUNT(*) AS n FROM t) WHERE c >= 'Oslo'",
)


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Table]]:
    engine = DuckDB()
    yield {"t": loaded(engine, CARD, ROWS, "t")}
    engine.close()


@pytest.mark.parametrize("text", QUESTIONS)
def test_without_noise_it_is_the_most_frequent_value(tables: dict[str, Table], text: str) -> None:
    shown = exact_answer(plan(text, tables), {})
    wanted = tables["t"].engine.fetch(sqlglot.parse_one(text, dialect="duckdb"))  # type: ignore[arg-type]
    names = [name for name in shown.column_names if not name.endswith("_error")]
    assert shown.select(names).to_pylist() == wanted.to_pylist()


def test_it_loses_what_is_paid(tables: dict[str, Table]) -> None:
    made = plan(QUESTIONS[0], tables)
    for paid, kind in ((price(made, 1), PermuteAndFlip), (price(made, rho=Fraction(1, 8)), Exponential)):
        assert [type(one) for one in paid.choices.values()] == [kind] * 2
        lost = [one.loss(CARD.rows_per_unit or 0, monotone=True) for one in paid.choices.values()]
        assert sum(one.epsilon**2 / 8 for one in lost) <= Fraction(1, 8) or sum(one.epsilon for one in lost) == 1


def test_a_unit_moves_the_scores_the_same_way_and_by_its_rows(tables: dict[str, Table]) -> None:
    made = plan("SELECT city, MODE(grade) AS m FROM t GROUP BY city", tables)
    without = plan("SELECT city, MODE(grade) AS m FROM t WHERE person <> 3 GROUP BY city", tables)
    before, after = (measured(one.parts[0]).sliced["q0"] for one in (made, without))
    moved = [int(change) for group in before for change in before[group] - after[group]]
    assert min(moved) >= 0
    assert 0 < sum(moved) <= made.quantiles["q0"].sensitivity == CARD.rows_per_unit


def test_the_right_value_is_chosen_as_often_as_permute_and_flip_does(tables: dict[str, Table]) -> None:
    """Of two values, the better by s rows is missed with probability e**-(s/scale) / 2. False positives: 1e-9."""
    made = plan("SELECT MODE(grade) AS m FROM t", tables)
    paid, entropy, runs = price(made, Fraction(1, 10)), Repeatable(3), 300
    (counts,) = measured(made.parts[0]).sliced["q0"].values()
    missed = 0.5 * float(2.718281828459045 ** -float(abs(int(counts[0]) - int(counts[1])) / paid.choices["q0"].scale))
    choice = made.quantiles["q0"]
    best = choice.best(counts)
    hits = sum(choice.choose(counts, paid.choices["q0"], entropy) == best for _ in range(runs))
    assert binom.ppf(1e-9, runs, 1 - missed) <= hits <= binom.ppf(1 - 1e-9, runs, 1 - missed)
    assert answer(made, paid).column("m")[0].as_py() in (1, 2)
    assert paid.loss == Pure(Fraction(1, 10))


LARGEST = (
    "SELECT city FROM t WHERE age > 9 GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1",
    "SELECT city AS c FROM t WHERE age > 9 GROUP BY c ORDER BY COUNT(1) DESC FETCH FIRST 1 ROW ONLY",
    "SELECT TOP 1 city FROM t WHERE age > 9 GROUP BY 1 ORDER BY COUNT(*) DESC",
    "SELECT MODE() WITHIN GROUP (ORDER BY city) FROM t WHERE age > 9",
)
OTHERS = (
    "SELECT city FROM t GROUP BY city ORDER BY COUNT(*) LIMIT 1",
    "SELECT city FROM t GROUP BY city ORDER BY COUNT(*) DESC LIMIT 2",
    "SELECT city FROM t GROUP BY city ORDER BY SUM(age) DESC LIMIT 1",
    "SELECT city FROM t GROUP BY city ORDER BY COUNT(note) DESC LIMIT 1",
    "SELECT city, COUNT(*) AS n FROM t GROUP BY city ORDER BY n DESC LIMIT 1",
    "SELECT city FROM t GROUP BY city HAVING COUNT(*) > 3 ORDER BY COUNT(*) DESC LIMIT 1",
    "SELECT city FROM t GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1",
    "SELECT city FROM t GROUP BY city, grade ORDER BY COUNT(*) DESC LIMIT 1",
    "SELECT note FROM t GROUP BY note ORDER BY COUNT(*) DESC LIMIT 1",
)


@pytest.mark.parametrize("text", LARGEST)
def test_the_key_of_the_largest_group_is_the_mode(tables: dict[str, Table], text: str) -> None:
    made, mode = plan(normal(text), tables), plan("SELECT MODE(city) FROM t WHERE age > 9", tables)
    assert fingerprint(made, tables) == fingerprint(mode, tables)
    assert not made.measures and [type(one) for one in made.quantiles.values()] == [Mode]
    assert answer(made, price(made, 50)).num_columns == 1


@pytest.mark.parametrize("text", OTHERS)
def test_other_choices_are_made_among_noisy_figures(tables: dict[str, Table], text: str) -> None:
    made = plan(text, tables)
    assert made.measures and not made.quantiles


def test_values_are_declared_or_the_groups_are_asked_for(tables: dict[str, Table]) -> None:
    with pytest.raises(NotDeclared, match="SELECT note, COUNT") as refusal:
        plan("SELECT MODE(note) FROM t", tables)
    assert "LIMIT 1" in str(refusal.value)

"""The one door: what is charged, what is given, and what a crash leaves."""

import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.curator.clinics import BUDGET, CARD, CITIES, COUNT, clinic, visits

from discreet.budget.entries import Charged
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.release import Release
from discreet.core.statement import Evidence
from discreet.curator.curator import ANALYST, Curator
from discreet.engines.duckdb import DuckDB
from discreet.engines.limits import too_long
from discreet.errors import (
    BadInput,
    BadQuery,
    BudgetExceeded,
    Damaged,
    EngineError,
    LedgerError,
    NoPromise,
    Refused,
    Unreachable,
)
from discreet.noise.entropy import Watched
from discreet.releases import pipeline
from discreet.verbs.ask.price import Price
from discreet.verbs.ask.spelling import today

ROOT = Path(__file__).parents[2]


class Failing(DuckDB):
    def fetch(self, query, **how):
        raise EngineError("somebody's secret")


class Gone(DuckDB):
    def fetch(self, query, **how):
        raise Unreachable("somebody's host")


class Overflowing(DuckDB):
    def fetch(self, query, **how):
        raise OverflowError("somebody's secret")


def charges(curator):
    return [one.entry for one in curator.ledger.lines() if isinstance(one.entry, Charged) and one.entry.loss != Pure(0)]


def worker(folder, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.curator.worker", str(folder), *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def with_engine(curator, engine):
    curator.price(COUNT, epsilon=1)
    curator.workspace._opened["visits"] = replace(curator.workspace._opened["visits"], engine=engine)
    curator._plans = type(curator._plans)()


def test_a_question_is_answered_charged_and_kept(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        answer = curator.ask(CITIES, epsilon="0.5")
        assert answer.table.column_names == ["city", "n", "income", "n_error", "income_error"]
        assert answer.table["city"].to_pylist() == ["Rome", "Milan", "Turin"]
        assert answer.price == Pure("0.5")
        assert answer.left.analyst == answer.left.table == Approximate("2.5", "1e-6")
        assert not answer.free
        assert answer.statement.unit == "patient"
        assert answer.statement.evidence is Evidence.PROVED
        assert answer.release.receipt.account == "visits/analyst"
        assert answer.release.private
        assert answer.release.recipe.parameters["question"] == CITIES
        assert "It cost ε = 0.5" in str(answer)
        assert "It cost ε = 0.5" in answer._repr_html_()
        (kept,) = (tmp_path / "clinic" / "releases").iterdir()
        assert Release.load(kept).payload.equals(answer.table)
        assert curator.verify().sound


def test_figures_are_near_the_truth(tmp_path):
    with clinic(tmp_path / "clinic", budget=Pure(2000)) as curator:
        answer = curator.ask(CITIES, epsilon=1000).table.to_pylist()
    assert [row["n"] for row in answer] == [334, 334, 332], "two visits of everyone; an epsilon that hides nothing"


def test_the_same_question_again_is_free_and_identical_for_everybody_who_may_ask(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.add_analyst("ann", Pure(1), ["visits"])
        first = curator.ask(CITIES, epsilon="0.5")
        for text in (CITIES, CITIES.replace("SELECT", "select  "), f"{CITIES} -- again\n;"):
            again = curator.ask(text, epsilon=0.5, analyst="ann")
            assert again.free
            assert again.table.equals(first.table)
        assert again.left.analyst == Pure(1)
        assert len(charges(curator)) == 1
        assert not curator.ask(CITIES, epsilon="0.25").free, "another epsilon is another answer"
    with Curator(tmp_path / "clinic") as curator:
        assert curator.ask(CITIES, epsilon="0.5").table.equals(first.table)


def test_the_same_question_in_other_words_is_free_and_has_the_names_of_whoever_asks(tmp_path):
    asked = "SELECT city, COUNT(*) AS n FROM visits WHERE income > 30 AND city <> 'Rome' GROUP BY city"
    other = "select V.City, count(1) as people from VISITS v where not v.city = 'Rome' and (30 < Income) group by 1"
    with clinic(tmp_path / "clinic") as curator:
        curator.add_analyst("ann", Pure(1), ["visits"])
        first = curator.ask(asked, epsilon="0.5")
        assert curator.price(other, epsilon="0.5").answered
        again = curator.ask(other, epsilon="0.5", analyst="ann")
        assert again.free
        assert again.identity == first.identity
        assert again.table.column_names == ["City", "people", "people_error"]
        assert again.table.columns == first.table.columns
        assert again.release.receipt == first.release.receipt
        assert "count(1)" in again.release.recipe.parameters["question"].lower()
        both = curator.ask_all([asked.replace("30", "31"), other.replace("30", "31")], epsilon=1)
        assert [one.table.column_names[0] for one in both] == ["city", "City"]
        assert [one.loss for one in charges(curator)] == [Pure("0.5"), Pure("0.5")], "half of the batch was the same"
        assert not curator.ask(other.replace("30", "32"), epsilon="0.5").free
        assert curator.verify().sound


def test_a_retry_in_other_words_is_charged_once_and_no_key_pays_for_another_question(tmp_path):
    other = "SELECT count(1) AS m FROM visits AS v"
    with clinic(tmp_path / "clinic") as curator:
        with_engine(curator, Gone())
        for key in (None, "monday"):
            with pytest.raises(Refused, match="it was charged"):
                curator.ask(COUNT, epsilon="0.5", key=key)
        price = curator._asked(CITIES, "analyst", "0.5", 0, None).identity
        with pytest.raises(Refused, match="it was charged"):
            curator.ask(COUNT, epsilon="0.25", key=price)
    with Curator(tmp_path / "clinic") as curator:
        with pytest.raises(LedgerError, match="used for another charge"):
            curator.ask(CITIES, epsilon="0.5", key="monday")
        with pytest.raises(LedgerError, match="used for another charge"):
            curator.ask(CITIES, epsilon="0.5")
        assert not curator.ask(other, epsilon="0.5", key="monday").free
        assert [one.loss for one in charges(curator)] == [Pure("0.5"), Pure("0.5"), Pure("0.25")]
        assert curator.ask(other, epsilon="0.5").free
        assert curator.verify().sound


def test_what_exceeds_the_budget_is_refused_and_the_workspace_stays_usable(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon=2)
        with pytest.raises(BudgetExceeded) as refusal:
            curator.ask(CITIES, epsilon="1.5")
        assert refusal.value.asked == Pure("1.5")
        assert refusal.value.left == Pure(1)
        assert not curator.ask(CITIES, epsilon=1).free


def test_an_analysts_own_budget_lies_below_the_tables(tmp_path):
    with clinic(tmp_path / "clinic", analyst=None) as curator:
        with pytest.raises(Refused, match="analyst may not query any table here"):
            curator.ask(COUNT, epsilon=1)
        curator.add_analyst("ann", Pure(1))
        with pytest.raises(BudgetExceeded, match="visits/ann"):
            curator.ask(COUNT, epsilon=2, analyst="ann")
        left = curator.ask(COUNT, epsilon=1, analyst="ann").left
        assert (left.analyst, left.table) == (Pure(0), Approximate(2, "1e-6"))
        with pytest.raises(BadInput, match="no slash"):
            curator.ask(COUNT, epsilon=1, analyst="ann/eve")


@pytest.mark.parametrize("engine", [Failing, Overflowing])
def test_a_failure_is_charged_first_and_tells_nothing(tmp_path, engine):
    with clinic(tmp_path / "clinic") as curator:
        with_engine(curator, engine())
        with pytest.raises(Refused, match="could not be answered; it was charged") as refusal:
            curator.ask(COUNT, epsilon="0.5")
        assert "secret" not in str(refusal.value)
        assert refusal.value.__suppress_context__
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        assert not list((tmp_path / "clinic" / "releases").iterdir())


def test_a_question_that_a_limit_stops_before_any_noise_has_failed_for_good(tmp_path, monkeypatch):
    """Whoever could try again would look at the clock again, for one charge."""
    median = "SELECT MEDIAN(income) AS m FROM visits"
    with clinic(tmp_path / "clinic") as curator:
        curator.price(median, epsilon="0.5")

        def over() -> None:
            raise too_long()

        monkeypatch.setattr("discreet.verbs.ask.answer.seconds_left", over)
        with pytest.raises(Refused, match="could not be answered; it was charged"):
            curator.ask(median, epsilon="0.5")
        monkeypatch.undo()
        with pytest.raises(Refused, match="could not be answered; it was charged"):
            curator.ask(median, epsilon="0.5")
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]


@pytest.mark.parametrize("figure", ["MIN(0)", "QUANTILE_CONT(0, 0.5)", "MEDIAN(1.5)", "STDDEV(2)"])
def test_a_figure_of_a_constant_is_refused_before_the_charge(tmp_path, figure):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(BadQuery, match="about a constant"):
            curator.ask(f"SELECT {figure} AS f FROM visits", epsilon="0.5")
        assert not charges(curator)


def test_an_error_bar_that_is_no_number_is_refused_before_the_charge(tmp_path, monkeypatch):
    with clinic(tmp_path / "clinic") as curator:
        for bar in (float("nan"), float("inf"), -(2**63)):
            monkeypatch.setattr(Price, "errors", lambda price, added=1, bar=bar: dict.fromkeys(price.noise, bar))
            with pytest.raises(BadInput, match="there is no finite error bar"):
                curator.ask(COUNT, epsilon="0.5")
        assert not charges(curator)


def test_what_grows_too_large_among_the_figures_is_null(tmp_path):
    shown = ("COUNT(*) * 1e308 * 1e10", "LN(COUNT(*) * 0)", "SQRT(-1 - ABS(COUNT(*)))", "COUNT(*) / 0")
    with clinic(tmp_path / "clinic") as curator:
        answer = curator.ask(f"SELECT {', '.join(shown)}, COUNT(*) AS n FROM visits", epsilon=1)
        assert list(answer.table.to_pylist()[0].values())[:4] == [None] * 4
        assert answer.table["n"].null_count == 0


@pytest.mark.parametrize("where", ["charge", "save"])
def test_killed_after_the_charge_a_retry_is_charged_once(tmp_path, where):
    clinic(tmp_path / "clinic").close()
    dead = worker(tmp_path / "clinic", "die", where)
    assert dead.wait() == -signal.SIGKILL, dead.stderr.read()
    dead.communicate()
    with Curator(tmp_path / "clinic") as curator:
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        answer = curator.ask(COUNT, epsilon="0.5")
        assert len(charges(curator)) == 1
        assert curator.ask(COUNT, epsilon="0.5").table.equals(answer.table)
        assert curator.verify().sound


def test_what_is_given_is_what_was_kept(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        given = curator.ask(CITIES, epsilon="0.5").release
        [place] = curator.workspace.releases.iterdir()
        assert Release.load(place) == given
        assert Release.load(place).payload.schema.equals(given.payload.schema, check_metadata=True)


def test_a_twin_that_is_missing_concerns_whoever_asks_about_it(tmp_path):
    """Others, of the same analyst too, are answered, and what is missing can be put back."""
    tables = {"visits": (visits(), CARD), "stays": (visits(), replace(CARD, name="stays"))}
    with Curator.create(tmp_path / "clinic", tables, BUDGET) as curator:
        twin = curator.workspace.folder / curator.workspace.tables["visits"].twin
        twin.rename(twin.with_suffix(".away"))
        curator.ask(COUNT.replace("visits", "stays"), epsilon="0.5")
        with pytest.raises(Damaged, match="visits"):
            curator.ask(COUNT, epsilon="0.5")
        assert len(charges(curator)) == 1
        twin.with_suffix(".away").rename(twin)
        curator.ask(COUNT, epsilon="0.5")


def test_a_key_stands_for_one_question(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        with_engine(curator, Gone())
        with pytest.raises(Refused, match="charged"):
            curator.ask(COUNT, epsilon=1, key="monday")
        del curator.workspace._opened["visits"]
        curator._plans = type(curator._plans)()
        with pytest.raises(LedgerError, match="used for another charge"):
            curator.ask(CITIES, epsilon=1, key="monday")
        curator.ask(COUNT, epsilon=1, key="monday")
        assert len(charges(curator)) == 1


def test_two_processes_never_spend_more_than_there_is(tmp_path):
    clinic(tmp_path / "clinic", budget=Pure(2)).close()
    both = [worker(tmp_path / "clinic", "ask", which) for which in ("a", "b")]
    said = [one.communicate()[0].split() for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert sum(words.count("answered") for words in said) == 20
    with Curator(tmp_path / "clinic") as curator:
        assert curator.left("visits").table == Pure(0)
        assert curator.verify().sound


def test_rivals_get_one_answer_between_them(tmp_path):
    with clinic(tmp_path / "clinic") as curator, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: curator.ask(CITIES, epsilon="0.5").table, range(8)))
        assert all(one.equals(answers[0]) for one in answers)
        assert len(charges(curator)) == 1


def test_an_answer_that_is_gone_is_not_answered_again(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon=1)
        (kept,) = (tmp_path / "clinic" / "releases").iterdir()
        kept.unlink()
        with pytest.raises(Damaged, match="was answered before, but the answer is no longer"):
            curator.ask(COUNT, epsilon=1)


def test_a_copy_with_the_same_ledger_gives_no_second_answer(tmp_path):
    """At an epsilon at which two answers are hardly ever the same."""
    clinic(tmp_path / "clinic").close()
    shutil.copytree(tmp_path / "clinic", tmp_path / "copy")
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (tmp_path / "copy" / name).unlink(missing_ok=True)
    (tmp_path / "copy" / "ledger.db").symlink_to(tmp_path / "clinic" / "ledger.db")
    with Curator(tmp_path / "clinic") as one, Curator(tmp_path / "copy") as other:
        asked = other._asked(COUNT, "analyst", "1e-6", 0, None)
        keys = {"visits": f"ask analyst: {asked.identity}"}
        receipts = other._pipeline._charged([asked], "analyst", keys, batch=False)
        made = pipeline._made(asked, list(receipts.values()), Watched())  # computed at the same time, and not given yet
        one.ask(COUNT, epsilon="1e-6")
        with pytest.raises(Damaged, match="differs from the one that was sealed"):
            other._store.keep(asked.identity, "visits", made)
        with pytest.raises(Damaged, match="differs from the one that was sealed"):
            other.ask(COUNT, epsilon="1e-6")


def test_a_batch_is_one_charge_for_what_is_new(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        count, cities, again = curator.ask_all([COUNT, CITIES, COUNT], epsilon="1.5")
        assert [one.loss for one in charges(curator)] == [Pure(1)], "two different questions at a third each of 1.5"
        assert count.table.equals(again.table)
        assert cities.price == Pure("0.5")
        assert cities.release.receipt.loss == Pure(1)
        assert curator.ask(CITIES, epsilon="0.5").free
        with pytest.raises(BudgetExceeded):
            curator.ask_all([COUNT, "SELECT SUM(income) AS s FROM visits"], epsilon=9)
        assert len(charges(curator)) == 1
        with pytest.raises(BadInput, match="no question"):
            curator.ask_all([], epsilon=1)


class Once(DuckDB):
    """An engine that answers once."""

    def __init__(self, other):
        super().__init__()
        self.other, self.asked = other, 0

    def fetch(self, query, **how):
        self.asked += 1
        if self.asked > 1:
            raise Unreachable("somebody's secret")
        return self.other.fetch(query)


def test_a_batch_that_died_half_way_is_charged_once(tmp_path):
    asked = [COUNT, CITIES]
    with clinic(tmp_path / "clinic") as curator:
        curator.price(COUNT, epsilon=1)
        with_engine(curator, Once(curator.workspace._opened["visits"].engine))
        with pytest.raises(Refused, match="charged"):
            curator.ask_all(asked, epsilon=1)
    with Curator(tmp_path / "clinic") as curator:
        first, second = curator.ask_all(asked, epsilon=1)
        assert (first.free, second.free) == (True, False)
        assert [one.loss for one in charges(curator)] == [Pure(1)]


def test_a_key_cannot_be_made_to_pay_for_a_batch(tmp_path):
    """The key of a batch is known to whoever asks it; a cheap question under that key must not pay for it."""
    with clinic(tmp_path / "clinic") as curator:
        batch = [COUNT, CITIES]
        curator.ask_all(batch, epsilon=1)
        (paid,) = charges(curator)
    with clinic(tmp_path / "other") as curator:
        for key in (paid.key, paid.key.removeprefix("batch analyst: "), f"batch analyst: {paid.key}"):
            curator.ask(f"SELECT COUNT(*) AS c{len(key)} FROM visits", epsilon="0.01", key=key)
        curator.ask_all(batch, epsilon=1)
        assert charges(curator)[-1].loss == Pure(1)


def test_a_wide_question_is_priced_with_few_looks_at_its_noise(tmp_path, monkeypatch):
    """For every figure it would be looked at again, which for some hundred takes minutes, and costs nothing to ask."""
    looked = []
    errors = Price.errors
    monkeypatch.setattr(Price, "errors", lambda self, added=1: looked.append(self) or errors(self, added))
    with clinic(tmp_path / "clinic") as curator:
        figures = ", ".join(f"COUNT(*) AS n{place}" for place in range(5))
        assert len(curator.price(f"SELECT {figures} FROM visits", epsilon="0.1").errors) == 5
    assert len(looked) == 2, "one to see that its error bars are finite, one to say them"


def test_plans_are_kept_while_they_are_small(tmp_path, monkeypatch):
    """A short question may have a large plan: hundreds of those that are kept must not take all memory."""
    large = "SELECT SUM(POWER(POWER(income / 1000, 4), 4)) AS s FROM visits"
    monkeypatch.setattr("discreet.curator.curator._LATELY", 20)
    with clinic(tmp_path / "clinic") as curator:
        for number in range(30):
            curator.price(f"SELECT COUNT(*) AS n{number} FROM visits WHERE income > 9", epsilon=1)
        assert len(curator._plans._kept) == 20
        asked = "SELECT COUNT(*) AS n29 FROM visits WHERE income > 9", curator._tables(ANALYST), curator._identities()
        assert curator._plan(*asked) is curator._plan(*asked)
        other = curator._plans.find((f"{today()} {asked[0]}", ("visits of another card",)))
        assert other is None, "a plan is of one version of a table"
        monkeypatch.setattr("discreet.curator.curator._NODES", 2_000)
        for number in range(5):
            curator.price(f"{large} WHERE income > {number}", epsilon=1)
        assert curator._plans._nodes == sum(nodes for _, nodes in curator._plans._kept.values()) <= 2_000


def test_a_dry_run_says_price_and_errors_and_touches_nothing(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        with_engine(curator, Failing())
        quote = curator.price(CITIES, epsilon="0.5")
        assert quote.loss == Pure("0.5")
        assert quote.errors["n"] > 0
        assert quote.errors["income"] is None
        assert 0 < curator.price(CITIES, epsilon="0.5", rows=1000).errors["income"] < 1000
        assert not quote.answered
        assert "This would cost ε = 0.5" in str(quote)
        assert not charges(curator)


def test_the_errors_of_a_dry_run_are_those_of_the_answer(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        said = curator.price(CITIES, epsilon=2).errors["n"]
        assert set(curator.ask(CITIES, epsilon=2).table["n_error"].to_pylist()) == {said}
        assert curator.price(CITIES, epsilon=2).answered


def test_a_price_tells_nobody_what_others_asked(tmp_path):
    total = "SELECT SUM(income) AS total FROM visits"
    with clinic(tmp_path / "clinic") as curator:
        curator.add_analyst("eve", Pure(3))
        curator.ask(CITIES, epsilon=2)
        curator.ask_all([COUNT, total], epsilon="0.5")
        for question, epsilon in ((CITIES, 2), (COUNT, "0.25"), (total, "0.25")):
            assert curator.price(question, epsilon=epsilon).answered
            assert not curator.price(question, epsilon=epsilon, analyst="eve").answered


def test_the_smallest_epsilon_for_an_error(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        found = curator.epsilon_for(COUNT, 50)
        assert curator.price(COUNT, epsilon=found).errors["n"] <= 50
        assert curator.price(COUNT, epsilon=found - Fraction(1, 1000)).errors["n"] > 50
        assert curator.epsilon_for(COUNT, "5% at 95%", expect=1000) == found
        assert curator.epsilon_for(CITIES, 100, rows=300) > found
        with pytest.raises(BadInput, match="A relative error needs"):
            curator.epsilon_for(COUNT, "5%")
        with pytest.raises(BadInput, match="income has no error"):
            curator.epsilon_for(CITIES, 100)
        with pytest.raises(BadInput, match="No epsilon"):
            curator.epsilon_for("SELECT SUM(income) AS s FROM visits", "0.000001")


def test_a_budget_kept_as_rho_pays_in_rho_and_in_epsilon(tmp_path):
    with clinic(tmp_path / "clinic", budget=Concentrated("1/2")) as curator:
        said = curator.price(CITIES, rho="0.1", rows=100)
        assert said.loss == Concentrated("0.1")
        answer = curator.ask(CITIES, rho="0.1")
        assert answer.price == Concentrated("0.1")
        assert set(answer.table["n_error"].to_pylist()) == {said.errors["n"]}
        assert curator.ask(COUNT, epsilon="0.2").left.table == Concentrated("0.38"), "ε is worth ρ = ε²/2"
        one, other = curator.ask_all([COUNT, "SELECT SUM(income) AS s FROM visits"], rho="0.2")
        assert (one.price, other.price) == (Concentrated("0.1"), Concentrated("0.1"))
        assert other.left.table == Concentrated("0.18")
        for spent in ({}, {"epsilon": 1, "rho": 1}):
            with pytest.raises(BadInput, match="set epsilon or rho"):
                curator.ask(COUNT, **spent)
    with clinic(tmp_path / "pure") as curator, pytest.raises(NoPromise, match="cannot be charged"):
        curator.ask(COUNT, rho="0.1")


def test_groups_that_are_not_declared_take_a_delta(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        streets = "SELECT street, COUNT(*) AS n FROM visits GROUP BY street"
        with pytest.raises(BadInput, match="delta"):
            curator.ask(streets, epsilon=1)
        assert curator.ask(streets, epsilon=1, delta="1e-7").price == Approximate(1, "1e-7")


def test_only_tables_one_may_ask_can_be_asked(tmp_path):
    tables = {"visits": (visits(), CARD), "staff": (visits(), CARD)}
    with Curator.create(tmp_path / "clinic", tables, BUDGET, analyst=None) as curator:
        curator.add_analyst("ann", Pure(1), ["visits"])
        curator.ask(COUNT, epsilon="0.1", analyst="ann")
        with pytest.raises(BadQuery, match="no table 'staff'"):
            curator.ask("SELECT COUNT(*) AS n FROM staff", epsilon="0.1", analyst="ann")
        curator.add_analyst("bob", Pure(1))
        both = [COUNT, "SELECT COUNT(*) AS n FROM staff"]
        curator.ask_all(both, epsilon="0.1", analyst="bob")
        assert [curator.left(name, "bob").analyst for name in ("visits", "staff")] == [Pure("0.95")] * 2


@pytest.mark.parametrize(
    "text", ["SELECT COUNT(*) AS n FROM visits WHERE city = '\ud800'", "SELECT", "", "DROP TABLE visits"]
)
def test_what_is_no_question_is_refused_and_not_charged(tmp_path, text):
    with clinic(tmp_path / "clinic") as curator:
        with pytest.raises(BadQuery):
            curator.ask(text, epsilon=1)
        assert not charges(curator)


def test_a_card_read_off_the_data_is_refused(tmp_path):
    guessed = Column("income", Kind.REAL, bounds=(0.0, 9.0), from_data=("bounds",))
    with pytest.raises(Refused, match="taken from the data"):
        Curator.create(tmp_path / "clinic", {"visits": (visits(), Card("visits", (guessed,)))}, BUDGET)
    assert not list(tmp_path.iterdir()), "all or nothing"

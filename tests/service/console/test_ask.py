"""The Ask page: the price before anything is charged, the answer with its error bars, and what a refusal says."""

import asyncio
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.service.console.conftest import press, seen, text, until

from discreet.core.loss import Pure
from discreet.service.console.answered import figures
from discreet.service.console.suggest import examples, mentioned, spelled, words
from discreet.service.shown import Spend

BY_SEX = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"


def left(console):
    return console.clinic.desk.table(console.clinic.ann, "patients").left.analyst.epsilon


async def ready(user, said):
    await until(lambda: said in seen(user, "ask-run")[0].text)


def offered(user):
    """The number of the offer that the button shows."""
    return int(seen(user, "ask-run")[0].props["data-offer"])


def ask(user):
    press(user, "ask-run", offered(user))


def test_a_question_is_priced_asked_answered_and_free_after_that(console):
    before = left(console)

    async def act(user):
        await user.open("/ask?table=patients")
        with user:
            seen(user, "ask-sql")[0].set_value(BY_SEX)
            seen(user, "ask-epsilon")[0].set_value("0.25")
        await ready(user, "Ask (costs ε 0.25)")
        assert "± 15" in text(user)
        assert left(console) == before
        ask(user)
        await until(lambda: bool(seen(user, "answer-grid")))
        assert "It cost ε = 0.25." in text(user)
        assert "± 15" in seen(user, "answer-grid")[0].content
        assert len(seen(user, "answer-chart")) == 1
        assert left(console) == before - Fraction(1, 4)
        await ready(user, "Show it again (free)")
        ask(user)
        await until(lambda: "Answered before, so it is free." in text(user))
        assert left(console) == before - Fraction(1, 4)
        await until(lambda: bool(seen(user, "ask-again-0")))
        assert BY_SEX in text(user)

    console.visit("ann", act)
    assert BY_SEX not in console.said.getvalue()


def test_nobody_pays_a_price_that_was_not_shown(console):
    before = left(console)

    async def act(user):
        await user.open("/ask?table=patients")
        await ready(user, "Ask (costs")
        with user:
            seen(user, "ask-epsilon")[0].set_value("0.2")
        assert seen(user, "ask-run")[0].enabled  # the change is not seen yet, and the button is pressed behind it
        ask(user)
        await until(lambda: not seen(user, "ask-run")[0].enabled)
        ask(user)
        await ready(user, "Ask (costs ε 0.2)")
        assert not seen(user, "answer-grid")

    console.visit("ann", act)
    assert left(console) == before


def test_a_click_on_an_older_price_that_comes_late_asks_nothing(console):
    before = left(console)

    async def act(user):
        await user.open("/ask?table=patients")
        await ready(user, "Ask (costs")
        shown = offered(user)
        with user:
            seen(user, "ask-sql")[0].set_value(f"{BY_SEX}  ")
            seen(user, "ask-epsilon")[0].set_value("0.3")
        await ready(user, "Ask (costs ε 0.3)")
        press(user, "ask-run", shown)
        await asyncio.sleep(0.5)
        assert not seen(user, "answer-grid")
        assert seen(user, "ask-run")[0].enabled

    console.visit("ann", act)
    assert left(console) == before


def test_two_clicks_at_once_ask_once(console):
    before = left(console)

    async def act(user):
        await user.open("/ask?table=patients")
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT COUNT(*) AS twice FROM patients")
            seen(user, "ask-epsilon")[0].set_value("0.01")
        await ready(user, "Ask (costs ε 0.01)")
        ask(user)
        ask(user)
        await ready(user, "Show it again (free)")
        assert "It cost ε = 0.01." in text(user)
        assert "striped" not in text(user)

    console.visit("ann", act)
    assert left(console) == before - Fraction(1, 100)


def test_what_is_wrong_is_said_in_its_place(console):
    async def act(user):
        await user.open("/ask")
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT name FROM patients")
        await until(
            lambda: any("dc-refusal" in str(getattr(one, "content", "")) for one in user.client.elements.values())
        )
        assert not seen(user, "ask-run")[0].enabled

    console.visit("ann", act)


def test_a_delta_is_asked_for_only_where_groups_are_not_declared(console):
    async def act(user):
        await user.open("/ask?table=patients")
        await ready(user, "Ask (costs")
        assert not seen(user, "ask-delta")[0].visible
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip")
        await ready(user, "δ 1e-6")
        assert seen(user, "ask-delta")[0].visible

    console.visit("ann", act)


def test_an_error_can_be_wished_for(console):
    async def act(user):
        await user.open("/ask?table=patients")
        with user:
            seen(user, "ask-mode")[0].set_value("error")
            seen(user, "ask-error")[0].set_value("5%")
            seen(user, "ask-expect")[0].set_value("1000")
        await until(lambda: "± 50" in text(user))
        await ready(user, "Ask (costs ε 0.0")

    console.visit("ann", act)


def test_more_than_is_left_is_refused_with_what_to_do(console):
    before = left(console)

    async def act(user):
        await user.open("/ask?table=patients")
        with user:
            seen(user, "ask-epsilon")[0].set_value("50")
        await ready(user, "Ask (costs ε 50)")
        assert "more than is left" in text(user)
        ask(user)
        await until(lambda: bool(seen(user, "ask-refused")))
        assert "Nothing was charged." in text(user)
        assert "ask a steward to raise your budget" in text(user)
        assert not seen(user, "ask-instead")

    console.visit("ann", act)
    assert left(console) == before


def test_a_steward_without_a_budget_is_told_so(console):
    async def act(user):
        await user.open("/ask")
        assert "There is no table that you may ask." in text(user)

    console.visit("steward", act)


def test_every_example_can_be_asked(console):
    desk, ann = console.clinic.desk, console.clinic.ann
    for view in desk.tables(ann):
        found = examples(view.name, view.card)
        assert len(found) >= 2
        for _, sql in found:
            assert desk.price(ann, [sql], Spend(epsilon="0.1"))[0].loss == Pure("0.1")


def test_completion_knows_tables_columns_and_functions(console):
    labels = {word["label"] for word in words(console.clinic.desk.tables(console.clinic.ann))}
    assert {"patients", "visits", "length_of_stay", "MEDIAN", "COUNT"} <= labels


@pytest.mark.parametrize(("name", "sql"), [("sex", "sex"), ("Birth date", '"Birth date"'), ('a"b', '"a""b"')])
def test_names_are_spelled_as_sql_takes_them(name, sql):
    assert spelled(name) == sql


def test_tables_are_found_in_a_question():
    assert mentioned("SELECT 1 FROM Visits JOIN patients_2", ["visits", "patients"]) == ["visits"]


def test_figures_are_the_columns_with_an_error_bar():
    table = pa.table({"sex": ["F"], "n": [1], "n_error": [2.0], "other_error": [1.0]})
    assert figures(table) == {"n": "n_error"}

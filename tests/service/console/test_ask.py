"""The Ask page: the price before anything is charged, the answer with its error bars, and what a refusal says."""

import asyncio
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from tests.service.console.conftest import press, seen, text, until

from discreet.budget.filter import Budget
from discreet.core.loss import Approximate, Pure
from discreet.curator.saved_questions import SavedQuestion
from discreet.errors import DataError, NotAllowed
from discreet.service.console import price_view
from discreet.service.console.draft import MOST_PINNED
from discreet.service.console.price_view import advice, usual_delta
from discreet.service.console.question_builder import examples, sql_of
from discreet.service.console.suggest import columns, mentioned, spelled, strangers, words
from discreet.service.views import BudgetView, Spend

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
        assert "± 12" in text(user)
        assert left(console) == before
        ask(user)
        await until(lambda: bool(seen(user, "answer-grid")))
        assert "It cost ε = 0.25." in text(user)
        assert "± 12" in seen(user, "answer-grid")[0].content
        assert len(seen(user, "answer-chart")) == 1
        assert left(console) == before - Fraction(1, 4)
        await ready(user, "Show it again (free)")
        ask(user)
        await until(lambda: "Answered before, so it is free." in text(user))
        assert left(console) == before - Fraction(1, 4)
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT COUNT(*) AS n FROM patients")
        assert seen(user, "ask-asked")[0].text == BY_SEX
        await until(lambda: bool(seen(user, "ask-again-0")))
        assert BY_SEX in text(user)

    console.visit("ann", act)
    assert BY_SEX not in console.said.getvalue()


def test_answers_and_refusals_of_the_page_wait_for_a_step(console, stepped, monkeypatch):
    async def act(user):
        await user.open("/ask?table=patients")
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT COUNT(*) AS stepped FROM visits WHERE cost > 18")
            seen(user, "ask-epsilon")[0].set_value("0.01")
        await ready(user, "Ask (costs ε 0.01)")
        assert not stepped, "a price looks at no row"
        ask(user)
        await until(lambda: bool(seen(user, "answer-grid")))
        await ready(user, "Show it again (free)")
        monkeypatch.setattr(console.clinic.desk, "ask", refuse)
        ask(user)
        await until(lambda: len(stepped) > 1)

    def refuse(*_, **__):
        raise DataError("It cannot be answered.")

    console.visit("ann", act)
    assert stepped == [("ann", "answered"), ("ann", "DataError")]


METHOD = {"name": "bounds", "column": "cost", "epsilon": "0.01"}
AT_A_STEP = {
    "/v1/ask": (
        {"questions": ["SELECT COUNT(*) AS over_http FROM visits WHERE cost > 17"], "epsilon": "0.01"},
        [
            {"questions": ["SELECT COUNT(*) FROM patients"], "epsilon": "99"},
            {"questions": ["SELEC 1"], "epsilon": "0.1"},
        ],
    ),
    "/v1/methods/release": (
        {"table": "visits", "method": METHOD},
        [{"table": "visits", "method": METHOD | {"epsilon": "99"}}, {"table": "nowhere", "method": METHOD}],
    ),
    "/v1/ask/audited": (None, [{"question": "SELECT COUNT(*) FROM patients"}, {"question": "SELEC 1"}]),
}


@pytest.mark.parametrize("path", AT_A_STEP)
def test_answers_and_refusals_over_http_wait_for_a_step(console, stepped, path):
    answered, refused = AT_A_STEP[path]

    async def act(http):
        http.headers["Authorization"] = f"Bearer {console.clinic.tokens['ann']}"
        for given in [answered, answered] if answered else []:
            response = await http.post(path, json=given)
            assert (response.status_code, stepped.pop()) == (200, ("ann", "answered")), response.text
        for given in refused:
            response = await http.post(path, json=given)
            assert response.status_code in (400, 403, 404, 409), response.text
            assert stepped.pop()[1] != "answered"
        assert not stepped

    console.browse(act)


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
        clicked = press(user, "ask-run", shown)
        assert clicked
        await asyncio.wait(clicked)
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
        assert "Fix the error shown below your question" in text(user)

    console.visit("ann", act)


def test_a_delta_is_asked_for_only_where_groups_are_not_declared(console):
    async def act(user):
        await user.open("/ask?table=patients")
        await ready(user, "Ask (costs")
        assert not seen(user, "ask-delta")[0].visible
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip")
        await ready(user, "δ 1e-7")
        assert seen(user, "ask-delta")[0].visible
        assert "δ 1e-6 of 1e-6 left" in text(user)
        assert not seen(user, "price-beyond")
        with user:
            seen(user, "ask-delta")[0].set_value("1e-5")
        await ready(user, "δ 1e-5")
        assert seen(user, "price-beyond")
        assert "It takes δ 1e-5, and δ 1e-6 is left: choose less." in text(user)

    console.visit("ann", act)


def test_an_average_says_beforehand_how_far_off_it_may_be(console):
    async def act(user):
        await user.open("/ask?table=visits")
        with user:
            seen(user, "ask-sql")[0].set_value("SELECT AVG(cost) AS average FROM visits")
        await until(lambda: "for a group of 1,000 rows" in text(user))
        assert seen(user, "ask-rows")[0].visible
        assert "the whole range (average by" in text(user)
        with user:
            seen(user, "ask-rows")[0].set_value("1")
        await until(lambda: "it would say nothing" in text(user))
        with user:
            seen(user, "ask-rows")[0].set_value("")
            seen(user, "ask-mode")[0].set_value("error")
        await until(lambda: "give the expected number of rows." in text(user))
        assert "--rows" not in text(user)

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


def test_over_budget_the_button_is_off_and_says_what_to_do(console):
    async def act(user):
        await user.open("/ask?table=patients")
        with user:
            seen(user, "ask-epsilon")[0].set_value("50")
        await ready(user, "Ask (costs ε 50)")
        assert not seen(user, "ask-run")[0].enabled
        assert seen(user, "price-beyond")
        assert "It takes ε 50, and ε" in text(user)
        assert "ask a steward to raise your budget" in text(user)
        await asyncio.wait(press(user, "ask-run", 1))
        assert not seen(user, "ask-refused")
        with user:
            seen(user, "ask-epsilon")[0].set_value("0.01")
        await ready(user, "Ask (costs ε 0.01)")
        assert seen(user, "ask-run")[0].enabled

    console.visit("ann", act)


def test_what_others_spent_meanwhile_is_refused_with_what_to_do(console, monkeypatch):
    before = left(console)

    async def act(user):
        await user.open("/ask?table=patients")
        with monkeypatch.context() as patched:
            patched.setattr(price_view, "is_covered", lambda *_: True)  # as it was when the page was drawn
            with user:
                seen(user, "ask-epsilon")[0].set_value("50")
            await ready(user, "Ask (costs ε 50)")
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
        assert seen(user, "ask-people")

    console.visit("steward", act)


def test_every_example_can_be_asked(console):
    desk, ann = console.clinic.desk, console.clinic.ann
    for view in desk.tables(ann):
        found = examples(view.name, view.card)
        assert len(found) >= 2
        for _, choices in found:
            assert desk.price(ann, [sql_of(choices, view.card)], Spend(epsilon="0.1"))[0].loss == Pure("0.1")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("sex = 'F'", []),
        ("sex = 'f'", ["'f' is not a value of sex: the card does not list it. Is 'F' meant?"]),
        ("'lost' <> p.SEX", ["'lost' is not a value of sex: the card does not list it. There are: F, M."]),
        ("sex IN ('M', 'lost', 'lost')", ["'lost' is not a value of sex: the card does not list it. There are: F, M."]),
        ("zip = '1' AND LOWER(sex) = 'f'", []),
        ("sex = ", []),
    ],
)
def test_a_value_that_is_not_on_the_card_is_pointed_out(console, where, said):
    tables = console.clinic.desk.tables(console.clinic.ann)
    assert strangers(f"SELECT COUNT(*) FROM patients AS p WHERE {where}", tables) == said


def test_many_categories_can_be_opened(console):
    card = console.clinic.desk.table(console.clinic.ann, "visits").card
    assert any("categories" in getattr(last, "said", "") for _, _, last in columns(card))


@pytest.mark.parametrize(
    ("limit", "left", "delta"),
    [
        (Approximate(1, "1e-4"), Approximate(1, "1e-4"), "1e-6"),
        (Approximate(1, "1e-7"), Approximate(1, "1e-7"), "1e-8"),
        (Approximate(1, "1e-7"), Approximate(1, "1.29e-9"), "1.2e-9"),
        (Approximate(1, "1e-7"), Approximate(1, 0), "1e-6"),
        (Pure(1), Pure(1), "1e-6"),
    ],
)
def test_the_delta_to_begin_with_is_within_what_is_left(limit, left, delta):
    assert usual_delta([BudgetView("visits/ann", "visits", "ann", Budget(limit), Pure(0), left)]) == delta


def test_what_can_be_done_hangs_on_what_is_left():
    assert advice(Pure(1), Pure(0), Fraction(0), steward=False).startswith("Nothing is left to spend")
    assert advice(Pure(1), Pure("0.5"), Fraction(0), steward=False).startswith("It takes ε 1, and ε 0.5 is left: ")
    assert "raise the limit on the Budget page" in advice(Pure(1), Pure(0), Fraction(0), steward=True)
    assert "there is no δ to spend" in advice(Approximate(1, "1e-6"), Pure(2), Fraction(0), steward=False)


def test_completion_knows_tables_columns_and_functions(console):
    labels = {word["label"] for word in words(console.clinic.desk.tables(console.clinic.ann))}
    assert {"patients", "visits", "length_of_stay", "MEDIAN", "COUNT"} <= labels


@pytest.mark.parametrize(("name", "sql"), [("sex", "sex"), ("Birth date", '"Birth date"'), ('a"b', '"a""b"')])
def test_names_are_spelled_as_sql_takes_them(name, sql):
    assert spelled(name) == sql


def test_tables_are_found_in_a_question():
    assert mentioned("SELECT 1 FROM Visits JOIN patients_2", ["visits", "patients"]) == ["visits"]


def test_who_asks_is_told_which_tables_are_audited(console, monkeypatch):
    desk = console.clinic.desk
    known = desk.tables

    def tables(who):
        return [replace(view, audited=view.name == "visits") for view in known(who)]

    async def plain(user):
        await user.open("/ask")
        assert not seen(user, "ask-audited")

    async def told(user):
        await user.open("/ask")
        assert "Audited: visits." in text(user)

    console.visit("ann", plain)
    monkeypatch.setattr(desk, "tables", tables)
    console.visit("ann", told)


def chosen(user, testid, value):
    with user:
        seen(user, testid)[0].set_value(value)


def added(user, what):
    press(user, f"build-add-{what}")


def test_a_question_is_built_priced_and_answered_without_sql(console):
    async def act(user):
        await user.open("/ask?table=visits")
        chosen(user, "build-figure-0", "rows")
        added(user, "group")
        await until(lambda: bool(seen(user, "build-group-0")))
        chosen(user, "build-group-0", "admitted")
        added(user, "filter")
        await until(lambda: bool(seen(user, "build-filter-0")))
        chosen(user, "build-filter-0", "ward")
        await until(lambda: "The filter on ward has no value." in text(user))
        assert not seen(user, "ask-run")[0].enabled
        chosen(user, "build-value-0", ["Surgery", "Emergency"])
        chosen(user, "ask-epsilon", "0.02")
        await ready(user, "Ask (costs ε 0.02)")
        assert seen(user, "ask-sql")[0].value == (
            "SELECT DATE_TRUNC('month', admitted) AS admitted_month, COUNT(*) AS n\nFROM visits\n"
            "WHERE ward IN ('Surgery', 'Emergency')\nGROUP BY DATE_TRUNC('month', admitted)"
        )
        ask(user)
        await until(lambda: bool(seen(user, "answer-chart")))
        assert seen(user, "answer-chart")[0].props["data-kind"] == "line"
        await ready(user, "Show it again (free)")

    console.visit("ann", act)


def test_sql_that_is_edited_leaves_the_builder_as_it_was(console):
    async def act(user):
        await user.open("/ask?table=patients")
        await ready(user, "Ask (costs")
        built = seen(user, "ask-sql")[0].value
        chosen(user, "ask-sql", BY_SEX)
        assert seen(user, "ask-view")[0].value == "sql"
        assert "the choices in Build are unchanged" in seen(user, "ask-edited")[0].text
        chosen(user, "ask-view", "build")
        assert seen(user, "ask-sql")[0].value == built
        chosen(user, "ask-view", "sql")
        assert seen(user, "ask-sql")[0].value == BY_SEX

    console.visit("ann", act)


def test_a_saved_question_is_for_its_owner_and_comes_back_as_it_was_built(console):
    desk, ann, steward = console.clinic.desk, console.clinic.ann, console.clinic.steward

    async def act(user):
        await user.open("/ask?table=visits")
        chosen(user, "build-figure-0", "median")
        chosen(user, "ask-epsilon", "0.07")
        await ready(user, "Ask (costs ε 0.07)")
        press(user, "ask-save")
        await until(lambda: bool(seen(user, "save-name")))
        assert seen(user, "save-name")[0].value == "Median of length_of_stay"
        chosen(user, "save-name", "My median")
        press(user, "save-go")
        await until(lambda: bool(seen(user, "saved-open-0")))
        chosen(user, "ask-sql", BY_SEX)
        chosen(user, "ask-epsilon", "0.01")
        press(user, "saved-open-0")
        assert seen(user, "build-figure-0")[0].value == "median"
        assert seen(user, "ask-view")[0].value == "build"
        await ready(user, "Ask (costs ε 0.07)")
        press(user, "saved-delete-0")
        await until(lambda: bool(seen(user, "sure-go")))
        press(user, "sure-go")
        await until(lambda: not seen(user, "saved-open-0"))

    console.visit("ann", act)
    assert desk.saved.all(ann) == []
    desk.saved.save(ann, SavedQuestion("By hand", BY_SEX, "0.1", ""))
    assert desk.saved.all(steward) == []
    with pytest.raises(NotAllowed):
        desk.saved.all(console.clinic.auditor)

    async def open_it(user):
        await user.open("/ask?table=visits")
        await until(lambda: bool(seen(user, "saved-open-0")))
        press(user, "saved-open-0")
        assert seen(user, "ask-view")[0].value == "sql"
        assert seen(user, "ask-sql")[0].value == BY_SEX

    console.visit("ann", open_it)


def test_answers_are_pinned_beside_each_other_up_to_a_few(console):
    async def act(user):
        await user.open("/ask?table=patients")
        for place in range(MOST_PINNED + 1):
            other = f"SELECT sex, COUNT(*) AS pinned{place} FROM patients WHERE zip > '{place}' GROUP BY sex"
            chosen(user, "ask-sql", other)
            chosen(user, "ask-epsilon", "0.001")
            await until(lambda place=place: f"pinned{place}" in seen_price(user))
            await until(lambda: seen(user, "ask-run")[0].enabled)
            ask(user)
            await until(lambda place=place: f"pinned{place}" in (seen(user, "ask-asked") or [NOTHING])[0].text)
            press(user, "ask-pin")
        assert [len(seen(user, f"pin-{place}")) for place in range(MOST_PINNED + 1)] == [1, 1, 1, 1, 0]
        press(user, "unpin-0")
        assert not seen(user, "pin-0")
        press(user, "ask-pin")
        assert seen(user, "pin-4")

    console.visit("ann", act)


NOTHING = SimpleNamespace(text="")


def seen_price(user):
    """What the place of the price says."""
    (place,) = seen(user, "ask-price")
    return " ".join(str(getattr(one, "content", "")) for one in place.descendants())

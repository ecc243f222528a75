"""Who may do what, what is written down of it, and what nobody but the holder sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.curator.methods import MadeUp
from tests.service.conftest import Clinic, password_of

from discreet.core.loss import Approximate, Pure
from discreet.curator.curator import Curator
from discreet.curator.people.person import SCOPES, Person, Role
from discreet.errors import BadInput, BudgetExceeded, NotAllowed, NotFound, Refused, Taken
from discreet.service.jobs.specs import Publish
from discreet.service.operations import budgets
from discreet.service.operations.operations import Operations
from discreet.service.views import Spend
from discreet.verbs.ask.distribution import Distribution

QUESTION = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
LITERAL = "SELECT COUNT(*) AS n FROM patients WHERE zip = '73210'"
EVERYBODY: dict[str, tuple[set[str], Callable[[Operations, Person], Any]]] = {
    "tables": ({"steward", "auditor", "ann", "bob"}, lambda desk, who: desk.tables(who)),
    "price": ({"ann"}, lambda desk, who: desk.price(who, [QUESTION], Spend("0.01"))),
    "epsilon for": ({"ann"}, lambda desk, who: desk.epsilon_for(who, QUESTION, 50)),
    "ask": ({"ann"}, lambda desk, who: desk.ask(who, [QUESTION], Spend("0.01"))),
    "quote": ({"ann"}, lambda desk, who: desk.quote(who, Distribution("birth_date", 8, "0.01"), "patients")),
    "release of": ({"ann"}, lambda desk, who: desk.release_of(who, Distribution("birth_date", 8, "0.01"), "patients")),
    "budgets": ({"steward", "auditor", "ann", "bob"}, lambda desk, who: desk.budgets.accounts(who)),
    "ledger": ({"steward", "auditor", "ann", "bob"}, lambda desk, who: desk.budgets.lines(who)),
    "verify": ({"steward", "auditor"}, lambda desk, who: desk.budgets.verify(who)),
    "releases": ({"steward", "auditor", "ann", "bob"}, lambda desk, who: desk.releases(who)),
    "set limit": (
        {"steward"},
        lambda desk, who: desk.budgets.set_limit(who, "patients/ann", Approximate(1, "1e-6"), why="w"),
    ),
    "published": ({"steward", "auditor"}, lambda desk, who: desk.published(who, "patients")),
    "full card": ({"steward"}, lambda desk, who: desk.full_card(who, "patients")),
    "submit": ({"steward"}, lambda desk, who: desk.submit(who, Publish("patients", ("k=5",)))),
    "jobs": ({"steward", "auditor"}, lambda desk, who: desk.jobs(who)),
    "persons": ({"steward", "auditor"}, lambda desk, who: desk.access.persons(who)),
    "locked out": ({"steward", "auditor"}, lambda desk, who: desk.access.locked_out(who)),
    "reset": ({"steward"}, lambda desk, who: desk.access.reset_password(who, "carl")),
    "disable": ({"steward"}, lambda desk, who: desk.access.disable(who, "carl", True)),
    "give budget": ({"steward"}, lambda desk, who: desk.access.give_budget(who, "gina", Approximate(1, "1e-6"))),
    "tokens": ({"steward", "auditor", "ann", "bob"}, lambda desk, who: desk.access.tokens(who)),
    "audit": ({"steward", "auditor"}, lambda desk, who: desk.access.audit(who)),
}


@pytest.fixture(scope="module", autouse=True)
def _others(clinic: Clinic) -> None:
    """Carl is reset and disabled, dora gets budgets for this and that, and gina for everything at once."""
    clinic.desk.people.add("carl", Role.ANALYST)
    for name in ("dora", "gina"):
        clinic.desk.people.change_password(name, clinic.desk.people.add(name, Role.ANALYST), password_of(name))


@pytest.mark.parametrize("name", ["steward", "auditor", "ann", "bob"])
@pytest.mark.parametrize("action", EVERYBODY)
def test_everybody_may_do_what_they_may_and_nothing_else(clinic: Clinic, action: str, name: str) -> None:
    may, call = EVERYBODY[action]
    who = replace(clinic.person(name), must_change=False)
    if name in may:
        call(clinic.desk, who)
    else:
        with pytest.raises((NotAllowed, Refused)):
            call(clinic.desk, who)


@pytest.mark.parametrize("action", EVERYBODY)
def test_a_one_time_password_opens_nothing(clinic: Clinic, action: str) -> None:
    with pytest.raises(NotAllowed, match="one-time"):
        EVERYBODY[action][1](clinic.desk, replace(clinic.steward, must_change=True))


def test_an_analyst_knows_of_no_table_they_may_not_ask(clinic: Clinic) -> None:
    assert [view.name for view in clinic.desk.tables(clinic.ann)] == ["patients", "visits"]
    assert clinic.desk.tables(clinic.bob) == []
    with pytest.raises(NotFound):
        clinic.desk.table(clinic.bob, "patients")
    assert clinic.desk.budgets.accounts(clinic.bob) == []
    assert clinic.desk.budgets.lines(clinic.bob) == []


def test_an_answer_belongs_to_whoever_got_it(clinic: Clinic) -> None:
    [answer] = clinic.desk.ask(clinic.ann, [QUESTION], Spend("0.015"))
    assert clinic.desk.release(clinic.ann, answer.identity).payload == answer.table
    with pytest.raises(NotFound):
        clinic.desk.release(clinic.person("dora"), answer.identity)
    clinic.desk.access.give_budget(clinic.steward, "dora", Pure(1), ["patients"])
    with pytest.raises(NotFound):
        clinic.desk.release(clinic.person("dora"), answer.identity)
    [again] = clinic.desk.ask(clinic.person("dora"), [QUESTION], Spend("0.015"))
    assert again.free and again.table == answer.table
    assert clinic.desk.release(clinic.person("dora"), answer.identity).payload == answer.table


def test_an_auditor_reads_what_is_promised_and_not_what_is_in_it(clinic: Clinic) -> None:
    [answer] = clinic.desk.ask(clinic.ann, [QUESTION], Spend("0.016"))
    assert clinic.desk.statement(clinic.auditor, answer.identity).statement == answer.statement
    assert clinic.desk.statement(clinic.auditor, answer.identity).payload == {}
    for look in (clinic.desk.release, clinic.desk.path):
        with pytest.raises(NotAllowed):
            look(clinic.auditor, answer.identity)


def test_a_release_is_shared_by_its_steward_alone(clinic: Clinic) -> None:
    [answer] = clinic.desk.ask(clinic.ann, [QUESTION], Spend("0.017"))
    clinic.desk.access.give_budget(clinic.steward, "dora", Pure(1), ["patients"])
    with pytest.raises(NotAllowed):
        clinic.desk.share(clinic.ann, answer.identity, True)
    clinic.desk.share(clinic.steward, answer.identity, True)
    assert answer.identity in [one.id for one in clinic.desk.releases(clinic.person("dora"))]
    clinic.desk.share(clinic.steward, answer.identity, False)
    assert answer.identity not in [one.id for one in clinic.desk.releases(clinic.person("dora"))]


def test_a_budget_that_is_gone_says_so_and_charges_nothing(clinic: Clinic) -> None:
    before = clinic.desk.budgets.accounts(clinic.ann)
    with pytest.raises(BudgetExceeded):
        clinic.desk.ask(clinic.ann, [QUESTION], Spend(2))
    assert clinic.desk.budgets.accounts(clinic.ann) == before
    assert clinic.desk.instead(clinic.ann, "patients") is None


def test_an_analyst_has_the_newest_lines_searched_alone(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic.desk.ask(clinic.ann, [QUESTION.replace("AS n", "AS m")], Spend("0.01"))
    mine = clinic.desk.budgets.lines(clinic.ann)
    assert {line.account for line in mine} == {"patients/ann", "visits/ann"}
    assert clinic.desk.budgets.lines(clinic.ann, account="patients") == [
        one for one in mine if one.account == "patients/ann"
    ]
    assert clinic.desk.budgets.lines(clinic.ann, account="patient") == []
    everything = clinic.desk.budgets.lines(clinic.auditor)
    monkeypatch.setattr(budgets, "SEARCHED", 3)
    few = clinic.desk.budgets.lines(clinic.ann)
    assert few == mine[: len(few)] != mine
    assert few[0].kind == "charged"
    assert clinic.desk.budgets.lines(clinic.auditor) == everything


def test_the_twin_is_offered_while_it_is_shared(clinic: Clinic) -> None:
    assert clinic.desk.instead(clinic.ann, "visits") is None
    with Curator(clinic.folder) as elsewhere:
        twin = elsewhere.make_synthetic(MadeUp(lambda table: table.payload().slice(0, 10)), "visits").identity
    assert clinic.desk.instead(clinic.ann, "visits") == twin
    assert clinic.desk.instead(clinic.bob, "visits") is None
    assert clinic.desk.instead(clinic.ann, "nothing") is None
    clinic.desk.share(clinic.steward, twin, False)
    assert clinic.desk.instead(clinic.ann, "visits") is None
    assert clinic.desk.instead(clinic.steward, "visits") is None, "it answers nobody"
    clinic.desk.share(clinic.steward, twin, True)
    assert clinic.desk.instead(clinic.ann, "visits") == twin
    clinic.desk.share(clinic.steward, twin, False)


def test_everything_done_is_written_down_and_no_question_is(clinic: Clinic) -> None:
    clinic.desk.ask(clinic.ann, [LITERAL], Spend("0.011"))
    with pytest.raises(BadInput):
        clinic.desk.ask(clinic.ann, ["SELECT zip FROM patients WHERE zip = '73210'"], Spend("0.011"))
    with pytest.raises(NotAllowed):
        clinic.desk.budgets.set_limit(clinic.ann, "patients", Pure(100), why="mine")
    last = clinic.desk.access.audit(clinic.auditor, most=3)
    assert [(one.who, one.action, one.well) for one in last] == [
        ("ann", "set limit", False),
        ("ann", "ask", False),
        ("ann", "ask", True),
    ]
    assert "73210" not in str(clinic.desk.access.audit(clinic.auditor, most=1000))
    assert clinic.desk.budgets.verify(clinic.auditor).sound


def test_a_limit_is_set_on_the_books_with_its_reason(clinic: Clinic) -> None:
    clinic.desk.budgets.set_limit(clinic.steward, "visits/ann", Approximate(2, "1e-6"), why="agreed by the board")
    newest = clinic.desk.budgets.lines(clinic.steward, most=1)[0]
    assert (newest.kind, newest.account, newest.what) == ("limited", "visits/ann", "agreed by the board")
    with pytest.raises(NotFound):
        clinic.desk.budgets.set_limit(clinic.steward, "elsewhere", Pure(1), why="w")


def test_auditors_get_no_budget(clinic: Clinic) -> None:
    with pytest.raises(BadInput):
        clinic.desk.access.add_person(clinic.steward, "eve", Role.AUDITOR, budget=Pure(1))
    with pytest.raises(BadInput):
        clinic.desk.access.give_budget(clinic.steward, "auditor", Pure(1))
    assert "eve" not in [one.name for one in clinic.desk.access.persons(clinic.steward)]


def test_whoever_is_added_is_told_a_password_or_is_not_added(clinic: Clinic) -> None:
    clinic.desk.access.give_budget(clinic.steward, "dora", Pure(1), ["visits"])
    clinic.desk._curator.add_analyst("fay", Pure(1), ["visits"])
    with pytest.raises(Taken):
        clinic.desk.access.add_person(clinic.steward, "fay", Role.ANALYST, budget=Pure(2))
    assert "fay" not in [one.name for one in clinic.desk.access.persons(clinic.steward)]
    before = clinic.desk.budgets.accounts(clinic.steward)
    with pytest.raises(BadInput, match="The user name carl is taken"):
        clinic.desk.access.add_person(clinic.steward, "carl", Role.ANALYST, budget=Pure(2))
    assert clinic.desk.budgets.accounts(clinic.steward) == before


def test_what_went_wrong_with_a_job_is_for_stewards(clinic: Clinic) -> None:
    job = clinic.desk.submit(clinic.steward, Publish("patients", ("k=5",), title="Wrong"))
    claim = clinic.desk._jobs._queue.claim("somebody")
    while claim is not None and claim.job.id != job.id:
        claim = clinic.desk._jobs._queue.claim("somebody")
    assert claim is not None
    clinic.desk._jobs._queue.failed(claim, "The diagnosis 'flu' is not on the card.")
    assert "flu" in clinic.desk.job(clinic.steward, job.id).error
    for seen in (clinic.desk.job(clinic.auditor, job.id), *clinic.desk.jobs(clinic.auditor)):
        assert "flu" not in str(seen)
    assert clinic.desk.job(clinic.auditor, job.id).error


def test_tokens_are_ones_own(clinic: Clinic) -> None:
    token = clinic.desk.access.new_token(clinic.ann, "notebook", 7)
    assert clinic.desk.people.by_token(token.text) == (clinic.ann, SCOPES)
    for other in (clinic.bob, clinic.auditor):
        with pytest.raises((NotFound, NotAllowed)):
            clinic.desk.access.revoke(other, token.id)
    clinic.desk.access.revoke(clinic.steward, token.id)
    assert clinic.desk.people.by_token(token.text) is None


def test_an_answer_shows_to_nobody_before_it_is_given(clinic: Clinic) -> None:
    """Whoever waits for it could otherwise tell when it was ready, and so how long it took."""
    [answer] = clinic.desk.ask(clinic.ann, [QUESTION], Spend("0.0191"), hand_over=False)
    with pytest.raises(NotFound):
        clinic.desk.shelved(clinic.ann, answer.identity)
    assert answer.identity not in {one.id for one in clinic.desk.releases(clinic.ann)}
    clinic.desk.gave(clinic.ann, answer)
    assert clinic.desk.shelved(clinic.ann, answer.identity).id == answer.identity

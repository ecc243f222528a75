"""The pages of releases: everybody sees what they may, and nothing of others."""

import datetime as dt

import pyarrow as pa
import pytest
from tests.service.console.conftest import messages, seen, text, until

from discreet.core.release import Release
from discreet.core.statement import Recipe, Statement
from discreet.curator.release_index import Shelved
from discreet.service.console import theme
from discreet.service.console.release import in_words
from discreet.service.views import Spend


@pytest.fixture(scope="module")
def answer(console):
    found = console.clinic.desk.ask(
        console.clinic.ann, ["SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"], Spend(epsilon="0.1")
    )
    return found[0].identity


@pytest.mark.parametrize("name", ["ann", "steward", "auditor"])
def test_a_release_says_what_it_promises_and_how_it_was_made(console, answer, name):
    async def act(user):
        await user.open(f"/release/{answer}")
        assert "no outcome is more than" in text(user)
        assert "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex" in text(user)
        for mark in ("answer-grid", "release-download", "release-report"):
            assert bool(seen(user, mark)) == (name != "auditor")
        assert bool(seen(user, "release-share")) == (name == "steward")
        assert not seen(user, "release-attack")
        assert "Open its page" not in text(user)
        if name != "auditor":
            (frame,) = [one for one in user.client.elements.values() if one.tag == "iframe"]
            assert frame.props["sandbox"] == ""

    console.visit(name, act)


@pytest.mark.parametrize("name", ["ann", "steward", "auditor"])
def test_the_first_rows_of_a_published_table_are_shown(console, name):
    clinic = console.clinic
    (clinic.folder / "published").mkdir(exist_ok=True)
    place = f"published/{name}-rows"
    table = pa.table({"city": ["North"] * 30, "born": [1984] * 30})
    Release(table, Statement("person"), Recipe("generalize"), title="Ages").save(clinic.folder / place)
    now = dt.datetime.now(dt.UTC)
    one = Shelved(
        f"{name}-rows", "published", "Ages", ("patients",), "steward", now, "generalize", None, False, True, place
    )
    clinic.desk._shelf.put(one)

    async def act(user):
        await user.open(f"/release/{one.id}")
        assert bool(seen(user, "release-rows")) == (name != "auditor")
        assert ("20 of 30 rows are shown." in text(user)) == (name != "auditor")
        assert (">1984<" in text(user)) == (name != "auditor")
        assert bool(seen(user, "release-csv")) == (name != "auditor")
        assert bool(seen(user, "release-attack")) == (name == "steward")

    console.visit(name, act)


def test_others_are_told_that_there_is_none(console, answer):
    async def act(user):
        for id in (answer, "0" * 64, "no-such-release"):
            await user.open(f"/release/{id}")
            assert "There is no such release, or it is not visible to you." in text(user)
            assert "SELECT" not in text(user)

    console.visit("bob", act)


def test_a_steward_shares_it(console, answer):
    async def act(user):
        await user.open(f"/release/{answer}")
        with user:
            seen(user, "release-share")[0].set_value(True)
        await until(lambda: any("Shared with" in said for said in messages(user)))

    console.visit("steward", act)
    assert console.clinic.desk.shelved(console.clinic.ann, answer).shared


def test_releases_are_listed(console, answer):
    async def act(user):
        await user.open("/releases")
        assert seen(user, f"release-{answer}")
        await user.open("/")
        assert seen(user, f"release-{answer}")

    console.visit("ann", act)


@pytest.mark.parametrize("name", ["ann", "steward", "auditor"])
@pytest.mark.parametrize("page", ["/", "/releases"])
def test_answers_are_listed_by_their_questions_but_to_auditors(console, answer, name, page):
    async def act(user):
        await user.open(page)
        asked = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex" in text(user)
        titled = "An answer about patients" in text(user)
        assert (asked, titled) == ((False, True) if name == "auditor" else (True, False))

    console.visit(name, act)


def test_what_is_assumed_and_noted_has_lines_of_its_own():
    said = theme.statement("It is private. Assumed: A row is a person. Note: Noted. Note: Twice.")
    assert said.split("\n") == ["It is private.", "Assumed: A row is a person.", "Note: Noted.", "Note: Twice."]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("suppress", "1/20", "at most 5%"),
        ("suppress", 0.05, "at most 5%"),
        ("optimal", True, "yes"),
        ("rows", 5000, "5,000"),
        ("levels", {"age": 2}, "age: 2"),
    ],
)
def test_parameters_are_words(name, value, words):
    assert in_words(name, value) == words

"""The pages of releases: everybody sees what they may, and nothing of others."""

import pytest
from tests.service.console.conftest import seen, text

from discreet.service.shown import Spend


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
        if name != "auditor":
            (frame,) = [one for one in user.client.elements.values() if one.tag == "iframe"]
            assert frame.props["sandbox"] == ""

    console.visit(name, act)


def test_others_are_told_that_there_is_none(console, answer):
    async def act(user):
        for id in (answer, "0" * 64, "no-such-release"):
            await user.open(f"/release/{id}")
            assert "There is no such release here for you." in text(user)
            assert "SELECT" not in text(user)

    console.visit("bob", act)


def test_a_steward_shares_it(console, answer):
    async def act(user):
        await user.open(f"/release/{answer}")
        with user:
            seen(user, "release-share")[0].set_value(True)
        await user.should_see("It is shared.", retries=40)

    console.visit("steward", act)
    assert console.clinic.desk.shelved(console.clinic.ann, answer).shared


def test_releases_are_listed(console, answer):
    async def act(user):
        await user.open("/releases")
        assert seen(user, f"release-{answer}")
        await user.open("/")
        assert seen(user, f"release-{answer}")

    console.visit("ann", act)

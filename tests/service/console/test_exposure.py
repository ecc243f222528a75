"""The Exposure page: what left, for stewards and auditors, and a draft that would be refused."""

import pytest
from tests.service.console.conftest import press, seen, text, until

import discreet as dc


@pytest.fixture(scope="module", autouse=True)
def released(clinic):
    """A table of everyone but one patient is out."""
    table = clinic.desk.workspace.original("patients").where("patient_id <> 1")
    dc.tabulate(table, "sex × insurance", rules="min=3")


def test_a_steward_sees_what_left_and_what_it_tells_together(console):
    async def act(user):
        await user.open("/exposure")
        shown = text(user)
        assert "Releases about patients" in shown
        assert "counts by sex × insurance" in shown
        assert "1,999 people, whom all releases together divide into 2 groups" in shown
        with user:
            seen(user, "exposure-recipient")[0].set_value("ann")
        await until(lambda: "Nothing has been released yet." in text(user))

    console.visit("steward", act)


def test_an_auditor_sees_the_checks_and_nothing_about_rows(console):
    async def act(user):
        await user.open("/exposure")
        assert "counts by sex × insurance" in text(user)
        assert "1,999" not in text(user)
        assert not seen(user, "whatif-run")

    console.visit("auditor", act)


def test_a_draft_is_checked_on_the_page(console):
    async def tried(user, **fields):
        with user:
            for name, value in fields.items():
                seen(user, f"whatif-{name}")[0].set_value(value)
        press(user, "whatif-run")

    async def act(user):
        await user.open("/exposure")
        await tried(user, by="sex × insurance")
        await until(lambda: "would be refused" in text(user))
        await tried(user, where="patient_id <> 1")
        await until(lambda: "would pass" in text(user))
        await tried(user, by="", models="", method="pram keep=0.9 on sex")
        await until(lambda: "so its facts are not figures" in text(user))
        await tried(user, where="patient_id <>")
        await until(lambda: "not an SQL condition" in text(user))

    console.visit("steward", act)


def test_analysts_do_not_see_it(console):
    async def act(user):
        await user.open("/exposure")
        assert "may not open this page" in text(user)

    console.visit("ann", act)

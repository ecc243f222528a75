"""The Synthesize page: a stand-in within the table's budget, and rows that promise nothing."""

import datetime as dt
from dataclasses import replace

from tests.service.console.conftest import messages, press, seen, text, until

from discreet.core.card import Card, Column
from discreet.service.console.jobs import is_synthesis, job_address
from discreet.service.console.synthesize import about, declared
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Publish
from discreet.verbs.synthesize.private import parse_private


def test_a_stand_in_of_before_is_listed_without_its_method():
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    spec = {"table": "patients", "epsilon": "1", "by": "aim"}
    job = Job("20260101-patients-0", "synthesize", "steward", "patients", spec, at, "done", 1, "", None, "")
    assert about(job) == "synthetic stand-in, –"
    assert job_address(job).startswith("/synthesize?")
    made_up = replace(job, kind="publish", spec=Publish("patients", (), "Synthesize cart").to_dict())
    assert is_synthesis(made_up) and about(made_up) == "no guarantee, Synthesize cart"
    assert not is_synthesis(replace(job, kind="publish", spec=Publish("patients", (), "noise alpha=0.1").to_dict()))


def test_a_stand_in_is_asked_for_with_all_that_it_can_be_told(console):
    async def act(user):
        await user.open("/synthesize?table=visits")
        with user:
            for box, value in {"on": "ward, cost, outcome", "bins": "cost:8", "person": "ward, outcome"}.items():
                seen(user, f"synthesis-{box}")[0].set_value(value)
        press(user, "synthesize-start")
        await until(lambda: bool(seen(user, "job-synthesize")))
        press(user, "job-cancel")
        await until(lambda: seen(user, "job-synthesize")[0].props["data-state"] == "cancelled")

    console.visit("steward", act)
    job = next(one for one in console.clinic.desk.jobs(console.clinic.steward) if one.kind == "synthesize")
    assert job.spec["method"] == "epsilon=1 delta=1e-9 bins=cost:8 person=ward, outcome on ward, cost, outcome"
    made = parse_private(job.spec["method"], console.clinic.desk.workspace.card("visits"))
    assert (made.bins, tuple(made.person)) == ({"cost": 8}, ("ward", "outcome"))


def test_what_the_budget_does_not_cover_cannot_be_started(console):
    async def act(user):
        await user.open("/synthesize?table=patients")
        (start,) = seen(user, "synthesize-start")
        assert start.enabled
        with user:
            seen(user, "synthesis-epsilon")[0].set_value("90")
        await until(lambda: not start.enabled)
        assert "The table has ε 3" in text(user)
        with user:
            seen(user, "synthesize-guarantee")[0].set_value("plain")
        await until(lambda: start.enabled)
        with user:
            seen(user, "synthesize-guarantee")[0].set_value("private")
            seen(user, "synthesis-epsilon")[0].set_value("much")
        await until(lambda: start.enabled)
        press(user, "synthesize-start")
        await until(lambda: any("epsilon must be a number" in said for said in messages(user)))
        assert not seen(user, "job-synthesize")

    console.visit("steward", act)


def test_rows_without_a_guarantee_are_made_by_a_method_of_the_catalogue(console):
    async def act(user):
        await user.open("/synthesize?table=patients")
        with user:
            seen(user, "synthesize-guarantee")[0].set_value("plain")
            seen(user, "synthesizer-method")[0].set_value("synthesize copula")
            seen(user, "synthesize-title")[0].set_value("Made up")
        press(user, "synthesize-start")
        await until(lambda: bool(seen(user, "job-publish")))
        press(user, "job-cancel")
        await until(lambda: seen(user, "job-publish")[0].props["data-state"] == "cancelled")

    console.visit("steward", act)
    (job,) = [one for one in console.clinic.desk.jobs(console.clinic.steward) if one.spec.get("title") == "Made up"]
    assert (job.spec["method"], job.spec["models"]) == ("synthesize copula", [])


def test_columns_without_declared_values_are_left_out():
    card = Card("t", (Column("age", "integer", bounds=(0, 99)), Column("name", "text"), Column("well", "boolean")))
    assert declared(card) == ["age", "well"]
    assert declared(Card("t", (Column("well", "boolean"),))) == []

"""Exposure in the service: who sees what, what a draft would do, and who may release something all the same."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace

import pytest
from tests.service.conftest import Clinic, new_desk
from tests.service.serving import serving

import discreet as dc
from discreet.errors import BadInput, NotAllowed, NotFound
from discreet.service.jobs.specs import Hide, Publish, Tabulate

SIDES, RULES = ("sex × insurance",), ("min=3",)
WHOLE = Tabulate("patients", SIDES, None, RULES)
REASON = "agreed by the ethics board"


@pytest.fixture
def released(template, tmp_path):
    """A clinic of its own that has released a table of everyone but one patient."""
    folder, tokens = template
    shutil.copytree(folder, tmp_path / "home")
    with new_desk(tmp_path / "home" / "clinic") as desk:
        table = desk.workspace.original("patients").where("patient_id <> 1")
        dc.tabulate(table, SIDES, rules=RULES)
        desk.start()
        yield Clinic(tmp_path / "home" / "clinic", desk, tokens)


def done(desk, who, spec):
    job = desk.submit(who, spec)
    for _ in range(600):
        job = desk.job(who, job.id)
        if job.over:
            return job
        time.sleep(0.1)
    raise AssertionError("the job did not end")


def last_line(clinic, action):
    lines = clinic.desk.access.audit(clinic.auditor, most=50)
    return next(one for one in lines if one.action == action)


def test_a_steward_sees_groups_and_an_auditor_what_was_done(released):
    [seen] = released.desk.exposure.overview(released.steward).populations
    assert seen.departures[0].state == "checked"
    assert seen.standings[0].people == 1999
    [shown] = released.desk.exposure.overview(released.auditor).populations
    assert shown.departures == seen.departures
    assert shown.standings == (), "sizes of groups are about rows"
    with pytest.raises(NotAllowed):
        released.desk.exposure.overview(released.ann)


def test_a_draft_is_checked_and_goes_no_further(released):
    desk, steward = released.desk, released.steward
    assert not desk.exposure.what_if(steward, WHOLE).passes
    found = desk.exposure.what_if(steward, WHOLE, "patient_id <> 1")
    assert (found.passes, found.checked) == (True, (1,))
    assert len(desk.exposure.overview(steward).populations[0].departures) == 1
    assert last_line(released, "try a release").about == {"table": "patients"}
    for who in (released.auditor, released.ann):
        with pytest.raises(NotAllowed):
            desk.exposure.what_if(who, WHOLE)
    with pytest.raises(NotFound):
        desk.exposure.what_if(steward, replace(WHOLE, table="nothing"))
    with pytest.raises(BadInput):
        desk.exposure.what_if(steward, WHOLE, "patient_id <> (SELECT 1)")


def test_a_draft_of_rows_is_checked_and_one_that_no_figures_describe_is_not(released):
    desk, steward = released.desk, released.steward
    draft = Publish("patients", ("k=5",), "generalize suppress=5%")
    found = desk.exposure.what_if(steward, draft, "patient_id <> 1")
    assert (found.passes, found.checked) == (True, (1,))
    masked = desk.exposure.what_if(steward, Publish("patients", (), "pram keep=0.9 on sex"))
    assert masked.passes
    assert masked.checked == ()
    assert "Not checked together with 1 earlier release" in masked.message
    assert masked.attack.startswith("Not attacked jointly with others: none of them has rows")
    assert len(desk.exposure.overview(steward).populations[0].departures) == 1


def test_what_an_attack_found_is_for_stewards(released):
    desk = released.desk
    for title in ("one", "two"):
        job = done(desk, released.steward, Publish("patients", (), "pram keep=0.9 on sex", title=title))
        assert job.state == "done", job.error
    line = desk.exposure.overview(released.steward).populations[0].departures[-1]
    assert line.attack.startswith("Attacked jointly with ")
    assert desk.exposure.overview(released.auditor).populations[0].departures[-1].attack == ""


def test_the_api_gives_the_same(released):
    with serving(released.desk) as service:
        client = service.client(released.tokens["steward"])
        found = client.get("/v1/exposure").json()
        assert found["populations"][0]["standings"][0]["people"] == 1999
        assert {one["table"] for one in found["spent"]} == {"patients", "visits"}
        body = {"table": "patients", "by": list(SIDES), "rules": list(RULES)}
        assert client.post("/v1/exposure/what-if", json=body).json()["passes"] is False
        tried = client.post("/v1/exposure/what-if", json=body | {"where": "patient_id <> 1"}).json()
        assert (tried["passes"], tried["checked"]) == (True, [1])
        assert client.post("/v1/exposure/what-if", json=body | {"where": "1 = pg_sleep(9)"}).status_code == 400
        rows = {"table": "patients", "models": ["k=5"], "method": "generalize suppress=5%", "where": "patient_id <> 1"}
        assert client.post("/v1/exposure/what-if", json=rows).json()["checked"] == [1]
        assert client.post("/v1/exposure/what-if", json={"table": "patients"}).status_code == 400, "no model"
        hers = client.get("/v1/exposure", params={"recipient": "ann"}).json()
        assert {one["analyst"] for one in hers["spent"]} == {"ann"}
        assert hers["populations"] == [], "nothing was shared with her"
        assert client.get("/v1/exposure", params={"recipient": "nobody"}).status_code == 404


def test_a_reason_overrides_a_refusal_and_is_in_the_audit_log_the_register_and_the_statement(released):
    desk, steward = released.desk, released.steward
    job = done(desk, steward, WHOLE)
    assert job.state == "failed"
    assert "reveals insurance of a group of 1 person" in job.error
    job = done(desk, steward, replace(WHOLE, despite=REASON))
    assert job.state == "done", job.error
    assert last_line(released, "ask for tabulate").about["despite"] == REASON
    assert REASON in str(desk.statement(steward, str(job.result)).statement)
    [population] = desk.exposure.overview(steward).populations
    line = population.departures[-1]
    assert (line.state, line.note, line.release) == ("overridden", REASON, job.result)
    assert population.standings[0].exposed == 1
    desk.share(steward, str(job.result), True)
    [hers] = desk.exposure.overview(steward, "ann").populations
    assert [one.number for one in hers.departures] == [line.number]
    assert hers.standings[0].exposed == 0, "she has one of the two tables"


def test_the_policy_says_who_may_override(released, monkeypatch):
    policy = replace(released.desk.workspace.policy, override=())
    monkeypatch.setattr(released.desk.exposure, "_curator", Stand(replace(released.desk.workspace, policy=policy)))
    hide = Hide("patients", "2%", itemsets=("sex=F",), columns=("sex",), despite=REASON)
    for spec in (hide, Publish("patients", ("k=5",), despite=REASON)):
        with pytest.raises(NotAllowed, match="does not allow you"):
            released.desk.submit(released.steward, spec)
    line = last_line(released, "ask for publish")
    assert not line.well
    assert line.about["error"] == "NotAllowed"


class Stand:
    """A curator of whom only the workspace is looked at."""

    def __init__(self, workspace):
        self.workspace = workspace

"""Surveys of a workspace: made by stewards, answered by anybody with the link, and nothing else is told or kept."""

from __future__ import annotations

import asyncio
import io
import json
import stat

import httpx
import pytest
from anyio import to_thread
from tests.loops import run

from discreet.errors import BadInput, NotAllowed, NotFound
from discreet.service.api.logs import Log
from discreet.service.app import make_app
from discreet.service.settings import Settings
from discreet.verbs.collect.survey.file import loads
from discreet.verbs.collect.survey.inbox import FEWEST_REPORTS, Inbox

TEXT = """
title = "Lunch"
epsilon = 2
people = 50
[questions.ate]
text = "Did you eat <here>?"
kind = "yes/no"
protocol = "grr"
"""
BASE = "http://127.0.0.1:8640"


@pytest.fixture
def view(clinic):
    return clinic.desk.surveys.make(clinic.steward, loads(TEXT))


@pytest.fixture
def call(clinic):
    """Calls the service as somebody who never signed in; what it logged by then is ``call.said``."""
    said = io.StringIO()
    app = make_app(clinic.desk, Settings(rate=0.001, burst=8), log=Log(said), console=False)

    def asked(method, path, **options):
        async def one():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as http:
                return await http.request(method, path, **options)

        return run(one())

    asked.said = said
    return asked


def report(view, number, answer=1):
    return {"survey": view.survey.fingerprint, "id": f"{number:032x}", "code": None, "reports": {"ate": answer}}


def test_people_answer_while_it_is_open_and_its_figures_are_released(clinic, view, call):
    surveys, steward = clinic.desk.surveys, clinic.steward
    place = f"/s/{view.id}"
    assert call("GET", f"{place}/").status_code == 404
    with pytest.raises(BadInput, match="no reports yet"):
        surveys.estimates(steward, view.id)
    assert surveys.set_open(steward, view.id, open=True).open
    redirect = call("GET", place)
    assert (redirect.status_code, redirect.headers["location"]) == (307, f"{place}/")
    page = call("GET", f"{place}/")
    assert "Did you eat \\u003chere>" in page.text and "unsafe" not in page.headers["content-security-policy"]
    assert call("GET", f"{place}/randomise.js").status_code == 200
    for number in range(3):
        assert call("POST", f"{place}/reports", json=report(view, number)).status_code == 200
    assert surveys.find(steward, view.id).reports == 3
    found = surveys.estimates(steward, view.id)
    assert found.people == 3 and {one.figure for one in found.figures} == {"no", "yes"}
    release = surveys.release(steward, view.id)
    one = clinic.desk.shelved(steward, release)
    assert (one.kind, one.tables, one.shared, one.title) == ("collected", (), False, "Lunch")
    assert clinic.desk.release(steward, release).payload.num_rows == 2
    with pytest.raises(NotFound):
        clinic.desk.shelved(clinic.ann, release)
    clinic.desk.share(steward, release, True)
    assert clinic.desk.shelved(clinic.ann, release).shared
    assert not surveys.set_open(steward, view.id, open=False).open
    assert call("POST", f"{place}/reports", json=report(view, 3)).status_code == 404
    assert surveys.find(steward, view.id).reports == 3
    surveys.set_open(steward, view.id, open=True)
    assert call("POST", f"{place}/reports", json=report(view, 4)).status_code == 200
    assert surveys.find(steward, view.id).reports == 4
    lines = [line for line in clinic.desk.access.audit(steward) if line.about.get("survey") == view.id]
    assert [line.action for line in reversed(lines)] == [
        "make survey",
        "read estimates",
        "open survey",
        "read estimates",
        "release survey",
        "close survey",
        "open survey",
    ]


def test_nothing_is_kept_of_a_respondent_but_the_report_and_that_for_the_owner_alone(clinic, view, call):
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    before = clinic.desk.access.audit(clinic.steward, most=1)
    assert call("POST", f"/s/{view.id}/reports", json=report(view, 7)).status_code == 200
    assert call.said.getvalue() == ""
    assert clinic.desk.access.audit(clinic.steward, most=1) == before
    folder = clinic.folder / "surveys"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    kept = (folder / f"{view.id}.reports.jsonl").read_text().splitlines()[-1]
    assert kept == f'{{"id": "{7:032x}", "reports": {{"ate": 1}}}}'


def test_what_is_no_open_survey_is_answered_alike_and_tells_nothing(clinic, view, call):
    names = (view.id, "0" * 16, "..%2fworkspace", f"{view.id}.toml", "", "v1")
    told = {(one.status_code, one.text) for one in (call("GET", f"/s/{name}/") for name in names)}
    assert len(told) == 1
    ((status, text),) = told
    assert status == 404 and "There is no open survey here." in text and str(clinic.folder) not in text
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    for path in ("toml", "../workspace.toml", "reports.jsonl", "reports/", "page.js/", "/evil.example/", "%00", "docs"):
        assert call("GET", f"/s/{view.id}/{path}").status_code in (404, 405)
    assert call("POST", f"/s/{view.id}/reports/", json=report(view, 1)).status_code == 404  # and not sent elsewhere
    assert call.said.getvalue() == ""


def test_requests_from_elsewhere_too_large_or_too_many_are_refused(clinic, view, call):
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    place = f"/s/{view.id}/reports"
    assert call("POST", place, json=report(view, 1), headers={"Origin": "http://evil.example"}).status_code == 403
    for host in ("evil.example", "127.0.0.1:80@evil.example", "evil.example:8640", ""):
        assert call("POST", place, json=report(view, 1), headers={"Host": host}).status_code == 421
    for origin in ("null", "file://", "http://[", f"{BASE}.evil.example"):
        assert call("POST", place, json=report(view, 1), headers={"Origin": origin}).status_code == 403
    assert call("POST", place, content=b" " * 200_000).status_code == 413
    assert call("POST", place, json=report(view, 1, answer=2)).status_code == 400
    codes = [call("POST", place, json=report(view, number)).status_code for number in range(8)]
    assert codes == [200] * 7 + [503]
    assert clinic.desk.surveys.find(clinic.steward, view.id).reports == 7


def test_a_survey_that_another_process_serves_is_not_available_here(clinic, view, call):
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    with Inbox(view.survey, clinic.folder / "surveys" / f"{view.id}.reports.jsonl"):
        answer = call("GET", f"/s/{view.id}/")
    assert answer.status_code == 503 and str(clinic.folder) not in answer.text
    assert call("GET", f"/s/{view.id}/").status_code == 200


def test_a_survey_whose_file_cannot_be_opened_is_not_available_and_writes_no_line(clinic, view, call):
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    file = clinic.folder / "surveys" / f"{view.id}.reports.jsonl"
    file.mkdir()
    for answer in (call("GET", f"/s/{view.id}/"), call("POST", f"/s/{view.id}/reports", json=report(view, 1))):
        assert answer.status_code == 503 and str(clinic.folder) not in answer.text
    assert call.said.getvalue() == ""
    file.rmdir()
    assert call("GET", f"/s/{view.id}/").status_code == 200


def test_a_report_that_comes_while_it_is_closed_is_refused(clinic, view):
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    _, inbox = clinic.desk.surveys.collecting(view.id)
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=False)
    with pytest.raises(NotAllowed, match="closed"):
        inbox.receive(report(view, 1))


def test_who_floods_a_survey_fills_its_inbox_and_not_the_disk(clinic, view, call):
    surveys = clinic.desk.surveys
    surveys.set_open(clinic.steward, view.id, open=True)
    place = f"/s/{view.id}/reports"
    assert call("POST", place, json=report(view, 0)).status_code == 200
    surveys.set_open(clinic.steward, view.id, open=False)
    with (clinic.folder / "surveys" / f"{view.id}.reports.jsonl").open("a") as file:
        lines = ({"id": f"{number:032x}", "reports": {"ate": 1}} for number in range(1, FEWEST_REPORTS))
        file.writelines(f"{json.dumps(line)}\n" for line in lines)
    surveys.set_open(clinic.steward, view.id, open=True)
    refused = call("POST", place, json=report(view, FEWEST_REPORTS))
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "This survey has 10,000 reports, and takes no more.",
    )
    assert call("POST", place, json=report(view, 7)).status_code == 200  # its receipt was lost
    assert surveys.find(clinic.steward, view.id).reports == FEWEST_REPORTS


def test_reports_that_wait_for_the_disk_take_no_thread_of_others(clinic, view):
    clinic.desk.surveys.set_open(clinic.steward, view.id, open=True)
    _, inbox = clinic.desk.surveys.collecting(view.id)
    app = make_app(clinic.desk, Settings(), log=Log(io.StringIO()), console=False)
    place = f"/s/{view.id}/"

    async def flood():
        many = to_thread.current_default_thread_limiter().total_tokens + 10
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as http:
            posts = [asyncio.create_task(http.post(f"{place}reports", json=report(view, one))) for one in range(many)]
            try:
                with inbox._lock:  # a disk that hangs
                    assert (await asyncio.wait_for(http.get(place), 30)).status_code == 200
                    assert await asyncio.wait_for(to_thread.run_sync(lambda: "done"), 30) == "done"
                    assert not any(post.done() for post in posts)
            finally:
                codes = {(await post).status_code for post in posts}
            assert codes == {200}

    run(flood())


def test_a_program_does_the_same(clinic, call):
    headers = {"Authorization": f"Bearer {clinic.tokens['steward']}"}
    made = call("POST", "/v1/surveys", json={"survey": TEXT}, headers=headers).json()
    assert (made["title"], made["epsilon"], made["open"], made["path"]) == ("Lunch", "2", False, f"/s/{made['id']}/")
    place = f"/v1/surveys/{made['id']}"
    assert call("PUT", f"{place}/open", json={"open": True}, headers=headers).json()["open"]
    view = clinic.desk.surveys.find(clinic.steward, made["id"])
    for number in range(2):
        assert call("POST", f"{made['path']}reports", json=report(view, number)).status_code == 200
    figures = call("GET", f"{place}/estimates", headers=headers).json()
    assert [(one["question"], one["figure"], one["kind"]) for one in figures] == [
        ("ate", "no", "share"),
        ("ate", "yes", "share"),
    ]
    assert all(one["low_together"] <= one["low"] <= one["estimate"] <= one["high"] for one in figures)
    release = call("POST", f"{place}/release", headers=headers).json()["release"]
    assert call("GET", f"/v1/releases/{release}", headers=headers).status_code == 200
    assert call("GET", place, headers=headers).json()["reports"] == 2
    assert made["id"] in [one["id"] for one in call("GET", "/v1/surveys", headers=headers).json()]


def test_stewards_alone_have_surveys(clinic, view):
    surveys = clinic.desk.surveys
    for who in (clinic.ann, clinic.auditor):
        for act in (
            lambda who: surveys.make(who, loads(TEXT)),
            surveys.all,
            lambda who: surveys.find(who, view.id),
            lambda who: surveys.set_open(who, view.id, open=True),
            lambda who: surveys.estimates(who, view.id),
            lambda who: surveys.release(who, view.id),
        ):
            with pytest.raises(NotAllowed):
                act(who)
    refused = clinic.desk.access.audit(clinic.steward, by="ann")
    assert {line.action for line in refused} == {"make survey", "open survey", "read estimates", "release survey"}
    assert not any(line.well for line in refused)
    with pytest.raises(NotFound):
        surveys.find(clinic.steward, "../../etc")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("Lunch", "x" * 121), "at most 120"),
        (("Lunch", " "), "no title"),
        (("Lunch", "a\\nb"), "one line"),
        (("people = 50", 'people = 50\nabout = "a\\nb"'), "one line"),
        (("questions.ate", 'questions."a b"'), "cannot be the name of a question"),
        (("Did you eat <here>?", "x" * 501), "at most 500"),
        (("Did you eat <here>?", " "), "is empty"),
        (("people = 50", 'people = 50\nshuffler = { who = "Us", delta = 1e-6 }'), "does not shuffle"),
    ],
)
def test_a_survey_that_no_page_should_show_is_refused(clinic, change, said):
    before = len(clinic.desk.surveys.all(clinic.steward))
    with pytest.raises(BadInput, match=said):
        clinic.desk.surveys.make(clinic.steward, loads(TEXT.replace(*change)))
    assert len(clinic.desk.surveys.all(clinic.steward)) == before

"""The survey's page behind its guard, as requests meet it."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from tests.collect.survey.surveys import survey
from tests.loops import run

from discreet.service.api.guard import Guard
from discreet.service.settings import Settings
from discreet.service.survey_pages import RateLimit
from discreet.verbs.collect.survey.inbox import Inbox
from discreet.verbs.collect.survey.web import make_app, page, source

SURVEY = survey()


@pytest.fixture
def call(tmp_path):
    with Inbox(SURVEY, tmp_path / "music.reports.jsonl") as inbox:
        app = Guard(make_app(SURVEY, inbox), Settings(most_body=100_000))

        def asked(method, path, **options):
            async def one():
                transport = httpx.ASGITransport(app)
                async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8641") as oracle:
                    return await oracle.request(method, path, **options)

            return run(one())

        yield asked, inbox


def report(number=0, **changed):
    good = {"like": 1, "albums": "0000", "gender": 0, "age": "000000"}
    return {"survey": SURVEY.fingerprint, "id": f"{number:032x}", "code": None, "reports": good} | changed


def test_a_report_is_taken_and_a_bad_one_is_not(call):
    asked, inbox = call
    assert asked("POST", "/reports", json=report()).status_code == 200
    assert asked("POST", "/reports", json=report(1, reports={})).status_code == 400
    assert asked("POST", "/reports", json=report(1, code="x")).json()["message"] == "This survey has no codes."
    for odd in (b"{", b"[" * 90_000, b'{"\\ud800": 1}', b"1e999", b'"' + b"9" * 9_000 + b'"', b"\xff"):
        assert asked("POST", "/reports", content=odd, headers={"Content-Type": "application/json"}).status_code == 400
    assert asked("POST", "/reports", content=json.dumps(report(2))).status_code == 400
    assert len(inbox) == 1


def test_requests_from_elsewhere_are_refused(call):
    asked, inbox = call
    assert asked("POST", "/reports", json=report(), headers={"Origin": "http://evil.example"}).status_code == 403
    assert asked("POST", "/reports", json=report(), headers={"Host": "evil.example"}).status_code == 421
    assert asked("POST", "/reports", content=b" " * 200_000).status_code == 413
    assert asked("GET", "/reports").status_code == 405
    assert asked("GET", "/music.toml").status_code == 404
    assert len(inbox) == 0


def test_nobody_floods_it(call):
    _, inbox = call
    app = RateLimit(make_app(SURVEY, inbox), Settings(rate=0.01, burst=2))

    async def three():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as oracle:
            return [await oracle.post("/reports", json=report(number)) for number in range(3)]

    *taken, last = run(three())
    assert [one.status_code for one in taken] == [200, 200]
    assert (last.status_code, last.headers["retry-after"]) == (503, "100")
    assert len(inbox) == 2


def test_the_page_and_its_files_say_what_they_may_do(call):
    asked, _ = call
    for path in ("/", "/page.js", "/randomise.js", "/page.css"):
        result = asked("GET", path)
        assert result.status_code == 200
        assert result.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in result.headers["content-security-policy"]
        assert result.headers["cache-control"] == "no-store"
    assert asked("GET", "/randomise.js").text == source("randomise.js")
    assert not re.findall(r"https?://", asked("GET", "/").text + source("page.js") + source("randomise.js"))


def test_nothing_that_is_written_into_the_page_is_read_as_markup():
    from dataclasses import replace

    bad = "</script><script>alert(1)</script>"
    like = replace(SURVEY.questions[0], text=bad)
    made = replace(SURVEY, title=bad, about=bad, questions=(like,))
    assert "<script>alert" not in page(made, codes=True)

"""The API over real HTTP: what it is for."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import zipfile
from fractions import Fraction

import pytest
from tests.service.serving import serving

from discreet.core.release import Release

COUNT = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


@pytest.fixture(scope="module")
def service(clinic):
    with serving(clinic.desk) as found:
        yield found


@pytest.fixture(scope="module")
def ann(clinic, service):
    return service.client(clinic.tokens["ann"])


@pytest.fixture(scope="module")
def steward(clinic, service):
    return service.client(clinic.tokens["steward"])


def ok(response, status=200):
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def test_health_is_for_anybody(service):
    with service.client() as client:
        assert ok(client.get("/v1/health"))["status"] == "ok"


def test_a_card_says_what_may_be_asked(ann):
    tables = {table["name"]: table for table in ok(ann.get("/v1/tables"))}
    assert set(tables) == {"patients", "visits"}
    left = tables["patients"]["left"]["analyst"]
    assert (left["kind"], Fraction(left["epsilon"]) > 0, Fraction(left["delta"]) > 0) == ("approximate", True, True)
    assert ok(ann.get("/v1/tables/patients")) == tables["patients"]
    sex = next(column for column in tables["patients"]["columns"] if column["name"] == "sex")
    assert sex["kind"] == "text"


def test_an_answer_costs_what_its_price_said_and_is_free_again(ann):
    asked = {"questions": [COUNT], "epsilon": "0.11"}
    [price] = ok(ann.post("/v1/price", json=asked))["prices"]
    dry = ok(ann.post("/v1/ask", json=asked | {"dry_run": True}))
    assert dry == {"answers": [], "prices": [price]}
    before = Fraction(price["left"]["epsilon"])
    [answer] = ok(ann.post("/v1/ask", json=asked))["answers"]
    assert not answer["free"]
    assert answer["price"] == price["loss"]
    assert Fraction(answer["left"]["patients"]["analyst"]["epsilon"]) == before - Fraction(price["loss"]["epsilon"])
    columns = {column["name"]: column for column in answer["answer"]["columns"]}
    assert columns["n_error"] == {"name": "n_error", "kind": "integer", "error_of": "n"}
    assert columns["n"]["error_of"] is None
    assert len(answer["answer"]["rows"]) == 2
    [again] = ok(ann.post("/v1/ask", json=asked))["answers"]
    assert again["free"]
    assert again["answer"] == answer["answer"]
    assert again["left"] == answer["left"]


def test_a_release_is_downloaded_as_it_was_kept(ann, tmp_path):
    [answer] = ok(ann.post("/v1/ask", json={"questions": [COUNT], "epsilon": 0.1}))["answers"]
    listed = ok(ann.get("/v1/releases", params={"table": "patients", "most": 5}))
    assert answer["id"] in {one["id"] for one in listed}
    archive = ann.get(f"/v1/releases/{answer['id']}/download")
    assert archive.headers["content-type"] == "application/zip"
    zipfile.ZipFile(io.BytesIO(archive.content)).extractall(tmp_path / "release")
    release = Release.load(tmp_path / "release")
    assert [list(row.values()) for row in release.payload.to_pylist()] == answer["answer"]["rows"]
    statement = ok(ann.get(f"/v1/releases/{answer['id']}/statement"))
    assert statement["promise"] == answer["promise"] == release.promise
    assert statement["receipt"]["account"] == "patients/ann"
    report = ann.get(f"/v1/releases/{answer['id']}/report")
    assert report.text.startswith("<!doctype html>")


def test_nothing_tells_when_an_answer_was_ready(ann):
    """Answers are released at fixed moments; a file's time, or a digest of it, would say how long one took."""
    [answer] = ok(ann.post("/v1/ask", json={"questions": [COUNT], "epsilon": "0.101"}))["answers"]
    for what in ("", "/statement", "/report", "/download", "/rows.csv"):
        headers = ann.get(f"/v1/releases/{answer['id']}{what}").headers
        assert not {"etag", "last-modified"} & set(headers), what


def test_several_questions_share_a_price(ann):
    questions = ["SELECT count(*) AS n FROM patients", "SELECT count(*) AS n FROM visits"]
    answers = ok(ann.post("/v1/ask", json={"questions": questions, "epsilon": "0.02"}))["answers"]
    assert [answer["price"]["epsilon"] for answer in answers] == ["1/100", "1/100"]
    assert [list(answer["left"]) for answer in answers] == [["patients"], ["visits"]]


def test_the_smallest_epsilon_for_an_error(ann):
    said = ok(ann.post("/v1/epsilon", json={"question": "SELECT count(*) FROM patients", "error": 50}))
    assert 0 < Fraction(said["epsilon"]) == pytest.approx(said["about"])


@pytest.mark.parametrize(
    "method",
    [
        {"name": "distribution", "column": "admitted", "bins": 8, "epsilon": "0.01"},
        {"name": "bounds", "column": "cost", "epsilon": "0.01"},
        {"name": "macro-table", "by": [["diagnosis"]], "epsilon": "0.01"},
    ],
    ids=lambda method: method["name"],
)
def test_a_method_costs_what_its_price_said(ann, method):
    given = {"table": "visits", "method": method}
    price = ok(ann.post("/v1/methods/price", json=given))
    made = ok(ann.post("/v1/methods/release", json=given))
    assert made["price"] == price["loss"]
    assert made["answer"]["columns"]
    assert ok(ann.post("/v1/methods/release", json=given))["free"]


def test_a_budget_that_is_gone_says_what_was_asked_and_left(ann):
    refused = ann.post("/v1/ask", json={"questions": ["SELECT count(*) AS more FROM patients"], "epsilon": 50})
    assert refused.status_code == 409
    said = refused.json()
    assert said["error"] == "BudgetExceeded"
    assert said["asked"] == {"kind": "pure", "epsilon": "50"}
    assert Fraction(said["left"]["epsilon"]) < 3
    assert "instead" not in said  # there is no synthetic stand-in
    assert said["request"] == refused.headers["x-request-id"]


def test_a_question_that_cannot_be_asked_says_why(ann):
    said = ann.post("/v1/ask", json={"questions": ["SELECT * FROM patients"], "epsilon": 1})
    assert said.status_code == 400
    assert said.json()["error"] == "BadQuery"
    assert said.json()["message"]


def test_a_key_stands_for_one_request(ann):
    question = "SELECT count(*) AS k FROM patients WHERE birth_date < DATE '1951-02-03'"
    asked = {"questions": [question], "epsilon": "0.01", "key": "first"}
    assert ok(ann.post("/v1/ask", json=asked))["answers"][0]["free"] is False
    other = asked | {"questions": [question.replace("1951", "1952")]}
    refused = ann.post("/v1/ask", json=other)
    assert (refused.status_code, refused.json()["error"]) == (409, "Taken")


def test_a_request_that_is_wrong_says_all_that_is(ann):
    refused = ann.post("/v1/ask", json={"questions": [], "epsilon": 1, "sneaky": "x"})
    assert refused.status_code == 422
    assert {problem["where"] for problem in refused.json()["problems"]} == {"body.questions", "body.sneaky"}


def test_budgets_ledger_and_limits(ann, steward):
    [mine] = [one for one in ok(ann.get("/v1/budgets")) if one["account"] == "patients/ann"]
    raised = {"budget": {"limit": {"kind": "approximate", "epsilon": "2", "delta": "1/500000"}}, "why": "More."}
    now = ok(steward.put("/v1/budgets/patients/ann", json=raised))
    assert now["limit"]["epsilon"] == "2"
    assert now["spent"] == mine["spent"]
    lines = ok(steward.get("/v1/ledger", params={"account": "patients/ann"}))
    assert (lines[0]["kind"], lines[0]["what"]) == ("limited", "More.")
    assert {line["account"] for line in ok(ann.get("/v1/ledger"))} <= {"patients/ann", "visits/ann"}
    assert ok(steward.post("/v1/ledger/verify"))["sound"]


def test_people_come_and_go(clinic, service):
    steward = service.browser("steward", clinic.password("steward"))
    made = ok(steward.post("/v1/people", json={"name": "cleo", "role": "analyst"}), 201)
    cleo = service.browser("cleo", made["password"])
    assert ok(cleo.get("/v1/session"))["must_change"]
    assert cleo.get("/v1/tables").status_code == 403
    new = "cleo likes long passwords"
    changed = ok(cleo.post("/v1/password", json={"old": made["password"], "new": new}))
    assert not changed["must_change"]
    cleo.headers["X-CSRF-Token"] = changed["csrf"]
    assert ok(cleo.get("/v1/tables")) == []
    budget = {"budget": {"limit": {"kind": "pure", "epsilon": "1/2"}}, "tables": ["visits"]}
    [given] = ok(steward.put("/v1/people/cleo/budgets", json=budget))
    assert given["account"] == "visits/cleo"
    assert [table["name"] for table in ok(cleo.get("/v1/tables"))] == ["visits"]
    token = ok(cleo.post("/v1/tokens", json={"label": "notebook", "days": 3}), 201)
    with service.client(token["text"]) as program:
        assert ok(program.get("/v1/session"))["csrf"] is None
        assert ok(steward.put("/v1/people/cleo", json={"disabled": True}))["person"]["disabled"]
        assert program.get("/v1/session").status_code == 401
    assert cleo.get("/v1/session").status_code == 401
    again = ok(steward.put("/v1/people/cleo", json={"disabled": False, "reset": True}))
    back = service.browser("cleo", again["password"])
    assert ok(back.delete("/v1/session"), 204) is None
    assert back.get("/v1/session").status_code == 401


def test_a_token_is_ended_by_whoever_made_it(clinic, service):
    ann = service.browser("ann", clinic.password("ann"))
    token = ok(ann.post("/v1/tokens", json={"label": "short"}), 201)
    assert token["scopes"] == ["ask", "read"]
    lives = dt.datetime.fromisoformat(token["until"]) - dt.datetime.fromisoformat(token["made"])
    assert lives == dt.timedelta(days=90)
    assert token["id"] in {one["id"] for one in ok(ann.get("/v1/tokens"))}
    ok(ann.delete(f"/v1/tokens/{token['id']}"), 204)
    with service.client(token["text"]) as program:
        assert program.get("/v1/tables").status_code == 401
    assert ann.delete(f"/v1/tokens/{token['id']}").status_code == 404


def test_tokens_end_with_the_password_if_their_owner_wishes(clinic, service):
    people = clinic.desk.people
    people.change_password("fay", people.add("fay", people.find("ann").role), clinic.password("fay"))
    fay, program = service.browser("fay", clinic.password("fay")), service.client(people.new_token("fay", "x").text)
    words = [clinic.password("fay"), "another long password", "and yet another one"]
    for old, new, wish, then in ((words[0], words[1], {}, 200), (words[1], words[2], {"tokens_end": True}, 401)):
        changed = ok(fay.post("/v1/password", json={"old": old, "new": new, **wish}))
        fay.headers["X-CSRF-Token"] = changed["csrf"]
        assert program.get("/v1/tables").status_code == then
    assert people.tokens("fay") == ()


def test_a_price_tells_nothing_of_what_others_asked(clinic, service, ann, steward):
    question = "SELECT COUNT(*) AS told FROM patients WHERE sex = 'F'"
    method = {"table": "visits", "method": {"name": "bounds", "column": "cost", "epsilon": "0.01"}}
    budget = {"budget": {"limit": {"kind": "pure", "epsilon": "1"}}}
    people = clinic.desk.people
    people.change_password("gil", people.add("gil", people.find("ann").role), clinic.password("gil"))
    ok(steward.put("/v1/people/gil/budgets", json=budget))
    gil = service.client(people.new_token("gil", "x").text)

    def answered(who):
        asked = {"questions": [question], "epsilon": "0.01"}
        prices = [ok(who.post("/v1/price", json=asked)), ok(who.post("/v1/ask", json=asked | {"dry_run": True}))]
        told = [price["answered"] for one in prices for price in one["prices"]]
        return [*told, ok(who.post("/v1/methods/price", json=method))["answered"]]

    before = answered(gil)
    ok(ann.post("/v1/ask", json={"questions": [question], "epsilon": "0.01"}))
    ok(ann.post("/v1/methods/release", json=method))
    assert answered(ann) == [True, True, True]
    assert answered(gil) == before == [False, False, False]
    ok(gil.post("/v1/ask", json={"questions": [question], "epsilon": "0.01"}))
    ok(gil.post("/v1/methods/release", json=method))
    assert answered(gil) == [True, True, True]


def test_sharing_lets_others_see_a_release(clinic, service, ann, steward):
    [answer] = ok(ann.post("/v1/ask", json={"questions": [COUNT], "epsilon": "0.1"}))["answers"]
    budget = {"budget": {"limit": {"kind": "pure", "epsilon": "1"}}, "tables": ["patients"]}
    ok(steward.put("/v1/people/bob/budgets", json=budget))
    with service.client(clinic.tokens["bob"]) as bob:
        assert bob.get(f"/v1/releases/{answer['id']}").status_code == 404
        assert ok(steward.put(f"/v1/releases/{answer['id']}/shared", json={"shared": True}))["shared"]
        assert ok(bob.get(f"/v1/releases/{answer['id']}"))["by"] == "ann"
        ok(steward.put(f"/v1/releases/{answer['id']}/shared", json={"shared": False}))
        assert bob.get(f"/v1/releases/{answer['id']}/download").status_code == 404


def test_rows_of_a_release_are_had_as_csv(ann):
    [answer] = ok(ann.post("/v1/ask", json={"questions": [COUNT], "epsilon": 0.1}))["answers"]
    response = ann.get(f"/v1/releases/{answer['id']}/rows.csv")
    assert response.headers["content-type"].startswith("text/csv")
    names = [column["name"] for column in answer["answer"]["columns"]]
    head, *rows = csv.reader(io.StringIO(response.text))
    assert (head, len(rows)) == (names, len(answer["answer"]["rows"]))


def test_the_audit_log_says_who_did_what(steward):
    ok(
        steward.put(
            "/v1/people/bob/budgets",
            json={"budget": {"limit": {"kind": "pure", "epsilon": "1"}}, "tables": ["patients"]},
        )
    )
    lines = ok(steward.get("/v1/audit", params={"by": "steward", "most": 5}))
    assert lines
    assert {line["who"] for line in lines} == {"steward"}


def test_the_api_describes_itself_without_asking_anybody(service):
    with service.client() as client:
        page = client.get("/v1/docs")
        assert "POST /v1/ask" in page.text and "dry_run" in page.text and "&quot;questions&quot;: [" in page.text
        assert "http://" not in page.text and "https://" not in page.text and "<script" not in page.text
        assert "sandbox" in page.headers["content-security-policy"]
        assert ok(client.get("/v1/openapi.json"))["openapi"].startswith("3.")
        nothing = client.get("/v1/nothing")
        assert (nothing.status_code, nothing.json()["error"]) == (404, "NotFound")
        assert client.delete("/v1/tables").status_code == 405


def test_a_job_tells_how_far_it_is(clinic, service, steward):
    job = ok(steward.post("/v1/jobs/publish", json={"table": "patients", "models": ["k=2"]}), 202)
    assert (job["kind"], job["state"], job["by"]) == ("publish", "waiting", "steward")
    assert ok(steward.get(f"/v1/jobs/{job['id']}"))["table"] == "patients"
    assert job["id"] in {one["id"] for one in ok(steward.get("/v1/jobs"))}
    with steward.stream("GET", f"/v1/jobs/{job['id']}/events", params={"seconds": 30}) as events:
        lines = events.iter_lines()
        assert (next(lines), json.loads(next(lines).removeprefix("data: "))["state"]) == ("event: progress", "waiting")
        ok(steward.delete(f"/v1/jobs/{job['id']}"), 204)
        rest = list(lines)
    assert rest[-3] == "event: over"
    assert json.loads(rest[-2].removeprefix("data: "))["state"] == "cancelled"
    assert steward.get(f"/v1/jobs/{job['id']}/result").status_code == 400


def test_a_job_is_submitted_once_under_its_key(steward):
    asked = {"table": "patients", "models": ["k=3"], "key": "a retry"}
    job = ok(steward.post("/v1/jobs/publish", json=asked), 202)
    assert ok(steward.post("/v1/jobs/publish", json=asked), 202)["id"] == job["id"]
    assert "key" not in job["spec"]
    other = steward.post("/v1/jobs/publish", json=asked | {"models": ["k=4"]})
    assert (other.status_code, other.json()["error"]) == (400, "BadInput")
    assert "another job" in other.json()["message"]
    ok(steward.delete(f"/v1/jobs/{job['id']}"), 204)


def test_a_stream_ends_for_whoever_is_kept_out(clinic, service, steward):
    job = ok(steward.post("/v1/jobs/publish", json={"table": "patients", "models": ["k=2"]}), 202)["id"]
    people = clinic.desk.people
    people.change_password("eve", people.add("eve", people.find("auditor").role), clinic.password("eve"))
    eve = service.client(clinic.desk.people.new_token("eve", "for a while", 1).text)
    with eve.stream("GET", f"/v1/jobs/{job}/events", params={"seconds": 30}) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: progress"
        clinic.desk.people.disable("eve")
        assert [line for line in lines if line.startswith("event:")] == []
    ok(steward.delete(f"/v1/jobs/{job}"), 204)


@pytest.mark.slow
def test_a_job_makes_a_release_and_papers_for_the_holder(clinic, service, ann, steward, tmp_path):
    clinic.desk.start()
    asked = {"table": "patients", "by": ["sex × insurance"], "rules": ["min=3"], "title": "Patients by insurance"}
    job = ok(steward.post("/v1/jobs/tabulate", json=asked), 202)
    with steward.stream("GET", f"/v1/jobs/{job['id']}/events", params={"seconds": 300}) as events:
        last = [line for line in events.iter_lines() if line.startswith("data: ")][-1]
    done = json.loads(last.removeprefix("data: "))
    assert (done["state"], done["error"]) == ("done", "")
    assert ok(steward.get(f"/v1/jobs/{job['id']}/result"))
    paper = steward.get(f"/v1/jobs/{job['id']}/papers/holder.html")
    assert paper.headers["content-type"].startswith("text/html")
    assert paper.headers["content-security-policy"].startswith("sandbox;")
    assert ok(steward.get(f"/v1/releases/{done['result']}"))["title"] == "Patients by insurance"
    assert ann.get(f"/v1/releases/{done['result']}").status_code == 404
    ok(steward.put(f"/v1/releases/{done['result']}/shared", json={"shared": True}))
    archive = ann.get(f"/v1/releases/{done['result']}/download")
    zipfile.ZipFile(io.BytesIO(archive.content)).extractall(tmp_path / "table")
    assert Release.load(tmp_path / "table").recipe.parameters
    assert ann.get(f"/v1/jobs/{job['id']}/papers/holder.html").status_code == 403

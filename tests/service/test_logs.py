"""No log holds a secret, a question or a value: all kinds of requests are made with marked ones, and looked for."""

from __future__ import annotations

import io
import json
import logging

import pytest
from fastapi import APIRouter, FastAPI
from tests.loops import run
from tests.service.serving import MANY, serving

from discreet.service.api.logs import Log, Note, _level
from discreet.service.app import make_app

LITERAL = "canary-literal-7261"
PASSWORD = "canary password 9942"  # noqa: S105
GUESS = "canary guess 1188"
TOKEN = "dct_canary_token_3377"  # noqa: S105
LABEL = "canary label 5510"
WHY = "canary reason 6613"
FAULT = "canary value in a fault 8456"
CANARIES = (LITERAL, PASSWORD, GUESS, TOKEN, LABEL, WHY, FAULT)


@pytest.fixture(scope="module")
def logged(clinic, tmp_path_factory):
    """All that was logged, to anywhere, while all kinds of requests were made; and what the audit log has."""
    kept = tmp_path_factory.mktemp("logs") / "all.txt"
    handler = logging.FileHandler(kept)
    logging.getLogger().addHandler(handler)
    with serving(clinic.desk) as service:
        add_fault(service.app)
        secrets = requests(clinic, service)
    mine = service.log.getvalue()
    logging.getLogger().removeHandler(handler)
    handler.close()
    with clinic.desk._state.reading() as session:
        audit = "\n".join(str(row) for row in session.rows("SELECT * FROM audit"))
    return mine, kept.read_text(), audit, secrets


def add_fault(app):
    """A route with a fault that quotes data."""
    router = APIRouter()

    @router.get("/v1/fault")
    def fault() -> None:
        raise ValueError(FAULT)

    app.state.api.include_router(router)


def requests(clinic, service):
    """Requests of all kinds, good and bad; what they brought back that nobody may find in a log."""
    ann, steward = service.client(clinic.tokens["ann"]), service.browser("steward", clinic.password("steward"))
    secrets = [*clinic.tokens.values(), clinic.password("ann")]
    made = steward.post("/v1/people", json={"name": "cleo", "role": "analyst"}).json()
    secrets.append(made["password"])
    cleo = service.browser("cleo", made["password"])
    cleo.post("/v1/password", json={"old": GUESS, "new": "short"})
    changed = cleo.post("/v1/password", json={"old": made["password"], "new": PASSWORD}).json()
    secrets += [changed["csrf"], cleo.cookies["discreet_session"]]
    service.client().post("/v1/session", json={"name": "ann", "password": GUESS})
    service.client().post("/v1/session", json={"name": "ann", "password": GUESS, "more": GUESS})
    service.client(TOKEN).get("/v1/tables")
    question = f"SELECT count(*) AS n FROM patients WHERE ethnicity = '{LITERAL}'"
    for epsilon in ("0.01", 99, "no number", -1):
        for path in ("/v1/price", "/v1/ask"):
            ann.post(path, json={"questions": [question], "epsilon": epsilon, "delta": "1e-9"})
    ann.post("/v1/ask", json={"questions": [f"SELECT '{LITERAL}' FROM"], "epsilon": 1})
    ann.get(f"/v1/tables/{LITERAL}")
    ann.get("/v1/releases", params={"kind": LITERAL})
    ann.get(f"/v1/{LITERAL}")
    secrets.append(steward.post("/v1/tokens", json={"label": LABEL, "days": 1}).json()["text"])
    steward.put("/v1/budgets/visits", json={"budget": {"limit": {"kind": "pure", "epsilon": "9"}}, "why": WHY})
    fault = ann.get("/v1/fault")
    assert (fault.status_code, fault.json()["error"]) == (500, "Fault")
    assert FAULT not in fault.text
    return secrets


def test_every_request_is_a_line_of_json(logged):
    lines = [json.loads(line) for line in logged[0].splitlines()]
    assert len(lines) >= 20
    assert all({"at", "request", "method", "route", "status", "ms", "person"} <= set(line) for line in lines)
    assert {"/v1/ask", "/v1/tables/{name}", "-"} <= {line["route"] for line in lines}
    assert {"ann", "steward", "cleo", None} == {line["person"] for line in lines}


def test_a_fault_is_found_by_its_number(logged):
    [line] = [line for line in map(json.loads, logged[0].splitlines()) if line["route"] == "/v1/fault"]
    assert (line["status"], line["error"]) == (500, "ValueError")
    assert line["where"][-1].startswith("test_logs.py:")


def test_a_line_says_how_bad_it_is(logged):
    levels = {(line["status"], line["level"]) for line in map(json.loads, logged[0].splitlines())}
    assert {(200, "info"), (409, "info"), (500, "error")} <= levels
    assert {level for status, level in levels if status < 500} == {"info"}
    assert [_level(status, Note(error=error)) for status, error in ((503, ""), (0, "ValueError"), (0, ""))] == [
        "warning",
        "error",
        "info",
    ]


def test_a_request_has_one_number_in_the_log_the_audit_log_and_what_is_told(clinic):
    with serving(clinic.desk) as service:
        ann, steward = (service.client(clinic.tokens[who]) for who in ("ann", "steward"))
        asked = ann.post("/v1/ask", json={"questions": ["SELECT COUNT(*) AS n FROM visits"], "epsilon": "0.01"})
        job = steward.post("/v1/jobs/publish", json={"table": "patients", "models": ["k=3"]})
        clinic.desk.cancel(clinic.steward, job.json()["id"])
    logged = {line["request"]: line["route"] for line in map(json.loads, service.log.getvalue().splitlines())}
    lines = clinic.desk.access.audit(clinic.steward)
    found = {line.action: line.about.get("request") for line in lines[:4]}
    asking, submitted = asked.headers["x-request-id"], job.headers["x-request-id"]
    assert found["ask"] == asking != submitted == found["ask for publish"] == found["publish"]
    assert found["cancel"] is None, "no request asked for that"
    assert (logged[asking], logged[submitted]) == ("/v1/ask", "/v1/jobs/publish")


@pytest.mark.parametrize("which", [0, 1, 2], ids=["log", "other loggers", "audit log"])
def test_no_log_holds_what_it_must_not(logged, which):
    text = logged[which]
    for secret in (*CANARIES, *logged[3]):
        assert secret not in text


class Listener:
    """Whoever runs the process may have OpenTelemetry listen to all of it."""

    def __init__(self):
        self.heard = []

    def get_logger(self, *args, **kwargs):
        return self

    def emit(self, *args, **kwargs):
        self.heard.append((args, kwargs))


def test_nothing_is_told_to_a_telemetry_of_the_process(clinic, monkeypatch):
    listener = Listener()
    monkeypatch.setattr("opentelemetry._logs._internal._LOGGER_PROVIDER", listener)
    scope = {"type": "http", "method": "GET", "path": "/v1/fault", "query_string": b"", "root_path": ""}
    scope |= {"headers": [(b"host", b"localhost")], "scheme": "http", "http_version": "1.1", "server": ("localhost", 1)}

    async def call(app):
        async def receive():
            return {"type": "http.request"}

        async def send(message):
            pass

        await app(dict(scope), receive, send)

    ours = make_app(clinic.desk, MANY, log=Log(io.StringIO()), console=False)
    add_fault(ours)
    run(call(ours))
    assert listener.heard == []
    careless = FastAPI()
    careless.include_router(ours.state.api.router)
    with pytest.raises(ValueError, match="canary"):
        run(call(careless))
    assert FAULT in str(listener.heard)


def test_a_search_would_find_it(logged):
    assert "sign in" in logged[2]
    assert "cleo" in logged[2]

"""Every route, tried by everybody: nobody, each role, somebody who must change the password, somebody kept out.

A route that is not in the table fails the test: whoever adds one says here who may use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.routing import APIRoute
from tests.service.serving import serving

from discreet.curator.people.person import Scope
from discreet.service.api.caller import SAFE

NOBODY, CHANGING, OUT, ANALYST, AUDITOR, STEWARD = CALLERS = (
    "nobody",
    "must change",
    "kept out",
    "analyst",
    "auditor",
    "steward",
)
ANY, NO_TOKEN = "any", "no token"
NONE = "0" * 64
BUDGET = {"limit": {"kind": "pure", "epsilon": "1"}}
QUESTION = {"questions": ["SELECT count(*) FROM patients"], "epsilon": "0.001"}
LIMIT = {"budget": BUDGET, "why": "so"}
TABULATE = {"table": "nothing", "by": ["ward"], "rules": ["min=3"]}
HIDE = {"table": "nothing", "support": "2%", "itemsets": ["sex=F"]}
SURVEY = {"survey": "0" * 16}
CARD = '[tables.t.columns.a]\nkind = "text"\n'
METHOD = {"table": "visits", "method": {"name": "bounds", "column": "cost", "epsilon": "0.001"}}


@dataclass(frozen=True)
class Tried:
    """A request, and the status that everybody gets: those for roles are for analyst, auditor, steward."""

    method: str
    route: str
    roles: tuple[int, int, int]
    json: Any = None
    path: dict[str, str] = field(default_factory=dict)
    nobody: int = 401
    changing: int = 403
    """For somebody with a one-time password."""
    scope: str = "read"
    """What a token must be made for: ask, read or manage; or ANY, or NO_TOKEN if it takes a session."""

    @property
    def id(self) -> str:
        return f"{self.method} {self.route}"

    def expected(self, who: str) -> int:
        return dict(zip(CALLERS, (self.nobody, self.changing, self.nobody, *self.roles), strict=True))[who]


EVERYBODY = (200, 200, 200)
READERS = (403, 200, 200)
STEWARDS = (403, 403, 200)
TABLE = (
    Tried("GET", "/v1/live", EVERYBODY, nobody=200, changing=200, scope=ANY),
    Tried("GET", "/v1/health", EVERYBODY, nobody=200, changing=200, scope=ANY),
    Tried("GET", "/v1/docs", EVERYBODY, nobody=200, changing=200, scope=ANY),
    Tried("GET", "/v1/catalogue", EVERYBODY, nobody=200, changing=200, scope=ANY),
    Tried("GET", "/v1/metrics", READERS),
    Tried("POST", "/v1/session", (401, 401, 401), changing=401, scope=ANY),
    Tried("GET", "/v1/session", EVERYBODY, changing=200, scope=ANY),
    Tried("DELETE", "/v1/session", (400, 400, 400), changing=400, scope=ANY),
    Tried("POST", "/v1/password", (400, 400, 400), {"old": "no", "new": "short"}, changing=400, scope=NO_TOKEN),
    Tried("GET", "/v1/tables", EVERYBODY),
    Tried("GET", "/v1/tables/{name}", EVERYBODY, path={"name": "patients"}),
    Tried("POST", "/v1/price", (200, 403, 409), QUESTION, scope="ask"),
    Tried("POST", "/v1/ask", (200, 403, 409), QUESTION, scope="ask"),
    Tried("POST", "/v1/ask/audited", (409, 403, 409), {"question": "SELECT SUM(cost) FROM visits"}, scope="ask"),
    Tried("POST", "/v1/epsilon", (200, 403, 409), {"question": QUESTION["questions"][0], "error": 5}, scope="ask"),
    Tried("POST", "/v1/methods/price", (200, 403, 409), METHOD, scope="ask"),
    Tried("POST", "/v1/methods/release", (200, 403, 409), METHOD, scope="ask"),
    Tried("GET", "/v1/budgets", EVERYBODY),
    Tried(
        "PUT", "/v1/budgets/{account}", STEWARDS, {"budget": BUDGET, "why": "so"}, {"account": "visits"}, scope="manage"
    ),
    Tried("GET", "/v1/ledger", EVERYBODY),
    Tried("POST", "/v1/ledger/verify", READERS),
    Tried("GET", "/v1/exposure", READERS),
    Tried("POST", "/v1/exposure/what-if", (403, 403, 404), TABULATE, scope="manage"),
    Tried("GET", "/v1/releases", EVERYBODY),
    Tried("GET", "/v1/releases/{release}", EVERYBODY),
    Tried("GET", "/v1/releases/{release}/statement", EVERYBODY),
    Tried("GET", "/v1/releases/{release}/report", (200, 403, 200)),
    Tried("GET", "/v1/releases/{release}/download", (200, 403, 200)),
    Tried("GET", "/v1/releases/{release}/rows.csv", (200, 403, 200)),
    Tried("PUT", "/v1/releases/{release}/shared", STEWARDS, {"shared": False}, scope="manage"),
    Tried("POST", "/v1/jobs/publish", (403, 403, 404), {"table": "nothing", "models": ["k=2"]}, scope="manage"),
    Tried("POST", "/v1/jobs/synthesize", (403, 403, 404), {"table": "nothing", "method": "epsilon=1"}, scope="manage"),
    Tried(
        "POST",
        "/v1/jobs/tabulate",
        (403, 403, 404),
        {"table": "nothing", "by": ["ward"], "rules": ["min=3"]},
        scope="manage",
    ),
    Tried(
        "POST",
        "/v1/jobs/hide",
        (403, 403, 404),
        {"table": "nothing", "support": "2%", "itemsets": ["sex=F"]},
        scope="manage",
    ),
    Tried("POST", "/v1/jobs/attack", (403, 403, 404), {"release": NONE}, scope="manage"),
    Tried("POST", "/v1/jobs/compare", (403, 403, 404), {"table": "nothing"}, scope="manage"),
    Tried("POST", "/v1/jobs/learn", (403, 403, 404), {"table": "nothing", "method": "statistics"}, scope="manage"),
    Tried("POST", "/v1/jobs/prove", (403, 403, 400), {"program": "nothing"}, scope="manage"),
    Tried("GET", "/v1/jobs", READERS),
    Tried("GET", "/v1/surveys", STEWARDS),
    Tried("POST", "/v1/surveys", (403, 403, 400), {"survey": "title = 1"}, scope="manage"),
    Tried("GET", "/v1/surveys/{survey}", (403, 403, 404), path=SURVEY),
    Tried("PUT", "/v1/surveys/{survey}/open", (403, 403, 404), {"open": True}, SURVEY, scope="manage"),
    Tried("GET", "/v1/surveys/{survey}/estimates", (403, 403, 404), path=SURVEY),
    Tried("POST", "/v1/surveys/{survey}/release", (403, 403, 404), path=SURVEY, scope="manage"),
    Tried("GET", "/v1/jobs/{job}", READERS),
    Tried("GET", "/v1/jobs/{job}/events", READERS),
    Tried("GET", "/v1/jobs/{job}/result", (403, 403, 400)),
    Tried("GET", "/v1/jobs/{job}/papers/{name}", (403, 403, 400), path={"name": "report.html"}),
    Tried("DELETE", "/v1/jobs/{job}", (403, 403, 400), scope="manage"),
    Tried("POST", "/v1/data/uploads", (403, 403, 422), scope="manage"),
    Tried("GET", "/v1/data/uploads", STEWARDS),
    Tried("POST", "/v1/data/draft", (403, 403, 404), {"source": "nothing.csv"}, scope="manage"),
    Tried("POST", "/v1/data/check", (403, 403, 404), {"source": "nothing.csv", "card": CARD}, scope="manage"),
    Tried(
        "POST",
        "/v1/tables",
        (403, 403, 404),
        {"name": "new", "source": "nothing.csv", "card": CARD, "budget": BUDGET},
        scope="manage",
    ),
    Tried("PUT", "/v1/tables/{name}/card", (403, 403, 404), {"card": CARD}, {"name": "nothing"}, scope="manage"),
    Tried("GET", "/v1/people", READERS),
    Tried("POST", "/v1/people", (403, 403, 400), {"name": "ann", "role": "analyst"}, scope=NO_TOKEN),
    Tried("PUT", "/v1/people/{name}", STEWARDS, {"disabled": False}, {"name": "bob"}, scope="manage"),
    Tried("PUT", "/v1/people/{name}/budgets", STEWARDS, {"budget": BUDGET}, {"name": "bob"}, scope="manage"),
    Tried("GET", "/v1/tokens", EVERYBODY),
    Tried("POST", "/v1/tokens", (201, 201, 201), {"label": "x", "days": 1}, scope=NO_TOKEN),
    Tried("DELETE", "/v1/tokens/{token}", (404, 404, 404), path={"token": "0" * 12}, scope="manage"),
    Tried("GET", "/v1/audit", READERS),
)


@pytest.fixture(scope="module")
def service(clinic):
    with serving(clinic.desk) as found:
        yield found


@pytest.fixture(scope="module")
def callers(clinic, service):
    people = clinic.desk.people
    people.add("newly", people.find("ann").role)
    people.add("gone", people.find("steward").role)
    left = people.new_token("gone", "left", 1, Scope).text
    tokens = {ANALYST: "ann", AUDITOR: "auditor", STEWARD: "steward"}
    made = {role: service.client(clinic.tokens[name]) for role, name in tokens.items()}
    made[CHANGING] = service.client(people.new_token("newly", "early", 1, Scope).text)
    people.disable("gone")
    return made | {NOBODY: service.client(), OUT: service.client(left)}


@pytest.fixture(scope="module")
def signed(clinic, service, callers):
    """The same people, with sessions; those who cannot sign in as they are."""
    people = clinic.desk.people
    once = people.add("newer", people.find("ann").role)
    names = {ANALYST: "ann", AUDITOR: "auditor", STEWARD: "steward"}
    made = {role: service.browser(name, clinic.password(name)) for role, name in names.items()}
    return callers | made | {CHANGING: service.browser("newer", once)}


@pytest.fixture(scope="module")
def named(clinic, callers):
    """The release and the job that paths name: ann's answer, and a job that was cancelled."""
    [answer] = callers[ANALYST].post("/v1/ask", json=QUESTION).json()["answers"]
    job = callers[STEWARD].post("/v1/jobs/publish", json={"table": "patients", "models": ["k=2"]}).json()["id"]
    callers[STEWARD].delete(f"/v1/jobs/{job}")
    return {"release": answer["id"], "job": job}


@pytest.mark.parametrize("tried", TABLE, ids=lambda tried: tried.id)
def test_a_route_is_for_those_it_is_for(callers, signed, named, tried):
    path = tried.route.format(**named | tried.path)
    for who in CALLERS:
        sent = {"name": who, "password": "no"} if tried.route == "/v1/session" else tried.json  # or one would be locked
        response = (signed if tried.scope == NO_TOKEN else callers)[who].request(tried.method, path, json=sent)
        assert response.status_code == tried.expected(who), (who, response.text)
        if response.status_code == 401:
            assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("tried", [one for one in TABLE if one.nobody != 200], ids=lambda tried: tried.id)
def test_who_may_is_decided_before_anything_sent_is_read(callers, signed, named, tried):
    """Whoever may not learns nothing of what is wrong with a body or a path."""
    if tried.route == "/v1/session" and tried.method == "POST":
        return  # which is for anybody
    path = tried.route.format(**named | tried.path)
    paths = (path, tried.route.format(**dict.fromkeys(named | tried.path, "%20"))) if "{" in tried.route else (path,)
    for who in CALLERS:
        if (expected := tried.expected(who)) not in (401, 403):
            continue
        for place in paths:
            for body in (b"{", b"[]", b'{"unknown": 1}', b""):
                headers = {"Content-Type": "application/json"}
                caller = (signed if tried.scope == NO_TOKEN else callers)[who]
                response = caller.request(tried.method, place, content=body, headers=headers)
                assert response.status_code == expected, (who, place, body, response.text)


@pytest.fixture(scope="module")
def narrow(clinic, service):
    """Programs of the steward with a token for one thing each."""
    people = clinic.desk.people
    return {scope: service.client(people.new_token("steward", scope.value, 1, [scope]).text) for scope in Scope}


@pytest.mark.parametrize("tried", TABLE, ids=lambda tried: tried.id)
def test_a_token_does_what_its_scope_says_and_no_more(narrow, named, tried):
    if tried.route == "/v1/session" and tried.method == "POST":
        return  # which is for anybody
    path = tried.route.format(**named | tried.path)
    for scope, program in narrow.items():
        response = program.request(tried.method, path, json=tried.json)
        if tried.scope in (ANY, scope.value):
            assert response.status_code == tried.expected(STEWARD), (scope, response.text)
        else:
            said = "cannot be done with a token" if tried.scope == NO_TOKEN else f"This token may not {tried.scope}."
            assert (response.status_code, response.json()["error"]) == (403, "NotAllowed"), scope
            assert said in response.json()["message"]


def test_a_token_of_all_scopes_gives_nobody_another_way_in(clinic, callers):
    before = (clinic.desk.people.tokens(), clinic.desk.people.all())
    for method, path, body in (
        ("POST", "/v1/tokens", {"label": "x"}),
        ("POST", "/v1/password", {"old": clinic.password("steward"), "new": "some other long password"}),
        ("POST", "/v1/people", {"name": "eve", "role": "steward"}),
        ("PUT", "/v1/people/bob", {"reset": True}),
    ):
        response = callers[STEWARD].request(method, path, json=body)
        assert (response.status_code, "with a token" in response.json()["message"]) == (403, True)
    assert (clinic.desk.people.tokens(), clinic.desk.people.all()) == before
    clinic.desk.access.sign_in("steward", clinic.password("steward"))


@pytest.mark.parametrize("tried", [one for one in TABLE if one.method not in SAFE], ids=lambda tried: tried.id)
def test_a_cookie_alone_changes_nothing(clinic, callers, named, browsers, tried):
    if tried.route == "/v1/session" and tried.method == "POST":
        return  # signing in is what begins a session; pages of others cannot send it, by their origin
    path = tried.route.format(**named | tried.path)
    for csrf in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}):
        response = browsers.request(tried.method, path, json=tried.json, headers=csrf)
        assert (response.status_code, response.json()["error"]) == (403, "NotAllowed")
        assert "X-CSRF-Token" in response.json()["message"]


@pytest.fixture(scope="module")
def browsers(clinic, service):
    """The steward, with a cookie and without what a page of ours would send along."""
    client = service.browser("steward", clinic.password("steward"))
    del client.headers["X-CSRF-Token"]
    return client


def test_every_route_is_in_the_table(service):
    listed = {(tried.method, tried.route) for tried in TABLE}
    assert {(method, route.path.replace(":path", "")) for method, route in routes(service.app)} == listed


def test_what_an_analyst_may_not_know_of_is_not_found(clinic, service, callers, named):
    people = clinic.desk.people
    people.change_password("dora", people.add("dora", people.find("ann").role), clinic.password("dora"))
    dora = service.client(people.new_token("dora", "one who may ask nothing", 1).text)
    for path in (f"/v1/releases/{named['release']}", f"/v1/releases/{NONE}", "/v1/releases/20260101-nothing"):
        response = dora.get(path)
        assert (response.status_code, response.json()["error"]) == (404, "NotFound")
    messages = {dora.get(f"/v1/releases/{one}").json()["message"] for one in (named["release"], NONE)}
    assert len(messages) == 1
    assert dora.get("/v1/tables/patients").json()["message"] == dora.get("/v1/tables/nothing").json()["message"]


def routes(app):
    """Every route of the API that a request can take, but the OpenAPI document."""
    seen = list(app.state.api.router.routes)
    while seen:
        one = seen.pop()
        inner = getattr(one, "original_router", None)
        seen += inner.routes if inner is not None else []
        if isinstance(one, APIRoute):
            yield from ((method, one) for method in one.methods)

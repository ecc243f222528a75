"""What every request meets first, and what every response says to browsers."""

from __future__ import annotations

import gzip
import http.client
import json
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from tests.loops import run
from tests.service.serving import MANY, serving

from discreet.errors import TooMany
from discreet.service.api.caller import COOKIE
from discreet.service.api.guard import Guard
from discreet.service.api.limits import Buckets, neighbourhood
from discreet.service.settings import Settings

LARGEST = 20_000
QUESTION = {"questions": ["SELECT count(*) FROM patients"], "epsilon": "0.001"}


@pytest.fixture(scope="module")
def service(clinic):
    with serving(clinic.desk, replace(MANY, most_body=LARGEST, names=("data.example.org",))) as found:
        yield replace(found, url=f"http://127.0.0.1:{urlsplit(found.url).port}")


@pytest.fixture(scope="module")
def ann(clinic, service):
    return service.client(clinic.tokens["ann"])


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8640", "data.example.org", "DATA.example.org:443"])
def test_a_name_of_ours_is_answered(service, host):
    assert service.client().get("/v1/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:8640", "[::2]"])
def test_a_name_of_somebody_else_is_not(service, host):
    assert service.client().get("/v1/health", headers={"Host": host}).status_code == 421


def test_a_browser_that_calls_another_name_is_told_what_to_do(service):
    page = service.client().get("/signin", headers={"Host": "evil.example", "Accept": "text/html,*/*"})
    assert page.headers["content-type"].startswith("text/html")
    assert "--name" in page.text and "evil" not in page.text
    assert "--name" in service.client().get("/v1/health", headers={"Host": "evil.example"}).json()["hint"]


def test_a_token_that_is_none_any_more_is_told_so(clinic, service):
    token = clinic.desk.access.new_token(clinic.ann, "ended", 1)
    clinic.desk.access.revoke(clinic.ann, token.id)
    for text in (token.text, "dct_unknown", "nothing"):
        response = service.client(text).get("/v1/tables")
        assert (response.status_code, response.json()["message"]) == (401, "This token is unknown, expired or revoked.")


def test_two_names_are_none(service):
    there = http.client.HTTPConnection(urlsplit(service.url).netloc)
    there.putrequest("GET", "/v1/health", skip_host=True)
    there.putheader("Host", "localhost")
    there.putheader("Host", "evil.example")
    there.endheaders()
    assert there.getresponse().status in (400, 421)
    there.close()


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "file://", "http://["])
def test_pages_of_others_change_nothing(clinic, service, ann, origin):
    for response in (
        ann.post("/v1/price", json=QUESTION, headers={"Origin": origin}),
        service.client().post("/v1/session", json={"name": "ann", "password": "x"}, headers={"Origin": origin}),
    ):
        assert (response.status_code, response.json()["error"]) == (403, "NotAllowed")


def test_pages_of_ours_may(service, ann):
    assert ann.post("/v1/price", json=QUESTION, headers={"Origin": service.url}).status_code == 200


def test_a_socket_is_for_pages_of_ours():
    guard = Guard(lambda scope, receive, send: None, Settings(port=8640))
    scope = {"type": "websocket", "path": "/", "headers": [(b"host", b"localhost:8640")]}

    def wrong(origin):
        return guard._wrong(scope | {"headers": [*scope["headers"], (b"origin", origin)]})

    assert wrong(b"http://localhost:8640") is None
    assert wrong(b"http://localhost:8641")[0] == 403
    assert wrong(b"https://evil.example")[0] == 403
    assert guard._wrong(scope)[0] == 403
    scope |= {"type": "http", "method": "GET", "path": "/_nicegui_ws/socket.io/"}  # the same, polled
    assert wrong(b"http://localhost:8640") is None
    assert wrong(b"https://evil.example")[0] == 403
    assert guard._wrong(scope) is None


def test_with_tls_a_page_of_ours_has_it(tmp_path):
    guard = Guard(lambda scope, receive, send: None, Settings(cert=tmp_path / "c", key=tmp_path / "k", port=443))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}

    def wrong(origin):
        return guard._wrong(scope | {"headers": [*scope["headers"], (b"origin", origin)]})

    assert wrong(b"https://localhost") is None
    assert wrong(b"https://localhost:443") is None
    assert wrong(b"http://localhost")[0] == 403


def test_with_tls_browsers_are_told_to_keep_to_it(tmp_path):
    async def page(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def answer():
        sent = []
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}

        async def send(message):
            sent.append(message)

        await Guard(page, Settings(cert=tmp_path / "c", key=tmp_path / "k"))(scope, None, send)
        return dict(sent[0]["headers"])

    assert run(answer())[b"strict-transport-security"].startswith(b"max-age=")


def test_a_body_may_be_so_large(ann):
    fits = json.dumps(QUESTION).ljust(LARGEST).encode()
    headers = {"Content-Type": "application/json"}
    assert ann.post("/v1/price", content=fits, headers=headers).status_code == 200
    assert ann.post("/v1/price", content=fits + b" ", headers=headers).status_code == 413


def test_a_body_in_pieces_is_counted(ann):
    def pieces():
        yield json.dumps(QUESTION).encode()
        for _ in range(10):
            yield b" " * 5_000

    response = ann.post("/v1/price", content=pieces(), headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["error"]) == (413, "BadInput")


def test_a_body_that_unpacks_to_more_is_refused(ann):
    bomb = gzip.compress(b" " * 10_000_000)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert ann.post("/v1/price", content=bomb, headers=headers).status_code == 415


def test_a_body_that_is_deep_or_no_text_is_refused(ann):
    headers = {"Content-Type": "application/json"}
    for content in (b"[" * 15_000, b"\xff\xfe", b'{"questions": ["\\ud800"], "epsilon": 1}', b"9" * 5000, b"{"):
        assert ann.post("/v1/price", content=content, headers=headers).status_code in (400, 422)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/releases/..%2f..%2fworkspace.toml",
        "/v1/releases/../../workspace.toml/report",
        "/v1/releases/%2e%2e%2fledger.db/download",
        "/v1/jobs/..%2f..%2fetc%2fpasswd/result",
        "/v1/jobs/20260101-table-00000000/papers/..%2fresult.json",
        "/v1/jobs/20260101-table-00000000/papers/result.json",
        "/v1/tables/..%2fpatients",
        "/v1/releases/%00",
        "/v1/budgets/..%2f",
    ],
)
def test_no_path_leads_out(clinic, service, path):
    there = http.client.HTTPConnection(urlsplit(service.url).netloc)
    there.request("GET", path, headers={"Authorization": f"Bearer {clinic.tokens['steward']}"})
    response = there.getresponse()
    assert response.status in (404, 405, 422), response.read()
    there.close()


def test_browsers_are_told_to_be_careful(clinic, service, ann):
    headers = service.client().get("/v1/health").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "strict-transport-security" not in headers
    assert "server" not in headers
    [answer] = ann.post("/v1/ask", json=QUESTION).json()["answers"]
    report = ann.get(f"/v1/releases/{answer['id']}/report")
    assert report.headers["content-security-policy"].startswith("sandbox;")
    assert "script-src" not in report.headers["content-security-policy"]


def test_a_session_is_kept_from_scripts_and_other_sites(clinic, service):
    signed = service.client().post("/v1/session", json={"name": "ann", "password": clinic.password("ann")})
    cookie = signed.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert "Secure" not in cookie  # this service does not speak TLS


def test_sql_goes_through_the_one_parser(ann):
    for question in (
        "SELECT count(*) FROM patients; DROP TABLE patients",
        "SELECT * FROM read_parquet('/etc/passwd')",
        "COPY patients TO '/tmp/out.csv'",
        "SELECT count(*) FROM patients WHERE sex = 'F' OR 1=1 UNION SELECT name FROM people",
        "ATTACH 'service.db'",
    ):
        response = ann.post("/v1/ask", json={"questions": [question], "epsilon": "0.001"})
        assert response.status_code in (400, 404), question


def test_one_person_cannot_take_all_of_it(clinic):
    with serving(clinic.desk, replace(MANY, rate=0.01, burst=3, sign_ins_a_minute=2)) as service:
        ann, steward = (service.client(clinic.tokens[name]) for name in ("ann", "steward"))
        assert [ann.get("/v1/tables").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        assert int(ann.get("/v1/tables").headers["retry-after"]) > 1
        assert steward.get("/v1/tables").status_code == 200
        tries = [service.client().post("/v1/session", json={"name": "x", "password": "x"}) for _ in range(4)]
        assert [one.status_code for one in tries] == [401, 401, 429, 429]


def test_a_bucket_fills_again():
    now = [0.0]
    buckets = Buckets(rate=2, burst=3, clock=lambda: now[0])
    for _ in range(3):
        buckets.take("ann")
    with pytest.raises(TooMany) as error:
        buckets.take("ann")
    assert error.value.wait == 1
    now[0] = 0.5
    buckets.take("ann")
    with pytest.raises(TooMany):
        buckets.take("ann")
    buckets.take("bob")


def test_an_address_is_known_with_its_neighbours():
    assert neighbourhood("192.0.2.7") == "192.0.2.7"
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("::ffff:192.0.2.7") == "192.0.2.7"
    assert neighbourhood("no address") == "no address"


def test_metrics_are_for_those_who_may_read_them(clinic):
    with serving(clinic.desk, replace(MANY, local_metrics=True)) as service:
        text = service.client().get("/v1/metrics").text
        named = service.client(clinic.tokens["auditor"]).get("/v1/metrics").text
        assert service.client(clinic.tokens["ann"]).get("/v1/metrics").status_code == 403
    assert 'discreet_budget_left_epsilon{analyst="",table="patients"}' in text
    assert "discreet_requests_total" in text
    assert "process_cpu_seconds_total" in text
    assert "ann" not in text
    assert 'discreet_budget_left_epsilon{analyst="ann",table="patients"}' in named


def test_a_proxy_on_this_computer_says_who_comes(clinic):
    once = replace(MANY, sign_ins_a_minute=1, behind_proxy=True, local_metrics=True, names=("data.example.org",))
    right = {"name": "ann", "password": clinic.password("ann")}
    with serving(clinic.desk, once) as service:

        def come(*by, path="/v1/session", **sent):
            said = {"Host": "data.example.org", "X-Forwarded-For": ", ".join(by), "X-Forwarded-Proto": "https"}
            return service.client().request("POST" if sent else "GET", path, headers=said, **sent)

        signed = come("192.0.2.7", json=right)
        assert "; Secure" in signed.headers["set-cookie"]
        assert signed.headers["strict-transport-security"]
        assert come("192.0.2.7", json=right).status_code == 429
        assert come("192.0.2.8", json=right).status_code == 200
        assert come("127.0.0.1", "192.0.2.8", json=right).status_code == 429, "only what the proxy adds is believed"
        assert come("192.0.2.9", path="/v1/metrics").status_code == 401
        assert service.client().get("/v1/metrics").status_code == 200


def test_nobody_else_says_who_comes(clinic):
    once = replace(MANY, sign_ins_a_minute=1)
    right = {"name": "ann", "password": clinic.password("ann")}
    with serving(clinic.desk, once) as service:
        came = [service.client().post("/v1/session", json=right, headers={"X-Forwarded-For": by}) for by in "ab"]
    assert [one.status_code for one in came] == [200, 429]
    assert "; Secure" not in came[0].headers["set-cookie"]


def test_pages_are_as_careful_as_the_api(clinic):
    with serving(clinic.desk, console=True) as service:
        page = service.client().get("/signin")
        assert page.status_code == 200
        assert "default-src 'self'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"
        assert service.client().get("/signin", headers={"Host": "evil.example"}).status_code == 421
        form = {"name": "ann", "password": clinic.password("ann")}
        assert (
            service.client().post("/signin", data=form, headers={"Origin": "https://evil.example"}).status_code == 403
        )
        assert service.client().get("/ask", follow_redirects=False).headers["location"].startswith("/signin")
        nothing = service.client().get("/v1/nothing")
        assert nothing.headers["content-type"] == "application/json"
        assert upgraded(service, service.url) == 101
        assert upgraded(service, "https://evil.example") == 403


def upgraded(service, origin):
    """The status of an attempt to open the console's websocket from a page of ``origin``."""
    there = http.client.HTTPConnection(urlsplit(service.url).netloc)
    asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Origin": origin}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    there.request("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=websocket", headers=asked | key)
    status = there.getresponse().status
    there.close()
    return status

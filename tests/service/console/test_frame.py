"""What all pages share: who sees which, and what happens when somebody is no longer signed in."""

import json
import logging
import re

import pytest
from nicegui import Client
from tests.loops import run
from tests.service.console.conftest import messages, seen, text

from discreet.curator.people.person import Role
from discreet.errors import BadQuery, BudgetExceeded, Damaged, DataError, DiscreetError, NotSignedIn, TooMany
from discreet.service.api.caller import COOKIE
from discreet.service.api.limits import Buckets
from discreet.service.api.metrics import Now
from discreet.service.console.frame import Seat, pages
from discreet.service.jobs.specs import Publish
from discreet.service.views import Spend

READING = {"/", "/releases", "/budget", "/tokens", "/glossary"}
DRAWERS = {
    "ann": READING | {"/ask"},
    "steward": READING
    | {
        "/ask",
        "/data",
        "/publish",
        "/synthesize",
        "/tabulate",
        "/learn",
        "/hide",
        "/collect",
        "/attack",
        "/combine",
        "/prove",
    }
    | {"/exposure", "/people", "/audit"},
    "auditor": READING | {"/exposure", "/people", "/audit"},
}


def seat_of(console, name, burst=100):
    token = console.token(name)
    signed = console.clinic.desk.people.session(token)
    limits, metrics, turns = Buckets(0.001, burst), console.app.state.metrics, console.app.state.turns
    return Seat(console.clinic.desk, token, signed, given={}, path="/", limits=limits, metrics=metrics, turns=turns)


@pytest.mark.parametrize("name", DRAWERS)
def test_the_drawer_has_the_pages_of_ones_role(console, name):
    async def act(user):
        await user.open("/")
        links = {one.props["href"] for one in user.client.elements.values() if "dc-nav" in one.classes}
        assert links == DRAWERS[name]
        assert f"{name}<small>" in text(user)

    console.visit(name, act)


def test_only_pages_of_the_console_may_compile_code_in_the_browser(console):
    async def act(http):
        for path in ("/signin", "/v1/health", "/v1/nowhere", "/v1/docs"):
            policy = (await http.get(path)).headers["Content-Security-Policy"]
            assert "unsafe-eval" not in policy, path
            assert "script-src 'self';" in policy or "default-src 'none'" in policy, path
        http.cookies.set(COOKIE, console.token("ann"))
        assert "'unsafe-eval'" in (await http.get("/")).headers["Content-Security-Policy"]

    console.browse(act)


@pytest.mark.parametrize("name", DRAWERS)
def test_every_page_opens_for_whom_it_is_and_for_nobody_else(console, name):
    role = {"ann": Role.ANALYST, "steward": Role.STEWARD, "auditor": Role.AUDITOR}[name]

    async def act(user):
        for page in pages():
            if "{" not in page.path:
                await user.open(page.path)
                assert ("Your role may not open this page." in text(user)) == (role not in page.roles), page.path

    console.visit(name, act)


def test_every_page_links_its_terms_into_the_glossary(console):
    linked = set()

    async def act(user):
        for page in pages():
            if page.order is not None and page.path != "/glossary" and Role.STEWARD in page.roles:
                await user.open(page.path)
                found = re.findall(r'href="/glossary#([^"]+)" title="[^"]+"', text(user))
                assert found, page.path
                linked.update(found)
        await user.open("/glossary")
        assert linked <= set(re.findall('<dt id="([^"]+)"', text(user)))

    console.visit("steward", act)


@pytest.mark.parametrize("name", DRAWERS)
def test_no_page_says_where_the_workspace_lies(console, name):
    """Neither its text nor anything else that goes to the browser, after a job that failed at a path."""
    desk, folder = console.clinic.desk, console.clinic.folder
    queue, steward = desk._jobs._queue, console.clinic.steward
    job = desk.submit(steward, Publish("patients", ("k=2",), title="Paths"))
    while (claim := queue.claim("a test")).job.id != job.id:
        pass
    assert queue.failed(claim, f"There is no {folder}/tables/gone and no {folder.parent}/data of theirs/x.csv.")
    queue.let_go(claim)
    (answer,) = desk.ask(console.clinic.ann, ["SELECT COUNT(*) AS n FROM visits"], Spend(epsilon="0.01"))
    shown = []

    async def act(user):
        for page in pages():
            path = page.path.replace("{id}", answer.identity)
            await user.open(path)
            sent = [json.dumps(one._to_dict(), default=str) for one in user.client.elements.values()]
            shown.append("\n".join([text(user), *sent]))
            assert str(folder.parent) not in shown[-1], path

    console.visit(name, act)
    assert any("clinic/tables/gone" in page for page in shown) == (name == "steward"), "the job is listed"


def test_whoever_was_kept_out_can_do_nothing_on_a_page_that_is_still_open(console):
    seat = seat_of(console, "bob")
    assert seat.still().name == "bob"
    console.clinic.desk.access.disable(console.clinic.steward, "bob", True)
    with pytest.raises(NotSignedIn):
        seat.still()


def test_nobody_asks_too_often(console):
    seat = seat_of(console, "ann", burst=2)
    seat.still()
    seat.still()
    with pytest.raises(TooMany):
        seat.still()


def test_looking_by_itself_is_not_using(console, monkeypatch):
    seat, looks = seat_of(console, "ann"), []
    session = console.clinic.desk.people.session

    def noted(token, *, used):
        looks.append(used)
        return session(token, used=used)

    monkeypatch.setattr(console.clinic.desk.people, "session", noted)
    run(seat.poll(console.clinic.desk.tables))
    run(seat.call(console.clinic.desk.tables))
    assert looks == [False, True]


def test_the_console_is_counted_too(console):
    def counted():
        now = Now({}, None, console.app.state.turns, names=False)
        text = console.app.state.metrics.text(now).decode()
        wanted = ("discreet_answers_total{", "discreet_refusals_total{")
        return {k: float(v) for k, v in (one.rsplit(" ", 1) for one in text.splitlines() if one.startswith(wanted))}

    seat, question = seat_of(console, "ann"), "SELECT COUNT(*) AS counted FROM patients"
    before = counted()
    for _ in range(2):
        run(seat.call(console.clinic.desk.ask, [question], Spend("0.01")))
    with pytest.raises(BudgetExceeded):
        run(seat.call(console.clinic.desk.ask, [question], Spend(100)))
    more = {name: value - before.get(name, 0) for name, value in counted().items() if value != before.get(name, 0)}
    assert more == {
        'discreet_answers_total{free="no",kind="question"}': 1,
        'discreet_answers_total{free="yes",kind="question"}': 1,
        'discreet_refusals_total{error="BudgetExceeded"}': 1,
    }


def test_errors_are_told_and_faults_say_nothing(console):
    async def act(user):
        await user.open("/")
        seat = seat_of(console, "ann")

        def wrong(_):
            raise BadQuery("That is not SQL.", hint="Write a SELECT.")

        def fault(_):
            raise ValueError("the diagnosis of somebody")

        with user:
            assert await seat.run(wrong) is None
            assert not await seat.did(wrong)
            with pytest.raises(DiscreetError) as told:
                await seat.call(fault)
        assert messages(user) == ["That is not SQL. Write a SELECT."]  # the second replaced the first
        assert "diagnosis" not in str(told.value)

    console.visit("ann", act)
    assert "diagnosis" not in console.said.getvalue()
    assert '"error": "ValueError"' in console.said.getvalue()


@pytest.mark.parametrize("name", ["ann", "auditor", "steward"])
def test_what_may_quote_data_is_told_to_stewards_alone(console, name):
    async def act(user):
        await user.open("/")
        seat = seat_of(console, name)

        def damaged(_):
            raise Damaged("The file /srv/clinic/ledger.db is damaged.")

        def wrong(_):
            raise DataError("The diagnosis 'flu' is not on the card.")

        shown = []
        for call in (damaged, wrong):
            with user:
                await seat.run(call)
            shown += messages(user)
        said = " ".join(shown)
        assert [word in said for word in ("ledger.db", "flu")] == [name == "steward"] * 2
        assert ("Something went wrong here." in said) == (name != "steward")

    console.visit(name, act)
    assert "flu" not in console.said.getvalue()


def test_what_nicegui_logs_is_written_down_without_its_text(console):
    logger = logging.getLogger("nicegui")
    before = len(console.said.getvalue())
    logger.warning("the diagnosis of somebody")
    assert len(console.said.getvalue()) == before
    try:
        raise KeyError("the diagnosis of somebody")
    except KeyError as error:
        logger.exception(error)
    said = console.said.getvalue()[before:]
    assert json.loads(said)["error"] == "KeyError"
    assert "diagnosis" not in said


def test_an_address_without_a_page_says_so(console):
    async def act(http):
        found = await http.get("/no/such/page?with=<script>")
        assert found.status_code == 404
        assert "Page not found" in found.text
        assert "<script" not in found.text

    console.browse(act)


def test_nothing_is_kept_for_a_stranger(console):
    async def act(http):
        before = len(Client.instances)
        for page in pages():
            found = await http.get(page.path.replace("{id}", "x") + "?a=1")
            assert (found.status_code, found.headers["location"][:14]) == (303, "/signin?next=/")
        assert len(Client.instances) == before

    console.browse(act)


def test_a_page_loads_nothing_from_elsewhere(console):
    async def act(http):
        http.cookies.set(COOKIE, console.token("ann"))
        page = await http.get("/ask")
        assert "http://" not in page.text.replace("http://www.w3.org/", "").replace("http://127.0.0.1", "")
        assert "https://" not in page.text
        sheet = await http.get("/_nicegui/look.css")
        assert sheet.status_code == 200
        assert "url(" not in sheet.text

    console.browse(act)


def test_dark_is_remembered(console):
    async def act(user):
        user.http_client.cookies.set("discreet_look", "dark")
        await user.open("/")
        assert [one.value for one in user.client.elements.values() if type(one).__name__ == "DarkMode"] == [True]
        user.http_client.cookies.set("discreet_look", "</style><script>")
        page = await user.http_client.get("/")
        assert "</style><script>" not in page.text
        assert not seen(user, "told")

    console.visit("ann", act)

"""Coming in and going out, by plain forms."""

import re

import pytest

from discreet.curator.people.person import Role
from discreet.errors import LedgerError
from discreet.service.api.caller import COOKIE
from discreet.service.console import signin


def form(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page)[1]


def test_nobody_is_sent_to_sign_in_and_comes_back_to_where_they_went(console):
    async def act(http):
        sent = await http.get("/budget")
        assert (sent.status_code, sent.headers["location"]) == (303, "/signin?next=/budget")
        page = (await http.get("/signin?next=/budget")).text
        assert "<script" not in page
        answer = {"name": "ann", "password": console.clinic.password("ann"), "next": form(page, "next")}
        entered = await http.post("/signin", data=answer)
        assert (entered.status_code, entered.headers["location"]) == (303, "/budget")
        cookie = entered.headers["set-cookie"].lower()
        assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
        assert (await http.get("/budget")).status_code == 200

    console.browse(act)


@pytest.mark.parametrize("name", ["ann", "nobody", '"><script>alert(1)</script>'])
def test_what_was_wrong_is_not_told(console, name):
    async def act(http):
        failed = await http.post("/signin", data={"name": name, "password": "not this one"})
        assert failed.status_code == 400
        assert "Name or password is wrong." in failed.text
        assert "<script" not in failed.text
        assert "not this one" not in failed.text
        assert "set-cookie" not in failed.headers

    console.browse(act)


def test_a_stranger_does_not_hear_what_ails_the_service(console, monkeypatch):
    def away(name, password):
        raise LedgerError("The service database /srv/clinic/service.db could not be read.")

    async def act(http):
        monkeypatch.setattr(console.clinic.desk.access, "sign_in", away)
        failed = await http.post("/signin", data={"name": "ann", "password": "any"})
        assert failed.status_code == 503
        assert "Something went wrong here." in failed.text
        assert "service.db" not in failed.text

    console.browse(act)


@pytest.mark.parametrize(
    "place", ["//evil.example/", "https://evil.example/", "/\\evil.example", "/\t/evil.example", "signin", "/signout"]
)
def test_nobody_is_led_elsewhere(place):
    assert signin._ours(place) == "/"


@pytest.mark.parametrize("place", ["/", "/ask?table=visits", "/release/0123-abcd"])
def test_a_page_of_ours_is_gone_back_to(place):
    assert signin._ours(place) == place


@pytest.mark.parametrize("header", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}])
def test_a_form_of_another_site_signs_nobody_in(console, header):
    async def act(http):
        answer = {"name": "ann", "password": console.clinic.password("ann")}
        refused = await http.post("/signin", data=answer, headers=header)
        assert refused.status_code in (400, 403)
        assert "set-cookie" not in refused.headers

    console.browse(act)


def test_a_one_time_password_opens_nothing_but_the_way_to_another(console):
    once = console.clinic.desk.access.add_person(console.clinic.steward, "newcomer", Role.ANALYST)

    async def act(http):
        entered = await http.post("/signin", data={"name": "newcomer", "password": once, "next": "/budget"})
        assert entered.headers["location"] == "/password?next=/budget"
        assert (await http.get("/")).headers["location"] == "/password"
        page = (await http.get("/password?next=/budget")).text
        assert 'name="old"' not in page
        assert page.count('minlength="10"') == 2
        answer = {"csrf": form(page, "csrf"), "next": "/budget"}
        for new, again, said in (
            ("short", "short", "10 characters"),
            ("seven blue herons", "seven blue heron", "not the same"),
            (once, once, "is the one-time password"),
        ):
            failed = await http.post("/password", data=answer | {"new": new, "again": again})
            assert failed.status_code == 400
            assert said in failed.text
            assert new not in failed.text
        chosen = {"new": "seven blue herons", "again": "seven blue herons"}
        forged = await http.post("/password", data=answer | chosen | {"csrf": "another"})
        assert forged.status_code == 400
        before = http.cookies[COOKIE]
        changed = await http.post("/password", data=answer | chosen)
        assert (changed.status_code, changed.headers["location"]) == (303, "/budget")
        assert http.cookies[COOKIE] != before
        assert (await http.get("/budget")).status_code == 200
        assert console.clinic.desk.people.session(before) is None

    console.browse(act)
    assert once not in console.said.getvalue()
    assert "seven blue herons" not in console.said.getvalue()


def test_whoever_changes_the_password_may_end_their_tokens(console):
    people = console.clinic.desk.people
    words = ["nine yellow umbrellas", "eight purple kettles", "seven orange ladders"]
    people.change_password("hal", people.add("hal", Role.ANALYST), words[0])
    token = people.new_token("hal", "x").text

    async def act(http):
        await http.post("/signin", data={"name": "hal", "password": words[0]})
        for old, new, tick, left in ((words[0], words[1], {}, 1), (words[1], words[2], {"tokens_end": "yes"}, 0)):
            page = (await http.get("/password")).text
            assert "End my API tokens, too" in page
            sent = {"csrf": form(page, "csrf"), "old": old, "new": new, "again": new}
            assert (await http.post("/password", data=sent | tick)).status_code == 303
            assert len(people.tokens("hal")) == left
            assert (people.by_token(token) is not None) == bool(left)

    console.browse(act)


def test_signing_out_ends_the_session_and_only_a_page_of_ours_can(console):
    signed = console.clinic.desk.access.sign_in("ann", console.clinic.password("ann"))

    async def act(http):
        http.cookies.set(COOKIE, signed.token)
        assert (await http.post("/signout", data={"csrf": "another"})).status_code == 403
        assert console.clinic.desk.people.session(signed.token) is not None
        out = await http.post("/signout", data={"csrf": signed.csrf})
        assert (out.status_code, out.headers["location"]) == (303, "/signin")
        assert console.clinic.desk.people.session(signed.token) is None

    console.browse(act)

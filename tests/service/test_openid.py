"""Sign-in by an OpenID Connect provider, and everything that must not be one."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from joserfc import jwt
from tests.service.provider import CLIENT, SECRET, by_hand, new_key, providing, with_secret
from tests.service.serving import MANY, serving

from discreet.curator.people.identities import Identity
from discreet.curator.people.person import Role
from discreet.errors import BadInput, MissingPart, NotAllowed, NotFound, Unreachable
from discreet.service.api.caller import COOKIE, CSRF
from discreet.service.check import checks
from discreet.service.openid import Provider
from discreet.service.operations.permissions import HOST
from discreet.service.settings import Settings

GROUPS = {"oidc_stewards": ("data-stewards",), "oidc_analysts": ("research", "clinic"), "oidc_auditors": ("audit",)}


def person(name, groups=("research",), **more):
    return {"sub": f"subject of {name}", "preferred_username": name, "groups": list(groups), **more}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    secret = tmp_path_factory.mktemp("secret") / "oidc"
    secret.write_text(SECRET + "\n")
    return replace(MANY, oidc_issuer="http://127.0.0.1:1", oidc_client=CLIENT, oidc_secret=secret, **GROUPS)


@pytest.fixture(scope="module")
def running(clinic, settings):
    """The service and its provider."""
    with (
        providing() as provider,
        serving(clinic.desk, replace(settings, oidc_issuer=provider.issuer), console=True) as service,
    ):
        yield service, provider


@pytest.fixture
def service(running):
    return running[0]


@pytest.fixture
def provider(running):
    """The provider, as honest as at first."""
    found = running[1]
    fresh = type(found)()
    for name in ("person", "claims", "sign", "in_id_token", "userinfo", "metadata"):
        setattr(found, name, getattr(fresh, name))
    found.codes.clear()
    running[0].app.state.provider._kept.clear()
    return found


def begin(browser, next_="/"):
    """Where the provider sends a browser back to."""
    there = browser.get(f"/signin/openid?next={quote(next_)}")
    assert there.status_code == 303, there.text
    back = browser.get(there.headers["location"])
    assert back.status_code == 303
    return back.headers["location"]


def come(service, next_="/"):
    """A browser that signs in, and what it is told."""
    browser = service.client()
    return browser, browser.get(begin(browser, next_))


def require_refused(browser, answer, said, status=400):
    assert answer.status_code == status, answer.text
    assert COOKIE not in browser.cookies and "Sign in" in answer.text
    assert said in answer.text, answer.text


def names(clinic):
    return {one.name for one in clinic.desk.people.all()}


def test_somebody_new_gets_an_account_in_the_role_of_their_groups(clinic, service, provider):
    provider.person = person("Paula", ["cooking", "research"])
    page = service.client().get("/signin")
    assert "Sign in with 127.0.0.1" in page.text and 'href="/signin/openid?next=/"' in page.text
    browser, answer = come(service, "/releases?x=1")
    assert answer.status_code == 200 and 'content="0; url=/releases?x=1"' in answer.text
    assert "discreet_openid" not in browser.cookies
    signed = browser.get("/v1/session").json()
    assert (signed["name"], signed["role"]) == ("paula", "analyst")
    line = clinic.desk.access.audit(HOST, most=1)[0]
    assert (line.action, line.well, line.about["role"], line.about["before"]) == ("sign in", True, "analyst", "new")
    clinic.desk.access.give_budget(HOST, "paula", clinic_budget(), ["patients"])
    browser.headers[CSRF] = signed["csrf"]
    asked = browser.post("/v1/ask", json={"questions": ["SELECT COUNT(*) AS n FROM patients"], "epsilon": "0.01"})
    assert asked.status_code == 200
    wrong = browser.post("/v1/password", json={"old": "whatever it was", "new": "one two three four"})
    assert wrong.json()["message"] == "You have no password here."
    for guess in ("", " "):
        assert service.client().post("/v1/session", json={"name": "paula", "password": guess}).status_code in (401, 422)
    clinic.desk.people.reset("paula")  # which also forgets the wrong passwords


def clinic_budget():
    from discreet.core.loss import Pure

    return Pure("0.1")


def test_the_role_follows_the_groups_and_no_group_ends_everything(clinic, service, provider):
    for groups, role in (
        (["clinic"], Role.ANALYST),
        (["audit", "data-stewards"], Role.STEWARD),
        ("audit", Role.AUDITOR),
        (["research", 5, None], Role.ANALYST),
    ):
        provider.person = person("rita") | {"groups": groups}
        browser, answer = come(service)
        assert answer.status_code == 200 and clinic.desk.people.find("rita").role is role
    token = clinic.desk.people.new_token("rita", "program", 30).text
    assert service.client(token).get("/v1/tables").status_code == 200
    provider.person = person("rita", [])
    require_refused(*come(service), "none of your groups there has a role here")
    assert service.client(token).get("/v1/tables").status_code == 401
    assert browser.get("/v1/session").status_code == 401
    assert not clinic.desk.access.audit(HOST, most=1)[0].well


@pytest.mark.parametrize(
    "groups",
    [
        None,
        {},
        {"data-stewards": True},
        1,
        "data-stewards,research",
        "Data-Stewards",
        [["data-stewards"]],
        ["data-stew"],
    ],
)
def test_what_is_not_a_group_of_the_settings_gives_no_role(clinic, service, provider, groups):
    provider.person = person("grete") | {"groups": groups}
    require_refused(*come(service), "none of your groups")
    assert "grete" not in names(clinic)


def test_groups_and_names_may_be_told_beside_the_token_but_of_no_one_else(clinic, service, provider):
    provider.person, provider.in_id_token = person("uma", ["audit"]), {"sub"}
    assert come(service)[1].status_code == 200 and clinic.desk.people.find("uma").role is Role.AUDITOR
    provider.userinfo = {"sub": "subject of rita", "groups": ["data-stewards"]}
    require_refused(*come(service), "answered about someone else")
    provider.userinfo = {"groups": ["data-stewards"]}
    provider.in_id_token = {"sub", "groups"}  # what was signed goes before what was not
    assert come(service)[1].status_code == 200 and clinic.desk.people.find("uma").role is Role.AUDITOR


def now(seconds):
    return int(time.time()) + seconds


def signed_by_another(provider, claims):
    key = new_key()
    return jwt.encode({"alg": "RS256", "kid": provider.keys[0].kid}, claims, key)


def signed_by_the_key_it_brings(provider, claims):
    key = new_key()
    return jwt.encode({"alg": "RS256", "jwk": key.as_dict(private=False)}, claims, key)


def cut(provider, claims):
    return provider.signed.__func__(replace(provider, sign=None), claims)[:-8]


NONE, HS = {"alg": "none"}, {"alg": "HS256"}
FORGERIES = {
    "another issuer": {"claims": lambda c: c | {"iss": "http://127.0.0.1:1"}},
    "no issuer": {"claims": lambda c: {k: v for k, v in c.items() if k != "iss"}},
    "another audience": {"claims": lambda c: c | {"aud": "another"}},
    "an empty audience": {"claims": lambda c: c | {"aud": []}},
    "no audience": {"claims": lambda c: {k: v for k, v in c.items() if k != "aud"}},
    "endless, by a text": {"claims": lambda c: c | {"exp": "9999999999"}},
    "endless, by a truth": {"claims": lambda c: c | {"exp": True}},
    "two audiences": {"claims": lambda c: c | {"aud": [CLIENT, "another"]}},
    "for another party": {"claims": lambda c: c | {"azp": "another"}},
    "another nonce": {"claims": lambda c: c | {"nonce": "0" * 64}},
    "no nonce": {"claims": lambda c: {k: v for k, v in c.items() if k != "nonce"}},
    "expired": {"claims": lambda c: c | {"exp": now(-120)}},
    "endless": {"claims": lambda c: {k: v for k, v in c.items() if k != "exp"}},
    "of tomorrow": {"claims": lambda c: c | {"iat": now(86_400)}},
    "not yet": {"claims": lambda c: c | {"nbf": now(600)}},
    "another access token's": {"claims": lambda c: c | {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}},
    "of no one": {"claims": lambda c: {k: v for k, v in c.items() if k != "sub"}},
    "of an empty one": {"claims": lambda c: c | {"sub": ""}},
    "of a list": {"claims": lambda c: c | {"sub": ["subject of mallory"]}},
    "not signed": {"sign": lambda p, c: by_hand(NONE, c, lambda _: b"")},
    "not signed, by a key": {"sign": lambda p, c: by_hand(NONE | {"kid": p.keys[0].kid}, c, lambda _: b"")},
    "with the public key as a secret": {
        "sign": lambda p, c: by_hand(HS | {"kid": p.keys[0].kid}, c, with_secret(p.keys[0].as_pem(private=False)))
    },
    "with the client's secret": {"sign": lambda p, c: by_hand(HS, c, with_secret(SECRET.encode()))},
    "by another key": {"sign": signed_by_another},
    "by the key that it brings": {"sign": signed_by_the_key_it_brings},
    "cut": {"sign": cut},
    "no token": {"sign": lambda p, c: "nothing"},
    "an empty token": {"sign": lambda p, c: ""},
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_token_lets_no_one_in(clinic, service, provider, what):
    provider.person = person("mallory", ["data-stewards"])
    for name, value in FORGERIES[what].items():
        setattr(provider, name, value)
    require_refused(*come(service), "The ID token of 127.0.0.1")
    assert "mallory" not in names(clinic)


def test_an_honest_token_of_the_same_person_does(clinic, service, provider):
    """What the forgeries are compared with: each differs from this one in one thing."""
    provider.person = person("norma", ["data-stewards"])
    provider.claims = lambda c: c | {"aud": [CLIENT], "azp": CLIENT, "exp": now(-30), "iat": now(30)}  # clocks differ
    assert come(service)[1].status_code == 200 and "norma" in names(clinic)


def test_a_code_is_of_use_once_and_in_the_browser_that_asked_for_it(clinic, service, provider):
    provider.person = person("olga")
    browser, thief = service.client(), service.client()
    back = begin(browser)
    require_refused(thief, thief.get(back), "was not begun in this browser")
    begin(thief)  # who has begun a sign-in of their own
    require_refused(thief, thief.get(back), "was not begun in this browser")
    own = httpx.URL(back).copy_set_param("state", "")
    require_refused(thief, thief.get(own), "was not begun in this browser")
    require_refused(thief, thief.get("/signin/openid/callback"), "was not begun in this browser")
    attempt = browser.cookies["discreet_openid"]
    assert browser.get(back).status_code == 200
    browser.cookies.delete(COOKIE)
    require_refused(browser, browser.get(back), "was not begun in this browser")
    browser.cookies.set("discreet_openid", attempt)  # the provider gives a code's token once
    require_refused(browser, browser.get(back), "invalid_grant")
    for changed in (f"1{attempt}", f"{attempt}A", attempt.replace(".", ".x", 1), "1..", ".", "x.y.z"):
        browser.cookies.set("discreet_openid", changed)
        require_refused(browser, browser.get(back), "was not begun in this browser")


def test_an_answer_may_be_an_error_or_another_providers(service, provider):
    for more, said in (
        ({"error": "access_denied"}, "did not sign you in (access_denied)"),
        ({"error": "<script>alert(1)</script>"}, "did not sign you in."),
        ({"iss": "https://evil.example"}, "from another provider"),
    ):
        browser = service.client()
        back = httpx.URL(begin(browser))
        answer = browser.get(back.copy_merge_params(more))
        require_refused(browser, answer, said)
        assert "<script>alert" not in answer.text


def test_a_sign_in_that_takes_too_long_is_over(settings, provider):
    clock = [1_000_000.0]
    client = Provider(replace(settings, oidc_issuer=provider.issuer), clock=lambda: clock[0])
    attempt = client.begin("http://localhost/signin/openid/callback", "/")
    state = parse_qs(urlsplit(attempt.url).query)["state"][0]
    for moved in (601, -3600):
        clock[0] = 1_000_000.0 + moved
        with pytest.raises(Exception, match="longer than 10 minutes"):
            client.finish({"state": state, "code": "x"}, attempt.cookie, "http://localhost/signin/openid/callback")


@pytest.mark.parametrize(
    "place",
    ["https://evil.example", "//evil.example", "/\\evil.example", "/%0d%0aX: y", "/signin/openid", "javascript:1"],
)
def test_no_one_is_sent_elsewhere(service, provider, place):
    provider.person = person("olga")
    _, answer = come(service, place)
    assert answer.status_code == 200
    assert "evil" not in answer.text.replace("%0d%0a", "") or 'url=/%0d%0aX: y"' in answer.text
    assert 'content="0; url=/' in answer.text and "url=//" not in answer.text and "url=/signin" not in answer.text


def test_an_account_that_was_there_is_taken_over_by_no_one_but_may_be_linked(clinic, service, provider):
    provider.person = person("bob", ["data-stewards"])
    browser, answer = come(service)
    require_refused(browser, answer, "the user name bob is another account&#x27;s")
    assert "subject of bob" in answer.text and clinic.desk.people.find("bob").role is Role.ANALYST
    provider.person = person("Bob") | {"sub": "someone else"}
    require_refused(*come(service), "is another account")
    clinic.desk.access.link(HOST, "bob", Identity(provider.issuer, "subject of bob"))
    with pytest.raises(NotAllowed):
        clinic.desk.access.link(clinic.ann, "ann", Identity(provider.issuer, "subject of bob"))
    with pytest.raises(NotFound):
        clinic.desk.access.link(HOST, "no.one", Identity(provider.issuer, "subject of bob"))
    provider.person = person("robert", ["research"]) | {"sub": "subject of bob"}  # a name that changed
    browser, answer = come(service)
    assert answer.status_code == 200 and browser.get("/v1/session").json()["name"] == "bob"
    service.browser("bob", clinic.password("bob"))  # whose password still is theirs
    other = Identity("https://other.example", "subject of bob", "bob", Role.STEWARD)
    with pytest.raises(NotAllowed, match="another account's"):  # a subject is one of its issuer's alone
        clinic.desk.people.enter(other, create=True)


def test_whoever_is_disabled_stays_out(clinic, service, provider):
    provider.person = person("dora")
    browser, answer = come(service)
    assert answer.status_code == 200
    clinic.desk.access.disable(HOST, "dora", True)
    assert browser.get("/v1/session").status_code == 401
    require_refused(*come(service), "your account here is disabled")
    clinic.desk.access.disable(HOST, "dora", False)
    assert come(service)[1].status_code == 200


def test_a_one_time_password_ends_with_the_first_sign_in(clinic, service, provider):
    password = clinic.desk.access.add_person(HOST, "nils", Role.ANALYST)
    clinic.desk.access.link(HOST, "nils", Identity(provider.issuer, "subject of nils"))
    provider.person = person("nils")
    browser, answer = come(service)
    assert answer.status_code == 200 and not browser.get("/v1/session").json()["must_change"]
    assert service.client().post("/v1/session", json={"name": "nils", "password": password}).status_code == 401


def test_tokens_rest_when_their_owner_did_not_sign_in_for_long(clinic):
    clock = [time.time()]
    people = type(clinic.desk.people)(clinic.desk.people._state, clock=lambda: clock[0])
    known = Identity("https://login.example", "1", "tilda", Role.ANALYST)
    people.enter(known, create=True, days=30)
    token = people.new_token("tilda", "program", 366).text
    own = people.new_token("ann", "program", 366).text  # who signs in with a password
    for days, works in ((29, True), (31, False)):
        clock[0] = time.time() + days * 86_400
        assert (people.by_token(token) is not None) is works
        assert people.by_token(own) is not None
    people.enter(known, create=False, days=30)
    assert people.by_token(token) is not None


@pytest.mark.parametrize(
    ("claim", "more", "name"),
    [
        ("preferred_username", {"preferred_username": "eva@clinic.example"}, "eva"),
        ("preferred_username", {"preferred_username": "eva@evil.example"}, None),
        ("preferred_username", {"preferred_username": "eva@evil.example@clinic.example"}, None),
        ("preferred_username", {"preferred_username": "Eva M"}, None),
        ("preferred_username", {"preferred_username": ["eva"]}, None),
        ("preferred_username", {"preferred_username": ""}, None),
        ("email", {"email": "eva@clinic.example", "email_verified": True}, "eva"),
        ("email", {"email": "eva@clinic.example", "email_verified": False}, None),
        ("email", {"email": "eva@clinic.example", "email_verified": "true"}, None),
        ("email", {"email": "eva@clinic.example"}, None),
    ],
)
def test_a_name_is_taken_only_if_it_is_one_that_was_verified(settings, claim, more, name):
    client = Provider(replace(settings, oidc_name_claim=claim, oidc_domains=("clinic.example",)))
    assert client._name_of(more) == name


def test_where_no_accounts_are_made_people_are_linked(clinic):
    known = Identity("https://login.example", "2", "clara", Role.ANALYST)
    with pytest.raises(NotAllowed, match="you have no account here") as caught:
        clinic.desk.people.enter(known, create=False)
    assert "subject of your account at the provider: 2" in caught.value.hint
    with pytest.raises(NotAllowed, match="cannot be a user name"):
        clinic.desk.people.enter(replace(known, name=None), create=True)
    assert "clara" not in names(clinic)


def test_a_new_key_of_the_provider_is_fetched_once(service, provider):
    provider.person = person("olga")
    provider.fetched.clear()
    assert come(service)[1].status_code == 200 and come(service)[1].status_code == 200
    assert sorted(provider.fetched) == ["keys", "metadata"]
    provider.keys.insert(0, new_key())
    assert come(service)[1].status_code == 200
    provider.keys.pop()  # the old one goes, and what it signed
    assert come(service)[1].status_code == 200
    assert sorted(provider.fetched) == ["keys", "keys", "metadata"]


def test_signing_out_ends_the_session_here_and_says_where_another_is(service, provider):
    provider.person = person("olga")
    browser, _ = come(service)
    csrf = browser.get("/v1/session").json()["csrf"]
    out = browser.post("/signout", data={"csrf": csrf}, follow_redirects=True)
    assert browser.get("/v1/session").status_code == 401
    assert f"{provider.issuer}/end?client_id={CLIENT}&amp;post_logout_redirect_uri=" in out.text
    browser = service.client()
    assert "Sign in with" in browser.get("/signin").text


def test_a_provider_that_is_away_leaves_passwords(clinic, settings):
    away = replace(settings, oidc_issuer="http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="does not answer"):
        Provider(away).metadata()
    [found] = [one for one in checks(clinic.folder, replace(away, port=0)) if one.what == "sign-in provider"]
    assert not found.well and "does not answer" in found.said


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://evil.example"}, "names the issuer 'https://evil.example'"),
        ({"token_endpoint": "http://login.example/token"}, "no https address as token_endpoint"),
        ({"jwks_uri": None}, "no https address as jwks_uri"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not support PKCE"),
    ],
)
def test_a_provider_that_is_not_the_one_that_was_set_is_not_used(settings, provider, metadata, said):
    provider.metadata = metadata
    with pytest.raises(BadInput) as caught:
        Provider(replace(settings, oidc_issuer=provider.issuer)).begin("http://localhost/x", "/")
    assert said in caught.value.message


def test_over_tls_the_cookie_of_an_attempt_is_this_hosts_alone(clinic, settings, provider):
    with serving(clinic.desk, replace(settings, oidc_issuer=provider.issuer, behind_proxy=True), console=True) as there:
        answer = there.client().get("/signin/openid")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-discreet_openid=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    assert "redirect_uri=https%3A%2F%2F" in answer.headers["location"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"oidc_issuer": "http://login.example"}, "is not an address with https"),
        ({"oidc_issuer": "https://user@login.example"}, "is not an address with https"),
        ({"oidc_issuer": "https://login.example?x=1"}, "is not an address with https"),
        ({"oidc_client": None}, "must be set together"),
        ({"oidc_stewards": (), "oidc_analysts": (), "oidc_auditors": ()}, "No group of the provider has a role"),
        ({"oidc_auditors": ("research",)}, "The group 'research' has two roles"),
        ({"oidc_scopes": ("profile",)}, "must include openid"),
    ],
)
def test_settings_of_a_provider_are_whole(settings, changed, said):
    with pytest.raises(BadInput) as caught:
        replace(settings, **changed)
    assert said in str(caught.value)


def test_a_secret_that_cannot_be_read_is_said(settings, tmp_path):
    with pytest.raises(NotFound, match="cannot be read"):
        Provider(replace(settings, oidc_secret=tmp_path / "none"))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(BadInput, match="is empty"):
        Provider(replace(settings, oidc_secret=tmp_path / "empty"))
    with pytest.raises(BadInput, match="No OpenID Connect provider"):
        Provider(Settings())
    assert MissingPart("authlib", "oidc").hint.endswith("'discreet[oidc]'")

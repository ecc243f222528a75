"""The client: what a local curator says, a remote one says too."""

import threading
from dataclasses import replace
from fractions import Fraction
from urllib.parse import urlsplit

import httpx
import pytest
from tests.curator.methods import Telling
from tests.service.certificates import certificate
from tests.service.serving import MANY, serving

import discreet as dc
from discreet.curator.curator import Curator
from discreet.errors import (
    BadInput,
    BadQuery,
    BudgetExceeded,
    EngineError,
    NotAllowed,
    NotFound,
    NotSignedIn,
    TooMany,
    Unreachable,
)
from discreet.service.client import connect, error_of

COUNT = "SELECT COUNT(*) AS n FROM visits"
WARDS = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    cert, key = certificate(tmp_path_factory.mktemp("tls") / "pair")
    return replace(MANY, cert=cert, key=key)


@pytest.fixture(scope="module")
def address(clinic, secured):
    with serving(clinic.desk, secured) as service:
        yield service.url


@pytest.fixture
def remote(clinic, address, secured):
    """Ann's."""
    with connect(address, clinic.tokens["ann"], ca=secured.cert) as found:
        yield found


@pytest.fixture
def steward(clinic, address, secured):
    with connect(address, clinic.tokens["steward"], ca=secured.cert) as found:
        yield found


def notebook(curator):
    """What somebody does with a curator, be it here or far away."""
    income = dc.Distribution("cost", 16, "0.05")
    yield curator.price(WARDS, epsilon="0.1", rows=100, analyst="ann").errors
    yield curator.price_all([COUNT, WARDS], epsilon=Fraction(1, 5), analyst="ann")[1].loss
    yield curator.epsilon_for(COUNT, "5%", expect=5000, analyst="ann")
    one = curator.ask(WARDS, epsilon=Fraction(1, 10), analyst="ann", key="wards")
    yield one.table, one.identity, one.price, str(one.statement), str(one.release)
    yield [(each.table, each.left_on.keys()) for each in curator.ask_all([COUNT, WARDS], epsilon=0.2, analyst="ann")]
    yield curator.quote(income, "visits", analyst="ann").loss
    yield curator.release(income, "visits", analyst="ann")
    yield curator.release(dc.Bounds("cost", "0.05"), "visits", analyst="ann")
    yield curator.release(dc.MacroTable([["sex"]], "0.05", levels=False), "patients", analyst="ann")
    yield curator.left("visits", "ann")
    for wrong in (
        lambda: curator.ask("SELECT * FROM visits", epsilon=1, analyst="ann"),
        lambda: curator.ask(COUNT, epsilon=2, analyst="ann"),
        lambda: curator.ask(COUNT, epsilon=-1, analyst="ann"),
        lambda: curator.quote(income, "nowhere", analyst="ann"),
    ):
        with pytest.raises(dc.errors.DiscreetError) as caught:
            wrong()
        yield type(caught.value), caught.value.message, caught.value.hint


def test_the_same_code_does_the_same_here_and_there(clinic, remote):
    with Curator(clinic.folder) as local:
        here = list(notebook(local))
    there = list(notebook(remote))
    for ours, theirs in zip(here, there, strict=True):
        if isinstance(ours, dc.Release):
            assert ours.payload.equals(theirs.payload)
            assert (ours.statement, ours.recipe, ours.receipt) == (theirs.statement, theirs.recipe, theirs.receipt)
        else:
            assert ours == theirs
    assert remote.ask(WARDS, epsilon="0.1").free


def test_a_question_asked_before_is_answered_under_the_names_it_is_asked_with_now(remote):
    first, again = (
        remote.ask(f"SELECT COUNT(*) AS {name} FROM visits WHERE cost > 30", epsilon="0.01") for name in ("n", "adults")
    )
    assert again.free and again.table.column_names == ["adults", "adults_error"]
    assert again.table.to_pydict() == dict(zip(again.table.column_names, first.table.to_pydict().values(), strict=True))


def test_a_new_question_is_charged_and_a_refusal_says_what_is_left(remote):
    before = remote.left("patients").analyst.epsilon
    answer = remote.ask("SELECT COUNT(*) AS n FROM patients", epsilon="0.125")
    assert not answer.free
    assert answer.left.analyst.epsilon == before - Fraction(1, 8)
    assert answer.release.receipt.account == "patients/ann"
    with pytest.raises(BudgetExceeded) as caught:
        remote.ask(COUNT, epsilon=5)
    assert caught.value.asked == dc.Pure(5)
    assert caught.value.left == dc.Pure(remote.left("visits").analyst.epsilon)  # which is less than the table has
    with pytest.raises(NotAllowed, match="You ask as ann"):
        remote.ask(COUNT, epsilon="0.1", analyst="bob")
    assert set(remote.tables()) == {"patients", "visits"}
    with pytest.raises(NotFound):
        remote.left("visits", "bob")


def test_a_steward_looks_after_people_and_the_ledger(steward, remote):
    steward.add_analyst("bob", dc.Pure("0.5"), ["visits"])
    assert steward.left("visits", "bob").analyst == dc.Pure("0.5")
    assert steward.verify().sound
    with pytest.raises(NotAllowed):
        remote.verify()
    with pytest.raises(NotAllowed):
        remote.add_analyst("bob", dc.Pure(1))


def test_a_service_that_is_started_again_is_not_noticed(clinic):
    with serving(clinic.desk) as service:
        remote = connect(service.url, clinic.tokens["ann"])
    found = []
    asking = threading.Thread(target=lambda: found.append(remote.price(COUNT, epsilon="0.1")))
    asking.start()
    assert not found
    with serving(clinic.desk, replace(MANY, port=urlsplit(service.url).port)):
        asking.join()
    assert found[0].loss == dc.Pure("0.1")
    remote.close()


def test_who_has_no_token_or_no_way_in_is_told(clinic, address, secured, monkeypatch, remote):
    monkeypatch.delenv("DISCREET_TOKEN", raising=False)
    with pytest.raises(NotSignedIn, match="No token given"):
        connect(address)
    with pytest.raises(NotSignedIn):
        connect(address, "dct_wrong", ca=secured.cert)
    with pytest.raises(Unreachable, match="certificate that is not trusted"):
        connect(address, "dct_wrong")
    monkeypatch.setenv("DISCREET_TOKEN", clinic.tokens["auditor"])
    with connect(address, ca=secured.cert) as auditor:
        assert auditor.name == "auditor"
        assert clinic.tokens["auditor"] not in repr(auditor)
    with pytest.raises(Unreachable):
        connect("http://127.0.0.1:9", "dct_x")  # nobody listens there
    with pytest.raises(BadInput, match="not a readable certificate"):
        connect(address, "dct_x", ca=__file__)
    with pytest.raises(BadInput, match="Streams run in the workspace"):
        remote.stream(dc.Stream("arrivals", 8, epsilon=1), "visits")
    with pytest.raises(BadInput, match="cannot run"):
        remote.quote(Telling(), "visits")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://data.example.org:8640", "unencrypted"),
        ("http://10.0.0.7", "unencrypted"),
        ("ftp://localhost", "is not the address of a service"),
        ("localhost:8640", "is not the address of a service"),
        ("https://localhost/v1", "is not the address of a service"),
        ("https://ann:secret@localhost", "must not contain a user name or password"),
    ],
)
def test_a_token_is_sent_nowhere_that_is_not_safe(url, said):
    with pytest.raises(BadInput, match=said) as caught:
        connect(url, "dct_x")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": "BadQuery", "message": "no", "hint": "h"}, BadQuery),
        (500, {"error": "os.system", "message": "no", "hint": ""}, EngineError),
        (500, ["not", "ours"], EngineError),
        (429, {"error": "TooMany", "message": "no", "hint": ""}, TooMany),
        (422, {"error": "BadInput", "message": "no", "problems": [{"where": "body.key", "what": "x"}]}, BadInput),
    ],
)
def test_an_error_is_one_of_ours_whatever_comes(status, body, kind):
    found = error_of(httpx.Response(status, json=body, headers={"Retry-After": "7"}))
    assert type(found) is kind
    assert found.message.startswith("no") or "status 500" in found.message
    if kind is TooMany:
        assert found.wait == 7

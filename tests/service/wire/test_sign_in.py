"""Who may connect, and what those who have not signed in are told: nothing."""

import struct
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest
from tests.service.certificates import certificate
from tests.service.serving import MANY, serving
from tests.service.wire.wire import END, SYNC, Wire, fields, letters, message, parse, query, rows, startup

from discreet.cli.serve import _epsilon
from discreet.curator.people.person import Scope
from discreet.errors import BadInput
from discreet.service.postgres import connection, server, stream


def failed(endpoint, name, token):
    with Wire(endpoint.port) as wire:
        [(letter, data)] = wire.sign_in(name, token)
        assert letter == "E"
        assert wire.rest() == []
        return fields(data)


def test_a_token_signs_its_owner_in_and_both_sides_prove_that_they_know_it(endpoint):
    with Wire(endpoint.port) as wire:
        told = wire.sign_in("ann", endpoint.tokens["ann"], database="clinic")
        assert letters(told)[0] == "R"
        assert letters(told)[-2:] == "KZ"
        assert rows(wire.ask(query("SELECT current_user, current_database()"))) == [["ann", "clinic"]]
        wire.send(END)
        assert wire.rest() == []


def test_whatever_is_wrong_with_a_name_or_token_is_told_alike(endpoint, clinic):
    wrong = failed(endpoint, "ann", "dct_guess")
    assert wrong["C"] == "28P01"
    assert wrong["S"] == "FATAL"
    for name, token in (
        ("nobody", "dct_guess"),
        ("ann", endpoint.tokens["bob"]),
        ("ann", clinic.password("ann")),
        ("Ann", endpoint.tokens["ann"]),
        ("ann' OR '1'='1", "x"),
        ("", "x"),
        ("a" * 5000, "x"),
    ):
        assert failed(endpoint, name, token) == wrong


@pytest.mark.parametrize(("name", "said"), [("steward", "Only analysts"), ("auditor", "Only analysts")])
def test_only_analysts_connect(endpoint, name, said):
    with pytest.raises(psycopg.OperationalError, match=said):
        endpoint.connect(name)


def test_a_token_has_to_have_the_scopes_and_ends_when_it_is_revoked(endpoint, clinic):
    asks = clinic.desk.people.new_token("ann", "asks", scopes=[Scope.ASK])
    with pytest.raises(psycopg.OperationalError, match="may not read"):
        endpoint.connect(password=asks.text)
    reads = clinic.desk.people.new_token("ann", "reads", scopes=[Scope.READ])
    with endpoint.connect(password=reads.text) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may not ask"):
            connection.execute("SELECT COUNT(*) AS n FROM visits")
        clinic.desk.people.revoke(reads.id)
        with pytest.raises(psycopg.OperationalError, match="unknown, expired or revoked"):
            connection.execute("SELECT COUNT(*) AS n FROM visits")
    with pytest.raises(psycopg.OperationalError, match="Name or token is wrong"):
        endpoint.connect(password=reads.text)


def test_nothing_is_answered_before_the_sign_in(endpoint):
    for sent in (query("SELECT 1"), parse("SELECT 1") + SYNC, END, message("p"), message("p", b"\0" * 40)):
        with Wire(endpoint.port) as wire:
            wire.send(sent)
            assert set(letters(wire.rest())) <= {"E"}
        with Wire(endpoint.port) as wire:
            wire.send(startup(user="ann"), sent, query("SELECT 1"))
            found = wire.rest()
            assert set(letters(found)) <= {"R", "E"}
            assert all(data[:4] in (struct.pack(">i", 10), b"SFAT") for _, data in found)


def test_the_wrong_signature_of_a_message_is_no_sign_in(endpoint):
    class Forging(Wire):
        def send(self, *data):
            super().send(*(one.replace(b",p=", b",p=AAAA") if one[:1] == b"p" else one for one in data))

    with Forging(endpoint.port) as wire:
        assert letters(wire.sign_in("ann", endpoint.tokens["ann"])) == "E"


def test_failed_attempts_of_an_address_are_limited(clinic):
    limited = replace(MANY, postgres_port=0, sign_ins_a_minute=3)
    with serving(clinic.desk, limited) as service:
        port = service.app.state.postgres.port
        codes = []
        for _ in range(5):
            with Wire(port) as wire:
                wire.send(startup(user="ann"))
                letter, data = wire.one()
                if letter == "R":
                    wire.socket.close()
                    with Wire(port) as again:
                        [(_, data)] = again.sign_in("ann", "dct_guess")
                codes.append(fields(data)["C"])
        assert codes == ["28P01"] * 3 + ["28000"] * 2
        with Wire(port) as wire:
            wire.send(startup(user="ann"))
            assert "Too many" in fields(wire.one()[1])["M"]


def test_there_are_places_for_so_many_of_a_person_and_of_an_address(endpoint, monkeypatch):
    monkeypatch.setattr(server, "MOST_OF_PERSON", 2)
    with endpoint.connect(), endpoint.connect(), pytest.raises(psycopg.OperationalError, match="too many connections"):
        endpoint.connect()
    monkeypatch.setattr(server, "MOST_OF_ADDRESS", 1)
    with Wire(endpoint.port) as waits, Wire(endpoint.port) as wire:
        waits.send(startup(user="ann"))
        assert waits.one()[0] == "R"
        assert fields(wire.one()[1])["C"] == "53300"


def test_who_takes_too_long_to_sign_in_is_let_go(endpoint, monkeypatch):
    monkeypatch.setattr(server, "SIGN_IN_SECONDS", 0.2)
    for sent in (b"", b"\0\0", startup(user="ann")):
        with Wire(endpoint.port) as wire:
            wire.send(sent)
            assert set(letters(wire.rest())) <= {"R"}


def test_who_says_nothing_or_half_a_message_for_too_long_is_let_go(endpoint, monkeypatch):
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"])
        monkeypatch.setattr(stream, "MESSAGE_SECONDS", 0.2)
        wire.send(query("SELECT 1")[:7])
        assert fields(wire.rest()[-1][1])["C"] == "57P05"
    monkeypatch.setattr(connection, "IDLE_SECONDS", 0.2)
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"])
        assert fields(wire.rest()[-1][1])["C"] == "57P05"


def test_the_cap_of_the_command_line_is_an_epsilon():
    assert _epsilon("epsilon=0.5") == Fraction(1, 2)
    for cap in ("rho=1", "epsilon=1, delta=1e-6", "epsilon=0"):
        with pytest.raises(BadInput, match="must be an epsilon above 0"):
            _epsilon(cap)


@pytest.fixture(scope="module")
def encrypted(clinic, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    cert, key = certificate(folder)
    settings = replace(MANY, postgres_port=0, cert=cert, key=key, names=("localhost",))
    with serving(clinic.desk, settings) as service:
        yield service.app.state, cert


def test_where_there_is_a_certificate_connections_are_encrypted_and_bound_to_it(encrypted, clinic):
    state, cert = encrypted
    port = state.postgres.port
    given = {"host": "localhost", "hostaddr": "127.0.0.1", "port": port, "user": "ann", "dbname": "clinic"}
    given |= {"password": clinic.tokens["ann"], "sslrootcert": str(cert)}
    for _ in range(2):
        with psycopg.connect(**given, sslmode="verify-full", channel_binding="require") as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
        certificate(cert.parent)
        state.certificate.renew()
    with psycopg.connect(**given, sslmode="require", channel_binding="disable") as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(psycopg.OperationalError, match="must be encrypted"):
        psycopg.connect(**given, sslmode="disable")


def test_what_comes_before_the_encryption_is_not_taken_for_what_comes_after(encrypted):
    state, _ = encrypted
    with Wire(state.postgres.port) as wire:
        wire.send(struct.pack(">ii", 8, 80877103), startup(user="ann"))
        found = wire.socket.recv(1)
        assert found in (b"", b"E", b"S")
        assert b"SCRAM" not in wire.socket.recv(1000)


def test_without_a_certificate_encryption_is_declined(endpoint):
    with Wire(endpoint.port) as wire:
        for code in (80877103, 80877104):
            wire.send(struct.pack(">ii", 8, code))
            assert wire.read(1) == b"N"
        assert letters(wire.sign_in("ann", endpoint.tokens["ann"]))[-1] == "Z"

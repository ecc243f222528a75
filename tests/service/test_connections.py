"""Connections of strangers to a real service: too many, too slow, or gone before they said what they wanted."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import ExitStack

import pytest

from discreet.service import server
from discreet.service.api import guard
from discreet.service.app import make_app
from discreet.service.settings import Settings
from discreet.verbs.collect.survey.file import loads

PATIENCE = 300
"""Seconds: how long a busy machine may take."""
SURVEY = """
title = "Lunch"
epsilon = 2
people = 50
[questions.ate]
text = "Did you eat?"
kind = "yes/no"
protocol = "grr"
"""


@pytest.fixture
def serve(clinic):
    """Starts a service whose survey anybody may answer: how to connect to it, and the head of a report."""
    surveys = clinic.desk.surveys
    view = surveys.set_open(clinic.steward, surveys.make(clinic.steward, loads(SURVEY)).id, open=True)
    stops, sockets = [], ExitStack()

    def started():
        ready = threading.Event()
        settings = Settings(port=0)
        service = server.Server(make_app(clinic.desk, settings, console=False), settings, ready.set, None)
        listener = sockets.enter_context(socket.create_server((settings.host, 0)))
        thread = threading.Thread(target=service.run, kwargs={"sockets": [listener]})
        thread.start()
        stops.append((service, thread))
        assert ready.wait(PATIENCE)
        place = listener.getsockname()
        host = f"{place[0]}:{place[1]}"
        head = f"POST /s/{view.id}/reports HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        return lambda: sockets.enter_context(socket.create_connection(place, PATIENCE)), head.encode()

    def stop():
        while stops:
            service, thread = stops.pop()
            service.should_exit = True
            thread.join(PATIENCE)

    started.stop = stop
    with sockets:
        yield started
    stop()


def all_of(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    said = b""
    try:
        while more := connection.recv(65_536):
            said += more
    except ConnectionResetError:
        pass
    return said


def test_one_neighbourhood_has_so_many_connections(serve, monkeypatch):
    monkeypatch.setattr(server, "CONNECTIONS", 3)
    connect, head = serve()
    held = [connect() for _ in range(3)]
    for one in held:  # each has been met when it is answered
        one.sendall(head + b"Content-Length: 2\r\n\r\n{}")
        assert one.recv(65_536).startswith(b"HTTP/1.1 400")
    assert all_of(connect()) == b""
    held.pop().close()
    while (answer := all_of_once(connect(), head)) == b"":  # until the service knows that it is closed
        pass
    assert answer.startswith(b"HTTP/1.1 400")


def all_of_once(connection: socket.socket, head: bytes) -> bytes:
    """The answer to a request, or nothing from who closes before."""
    try:
        connection.sendall(head + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
    except OSError:
        return b""
    return all_of(connection)


@pytest.mark.parametrize("sent", [b"", b"POST /s/", b"HEAD", b"BODY"])
def test_who_sends_nothing_more_is_let_go(serve, monkeypatch, sent):
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.1)
    connect, head = serve()
    one = connect()
    whole = head + b"Content-Length: 2\r\n\r\n{}"
    one.sendall({b"HEAD": whole + b"POST /s", b"BODY": head + b"Content-Length: 2\r\n\r\n{"}.get(sent, sent))
    answer = all_of(one)
    status = {b"HEAD": b"HTTP/1.1 400", b"BODY": b"HTTP/1.1 408"}.get(sent, b"")
    assert answer.startswith(status) and answer.count(b"HTTP/1.1") == bool(status)


def test_a_respondent_who_goes_away_is_not_in_the_log(serve, caplog):
    connect, head = serve()
    with caplog.at_level(logging.INFO, "uvicorn"):
        one = connect()
        one.sendall(head + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n{")
        assert one.recv(65_536).startswith(b"HTTP/1.1 100")  # the body is waited for
        one.close()
        serve.stop()
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []

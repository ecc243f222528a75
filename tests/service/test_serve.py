"""The service as a process: what it refuses to start with, how it starts, and how it ends."""

import contextlib
import io
import json
import logging
import re
import shutil
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.curator.clinics import clinic as make_clinic
from tests.service.certificates import certificate
from tests.service.conftest import password_of

from discreet.errors import BadInput
from discreet.service.api.logs import Lines, Log
from discreet.service.check import checks
from discreet.service.demo import demo_workspace, one_time_passwords
from discreet.service.listen import Certificate, good_until, listening
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import HOST
from discreet.service.settings import Settings

PEM = Path("some.pem")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": "0.0.0.0"}, "unencrypted"),  # noqa: S104
        ({"host": "192.168.1.7"}, "unencrypted"),
        ({"host": "data.example.org"}, "unencrypted"),
        ({"host": "0.0.0.0", "insecure": True}, "need a host name"),  # noqa: S104
        ({"host": "::", "cert": PEM, "key": PEM}, "need a host name"),
        ({"host": "no such host"}, "is not an address to listen on"),
        ({"port": 65_536}, "no port"),
        ({"cert": PEM}, "must be used together"),
        ({"key": PEM}, "must be used together"),
        ({"names": ("https://data.example.org",)}, "is not a host name"),
        ({"names": ("data.example.org:8640",)}, "is not a host name"),
        ({"names": ("Data.example.org",)}, "is not a host name"),
        ({"host": "192.168.1.7", "insecure": True, "behind_proxy": True}, "is for a proxy on this computer"),
    ],
)
def test_settings_that_are_not_safe_are_refused(given, said):
    with pytest.raises(BadInput, match=said):
        Settings(**given)


def test_settings_say_where_it_is_and_who_may_call_it():
    assert Settings().address() == "http://127.0.0.1:8640"
    assert Settings(port=0).address(1234) == "http://127.0.0.1:1234"
    assert Settings("::1").address() == "http://[::1]:8640"
    beyond = Settings("0.0.0.0", cert=PEM, key=PEM, names=("data.example.org",))  # noqa: S104
    assert beyond.beyond
    assert beyond.address() == "https://data.example.org:8640"
    assert beyond.hosts == {"localhost", "127.0.0.1", "::1", "data.example.org"}
    behind = Settings(names=("data.example.org",), behind_proxy=True)
    assert behind.address() == "http://127.0.0.1:8640"
    assert "data.example.org" in behind.hosts
    assert "10.1.2.3" in Settings("10.1.2.3", insecure=True).hosts
    assert not any(Settings(host).beyond for host in ("127.0.0.2", "::1", "localhost"))


def test_a_certificate_is_tried_before_it_is_used(tmp_path):
    names = ("localhost", "data.example.org")
    cert, key = certificate(tmp_path / "good", names=names)
    assert good_until(cert, key) == good_until(cert, key, "data.example.org") == good_until(cert, key, "127.0.0.1")
    other = certificate(tmp_path / "other")
    for pair, name, said in (
        ((cert, key), "example.org", "is not for example.org"),
        ((cert, key), "10.0.0.1", "is not for 10.0.0.1"),
        (certificate(tmp_path / "old", days=(-9, -2)), None, "has expired"),
        (certificate(tmp_path / "young", days=(2, 9)), None, "not valid yet"),
        ((cert, other[1]), None, "does not belong to the certificate"),
        ((key, cert), None, "are not a readable certificate and key"),
        ((cert, tmp_path / "none"), None, "There is no key"),
    ):
        with pytest.raises(BadInput, match=said):
            good_until(*pair, name)


def test_a_check_looks_at_everything_and_says_what_is_wrong(clinic, tmp_path):
    cert, key = certificate(tmp_path / "pair")
    settings = Settings(port=0, cert=cert, key=key, names=("localhost",))
    found = {one.what: one for one in checks(clinic.folder, settings)}
    assert list(found) == ["workspace", "permissions", "tables", "ledger", "people", "certificate", "address"]
    assert all(one.well for one in found.values()), found
    assert "steward" in found["people"].said
    with listening(Settings(port=0)) as taken:
        soon = certificate(tmp_path / "soon", days=(-1, 5))
        settings = Settings(port=taken.getsockname()[1], cert=soon[0], key=soon[1])
        found = {one.what: one for one in checks(tmp_path, settings)}
    assert [what for what, one in found.items() if not one.well] == ["workspace", "certificate", "address"]
    assert "expires on" in found["certificate"].said
    assert "Choose another port" in found["address"].said


def test_a_check_says_that_others_can_read_a_workspace(clinic):
    clinic.folder.chmod(0o755)
    (clinic.folder / "ledger.db").chmod(0o640)
    found = {one.what: one for one in checks(clinic.folder, Settings(port=0))}["permissions"]
    assert not found.well
    assert "can read" in found.said and "ledger.db" in found.said
    assert f"chmod -R go-rwx {clinic.folder}" in found.said
    clinic.folder.chmod(0o700)
    (clinic.folder / "ledger.db").chmod(0o600)


def test_a_demo_is_made_once_and_its_passwords_are_new_until_they_are_changed(tmp_path):
    with pytest.raises(BadInput, match="is not empty"):
        demo_workspace(Path(__file__).parent)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "MADE-BY-DEMO.txt").touch()
    folder = demo_workspace(tmp_path / "demo", rows=300)
    made = (folder / "workspace.toml").stat()
    assert demo_workspace(tmp_path / "demo") == folder
    assert (folder / "workspace.toml").stat() == made
    assert not (tmp_path / "demo" / "MADE-BY-DEMO.txt").exists()
    with Operations(folder) as desk:
        first, again = one_time_passwords(desk), one_time_passwords(desk)
        assert set(first) == {"analyst", "steward"}
        assert not set(first.values()) & set(again.values())
        desk.people.change_password("analyst", again["analyst"], password_of("analyst"))
        assert set(one_time_passwords(desk)) == {"steward"}
        assert [job.kind for job in desk.jobs(HOST)] == ["publish"]
        assert {view.table for view in desk.budgets.accounts(desk.people.find("analyst"))} == {"patients", "visits"}


def test_it_starts_answers_and_ends_when_told(tmp_path):
    """Over TLS, in a process of its own: the first steward is made, and all is well afterwards."""
    cert, key = certificate(tmp_path / "pair")
    make_clinic(tmp_path / "clinic").close()
    with listening(Settings(port=0)) as free:
        port = free.getsockname()[1]
    given = ("--port", str(port), "--cert", str(cert), "--key", str(key), "--no-open")
    started = [sys.executable, "-m", "discreet.cli", "serve", str(tmp_path / "clinic"), *given]
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            told = [process.stdout.readline() for _ in range(3)]
            password = re.search(r"Sign in as steward with the one-time password (\S+)", told[0])[1]
            url = f"https://127.0.0.1:{port}"
            assert f"discreet serves clinic at {url}" in told[1]
            trusted = ssl.create_default_context(cafile=cert)
            with httpx.Client(base_url=url, verify=trusted, timeout=60, trust_env=False) as client:
                assert client.get("/v1/health").json()["status"] == "ok"
                signed = client.post("/v1/session", json={"name": "steward", "password": password})
                assert signed.json()["must_change"]
                assert "Secure" in signed.headers["set-cookie"]
            settings = Settings(port=port, cert=cert, key=key)
            found = {one.what: one for one in checks(tmp_path / "clinic", settings)}
            assert found["address"].well, found
            log = renewed(process, port, tmp_path)
            assert "a service is already running" in found["address"].said
            process.send_signal(signal.SIGTERM)
            out, rest = process.communicate(timeout=60)
        finally:
            process.kill()
    log += rest
    assert process.returncode == 0, log
    assert "Traceback" not in log
    assert password not in out + log
    said = [line.get("said", "") for line in map(json.loads, log.splitlines())]
    assert f"serves clinic at {url}" in said[0]
    assert said[-1] == "stopped: SIGTERM"
    assert all(one.well for one in checks(tmp_path / "clinic", Settings(port=port, cert=cert, key=key)))


def renewed(process, port, folder):
    """Have a service read its certificate again, one that is good and one that is not; what it logged meanwhile."""
    pair = folder / "pair"
    first, log = met(port), ""
    certificate(pair)
    second, (_, bad_key) = (pair / "cert.pem").read_text(), certificate(folder / "bad")
    assert met(port) == first != second
    for said in ("it is good until", "the one before stays: The key in"):
        process.send_signal(signal.SIGHUP)
        while said not in (line := process.stderr.readline()):
            assert line, "it has ended"
            log += line
        log += line
        assert met(port) == second
        shutil.copy(bad_key, pair / "key.pem")
    certificate(pair)
    return log


def met(port):
    """The certificate that a client meets."""
    return ssl.get_server_certificate(("127.0.0.1", port))


def test_a_certificate_is_met_by_who_says_no_name_and_by_who_says_one(tmp_path):
    for name in ("localhost", None):
        cert, key = certificate(tmp_path / "pair")
        found = Certificate(cert, key)
        first = seen(found.context, name)
        certificate(tmp_path / "pair")
        assert seen(found.context, name) == first
        found.renew()
        assert seen(found.context, name) != first
        certificate(tmp_path / "pair", days=(-9, -2))
        with pytest.raises(BadInput, match="has expired"):
            found.renew()
        assert seen(found.context, name) not in (first, ssl.PEM_cert_to_DER_cert(cert.read_text()))


def seen(server, name):
    """The certificate that a client sees, shaking hands in memory."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking, serving = client.wrap_bio(back, there, server_hostname=name), server.wrap_bio(there, back, server_side=True)
    for side in (asking, serving, asking):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return asking.getpeercert(binary_form=True)


TERMINAL = """
import os, pty, signal
from discreet.service.run import has_terminal

os.setsid()
assert not has_terminal()
child, terminal = pty.fork()
if child == 0:
    def hung_up(*_):
        os._exit(0 if before and not has_terminal() else 1)

    signal.signal(signal.SIGHUP, hung_up)
    before = has_terminal()
    os.write(1, b"ready")
    while True:
        signal.pause()
assert os.read(terminal, 5) == b"ready"
os.close(terminal)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_terminal_that_goes_away_is_told_from_a_signal_that_somebody_sends():
    assert subprocess.run([sys.executable, "-c", TERMINAL], check=False).returncode == 0


def test_what_is_logged_by_others_is_not_quoted():
    stream = io.StringIO()
    handler = Lines(Log(stream))
    logger = logging.Logger("some.package")
    logger.addHandler(handler)
    try:
        raise ValueError("a secret value")
    except ValueError:
        logger.exception("stumbled over a %s", "secret value")
    ours = logging.Logger("discreet.service.jobs")
    ours.addHandler(handler)
    ours.error("job %s was lost", "j1", extra={"page": "/ask"})
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert "secret" not in str(first)
    assert first["error"] == "ValueError"
    assert first["where"][0].startswith("test_serve.py:")
    assert (second["said"], second["page"]) == ("job j1 was lost", "/ask")

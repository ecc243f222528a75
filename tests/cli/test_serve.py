"""`discreet serve` as far as it can be tried without serving: tests/service/test_serve.py starts it."""

import subprocess
import sys

from tests.called import called
from tests.curator.clinics import clinic

from discreet.service.listen import listening
from discreet.service.settings import Settings


def test_what_cannot_be_served_says_why(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    everywhere = ("clinic", "--host", "0.0.0.0")  # noqa: S104
    for words, said in (
        ((), "No workspace given"),
        (("clinic", "--demo", "demo"), "No workspace given"),
        (("nowhere",), "no workspace in"),
        (everywhere, "unencrypted"),
        ((*everywhere, "--insecure"), "--name"),
        (("clinic", "--cert", "cert.pem"), "used together"),
        (("clinic", "--cert", "cert.pem", "--key", "key.pem"), "no certificate at cert.pem"),
        (("clinic", "--port", "70000"), "no port"),
        (("clinic", "--host", "192.0.2.1", "--insecure"), "not an address of this computer"),
        (("clinic", "--host", "nowhere.invalid", "--insecure"), "Unknown host name"),
        (("--demo", "clinic"), "is not empty"),
    ):
        assert said in command("serve", *words, code=1)


def test_a_port_that_is_taken_says_so_and_the_password_is_told_before(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    with listening(Settings(port=0)) as door:
        said = command("serve", "clinic", "--port", str(door.getsockname()[1]), code=1)
    assert "Choose another port" in said
    assert "with a one-time password" in command("people", "list", "clinic")


def test_check_lists_what_is_well_and_what_to_do(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    command("serve", "clinic", "--check", "--port", "0", code=1)
    command("people", "add", "clinic", "ann", "--role", "steward")
    said = command("serve", "clinic", "--check", "--port", "0")
    assert said.count("ok ") == 6
    assert "not ok" not in said
    assert "stewards: ann" in said
    (tmp_path / "clinic/tables/visits/twin.parquet").unlink()
    assert "twin.parquet" in called(("serve", "clinic", "--check", "--port", "0"), tmp_path).stdout.replace("\n", "")


def test_no_other_command_loads_the_parts_of_the_service():
    parts = "{'argon2', 'fastapi', 'httpx', 'nicegui', 'prometheus_client', 'uvicorn', 'pyarrow', 'sqlglot'}"
    code = f"import sys, discreet.cli.main; print(sorted({parts} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_command_takes_a_file_and_variables(command, tmp_path, monkeypatch):
    (tmp_path / "serve.toml").write_text('host = "0.0.0.0"\n')
    assert "unencrypted" in command("serve", "clinic", "--config", "serve.toml", code=1)
    monkeypatch.setenv("DISCREET_SERVE_HOSTS", "127.0.0.1")
    assert "did you mean" in command("serve", "clinic", code=1)

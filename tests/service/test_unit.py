"""The systemd unit of docs/serve.md, run as systemd would: another user, an empty environment, a read-only system."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import ssl
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import httpx
import pytest
from tests.service.certificates import certificate
from tests.service.conftest import new_workspace

from discreet.service.listen import listening
from discreet.service.settings import Settings

ROOT = Path(__file__).parents[2]
USER = "nobody"
MOUNTS = """
set -e
mount -o remount,ro,bind /
mount -t tmpfs -o mode=755 none /root
mount --bind "$1" "$1"
mount -o remount,rw,bind "$1"
shift
exec "$@"
"""
"""ProtectSystem=strict, ProtectHome and ReadWritePaths, in a mount namespace that goes with the process."""


def unit():
    """The unit as it stands on the page."""
    text = (ROOT / "docs" / "serve.md").read_text()
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str
    parser.read_string(re.search(r"```text\n(\[Unit\].*?)```", text, re.DOTALL)[1])
    return parser


def python_for_all():
    """A Python of this version that every user can run, if there is one: the tests' own may be in a home."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    own = Path(sys.executable).resolve()
    found = [own, *map(Path, filter(None, [shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin")]))]
    return next((one for one in found if all(path.stat().st_mode & stat.S_IXOTH for path in (one, *one.parents))), None)


def can_mount():
    tried = ["unshare", "--mount", "mount", "-o", "remount,ro,bind", "/"]
    return os.geteuid() == 0 and subprocess.run(tried, capture_output=True, check=False).returncode == 0


def test_the_unit_asks_for_no_more_than_the_workspace():
    service = unit()["Service"]
    words = shlex.split(service["ExecStart"])
    assert words[1] == "serve" and service["ReadWritePaths"] == words[2]
    assert (service["ProtectSystem"], service["UMask"], service["ProtectHome"]) == ("strict", "0077", "yes")


@pytest.fixture
def base():
    """A folder that others can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.slow
def test_the_unit_starts_answers_and_publishes(base):
    python = python_for_all()
    if python is None or not can_mount():
        pytest.skip("this needs root, mount namespaces, and a Python outside of homes")
    service = unit()["Service"]
    workspace = base / "srv" / "clinic"
    workspace.parent.mkdir()
    tokens = new_workspace(workspace)
    cert, key = certificate(base / "pair", names=("data.example.org",))
    with listening(Settings(port=0)) as free:
        port = free.getsockname()[1]
    _, *words = shlex.split(service["ExecStart"])
    paths = {"/srv/clinic": workspace, "/etc/discreet/cert.pem": cert, "/etc/discreet/key.pem": key}
    words = [str(paths.get(word, word)) for word in words]
    for path in (workspace, *workspace.rglob("*"), cert, key):
        shutil.chown(path, USER)
    cert.parent.chmod(0o755)
    purelib = sysconfig.get_path("purelib")
    started = [
        *("unshare", "--mount", "sh", "-c", MOUNTS, "sh", str(workspace)),
        *("setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "--no-new-privs"),
        *("env", "-i", "PATH=/usr/bin:/bin", "HOME=/nonexistent", f"PYTHONPATH={ROOT / 'src'}:{purelib}"),
        *(str(python), "-m", "discreet.cli", *words, "--port", str(port)),
    ]
    umask = int(service["UMask"], 8)
    said = base / "log"
    with said.open("w") as log, subprocess.Popen(started, cwd="/", umask=umask, stdout=log, stderr=log) as process:
        try:
            url, trusted = f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=cert)
            trusted.check_hostname = False
            headers = {"Host": f"data.example.org:{port}", "Authorization": f"Bearer {tokens['ann']}"}
            with httpx.Client(base_url=url, verify=trusted, headers=headers, timeout=60, trust_env=False) as http:
                _until(lambda: _answers(http), process, said)
                asked = {"questions": ["SELECT COUNT(*) AS n FROM patients"], "epsilon": "0.1"}
                assert http.post("/v1/ask", json=asked).status_code == 200, said.read_text()
                assert "discreet" in http.get("/", follow_redirects=True).text
                http.headers["Authorization"] = f"Bearer {tokens['steward']}"
                job = {"table": "patients", "models": ["k=3"]}
                made = http.post("/v1/jobs/publish", json=job)
                assert made.status_code == 202, made.text
                _until(lambda: http.get(f"/v1/jobs/{made.json()['id']}").json()["state"] in OVER, process, said)
                assert http.get(f"/v1/jobs/{made.json()['id']}").json()["state"] == "done", said.read_text()
        finally:
            process.terminate()
            process.wait(60)
    assert process.returncode == 0, said.read_text()
    assert "Traceback" not in said.read_text()
    assert [path for path in workspace.rglob("*") if path.stat().st_mode & 0o077] == []
    assert [path for path in workspace.iterdir() if path.name.startswith(".scratch")] == []
    assert any((workspace / ".compiled").rglob("*.nbc")), "kernels are kept for the next job"


OVER = ("done", "failed", "lost", "cancelled")


def _answers(http):
    try:
        return http.get("/v1/health").status_code == 200
    except httpx.HTTPError:
        return False


def _until(holds, process, said):
    end = time.monotonic() + 300
    while not holds():
        assert process.poll() is None and time.monotonic() < end, said.read_text()
        time.sleep(0.2)

"""tools/parts.sh: what the tests need beyond Python is installed, also while somebody else is installing something."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "parts.sh"
BUSY = "E: Could not get lock {}. It is held by process 4321 (apt-get)"


@pytest.fixture
def machine(tmp_path):
    """A machine with all parts but a browser, whose package manager does what a script says."""
    place = tmp_path / "bin"
    place.mkdir()
    for tool in ("env", "seq", "sed", "sh", "chmod"):
        (place / tool).symlink_to(shutil.which(tool))

    def program(name, script):
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)

    program("id", "echo 0")
    program("sleep", f"echo slept >> {tmp_path}/slept")
    program("psql", "true")
    program("java", """echo 'openjdk version "21.0.1"' >&2""")
    return program


def run(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    words = [shutil.which("sh"), SCRIPT]
    return subprocess.run(
        words,
        env=environment | {"PATH": str(tmp_path / "bin"), "POSTGRES_JDBC": "here"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_waits_while_the_package_manager_is_busy(machine, tmp_path):
    browser = tmp_path / "bin" / "chromium"
    machine(
        "apt-get",
        f"""case "$*" in
        *DPkg::Lock::Timeout=*update*)
            [ -e {tmp_path}/slept ] || {{ echo '{BUSY.format("lists/lock")}' >&2; exit 100; }} ;;
        *DPkg::Lock::Timeout=*install*chromium*) echo > {browser}; chmod +x {browser} ;;
        *) exit 1 ;;
        esac""",
    )
    ran = run(tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert browser.exists()
    assert (tmp_path / "slept").read_text() == "slept\n"


def test_it_says_what_is_missing_and_why(machine, tmp_path):
    machine("apt-get", "echo 'E: Unable to locate package chromium' >&2; exit 100")
    ran = run(tmp_path)
    assert "Chromium is not installed and could not be" in ran.stdout
    assert "Unable to locate package" in ran.stderr
    assert not (tmp_path / "slept").exists(), "waiting would not help"


def test_it_does_not_wait_for_ever(machine, tmp_path):
    machine("apt-get", f"echo '{BUSY.format('lists/lock')}' >&2; exit 100")
    ran = run(tmp_path)
    assert "Chromium is not installed and could not be" in ran.stdout
    assert len((tmp_path / "slept").read_text().split()) == 60


def test_a_run_ends_with_what_was_skipped_and_why(tmp_path):
    """As `make test` is set up; the reason stands once, with how many tests it kept from running."""
    (tmp_path / "test_console.py").write_text(
        "import pytest\n@pytest.mark.parametrize('page', range(21))\n"
        "def test_page(page):\n    pytest.skip('Chromium is missing: install chromium')\n"
    )
    root = SCRIPT.parent.parent
    words = ["-c", root / "pyproject.toml", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    last = ran.stdout.partition("short test summary info")[2]
    assert re.search(r"SKIPPED \[21\] .*: Chromium is missing: install chromium", last)

"""Commands as a person meets them: in a process of their own, in an empty folder."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def command(tmp_path):
    """Run a command; gives what it printed, or what it said of the error where one is expected."""

    def run(*words, code=0):
        found = subprocess.run(
            [sys.executable, "-m", "discreet.cli", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "140"},
        )
        assert found.returncode == code, found.stdout + found.stderr
        assert "Traceback" not in found.stderr
        return found.stdout if code == 0 else found.stderr

    return run

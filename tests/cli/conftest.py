"""Commands as a person meets them, in an empty folder."""

import pytest
from tests.called import called


@pytest.fixture
def command(tmp_path):
    """Run a command; gives what it printed, or what it said of the error where one is expected."""

    def run(*words, code=0):
        found = called(words, tmp_path)
        assert found.code == code, found.stdout + found.stderr
        assert "Traceback" not in found.stderr
        return found.stdout if code == 0 else found.stderr

    return run

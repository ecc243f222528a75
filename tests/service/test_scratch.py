"""Temporary files of a service lie in its workspace, and go with it."""

import os
import subprocess
import sys
import tempfile

from discreet.service.scratch import own_scratch

WAITS = """
import sys
from pathlib import Path
from discreet.service.scratch import own_scratch
with own_scratch(Path(sys.argv[1])):
    print("here", flush=True)
    sys.stdin.read()
"""


def test_temporary_files_are_in_the_workspace_and_go_with_the_process(tmp_path):
    before = (tempfile.tempdir, dict(os.environ))
    with own_scratch(tmp_path) as folder:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            assert file.name.startswith(str(folder))
        assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
        assert os.environ["DISCREET_COMPILED"] == str(tmp_path / ".compiled")
    assert list(tmp_path.iterdir()) == []
    assert (tempfile.tempdir, dict(os.environ)) == before


def test_what_a_killed_process_left_is_deleted_and_what_a_living_one_uses_is_not(tmp_path):
    words = [sys.executable, "-c", WAITS, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        [left] = tmp_path.iterdir()
        with own_scratch(tmp_path):
            assert left.is_dir()
        process.kill()
        process.wait()
        with own_scratch(tmp_path) as folder:
            assert list(tmp_path.iterdir()) == [folder]

"""A mutilated file is a clear error or a right reading; nothing is half read, and memory is bounded."""

import json
import subprocess
import sys

import pytest
from tests.engines.mutilated import MUTILATIONS, cases, judge

BYTES = 5 << 30
CHILD = """
import json, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from tests.engines.mutilated import cases, judge
found = {{name: judge(case) for name, case in cases(Path(sys.argv[1]), 22, 200)}}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
wrong = {{name: what for name, what in found.items() if what}}
print(json.dumps({{"cases": len(found), "wrong": wrong, "peak_mb": peak}}))
"""


def test_one_file_of_each_cheap_kind_is_an_error_or_read_rightly(tmp_path):
    cheap = len(MUTILATIONS) - 4
    assert {name: what for name, case in cases(tmp_path, 1, cheap) if (what := judge(case))} == {}


@pytest.mark.slow
def test_two_hundred_files_are_errors_or_read_rightly_in_bounded_memory(tmp_path):
    child = [sys.executable, "-c", CHILD.format(limit=BYTES), str(tmp_path)]
    done = subprocess.run(child, capture_output=True, text=True, check=True, timeout=900)
    found = json.loads(done.stdout)
    assert found["wrong"] == {}
    assert found["cases"] == 200
    assert found["peak_mb"] < 1_500

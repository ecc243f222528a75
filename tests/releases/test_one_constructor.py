"""A release is made in one place: the pipeline. Read back, it is made in one other."""

import ast
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent


def constructors():
    """The modules in which ``Release(…)`` stands, and how often."""
    found = {}
    for file in sorted(SOURCE.rglob("*.py")):
        calls = [
            node.func for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
        ]
        named = [getattr(one, "id", getattr(one, "attr", None)) for one in calls]
        if count := named.count("Release"):
            found[file.relative_to(SOURCE).as_posix()] = count
    return found


def test_releases_are_made_in_the_pipeline_alone():
    elsewhere = {
        "core/release.py",  # a saved one, read back: Release.load
        "verbs/attack/membership.py",  # a rehearsal for an attack, which never leaves
        "cli/demo.py",  # made-up people
        "curator/audited.py",  # answers that the auditor lets out, in its own books
        "curator/synthetic.py",  # post-processing of a release
        "verbs/collect/survey/results.py",  # of reports, not of a table
        "verbs/combine/running.py",  # of a session of several parties
    }
    found = constructors()
    assert found["releases/pipeline.py"] == 1
    assert set(found) - elsewhere == {"releases/pipeline.py"}
    assert max(found.values()) == 1

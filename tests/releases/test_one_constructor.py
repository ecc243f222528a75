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
    assert constructors() == {
        "core/release.py": 1,  # a saved one, read back: Release.load
        "releases/pipeline.py": 1,
    }

"""The public names: all there, all documented, and cheap to import."""

import inspect
import subprocess
import sys

import pytest

import discreet

VERB_FIRST = """
import discreet as dc
assert callable(dc.publish) and callable(dc.attack)
import discreet.verbs.publish.local, discreet.verbs.attack.finding
assert discreet.verbs.publish.local.LocalRecode and discreet.verbs.attack.finding.Finding
assert callable(dc.publish) and callable(dc.attack) and dc.utility.loss
"""
ROOM_FIRST = """
from discreet.verbs.publish.local import LocalRecode
import discreet.verbs.attack.finding, discreet.utility.pair
import discreet as dc
assert callable(dc.publish) and callable(dc.attack) and dc.utility.loss
assert discreet.verbs.publish.local.LocalRecode is LocalRecode is dc.LocalRecode
"""


def test_every_public_name_exists_and_says_what_it_is():
    for name in discreet.__all__:
        found = getattr(discreet, name)
        assert name == "__version__" or discreet.__getattr__(name) is found, f"{name} is there only by chance"
        if inspect.isclass(found) or inspect.isroutine(found) or inspect.ismodule(found):
            assert inspect.getdoc(found), f"{name} has no docstring"


def test_every_public_method_says_what_it_does():
    classes = {name: found for name in discreet.__all__ if inspect.isclass(found := getattr(discreet, name))}
    silent = [
        f"{name}.{key}"
        for name, found in classes.items()
        for key, member in vars(found).items()
        if not key.startswith("_") and (inspect.isroutine(member) or isinstance(member, property))
        if not inspect.getdoc(member)
    ]
    assert classes
    assert silent == []


def test_all_names_are_listed_in_order_and_nothing_else_is_shown():
    assert sorted(discreet.__all__) == sorted(set(discreet.__all__))
    assert dir(discreet) == sorted(discreet.__all__)
    with pytest.raises(AttributeError, match="no 'nonsense'"):
        discreet.nonsense  # noqa: B018


@pytest.mark.parametrize("code", [VERB_FIRST, ROOM_FIRST], ids=["verb first", "room first"])
def test_rooms_and_verbs_share_a_name_whichever_comes_first(code):
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_discreet_loads_nothing_heavy():
    heavy = "{'numpy', 'pyarrow', 'duckdb', 'sqlglot', 'pyspark', 'psycopg', 'pandas', 'typer', 'rich'}"
    code = f"import sys, discreet; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

"""The public names: all there, all documented, and cheap to import."""

import inspect
import subprocess
import sys

import pytest

import discreet


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_exists_and_says_what_it_is(name):
    found = getattr(discreet, name)
    if inspect.isclass(found) or inspect.isroutine(found) or inspect.ismodule(found):
        assert inspect.getdoc(found), f"{name} has no docstring"


@pytest.mark.parametrize("name", [n for n in discreet.__all__ if inspect.isclass(getattr(discreet, n))])
def test_every_public_method_says_what_it_does(name):
    found = getattr(discreet, name)
    for key, member in vars(found).items():
        if not key.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
            assert inspect.getdoc(member), f"{name}.{key} has no docstring"


def test_all_names_are_listed_in_order_and_nothing_else_is_shown():
    assert sorted(discreet.__all__) == sorted(set(discreet.__all__))
    assert dir(discreet) == sorted(discreet.__all__)
    with pytest.raises(AttributeError, match="no 'nonsense'"):
        discreet.nonsense  # noqa: B018


def test_importing_discreet_loads_nothing_heavy():
    heavy = "{'numpy', 'pyarrow', 'duckdb', 'sqlglot', 'pyspark', 'psycopg', 'pandas', 'typer', 'rich'}"
    code = f"import sys, discreet; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

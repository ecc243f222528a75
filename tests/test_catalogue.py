"""What every declaration keeps to, of whatever family: it can be written, explained, checked and shown."""

import json
import runpy
import tomllib
from pathlib import Path

import pytest

from discreet.core.cardfile import from_fields
from discreet.core.catalogue import parameters_of
from discreet.core.families import FAMILIES
from discreet.errors import BadInput

ROOT = Path(__file__).parents[1]
ENTRIES = [entry for family in FAMILIES for entry in family.entries()]


def every(test):
    """Ask the same of all entries, and name the one that fails."""

    def asked():
        for entry in ENTRIES:
            try:
                test(entry)
            except BaseException as error:
                error.add_note(f"It is of {entry.family.name} {entry.name}.")
                raise

    asked.__name__ = test.__name__
    return asked


def test_the_page_of_the_documentation_has_every_entry():
    page = runpy.run_path(str(ROOT / "tools" / "catalogue_page.py"))["page"]()
    for entry in ENTRIES:
        assert f"### {entry.title}" in page
        assert f"`{entry.usage}`" in page


def test_every_family_has_members_and_its_constant_is_its_name():
    from discreet.core import families

    for family in FAMILIES:
        assert family.entries()
        assert getattr(families, family.name.upper()) is family


@every
def test_an_entry_says_what_it_is_and_what_each_parameter_means(entry):
    assert entry.summary.endswith((".", "…"))
    for one in entry.parameters:
        assert one.sentence.endswith("."), one.name
        assert one.sentence[0].isupper()
        assert one.described
    assert json.dumps(entry.to_dict())
    assert {one.name for one in entry.parameters if one.required and one.usage} <= set(entry.schema()["properties"])
    assert entry.name in "\n".join(entry.help())


@every
def test_the_example_names_the_entry(entry):
    if entry.family.in_cards:
        declared = tomllib.loads(f"it = {entry.example}")["it"]
        assert type(from_fields(declared, folder=None)) is entry.kind
        return
    found, rest = entry.family.find(entry.example)
    assert found is entry
    assert set(entry.said(rest)) <= {one.name for one in entry.parameters}


@every
def test_what_is_of_another_type_or_out_of_range_is_refused(entry):
    for one in parameters_of(entry.kind):
        for limit, wrong in ((one.least, -1), (one.most, 1), (one.above, 0), (one.below, 0)):
            if limit is not None:
                with pytest.raises(BadInput, match=r"must be|must not be negative"):
                    one.check(int(limit + wrong) if isinstance(limit, int) else limit + wrong)
        if one.words or one.is_flag:
            with pytest.raises(BadInput, match="must be"):
                one.check("nothing like it")


@every
def test_defaults_are_in_range(entry):
    for one in parameters_of(entry.kind):
        if not one.required:
            one.check(one.default)

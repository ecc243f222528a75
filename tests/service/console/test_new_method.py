"""A masking method takes one file: the one of docs/architecture.md is found wherever methods are named."""

import re
import runpy
import sys
from pathlib import Path

import pytest
from tests.called import called
from tests.contract import test_maskers as contract
from tests.publish.mask.people import CARD, people
from tests.service.console.conftest import seen

from discreet.core.families import MASKING
from discreet.errors import BadInput
from discreet.verbs.publish import mask

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```python title=\"jitter.py\"\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def jitter(tmp_path, monkeypatch):
    """The package of masking methods with one more file."""
    (tmp_path / "jitter.py").write_text(BLOCK.search((ROOT / "docs" / "architecture.md").read_text())[1])
    monkeypatch.setattr(mask, "__path__", [*mask.__path__, str(tmp_path)])
    yield "jitter"
    MASKING.members.pop("jitter", None)
    sys.modules.pop("discreet.verbs.publish.mask.jitter", None)


def test_without_the_file_there_is_no_such_method():
    with pytest.raises(BadInput, match="no masking method 'jitter"):
        MASKING.parse("jitter reach=2", CARD)


def test_it_is_read_from_text_and_its_range_is_checked(jitter):
    made = MASKING.parse("jitter reach=2 on age", CARD)
    assert (made.name, made.reach, made.columns) == (jitter, 2, ("age",))
    with pytest.raises(BadInput, match="reach must be a number above 0, got -1"):
        MASKING.parse("jitter reach=-1", CARD)


def test_help_lists_and_explains_it(jitter):
    assert jitter in called(["publish", "--help"], Path()).stdout
    told = called(["methods", jitter], Path()).stdout
    assert "reach: a number above 0. Largest change of a value." in told


def test_the_service_has_its_schema(jitter, console):
    told = []

    async def act(http):
        told.append((await http.get("/v1/catalogue")).json())

    console.browse(act)
    families = {one["name"]: one["entries"] for one in told[0]["families"]}
    (entry,) = (one for one in families["masking"] if one["name"] == jitter)
    assert entry["parameters"]["properties"]["reach"]["exclusiveMinimum"] == 0
    assert entry["parameters"]["required"] == ["reach"]


def test_the_page_of_the_catalogue_has_it(jitter):
    page = runpy.run_path(str(ROOT / "tools" / "catalogue_page.py"))["page"]
    assert "### jitter\n" in page()


def test_the_console_has_a_field_for_each_parameter(jitter, console):
    async def act(user):
        await user.open("/publish?table=patients")
        with user:
            seen(user, "publish-method")[0].set_value("mask")
            seen(user, "masking-method")[0].set_value(jitter)
            seen(user, "masking-reach")[0].set_value("3")
            seen(user, "masking-on")[0].set_value("age")
        assert seen(user, "publish-mask")[0].value == "jitter reach=3 on age"

    console.visit("steward", act)


def test_the_contract_suite_runs_on_it(jitter, monkeypatch):
    monkeypatch.setattr(contract, "MASKERS", contract.maskers())
    assert jitter in contract.MASKERS
    suite = [test for name, test in vars(contract).items() if name.startswith("test_")]
    alone = [test for test in suite if test.__code__.co_varnames[: test.__code__.co_argcount] == ("name",)]
    assert len(alone) > 3
    for test in alone:
        test(jitter)
    assert not contract.MASKERS[jitter].mask(people(), seed=1).rows.equals(people().payload())

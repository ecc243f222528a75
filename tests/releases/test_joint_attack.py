"""Rows whose facts are not figures are attacked jointly with the rows of earlier releases, before they leave."""

from __future__ import annotations

import shutil

import pytest
from tests.releases.registers import listed
from tests.releases.test_exposure_cases import ILL, opened

import discreet as dc
from discreet.releases import joint_attack
from discreet.releases.overview import populations_in, what_if
from discreet.releases.overview_report import advice, check_said

MASKED = "noise alpha=0.5 on weight"


@pytest.fixture
def table(tmp_path):
    rows = [
        {"id": n, "age": 30 + n % 10, "weight": 60 + n // 10, "ill": ILL[n % 4], "income": 500 + 10 * n}
        for n in range(100)
    ]
    return opened(tmp_path, rows)


def attacked(release) -> str:
    (said,) = [one for one in release.notices if "ttacked jointly" in one]
    return said


def test_two_maskings_that_leave_one_column_each_single_people_out(table, tmp_path):
    first = dc.publish(table, "noise alpha=0.5 on age", to=tmp_path / "first")
    assert first.notices == (), "there is nothing to attack it with"
    second = dc.publish(table, MASKED, to=tmp_path / "second")
    assert attacked(second).startswith("Attacked jointly with first: learned something. ")
    assert "singled out by all together but by no single one" in attacked(second)
    assert "Attacked" not in str(second.statement), "how well it works is for the data steward"
    assert listed(table.registers[0])[1].told["attack"] == attacked(second)
    [population] = populations_in(table.registers[0], table.policy)
    before, after = population.departures
    assert (before.attack, after.attack) == ("", attacked(second))
    assert check_said(after).startswith("not checked: noise changes or makes up rows")
    assert check_said(after).endswith(attacked(second))
    assert advice(population) == ""


def test_a_file_after_a_masked_one_is_attacked_with_that_one(table, tmp_path):
    dc.publish(table, MASKED, to=tmp_path / "masked")
    third = dc.publish(table, "k=5", to=tmp_path / "file")
    assert attacked(third).startswith("Attacked jointly with masked: ")
    fourth = dc.publish(table, "k=5", to=tmp_path / "again")
    assert attacked(fourth).startswith("Attacked jointly with masked: "), "with the file it was checked"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda table, to: dc.synthesize(table, "cart", to=to), "rows are synthetic"),
        (lambda table, to: dc.tabulate(table, "age", rules="min=3", to=to), "the release is not a table of rows"),
    ],
    ids=["synthetic", "table"],
)
def test_what_is_no_rows_of_people_is_not_attacked_and_says_so(table, tmp_path, make, why):
    dc.publish(table, MASKED, to=tmp_path / "masked")
    assert attacked(make(table, tmp_path / "next")).startswith(f"Not attacked jointly with others: {why}")


def test_nothing_to_attack_it_with_or_too_many_rows_says_so(table, tmp_path, monkeypatch):
    dc.tabulate(table, "age × ill", rules="min=3", to=tmp_path / "table")
    masked = dc.publish(table, MASKED, to=tmp_path / "masked")
    none = "Not attacked jointly with others: none of them has rows and is still in its folder."
    assert attacked(masked) == none
    shutil.rmtree(tmp_path / "masked")
    assert attacked(dc.publish(table, MASKED)) == none
    monkeypatch.setattr(joint_attack, "_MOST_ROWS", 99)
    assert attacked(dc.publish(table, MASKED)) == "Not attacked jointly with others: there are more than 99 rows."


def test_what_has_a_privacy_loss_needs_no_attack(table, tmp_path):
    dc.publish(table, MASKED, to=tmp_path / "masked")
    private = dc.synthesize(table, "epsilon=1 on age, ill")
    assert not [one for one in private.notices if "ttacked jointly" in one]


def test_a_draft_is_attacked_too_and_goes_no_further(table, tmp_path):
    dc.publish(table, "noise alpha=0.5 on age", to=tmp_path / "first")
    found = what_if(lambda: dc.publish(table, MASKED))
    assert found.passes
    assert found.attack.startswith("Attacked jointly with first: learned something.")
    assert "Not checked together with 1 earlier release" in found.message
    assert len(listed(table.registers[0])) == 1


def test_exactly_as_many_rows_as_may_be_are_attacked(table, tmp_path, monkeypatch):
    monkeypatch.setattr(joint_attack, "_MOST_ROWS", 100)
    dc.publish(table, "noise alpha=0.5 on age", to=tmp_path / "first")
    assert attacked(dc.publish(table, MASKED, to=tmp_path / "second")).startswith("Attacked jointly with first")

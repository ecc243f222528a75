"""SafePub through the one door: charged once, before any row is looked at, and kept."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.core.hierarchy.dates import Dates
from discreet.errors import BudgetExceeded


@pytest.fixture
def clinic(tmp_path):
    world = dc.samples.hospital(rows=2_000, seed=1)
    files = world.write(tmp_path / "data", tables=("patients",))
    tables = {"patients": (str(files["patients"]), str(tmp_path / "data" / "hospital.toml"))}
    with dc.Curator.create(tmp_path / "clinic", tables, dc.Approximate(2, "1e-4")) as curator:
        yield curator


def test_it_is_charged_and_kept(clinic):
    decades = Dates(levels=("decade",))
    method = dc.SafePub("1.5", "1e-4", {"sex": 0, "birth_date": 1}, hierarchies={"birth_date": decades})
    release = clinic.release(method, "patients")
    assert release.statement.loss == dc.Approximate("1.5", "1e-4")
    assert release.receipt.loss == dc.Approximate("1.5", "1e-4")
    assert release.recipe.method == "safepub"
    assert set(release.payload.column_names) == {"sex", "birth_date"}
    assert 0 < release.payload.num_rows < 2_000
    assert release.pictures
    again = clinic.release(method, "patients")  # the same again is free
    assert again.payload.equals(release.payload)
    with pytest.raises(BudgetExceeded):
        clinic.release(dc.SafePub(1, "1e-6", {"sex": 0}), "patients")
    assert clinic.left("patients").table == dc.Approximate("0.5", 0)


def test_other_levels_are_another_release(clinic):
    first = clinic.release(dc.SafePub("1/2", "1e-6", {"sex": 0}), "patients")
    second = clinic.release(dc.SafePub("1/2", "1e-6", {"sex": 0, "insurance": 0}), "patients")
    assert first.receipt.line != second.receipt.line

"""What a refusal offers: changes that were tried, each of which does pass when it is made."""

from __future__ import annotations

import pytest
from tests.releases.test_exposure_cases import ILL, opened, people, where

import discreet as dc
from discreet.errors import Exposed
from discreet.releases import remedies
from discreet.releases.exposure import Exposure, Finding
from discreet.releases.registration import _hint

ONE = ("A", 39, "hiv")
AGE = 'hierarchy = { type = "intervals", widths = [10, 20, 40] }'


def with_levels(folder, rows):
    """The table with levels of age."""
    opened(folder, rows)
    card = folder / "p.toml"
    card.write_text(card.read_text().replace("bounds = [0, 120]", f"bounds = [0, 120]\n{AGE}"))
    return dc.read(folder / "p.parquet", card=card)


def refusal(make, *arguments, **more) -> str:
    with pytest.raises(Exposed) as refused:
        make(*arguments, **more)
    return refused.value.hint


def test_the_rows_of_the_earlier_table_are_tried(tmp_path):
    table = opened(tmp_path, people(400))
    dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")
    said = refusal(dc.tabulate, table, "town × ill", rules="min=3")
    assert 'This would pass: the same for the rows of release 1 (where "age" < 79). Release it' in said
    dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")


def test_a_coarser_level_of_a_side_is_tried(tmp_path):
    some = [(town, age, ill) for town in "AB" for age in range(36, 42) for ill in ILL * 4 if (town, age) != ("A", 39)]
    rows = [{"id": n, "town": town, "age": age, "ill": ill} for n, (town, age, ill) in enumerate([*some, ONE])]
    table = with_levels(tmp_path, rows)
    dc.tabulate(where(table, "town = 'B'"), "age × ill", rules="min=3")
    said = refusal(dc.tabulate, table, "age × ill", rules="min=3")
    assert "the same table without age or the same table with age@1 instead of age or " in said
    dc.tabulate(table, "age@1 × ill", rules="min=3")


def test_of_a_file_the_levels_of_the_earlier_one_and_larger_classes_are_tried(tmp_path):
    ages, weights = (30, 30, 40, 40, 50, 50), (60, 90, 90, 100, 60, 100)
    disease = ("no", "no", "no", "yes", "no", "yes")
    rows = [
        {"id": n, "age": age, "weight": weight, "disease": ill}
        for n, (age, weight, ill) in enumerate(zip(ages, weights, disease, strict=True))
    ]
    table = opened(tmp_path, rows)
    first = dc.publish(table, dc.Generalize(levels={"age": 0, "weight": 1}), "k=2", to=tmp_path / "first")
    assert first.recipe.parameters["levels"] == {"age": 0, "weight": 1}
    said = refusal(dc.publish, table, dc.Generalize(levels={"age": (0, 1), "weight": 0}), "k=2")
    assert "the levels of release 1 (age=0, weight=1)" in said
    assert "the same with k=4" not in said, "at level 0 of weight there is no such class"
    dc.publish(table, dc.Generalize(levels={"age": 0, "weight": 1}), "k=2", to=tmp_path / "second")


def test_of_a_file_without_one_person_the_rows_of_the_earlier_one_are_tried(tmp_path):
    """One person left out of a file of classes of two: the class that they were in gives their illness away."""
    rows = [{"id": n, "age": 30 + n // 2, "weight": 60, "disease": ("no", "yes")[n % 2]} for n in range(12)]
    table = with_levels(tmp_path, rows)
    dc.publish(table, dc.Generalize(levels={"age": 0}), "k=2", to=tmp_path / "first")
    said = refusal(dc.publish, where(table, "id <> 3"), dc.Generalize(suppress="1/5"), "k=2")
    passing = "the levels of release 1 (age=0, weight=0) or the same for the rows of release 1 (all rows). Release it"
    assert f"This would pass: {passing}" in said, "larger classes were tried, and do not"


def test_what_was_not_checked_with_the_earlier_release_is_no_remedy(tmp_path, monkeypatch):
    table = opened(tmp_path, people(400))
    dc.tabulate(table, "town × ill", rules="min=3")
    monkeypatch.setattr("discreet.verbs.tabulate.tabulate._Tabulation.facts", _opaque_once_refused())
    assert "would pass" not in refusal(dc.tabulate, where(table, "age < 79"), "town × ill", rules="min=3")


def _opaque_once_refused():
    from discreet.releases.facts import Opaque
    from discreet.verbs.tabulate.tabulate import _Tabulation

    told, asked = _Tabulation.facts, []

    def facts(self, made, table):
        asked.append(1)
        return told(self, made, table) if len(asked) == 1 else Opaque("nobody knows")

    return facts


def test_no_time_no_trial(tmp_path, monkeypatch):
    table = opened(tmp_path, people(400))
    dc.tabulate(table, "town × ill", rules="min=3")
    monkeypatch.setattr(remedies, "_SECONDS", 0.0)
    assert "would pass" not in refusal(dc.tabulate, where(table, "age < 79"), "town × ill", rules="min=3")


def test_a_table_without_a_side_is_named_only_if_it_would_pass(tmp_path):
    """By age the pair of 40 is known by the table alone; without ages, only together with the table of all others."""
    ages = [20] * 17 + [30] * 16
    rows = [{"id": n, "age": age, "ill": ILL[n % 4]} for n, age in enumerate(ages)]
    rows += [{"id": 900 + n, "age": 40, "ill": "hiv"} for n in range(2)]
    table = opened(tmp_path, rows)
    dc.tabulate(where(table, "age <> 40"), "ill", rules="min=2")
    dc.tabulate(where(table, "age = 20 AND id <> 0"), "ill", rules="min=2")
    said = refusal(dc.tabulate, table, "age × ill", rules="min=2")
    refusal(dc.tabulate, table, "ill", rules="min=2")
    assert "without age" not in said


def test_what_would_pass_is_listed():
    found = Exposure((1,), (Finding(1, "ill", (1,)), Finding(2, "job", (1,))), 2)
    assert _hint(found, ("this", "that")).startswith("This would pass: this or that. ")
    assert _hint(Exposure((1,)), ()).startswith("Release it for the same rows")

"""The messy file: the same for the same seed, and as troubled as it says."""

from __future__ import annotations

import pytest

from discreet.core.cardfile import load_card
from discreet.errors import BadInput
from discreet.samples import messy


def test_the_file_is_the_same_for_the_same_seed_and_has_every_trouble(tmp_path):
    made = messy(300, seed=3)
    assert messy(300, seed=3).content == made.content != messy(300, seed=4).content
    text = made.content.decode("windows-1252")
    assert "\ufffd" not in text
    lines = text.split("\r\n")
    assert lines[0].startswith("Klinikum")
    assert lines[0].count("\n") == 2  # two lines of title and the header
    for trouble in ("ü", ";01", ".19", ";?;", ";NA;", ",", '""es geht', ";ja;", " Köln "):
        assert trouble in text, trouble
    with pytest.raises(UnicodeDecodeError):
        made.content.decode()
    assert load_card(_written(made, tmp_path)) == made.card


def _written(made, folder):
    assert made.write(folder).read_bytes() == made.content
    return folder / "truth.toml"


def test_the_truth_has_several_rows_a_person_and_values_that_do_not_fit():
    made = messy(2_000)
    numbers = made.truth.column("patient_no").to_pylist()
    assert len(numbers) / 4 < len(set(numbers)) < len(numbers)
    assert {made.truth.column(name).null_count > 0 for name in ("born", "cost")} == {True}
    assert made.content.count(b"31.02.1970") > 0
    with pytest.raises(BadInput):
        messy(0)

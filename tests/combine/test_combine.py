"""The verb: one party of a session between hosts, or all of them in this process."""

import inspect

import pytest
from tests.combine.parties import PAY, prepared, together

import discreet as dc
from discreet.core.holder_copy import read_holder_copy
from discreet.errors import BadInput
from discreet.verbs.combine.combine import Simulation


def test_all_parties_data_are_simulated_and_the_statement_promises_nothing():
    release = dc.combine(PAY, bounds=(0, 100_000))
    assert release.payload == 100_500
    assert not release.private
    assert release.statement.secrecy is None
    assert "one process held every party's data and saw every message" in release.promise
    assert "made up" not in release.promise
    assert release.recipe.parameters["included"] == list(PAY)


def test_the_holders_copy_has_what_every_party_saw(tmp_path):
    release = dc.combine(PAY, protocol="ring", bounds=(0, 100_000))
    simulation = release.holder.details
    assert isinstance(simulation, Simulation)
    rows = release.holder.rows.to_pylist()
    assert [(row["number"], row["contents"]) for row in rows] == [(one.number, one.what) for one in simulation.messages]
    seen = [row for row in rows if "south" in (row["sender"], *row["receivers"].split(", "))]
    assert [row["number"] for row in seen] == [one.number for one in simulation.view("south")]
    release.save(tmp_path / "release")
    assert not any(rows[0]["contents"].encode() in file.read_bytes() for file in (tmp_path / "release").iterdir())
    release.holder.save(tmp_path / "transcript.parquet")
    assert read_holder_copy(tmp_path / "transcript.parquet").rows == release.holder.rows


def test_noise_dropouts_and_made_up_bounds_are_said_and_no_loss_is_claimed():
    release = dc.combine(PAY, threshold=2, epsilon=1, drops={"south": "masked"}, seed=1)
    assert release.statement.loss is None
    assert release.recipe.seed == 1
    for words in ("no ledger was charged", "south dropped out", "were made up", "off by up to about"):
        assert words in release.promise
    assert release.recipe.parameters["included"] == ["north", "east"]


def test_with_a_manifest_one_party_takes_part_and_its_copy_has_its_own_view(tmp_path):
    file = prepared(tmp_path)
    found = together(file, verb=dc.combine)
    for name, release in found.items():
        assert release.payload == 100_500
        assert release.statement.secrecy.parties == tuple(PAY)
        rows = release.holder.rows.to_pylist()
        assert rows
        assert all(name in (row["sender"], *row["receivers"].split(", ")) for row in rows)
        assert f"What {name} saw of pay" in release.holder.page()
    again = dc.combine(file, PAY["north"], name="north")
    assert (again.payload, again.holder.rows) == (found["north"].payload, found["north"].holder.rows)


def test_options_of_the_other_kind_are_refused(tmp_path):
    with pytest.raises(BadInput, match="epsilon: the manifest says what is computed"):
        dc.combine(prepared(tmp_path), 1, name="north", epsilon=1)
    with pytest.raises(BadInput, match="data, name: for one party"):
        dc.combine(PAY, 1, name="north")
    with pytest.raises(BadInput, match="whose each value is"):
        dc.combine([1, 2])


def test_the_signature_is_real():
    assert list(inspect.signature(dc.combine).parameters)[:4] == ["source", "data", "protocol", "function"]

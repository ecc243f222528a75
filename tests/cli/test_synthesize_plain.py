"""`discreet synthesize --method cart`: no promise, attacked before it leaves, and loud about it."""

import json

import pyarrow.csv
import pytest
from tests.called import called
from tests.publish.mask.people import CARD, rows

import discreet as dc


@pytest.fixture
def people(tmp_path):
    pyarrow.csv.write_csv(rows(), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(dc.dump_cards([CARD]))
    return "people.csv", "--card", "people.toml"


def test_a_synthetic_file_says_that_it_promises_nothing(command, people, tmp_path):
    said = command("synthesize", *people, "--method", "cart", "-o", "twin/")
    assert "makes no privacy promise" in said
    assert "Synthetic does not mean safe" in " ".join(said.split())
    assert "Attacked before release." in said
    assert (tmp_path / "twin.holder.parquet").stat().st_mode & 0o777 == 0o600
    release = dc.Release.load(tmp_path / "twin")
    assert release.recipe.method == "synthesize cart"
    assert release.payload.num_rows == 400
    assert "people.register.db" in {path.name for path in tmp_path.iterdir()}


def test_what_is_alarming_is_said_where_errors_are(people, tmp_path):
    words = ("synthesize", *people, "--method", "resample on weight copies=2", "-o", "twin", "--json")
    found = called(words, tmp_path)
    assert found.code == 0, found.stderr
    said = json.loads(found.stdout)
    assert said["alarms"]
    assert "WARNING: " in found.stderr
    assert said["alarms"][0] in dc.read_holder_copy(tmp_path / "twin.holder.parquet").page()
    assert "victims" not in found.stdout
    assert said["recipe"]["parameters"]["copies"] == 2

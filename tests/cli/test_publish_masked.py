"""`discreet publish --method "noise alpha=0.1"`, as a person meets it."""

import json

import pyarrow.csv
import pytest
from tests.publish.mask.people import CARD, rows

import discreet as dc


@pytest.fixture
def people(tmp_path):
    pyarrow.csv.write_csv(rows(), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(dc.dump_cards([CARD]))
    return "people.csv", "--card", "people.toml"


def test_a_file_is_masked_and_the_links_lie_beside(command, people, tmp_path):
    said = command("publish", *people, "--method", "rank-swap p=5 on age, height", "-o", "r1/")
    assert "makes no privacy promise" in said
    assert "never release it" in " ".join(said.split())
    kept = dc.read_holder_copy(tmp_path / "r1.holder.parquet")
    assert sorted(kept.links) == list(range(400))
    assert "Original and released values" in kept.page()
    assert (tmp_path / "r1.holder.parquet").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {
        *("people.csv", "people.toml", "r1", "r1.holder.parquet"),
        *(f"people.register.db{file}" for file in ("", "-head", "-lock")),
    }
    release = dc.Release.load(tmp_path / "r1")
    assert release.recipe.method == "rank-swap"
    assert release.recipe.parameters["p"] == 5
    assert release.recipe.seed is None
    assert "rank-swap" in command("show", "r1")
    again = command("publish", *people, "--method", "rank-swap p=5", "-o", "r1", code=1)
    assert "already" in again or "exists" in again


def test_a_machine_reads_json(command, people):
    said = json.loads(command("publish", *people, "--method", "noise alpha=0.1", "-o", "r2", "--json"))
    assert said["recipe"]["parameters"]["k"] == pytest.approx(0.01)


def test_what_cannot_be_understood_is_said_so(command, people):
    assert "Choose from" in command("publish", *people, "--method", "blur", "-m", "k=2", "-o", "r", code=1)
    assert "needs alpha" in command("publish", *people, "--method", "noise", "-o", "r", code=1)
    refused = command("publish", *people, "--method", "noise alpha=1", "--suppress", "5%", "-o", "r", code=1)
    assert "does not apply" in refused

"""`discreet learn`: a model that many sets of people give, and what is kept of it."""

import json

import pyarrow.parquet as pq
import pytest
from tests.learn.planted import CARD, PLANTED, credit, rows

import discreet as dc

TREE = "tree target=default integral=20 tries=60"


@pytest.fixture
def people(tmp_path):
    pq.write_table(rows(), tmp_path / "credit.parquet")
    (tmp_path / "credit.toml").write_text(dc.dump_cards([CARD]))
    return "credit.parquet", "--card", "credit.toml"


def test_a_model_is_published_and_its_evidence_stays(command, people, tmp_path):
    said = " ".join(command("learn", *people, "--method", TREE, "-o", "model").split())
    assert "income < 20.0?" in said
    assert "at least 20 different sets of people" in said
    assert "differentially private, ε = 1" in said
    assert {path.name for path in tmp_path.iterdir()} == {
        "credit.parquet",
        "credit.register.db",
        "credit.register.db-head",
        "credit.register.db-lock",
        "credit.toml",
        "model",
        "model.holder.parquet",
    }
    assert (tmp_path / "model.holder.parquet").stat().st_mode & 0o777 == 0o600
    assert dc.verify_integral(tmp_path / "model.holder.parquet", credit()).holds
    assert dc.Release.load(tmp_path / "model").payload == PLANTED


def test_machines_are_told_what_leaves(command, people):
    said = json.loads(command("learn", *people, "--method", f"{TREE} choose=first", "-o", "model", "--json"))
    assert said["model"] == PLANTED
    assert said["recipe"]["method"] == "learn tree"


def test_what_does_not_recur_is_refused_and_leaves_only_what_more_tries_go_on_from(command, people, tmp_path):
    method = "statistics of=mean step=0.000001 integral=20 tries=20"
    said = command("learn", *people, "--method", method, "-o", "model", code=3)
    assert "Nothing was released" in said
    assert "coarser" in said
    assert "is confidential" in said
    left = {path.name for path in tmp_path.iterdir()} - {"credit.parquet", "credit.toml"}
    assert left == {"model.journal.jsonl"}
    assert (tmp_path / left.pop()).stat().st_mode & 0o077 == 0


def test_what_means_nothing_to_a_model(command, people):
    assert "No such option" in command("learn", *people, "--method", TREE, "-o", "x", "-m", "k=5", code=2)
    assert "No such option" in command("learn", *people, "--method", TREE, "-o", "x", "--csv", code=2)
    assert "--output" in command("learn", *people, "--method", TREE, code=1)
    assert "--card" in command("learn", "credit.parquet", "--method", TREE, "-o", "x", code=1)


PRIVATE = "additive target=default epsilon=2 delta=1e-6"


def test_a_model_with_a_privacy_loss_says_what_it_promises_and_that_no_ledger_has_it(command, people, tmp_path):
    said = " ".join(command("learn", *people, "--method", PRIVATE, "-o", "model").split())
    assert "log odds of default = yes" in said
    assert "ε = 2, δ = 1e-6" in said
    assert "no ledger" in said
    assert not (tmp_path / "model.holder.parquet").exists()
    assert dc.load_model(tmp_path / "model").classes == ("no", "yes")
    told = json.loads(command("learn", *people, "--method", PRIVATE, "-o", "again", "--json"))
    assert told["learner"] == "additive"
    assert "noise" in command("learn", *people, "--method", PRIVATE, "-o", "x", "--seed", "1", code=1)


def test_a_workspace_is_charged_and_the_same_again_is_free(command, people, tmp_path):
    data, _, card = people
    command("workspace", "init", "bank", "--table", f"credit={data}", "--card", card, "--budget", "epsilon=3")
    method = "naive-bayes target=default epsilon=2"
    said = command("learn", "bank", "--method", method, "-o", "model")
    assert "charged to credit" in " ".join(said.split())
    command("learn", "bank", "--method", method, "-o", "again")
    assert dc.load_model(tmp_path / "again") == dc.load_model(tmp_path / "model")
    assert "budget" in command("learn", "bank", "--method", "ridge target=income epsilon=2", "-o", "more", code=3)
    assert "privacy loss" in command("learn", "bank", "--method", TREE, "-o", "more", code=1)

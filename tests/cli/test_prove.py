"""`discreet prove`, as a person meets it."""

import json

import pytest
from tests.called import called
from tests.prove.corpus import text


@pytest.fixture
def folder(tmp_path):
    for name in ("above_threshold", "mean", "composed"):
        (tmp_path / f"{name}.dp").write_text(text(name))
    return tmp_path


def test_a_proof_is_printed_saved_checked_and_drawn(command, folder):
    said = command("prove", "above_threshold.dp", "--save", "--html", "proof.html")
    assert said.startswith("PROVED  above_threshold is (eps)-differentially private")
    assert "discreet prove above_threshold.dp --check above_threshold.proof.json" in said
    assert "first run" in (folder / "proof.html").read_text()
    assert command("prove", "above_threshold.dp", "--check", "above_threshold.proof.json").startswith("PROVED")
    (folder / "above_threshold.dp").write_text(text("above_threshold").replace("4/eps", "2/eps"))
    assert "another program" in command("prove", "above_threshold.dp", "--check", "above_threshold.proof.json", code=1)


def test_a_refuted_program_ends_with_1(folder):
    found = called(["prove", "mean.dp", "--save"], folder)
    assert found.code == 1
    assert found.stdout.startswith("REFUTED mean is not private for any eps")
    assert not (folder / "mean.proof.json").exists()


def test_what_is_unknown_ends_with_4(folder):
    hard = text("noisy_max")
    (folder / "hard.dp").write_text(hard)
    found = called(["prove", "hard.dp", "--seconds", "0.001"], folder)
    assert found.code == 4
    assert found.stdout.startswith("UNKNOWN noisy_max was neither proved nor refuted")


def test_verdicts_are_json_for_machines(command, folder):
    assert json.loads(command("prove", "composed.dp", "--json"))["verdict"] == "PROVED"
    found = json.loads(called(["prove", "mean.dp", "--json"], folder).stdout)
    assert found["counterexample"]["inputs"] == {"d": "[0]"}


def test_one_of_several_programs_can_be_named_and_its_epsilon_inferred(command, folder):
    assert "noisy is proved for eps" in command("prove", "composed.dp", "--program", "noisy", "--infer")
    assert json.loads(command("prove", "composed.dp", "--program", "noisy", "--infer", "--json"))["epsilon"] == "eps"
    assert called(["prove", "mean.dp", "--infer", "--seconds", "1"], folder).code == 4


def test_what_is_wrong_is_said_with_its_line(command, folder):
    (folder / "wrong.dp").write_text("adjacent one by 1\nclaim eps\nf(x : private real)\n  emit y\n")
    said = command("prove", "wrong.dp", code=1)
    assert "Line 4, column 8: y has no value here." in said
    assert "\n    emit y\n         ^" in said
    assert "no file" in command("prove", "nothing.dp", code=1)
    assert "leave them out" in command("prove", "mean.dp", "--check", "x.json", "--infer", code=1)

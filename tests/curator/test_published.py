"""What is out already of the same people is known to whoever publishes next."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.cli.publish import publish
from discreet.errors import BadInput, Damaged, NotFound
from discreet.releases.register import Published, Register, earlier, now, placed, told_of


@pytest.fixture
def six(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = dc.samples.age6()
    pq.write_table(table.fetch(), "six.parquet")
    Path("six.toml").write_text(dc.dump_cards([table.card]))
    return {"source": "six.parquet", "card": "six.toml", "model": ["k=2"], "level": ["age=0", "weight=1"]}


def warned(capsys):
    return " ".join(capsys.readouterr().err.split())


def test_a_second_release_is_noticed_wherever_it_goes(six, capsys):
    for place in ("here", "there"):
        Path(place).mkdir()
    publish(**six, output=Path("here/first"))
    assert "Earlier" not in warned(capsys)
    publish(**six, output=Path("there/second"))
    said = warned(capsys).replace(" ", "")
    assert "here/first(publishedon" in said
    assert "of6rows" in said
    assert "--givenhere/first" in said
    publish(**six, given=["here/first", "there/second"], output=Path("third"))
    assert "Earlier" not in warned(capsys)
    listed = Register.beside("six.toml").read()
    assert [Path(one.release).name for one in listed] == ["first", "second", "third"]
    assert {one.table for one in listed} == {"age6"}


def test_a_release_that_is_gone_may_still_be_out(six, capsys):
    Register.beside("six.toml").add(now("age6", "elsewhere.csv", Path("lost"), "publish", 6))
    publish(**six, output=Path("first"))
    said = warned(capsys)
    assert "no longer there" in said
    assert "find it, or ask who has it" in said
    assert "--given" not in said


def test_masked_ones_are_to_be_attacked(six, capsys):
    masking = {"source": "six.parquet", "card": "six.toml", "method": "noise alpha=1", "seed": 3}
    publish(**masking, output=Path("first"))
    assert "anybody who knows it can take the masking away" in warned(capsys)
    assert dc.Release.load("first").recipe.seed == 3
    publish(**six, output=Path("second"))
    said = warned(capsys)
    assert "attack them together" in said
    assert "--given" not in said


def test_synthetic_and_learnt_ones_are_called_so(six, capsys):
    for method, how in (("synthesize", "synthetic"), ("synthesize cart", "synthetic"), ("learn tree", "learnt")):
        assert str(Published("t", "", "gone", method, 9)) == f"gone ({how}, of 9 rows, no longer there)"
    Register.beside("six.toml").add(now("age6", "six.parquet", Path("twin"), "synthesize", 6))
    publish(**six, output=Path("first"))
    said = warned(capsys)
    assert "Synthetic releases cannot be checked together" in said
    assert "--given" not in said


def test_of_many_the_last_are_named():
    said = told_of([Published("t", "", f"r{n}", "publish", 9) for n in range(5)])
    assert [name in said for name in ("r0 ", "r1 ", "r2 ", "r3 ", "r4 ")] == [False, False, True, True, True]
    assert "and 2 before these" in said


def test_a_workspace_remembers_too(six, capsys):
    dc.Curator.create("clinic", {"age6": ("six.parquet", "six.toml")}, dc.Approximate(1, "1e-6")).close()
    publish(**six, workspace=Path("clinic"), output=Path("first"))
    Path("six.published.jsonl").unlink()
    Path("far").mkdir()
    capsys.readouterr()
    publish(**six, workspace=Path("clinic"), output=Path("far/second"))
    assert "--given first" in warned(capsys)
    with pytest.raises(NotFound, match="no table other in clinic; it has age6"):
        Register.within("clinic", "other")
    with pytest.raises(NotFound, match="no workspace"):
        Register.within("nowhere", "age6")


def test_the_same_source_by_another_name_is_of_the_same_people(tmp_path):
    register = Register(tmp_path / "list.jsonl")
    made = now("visits", str(tmp_path / "v.csv"), tmp_path / "r", "publish", 5)
    register.add(made)
    assert register.read() == [made]
    assert earlier("renamed", str(tmp_path / "v.csv"), [register], tmp_path) == [made]
    assert earlier("visits", "w.csv", [register], tmp_path) == [made]
    assert earlier("renamed", "w.csv", [register], tmp_path) == []


def test_list_and_releases_move_together(tmp_path):
    for folder in ("old", "old/sub"):
        (tmp_path / folder).mkdir()
    Register(tmp_path / "old" / "list.jsonl").add(now("t", "t.csv", tmp_path / "old" / "sub" / "r", "publish", 5))
    (tmp_path / "old").rename(tmp_path / "new")
    (found,) = Register(tmp_path / "new" / "list.jsonl").read()
    assert found.release == str(tmp_path / "new" / "sub" / "r")


def test_no_password_is_written_down():
    assert "secret" not in placed("postgresql://ann:secret@localhost/clinic#visits")


@pytest.mark.parametrize("line", ["no JSON", "{}", json.dumps({"table": "t"}), "[]"])
def test_a_list_that_cannot_be_read_stops_the_release(six, line):
    Path("six.published.jsonl").write_text(line + "\n")
    with pytest.raises(Damaged, match=r"Line 1 of six\.published\.jsonl"):
        publish(**six, output=Path("first"))
    assert not Path("first").exists()


def test_what_is_no_release_is_no_bother(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "recipe.json").write_text("{}")
    assert earlier("t", "t.csv", [], tmp_path) == []
    assert str(Published("t", "", str(tmp_path), "noise", 1_000)) == f"{tmp_path} (masked, of 1,000 rows)"


def test_a_seed_is_for_masking(six):
    with pytest.raises(BadInput, match="nothing here is random"):
        publish(**six, seed=1, output=Path("first"))

"""Earlier releases of the same people are known to whoever makes the next, on the command line and in Python."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.cli.publish import publish
from discreet.engines.read import written_source
from discreet.errors import BadInput, Damaged, NotFound
from discreet.releases.register import Entry, Register, earlier_releases, notice


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
    assert "--earlierhere/first" in said
    publish(**six, earlier=["here/first", "there/second"], output=Path("third"))
    assert "Earlier" not in warned(capsys)
    listed = Register(Path("six.published.jsonl")).read()
    assert [Path(one.release).name for one in listed] == ["first", "second", "third"]
    assert {one.table for one in listed} == {"age6"}


def test_a_release_that_is_gone_may_still_be_out(six, capsys):
    Register(Path("six.published.jsonl")).add(Entry("age6", "elsewhere.csv", "lost", "publish", 6))
    publish(**six, output=Path("first"))
    said = warned(capsys)
    assert "no longer there" in said
    assert "find it, or ask who has it" in said
    assert "--earlier" not in said


def test_masked_ones_are_to_be_attacked(six, capsys):
    masking = {"source": "six.parquet", "card": "six.toml", "method": "noise alpha=1", "seed": 3}
    publish(**masking, output=Path("first"))
    assert "never for a release that is to protect anybody" in warned(capsys)
    assert dc.Release.load("first").recipe.seed == 3
    publish(**six, output=Path("second"))
    said = warned(capsys)
    assert "attack them together" in said
    assert "--earlier" not in said


def test_synthetic_and_learnt_ones_are_called_so(six, capsys):
    for method, how in (("synthesize", "synthetic"), ("synthesize cart", "synthetic"), ("learn tree", "learnt")):
        assert str(Entry("t", "", "gone", method, 9)) == f"gone ({how}, of 9 rows, no longer there)"
    Register(Path("six.published.jsonl")).add(Entry("age6", "six.parquet", "twin", "synthesize", 6))
    publish(**six, output=Path("first"))
    said = warned(capsys)
    assert "Synthetic releases cannot be checked together" in said
    assert "--earlier" not in said


def test_of_many_the_last_are_named():
    said = notice([Entry("t", "", f"r{n}", "publish", 9) for n in range(5)])
    assert [name in said for name in ("r0 ", "r1 ", "r2 ", "r3 ", "r4 ")] == [False, False, True, True, True]
    assert "and 2 before these" in said


def test_a_workspace_remembers_too(six, capsys):
    dc.Curator.create("clinic", {"age6": ("six.parquet", "six.toml")}, dc.Approximate(1, "1e-6")).close()
    publish(**six, workspace=Path("clinic"), output=Path("first"))
    Path("six.published.jsonl").unlink()
    Path("far").mkdir()
    capsys.readouterr()
    publish(**six, workspace=Path("clinic"), output=Path("far/second"))
    assert "--earlier first" in warned(capsys)
    Path("other.toml").write_text(Path("six.toml").read_text().replace("age6", "other"))
    with pytest.raises(NotFound, match="no table other in clinic; it has age6"):
        publish(**(six | {"card": "other.toml"}), workspace=Path("clinic"), output=Path("third"))
    with pytest.raises(NotFound, match="no workspace"):
        publish(**six, workspace=Path("nowhere"), output=Path("third"))


def test_the_same_source_by_another_name_is_of_the_same_people(tmp_path):
    register = Register(tmp_path / "list.jsonl")
    made = Entry("visits", str(tmp_path / "v.csv"), str(tmp_path / "r"), "publish", 5)
    register.add(made)
    assert register.read() == [made]

    def found(name, source):
        table = dc.samples.age6()
        card = replace(table.card, name=name)
        return earlier_releases(replace(table, card=card, source=source, registers=(register.file,)), tmp_path)

    assert found("renamed", str(tmp_path / "v.csv")) == [made]
    assert found("visits", "w.csv") == [made]
    assert found("renamed", "w.csv") == []
    assert found("renamed", "") == []


def test_list_and_releases_move_together(tmp_path):
    for folder in ("old", "old/sub"):
        (tmp_path / folder).mkdir()
    Register(tmp_path / "old" / "list.jsonl").add(
        Entry("t", "t.csv", str(tmp_path / "old" / "sub" / "r"), "publish", 5)
    )
    (tmp_path / "old").rename(tmp_path / "new")
    (found,) = Register(tmp_path / "new" / "list.jsonl").read()
    assert found.release == str(tmp_path / "new" / "sub" / "r")


def test_no_password_is_written_down():
    assert "secret" not in written_source("postgresql://ann:secret@localhost/clinic#visits")


@pytest.mark.parametrize("line", ["no JSON", "{}", json.dumps({"table": "t"}), "[]"])
def test_a_list_that_cannot_be_read_stops_the_release(six, line):
    Path("six.published.jsonl").write_text(line + "\n")
    with pytest.raises(Damaged, match=r"Line 1 of .*six\.published\.jsonl"):
        publish(**six, output=Path("first"))
    assert not Path("first").exists()


def test_what_is_no_release_is_no_bother(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "recipe.json").write_text("{}")
    assert earlier_releases(dc.samples.age6(), tmp_path) == []
    assert str(Entry("t", "", str(tmp_path), "noise", 1_000)) == f"{tmp_path} (masked, of 1,000 rows)"


def test_a_seed_is_for_masking(six):
    with pytest.raises(BadInput, match="nothing here is random"):
        publish(**six, seed=1, output=Path("first"))


def test_python_says_the_same_as_the_command(six, capsys):
    table = dc.read("six.parquet", "six.toml")
    first = dc.publish(table, "k=2", to="here")
    assert first.notices == ()
    second = dc.publish(table, "noise alpha=1")
    (said,) = second.notices
    assert "here (published on" in said
    assert said in str(second)
    publish(**six, output=Path("third"))
    assert said.partition(" Whoever")[0].rstrip(".") in warned(capsys)
    listed = Register(Path("six.published.jsonl")).read()
    assert [(one.release and Path(one.release).name, one.kind) for one in listed] == [
        ("here", "published"),
        ("", "masked"),
        ("third", "published"),
    ]
    assert {(one.table, one.source, one.rows) for one in listed} == {("age6", str(Path("six.parquet").absolute()), 6)}
    (fourth,) = dc.publish(table, "k=2").notices
    assert "in memory (masked on" in fourth


def test_rows_without_a_card_file_are_registered_nowhere_and_noticed_beside_the_new_release(tmp_path):
    table = dc.samples.age6()
    dc.publish(table, "k=2", to=tmp_path / "first")
    (said,) = dc.publish(table, "k=2", to=tmp_path / "second").notices
    assert f"{tmp_path / 'first'} (published, of 6 rows)" in said
    assert {path.name for path in tmp_path.iterdir()} == {"first", "second"}
    assert dc.publish(table, "k=2").notices == ()


def test_what_a_stopped_process_left_is_no_earlier_release(tmp_path):
    table = dc.samples.age6()
    dc.publish(table, "k=2", to=tmp_path / ".discreet-1-2-3")
    assert earlier_releases(table, tmp_path) == []


def test_what_is_only_compared_is_not_registered(six):
    table = dc.read("six.parquet", "six.toml")
    assert not dc.compare(table, ["noise alpha=1"], processes=1).failed
    assert not Path("six.published.jsonl").exists()


def test_three_earlier_releases_are_all_named_and_of_four_the_first_is_counted():
    def said(many):
        return notice(Entry("t", "", f"r{n}", "publish", 9) for n in range(many))

    assert said(0) == ""
    assert said(1).startswith(
        "Earlier releases of the same people are out: r0 (published, of 9 rows, no longer there). "
    )
    assert "before these" not in said(3)
    assert said(3).count("published") == 3
    assert "; and 1 before these." in said(4)
    assert "r0 " not in said(4)


def test_an_entry_says_where_and_when(tmp_path):
    assert (
        str(Entry("t", "", str(tmp_path), "hide x", 2, "2026-01-01")) == f"{tmp_path} (hidden on 2026-01-01, of 2 rows)"
    )
    assert str(Entry("t", "", "", "tabulate", 2)) == "in memory (printed, of 2 rows)"
    assert Entry("t", "", "", "publish", 2).kind == "published"
    assert [Entry("t", "", "", method, 1).kind for method in ("", "swap")] == ["masked", "masked"]


def test_the_register_of_a_private_folder_is_private(tmp_path):
    for mode, shared in ((0o700, 0), (0o755, 0o044)):
        folder = tmp_path / oct(mode)
        folder.mkdir(mode=mode)
        register = Register(folder / "list.jsonl")
        assert register.read() == []
        register.add(Entry("t", "", "", "publish", 1))
        assert register.file.stat().st_mode & 0o044 == shared
        assert register.read() == [Entry("t", "", "", "publish", 1)]


def test_the_line_that_cannot_be_read_is_named(tmp_path):
    register = Register(tmp_path / "list.jsonl")
    register.add(Entry("t", "", "", "publish", 1))
    with register.file.open("a") as file:
        file.write("[]\n")
    with pytest.raises(Damaged, match=r"Line 2 of .*list\.jsonl"):
        register.read()


def test_releases_in_memory_are_each_one_of_their_own(tmp_path):
    file = tmp_path / "list.jsonl"
    table = replace(dc.samples.age6(), registers=(file,))
    for method in ("publish", "noise"):
        Register(file).add(Entry("age6", "", "", method, 6))
    assert [one.method for one in earlier_releases(table)] == ["publish", "noise"]


def test_a_release_that_is_listed_and_lies_there_is_one(tmp_path):
    table = replace(dc.samples.age6(), registers=(tmp_path / "list.jsonl",))
    dc.publish(table, "k=2", to=tmp_path / "r")
    (found,) = earlier_releases(table, tmp_path)
    assert (found.release, found.rows, bool(found.at)) == (str(tmp_path / "r"), 6, True)
    assert earlier_releases(replace(table, registers=()), tmp_path)[0].at == ""
    renamed = replace(table, registers=(), card=replace(table.card, name="other"))
    assert earlier_releases(renamed, tmp_path) == []
    recipe = tmp_path / "r" / "recipe.json"
    said = json.loads(recipe.read_text())
    del said["parameters"]["rows"]
    recipe.write_text(json.dumps(said))
    assert earlier_releases(replace(table, registers=()), tmp_path)[0].rows == 0, "nobody wrote it down"

"""The register: what is in it stays in it, whoever meddles with it; and earlier releases are known to the next."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest
from tests.releases.registers import listed

import discreet as dc
from discreet.budget.store import Home
from discreet.cli.publish import publish
from discreet.engines.read import written_source
from discreet.errors import BadInput, LedgerError, NotFound, Taken, Unsound
from discreet.releases.register import Entry, Register, earlier_releases, notice

WORKER = """
import sys
from discreet.errors import Taken
from discreet.releases.register import Entry, Register

place, who, count = sys.argv[1:]
refused = 0
with Register(place) as register:
    for number in range(int(count)):
        while True:
            seen = max((one.number for one in register.entries("people")), default=0)
            try:
                register.add(Entry(0, "people", who, "", "", "publish", number), after=seen)
                break
            except Taken:
                refused += 1
print(refused)
"""


def made(release="", method="publish", *, table="t", population="people", **more):
    return Entry(0, population, table, "", release, method, 9, **more)


@dataclass(frozen=True)
class Place:
    """Where a register can be, and a way to do there what somebody with full access could."""

    home: Home

    @property
    def text(self) -> str:
        return str(self.home)

    def open(self) -> Register:
        return Register(self.text)

    def fill(self, lines: int = 3) -> None:
        with self.open() as register:
            for number in range(1, lines + 1):
                entry = made(f"/r{number}", at="2026-01-02T03:04:05+00:00")  # so that all digests are known
                register.add(entry, b"facts %d" % number, b"people %d" % number)

    @contextmanager
    def tampering(self) -> Iterator[Callable[..., object]]:
        if self.home.address:
            with psycopg.connect(self.home.address, autocommit=True) as server:
                server.execute(f"SET search_path = {self.home.schema}")
                server.execute("DROP TRIGGER IF EXISTS append_only ON lines")
                yield server.execute
        else:
            with closing(sqlite3.connect(self.home.path, isolation_level=None)) as file:
                file.execute("DROP TRIGGER IF EXISTS no_update")
                file.execute("DROP TRIGGER IF EXISTS no_delete")
                yield file.execute


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    path = tmp_path / "register.db"
    if request.param == "sqlite":
        return Place(Home(path))
    address = request.getfixturevalue("postgres_address")
    with psycopg.connect(address, autocommit=True) as server:
        server.execute("SET client_min_messages = error; DROP SCHEMA IF EXISTS discreet_register_test CASCADE")
    return Place(Home(path, address, "discreet_register_test"))


def test_nothing_is_made_by_reading(place, tmp_path):
    assert Home.parse(place.text) == place.home
    with place.open() as register:
        assert register.entries() == []
        assert register.people("people") is None
        register.verify()
        with pytest.raises(NotFound, match="no entry 1"):
            register.facts(1)
    assert list(tmp_path.iterdir()) == []


def test_what_was_added_is_found_again(place, tmp_path):
    first = made(str(tmp_path / "r"), title="A title", facts="loss", told={"epsilon": "1/2"}, note="Because.")
    with place.open() as register:
        added = register.add(first, b"what it tells")
        assert (added.number, added) == (1, replace(first, number=1, at=added.at))
        assert len(added.at) == len("2026-01-01T00:00:00+00:00")
        register.add(made(population="others", at="2026-01-02T03:04:05+00:00"))
    with place.open() as register:
        assert register.entries("people") == [added]
        assert [(one.number, one.population) for one in register.entries()] == [(1, "people"), (2, "others")]
        assert register.entries("others")[0].at == "2026-01-02T03:04:05+00:00"
        assert (register.facts(1), register.facts(2)) == (b"what it tells", None)
        with pytest.raises(NotFound, match="no entry 3"):
            register.facts(3)
        register.verify()


def test_of_a_population_the_newest_people_are_kept(place):
    place.fill(5)
    with place.open() as register:
        register.add(made(population="others"), people=b"others")
        register.add(made("/r7"))
        assert register.people("people") == (5, b"people 5")
        assert register.people("others") == (6, b"others")
        assert register.people("nobody") is None
        assert [register.facts(number) for number in (1, 5, 7)] == [b"facts 1", b"facts 5", None]
        register.verify()
    with place.tampering() as run:
        found = run("SELECT number FROM attachments WHERE kind = 'people' ORDER BY number").fetchall()
    assert found == [(4,), (5,), (6,)]


def test_what_was_checked_against_less_than_is_there_is_refused(place):
    with place.open() as one, place.open() as other:
        one.add(made("/r1"), after=0)
        with pytest.raises(Taken, match=r"Another release of people .* as entry 1"):
            other.add(made("/r2"), after=0)
        with pytest.raises(Taken, match="as entry 1"):
            other.add(made("/r2", population="others"), after=0)  # another name for a population, and the same table
        other.add(made("/r2", table="others", population="others"), after=0)
        other.add(made("/r2"), after=1)
        one.add(made("/r3"))
        assert [one.release for one in other.entries()] == ["/r1", "/r2", "/r2", "/r3"]


def test_two_processes_add_without_losing_a_line_or_missing_one(place):
    command = [sys.executable, "-c", WORKER, place.text]
    running = [subprocess.Popen([*command, who, "15"], stdout=subprocess.PIPE, text=True) for who in ("ann", "bob")]
    assert [one.communicate(timeout=120)[0].strip().isdecimal() for one in running] == [True, True]
    with place.open() as register:
        found = register.entries()
        register.verify()
    assert [one.number for one in found] == list(range(1, 31))
    for who in ("ann", "bob"):
        assert [one.rows for one in found if one.table == who] == list(range(15))


def refuses(place, match):
    """Whether the register is refused by whoever reads it and whoever adds to it, and left as it is."""
    for work in (Register.entries, Register.verify, lambda register: register.add(made())):
        with place.open() as register, pytest.raises(Unsound, match=match) as error:
            work(register)
        assert "Nothing can be released until it is repaired" in error.value.hint


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("UPDATE lines SET content = replace(content, 'r2', 'rx') WHERE number = 2", "edited or damaged, at entry 2"),
        ("UPDATE lines SET digest = 'x' || substr(digest, 2) WHERE number = 2", "edited or damaged, at entry 2"),
        ("UPDATE lines SET number = 9 WHERE number = 3", "edited or damaged, at entry 3"),
        ("DELETE FROM lines WHERE number = 1", "edited or damaged, at entry 1"),
        ("DELETE FROM lines WHERE number = 3", "an older copy, or was truncated: entry 3 .* ends at entry 2"),
        ("DELETE FROM lines", "an older copy, or was truncated: entry 3 .* ends at entry 0"),
    ],
)
def test_lines_that_were_changed_or_cut_off_are_noticed(place, change, says):
    place.fill()
    with place.tampering() as run:
        run(change)
    refuses(place, says)


def test_a_line_that_goes_while_it_is_open_is_noticed_before_the_next(place):
    place.fill()
    with place.open() as register:
        assert len(register.entries()) == 3
        with place.tampering() as run:
            run("DELETE FROM lines WHERE number = 3")
        for work in (Register.entries, lambda register: register.add(made())):
            with pytest.raises(Unsound, match="entry 3 had been written"):
                work(register)


def test_lines_cannot_be_changed_by_mistake(place):
    place.fill()
    with place.open() as register:
        register.entries()
        for change in ("UPDATE lines SET content = ''", "DELETE FROM lines"):
            with pytest.raises(LedgerError, match="append-only"), register._store.writing() as session:
                session.run(change, [()])
        assert len(register.entries()) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "UPDATE attachments SET data = (SELECT data FROM attachments WHERE number = 1 AND kind = 'facts')",
            "were changed",
        ),
        ("DELETE FROM attachments", "are gone"),
    ],
)
def test_what_is_kept_with_a_line_is_checked_when_it_is_read(place, change, says):
    place.fill()
    with place.tampering() as run:
        run(change)
    with place.open() as register:
        assert len(register.entries()) == 3
        with pytest.raises(Unsound, match=f"the people of entry 3 {says}"):
            register.people("people")
        with pytest.raises(Unsound, match=f"the facts of entry 2 {says}"):
            register.facts(2)
        with pytest.raises(Unsound, match=says):
            register.verify()


def test_what_no_line_knows_of_is_noticed(place):
    place.fill(1)
    with place.tampering() as run:
        run("UPDATE attachments SET number = 7 WHERE kind = 'people'")
        run("INSERT INTO attachments SELECT 1, 'people', data FROM attachments WHERE kind = 'people'")
    with place.open() as register, pytest.raises(Unsound, match="no entry describes the attachment of entry 7"):
        register.verify()


def test_one_that_is_gone_is_not_taken_for_the_first(place):
    place.fill()
    if place.home.address:
        with place.tampering() as run:
            run("DROP SCHEMA discreet_register_test CASCADE")
    else:
        place.home.path.unlink()
    refuses(place, "The register that was at .* with 3 entries, is gone")


def test_an_older_copy_is_noticed(tmp_path):
    place = Place(Home(tmp_path / "register.db"))
    place.fill(2)
    shutil.copyfile(place.home.path, tmp_path / "copy")
    place.fill(1)
    shutil.copyfile(tmp_path / "copy", place.home.path)
    refuses(place, "an older copy, or was truncated: entry 3 had been written to it, and it ends at entry 2")


def test_a_file_that_was_cut_short_or_written_over_is_noticed(tmp_path):
    place = Place(Home(tmp_path / "register.db"))
    place.fill()
    whole = place.home.path.read_bytes()
    for content, says in (
        (whole[:5000], "damaged|truncated or overwritten"),
        (whole[:7], "truncated or overwritten: 3 entries had been written"),
        (b"", "truncated or overwritten: 3 entries had been written"),
        (b"name,age\n" * 1000, "truncated or overwritten: 3 entries .* not an SQLite file"),
        (whole[:4096] + bytes(len(whole) - 4096), "damaged"),
    ):
        place.home.path.write_bytes(content)
        refuses(place, says)
    place.home.path.write_bytes(whole)
    assert len(listed(place.text)) == 3


def test_something_else_is_not_taken_for_a_register(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE lines (number)")
    (tmp_path / "text.db").write_text("name,age\n" * 1000)
    (tmp_path / "folder.db").mkdir()
    dc.Curator.create(tmp_path / "w", {"age6": sample()}, dc.Pure(1)).close()
    for file, says in (
        ("other.db", "some other SQLite file"),
        ("text.db", "not an SQLite file"),
        ("folder.db", "is a folder"),
        ("w/ledger.db", "some other SQLite file|overwritten"),
    ):
        for work in (Register.entries, lambda register: register.add(made())):
            with Register(str(tmp_path / file)) as register, pytest.raises(LedgerError, match=says):
                work(register)


def sample():
    table = dc.samples.age6()
    return table.fetch(), table.card


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_register_that_may_not_be_written_is_an_error(tmp_path):
    place = Place(Home(tmp_path / "register.db"))
    place.fill(1)
    place.home.path.chmod(0o400)
    with place.open() as register, pytest.raises(LedgerError, match="cannot be written"):
        register.add(made())


def test_there_is_no_register_in_a_folder_that_is_not_there(tmp_path):
    with Register(str(tmp_path / "no" / "register.db")) as register:
        assert register.entries() == []
        with pytest.raises(LedgerError, match="No register can be made at"):
            register.add(made())


def test_what_cannot_be_written_as_json_is_refused_and_leaves_no_line(place):
    with place.open() as register:
        for told in ({"x": float("nan")}, {"x": object()}):
            with pytest.raises(BadInput, match="cannot be written as JSON"):
                register.add(made(told=told))
        assert register.entries() == []


def test_the_files_are_their_owners_alone_wherever_they_are(tmp_path):
    tmp_path.chmod(0o755)
    place = Place(Home(tmp_path / "register.db"))
    with place.open() as register:
        register.add(made(), b"facts", b"people")
        assert {path.name for path in tmp_path.iterdir()} >= {"register.db", "register.db-head", "register.db-wal"}
        assert [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077] == []


def test_register_and_releases_move_together(tmp_path):
    for folder in ("old", "old/sub"):
        (tmp_path / folder).mkdir()
    with Register(str(tmp_path / "old" / "register.db")) as register:
        register.add(made(str(tmp_path / "old" / "sub" / "r")))
    (tmp_path / "old").rename(tmp_path / "new")
    (found,) = listed(tmp_path / "new" / "register.db")
    assert found.release == str(tmp_path / "new" / "sub" / "r")


def test_of_a_workspace_it_is_with_the_ledger(tmp_path, postgres_address):
    dc.Curator.create(tmp_path / "w", {"age6": sample()}, dc.Pure(1)).close()
    workspace = dc.Curator(tmp_path / "w").workspace
    assert workspace.register == str(tmp_path / "w" / "register.db")
    elsewhere = replace(workspace, ledger=postgres_address)
    home = Home.parse(elsewhere.register)
    assert (home.address, home.path) == (postgres_address, tmp_path / "w" / "register.db")
    assert home.schema.startswith("discreet_register_")
    assert home.schema != replace(elsewhere, tables={}).home("register.db").schema
    with psycopg.connect(postgres_address, autocommit=True) as server:
        server.execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {home.schema} CASCADE")
    with Register(elsewhere.register) as register:
        register.add(made(str(tmp_path / "w" / "published" / "r")))
    assert [one.release for one in listed(elsewhere.register)] == [str(tmp_path / "w" / "published" / "r")]
    assert {path.name for path in (tmp_path / "w").iterdir() if "register" in path.name} == {"register.db-head"}


# -- earlier releases are known to whoever makes the next


@pytest.fixture
def six(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = dc.samples.age6()
    pq.write_table(table.fetch(), "six.parquet")
    Path("six.toml").write_text(dc.dump_cards([table.card]))
    return {"source": "six.parquet", "card": "six.toml", "model": ["k=2"], "level": ["age=0", "weight=1"]}


def warned(capsys):
    return " ".join(capsys.readouterr().err.split())


def put_down(file, entry):
    with Register(str(file)) as register:
        return register.add(entry)


def test_a_second_release_is_noticed_wherever_it_goes(six, capsys):
    for place in ("here", "there"):
        Path(place).mkdir()
    publish(**six, output=Path("here/first"))
    assert "There are earlier releases" not in warned(capsys)
    publish(**six, output=Path("there/second"))
    said = warned(capsys).replace(" ", "")
    assert "here/first(publishedon" in said
    assert "of6rows" in said
    assert "--earlierhere/first" in said
    publish(**six, earlier=["here/first", "there/second"], output=Path("third"))
    assert "There are earlier releases" not in warned(capsys)
    found = listed("six.register.db")
    assert [Path(one.release).name for one in found] == ["first", "second", "third"]
    assert {(one.table, one.population) for one in found} == {("age6", "age6")}


def test_a_release_that_is_gone_may_still_be_out(six, capsys):
    put_down("six.register.db", made("lost", table="age6"))
    publish(**six, output=Path("first"))
    said = warned(capsys)
    assert "no longer there" in said
    assert "find it, or ask its holder" in said
    assert "--earlier" not in said


def test_masked_ones_are_to_be_attacked(six, capsys):
    masking = {"source": "six.parquet", "card": "six.toml", "method": "noise alpha=1", "seed": 3}
    publish(**masking, output=Path("first"))
    assert "never to protect people" in warned(capsys)
    assert dc.Release.load("first").recipe.seed == 3
    publish(**six, output=Path("second"))
    said = warned(capsys)
    assert "attack them jointly" in said
    assert "--earlier" not in said


def test_synthetic_and_learnt_ones_are_called_so(six, capsys):
    for method, how in (("synthesize", "synthetic"), ("synthesize cart", "synthetic"), ("learn tree", "learnt")):
        assert str(made("gone", method)) == f"gone ({how}, of 9 rows, no longer there)"
    put_down("six.register.db", made("twin", "synthesize", table="age6"))
    publish(**six, output=Path("first"))
    said = warned(capsys)
    assert "Synthetic releases cannot be checked together" in said
    assert "--earlier" not in said


def test_of_many_the_last_are_named():
    said = notice([made(f"r{n}") for n in range(5)])
    assert [name in said for name in ("r0 ", "r1 ", "r2 ", "r3 ", "r4 ")] == [False, False, True, True, True]
    assert "and 2 before these" in said


def test_a_workspace_remembers_too(six, capsys):
    dc.Curator.create("clinic", {"age6": ("six.parquet", "six.toml")}, dc.Approximate(1, "1e-6")).close()
    publish(**six, workspace=Path("clinic"), output=Path("first"))
    for file in Path().glob("six.register.db*"):
        file.unlink()
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
    file = tmp_path / "register.db"
    source = str(tmp_path / "v.csv")
    added = put_down(file, Entry(0, "patients", "visits", source, str(tmp_path / "r"), "publish", 5))

    def found(name, source, population=None):
        table = dc.samples.age6()
        card = replace(table.card, name=name, population=population)
        return earlier_releases(replace(table, card=card, source=source, registers=(str(file),)), tmp_path)

    assert found("renamed", source) == [added]
    assert found("visits", "w.csv") == [added]
    assert found("renamed", "w.csv", "patients") == [added]
    assert found("renamed", "w.csv") == []
    assert found("renamed", "") == []


def test_cards_of_one_population_share_a_register(six):
    text = Path("six.toml").read_text()
    declared = text.replace(
        "[tables.age6.columns.name]", '[tables.age6]\npopulation = "the six"\n[tables.age6.columns.name]'
    )
    assert declared != text
    dc.publish(dc.read("six.parquet", "six.toml"), "k=2")
    Path("six.toml").write_text(declared)
    Path("other.toml").write_text(declared.replace("age6", "other"))
    other = dc.read("six.parquet", "other.toml")
    assert other.registers == (str(Path("the six.register.db").absolute()),)
    dc.publish(other, "k=2")
    assert [(one.population, one.table) for one in listed("the six.register.db")] == [("the six", "other")]
    table = dc.read("six.parquet", "six.toml")
    assert [Path(one).name for one in table.registers] == ["the six.register.db", "six.register.db"], "what was before"
    assert {one.table for one in earlier_releases(table)} == {"other", "age6"}


def test_no_password_is_written_down():
    assert "secret" not in written_source("postgresql://ann:secret@localhost/clinic#visits")


def test_a_register_that_is_not_sound_stops_the_release(six):
    publish(**six, output=Path("first"))
    with Place(Home(Path("six.register.db"))).tampering() as run:
        run("UPDATE lines SET content = replace(content, 'first', 'other')")
    with pytest.raises(Unsound, match=r"six\.register\.db was edited or damaged, at entry 1"):
        publish(**six, output=Path("second"))
    assert not Path("second").exists()


def lose_register():
    for file in Path().glob("six.register.db*"):
        file.unlink()


@pytest.mark.parametrize(
    "make",
    [
        lambda table, to: dc.tabulate(table, "age", rules="min=2", to=to),
        lambda table, to: dc.publish(table, "k=2", to=to),
        lambda table, to: dc.publish(table, "noise alpha=1 on age", to=to),
        lambda table, to: dc.hide(table, itemsets=["age=30"], support=1, columns=["age", "weight"], to=to),
    ],
    ids=["tabulate", "publish", "mask", "hide"],
)
def test_a_lost_register_whose_releases_lie_there_is_no_first_one(six, make):
    table = dc.read("six.parquet", "six.toml")
    make(table, "first")
    lose_register()
    with pytest.raises(Unsound, match=r"first had been registered for age6, .* it was lost") as error:
        dc.tabulate(table, "weight", rules="min=2", to="second")
    assert "give a reason" in error.value.hint
    assert not Path("second").exists()
    assert not Path("six.register.db").exists(), "nor is a new one begun"
    meant = dc.tabulate(table.despite("The disk is gone."), "weight", rules="min=2", to="second")
    assert "The disk is gone." in str(meant.statement)
    assert "first" in str(meant.statement)
    third = dc.tabulate(table, "weight", rules="min=2", to="third")
    assert any("first (" in said for said in third.notices), "a register that was begun anew knows the second alone"


def test_what_no_register_ever_knew_is_no_lost_register(six):
    dc.publish(replace(dc.read("six.parquet", "six.toml"), registers=()), "k=2", to="elsewhere")
    second = dc.publish(dc.read("six.parquet", "six.toml"), "k=2", to="second")
    assert any("elsewhere (published" in said for said in second.notices)


def test_what_is_no_release_is_no_bother(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "recipe.json").write_text("{}")
    assert earlier_releases(dc.samples.age6(), tmp_path) == []
    assert str(replace(made(str(tmp_path), "noise"), rows=1000)) == f"{tmp_path} (masked, of 1,000 rows)"


def test_a_seed_is_for_masking(six):
    with pytest.raises(BadInput, match="nothing here is random"):
        publish(**six, seed=1, output=Path("first"))


def test_python_says_the_same_as_the_command(six, capsys):
    table = dc.read("six.parquet", "six.toml")
    first = dc.publish(table, "k=2", to="here")
    assert first.notices == ()
    second = dc.publish(table, "noise alpha=1")
    said, attacked = second.notices
    assert attacked.startswith("Attacked jointly with here: ")
    assert "here (published on" in said
    assert said in str(second)
    publish(**six, output=Path("third"))
    assert said.partition(" Together")[0].rstrip(".") in warned(capsys)
    found = listed("six.register.db")
    assert [(one.release and Path(one.release).name, one.kind) for one in found] == [
        ("here", "published"),
        ("", "masked"),
        ("third", "published"),
    ]
    assert {(one.table, one.source, one.rows) for one in found} == {("age6", str(Path("six.parquet").absolute()), 6)}
    fourth, attacked = dc.publish(table, "k=2").notices
    assert attacked == "Not attacked jointly with others: none of them has rows and is still in its folder."
    assert "in memory (masked on" in fourth


def test_rows_without_a_card_file_are_registered_nowhere_and_noticed_beside_the_new_release(tmp_path):
    table = dc.samples.age6()
    dc.publish(table, "k=2", to=tmp_path / "first")
    second = dc.publish(table, "k=2", to=tmp_path / "second")
    (said,) = second.notices
    assert "they have no register" in str(second.statement)
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
    assert not list(Path().glob("*.register.db*"))


def test_three_earlier_releases_are_all_named_and_of_four_the_first_is_counted():
    def said(many):
        return notice(made(f"r{n}") for n in range(many))

    assert said(0) == ""
    assert said(1).startswith(
        "There are earlier releases about the same people: r0 (published, of 9 rows, no longer there). "
    )
    assert "before these" not in said(3)
    assert said(3).count("published") == 3
    assert "; and 1 before these." in said(4)
    assert "r0 " not in said(4)


def test_an_entry_says_where_and_when(tmp_path):
    hidden = made(str(tmp_path), "hide x", at="2026-01-01T10:00:00+00:00")
    assert str(hidden) == f"{tmp_path} (hidden on 2026-01-01, of 9 rows)"
    assert str(made(method="tabulate")) == "in memory (tabulated, of 9 rows)"
    assert made().kind == "published"
    assert [made(method=method).kind for method in ("", "swap")] == ["masked", "masked"]


def test_releases_in_memory_are_each_one_of_their_own(tmp_path):
    table = replace(dc.samples.age6(), registers=(str(tmp_path / "register.db"),))
    for method in ("publish", "noise"):
        put_down(*table.registers, made(method=method, table="age6"))
    assert [one.method for one in earlier_releases(table)] == ["publish", "noise"]


def test_a_release_that_is_listed_and_lies_there_is_one(tmp_path):
    table = replace(dc.samples.age6(), registers=(str(tmp_path / "register.db"),))
    dc.publish(table, "k=2", to=tmp_path / "r")
    (found,) = earlier_releases(table, tmp_path)
    assert (found.release, found.rows, found.number, bool(found.at)) == (str(tmp_path / "r"), 6, 1, True)
    (lying,) = earlier_releases(replace(table, registers=()), tmp_path)
    assert (lying.at, lying.number, lying.population) == ("", 0, "age6")
    renamed = replace(table, registers=(), card=replace(table.card, name="other"))
    assert earlier_releases(renamed, tmp_path) == []
    recipe = tmp_path / "r" / "recipe.json"
    said = json.loads(recipe.read_text())
    del said["parameters"]["rows"]
    recipe.write_text(json.dumps(said))
    assert earlier_releases(replace(table, registers=()), tmp_path)[0].rows == 0, "nobody wrote it down"

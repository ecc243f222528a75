"""Copies: whole, as of one moment, and never a way to an answer that was not charged."""

import sqlite3
import tarfile
import threading
from contextlib import closing

import psycopg
import pytest
from tests.curator.clinics import COUNT, clinic

from discreet.budget.entries import Charged
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.curator.backup import back_up, receipts_in, restore
from discreet.curator.curator import Curator
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.errors import BadInput, BudgetExceeded, Damaged, NotFound, Refused, Unsound
from discreet.releases import pipeline
from discreet.releases.register import Entry, Register
from discreet.releases.store import SEAL, receipts_of


@pytest.fixture
def asked(tmp_path):
    """A clinic that was asked once."""
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon="0.5")
    return tmp_path / "clinic"


def test_a_copy_is_restored_with_what_was_spent_and_answered(asked, tmp_path):
    with Curator(asked) as curator:
        state = State.open(curator.workspace)
        People(state).add("ann", Role.STEWARD)
        state.close()
        before = curator.ask(COUNT, epsilon="0.5")
    (asked / "papers").mkdir(mode=0o700)
    (asked / "papers" / "report.html").write_text("for the holder alone")
    (asked / "papers" / ".half").write_text("still being made")
    copy = back_up(asked, tmp_path / "clinic.tar")
    assert copy.releases == 1
    assert (tmp_path / "clinic.tar").stat().st_mode & 0o077 == 0
    restore(tmp_path / "clinic.tar", tmp_path / "again", newest=receipts_in(asked))
    with Curator(tmp_path / "again") as curator:
        assert curator.verify().sound
        after = curator.ask(COUNT, epsilon="0.5")
        assert after.free
        assert after.table.equals(before.table)
        assert after.left == before.left
        state = State.open(curator.workspace)
        assert [one.name for one in People(state).all()] == ["ann"]
        state.close()
    for private in ("ledger.db", "service.db", "papers"):
        assert (tmp_path / "again" / private).stat().st_mode & 0o077 == 0
    assert [file.name for file in (tmp_path / "again" / "papers").iterdir()] == ["report.html"]


def test_a_copy_has_the_register_of_what_has_left(asked, tmp_path):
    with Register(str(asked / "register.db")) as register:
        register.add(
            Entry(0, "people", "visits", "", str(asked / "published" / "r"), "publish", 9), b"facts", b"people"
        )
        back_up(asked, tmp_path / "clinic.tar")
    restore(tmp_path / "clinic.tar", tmp_path / "again", newest=receipts_in(asked))
    assert (tmp_path / "again" / "register.db").stat().st_mode & 0o077 == 0
    with Register(str(tmp_path / "again" / "register.db")) as register:
        entry, gap = register.entries()
        assert gap.facts == "opaque"
        assert entry.release == str(tmp_path / "again" / "published" / "r")
        assert (register.facts(1), register.people("people")) == (b"facts", (1, b"people"))
    with closing(sqlite3.connect(asked / "register.db", isolation_level=None)) as file:
        file.execute("DELETE FROM attachments WHERE kind = 'facts'")
    with pytest.raises(Unsound, match="the facts of entry 1 are gone"):
        back_up(asked, tmp_path / "later.tar")
    assert not (tmp_path / "later.tar").exists()


def test_a_copy_made_while_people_ask_has_every_answer_with_its_charge(tmp_path):
    with clinic(tmp_path / "clinic", Pure(100)) as curator:
        stop = threading.Event()

        def ask(who):
            number = 0
            while not stop.is_set():
                curator.ask(f"SELECT COUNT(*) AS n FROM visits WHERE street <> '{who} {number}'", epsilon="0.01")
                number += 1

        threads = [threading.Thread(target=ask, args=(who,)) for who in range(3)]
        for thread in threads:
            thread.start()
        copies = [back_up(tmp_path / "clinic", tmp_path / "0.tar")]
        while len(copies) < 4 or copies[-1].releases == copies[0].releases:
            copies.append(back_up(tmp_path / "clinic", tmp_path / f"{len(copies)}.tar"))
        stop.set()
        for thread in threads:
            thread.join()
    for n, copy in enumerate(copies[:2] + copies[-2:]):
        place = tmp_path / f"again{n}"
        restore(tmp_path / f"{copies.index(copy)}.tar", place, forget=True)
        with Curator(place) as curator:
            assert curator.verify().sound
            charged = [line.entry for line in curator.ledger.lines() if isinstance(line.entry, Charged)]
        paid = {one.key for one in charged}
        sealed = {key.removeprefix(SEAL) for key in paid if key.startswith(SEAL)}
        kept = {folder.name for folder in (place / "releases").iterdir()}
        assert sealed <= kept
        assert len(kept) == copy.releases
        for name in kept:
            assert {one.key for one in receipts_of(Release.load(place / "releases" / name))} <= paid


def test_an_old_copy_is_refused_unless_somebody_says_that_they_know(asked, tmp_path):
    back_up(asked, tmp_path / "clinic.tar")
    with Curator(asked) as curator:
        curator.ask(COUNT, epsilon="2.5")
    with pytest.raises(Refused, match="would be lost"):
        restore(tmp_path / "clinic.tar", tmp_path / "again")
    with pytest.raises(Refused, match="to visits/analyst is not in it"):
        restore(tmp_path / "clinic.tar", tmp_path / "again", newest=receipts_in(asked))
    assert not (tmp_path / "again").exists()
    restore(tmp_path / "clinic.tar", tmp_path / "again", forget=True)
    with Curator(tmp_path / "again") as curator, pytest.raises(BudgetExceeded):
        curator.ask("SELECT COUNT(*) AS m FROM visits", epsilon="2.51")


@pytest.mark.parametrize("batch", [False, True])
def test_what_was_being_answered_while_a_copy_was_made_is_not_answered_anew(tmp_path, monkeypatch, batch):
    """It is in the copy that it was charged, and not that it was answered; it was answered, and given, since."""
    made = pipeline._made

    def meanwhile(*given):
        back_up(tmp_path / "clinic", tmp_path / "clinic.tar")
        return made(*given)

    def ask(curator):
        return curator.ask_all([COUNT], epsilon="0.5")[0] if batch else curator.ask(COUNT, epsilon="0.5")

    with clinic(tmp_path / "clinic") as curator:
        monkeypatch.setattr(pipeline, "_made", meanwhile)
        given = ask(curator)
        monkeypatch.undo()
    for folder in ("again", "and-again"):  # the second from a backup of the first
        restore(tmp_path / "clinic.tar", tmp_path / folder, newest=[given.release.receipt])
        with Curator(tmp_path / folder) as curator:
            with pytest.raises(Refused, match="was being answered while the backup was made"):
                ask(curator)
            assert curator.ask(COUNT, epsilon="0.25").free == (folder == "and-again")
        (tmp_path / "clinic.tar").unlink()
        back_up(tmp_path / folder, tmp_path / "clinic.tar")


def test_what_cannot_be_copied_or_restored_says_so(asked, tmp_path):
    with pytest.raises(BadInput, match="inside the workspace"):
        back_up(asked, asked / "clinic.tar")
    with pytest.raises(NotFound, match="no folder"):
        back_up(asked, tmp_path / "none" / "clinic.tar")
    back_up(asked, tmp_path / "clinic.tar")
    with pytest.raises(BadInput, match="already exists"):
        back_up(asked, tmp_path / "clinic.tar")
    with pytest.raises(BadInput, match="not an empty folder"):
        restore(tmp_path / "clinic.tar", asked, forget=True)
    with pytest.raises(NotFound, match="no file"):
        restore(tmp_path / "none.tar", tmp_path / "again", forget=True)
    with pytest.raises(NotFound, match="no release with a receipt"):
        receipts_in(asked / "tables")
    whole = (tmp_path / "clinic.tar").read_bytes()
    (tmp_path / "half.tar").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Damaged, match="not a complete backup"):
        restore(tmp_path / "half.tar", tmp_path / "again", forget=True)
    with tarfile.open(tmp_path / "other.tar", "w") as tar:
        tar.add(asked / "workspace.toml", "workspace.toml")
    with pytest.raises(NotFound, match="not a backup of a workspace"):
        restore(tmp_path / "other.tar", tmp_path / "again", forget=True)
    assert not (tmp_path / "again").exists()


def test_a_copy_that_was_changed_is_not_restored(asked, tmp_path):
    back_up(asked, tmp_path / "clinic.tar")
    with tarfile.open(tmp_path / "clinic.tar") as tar:
        tar.extractall(tmp_path / "open", filter="data")
    payload = next((tmp_path / "open" / "releases").iterdir())
    payload.write_bytes(payload.read_bytes() + b"\0")
    with tarfile.open(tmp_path / "changed.tar", "w") as tar:
        tar.add(tmp_path / "open", "")
    with pytest.raises(Damaged):
        restore(tmp_path / "changed.tar", tmp_path / "again", forget=True)
    with tarfile.open(tmp_path / "up.tar", "w") as tar:
        tar.add(tmp_path / "open", "../up")
    with pytest.raises(Damaged):
        restore(tmp_path / "up.tar", tmp_path / "again", forget=True)
    assert not (tmp_path / "up").exists()


def test_a_copy_is_restored_by_a_python_without_filters_of_archives(asked, tmp_path, monkeypatch):
    back_up(asked, tmp_path / "clinic.tar")
    whole, one = tarfile.TarFile.extractall, tarfile.TarFile.extract

    def extractall(self, path=".", members=None, *, numeric_owner=False):
        return whole(self, path, members, numeric_owner=numeric_owner, filter="data")

    def extract(self, member, path="", set_attrs=True, *, numeric_owner=False):
        return one(self, member, path, set_attrs, numeric_owner=numeric_owner, filter="data")

    monkeypatch.setattr(tarfile.TarFile, "extractall", extractall)  # as before Python 3.11.4: there is no filter
    monkeypatch.setattr(tarfile.TarFile, "extract", extract)
    for name in ("data_filter", "tar_filter", "fully_trusted_filter", "FilterError"):
        monkeypatch.delattr(tarfile, name)
    with tarfile.open(tmp_path / "clinic.tar") as tar, pytest.raises(TypeError, match="filter"):
        tar.extractall(tmp_path / "open", filter="data")
    restore(tmp_path / "clinic.tar", tmp_path / "again", newest=receipts_in(asked))
    assert {path.name for path in (tmp_path / "again").iterdir()} >= {"workspace.toml", "ledger.db", "releases"}
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "again").rglob("*")} == {0}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_copy_with_a_link_or_a_device_in_it_is_not_restored(asked, tmp_path, kind):
    back_up(asked, tmp_path / "clinic.tar")
    other = tarfile.TarInfo("releases/other")
    other.type, other.linkname = kind, "../../elsewhere"
    with tarfile.open(tmp_path / "clinic.tar", "a") as tar:
        tar.addfile(other)
    with pytest.raises(Damaged, match="not part of a workspace"):
        restore(tmp_path / "clinic.tar", tmp_path / "again", forget=True)
    assert not (tmp_path / "again").exists()


def test_a_copy_with_two_files_of_one_name_or_a_name_elsewhere_is_not_restored(asked, tmp_path):
    for name in ("workspace.toml", str(tmp_path / "elsewhere"), "releases/../../elsewhere"):
        (tmp_path / "clinic.tar").unlink(missing_ok=True)
        back_up(asked, tmp_path / "clinic.tar")
        with tarfile.open(tmp_path / "clinic.tar", "a") as tar:
            tar.addfile(tarfile.TarInfo(name))
        with pytest.raises(Damaged):
            restore(tmp_path / "clinic.tar", tmp_path / "again", forget=True)
        assert not (tmp_path / "again").exists()
        assert not (tmp_path / "elsewhere").exists()


def test_an_answer_that_is_gone_is_not_left_out_unseen(asked, tmp_path):
    next((asked / "releases").iterdir()).rename(tmp_path / "elsewhere")
    with pytest.raises(Damaged, match="is missing from"):
        back_up(asked, tmp_path / "clinic.tar")
    assert not (tmp_path / "clinic.tar").exists()


@pytest.fixture
def shared_ledger(postgres_address):
    """A database in which there is not a ledger, before and after."""
    yield postgres_address
    with psycopg.connect(postgres_address) as connection:
        connection.execute("DROP SCHEMA discreet_ledger CASCADE")


def test_of_a_ledger_in_postgres_the_folder_alone_is_copied(tmp_path, shared_ledger):
    with clinic(tmp_path / "clinic", ledger=shared_ledger) as curator:
        curator.ask(COUNT, epsilon="0.5")
    assert back_up(tmp_path / "clinic", tmp_path / "clinic.tar").lines == 0
    restore(tmp_path / "clinic.tar", tmp_path / "again", ledger=shared_ledger)
    with Curator(tmp_path / "again") as curator:
        assert curator.ask(COUNT, epsilon="0.5").free
        assert curator.verify().sound

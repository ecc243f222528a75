"""What can go wrong with a ledger in a file: each has its own words, and none loses a charge."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.budget.homes import nursery

from discreet.budget import sqlite
from discreet.budget.entries import Book
from discreet.budget.ledger import FORMAT, LEDGER, create_ledger, open_ledger
from discreet.budget.sqlite import file_system
from discreet.budget.store import Home, Witness, lines_after
from discreet.budget.tables import page_after
from discreet.budget.verify import _check, verify_entries
from discreet.core.loss import Pure
from discreet.errors import LedgerError, Unsound

NEWER = FORMAT.version + 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with one account."""
    made = tmp_path / "a ledger?#%.db"
    with create_ledger(made) as ledger:
        ledger.open_account("t", Pure(10))
    return made


def test_a_path_is_a_file(tmp_path: Path) -> None:
    with create_ledger(tmp_path / "x") as ledger:
        assert str(tmp_path / "x") in repr(ledger)
        assert ledger.verify().sound
    with open_ledger(str(tmp_path / "x")) as ledger:
        assert len(list(ledger.lines())) == 1


def test_a_ledger_and_what_is_beside_it_are_readable_by_its_owner_only(path: Path) -> None:
    assert path.stat().st_nlink == 1
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, f"{path.name}-head", f"{path.name}-lock"]
    assert all(p.stat().st_mode & 0o077 == 0 for p in path.parent.iterdir())


def test_commits_wait_for_the_disk(path: Path) -> None:
    with open_ledger(path) as ledger, ledger._store.writing() as session:
        assert session.rows("PRAGMA synchronous") == [(2,)]
        assert session.rows("PRAGMA journal_mode") == [("wal",)]


def test_an_older_sqlite_mode_is_set_right_again(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    with open_ledger(path) as ledger, ledger._store.writing() as session:
        assert session.rows("PRAGMA journal_mode") == [("wal",)]


def test_files_that_are_no_ledger_are_left_as_they_are(tmp_path: Path) -> None:
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other"
    text.write_text("name,age\nann,30\n" * 100)
    empty.touch()
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for file in (text, empty, other):
        before = file.read_bytes()
        with pytest.raises(LedgerError, match="is not a ledger"):
            open_ledger(file)
        assert file.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(LedgerError, match="is a folder, not a ledger"):
        open_ledger(tmp_path)


def test_a_newer_format_is_not_guessed_at(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {NEWER}")
        connection.execute("DROP TABLE formats")
    connection.close()
    said = rf"format {NEWER}; discreet .* reads formats up to {FORMAT.version}\. Install a later"
    with pytest.raises(LedgerError, match=said):
        open_ledger(path)


def test_a_damaged_file_is_reported(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(Unsound, match="damaged"):
        open_ledger(path)


def test_a_place_that_cannot_be_written_is_reported() -> None:
    """In a folder of its own, as whoever drops root's rights must be able to reach it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        create_ledger(folder / "old").close()
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        code = f"""
import os, sys
sys.path[:] = {sys.path!r}
from discreet.budget.ledger import create_ledger, open_ledger
from discreet.errors import LedgerError
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for attempt in (lambda: open_ledger({str(folder / "old")!r}), lambda: create_ledger({str(folder / "new")!r})):
    try:
        attempt()
    except LedgerError as error:
        print(error.message)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        folder.chmod(0o755)
    opened, created = run.stdout.splitlines()
    assert "cannot be written" in opened
    assert "No ledger can be made" in created


def test_a_full_disk_is_reported_and_what_was_promised_stays(path: Path) -> None:
    """A limit on the size of files stands in for the disk."""
    code = f"""
import resource, sys
sys.path[:] = {sys.path!r}
from discreet.budget.ledger import open_ledger
from discreet.budget.store import Home, Witness
from discreet.budget.tables import page_after
from discreet.budget.verify import _check, verify_entries
from discreet.core.loss import Pure
from discreet.errors import LedgerError
with open_ledger({str(path)!r}) as ledger:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    n = 0
    try:
        while True:
            ledger.charge("t", Pure("0.001"), key=str(n), what="x" * 500)
            n += 1
    except LedgerError as error:
        print(n, error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    charged, _, message = run.stdout.partition(" ")
    assert int(charged) > 0
    assert "could not be read or written" in message
    with open_ledger(path) as ledger:
        assert ledger.verify().sound
        assert [ledger.find(str(n)) is not None for n in range(int(charged))] == [True] * int(charged)
        ledger.charge("t", Pure("0.001"), key=charged, what="x" * 500)


def test_a_ledger_killed_with_its_log_unwritten_opens_with_every_line(path: Path, tmp_path: Path) -> None:
    with nursery() as workers:
        order = {"do": "charge", "where": str(path), "schema": None, "witness": "", "loss": "0", "threads": 1}
        with open_ledger(path) as ledger:
            ledger.open_account("t/a", Pure(1))
        child = workers.start(**order, said=str(tmp_path / "said"), name="w", charges=None)
        said = tmp_path / "said"
        while not said.exists() or said.stat().st_size < 2000:
            pass
        os.kill(child, signal.SIGKILL)
        workers.wait(child)
    assert Path(f"{path}-wal").stat().st_size > 0
    with open_ledger(path) as ledger:
        assert ledger.verify().lines > 3
        assert ledger.verify().sound


def test_a_ledger_is_made_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with nursery() as workers:
        for n in itertools.count():
            folder = tmp_path / str(n)
            folder.mkdir()
            child = workers.start(do="create", where=str(folder))
            time.sleep(n / 1000)  # the instant of the kill; nothing is awaited
            os.kill(child, signal.SIGKILL)
            workers.wait(child)
            made = list(tmp_path.rglob("*.ledger"))
            if n >= 30 and made:  # on a machine that has much to do, later kills are needed to see one made
                break
    for path in made:
        if not path.name.startswith("."):
            with open_ledger(path) as ledger:
                assert ledger.verify().sound


def test_a_forked_process_must_open_the_ledger_itself_and_before(path: Path) -> None:
    def in_child(attempt: object) -> int:
        child = os.fork()
        if child == 0:
            try:
                attempt()  # type: ignore[operator]
            except LedgerError as error:
                os._exit(7 if "forked" in error.message or "another process" in error.message else 1)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with open_ledger(path) as ledger:
        assert in_child(lambda: ledger.charge("t", Pure(1), key="k", what="")) == 7
        assert in_child(lambda: ledger.account("t")) == 7
        assert in_child(lambda: open_ledger(path)) == 7
        assert in_child(ledger.close) == 0
        ledger.charge("t", Pure(1), key="k", what="")
    assert in_child(lambda: open_ledger(path).close()) == 0


def test_two_ledgers_of_one_process_on_one_file_take_turns(path: Path) -> None:
    with open_ledger(path) as one, open_ledger(path) as other:
        for n in range(20):
            (one, other)[n % 2].charge("t", Pure("0.1"), key=str(n), what="")
        assert one.account("t") == other.account("t")
        assert one.verify().sound
        other.close()
        one.charge("t", Pure("0.1"), key="after", what="")


def test_a_second_name_is_the_same_ledger(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    with open_ledger(path) as one, open_ledger(link) as other:
        one.charge("t", Pure(1), key="k", what="")
        assert other.account("t").spent == Pure(1)
        assert not list(tmp_path.glob("link-*"))


def test_an_old_copy_put_back_is_noticed_when_it_is_opened(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "copy")
    with open_ledger(path) as ledger:
        receipt = ledger.charge("t", Pure(1), key="k", what="")
    shutil.copy(path, tmp_path / "newest")
    shutil.copy(tmp_path / "copy", path)
    with pytest.raises(Unsound, match=r"older copy.*entry 3 had been written to it, and it ends at entry 2") as error:
        open_ledger(path)
    assert "restore the newest copy" in error.value.hint
    shutil.copy(tmp_path / "newest", path)
    with open_ledger(path) as ledger:
        assert ledger.find("k") == receipt


def test_an_old_copy_that_was_charged_elsewhere_is_noticed(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "copy"
    shutil.copy(path, elsewhere)
    for place in (path, elsewhere):
        with open_ledger(place) as ledger:
            ledger.charge("t", Pure(1), key="k", what=str(place))
            ledger.charge("t", Pure(1), key="l", what="")
    shutil.copy(elsewhere, path)
    with pytest.raises(Unsound, match=r"entry 4 had been written to it, and another entry is in its place"):
        open_ledger(path)


def test_a_ledger_that_is_gone_is_not_made_anew(path: Path) -> None:
    path.unlink()
    with pytest.raises(Unsound, match=r"with 2 entries, is gone"):
        create_ledger(path)
    assert not path.exists()


def test_a_copy_without_its_witness_is_taken_as_it_is(path: Path, tmp_path: Path) -> None:
    """As `workspace restore` makes it, and as versions of discreet left it that kept no witness."""
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(path, tmp_path / "elsewhere" / "copy")
    for record in ("", "0", "\0" * 80, "nonsense", f"x {'0' * 64}"):
        (tmp_path / "elsewhere" / "copy-head").write_text(record)
        (tmp_path / "elsewhere" / "copy-sums").write_text(record)
        with open_ledger(tmp_path / "elsewhere" / "copy") as ledger:
            assert ledger.verify().sound
        assert (tmp_path / "elsewhere" / "copy-head").read_text().split()[0] == "0000000002"


def test_the_witness_does_not_go_back(tmp_path: Path) -> None:
    one, other = Witness(tmp_path / "x"), Witness(tmp_path / "x")
    one.write(3, "3" * 64)
    one.write(4, "4" * 64, pause=1000)  # waits
    assert other.head() == (3, "3" * 64)
    other.write(9, "9" * 64)
    one.close()  # which writes what waits, unless others were further
    assert other.head() == (9, "9" * 64)
    one.write(10, "a" * 64)
    one.write(11, "b" * 64, pause=1000)
    assert other.head() == (10, "a" * 64)
    one.close()
    assert other.head() == (11, "b" * 64)
    other.close()


def test_a_half_written_record_of_the_witness_is_none(tmp_path: Path) -> None:
    witness, file = Witness(tmp_path / "x"), tmp_path / "x-head"
    assert witness.head() is None
    records = []
    for number, digest in ((7, "7" * 64), (18, "8" * 64)):
        witness.write(number, digest)
        witness.close()
        records.append(file.read_bytes())
    old, new = records
    assert Witness(tmp_path / "x").head() == (18, "8" * 64)
    assert len(old) == len(new)
    for cut in range(1, len(new)):
        for half in (new[:cut] + old[cut:], new[:cut], new[:cut] + bytes(len(new) - cut)):
            file.write_bytes(half)
            assert witness.head() in (None, (7, "7" * 64), (18, "8" * 64)), half


@pytest.mark.parametrize("byte", [b"8", b"\xff", b"\0"])
def test_a_byte_changed_in_the_file_itself_is_found(path: Path, byte: bytes) -> None:
    with open_ledger(path) as ledger:
        ledger.charge("t", Pure("0.25"), key="k", what="the number of cases")
    content = path.read_bytes()
    place = content.index(b"number of cases")
    path.write_bytes(content[:place] + byte + content[place + 1 :])
    with pytest.raises(Unsound, match="edited or damaged: 2 entries are valid; entry 3"):
        open_ledger(path)


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw
31 30 0:41 / /home/my\\040disk rw - xfs /dev/sdb rw
32 22 0:42 / /homework rw - cifs //server/share rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/", "ext4"), ("/srv", "ext4"), ("/home/ann", "nfs4"), ("/home/my disk/x", "xfs"), ("/homework", "cifs")],
)
def test_network_file_systems_are_told_from_others(folder: str, kind: str) -> None:
    assert file_system(Path(folder), MOUNTS) == kind


def test_whoever_waits_too_long_for_a_turn_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)
    refusal = pytest.raises(LedgerError, match="for 0 seconds, and nothing was written")
    with open_ledger(path) as one, open_ledger(path) as other, one._store.writing(), refusal:
        other.charge("t", Pure(1), key="k", what="")
    with open_ledger(path) as again:
        assert again.account("t").spent == Pure(0)


def test_a_ledger_that_was_brought_to_another_format_meanwhile_is_not_written(path: Path) -> None:
    with open_ledger(path) as ledger:
        with sqlite3.connect(path) as connection:
            connection.execute(f"PRAGMA user_version = {NEWER}")
        connection.close()
        with pytest.raises(LedgerError, match="another format while this process had it open"):
            ledger.charge("t", Pure(1), key="k", what="")
        assert ledger.account("t").spent == Pure(0)


def test_a_newer_ledger_says_which_discreet_reads_it(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {NEWER + 1}")
        connection.execute("CREATE TABLE IF NOT EXISTS formats (number integer PRIMARY KEY, discreet text NOT NULL)")
        connection.execute("INSERT INTO formats VALUES (?, '1.2'), (?, '7.8')", (NEWER, NEWER + 1))
    connection.close()
    with pytest.raises(LedgerError, match=f"format {NEWER + 1}") as error:
        open_ledger(path)
    assert error.value.hint == "Install discreet 7.8 or later."


def test_a_closed_ledger_is_not_read(path: Path) -> None:
    ledger = open_ledger(path)
    ledger.close()
    for read in (lambda: ledger.account("t"), lambda: list(ledger.lines()), ledger.verify):
        with pytest.raises(LedgerError, match="closed"):
            read()


def test_readers_cannot_write(path: Path) -> None:
    with open_ledger(path) as ledger, ledger._store.reading() as session:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            session.run("DELETE FROM accounts", [()])
        assert ledger._store.problems(session) == []


def test_the_lock_of_a_file_that_is_no_ledger_goes_and_others_stay(tmp_path: Path) -> None:
    text, lock = tmp_path / "text", tmp_path / "text-lock"
    text.write_text("no ledger " * 100)
    with pytest.raises(LedgerError):
        open_ledger(text)
    assert not lock.exists()
    lock.touch()
    with pytest.raises(LedgerError):
        open_ledger(text)
    assert lock.exists()


def test_the_last_of_two_mounts_on_one_place_counts() -> None:
    mounts = MOUNTS + "33 22 0:43 / /home rw - tmpfs tmpfs rw\n"
    assert file_system(Path("/home/ann"), mounts) == "tmpfs"
    assert file_system(Path("/home/my disk"), mounts) == "xfs"


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "file_system", lambda folder, mounts: "nfs4")
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\)"):
        create_ledger(tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mine", "here", "count", "refused"),
    [(False, True, 1, True), (True, True, 1, False), (False, False, 1, False), (False, True, 0, False)],
)
def test_only_a_ledger_that_a_parent_has_open_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, mine: bool, here: bool, count: int, refused: bool
) -> None:
    holder = os.getpid() + (not mine), path.resolve() if here else path.with_name("another")
    monkeypatch.setattr(sqlite, "_HELD", sqlite.Counter({holder: count}))
    if refused:
        with pytest.raises(LedgerError, match="was open when this process was forked"):
            open_ledger(path)
    else:
        open_ledger(path).close()
        assert sqlite._HELD[os.getpid(), path.resolve()] == (count if mine and here else 0)


@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_lines_that_were_added_up_before_give_the_same_sums_if_they_are_the_same(path: Path, kept: int) -> None:
    with open_ledger(path) as ledger:
        for key in "abc":
            ledger.charge("t", Pure(1), key=key, what="a question")
        store = ledger._store
        with store.reading() as session:
            verdict, whole = verify_entries(session, store)
            since = Book()
            for number, key, content, digest in page_after(session, 0)[:kept]:
                _check(since, number, key, content, digest)
                since.number, since.digest = number, digest
            other = Book(kept, "0" * 64, dict(since.accounts), dict(since.parts))
            assert verify_entries(session, store, since=since) == (verdict, whole)
            assert verdict.sound and whole.number == 5
            assert verify_entries(session, store, since=other)[0].sound == (kept == 1), (
                "sums of other lines; the first has none"
            )


@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("a/ledger.db", Home(Path("a/ledger.db"))),
        ("postgresql://h/db#s=a/w", Home(Path("a/w"), "postgresql://h/db", "s")),
    ],
)
def test_a_home_is_read_as_it_is_written(text: str, home: Home) -> None:
    assert Home.parse(text) == home and str(home) == text


def test_lines_after_one_that_is_known_are_checked(path: Path) -> None:
    with open_ledger(path) as ledger:
        for key in "abc":
            ledger.charge("t", Pure(1), key=key, what="a question")
        with ledger._store.reading() as session:
            rows = page_after(session, 0)
            for known in (2, 3, 5):
                number, _, _, digest = rows[known - 1]
                found = list(lines_after(session, LEDGER, (number, digest), "This", also=", key"))
                assert found == [(row[0], row[2], row[3], row[1]) for row in rows[known:]]
            for wrong, line in (((2, "0" * 64), 3), ((1, rows[1][3]), 2), ((0, ""), 1)):
                with pytest.raises(Unsound, match=f"This was edited or damaged, at entry {line}"):
                    next(lines_after(session, LEDGER, wrong, "This"))
    with sqlite3.connect(path) as file:
        file.execute("DROP TRIGGER IF EXISTS no_delete")
        file.execute("DELETE FROM lines WHERE number = 4")
    file.close()
    with sqlite3.connect(path) as file:
        session = SimpleNamespace(rows=lambda query, values: file.execute(query, values).fetchall())
        with pytest.raises(Unsound, match="at entry 4"):
            list(lines_after(session, LEDGER, (2, rows[1][3]), "This"))  # type: ignore[arg-type]
    file.close()


def test_a_home_makes_its_database_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "x.db")
    assert home.find(LEDGER) is None
    home.find_or_create(LEDGER).close()
    before = home.path.read_bytes()
    for _ in range(2):
        found = home.find_or_create(LEDGER)
        assert found.rows("SELECT COUNT(*) FROM lines") == [(1,)]
        found.close()
        monkeypatch.setattr(Home, "find", lambda self, contents: None)  # another process comes in between
    assert home.path.read_bytes() == before
    with pytest.raises(LedgerError):
        Home(tmp_path / "nowhere" / "x.db").find_or_create(LEDGER)

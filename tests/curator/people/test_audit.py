"""The audit log: one chain, whoever writes; nobody changes a line unseen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.curator.people.places import Place

from discreet.curator.people.audit import Audit
from discreet.curator.people.state import State
from discreet.errors import LedgerError, Unsound

WRITER = """
import sys
from pathlib import Path
from tests.curator.people.places import Place
from discreet.curator.people.audit import Audit
folder, address = sys.argv[1:]
state = Place(Path(folder), address or None).open()
audit = Audit(state)
print("ready", flush=True)
for n in range(40):
    audit.write("theirs", "count", {"n": str(n)})
state.close()
"""


@pytest.fixture
def audit(state: State) -> Audit:
    made = Audit(state)
    for n in range(5):
        made.write(("ann", "bob")[n % 2], "ask", {"table": f"t{n}"}, well=n != 3)
    return made


def test_lines_come_back_as_they_were_written(audit: Audit) -> None:
    lines = audit.lines()
    assert [line.number for line in lines] == [1, 2, 3, 4, 5]
    assert [line.who for line in lines] == ["ann", "bob", "ann", "bob", "ann"]
    assert [line.well for line in lines] == [True, True, True, False, True]
    assert lines[2].about == {"table": "t2"}
    assert lines[2].action == "ask"
    assert lines[0].at <= lines[4].at
    assert audit.verify().sound
    assert audit.verify().lines == 5


def test_lines_are_read_a_page_at_a_time_in_either_order_and_by_person(audit: Audit) -> None:
    def shown(**asked: object) -> list[int]:
        return [line.number for line in audit.lines(**asked)]  # type: ignore[arg-type]

    assert shown(most=2) == [1, 2]
    assert shown(most=2, after=2) == [3, 4]
    assert shown(most=2, newest_first=True) == [5, 4]
    assert shown(most=2, newest_first=True, after=4) == [3, 2]
    assert shown(who="bob") == [2, 4]
    assert shown(who="bob", newest_first=True, after=4) == [2]
    assert shown(who="nobody") == []


def test_what_is_odd_is_cut_or_replaced_and_never_lost(audit: Audit) -> None:
    audit.write("x" * 500 + "\0", "a\nb", {"k\0": "v" * 5000, "half": "\ud800", "wide": "ü – ×"})
    line = audit.lines(after=5)[0]
    assert (line.who, line.action) == ("x" * 60, "a?b")
    assert line.about == {"k?": "v" * 2000, "half": "?", "wide": "ü – ×"}
    assert audit.lines(who="x" * 500)[0].number == 6
    assert audit.verify().sound


@pytest.mark.parametrize("sql", ["UPDATE audit SET who = 'eve'", "DELETE FROM audit WHERE number = 5"])
def test_the_database_refuses_to_change_a_line(audit: Audit, state: State, sql: str) -> None:
    with pytest.raises(LedgerError, match="append-only"), state.writing() as session:
        session.run(sql, [()])
    assert audit.verify().sound


@pytest.mark.parametrize(
    ("sql", "line", "problem"),
    [
        ("UPDATE audit SET content = replace(content, 't2', 't9') WHERE number = 3", 3, "digest"),
        ("UPDATE audit SET digest = 'x' || substr(digest, 2) WHERE number = 2", 2, "digest"),
        ("UPDATE audit SET who = 'eve' WHERE number = 4", 4, "another name"),
        ("DELETE FROM audit WHERE number = 2", 2, "missing"),
        ("DELETE FROM audit WHERE number = 1", 1, "missing"),
    ],
)
def test_a_change_by_somebody_with_full_access_is_found(
    audit: Audit, place: Place, sql: str, line: int, problem: str
) -> None:
    place.untie()
    with place.outside() as run:
        run(sql)
    verdict = audit.verify()
    assert (verdict.line, verdict.lines) == (line, line - 1)
    assert problem in verdict.problem
    with pytest.raises(Unsound, match=f"audit log was edited or damaged, at entry {line}") as error:
        place.open()
    assert "newest copy" in error.value.hint


@pytest.mark.parametrize("left", [0, 4])
def test_a_log_that_was_cut_short_is_noticed_when_it_is_opened(audit: Audit, place: Place, left: int) -> None:
    place.untie()
    with place.outside() as run:
        run(f"DELETE FROM audit WHERE number > {left}")
    assert audit.verify().sound  # a shorter chain is a chain
    with pytest.raises(Unsound, match=f"entry 5 had been written to it, and it ends at entry {left}"):
        place.open()
    with pytest.raises(Unsound, match="Entry 5 of the audit log is gone"):
        audit.write("eve", "cover up")  # else the log would soon be as long as it was


def test_an_old_copy_of_the_service_s_database_is_noticed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with closing(place.open()) as state:
        Audit(state).write("ann", "ask")
    shutil.copy(tmp_path / "service.db", tmp_path / "copy")
    with closing(place.open()) as state:
        Audit(state).write("ann", "ask")
    shutil.copy(tmp_path / "copy", tmp_path / "service.db")
    with pytest.raises(Unsound, match="entry 2 had been written to it, and it ends at entry 1"):
        place.open()
    (tmp_path / "service.db").unlink()
    with pytest.raises(Unsound, match="with 2 entries, is gone"):
        place.open()


def test_a_log_whose_writer_was_killed_raises_no_alarm(place: Place, state: State) -> None:
    code = WRITER.replace("for n in range(40)", "for n in __import__('itertools').count()")
    assert code != WRITER
    for lines in (10, 30, 50):
        command = [sys.executable, "-c", code, str(place.folder), place.address or ""]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            while len(Audit(state).lines()) < lines:
                pass
            other.kill()
        place.open().close()


def test_two_processes_and_many_threads_keep_one_chain(place: Place, state: State) -> None:
    audit = Audit(state)
    command = [sys.executable, "-c", WRITER, str(place.folder), place.address or ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: audit.write("ours", "count", {"n": str(n)}), range(80)))
    assert other.returncode == 0
    assert audit.verify().sound
    theirs = [line.about["n"] for line in audit.lines(who="theirs")]
    assert theirs == [str(n) for n in range(40)]
    assert {line.about["n"] for line in audit.lines(who="ours")} == {str(n) for n in range(80)}
    assert len(audit.lines()) == 120

"""Reports are kept durably, once each, and only those that a device can have made."""

from __future__ import annotations

import json
import os

import pytest
from tests.collect.survey.surveys import INCOME, survey

from discreet.errors import BadInput, DataError, NotAllowed, NotFound
from discreet.verbs.collect.survey.file import EXAMPLE
from discreet.verbs.collect.survey.inbox import Inbox, default_reports_path, read_batches, read_codes

SURVEY = survey(*EXAMPLE, INCOME, epsilon=4)
GOOD = {"like": 1, "albums": "ff07", "gender": 2, "age": "000000", "income": 1}


def sent(number=1, code=None, **changed):
    return {"survey": SURVEY.fingerprint, "id": f"{number:032x}", "code": code, "reports": GOOD} | changed


def kept(path):
    return sum(people for people, _ in read_batches(SURVEY, path))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "music.reports.jsonl"


def test_a_report_is_on_the_disk_and_counts_once(path):
    with Inbox(SURVEY, path) as inbox:
        inbox.receive(sent(1))
        inbox.receive(sent(2))
        inbox.receive(sent(1, reports=GOOD | {"like": 0}))
        assert kept(path) == len(inbox) == 2
    with Inbox(SURVEY, path) as inbox:  # also after it was started again
        inbox.receive(sent(2))
        inbox.receive(sent(3))
    [(people, columns)] = read_batches(SURVEY, path)
    assert people == 3
    assert columns["like"].to_pylist() == [1, 1, 1]
    assert columns["albums"].to_pylist() == [b"\xff\x07"] * 3


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"survey": "0" * 64}, "has changed"),
        ({"id": "1"}, "32 hexadecimal"),
        ({"id": 1}, "id has the wrong type"),
        ({"code": "x"}, "no codes"),
        ({"more": 1}, "unknown field"),
        ({"reports": {}}, "does not match the survey's questions"),
        ({"reports": {"like": 1}}, "does not match the survey's questions"),
        ({"reports": GOOD | {"other": 1}}, "does not match the survey's questions"),
        ({"reports": GOOD | {"like": 2}}, "unknown value"),
        ({"reports": GOOD | {"like": -1}}, "whole number"),
        ({"reports": GOOD | {"like": 2**64}}, "whole number"),
        ({"reports": GOOD | {"like": True}}, "whole number"),
        ({"reports": GOOD | {"like": 0.5}}, "whole number"),
        ({"reports": GOOD | {"like": None}}, "whole number"),
        ({"reports": GOOD | {"income": 2}}, "impossible number"),
        ({"reports": GOOD | {"albums": "ff08"}}, "does not have"),
        ({"reports": GOOD | {"albums": "ff"}}, "4 hexadecimal"),
        ({"reports": GOOD | {"albums": "FF07"}}, "4 hexadecimal"),
        ({"reports": GOOD | {"albums": 7}}, "4 hexadecimal"),
    ],
)
def test_what_no_device_can_have_made_is_refused_and_not_written(path, changed, says):
    with Inbox(SURVEY, path) as inbox:
        with pytest.raises(BadInput, match=says):
            inbox.receive(sent() | changed)
        with pytest.raises(BadInput):
            inbox.receive([])
    assert kept(path) == 0


def test_if_one_question_is_drawn_a_report_is_about_one(path):
    drawn = survey(*EXAMPLE, share="sampled")
    with Inbox(drawn, path) as inbox:
        inbox.receive(sent(survey=drawn.fingerprint, reports={"gender": 2}))
        for wrong in ({}, {"gender": 1, "like": 1}, {"other": 1}):
            with pytest.raises(DataError, match="does not match the survey's questions"):
                inbox.receive(sent(2, survey=drawn.fingerprint, reports=wrong))


def test_a_code_is_used_once_and_does_not_stand_beside_its_report(path, tmp_path):
    (tmp_path / "codes.txt").write_text("one\ntwo\n")
    codes = read_codes(tmp_path / "codes.txt")
    with Inbox(SURVEY, path, codes) as inbox:
        inbox.receive(sent(1, "one"))
        inbox.receive(sent(1, "one"))  # sent again, since the receipt was lost
        for code, says in (
            (None, "not on the list"),
            ("\ud800", "not on the list"),
            ("three", "not on the list"),
            ("one", "has been used"),
        ):
            with pytest.raises(NotAllowed, match=says):
                inbox.receive(sent(2, code))
    with Inbox(SURVEY, path, codes) as inbox:
        with pytest.raises(NotAllowed, match="has been used"):
            inbox.receive(sent(3, "one"))
        inbox.receive(sent(4, "two"))
    assert kept(path) == 2
    assert "one" not in path.read_text()
    with pytest.raises(BadInput, match="collected with one-time codes"):
        Inbox(SURVEY, path)
    with Inbox(SURVEY, tmp_path / "other.jsonl"):
        pass
    with pytest.raises(BadInput, match="collected without codes"):
        Inbox(SURVEY, tmp_path / "other.jsonl", codes)
    with pytest.raises(NotFound):
        read_codes(tmp_path / "none.txt")


def test_names_with_dots_have_files_of_their_own(tmp_path):
    """Two files of reports that differ behind a dot: the codes of one are not used up by the other."""
    for name in ("music.1", "music.2"):
        with Inbox(SURVEY, tmp_path / name, ["one"]) as inbox:
            inbox.receive(sent(1, "one"))
    surveys = [tmp_path / "music.v1", tmp_path / "music.v2", tmp_path / "music.toml", tmp_path / "music.v1.toml"]
    assert [default_reports_path(each).name for each in surveys] == [
        "music.v1.reports.jsonl",
        "music.v2.reports.jsonl",
        "music.reports.jsonl",
        "music.v1.reports.jsonl",
    ]


def test_nothing_says_in_which_order_codes_were_used(path):
    """By their order, each could be laid beside its report."""
    codes = [f"code {number}" for number in range(40)]
    left = []
    for order in (codes, codes[::-1]):
        with Inbox(SURVEY, path, codes) as inbox:
            for number, code in enumerate(order[:30]):
                inbox.receive(sent(number, code))
        with Inbox(SURVEY, path, codes) as inbox, pytest.raises(NotAllowed, match="has been used"):
            inbox.receive(sent(99, order[0]))
        left.append(path.with_name("music.reports.jsonl.used").read_text().splitlines())
        path.unlink()
        path.with_name("music.reports.jsonl.used").unlink()
    assert [line.endswith("x") for line in left[0]].count(True) == 30
    assert left[0] == sorted(left[0])
    assert [line[:64] for line in left[0]] == [line[:64] for line in left[1]]


def test_a_list_of_codes_may_grow_and_may_not_be_broken(path):
    with Inbox(SURVEY, path, ["one", "old"]) as inbox:
        inbox.receive(sent(1, "one"))
    with Inbox(SURVEY, path, ["two"]) as inbox:
        with pytest.raises(NotAllowed, match="not on the list"):
            inbox.receive(sent(2, "old"))
        with pytest.raises(NotAllowed, match="has been used"):
            inbox.receive(sent(2, "one"))
        inbox.receive(sent(2, "two"))
    path.with_name("music.reports.jsonl.used").write_text("one\n")
    with pytest.raises(DataError, match="does not list the used codes"):
        Inbox(SURVEY, path, ["one"])


def test_a_report_that_could_not_be_kept_may_come_again_with_its_code(path, monkeypatch):
    with Inbox(SURVEY, path, ["one", "two"]) as inbox:
        monkeypatch.setattr(os, "write", lambda file, data: _full())
        with pytest.raises(OSError, match="full"):
            inbox.receive(sent(1, "one"))
        monkeypatch.undo()
        with pytest.raises(NotAllowed, match="has been used"):
            inbox.receive(sent(2, "one"))
        inbox.receive(sent(3, "two"))
        inbox.receive(sent(1, "one"))
        with pytest.raises(NotAllowed, match="has been used"):
            inbox.receive(sent(2, "one"))
    assert kept(path) == 2


def test_a_line_that_a_crash_left_unfinished_is_cut_off(path):
    with Inbox(SURVEY, path) as inbox:
        inbox.receive(sent(1))
    with path.open("a") as file:
        file.write('{"id": "0000')
    assert kept(path) == 1
    with Inbox(SURVEY, path) as inbox:
        inbox.receive(sent(2))
    assert kept(path) == 2


def test_a_report_that_cannot_be_kept_leaves_nothing(path, monkeypatch):
    with Inbox(SURVEY, path) as inbox:
        whole = os.write
        monkeypatch.setattr(os, "write", lambda file, data: whole(file, data[:10]) and _full())
        with pytest.raises(OSError, match="full"):
            inbox.receive(sent(1))
        monkeypatch.undo()
        inbox.receive(sent(1))
    assert kept(path) == 1


def _full():
    raise OSError("the disk is full")


def test_one_process_collects_and_only_for_the_survey_as_it_was(path):
    with Inbox(SURVEY, path), pytest.raises(BadInput, match="Another process"):
        Inbox(SURVEY, path)
    with pytest.raises(DataError, match="do not belong to the current version of this survey"):
        Inbox(survey(), path)
    with Inbox(SURVEY, path):  # what could not be opened was let go of
        pass
    path.write_text(path.read_text() + "[]\n")
    with pytest.raises(DataError, match="cannot be read"):
        Inbox(SURVEY, path)
    path.write_text(path.read_text().replace("[]", json.dumps({"id": "0" * 32})))
    with pytest.raises(BadInput, match="no field 'reports'"):
        Inbox(SURVEY, path)

"""Saved questions: they last, belong to one person, and are replaced under the same name."""

from dataclasses import replace

import pytest

from discreet.curator import saved_questions
from discreet.curator.people.state import State
from discreet.curator.saved_questions import SavedQuestion, SavedQuestions
from discreet.errors import BadInput, NotFound

ONE = SavedQuestion(
    "By ward; it's", "SELECT ward, COUNT(*) AS n\nFROM visits\nGROUP BY ward", "0.1", "1e-8", '{"a": 1}'
)


def untimed(found: list[SavedQuestion]) -> list[SavedQuestion]:
    return [replace(one, at=None) for one in found]


def test_they_last_and_belong_to_one_person(place):
    with_others = place.open()
    saved = SavedQuestions(with_others)
    saved.save("ann", ONE)
    saved.save("ann", replace(ONE, name="Another"))
    saved.save("ben", replace(ONE, question="SELECT 1"))
    with_others.close()
    again: State = place.open()
    try:
        found = SavedQuestions(again)
        assert untimed(found.all("ann")) == [replace(ONE, name="Another"), ONE]
        assert all(one.at is not None for one in found.all("ann"))
        assert [one.question for one in found.all("ben")] == ["SELECT 1"]
        found.delete("ann", ONE.name)
        assert [one.name for one in found.all("ann")] == ["Another"]
        assert [one.name for one in found.all("ben")] == [ONE.name]
        with pytest.raises(NotFound):
            found.delete("ann", ONE.name)
    finally:
        again.close()


def test_the_same_name_replaces(state):
    saved = SavedQuestions(state)
    saved.save("ann", ONE)
    saved.save("ann", replace(ONE, epsilon="0.5"))
    assert untimed(saved.all("ann")) == [replace(ONE, epsilon="0.5")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": " x"},
        {"name": "a\nb"},
        {"name": "x" * 121},
        {"question": " "},
        {"question": "x" * 50_001},
        {"choices": "\0"},
    ],
)
def test_what_cannot_be_saved_is_refused(state, wrong):
    saved = SavedQuestions(state)
    with pytest.raises(BadInput):
        saved.save("ann", replace(ONE, **wrong))
    assert saved.all("ann") == []


def test_there_are_only_so_many(state, monkeypatch):
    monkeypatch.setattr(saved_questions, "MOST", 2)
    saved = SavedQuestions(state)
    for name in ("a", "b", "a"):
        saved.save("ann", replace(ONE, name=name))
    with pytest.raises(BadInput, match="Delete some first"):
        saved.save("ann", replace(ONE, name="c"))
    saved.save("ben", ONE)

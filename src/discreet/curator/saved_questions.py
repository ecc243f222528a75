"""Saved questions: SQL that someone wants to ask again, with the price they chose, in the service's database.

A saved question is text of its owner and says nothing about rows: nothing was asked when it was saved. No one but its
owner sees it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from discreet.budget.entries import require_name
from discreet.budget.store import Session
from discreet.curator.people.state import State
from discreet.errors import BadInput, NotFound

MOST = 200
"""Most saved questions of one person."""
_LONGEST_NAME = 120
_LONGEST = 50_000
"""Longest question and choices, characters."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS saved_questions (person text NOT NULL, name text NOT NULL, question text NOT NULL, "
    "epsilon text NOT NULL, delta text NOT NULL, choices text NOT NULL, at text NOT NULL, PRIMARY KEY (person, name))"
)
_ALL = "SELECT name, question, epsilon, delta, choices, at FROM saved_questions WHERE person = ? ORDER BY at DESC, name"
_ADD = "INSERT INTO saved_questions (person, name, question, epsilon, delta, choices, at) VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class SavedQuestion:
    """A question under a name of its owner's."""

    name: str
    question: str
    epsilon: str
    """Epsilon to spend on it, as it was typed."""
    delta: str
    choices: str = ""
    """What was chosen in the question builder, as JSON; empty if the SQL was written by hand."""
    at: dt.datetime | None = None
    """When it was saved; ``None`` before."""


class SavedQuestions:
    """The saved questions of everyone, each for its owner alone."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(_TABLE)

    def all(self, person: str) -> list[SavedQuestion]:
        """Someone's, the latest first."""
        return [_saved(row) for row in self._state.rows(_ALL, (person,))]

    def save(self, person: str, one: SavedQuestion) -> None:
        """Save a question; under a name that is taken it replaces the older one."""
        if len(require_name(one.name, "A saved question")) > _LONGEST_NAME:
            raise BadInput(f"The name of a saved question has at most {_LONGEST_NAME} characters.")
        if not one.question.strip():
            raise BadInput("There is no question to save.", hint="Build one, or write it in SQL.")
        texts = (one.question, one.epsilon, one.delta, one.choices)
        if sum(map(len, texts)) > _LONGEST or any("\0" in text for text in texts):
            raise BadInput("This question is too long to be saved.")
        now = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
        self._state.change(lambda session: _save(session, person, (one.name, *texts, now)))

    def delete(self, person: str, name: str) -> None:
        """Delete one of someone's; an error if there is none of this name."""

        def change(session: Session) -> None:
            if not _has(session, person, name):
                raise NotFound("There is no saved question of this name.")
            session.run("DELETE FROM saved_questions WHERE person = ? AND name = ?", [(person, name)])

        self._state.change(change)


def _has(session: Session, person: str, name: str) -> bool:
    return bool(session.rows("SELECT 1 FROM saved_questions WHERE person = ? AND name = ?", (person, name)))


def _save(session: Session, person: str, row: tuple[str, ...]) -> None:
    if not _has(session, person, row[0]):
        [(count,)] = session.rows("SELECT COUNT(*) FROM saved_questions WHERE person = ?", (person,))
        if count >= MOST:
            raise BadInput(f"You have {MOST} saved questions, and can have no more.", hint="Delete some first.")
    session.run("DELETE FROM saved_questions WHERE person = ? AND name = ?", [(person, row[0])])
    session.run(_ADD, [(person, *row)])


def _saved(row: tuple[Any, ...]) -> SavedQuestion:
    name, question, epsilon, delta, choices, at = row
    return SavedQuestion(name, question, epsilon, delta, choices, dt.datetime.fromisoformat(at))

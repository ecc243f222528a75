"""Saved questions of anyone who is signed in: no one sees another's, and saving one asks nothing."""

from __future__ import annotations

from discreet.curator.people.person import Person
from discreet.curator.people.state import State
from discreet.curator.saved_questions import SavedQuestion, SavedQuestions
from discreet.service.operations.permissions import Permissions


class SavedQuestionOperations:
    """What someone may do with their saved questions."""

    def __init__(self, state: State, may: Permissions) -> None:
        self._saved, self._may = SavedQuestions(state), may

    def all(self, who: Person) -> list[SavedQuestion]:
        """Their saved questions, the latest first."""
        self._may.require_asker(who)
        return self._saved.all(who.name)

    def save(self, who: Person, one: SavedQuestion) -> None:
        """Save a question; under a name that is taken it replaces the older one."""
        self._may.require_asker(who)
        self._saved.save(who.name, one)

    def delete(self, who: Person, name: str) -> None:
        """Delete a saved question."""
        self._may.require_asker(who)
        self._saved.delete(who.name, name)

"""What every auditor is: it weighs questions about one column by their sets and by what was answered before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Protocol

from discreet.verbs.ask.query_auditing.classes import Bools, Ints


@dataclass(frozen=True)
class Part:
    """One figure that is asked of the column: which, and of which classes."""

    aggregate: str
    """``sum``, ``max`` or ``min``."""
    asked: Bools
    """By class, after all sets of the question were split off."""


class Verdict(Enum):
    """What an auditor says of a question before anybody has looked at its answer."""

    ANSWER = "answer"
    DENY = "deny"
    LOOK = "look"
    """The answer itself decides: only where the holder agreed to that; see ``bounded.py``."""
    CLOSED = "closed"
    """The column was closed by a denial after a look at an answer."""


class Auditor(Protocol):
    """Decides for one column of one table, or for several together. It sees no values: only sets, and answers.

    Why a denial by ``weigh`` tells nothing. It has nothing to go by but what all who ask, together, can know too: the
    sets, which public columns make, and the answers that were given. They could work the denial out themselves, so it
    is no news to them (a simulatable auditor; Kenthapadi, Mishra and Nissim 2005). Of sums and extremes that is all.

    ``bears`` sees an answer that was not given yet, so a denial by it depends on the data: it is not simulatable. Only
    columns that are watched over with ``look`` have it.
    """

    def widen(self, parents: Ints) -> None:
        """Classes were split: the new ones, at the end, are in all the questions that their parents are in."""

    def weigh(self, parts: Sequence[Part]) -> Verdict:
        """Whether all of a question may be answered."""

    def bears(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> bool:
        """Whether these answers may be given, where ``weigh`` said ``LOOK``."""

    def learn(self, parts: Sequence[Part], answers: Sequence[Fraction]) -> None:
        """These were answered."""

    def close(self) -> None:
        """A question was denied after a look at its answer."""

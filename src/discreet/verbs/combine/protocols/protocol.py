"""What every protocol is: a name, what each party does, and what is promised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total


class Protocol(ABC):
    """A way to add up vectors. Small, frozen, and made of the manifest's parameters."""

    name: ClassVar[str]
    title: ClassVar[str]
    """In a few words, for people who choose one."""
    drops: ClassVar[bool] = False
    """Whether parties may leave on the way."""

    @abstractmethod
    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        """What the party at ``seat`` does, who brings ``value`` (its elements reduced); gives the total."""

    @abstractmethod
    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """The largest coalitions that learn no more than their own inputs and the result, by the module's argument.

        ``symbolic/`` computes the same from the code; tests compare the two.
        """

    def adversary(self) -> str:
        """Against whom the promise holds: who follows the protocol and who need not, as a full sentence."""
        return "Every party follows the protocol, and may put together with others all that it saw (semi-honest)."

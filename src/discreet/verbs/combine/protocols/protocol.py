"""Interface of secure-sum protocols: a party of one sum, what it does, and the total that comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, cast

from discreet.errors import Aborted
from discreet.verbs.combine.crypto import Crypto
from discreet.verbs.combine.effects import Body, Play
from discreet.verbs.combine.group import ModularGroup, Vector


@dataclass(frozen=True)
class Party:
    """A party of one secure sum. All but ``name`` and ``crypto`` is the same for all parties."""

    name: str
    parties: tuple[str, ...]
    """In the order of the manifest."""
    group: ModularGroup
    length: int
    crypto: Crypto
    prefix: str = ""
    """Prefix of every label and message kind, so that sums of one session share nothing."""
    threshold: int = 0
    """Number of parties that must stay to the end, where a protocol allows dropouts; 0 means all."""
    adder: str = ""
    """The party that adds up and broadcasts the total; empty means that each adds up for itself."""

    @property
    def others(self) -> tuple[str, ...]:
        """The other parties, in the manifest's order."""
        return tuple(party for party in self.parties if party != self.name)

    @property
    def least(self) -> int:
        """Number of parties that must stay to the end."""
        return self.threshold or len(self.parties)

    def kind(self, word: str) -> str:
        """Kind of a message, or label, with this sum's prefix."""
        return f"{self.prefix}{word}"

    def draw(self, word: str) -> Vector:
        """A uniform vector that this party alone knows."""
        return self.crypto.draw(self.kind(word), self.group, self.length)

    def mask(self, seed: object, word: str) -> Vector:
        """A uniform vector that anyone who knows the seed knows."""
        return self.crypto.mask(seed, self.kind(word), self.group, self.length)

    def vector_from(self, of: str, body: Body) -> Vector:
        """The vector in a party's message; aborts if there is none of the right length."""
        vector = cast("Vector", body.get("vector"))
        if not self.crypto.fits(vector, self.group, self.length):
            raise Aborted(f"{of} did not send {self.length:,} {self.group}.", culprits=(of,))
        return vector

    def sum(self, first: Vector, more: Iterable[Vector], less: Iterable[Vector] = ()) -> Vector:
        """``first`` plus all of ``more``, minus all of ``less``, with one new vector for all additions."""
        whole, fresh = first, False
        for vector in more:
            if fresh:
                whole += vector
            else:
                whole, fresh = whole + vector, True
        for vector in less:
            if fresh:
                whole -= vector
            else:
                whole, fresh = whole - vector, True
        return self.group.reduce(whole)


@dataclass(frozen=True)
class Total:
    """Total of a secure sum."""

    vector: Vector
    parties: tuple[str, ...]
    """Parties whose values are in it."""


class SumProtocol(ABC):
    """A protocol that adds up vectors, with the parameters that the manifest gives it."""

    name: ClassVar[str]
    title: ClassVar[str]
    """Short description, for people who choose one."""
    drops: ClassVar[bool] = False
    """Whether parties may drop out."""

    @abstractmethod
    def play(self, me: Party, value: Vector) -> Play[Total]:
        """Run the protocol as the party ``me``, who brings ``value`` (its elements reduced); gives the total."""

    @abstractmethod
    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Largest coalitions that learn no more than their own inputs and the result, by the module's argument.

        ``symbolic/`` computes the same from the code; tests compare the two.
        """

    def adversary(self) -> str:
        """Adversary model: who must follow the protocol and who need not, as a full sentence."""
        return "Every party follows the protocol, and may pool all that it saw with others (semi-honest)."

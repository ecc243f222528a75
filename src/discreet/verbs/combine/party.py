"""A party's place at one secure sum: who it is, who the others are, what is added, and its tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from discreet.errors import Aborted
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.group import Group, Vector
from discreet.verbs.combine.tools import Tools


@dataclass(frozen=True)
class Seat:
    """What a protocol is told, besides the party's own vector. All but ``name`` and ``tools`` is the same for all."""

    name: str
    parties: tuple[str, ...]
    """In the order of the manifest."""
    group: Group
    length: int
    tools: Tools
    prefix: str = ""
    """In front of every label and kind, so that sums of one session share nothing."""
    threshold: int = 0
    """How many parties must stay to the end, where a protocol can do without the others; 0 means all."""
    adder: str = ""
    """Who adds up and tells the others; nobody means that each does it."""

    @property
    def others(self) -> tuple[str, ...]:
        """Everybody else, in the manifest's order."""
        return tuple(party for party in self.parties if party != self.name)

    @property
    def least(self) -> int:
        """How many parties must stay to the end."""
        return self.threshold or len(self.parties)

    def kind(self, word: str) -> str:
        """A message's kind, or a label, in this sum."""
        return f"{self.prefix}{word}"

    def draw(self, word: str) -> Vector:
        """A uniform vector that this party alone knows."""
        return self.tools.draw(self.kind(word), self.group, self.length)

    def mask(self, seed: object, word: str) -> Vector:
        """A uniform vector that whoever knows the seed knows."""
        return self.tools.mask(seed, self.kind(word), self.group, self.length)

    def got(self, of: str, body: Body) -> Vector:
        """The vector in a party's message; the session ends if there is none of the right length."""
        vector = cast("Vector", body.get("vector"))
        if not self.tools.fits(vector, self.group, self.length):
            raise Aborted(f"{of} sent something else than {self.length:,} {self.group}.", culprits=(of,))
        return vector

    def sum(self, first: Vector, more: Iterable[Vector], less: Iterable[Vector] = ()) -> Vector:
        """``first`` plus all of ``more``, minus all of ``less``: one new vector, to which each is added in place."""
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
        return self.group.reduced(whole)


@dataclass(frozen=True)
class Total:
    """What comes out of a secure sum."""

    vector: Vector
    parties: tuple[str, ...]
    """Whose values are in it."""

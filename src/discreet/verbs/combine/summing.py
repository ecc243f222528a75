"""Secure sums of one session, one after the other, each under a prefix of its own.

Why several sums tell no more than their totals: labels, and so masks and seeds, of different sums differ, so that
nothing of one helps with another. But the totals of the same figures over different parties would: their difference
is what those who left brought. So parties may leave during the first sum only, as far as the threshold allows; all
who are in it must stay to the end of the others, or the session ends without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.distributed import Figures, parts
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.group import Group, Vector
from discreet.verbs.combine.party import Seat
from discreet.verbs.combine.protocols.parse import protocol
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.tools import Numeric

_WORD = 64


@dataclass(frozen=True)
class Summed:
    """A total, and whose figures are in it."""

    vector: Vector
    """64-bit integers, or Python's where they may be larger."""
    parties: tuple[str, ...]

    @property
    def values(self) -> list[int]:
        """The totals as Python's integers."""
        found: list[int] = self.vector.tolist()
        return found


class Summer:
    """Adds up figures with the other parties."""

    def __init__(self, terms: Terms, name: str, tools: Numeric) -> None:
        self.terms, self.name, self.tools = terms, name, tools
        self.parties = terms.parties
        """Who takes part in the next sum."""
        self.done = 0
        """How many sums there were."""
        self._protocol = protocol(terms.protocol)

    def total(
        self,
        values: Sequence[int] | Vector,
        low: int | Sequence[int],
        high: int | Sequence[int],
        noise: Sequence[Figures] = (),
    ) -> Play[Summed]:
        """The sum of all parties' figures, each between its ``low`` and ``high``.

        ``noise`` says what one unit changes in which of the figures, in their order; without it, or without an
        epsilon in the terms, the total is exact.
        """
        own, lows, wide = _above_low(values, low, high)
        extra, reach = self._noise(noise, len(own))
        group = Group.holding(len(self.parties) * wide + 2 * reach)
        vector = group.vector(own) if extra is None else group.reduced(group.vector(own) + group.vector(extra))
        total, parties = yield from self._add(vector, group)
        _require_possible(total, group, reach, len(parties) * wide)
        return Summed(_centred(total, group, reach, lows, len(parties)), parties)

    def parity(self, bits: Sequence[int]) -> Play[Summed]:
        """Of each place, whether an odd number of parties has a one there."""
        if not all(bit in (0, 1) for bit in bits):
            raise BadInput("A parity is of zeros and ones.")
        group = Group(1)
        total, parties = yield from self._add(group.vector(bits), group)
        return Summed(total.astype(np.int64), parties)

    def _add(self, vector: Vector, group: Group) -> Play[tuple[Vector, tuple[str, ...]]]:
        self.done += 1
        seat = Seat(
            self.name,
            self.parties,
            group,
            len(vector),
            self.tools,
            prefix=f"sum {self.done}/",
            threshold=self.terms.threshold if self.done == 1 and self.terms.threshold < len(self.parties) else 0,
            adder=self.terms.adder if self.terms.adder in self.parties else "",
        )
        total = yield from self._protocol.play(seat, vector)
        if self.name not in total.parties:
            raise Aborted(f"{self.name} was too late: the others went on without it.", culprits=[self.name])
        self.parties = total.parties
        return total.vector, total.parties

    def _noise(self, figures: Sequence[Figures], length: int) -> tuple[list[int] | None, int]:
        """This party's part of the noise, and how far the noise of all may reach."""
        made = parts(self.terms, figures) if figures else ()
        if not made:
            return None, 0
        entropy = self.tools.stream(f"noise {self.done + 1}")
        extra = [drawn for some, part in zip(figures, made, strict=True) for drawn in part.draws(some.length, entropy)]
        if len(extra) != length:
            raise BadInput(f"The noise is for {len(extra)} figures, not {length}.")
        return extra, max(part.reach(len(self.parties)) for part in made)


def _centred(total: Vector, group: Group, reach: int, lows: int | list[int], parties: int) -> Vector:
    """The totals that elements of the group stand for: noise may have brought some below zero by up to ``reach``."""
    if lows == 0 and not reach:
        return total
    if isinstance(lows, int) and group.bits < _WORD and abs(lows) * parties < 2 ** (_WORD - 2):
        return group.reduced(total + np.uint64(reach)).astype(np.int64) + (lows * parties - reach)
    each = [lows] * len(total) if isinstance(lows, int) else lows
    found = ((int(value) + reach) % group.modulus - reach for value in total.tolist())
    return np.array([value + parties * low for value, low in zip(found, each, strict=True)], dtype=object)


def _require_possible(total: Vector, group: Group, reach: int, most: int) -> None:
    """End the session over a total that no figures within the bounds have, with noise that ``reach`` further.

    The group has more elements than there can be totals: these are what a party can make that breaks the rules.
    """
    if int(group.reduced(total + group.vector([reach])).max(initial=0)) > most + 2 * reach:
        raise Aborted(
            "The total is none that figures within the bounds can have: somebody brought others.",
            hint="Nobody can tell who.",
        )


def _above_low(values: Any, low: Any, high: Any) -> tuple[Any, int | list[int], int]:
    """Each value above its lowest, the lowest values, and the largest distance from lowest to highest."""
    count = len(values)
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and max(-low, high) < 2 ** (_WORD - 2):
        if count and not low <= int(values.min()) <= int(values.max()) <= high:
            raise _outside()
        return values - low, low, high - low
    lows = [low] * count if isinstance(low, int) else list(low)
    highs = [high] * count if isinstance(high, int) else list(high)
    own = [int(value) - least for value, least in zip(values, lows, strict=True)]
    wides = [most - least for most, least in zip(highs, lows, strict=True)]
    if any(not 0 <= value <= wide for value, wide in zip(own, wides, strict=True)):
        raise _outside()
    return own, lows, max(wides, default=0)


def _outside() -> BadInput:
    return BadInput("A figure lies outside the bounds all parties know.", hint="Nothing was sent.")

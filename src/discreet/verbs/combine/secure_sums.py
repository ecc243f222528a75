"""The secure sums of one session, one after another, each under a prefix of its own.

Why several sums tell no more than their totals: labels, and so masks and seeds, of different sums differ, so that
nothing of one helps with another. But totals of the same figures over different parties would: their difference is the
input of those who dropped out. So parties may drop out during the first sum only, as far as the threshold allows; all
who are in it must stay to the end, or the session ends without a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.distributed_noise import FigureSensitivity, noise_shares
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.group import ModularGroup, Vector
from discreet.verbs.combine.protocols.protocol import Party
from discreet.verbs.combine.terms import Result, Terms

_WORD_BITS = 64


@dataclass(frozen=True)
class Totals:
    """Totals of one secure sum, and the parties whose figures are in them."""

    vector: Vector
    """64-bit integers, or Python's where they may be larger."""
    parties: tuple[str, ...]

    @property
    def values(self) -> list[int]:
        """The totals as Python's integers."""
        integers: list[int] = self.vector.tolist()
        return integers


class SecureSums:
    """One party's secure sums with the others."""

    def __init__(self, terms: Terms, name: str, crypto: NumericCrypto) -> None:
        self.terms, self.name, self.crypto = terms, name, crypto
        self.parties = terms.parties
        """Parties of the next sum."""
        self.completed = 0
        """Number of sums so far."""
        self._protocol = SUM_PROTOCOLS.parse(terms.protocol)

    def total(
        self,
        values: Sequence[int] | Vector,
        low: int | Sequence[int],
        high: int | Sequence[int],
        noise: Sequence[FigureSensitivity] = (),
    ) -> Play[Totals]:
        """Sum all parties' figures, each between its ``low`` and ``high``.

        ``noise`` has the sensitivities of the figures, in their order; without it, or without an epsilon in the terms,
        the total is exact.
        """
        own, lows, width = _offsets(values, low, high)
        extra, reach = self._noise(noise, len(own))
        group = ModularGroup.fitting(len(self.parties) * width + 2 * reach)
        vector = group.vector(own) if extra is None else group.reduce(group.vector(own) + group.vector(extra))
        total, parties = yield from self._add(vector, group)
        _require_possible(total, group, reach, len(parties) * width)
        return Totals(_signed_totals(total, group, reach, lows, len(parties)), parties)

    def parity(self, bits: Sequence[int]) -> Play[Totals]:
        """Parity of each bit: whether an odd number of parties has a one there."""
        if not all(bit in (0, 1) for bit in bits):
            raise BadInput("A parity needs zeros and ones.")
        group = ModularGroup(1)
        total, parties = yield from self._add(group.vector(bits), group)
        return Totals(total.astype(np.int64), parties)

    def result(self, value: Any, revealed: tuple[str, ...] = ()) -> Result:
        """Result of the session, about the parties that stayed; ``revealed`` is what every party saw besides."""
        return Result(value, self.parties, revealed)

    def _add(self, vector: Vector, group: ModularGroup) -> Play[tuple[Vector, tuple[str, ...]]]:
        self.completed += 1
        me = Party(
            self.name,
            self.parties,
            group,
            len(vector),
            self.crypto,
            prefix=f"sum {self.completed}/",
            threshold=self.terms.threshold if self.completed == 1 and self.terms.threshold < len(self.parties) else 0,
            adder=self.terms.adder if self.terms.adder in self.parties else "",
        )
        total = yield from self._protocol.play(me, vector)
        if self.name not in total.parties:
            raise Aborted(f"{self.name} was too late: the others continued without it.", culprits=[self.name])
        self.parties = total.parties
        return total.vector, total.parties

    def _noise(self, figures: Sequence[FigureSensitivity], length: int) -> tuple[list[int] | None, int]:
        """This party's noise shares, and a bound on the noise of all parties together."""
        made = noise_shares(self.terms, figures) if figures else ()
        if not made:
            return None, 0
        entropy = self.crypto.stream(f"noise {self.completed + 1}")
        extra = [drawn for some, part in zip(figures, made, strict=True) for drawn in part.draws(some.length, entropy)]
        if len(extra) != length:
            raise BadInput(f"The noise is for {len(extra)} figures, not {length}.")
        return extra, max(part.tail_bound(len(self.parties)) for part in made)


def _signed_totals(total: Vector, group: ModularGroup, reach: int, lows: int | list[int], parties: int) -> Vector:
    """Signed totals of group elements: noise may have brought some below zero by up to ``reach``."""
    if lows == 0 and not reach:
        return total
    if isinstance(lows, int) and group.bits < _WORD_BITS and abs(lows) * parties < 2 ** (_WORD_BITS - 2):
        return group.reduce(total + np.uint64(reach)).astype(np.int64) + (lows * parties - reach)
    each = [lows] * len(total) if isinstance(lows, int) else lows
    signed = ((int(value) + reach) % group.modulus - reach for value in total.tolist())
    return np.array([value + parties * low for value, low in zip(signed, each, strict=True)], dtype=object)


def _require_possible(total: Vector, group: ModularGroup, reach: int, most: int) -> None:
    """Abort on a total that no figures within the bounds can have, even with noise of up to ``reach``.

    The group has more elements than there are possible totals; only a party that breaks the rules makes one of those.
    """
    if int(group.reduce(total + group.vector([reach])).max(initial=0)) > most + 2 * reach:
        raise Aborted(
            "The total is impossible for values within the bounds: some party broke them.",
            hint="Which one is unknown.",
        )


def _offsets(values: Any, low: Any, high: Any) -> tuple[Any, int | list[int], int]:
    """Each value above its lower bound, the lower bounds, and the largest distance between bounds."""
    count = len(values)
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and max(-low, high) < 2 ** (_WORD_BITS - 2):
        if count and not low <= int(values.min()) <= int(values.max()) <= high:
            raise _out_of_bounds()
        return values - low, low, high - low
    lows = [low] * count if isinstance(low, int) else list(low)
    highs = [high] * count if isinstance(high, int) else list(high)
    own = [int(value) - least for value, least in zip(values, lows, strict=True)]
    wides = [most - least for most, least in zip(highs, lows, strict=True)]
    if any(not 0 <= value <= width for value, width in zip(own, wides, strict=True)):
        raise _out_of_bounds()
    return own, lows, max(wides, default=0)


def _out_of_bounds() -> BadInput:
    return BadInput("A figure lies outside the bounds all parties know.", hint="Nothing was sent.")

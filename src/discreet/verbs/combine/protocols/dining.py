"""*dining*: the dining cryptographers (Chaum 1988), which is *masks* modulo two.

Every two parties share a random bit for each place of the message; each party tells the parity of its bits, and
whoever has something to say adds its message. The parity of all that was told is the message, and nobody knows whose
it is; if several speak at once it is the parity of their messages.

Why the speaker stays hidden: the parity is the sum modulo two, so the argument is that of ``masks.py``: given the
message, every other choice of honest speakers that gives it is equally likely. All but one together know whether the
last one spoke, from the message itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import BadInput
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.masks import Masks


@dataclass(frozen=True)
class Dining(Masks):
    """Masks of single bits: a message whose speaker nobody knows, or a parity."""

    name: ClassVar[str] = "dining"
    title: ClassVar[str] = "a message of which nobody knows who sent it: masks modulo two"

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        """Masks over bits."""
        if seat.group.bits != 1:
            raise BadInput(
                f"The dining cryptographers add single bits, not {seat.group}.", hint="Use masks for numbers."
            )
        return (yield from super().play(seat, value))

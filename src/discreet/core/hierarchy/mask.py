"""Codes of a fixed length, such as zip codes, masked character by character: 13053, 1305*, 130**."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core import sql
from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.hierarchy import refuse, whole_numbers, wrong_other
from discreet.core.kind import Kind


@declare(HIERARCHIES, "mask", example='{ type = "mask", length = 5 }')
class Mask:
    """Level 1 hides ``steps[0]`` characters from the ``side`` named, and so on; by default one more a level.

    Texts of another length are unknown: their masks would tell the length.
    """

    length: int = parameter("Length of every value, characters.", least=1)
    steps: Sequence[int] | None = parameter(
        "Characters hidden on each level; default: one more each time.", default=None
    )
    side: str = parameter("Side from which characters are hidden.", default="right", choices=("left", "right"))
    character: str = parameter("Character shown in place of a hidden one.", default="*")
    other: str | None = parameter("Label of unknown values.", default=None)

    type: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT})

    def __post_init__(self) -> None:
        problems = wrong_other(self.other)
        if isinstance(self.length, bool) or not isinstance(self.length, int) or self.length < 1:
            problems.append(f"length must be a whole number of at least 1, got {self.length!r}")
        if self.side not in ("left", "right"):
            problems.append(f"side must be 'left' or 'right', got {self.side!r}")
        if not isinstance(self.character, str) or len(self.character) != 1 or self.character == "\0":
            problems.append(f"character must be a single character, got {self.character!r}")
        steps: tuple[int, ...] = ()
        if self.steps is not None:
            steps, wrong = whole_numbers(self.steps, "steps")
            problems += wrong
            if not problems and steps and steps[-1] >= self.length:
                problems.append(
                    f"steps must leave a character of {self.length}, got {steps[-1]}; hiding all of them is "
                    "the top level"
                )
        if self.other is not None and len(self.other) == self.length and self.character in self.other:
            problems.append(f"other must not look like a masked value, got {self.other!r}")
        refuse(self.type, problems)
        object.__setattr__(self, "steps", steps if self.steps is not None else self._one_by_one)

    @property
    def height(self) -> int:
        return len(self._steps) + 1

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        hidden = self._steps[level - 1]
        mask = self.character * hidden
        start = 1 if self.side == "right" else hidden + 1
        kept = exp.Substring(
            this=value.copy(), start=exp.Literal.number(start), length=exp.Literal.number(self.length - hidden)
        )
        return sql.joined(kept, mask) if self.side == "right" else sql.joined(mask, kept)

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        return exp.Length(this=value.copy()).eq(self.length)

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = {"length": self.length}
        if self._steps != self._one_by_one:
            found["steps"] = list(self._steps)
        if self.side != "right":
            found["side"] = self.side
        if self.character != "*":
            found["character"] = self.character
        return found

    @property
    def _steps(self) -> Sequence[int]:
        return self.steps or ()

    @property
    def _one_by_one(self) -> tuple[int, ...]:
        return tuple(range(1, self.length))

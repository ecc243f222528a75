"""What a measure of utility is: a name, a direction, a meaning, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from discreet.utility.pair import Pair


@dataclass(frozen=True)
class Figure:
    """What was measured, and what it is made of."""

    value: float
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A measure. It tells its own direction, so that nobody has to guess whether much is good."""

    name: str
    meaning: str
    """A sentence for whoever is no statistician."""
    measure: Callable[[Pair], Figure]
    """A ``DataError`` where it cannot be measured, which is not the same as a bad figure."""
    best: float = 0.0
    """What a copy of the original gets."""
    worst: float | None = 1.0
    """What cannot be fallen below; ``None``: it can always be worse."""
    record_wise: bool = False
    """Whether it must know which released row is whose."""

    @property
    def direction(self) -> str:
        """Which way is good."""
        less = self.worst is None or self.best < self.worst
        ends = f"{self.best:g} is best" + ("" if self.worst is None else f", {self.worst:g} worst")
        return f"{'less' if less else 'more'} is better ({ends})"

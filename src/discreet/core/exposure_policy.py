"""What a release may give away together with earlier releases of the same people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.core.exact import Number, exact
from discreet.errors import BadInput

_CHOICES = ("refuse", "warn")


@dataclass(frozen=True)
class ExposurePolicy:
    """Limits of joint exposure (``releases/exposure.py``)."""

    smallest_group: int = 3
    """Fewest people of whom it may become known how many of them have a value. Of two, each would know the other's."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    """Sensitive values that count, by column; of a column that is not named, all do."""
    share: Number = Fraction(1, 10)
    """How near one contributor may come to another's amount: p of the p% rule, as a share."""
    undecided: str = "refuse"
    """What happens if it cannot be decided: ``refuse`` or ``warn``."""
    seconds: float = 60.0
    """Longest time to decide."""
    despite: str = ""
    """Why something is released although it is exposed or undecided; the statement and the register quote it."""

    def __post_init__(self) -> None:
        if isinstance(self.smallest_group, bool) or not isinstance(self.smallest_group, int) or self.smallest_group < 1:
            raise BadInput(f"smallest_group is a number of people, at least 1, not {self.smallest_group!r}.")
        if self.undecided not in _CHOICES:
            raise BadInput(f"undecided is {' or '.join(_CHOICES)}, not {self.undecided!r}.")
        object.__setattr__(self, "share", exact(self.share, "share"))
        if not 0 < exact(self.share, "share") <= 1:
            raise BadInput(f"share is above 0 and at most 1, not {self.share}.")
        if not isinstance(self.values, Mapping) or any(isinstance(one, str) for one in self.values.values()):
            raise BadInput("values lists the sensitive values that count, by column.")
        if not isinstance(self.despite, str) or (self.despite and not self.despite.strip()):
            raise BadInput("despite is a reason in words.")

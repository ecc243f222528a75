"""What a release may give away together with earlier releases of the same people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.core.exact import Number, exact
from discreet.core.text import meant
from discreet.errors import BadInput

_CHOICES = ("refuse", "warn")
_ROLES = ("steward", "analyst", "auditor")


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
    """Longest time to decide, in CPU seconds of the thread that decides, so that a busy machine decides alike."""
    override: Sequence[str] = ("steward",)
    """Roles of the service whose jobs may give a reason to release something all the same."""
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
        listed = list(self.values.values()) if isinstance(self.values, Mapping) else [None]
        if not all(isinstance(one, list | tuple) for one in listed):
            raise BadInput("values lists the sensitive values that count, by column.")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float | Decimal) or self.seconds <= 0:
            raise BadInput(f"seconds is a time above 0, not {self.seconds!r}.")
        object.__setattr__(self, "seconds", float(self.seconds))
        if not isinstance(self.override, list | tuple) or any(one not in _ROLES for one in self.override):
            raise BadInput(f"override lists roles: {', '.join(_ROLES)}.")
        object.__setattr__(self, "override", tuple(self.override))
        if not isinstance(self.despite, str) or (self.despite and not self.despite.strip()):
            raise BadInput("despite is a reason in words.")

    @classmethod
    def from_dict(cls, data: object) -> ExposurePolicy:
        """The policy that the table ``[exposure]`` of a workspace or card file declares; the rest is as by default."""
        known = [one.name for one in fields(cls) if one.name != "despite"]
        if not isinstance(data, Mapping):
            raise BadInput("exposure is a table.", hint=f"It may have {', '.join(known)}.")
        for name in data:
            if name not in known:
                raise BadInput(
                    f"[exposure] knows no {name!r}{meant(str(name), known)}.", hint=f"It may have {', '.join(known)}."
                )
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "smallest_group": self.smallest_group,
            "values": {name: list(values) for name, values in self.values.items()},
            "share": str(self.share),
            "undecided": self.undecided,
            "seconds": self.seconds,
            "override": list(self.override),
        }

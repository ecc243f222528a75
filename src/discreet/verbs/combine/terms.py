"""What the parties of a session agree on, apart from where they are and which keys they have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from discreet.errors import BadInput

_FEWEST, _MOST = 2, 1000


@dataclass(frozen=True)
class Terms:
    """Everything that decides what is computed and how; the same for all parties."""

    parties: tuple[str, ...]
    protocol: str = "masks"
    """A protocol and its parameters, such as ``paths count=3``."""
    function: str = "sum"
    """A function and its parameters, such as ``histogram of=age edges=0,18,65,120``."""
    low: Fraction | None = None
    """No value is smaller; what is, is an error before anything is sent."""
    high: Fraction | None = None
    decimals: int = 0
    """How many decimal places are kept: values are added as integers, exactly."""
    threshold: int = 0
    """How many parties must stay to the end, where the protocol can do without the others; 0 means all."""
    adder: str = ""
    """Who adds up and tells the others; nobody means that each does it."""
    epsilon: Fraction | None = None
    """The loss of the noise inside the result, for each party's unit; none means an exact result."""
    delta: Fraction = Fraction(0)
    """0 means Laplace noise."""
    honest: int = 0
    """How many of those who stay are taken to add their noise and tell nobody; 0 means all that
    must stay but one, who may be whoever looks at the result."""
    unit: str = "person"
    """Whom the noise protects."""

    def __post_init__(self) -> None:
        if not _FEWEST <= len(self.parties) <= _MOST or len(set(self.parties)) < len(self.parties):
            raise BadInput(f"A session has {_FEWEST} to {_MOST:,} parties with different names.")
        if self.threshold and not _FEWEST <= self.threshold <= len(self.parties):
            raise BadInput(f"The threshold is between {_FEWEST} and the number of parties, got {self.threshold}.")
        if self.adder and self.adder not in self.parties:
            raise BadInput(f"{self.adder} adds up and is not one of the parties.")

    def to_dict(self) -> dict[str, Any]:
        """This as plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

"""The seam between a table and every way to make it safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from discreet.core.statement import Claim
from discreet.core.table import Table
from discreet.verbs.tabulate.protection import Pattern, Protection
from discreet.verbs.tabulate.tables.cells import Cells

Progress = Callable[[float, str], None]
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Job:
    """A table to be made safe, and where it came from, if that is known."""

    cells: Cells
    protection: Protection
    source: Table | None = None
    by: tuple[tuple[str, ...], ...] = ()
    value: str | None = None
    weight: str | None = None
    """The column of sampling weights."""
    weights: _Numbers | None = None
    """Of each cell, what hiding or changing it costs, if somebody said."""
    seed: int | None = None
    secret: bytes | None = None
    """What the secret numbers of records are made of, if somebody said."""
    progress: Progress = field(default=lambda done, what: None)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is to be printed, and what may be said of it."""

    values: _Numbers
    hidden: _Numbers
    claims: tuple[Claim, ...] = ()
    caveats: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    """What the recipe says beyond the method's own parameters."""
    pattern: Pattern | None = None
    holder: Sequence[tuple[str, str]] = ()
    """What the holder alone may know."""
    secret: bytes | None = None
    """What the secret numbers of records were made of, where they were."""


class Way(Protocol):
    """One way to make a table safe."""

    name: ClassVar[str]
    protects: ClassVar[bool]
    """Whether it needs rules that say which cells are sensitive."""

    def apply(self, job: Job) -> Outcome:
        """What is to be printed instead of the table."""

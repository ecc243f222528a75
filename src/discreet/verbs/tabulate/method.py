"""Interface of table-protection methods (suppression, rounding, adjustment, cell keys, factors, record swapping)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from discreet.core.statement import Claim
from discreet.core.table import Table
from discreet.releases.method import Progress, silent
from discreet.verbs.tabulate.protection import Pattern, Protection
from discreet.verbs.tabulate.tables.cells import Cells

_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class ProtectionProblem:
    """Cells with their additivity relations and protection levels, and the microdata they came from if available."""

    cells: Cells
    protection: Protection
    source: Table | None = None
    by: tuple[tuple[str, ...], ...] = ()
    value: str | None = None
    weight: str | None = None
    """The column of sampling weights."""
    weights: _Numbers | None = None
    """Cost of suppressing or changing each cell; None for the method's default."""
    seed: int | None = None
    secret: bytes | None = None
    """The secret that record keys are derived from; None to draw one."""
    progress: Progress = silent


@dataclass(frozen=True, eq=False)
class ProtectedTable:
    """Values to publish, the suppression pattern, and the claims the method supports."""

    values: _Numbers
    hidden: _Numbers
    claims: tuple[Claim, ...] = ()
    caveats: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    recipe_details: Mapping[str, Any] = field(default_factory=dict)
    """What the recipe says beyond the method's own parameters."""
    pattern: Pattern | None = None
    holder: Sequence[tuple[str, str]] = ()
    """Facts for the holder alone, by name."""
    secret: bytes | None = None
    """The secret that record keys were derived from, if the method uses them."""


class TableMethod(Protocol):
    """A method that protects a table."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool]
    """Whether it needs rules that say which cells are sensitive."""

    def apply(self, job: ProtectionProblem) -> ProtectedTable:
        """What is to be published instead of the table."""

"""Interface of table-protection methods (suppression, rounding, adjustment, cell keys, factors, record swapping)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

from discreet.core.statement import Claim
from discreet.core.table import Table
from discreet.releases.method import Progress, silent
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers


@dataclass(frozen=True, eq=False)
class Protection:
    """For each cell, whether it must be hidden, and the interval an intruder must at least be left with.

    Of a sensitive cell with value a, an intruder who knows everything that is printed and ``lower`` and ``upper`` of
    every cell must hold every value from a - below to a + above possible.
    """

    sensitive: Numbers
    """bool."""
    below: Numbers
    above: Numbers
    """float64, in the units of the cells; 0 where the cell is not sensitive."""
    reasons: Mapping[int, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Why each sensitive cell is."""
    insiders: tuple[tuple[int, ...], ...] = ()
    """For each respondent who is alone in some cells: these cells. They know their figures although they are hidden,
    and every other sensitive cell must keep its interval from them too, but for those ``within``."""
    within: tuple[tuple[int, ...], ...] = ()
    """For each of ``insiders`` the sensitive totals that their cells are part of, which need not be kept from them:
    what others have in such a total lies in its other parts, and those that are sensitive are kept from the insider."""

    @cached_property
    def owners(self) -> dict[int, list[int]]:
        """For each cell that someone is alone in, the places of these insiders."""
        found: dict[int, list[int]] = {}
        for number, cells in enumerate(self.insiders):
            for cell in cells:
                found.setdefault(int(cell), []).append(number)
        return found

    @cached_property
    def spared(self) -> dict[int, frozenset[int]]:
        """For each cell the places of the insiders from whom it need not be kept: they know it, or it is ``within``."""
        found: dict[int, set[int]] = {}
        for of in (self.insiders, self.within):
            for number, cells in enumerate(of):
                for cell in cells:
                    found.setdefault(cell, set()).add(number)
        return {cell: frozenset(numbers) for cell, numbers in found.items()}


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which cells are hidden, and how good that is."""

    hidden: Numbers
    """bool; the sensitive cells are among them."""
    weight: float
    """Of the cells that were hidden although they are not sensitive."""
    bound: float
    """No pattern that protects has a smaller weight than this; minus infinity where nothing is known."""
    method: str

    @property
    def gap(self) -> float:
        """By how much of its weight the pattern may be worse than the best."""
        if self.weight <= 0:
            return 0.0
        return float(min(1.0, max(0.0, (self.weight - self.bound) / self.weight)))


@dataclass(frozen=True, eq=False)
class Intervals:
    """What an intruder can compute: of each cell the smallest and largest possible value; of a printed one, both are
    its value."""

    low: Numbers
    high: Numbers


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
    weights: Numbers | None = None
    """Cost of suppressing or changing each cell; None for the method's default."""
    seed: int | None = None
    secret: bytes | None = None
    """The secret that record keys are derived from; None to draw one."""
    progress: Progress = silent


@dataclass(frozen=True, eq=False)
class ProtectedTable:
    """Values to publish, the suppression pattern, and the claims the method supports."""

    values: Numbers
    hidden: Numbers
    claims: tuple[Claim, ...] = ()
    caveats: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    recipe_details: Mapping[str, Any] = field(default_factory=dict)
    """What the recipe says beyond the method's own parameters."""
    pattern: Pattern | None = None
    known: Intervals | None = None
    """What anyone can tell of each true value from its own printed one; None if that cannot be said."""
    holder: Sequence[tuple[str, str]] = ()
    """Facts for the holder alone, by name."""
    secret: bytes | None = None
    """The secret that record keys were derived from, if the method uses them."""


class TableMethod(Protocol):
    """A method that protects a table."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool]
    """Whether it needs rules that say which cells are sensitive."""

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        """What is to be published instead of the table."""

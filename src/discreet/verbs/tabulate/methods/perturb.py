"""Changing the figures of a table that was added up, as methods."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.core.statement import Claim
from discreet.core.text import number
from discreet.errors import BadInput, NoPromise
from discreet.verbs.tabulate.method import ProtectedTable, ProtectionProblem

if TYPE_CHECKING:
    from discreet.verbs.tabulate.perturb.rounding import Rounded

_ROUNDINGS = ("controlled", "random", "conventional")
_NEAR = 1e-6
_MOST_BASE = 2.0**53
_TOLD = 5_000
"""Of a rounded table of more cells it is not computed what can be told: it takes long."""


@dataclass(frozen=True)
class Round:
    """Print multiples of a base instead of figures."""

    name: ClassVar[str] = "round"
    needs_sensitivity_rules: ClassVar[bool] = False
    base: float
    how: str = "controlled"
    """``controlled`` (the table adds up), ``random`` or ``conventional`` (each figure by itself)."""
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.how not in _ROUNDINGS:
            raise BadInput(f"Figures are rounded {', '.join(_ROUNDINGS)}, not {self.how!r}.")
        if not 0 < self.base < _MOST_BASE:
            raise BadInput(f"Figures are rounded to a base above 0 and below 2**53, not {self.base}.")
        if not self.seconds > 0:
            raise BadInput("The search needs seconds above 0.")

    def apply(self, job: ProtectionProblem) -> ProtectedTable:
        """The rounded figures."""
        from discreet.verbs.tabulate.perturb import rounding

        cells = job.cells
        base = self._units(cells.decimals)
        if self.how == "controlled":
            made = rounding.controlled(cells, base, seconds=self.seconds, progress=job.progress)
        elif self.how == "random":
            made = rounding.random(cells, base, seed=job.seed)
        else:
            made = rounding.conventional(cells, base)
        off = "less than one base" if made.reach == 1 else f"less than {made.reach} bases"
        return ProtectedTable(
            made.values,
            np.zeros(len(cells), bool),
            caveats=(
                "Of each figure anybody knows between which values it was rounded; that true figures add up may narrow "
                "this down, sometimes to a single value.",
                *(() if made.additive else ("Totals were rounded by themselves: what is printed need not add up.",)),
            ),
            steps=(f"every figure was printed as a multiple of {self.base:g} that is {off} away ({self.how})",),
            recipe_details={"base": self.base, "how": self.how, "reach": made.reach},
            holder=_told_exactly(job, made),
        )

    def _units(self, decimals: int) -> int:
        """The base in units of the last decimal."""
        units = Decimal(str(self.base)).scaleb(decimals)
        if units != int(units):
            raise BadInput(
                f"Figures with {number(decimals, 'decimal')} cannot be multiples of {self.base:g}.",
                hint="Name a base with no more decimals.",
            )
        return int(units)


@dataclass(frozen=True)
class Adjust:
    """Print sensitive figures far enough off, and change the others as little as makes the table add up."""

    name: ClassVar[str] = "adjust"
    needs_sensitivity_rules: ClassVar[bool] = True
    norm: str = "l1"
    weight: str = "value"
    """``value``: a change counts by the share of its figure; ``cells``: every unit counts the same."""
    keep_totals: bool = False
    """Whether the total of all stays as it is."""
    seconds: float = 60.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2") or self.weight not in ("value", "cells"):
            raise BadInput("Changes are measured with norm=l1 or l2 and weight=value or cells.")
        if not self.seconds > 0 or not 0 <= self.gap < 1:
            raise BadInput("The search needs seconds above 0 and a gap from 0 to below 1.")

    def apply(self, job: ProtectionProblem) -> ProtectedTable:
        """The changed figures."""
        from discreet.verbs.tabulate.perturb.adjust import adjust

        cells, protection = job.cells, job.protection
        size = np.maximum(np.abs(cells.values).astype(np.float64), 1.0)
        weights = job.weights if job.weights is not None else (1 / size if self.weight == "value" else size / size)
        limits = np.full(len(cells), np.inf)
        if self.keep_totals:
            limits[[place[0] for place in cells.places]] = 0
        made = adjust(
            cells,
            protection,
            weights,
            norm="l2" if self.norm == "l2" else "l1",
            limits=limits,
            seconds=self.seconds,
            gap=self.gap,
            progress=job.progress,
        )
        off = np.abs(made.values - cells.values)
        far = np.where(made.up, protection.above, protection.below)
        near = protection.sensitive & (off < far - _NEAR)
        if near.any() or (cells.relations.astype(np.int64) @ made.values).any():
            raise NoPromise("What was made of the table is not far enough off. Nothing was released.")
        claim = Claim(
            "far-enough-off",
            "adjusted: every sensitive figure is printed at least as far off as its rule asks, and all add up",
        )
        return ProtectedTable(
            made.values,
            np.zeros(len(cells), bool),
            (claim,),
            (
                "Which figures were changed for their own sake, and which way, is not printed; whoever guesses both "
                "has few values left.",
            ),
            ("sensitive figures were moved up or down, and others as little as makes every total the sum of parts",),
            {"norm": self.norm},
        )


def _told_exactly(job: ProtectionProblem, made: Rounded) -> tuple[tuple[str, str], ...]:
    """For the holder: how many sensitive figures the rounded table tells exactly, to whoever knows they are whole."""
    from discreet.verbs.tabulate.perturb.rounding import possible

    sensitive = np.flatnonzero(job.protection.sensitive)
    if not len(sensitive) or len(job.cells) > _TOLD:
        return ()
    told = possible(job.cells, made, only=sensitive)
    least, most = np.ceil(told.low[sensitive] - _NEAR), np.floor(told.high[sensitive] + _NEAR)
    exact = int((least >= most).sum())
    return (("sensitive, and told exactly", f"{exact:,} of {number(len(sensitive), 'cell')}"),)

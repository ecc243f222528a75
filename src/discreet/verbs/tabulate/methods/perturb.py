"""Changing the figures of a table that was added up, as methods."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
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


@declare(TABLE_METHODS, "round", example="round base=5", extra="tabulate")
class Round:
    """Print multiples of a base instead of figures."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    base: float = parameter("Base, of whose multiples all figures become one.", above=0, below=_MOST_BASE)
    how: str = parameter("Controlled adds up; the others round each figure.", default="controlled", choices=_ROUNDINGS)
    seconds: float = parameter("Seconds to search.", default=60.0, above=0)

    def __post_init__(self) -> None:
        check_parameters(self)

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


@declare(TABLE_METHODS, "adjust", paper="Dandekar and Cox 2002; Castro 2006", extra="tabulate")
class Adjust:
    """Print sensitive figures far enough off, and change the others as little as makes the table add up."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = True
    norm: str = parameter("How changes are added up.", default="l1", choices=("l1", "l2"))
    weight: str = parameter("Whether changes count by share or by unit.", default="value", choices=("value", "cells"))
    keep_totals: bool = parameter("Whether the total of all stays as it is.", default=False)
    seconds: float = parameter("Seconds to search.", default=60.0, above=0)
    gap: float = parameter("How much more than the least may be taken.", default=0.0, least=0, below=1)

    def __post_init__(self) -> None:
        check_parameters(self)

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

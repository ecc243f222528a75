"""Rounding to multiples of a base: conventional, random, or controlled so that the table adds up.

What rounding promises: of a printed cell the true value is known no better than to the multiples next to it, by what
is printed *there*. What it does not promise: that other cells do not tell more. True values add up, and anyone who
knows that may narrow an interval down, sometimes to a single value; ``possible`` computes how far. Anyone who knows
how a best rounding is chosen may rule out a few values more.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.text import number
from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.releases.method import Progress, silent
from discreet.verbs.tabulate.intruder.audit import intervals
from discreet.verbs.tabulate.method import Intervals, ProtectedTable, ProtectionProblem
from discreet.verbs.tabulate.perturb.integer_rounding import WholeNumberProblem
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_NEAR = 1e-9
_SOLVER_ROUNDING = 1e-6
_MOST = 2**53


_ROUNDINGS = ("controlled", "random", "conventional")
_TOLD = 5_000
"""Largest rounded table, cells, of which it is computed what can be told: it takes long."""


@declare(TABLE_METHODS, "round", example="round base=5", extra="tabulate")
class Round:
    """Publish multiples of a base instead of exact figures."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    base: float = parameter("Base: all figures become multiples of it.", above=0, below=float(_MOST))
    how: str = parameter(
        "Controlled keeps the table additive; the others round each figure.", default="controlled", choices=_ROUNDINGS
    )
    seconds: float = parameter("Time limit of the search, seconds.", default=60.0, above=0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        cells = problem.cells
        base = self._units(cells.decimals)
        if self.how == "controlled":
            made = controlled(cells, base, seconds=self.seconds, progress=problem.progress)
        elif self.how == "random":
            made = random(cells, base, seed=problem.seed)
        else:
            made = conventional(cells, base)
        off = "less than one base" if made.reach == 1 else f"less than {made.reach} bases"
        return ProtectedTable(
            made.values,
            np.zeros(len(cells), bool),
            caveats=(
                "Each figure reveals the interval it was rounded from; because true figures add up, this may "
                "narrow down, sometimes to a single value.",
                *(
                    ()
                    if made.additive
                    else ("Totals were rounded independently: the published table need not add up.",)
                ),
            ),
            steps=(f"every figure was rounded to a multiple of {self.base:g}, {off} away ({self.how})",),
            recipe_details={"base": self.base, "how": self.how, "reach": made.reach},
            known=Intervals(made.low.astype(float), made.high.astype(float)),
            holder=_told_exactly(problem, made),
        )

    def _units(self, decimals: int) -> int:
        """The base in units of the last decimal."""
        units = Decimal(str(self.base)).scaleb(decimals)
        if units != int(units):
            raise BadInput(
                f"Figures with {number(decimals, 'decimal')} cannot be multiples of {self.base:g}.",
                hint="Choose a base with at most as many decimals.",
            )
        return int(units)


@dataclass(frozen=True, eq=False)
class RoundedTable:
    """The cells as multiples of ``base``, which is in their units."""

    values: Numbers
    base: int
    reach: int
    """Every cell is less than ``reach`` bases off. 1: each is one of the two multiples next to it, and a cell that was
    a multiple is as it was (zero-restricted)."""
    low: Numbers
    high: Numbers
    """What everyone can tell of each true value from its own printed one; int64."""
    additive: bool
    """Whether every total is the sum of its parts."""
    distance: int
    """How far off the cells are, all together."""
    bound: int
    """No table of multiples within reach that adds up is less far off than this; of one that need not, 0."""


def conventional(cells: Cells, base: int) -> RoundedTable:
    """Each cell the nearest multiple, halves away from 0. Totals are rounded by themselves, so the table need not add
    up, and then it gives more away: four parts of 3 printed as 5 under a total of 12 printed as 10 are all known."""
    _require_base(base)
    sign, size = np.sign(cells.values), np.abs(cells.values)
    values = sign * ((size + base // 2) // base * base)
    inward, outward = (base // 2, (base - 1) // 2)
    low = values - np.where(values > 0, inward, outward)
    high = values + np.where(values < 0, inward, outward)
    return _rounded(cells, values, base, (low, high))


def random(cells: Cells, base: int, *, seed: int | None = None) -> RoundedTable:
    """Each cell one of the two multiples next to it, by chance; a multiple stays. The table need not add up.

    Why this is unbiased: a value that is r above the lower multiple goes up exactly if a uniform draw from 0, …,
    base - 1 is below r, so with chance r/base, and its mean is the lower multiple + base · r/base: the value itself.

    Why this is private: from one printed figure alone each of the 2 · base - 1 values less than a base away is
    possible, and no two are told apart for certain. It is no more than that: anyone who gets the same cell rounded
    often enough takes the mean. So it is drawn once and kept. With a ``seed``, anyone who knows it can undo much of it.
    """
    _require_base(base)
    floors, rest = np.divmod(cells.values, base)
    values = (floors + (generator(seed).integers(base, size=len(cells)) < rest)) * base
    return _rounded(cells, values, base, (values - (base - 1), values + (base - 1)))


def controlled(
    cells: Cells,
    base: int,
    *,
    seconds: float = 60.0,
    gap: float = 0.0,
    progress: Progress = silent,
) -> RoundedTable:
    """The multiples of ``base`` nearest to all cells together among those that add up (Cox 1987; Salazar 2006).

    First each cell may only become one of the two multiples next to it. In a plain table of two sides, one of them
    nested or not, there always is such a table, for its relations are those of a network; with three sides there may
    be none, or none may be found in half of the time. Then cells may go one base further, and so on: ``reach`` says
    how far. A table known to have no negative values gets none.
    """
    _require_base(base)
    if len(cells.broken()):
        raise BadInput("Controlled rounding needs a table that adds up.")
    floors, rest = np.divmod(cells.values, base)
    least = np.where(cells.lower >= 0, 0.0, -np.inf)
    most = np.where(cells.upper <= 0, 0.0, np.inf)
    wanted = WholeNumberProblem(cells.relations, floors, rest / base, np.ones(len(cells)), least, most)
    found = wanted.nearest(seconds, gap, progress)
    values, off = found.values * base, found.reach * base - 1
    bound = ceil(found.bound * base * (1 - _NEAR))  # a distance is a whole number of units
    return _rounded(cells, values, base, (values - off, values + off), reach=found.reach, bound=bound)


def possible(
    cells: Cells, rounded: RoundedTable, *, only: Numbers | None = None, progress: Progress = silent
) -> Intervals:
    """What an intruder can compute of the true cells, or of ``only`` some, who knows how far off a printed cell can
    be, what everyone knows, and that true values add up. The intruder reckons with real numbers: with whole ones the
    interval may be narrower still."""
    low, high = np.maximum(cells.lower, rounded.low), np.minimum(cells.upper, rounded.high)
    return intervals(cells.knowing(low, high), np.ones(len(cells), np.bool_), only=only, progress=progress)


def _rounded(
    cells: Cells, values: Numbers, base: int, known: tuple[Numbers, Numbers], *, reach: int = 1, bound: int = 0
) -> RoundedTable:
    additive = not (cells.relations.astype(np.int64) @ values).any()
    return RoundedTable(values, base, reach, *known, additive, int(np.abs(values - cells.values).sum()), bound)


def _require_base(base: int) -> None:
    if type(base) is not int or not 2 <= base < _MOST:
        raise BadInput(f"The rounding base must be a whole number of units, from 2 to below 2**53, got {base!r}.")


def _told_exactly(problem: ProtectionProblem, made: RoundedTable) -> tuple[tuple[str, str], ...]:
    """For the holder: the number of sensitive figures that follow exactly from the rounded table, if they are whole."""
    sensitive = np.flatnonzero(problem.protection.sensitive)
    if not len(sensitive) or len(problem.cells) > _TOLD:
        return ()
    told = possible(problem.cells, made, only=sensitive)
    least, most = np.ceil(told.low[sensitive] - _SOLVER_ROUNDING), np.floor(told.high[sensitive] + _SOLVER_ROUNDING)
    exact = int((least >= most).sum())
    return (("sensitive cells published exactly", f"{exact:,} of {number(len(sensitive), 'cell')}"),)

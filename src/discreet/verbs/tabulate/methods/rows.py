"""Changing rows, or counts by the secret numbers of their rows: methods that need the rows and not only their sums."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.tabulate.method import ProtectedTable, ProtectionProblem
from discreet.verbs.tabulate.perturb.factors import Factors, multiplied
from discreet.verbs.tabulate.perturb.record_keys import draw_secret
from discreet.verbs.tabulate.perturb.record_swap import record_swap, require_settings
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells


@declare(TABLE_METHODS, "cell-key", example="cell-key most=5 variance=2", paper="Fraser and Wooton 2005")
class CellKeys:
    """Change each count by a law of chance, and the same count of the same people always in the same way."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    most: int = parameter("Largest change of a count.", default=5)
    variance: float = parameter("Variance of the change.", default=2.0)
    never: int = parameter("Counts from 1 to this are never printed.", default=0)

    def apply(self, job: ProtectionProblem) -> ProtectedTable:
        """The changed counts."""
        from discreet.verbs.tabulate.perturb.cell_key import CellKey, cell_keys

        source = _source(job, self.name)
        _refuse_weights(job, self.name)
        law = CellKey(self.most, float(self.variance), self.never)
        values = job.cells.values.copy()
        secret, caveats = _secret(job, source)
        declared = _declared(job.cells)
        for table, place, by in zip(job.cells.tables, job.cells.places, job.by, strict=True):
            values[place] = law.perturbed(table, cell_keys(source, by, secret, declared=declared)).values.ravel()
        return ProtectedTable(
            values,
            np.zeros(len(values), bool),
            caveats=(
                "A count may come from any count near it. Totals were changed by themselves, so the table need not add "
                "up, and differences of many cells narrow down what is possible. A 0 stays 0.",
                *caveats,
            ),
            steps=("every count was changed by a law that the sum of its records' secret numbers looked up",),
            recipe_details={"most": self.most, "variance": float(self.variance), "never": self.never},
            secret=secret,
        )


@declare(TABLE_METHODS, "factors", example="factors least=10% most=25%", paper="Evans, Zayatz and Slanta 1998")
class Multiply:
    """Multiply what each respondent contributes by a factor of their own, before it is added up."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    least: float = parameter("Smallest change, as a share.", default=0.1)
    most: float = parameter("Largest change, as a share.", default=0.25)
    law: Literal["ramp", "uniform"] = parameter("Distribution of the factor.", default="ramp")

    def __post_init__(self) -> None:
        check_parameters(self)
        Factors(self.least, self.most, self.law)

    def apply(self, job: ProtectionProblem) -> ProtectedTable:
        """The table of changed contributions."""
        source = _source(job, self.name)
        _refuse_weights(job, self.name)
        if job.value is None:
            raise BadInput("Factors change what is added up, and this is a table of counts.", hint="Give a value.")
        if len(job.by) > 1:
            raise BadInput("Factors are for one table at a time.")
        law = Factors(self.least, self.most, self.law)
        secret, caveats = _secret(job, source)
        made = multiplied(
            source, job.by[0], job.value, law, secret, decimals=job.cells.decimals, declared=_declared(job.cells)
        )
        return ProtectedTable(
            made.table.values.ravel(),
            np.zeros(len(job.cells), bool),
            caveats=(
                f"A figure that one respondent made is off by {self.least:.3g} of it or more, and by no more than "
                f"{self.most:.3g} of it but for rounding; one that many made is off by less, or not at all where "
                "changes up and down cancel. Large and small stay apart, and a 0 stays 0.",
                *caveats,
            ),
            steps=("what each respondent contributes was multiplied by a factor of their own and then added up",),
            recipe_details={"least": self.least, "most": self.most, "law": self.law},
            holder=_expected(made.expected),
            secret=secret,
        )


@declare(TABLE_METHODS, "swap", example="swap areas=region risk=age,sex", paper="Shlomo, Tudor and Groom 2010")
class SwapRecords:
    """Let those who stand out where they live change places with others like them, and add up then."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    areas: str = parameter("Columns of areas, the largest first, with commas between them.")
    risk: str = parameter("Columns by which people stand out.")
    match: str = parameter("Columns that those who change places agree on.", default="")
    household: str = parameter("Column of households, which move together.", default="")
    k: int = parameter("Fewest people alike in an area who do not stand out.", default=3)
    rate: float = parameter("Share of people who move at least.", default=0.0)

    def __post_init__(self) -> None:
        check_parameters(self)
        require_settings(self.k, self.rate)

    def apply(self, job: ProtectionProblem) -> ProtectedTable:
        """The table of swapped rows."""
        source = _source(job, self.name)
        areas, risk, match = (_names(text) for text in (self.areas, self.risk, self.match))
        made = record_swap(
            source,
            areas=areas,
            risk=risk,
            match=match,
            household=self.household or None,
            k=self.k,
            rate=float(self.rate),
            seed=job.seed,
        )
        how: dict[str, Any] = {
            "weight": job.weight,
            "decimals": job.cells.decimals,
            "declared": _declared(job.cells),
        }
        tables = [build(made.table, by, job.value, keep_largest=0, **how) for by in job.by]
        if [one.dimensions for one in tables] != [one.dimensions for one in job.cells.tables]:
            raise BadInput("Swapping emptied an area of this table.", hint="Tabulate larger areas.")
        return ProtectedTable(
            Cells.of(*tables).values,
            np.zeros(len(job.cells), bool),
            caveats=("Who did not change places is counted where they live; nobody can tell who did.",),
            steps=(f"those who stood out by {', '.join(risk)} changed places between {', '.join(areas)}",),
            recipe_details={"areas": list(areas), "risk": list(risk), "match": list(match), "k": self.k},
            holder=(("changed places", f"{made.swapped:,} of {made.households:,}; {made.left:,} found no partner"),),
        )


def _source(job: ProtectionProblem, name: str) -> Table:
    if job.source is None:
        raise BadInput(f"{name} changes rows, and only a table of figures is given.", hint="Give the rows.")
    return job.source


def _declared(cells: Cells) -> bool:
    """Whether there are codes that nobody has: then all declared ones are in the table, and else those that occur."""
    for table in cells.tables:
        for axis in range(len(table.shape)):
            along = tuple(slice(1, None) if other == axis else 0 for other in range(len(table.shape)))
            if table.contributions is not None and (table.contributions.counts[along] == 0).any():
                return True
    return False


def _refuse_weights(job: ProtectionProblem, name: str) -> None:
    if job.weight is not None:
        raise BadInput(
            f"{name} changes what people count or contribute, and not weighted figures.",
            hint="Leave the weight out, or choose another method.",
        )


def _secret(job: ProtectionProblem, source: Table) -> tuple[bytes, tuple[str, ...]]:
    """The given secret or a new one, and what must be said where nobody can be recognised in the next table."""
    unit = source.card.unit
    if job.secret is not None and unit is None:
        raise BadInput(
            "With the same secret the same people are changed in the same way, and the card does not say who a row is "
            "about.",
            hint="Name the unit on the card, or leave the secret out.",
        )
    secret = draw_secret() if job.secret is None else job.secret
    if unit is not None:
        return secret, ()
    return secret, (
        "No column says who a row is about: the next table changes the same people differently, and whoever has "
        "several takes the mean.",
    )


def _expected(shares: np.ndarray[Any, Any]) -> tuple[tuple[str, str], ...]:
    """For the holder: how far off figures are expected to be."""
    known = shares[np.isfinite(shares)]
    if not len(known):
        return ()
    return (("expected change", f"{np.median(known):.1%} of a figure in the middle, {known.max():.1%} of one at most"),)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, str(text).split(","))))

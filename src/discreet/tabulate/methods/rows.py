"""Changing rows, or counts by the secret numbers of their rows: methods that need the rows and not only their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.tabulate.build import build
from discreet.tabulate.cells import Cells
from discreet.tabulate.record_keys import draw_secret
from discreet.tabulate.way import Job, Outcome


@dataclass(frozen=True)
class CellKeys:
    """Change each count by a law of chance, and the same count of the same people always in the same way."""

    name: ClassVar[str] = "cell-key"
    protects: ClassVar[bool] = False
    most: int = 5
    variance: float = 2.0
    never: int = 0
    """Counts from 1 to this are never printed."""

    def apply(self, job: Job) -> Outcome:
        """The changed counts."""
        from discreet.tabulate.cell_key import CellKey, cell_keys

        source = _source(job, self.name)
        law = CellKey(self.most, float(self.variance), self.never)
        values = job.cells.values.copy()
        secret = job.secret or draw_secret()
        for table, place, by in zip(job.cells.tables, job.cells.places, job.by, strict=True):
            values[place] = law.perturbed(table, cell_keys(source, by, secret)).values.ravel()
        return Outcome(
            values,
            np.zeros(len(values), bool),
            caveats=(
                "A count may come from any count near it. Totals were changed by themselves, so the table need not add "
                "up, and differences of many cells narrow down what is possible. Zeros are true.",
            ),
            steps=("every count was changed by a law that the sum of its records' secret numbers looked up",),
            told={"most": self.most, "variance": float(self.variance), "never": self.never},
            secret=secret,
        )


@dataclass(frozen=True)
class Multiply:
    """Multiply what each respondent contributes by a factor of their own, before it is added up."""

    name: ClassVar[str] = "factors"
    protects: ClassVar[bool] = False
    least: float = 0.1
    most: float = 0.25
    law: Literal["ramp", "uniform"] = "ramp"

    def apply(self, job: Job) -> Outcome:
        """The table of changed contributions."""
        from discreet.tabulate.factors import Factors, multiplied

        source = _source(job, self.name)
        if job.value is None:
            raise BadInput("Factors change what is added up, and this is a table of counts.", hint="Give a value.")
        if len(job.by) > 1:
            raise BadInput("Factors are for one table at a time.")
        law = Factors(self.least, self.most, self.law)
        secret = job.secret or draw_secret()
        made = multiplied(source, job.by[0], job.value, law, secret, decimals=job.cells.decimals)
        return Outcome(
            made.table.values.ravel(),
            np.zeros(len(job.cells), bool),
            caveats=(
                f"A figure that one respondent made is off by {self.least:.0%} to {self.most:.0%}, one that many made "
                "by less; large and small stay apart.",
            ),
            steps=("what each respondent contributes was multiplied by a factor of their own and then added up",),
            told={"least": self.least, "most": self.most, "law": self.law},
            secret=secret,
        )


@dataclass(frozen=True)
class SwapRecords:
    """Let those who stand out where they live change places with others like them, and add up then."""

    name: ClassVar[str] = "swap"
    protects: ClassVar[bool] = False
    areas: str
    """Columns of areas, the largest first, with commas between them."""
    risk: str
    match: str = ""
    household: str = ""
    k: int = 3
    rate: float = 0.0

    def apply(self, job: Job) -> Outcome:
        """The table of swapped rows."""
        from discreet.tabulate.record_swap import record_swap

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
        decimals = job.cells.decimals if job.value is not None else None
        tables = [build(made.table, by, job.value, decimals=decimals, keep_largest=0) for by in job.by]
        if [one.dimensions for one in tables] != [one.dimensions for one in job.cells.tables]:
            raise BadInput("Swapping emptied an area of this table.", hint="Tabulate larger areas.")
        return Outcome(
            Cells.of(*tables).values,
            np.zeros(len(job.cells), bool),
            caveats=("Who did not change places is counted where they live; nobody can tell who did.",),
            steps=(f"those who stood out by {', '.join(risk)} changed places between {', '.join(areas)}",),
            told={"areas": list(areas), "risk": list(risk), "match": list(match), "k": self.k},
            holder=(("changed places", f"{made.swapped:,} of {made.households:,}; {made.left:,} found no partner"),),
        )


def _source(job: Job, name: str) -> Table:
    if job.source is None:
        raise BadInput(f"{name} changes rows, and only a table of figures is given.", hint="Give the rows.")
    return job.source


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, str(text).split(","))))

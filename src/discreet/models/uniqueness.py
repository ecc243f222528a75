"""Population uniqueness: how many of the people behind a sample are alone with their quasi-identifiers."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import MODELS
from discreet.core.statement import Evidence
from discreet.errors import BadInput
from discreet.models.classes import Classes, Flags
from discreet.models.estimators import ESTIMATORS, Estimates, Histogram, estimates
from discreet.models.exact_compare import Floats, plain
from discreet.models.model import Together

LARGEST = "largest"


@declare(
    MODELS,
    "population uniqueness",
    example="unique=0.01 of 1000000",
    spelled="unique={threshold} of {people}[ by {estimator}]",
    paper="Hoshino 2001; Dankar and others 2012",
    init=False,
)
class PopulationUniqueness(Together):
    """At most a share of the population of ``people`` is unique, as estimated from the rows, a random sample of it.

    ``estimator``: pitman (Hoshino 2001), zayatz (1991), snb (slide negative binomial: Chen and Keller-McNulty 1998;
    where no such distribution fits, Zayatz's), dankar, the rule of Dankar and others (2012) that chooses among them,
    and jumps where the sample is a tenth; or largest, the largest of all. Where the rows do not fit the distribution,
    largest is the share of rows that are alone, which is no smaller on average whatever the population is like.

    It is an estimate: right on average under its assumptions, no bound, and no promise to any one person. Where it is
    too high, some unique rows are named for suppression. Not monotone: merging classes makes pairs of unique rows, and
    an estimator that is fitted to pairs may expect more uniques for it.
    """

    threshold: Fraction = parameter("Maximum share of the population that is unique.", least=0, most=1)
    people: int = parameter("Size of the population.", least=1)
    estimator: str = parameter("Estimator of the share.", default=LARGEST, choices=(LARGEST, *ESTIMATORS))

    meaning = "share unique, estimated"

    def __init__(self, threshold: Number, people: int, estimator: str = LARGEST) -> None:
        check_parameters(self, threshold=threshold, people=people, estimator=estimator)

    @property
    def claim_text(self) -> str:
        return f"unique for at most {plain(self.threshold)} of {self.people:,} people (estimated: {self.estimator})"

    @property
    def evidence(self) -> Evidence:
        return Evidence.ESTIMATED

    @property
    def monotone(self) -> bool:
        return False

    def figures(self, classes: Classes) -> Floats:
        """1 for a unique row, else 0."""
        return np.asarray(classes.sizes == 1, dtype=np.float64)

    def figure(self, classes: Classes) -> float:
        return self._share(_histogram(classes))

    def caveats(self, classes: Classes) -> tuple[str, ...]:
        """The range of all estimators, and what speaks against them."""
        sizes = _histogram(classes)
        if not sizes.get(1):
            return ()
        said = estimates(sizes, self.people)
        low, high = said.range
        each = ", ".join(f"{name} {share:.3g}" for name, share in said.shares.items())
        text = (
            f"How many of {self.people:,} people are unique is estimated: a share of {low:.3g} to {high:.3g} "
            f"({each}), "
            f"where {said.alone:.3g} of the rows are unique."
        )
        return (text, *said.warnings, *self._relied(said))

    def _relied(self, said: Estimates) -> tuple[str, ...]:
        if self.estimator != LARGEST or not said.unfit:
            return ()
        return ("So the share of unique rows was used instead of an estimate.",)

    def breaking(self, classes: Classes) -> Flags:
        found = _histogram(classes)
        alone = np.flatnonzero(classes.sizes == 1)

        def enough(gone: int) -> bool:
            return self._share({**found, 1: len(alone) - gone}) <= self.threshold

        flags = np.zeros(len(classes.sizes), np.bool_)
        if len(alone) and not enough(0):
            flags[alone[: bisect_left(range(len(alone)), True, key=enough)]] = True
        return flags

    def _share(self, sizes: Histogram) -> float:
        rows = sum(size * many for size, many in sizes.items())
        if rows > self.people:
            raise BadInput(f"A population of {self.people:,} people is smaller than the sample of {rows:,} rows.")
        if not sizes.get(1):
            return 0.0
        if self.estimator == LARGEST:
            return estimates(sizes, self.people).largest
        estimated = ESTIMATORS[self.estimator](sizes, self.people)
        if np.isnan(estimated):
            estimated = ESTIMATORS["zayatz"](sizes, self.people)
        return min(estimated / self.people, 1.0)


def _histogram(classes: Classes) -> dict[int, int]:
    sizes, counts = np.unique(classes.sizes, return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))

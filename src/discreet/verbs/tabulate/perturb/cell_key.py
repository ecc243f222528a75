"""Cell-key method: each count is perturbed a little at random, and always in the same way.

Fraser and Wooton (2005) for the Australian census; Thompson, Broadfoot and Elazar (2013); Eurostat's recommendation for
the censuses of the European Union. Each record has a secret number; those of the records in a cell, added up, are the
key of the cell, which looks up the change in the p-table. Tables that are asked for a second time, or in another
shape, show the same cell with the same figure. They do not add up: a total is changed by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.tabulate.method import ProtectedTable, ProtectionProblem
from discreet.verbs.tabulate.perturb.record_keys import KeyedRows, secret_of, source_of
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Numbers, summed

_EXACT = 1e-9
_ROUNDS = 100


@declare(TABLE_METHODS, "cell-key", example="cell-key most=5 variance=2", paper="Fraser and Wooton 2005")
class CellKeys:
    """Perturb each count at random (p-table); a count of the same people is always perturbed in the same way.

    The changes of each count, from -``most`` to ``most``, have mean 0 and this ``variance``. No count becomes negative,
    none becomes 1 to ``never``, and a 0 stays 0. Of all distributions that do that, each is the one of maximum entropy:
    it promises nothing else.

    Why this is private, and how far: a printed count may come from any count up to ``most`` away, and asking again
    tells nothing new, for the change is the same. It is no differential privacy. Changes are bounded, so where
    many cells that add up are printed their differences narrow down what is possible; and anyone who can have the same
    people counted in many groups averages the changes out (Asghar and Kaafar 2020). A 0 stays 0.
    """

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    most: int = parameter("Maximum change of a count.", default=5)
    variance: float = parameter("Variance of the change.", default=2.0)
    never: int = parameter("Counts from 1 to this are never published.", default=0)

    def __post_init__(self) -> None:
        check_parameters(self)
        if not 0 <= self.never < self.most <= 100:
            raise BadInput(
                f"The maximum change must be 1 to 100 and above the largest count that is never published; got "
                f"{self.most} and {self.never}."
            )
        if not self.variance > 0:
            raise BadInput(f"The variance of the change must be above 0, got {self.variance!r}.")
        _ = self.laws  # an error if there are none

    @cached_property
    def laws(self) -> Numbers:
        """Probability of each change (a column, from -``most``) of each count (a row, from 0; the last: all larger)."""
        changes = np.arange(-self.most, self.most + 1)
        laws = np.zeros((self.most + self.never + 2, len(changes)))
        laws[0, self.most] = 1.0
        for count in range(1, len(laws)):
            allowed = (count + changes == 0) | (count + changes > self.never)
            laws[count, allowed] = _law(changes[allowed], float(self.variance), count)
        return laws

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        source = source_of(problem, self.name, weights=False)
        values = problem.cells.values.copy()
        secret, caveats = secret_of(problem, source)
        declared = problem.cells.has_empty_codes
        for table, place, by in zip(problem.cells.tables, problem.cells.places, problem.by, strict=True):
            values[place] = self.perturbed(table, cell_keys(source, by, secret, declared=declared)).values.ravel()
        return ProtectedTable(
            values,
            np.zeros(len(values), bool),
            caveats=(
                "A published count may come from any count near it. Totals were changed independently, so "
                "the table need not add up, and differences of many cells narrow down the possible values. A "
                "0 stays 0.",
                *caveats,
            ),
            steps=("every count was perturbed by the p-table, looked up by the sum of its records' secret numbers",),
            recipe_details={"most": self.most, "variance": float(self.variance), "never": self.never},
            secret=secret,
        )

    def applied(self, counts: Numbers, keys: Numbers) -> Numbers:
        """The counts with their changes; ``keys`` are those of the cells, uint64."""
        if (counts < 0).any():
            raise BadInput("Cell keys apply to counts, which are not negative.")
        chance = (keys >> np.uint64(11)).astype(np.float64) / 2.0**53
        rows = np.minimum(counts, len(self.laws) - 1)
        changed = counts.copy()
        for row in range(1, len(self.laws)):
            here = rows == row
            possible = np.flatnonzero(self.laws[row])
            ends = np.cumsum(self.laws[row, possible])[:-1]
            changed[here] += possible[np.searchsorted(ends, chance[here], side="right")] - self.most
        return changed

    def perturbed(self, table: CrossTable, keys: Numbers) -> CrossTable:
        """A table of counts with each figure changed by its cell's key; what is known of respondents is left out."""
        if table.what:
            raise BadInput(f"Cell keys apply to counts, but this table sums {table.what}.")
        if table.decimals:
            raise BadInput("Cell keys apply to counts of people, which have no decimals.", hint="Leave decimals out.")
        return CrossTable(table.dimensions, self.applied(table.values, keys), decimals=table.decimals)


def cell_keys(table: Table, by: Sequence[str], secret: bytes, *, declared: bool = False) -> Numbers:
    """The key of every cell, uint64, of the table of counts that ``build`` makes: the sum modulo 2**64 of the secret
    numbers of the rows in it.

    A sum of independent uniform numbers is uniform, and it is the same in whatever table the same rows make a cell.
    """
    rows = KeyedRows.of(table, by, None, secret=secret, use="cell-key", declared=declared)
    inner = np.zeros(rows.shape, np.uint64)
    for places, numbers, counts in rows.stream():
        np.add.at(inner, places, numbers * counts.astype(np.uint64))
    with np.errstate(over="ignore"):  # sums modulo 2**64 are what is meant
        return summed(rows.dimensions, inner[np.ix_(*(side.leaves for side in rows.dimensions))])


def _law(changes: Numbers, variance: float, count: int) -> Numbers:
    """Distribution of maximum entropy on these changes with mean 0 and this variance: exp(a·v + b·v²), normalised.

    a and b minimise the logarithm of the normaliser minus b · variance, which is convex: Newton's method, damped.
    """
    below, above = changes[changes <= 0], changes[changes >= 0]
    least, most = float(-below.max() * above.min()), float(-below.min() * above.max())
    if not least <= variance <= most:
        raise BadInput(
            f"A count of {count} cannot be changed with mean 0 and a variance of {variance:g}: the changes allow "
            f"{least:g} to {most:g}.",
            hint="Choose another variance, or allow larger changes.",
        )
    if variance in (least, most):
        ends = (below.max(), above.min()) if variance == least else (below.min(), above.max())
        return _between(changes, *map(int, ends))
    size = float(np.abs(changes).max())
    moments = np.stack([changes / size, (changes / size) ** 2])
    wanted = np.array([0.0, variance / size**2])
    at = np.zeros(2)
    law, value = _tilted(moments, wanted, at)
    for _ in range(_ROUNDS):
        off = moments @ law - wanted
        if np.abs(off).max() < 1e-14:
            break
        spread = (moments * law) @ moments.T - np.outer(moments @ law, moments @ law)
        step = -np.linalg.solve(spread + 1e-15 * np.eye(2), off)
        length = 1.0
        while (moved := _tilted(moments, wanted, at + length * step))[1] > value + 1e-12:
            length /= 2
        at, (law, value) = at + length * step, moved
    if abs(law @ changes) > _EXACT or abs(law @ changes**2 - variance) > _EXACT * (1 + variance):
        raise BadInput(
            f"No perturbation distribution for a count of {count} with a variance of {variance:g} was found: "
            f"it is too close to the possible limits, {least:g} to {most:g}."
        )
    return law


def _tilted(moments: Numbers, wanted: Numbers, at: Numbers) -> tuple[Numbers, float]:
    powers = at @ moments
    weights = np.exp(powers - powers.max())
    return weights / weights.sum(), float(powers.max() + np.log(weights.sum()) - at @ wanted)


def _between(changes: Numbers, low: int, high: int) -> Numbers:
    """The only distribution with mean 0 on two changes, or on 0 alone."""
    law = np.zeros(len(changes))
    law[changes == low] = 1.0 if low == high else high / (high - low)
    if low != high:
        law[changes == high] = -low / (high - low)
    return law

"""k-means clustering: each round sums, for each centre, the number of nearest rows and their columns.

Distances are taken with every column scaled by its declared bounds. The first centres are spread over the bounds
(Halton's points), so that nothing is read off the data; rounds end when no total changes. It is Lloyd's method on
the pooled rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import exact_sum
from discreet.verbs.combine.functions.function import (
    Function,
    as_rows,
    bounds_over_rows,
    limit_figures,
    number_columns,
)
from discreet.verbs.combine.result import Result
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)


@declare(COMBINE_FUNCTIONS, "kmeans", rank=14)
class KMeans(Function):
    """k-means: centres of clusters, and the number of rows of each."""

    x: str = parameter("Columns, with bounds.")
    k: int = parameter("Number of groups.")
    rounds: int = parameter("Rounds at most.", default=50)
    title: ClassVar[str] = "k-means, in rounds"
    example: ClassVar[str] = "kmeans x=age:0:110,income:0:100000 k=3"

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        """Iterate until no total changes. A centre without rows stays where it is."""
        of = number_columns(self.x, secure_sums.terms)
        units = [measure.units(data) for measure in of]
        places = np.column_stack([measure.scaled(column) for measure, column in zip(of, units, strict=True)])
        low, high = bounds_over_rows(
            [0, *(one.encoding.low for one in of)] * self.k, [1, *(one.encoding.high for one in of)] * self.k
        )
        centres = [
            [
                one.encoding.low + _halton(place + 1, prime) * one.encoding.width
                for one, prime in zip(of, _PRIMES, strict=False)
            ]
            for place in range(self.k)
        ]
        sizes: list[int] = []
        before: list[int] = []
        done, converged = 0, False
        while done < self.rounds and not converged:
            done += 1
            scaled = [
                [float((2 * at - one.middle) / max(one.encoding.width, 1)) for at, one in zip(centre, of, strict=True)]
                for centre in centres
            ]
            far = [((places - np.array(centre)) ** 2).sum(axis=1) for centre in scaled]
            nearest = np.argmin(far, axis=0)
            own = []
            for place in range(self.k):
                mine = nearest == place
                own += [int(mine.sum()), *(exact_sum(column[mine]) for column in units)]
            totals = (yield from secure_sums.total(own, low, high)).values
            converged, before = totals == before, totals
            groups = [totals[i : i + len(of) + 1] for i in range(0, len(totals), len(of) + 1)]
            sizes = [n for n, *_ in groups]
            centres = [
                [Fraction(total, n) for total in sums] if n else old
                for (n, *sums), old in zip(groups, centres, strict=True)
            ]
        rows = (
            (*(float(one.encoding.fraction(at)) for at, one in zip(centre, of, strict=True)), n)
            for centre, n in zip(centres, sizes, strict=True)
        )
        told = as_rows([*(one.name for one in of), "rows"], rows)
        return secure_sums.result({**told, "converged": converged, "rounds": done}, self.reveals(secure_sums.terms))

    def sums(self, terms: Terms) -> int:
        """One sum a round."""
        return self.rounds

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """What every party sees in each round."""
        return (
            f"Everybody learns, in each of up to {self.rounds} rounds, how many rows are nearest to each centre and "
            "the sums of their columns.",
        )

    def check(self, terms: Terms) -> None:
        """Require bounds."""
        of = number_columns(self.x, terms)
        if self.k < 1 or self.rounds < 1 or len(of) > len(_PRIMES):
            raise BadInput(f"k-means has one centre and one round at least, and {len(_PRIMES)} columns at most.")
        limit_figures(self.k * (len(of) + 1))
        super().check(terms)


def _halton(place: int, base: int) -> Fraction:
    """Halton sequence: the digits of a number in some base, mirrored at the point."""
    found, part = Fraction(0), Fraction(1, base)
    while place:
        place, digit = divmod(place, base)
        found, part = found + digit * part, part / base
    return found

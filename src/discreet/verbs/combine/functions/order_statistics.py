"""Minimum, maximum, median and quantiles by a secure binary search over the declared range.

Of each probe everybody learns how many rows lie at or below it, and nothing else; the probes follow from these
counts. The result is an order statistic, one of the values there are, and exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.exact import share_of
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput
from discreet.verbs.combine.data import VALUE, Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS
from discreet.verbs.combine.functions.sums import ColumnFunction
from discreet.verbs.combine.result import Result
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms


class _OrderStatistic(ColumnFunction):
    """Order statistic: the value at some rank."""

    share: ClassVar[Fraction]
    """Share of the rows that do not exceed it."""

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        """Count the rows, then halve the range until one number is left."""
        measure = self.measure(secure_sums.terms)
        units, times = data.numbers(measure.name, measure.encoding)
        counted = yield from secure_sums.total([data.rows], 0, MAX_PARTY_ROWS)
        [n] = counted.values
        if not n:
            return secure_sums.result({self.name: None, "rows": 0}, ("Everybody learnt that there are no rows.",))
        rank, low, high = self.rank(n), measure.encoding.low, measure.encoding.high
        seen = []
        while low < high:
            middle = (low + high) // 2
            below = yield from secure_sums.total([int(times[units <= middle].sum())], 0, MAX_PARTY_ROWS)
            [count] = below.values
            seen.append(f"{count:,} at or below {measure.encoding.decode(middle)}")
            low, high = (low, middle) if count >= rank else (middle + 1, high)
        probes = (f"Everybody saw these counts of rows: {'; '.join(seen)}.",) if seen else ()
        return secure_sums.result(
            {self.name: measure.encoding.decode(low), "rows": n},
            (f"Everybody learnt that there are {n:,} rows.", *probes),
        )

    def rank(self, n: int) -> int:
        """Rank among n sorted rows, from 1 on: the share of n, rounded up."""
        return max(-(-n * self.share.numerator // self.share.denominator), 1)

    def sums(self, terms: Terms) -> int:
        """One count, and one probe for each bit of the range."""
        return 1 + self.measure(terms).encoding.width.bit_length()

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """Every party sees the probes."""
        return (
            "Everybody learns how many rows there are in all, and how many of them lie at or below "
            f"each of up to {self.sums(terms) - 1} numbers on the way to the result.",
        )


@declare(COMBINE_FUNCTIONS, "min", rank=6)
class Min(_OrderStatistic):
    """Minimum."""

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the smallest value, by a search"
    example: ClassVar[str] = "min; min of=age:0:110"
    share: ClassVar[Fraction] = Fraction(0)


@declare(COMBINE_FUNCTIONS, "max", rank=7)
class Max(_OrderStatistic):
    """Maximum."""

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the largest value, by a search"
    example: ClassVar[str] = "max; max of=age:0:110"
    share: ClassVar[Fraction] = Fraction(1)


@declare(COMBINE_FUNCTIONS, "median", rank=8)
class Median(_OrderStatistic):
    """Lower median."""

    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the (lower) median, by a search"
    example: ClassVar[str] = "median; median of=age:0:110"
    share: ClassVar[Fraction] = Fraction(1, 2)


@declare(COMBINE_FUNCTIONS, "quantile", rank=9)
class QuantileFunction(_OrderStatistic):
    """Quantile: the smallest value that a share of the rows does not exceed."""

    at: str = parameter("Share of the rows: 0.9 or 1/4.")
    of: str = parameter("Column, with bounds: age:0:110.", default=VALUE)
    title: ClassVar[str] = "the value that a share of the rows does not exceed, by a search"
    example: ClassVar[str] = "quantile at=0.9; quantile at=1/4 of=age:0:110"

    def __post_init__(self) -> None:
        if not self.share:
            raise BadInput("A quantile is at a share above 0 and up to 1.", hint=f"Write: {self.example}")

    @property
    def share(self) -> Fraction:  # type: ignore[override]
        """Share of the rows that do not exceed it."""
        return share_of(self.at, "a quantile")

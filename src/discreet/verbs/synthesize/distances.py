"""Distances between synthetic rows and the table they stand for: measured privately, and stored with the rows.

For every column, and every pair of columns, the sum D of the differences between true and synthetic counts is
measured with noise, and so is the difference |n − m| between the numbers of rows. Whatever condition on those columns
is counted, the count is off by at most (D + |n − m|) / 2: what there is too much of and what there is too little of add
up to D, and differ by n − m. Each of the two is replaced by what it does not exceed with 97.5 % confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core import release_extras
from discreet.core.kind import Kind
from discreet.core.release import Release, Rows
from discreet.errors import BadInput
from discreet.releases.method import BETA
from discreet.verbs.synthesize.attributes import Attribute, Binned, Listed
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.spending import Meter
from discreet.verbs.synthesize.streaming import Tally, tallied_columns

WITHIN = "in intervals"
"""Marks columns of which whole intervals were counted, and nothing within them."""


@dataclass(frozen=True)
class CountBounds:
    """Bounds on the error of counts over synthetic rows."""

    by: str
    rows: int
    """Number of synthetic rows."""
    columns: tuple[str, ...]
    exact: tuple[str, ...]
    """The columns every value of which was counted by itself; of others only intervals or groups were."""
    reach: Mapping[tuple[str, ...], float]
    """Error bound of counts over one or two columns (in the order of ``columns``), rows, with 95 % confidence.

    Where a column is not exact, it holds if whole intervals of it are counted.
    """

    @property
    def distance(self) -> dict[tuple[str, ...], float]:
        """The reach of each set of columns as a part of the rows."""
        return {columns: far / max(self.rows, 1) for columns, far in self.reach.items()}

    @property
    def left_out(self) -> tuple[tuple[str, ...], ...]:
        """The sets of columns that have too many combinations to be compared."""
        return tuple(one for one in release_extras.sets(self.columns) if one not in self.reach)

    def called(self, columns: Sequence[str]) -> str:
        """Name of a set of columns, with a mark if its bound is about whole intervals alone."""
        return release_extras.called(columns) + ("" if set(columns) <= set(self.exact) else f" ({WITHIN})")

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "by": self.by,
            "rows": self.rows,
            "columns": list(self.columns),
            "exact": list(self.exact),
            "reach": {release_extras.called(columns): far for columns, far in self.reach.items()},
        }


def distances(of: Release[Any] | pa.Table | pa.Schema | Rows) -> CountBounds:
    """The measured distances of synthetic rows; an error if they carry none."""
    source = of.payload if isinstance(of, Release) else of
    if isinstance(source, Rows):
        with pq.ParquetFile(source.path) as file:
            found = file.metadata.metadata
    elif isinstance(source, pa.Table | pa.Schema):
        found = (source.schema if isinstance(source, pa.Table) else source).metadata
    else:
        found = None
    if not found or release_extras.SYNTHETIC.encode() not in found:
        raise BadInput("These rows have no distances from the original.", hint="Use rows made by Synthesize.")
    read = release_extras.read(found[release_extras.SYNTHETIC.encode()])
    named = {release_extras.called(one): one for one in release_extras.sets(read["columns"])}
    reach = {named[name]: float(far) for name, far in read["reach"].items()}
    return CountBounds(read["by"], read["rows"], tuple(read["columns"]), tuple(read["exact"]), reach)


def measure_distances(meter: Meter, tally: Tally, by: str) -> CountBounds:
    """Spend all that a meter has left on comparing true counts with those of drawn rows.

    Why this is private: it only asks the meter, for shares that add up to what it has left. What is compared was
    drawn from a model of earlier answers, and how often follows from the domain alone.
    """
    share = meter.left / (len(tally.counts) + 1)
    beta = BETA / 2
    rows = meter.compare((), np.array(float(tally.rows)), share).at_most(beta)
    found = {}
    for columns, counts in tally.counts.items():
        far = meter.compare(columns, counts.astype(np.float64), share).at_most(beta)
        rounded_up = float(f"{(far + rows) / 2 * (1 + 1e-4):.5g}")  # five digits are enough for a bound
        found[tuple(meter.domain.names[place] for place in columns)] = rounded_up
    return CountBounds(by, tally.rows, meter.domain.names, exact_columns(meter.domain), found)


def exact_columns(domain: Domain) -> tuple[str, ...]:
    """The columns that have a code for each value."""
    return tuple(one.column.name for one in domain.attributes if _exact(one))


def too_many(domain: Domain) -> tuple[str, ...]:
    """The sets of columns that have too many combinations to be compared, by what they are called."""
    known = {tuple(domain.names[place] for place in columns) for columns in tallied_columns(domain)}
    return tuple(release_extras.called(one) for one in release_extras.sets(domain.names) if one not in known)


def _exact(attribute: Attribute) -> bool:
    """Whether every value has a code; decimals may have more places than those that are drawn."""
    whole = isinstance(attribute, Binned) and attribute.firsts == attribute.lasts
    return isinstance(attribute, Listed) or (whole and attribute.column.kind is not Kind.DECIMAL)


COMPARED = Fraction(1, 20)
"""The part of the allowance that is spent on comparing."""

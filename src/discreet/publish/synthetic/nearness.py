"""How near synthetic rows are to the table they stand for: measured privately, and written beside the rows.

For every column, and every pair of columns, the sum D of the differences between true and synthetic counts is
measured with noise, and so is the difference |n − m| between the numbers of rows. Whatever condition on those columns
is counted, the count is off by at most (D + |n − m|) / 2: what there is too much of and what there is too little of add
up to D, and differ by n − m. Each of the two is replaced by what it does not exceed with 97.5 % confidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.budget.promise import BETA
from discreet.core.document import fields
from discreet.core.release import Release
from discreet.core.release_folder import Rows
from discreet.errors import BadInput
from discreet.publish.synthetic.attributes import Attribute, Binned, Listed
from discreet.publish.synthetic.domain import Domain
from discreet.publish.synthetic.spending import Meter
from discreet.publish.synthetic.written import ABOUT, Tally

_FIELDS = {"by": str, "rows": int, "columns": list, "exact": list, "distance": dict}


@dataclass(frozen=True)
class Near:
    """How synthetic rows were made, and how far counts of them may be off."""

    by: str
    rows: int
    """How many synthetic rows there are."""
    columns: tuple[str, ...]
    exact: tuple[str, ...]
    """The columns every value of which was counted by itself; of others only intervals or groups were."""
    distance: Mapping[tuple[str, ...], float]
    """By one or two columns, in the order of ``columns``: whatever is counted over them, the true count is off by at
    most this part of ``rows``, with 95 % confidence (where a column is not exact, for what its codes can tell)."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        said = {" × ".join(columns): far for columns, far in self.distance.items()}
        return {
            "by": self.by,
            "rows": self.rows,
            "columns": list(self.columns),
            "exact": list(self.exact),
            "distance": said,
        }


def distances(of: Release[Any] | pa.Table | pa.Schema | Rows) -> Near:
    """What was measured of synthetic rows; an error if they say nothing of it."""
    source = of.payload if isinstance(of, Release) else of
    if isinstance(source, Rows):
        with pq.ParquetFile(source.path) as file:
            found = file.metadata.metadata
    elif isinstance(source, pa.Table | pa.Schema):
        found = (source.schema if isinstance(source, pa.Table) else source).metadata
    else:
        found = None
    if not found or ABOUT.encode() not in found:
        raise BadInput("These rows do not say how near they are to others.", hint="Rows that Synthesize made do.")
    read = fields(json.loads(found[ABOUT.encode()]), ABOUT, **_FIELDS)
    named = {" × ".join(one): one for one in _sets(tuple(map(str, read["columns"])))}
    distance = {named[name]: float(far) for name, far in read["distance"].items() if name in named}
    return Near(read["by"], read["rows"], tuple(read["columns"]), tuple(read["exact"]), distance)


def compared(meter: Meter, tally: Tally, by: str) -> Near:
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
        found[tuple(meter.domain.names[place] for place in columns)] = _rounded((far + rows) / 2 / max(tally.rows, 1))
    return Near(by, tally.rows, meter.domain.names, exact_columns(meter.domain), found)


def exact_columns(domain: Domain) -> tuple[str, ...]:
    """The columns that have a code for each value."""
    return tuple(one.column.name for one in domain.attributes if _exact(one))


def _exact(attribute: Attribute) -> bool:
    whole = isinstance(attribute, Binned) and attribute.firsts == attribute.lasts
    return isinstance(attribute, Listed) or whole


def _rounded(value: float) -> float:
    """Five digits are enough for a bound, rounded up."""
    return float(f"{value * (1 + 1e-4):.5g}")


def _sets(columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield from ((one,) for one in columns)
    yield from combinations(columns, 2)


COMPARED = Fraction(1, 20)
"""The part of the allowance that is spent on comparing."""

"""What a collector keeps, and what it does not take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency_oracle import ReportTally


def test_it_adds_as_reports_come() -> None:
    tally = GRR("abc", 1).tally()
    for reports in ([0, 1], [2, 2], []):
        tally.add(pa.array(reports, pa.uint8()))
    assert (tally.reports, tally.counts.tolist(), tally.supports.tolist()) == (4, [1, 1, 2], [1, 1, 2])
    assert tally.to_dict() == {"reports": 4, "counts": [1, 1, 2]}


def test_what_is_kept_is_not_what_is_supported() -> None:
    tally = Hadamard(3, 1).tally().add(pa.array([1, 1, 3, 4], pa.uint16()))
    assert tally.counts.tolist() == [0, 2, 0, 1, 1, 0, 0, 0]
    assert tally.supports.tolist() == [3, 2, 4]


def test_merging_leaves_the_other_as_it_is() -> None:
    one, other = (GRR("abc", 1).tally().add(pa.array([index], pa.uint8())) for index in (0, 1))
    one.merge(other)
    assert (one.reports, one.counts.tolist()) == (2, [1, 1, 0])
    assert (other.reports, other.counts.tolist()) == (1, [0, 1, 0])


@pytest.mark.parametrize("other", [GRR("abc", 2), GRR("abd", 1), Hadamard("abc", 1)])
def test_two_protocols_are_not_counted_together(other: Any) -> None:
    with pytest.raises(BadInput, match="cannot be counted together"):
        GRR("abc", 1).tally().merge(other.tally())


@pytest.mark.parametrize(
    "data",
    [
        {"reports": 2, "counts": [1, 1]},
        {"reports": 2, "counts": [1, 1, -1]},
        {"reports": 2, "counts": [1, 1, 3]},
        {"reports": 2, "counts": [1, 1, 0.0]},
        {"reports": 2, "counts": [1, 1, True]},
        {"reports": 2**70, "counts": [1, 1, 2**69]},
    ],
)
def test_what_is_no_tally_is_refused(data: object) -> None:
    with pytest.raises(DataError, match="no count of reports"):
        ReportTally.from_dict(GRR("abc", 1), data)


def test_a_tally_has_its_fields() -> None:
    with pytest.raises(BadInput, match="counts"):
        ReportTally.from_dict(GRR("abc", 1), {"reports": 2})
    assert np.array_equal(ReportTally(GRR("abc", 1)).counts, [0, 0, 0])

"""Reports that are a whole number below a known one: their type, and how often each was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.domain import Codes, Counts

_AT_ONCE = 1 << 20
Reports: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


def type_of(outcomes: int) -> pa.DataType:
    """The smallest type that holds numbers below ``outcomes``."""
    return pa.uint8() if outcomes <= 1 << 8 else pa.uint16() if outcomes <= 1 << 16 else pa.uint32()


def reported(codes: Codes, outcomes: int) -> pa.Array[Any]:
    """Numbers as reports."""
    return pa.array(codes.astype(type_of(outcomes).to_pandas_dtype()))


def in_parts(count: int, draw: Callable[[slice], pa.Array[Any]]) -> pa.Array[Any]:
    """Reports of so many people, a million at a time, so that memory is bounded."""
    parts = [draw(slice(start, start + _AT_ONCE)) for start in range(0, max(count, 1), _AT_ONCE)]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def often(told: NDArray[Any], outcomes: int, wrong: str) -> Counts:
    """How often each number below ``outcomes`` was told; ``wrong`` is said of any other, before room is made for it."""
    if told.size and told.max() >= outcomes:
        raise DataError(wrong)
    return np.bincount(told, minlength=outcomes).astype(np.int64, copy=False)


def counted(reports: Reports, outcomes: int) -> Counts:
    """How often each number was told. Reports that no device can have made are an error."""
    if reports.type != type_of(outcomes):
        raise DataError(
            f"A report is {type_of(outcomes)}, not {reports.type}.",
            hint="Read them with the survey that they were made by.",
        )
    if reports.null_count:
        raise DataError("A report is missing.", hint="Leave out people who did not answer.")
    counts = np.zeros(outcomes, dtype=np.int64)
    for chunk in reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]:
        counts += often(chunk.to_numpy(), outcomes, "A report tells a number that no device tells.")
    return counts


def require(n: int, confidence: float) -> None:
    """Refuse to estimate from nothing, or with a confidence that is none."""
    if not 0 < confidence < 1:
        raise BadInput(f"Confidence lies between 0 and 1, got {confidence}.")
    if n < 2:
        raise BadInput(
            "There are no reports to estimate from.", hint="It takes two at least to tell how far they vary."
        )

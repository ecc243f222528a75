"""Reports that are a whole number below a known one: their type, and how often each occurs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.domain import Codes, Counts

_PEOPLE_PER_BATCH = 1 << 20
Reports: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


def integer_type(outcomes: int) -> pa.DataType:
    """Smallest Arrow type that holds numbers below ``outcomes``."""
    return pa.uint8() if outcomes <= 1 << 8 else pa.uint16() if outcomes <= 1 << 16 else pa.uint32()


def to_integer_reports(codes: Codes, outcomes: int) -> pa.Array[Any]:
    """Convert numbers below ``outcomes`` to reports."""
    return pa.array(codes.astype(integer_type(outcomes).to_pandas_dtype()))


def in_batches(count: int, draw: Callable[[slice], pa.Array[Any]]) -> pa.Array[Any]:
    """Draw reports for ``count`` people, a million at a time, so that memory is bounded."""
    parts = [draw(slice(start, start + _PEOPLE_PER_BATCH)) for start in range(0, max(count, 1), _PEOPLE_PER_BATCH)]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def count_outcomes(codes: NDArray[Any], outcomes: int, message: str) -> Counts:
    """Count how often each number below ``outcomes`` occurs; any other is an error, before memory is taken for it."""
    if codes.size and codes.max() >= outcomes:
        raise DataError(message)
    return np.bincount(codes, minlength=outcomes).astype(np.int64, copy=False)


def chunks_of(reports: Reports, report_type: pa.DataType, name: str = "this protocol") -> list[pa.Array[Any]]:
    """The contiguous parts of an array of reports; reports of another type, or missing ones, are an error."""
    if reports.type != report_type:
        raise DataError(
            f"A report of {name} is {report_type}, not {reports.type}.",
            hint="Read them with the survey that they were made by.",
        )
    if reports.null_count:
        raise DataError("A report is missing.", hint="Leave out people who did not answer.")
    return reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]


def count_integer_reports(reports: Reports, outcomes: int) -> Counts:
    """Count how often each number was reported; a report that no device can have made is an error."""
    counts = np.zeros(outcomes, dtype=np.int64)
    for chunk in chunks_of(reports, integer_type(outcomes)):
        counts += count_outcomes(chunk.to_numpy(), outcomes, "A report tells a number that no device tells.")
    return counts


def require_reports(n: int, confidence: float) -> None:
    """Refuse to estimate from fewer than two reports, or with a confidence outside 0 to 1."""
    if not 0 < confidence < 1:
        raise BadInput(f"Confidence lies between 0 and 1, got {confidence}.")
    if n < 2:
        raise BadInput(
            "There are no reports to estimate from.", hint="It takes two at least to tell how far they vary."
        )

"""Reports as Arrow arrays: whole numbers below a known one, or a bit for every value in a fixed number of bytes.

The bit of the first value is the lowest of the first byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.compiled import njit
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Words
from discreet.verbs.collect.domain import Codes, Counts

Kind = TypeVar("Kind", bound=np.generic)
WORDS_PER_BATCH = 1 << 16
"""Number of 64-bit words drawn at once: half a megabyte, which stays in the processor's cache."""
_PEOPLE_PER_BATCH = 1 << 20
Reports: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


def integer_type(outcomes: int) -> pa.DataType:
    """Smallest Arrow type that holds numbers below ``outcomes``."""
    return pa.uint8() if outcomes <= 1 << 8 else pa.uint16() if outcomes <= 1 << 16 else pa.uint32()


def to_integer_reports(codes: Codes, outcomes: int) -> pa.Array[Any]:
    """Convert numbers below ``outcomes`` to reports."""
    return pa.array(codes.astype(integer_type(outcomes).to_pandas_dtype()))


def in_batches(count: int, draw: Callable[[slice], pa.Array[Any]], step: int = _PEOPLE_PER_BATCH) -> pa.Array[Any]:
    """Draw reports for ``count`` people, ``step`` at a time, so that memory is bounded."""
    parts = [draw(slice(start, start + step)) for start in range(0, max(count, 1), step)]
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
            f"A report of {name} must be {report_type}, not {reports.type}.",
            hint="Read them with the survey that made them.",
        )
    if reports.null_count:
        raise DataError("A report is missing.", hint="Leave out people who did not answer.")
    return reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]


def count_integer_reports(reports: Reports, outcomes: int) -> Counts:
    """Count how often each number was reported; a report that no device can have made is an error."""
    counts = np.zeros(outcomes, dtype=np.int64)
    for chunk in chunks_of(reports, integer_type(outcomes)):
        counts += count_outcomes(chunk.to_numpy(), outcomes, "A report has an impossible number.")
    return counts


def require_confidence(confidence: float) -> None:
    """Refuse a confidence that does not lie between 0 and 1."""
    if not 0 < confidence < 1:
        raise BadInput(f"Confidence must be between 0 and 1, got {confidence}.")


def require_reports(n: int, confidence: float) -> None:
    """Refuse to estimate from fewer than two reports, or with a confidence outside 0 to 1."""
    require_confidence(confidence)
    if n < 2:
        raise BadInput("There are no reports to estimate from.", hint="At least two are needed.")


def bit_report_type(d: int) -> pa.DataType:
    """Arrow type of a report with ``d`` bits, in whole bytes."""
    return pa.binary(-(-d // 8))


def word_count(d: int) -> int:
    """Number of 64-bit words that hold ``d`` bits."""
    return -(-d // 64)


def rows_to_reports(rows: NDArray[Any]) -> pa.Array[Any]:
    """Convert rows of a fixed width to reports, without a copy."""
    width = rows.itemsize * (rows.shape[1] if rows.ndim > 1 else 1)
    return pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows.data)])


def reports_to_rows(reports: pa.Array[Any]) -> NDArray[np.uint8]:
    """Convert reports of a fixed width to rows of bytes, without a copy."""
    width, buffer = reports.type.bit_width // 8, reports.buffers()[1]
    whole = np.frombuffer(memoryview(buffer) if buffer is not None else b"", np.uint8).reshape(-1, width)
    return whole[reports.offset : reports.offset + len(reports)]


def read_only(array: NDArray[Kind]) -> NDArray[Kind]:
    """A contiguous read-only view, the one form of input that kernels are compiled for."""
    same = np.ascontiguousarray(array).view()
    same.flags.writeable = False
    return same


def bits_to_reports(bits: Words, d: int) -> pa.Array[Any]:
    """Convert rows of whole words to reports of ``d`` bits; bits after the last are cut off."""
    bits[:, -1] &= np.uint64((1 << (d - 64 * (bits.shape[1] - 1))) - 1)
    width = -(-d // 8)
    return rows_to_reports(np.ascontiguousarray(bits.astype("<u8", copy=False).view(np.uint8)[:, :width]))


def count_bits(rows: NDArray[np.uint8], d: int, ones: int | None = None) -> Counts:
    """Count the rows that have each of ``d`` bits; a bit after the last, or not ``ones`` bits, is an error."""
    result = np.zeros((rows.shape[1], 8), dtype=np.int64)
    if not _add_up(read_only(rows), result, -1 if ones is None else ones):
        raise DataError(f"A report does not have {ones} bits.")
    counts = result.reshape(-1)
    if counts[d:].any():
        raise DataError("A report has a bit for a value that the question does not have.")
    return counts[:d]


@njit(cache=True)
def _add_up(report_codes: Any, result: Any, ones: int) -> bool:
    """Add each bit to its count; return whether all rows have ``ones`` ones, unless that is below 0.

    Counts of 255 rows at most are kept in bytes, eight to a word.
    """
    spread, has = np.empty(256, dtype=np.uint64), np.empty(256, dtype=np.int64)
    for byte in range(256):
        eight, many = np.uint64(0), 0
        for bit in range(8):
            if byte >> bit & 1:
                eight |= np.uint64(1) << np.uint64(8 * bit)
                many += 1
        spread[byte], has[byte] = eight, many
    rows, width = report_codes.shape
    sums = np.empty(width, dtype=np.uint64)
    for start in range(0, rows, 255):
        sums[:] = 0
        for row in range(start, min(rows, start + 255)):
            for index in range(width):
                sums[index] += spread[report_codes[row, index]]
            if ones >= 0:
                many = 0
                for index in range(width):
                    many += has[report_codes[row, index]]
                if many != ones:
                    return False
        for index in range(width):
            for bit in range(8):
                result[index, bit] += np.int64(sums[index] >> np.uint64(8 * bit) & np.uint64(255))
    return True

"""Reports with a bit for every value: the first value's is the lowest bit of the first byte."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.compiled import njit
from discreet.errors import DataError
from discreet.noise.entropy import Words
from discreet.verbs.collect.domain import Counts

Kind = TypeVar("Kind", bound=np.generic)
WORDS_PER_BATCH = 1 << 16
"""Number of 64-bit words drawn at once: half a megabyte, which stays in the processor's cache."""


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
    width, held = reports.type.bit_width // 8, reports.buffers()[1]
    whole = np.frombuffer(memoryview(held) if held is not None else b"", np.uint8).reshape(-1, width)
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
    """Count the rows that have each of ``d`` bits; a bit after the last, or another number than ``ones``, is an error."""
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

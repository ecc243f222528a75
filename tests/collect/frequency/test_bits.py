"""Rows of bits: as they are kept, cut off and counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import DataError
from discreet.verbs.collect import report_arrays
from discreet.verbs.collect.report_arrays import (
    bit_report_type,
    bits_to_reports,
    count_bits,
    reports_to_rows,
    rows_to_reports,
    word_count,
)


@pytest.mark.parametrize("d", [2, 7, 8, 9, 63, 64, 65, 100, 128, 130])
def test_bits_are_counted_where_they_are(d: int) -> None:
    """More rows than fit into a byte's count, and reports that begin in the middle of an array."""
    generator = np.random.default_rng(d)
    words = generator.integers(0, 2**64, (600, word_count(d)), dtype=np.uint64)
    words[:, 0] |= np.uint64(1)
    reports = bits_to_reports(words, d)
    assert reports.type == bit_report_type(d)
    whole = np.unpackbits(reports_to_rows(reports), axis=1, bitorder="little")
    assert whole.shape[1] - d < 8
    assert not whole[:, d:].any()
    assert whole[:, 0].all()
    assert count_bits(reports_to_rows(reports), d).tolist() == whole[:, :d].sum(axis=0).tolist()
    assert count_bits(reports_to_rows(reports.slice(13, 300)), d).tolist() == whole[13:313, :d].sum(axis=0).tolist()


def test_the_kernel_is_compiled_once_for_whatever_form_rows_have() -> None:
    rows = np.arange(64, dtype=np.uint8).reshape(8, 8)
    fixed = rows.copy()
    fixed.flags.writeable = False
    for one in (rows, fixed, rows[:, ::2], np.asfortranarray(rows)):
        count_bits(one, 64)
    assert len(report_arrays._add_up.signatures) == 1


def test_rows_and_reports_share_their_memory() -> None:
    rows = np.arange(12, dtype=np.uint8).reshape(4, 3)
    reports = rows_to_reports(rows)
    assert reports.to_pylist() == [b"\x00\x01\x02", b"\x03\x04\x05", b"\x06\x07\x08", b"\x09\x0a\x0b"]
    rows[0, 0] = 9
    assert reports_to_rows(reports)[0].tolist() == [9, 1, 2]
    assert reports_to_rows(pa.array([258, 3], pa.uint16()).slice(1)).tolist() == [[3, 0]]
    assert reports_to_rows(pa.array([], pa.binary(3))).shape == (0, 3)


def test_a_row_must_have_as_many_bits_as_it_should() -> None:
    rows = np.array([[0b101, 1], [0b111, 0]], dtype=np.uint8)
    assert count_bits(rows, 9, 3).tolist() == [2, 1, 2, 0, 0, 0, 0, 0, 1]
    with pytest.raises(DataError, match="does not have 2 bits"):
        count_bits(rows, 9, 2)
    with pytest.raises(DataError, match="does not have"):
        count_bits(rows, 8)

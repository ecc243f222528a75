"""Values that every engine must keep: the hard ones of each kind, as one table.

Dates and timestamps are promised from the year 1 to 9999, text without the zero character, decimals up to 38
digits.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.core.kind import Kind

_UTC = dt.UTC
INTEGERS = [0, 1, -1, 127, -128, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63) + 1]
REALS = [0.0, -0.0, 0.1, 1 / 3, -1e-7, 5e-324, 1.7976931348623157e308, 123456789.12345679]
NOT_FINITE = [float("nan"), float("inf"), float("-inf")]
DECIMALS = [Decimal("0.00"), Decimal("-0.01"), Decimal("12345678901234567890.12"), Decimal("9" * 36 + ".99")]
BOOLEANS = [True, False]
TEXTS = [
    *("", " ", " padded ", "NULL", "null", "NaN", "\\N", "\\.", "\\", "a\\nb", "\\u0041", "0x41"),
    *("it's", 'qu"ote', "''", '""', "back`tick", "a,b;c", "new\nline", "cr\r\nlf", "\r", "tab\t", "\x01\x7f"),
    *("é", "e\u0301", "日本語", "שלום", "\u202eمرحبا", "😀👩‍👩‍👧", "\ufeffbom", "\u200b", "\U0010ffff"),
    *("%s %% {x} ${y} $1 :name ? --", "/* */ ; DROP TABLE t", "00123"),
]
DATES = [
    *(dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 10), dt.date(1582, 10, 15)),
    *(dt.date(1900, 2, 28), dt.date(1969, 12, 31), dt.date(2000, 2, 29), dt.date(9999, 12, 31)),
]
TIMES = [
    *(dt.datetime(1, 1, 1), dt.datetime(1582, 10, 10, 12, 30), dt.datetime(1883, 11, 18, 12, 3, 58)),
    *(dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 3, 31, 2, 30, 0, 1)),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
]
ZONED = [time.replace(tzinfo=_UTC) for time in TIMES]
LITERALS: dict[str, tuple[Kind, list[Any]]] = {
    "integer": (Kind.INTEGER, INTEGERS),
    "real": (Kind.REAL, [*REALS, *NOT_FINITE]),
    "decimal": (Kind.DECIMAL, DECIMALS),
    "boolean": (Kind.BOOLEAN, BOOLEANS),
    "text": (Kind.TEXT, TEXTS),
    "date": (Kind.DATE, DATES),
    "timestamp": (Kind.TIMESTAMP, TIMES),
    "zoned": (Kind.TIMESTAMP, ZONED),
}
"""Values of every kind that a literal must keep."""
USUAL = {
    Kind.INTEGER: (-7, 2**40),
    Kind.REAL: (-0.5, 1e12),
    Kind.DECIMAL: (Decimal("-0.25"), Decimal("12.50")),
    Kind.TEXT: ("a", "b, 'c'"),
    Kind.BOOLEAN: (False, True),
    Kind.DATE: (dt.date(1999, 12, 31), dt.date(2024, 2, 29)),
    Kind.TIMESTAMP: (dt.datetime(1999, 12, 31, 23, 59, 59), dt.datetime(2024, 2, 29, 1, 2, 3, 4)),
}
"""Two ordinary values of each kind, the smaller first."""

_COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "i8": ([0, 127, -128], pa.int8()),
    "i16": ([0, 2**15 - 1, -(2**15)], pa.int16()),
    "i32": ([0, 2**31 - 1, -(2**31)], pa.int32()),
    "i64": ([*INTEGERS, -(2**63)], pa.int64()),
    "u8": ([0, 2**8 - 1], pa.uint8()),
    "u16": ([0, 2**16 - 1], pa.uint16()),
    "u32": ([0, 2**32 - 1], pa.uint32()),
    "f32": ([0.0, 0.1, *NOT_FINITE], pa.float32()),
    "f64": ([*REALS, *NOT_FINITE], pa.float64()),
    "dec": (DECIMALS, pa.decimal128(38, 2)),
    "whole": ([Decimal("9" * 38), Decimal("-" + "9" * 38)], pa.decimal128(38, 0)),
    "fine": ([Decimal("0." + "1" * 38)], pa.decimal128(38, 38)),
    "flag": (BOOLEANS, pa.bool_()),
    "text": (TEXTS, pa.string()),
    "long": (["x" * 100_000, "é" * 70_000], pa.large_string()),
    "coded": (["a", "b", "a"], pa.dictionary(pa.int8(), pa.string())),
    "day": (DATES, pa.date32()),
    "time": (TIMES, pa.timestamp("us")),
    "zoned": (ZONED, pa.timestamp("us", "UTC")),
    "second": ([dt.datetime(2000, 1, 1, 1, 1, 1)], pa.timestamp("s")),
    "tokyo": ([dt.datetime(2000, 1, 1, tzinfo=_UTC)], pa.timestamp("ms", "Asia/Tokyo")),
}
_LENGTH = max(len(values) for values, _ in _COLUMNS.values()) + 1

EVERYTHING = pa.table(
    {"id": pa.array(range(_LENGTH), pa.int64())}
    | {
        name: pa.array([*values, *[None] * (_LENGTH - len(values))], type_)
        for name, (values, type_) in _COLUMNS.items()
    }
)
"""Every kind in every width, each column ending in NULLs; ``id`` says the order."""


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    """The same types and the same values, where NaN is NaN and -0.0 is not 0.0."""
    assert found.schema == expected.schema
    for name, column in enumerate(found.column_names):
        assert [*map(repr, found.column(name).to_pylist())] == [*map(repr, expected.column(name).to_pylist())], column

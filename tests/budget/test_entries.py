"""The lines of a ledger, as they are written."""

from __future__ import annotations

import datetime as dt
import hashlib

import pytest

from discreet.budget.entries import START, Began, Charged, Entry, Limited, Line, Opened, path, read, write
from discreet.budget.filter import Budget
from discreet.budget.store import digest
from discreet.core.loss import Approximate, Pure
from discreet.errors import BadInput

AT = dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
CHARGED = Charged("t/a", Pure("1/3"), "k", "how many?", "1990")


@pytest.mark.parametrize(
    "entry",
    [
        Began(),
        Opened("t", Budget(Approximate(1, "1e-6"), concentrated=True, reserve="1e-7"), "year"),
        Opened("t/a", Budget(Pure(1))),
        Limited("t", Budget(Pure(2)), "because"),
        CHARGED,
        Charged("t", Approximate(1, "1e-9"), "k", "\ud800\0"),
    ],
)
def test_a_line_is_read_back_as_it_was(entry: Entry) -> None:
    content = write(7, AT, entry)
    assert read(content) == (7, AT, entry)
    assert content.isascii()


def test_the_format_is_written_down_and_stays() -> None:
    """Ledgers outlive versions: this text and this digest may never change."""
    content = write(7, AT, CHARGED)
    assert content == (
        '{"account":"t/a","at":"2026-01-02T03:04:05.000006+00:00","key":"k","kind":"charged","line":7,'
        '"loss":{"epsilon":"1/3","kind":"pure"},"part":"1990","purpose":"how many?"}'
    )
    assert digest(START, content) == hashlib.sha256(b"0" * 64 + b"\n" + content.encode()).hexdigest()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"kind":"began","line":1}',
        '{"kind":"began","line":true,"at":"2026-01-02T03:04:05+00:00","format":1}',
        '{"kind":"began","line":1,"at":"2026-01-02T03:04:05","format":1}',
        '{"kind":"began","line":1,"at":"2026-01-02T03:04:05+00:00","format":"1"}',
        '{"kind":"refunded","line":1,"at":"2026-01-02T03:04:05+00:00"}',
        '{"kind":"charged","line":1,"at":"2026-01-02T03:04:05+00:00","account":"t"}',
        "[" * 100_000,
    ],
)
def test_what_is_no_line_is_refused(content: str) -> None:
    with pytest.raises(BadInput):
        read(content)


def test_an_account_is_below_others() -> None:
    assert path("t/a/x") == ("t", "t/a", "t/a/x")


def test_only_charges_have_receipts() -> None:
    assert Line(7, AT, CHARGED, "d").receipt.loss == Pure("1/3")
    with pytest.raises(BadInput, match="not a charge"):
        _ = Line(1, AT, Began(), "d").receipt

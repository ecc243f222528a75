"""Texts into values, as a card says they are written: three engines, one answer, and it is Python's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.text_format import TextFormat
from discreet.engines.text_values import ROW, Typed, Written, typed
from discreet.errors import DataError

Names = Callable[[], str]
COUNTED = TextFormat(misfit="missing")


def read(engine: Engine, name: str, columns: dict[str, tuple[Written, list[str | None]]]) -> tuple[pa.Table, Typed]:
    longest = max(len(texts) for _, texts in columns.values())
    padded = {name: [*texts, *[None] * (longest - len(texts))] for name, (_, texts) in columns.items()}
    engine.load(
        name, pa.table({**{one: pa.array(texts, pa.string()) for one, texts in padded.items()}, ROW: range(longest)})
    )
    text = exp.select("*").from_(sql.table(name))
    found = typed(engine, text, {one: written for one, (written, _) in columns.items()}, "t", where=lambda rows: {})
    query = exp.select(*(sql.column(one) for one in columns)).from_(found.query.subquery("q"))
    return engine.fetch(query), found


def written(kind: Kind, **said: Any) -> Written:
    return Written(kind, TextFormat(**said).over(COUNTED))


GERMAN = {"decimal": ",", "thousands": "."}
CASES: dict[str, tuple[Written, dict[str | None, Any]]] = {
    "integers": (
        written(Kind.INTEGER),
        {"0": 0, "-5": -5, "+7": 7, "007": 7, "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63)}
        | {"00000000000000000000000000000000000000000000000000000000001": 1}
        | dict.fromkeys(["", "1.7", "0x1F", "1_000", "1e3", "9223372036854775808", "-9223372036854775809", " 1", "1\n"])
        | dict.fromkeys(["9" * 50, "+", "-", "١", "1 000", "1,000"]),
    ),
    "grouped": (
        written(Kind.INTEGER, thousands="."),
        {"1.000": 1000, "-12.345.678": -12345678, "1000": 1000, "1.00": None, "1000.000": None, "1.000.": None},
    ),
    "reals": (
        written(Kind.REAL),
        {"1": 1.0, "-.5": -0.5, "1e3": 1000.0, "-inf": float("-inf"), "Infinity": float("inf"), "2.": 2.0}
        | {"1.7976931348623157e308": 1.7976931348623157e308, "5e-324": 5e-324, "1e-400": 0.0, "0e9999": 0.0}
        | {"0.1": 0.1, "123456789.123456789": 123456789.123456789, "1e-9999": 0.0, "0." + "3" * 300: 1 / 3}
        | dict.fromkeys(["1e400", "-1e400", "1,5", "0x1p3", "--1", "1e", ".", "1.8e308", "9" * 400, "1e99999", "1.\n"]),
    ),
    "german reals": (
        written(Kind.REAL, **GERMAN),
        {"1,5": 1.5, "1.234,5": 1234.5, "-0,25": -0.25, ",5": 0.5, "1.5": None, "1.234": 1234.0, "1,5e2": 150.0},
    ),
    "decimals": (
        written(Kind.DECIMAL),
        {"1": Decimal(1), "-0.25": Decimal("-0.25"), ".5": Decimal("0.5"), "12.": Decimal(12)}
        | {"0.123456789123456789": Decimal("0.123456789123456789"), "00" + "9" * 20: Decimal("9" * 20)}
        | dict.fromkeys(["0.1234567891234567891", "1e3", "nan", "9" * 21, ".", "1,5"]),
    ),
    "spaced decimals": (
        written(Kind.DECIMAL, decimal=",", thousands=" ", trim=True, missing=["-", "k.A."]),
        {
            " 1 234,50 ": Decimal("1234.50"),
            "\t7": Decimal(7),
            "-": None,
            " k.A.": None,
            "-1": Decimal(-1),
            "1 23": None,
        },
    ),
    "booleans": (
        written(Kind.BOOLEAN),
        {"true": True, "F": False, "Yes": True, "0": False, "2": None, "ja": None, "on": None, "true\n": None},
    ),
    "words": (
        written(Kind.BOOLEAN, true=["ja", "Ånd"], false=["nein", "?"]),
        {"JA": True, "åND": True, "Nein": False, "?": False, "yes": None, "1": None},
    ),
    "labels": (
        written(Kind.TEXT, labels={"1": "male", "2": "it's a woman", "ä": "\\"}),
        {"1": "male", "2": "it's a woman", "ä": "\\", "3": None, "": None, "01": None},
    ),
    "texts": (
        written(Kind.TEXT, trim=True, missing=["?"]),
        {" x y ": "x y", "?": None, " ? ": None, "": None, "??": "??"},
    ),
    "moments": (
        written(Kind.TIMESTAMP),
        {"2020-01-01": dt.datetime(2020, 1, 1), "2020-01-01T10:00": dt.datetime(2020, 1, 1, 10)}
        | {"2020-12-31 23:59:59.123456": dt.datetime(2020, 12, 31, 23, 59, 59, 123456)}
        | dict.fromkeys(["2020-01-01 10:00:00+02", "2020-01-01 10:00:00.1234567", "2020-01-01 24:00:00", "2020-02-30"])
        | dict.fromkeys(["2020-01-01 10:60", "2020-01-01 10:00:60", "infinity", "now", "2020-01-01 10"]),
    ),
    "dates of two formats": (
        written(Kind.DATE, format=["%d.%m.%Y", "%Y-%m-%d"]),
        {"31.12.1999": dt.date(1999, 12, 31), "1.2.2024": dt.date(2024, 2, 1), "2024-02-29": dt.date(2024, 2, 29)}
        | dict.fromkeys(["31.02.1970", "29.02.2023", "0.1.2020", "1.13.2020", "n/a", "01.01.20", "01.01.0000"]),
    ),
    "dates that two formats read": (
        written(Kind.DATE, format=["%d/%m/%Y", "%m/%d/%Y"]),
        {"01/02/2020": dt.date(2020, 2, 1), "12/25/2020": dt.date(2020, 12, 25), "25/25/2020": None},
    ),
    "short dates": (
        written(Kind.DATE, format="%d%m%y"),
        {"010170": dt.date(1970, 1, 1), "311269": dt.date(2069, 12, 31), "11270": None, "310270": None},
    ),
    "American times": (
        written(Kind.TIMESTAMP, format="%b %d, %Y %I:%M:%S.%f %p"),
        {
            "Jan 1, 2020 12:00:00.5 AM": dt.datetime(2020, 1, 1, 0, 0, 0, 500000),
            "DEC 31, 2020 12:59:00.0 pm": dt.datetime(2020, 12, 31, 12, 59),
            "mar 03, 2020 1:02:03.000004 PM": dt.datetime(2020, 3, 3, 13, 2, 3, 4),
        }
        | dict.fromkeys(["Jan 1, 2020 00:00:00.5 AM", "Foo 1, 2020 1:00:00.5 AM", "Jan 1, 2020 13:00:00.5 AM"]),
    ),
    "dates with a time": (
        written(Kind.DATE, format="%d.%m.%Y %H:%M:%S"),
        {"01.02.2020 00:00:00": dt.date(2020, 2, 1), "01.02.2020 00:00:01": None},
    ),
}


def test_every_engine_reads_what_python_reads(engine: Engine, fresh: Names) -> None:
    found, made = read(engine, fresh(), {name: (how, list(texts)) for name, (how, texts) in CASES.items()})
    for name, (_, texts) in CASES.items():
        values = dict(zip(texts, found.column(name).to_pylist(), strict=False))
        assert values == texts, name
    counts = {one.column: one.count for one in made.misfits}
    blank = {name: {"", *(how.text.missing or ())} for name, (how, _) in CASES.items()}
    assert counts == {
        name: count
        for name, (how, texts) in CASES.items()
        if (count := sum(value is None and text.strip() not in blank[name] for text, value in texts.items()))
    }


def test_every_day_there_is_is_a_date_and_no_other(engine: Engine, fresh: Names) -> None:
    years = (0, 1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9999)
    texts = [f"{year:04}-{month:02}-{day:02}" for year in years for month in range(14) for day in range(33)]
    found, _ = read(engine, fresh(), {"day": (written(Kind.DATE), texts)})

    def day(text: str) -> dt.date | None:
        try:
            return dt.date(*map(int, text.split("-")))
        except ValueError:
            return None

    assert found.column("day").to_pylist() == list(map(day, texts))


def test_what_does_not_fit_is_an_error_that_lists_all_columns(engine: Engine, fresh: Names) -> None:
    columns = {
        "born": (Written(Kind.DATE), ["31.02.1970", "2020-01-01", "n/a", "soon", "later"]),
        "sex": (Written(Kind.TEXT, TextFormat(labels={"1": "m"})), ["1", "9"]),
        "age": (Written(Kind.INTEGER), ["1", None]),
    }
    with pytest.raises(DataError) as caught:
        read(engine, fresh(), columns)
    assert "born: 4 values are not date (such as '31.02.1970', 'n/a', 'soon')" in str(caught.value)
    assert "sex: 1 value is none of the codes (such as '9')" in str(caught.value)
    assert "age" not in str(caught.value)

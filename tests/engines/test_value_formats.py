"""How the texts of columns are written: what is detected, what is asked, and that the reader reads it so."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.core.text_format import TextFormat, declared
from discreet.engines.duckdb import DuckDB
from discreet.engines.text_values import Written, typed
from discreet.engines.value_formats import detect

ROWS = 3_000
RNG = np.random.default_rng(22)
DAYS = [dt.date(1930, 1, 1) + dt.timedelta(int(n)) for n in RNG.integers(0, 30_000, ROWS)]
EARLY = [one.replace(day=1 + n % 12) for n, one in enumerate(DAYS)]
AMOUNTS = RNG.lognormal(7, 2, ROWS).round(2).tolist()


def with_some(values, *others):
    """The values, with each of the others at a place of its own near the end, where no sample sees it."""
    rows = list(values)
    for place, other in enumerate(others):
        rows[-1 - place] = other
    return rows


def said(values, *, comma=",", point="."):
    texts = (f"{one:,.2f}" for one in values)
    return [one.replace(",", "\0").replace(".", point).replace("\0", comma) for one in texts]


def dates(format_, days=DAYS):
    return [one.strftime(format_) for one in days]


CASES = {
    "whole": ([str(n) for n in range(ROWS)], Kind.INTEGER, {}),
    "real": ([f"{one}" for one in AMOUNTS], Kind.REAL, {}),
    "late": (with_some(["1", "2"] * 1_500, "2.5"), Kind.REAL, {}),
    "comma": (said(AMOUNTS, comma="", point=","), Kind.REAL, {"decimal": ","}),
    "German": (said(AMOUNTS, comma=".", point=","), Kind.REAL, {"decimal": ",", "thousands": "."}),
    "English": (said(AMOUNTS), Kind.REAL, {"thousands": ","}),
    "Swiss": (said(AMOUNTS, comma="'"), Kind.REAL, {"thousands": "'"}),
    "French": (said(AMOUNTS, comma=" ", point=","), Kind.REAL, {"decimal": ",", "thousands": " "}),
    "grouped": ([f"{n * 7919:,}" for n in range(ROWS)], Kind.INTEGER, {"thousands": ","}),
    "marks": (with_some(["5"] * ROWS, "?", "NA", "unbekannt"), Kind.INTEGER, {"missing": ("?", "NA", "unbekannt")}),
    "spaces": (with_some(["5"] * ROWS, " 6", "- "), Kind.INTEGER, {"missing": ("-",), "trim": True}),
    "iso": (dates("%Y-%m-%d"), Kind.DATE, {}),
    "iso time": (dates("%Y-%m-%d 10:15:00"), Kind.TIMESTAMP, {}),
    "dotted": (dates("%d.%m.%Y"), Kind.DATE, {"format": "%d.%m.%Y"}),
    "two": (with_some(dates("%d.%m.%Y"), *dates("%Y-%m-%d")[:1_000]), Kind.DATE, {"format": ("%d.%m.%Y", "%Y-%m-%d")}),
    "month first": (with_some(dates("%m/%d/%Y", EARLY), "12/31/2020"), Kind.DATE, {"format": "%m/%d/%Y"}),
    "day first": (with_some(dates("%m/%d/%Y", EARLY), "31/12/2020"), Kind.DATE, {"format": "%d/%m/%Y"}),
    "either": (dates("%m/%d/%Y", EARLY), Kind.TEXT, {}),
    "clock": (dates("%m/%d/%Y 02:30 PM"), Kind.TIMESTAMP, {"format": "%m/%d/%Y %I:%M %p"}),
    "named": (dates("%d %b %Y"), Kind.DATE, {"format": "%d %b %Y"}),
    "birth": (dates("%Y%m%d"), Kind.DATE, {"format": "%Y%m%d"}),
    "eight": (dates("%Y%m%d"), Kind.INTEGER, {}),
    "German truth": (["ja", "nein", "Nein"] * 1_000, Kind.BOOLEAN, {"true": ("ja",), "false": ("nein",)}),
    "Spanish truth": (
        ["Sí", "No", "k.A."] * 1_000,
        Kind.BOOLEAN,
        {"true": ("sí",), "false": ("no",), "missing": ("k.A.",)},
    ),
    "yes": (["yes", "no"] * 1_500, Kind.BOOLEAN, {}),
    "letter": (["Y", "N"] * 1_500, Kind.BOOLEAN, {"true": ("y",), "false": ("n",)}),
    "only no": (["no"] * ROWS, Kind.TEXT, {}),
    "sex": (["m", "f"] * 1_500, Kind.TEXT, {}),
    "zip": (["10115"] * ROWS, Kind.TEXT, {}),
    "code": (with_some(["115"] * ROWS, "007"), Kind.TEXT, {}),
    "either comma": (["1,234", "2,345"] * 1_500, Kind.TEXT, {}),
    "mixed": (["1", "2", "many"] * 1_000, Kind.TEXT, {}),
    "words": (with_some(["red", "blue"] * 1_500, "?", "n/a"), Kind.TEXT, {"missing": ("?", "n/a")}),
    "perhaps": (["red", "unknown"] * 1_500, Kind.TEXT, {}),
    "a category": (["private", "none"] * 1_500, Kind.TEXT, {}),
    "country": (["NA", "AT", "DE"] * 1_000, Kind.TEXT, {}),
    "rhesus": (["+", "-"] * 1_500, Kind.TEXT, {}),
    "empty": ([None, ""] * 1_500, Kind.TEXT, {}),
    "long": (["9" * 25] * ROWS, Kind.TEXT, {}),
    "late start": ([None] * 2_500 + dates("%d.%m.%Y")[:500], Kind.DATE, {"format": "%d.%m.%Y"}),
}


@pytest.fixture(scope="module")
def found():
    engine = DuckDB()
    engine.load("t", pa.table({name: pa.array(values, pa.string()) for name, (values, _, _) in CASES.items()}))
    text = exp.select("*").from_(sql.table("t"))
    readings = detect(engine, text, list(CASES))
    typed(engine, text, {name: Written(one.kind, one.text) for name, one in readings.items()}, "the file")
    return readings


@pytest.mark.parametrize("name", CASES)
def test_what_is_detected(name, found):
    _, kind, text = CASES[name]
    assert (found[name].kind, declared(found[name].text)) == (kind, text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("either", "Day or month first? All values fit both"),
        ("code", "leading zeros"),
        ("either comma", "decimal comma or a thousands mark"),
        ("mixed", "Mixed: 66 % of the texts are numbers; others are not, such as `many`"),
        ("perhaps", 'If `unknown` (1,500) means a missing value, declare: missing = ["unknown"]'),
        ("country", 'missing = ["NA"]'),
        ("rhesus", 'missing = ["-"]'),
        ("two", "All read as dates day.month.year or year-month-day"),
        ("German", "All read as numbers with a decimal comma and the thousands mark '.'"),
        ("marks", "`?`, `NA`, `unbekannt`: treated as missing"),
    ],
)
def test_what_is_said_and_asked(name, words, found):
    assert words in " ".join(found[name].said)


def test_what_does_not_fit_is_counted_shown_and_asked_about(engine, fresh):
    name = fresh()
    born = with_some(dates("%d.%m.%Y")[:1_000], "31.02.1970", "31.02.1970", "n/a", "soon")
    cost = with_some([" 1,5 ", "2,25"] * 500, "?", "<5")
    engine.load(name, pa.table({"born": born, "cost": cost}))
    text = exp.select("*").from_(sql.table(name))
    readings = detect(engine, text, ["born", "cost"])
    assert readings["born"].text == TextFormat(format="%d.%m.%Y", missing=("n/a",))
    assert readings["cost"].text == TextFormat(decimal=",", missing=("?",), trim=True)
    first, asked, marks = readings["born"].said
    assert first == "99.6 % read as dates day.month.year; 3 do not: `31.02.1970` (2), `soon`"
    assert 'misfit = "missing"' in asked
    assert marks == "`n/a`: treated as missing"
    assert readings["born"].figures["filled"] == 996
    assert readings["cost"].figures["distinct"] == 2

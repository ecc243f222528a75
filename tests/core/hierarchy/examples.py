"""Each hierarchy on values that are easy to get wrong, with the labels every engine must give them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.hierarchy import Hierarchy
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.ranges import Range, Ranges
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind

_ARROW: dict[Kind, pa.DataType] = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.DECIMAL: pa.decimal128(20, 4),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


@dataclass(frozen=True)
class Example:
    """A hierarchy, values of a kind, and for each level from 1 to below the top the labels of the values."""

    id: str
    hierarchy: Hierarchy
    kind: Kind
    values: list[Any]
    labels: list[list[str | None]]
    arrow: pa.DataType | None = None
    """Another Arrow type than the usual one of the kind."""

    @property
    def array(self) -> pa.Array[Any]:
        """The values as Arrow has them."""
        return pa.array(self.values, self.arrow or _ARROW[self.kind])


AGES = [0, 4, 5, 19, 20, 24, 25, 79, 80, 120, None]
ZIPS = ["13053", "13068", "14853", "", "1305", "130533", "naïve", "日本の郵便", None]
WORLD = {
    "America": {"North": ["United-States", "Canada"], "South": ["Peru"]},
    "Asia": ["Japan", "Côte d'Azur", 'back\\slash "quoted"\n'],
    "Antarctica": [],
}
NAN, INFINITY = float("nan"), float("inf")
CITIES = [f"city {number}" for number in range(40)]
MANY = Taxonomy.from_tree(
    {
        f"land {half} é": {
            f"région {part}": CITIES[part * 2 : part * 2 + 2] for part in range(half * 10, half * 10 + 10)
        }
        for half in range(2)
    }
    | {"nowhere": []},
)

EXAMPLES = [
    Example(
        "intervals-age",
        Intervals([5, 10, 20]),
        Kind.INTEGER,
        [*AGES, -1, -5, -6],
        [
            [
                "0-4",
                "0-4",
                "5-9",
                "15-19",
                "20-24",
                "20-24",
                "25-29",
                "75-79",
                "80-84",
                "120-124",
                None,
                "-5 to -1",
                "-5 to -1",
                "-10 to -6",
            ],
            [
                "0-9",
                "0-9",
                "0-9",
                "10-19",
                "20-29",
                "20-29",
                "20-29",
                "70-79",
                "80-89",
                "120-129",
                None,
                "-10 to -1",
                "-10 to -1",
                "-10 to -1",
            ],
            [
                "0-19",
                "0-19",
                "0-19",
                "0-19",
                "20-39",
                "20-39",
                "20-39",
                "60-79",
                "80-99",
                "120-139",
                None,
                "-20 to -1",
                "-20 to -1",
                "-20 to -1",
            ],
        ],
    ),
    Example(
        "intervals-coded-age",
        Intervals([1, 10, 20], anchor=5, bottom=25, top=85),
        Kind.INTEGER,
        [24, 25, 34, 35, 84, 85, 2**53, -(2**53), None],
        [
            ["<25", "25", "34", "35", "84", ">=85", None, None, None],
            ["<25", "25-34", "25-34", "35-44", "75-84", ">=85", None, None, None],
            ["<25", "25-44", "25-44", "25-44", "65-84", ">=85", None, None, None],
        ],
    ),
    Example(
        "intervals-real",
        Intervals([0.1, 0.5], other="odd"),
        Kind.REAL,
        [0.1, 0.3, 0.7, 0.29999999999999993, 1.1, -0.1, -0.05, -0.0, NAN, INFINITY, -INFINITY, 1e16, None],
        [
            [
                "[0.1, 0.2)",
                "[0.3, 0.4)",
                "[0.7, 0.8)",
                "[0.2, 0.3)",
                "[1.1, 1.2)",
                "[-0.1, 0.0)",
                "[-0.1, 0.0)",
                "[0.0, 0.1)",
                *["odd"] * 4,
                None,
            ],
            [
                "[0.0, 0.5)",
                "[0.0, 0.5)",
                "[0.5, 1.0)",
                "[0.0, 0.5)",
                "[1.0, 1.5)",
                "[-0.5, 0.0)",
                "[-0.5, 0.0)",
                "[0.0, 0.5)",
                *["odd"] * 4,
                None,
            ],
        ],
    ),
    Example(
        "intervals-real-whole-widths",
        Intervals([5], top=100),
        Kind.REAL,
        [4.999999999999999, 5.0, -1e-20, 100.0, 99.9, 1e15, None],
        [["[0, 5)", "[5, 10)", "[-5, 0)", ">=100", "[95, 100)", ">=100", None]],
    ),
    Example(
        "intervals-single-precision",
        Intervals([0.5, 1]),
        Kind.REAL,
        [0.5, 0.75, 1.0, -0.25],
        [
            ["[0.5, 1.0)", "[0.5, 1.0)", "[1.0, 1.5)", "[-0.5, 0.0)"],
            ["[0.0, 1.0)", "[0.0, 1.0)", "[1.0, 2.0)", "[-1.0, 0.0)"],
        ],
        arrow=pa.float32(),
    ),
    Example(
        "intervals-decimal",
        Intervals([Decimal("2.50"), 10], anchor=0, bottom=-10),
        Kind.DECIMAL,
        [Decimal("2.4999"), Decimal("2.5"), Decimal("-0.0001"), Decimal("-10"), Decimal("-10.0001"), None],
        [
            ["[0.0, 2.5)", "[2.5, 5.0)", "[-2.5, 0.0)", "[-10.0, -7.5)", "<-10.0", None],
            ["[0.0, 10.0)", "[0.0, 10.0)", "[-10.0, 0.0)", "[-10.0, 0.0)", "<-10.0", None],
        ],
    ),
    Example(
        "intervals-six-decimals",
        Intervals([0.000001, 0.000002]),
        Kind.DECIMAL,
        [Decimal("0"), Decimal("0.0001"), Decimal("-0.0001")],
        [
            ["[0.000000, 0.000001)", "[0.000100, 0.000101)", "[-0.000100, -0.000099)"],
            ["[0.000000, 0.000002)", "[0.000100, 0.000102)", "[-0.000100, -0.000098)"],
        ],
    ),
    Example(
        "ranges-age",
        Ranges(
            [
                [{"to": 18, "label": "child"}, {"from": 18, "to": 65}, {"from": 65}],
                [{"to": 65}, {"from": 65, "label": "old"}],
            ]
        ),
        Kind.INTEGER,
        [-3, 17, 18, 64, 65, None],
        [["child", "child", "18-64", "18-64", ">=65", None], ["<65", "<65", "<65", "<65", "old", None]],
    ),
    Example(
        "ranges-real-with-gap",
        Ranges([[Range(0.1, 0.25), Range(0.3)], [Range(0, 0.25), Range(0.25)]], other="else"),
        Kind.REAL,
        [0.1, 0.09999999999999999, 0.25, 0.3, 0.2, NAN, INFINITY, 5.0, None],
        [
            ["[0.10, 0.25)", "else", "else", ">=0.30", "[0.10, 0.25)", "else", "else", ">=0.30", None],
            ["[0.00, 0.25)", "else", "else", ">=0.25", "[0.00, 0.25)", "else", "else", ">=0.25", None],
        ],
    ),
    Example(
        "ranges-decimal",
        Ranges([[Range(0, 19.99, "cheap"), Range(19.99)]]),
        Kind.DECIMAL,
        [Decimal("19.9899"), Decimal("19.99"), Decimal("-0.0001"), None],
        [["cheap", ">=19.99", None, None]],
    ),
    Example(
        "ranges-dates",
        Ranges([[Range(end=dt.date(1990, 1, 1), label="before"), Range(dt.date(1990, 1, 1), dt.date(2001, 5, 5))]]),
        Kind.DATE,
        [dt.date(1989, 12, 31), dt.date(1990, 1, 1), dt.date(2001, 5, 4), dt.date(2001, 5, 5), None],
        [["before", *["[1990-01-01, 2001-05-05)"] * 2, None, None]],
    ),
    Example(
        "ranges-timestamps",
        Ranges([[Range(dt.datetime(2001, 5, 5, 12), dt.datetime(2001, 5, 6)), Range(dt.datetime(2001, 5, 6))]]),
        Kind.TIMESTAMP,
        [dt.datetime(2001, 5, 5, 11, 59, 59, 999999), dt.datetime(2001, 5, 5, 12), dt.datetime(2001, 5, 6), None],
        [[None, "[2001-05-05 12:00:00, 2001-05-06 00:00:00)", ">=2001-05-06 00:00:00", None]],
    ),
    Example(
        "ranges-dates-over-timestamps",
        Ranges([[Range(end=dt.date(2001, 5, 6)), Range(dt.date(2001, 5, 6))]]),
        Kind.TIMESTAMP,
        [dt.datetime(2001, 5, 5, 23, 59), dt.datetime(2001, 5, 6), None],
        [["<2001-05-06", ">=2001-05-06", None]],
    ),
    Example(
        "coding-age",
        Coding(bottom=18, top=80),
        Kind.INTEGER,
        [-5, 17, 18, 79, 80, 2**60, None],
        [["<18", "<18", "18", "79", ">=80", ">=80", None]],
    ),
    Example(
        "coding-dates",
        Coding(bottom=dt.date(1930, 1, 1)),
        Kind.DATE,
        [dt.date(1929, 12, 31), dt.date(1930, 1, 1), dt.date(2001, 5, 5), dt.date(1, 1, 1), None],
        [["<1930-01-01", "1930-01-01", "2001-05-05", "<1930-01-01", None]],
    ),
    Example(
        "mask-zip",
        Mask(5, other="no zip"),
        Kind.TEXT,
        ZIPS,
        [
            ["1305*", "1306*", "1485*", *["no zip"] * 3, "naïv*", "日本の郵*", None],
            ["130**", "130**", "148**", *["no zip"] * 3, "naï**", "日本の**", None],
            ["13***", "13***", "14***", *["no zip"] * 3, "na***", "日本***", None],
            ["1****", "1****", "1****", *["no zip"] * 3, "n****", "日****", None],
        ],
    ),
    Example(
        "mask-left",
        Mask(4, steps=[2, 3], side="left", character="#"),
        Kind.TEXT,
        ["abcd", "a😀cd", " bc ", None],
        [["##cd", "##cd", "##c ", None], ["###d", "###d", "### ", None]],
    ),
    Example(
        "taxonomy-world",
        Taxonomy.from_tree(WORLD, other="elsewhere"),
        Kind.TEXT,
        [
            "United-States",
            "Canada",
            "Peru",
            "Japan",
            "Côte d'Azur",
            'back\\slash "quoted"\n',
            "Antarctica",
            "japan",
            "",
            None,
        ],
        [
            [
                "North",
                "North",
                "South",
                "Japan",
                "Côte d'Azur",
                'back\\slash "quoted"\n',
                "Antarctica",
                *["elsewhere"] * 2,
                None,
            ],
            [*["America"] * 3, *["Asia"] * 3, "Antarctica", *["elsewhere"] * 2, None],
        ],
    ),
    Example(
        "taxonomy-many-labels",
        MANY,
        Kind.TEXT,
        ["city 0", "city 1", "city 19", "city 20", "city 39", "nowhere", "atlantis", None],
        [
            ["région 0", "région 0", "région 9", "région 10", "région 19", "nowhere", None, None],
            [*["land 0 é"] * 3, *["land 1 é"] * 2, "nowhere", None, None],
        ],
    ),
    Example(
        "taxonomy-integer",
        Taxonomy.from_tree({"low": [-1, 1, 2], "high": [3, 40]}),
        Kind.INTEGER,
        [-1, 1, 2, 3, 40, 4, None],
        [["low", "low", "low", "high", "high", None, None]],
    ),
    Example(
        "taxonomy-boolean",
        Taxonomy.from_tree({"yes": [True], "no": [False]}),
        Kind.BOOLEAN,
        [True, False, None],
        [["yes", "no", None]],
    ),
    Example("taxonomy-flat", Taxonomy.from_tree(["f", "m"]), Kind.TEXT, ["f", "m", None], []),
    Example(
        "ordered-education",
        Ordered(["none", "primary", "secondary", "bachelor", "master"], [2, 4], other="unknown"),
        Kind.TEXT,
        ["none", "primary", "secondary", "bachelor", "master", "Primary", None],
        [
            ["none..primary", "none..primary", "secondary..bachelor", "secondary..bachelor", "master", "unknown", None],
            [*["none..bachelor"] * 4, "master", "unknown", None],
        ],
    ),
    Example(
        "ordered-grades",
        Ordered([1, 2, 3], [2]),
        Kind.INTEGER,
        [1, 2, 3, 4, None],
        [["1..2", "1..2", "3", None, None]],
    ),
    Example(
        "dates-birth",
        Dates(),
        Kind.DATE,
        [
            dt.date(2001, 5, 5),
            dt.date(1960, 3, 25),
            dt.date(1, 1, 1),
            dt.date(9999, 12, 31),
            dt.date(1969, 12, 31),
            None,
        ],
        [
            ["2001-05", "1960-03", "0001-01", "9999-12", "1969-12", None],
            ["2001-Q2", "1960-Q1", "0001-Q1", "9999-Q4", "1969-Q4", None],
            ["2001", "1960", "0001", "9999", "1969", None],
            ["2000s", "1960s", "0000s", "9990s", "1960s", None],
        ],
    ),
    Example(
        "dates-timestamps",
        Dates(["hour", "day", "month"]),
        Kind.TIMESTAMP,
        [dt.datetime(2001, 5, 5, 13, 59, 59, 999999), dt.datetime(1969, 12, 31, 0, 0), None],
        [
            ["2001-05-05 13h", "1969-12-31 00h", None],
            ["2001-05-05", "1969-12-31", None],
            ["2001-05", "1969-12", None],
        ],
    ),
    Example(
        "dates-timestamps-with-zone",
        Dates(["hour", "year"]),
        Kind.TIMESTAMP,
        [dt.datetime(2001, 1, 1, 0, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))), None],
        [["2000-12-31 22h", None], ["2000", None]],
        arrow=pa.timestamp("us", tz="UTC"),
    ),
]

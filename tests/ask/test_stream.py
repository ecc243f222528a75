"""What a stream counts of the rows of a step: cells, sums, periods and bounds; and what it tells of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Pure
from discreet.engines.bounded_table import bounded, bounded_card
from discreet.engines.read import read
from discreet.errors import BadInput, NotDeclared
from discreet.noise.continual import BufferedCounter, TreeCounter
from discreet.noise.entropy import SYSTEM
from discreet.verbs.ask.stream import Arrivals, Stream, count_rows, unit_key

COLUMNS = (
    Column("who", Kind.TEXT, role="identifier"),
    Column("ward", Kind.TEXT, categories=("a", "b")),
    Column("age", Kind.INTEGER, bounds=(0, 99)),
    Column("cost", Kind.DECIMAL, bounds=(Decimal("-5.00"), Decimal("10.00"))),
    Column("dose", Kind.REAL, bounds=(0.0, 0.75)),
    Column("left", Kind.BOOLEAN),
    Column("day", Kind.DATE, bounds=(dt.date(2026, 1, 1), dt.date(2026, 12, 31))),
    Column("at", Kind.TIMESTAMP),
    Column("note", Kind.TEXT),
)
CARD = bounded_card(Card("visits", COLUMNS, unit="who", rows_per_unit=3))
ROW: dict[str, Any] = {
    "who": "x",
    "ward": "a",
    "age": 30,
    "cost": Decimal("1.00"),
    "dose": 0.5,
    "left": True,
    "day": dt.date(2026, 1, 1),
    "at": dt.datetime(2026, 1, 1),
    "note": "",
}
TYPES = (
    pa.string(),
    pa.string(),
    pa.int64(),
    pa.decimal128(10, 2),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.string(),
)
SCHEMA = pa.schema(list(zip(ROW, TYPES, strict=True)))


def exact(stream: Stream, *steps: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rounded figures after each step, without the error bars: the loss is so large that there is no noise."""
    state, counted, told = stream.start(CARD), dict[str, int](), []
    for number, rows in enumerate(steps, 1):
        source = pa.Table.from_pylist([{**ROW, "who": f"{number} {i}", **row} for i, row in enumerate(rows)], SCHEMA)
        arrivals = stream.arrivals(bounded(read(source, CARD)), number)
        state, now = stream.advance(CARD, state, arrivals, counted, SYSTEM)
        counted |= now
        figures = stream.figures(CARD, state.totals, number)
        shown = [name for name in figures.column_names if not name.endswith("_error")]
        rounded = [
            {name: round(one, 3) + 0.0 if isinstance(one, float) else one for name, one in row.items()}
            for row in figures.select(shown).to_pylist()
        ]
        told.append(rounded)
    return told


def stream(**options: Any) -> Stream:
    return Stream("s", 4, **{"epsilon": 10**9, **options})


def test_groups_are_those_of_the_card_and_rows_without_one_are_in_none() -> None:
    rows = [{"ward": "a"}, {"ward": "b", "left": False}, {"ward": "c"}, {"ward": None}, {"left": None}]
    [told] = exact(stream(by=["ward", "left"]), rows)
    assert told == [
        {"ward": "a", "left": False, "n": 0.0},
        {"ward": "a", "left": True, "n": 1.0},
        {"ward": "b", "left": False, "n": 1.0},
        {"ward": "b", "left": True, "n": 0.0},
    ]


def test_a_histogram_is_of_equal_bins_and_ends_are_clamped() -> None:
    rows = [{"age": age} for age in (-5, 0, 49, 50, 99, 1000, None)]
    [told] = exact(stream(by=["age"], bins=2), rows)
    assert told == [{"age_low": 0, "age_high": 49, "n": 3.0}, {"age_low": 50, "age_high": 99, "n": 3.0}]


@pytest.mark.parametrize("column", ["cost", "dose", "day"])
def test_bins_of_other_kinds_hold_every_value(column: str) -> None:
    values = {
        "cost": [Decimal("-5.00"), Decimal("2.49"), Decimal("2.50"), Decimal("10.00")],
        "dose": [0.0, 0.374, 0.375, 0.75],
        "day": [dt.date(2026, 1, 1), dt.date(2026, 7, 2), dt.date(2026, 7, 3), dt.date(2026, 12, 31)],
    }
    [told] = exact(stream(by=[column], bins=2), [{column: one} for one in [*values[column], None]])
    assert [one["n"] for one in told] == [2.0, 2.0]


def test_sums_are_clamped_and_missing_values_add_nothing() -> None:
    rows = [
        {"age": 10, "cost": Decimal("2.50"), "dose": 0.25},
        {"age": 500, "cost": Decimal("99.00"), "dose": 7.0},
        {"age": None, "cost": Decimal("-99.00"), "dose": None},
    ]
    [told] = exact(stream(sums=["age", "cost", "dose"], count=False), rows)
    assert told == [{"age_sum": 109.0, "cost_sum": 7.5, "dose_sum": 1.0}]


def test_what_comes_late_counts_when_it_comes_or_not_at_all() -> None:
    def on(day: int | None) -> dict[str, Any]:
        return {"day": None if day is None else dt.date(2026, 1, day), "at": dt.datetime(2026, 1, day or 1, 23, 59)}

    steps = [[on(1), on(2), on(None)], [on(1), on(2), on(3)], [on(1), on(2), on(3)], []]
    for time in ({"time": "day"}, {"time": "at", "every": "24 hours"}):
        options = {"begin": "2026-01-01", **time}
        missing = 1 if options["time"] == "at" else 0  # there it has a time
        in_time = [one[0]["n"] for one in exact(stream(**options), *steps)]
        assert in_time == [1.0 + missing, 2.0 + missing, 3.0 + missing, 3.0 + missing]
        late = [one[0]["n"] for one in exact(stream(late=1, **options), *steps)]
        assert late == [1.0 + missing, 3.0 + missing, 5.0 + missing, 5.0 + missing]


def test_nobody_counts_more_often_than_the_card_says() -> None:
    mine = {"who": "x"}
    steps = [[mine], [mine, mine, mine, {"who": "y"}], [mine, {"who": "y"}], [{"who": None}]]
    assert [one[0]["n"] for one in exact(stream(), *steps)] == [1.0, 4.0, 5.0, 5.0]


def test_rows_in_no_cell_use_nothing_up() -> None:
    mine = {"who": "x", "ward": None}
    told = exact(stream(by=["ward"]), [mine, mine, mine], [{"who": "x"}, {"who": "x"}, {"who": "x"}])
    assert [one["n"] for one in told[-1]] == [3.0, 0.0]


def test_which_rows_of_a_unit_count_depends_on_its_own_alone() -> None:
    """Not on others, nor on the order in which rows come."""
    random = np.random.default_rng(1)
    units = ["x"] * 6 + ["y"] * 9
    cells, values = random.integers(0, 4, 15), random.integers(-9, 9, 15)
    here = Arrivals(units, cells, (values,))
    kept, now = count_rows(here, {"x": 1}, 3, 4)
    assert now == {"x": 3, "y": 3}
    mine = sorted((cells[row], values[row]) for row in kept if units[row] == "x")
    for _ in range(20):
        order = random.permutation([row for row in range(15) if units[row] == "x" or random.random() < 0.5])
        shuffled = Arrivals([units[row] for row in order], cells[order], (values[order],))
        again, _ = count_rows(shuffled, {"x": 1}, 3, 4)
        found = [(shuffled.cells[row], shuffled.values[0][row]) for row in again if shuffled.units[row] == "x"]  # type: ignore[index]
        assert sorted(found) == mine
    assert count_rows(here, {"x": 3, "y": 7}, 3, 4)[1] == {}


@pytest.mark.parametrize(
    ("one", "other"), [(Decimal("1.5"), Decimal("1.50")), (Decimal(100), Decimal("1E2")), (0.0, -0.0), (7, np.int64(7))]
)
def test_a_unit_is_the_same_however_it_is_written(one: object, other: object) -> None:
    assert unit_key(one) == unit_key(other)


def test_units_that_differ_stay_apart_and_any_text_can_be_kept() -> None:
    assert len({unit_key(one) for one in ("a", "A", "a ", "1", 1, "\x00", "\\u0000", "é", "e\u0301")}) == 9
    assert unit_key("\x00").isprintable()


def test_the_loss_is_what_was_asked_for_and_shared_among_figures() -> None:
    assert stream(epsilon="1/2", sums=["age"]).promise(CARD).loss == Pure("1/2")
    by_rho = stream(epsilon=None, rho="1/3", sums=["age", "cost"], by=["ward"])
    assert by_rho.promise(CARD).loss == Concentrated("1/3")
    count, age, cost = by_rho._plan(CARD).figures
    assert isinstance(count.counter, BufferedCounter)
    assert isinstance(stream()._plan(CARD).figures[0].counter, TreeCounter)
    assert count.counter.loss(3) == age.counter.loss(3 * 99) == Concentrated("1/9")
    assert (age.bound, age.step) == (99, 1)
    assert cost.bound * cost.step >= 10
    assert cost.step <= Fraction(1, 2**15)
    assert set(by_rho.expected_errors(CARD)) == {"n", "age_sum", "cost_sum"}


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"called": ""}, BadInput, "needs a name"),
    ({"called": "a\nb"}, BadInput, "needs a name"),
    ({"horizon": 0}, BadInput, "number of steps"),
    ({"horizon": 2**21}, BadInput, "more than 1,048,576"),
    ({"by": ["note"]}, NotDeclared, "needs its categories"),
    ({"by": ["at"]}, NotDeclared, "bounds"),
    ({"by": ["who"]}, BadInput, "whose row it is"),
    ({"by": ["ward", "ward"]}, BadInput, "different columns"),
    ({"by": ["age", "day"], "bins": 99}, BadInput, "at most 2,000 cells"),
    ({"sums": ["ward"]}, BadInput, "only numbers"),
    ({"sums": ["who"]}, BadInput, "whose row it is"),
    ({"count": False}, BadInput, "no figures"),
    ({"time": "age"}, BadInput, "a date or a timestamp"),
    ({"time": "day"}, BadInput, "begin must say"),
    ({"time": "day", "begin": "2025-12-31"}, BadInput, "outside the bounds"),
    ({"time": "day", "begin": "2026-01-01", "every": "6 hours"}, BadInput, "whole days"),
    ({"time": "day", "begin": "2026-01-01T06:00"}, BadInput, "whole days"),
    ({"time": "at", "begin": "2026-01-01", "every": "often"}, BadInput, "every must be a length"),
    ({"late": -1}, BadInput, "late"),
    ({"rho": 1}, BadInput, "not both"),
    ({"epsilon": None}, BadInput, "set epsilon or rho"),
]


@pytest.mark.parametrize(("options", "error", "said"), WRONG, ids=lambda one: str(one)[:40])
def test_what_makes_no_sense_is_refused_before_it_is_charged(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    whole = {"called": "s", "horizon": 4, "epsilon": 1, **options}
    with pytest.raises(error, match=said):
        Stream(**whole).promise(CARD)

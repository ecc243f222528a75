"""Numbers that decide: exactly at a boundary, and just beyond it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp
from tests.ask.test_plan import planned, table
from tests.ask.test_scalar import read
from tests.ask.visits import Silent

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.exact import ln_lower, ln_upper
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, BadQuery, Refused
from discreet.noise.deviation import sum_error
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask import answer as answers
from discreet.verbs.ask import value
from discreet.verbs.ask.aggregate import _on_grid, middle, steps_of
from discreet.verbs.ask.answer import _declared, _passing, measured
from discreet.verbs.ask.bounds import BoundsSearch
from discreet.verbs.ask.plan import UNITS
from discreet.verbs.ask.postprocess import NOISY, work_out
from discreet.verbs.ask.price import price
from discreet.verbs.ask.quantile import Quantile
from discreet.verbs.ask.scalar import dates, numbers, scalar
from discreet.verbs.ask.syntax import Size, _Writer, depth
from discreet.verbs.ask.value import Columns, Known, Value

WHOLE = Value(sql.column("n"), Kind.INTEGER, (Fraction(0), Fraction(4)))


def of(text: str, low: Fraction | float, high: Fraction | float, kind: Kind = Kind.REAL) -> Value:
    """An expression over a column z with these bounds."""
    known = Value(sql.column("z"), kind, (Fraction(low), Fraction(high)), name="z")
    return scalar(sqlglot.parse_one(text, dialect="duckdb"), Columns([Known("z", known)]))


# numbers


@pytest.mark.parametrize(("divisor", "many"), [(10_000, 10_000), (10_001, None), (5_000, 9_999), (5_001, None)])
def test_remainders_are_categories_if_they_are_ten_thousand_at_most(divisor: int, many: int | None) -> None:
    """Of numbers of both signs there are twice as many, and one less."""
    low = 0 if divisor >= 10_000 else -(10**6)
    found = of(f"MOD(z, {divisor})", low, 10**6, Kind.INTEGER)
    assert found.within == (-(divisor - 1) if low else 0, divisor - 1)
    assert found.domain == (None if many is None else tuple(range(divisor - many, divisor)))


@pytest.mark.parametrize(
    ("low", "high", "within"), [(0, 5, (0, 2)), (-1, 5, (-2, 2)), (-5, 0, (-2, 0)), (-5, 1, (-2, 2)), (0, 0, (0, 0))]
)
def test_a_remainder_has_the_signs_that_its_number_can_have(low: int, high: int, within: tuple[int, int]) -> None:
    assert of("MOD(z, 3)", low, high, Kind.INTEGER).within == within


@pytest.mark.parametrize(
    ("text", "low", "high", "fine"),
    [
        ("EXP(z)", -100, 36, True),
        ("EXP(z)", -100.5, 36, False),
        ("EXP(z)", -100, 36.5, False),
        ("SQRT(z)", 0, 2**53, True),
        ("SQRT(z)", -(2.0**-60), 1, False),
        ("SQRT(z)", 0, 2**53 + 2, False),
        ("LN(z)", 1e-30, 2**53, True),
        ("LN(z)", 9.9e-31, 1, False),
        ("LN(z)", 1, 2**53 + 2, False),
    ],
)
def test_a_curve_is_asked_where_it_is_defined(text: str, low: float, high: float, fine: bool) -> None:
    if fine:
        assert of(text, low, high).within is not None
    else:
        with pytest.raises(BadQuery, match="is not always between"):
            of(text, low, high)


def test_bounds_of_a_logarithm_are_one_number_of_forty_bits_outside() -> None:
    low, high = ln_lower(Fraction(2)), ln_upper(Fraction(1000))
    assert of("LN(z)", 2, 1000).within == (numbers._outwards(low, -1), numbers._outwards(high, 1))
    assert numbers._outwards(Fraction(3), -1) == 3 - Fraction(1, 2**39)
    assert numbers._outwards(Fraction(-3), 1) == -3 + Fraction(1, 2**39)
    assert numbers._outwards(Fraction(0), 1) == 0


def test_a_curve_is_as_low_as_its_lower_and_as_high_as_its_upper_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "ln_lower", lambda x: x - 1)
    monkeypatch.setattr(numbers, "ln_upper", lambda x: x + 1)
    assert of("LN(z)", 3, 7).within == (numbers._outwards(Fraction(2), -1), numbers._outwards(Fraction(8), 1))


def test_numbers_are_neither_larger_nor_smaller_than_can_be_computed_with() -> None:
    assert (2**53, Fraction(1, 2**200)) == (value.SAFE, value.TINY)
    tiny = value.TINY
    assert of("-z", 0, tiny).within == (-tiny, 0)
    assert of("-z", -(2**53), 0).within == (0, 2**53)
    assert of("-z", 0, 0).within == (0, 0)
    with pytest.raises(BadQuery, match=r"too small .*"):
        of("-z", 0, tiny * Fraction(2**52 - 1, 2**52))
    with pytest.raises(BadQuery, match=r"too large .*"):
        of("-z", 0, 2**53 + 2)


@pytest.mark.parametrize(
    ("far", "said"),
    [
        (Fraction(2) ** 200, "2**201"),
        (Fraction(1, 2**200), "2**-199"),
        (Fraction(2) ** 199, "8.03e+59"),
        (Fraction(1, 2**199), "1.24e-60"),
    ],
)
def test_numbers_that_hardly_fit_are_told_as_powers(far: Fraction, said: str) -> None:
    assert value._power(far) == said


# dates


def day(*when: int) -> Fraction:
    return Fraction(dt.date(*when).toordinal())


@pytest.mark.parametrize(
    ("low", "high", "always"),
    [((2000, 1, 1), (2001, 1, 1), True), ((1999, 12, 31), (2001, 1, 1), False), ((2000, 1, 1), (2001, 1, 2), False)],
)
def test_dates_are_looked_at_only_if_some_may_lie_outside(
    low: tuple[int, ...], high: tuple[int, ...], always: bool
) -> None:
    made = sql.literal(1)
    known = Value(sql.column("z"), Kind.DATE, (day(*low), day(*high)))
    found = dates.where(known, (day(2000, 1, 1), day(2001, 1, 1)), made)
    assert (found is made) == always
    assert always or "BETWEEN CAST('2000-01-01' AS DATE) AND CAST('2001-01-01' AS DATE)" in found.sql()
    assert isinstance(dates.where(Value(sql.column("z"), Kind.DATE), dates.CALENDAR, made), exp.Case)


@pytest.mark.parametrize(
    ("earlier", "later", "years"),
    [
        ((2000, 6, 15), (2001, 6, 14), 0),
        ((2000, 6, 15), (2001, 6, 15), 1),
        ((2000, 6, 15), (2000, 6, 15), 0),
        ((2001, 6, 15), (2000, 6, 15), -1),
        ((2001, 6, 14), (2000, 6, 15), 0),
        ((2000, 2, 29), (2001, 2, 28), 0),
        ((2000, 2, 29), (2001, 3, 1), 1),
    ],
)
def test_a_year_is_full_on_the_birthday(earlier: tuple[int, ...], later: tuple[int, ...], years: int) -> None:
    assert dates._years(dt.date(*earlier), dt.date(*later)) == years


@pytest.mark.parametrize(("text", "fine"), [("999999999", True), ("0000000001", False), ("1.5", False), ("", False)])
def test_an_interval_in_quotes_has_nine_digits_at_most(text: str, fine: bool) -> None:
    with pytest.raises(BadQuery, match="is never in the years 1 to 9999" if fine else "a whole number of days"):
        read(f"d + INTERVAL '{text}' DAY")


@pytest.mark.parametrize(("text", "days"), [("'000000003'", 3), ("'-3'", -3), ("(1 + 2)", 3), ("(-3)", -3), ("3", 3)])
def test_an_interval_is_a_number_however_it_is_written(text: str, days: int) -> None:
    assert of(f"z + INTERVAL {text} DAY", 1000, 2000, Kind.DATE).within == (1000 + days, 2000 + days)


@pytest.mark.parametrize("text", ["(1.5)", "z", "(NULL)", "'--3'", "'٣'"])
def test_what_is_no_whole_number_is_no_interval(text: str) -> None:
    with pytest.raises(BadQuery):
        of(f"z + INTERVAL {text} DAY", 1000, 2000, Kind.DATE)


LAST = dt.date.max.toordinal()


@pytest.mark.parametrize(
    ("text", "low", "high", "within"),
    [
        ("z + 1", LAST - 1, LAST, (LAST, LAST)),
        ("z + 1", LAST, LAST, None),
        ("z - 1", 1, 2, (1, 1)),
        ("z - 1", 1, 1, None),
        ("z + 1", LAST - 1, LAST - 1, (LAST, LAST)),
        ("z - 1", 2, 2, (1, 1)),
        ("z + INTERVAL 1 MONTH", LAST - 31, LAST, (LAST - 1, LAST - 1)),
        ("z + INTERVAL 1 MONTH", LAST - 30, LAST, None),
        ("z - INTERVAL 1 MONTH", 1, 32, (1, 1)),
        ("z - INTERVAL 1 MONTH", 1, 31, None),
        (f"z + {LAST - 1}", 1, LAST, (LAST, LAST)),
        (f"z + {LAST}", 1, LAST, None),
        (f"z - {LAST - 1}", 1, LAST, (1, 1)),
        (f"z - {LAST}", 1, LAST, None),
        (f"z + INTERVAL {12 * 9999 - 1} MONTH", 1, LAST, (LAST - 30, LAST)),
        (f"z + INTERVAL {12 * 9999} MONTH", 1, LAST, None),
        (f"z - INTERVAL {12 * 9999 - 1} MONTH", 1, LAST, (1, 31)),
        (f"z - INTERVAL {12 * 9999} MONTH", 1, LAST, None),
    ],
)
def test_dates_are_moved_as_far_as_the_calendar_goes(
    text: str, low: int, high: int, within: tuple[int, int] | None
) -> None:
    if within is None:
        with pytest.raises(BadQuery, match="is never in the years 1 to 9999"):
            of(text, low, high, Kind.DATE)
    else:
        assert of(text, low, high, Kind.DATE).within == within


# quantiles


@pytest.mark.parametrize(
    ("low", "high", "fine"),
    [
        (0.0, 2.0**-900, True),
        (0.0, 2.0**-901, False),
        (0.0, 2.0**900, True),
        (-(2.0**900), 0.0, True),
        (0.0, 2.0**901, False),
        (2.0**900, 2.0**900, True),
        (2.0**901, 2.0**901, True),
    ],
)
def test_quantiles_are_asked_of_numbers_of_900_binary_digits(low: float, high: float, fine: bool) -> None:
    from discreet.verbs.ask.quantile import quantile

    made = planned("SELECT MEDIAN(age) FROM visits")
    known = Value(sql.column("z"), Kind.REAL, (Fraction(low), Fraction(high)))
    if fine:
        assert quantile(known, (Fraction(low), Fraction(high)), Fraction(1, 2), made.rows.owned).slices == 1024
    else:
        with pytest.raises(BadQuery, match="compute quantiles"):
            quantile(known, (Fraction(low), Fraction(high)), Fraction(1, 2), made.rows.owned)


def test_a_slice_is_scored_by_the_rows_below_and_above() -> None:
    one = Quantile(sql.literal(0), 4, Fraction(1, 4), (Fraction(8), Fraction(16)), False, 3)
    expected = [-abs(1 * 3 - 15), -abs(4 * 3 - 12), -abs(6 * 3 - 10), -abs(11 * 3 - 5)]
    assert one.scores(np.array([1, 2, 0, 5])).tolist() == expected
    assert one.sensitivity == 18
    assert [one.value(place) for place in range(4)] == [9, 11, 13, 15]
    assert one.best(np.array([1, 2, 0, 5])) == 11


@pytest.mark.parametrize("percent", [10, 25, 50, 75, 90])
def test_the_best_of_slices_of_many_rows_is_the_one_that_the_quantile_is_in(percent: int) -> None:
    one = Quantile(sql.literal(0), 10, Fraction(percent, 100), (Fraction(0), Fraction(100)), False, 1)
    for moved in range(1, 100, 14):  # all slices have 100 rows but the first and the last
        counts = np.array([moved, *[100] * 8, 100 - moved])
        wanted = int(np.searchsorted(np.cumsum(counts), 9 * percent))
        assert wanted in (0, 9) or one.best(counts) == one.value(wanted)


def test_a_row_moves_the_scores_of_a_quantile_by_no_more_than_is_said() -> None:
    one = Quantile(sql.literal(0), 4, Fraction(1, 10), (Fraction(8), Fraction(16)), False, 1)
    before, counts = one.scores(np.array([7, 2, 0, 5])), np.array([7, 2, 0, 5])
    moved = [np.abs(one.scores(counts + np.eye(4, dtype=int)[place]) - before).max() for place in range(4)]
    assert 0.5 * one.sensitivity < max(moved) <= one.sensitivity


# bounds


@pytest.mark.parametrize(
    ("ends", "fine"),
    [
        ((), False),
        ((0,), False),
        ((0, 1), True),
        ((0, 0), False),
        ((1, 0), False),
        ((0, 1, 1), False),
        ((1, 3, 2, 4), False),
        ((0, 1, 2, 4), True),
    ],
)
def test_slices_have_two_ends_or_more_each_above_the_one_before(ends: tuple[int, ...], fine: bool) -> None:
    exact = tuple(map(Fraction, ends))
    if fine:
        assert BoundsSearch(exact, DiscreteLaplace(1)).slices == len(ends) + 1
    else:
        with pytest.raises(BadInput, match="two ends or more"):
            BoundsSearch(exact, DiscreteLaplace(1))


def test_thresholds_share_the_chance_among_the_slices_and_both_ends() -> None:
    """One of three slices from either end: each of six sums may pass with a sixth of a twentieth."""
    noise = DiscreteLaplace(5)
    search = BoundsSearch((Fraction(0), Fraction(1)), noise)
    told = search._thresholds
    assert told == tuple(ceil(sum_error(noise, np.ones(n), Fraction(1, 120))) for n in (1, 2, 3))
    assert told[0] < told[1] < told[2]
    assert search.outside == 2 * told[2]


def test_bounds_are_told_if_more_rows_than_the_threshold_are_there() -> None:
    silent = DiscreteLaplace("1/1000")
    search = BoundsSearch((Fraction(0), Fraction(1)), silent)
    least = search._thresholds[0]
    many = [0, search._thresholds[1] + 1, 0]
    assert search.choose(many) == (0, 1)
    assert search.choose([least + 1, 0, 0]) is None or search.choose([search._thresholds[2] + 1, 0, 0]) == (0, 0)
    assert search.choose([0, search._thresholds[1], 0]) == ((0, 1) if search._thresholds[1] > least else None)
    assert search.choose([0, 0, 0]) is None
    with pytest.raises(BadInput, match="3 slices need 3 counts"):
        search.choose([0, 0])


def test_the_slices_of_a_search_end_at_powers_of_two() -> None:
    whole = BoundsSearch.for_loss(Pure(1), WHOLE).ends
    assert whole[:2] == (-(2**40), -(2**39)) and whole[40:43] == (-1, 0, 1) and whole[-1] == 2**40
    real = BoundsSearch.for_loss(Pure(1), Value(sql.column("x"), Kind.REAL)).ends
    assert len(real) == 163 and real[80:83] == (-Fraction(1, 2**40), 0, Fraction(1, 2**40)) and real[-1] == 2**40
    assert BoundsSearch.for_loss(Pure(2), WHOLE, 3).noise.scale == Fraction(3, 2)


# questions and answers


@pytest.mark.parametrize(("text", "levels"), [("1", 1), ("x", 2), ("x + 1", 3), ("(x + 1) * 2", 5)])
def test_the_levels_of_a_tree(text: str, levels: int) -> None:
    assert depth(sqlglot.parse_one(text)) == levels


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits", True),
        ("UPDATE visits SET age = 1", False),
    ],
)
def test_who_asks_several_questions_at_once_is_told_how(text: str, several: bool) -> None:
    with pytest.raises(BadQuery, match="one SELECT") as refusal:
        planned(text)
    assert ("in one batch" in str(refusal.value)) == several


@pytest.mark.parametrize(("second", "fine"), [([1, 2], True), ([1, 2, 2], False), ([1, None, None], True)])
def test_public_tables_are_joined_on_what_the_second_has_once(second: list[int | None], fine: bool) -> None:
    engine = DuckDB()
    engine.load("one", pa.table({"k": pa.array([1, 1, 2], pa.int64())}))
    engine.load("other", pa.table({"k": pa.array(second, pa.int64())}))
    column = Column("k", Kind.INTEGER, bounds=(0, 9))
    tables = {
        name: Table(Card(name, (column,), public=True), engine, exp.select("k").from_(name))
        for name in ("one", "other")
    }
    tables["people"] = Table(Card("people", (column,)), engine, exp.select("k").from_("one"))
    text = "SELECT COUNT(*) FROM people JOIN (SELECT k FROM one JOIN other USING (k)) AS p USING (k)"
    if fine:
        assert planned(text, tables).rows.most == 2
    else:
        with pytest.raises(BadQuery, match="only on a unique key of the second"):
            planned(text, tables)


@pytest.mark.parametrize(
    ("told", "counted"), [({}, (2, 0, 0)), ({value.WEIGHT: 5}, (2, 5, 0)), ({value.CHARACTERS: 7}, (2, 0, 7))]
)
def test_a_node_counts_for_what_it_says(told: dict[str, int], counted: tuple[int, int, int]) -> None:
    node = exp.column("x")
    node.meta.update(told)
    size = Size()
    size.add(node)
    assert (size.nodes, size.weight, size.characters) == counted


def test_what_is_computed_of_figures_is_finite_or_null_and_figures_stay() -> None:
    after = sqlglot.parse_one(f"SELECT x * 1e200 AS big, {NOISY}.x AS same, n + 1 AS more FROM {NOISY} LIMIT 9")
    assert isinstance(after, exp.Select)
    found = work_out(after, {NOISY: pa.table({"x": [1e200, 1.0, float("inf")], "n": [1, 2, 3]})})
    assert found.to_pydict() == {"big": [None, 1e200, None], "same": [1e200, 1.0, float("inf")], "more": [2, 3, 4]}


def test_one_group_is_enough_to_tell_that_all_are_measured_another_way() -> None:
    """Groups that the quick way cannot measure have no figure there."""
    tables = {"t": table(Card("t", (Column("k", Kind.TEXT), Column("x", Kind.REAL, bounds=(0.0, 0.99)))))}
    made = planned("SELECT k, SUM(x) AS s, SUM(x * x) AS q FROM t GROUP BY k", tables)
    asked = price(made, 1, "1e-6")
    assert asked.threshold is not None
    (key,) = made.keys
    large = [name for name in made.measures if name != UNITS]
    assert len(large) == 2
    figures = {name: pa.array([1, None, None, 4] if name == large[0] else [1, 2, 3, 4], pa.int64()) for name in large}
    some = pa.table({key: ["a", "b", "c", "d"], UNITS: pa.array([1000] * 4, pa.int64())} | figures)
    passing = _passing(made.parts[0], asked, Silent())
    assert passing(some).column(key).to_pylist() == ["b"]
    shown = passing(some.take([0, 3]))
    assert shown.column(key).to_pylist() == ["a", "d"]
    assert not any(shown.column(name).null_count for name in made.measures)


def test_a_declared_group_is_there_once() -> None:
    """1.0 and 1 are one number: a list of categories may have both."""

    def keys(**domains: tuple[float | str, ...]) -> list[dict[str, object]]:
        kinds = {name: Kind.TEXT if isinstance(domain[0], str) else Kind.REAL for name, domain in domains.items()}
        values = {name: Value(sql.column(name), kinds[name], None, domain) for name, domain in domains.items()}
        return _declared(replace(planned("SELECT COUNT(*) AS n FROM visits").parts[0], keys=values)).to_pylist()

    assert keys(x=(1.0, 1, 2.0)) == [{"x": 1.0}, {"x": 2.0}]
    assert keys(x=(2.0, 1.0)) == [{"x": 2.0}, {"x": 1.0}]
    assert keys(a=("u", "v"), x=(1.0, 1)) == [{"a": "u", "x": 1.0}, {"a": "v", "x": 1.0}]
    assert _declared(planned("SELECT COUNT(*) AS n FROM visits").parts[0]).num_columns == 0


# sums


@pytest.mark.parametrize(
    ("low", "high", "centre", "step", "bound", "added"),
    [
        (0, 3, "3/2", "1/2", 3, [-3, -1, 1, 3]),
        (1, 4, "5/2", "1/2", 3, [-3, -1, 1, 3]),
        (0, 4, "2", "1", 2, [-2, -1, 0, 1, 2]),
        (-2, 1, "-1/2", "1/2", 3, [-3, -1, 1, 3]),
        (0, 3, "0", "1", 3, [0, 1, 2, 3]),
        (0, 0, "0", "1", 1, [0]),
    ],
)
def test_whole_numbers_are_added_in_halves_or_ones_from_their_middle(
    duckdb: DuckDB, low: int, high: int, centre: str, step: str, bound: int, added: list[int]
) -> None:
    within = Fraction(low), Fraction(high)
    known = Value(sql.column("z"), Kind.INTEGER, within, name="z")
    assert not Fraction(centre) or middle(within, Kind.INTEGER, 1) == Fraction(centre)
    found = steps_of(known, within, 1, Fraction(centre))
    assert (found.step, found.bound, found.grid, found.rounded) == (Fraction(step), bound, None, False)
    rows = sqlglot.parse_one(f"SELECT range AS z FROM range({low}, {high + 1})", dialect="duckdb")
    assert isinstance(rows, exp.Select)
    asked = exp.select(sql.named(found.sql, "v")).from_(rows.subquery("r")).order_by("v")
    assert duckdb.fetch(asked)["v"].to_pylist() == added


@pytest.mark.parametrize(("centre", "left", "added"), [(0.0, 0.0, 5.0), (0.5, 0.5, 5.0), (0.1 + 2**-40, 0.0, None)])
def test_a_centre_that_the_grid_cannot_say_is_taken_off_before(
    duckdb: DuckDB, centre: float, left: float, added: float | None
) -> None:
    known = Value(sql.column("z"), Kind.REAL, (Fraction(0), Fraction(8)), name="z")
    found = _on_grid(known, Fraction(centre), Fraction(1, 4), 32)
    assert found.grid == Fraction(left)
    rows = exp.select(sql.named(sql.literal(5.0), "z"))
    (value_found,) = duckdb.fetch(exp.select(sql.named(found.sql, "v")).from_(rows.subquery("r")))["v"].to_pylist()
    assert value_found == (5.0 - centre if added is None else added)


@pytest.mark.parametrize(("far", "fine"), [(200, True), (201, False), (-200, True), (-201, False)])
def test_a_factor_has_200_binary_digits(far: int, fine: bool) -> None:
    known = Value(sql.column("z"), Kind.REAL, (Fraction(0), Fraction(2) ** far), name="z")
    if fine:
        assert numbers._factor(known) == known.snapped
    else:
        with pytest.raises(BadQuery, match="too large or too small"):
            numbers._factor(known)


@pytest.mark.parametrize(("low", "high"), [(0.5, 4.0), (1.0, 4.0), (-4.0, -0.5)])
def test_a_divisor_is_cut_where_it_comes_nearest_to_zero(duckdb: DuckDB, low: float, high: float) -> None:
    found = of("1 / z", low, high)
    rows = sqlglot.parse_one(f"SELECT UNNEST([{low}, {high}, {low + 1}]) AS z", dialect="duckdb")
    assert isinstance(rows, exp.Select)
    asked = exp.select(sql.named(found.sql, "v")).from_(rows.subquery("r"))
    assert duckdb.fetch(asked)["v"].to_pylist() == [1 / low, 1 / high, 1 / (low + 1)]


@pytest.mark.parametrize(("most", "fine"), [(3, True), (2, False)])
def test_quantiles_are_answered_of_as_many_groups_as_the_limit(
    duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch, most: int, fine: bool
) -> None:
    rows = sqlglot.parse_one("SELECT range % 3 AS k, range % 7 AS x FROM range(21)", dialect="duckdb")
    assert isinstance(rows, exp.Select)
    known = Column("k", Kind.INTEGER, categories=(0, 1, 2)), Column("x", Kind.INTEGER, bounds=(0, 6))
    made = planned("SELECT k, MEDIAN(x) AS m FROM t GROUP BY k", {"t": Table(Card("t", known), duckdb, rows)})
    monkeypatch.setattr(answers, "MOST_QUANTILES", most)
    if fine:
        assert len(measured(made.parts[0]).keys) == 3
    else:
        with pytest.raises(Refused, match="Too many groups"):
            measured(made.parts[0])


@pytest.mark.parametrize(
    ("buckets", "largest"),
    [("0, 10, 1", 2), ("0, 10, 10000", 10_001), ("0, 0.5, 3", 4)]
    + [(wrong, None) for wrong in ("0, 10, 0", "0, 10, 10001", "0, 10, 1.5", "5, 5, 3", "6, 5, 3", "0, z, 3")],
)
def test_buckets_go_from_a_lower_to_a_higher_number_and_are_1_to_10000(buckets: str, largest: int | None) -> None:

    if largest is None:
        with pytest.raises(BadQuery, match="a lower bound, a higher one"):
            of(f"WIDTH_BUCKET(z, {buckets})", 0, 8)
    else:
        assert of(f"WIDTH_BUCKET(z, {buckets})", 0, 8).within == (0, largest)


@pytest.mark.parametrize(("text", "by_text"), [("'abcdefghi'", True), ("SELECT 1", False)])
def test_a_question_is_written_as_long_as_neither_its_text_nor_its_parts_are_too_many(text: str, by_text: bool) -> None:

    tree, parts = sqlglot.parse_one(text), 0

    class Counting(_Writer):
        def sql(self, *given: Any, **named: Any) -> str:
            nonlocal parts
            parts += 1
            return super().sql(*given, **named)

    assert Counting(10**6).sql(tree) == text
    least = max(len(text), parts)
    assert (least == len(text)) is by_text
    assert _Writer(least).sql(tree) == text
    with pytest.raises(BadQuery, match="too large when expanded"):
        _Writer(least - 1).sql(tree)

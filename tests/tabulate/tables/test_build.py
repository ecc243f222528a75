"""Tables from rows, on every engine."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy import Intervals, Mask, Ordered, Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, HierarchyError, NotDeclared, NotFound
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.rules import parse_rules
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells

PLACES = Taxonomy.from_tree({"North": ["n1", "n2"], "South": {"Coast": ["s1", "s2"], "Hills": ["s3"]}, "West": ["w"]})
CARD = Card(
    "firms",
    (
        Column("owner", Kind.TEXT),
        Column("place", Kind.TEXT, hierarchy=PLACES),
        Column("trade", Kind.TEXT, categories=("wood", "food", "toys")),
        Column("turnover", Kind.INTEGER),
        Column("exact", Kind.DECIMAL),
        Column("real", Kind.REAL),
        Column("weight", Kind.REAL),
    ),
    unit="owner",
)
ROWS = [
    # owner, place, trade, turnover, weight
    ("A", "n1", "food", 40, 1.6),
    ("A", "n2", "food", 30, 1.6),
    ("A", "s1", "toys", 5, 1.6),
    ("B", "n1", "food", 50, 3.0),
    ("C", "s2", "wood", 7, 1.0),
    ("C", "s2", "wood", 8, 1.0),
    ("D", "s3", None, 20, 2.0),
    ("E", "w", "wood", None, 1.0),
]


def rows(of=ROWS):
    owners, places, trades, turnover, weights = map(list, zip(*of, strict=True))
    return pa.table(
        {
            "owner": owners,
            "place": places,
            "trade": trades,
            "turnover": pa.array(turnover, pa.int64()),
            "exact": pa.array([None if x is None else Decimal(x) / 8 for x in turnover], pa.decimal128(30, 3)),
            "real": pa.array([None if x is None else x / 8 for x in turnover], pa.float64()),
            "weight": pa.array(weights, pa.float64()),
        }
    )


def firms(of=ROWS, card=CARD):
    return read(rows(of), card)


@cache
def turnover(*by):
    """The turnover of the firms."""
    return build(firms(), by or ["place", "trade"], "turnover")


def figure(table, *codes):
    return table.values.flat[table.cell(*codes)]


def known(table, *codes):
    """How many respondents, and their largest contributions."""
    cell = table.cell(*codes)
    return table.contributions.counts.flat[cell], table.contributions.largest.reshape(table.size, -1)[cell].tolist()


def same(one, other):
    assert (one.dimensions, one.decimals, one.what) == (other.dimensions, other.decimals, other.what)
    assert np.array_equal(one.values, other.values)
    for mine, its in zip(vars(one.contributions).values(), vars(other.contributions).values(), strict=True):
        assert (mine is None) == (its is None)
        assert mine is None or np.array_equal(mine, its)


def test_codes_are_declared_or_sorted_and_totals_of_one_are_left_out():
    table = turnover()
    assert table.dimensions[0].codes == ("Total", "North", "n1", "n2", "South", "Coast", "s1", "s2", "s3")
    assert table.dimensions[1].codes == ("Total", "wood", "food", "toys", "missing")
    assert not len(Cells.of(table).broken())


def test_rows_without_a_value_are_nobody():
    assert "w" not in turnover("place").dimensions[0].codes
    counted = build(firms(), ["trade"])
    assert figure(counted, "wood") == 3
    assert figure(counted, "Total") == 8


def test_a_holding_is_one_respondent_at_every_level():
    table = turnover()
    assert figure(table, "North", "food") == 120
    assert known(table, "n1", "food") == (2, [50, 40])
    assert known(table, "North", "food") == (2, [70, 50])  # A has 40 in n1 and 30 in n2
    assert known(table, "Total", "Total") == (4, [75, 50])
    assert known(table, "s2", "wood") == (1, [15, 0])
    sole = table.contributions.sole
    owner = sole.flat[table.cell("n2", "food")]
    assert owner >= 0
    assert {table.codes(cell) for cell in np.flatnonzero(sole == owner)} == {
        (place, trade)
        for place, trade in [
            *product(["n2"], ["Total", "food"]),
            *product(["s1", "Total", "South", "Coast"], ["toys"]),
            ("s1", "Total"),
        ]
    }


def test_a_table_of_counts_counts_rows_and_knows_respondents():
    table = build(firms(), ["trade"])
    assert table.what == ""
    assert figure(table, "food") == 3
    assert known(table, "food") == (2, [2, 1])
    bare = build(read(rows(), Card("firms", CARD.columns)), ["trade"])
    assert bare.contributions.largest is None
    assert bare.contributions.counts.tolist() == bare.values.tolist() == table.values.tolist()


def test_rules_see_the_holding():
    cells = Cells.of(turnover())
    found = protect(cells, parse_rules("n=1,k=0.55"))
    assert "North, food" in {cells.name(cell) for cell in found.reasons}  # 70 of 120, and neither 50 nor 40 of 90
    assert "n1, food" in {cells.name(cell) for cell in found.reasons}
    assert "Total, Total" not in {cells.name(cell) for cell in found.reasons}


def test_weights_stand_for_others_of_the_same_size():
    table = build(firms(), ["place", "trade"], "turnover", weight="weight")
    assert figure(table, "North", "food") == 262  # 1.6·70 + 3·50
    assert table.contributions.counts.flat[table.cell("North", "food")] == 2  # who answered
    assert known(table, "North", "food")[1] == [70, 62]  # 0.6·70 + 0.4·50
    assert known(table, "n1", "food")[1] == [50, 50]
    assert known(table, "s1", "toys") == (1, [5, 3])
    assert table.contributions.sole.flat[table.cell("s1", "toys")] >= 0
    assert not len(Cells.of(table).broken())
    counted = build(firms(), ["trade"], weight="weight", decimals=1)
    assert figure(counted, "food") == 62


def test_weights_without_a_unit():
    bare = read(rows(), Card("firms", CARD.columns))
    table = build(bare, ["place"], "turnover", weight="weight", keep_largest=3)
    assert known(table, "North") == (3, [50, 50, 50])
    assert known(table, "Coast") == (3, [8, 7, 5])
    assert figure(table, "Coast") == 23
    sole = table.contributions.sole
    assert sole.flat[table.cell("n2")] >= 0
    assert (sole >= 0).sum() == 3


@pytest.mark.parametrize("rule", ["min=3", "p=10", "p=10,q=50", "n=1,k=0.7", "n=2,k=0.7"])
@pytest.mark.parametrize("unit", ["owner", None])
def test_weights_hide_nobody(rule, unit):
    of = [("A", "n1", "food", 777, 50.0), ("B", "n2", "food", 100, 9.0), ("C", "n2", "food", 90, 9.0)]
    of += [(f"D{number}", "s2", "food", 10, 1.0) for number in range(20)]
    cells = Cells.of(build(firms(of, Card("firms", CARD.columns, unit=unit)), ["place"], "turnover", weight="weight"))
    found = protect(cells, parse_rules(rule))
    hidden = {cells.name(cell) for cell in found.reasons}
    assert {"n1", "n2"} <= hidden
    assert "s2" not in hidden
    if rule == "p=10":
        assert found.above[cells.tables[0].cell("n1")] == 3885


def test_weights_must_be_one_each_and_above_0():
    torn = [("A", "n1", "food", 1, 1.0), ("A", "n1", "food", 1, 2.0)]
    with pytest.raises(DataError, match="different weight"):
        build(firms(torn), ["trade"], "turnover", weight="weight")
    for wrong in (0.0, -1.0, None, float("nan")):
        with pytest.raises(DataError, match="not above 0"):
            build(firms([("A", "n1", "food", 1, wrong), ROWS[3]]), ["trade"], "turnover", weight="weight")


def test_negative_contributions_are_kept_by_their_size():
    table = build(firms([*ROWS, ("F", "n1", "food", -60, 1.0), ("B", "n1", "food", -20, 1.0)]), ["trade"], "turnover")
    assert figure(table, "food") == 40
    assert known(table, "food") == (3, [70, 60])
    assert table.contributions.absolute.flat[table.cell("food")] == 160
    assert turnover("place").contributions.absolute is None


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        ("turnover", None, (0, 120)),
        ("turnover", 1, (1, 1200)),
        ("exact", None, (3, 15000)),
        ("exact", 1, (1, 151)),  # 5.0, 3.75 and 6.25: 50 + 38 + 63 tenths, halves up
        ("real", None, (2, 1500)),
        ("real", 1, (1, 151)),
    ],
)
def test_decimals(value, decimals, expected):
    table = build(firms(), ["trade"], value, decimals=decimals)
    assert (table.decimals, figure(table, "food")) == expected


def test_levels_of_a_hierarchy():
    fine = turnover("place")
    coarse = turnover("place@1")
    assert coarse.dimensions[0].codes == (
        "Total",
        "North",
        "n1",
        "n2",
        "South",
        "Coast",
        "Hills",
    )  # branches are uneven
    assert known(coarse, "North") == known(fine, "North")
    assert turnover("place@2").dimensions[0].codes == ("Total", "North", "South")


def test_intervals_are_in_the_order_of_numbers_and_groups_in_their_order():
    card = Card(
        "t",
        (
            Column("age", Kind.INTEGER, hierarchy=Intervals((5, 50))),
            Column("grade", Kind.TEXT, hierarchy=Ordered(["low", "mid", "high", "top"], [2])),
            Column("on", Kind.BOOLEAN),
        ),
    )
    data = {
        "age": [101, 7, 8, 51, None],
        "grade": ["top", "low", "mid", "high", "low"],
        "on": [True, False, None] + [True] * 2,
    }
    table = read(pa.table(data), card)
    ages = build(table, ["age@1"]).dimensions[0]
    assert [code for code in ages.codes if not ages.parts[ages.places[code]]] == [
        "5-9",
        "50-54",
        "100-104",
        "missing",
    ]
    assert build(table, ["age"]).dimensions[0].codes[-1] == "missing"
    assert build(table, ["grade"]).dimensions[0].codes == (
        "Total",
        "low..mid",
        "low",
        "mid",
        "high..top",
        "high",
        "top",
    )
    assert build(table, ["grade@1"]).dimensions[0].codes == ("Total", "low..mid", "high..top")
    assert build(table, ["on"]).dimensions[0].codes == ("Total", "false", "true", "missing")


def test_codes_that_are_called_total_or_missing():
    table = read(pa.table({"r": ["Total", "missing", None]}), Card("t", (Column("r", Kind.TEXT),)))
    assert build(table, ["r"]).dimensions[0].codes == ("All", "Total", "missing", "(missing)")


def test_a_single_code_has_no_total():
    table = build(firms(ROWS[:1]), ["place", "trade"], "turnover")
    assert table.shape == (1, 1)
    assert known(table, "n1", "food") == (1, [40, 0])


def test_linked_tables_share_cells_and_insiders():
    first, second = build(firms(), ["place@2", "trade"], "turnover"), turnover("place")
    cells = Cells.of(first, second)
    assert len(cells) == first.size + second.size - 3
    insiders = protect(cells, parse_rules("min=2")).insiders
    named = {frozenset(map(cells.name, one)) for one in insiders}
    assert frozenset({"Total, toys", "South, toys", "s1", "n2"}) in named


@settings(max_examples=6)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABCDE"),
            st.sampled_from(["n1", "n2", "s1", "s2", "s3", "w"]),
            st.sampled_from(["wood", "food", None]),
            st.one_of(st.none(), st.integers(-9, 99)),
            st.just(1.0),
        ),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
)
def test_every_cell_is_what_the_rows_say(drawn, with_unit):
    if all(row[3] is None for row in drawn):
        drawn = [*drawn, ROWS[0]]
    card = CARD if with_unit else Card("firms", CARD.columns)
    table = build(firms(drawn, card), ["place", "trade"], "turnover")
    paths = {path[0]: {*path, "Total"} for path in PLACES.paths}
    for cell in range(table.size):
        place, trade = table.codes(cell)
        has = defaultdict(int)
        for number, (owner, where, what, turnover, _) in enumerate(drawn):
            inside = place in (paths[where] if len(table.dimensions[0]) > 1 else place) and trade in (
                "Total",
                what or "missing",
            )
            if turnover is not None and inside:
                has[owner if with_unit else number] += turnover
        assert table.values.flat[cell] == sum(has.values())
        largest = sorted(map(abs, has.values()), reverse=True)
        assert known(table, place, trade) == (len(has), [*largest, 0, 0][:2])
        assert (table.contributions.sole.flat[cell] >= 0) == (len(has) == 1)
        if table.contributions.absolute is not None:
            assert table.contributions.absolute.flat[cell] == sum(map(abs, has.values()))


def test_engines_agree(engine, fresh):
    name = fresh()
    data = rows([*ROWS, ("F", "n1", "food", -61, 1.25)])
    engine.load(name, data)
    shown = exp.select(*map(sql.column, data.column_names)).from_(sql.table(name))
    asked = {"by": ["place@2"], "value": "exact", "decimals": 1, "weight": "weight"}
    same(build(Table(CARD, engine, shown), **asked), build(read(data, CARD), **asked))


@pytest.mark.parametrize(
    ("by", "value", "more", "error", "said"),
    [
        ([], None, {}, BadInput, "one or more columns"),
        ("place", None, {}, BadInput, "one or more columns"),
        (["plac"], None, {}, NotFound, "did you mean 'place'"),
        (["place@9"], None, {}, BadInput, "levels 0 to 2"),
        (["trade@1"], None, {}, BadInput, "without a level"),
        (["trade", "trade"], None, {}, BadInput, "a different column"),
        (["trade"], "place", {}, BadInput, "cannot be summed"),
        (["trade"], "turnover", {"decimals": 13}, BadInput, "0 to 12 decimals"),
        (["trade"], "turnover", {"keep_largest": -1}, BadInput, "0 to 100"),
        (["trade"], "turnover", {"weight": "owner"}, BadInput, "cannot be summed"),
    ],
)
def test_what_cannot_be_asked(by, value, more, error, said):
    with pytest.raises(error, match=said):
        build(firms(), by, value, **more)


def test_rows_that_cannot_be_added_up():
    with pytest.raises(DataError, match="no rows"):
        build(firms([ROWS[-1]]), ["place"], "turnover")
    with pytest.raises(DataError, match="1 row without a unit"):
        build(firms([*ROWS, (None, "w", "food", 1, 1.0)]), ["place"])
    with pytest.raises(DataError, match="64 bits"):
        build(firms([*ROWS, ("Z", "w", "food", 2**61, 1.0)]), ["place"], "turnover", decimals=1)
    with pytest.raises(HierarchyError, match="place"):
        build(firms([*ROWS, ("Z", "elsewhere", "food", 1, 1.0)]), ["place"])
    infinite = read(pa.table({"r": ["a"], "x": [float("inf")]}), Card("t", (Column("r", "text"), Column("x", "real"))))
    with pytest.raises(DataError, match="infinite"):
        build(infinite, ["r"], "x")


def test_identifiers_are_no_side_and_neither_is_a_value_that_names_a_group():
    named = Card("t", (Column("r", Kind.TEXT, Role.IDENTIFIER),))
    with pytest.raises(BadInput, match="r is an identifier: a table by it is not allowed"):
        build(read(pa.table({"r": ["a"]}), named), ["r"])
    masked = Card("t", (Column("r", Kind.TEXT, hierarchy=Mask(2)),))
    with pytest.raises(BadInput, match="both a value"):
        build(read(pa.table({"r": ["12", "13", "1*"]}), masked), ["r"])


def test_too_many_cells_are_refused_before_they_are_made():
    names = [f"c{number}" for number in range(5)]
    data = pa.table({name: [str(row) for row in range(40)] for name in names})
    table = read(data, Card("t", tuple(Column(name, Kind.TEXT) for name in names)))
    with pytest.raises(BadInput, match=r"41 × 41 × 41 × 41 × 41 = 115,856,201 cells; the limit is 50,000,000"):
        build(table, names)


@pytest.mark.parametrize(
    ("column", "error", "said"),
    [
        (Column("r", Kind.INTEGER, Role.SENSITIVE), NotDeclared, "not declared"),
        (Column("r", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 9)), NotDeclared, "r@1"),
        (Column("r", Kind.INTEGER), None, ""),
        (Column("r", Kind.INTEGER, Role.SENSITIVE, categories=(1, 2, 3)), None, ""),
    ],
)
def test_what_is_sensitive_is_no_code_unless_it_is_declared(column, error, said):
    table = read(pa.table({"r": [1, 2, 2]}), Card("t", (column,)))
    if error is None:
        assert build(table, ["r"]).values.tolist() == [3, 1, 2]
    else:
        with pytest.raises(error, match=said):
            build(table, ["r"])


def test_nobody_is_a_side_or_added_up():
    table = read(
        pa.table({"id": [1, 2], "no": [1, 2]}),
        Card("t", (Column("id", Kind.INTEGER), Column("no", Kind.INTEGER, Role.IDENTIFIER)), unit="id"),
    )
    with pytest.raises(BadInput, match="id is the unit: a table by it is not allowed"):
        build(table, ["id"])
    for value in ("id", "no"):
        with pytest.raises(BadInput, match="cannot be summed"):
            build(table, ["no"], value)


def test_declared_codes_that_nobody_has():
    card = Card("t", (Column("r", Kind.TEXT, hierarchy=PLACES), Column("c", Kind.INTEGER, categories=(3, 1, 2))))
    table = read(pa.table({"r": ["s3", "n1"], "c": [1, 2]}), card)
    found = build(table, ["r@2", "c"], declared=True)
    assert found.dimensions[0].codes == ("Total", "North", "South", "West")
    assert found.dimensions[1].codes == ("Total", "3", "1", "2")
    assert found.values.tolist()[0] == [2, 0, 1, 1]
    assert build(table, ["r", "c"], declared=True).shape == (10, 4)
    assert build(table, ["c"]).shape == (3,)


def test_declared_codes_of_intervals_and_orders():
    ages = Column("age", Kind.INTEGER, hierarchy=Intervals((5, 50)), categories=(101, 7, 51, 9))
    grades = Column("grade", Kind.TEXT, hierarchy=Ordered(["low", "mid", "high", "top"], [2]))
    table = read(pa.table({"age": [51, 51], "grade": ["top", "mid"]}), Card("t", (ages, grades)))
    assert build(table, ["age@1"]).dimensions[0].codes == ("50-54",)
    assert build(table, ["age@1"], declared=True).dimensions[0].leaves.size == 3
    assert build(table, ["age"], declared=True).values.tolist()[0] == 2
    assert build(table, ["grade"], declared=True).dimensions[0].leaves.size == 4

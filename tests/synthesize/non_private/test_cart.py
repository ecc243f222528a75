"""Sequential trees: what hangs together still does, and what few people share is not given out."""

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.mask.people import people
from tests.synthesize.non_private.tables import column, table

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.synthesize.non_private.cart import Cart, _from_leaves
from discreet.verbs.synthesize.non_private.copula import Copula

COUNT = 4000


def test_what_only_two_columns_together_tell_is_kept():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, COUNT), rng.choice(["x", "y", "z"], COUNT)
    odd = rng.random(COUNT) < np.where((a == 1) == (b == "y"), 0.9, 0.2)
    made = Cart().synthesize(table(a=a, b=b, odd=odd), 1).rows
    left, right, drawn = column(made, "a"), column(made, "b"), column(made, "odd").astype(bool)
    for one in (0, 1):
        for other in "xyz":
            here = (left == one) & (right == other)
            chance = 0.9 if (one == 1) == (other == "y") else 0.2
            spread = np.sqrt(chance * (1 - chance) * (2 / here.sum()))  # of the data, and of what was drawn
            assert abs(drawn[here].mean() - chance) < 6 * spread


def test_a_number_follows_another_however_it_bends():
    rng = np.random.default_rng(2)
    x = rng.uniform(-3, 3, COUNT)
    y = x**2 + rng.normal(0, 0.3, COUNT)
    made = Cart().synthesize(table(x=x, y=y), 1).rows
    off = column(made, "y") - column(made, "x") ** 2
    assert abs(np.std(off) - 0.3) < 0.05
    assert abs(off.mean()) < 0.03
    assert abs(np.quantile(column(made, "x"), [0.1, 0.5, 0.9]) - np.quantile(x, [0.1, 0.5, 0.9])).max() < 0.2


def test_what_follows_from_another_column_still_does():
    rng = np.random.default_rng(3)
    level = rng.integers(0, 12, COUNT)
    names = np.array([f"level {(5 * one) % 12}" for one in range(12)])
    made = Cart().synthesize(table(name=names[level], level=level), 1).rows
    same = names[column(made, "level")] == column(made, "name").astype(str)
    assert same.mean() > 0.999


def test_only_what_is_asked_for_is_made():
    synthetic = Cart(columns=["weight", "smokes"], given=["height"]).synthesize(people(), 1)
    before, after = people().payload(), synthetic.rows
    for name in before.column_names:
        assert after[name].equals(before[name]) == (name not in ("weight", "smokes")), name
    assert synthetic.parameters["kept"] == [n for n in before.column_names if n not in ("weight", "smokes")]
    assert any("which were not used" in said for said in synthetic.not_promised)
    height, weight = column(after, "height"), column(after, "weight")
    there = ~np.isnan(weight)
    assert np.corrcoef(height[there], weight[there])[0, 1] > 0.6
    rest = Cart(given=["height"]).synthesize(people(), 1)
    assert rest.rows["height"].equals(before["height"])
    assert rest.parameters["kept"] == ["height"]


def test_kinds_and_gaps_stay_and_seeds_repeat():
    before = people().payload()
    first, again, other = (Cart().synthesize(people(), seed).rows for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first.schema.equals(before.schema)
    for name in before.column_names:
        assert abs(first[name].null_count - before[name].null_count) < 30
    assert set(first["same"].to_pylist()) == {7.5}
    assert not Cart(proper=True).synthesize(people(), 1).rows.equals(first)


@pytest.mark.parametrize("name", ["weight", "income", "born", "seen"])
def test_a_number_of_one_person_is_drawn_from_around_it(name):
    before = set(people().payload()[name].to_pylist()) - {None}
    after = Cart().synthesize(people(), 1).rows[name].drop_null().to_pylist()
    copied = Cart(smooth=False).synthesize(people(), 1).rows[name].drop_null().to_pylist()
    assert set(copied) <= before
    assert np.mean([value in before for value in after]) < 0.15
    assert min(before) <= min(after)
    assert max(after) <= max(before)


def test_a_text_of_one_person_is_not_given_out_unless_everybody_knows_it():
    texts = np.array(["common"] * 60 + ["also common"] * 36 + ["secret"] * 4)
    for method in (Cart(rows=1000), Copula(rows=1000)):
        assert set(method.synthesize(table(t=texts), 1).rows["t"].to_pylist()) == {"common", "also common"}
        listed = Card("listed", (Column("t", Kind.TEXT, categories=("common", "secret", "never seen")),))
        assert "secret" in method.synthesize(table(listed, t=texts), 1).rows["t"].to_pylist()
        part = Card("part", (Column("t", Kind.TEXT, categories=("common",), from_data=("categories",)),))
        assert "secret" not in method.synthesize(table(part, t=texts), 1).rows["t"].to_pylist()
        grades = Card("grades", (Column("t", Kind.INTEGER, categories=(1, 5, 9)),))
        values = np.repeat([1, 5, 9, 7], [50, 40, 2, 2])
        assert set(method.synthesize(table(grades, t=values), 1).rows["t"].to_pylist()) == {1, 5, 9}
    assert "secret" in Cart(rows=1000, smooth=False).synthesize(table(t=texts), 1).rows["t"].to_pylist()


VISITS = Card(
    "visits",
    (Column("id", Kind.INTEGER, Role.IDENTIFIER), Column("town", Kind.TEXT), Column("pay", Kind.REAL)),
    unit="id",
)


@pytest.mark.parametrize("method", [Cart(), Cart(proper=True), Copula()])
def test_what_one_person_has_in_many_rows_is_not_given_out(method):
    rng = np.random.default_rng(6)
    who = np.append(np.arange(60), [60] * 12)
    town = np.append(rng.choice(["a", "b"], 60), ["mine alone"] * 12)
    pay = np.append(rng.lognormal(3, 1, 60), [123_456.78] * 12)
    visits = table(VISITS, id=who, town=town, pay=pay)
    for seed in range(8):
        made = method.synthesize(visits, seed).rows
        assert set(made["town"].to_pylist()) == {"a", "b"}
        assert not set(made["pay"].to_pylist()) & set(pay)


@pytest.mark.parametrize("proper", [False, True])
def test_a_leaf_has_that_many_people_however_many_rows_they_have(proper):
    """Only the first four people have x = 1, in ten rows each: a leaf of their own would tell their y."""
    rng = np.random.default_rng(7)
    who = np.append(np.repeat(np.arange(4), 10), np.arange(4, 60))
    x = (who < 4).astype(int)
    card = Card(
        "visits",
        (Column("id", Kind.INTEGER, Role.IDENTIFIER), Column("x", Kind.INTEGER), Column("y", Kind.BOOLEAN)),
        unit="id",
    )
    y = np.where(x == 1, True, rng.random(len(who)) < 0.3)
    made = Cart(given=["x"], proper=proper).synthesize(table(card, id=who, x=x, y=y), 1).rows
    assert not column(made, "y")[column(made, "x") == 1].all()


def test_a_value_that_nobody_can_be_drawn_beside_is_refused():
    with pytest.raises(DataError, match="Fewer than 5 people share any value of 'x'"):
        Cart(rows=500).synthesize(table(x=[np.nan] * 20 + [3.0] * 4), 1)


def test_numbers_that_are_drawn_are_no_more_precise():
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(50, 10, 300), 1)
    made = column(Cart().synthesize(table(x=x), 1).rows, "x")
    assert np.array_equal(np.round(made, 1), made)
    common = rng.choice([0.25, 1.5, 7.0], 300)
    assert set(column(Cart().synthesize(table(x=common), 1).rows, "x")) == {0.25, 1.5, 7.0}


def test_a_new_row_takes_the_value_of_anybody_in_its_leaf():
    leaves = np.array([4, 2, 4, 2, 4])
    place = np.array([30, 20, 10, 10, 20])
    drawn, below, above = _from_leaves(leaves, np.repeat([2, 4], 3000), place, np.random.default_rng(5))
    assert np.array_equal(leaves[drawn], np.repeat([2, 4], 3000))
    assert set(zip(drawn.tolist(), below.tolist(), above.tolist(), strict=True)) == {
        (0, 4, 0),
        (1, 3, 1),
        (2, 2, 4),
        (3, 3, 1),
        (4, 2, 0),
    }
    assert np.bincount(drawn, minlength=5) == pytest.approx([1000, 1500, 1000, 1500, 1000], abs=150)


def test_other_numbers_of_rows():
    assert Cart(rows=1000).synthesize(people(), 1).rows.num_rows == 1000
    assert Cart(rows=7).synthesize(people(), 1).rows.num_rows == 7
    with pytest.raises(BadInput, match="as many rows"):
        Cart(rows=7, given=["age"]).synthesize(people())
    with pytest.raises(BadInput, match="at least 1"):
        Cart(rows=0).synthesize(people())


def test_odd_tables():
    texts = [f"text {n}" for n in range(2000)]
    card = Card("many", (Column("a", Kind.TEXT, categories=texts), Column("b", Kind.INTEGER)))
    made = Cart().synthesize(table(card, a=texts, b=np.arange(2000) % 3), 1).rows
    assert made.num_rows == 2000
    assert set(made["b"].to_pylist()) == {0, 1, 2}
    with pytest.raises(DataError, match="Fewer than 5 people share any value of 'a'"):
        Cart().synthesize(table(a=texts, b=np.arange(2000) % 3), 1)
    nothing = read(
        pa.table({"x": pa.nulls(20, pa.float64()), "t": pa.nulls(20, pa.string()), "y": pa.array(range(20))}),
        Card("gaps", (Column("x", Kind.REAL), Column("t", Kind.TEXT), Column("y", Kind.INTEGER))),
    )
    made = Cart().synthesize(nothing, 1).rows
    assert made["x"].null_count == made["t"].null_count == 20
    odd = table(x=[1.0, np.inf, -np.inf, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], y=np.arange(10))
    assert Cart().synthesize(odd, 1).rows.num_rows == 10
    assert Cart().synthesize(table(x=np.arange(5)), 1).rows.num_rows == 5
    for few in (0, 1, 4):
        with pytest.raises(DataError, match="values must be drawn from at least 5 people"):
            Cart().synthesize(table(x=np.arange(few)), 1)


@pytest.mark.parametrize(
    ("what", "error", "why"),
    [
        ({"leaf": 1}, BadInput, "at least 2"),
        ({"columns": ["age"], "given": ["age"]}, BadInput, "made and given at once"),
        ({"columns": "age"}, BadInput, "list of names"),
        ({"columns": ["age", "age"]}, BadInput, "named twice"),
        ({"columns": ["id"]}, BadInput, "is not released"),
        ({"given": ["nobody"]}, NotFound, "no column 'nobody'"),
        ({"given": [c for c in people().columns if c != "id"]}, BadInput, "nothing to synthesize"),
    ],
)
def test_what_makes_no_sense_is_refused(what, error, why):
    with pytest.raises(error, match=why):
        Cart(**what).synthesize(people())

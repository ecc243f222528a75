"""How far the extremes of a few people lie is not given out, by any way to make columns anew."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.synthesize.non_private.tables import column, table

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copula import Copula
from discreet.verbs.synthesize.non_private.sorted_column import SortedColumn

METHODS = {"cart": Cart(), "copula": Copula(), "copula by laws": Copula(margins="parametric")}
every = pytest.mark.parametrize("name", METHODS)


def incomes(largest, count=400, sign=1):
    draw = np.random.default_rng(3)
    income = np.round(draw.lognormal(10, 0.5, count))
    income[: len(largest)] = largest
    return table(age=draw.integers(20, 60, count), income=income * sign)


@every
@pytest.mark.parametrize("sign", [1, -1])
def test_one_income_beyond_all_others_does_not_show(name, sign):
    plain, rich = incomes([], sign=sign), incomes([1e9], sign=sign)
    for seed in range(20):
        made = abs(column(METHODS[name].synthesize(rich, seed).rows, "income"))
        usual = abs(column(METHODS[name].synthesize(plain, seed).rows, "income"))
        assert made.max() < 3 * usual.max()


@pytest.mark.parametrize("name", ["cart", "copula"])
def test_how_large_the_four_largest_are_changes_nothing(name):
    once, other = (
        METHODS[name].synthesize(incomes(top), 1).rows for top in ([2e5, 3e5, 4e5, 5e5], [1e6, 3e7, 4e8, 5e9])
    )
    assert once.equals(other)


def test_it_is_coded_from_the_fifth_largest_person_on():
    values = np.array([*range(100), 1_000, 2_000, 3_000, 4_000, 5_000], float)
    plain = Column("x", Kind.REAL)
    of = SortedColumn.of(plain, pa.array(values), 5, np.arange(105))
    assert of.coded(values).max() == np.mean([1_000, 99, 98, 97, 96])
    assert of.coded(values).min() == np.mean([4, 5, 6, 7, 8])
    all_one_person = SortedColumn.of(plain, pa.array(values), 5, np.minimum(np.arange(105), 100))
    assert all_one_person.coded(values).max() == np.mean([96, 95, 94, 93, 92])
    shared = np.array([*range(100), *[1_000.0] * 5, 2_000])  # a value of five people may be given out
    assert SortedColumn.of(plain, pa.array(shared), 5, np.arange(106)).coded(shared).max() == 1_000
    few = np.array([1.0, 2, 3, 4, 5, 6])
    assert len(set(SortedColumn.of(plain, pa.array(few), 5, np.arange(6)).coded(few))) == 1
    listed = SortedColumn.of(replace(plain, categories=tuple(values)), pa.array(values), 5, np.arange(105))
    assert listed.coded(values).max() == 5_000  # everybody knows the values


@every
def test_what_is_infinite_is_missing(name):
    income = incomes([]).fetch()["income"].to_numpy().copy()
    income[[5, 9]] = np.inf, -np.inf
    card = Card("made", (Column("income", Kind.REAL, Role.QUASI),))
    for seed in range(5):
        made = METHODS[name].synthesize(read(pa.table({"income": income}), card), seed).rows["income"]
        assert not np.isinf(made.to_numpy(zero_copy_only=False)).any()

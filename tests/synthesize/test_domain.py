"""Columns as codes and back: the same codes on every engine, values of the right kind within their bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.synthesize.small import EVERY_KIND

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.sql import kind_of
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput, NotDeclared, NotFound
from discreet.noise.masking import generator
from discreet.verbs.synthesize.attributes import Merged
from discreet.verbs.synthesize.domain import Domain, merge_rare, regroup_measurement
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.spending import Counts, counting


def every_code(domain, rows=600):
    """Rows of codes in which every code comes up."""
    rng = generator(7)
    codes = np.stack([rng.permutation(np.arange(rows) % size) for size in domain.sizes], axis=1)
    return codes, domain.decoded(codes, rng)


def on(engine, name, rows, card):
    engine.load(name, rows)
    return Table(card, engine, exp.select(*(sql.column(c.name) for c in card.columns)).from_(sql.table(name)))


def test_what_is_drawn_has_the_code_it_was_drawn_for_on_every_engine(engine, fresh):
    domain = Domain.of(EVERY_KIND)
    codes, rows = every_code(domain)
    table = on(engine, fresh(), rows, EVERY_KIND)
    with counting(table, domain) as counts:
        for columns in ((0, 1, 2), (3, 4), (5, 6), (7, 8)):
            expected = np.zeros([domain.sizes[place] for place in columns], np.int64)
            np.add.at(expected, tuple(codes[:, place] for place in columns), 1)
            assert (counts.over(columns) == expected).all()
        assert counts.over(()) == len(codes)


def test_merged_codes_are_counted_on_every_engine(engine, fresh):
    fine = Domain.of(EVERY_KIND)
    codes, rows = every_code(fine)
    rng = generator(3)
    whole, groups = fine, []
    for place, attribute in enumerate(fine.attributes):
        noisy = rng.integers(0, 40, attribute.size).astype(float)
        narrow = merge_rare(attribute, noisy, 8.0)
        whole = whole.with_merged(place, narrow)
        groups.append(np.array(narrow.groups if isinstance(narrow, Merged) else range(attribute.size)))
    assert any(isinstance(one, Merged) for one in whole.attributes)
    counts = Counts(on(engine, fresh(), rows, EVERY_KIND), whole)
    for columns in ((0, 1), (2, 3, 4), (5, 6, 7, 8)):
        expected = np.zeros([whole.sizes[place] for place in columns], np.int64)
        np.add.at(expected, tuple(groups[place][codes[:, place]] for place in columns), 1)
        assert (counts.over(columns) == expected).all()


def test_values_are_of_their_kind_and_within_bounds():
    domain = Domain.of(EVERY_KIND)
    _, rows = every_code(domain, 5_000)
    for column in EVERY_KIND.columns:
        values = rows.column(column.name)
        assert kind_of(values.type) is column.kind
        known = [value for value in values.to_pylist() if value is not None]
        assert (values.null_count > 0) is not column.required
        if column.bounds:
            assert column.bounds[0] == min(known)  # both ends have a code of their own
            assert max(known) == column.bounds[1]
        elif column.categories:
            assert set(known) == set(column.categories)


def test_zero_and_the_bounds_have_codes_of_their_own():
    card = Card("t", (Column("x", Kind.REAL, bounds=(-2.0, 2.0), required=True),))
    domain = Domain.of(card, bins=4)
    table = read(pa.table({"x": [-2.0, -2.0, -1.9, -0.1, 0.0, 0.0, 0.0, 0.1, 1.0, 1.99, 2.0]}), card)
    assert Counts(table, domain).over((0,)).tolist() == [2, 1, 1, 3, 1, 2, 1]


def test_few_whole_numbers_have_a_code_each_and_many_are_in_bins():
    card = Card("t", tuple(Column(f"x{n}", Kind.INTEGER, bounds=(0, n), required=True) for n in (5, 99, 5_000)))
    assert Domain.of(card).sizes == (6, 100, 34)
    assert Domain.of(card, bins=10).sizes == (6, 12, 12)
    assert Domain.of(card, bins={"x5000": 50}).sizes == (6, 100, 52)
    assert Domain.of(card, columns=["x99"]).names == ("x99",)


def test_rare_values_become_one_and_are_told_apart_when_drawn():
    card = Card("t", (Column("c", Kind.TEXT, categories=tuple(f"v{n}" for n in range(1_000)), required=True),))
    domain = Domain.of(card)
    counts = np.zeros(1_000)
    counts[:5], counts[990:] = 5_000, 20
    narrow = merge_rare(domain.attributes[0], counts, 30.0)
    assert narrow.size == 6
    drawn = narrow.decoded(np.full(5_000, 5), generator(1)).to_pylist()
    assert set(drawn) == {f"v{n}" for n in range(990, 1_000)}  # nothing else was counted at all
    assert set(narrow.decoded(np.full(9, 2), generator(1)).to_pylist()) == {"v2"}
    one = regroup_measurement(narrow, Measurement((0,), counts, 30.0))
    assert one.counts.tolist() == [5_000.0] * 5 + [200.0]
    assert one.deviation == pytest.approx(30 * (1_000 / 6) ** 0.5)  # the mean variance of six codes


def test_quantiles_hold_about_as_many_each():
    card = Card("t", (Column("x", Kind.INTEGER, bounds=(0, 100_000)),))
    domain = Domain.of(card, quantiles=["x"])
    rng = generator(5)
    values = np.minimum(rng.exponential(500, 20_000), 100_000).astype(int)
    values[:8_000] = 0
    table = read(pa.table({"x": values}), card)
    true = Counts(table, domain).over((0,)).astype(float)
    narrow = merge_rare(domain.attributes[0], true, 1.0, 8)
    found = Counts(table, domain.with_merged(0, narrow)).over((0,))
    assert found[0] >= 8_000  # zero has a code of its own
    assert 4 <= narrow.size <= 9
    assert found[1:-2].min() >= 20_000 / 8


def test_nothing_is_drawn_from_what_is_not_declared():
    card = Card("t", (Column("a", Kind.TEXT), Column("b", Kind.INTEGER, bounds=(0, 1)), Column("c", Kind.DATE)))
    with pytest.raises(NotDeclared, match=r"'a'.*categories"):
        Domain.of(card)
    with pytest.raises(NotDeclared, match=r"'c'.*bounds"):
        Domain.of(card, columns=["b", "c"])
    assert Domain.of(card, columns=["b"]).sizes == (3,)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"columns": ["agee"]}, NotFound, "agee"),
        ({"columns": ["age", "age"]}, BadInput, "twice"),
        ({"bins": 0}, BadInput, "bins"),
        ({"bins": 10**6}, BadInput, "The limit is 4,096 bins"),
        ({"quantiles": ["sex"]}, BadInput, "no bounds"),
        ({"columns": ["id"]}, NotFound, "not released"),
    ],
)
def test_what_is_wrong_is_said(options, error, said):
    card = replace(EVERY_KIND, columns=(*EVERY_KIND.columns, Column("id", Kind.INTEGER, Role.IDENTIFIER)))
    with pytest.raises(error, match=said):
        Domain.of(card, **options)


def test_real_numbers_have_no_more_digits_than_tell_them_apart():
    card = Card("t", (Column("x", Kind.REAL, bounds=(0.0, 200_000.0), required=True),))
    domain = Domain.of(card)
    drawn = domain.decoded(np.full((500, 1), 3, np.int64), generator(1)).column(0).to_pylist()
    assert all(value == round(value, 2) for value in drawn)
    assert len(set(drawn)) > 450
    low, high = (ends[3] for ends in domain.attributes[0].ends())
    assert low <= min(drawn) <= max(drawn) <= high

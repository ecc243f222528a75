"""Cells that no row can be in: all their values meet a condition, by trying values."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.synthesize.small import EVERY_KIND

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.verbs.synthesize.attributes import Listed
from discreet.verbs.synthesize.domain import Domain, merge_rare
from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.streaming import Source
from discreet.verbs.synthesize.structural_zeros import Impossible

DOMAIN = Domain.of(EVERY_KIND, bins=8)


def conditions(*texts):
    return Impossible.of(replace(EVERY_KIND, impossible=texts), DOMAIN)


@pytest.mark.parametrize(
    "text",
    [
        "age < 15 AND sex = 'M'",
        "NOT (age >= 40)",
        "age BETWEEN 20 AND 60 OR member",
        "sex IN ('F', 'X')",
        "sex <> 'F' AND grade > 3",
        "member IS NULL AND sex IS NOT NULL",
        "cost >= 500.5",
        "change = 0 OR change > 2.9",
        "day < '2021-06-01'",
        "day < DATE '2021-06-01' AND moment > TIMESTAMP '2024-01-01'",
        "grade > age",
        "dose = 1.25 AND grade <= 2",
        "age > grade AND member = FALSE",
    ],
)
def test_ruled_out_is_what_no_drawn_row_can_be_without_meeting_the_condition(text):
    impossible = conditions(text)
    found = impossible.zeros(DOMAIN)
    assert found, "a condition on whole cells rules some out"
    (one,) = found
    rng = generator(3)
    cells = np.array(list(product(*(range(DOMAIN.sizes[place]) for place in one.columns))))
    codes = np.zeros((len(cells) * 12, len(DOMAIN.sizes)), np.int64)
    codes[:, list(one.columns)] = np.repeat(cells, 12, axis=0)
    met = np.zeros(len(codes), np.bool_)
    met[impossible.met(DOMAIN.decoded(codes, rng))] = True
    always = met.reshape(len(cells), 12).all(axis=1).reshape(one.possible.shape)
    assert (always | one.possible).all()  # whatever is ruled out is met by every row that is drawn in the cell
    assert (~one.possible).sum() >= 0.6 * always.sum(), "and most of what rows always meet is ruled out"


def test_a_group_is_ruled_out_only_as_a_whole():
    place = DOMAIN.names.index("grade")
    counts = np.array([500.0, 2, 1, 500, 0, 3, 40])
    narrow = merge_rare(DOMAIN.attributes[place], counts, 2.0)
    domain = DOMAIN.with_merged(place, narrow)
    whole = len(narrow.groups)
    for last in range(1, 7):
        card = replace(EVERY_KIND, impossible=(f"grade <= {last}",))
        for one in Impossible.of(card, domain).zeros(domain):
            out = {code for code in range(whole - 1) if not one.possible[narrow.groups[code]]}
            assert out <= set(range(last))


def test_a_condition_about_what_is_not_drawn_is_left_out():
    impossible = conditions("age < 3 AND gone = 1", "age < 2")
    assert impossible.left_out == ("age < 3 AND gone = 1",)
    assert list(impossible.conditions) == ["age < 2"]
    assert conditions().met(pa.table({"age": [1]})).tolist() == []


def test_what_is_not_understood_rules_nothing_out_and_is_drawn_again():
    impossible = conditions("age * 2 > 100 + grade", "sex < 'G'")
    assert impossible.zeros(DOMAIN) == []
    assert len(impossible.met(DOMAIN.decoded(np.zeros((5, len(DOMAIN.sizes)), np.int64), generator(1)))) == 5


def test_where_a_condition_cannot_be_worked_out_it_is_not_met():
    rows = pa.table({"sex": ["F", "3"], "age": [1, 2]})
    assert conditions("CAST(sex AS INTEGER) = 3").met(rows).tolist() == [1]
    assert conditions("age * 9223372036854775807 > 5").met(rows).tolist() == [0]


@pytest.mark.parametrize("text", ["age < CAST(3.4 AS INTEGER)", "age < CAST('3' AS INTEGER)", "day < moment"])
def test_a_cast_is_left_to_the_rows(text):
    assert conditions(text).zeros(DOMAIN) == []


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("'2020-06-01'", False),
        ("TIMESTAMP '2020-06-01 00:00:00+02:00'", False),
        ("'2020-06-01 00:00:00+00:00'", True),
        ("TIMESTAMPTZ '2020-06-01 00:00:00+00:00'", True),
    ],
)
def test_a_moment_in_a_zone_is_compared_with_others_in_one(said, known):
    ends = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1, tzinfo=dt.UTC)
    card = Card("c", (Column("at", Kind.TIMESTAMP, bounds=ends),), impossible=(f"at < {said}",))
    domain = Domain.of(card)
    assert bool(Impossible.of(card, domain).zeros(domain)) is known


def test_beside_real_numbers_a_constant_is_real():
    card = Card("c", (Column("x", Kind.REAL, bounds=(0.1, 1.0), required=True),), impossible=("x <> 0.1",))
    domain = Domain.of(card)
    (one,) = Impossible.of(card, domain).zeros(domain)
    assert one.possible[0]


def test_a_condition_that_cannot_be_asked_is_said_beforehand():
    with pytest.raises(BadInput, match="cannot be evaluated"):
        conditions("day > sex")


CHILDREN = Card(
    "t",
    (
        Column("age", Kind.INTEGER, bounds=(0, 99), required=True),
        Column("status", Kind.TEXT, categories=("single", "married"), required=True),
        Column("income", Kind.REAL, bounds=(0.0, 1000.0), required=True),
    ),
    impossible=("age < 16 AND status <> 'single'", "age < 16 AND income > 0"),
)


def test_behind_zero_every_income_is_above_zero():
    domain = Domain.of(CHILDREN)
    _, one = Impossible.of(CHILDREN, domain).zeros(domain)
    assert one.possible.sum(axis=1).tolist() == [1] * 16 + [domain.sizes[2]] * 84
    drawn = domain.decoded(np.ones((1_000, 3), np.int64), _Zero()).column("income").to_numpy()
    assert drawn.min() > 0


class _Zero:
    """Draws that are all as small as they get."""

    def random(self, size):
        return np.zeros(size)

    def integers(self, low, high, endpoint):
        return low


def test_codes_of_which_something_else_is_impossible_are_not_merged():
    domain = Domain.of(CHILDREN)
    apart = Impossible.of(CHILDREN, domain).apart(domain)
    rare = merge_rare(domain.attributes[0], np.full(100, 1.0), 50.0, apart=apart[0])
    assert rare.groups == (0,) * 16 + (1,) * 84
    assert merge_rare(domain.attributes[2], np.full(domain.sizes[2], 1.0), 50.0, apart=apart[2]).groups[:3] == (0, 1, 1)
    both = replace(CHILDREN, impossible=("age > income",))
    assert not Impossible.of(both, domain).apart(domain)[0].any(), "each age would be one of its own"


def test_rare_values_are_merged_with_their_like():
    column = Column("c", Kind.TEXT, categories=tuple("abcdefg"), required=True)
    narrow = merge_rare(
        Listed(column, column.categories),
        np.array([1.0, 90, 1, 1, 1, 90, 1]),
        10.0,
        apart=np.array([0, 0, 0, 1, 1, 1, 2]),
    )
    assert narrow.groups == (3, 0, 3, 4, 4, 1, 2)


def test_shares_are_kept_where_values_within_a_code_are_drawn_again():
    card = replace(CHILDREN, impossible=("age < 16 AND income > 1.5 AND income < 900",))
    domain = Domain.of(card, bins={"age": 5, "income": 2})
    impossible = Impossible.of(card, domain)
    (place,) = [place for place, last in enumerate(domain.attributes[0].lasts) if last == 19]
    counts = np.zeros(domain.sizes[0])
    counts[place], counts[-2] = 300, 700
    model = fit(
        domain.sizes,
        [Measurement((0,), counts, 1e-3), Measurement((2,), np.array([0.0, 1000, 0, 0]), 1e-3)],
        total=1000.0,
    )
    ((codes, rows),) = Source(model, domain, domain, impossible).drawn(1_000, generator(2))
    assert len(impossible.met(rows)) == 0
    assert abs(int((codes[:, 0] == place).sum()) - 300) <= 2
    assert (rows.column("age").to_numpy() >= 16).sum() >= 900

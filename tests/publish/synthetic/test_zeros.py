"""Cells that no row can be in: all their values meet a condition, by trying values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.synthetic.small import EVERY_KIND

from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.publish.synthetic.domain import Domain, merged
from discreet.publish.synthetic.zeros import Impossible

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
    narrow = merged(DOMAIN.attributes[place], counts, 2.0)
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


def test_a_condition_that_cannot_be_asked_is_said_beforehand():
    with pytest.raises(BadInput, match="cannot be asked"):
        conditions("day > sex")

"""Rows that the card calls impossible are made again, and what is kept stays with its row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest
from tests.synthesize.non_private.tables import column, table

from discreet.noise.masking import generator
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copies import Copies
from discreet.verbs.synthesize.non_private.copula import Copula
from discreet.verbs.synthesize.non_private.method import possible_rows
from discreet.verbs.synthesize.non_private.redrawn import Redrawn


def people(*impossible, rows=300):
    rng = generator(4)
    age = rng.integers(0, 80, rows)
    status = np.where(age < 16, "single", rng.choice(["single", "married"], rows))
    income = np.where(age < 16, 0, rng.integers(1, 100, rows))
    made = table(age=age, status=status, income=income)
    return replace(made, card=replace(made.card, impossible=impossible))


CONDITIONS = ("age < 16 AND status <> 'single'", "age < 16 AND income > 0")


@pytest.mark.parametrize("method", [Redrawn(Ipso()), Copula(), Copies(Cart(smooth=True), 2)], ids=lambda one: one.name)
def test_none_is_left(method):
    wrong = people(*CONDITIONS)
    loose = method.synthesize(wrong, 1).rows
    assert pc.sum(pc.and_(pc.less(loose["age"], 16), pc.not_equal(loose["status"], "single"))).as_py()
    made = possible_rows(wrong, method, 1)
    young = column(made.rows, "age") < 16
    assert not (young & (column(made.rows, "status") != "single")).any()
    assert not (young & (column(made.rows, "income") > 0)).any()
    assert young.any()
    assert made.rows.num_rows > 0.9 * loose.num_rows
    assert "impossible were redrawn" in " ".join(made.steps)


def test_kept_columns_stay_with_their_rows():
    there = people(*CONDITIONS[:1])
    made = possible_rows(there, Redrawn(Ipso()), 1).rows
    assert made.num_rows == 300
    assert column(made, "status").tolist() == column(there.fetch(), "status").tolist()


def test_a_condition_about_what_does_not_leave_is_said_not_to_be_kept_to():
    there = people()
    there = replace(there, card=replace(there.card, impossible=("age < 0 AND gone = 1",)))
    made = possible_rows(there, Copula(), 1)
    assert "is not enforced: age < 0 AND gone = 1" in " ".join(made.not_promised)
    assert made.rows.num_rows == 300

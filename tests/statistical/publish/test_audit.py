"""What an auditor sees who only watches twins: never more than the claimed loss, unless noise is too small.

As in tests/statistical/noise/test_audit.py: Clopper and Pearson's intervals around how often an event happens on two
neighbours give a lower bound on the loss that is wrong once in a thousand million times. The neighbours are the worst
for a twin: nobody has a value, or one person with as many rows as one may have has it. The event, fixed beforehand, is
that no fewer rows of them are seen in the twin. Choosing, measuring, fitting and drawing are the method's own.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import betaincinv
from tests.noise.bits import Repeatable

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.engines.read import read
from discreet.noise.masking import generator
from discreet.publish.synthetic.counting import Counts
from discreet.publish.synthetic.domain import Domain
from discreet.publish.synthetic.graph.fitting import fit
from discreet.publish.synthetic.select import FIRST
from discreet.publish.synthetic.spending import Meter
from discreet.publish.synthetic.synthesize import WAYS

FALSE_ALARM = 1e-9
MOST = 8


def counts(columns: int, there: int) -> Counts:
    """Sixty people with zeros, and ``there`` rows of ones."""
    rows = [0] * 60 + [1] * there
    card = Card("t", tuple(Column(f"c{at}", Kind.INTEGER, categories=(0, 1), required=True) for at in range(columns)))
    return Counts(read(pa.table({f"c{at}": rows for at in range(columns)}), card), Domain.of(card))


def seen(by: str, of: Counts, claim: Pure, most: int, seed: int) -> bool:
    """Whether a twin has all of the rows in question, or more."""
    meter = Meter(of, claim, most, Repeatable(seed))
    share = FIRST / len(meter.sizes)
    known = [meter.measure((at,), share) for at in range(len(meter.sizes))]
    model = fit(meter.sizes, [*known, *WAYS[by](meter, known)])
    assert meter.left == Fraction(0)
    rows = model.sample(round(model.total), generator(seed))
    return bool(np.count_nonzero(rows[:, 0] == 1) >= MOST)


def loss_at_least(by: str, columns: int, claim: Pure, runs: int, most: int = MOST) -> float:
    """A lower bound on the loss by how often the event happens, with and without the person."""
    few, many = sorted(
        sum(seen(by, of, claim, most, there * runs + seed) for seed in range(runs))
        for there, of in ((0, counts(columns, 0)), (1, counts(columns, MOST)))
    )
    least = betaincinv(many, runs - many + 1, FALSE_ALARM / 2)
    largest = betaincinv(few + 1, runs - few, 1 - FALSE_ALARM / 2)
    return math.log(least / largest)


@pytest.mark.parametrize(
    ("by", "columns", "claim", "runs"),
    [
        ("independent", 1, 2, 400),
        pytest.param("mst", 2, 4, 300, marks=pytest.mark.slow),
        pytest.param("aim", 2, 8, 300, marks=pytest.mark.slow),
    ],
)
def test_the_loss_seen_is_within_the_claim(by: str, columns: int, claim: int, runs: int) -> None:
    assert 0 < loss_at_least(by, columns, Pure(claim), runs) <= claim


def test_noise_that_is_too_small_is_caught() -> None:
    """A meter that believes in half the rows adds half the noise.

    The event then happens in 2 % of the runs without and 59 % with the person; at these rates the bound is above the
    claim in all but one of ten thousand audits.
    """
    assert loss_at_least("independent", 1, Pure(2), 2_000, MOST // 2) > 2

"""What an auditor sees who only watches twins: never more than the claimed loss, unless noise is too small.

As in tests/statistical/noise/test_audit.py: Clopper and Pearson's intervals around how often an event happens on two
neighbours give a lower bound on the loss that is wrong once in a thousand million times. The neighbours are the worst
for a twin: nobody has a value, or one person with as many rows as one may have has it. The events, fixed beforehand,
are that no fewer rows of them are seen in the twin; and that, besides, the twin says that it is near to its table. What
is watched is the method's own run, from the table to the rows and what stands beside them.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import betaincinv
from tests.noise.bits import Repeatable

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.verbs.synthesize.distances import distances
from discreet.verbs.synthesize.private import Synthesize

FALSE_ALARM = 1e-9
MOST = 8


def table(columns: int, there: int, most: int) -> Table:
    """Sixty people with zeros, and one with ``there`` rows of ones, of whom ``most`` are declared."""
    values = [0] * 60 + [1] * there
    card = Card(
        "t",
        (
            Column("who", Kind.INTEGER, Role.IDENTIFIER),
            *(Column(f"c{at}", Kind.INTEGER, categories=(0, 1), required=True) for at in range(columns)),
        ),
        unit="who",
        rows_per_unit=most,
    )
    who = np.minimum(np.arange(len(values)), 60)
    return read(pa.table({"who": who, **{f"c{at}": values for at in range(columns)}}), card)


def loss_at_least(
    by: str, columns: int, claim: int | str, runs: int, most: int = MOST, near: float = math.inf
) -> float:
    """A lower bound on the loss by how often a twin has all of the rows in question, and says that it is that near."""
    method, found = Synthesize(epsilon=claim, by=by), []
    for there in (0, MOST):
        of = table(columns, there, most)
        twins = [method.run(of, Repeatable(there * runs + seed)) for seed in range(runs)]
        assert all(isinstance(rows, pa.Table) for rows in twins)
        found.append(
            sum(
                rows.column("c0").to_pylist().count(1) >= MOST and distances(rows).reach["c0",] <= near
                for rows in twins
            )
        )
    few, many = sorted(found)
    least = betaincinv(many, runs - many + 1, FALSE_ALARM / 2)
    largest = betaincinv(few + 1, runs - few, 1 - FALSE_ALARM / 2)
    return math.log(least / largest)


@pytest.mark.parametrize(
    ("by", "columns", "claim", "runs", "near"),
    [
        ("independent", 1, 2, 200, math.inf),
        pytest.param("independent", 1, 2, 300, 700.0, marks=pytest.mark.slow),
        pytest.param("mst", 2, 4, 300, math.inf, marks=pytest.mark.slow),
        pytest.param("aim", 2, 8, 300, math.inf, marks=pytest.mark.slow),
    ],
)
def test_the_loss_seen_is_within_the_claim(by: str, columns: int, claim: int, runs: int, near: float) -> None:
    assert 0 < loss_at_least(by, columns, claim, runs, near=near) <= claim


@pytest.mark.slow
def test_noise_that_is_too_small_is_caught() -> None:
    """Where somebody has eight rows and the card says one, as in a table that was not bounded, there is an eighth of
    the noise. The event then happens in some 2 % of the runs without and 60 % with the person."""
    assert loss_at_least("independent", 1, "1/2", 200, 1) > 1 / 2

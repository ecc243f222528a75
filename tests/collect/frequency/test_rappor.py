"""RAPPOR's two steps: one report, and however many."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.collect.audit import Audited
from discreet.collect.frequency.bits import rows_of
from discreet.collect.frequency.rappor import RAPPOR
from discreet.collect.law import Worst
from discreet.core.loss import Pure
from discreet.errors import BadInput


def test_infinitely_many_reports_lose_what_the_kept_row_does() -> None:
    client = RAPPOR(5, 1, forever=3)
    assert client.loss_forever == Pure(3)
    found = Audited(client.forever, *Worst(client.law_forever).found)
    assert found.holds
    assert found.epsilon == pytest.approx(3)
    assert RAPPOR(5, 1).forever == 2


def test_reports_of_a_kept_row_turn_bits_over_by_the_second_coin_alone() -> None:
    client, n = RAPPOR(70, 1, forever=4), 3000
    row = client.permanent.randomize(np.array([69]), entropy=Repeatable(1))
    kept = row.take(np.zeros(n, dtype=np.int64))
    turned = np.unpackbits(rows_of(client.again(kept, Repeatable(2))) ^ rows_of(kept), axis=1, bitorder="little")
    assert not turned[:, 70:].any()
    sums, p = turned[:, :70].sum(axis=0), float(1 - client.steady)
    assert stats.chi2.sf(((sums - n * p) ** 2 / (n * p * (1 - p))).sum(), 70) > 1e-6


def test_forever_is_more_than_once() -> None:
    with pytest.raises(BadInput, match="forever"):
        RAPPOR(5, 1, forever=1)
    with pytest.raises(BadInput, match="epsilon"):
        RAPPOR(5, 1, forever=21)

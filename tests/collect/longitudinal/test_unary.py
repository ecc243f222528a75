"""Rows of coins that are kept."""

from __future__ import annotations

import numpy as np
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.verbs.collect.longitudinal.rappor import RAPPOR
from discreet.verbs.collect.report_arrays import reports_to_rows


def test_reports_of_a_kept_row_turn_bits_over_by_the_second_coin_alone() -> None:
    oracle, n = RAPPOR(70, 1, permanent_epsilon=4), 3000
    row = oracle.permanent.randomize(np.array([69]), entropy=Repeatable(1))
    kept = row.take(np.zeros(n, dtype=np.int64))
    turned = np.unpackbits(
        reports_to_rows(oracle.instantaneous_report(kept, Repeatable(2))) ^ reports_to_rows(kept),
        axis=1,
        bitorder="little",
    )
    assert not turned[:, 70:].any()
    sums, p = turned[:, :70].sum(axis=0), float(1 - oracle.p_instantaneous)
    assert stats.chi2.sf(((sums - n * p) ** 2 / (n * p * (1 - p))).sum(), 70) > 1e-6

"""Forged reports: what they can do at most, and that crude ones are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.frequency.count_mean_sketch import CMS
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import OLH
from discreet.verbs.collect.frequency.projective_geometry import PGR
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.longitudinal.loloha import LOLOHA
from discreet.verbs.collect.longitudinal.rappor import LOSUE
from discreet.verbs.collect.poisoning import detect_poisoning, invariant_part, poisoning_tolerance

CLIENTS: list[FrequencyOracle] = [
    GRR(6, 1), SUE(6, 1), OUE(6, 1), OLH(6, 1), SubsetSelection(6, 1), Hadamard(6, 1), PGR(6, 1), LOSUE(6, 1),
    LOLOHA(6, 1),
]  # fmt: skip
N = 4000


def made_up(oracle: FrequencyOracle, value: int, supporting: bool, entropy: Repeatable) -> pa.Array[Any]:
    """One report that supports a value, or does not: of many that devices drew."""
    drawn = oracle.randomize(np.arange(600) % 6, entropy=entropy)
    return next(
        drawn[index : index + 1]
        for index in range(len(drawn))
        if oracle.supports(drawn[index : index + 1])[value] == supporting
    )


def repeated(report: pa.Array[Any], times: int) -> pa.Array[Any]:
    """The same report many times."""
    return report.take(pa.array(np.zeros(times, dtype=np.int64)))


@pytest.mark.parametrize("oracle", CLIENTS, ids=lambda oracle: oracle.name)
def test_the_most_that_made_up_reports_can_do_is_exact(oracle: FrequencyOracle) -> None:
    entropy = Repeatable(1)
    honest = oracle.randomize(np.arange(N) % 6, entropy=entropy)
    before = oracle.estimate(honest)
    bears = poisoning_tolerance(before)
    p, q = float(oracle.p_own), float(oracle.q_other)
    moved = []
    for supporting in (True, False):
        bad = made_up(oracle, 2, supporting, entropy)
        postprocess = oracle.estimate(pa.concat_arrays([honest, repeated(bad, 100)]))
        moved.append(postprocess.counts[2] - before.counts[2])
    assert moved == pytest.approx([100 * (1 - q) / (p - q), -100 * q / (p - q)])
    limit = int(bears.reports[2])
    worst = max(map(abs, moved)) / 100
    assert limit * worst <= before.error_bars[2] < (limit + 1) * worst
    assert bears.worst <= (bears.reports / bears.n)[2] < 0.2
    assert f"{int(bears.reports.min()):,}" in str(bears)


@pytest.mark.parametrize(
    "oracle", [*CLIENTS, CMS(6, 1, functions=8, buckets=4, seed=1), DBitFlip(6, 1, 2)], ids=lambda oracle: oracle.name
)
def test_honest_reports_raise_no_alarm_whatever_the_answers_are(oracle: FrequencyOracle) -> None:
    for codes in (np.zeros(N, dtype=np.int64), np.arange(N) % 6, np.full(N, 5)):
        reports = oracle.randomize(codes, entropy=Repeatable(2))
        assert (
            detect_poisoning(oracle, reports)
            == detect_poisoning(oracle, pa.chunked_array([reports[:9], reports[9:]]))
            == ()
        )


@pytest.mark.parametrize("oracle", [OUE(6, 1), OLH(6, 1), Hadamard(6, 1), GRR(6, 1)], ids=lambda oracle: oracle.name)
def test_false_alarms_are_as_rare_as_is_said(oracle: FrequencyOracle) -> None:
    """At a stated rate of 20 %, 60 times: more than are likely at that rate would be seen with a chance of 1e-6."""
    entropy, runs = Repeatable(3), 60
    raised = sum(
        bool(
            detect_poisoning(oracle, oracle.randomize(np.zeros(300, dtype=np.int64), entropy=entropy), false_alarm=0.2)
        )
        for _ in range(runs)
    )
    assert raised <= binom.isf(1e-6, runs, 0.2)


@pytest.mark.parametrize(
    ("oracle", "part"),
    [(OUE(60, 1), "bits"), (SUE(60, 1), "bits"), (LOSUE(60, 1), "bits"), (Hadamard(60, 1), "position"),
     (OLH(60, 1), "function"), (CMS(60, 1, functions=64, buckets=8, seed=1), "function"), (DBitFlip(60, 1), "spoken")],
    ids=lambda case: getattr(case, "name", case),
)  # fmt: skip
def test_one_report_many_times_is_noticed(oracle: FrequencyOracle, part: str) -> None:
    """5 % of all reports are the same one, that a device could have made."""
    entropy = Repeatable(4)
    honest = oracle.randomize(np.arange(N) % 60, entropy=entropy)
    same = honest[:1]
    if part == "bits":  # all bits at once: the crudest gain for all values
        same = pa.array([bytes([255] * 7 + [15])], oracle.report_type)
    result = detect_poisoning(oracle, pa.concat_arrays([honest, repeated(same, N // 20)]))
    assert [alarm.test for alarm in result][:1] == ["invariant"]
    assert part in str(result[0])
    assert result[0].p_value < 1e-6


@pytest.mark.parametrize("oracle", [GRR(6, 1), SubsetSelection(6, 1), PGR(6, 1)], ids=lambda oracle: oracle.name)
def test_supports_that_no_answers_explain_are_noticed(oracle: FrequencyOracle) -> None:
    assert invariant_part(oracle) is None
    entropy = Repeatable(5)
    honest = oracle.randomize(np.zeros(N, dtype=np.int64), entropy=entropy)
    more = detect_poisoning(oracle, pa.concat_arrays([honest, repeated(made_up(oracle, 0, True, entropy), N // 2)]))
    assert "more" in more[0].message
    assert more[0].test == "supports"


def test_supports_of_all_values_together_are_noticed() -> None:
    """Rows that have every bit: each value alone could be everybody's, all of them together cannot."""
    oracle = OUE(6, 1)
    honest = oracle.randomize(np.arange(N) % 6, entropy=Repeatable(6))
    full = pa.array([bytes([63])] * (N // 5), oracle.report_type)
    empty = pa.array([bytes([0])] * (N // 5), oracle.report_type)
    assert "more people than there are" in " ".join(
        map(str, detect_poisoning(oracle, pa.concat_arrays([honest, full])))
    )
    assert "fewer" in " ".join(map(str, detect_poisoning(oracle, pa.concat_arrays([honest, empty]))))


def test_what_makes_no_sense_is_refused() -> None:
    oracle = GRR(6, 1)
    with pytest.raises(BadInput, match="false-alarm rate"):
        detect_poisoning(oracle, oracle.randomize([1]), false_alarm=0)
    flip = DBitFlip(6, 1, 2)
    with pytest.raises(BadInput, match="depends on the number of reports"):
        poisoning_tolerance(flip.estimate(flip.randomize(np.arange(100) % 6)))
    with pytest.raises(BadInput, match="no reports"):
        detect_poisoning(oracle, oracle.randomize(np.zeros(0, dtype=np.int64)))

"""Made-up reports: what they can do at most, and that crude ones are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.noise.bits import Repeatable

from discreet.errors import BadInput
from discreet.verbs.collect.frequency.count_mean_sketch import CMS
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import OLH
from discreet.verbs.collect.frequency.projective_geometry import PGR
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.longitudinal.loloha import LOLOHA
from discreet.verbs.collect.longitudinal.rappor import LOSUE
from discreet.verbs.collect.poisoning import alarms, bearable, marginal

CLIENTS: list[Client] = [
    GRR(6, 1), SUE(6, 1), OUE(6, 1), OLH(6, 1), SubsetSelection(6, 1), Hadamard(6, 1), PGR(6, 1), LOSUE(6, 1),
    LOLOHA(6, 1),
]  # fmt: skip
N = 4000


def made_up(client: Client, value: int, supporting: bool, entropy: Repeatable) -> pa.Array[Any]:
    """One report that supports a value, or does not: of many that devices drew."""
    drawn = client.randomize(np.arange(600) % 6, entropy=entropy)
    return next(
        drawn[place : place + 1]
        for place in range(len(drawn))
        if client.supports(drawn[place : place + 1])[value] == supporting
    )


def repeated(report: pa.Array[Any], times: int) -> pa.Array[Any]:
    """The same report many times."""
    return report.take(pa.array(np.zeros(times, dtype=np.int64)))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_the_most_that_made_up_reports_can_do_is_exact(client: Client) -> None:
    entropy = Repeatable(1)
    honest = client.randomize(np.arange(N) % 6, entropy=entropy)
    before = client.estimate(honest)
    bears = bearable(before)
    p, q = float(client.own), float(client.other)
    moved = []
    for supporting in (True, False):
        bad = made_up(client, 2, supporting, entropy)
        after = client.estimate(pa.concat_arrays([honest, repeated(bad, 100)]))
        moved.append(after.counts[2] - before.counts[2])
    assert moved == pytest.approx([100 * (1 - q) / (p - q), -100 * q / (p - q)])
    limit = int(bears.reports[2])
    worst = max(map(abs, moved)) / 100
    assert limit * worst <= before.bars[2] < (limit + 1) * worst
    assert bears.worst <= bears.fractions[2] < 0.2
    assert f"{int(bears.reports.min()):,}" in str(bears)


@pytest.mark.parametrize(
    "client", [*CLIENTS, CMS(6, 1, functions=8, buckets=4, seed=1), DBitFlip(6, 1, 2)], ids=lambda client: client.name
)
def test_honest_reports_raise_no_alarm_whatever_the_answers_are(client: Client) -> None:
    for codes in (np.zeros(N, dtype=np.int64), np.arange(N) % 6, np.full(N, 5)):
        reports = client.randomize(codes, entropy=Repeatable(2))
        assert alarms(client, reports) == alarms(client, pa.chunked_array([reports[:9], reports[9:]])) == ()


@pytest.mark.parametrize("client", [OUE(6, 1), OLH(6, 1), Hadamard(6, 1), GRR(6, 1)], ids=lambda client: client.name)
def test_false_alarms_are_as_rare_as_is_said(client: Client) -> None:
    """At a stated rate of 20 %, 60 times: more than are likely at that rate would be seen with a chance of 1e-6."""
    entropy, runs = Repeatable(3), 60
    raised = sum(
        bool(alarms(client, client.randomize(np.zeros(300, dtype=np.int64), entropy=entropy), false_alarm=0.2))
        for _ in range(runs)
    )
    assert raised <= binom.isf(1e-6, runs, 0.2)


@pytest.mark.parametrize(
    ("client", "part"),
    [(OUE(60, 1), "bits"), (SUE(60, 1), "bits"), (LOSUE(60, 1), "bits"), (Hadamard(60, 1), "place"),
     (OLH(60, 1), "function"), (CMS(60, 1, functions=64, buckets=8, seed=1), "function"), (DBitFlip(60, 1), "spoken")],
    ids=lambda case: getattr(case, "name", case),
)  # fmt: skip
def test_one_report_many_times_is_noticed(client: Client, part: str) -> None:
    """5 % of all reports are the same one, that a device could have made."""
    entropy = Repeatable(4)
    honest = client.randomize(np.arange(N) % 60, entropy=entropy)
    same = honest[:1]
    if part == "bits":  # all bits at once: the crudest gain for all values
        same = pa.array([bytes([255] * 7 + [15])], client.report_type)
    found = alarms(client, pa.concat_arrays([honest, repeated(same, N // 20)]))
    assert [alarm.test for alarm in found][:1] == ["marginal"]
    assert part in str(found[0])
    assert found[0].chance < 1e-6


@pytest.mark.parametrize("client", [GRR(6, 1), SubsetSelection(6, 1), PGR(6, 1)], ids=lambda client: client.name)
def test_supports_that_no_answers_explain_are_noticed(client: Client) -> None:
    assert marginal(client) is None
    entropy = Repeatable(5)
    honest = client.randomize(np.zeros(N, dtype=np.int64), entropy=entropy)
    more = alarms(client, pa.concat_arrays([honest, repeated(made_up(client, 0, True, entropy), N // 2)]))
    assert "more" in more[0].what
    assert more[0].test == "supports"


def test_supports_of_all_values_together_are_noticed() -> None:
    """Rows that have every bit: each value alone could be everybody's, all of them together cannot."""
    client = OUE(6, 1)
    honest = client.randomize(np.arange(N) % 6, entropy=Repeatable(6))
    full = pa.array([bytes([63])] * (N // 5), client.report_type)
    empty = pa.array([bytes([0])] * (N // 5), client.report_type)
    assert "more people than there are" in " ".join(map(str, alarms(client, pa.concat_arrays([honest, full]))))
    assert "fewer" in " ".join(map(str, alarms(client, pa.concat_arrays([honest, empty]))))


def test_what_makes_no_sense_is_refused() -> None:
    client = GRR(6, 1)
    with pytest.raises(BadInput, match="false alarms"):
        alarms(client, client.randomize([1]), false_alarm=0)
    flip = DBitFlip(6, 1, 2)
    with pytest.raises(BadInput, match="hangs on how many others"):
        bearable(flip.estimate(flip.randomize(np.arange(100) % 6)))
    with pytest.raises(BadInput, match="no reports"):
        alarms(client, client.randomize(np.zeros(0, dtype=np.int64)))

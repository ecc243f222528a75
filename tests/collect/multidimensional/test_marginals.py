"""Tables of several questions: exact, consistent, and covered by their bars."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.collect.reports import every
from tests.noise.bits import Repeatable

from discreet.core.loss import Pure
from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.frequency_oracle import ReportTally
from discreet.verbs.collect.multidimensional.marginals import MarginalEstimate, Marginals
from discreet.verbs.collect.protocol import audit

QUESTIONS = {"a": 3, "b": 2, "c": 4}


def people(n: int) -> dict[str, np.ndarray]:
    a = np.arange(n) % 3
    return {"a": a, "b": (a == 0).astype(int), "c": (np.arange(n) // 3 + a) % 4}


def true_tables(protocol: Marginals, answers: dict[str, np.ndarray]) -> list[np.ndarray]:
    columns, n = list(answers.values()), len(answers["a"])
    return [
        np.histogramdd(
            np.stack([columns[side] for side in sides], axis=1),
            bins=[np.arange(protocol.questions.sizes[side] + 1) - 0.5 for side in sides],
        )[0]
        / n
        for sides in protocol.sides
    ]


def expected(protocol: Marginals, tables: list[np.ndarray]) -> MarginalEstimate:
    """What is estimated of what is expected."""
    counts = [
        np.rint(1e15 * table.ravel() @ np.array(every(oracle).probabilities, dtype=float)).astype(np.int64)
        for table, oracle in zip(tables, protocol.sampling.oracles, strict=True)
    ]
    return protocol.estimate_counts(np.concatenate(counts))


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_promise_is_true(ways: int) -> None:
    protocol = Marginals(QUESTIONS, 1, ways)
    result = audit(protocol)
    assert result.holds
    assert result.epsilon == pytest.approx(1, rel=1e-9)
    assert protocol.loss == Pure(1)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_tables_are_unbiased_before_and_after_they_agree(ways: int) -> None:
    protocol = Marginals(QUESTIONS, 1, ways)
    tables = true_tables(protocol, people(120))
    result = expected(protocol, tables)
    for estimate in (result, result.consistent()):
        for table, true in zip(estimate.tables, tables, strict=True):
            np.testing.assert_allclose(table.shares, true, rtol=0, atol=1e-9)


def test_tables_agree_about_what_they_share() -> None:
    protocol = Marginals(QUESTIONS, 1)
    raw = protocol.estimate(protocol.randomize(people(5000), entropy=Repeatable(1)))
    result = raw.consistent()
    assert result.steps == ("consistent",)
    ab, ac, bc = (result.of(*names).shares for names in (("a", "b"), ("c", "a"), ("b", "c")))
    np.testing.assert_allclose(ab.sum(axis=1), ac.sum(axis=1))
    np.testing.assert_allclose(ab.sum(axis=0), bc.sum(axis=1))
    np.testing.assert_allclose([table.shares.sum() for table in result.tables], 1)
    assert abs(raw.of("a", "b").shares.sum(axis=1) - raw.of("a", "c").shares.sum(axis=1)).max() > 1e-3
    again = result.consistent()
    np.testing.assert_allclose(again.of("a", "b").shares, ab)
    true = true_tables(protocol, people(5000))
    error = [
        sum(((table.shares - one) ** 2).sum() for table, one in zip(estimate.tables, true, strict=True))
        for estimate in (result, raw)
    ]
    assert error[0] < error[1]


def test_bars_cover_at_the_stated_rate() -> None:
    surveys, answers, entropy = 100, people(1500), Repeatable(2)
    protocol = Marginals(QUESTIONS, 1)
    true, covered, agreed = true_tables(protocol, answers)[0], 0, 0
    for _ in range(surveys):
        result = protocol.estimate(protocol.randomize(answers, entropy=entropy), confidence=0.9)
        table, postprocess = result.of("a", "b"), result.consistent().of("a", "b")
        covered += abs(table.shares - true)[0, 1] <= table.error_bars[0, 1]
        agreed += abs(postprocess.shares - true)[0, 1] <= postprocess.error_bars[0, 1]
    least, most = stats.binom.ppf([1e-6, 1 - 1e-6], surveys, 0.9)
    assert least <= covered <= most
    assert agreed >= least


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="of the questions"):
        Marginals(QUESTIONS, 1, 4)
    with pytest.raises(BadInput, match="cells"):
        Marginals({str(index): 3000 for index in range(3)}, 1)
    protocol = Marginals(QUESTIONS, 1)
    result = protocol.estimate(protocol.randomize(people(100)))
    for names in (("a",), ("a", "hair"), ("a", "a")):
        with pytest.raises(NotFound, match="no table"):
            result.of(*names)
    assert protocol.parameters["ways"] == 2
    rows = result.table("b", "a").to_pylist()
    assert [(row["a"], row["b"]) for row in rows] == [(a, b) for a in range(3) for b in range(2)]
    assert rows[3]["share"] == result.of("a", "b").shares[1, 1]
    assert ReportTally(protocol).add(protocol.randomize(people(9))).counts.sum() == 9
    assert protocol.randomize(people(3)).type == protocol.report_type

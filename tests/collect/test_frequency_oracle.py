"""What a collector keeps, and what it does not take.

Figures with their error bars: bars where theory is known, and how they look.

Steps after an estimate: what each promises, and that it helps where it should.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from tests.noise.bits import Repeatable

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.unary_encoding import OUE
from discreet.verbs.collect.frequency_oracle import STEPS, FrequencyEstimate, ReportTally

N = 1000


def test_it_adds_as_reports_come() -> None:
    tally = GRR("abc", 1).tally()
    for reports in ([0, 1], [2, 2], []):
        tally.add(pa.array(reports, pa.uint8()))
    assert (tally.reports, tally.counts.tolist(), tally.supports.tolist()) == (4, [1, 1, 2], [1, 1, 2])
    assert tally.to_dict() == {"reports": 4, "counts": [1, 1, 2]}


def test_what_is_kept_is_not_what_is_supported() -> None:
    tally = Hadamard(3, 1).tally().add(pa.array([1, 1, 3, 4], pa.uint16()))
    assert tally.counts.tolist() == [0, 2, 0, 1, 1, 0, 0, 0]
    assert tally.supports.tolist() == [3, 2, 4]


def test_merging_leaves_the_other_as_it_is() -> None:
    one, other = (GRR("abc", 1).tally().add(pa.array([index], pa.uint8())) for index in (0, 1))
    one.merge(other)
    assert (one.reports, one.counts.tolist()) == (2, [1, 1, 0])
    assert (other.reports, other.counts.tolist()) == (1, [0, 1, 0])


@pytest.mark.parametrize("other", [GRR("abc", 2), GRR("abd", 1), Hadamard("abc", 1)])
def test_two_protocols_are_not_counted_together(other: Any) -> None:
    with pytest.raises(BadInput, match="cannot be counted together"):
        GRR("abc", 1).tally().merge(other.tally())


@pytest.mark.parametrize(
    "data",
    [
        {"reports": 2, "counts": [1, 1]},
        {"reports": 2, "counts": [1, 1, -1]},
        {"reports": 2, "counts": [1, 1, 3]},
        {"reports": 2, "counts": [1, 1, 0.0]},
        {"reports": 2, "counts": [1, 1, True]},
        {"reports": 2**70, "counts": [1, 1, 2**69]},
    ],
)
def test_what_is_no_tally_is_refused(data: object) -> None:
    with pytest.raises(DataError, match="not a tally"):
        ReportTally.from_dict(GRR("abc", 1), data)


def test_a_tally_has_its_fields() -> None:
    with pytest.raises(BadInput, match="counts"):
        ReportTally.from_dict(GRR("abc", 1), {"reports": 2})
    assert np.array_equal(ReportTally(GRR("abc", 1)).counts, [0, 0, 0])


def estimated(supports: list[int], n: int, confidence: float = 0.95) -> FrequencyEstimate:
    oracle = GRR(len(supports), 1)
    return ReportTally(oracle, n, np.array(supports)).estimate(confidence=confidence)


def test_a_bar_reaches_to_the_farthest_figure_that_is_not_refuted() -> None:
    result = estimated([700, 300], 1000)
    [p, _], [q, _] = result.oracle.probabilities
    z = stats.norm.ppf(0.975)
    reached = result.error_bars[0] - (z**2 - 1) / 6 * abs(1 - 2 * p) / (p - q)  # without what skewness adds
    for side in (-1, 1):
        edge = (result.counts[0] + side * reached) / 1000
        variance = 1000 * (edge * p * (1 - p) + (1 - edge) * q * (1 - q)) / (p - q) ** 2
        assert reached == pytest.approx(z * np.sqrt(variance), rel=1e-9)  # with two values both sides are alike


def test_bars_tell_apart_values_with_unequal_variances() -> None:
    result = estimated([50, 900, 50] + 17 * [0], 1000)
    z = stats.norm.ppf(0.975)
    assert (result.error_bars > z * result.deviations).all()
    assert (result.error_bars < 1.2 * z * result.deviations).all()
    assert (result.error_bars_together > result.error_bars).all()


def test_bars_cover_rare_values_when_few_people_are_asked() -> None:
    """Bars of z deviations at the estimate would not: few supporters seem to have a small variance."""
    oracle, n, confidence = GRR(200, 4), 3000, 0.95
    generator, people = np.random.default_rng(1), 30
    p, q = float(oracle.p_own), float(oracle.q_other)
    supports = generator.binomial(people, p, 20_000) + generator.binomial(n - people, q, 20_000)
    tallies = np.array([[count, *[0] * 199] for count in np.unique(supports)])
    result = {int(row[0]): FrequencyEstimate.of(ReportTally(oracle, n, row), confidence) for row in tallies}
    holds = {report_codes: abs(one.counts[0] - people) <= one.error_bars[0] for report_codes, one in result.items()}
    covered = sum(holds[int(count)] for count in supports)
    assert covered >= stats.binom.ppf(1e-6, 20_000, confidence)


def test_figures_and_what_they_are_made_of() -> None:
    result = estimated([600, 400], 1000)
    assert result.supports.tolist() == [600, 400]
    assert result.shares.sum() == pytest.approx(1)
    assert result.table().column_names == ["value", "count", "share", "count_error", "count_error_together"]
    assert result.steps == ()


def test_confidence_is_a_chance() -> None:
    for wrong in (0, 1, 95):
        with pytest.raises(BadInput, match="Confidence"):
            estimated([1, 1], 2, wrong)
    with pytest.raises(BadInput, match="no post-processing step 'wish'"):
        estimated([1, 1], 2).postprocess("wish")


def test_it_reads_as_a_table() -> None:
    oracle = OUE(["tea", "<coffee>"], 1)
    result = ReportTally(oracle, 1000, np.array([450, 300])).estimate()
    title, tea, coffee = str(result).split("\n")
    assert title == "1,000 reports, oue, ε = 1 (each ± holds with 0.95)"
    assert tea.split() == ["tea", "784", "±", "134", "78.36%"]
    assert coffee.startswith("<coffee>")
    html = result._repr_html_()
    assert "&lt;coffee&gt;" in html
    assert "<coffee>" not in html
    assert "784" in html


def test_a_chart_has_error_bars_and_the_largest_figures() -> None:
    result = estimated([60 + index for index in range(30)], 2235)
    picture = result.picture(shown=5)
    assert picture.svg.count('class="bar"') == picture.svg.count("<path") == 5
    assert "25 smaller ones are not shown" in picture.caption
    assert " ± " in picture.svg
    assert "smaller" in str(result)
    assert len(str(result).split("\n")) == 22


def test_a_column_of_reports_is_estimated_at_once() -> None:
    reports = pa.chunked_array([[0, 0, 1], [1, 0]], pa.uint8())
    assert GRR(2, 1).estimate(reports).n == 5


def of(counts: list[float], deviations: list[float] | None = None) -> FrequencyEstimate:
    """An estimate with these figures."""
    oracle = GRR(len(counts), 1)
    p, q = oracle.probabilities
    figures = np.array(counts, dtype=float)
    supports = np.rint(N * q + figures * (p - q)).astype(np.int64)
    return FrequencyEstimate(oracle, N, supports, figures, np.array(deviations or [50.0] * len(counts)), 0.95)


FIGURES = st.lists(st.floats(-500, 2000), min_size=2, max_size=12)


@pytest.mark.parametrize("step", ["norm-sub", "cls", "ibu"])
@settings(max_examples=40)
@given(counts=FIGURES)
def test_figures_become_possible(step: str, counts: list[float]) -> None:
    postprocess = of(counts).postprocess(step)
    assert (postprocess.counts >= 0).all()
    assert postprocess.counts.sum() == pytest.approx(N)
    assert postprocess.steps == (step,)


@settings(max_examples=40)
@given(FIGURES)
def test_norm_sub_is_the_nearest_possible(counts: list[float]) -> None:
    """The nearest of all by the conditions of Karush, Kuhn and Tucker: kept figures move alike, the others less far."""
    before, postprocess = np.array(counts), of(counts).postprocess("norm-sub").counts
    kept = postprocess > 0
    moved = (postprocess - before)[kept]
    assert moved == pytest.approx(moved[0], abs=1e-6)
    assert ((before + moved[0])[~kept] <= 1e-6).all()
    assert of(counts).postprocess("cls").counts == pytest.approx(postprocess, abs=1e-6)


def test_cls_is_the_nearest_by_deviations() -> None:
    counts, deviations = [700.0, 400.0, -100.0, 30.0], [10.0, 50.0, 20.0, 40.0]
    result = minimize(
        lambda x: sum(((a - b) / s) ** 2 for a, b, s in zip(x, counts, deviations, strict=True)),
        x0=[N / 4] * 4,
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: sum(x) - N},
        tol=1e-12,
    )
    assert of(counts, deviations).postprocess("cls").counts == pytest.approx(result.x, abs=1e-2)


@settings(max_examples=40)
@given(FIGURES)
def test_norm_cut_only_ever_drops_the_smallest(counts: list[float]) -> None:
    postprocess = of(counts).postprocess("norm-cut").counts
    kept = postprocess > 0
    assert (postprocess[kept] == np.array(counts)[kept]).all()
    assert postprocess.sum() <= max(N + max(counts), 0)
    assert postprocess[kept].sum() >= min(N, np.maximum(counts, 0).sum()) - 1e-6
    if kept.any() and (~kept).any():
        assert np.array(counts)[~kept].max() <= postprocess[kept].min()


def test_base_cut_keeps_what_is_surely_there() -> None:
    before = of([700.0, 60.0, -100.0, 340.0])
    assert before.postprocess("base-cut").counts.tolist() == [700, 0, 0, 340]


@settings(max_examples=40)
@given(st.lists(st.integers(0, 400), min_size=3, max_size=6).filter(lambda seen: sum(seen) > 0))
def test_ibu_is_where_the_bayesian_update_stands_still(seen: list[int]) -> None:
    """Of GRR: the mean posterior of each value is its share again, and no other value would gain."""
    oracle, n, supports = GRR(len(seen), 2), sum(seen), np.array(seen)
    p, q = oracle.probabilities
    start = FrequencyEstimate(oracle, n, supports, (supports - n * q) / (p - q), np.full(len(seen), 1.0), 0.95)
    shares = start.postprocess("ibu").counts / n
    channel = np.where(np.eye(len(seen), dtype=bool), float(oracle.p_own), float(oracle.q_other))
    growth = channel @ (supports / n / (shares @ channel))
    assert growth[shares > 0] == pytest.approx(1, abs=1e-9)
    assert (growth[shares == 0] <= 1 + 1e-9).all()


def test_power_helps_where_figures_follow_a_power_law() -> None:
    d, n = 500, 100_000
    true = np.random.default_rng(1).multinomial(n, (w := 1 / np.arange(1, d + 1) ** 1.5) / w.sum())
    oracle = OUE(d, 1)
    before = oracle.estimate(oracle.randomize(np.repeat(np.arange(d), true), entropy=Repeatable(2)))

    def error(estimate: FrequencyEstimate) -> float:
        return float(((estimate.counts - true) ** 2).mean())

    assert error(before.postprocess("power")) < error(before) / 4
    assert error(before.postprocess("power").postprocess("norm-sub")) < error(before) / 4
    for step in STEPS:
        assert error(before.postprocess(step)) < error(before)


def test_steps_follow_each_other_and_are_written_down() -> None:
    estimate = of([700.0, 60.0, -100.0, 340.0]).postprocess("base-cut").postprocess("norm-sub")
    assert estimate.steps == ("base-cut", "norm-sub")
    assert estimate.counts.sum() == pytest.approx(N)
    with pytest.raises(BadInput, match="no post-processing step 'magic'"):
        estimate.postprocess("magic")
    assert replace(estimate, steps=()) != estimate

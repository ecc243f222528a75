"""Figures with their error bars: bars where theory is known, and how they look."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.unary_encoding import OUE
from discreet.verbs.collect.frequency_oracle import FrequencyEstimate, ReportTally


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
    with pytest.raises(BadInput, match="no step 'wish'"):
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
    assert "25 smaller are left out" in picture.caption
    assert " ± " in picture.svg
    assert "smaller" in str(result)
    assert len(str(result).split("\n")) == 22


def test_a_column_of_reports_is_estimated_at_once() -> None:
    reports = pa.chunked_array([[0, 0, 1], [1, 0]], pa.uint8())
    assert GRR(2, 1).estimate(reports).n == 5

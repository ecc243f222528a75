"""Figures with their error bars: bars where theory is known, and how they look."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.verbs.collect.estimate import Estimate
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.frequency.unary_encoding import OUE
from discreet.verbs.collect.frequency_oracle import Tally


def estimated(supports: list[int], n: int, confidence: float = 0.95) -> Estimate:
    client = GRR(len(supports), 1)
    return Tally(client, n, np.array(supports)).estimate(confidence=confidence)


def test_a_bar_reaches_to_the_farthest_figure_that_is_not_refuted() -> None:
    found = estimated([700, 300], 1000)
    [p, _], [q, _] = found.client.chances
    z = stats.norm.ppf(0.975)
    reached = found.bars[0] - (z**2 - 1) / 6 * abs(1 - 2 * p) / (p - q)  # without what skewness adds
    for side in (-1, 1):
        edge = (found.counts[0] + side * reached) / 1000
        variance = 1000 * (edge * p * (1 - p) + (1 - edge) * q * (1 - q)) / (p - q) ** 2
        assert reached == pytest.approx(z * np.sqrt(variance), rel=1e-9)  # with two values both sides are alike


def test_bars_tell_apart_values_with_unequal_variances() -> None:
    found = estimated([50, 900, 50] + 17 * [0], 1000)
    z = stats.norm.ppf(0.975)
    assert (found.bars > z * found.deviations).all()
    assert (found.bars < 1.2 * z * found.deviations).all()
    assert (found.together > found.bars).all()


def test_bars_cover_rare_values_when_few_people_are_asked() -> None:
    """Bars of z deviations at the estimate would not: few supporters seem to have a small variance."""
    client, n, confidence = GRR(200, 4), 3000, 0.95
    generator, people = np.random.default_rng(1), 30
    p, q = float(client.own), float(client.other)
    supports = generator.binomial(people, p, 20_000) + generator.binomial(n - people, q, 20_000)
    tallies = np.array([[count, *[0] * 199] for count in np.unique(supports)])
    found = {int(row[0]): Estimate.of(Tally(client, n, row), confidence) for row in tallies}
    holds = {told: abs(one.counts[0] - people) <= one.bars[0] for told, one in found.items()}
    covered = sum(holds[int(count)] for count in supports)
    assert covered >= stats.binom.ppf(1e-6, 20_000, confidence)


def test_figures_and_what_they_are_made_of() -> None:
    found = estimated([600, 400], 1000)
    assert found.supports.tolist() == [600, 400]
    assert found.shares.sum() == pytest.approx(1)
    assert found.table().column_names == ["value", "count", "share", "count_error", "count_error_together"]
    assert found.steps == ()


def test_confidence_is_a_chance() -> None:
    for wrong in (0, 1, 95):
        with pytest.raises(BadInput, match="Confidence"):
            estimated([1, 1], 2, wrong)
    with pytest.raises(BadInput, match="no step 'wish'"):
        estimated([1, 1], 2).after("wish")


def test_it_reads_as_a_table() -> None:
    client = OUE(["tea", "<coffee>"], 1)
    found = Tally(client, 1000, np.array([450, 300])).estimate()
    title, tea, coffee = str(found).split("\n")
    assert title == "1,000 reports, oue, ε = 1 (each ± holds with 0.95)"
    assert tea.split() == ["tea", "784", "±", "134", "78.36%"]
    assert coffee.startswith("<coffee>")
    html = found._repr_html_()
    assert "&lt;coffee&gt;" in html
    assert "<coffee>" not in html
    assert "784" in html


def test_a_chart_has_error_bars_and_the_largest_figures() -> None:
    found = estimated([60 + place for place in range(30)], 2235)
    picture = found.picture(shown=5)
    assert picture.svg.count('class="bar"') == picture.svg.count("<path") == 5
    assert "25 smaller ones are left out" in picture.caption
    assert " ± " in picture.svg
    assert "smaller ones" in str(found)
    assert len(str(found).split("\n")) == 22


def test_a_column_of_reports_is_estimated_at_once() -> None:
    reports = pa.chunked_array([[0, 0, 1], [1, 0]], pa.uint8())
    assert GRR(2, 1).estimate(reports).n == 5

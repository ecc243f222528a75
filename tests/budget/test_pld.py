"""Reports on batches, by dp-accounting."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest

from discreet.budget.pld import GaussianNoise, LaplaceNoise, batch_epsilon
from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
from discreet.errors import BadInput, MissingPart, NoPromise


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "dp_accounting"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingPart, match=r"discreet\[accounting\]"):
        batch_epsilon([Pure(1)], "1e-6")


def test_a_delta_of_one_promises_nothing() -> None:
    with pytest.raises(BadInput, match="below 1"):
        batch_epsilon([Pure(1)], 1)


def test_one_loss_is_its_own_report() -> None:
    assert batch_epsilon([], "1e-6") == 0
    assert batch_epsilon([Pure("0.5")], 0) == pytest.approx(0.5, abs=2e-4)
    assert batch_epsilon([Approximate("0.5", "1e-6")], "1e-6") == pytest.approx(0.5, abs=2e-4)


def test_many_small_losses_cost_less_than_their_sum_and_no_less_than_the_truth() -> None:
    found = batch_epsilon([Pure("0.01")] * 1000, "1e-6")
    odds = math.exp(0.01)
    told = odds / (1 + odds)

    def excess(epsilon: float) -> float:  # the exact δ of 1000 randomised responses
        return sum(
            math.comb(1000, k)
            * max(0.0, told**k * (1 - told) ** (1000 - k) - math.exp(epsilon) * (1 - told) ** k * told ** (1000 - k))
            for k in range(500, 1001)
        )

    assert found < 10
    assert excess(found) <= 1.000001e-6
    assert excess(found * 0.97) > 1e-6


def test_noise_is_reported_by_its_own_distribution() -> None:
    assert batch_epsilon([LaplaceNoise(Fraction(2))], 0) == pytest.approx(0.5, abs=2e-4)
    gaussian = batch_epsilon([GaussianNoise(Fraction(10))] * 4, "1e-6")
    assert gaussian < batch_epsilon([GaussianNoise(Fraction(10), 2)] * 4, "1e-6")
    assert 0.5 < gaussian < 1.2


@pytest.mark.parametrize("loss", [Concentrated(1), Renyi([(2, 1)])])
def test_a_loss_without_a_distribution_is_refused(loss: Concentrated | Renyi) -> None:
    with pytest.raises(NoPromise, match="does not determine"):
        batch_epsilon([loss], "1e-6")


def test_noise_is_for_one_unit_unless_it_is_said() -> None:
    assert (LaplaceNoise(Fraction(2)).sensitivity, GaussianNoise(Fraction(2)).sensitivity) == (1, 1)
    assert batch_epsilon([LaplaceNoise(Fraction(4), 2)], 0) == pytest.approx(0.5, abs=2e-4)
    assert batch_epsilon([Pure("0.5"), Pure("0.25"), Pure("0.25")], 0) == pytest.approx(1, abs=4e-4)

"""What an epsilon means."""

import math
from xml.etree import ElementTree

import pytest

from discreet.curator.advice import beliefs, count_error, drawn, lee_clifton
from discreet.errors import BadInput


def test_lee_and_cliftons_worked_example():
    """Absences 1, 2, 3 and 10 of four pupils, one of whom is not in the data; the mean; a risk of a third.

    Adding the 10 to {1, 2} moves the mean by 13/3 - 3/2 = 17/6; the means of the four possible worlds of three
    pupils lie between 2 and 5.
    """
    assert lee_clifton(4, "1/3", sensitivity="17/6", spread=3) == pytest.approx(0.3829, abs=5e-5)


def test_at_that_epsilon_the_posterior_is_the_risk():
    worlds, risk, sensitivity, spread = 4, 1 / 3, 17 / 6, 3
    epsilon = lee_clifton(worlds, "1/3", sensitivity="17/6", spread=3)
    others = (worlds - 1) * math.exp(-epsilon * spread / sensitivity)
    assert 1 / (1 + others) == pytest.approx(risk)


def test_a_risk_below_a_blind_guess_cannot_be_had():
    for risk in ("1/4", "0.1", 1):
        with pytest.raises(BadInput, match="blind guess"):
            lee_clifton(4, risk)
    with pytest.raises(BadInput, match="above 0"):
        lee_clifton(4, "1/2", spread=0)


def test_beliefs_move_as_bayes_allows():
    for epsilon in (0, "0.1", 1, 10, 5000):
        for one in beliefs(epsilon):
            assert 0 <= one.least <= one.prior + 1e-12
            assert one.prior - 1e-12 <= one.most <= 1
    half = next(one for one in beliefs(1) if one.prior == 0.5)
    assert half.most == pytest.approx(math.e / (1 + math.e))
    assert half.least == pytest.approx(1 / (1 + math.e))
    assert all(one.least == pytest.approx(one.prior) == pytest.approx(one.most) for one in beliefs(0))


def test_the_error_of_a_count():
    assert count_error(1) == pytest.approx(math.log(20))
    with pytest.raises(BadInput):
        count_error(0)


def test_the_figures_of_the_budget_page():
    """What may be believed of what was as likely as not, at the epsilons that docs/budget.md names."""
    after = {
        epsilon: next(one.most for one in beliefs(epsilon) if one.prior == 0.5) for epsilon in ("0.1", "0.5", "1", "3")
    }
    assert {epsilon: f"{most:.1%}" for epsilon, most in after.items()} == {
        "0.1": "52.5%",
        "0.5": "62.2%",
        "1": "73.1%",
        "3": "95.3%",
    }
    assert f"{count_error('0.1'):.0f}" == "30"


@pytest.mark.parametrize("epsilon", ["0.0001", "0.3829", 1, 30, 5000])
def test_any_epsilon_can_be_drawn(epsilon):
    picture = drawn(epsilon)
    assert f"epsilon = {epsilon}" in picture.title
    root = ElementTree.fromstring(picture.svg)  # noqa: S314
    inside = root.findall("{http://www.w3.org/2000/svg}svg")
    assert len(inside) == 2, "what can be believed, and how far a count is off"
    tops = [int(one.get("y")) for one in inside]
    assert int(root.get("height")) >= tops[1] + int(inside[1].get("height")) > tops[1] >= int(inside[0].get("height"))

"""Losses: what they hold, how they add up, what a group pays."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.exact import exp_upper
from discreet.core.loss import (
    Approximate,
    Concentrated,
    Loss,
    Pure,
    Renyi,
    for_group,
    from_dict,
    parallel,
    sequential,
)
from discreet.errors import BadInput, NoPromise

small = st.fractions(min_value=0, max_value=10, max_denominator=1000)
tiny = st.fractions(min_value=0, max_value=Fraction(1, 1000), max_denominator=10**9)
pures = st.builds(Pure, small)
approximates = st.builds(Approximate, small, tiny)
concentrated = st.builds(Concentrated, small)
curves = st.dictionaries(
    st.fractions(min_value=Fraction(11, 10), max_value=64, max_denominator=10), small, min_size=1, max_size=5
)
renyis = curves.map(lambda curve: Renyi(curve.items()))
losses = pures | approximates | concentrated | renyis
without_delta = pures | concentrated | renyis


@given(losses)
def test_a_loss_comes_back_from_json_as_it_was(loss: Loss) -> None:
    assert from_dict(json.loads(json.dumps(loss.to_dict()))) == loss


def test_json_is_plain_and_exact() -> None:
    assert Pure("0.5").to_dict() == {"kind": "pure", "epsilon": "1/2"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"kind": "os.system"},
        {"kind": "pure"},
        {"kind": "pure", "epsilon": "1", "delta": "0"},
        {"kind": "pure", "epsilon": 0.5},
        {"kind": "pure", "epsilon": "-1"},
        {"kind": "approximate", "epsilon": "1", "delta": "1"},
        {"kind": "renyi", "curve": []},
        {"kind": "renyi", "curve": [["2"]]},
    ],
)
def test_other_json_is_refused(data: object) -> None:
    with pytest.raises(BadInput):
        from_dict(data)


@pytest.mark.parametrize("curve", [[], [(1, 1)], [("1/2", 1)], [(2, 1), (2, 1)]])
def test_a_renyi_curve_has_different_orders_above_one(curve: list[tuple[int, int]]) -> None:
    with pytest.raises(BadInput, match="orders"):
        Renyi(curve)


@pytest.mark.parametrize("delta", [1, "1.5", -1])
def test_delta_is_from_zero_to_below_one(delta: object) -> None:
    with pytest.raises(BadInput, match="delta"):
        Approximate(1, delta)


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (Pure("0.5"), "ε = 0.5"),
        (Approximate(1, "1e-6"), "ε = 1, δ = 1e-6"),
        (Concentrated("1/3"), "ρ = 1/3"),
        (Renyi([(2, "0.1"), ("5/2", 1)]), "ε(2) = 0.1, ε(5/2) = 1"),
        (Renyi((order, order) for order in range(2, 9)), "ε(2) = 2, ε(3) = 3, …, ε(8) = 8"),
    ],
)
def test_a_loss_reads_as_text(loss: Loss, text: str) -> None:
    assert str(loss) == text


def test_eight_prefix_queries_cost_eight_epsilon() -> None:
    assert sequential([Pure("0.1")] * 8) == Pure("0.8")


def test_three_marginals_cost_three_epsilon() -> None:
    assert sequential([Pure("0.1")] * 3) == Pure("0.3")


def test_one_histogram_costs_one_epsilon_however_much_is_read_off_it() -> None:
    assert parallel([Pure("0.1")] * 8) == Pure("0.1")


def test_epsilons_and_deltas_add_up_in_sequence_and_the_largest_counts_in_parallel() -> None:
    parts = [Approximate(1, "1e-6"), Approximate("0.5", "1e-5"), Pure(2)]
    assert sequential(parts) == Approximate("3.5", "1.1e-5")
    assert parallel(parts) == Approximate(2, "1e-5")


def test_nothing_costs_nothing() -> None:
    assert sequential([]) == parallel([]) == Pure(0)


def test_pure_with_concentrated_is_concentrated() -> None:
    assert sequential([Pure(1), Concentrated("0.1")]) == Concentrated("0.6")
    assert parallel([Pure(1), Concentrated("0.1")]) == Concentrated("0.5")


def test_renyi_takes_the_better_of_two_bounds_for_pure() -> None:
    curve = Renyi([(2, 0), (32, 0)])
    assert sequential([Pure("0.5"), curve]) == Renyi([(2, "1/4"), (32, "1/2")])
    assert sequential([Concentrated("0.5"), curve]) == Renyi([(2, 1), (32, 16)])


def test_renyi_curves_with_other_orders_meet_where_both_say_something() -> None:
    left, right = Renyi([(2, 1), (8, 4)]), Renyi([(4, 1), (16, 3)])
    assert sequential([left, right]) == Renyi([(2, 2), (4, 5), (8, 7)])
    assert parallel([left, right]) == Renyi([(2, 1), (4, 4), (8, 4)])


@pytest.mark.parametrize("other", [Concentrated("0.1"), Renyi([(2, 1)])])
def test_a_delta_has_no_sum_with_losses_that_have_none(other: Loss) -> None:
    with pytest.raises(NoPromise, match="until a delta is chosen"):
        sequential([Approximate(1, "1e-6"), other])


def test_a_delta_of_zero_is_no_delta() -> None:
    assert sequential([Approximate(1, 0), Concentrated(0)]) == Concentrated("1/2")


def test_deltas_that_reach_one_promise_nothing() -> None:
    with pytest.raises(NoPromise, match="delta of 1 or more"):
        sequential([Approximate(1, "1/2")] * 2)


@given(st.lists(without_delta, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_composition_does_not_matter(parts: list[Loss], random: object) -> None:
    shuffled = sorted(parts, key=lambda _: random.random())
    assert sequential(parts) == sequential(shuffled)
    assert parallel(parts) == parallel(shuffled)


@given(st.lists(pures, min_size=1), st.lists(pures, min_size=1))
def test_composing_in_two_goes_is_composing_at_once(left: list[Loss], right: list[Loss]) -> None:
    assert sequential([sequential(left), sequential(right)]) == sequential(left + right)
    assert parallel([parallel(left), parallel(right)]) == parallel(left + right)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_a_group_of_k_pays_k_epsilon(k: int) -> None:
    assert for_group(Pure("0.3"), k) == Pure(Fraction(3 * k, 10))


def test_a_group_of_k_pays_k_squared_rho() -> None:
    assert for_group(Concentrated("0.3"), 3) == Concentrated("2.7")


def test_delta_grows_with_the_group_and_is_rounded_up() -> None:
    grown = for_group(Approximate("0.5", "1e-9"), 3)
    assert isinstance(grown, Approximate)
    assert grown.epsilon == Fraction("1.5")
    just_below_e = Fraction("2.718281828459045")
    assert 3 * just_below_e / 10**9 < grown.delta < 3 * (just_below_e + Fraction(1, 10**15)) / 10**9


@given(approximates, st.integers(min_value=2, max_value=5))
def test_the_group_delta_covers_the_sum_over_the_chain(loss: Approximate, k: int) -> None:
    chain = sum((exp_upper(i * loss.epsilon) for i in range(k)), Fraction(0)) * loss.delta
    try:
        grown = for_group(loss, k)
    except NoPromise:
        assert k * exp_upper((k - 1) * loss.epsilon) * loss.delta > Fraction(999, 1000)
    else:
        assert isinstance(grown, Approximate)
        assert grown.delta >= chain * (1 - Fraction(1, 2**100))


@pytest.mark.parametrize("loss", [Approximate(10**9, "1e-9"), Approximate(0, "1/3"), Approximate(5, "1e-9")])
def test_a_group_whose_delta_reaches_one_is_promised_nothing(loss: Loss) -> None:
    with pytest.raises(NoPromise, match="group of 6"):
        for_group(loss, 6)


def test_a_delta_of_zero_stays_zero_for_any_group() -> None:
    assert for_group(Approximate(10**6, 0), 10**6) == Approximate(10**12, 0)


def test_renyi_groups_lose_orders_and_pay_powers_of_three() -> None:
    loss = Renyi([(2, 1), (4, 2), (8, 3), (64, 4)])
    assert for_group(loss, 2) == Renyi([(2, 6), (4, 9), (32, 12)])
    assert for_group(loss, 3) == for_group(loss, 4) == Renyi([(2, 27), (16, 36)])


def test_a_group_too_large_for_the_curve_is_promised_nothing() -> None:
    with pytest.raises(NoPromise, match="order of 16 or more, and its largest is 8"):
        for_group(Renyi([(2, 1), (8, 3)]), 5)


@given(losses)
def test_a_group_of_one_is_a_unit(loss: Loss) -> None:
    assert for_group(loss, 1) == loss


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_group_has_one_unit_or_more(k: object) -> None:
    with pytest.raises(BadInput, match="one unit or more"):
        for_group(Pure(1), k)

"""What every integer noise promises: its law, its loss, its tail, and sums that do not overflow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from tests.noise.bits import Repeatable, check_law
from tests.noise.laws import NOISES, distribution

from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput
from discreet.noise.additive import LARGEST_SUM, Additive
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

each_noise = pytest.mark.parametrize("noise", NOISES, ids=str)


@pytest.mark.parametrize(
    ("noise", "rest"),
    [
        (DiscreteLaplace(1), 0.01),
        (DiscreteLaplace("1/2"), 0.02),
        (DiscreteLaplace("3/2"), 0.01),
        (DiscreteLaplace(2), 0.01),
        (DiscreteGaussian("1/3"), 0.15),
        (DiscreteGaussian(2), 0.15),
    ],
    ids=str,
)
def test_one_draw_follows_the_law_on_every_path(noise: Additive, rest: float) -> None:
    check_law(noise.draw, distribution(noise), rest=rest)


@each_noise
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_the_loss_is_what_the_law_says(noise: Additive, shift: int) -> None:
    loss = noise.loss(shift)
    p = distribution(noise)
    pairs = [(p[x], p[x + shift]) for x in p if x + shift in p and min(p[x], p[x + shift]) > 1e-14]
    if isinstance(loss, Pure):
        largest = max(abs(math.log(one / other)) for one, other in pairs)
        assert largest == pytest.approx(float(loss.epsilon), rel=1e-9)
    else:
        assert isinstance(loss, Concentrated)
        for order in (1.5, 2, 4):
            total = math.fsum(math.exp(order * math.log(one) + (1 - order) * math.log(other)) for one, other in pairs)
            assert math.log(total) / (order - 1) <= order * float(loss.rho) + 1e-9


@each_noise
def test_the_noise_for_a_loss_loses_it(noise: Additive) -> None:
    sensitivity = Fraction(3)
    made = type(noise).for_loss(noise.loss(sensitivity), sensitivity)  # type: ignore[attr-defined]
    assert made.loss(sensitivity) == noise.loss(sensitivity)


@each_noise
@pytest.mark.parametrize("beta", [0.9, 0.5, 0.05, 1e-6, 1e-9])
def test_the_error_is_the_smallest_that_holds(noise: Additive, beta: float) -> None:
    p = distribution(noise)

    def beyond(t: int) -> float:
        return math.fsum(value for x, value in p.items() if abs(x) > t)

    t = noise.error(beta)
    wide = isinstance(noise, DiscreteGaussian) and noise.sigma_squared > 1000
    assert beyond(t) <= beta + 1e-15
    assert t == 0 or beyond(t - 1 - wide) > beta
    for some in {0, 1, t, t + 3}:
        assert beyond(some) * (1 - 1e-9) - 1e-15 <= noise.tail(some)
        assert noise.tail(some) <= beyond(some - wide) * (1 + 1e-5 * wide + 1e-9) + 1e-15


@each_noise
def test_the_error_of_a_very_small_beta(noise: Additive) -> None:
    t = noise.error("1e-300")
    assert noise.tail(t) <= Fraction(1, 10**300) < noise.tail(t - 1)


@each_noise
def test_the_variance_is_that_of_the_law(noise: Additive) -> None:
    true = math.fsum(p * x * x for x, p in distribution(noise).items())
    if isinstance(noise, DiscreteGaussian):
        assert true <= noise.variance * (1 + 1e-9)
        assert noise.sigma_squared < 1 or true == pytest.approx(noise.variance, rel=1e-6)
    else:
        assert true == pytest.approx(noise.variance, rel=1e-9)


def test_the_error_of_laplace_noise_is_that_of_the_worked_case() -> None:
    """|error| <= (sensitivity / epsilon) ln(1 / beta), on a grid fine enough to look continuous."""
    assert DiscreteLaplace.for_loss(Pure("1/2"), 10**6).error("0.05") == pytest.approx(2e6 * math.log(20), rel=1e-6)


@each_noise
@pytest.mark.parametrize("count", [0, 1, 256, 257, 70_000])
def test_arrays_have_the_size_they_were_asked_for(noise: Additive, count: int) -> None:
    drawn = noise.draws(count, Repeatable(4))
    assert drawn.dtype == np.int64
    assert drawn.shape == (count,)


@each_noise
def test_sums_keep_their_shape_and_never_overflow(noise: Additive) -> None:
    ends = np.array([[-(2**63), 2**63 - 1], [0, 5]], dtype=np.int64)
    values = np.tile(ends, (1, 200))
    noisy = noise.add_all(values, Repeatable(5))
    assert noisy.shape == values.shape
    assert (abs(noisy) <= LARGEST_SUM).all()
    far = noise.error(1e-9)
    assert (noisy[0, ::2] < -LARGEST_SUM + 2 * far).all()
    assert (noisy[0, 1::2] > LARGEST_SUM - 2 * far).all()
    assert (abs(noisy[1]) < 2 * far + 5).all()


def test_one_figure_may_be_of_any_size() -> None:
    noise = DiscreteLaplace(2**100)
    assert noise.add(2**200, Repeatable(6)) != 2**200
    few = noise.draws(100, Repeatable(7))
    assert set(abs(few).tolist()) == {2**62}


@pytest.mark.parametrize("noise", [DiscreteLaplace(2**51), DiscreteGaussian(2**103)], ids=str)
def test_noise_that_does_not_fit_an_array_is_refused(noise: Additive) -> None:
    with pytest.raises(BadInput, match="64-bit"):
        noise.draws(1000)


@pytest.mark.parametrize("noise", [DiscreteLaplace(2**50), DiscreteGaussian(2**100)], ids=str)
def test_the_widest_noise_that_fits_an_array(noise: Additive) -> None:
    spread = float(np.mean(noise.draws(20_000, Repeatable(8)).astype(float) ** 2)) / noise.variance
    assert 0.8 < spread < 1.2


@pytest.mark.parametrize("wrong", [0, -1, "x", float("nan"), True, None])
def test_wrong_parameters_are_refused(wrong: object) -> None:
    for made in (DiscreteLaplace, DiscreteGaussian):
        with pytest.raises(BadInput):
            made(wrong)
    with pytest.raises(BadInput):
        DiscreteLaplace(1).loss(wrong)
    with pytest.raises(BadInput):
        DiscreteLaplace(1).error(wrong)


def test_wrong_steps_and_betas_are_refused() -> None:
    with pytest.raises(BadInput, match="beta"):
        DiscreteLaplace(1).error(1)
    with pytest.raises(BadInput, match="epsilon"):
        DiscreteLaplace.for_loss(Pure(0))


DIGITS = Context(prec=80)


def exp_minus(x: Fraction) -> Decimal:
    return DIGITS.exp(-DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)))


def is_rounded_up(found: Fraction, true: Decimal) -> bool:
    return Fraction(true) * (1 - Fraction(1, 10**50)) <= found <= Fraction(true) * (1 + Fraction(1, 10**9))


@pytest.fixture(autouse=True)
def eighty_digits() -> Iterator[None]:
    with localcontext(DIGITS):
        yield


@pytest.mark.parametrize("t", [0, 1, 2, 5, 11, 40])
def test_tails_are_rounded_up_by_a_hair(t: int) -> None:
    """To eighty digits by the definition: never below, and above in the last places alone."""
    for scale in ("1", "7/3", "40"):
        q, far = exp_minus(1 / Fraction(scale)), exp_minus((t + 1) / Fraction(scale))
        assert is_rounded_up(DiscreteLaplace(scale).tail(t), DIGITS.divide(2 * far, 1 + q))


@pytest.mark.parametrize("sigma_squared", [1, 50, 5000])
def test_the_tail_of_a_gaussian_far_out_is_a_bound(sigma_squared: int) -> None:
    t = math.isqrt(1200 * sigma_squared) + 1
    assert is_rounded_up(DiscreteGaussian(sigma_squared).tail(t), exp_minus(Fraction(t * t, 2 * sigma_squared)))


def test_one_unit_changes_a_figure_by_one_unless_it_is_said() -> None:
    assert DiscreteLaplace(3).loss() == Pure("1/3")
    assert DiscreteLaplace.for_loss(Pure("1/3")) == DiscreteLaplace(3)
    assert DiscreteGaussian(3).loss() == Concentrated("1/6")
    assert DiscreteGaussian.for_loss(Concentrated("1/6")) == DiscreteGaussian(3)


def test_noise_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = DiscreteLaplace(1)
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, entropy: 5)
    monkeypatch.setattr(DiscreteLaplace, "draws", lambda self, count, entropy: np.arange(count))
    assert noise.add(100) == 105
    assert noise.add_all(np.array([[10, 20], [30, 40]])).tolist() == [[10, 21], [32, 43]]

"""Rounding, coding, resampling, multiplying and noise, where a hand can follow."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.mask.people import CARD, people, rows

from discreet.engines.read import read
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Draws, generator
from discreet.verbs.publish.mask.coding import Code
from discreet.verbs.publish.mask.multiply import Multiply
from discreet.verbs.publish.mask.noise import Noise, rounded_variance
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.publish.mask.rounding import Round
from discreet.verbs.publish.mask.values import numbers, round_at_random, write_numbers


def test_seeds_are_whole_numbers_and_no_seed_is_nobodys():
    assert generator(3).random() == generator(3).random()
    assert generator().random() != generator().random()
    assert Draws.of(3).at(1).random() != Draws.of(3).at(2).random()
    for wrong in (-1, 1.5, True, "a"):
        with pytest.raises(BadInput):
            generator(wrong)


def test_values_come_back_in_the_type_they_came_in():
    for cells in rows().drop_columns(["town", "smokes"]).columns:
        found = numbers(cells)
        decimal = pa.types.is_decimal(cells.type)
        on_grid = found.values * 100 if decimal else round_at_random(found.values, cells.type, generator(1))
        back = write_numbers(np.rint(on_grid) if decimal else on_grid, cells, found.there)
        assert pa.chunked_array([back]).equals(cells), cells.type


def test_what_is_on_the_grid_is_not_rounded():
    cents = np.arange(-500, 500) / 100
    assert np.array_equal(round_at_random(cents, pa.decimal128(38, 2), generator(1)), np.arange(-500, 500))


def test_what_is_not_finite_stays():
    data = rows(5).set_column(3, "height", pa.array([1.0, float("nan"), float("inf"), None, 3.0]))
    for masker in (Noise(0.5, ["height"]), Multiply(0.5, ["height"]), Round(2, ["height"]), Resample(1, ["height"])):
        after = masker.mask(read(data, CARD), 1).rows["height"].to_pylist()
        assert np.isnan(after[1])
        assert after[2] == float("inf")
        assert after[3] is None
        assert np.isfinite([after[0], after[4]]).all()


@pytest.mark.parametrize("sd", [0.05, 0.09, 0.11, 0.4, 3.0])
def test_the_variance_of_rounded_noise_is_what_a_sum_over_the_grid_gives(sd):
    x = np.linspace(-12 * sd, 12 * sd, 2_000_001)
    weight = np.exp(-(x**2) / (2 * sd**2))
    fraction = x - np.floor(x)
    expected = np.sum(weight * (x**2 + fraction * (1 - fraction))) / weight.sum()
    assert rounded_variance(sd, 1.0) == pytest.approx(expected, rel=1e-6)
    assert rounded_variance(sd / 100, 0.01) == pytest.approx(expected / 1e4, rel=1e-6)
    assert rounded_variance(sd, None) == sd**2


def test_rounding_to_the_nearest_and_at_random():
    near = Round({"income": 0.05, "age": 10}).mask(people()).rows
    assert all(value % Decimal("0.05") == 0 for value in near["income"].to_pylist())
    assert all(value is None or value % 10 == 0 for value in near["age"].to_pylist())
    before = people().payload()
    gaps = [abs(a - b) for a, b in zip(near["income"].to_pylist(), before["income"].to_pylist(), strict=True)]
    assert max(gaps) <= Decimal("0.025")
    drawn = Round(10, ["age"], at_random=True).mask(people(), 1).rows["age"].to_pylist()
    assert all(b is None or abs(a - b) < 10 for a, b in zip(before["age"].to_pylist(), drawn, strict=True) if a)


def test_tails_are_cut_and_by_mean_the_total_stays():
    before = people().payload()["height"].to_numpy()
    cut = Code({"height": 180}, {"height": 160}).mask(people()).rows["height"].to_numpy()
    assert np.array_equal(cut, np.clip(before, 160, 180))
    mean = Code({"height": 180}, {"height": 160}, by_mean=True).mask(people()).rows["height"].to_numpy()
    assert mean.sum() == pytest.approx(before.sum(), rel=1e-9)
    assert len(np.unique(mean[before > 180])) == 1


@pytest.mark.parametrize("many", [0, 1, 2, 3])
def test_the_mean_of_a_tail_is_that_of_three_or_more(many):
    data = rows(50).set_column(3, "height", pa.array([400.0 + at for at in range(many)] + [170.0] * (50 - many)))
    mirrored = data.set_column(3, "height", pa.array([-value for value in data["height"].to_pylist()]))
    top, bottom = Code({"height": 250}, by_mean=True), Code({}, {"height": -250}, by_mean=True)
    for masker, side, sign in ((top, data, 1), (bottom, mirrored, -1)):
        if many in (1, 2):
            with pytest.raises(DataError, match="Fewer than 3 rows"):
                masker.mask(read(side, CARD))
        else:
            after = masker.mask(read(side, CARD)).rows["height"].to_pylist()
            assert after == [sign * 401.0] * many + [sign * 170.0] * (50 - many)


def test_resampling_keeps_ranks():
    before = people().payload()["height"].to_numpy()
    after = Resample(4, ["height"]).mask(people(), 1).rows["height"].to_numpy()
    assert np.all(np.diff(after[np.argsort(before)]) >= 0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Noise(0),
        lambda: Noise(float("nan")),
        lambda: Noise(True),
        lambda: Noise(0.1, ["town"]).mask(people()),
        lambda: Multiply(-1),
        lambda: Multiply(0.1, law="normal"),
        lambda: Multiply(0.6, law="uniform"),
        lambda: Round(0),
        lambda: Round(0.5, ["age"]).mask(people()),
        lambda: Round({"age": 5}, ["height"]).mask(people()),
        lambda: Resample(0),
        Code,
        lambda: Code({"age": 5}, {"age": 9}),
        lambda: Code({"town": 5}).mask(people()),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadInput):
        wrong()

"""Noise of which each party makes a part: exactly the promised law when as few stay as may, and sound losses."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats
from tests.combine.playing import played

from discreet.budget.convert import to_approximate
from discreet.core.loss import Approximate, Pure
from discreet.errors import BadInput
from discreet.noise.stream import Stream
from discreet.verbs.combine.distributed_noise import (
    FigureSensitivity,
    LaplaceShare,
    SkellamShare,
    honest_count,
    loss,
    noise_shares,
    require_drawable,
    skellam_loss,
)
from discreet.verbs.combine.effects import Broadcast, Send
from discreet.verbs.combine.terms import Terms

PARTIES = ("north", "south", "east", "west")
FALSE_ALARM = 1e-6


def laplace(scale):
    """The discrete Laplace law, from its formula."""
    q = math.exp(-1 / scale)
    return lambda x: (1 - q) / (1 + q) * q ** abs(x)


def skellam(variance):
    """The Skellam law of mean 0, from its formula."""
    return lambda x: float(special.ive(abs(x), variance))


def p_value(drawn, law, reach):
    """Chi-square over the integers within reach, and one cell beyond."""
    counts = Counter(max(-reach - 1, min(int(x), reach + 1)) for x in drawn)
    inside = [law(x) for x in range(-reach, reach + 1)]
    observed = [counts[x] for x in range(-reach, reach + 1)] + [counts[-reach - 1] + counts[reach + 1]]
    return stats.chisquare(observed, np.array([*inside, 1 - sum(inside)]) * len(drawn)).pvalue


@pytest.mark.parametrize(("scale", "among"), [("1", 1), ("1", 3), ("3/2", 4), ("5", 7)])
def test_the_parts_of_the_honest_ones_are_the_discrete_laplace_law(scale, among):
    """Chi-square at 1e-6 on 40,000 draws; a scale that is 10 % off, and the parts of one party less, are rejected.

    That the parts are exact is shown in rationals in tests/noise/test_polya.py.
    """
    part = LaplaceShare(Fraction(scale), among)
    made = [np.array(part.draws(40_000, Stream(bytes([i]) * 32, (scale.encode(),)))) for i in range(among)]
    at, reach = float(part.scale), int(4 * part.scale) + 2
    assert p_value(sum(made), laplace(at), reach) > FALSE_ALARM
    assert p_value(sum(made), laplace(1.1 * at), reach) < FALSE_ALARM
    if among > 1:
        assert p_value(sum(made[1:]), laplace(at), reach) < FALSE_ALARM


def test_the_parts_of_the_honest_ones_are_the_skellam_law():
    """Chi-square at 1e-6; a variance that is 15 % off, and the parts of one party less, are rejected."""
    part = SkellamShare(2, 3)
    made = [np.array(part.draws(8_000, Stream(bytes([i]) * 32, ()))) for i in range(3)]
    assert part.variance == 12
    assert p_value(sum(made), skellam(12), 8) > FALSE_ALARM
    assert p_value(sum(made), skellam(12 * 1.15), 8) < FALSE_ALARM
    assert p_value(sum(made[1:]), skellam(12), 8) < FALSE_ALARM


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**5)])
def test_a_session_with_the_worst_permitted_dropout_has_exactly_the_promised_noise(delta):
    """Of four parties one leaves, three are promised: 2,000 empty cells of a histogram are 2,000 draws."""
    edges = ",".join(map(str, range(2_001)))
    terms = Terms(
        PARTIES, function=f"histogram edges={edges}", threshold=3, epsilon=Fraction(1), delta=delta, honest=3
    )  # fmt: skip

    def leaves(party, effect):
        return party == "west" and isinstance(effect, Send | Broadcast) and "vector" in effect.body

    found = played(terms, {name: [] for name in PARTIES}, leaves=leaves)
    result = found.results["north"]
    assert result.parties == ("north", "south", "east")
    noise = list(result.value["counts"].values())
    [part] = noise_shares(terms, [FigureSensitivity(2_000, 1)])
    law = laplace(1.0) if isinstance(part, LaplaceShare) else skellam(part.variance)
    reach = 5 if isinstance(part, LaplaceShare) else 9
    assert p_value(noise, law, reach) > FALSE_ALARM
    wrong = laplace(1.3) if isinstance(part, LaplaceShare) else skellam(1.5 * part.variance)
    assert p_value(noise, wrong, reach) < FALSE_ALARM


def log_skellam(variance, reach):
    """The logarithm of the Skellam law on -reach … reach, by ratios of Bessel functions from far out (Miller)."""
    ratio, ratios = 0.0, []
    for k in range(reach + 200, 0, -1):
        ratio = 1 / (2 * k / variance + ratio)
        if k <= reach:
            ratios.append(ratio)
    side = np.log(special.ive(0, variance)) + np.cumsum(np.log(ratios[::-1]))
    return np.concatenate([side[::-1], [np.log(special.ive(0, variance))], side])


@pytest.mark.parametrize("variance", [6, 24, 200, 5000])
@pytest.mark.parametrize("change", [1, 2, 5])
def test_the_bound_on_skellam_noise_holds(variance, change):
    """The Rényi divergence, summed over the law itself, is never above the bound, at any order that is used."""
    law = log_skellam(float(variance), 30_000)
    assert special.logsumexp(law) == pytest.approx(0, abs=1e-9)
    here, moved = law[change:], law[:-change]
    checked = 0
    for order, bound in skellam_loss(variance, change, change**2).curve:
        a = float(order)
        terms = a * here + (1 - a) * moved
        if max(terms[0], terms[-1]) > terms.max() - 50:
            break  # too far out to be summed here
        assert special.logsumexp(terms) / (a - 1) <= float(bound) + 1e-9
        checked += 1
    assert checked > 60


@pytest.mark.parametrize(("epsilon", "delta", "change"), [("1", "1e-6", 1), ("1/10", "1e-9", 7), ("3", "1e-5", 10**5)])
def test_skellam_parts_keep_the_loss_that_is_promised_and_waste_little(epsilon, delta, change):
    terms = Terms(PARTIES, epsilon=Fraction(epsilon), delta=Fraction(delta))
    [part] = noise_shares(terms, [FigureSensitivity(1, change)])
    assert to_approximate(skellam_loss(part.variance, change, change**2), terms.delta).epsilon <= terms.epsilon
    less = 2 * part.honest * int((part.rate - 1) * 0.99)
    assert not less or to_approximate(skellam_loss(less, change, change**2), terms.delta).epsilon > terms.epsilon


def test_figures_share_the_loss_and_the_scale_is_what_one_unit_changes_over_it():
    terms = Terms(PARTIES, epsilon=Fraction(1, 2), threshold=3, honest=3)
    assert noise_shares(terms, [FigureSensitivity(1, 10)]) == (LaplaceShare(Fraction(20), 3),)
    assert noise_shares(terms, [FigureSensitivity(1, 10), FigureSensitivity(5, 1)]) == (
        LaplaceShare(Fraction(40), 3),
        LaplaceShare(Fraction(4), 3),
    )
    assert noise_shares(Terms(PARTIES), [FigureSensitivity(1, 10)]) == ()


def test_who_is_counted_on_stays():
    assert honest_count(Terms(PARTIES)) == 3
    assert honest_count(Terms(PARTIES[:2])) == 1
    assert honest_count(Terms(PARTIES, threshold=3)) == 2
    assert honest_count(Terms(PARTIES, honest=4)) == 4
    assert honest_count(Terms(PARTIES, threshold=3, honest=2)) == 2
    with pytest.raises(BadInput, match="honest parties are not possible"):
        honest_count(Terms(PARTIES, threshold=3, honest=4))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_without_a_word_the_loss_holds_against_every_single_party(count):
    """To a party, who takes its own part away, the parts of the others are left: that is the promised noise in full."""
    terms = Terms(PARTIES[:count], epsilon=Fraction(1))
    [part] = noise_shares(terms, [FigureSensitivity(1, 1)])
    others = sum(np.array(part.draws(20_000, Stream(bytes([i]) * 32, (b"others",)))) for i in range(count - 1))
    assert p_value(others, laplace(1.0), 5) > FALSE_ALARM
    more = np.array(part.draws(20_000, Stream(bytes([9]) * 32, (b"others",))))
    assert p_value(others + more, laplace(1.0), 5) < FALSE_ALARM


@pytest.mark.parametrize(
    ("change", "delta", "words"), [(2**51, Fraction(0), "scale"), (10**8, Fraction(1, 10**6), "variance")]
)
def test_noise_that_cannot_be_drawn_is_refused_and_what_is_not_refused_can_be_drawn(change, delta, words):
    terms = Terms(PARTIES, epsilon=Fraction(1), delta=delta)
    with pytest.raises(BadInput, match=words) as error:
        require_drawable(terms, [FigureSensitivity(1, change)])
    assert "fewer decimals" in error.value.hint
    require_drawable(terms, [FigureSensitivity(1, change // 64)])
    [part] = noise_shares(terms, [FigureSensitivity(1, change // 64)])
    assert part.draws(1, Stream(bytes(32), ())) != [0]


def test_the_loss_is_the_one_of_the_terms():
    assert loss(Terms(PARTIES)) is None
    assert loss(Terms(PARTIES, epsilon=Fraction(1, 3))) == Pure("1/3")
    assert loss(Terms(PARTIES, epsilon=Fraction(1), delta=Fraction(1, 10**6))) == Approximate(1, "1e-6")
    for wrong in ({"epsilon": Fraction(0)}, {"epsilon": Fraction(-1)}, {"epsilon": Fraction(1), "delta": Fraction(1)}):
        with pytest.raises(BadInput):
            noise_shares(Terms(PARTIES, **wrong), [FigureSensitivity(1, 1)])


@pytest.mark.parametrize("parties", [3, 4, 10])
def test_the_group_is_wide_enough_for_the_noise(parties):
    """The chance beyond the reach is below 2**-64: for Laplace by its tail, for Skellam by Bernstein."""
    part = LaplaceShare(Fraction(5), 3)
    times = -(-parties // 3)
    assert 4 * times * math.exp(-part.tail_bound(parties) / times / 5) < 2**-64
    width = SkellamShare(50, 3)
    variance, t = 2 * parties * 50, width.tail_bound(parties)
    assert 2 * math.exp(-t * t / (2 * (variance + t / 3))) < 2**-64

"""Secure sums one after the other: exact, each by itself, and with the same parties."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.combine.playing import crypto

from discreet.errors import BadInput
from discreet.verbs.combine import bus
from discreet.verbs.combine.distributed_noise import FigureSensitivity, noise_shares
from discreet.verbs.combine.effects import Broadcast, Send
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms

PARTIES = ("north", "south", "east", "west")


def summers(**more):
    terms = Terms(PARTIES, **more)
    return {name: SecureSums(terms, name, crypto(place)) for place, name in enumerate(PARTIES)}


def added(values, low, high, **more):
    found = bus.play({name: one.total(values[name], low, high) for name, one in summers(**more).items()})
    assert not found.aborted
    return found.results["north"].values


@pytest.mark.parametrize("protocol", ["masks", "shares", "ring", "paths count=2", "trusted"])
def test_totals_are_exact_with_every_protocol(protocol):
    values = {name: [place, -5 * place, 7] for place, name in enumerate(PARTIES)}
    assert added(values, -15, 7, protocol=protocol) == [6, -30, 28]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 4), (-(2**61), 2**61), (-(10**30), 10**30), (5, 5)])
def test_the_extreme_values_fit(low, high):
    for end in (low, high):
        assert added({name: [end] * 3 for name in PARTIES}, low, high) == [4 * end] * 3
        if abs(end) < 2**62:
            assert added({name: np.full(3, end) for name in PARTIES}, low, high) == [4 * end] * 3


def test_every_figure_has_bounds_of_its_own():
    assert added({name: [-1, 10**25] for name in PARTIES}, [-1, 0], [0, 10**25]) == [-4, 4 * 10**25]


@pytest.mark.parametrize("values", [[11], [-1], np.array([11]), np.array([3, -1])])
def test_what_is_outside_is_refused_before_anything_is_sent(values):
    with pytest.raises(BadInput, match="Nothing was sent"):
        next(summers()["north"].total(values, 0, 10))


def test_sums_share_no_kind_of_message_and_no_mask():
    def twice(one):
        first = yield from one.total([1], 0, 1)
        second = yield from one.total([1], 0, 1)
        return first.values + second.values

    found = bus.play({name: twice(one) for name, one in summers().items()})
    assert set(map(tuple, found.results.values())) == {(4, 4)}
    first = [message for message in found.messages if message.kind.startswith("sum 1/")]
    second = [message for message in found.messages if message.kind.startswith("sum 2/")]
    assert len(first) == len(second) == len(found.messages) / 2
    bodies = [{str(message.body) for message in part if "vector" in message.body} for part in (first, second)]
    assert not bodies[0] & bodies[1]


def dies(party, number):
    """Whether a party dies before its first message of some sum."""
    return lambda who, effect: (
        who == party and isinstance(effect, Send | Broadcast) and effect.kind.startswith(f"sum {number}/")
    )


def twice(one):
    first = yield from one.total([1], 0, 1)
    second = yield from one.total([10], 0, 10)
    return first.values + second.values, second.parties


def test_a_party_may_leave_during_the_first_sum():
    found = bus.play({n: twice(one) for n, one in summers(threshold=3).items()}, leaves=dies("south", 1))
    assert set(found.results) == {"north", "east", "west"}
    assert found.results["north"] == ([3, 30], ("north", "east", "west"))


def test_who_leaves_later_ends_the_session_since_the_difference_would_tell():
    found = bus.play({n: twice(one) for n, one in summers(threshold=3).items()}, leaves=dies("south", 2))
    assert not found.results
    assert set(found.aborted) == {"north", "east", "west"}
    assert "south" in found.aborted["north"].culprits


def test_noise_below_zero_does_not_wrap():
    figures = [FigureSensitivity(400, 1)]
    terms = summers(epsilon=Fraction(1, 20))
    found = bus.play({name: one.total([0] * 400, 0, 1, figures) for name, one in terms.items()})
    noise = found.results["north"].values
    assert min(noise) < -20 < 20 < max(noise)
    assert abs(sum(noise) / 400) < 9


def test_every_sum_has_noise_of_its_own():
    """The same noise twice would be gone from the difference of two totals."""
    figures = [FigureSensitivity(50, 1)]

    def both(one):
        first = yield from one.total([0] * 50, 0, 1, figures)
        second = yield from one.total([0] * 50, 0, 1, figures)
        return first.values, second.values

    found = bus.play({name: both(one) for name, one in summers(epsilon=Fraction(1, 20)).items()})
    first, second = found.results["north"]
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 10


@pytest.mark.parametrize(("low", "high", "more"), [(0, 10, 10_000), (-5, 5, 10_000), (-(10**20), 10**20, 10**21)])
@pytest.mark.parametrize("epsilon", [None, Fraction(1)])
def test_a_total_that_no_figures_have_ends_the_session(low, high, more, epsilon):
    """South brings more than anybody may, by which the total lies beyond all bounds."""
    figures = [FigureSensitivity(1, 10)] if epsilon else []
    reach = noise_shares(Terms(PARTIES, epsilon=epsilon), figures)[0].tail_bound(4) if epsilon else 0
    group = ModularGroup.fitting(len(PARTIES) * (high - low) + 2 * reach)
    plays = {name: one.total([high], low, high, figures) for name, one in summers(epsilon=epsilon).items()}

    def lies(play):
        given = None
        while True:
            try:
                effect = play.send(given)
            except StopIteration as ended:
                return ended.value
            if isinstance(effect, Broadcast) and "vector" in effect.body:
                effect = replace(effect, body={"vector": group.vector([effect.body["vector"].tolist()[0] + more])})
            given = yield effect

    plays["south"] = lies(plays["south"])
    found = bus.play(plays)
    assert all("within the bounds" in str(found.aborted[name]) for name in ("north", "east", "west"))


def test_the_noise_is_for_all_figures_or_the_sum_is_refused():
    with pytest.raises(BadInput, match="noise is for 2 figures, not 1"):
        next(summers(epsilon=Fraction(1))["north"].total([0], 0, 1, [FigureSensitivity(2, 1)]))


def test_a_parity_is_of_bits():
    values = {"north": [1, 0], "south": [1, 1], "east": [1, 0], "west": [0, 0]}
    found = bus.play({name: one.parity(values[name]) for name, one in summers(protocol="dining").items()})
    assert found.results["west"].values == [1, 1]
    with pytest.raises(BadInput, match="zeros and ones"):
        next(summers(protocol="dining")["north"].parity([2]))

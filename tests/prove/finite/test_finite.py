"""Finite programs: outcomes, distances, couplings and judgements, each against its definition."""

from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.prove.corpus import FILES

from discreet.errors import BadInput
from discreet.verbs.prove import finite
from discreet.verbs.prove.interpreter import Outputs
from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.refuter.arithmetic import Logarithm

PROGRAMS = {program.name: program for file in FILES for program in parse_programs(file.read_text())}
LN3 = Logarithm(Fraction(3))


def subsets(items):
    items = list(items)
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


laws = (
    st.lists(st.integers(0, 6), min_size=4, max_size=4)
    .filter(any)
    .map(lambda parts: {place: Fraction(part, sum(parts)) for place, part in enumerate(parts) if part})
)


def mass(law, event):
    return sum((law.get(one, Fraction(0)) for one in event), Fraction(0))


@given(laws, laws, st.integers(1, 5))
def test_the_skewed_distance_is_the_most_that_any_event_needs(mu, nu, factor):
    most = max(mass(mu, event) - factor * mass(nu, event) for event in subsets(range(4)))
    eps = Logarithm(Fraction(factor)) if factor > 1 else 0
    found = finite.skewed_distance(mu, nu, eps)
    assert found.low == found.high == most


@given(laws, laws)
def test_the_curve_is_the_distance_and_linear_between_its_knots(mu, nu):
    found = finite.privacy_curve(mu, nu)
    assert found[0][0] == 1
    for (low, at_low), (high, at_high) in pairwise(found):
        middle = (low + high) / 2
        assert finite.skewed_distance(mu, nu, Logarithm(middle)).low == (at_low + at_high) / 2
    assert finite.skewed_distance(mu, nu, Logarithm(found[-1][0] + 7)).low == found[-1][1]


@given(laws, laws, st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))), st.integers(1, 3), st.integers(0, 4))
def test_a_coupling_exists_exactly_if_strassen_says_so(mu, nu, related, factor, quarter):
    delta = Fraction(quarter, 4)
    image = {event: {two for one, two in related if one in event} for event in subsets(mu)}
    possible = all(mass(mu, event) <= factor * mass(nu, image[event]) + delta for event in image)
    eps = Logarithm(Fraction(factor)) if factor > 1 else 0
    found = finite.find_coupling(mu, nu, lambda one, two: (one, two) in related, eps, delta)
    assert (found is not None) == possible
    if found is not None:
        assert found.shares.keys() <= related
        assert found.left <= delta
        assert sum(found.shares.values(), found.left) == 1
        for place in range(4):
            assert sum(share for (one, _), share in found.shares.items() if one == place) <= mu.get(place, 0)
            assert sum(share for (_, two), share in found.shares.items() if two == place) <= factor * nu.get(place, 0)


def test_randomised_response_costs_exactly_ln_3():
    law = {x: finite.outcomes(PROGRAMS["randomised_response"], {"x": x}) for x in (False, True)}
    assert law[True] == {Outputs((True,)): Fraction(3, 4), Outputs((False,)): Fraction(1, 4)}
    assert finite.privacy_curve(law[True], law[False]) == ((1, Fraction(1, 2)), (3, 0))
    same = "randomised_response ~ randomised_response : true => result1 == result2"
    assert finite.judgement_holds(finite.read_quadruple(same, PROGRAMS, LN3))
    assert finite.judgement_holds(finite.read_quadruple(same, PROGRAMS, Fraction(11, 10)))
    assert not finite.judgement_holds(finite.read_quadruple(same, PROGRAMS, Fraction(1)))
    distance = finite.skewed_distance(law[True], law[False], Fraction(1))
    assert float(distance.low) == pytest.approx((3 - exp(1)) / 4)
    assert 0 < distance.high - distance.low < Fraction(1, 10**50)


def test_the_one_time_pad_is_perfect_and_used_twice_it_is_not():
    same = "{0} ~ {0} : true => result1 == result2"
    assert finite.judgement_holds(finite.read_quadruple(same.format("one_time_pad"), PROGRAMS, length=3))
    twice = finite.read_quadruple(same.format("two_time_pad"), PROGRAMS)
    first, second = finite.find_failing_inputs(twice)
    assert (first["a"] ^ first["b"]) != (second["a"] ^ second["b"])


def test_a_judgement_speaks_of_inputs_before_and_after():
    text = "two_time_pad ~ two_time_pad : (a1 xor b1) == (a2 xor b2) => result1 == result2"
    assert finite.judgement_holds(finite.read_quadruple(text, PROGRAMS))
    mixed = "rappor_bit ~ rappor_bit : b1 == 0 and b2 == 1 => result1 + result2 == 1"
    assert finite.judgement_holds(finite.read_quadruple(mixed, PROGRAMS))
    with pytest.raises(BadInput):
        finite.read_quadruple("one_time_pad : true", PROGRAMS)


def test_integer_noise_within_bounds_has_rational_chances():
    law = finite.outcomes(PROGRAMS["truncated_geometric"], {"x": 1, "n": 3}, {"eps": Logarithm(Fraction(2))})
    assert {found.returned: 6 * chance for found, chance in law.items()} == {0: 2, 1: 2, 2: 1, 3: 1}
    assert sum(law.values()) == 1
    with pytest.raises(BadInput, match="infinitely many outcomes"):
        finite.outcomes(PROGRAMS["geometric"], {"x": 1}, {"eps": Logarithm(Fraction(2))})
    with pytest.raises(BadInput, match="continuous noise"):
        finite.outcomes(PROGRAMS["laplace"], {"x": 1, "s": 1}, {"eps": Logarithm(Fraction(2))})


def test_the_exponential_mechanism_is_exact_too():
    eps = Logarithm(Fraction(2), Fraction(2))
    law = finite.outcomes(PROGRAMS["exponential_mechanism"], {"u": (0, 2)}, {"eps": eps})
    assert {found.returned: 5 * chance for found, chance in law.items()} == {0: 1, 1: 4}


def test_all_neighbours_of_a_finite_domain_are_compared():
    assert finite.is_private(PROGRAMS["randomised_response"])
    assert not finite.is_private(PROGRAMS["randomised_response_too_sharp"])
    assert finite.is_private(PROGRAMS["one_time_pad"], length=3)
    assert finite.worst_neighbours(PROGRAMS["two_time_pad"]).delta.low == 1
    with pytest.raises(BadInput, match="any real"):
        finite.is_private(PROGRAMS["laplace"])


def test_every_pair_has_the_delta_of_its_own_public_inputs():
    text = (
        "adjacent any\nclaim 0, {}\nf(x : private {{0,1}}, N : {{1,2,3,4,5}}) : int\n"
        "  c := $ Bernoulli(N/20 + 3/20)\n  y := 0\n  if c\n    y := x\n  return y\n"
    )
    wrong, right = (parse_programs(text.format(delta))[0] for delta in ("N/10", "N/20 + 3/20"))
    assert finite.worst_neighbours(wrong).inputs["N"] == 5  # where N/10 is enough, as it is not for N = 1
    assert not finite.is_private(wrong)
    assert finite.is_private(right)


def test_a_list_of_any_length_needs_one():
    text = "adjacent any\nclaim 0\nf(x : private list of {0,1}) : int\n  y := 0\n  if size(x) >= 2\n    y := x[0]\n"
    f = parse_programs(text + "  return y\n")[0]
    same = "f ~ f : true => result1 == result2"
    for asked in (lambda: finite.judgement_holds(finite.read_quadruple(same, {"f": f})), lambda: finite.is_private(f)):
        with pytest.raises(BadInput, match="any length"):
            asked()
    assert finite.judgement_holds(finite.read_quadruple(same, {"f": f}, length=1))
    assert not finite.judgement_holds(finite.read_quadruple(same, {"f": f}, length=2))

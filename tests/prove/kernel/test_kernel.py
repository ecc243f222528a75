"""The numbers that proofs are compared with, and the numbering of a program's parts."""

import math
import time
from fractions import Fraction

import pytest
from tests.prove.corpus import text

from discreet.verbs.prove.kernel.delta_bounds import gaussian_delta, zcdp_delta
from discreet.verbs.prove.kernel.enumeration import compare_neighbours
from discreet.verbs.prove.kernel.exp_bounds import exp_below, log_above
from discreet.verbs.prove.kernel.layout import number_program
from discreet.verbs.prove.kernel.solver import Unsupported
from discreet.verbs.prove.parser import parse_programs


@pytest.mark.parametrize(
    "value", [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(11, 10), Fraction(7), Fraction(30)]
)
def test_powers_are_below_and_near(value):
    low = exp_below(value)
    exact = math.exp(value)
    assert low <= exact * (1 + 1e-15)
    assert low >= exact * (1 - 1e-9)


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3), Fraction(9), Fraction(101, 100), Fraction(1000)])
def test_logarithms_are_above_and_near(ratio):
    above = log_above(ratio)
    assert exp_below(above) >= ratio
    assert above <= math.log(ratio) + 1e-5


RHOS = [Fraction(1, 1000), Fraction(1, 98), Fraction(1, 8), Fraction(3), Fraction(60)]


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(2), Fraction(11)])
def test_the_curve_of_a_gaussian_is_enclosed_from_above(rho, epsilon):
    flint = pytest.importorskip("flint")
    with flint.ctx.workprec(300):
        mu, eps = (2 * flint.arb(flint.fmpq(rho.numerator, rho.denominator))).sqrt(), flint.arb(str(float(epsilon)))

        def phi(x):
            return (-x / flint.arb(2).sqrt()).erfc() / 2

        exact = phi(mu / 2 - eps / mu) - eps.exp() * phi(-mu / 2 - eps / mu)
        found = gaussian_delta(rho, epsilon)
        above = flint.arb(flint.fmpq(found.numerator, found.denominator)) - exact
        assert not above < 0
        assert above < flint.arb("1e-50")


def test_the_curve_has_no_delta_for_nonsense():
    assert gaussian_delta(Fraction(-1), Fraction(1)) == gaussian_delta(Fraction(1), Fraction(-1)) == 1
    assert gaussian_delta(Fraction(0), Fraction(0)) == 0


@pytest.mark.parametrize(("rho", "epsilon"), [(Fraction(1, 98), Fraction(1, 2)), (Fraction(1, 8), Fraction(2))])
def test_zcdp_gives_no_less_than_the_exact_curve_of_a_gaussian(rho, epsilon):
    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    mu = math.sqrt(2 * rho)
    exact = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert exact <= zcdp_delta(rho, epsilon) <= 40 * exact


def test_a_claim_without_room_has_no_delta():
    assert zcdp_delta(Fraction(10), Fraction(1, 10)) == 1


def test_parts_are_numbered_in_their_order():
    [program] = parse_programs(text("adaptive_svt"))
    layout = number_program(program, {})
    assert [(site.number, site.statement.name, level) for site, level in layout.sites] == [
        (1, "rho", ()),
        (2, "xi", (1,)),
        (3, "eta", (1,)),
    ]
    assert [level for _, level in layout.branches] == [(1,), (1,)]
    assert layout.kinds["i"] == "int"
    assert layout.kinds["cost"] == "real"


def test_a_branch_without_anything_to_see_is_hidden():
    [program] = parse_programs(text("noisy_max"))
    assert number_program(program, {}).branches == ()


def test_finite_programs_are_compared_in_full():
    [right] = parse_programs(text("randomised_response"))
    [wrong] = parse_programs(text("randomised_response_too_sharp"))
    assert compare_neighbours(right, {}) == 2
    with pytest.raises(Unsupported, match="differ by more than the claim"):
        compare_neighbours(wrong, {})
    [endless] = parse_programs(text("laplace"))
    with pytest.raises(Unsupported):
        compare_neighbours(endless, {})


def test_an_enumeration_tells_truths_from_numbers():
    body = "  if x == 1\n    emit true\n  else\n    emit 1\n"
    [program] = parse_programs(f"adjacent any\nclaim 0\nf(x : private {{0,1}})\n{body}")
    with pytest.raises(Unsupported, match="differ by more than the claim"):
        compare_neighbours(program, {})


def test_an_enumeration_ends_in_time():
    """Thirteen coins have more outcomes than a moment is long."""
    coins = "".join(f"  c{n} := $ Bernoulli(1/2)\n" for n in range(13))
    [program] = parse_programs(f"adjacent any\nclaim 1\nf(x : private {{0,1}})\n{coins}  emit x\n")
    with pytest.raises(Unsupported, match="than the time limit allows"):
        compare_neighbours(program, {}, time.thread_time() + 0.05)


def test_a_claim_may_be_as_large_as_it_likes():
    large = Fraction(10**12)
    assert gaussian_delta(Fraction(1, 2), large) < Fraction(1, 10**60)
    assert zcdp_delta(Fraction(1, 2), large) < Fraction(1, 10**60)
    assert exp_below(large) == exp_below(2 * large)
    with pytest.raises(Unsupported, match="odds"):
        log_above(exp_below(large) + 1)


@pytest.mark.parametrize("given", [f"list of {10**8} {{0,1,2}}", f"list of {10**8} {{0}}", "{0,1}"])
def test_too_many_inputs_or_outcomes_are_not_begun(given):
    (program,) = parse_programs(
        f"adjacent any\nclaim 1\nmany(q : private {given}) : int\n  k := $ Uniform(0, {10**8})\n  return k\n"
    )
    with pytest.raises(Unsupported, match="too many"):
        compare_neighbours(program, {})

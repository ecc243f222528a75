import time

import pytest
from tests.prove.corpus import FILES, expected, text

from discreet.errors import BadInput
from discreet.verbs.prove.certificate import Certificate
from discreet.verbs.prove.checker import check_certificate
from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.prover import NoProof, find_proof, infer_claim
from discreet.verbs.prove.unparse import expression_text

QUICK = ["above_threshold", "clamped_sum", "range_query", "one_time_pad", "cdf", "leaks_rarely", "gaussian_steps"]
QUICK += ["randomised_response", "exponential_mechanism", "dummy_sum1_n", "truncated_geometric", "survey"]
WRONG = ["bad_svt2", "bad_noisy_max", "bad_smart_sum", "report_noisy_max_two_sided", "same_noise_twice", "mean"]
WRONG += ["randomised_response_too_sharp", "exponential_mechanism_too_sharp", "leaks_a_branch", "two_time_pad"]


def tried(source, **options):
    *others, program = parse_programs(source)
    return find_proof(program, {other.name: other for other in others}, **options)


@pytest.mark.parametrize("name", QUICK)
def test_what_is_private_is_proved(name):
    assert isinstance(tried(text(name)), Certificate)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_private_is_not_proved(name):
    found = tried(text(name))
    assert isinstance(found, NoProof)
    assert found.tried


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_program(file):
    """No wrong program is proved; every right one is, in 10 seconds of processor time."""
    before = time.process_time()
    found = tried(file.read_text(), seconds=10)
    if expected(file) == "refuted":
        assert isinstance(found, NoProof)
        return
    assert isinstance(found, Certificate), found
    assert time.process_time() - before < 15


def test_the_shifts_of_svt_are_the_textbooks():
    [alignment] = tried(text("svt")).alignments
    rho, eta = alignment.couplings
    assert rho.shift == "1"
    assert "branch1''" in eta.shift
    assert any("cost2''" in invariant for invariant in alignment.invariants[0])


@pytest.mark.slow
def test_neighbours_that_only_grow_are_looked_at_both_ways():
    assert [alignment.backwards for alignment in tried(text("svt_inc")).alignments] == [False, True]


def test_a_failure_has_small_cases_to_try():
    found = tried(text("bad_partial_sum"))
    assert found.cases
    hint = found.cases[-1]
    assert len(hint.inputs["q"]) == len(hint.neighbours["q"])
    assert sum(abs(a - b) for a, b in zip(hint.inputs["q"], hint.neighbours["q"], strict=True)) <= 1


ONE = "adjacent one by 1\nclaim {claim}\nf(x : private real, s : real, n : int) : real\n"


@pytest.mark.parametrize(
    ("claim", "body"),
    [
        ("0", "  z := $ Laplace(1/eps, x)\n  return z\n"),  # the old value of a variable that is drawn is forgotten
        ("0", "  z := x\n  z := $ Laplace(1/eps, z)\n  return z\n"),
        ("eps", "  z := $ Laplace(s/eps, x)\n  return z\n"),  # a scale that may be 0 or below
        ("eps", "  assume s > 0\n  z := $ Laplace(s/eps, x)\n  return z\n"),  # or too small
        ("eps", "  z := $ Laplace(1/eps, x)\n  return z / n\n"),  # a division by 0
        ("eps", "  assume n > 0\n  assume n < 0\n  return x\n"),  # nothing is of this kind
        ("eps", "  z := $ Exp(1/eps)\n  return x + z\n"),  # beyond the end of the noise
        ("eps", "  z := $ Gaussian(1/eps, x)\n  return z\n"),  # no delta
        ("eps", "  i := 0\n  while x > i\n    i := i + 1\n  z := $ Laplace(1/eps, x)\n  return z\n"),  # time tells
        ("eps", "  i := 0\n  while i < 1\n    i := 0\n  return x\n"),  # no run ends
        ("eps/2", "  z := $ Laplace(1/eps, x)\n  return z\n"),
        ("1/2, 1/1000000", "  z := $ Gaussian(2, x)\n  return z\n"),
    ],
)
def test_nothing_false_is_proved(claim, body):
    assert isinstance(tried(ONE.format(claim=claim) + body), NoProof)


def test_one_value_that_differs_is_charged_once():
    head = "adjacent one by 1\nclaim eps\nf(x : private real, y : private real)\n"
    body = "  a := $ Laplace(1/eps, x)\n  b := $ Laplace(1/eps, y)\n  emit a\n  emit b\n"
    assert isinstance(tried(head + body), Certificate)
    assert isinstance(tried(head.replace("one", "all") + body), NoProof)


def test_gaussian_noise_with_a_loop_keeps_to_its_delta():
    assert isinstance(tried(text("gaussian_sum")), Certificate)
    assert isinstance(tried(text("gaussian_too_small")), NoProof)


def test_a_called_program_is_given_neighbours():
    source = text("composed")
    assert isinstance(tried(source), Certificate)
    assert isinstance(tried(source.replace("a := noisy(x)", "a := noisy(2*x)")), NoProof)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("laplace", "eps"),
        pytest.param("range_query", "2 * eps", marks=pytest.mark.slow),
        pytest.param("dummy_sum1", "size(d) * eps", marks=pytest.mark.slow),
    ],
)
def test_the_smallest_claim_is_found(name, claim):
    *others, program = parse_programs(text(name))
    assert expression_text(infer_claim(program, {other.name: other for other in others})) == claim


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("one by 1\nclaim eps\nf(x : private real) : real\n  z := $ Laplace(10/eps, x)\n  return z\n", "eps / 10"),
        ("one by 1\nclaim eps\nf(x : private real) : real\n  z := $ Laplace(4, x)\n  return z\n", "1/4"),
        (
            "any\nclaim 3\nf(x : private bool) : bool\n  c := $ Bernoulli(1/2)\n  d := $ Bernoulli(1/2)\n"
            "  if not c\n    e := d\n  else\n    e := x\n  return e\n",
            "11/10",
        ),
        ("any\nclaim eps\nf(x : private bool) : int\n  return 1\n", "0"),
    ],
)
def test_smaller_multiples_and_plain_numbers_are_tried(source, claim):
    [program] = parse_programs(f"adjacent {source}")
    assert expression_text(infer_claim(program)) == claim


def test_no_epsilon_is_looked_for_beside_a_delta():
    with pytest.raises(BadInput, match="claims a delta"):
        infer_claim(parse_programs(text("gaussian_sum"))[-1])


def test_many_coins_do_not_outrun_the_time():
    tosses = "".join(f"  c{place} := $ Bernoulli(1/2)\n" for place in range(10))
    source = f"adjacent any\nclaim 0\nf(x : private {{0,1}}) : int\n{tosses}  return x\n"
    before = time.process_time()
    found = tried(source, seconds=0.5)
    assert isinstance(found, NoProof)
    assert any("the time limit was reached" in one for one in found.tried)
    assert time.process_time() - before < 3


def test_time_is_limited():
    before = time.process_time()
    assert isinstance(tried(text("k_min_max"), seconds=0.5), NoProof)
    assert time.process_time() - before < 5


def test_what_is_returned_was_checked():
    [program] = parse_programs(text("partial_sum"))
    assert check_certificate(program, find_proof(program)).ends

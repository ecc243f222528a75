"""What is refuted, and what never is."""

from fractions import Fraction
from math import exp, log

import pytest
from tests.prove.corpus import FILES, expected, text

from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.refuter import InputPair, refute, replay
from discreet.verbs.prove.refuter.counterexample import Counterexample, measure_event
from discreet.verbs.prove.refuter.paths import Task

ONE = {"eps": Fraction(1)}


LONG = ("redraws", "bad_adaptive_svt")
"""These take seconds."""


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, id=file.stem, marks=[pytest.mark.slow] if file.stem in LONG else [])
        for file in FILES
        if expected(file) == "refuted"
    ],
)
def test_a_wrong_program_is_refuted(file):
    loaded = load_program(file)
    found = refute(loaded.program, others=loaded.others)
    assert isinstance(found, Counterexample)
    assert found.how in ("exact", "enclosed")
    assert found.first.low > found.allowed.high * found.second.high + found.delta
    assert replay(loaded.program, found, loaded.others)


@pytest.mark.parametrize("file", [file for file in FILES if expected(file) == "proved"], ids=lambda file: file.stem)
def test_a_right_program_is_not_refuted(file):
    loaded = load_program(file)
    assert refute(loaded.program, others=loaded.others, seconds=0.05) is None


@pytest.mark.slow
@pytest.mark.parametrize("file", [file for file in FILES if expected(file) == "proved"], ids=lambda file: file.stem)
def test_a_right_program_is_not_refuted_however_long_one_looks(file):
    loaded = load_program(file)
    assert refute(loaded.program, others=loaded.others, seconds=20) is None


def exponent(name, q, other, shown, parameters=ONE, claim=Fraction(0), **public):
    """The logarithm of how many times likelier something is given ``q`` than given ``other``."""
    (program,) = parse_programs(text(name).replace("claim eps", f"claim {claim}"))
    task = Task(program, {"q": tuple(map(Fraction, q)), **public}, parameters)
    found = measure_event(task, task.with_inputs({"q": tuple(map(Fraction, other)), **public}), [shown])
    return log(found.ratio)


def test_the_published_figures_come_out():
    first = ("returned", Fraction(0), "end")
    assert exponent("report_noisy_max_integers", (60, 60), (59, 61), first) == pytest.approx(1.2795, abs=1e-4)
    assert exponent("report_noisy_max_two_sided", (60, 60), (59, 61), first) == pytest.approx(1.3069, abs=1e-4)
    low = ("returned", Fraction(-9), "end")
    assert exponent("bad_noisy_max", (0,) * 3, (1,) * 3, low) == pytest.approx(1.5, abs=1e-9)
    public = {"T": Fraction(0), "N": Fraction(1)}
    gap = (*[Fraction(0)] * 6, Fraction(-20), "end")
    assert exponent("bad_gap_svt", (0,) * 6 + (1,), (1,) * 6 + (0,), gap, **public) == pytest.approx(1.25, abs=1e-9)


def test_impossible_beside_possible_is_hopeless():
    found = refute(*parse_programs(text("bad_svt1")))
    assert found.hopeless
    assert found.ratio is None
    assert found.event == "[false, true]"


def test_integers_give_fractions():
    found = refute(*parse_programs(text("report_noisy_max_integers")))
    assert found.how == "exact"
    assert found.ratio == Fraction(16, 7)
    assert found.allowed.low == found.allowed.high == 2


def test_hints_are_tried_first_but_only_if_they_are_neighbours():
    (program,) = parse_programs(text("report_noisy_max_two_sided"))
    near = InputPair(ONE, {"q": (60, 60)}, {"q": (59, 61)})
    assert refute(program, [near]).inputs["q"] == (60, 60)
    far = InputPair(ONE, {"q": (60,)}, {"q": (90,)})
    assert refute(program, [far]).inputs["q"] != (60,)


def test_a_counterexample_of_another_program_does_not_replay():
    found = refute(*parse_programs(text("report_noisy_max_two_sided")))
    (right,) = parse_programs(text("noisy_max"))
    assert not replay(right, found)


TAILS = """
adjacent one by 1
claim 1, {delta}
noisy(x : private real) : real
  z := $ Laplace(1/2, 0)
  return x + z
"""


def test_a_delta_is_allowed_for():
    """Half the noise that 1 needs: at epsilon 1 the least delta is 1 - e^(-1/2), which half-lines attain."""
    least = Fraction(round((1 - exp(-0.5)) * 1000), 1000)
    assert refute(*parse_programs(TAILS.format(delta=least - Fraction(1, 1000)))) is not None
    assert refute(*parse_programs(TAILS.format(delta=least + Fraction(1, 1000))), seconds=1) is None


PRODUCT = """
adjacent one by 1
claim eps
product(x : private real) : bool
  a := $ Laplace(1/eps, 0)
  b := $ Laplace(1/eps, 0)
  if a * b + 9 * x > 4
    emit true
  else
    emit false
"""


def test_what_is_not_linear_is_sampled():
    (program,) = parse_programs(PRODUCT)
    found = refute(program)
    assert found.how == "sampled"
    assert not found.hopeless
    assert found.first.low > found.allowed.high * found.second.high
    assert replay(program, found)


def test_sampling_refutes_no_right_program():
    (program,) = parse_programs(PRODUCT.replace("a * b + 9 * x > 4", "a * a + (x + b) > 1"))
    assert refute(program, seconds=1) is None


MOVED = """
adjacent one by {by}
claim {claim}
moved(x : private real) : real
  k := $ {noise}
  return x + k
"""


@pytest.mark.parametrize(
    ("by", "claim", "noise"),
    [
        (3000, "1, 1/100", "Gaussian(1, 0)"),
        (10**6, "1, 1/100", "Gaussian(1, 0)"),
        (1, "1, 1/100", f"Gaussian(1/{10**19}, 0)"),
        (10**11, "1", "Laplace(10, 0)"),
        (1, "1", f"Laplace(1/{10**29}, 0)"),
        (1, "1", "Laplace(1/5000, 0)"),
    ],
)
def test_chances_that_are_next_to_nothing_become_no_long_fractions(by, claim, noise):
    (program,) = parse_programs(MOVED.format(by=by, claim=claim, noise=noise))
    found = refute(program, seconds=2)
    assert 0 <= found.second.low < found.second.high <= Fraction(1, 2**4000)
    assert found.first.low > found.allowed.high * found.second.high + found.delta
    assert "e-1" in str(found.second)
    assert not found.hopeless


def test_a_power_with_too_many_digits_is_left_alone():
    (program,) = parse_programs(MOVED.format(by=10**12, claim="eps", noise="DLaplace(1/eps, 0)").replace("real", "int"))
    assert refute(program, seconds=2).how == "enclosed"


def test_a_long_list_is_not_tried():
    text = "adjacent any\nclaim 1\nlong(q : private list of {} {{0,1,2}}) : int\n  return q[0]\n"
    (program,) = parse_programs(text.format(10**7))
    assert refute(program, seconds=2) is None
    (program,) = parse_programs(text.format(10))
    assert refute(program, seconds=2) is not None


def test_noise_that_is_never_below_0_is_tried_below_it():
    (program,) = parse_programs(
        "adjacent one by 1\nclaim eps\nabove(x : private real) : bool\n  u := $ Exp(1/eps)\n  return x + u > 0\n"
    )
    assert refute(program, seconds=2).hopeless

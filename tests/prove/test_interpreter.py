"""Programs run on exact numbers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.prove.corpus import text

from discreet.errors import BadInput
from discreet.verbs.prove.interpreter import Outputs, assumptions_hold, run, value_of
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.programs import load_program

HEAD = "adjacent all by 1\nclaim eps\n"
EPS = {"eps": Fraction(1, 2)}


def draws(*values):
    left = list(values)
    return lambda _sample, _arguments: left.pop(0)


def ran(source, inputs, *values, **options):
    loaded = load_program(source)
    return run(loaded.program, inputs, EPS, draws(*values), loaded.others, **options)


def test_a_truth_is_seen_to_be_no_number():
    assert Outputs((True,)) != Outputs((1,))
    assert Outputs((), (False, 2)) != Outputs((), (0, 2))
    assert Outputs((), 0) != Outputs((), False)
    assert Outputs((), 0) != Outputs()
    assert Outputs((Fraction(1),), Fraction(2)) == Outputs((1,), 2)
    assert len({Outputs((True,)), Outputs((1,)), Outputs((Fraction(1),)), Outputs((True,), fault=True)}) == 3


def test_the_sparse_vector_technique_stops_at_its_hits():
    inputs = {"q": (Fraction(1), Fraction(5), Fraction(9)), "T": Fraction(4), "N": 1}
    assert ran(text("svt"), inputs, Fraction(0), Fraction(0), Fraction(0)) == Outputs((False, True))


def test_scales_are_exact_and_reach_whoever_draws():
    seen = []
    loaded = load_program(text("laplace"))
    run(loaded.program, {"x": 1, "s": Fraction(1, 3)}, EPS, lambda one, given: seen.append((one.name, given)) or 0)
    assert seen == [("z", (Fraction(2, 3), 0))]


def test_a_returned_list_is_the_result():
    assert ran(text("dummy_sum1"), {"d": (1, 0)}, Fraction(1, 2), Fraction(1)) == Outputs((), (Fraction(3, 2), 2))


def test_a_call_gives_what_is_returned():
    assert ran(text("composed"), {"x": 1}, Fraction(1), Fraction(2)).returned == Fraction(5, 2)


def test_a_call_gives_what_is_emitted_if_nothing_is_returned():
    called = f"{HEAD}g(x : private real) : list of real\n  emit x\n  emit 2*x\n\n"
    caller = f"{HEAD}f(x : private real)\n  y := g(x)\n  emit y[1]\n"
    assert ran(called + caller, {"x": 3}) == Outputs((6,))


@pytest.mark.parametrize(
    "line",
    ["emit 1 / x", "emit q[1]", "emit q[-1]", "z := $ Laplace(x, 0)", "z := $ Bernoulli(2)", "z := $ Uniform(1, 0)",
     "emit -1 xor 1"],
)  # fmt: skip
def test_a_fault_ends_the_run_and_is_seen(line):
    source = f"{HEAD}f(x : private real, q : private list of real)\n  emit 7\n  {line}\n  emit 8\n"
    assert ran(source, {"x": 0, "q": (1,)}) == Outputs((7,), fault=True)


def test_and_or_and_if_look_no_further_than_they_need():
    lines = (
        "f(x : private real)",
        "  emit x != 0 and 1/x > 0",
        "  emit x == 0 or 1/x > 0",
        "  return 1/x if x > 0 else 0",
    )
    source = HEAD + "\n".join(lines)
    assert ran(source, {"x": 0}) == Outputs((False, True), 0)


def test_a_run_that_does_not_end_is_an_error_and_no_outcome():
    with pytest.raises(BadInput, match="does not terminate"):
        ran(f"{HEAD}f(x : private real)\n  while true\n    skip\n  emit 1\n", {"x": 0}, steps=1000)
    with pytest.raises(BadInput, match="needs x"):
        ran(f"{HEAD}f(x : private real)\n  emit 1\n", {})


def test_what_is_assumed_can_be_asked():
    program = load_program(text("svt")).program
    assert assumptions_hold(program, {"N": 1}, EPS)
    assert not assumptions_hold(program, {"N": 0}, EPS)


@given(st.fractions(), st.fractions(), st.fractions(min_value=1))
def test_arithmetic_is_that_of_fractions(a, b, c):
    found = value_of(
        parse_expression("max(a, b) - min(a, b) + abs(-a) / c * (a if a < b else c)"), {"a": a, "b": b, "c": c}
    )
    assert found == max(a, b) - min(a, b) + abs(-a) / c * (a if a < b else c)


@given(st.booleans(), st.booleans(), st.integers(0, 99), st.integers(0, 99))
def test_exclusive_or_is_of_truths_and_of_bits(p, q, m, n):
    assert value_of(parse_expression("p xor q"), {"p": p, "q": q}) is (p != q)
    assert value_of(parse_expression("m xor n"), {"m": m, "n": n}) == m ^ n

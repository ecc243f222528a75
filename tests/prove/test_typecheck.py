"""What kind every variable has, and what is refused before anything is proved."""

import pytest

from discreet.errors import BadProgram
from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.syntax import BOOL, INT, REAL, ListOf, Range
from discreet.verbs.prove.typecheck import check_types

HEAD = "adjacent all by 1\nclaim eps\n"


def program(body, inputs="q : private list of real, N : int", result="", head=HEAD):
    lines = "".join(f"  {line}\n" for line in body.splitlines())
    return f"{head}f({inputs}){result}\n{lines}"


def kinds(body, **said):
    text = program(body, **said)
    return check_types(parse_programs(text)[0], {}, text)


def test_a_variable_is_an_integer_until_it_gets_something_else():
    found = kinds("i := 0; s := 0\nwhile i < size(q)\n  s := s + q[i]; i := i + 1\nemit s")
    assert (found["i"], found["s"], found["eps"]) == (INT, REAL, REAL)
    assert kinds("a := 1; b := a; a := a / 2; emit b")["b"] == REAL


def test_lists_and_truths_have_their_kinds():
    found = kinds("r := []; s := []; t := 1 < 2; r := r ++ [t]; u := r[0]; emit u")
    assert (found["r"], found["t"], found["u"], found["s"]) == (ListOf(BOOL), BOOL, BOOL, ListOf(REAL))


def test_draws_have_the_kind_of_their_distribution():
    found = kinds(
        "a := $ Laplace(1/eps); b := $ DLaplace(1/eps, 0); c := $ Bernoulli(1/2); d := $ Uniform(0, 6)\n"
        "e := $ ExpMech(q, eps); f := $ Exp(1); g := $ Gaussian(1, 0); emit a"
    )
    assert [found[name] for name in "abcdefg"] == [REAL, INT, BOOL, INT, INT, REAL, REAL]


def test_integers_and_other_numbers_may_both_be_emitted():
    kinds("emit 1; emit 1/2; emit q[0]")
    with pytest.raises(BadProgram, match="emits a truth"):
        kinds("emit 1; emit true; return 1", result=" : int")


def test_an_input_keeps_what_was_declared():
    assert kinds("emit x", inputs="x : private {0,1}")["x"] == Range(0, 1)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("emit x", "x has no value here.*eps"),
        ("if N > 0\n  x := 1\nemit x", "x has no value here.*only in some branches"),
        ("while N > 0\n  x := 1\nemit x", "x has no value"),
        ("N := 1", "N is an input or eps, and cannot be changed"),
        ("eps := 1", "eps is an input or eps"),
        ("emit true; emit 1", "emits an integer, but elsewhere a truth"),
        ("if N > 0\n  emit 1\nelse\n  emit true\nreturn 1", "emits a truth value, but elsewhere an integer"),
        ("emit 1; emit [1]", "emits a list of int, but elsewhere an integer"),
        ("x := 1; x := true", "x is an integer elsewhere and gets a truth"),
        ("emit N + true", r"\+ cannot be used on an integer and a truth"),
        ("emit true < false", "< cannot be used"),
        ("if N\n  emit 1", "A condition must be a truth value, not an integer"),
        ("emit q[0.5]", "An index must be an integer, not a number"),
        ("emit N[0]", "N is an integer, not a list"),
        ("emit [1, true]", "values of one type"),
        ("emit [q]", "not lists"),
        ("emit q ++ 1", "joined by"),
        ("emit q == q", "== cannot be used"),
        ("x := $ Bernoulli(true)", "argument of Bernoulli"),
        ("x := $ DLaplace(1/eps, 1/2)", "argument of DLaplace must be an integer"),
        ("x := $ ExpMech(N, 1)", "argument of ExpMech"),
        ("return 1\nemit 2", "A return must be the last line"),
        ("if N > 0\n  return 1", "A return must be the last line"),
        ("emit 1/2 xor 1", "xor cannot be used"),
    ],
)
def test_what_is_refused(body, what):
    with pytest.raises(BadProgram, match=f"(?s){what}"):
        kinds(body)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"inputs": "N : int"}, "No input is private"),
        ({"inputs": "eps : private real"}, "eps is a parameter"),
        ({"inputs": "x : private bool"}, "x is a truth"),
        ({"head": "adjacent all by 1\nclaim q[0]\n"}, "claim depends on an item of q"),
        ({"head": "adjacent all by m\nclaim eps\n"}, "mentions m, which is not an input"),
        ({"head": "adjacent all by 1\nclaim x\n", "inputs": "x : private real"}, "depends on x, which is private"),
        ({"head": "adjacent all by 1\nclaim true\n"}, "claim must be a number, not a truth"),
        ({"result": " : list of bool"}, "What f emits must be a truth"),
    ],
)
def test_what_is_declared_is_looked_at(said, what):
    with pytest.raises(BadProgram, match=what):
        kinds("emit 1", **said)


def test_a_claim_may_depend_on_a_length_and_a_public_input():
    assert kinds("emit 1", head="adjacent l1 by N\nclaim size(q) * eps / N\n")


def test_an_error_shows_its_line():
    with pytest.raises(BadProgram) as error:
        load_program(program("i := 0\nemit i + true"))
    assert (error.value.line, error.value.column) == (5, 10)
    assert "emit i + true\n           ^" in str(error.value)


CALLED = f"{HEAD}g(x : private real, k : int) : real\n  return x\n\n"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("y := g(q[0])\nemit y", "g has 2 inputs, not 1"),
        ("y := g(q, N)\nemit y", "x of g must be a number"),
        ("y := g(q[0], 1/2)\nemit y", "k of g must be an integer"),
    ],
)
def test_a_call_fits_what_is_called(body, what):
    assert load_program(CALLED + program("y := g(q[0], N)\nemit y")).program.name == "f"
    with pytest.raises(BadProgram, match=what):
        load_program(CALLED + program(body))


def test_what_is_called_has_one_value():
    two = f"{HEAD}g(x : private real) : real\n  emit x\n  return x\n\n"
    with pytest.raises(BadProgram, match="not return a single value"):
        load_program(two + program("y := g(q[0])\nemit y"))
    emits = f"{HEAD}g(x : private real) : list of real\n  emit x\n\n"
    assert load_program(emits + program("y := g(q[0])\nemit y[0]"))


@pytest.mark.parametrize("claim", ["1/0", "1, 1/0", "1/(2 - 2)"])
def test_a_claim_has_a_value(claim):
    with pytest.raises(BadProgram, match=r"has no value: A division by zero\."):
        load_program(f"adjacent any\nclaim {claim}\nf(x : private {{0,1}}) : int\n  return x\n")

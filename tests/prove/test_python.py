"""The same programs as Python functions."""

import importlib.util
from typing import Literal

import pytest
from tests.prove.corpus import text

from discreet.errors import BadInput, BadProgram
from discreet.verbs.prove import Private, private
from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.prove import prove
from discreet.verbs.prove.python_programs import read_module

# ruff: noqa: F821, N803, N806 - the names of distributions, and eps, are words of the language; T and N are usual


@private(adjacent="all by 1", claim="eps")
def svt(q: Private[list[float]], T: float, N: int) -> list[bool]:
    """The sparse vector technique."""
    assert N >= 1
    rho = Laplace(2 / eps)
    Tn = T + rho
    i = 0
    count = 0
    while i < len(q) and count < N:
        eta = Laplace(4 * N / eps)
        if q[i] + eta >= Tn:
            yield True
            count += 1
        else:
            yield False
        i += 1


@private(adjacent="one", claim="eps")
def dummy_sum2(d: Private[list[Literal[0, 1]]]) -> list[float]:
    s = 0
    r = []
    for i in range(len(d)):
        z = Laplace(1 / eps)
        t = d[i] + z
        s = s + t
        r = r + [t]  # noqa: RUF005
    return r


@private(adjacent="one", claim="eps")
def noisy(x: Private[float]) -> float:
    z = Laplace(1 / eps, x)
    return z  # noqa: RET504


@private(adjacent="one", claim="2*eps")
def composed(x: Private[float]) -> float:
    a = noisy(x)
    b = noisy(x)
    return (a + b) * 0.5


@private(adjacent="one", claim="eps")
def leaky(x: Private[float]) -> float:
    return x


def test_a_function_is_the_program_of_the_same_text():
    assert load_program(svt).program == parse_programs(text("svt"))[0]


def test_a_for_that_counts_is_a_while():
    body = load_program(dummy_sum2).program.body
    again = parse_programs(
        "adjacent one by 1\nclaim eps\ndummy_sum2(d : private list of {0,1}) : list of real\n"
        "  s := 0; r := []; i := 0\n  while i < size(d)\n    z := $ Laplace(1/eps); t := d[i] + z\n"
        "    s := s + t; r := r ++ [t]; i := i + 1\n  return r\n"
    )
    assert body == again[0].body


def test_a_marked_function_may_call_another():
    loaded = load_program(composed)
    assert (loaded.program.name, list(loaded.others)) == ("composed", ["noisy"])
    assert prove(composed).word == "PROVED"


def test_marking_changes_nothing_and_nothing_is_checked_before_somebody_asks():
    assert leaky(3.5) == 3.5
    assert prove(leaky).word == "REFUTED"


def test_an_error_has_the_line_of_the_file():
    @private(adjacent="one", claim="eps")
    def wrong(x: Private[float]):
        yield x % 2

    with pytest.raises(BadProgram, match="not part of the language") as error:
        load_program(wrong)
    assert error.value.line == wrong.__code__.co_firstlineno + 2


def test_what_has_no_claim_or_no_source_is_refused():
    with pytest.raises(BadInput, match="len makes no privacy claim"):
        load_program(len)
    with pytest.raises(BadInput, match="cannot be read"):
        load_program(private(adjacent="one", claim="eps")(type("Odd", (), {"__call__": None})()))


def module(body, head="x: Private[float], q: Private[list[float]], n: int", mark='adjacent="all", claim="eps"'):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"@private({mark})\ndef f({head}):\n{lines}"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("yield x ** 2", "expression is not part"),
        ("yield x // 2", "expression is not part"),
        ("yield q[0:1]", "expression is not part"),
        ("yield sum(q)", "expression is not part"),
        ("yield [y for y in q]", "expression is not part"),
        ("yield x in q", "expression is not part"),
        ("yield 'text'", "expression is not part"),
        ("yield Laplace(1)", "a statement of its own"),
        ("y = Laplace(1, 2, 3)\nyield y", "2 arguments, not 3"),
        ("y = z = 1\nyield y", "statement is not part"),
        ("q[0] = 1", "statement is not part"),
        ("r = []\nr.append(x)\nyield r[0]", "statement is not part"),
        ("print(x)", "statement is not part"),
        ("import os", "statement is not part"),
        ("while n > 0:\n    break", "statement is not part"),
        ("try:\n    yield x\nexcept Exception:\n    pass", "statement is not part"),
        ("return", "statement is not part"),
        ("yield 1\nassert n > 0", "must be at the beginning"),
        ("for y in q:\n    yield y", "A for counts"),
        ("for i in range(n):\n    i = 2", "i is changed inside"),
        ("for i in range(n):\n    yield i\nyield i", "i is used outside"),
        ("m = 3\nfor i in range(m):\n    m = 4", "m is changed inside"),
        ("emit = 1\nyield emit", "reserved word"),
        ("yield 1e3j", "expression is not part"),
        ("yield 1e9999999", "too many digits"),
        ("yield 1e-9999999", "too many digits"),
        ("yield 0xfeed", "written in digits"),
    ],
)
def test_what_is_no_part_of_the_language_is_refused(body, what):
    with pytest.raises(BadProgram, match=what):
        read_module(module(body))


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"head": "x"}, "x has no type"),
        ({"head": "x: Private[dict]"}, "not a type of the language"),
        ({"head": "x: Private[Literal[0, 2]]"}, "not a type of the language"),
        ({"head": "x: Private[float] = 1"}, "plain parameters"),
        ({"head": "*x: Private[float]"}, "plain parameters"),
        ({"mark": "adjacent=near, claim='eps'"}, "must be strings"),
    ],
)
def test_inputs_and_claims_are_plain(said, what):
    with pytest.raises(BadProgram, match=what):
        read_module(module("yield 1", **said))


def test_numbers_are_as_they_are_written_and_comparisons_chain():
    program = read_module(module("yield 0.1 < x <= n and not x == -1\nyield n ^ 1 if x > 0 else max(n, abs(n))"))[0]
    again = parse_programs(
        "adjacent all\nclaim eps\nf(x : private real, q : private list of real, n : int)\n"
        "  emit 0.1 < x and x <= n and not x == -1\n  emit n xor 1 if x > 0 else max(n, abs(n))\n"
    )
    assert program.body == again[0].body


def test_a_file_is_parsed_and_never_run(tmp_path):
    file = tmp_path / "mechanisms.py"
    file.write_text("raise SystemExit\n" + module("z = Laplace(2/eps)\nyield x + z"))
    assert load_program(file).program.name == "f"
    with pytest.raises(BadProgram, match="not Python"):
        read_module("def f(:\n")
    with pytest.raises(BadProgram, match="No function is marked"):
        read_module("def f(x):\n    return x\n")


def test_a_function_of_another_module_is_read_from_its_file(tmp_path):
    file = tmp_path / "elsewhere.py"
    file.write_text(f"from discreet.verbs.prove import Private, private\n\n{module('yield x')}")
    spec = importlib.util.spec_from_file_location("elsewhere", file)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    assert load_program(found.f).program == read_module(file.read_text())[0]


def test_a_function_that_calls_itself_is_refused():
    with pytest.raises(BadProgram, match="expression is not part"):
        read_module(module("y = f(x, q, n)\nyield y"))


# -- names that are not what they look like ---------------------------------------------------------------------------

HEAD = "import functools\nfrom discreet.verbs.prove import Private, private\n"
MARK = '@private(adjacent="one by 1", claim="eps")\n'
NOISY = MARK + "def noisy(x: Private[float]) -> float:\n    z = Laplace(1 / eps)\n    return x + z\n"
CALLS = MARK + "def f(x: Private[float]) -> float:\n    y = noisy(x)\n    return y\n"
PLAIN = "def noisy(x):\n    return x\n"


def imported(folder, name, source):
    """A module from its text."""
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("@leak\n" + NOISY, "second decorator"),
        ("def leak(f):\n    return abs\n@leak\n" + NOISY, "second decorator"),
        (MARK + "@leak\n" + NOISY.removeprefix(MARK), "second decorator"),
        (NOISY + CALLS + PLAIN, "noisy gets another meaning here"),
        (NOISY + CALLS + NOISY, "noisy gets another meaning here"),
        (PLAIN + NOISY + CALLS, "noisy gets another meaning here"),
        (NOISY + CALLS + "from elsewhere import leak as noisy\n", "noisy gets another meaning here"),
        (NOISY + CALLS + "from discreet.verbs.prove import check as noisy\n", "noisy gets another meaning here"),
        (NOISY + CALLS + "if True:\n    noisy = abs\n", "noisy gets another meaning here"),
        (NOISY + CALLS + "def change():\n    global noisy\n    noisy = abs\n", "noisy gets another meaning here"),
        (NOISY + CALLS + "for noisy in []:\n    pass\n", "noisy gets another meaning here"),
        (NOISY + "def min(a, b):\n    return a\n", "min gets another meaning here"),
        (NOISY + "from elsewhere import Laplace\n", "Laplace gets another meaning here"),
        (NOISY + "from elsewhere import *\n", "import of \\* may give"),
        (NOISY + "class private:\n    pass\n", "private gets another meaning here"),
        (NOISY.replace("@", "@fake.") + "class fake:\n    pass\n", "fake gets another meaning here"),
        (NOISY.replace("Laplace", "fake.Laplace"), "not certain what this"),
        (NOISY.replace("z = ", "Laplace = 1\n    z = "), "a local name of this function"),
        (NOISY + CALLS.replace("x: P", "noisy: float, x: P"), "a local name of this function"),
    ],
)
def test_a_file_in_which_a_name_may_be_something_else_is_refused(source, what):
    assert read_module(HEAD + NOISY + CALLS)
    with pytest.raises(BadProgram, match=what):
        read_module(HEAD + source)


def test_the_mark_may_be_imported_in_every_way():
    for line, mark in (
        ("import discreet as dc", "prove.private"),
        ("from discreet.verbs import prove", "prove.private"),
    ):
        assert read_module(f"{line}\n{NOISY.replace('private(', f'{mark}(', 1)}")


def test_a_wrapped_function_is_refused(tmp_path):
    leak = "def leak(f):\n    @functools.wraps(f)\n    def g(x):\n        return x\n    return g\n"
    found = imported(tmp_path, "wrapped", f"{HEAD}{leak}@leak\n{NOISY}")
    with pytest.raises(BadInput, match="wraps another one"):
        load_program(found.noisy)
    same = imported(tmp_path, "twofold", f"{HEAD}def same(f):\n    return f\n@same\n{NOISY}")
    with pytest.raises(BadProgram, match="second decorator"):
        load_program(same.noisy)


def test_a_function_from_around_is_refused(tmp_path):
    inner = "".join(f"    {line}\n" for line in (PLAIN + CALLS).splitlines())
    found = imported(tmp_path, "around", f"{HEAD}{NOISY}def make():\n{inner}    return f\n")
    with pytest.raises(BadInput, match="noisy comes from a function that encloses f"):
        load_program(found.make())


def test_two_functions_of_one_name_are_refused(tmp_path):
    there = imported(tmp_path, "there", HEAD + NOISY.replace("x + z", "x") + CALLS.replace("def f", "def helper"))
    here = imported(tmp_path, "here", HEAD + NOISY + CALLS.replace("return y", "z = helper(x)\n    return y + z"))
    here.helper = there.helper
    with pytest.raises(BadInput, match="Two functions are called noisy"):
        load_program(here.f)
    here.noisy = lambda x: x  # not marked: that helper's is does not help
    with pytest.raises(BadProgram, match="not part of the language"):
        load_program(here.f)
    here.noisy = there.helper
    with pytest.raises(BadInput, match="another name of helper"):
        load_program(here.f)


@pytest.mark.parametrize("name", ["min", "len", "range", "Laplace"])
def test_a_word_of_the_language_that_is_something_else_is_refused(name, tmp_path):
    found = imported(tmp_path, "shadowing", HEAD + NOISY)
    assert load_program(found.noisy)
    setattr(found, name, lambda *given: 0)
    with pytest.raises(BadInput, match=f"{name} is redefined"):
        load_program(found.noisy)

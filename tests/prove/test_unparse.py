from fractions import Fraction

import pytest
from tests.prove.corpus import FILES, text

from discreet.verbs.prove.parser import parse_expression, parse_programs
from discreet.verbs.prove.syntax import Number, Operation
from discreet.verbs.prove.unparse import digest, expression_text


@pytest.mark.parametrize(
    "source",
    [
        "a - (b - c)",
        "a - b - c",
        "-(a + b) * c",
        "a / (b * c)",
        "not (a and b) or c",
        "x if a < b else y if c else z",
        "(x if a else y) + 1",
        "q[i + 1] - q'[i]",
        "min(a, max(b, abs(-c)))",
        "size(q) * eps",
        "-(-x)",
        "1 - -(-(-x))",
        "xor(a, b)",
        "r ++ [t, 1]",
        "(a < b) == c",
        "shown1'' + spent_q''[i]",
    ],
)
def test_what_is_written_is_read_as_the_same(source):
    tree = parse_expression(source)
    assert parse_expression(expression_text(tree)) == tree
    assert expression_text(parse_expression(expression_text(tree))) == expression_text(tree)


def test_fractions_and_negative_numbers_keep_their_value():
    assert expression_text(Operation("neg", (Number(Fraction(-1)),))) == "-(-1)"
    half, minus = (
        expression_text(Number(Fraction(1, 2))),
        expression_text(Operation("-", (Number(Fraction(1)), Number(Fraction(-2, 3))))),
    )
    assert half == "1/2"
    assert minus == "1 - -2/3"
    assert expression_text(Operation("/", (Number(Fraction(1)), Number(Fraction(1, 2))))) == "1 / (1/2)"


def test_the_digest_ignores_layout_and_comments_and_nothing_else():
    source = text("svt")
    [program] = parse_programs(source)
    spread = source.replace("i := 0; count := 0", "i := 0\n  count := 0").replace("# The", "# Any")
    assert digest(parse_programs(spread)[0]) == digest(program)
    assert digest(parse_programs(source.replace("4*N", "3*N"))[0]) != digest(program)
    assert digest(parse_programs(source.replace("all by 1", "all by 2"))[0]) != digest(program)
    assert digest(parse_programs(source.replace("claim eps", "claim 2*eps"))[0]) != digest(program)


def test_every_program_has_a_digest_of_its_own():
    programs = [program for file in FILES for program in parse_programs(file.read_text())]
    assert len({digest(program) for program in programs}) >= len({(program.name, program.body) for program in programs})

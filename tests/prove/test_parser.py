"""Programs as text: what is read, and how it is said what is wrong."""

import pytest
from tests.prove.corpus import FILES, expected

from discreet.errors import BadProgram
from discreet.verbs.prove.parser import parse_adjacent, parse_expression, parse_programs
from discreet.verbs.prove.syntax import INT, REAL, Assign, Call, If, Joined, ListOf, Name, Range, Sample, While
from discreet.verbs.prove.typecheck import check_types
from discreet.verbs.prove.unparse import digest, expression_text, program_text

HEAD = "adjacent all by 1\nclaim eps\n"


def body(text, inputs="q : private list of real"):
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    return parse_programs(f"{HEAD}f({inputs})\n{lines}")[0].body


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_program_of_the_corpus_says_what_is_expected_and_is_read_back_from_what_is_written(file):
    assert expected(file) in ("proved", "refuted")
    programs = parse_programs(file.read_text())
    assert parse_programs("\n".join(map(program_text, programs))) == programs


def test_a_block_is_what_is_indented_and_semicolons_part_statements():
    found = body("i := 0; s := 0\nwhile i < 3\n  s := s + i; i := i + 1\nif s > 1 then s := 0\nelse s := 1")
    assert [type(one) for one in found] == [Assign, Assign, While, If]
    assert len(found[2].body) == 2
    assert found[3].other[0].name == "s"


def test_else_if_needs_no_further_indent():
    found = body("if q[0] > 1\n  emit 1\nelse if q[0] > 0\n  emit 2\nelse\n  emit 3")
    assert isinstance(found[0].other[0], If)
    assert found[0].other[0].other


def test_a_draw_has_its_arguments_and_a_laplace_is_centred_at_0_unless_said():
    assert body("z := $ Laplace(1/eps)") == body("z := $ Laplace(1/eps, 0)")
    assert isinstance(body("z := $ Laplace(1/eps)")[0], Sample)


def test_types_have_ranges_lengths_and_sets():
    program = parse_programs(
        f"{HEAD}f(a : private list of 3 int, b : private list of -1..1, c : {{0,1}}, d : public real)\n  emit 1\n"
    )[0]
    assert [one.type for one in program.inputs] == [ListOf(INT, 3), ListOf(Range(-1, 1)), Range(0, 1), REAL]
    assert [one.private for one in program.inputs] == [True, True, False, False]


def test_a_later_program_calls_an_earlier_one_only():
    first = f"{HEAD}a(x : private real) : real\n  return x\n"
    both = parse_programs(f"{first}{HEAD}b(x : private real)\n  y := a(x)\n  emit y\n")
    assert isinstance(both[1].body[0], Call)
    with pytest.raises(BadProgram, match="end of the line"):
        parse_programs(f"{HEAD}b(x : private real)\n  y := a(x)\n  emit y\n{first}")


@pytest.mark.parametrize(
    "text",
    ["1 + 2 * 3 - 4 / 5", "not a and b or c", "a if b else c if d else e", "-(a + b) * -c", "a - (b - c)",
     "a / (b / c)", "(a < b) == (c < d)", "min(a, max(b, abs(c)))", "r ++ [a, b] ++ []", "q[i + 1] xor size(q)",
     "(a if b else c) + 1"],
)  # fmt: skip
def test_expressions_are_read_back_from_what_is_written(text):
    found = parse_expression(text)
    assert parse_expression(expression_text(found)) == found


def test_joining_binds_more_loosely_than_adding():
    assert isinstance(parse_expression("r ++ [a + b]"), Joined)
    assert parse_adjacent("l1 by k").by == Name("k")


def test_two_strokes_are_a_comment_only_between_blanks():
    x = parse_expression("x - (-1)")
    assert parse_expression("x--1") == parse_expression("x - -1") == parse_expression("x --1") == x
    assert parse_expression("x -- 1") == parse_expression("x # 1") == parse_expression("x --") == Name("x")
    assert body("-- a comment\nemit 1") == body("emit 1")


def test_a_colon_may_part_a_condition_from_a_statement_on_its_line():
    assert body("if q[0] > 1: emit 1\nelse: emit 2") == body("if q[0] > 1\n  emit 1\nelse\n  emit 2")
    assert body("i := 0\nwhile i < 2: i := i + 1") == body("i := 0\nwhile i < 2 do i := i + 1")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("emit size q", "Expected '\\('"),
        ("i := 0\nwhile i < 2 then i := 3", "Expected ':='|reserved word"),
        ("if q[0] > 1 do emit 1", "reserved word"),
        ("if q[0] > 1 then if q[0] > 2 then emit 1\nelse emit 2", "'if' cannot follow 'if'"),
        ("i := 0\nwhile i < 2 do if q[0] > 2 then emit 1\nelse emit 2", "'if' cannot follow 'while'"),
        ("if q[0] > 1 then emit 1\nelse while q[0] > 2 do emit 1", "'while' cannot follow 'else'"),
        ("if q[0] > 1 then i := 0; if q[0] > 2\n  emit 1", "'if' cannot follow 'if'"),
        ("if q[0] > 1:\n  emit 1", "A colon can only stand before a statement"),
        ("if q[0] > 1\n  emit 1\nelse:\n  emit 2", "A colon can only stand before a statement"),
        ("if q[0] > 1 then: emit 1", "Expected a name"),
    ],
)
def test_what_the_grammar_does_not_have_is_refused(text, what):
    with pytest.raises(BadProgram, match=what):
        body(text)


@pytest.mark.parametrize(
    "value",
    [
        *("(" * 5000 + "1" + ")" * 5000, "-" * 5000 + "1", "not " * 5000 + "true", "[" * 5000, "q[" * 5000),
        *("min(1, " * 5000, "1" + " + 1" * 5000, "1 if true else " * 5000 + "1", "- " * 5000 + "1"),
        "(" * 30 + "1" + " + 1) * 2" * 30 + " + 1" * 90,
    ],
    ids=range(10),
)
def test_what_is_nested_too_deep_is_refused_and_fills_no_stack(value):
    with pytest.raises(BadProgram, match=r"nested more than 32 deep|expression is too long"):
        body(f"x := {value}")


def test_blocks_too_deep_are_refused():
    text = "".join(f"{'  ' * depth}if q[0] > 1\n" for depth in range(400)) + "  " * 400 + "emit 1"
    with pytest.raises(BadProgram, match="nested more than 32 deep"):
        body(text)


def test_what_may_be_nested_is_read_typed_and_written():
    deep = "(" * 30 + "1" + " - 1) * 2" * 30
    found = parse_programs(f"{HEAD}f(x : private real)\n  emit {deep} + {' + '.join('1' * 30)}\n")[0]
    check_types(found)
    assert parse_programs(program_text(found))[0] == found
    assert digest(found)


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("", 1, 1, "no program"),
        ("claim eps", 1, 1, "Expected 'adjacent'"),
        ("adjacent near by 1\nclaim eps\nf(x : private real)\n  emit x", 1, 10, "one of one, all"),
        (f"{HEAD}f(x : private thing)\n  emit x", 3, 15, "Expected .*number"),
        (f"{HEAD}f(x : private real, x : real)\n  emit x", 3, 1, "same name"),
        (f"{HEAD}while(x : private real)\n  emit x", 3, 1, "reserved word"),
        (f"{HEAD}f(x : private real)\n  y = 1", 4, 5, "Expected ':='"),
        (f"{HEAD}f(x : private real)\n  y := $ Normal(1)", 4, 10, "no distribution Normal"),
        (f"{HEAD}f(x : private real)\n  y := $ Exp(1, 2)", 4, 10, "1 arguments, not 2"),
        (f"{HEAD}f(x : private real)\n  y := x %% 2", 4, 10, "not part of the language"),
        (f"{HEAD}f(x : private real)\n\temit x", 4, 1, "tab"),
        (f"{HEAD}f(x : private real)\n    emit x\n  emit x", 5, 3, "matches no line above"),
        (f"{HEAD}f(x : private real)\n  emit (x", 4, 10, "Expected '\\)'"),
        (f"{HEAD}f(x : private real)\n  emit min(x)", 4, 8, "2 arguments"),
        (f"{HEAD}f(x : private {{0,2}})\n  emit x", 3, 20, "without a gap"),
        (f"{HEAD}f(x : private 3..1)\n  emit x", 3, 19, "no integer from 3 to 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, line, column, what):
    with pytest.raises(BadProgram, match=what) as error:
        parse_programs(text)
    assert (error.value.line, error.value.column) == (line, column)


def test_a_number_with_very_many_digits_is_refused():
    with pytest.raises(BadProgram, match="too many digits"):
        parse_programs(f"adjacent one by 1{'0' * 5000}\nclaim 1\nf(x : private real) : real\n  return x\n")

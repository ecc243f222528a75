"""Policies of audited tables, audited questions, and what answers promise: what is allowed, exactly."""

from dataclasses import replace
from fractions import Fraction

import pytest
from sqlglot import exp

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadInput, BadQuery, NotDeclared, Refused
from discreet.verbs.ask.query_auditing.policy import Policy, Watch, ends_of, plain, promised, require_many
from discreet.verbs.ask.query_auditing.question import audited_question, table_of
from discreet.verbs.ask.rows import table_rows


def number(name, kind=Kind.INTEGER, low=0, high=1000, **rest):
    return Column(name, kind, Role.SENSITIVE, bounds=(low, high), **({"required": True} | rest))


CARD = Card(
    "staff",
    (
        Column("who", Kind.INTEGER, Role.IDENTIFIER),
        Column("city", Kind.TEXT, Role.QUASI, categories=("Rome", "Milan")),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(18, 70)),
        Column("illness", Kind.TEXT, Role.SENSITIVE, categories=("flu", "none")),
        number("salary", Kind.REAL, 0.0, 1000.0),
        number("bonus", high=99),
        number("few", high=98),
        number("cents", Kind.DECIMAL),
        number("lacking", required=False),
        Column("boundless", Kind.REAL, Role.SENSITIVE, required=True),
        Column("ill", Kind.BOOLEAN, Role.SENSITIVE, required=True),
    ),
    unit="who",
    rows_per_unit=1,
)


@pytest.mark.parametrize("said", ["sum", "extremes", "bounded=1000:look", "bounded=1000", "bounded=1/3:look"])
def test_a_way_to_audit_is_written_as_it_is_read(said):
    assert str(Watch.of(f" {said} ")) == said


def test_a_way_to_audit_has_its_parts():
    assert Watch.of("sum") == Watch("sum")
    assert Watch.of("bounded=5:look") == Watch("bounded", Fraction(5), look=True)
    assert not Watch.of("bounded=5").look


@pytest.mark.parametrize("said", ["", "mean", "sum=1", "sum:look", "extremes:look", "bounded", "bounded:look", "sum,"])
def test_other_ways_are_none(said):
    with pytest.raises(BadInput, match="is not a kind of query auditing"):
        Watch.of(said)


def test_a_policy_is_kept_as_it_is():
    policy = Policy.of({"salary": "sum", "bonus": "extremes"}, ["city", "age", "city"], CARD)
    assert policy.by == ("city", "age")
    assert str(policy) == "salary (sum), bonus (extremes)"
    assert Policy.from_dict(policy.to_dict()) == policy


@pytest.mark.parametrize(
    ("columns", "by", "error", "said"),
    [
        ({}, (), BadInput, "No columns to audit"),
        ({"who": "sum"}, (), BadInput, "who cannot be audited for sum"),
        ({"city": "sum"}, (), BadInput, "city cannot be audited for sum"),
        ({"ill": "sum"}, (), BadInput, "ill cannot be audited for sum"),
        ({"cents": "bounded=1:look"}, (), BadInput, "cents has decimals"),
        ({"salary": "bounded=1"}, (), Refused, "could lie at its bound"),
        ({"lacking": "sum"}, (), NotDeclared, "does not require a value"),
        ({"boundless": "sum"}, (), NotDeclared, "no bounds of boundless"),
        ({"few": "sum"}, (), Refused, "few takes fewer than 100 values"),
        ({"salary": "bounded=0:look"}, (), BadInput, "The width for salary lies above 0"),
        ({"salary": "bounded=1001:look"}, (), BadInput, "is at most 1000"),
        ({"ill": "bounded=2:look"}, (), BadInput, "is at most 1"),
        ({"salary": "sum"}, ("illness",), Refused, "illness cannot be used in conditions"),
        ({"salary": "sum", "age": "bounded=1:look"}, ("age",), Exception, "age"),
    ],
)
def test_what_cannot_be_audited(columns, by, error, said):
    with pytest.raises(error, match=said):
        Policy.of(columns, by, CARD)


def test_what_can_be_audited_just_so():
    for columns in (
        {"bonus": "sum"},
        {"salary": "bounded=1000:look"},
        {"ill": "bounded=1:look"},
        {"cents": "sum"},
        {"few": "bounded=98:look"},
    ):
        assert Policy.of(columns, ["city"], CARD).columns.keys() == columns.keys()
    ages = replace(CARD, columns=(CARD["who"], replace(CARD["age"], required=True)))
    with pytest.raises(Refused, match="age cannot be used in conditions"):
        Policy({"age": Watch.of("bounded=1:look")}, ("age",)).require_fits(ages)


def test_bounded_sums_are_audited_where_everybody_has_one_row():
    several = replace(CARD, rows_per_unit=2)
    with pytest.raises(Refused, match="need one row per person"):
        Policy.of({"salary": "bounded=1:look"}, (), several)
    assert Policy.of({"salary": "sum"}, (), several)
    rows = Card("staff", (CARD["salary"],))
    assert Policy.of({"salary": "bounded=1:look"}, (), rows), "each row is a person's own"


def test_ends_and_steps():
    assert ends_of(CARD, "salary") == (0, 1000)
    assert ends_of(CARD, "ill") == (0, 1)
    require_many("x", (Fraction(1), Fraction(100)), 1)
    require_many("x", (Fraction(0), Fraction("9.9")), Fraction(1, 10))
    for ends, step in (((Fraction(1), Fraction(99)), 1), ((Fraction(0), Fraction("9.8")), Fraction(1, 10))):
        with pytest.raises(Refused, match="fewer than 100 values"):
            require_many("x", ends, step)
    assert (plain(Fraction(3)), plain(Fraction(1, 3))) == ("3", "1/3")


def assumed(columns, asked, by=("city", "age"), card=CARD):
    return " ".join(promised(Policy({name: Watch.of(how) for name, how in columns.items()}, by), card, asked).assumes)


def test_an_answer_promises_for_the_columns_that_were_asked():
    policy = Policy({"salary": Watch.of("sum"), "bonus": Watch.of("bounded=9:look")}, ("city",))
    said = promised(policy, CARD, ["bonus"])
    (claim,) = said.models
    assert dict(claim.parameters) == {"column": "bonus", "how": "bounded=9:look", "table": "staff"}
    assert claim.text.endswith("values of bonus possible that are 9 apart")
    assert any("Denials about bonus depend on the answers" in one for one in said.caveats)
    plain_sum = promised(policy, CARD, ["salary"])
    assert plain_sum.models[0].text.startswith(
        "audited: together with all earlier audited answers, it determines no salary"
    )
    assert not any("depend on the answers" in one for one in plain_sum.caveats)
    assert (said.unit, promised(policy, Card("staff", (CARD["salary"],)), []).unit) == ("who", "row")


def test_an_answer_says_what_it_rests_on():
    assert "Anyone may know city, age and who of everyone in staff." in assumed({"salary": "sum"}, ["salary"])
    assert "Anyone may know who of everyone" in assumed({"salary": "sum"}, ["salary"], ())
    rows = Card("staff", (CARD["salary"], CARD["city"]))
    assert "Anyone may know who is in staff." in assumed({"salary": "sum"}, ["salary"], (), rows)
    assert "Anyone may know city of everyone" in assumed({"salary": "sum"}, ["salary"], ("city",), rows)
    beyond, end, apart, solver = "any number", "No maximum", "are unrelated", "solver"
    for columns, asked, expected in (
        ({"salary": "sum"}, ["salary"], {beyond}),
        ({"salary": "extremes"}, ["salary"], {beyond, end}),
        ({"salary": "bounded=1:look"}, ["salary"], {solver}),
        ({"salary": "sum", "bonus": "sum"}, ["salary"], {beyond}),
        ({"salary": "sum", "bonus": "extremes"}, ["salary"], {beyond, apart}),
    ):
        said = assumed(columns, asked)
        assert {one for one in (beyond, end, apart, solver) if one in said} == expected


# -- questions

ROWS = table_rows(Table(CARD, None, exp.select("*").from_("nowhere")))  # type: ignore[arg-type]
POLICY = Policy({"salary": Watch.of("sum"), "bonus": Watch.of("extremes")}, ("city", "age"))


def asked(text):
    return audited_question(text, ROWS, POLICY)


def test_an_audited_question_has_figures_keys_and_a_condition():
    made = asked(
        "SELECT city AS c, SUM(salary), AVG(S.Salary) AS m, COUNT(*) AS n, MAX(bonus) "
        "FROM staff AS s WHERE age > 40 GROUP BY c"
    )
    assert [(one.name, one.aggregate, one.column) for one in made.figures] == [
        ("column2", "sum", "salary"),
        ("m", "avg", "salary"),
        ("n", "count", ""),
        ("column5", "max", "bonus"),
    ]
    assert made.weighed == (("sum", "salary"), ("max", "bonus"))
    assert [name for name, _ in made.keys] == ["c"]
    assert made.where is not None
    assert asked("SELECT SUM(salary) FROM staff").where is None
    assert table_of("SELECT SUM(salary) FROM Staff AS s") == "Staff"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT SUM(salary) FROM staff; SELECT 1", "must be one SELECT"),
        ("DROP TABLE staff", "must be one SELECT"),
        ("SELECT SUM(salary) FROM staff ORDER BY 1", "ORDER BY is not supported"),
        ("SELECT SUM(salary) FROM staff WHERE age IN (SELECT 1)", "does not support subqueries"),
        ("SELECT SUM(salary) FROM (SELECT 1) AS staff", "one table of the workspace|does not support subqueries"),
        ("SELECT SUM(salary)", "one table of the workspace"),
        ("SELECT SUM(salary) FROM a.staff", "one plain table: without joins"),
        ("SELECT SUM(salary) FROM staff AS s(a, b)", "Column aliases"),
        ("SELECT SUM(salary) FROM staff WHERE illness = 'flu'", "illness cannot be used in conditions or groups"),
        ("SELECT SUM(salary) FROM staff WHERE age", "WHERE takes a condition"),
        ("SELECT illness, SUM(salary) FROM staff GROUP BY illness", "illness cannot be used in conditions or groups"),
        ("SELECT illness AS i, SUM(salary) FROM staff GROUP BY 1", "illness cannot be used in conditions or groups"),
        ("SELECT SUM(salary) FROM staff GROUP BY city", "must be in SELECT"),
        ("SELECT COUNT(*) FROM staff", "has no audited column"),
        ("SELECT city FROM staff GROUP BY city", "has no audited column"),
        ("SELECT SUM(salary) AS a, AVG(salary) AS A FROM staff", "Two columns of the answer are called"),
        ("SELECT SUM(age) FROM staff", "age is not audited"),
        ("SELECT SUM(salary + 1) FROM staff", "cannot be audited"),
        ("SELECT SUM(DISTINCT salary) FROM staff", "cannot be audited"),
        ("SELECT MEDIAN(salary) FROM staff", "cannot be audited"),
        ("SELECT COUNT(salary) FROM staff", "cannot be audited"),
        ("SELECT MAX(salary) FROM staff", "salary is audited for sum"),
        ("SELECT SUM(bonus) FROM staff", "bonus is audited for extremes"),
        ("SELECT SUM(x.salary) FROM staff", "There is no x.salary here"),
        ("SELECT SUM(salary) FROM staff WHERE city = '\ud800'", "incomplete Unicode character"),
    ],
)
def test_what_an_auditor_does_not_answer_for(text, said):
    with pytest.raises(BadQuery, match=said):
        asked(text)


def test_the_longest_audited_question():
    text = "SELECT SUM(salary) FROM staff"
    assert table_of(text.ljust(3_000)) == "staff"
    with pytest.raises(BadQuery, match="longer than 3,000"):
        table_of(text.ljust(3_001))

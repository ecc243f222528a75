"""The same question is the same however it is written, and no other question is."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.ask.visits import CARD, MORE, PEOPLE_CARD, ROWS, loaded

from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.verbs.ask.answer import exact_answer
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.question import fingerprint, relabel

SAME = [
    ("SELECT COUNT(*) AS n FROM visits", "select  count ( * ) as N from VISITS -- again"),
    ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(1) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(*) FROM visits AS v"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 30", "SELECT COUNT(*) AS n FROM visits WHERE (30 < ((age)))"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 30", 'SELECT COUNT(*) AS n FROM visits v WHERE v."AGE" > 30'),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 30", "SELECT COUNT(*) AS n FROM visits WHERE NOT age <= 30"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 30", "SELECT COUNT(*) AS n FROM visits WHERE NOT NOT age > 30"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE NOT (NOT member)"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age <> 30", "SELECT COUNT(*) AS n FROM visits WHERE NOT 30 = age"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age != 30", "SELECT COUNT(*) AS n FROM visits WHERE age <> 30"),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age BETWEEN 3 AND 9",
        "SELECT COUNT(*) AS n FROM visits WHERE 9 >= age AND 3 <= age",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND (member AND city = 'Oslo')",
        "SELECT COUNT(*) AS n FROM visits WHERE ('Oslo' = city AND age > 3) AND member",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age IN (3, 4) OR member",
        "SELECT COUNT(*) AS n FROM visits WHERE member OR age IN (4, 3)",
    ),
    (
        "SELECT city, AVG(age) AS a FROM visits GROUP BY city",
        "SELECT Visits.City AS town, AVG(visits.age) FROM visits GROUP BY 1",
    ),
    (
        "WITH w AS (SELECT age, city FROM visits WHERE member) SELECT city, SUM(age) AS s FROM w GROUP BY city",
        "SELECT x.city, SUM(old) FROM (SELECT v.age AS old, city FROM visits v WHERE member) AS x GROUP BY x.city",
    ),
    (
        "SELECT v.city, COUNT(*) AS n FROM visits AS v JOIN people AS p ON v.person = p.person GROUP BY v.city",
        "SELECT a.city, COUNT(*) AS n FROM visits AS a JOIN people AS b ON a.person = b.person GROUP BY a.city",
    ),
    ("SELECT SUM(age + change) AS s FROM visits", "SELECT SUM(change + age) AS s FROM visits"),
    (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY 1 HAVING n > 5 AND city <> 'Oslo' ORDER BY n LIMIT 2",
        "SELECT city, COUNT(*) AS m FROM visits GROUP BY 1 HAVING NOT city = 'Oslo' AND 5 < m ORDER BY m LIMIT 2",
    ),
    (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) BETWEEN -1 AND 5",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING n <= 5 AND -1 <= n",
    ),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member AND TRUE"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member = TRUE"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE FALSE <> member"),
    ("SELECT COUNT(*) AS n FROM visits WHERE NOT member", "SELECT COUNT(*) AS n FROM visits WHERE member = FALSE"),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age > 3 OR member",
        "SELECT COUNT(*) AS n FROM visits WHERE (age > 3 OR FALSE OR member) OR 3 < age",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND member",
        "SELECT COUNT(*) AS n FROM visits WHERE member AND age > 3 AND TRUE AND (member = TRUE)",
    ),
    (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING n > 5",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING (n > 5 AND 5 < n) = TRUE AND TRUE",
    ),
]
OTHER = [
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member IS TRUE OR TRUE"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member AND FALSE"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member OR TRUE"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member = FALSE"),
    ("SELECT COUNT(member) AS n FROM visits", "SELECT COUNT(member IS TRUE) AS n FROM visits"),
    ("SELECT COUNT(*) AS h FROM visits", "SELECT COUNT(*) AND TRUE AS h FROM visits"),
    ("SELECT COUNT(*) AS h FROM visits", "SELECT COUNT(*) AND COUNT(*) AS h FROM visits"),
    ("SELECT COUNT(*) AS h FROM visits", "SELECT COUNT(*) = TRUE AS h FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(age) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(DISTINCT person) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 30", "SELECT COUNT(*) AS n FROM visits WHERE age >= 30"),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 30", "SELECT COUNT(*) AS n FROM visits WHERE 30 > age"),
    ("SELECT COUNT(*) AS n FROM visits WHERE note = 'Flu'", "SELECT COUNT(*) AS n FROM visits WHERE note = 'flu'"),
    ("SELECT COUNT(*) AS n FROM visits WHERE note = 'flu'", "SELECT COUNT(*) AS n FROM visits WHERE note = 'flu '"),
    ("SELECT COUNT(*) AS n FROM visits WHERE note LIKE 'a%'", "SELECT COUNT(*) AS n FROM visits WHERE note LIKE 'A%'"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE NOT member"),
    ("SELECT COUNT(*) AS n FROM visits WHERE member", "SELECT COUNT(*) AS n FROM visits WHERE member IS NOT NULL"),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND member OR city = 'Oslo'",
        "SELECT COUNT(*) AS n FROM visits WHERE age > 3 AND (member OR city = 'Oslo')",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age IN (3, 4)",
        "SELECT COUNT(*) AS n FROM visits WHERE age IN (3, 4, NULL)",
    ),
    ("SELECT SUM(income + age + grade) AS s FROM visits", "SELECT SUM(income + (age + grade)) AS s FROM visits"),
    ("SELECT SUM(age - change) AS s FROM visits", "SELECT SUM(change - age) AS s FROM visits"),
    ("SELECT COUNT(*) / 2 AS h FROM visits", "SELECT COUNT(*) / 2.0 AS h FROM visits"),
    ("SELECT COUNT(*) AS h FROM visits", "SELECT NOT NOT COUNT(*) AS h FROM visits"),
    ("SELECT COUNT(*) AS n, SUM(age) AS s FROM visits", "SELECT SUM(age) AS s, COUNT(*) AS n FROM visits"),
    ("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "SELECT COUNT(*) AS n FROM visits GROUP BY city"),
    (
        "SELECT city, member, COUNT(*) AS n FROM visits GROUP BY city, member",
        "SELECT city, member, COUNT(*) AS n FROM visits GROUP BY member, city",
    ),
    (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC",
    ),
    (
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n LIMIT 1",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n LIMIT 2",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age > 3",
        "SELECT COUNT(*) FILTER (WHERE age > 3) AS n, COUNT(*) AS m FROM visits",
    ),
    (  # in the second the cast may fail before the first condition says no, and then it is NULL
        "SELECT COUNT(*) < 100 AND CAST(COUNT(*) AS TINYINT) > 3 AS h FROM visits",
        "SELECT CAST(COUNT(*) AS TINYINT) > 3 AND COUNT(*) < 100 AS h FROM visits",
    ),
    (  # 2 ** 53 + 1 is between, if it is compared as a double; it is not at most 2 ** 53
        "SELECT COUNT(*) BETWEEN 1e0 AND 9007199254740992 AS h FROM visits",
        "SELECT COUNT(*) >= 1e0 AND COUNT(*) <= 9007199254740992 AS h FROM visits",
    ),
]


def rows(seed: int) -> list[tuple[object, ...]]:
    """Visits that the card allows, with values of others' rows and NULLs in every column but that of the unit."""
    random = Random(seed)  # noqa: S311
    columns = list(zip(*ROWS, strict=True))
    return [
        (row[0], *(None if random.random() < 0.2 else random.choice(column) for column in columns[1:])) for row in ROWS
    ]


@pytest.fixture(scope="module")
def worlds() -> Iterator[list[dict[str, Table]]]:
    engine = DuckDB()
    people = loaded(engine, PEOPLE_CARD, MORE, "people")
    made = [{"visits": loaded(engine, CARD, rows(seed), f"visits {seed}"), "people": people} for seed in range(2)]
    yield made
    engine.close()


def told(text: str, world: dict[str, Table]) -> pa.Table:
    """The answer to a question, without noise and whatever its columns are called."""
    made = exact_answer(plan(text, world), {})
    return made.rename_columns([str(place) for place in range(made.num_columns)])


def named(text: str, world: dict[str, Table]) -> str:
    return fingerprint(plan(text, world), world)


def same(text: str, other: str, world: dict[str, Table]) -> bool:
    return named(text, world) == named(other, world)


@pytest.mark.parametrize(("text", "other"), SAME)
def test_a_question_is_the_same_however_it_is_written(worlds: list[dict[str, Table]], text: str, other: str) -> None:
    assert same(text, other, worlds[0])
    for world in worlds:
        assert told(text, world).equals(told(other, world))


@pytest.mark.parametrize(("text", "other"), OTHER)
def test_a_question_that_means_something_else_is_another(worlds: list[dict[str, Table]], text: str, other: str) -> None:
    assert not same(text, other, worlds[0])


def test_the_same_answer_gets_the_names_of_whoever_asks(worlds: list[dict[str, Table]]) -> None:
    first, second = (plan(text, worlds[0]) for text in SAME[13])
    made = exact_answer(first, {})
    assert relabel(first, made).equals(made)
    assert relabel(second, made).column_names == ["town", "column2", "column2_error"]
    assert relabel(second, made).columns == made.columns


def test_a_question_is_the_same_wherever_the_rows_lie(worlds: list[dict[str, Table]]) -> None:
    for text, _ in SAME:
        assert named(text, worlds[0]) == named(text, worlds[1]), "what the bounded tables are is said beside it"
    joined = "SELECT COUNT(*) AS n FROM {} AS a JOIN {} AS b ON a.person = b.person"
    assert not same(joined.format("visits", "people"), joined.format("people", "visits"), worlds[0])


# -- random questions, rewritten at random


VALUES = ["age", "change", "grade", "income", "3", "7", "(age + change)", "(change * 2)", "ABS(change)"]
CONDITIONS = [
    "member",
    "note = 'flu '",
    "note LIKE 'a%'",
    "age IS NULL",
    "city IN ('Oslo', 'it''s')",
    "grade IN (1, 2)",
]


@st.composite
def atoms(draw: st.DrawFn) -> str:
    one, other = draw(st.permutations(VALUES))[:2]
    sign = draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]))
    between = f"{one} BETWEEN {draw(st.integers(-2, 3))} AND {other}"
    return draw(st.sampled_from([f"{one} {sign} {other}", between, *CONDITIONS]))


conditions = st.recursive(
    atoms(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda one: f"NOT ({one})"),
    ),
    max_leaves=4,
)


HAVING = ["f0 > 1", "f0 BETWEEN 1 AND 20", "f0 <= 9", "f0 IN (4, 5, 6)", "NOT f0 = 3"]
RISKY = [
    "CAST(f0 AS TINYINT) > 3",
    "f0 * 9000000000000000000 > 3",
    "1.5 + f0 > 3.5",
    "city > 3",
    "f0 BETWEEN 1e0 AND 7",
]
"""Conditions that may fail on some figures, or are compared in another type than they seem to be."""


@st.composite
def questions(draw: st.DrawFn, having: tuple[str, ...] = tuple(HAVING)) -> str:
    figures = ["COUNT(*)", "COUNT(age)", "SUM(age)", "SUM(change + grade)", "AVG(income)", "MEDIAN(age)"]
    shown = draw(st.lists(st.sampled_from(figures), min_size=1, max_size=2, unique=True))
    keys = draw(st.sampled_from([[], ["city"], ["grade"], ["city", "member"]]))
    named = [*keys, *(f"{one} AS f{place}" for place, one in enumerate(shown))]
    text = f"SELECT {', '.join(named)} FROM visits WHERE {draw(conditions)}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
        if draw(st.booleans()):
            some = draw(st.lists(st.sampled_from(having), min_size=1, max_size=3, unique=True))
            text += f" HAVING {draw(st.sampled_from([' AND ', ' OR '])).join(some)}"
    return text


SWAPPED = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ}
OPPOSITE = {exp.LT: exp.GTE, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}
CONDITION = (exp.LT, exp.GT, exp.LTE, exp.GTE, exp.EQ, exp.NEQ, exp.And, exp.Or, exp.Not, exp.Between, exp.Is, exp.Like)


def rewritten(text: str, random: Random) -> str:
    """The same question in other words: what is done here is not what the normal form does."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        ways: list[exp.Expr] = [node]
        if type(node) in SWAPPED:
            ways.append(SWAPPED[type(node)](this=node.expression.copy(), expression=node.this.copy()))
            opposite = OPPOSITE[type(node)](this=node.this.copy(), expression=node.expression.copy())
            ways.append(exp.Not(this=exp.paren(opposite)))
        if isinstance(node, exp.And | exp.Or | exp.Add | exp.Mul):
            ways.append(type(node)(this=exp.paren(node.expression.copy()), expression=exp.paren(node.this.copy())))
        if isinstance(node, exp.And | exp.Or) and isinstance(node.this.unnest(), type(node)):
            inner = node.this.unnest()
            regrouped = type(node)(this=inner.expression.copy(), expression=node.expression.copy())
            ways.append(type(node)(this=inner.this.copy(), expression=exp.paren(regrouped)))
        if isinstance(node, exp.Between):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
            ways.append(exp.paren(exp.And(this=high, expression=low)))
        if isinstance(node, CONDITION):
            ways += [exp.paren(node.copy()), exp.Not(this=exp.paren(exp.Not(this=exp.paren(node.copy()))))]
            ways += [
                exp.paren(exp.And(this=exp.paren(node.copy()), expression=one))
                for one in (exp.true(), exp.paren(node.copy()))
            ]
            ways.append(exp.EQ(this=exp.paren(node.copy()), expression=exp.true()))
        if isinstance(node, exp.In):
            listed = random.sample(node.expressions, len(node.expressions))
            ways.append(exp.In(this=node.this.copy(), expressions=[one.copy() for one in listed]))
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
            ways.append(exp.Count(this=exp.Literal.number(random.randint(0, 3))))
        if isinstance(node, exp.Column) and node.name != "f0":
            name = random.choice([node.name, node.name.upper(), node.name.title()])
            ways.append(exp.column(name, table=random.choice([None, "Q"]), quoted=random.random() < 0.5))
        return random.choice(ways)

    tree = sqlglot.parse_one(text, dialect="duckdb")
    tree.args["from_"].this.set("alias", exp.TableAlias(this=exp.to_identifier("q")))
    for part in ("where", "having"):
        if tree.args.get(part):
            tree.args[part].set("this", exp.paren(tree.args[part].this.transform(rewrite)))
    tree.set("expressions", [one.transform(rewrite) for one in tree.expressions])
    return str(tree.sql("duckdb"))


def missed(text: str, random: Random) -> str | None:
    """A question that is nearly the same; ``None`` if this one has nothing to change."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    changes = [
        node
        for node in tree.find_all(*OPPOSITE, exp.And, exp.Or, exp.Not, exp.Literal, exp.Count, exp.Sum, exp.Avg)
        if not isinstance(node, exp.Count) or isinstance(node.this, exp.Star)
    ]
    if not changes:
        return None
    node = random.choice(changes)
    if isinstance(node, exp.And | exp.Or):
        other = exp.Or if isinstance(node, exp.And) else exp.And
        made: exp.Expr = exp.paren(other(this=node.this.copy(), expression=node.expression.copy()))
    elif isinstance(node, exp.Not):
        made = node.this.copy()
    elif isinstance(node, exp.Literal):
        made = exp.Literal.string(node.name + " ") if node.is_string else exp.Literal.number(f"{node.name}1")
    elif isinstance(node, exp.Count):
        made = exp.Count(this=exp.column("change"))
    elif isinstance(node, exp.Sum | exp.Avg):
        made = (exp.Avg if isinstance(node, exp.Sum) else exp.Sum)(this=node.this.copy())
    else:
        made = random.choice([exp.Not(this=exp.paren(node.copy())), _other_sign(node, random)])
    node.replace(made)
    return str(tree.sql("duckdb"))


def repeats(text: str, world: dict[str, Table]) -> bool:
    """Whether a condition is in a question twice: then AND and OR of it are the same."""
    where = sqlglot.parse_one(text, dialect="duckdb").args["where"].this
    both = (exp.And, exp.Or, exp.Not, exp.Paren)
    nodes = where.walk(prune=lambda node: not isinstance(node, both))
    parts = [node.sql("duckdb") for node in nodes if not isinstance(node, both)]
    forms = {named(f"SELECT COUNT(*) AS n FROM visits WHERE {part}", world) for part in parts}
    opposites = {named(f"SELECT COUNT(*) AS n FROM visits WHERE NOT ({part})", world) for part in parts}
    return len(forms) < len(parts) or bool(forms & opposites)


def _other_sign(node: exp.Expr, random: Random) -> exp.Expr:
    sign = random.choice([one for one in OPPOSITE if one is not type(node)])
    return sign(this=node.this.copy(), expression=node.expression.copy())


ONE = {"text": questions(), "seed": st.integers(0, 2**32)}
SEVERAL = {
    "texts": st.lists(questions((*HAVING, *RISKY)), min_size=1, max_size=3),
    "seed": st.integers(0, 2**32),
}
RUNS = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


@RUNS
@given(**ONE)
def test_any_rewriting_is_the_same_question_with_the_same_answer(
    worlds: list[dict[str, Table]], text: str, seed: int
) -> None:
    other = rewritten(text, Random(seed))  # noqa: S311
    assert same(text, other, worlds[0]), other
    for world in worlds:
        assert told(text, world).equals(told(other, world)), other


@RUNS
@given(**ONE)
def test_a_near_miss_is_another_question(worlds: list[dict[str, Table]], text: str, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    other = missed(text, random)
    if other is not None and not repeats(text, worlds[0]):
        assert not same(text, rewritten(other, random), worlds[0]), other


@settings(RUNS, max_examples=10)
@given(**SEVERAL)
def test_whatever_is_called_the_same_has_the_same_answer(
    worlds: list[dict[str, Table]], texts: list[str], seed: int
) -> None:
    random = Random(seed)  # noqa: S311
    answers: dict[str, list[pa.Table]] = {}
    for text in [*texts, *(rewritten(one, random) for one in texts), *(missed(one, random) for one in texts)]:
        try:
            print_ = named(text or "", worlds[0])
        except DiscreetError:
            continue
        made = [told(text or "", world) for world in worlds]
        known = answers.setdefault(print_, made)
        assert all(one.equals(other) for one, other in zip(made, known, strict=True)), text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "drawn"),
    [
        (test_any_rewriting_is_the_same_question_with_the_same_answer, ONE),
        (test_a_near_miss_is_another_question, ONE),
        (test_whatever_is_called_the_same_has_the_same_answer, SEVERAL),
    ],
)
def test_in_the_long_run_too(worlds: list[dict[str, Table]], rule: Any, drawn: dict[str, Any]) -> None:
    settings(RUNS, max_examples=200)(given(**drawn)(rule.hypothesis.inner_test))(worlds=worlds)

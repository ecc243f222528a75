"""The SQL of the question builder: exact, askable for every choice that a card allows, and closed to hostile names."""

import datetime as dt
from itertools import chain, pairwise, product

import pytest
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

import discreet as dc
from discreet.errors import BadInput
from discreet.service.console import question_builder as builder
from discreet.service.console.question_builder import Choices, Condition, Grouping, Measure, sql_of, title_of
from discreet.service.console.suggest import needs_quotes
from discreet.service.views import Spend
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.syntax import statements_of

CARD = dc.Card(
    "visits",
    (
        dc.Column("who", dc.Kind.INTEGER, dc.Role.IDENTIFIER),
        dc.Column("secret", dc.Kind.TEXT, dc.Role.IDENTIFIER),
        dc.Column("sex", dc.Kind.TEXT, categories=["F", "M"]),
        dc.Column("age", dc.Kind.INTEGER, bounds=(18, 99)),
        dc.Column("share", dc.Kind.REAL, bounds=(-0.5, 1.0)),
        dc.Column("born", dc.Kind.DATE, bounds=(dt.date(1950, 1, 1), dt.date(2020, 1, 1))),
        dc.Column("zip", dc.Kind.TEXT),
        dc.Column("smokes", dc.Kind.BOOLEAN, required=True),
        dc.Column("weight", dc.Kind.REAL),
    ),
    unit="who",
    rows_per_unit=3,
)


def asked(**more):
    return sql_of(Choices("visits", **more), CARD)


@pytest.mark.parametrize(
    ("choices", "sql"),
    [
        ({}, "SELECT COUNT(*) AS n\nFROM visits"),
        ({"measures": (Measure("people"),)}, "SELECT COUNT(DISTINCT who) AS people\nFROM visits"),
        (
            {"measures": (Measure("average", "age"), Measure("median", "age"), Measure("total", "share"))},
            "SELECT AVG(age) AS average_age, MEDIAN(age) AS median_age, SUM(share) AS total_share\nFROM visits",
        ),
        (
            {"groupings": (Grouping("sex"),), "order": "down"},
            "SELECT sex, COUNT(*) AS n\nFROM visits\nGROUP BY sex\nORDER BY n DESC",
        ),
        ({"order": "down"}, "SELECT COUNT(*) AS n\nFROM visits"),
        (
            {"groupings": (Grouping("born", "month"), Grouping("born", "weekday (1 is Monday)"))},
            "SELECT\n  DATE_TRUNC('month', born) AS born_month,\n  EXTRACT(ISODOW FROM born) AS born_weekday,\n"
            "  COUNT(*) AS n\nFROM visits\nGROUP BY DATE_TRUNC('month', born), EXTRACT(ISODOW FROM born)",
        ),
        (
            {"groupings": (Grouping("age", "bin 10"),)},
            "SELECT (WIDTH_BUCKET(age, 10, 100, 9) - 1) * 10 + 10 AS age_from, COUNT(*) AS n\nFROM visits\n"
            "GROUP BY WIDTH_BUCKET(age, 10, 100, 9)\n"
            "HAVING WIDTH_BUCKET(age, 10, 100, 9) >= 1 AND WIDTH_BUCKET(age, 10, 100, 9) <= 9",
        ),
        (
            {"groupings": (Grouping("share", "bin 0.2"),)},
            "SELECT\n  ROUND((WIDTH_BUCKET(share, -0.6, 1.2, 9) - 1) * 0.2 - 0.6, 1) AS share_from,\n  COUNT(*) AS n\n"
            "FROM visits\nGROUP BY WIDTH_BUCKET(share, -0.6, 1.2, 9)\n"
            "HAVING WIDTH_BUCKET(share, -0.6, 1.2, 9) >= 1 AND WIDTH_BUCKET(share, -0.6, 1.2, 9) <= 9",
        ),
        (
            {
                "conditions": (
                    Condition("sex", "in", ("F",)),
                    Condition("age", ">=", ("1_8",)),
                    Condition("age", "<", ("1e2",)),
                    Condition("born", "<", ("2000-01-01",)),
                )
            },
            "SELECT COUNT(*) AS n\nFROM visits\nWHERE sex = 'F' AND age >= 18 AND age < 100 AND born < '2000-01-01'",
        ),
        (
            {
                "conditions": (
                    Condition("sex", "not in", ("F", "M")),
                    Condition("smokes", "in", ("true",)),
                    Condition("zip", "begins", ("0'",)),
                    Condition("zip", "present"),
                    Condition("sex", "missing"),
                )
            },
            "SELECT COUNT(*) AS n\nFROM visits\nWHERE NOT sex IN ('F', 'M')\n  AND smokes = TRUE\n"
            "  AND LEFT(zip, 2) = '0'''\n  AND NOT zip IS NULL\n  AND sex IS NULL",
        ),
    ],
)
def test_the_sql_of_choices(choices, sql):
    assert asked(**choices) == sql


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"measures": ()}, "Nothing to compute is chosen."),
        ({"measures": (Measure("people; DROP", ""),)}, "Nothing to compute is chosen."),
        ({"measures": (Measure("average", "sex"),)}, "Average of which column?"),
        ({"measures": (Measure("average", "weight"),)}, "Average of which column?"),
        ({"groupings": (Grouping("secret"),)}, "There is no column 'secret' to choose."),
        ({"groupings": (Grouping("who"),)}, "There is no column 'who' to choose."),
        ({"groupings": (Grouping("age", "bin 0"),)}, "age cannot be grouped like that."),
        ({"groupings": (Grouping("weight"),)}, "weight cannot be grouped like that."),
        ({"groupings": (Grouping("sex"), Grouping("sex"))}, "The same grouping is chosen twice."),
        ({"conditions": (Condition("sex", "in"),)}, "The filter on sex has no value."),
        ({"conditions": (Condition("zip", "=", (" ",)),)}, "The filter on zip has no value."),
        ({"conditions": (Condition("sex", "in", ("f",)),)}, "'f' is not a value of sex."),
        ({"conditions": (Condition("sex", "=", ("F",)),)}, "sex cannot be compared like that."),
        ({"conditions": (Condition("smokes", "missing"),)}, "smokes cannot be compared like that."),
        ({"conditions": (Condition("age", ">", ("1 OR TRUE",)),)}, "age is compared with a number, not with"),
        ({"conditions": (Condition("age", ">", ("inf",)),)}, "age is compared with a number, not with 'inf'."),
        ({"conditions": (Condition("age", ">", ("1e99",)),)}, "age is compared with a number, not with '1e99'."),
        ({"conditions": (Condition("born", ">=", ("yesterday",)),)}, "'yesterday' is not a date."),
    ],
)
def test_what_is_missing_or_wrong_is_named(choices, said):
    with pytest.raises(BadInput, match="^" + said.replace(".", r"\.")):
        asked(**choices)


def all_choices(table, card):
    """Every figure with every grouping, every two groupings, and every condition."""
    measures = [
        Measure(figure, column)
        for figure in builder.figures(card)
        for column in (builder.amounts(card) if figure in builder.AMOUNTS else [""])
    ]
    keys = [
        Grouping(name, step) for name in builder.groups(card) for step in builder.steps(builder.column_of(card, name))
    ]
    for measure, key in product(measures, [None, *keys]):
        yield Choices(table, (measure,), (key,) if key else (), order="up")
    for one, other in pairwise(keys):
        yield Choices(table, tuple(measures[:2]), (one, other))
    for name in builder.filters(card):
        column = builder.column_of(card, name)
        sample = "7" if column.kind in (dc.Kind.INTEGER, dc.Kind.REAL, dc.Kind.DECIMAL) else "2024-05-06"
        for how in builder.comparisons(column):
            yield Choices(table, conditions=(Condition(name, how, builder.listed(column)[:3] or (sample,)),))


@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("table", ["patients", "visits"])
def test_every_choice_can_be_asked(console, table, stride):
    desk, ann = console.clinic.desk, console.clinic.ann
    card = desk.table(ann, table).card
    questions = [sql_of(one, card) for one in all_choices(table, card)]
    assert len(questions) > 30
    assert all(isinstance(one, exp.Select) for sql in questions for one in statements_of(sql))
    for sql in questions[::stride]:
        quote = desk.price(ann, [sql], Spend(epsilon="0.1", delta="1e-8"), rows=100)[0]
        assert quote.errors


def test_bins_cover_the_bounds_and_are_declared(console):
    desk, ann = console.clinic.desk, console.clinic.ann
    card = desk.table(ann, "visits").card
    for name in builder.amounts(card):
        for step in builder.steps(builder.column_of(card, name)):
            sql = sql_of(Choices("visits", groupings=(Grouping(name, step),)), card)
            assert desk.price(ann, [sql], Spend(epsilon="0.1"))[0].loss == dc.Pure("0.1"), "no delta is needed"


HOSTILE = [
    "sex",
    "Birth date",
    'quote"d',
    "it's",
    "x; DROP TABLE visits",
    "x) FROM visits --",
    "/* x */",
    "*",
    "a.b",
    "n",
    "people",
    "Größe",
    "😀",
    "\\",
    "1st",
    "",
]


def words():
    """Every word that the reader of questions knows."""
    known = chain(DuckDB.Tokenizer.KEYWORDS, DuckDB.Parser.FUNCTIONS)
    return sorted({word.lower() for word in known if word.replace("_", "").isalnum()})


def hostile_card(names, values=("a",)):
    """A card whose columns have these names, a table of them, and no rows."""
    columns = (
        dc.Column("unit of it", dc.Kind.INTEGER, dc.Role.IDENTIFIER),
        *(dc.Column(name, dc.Kind.TEXT, categories=values) for name in names),
        *(dc.Column(f"{name}_", dc.Kind.INTEGER, bounds=(0, 100)) for name in names),
    )
    return dc.Card("order by", columns, unit="unit of it", rows_per_unit=2)


def planned(sql, card):
    import pyarrow as pa

    types = {dc.Kind.TEXT: pa.string(), dc.Kind.INTEGER: pa.int64()}
    empty = pa.table({one.name: pa.array([], types[one.kind]) for one in card.columns})
    return plan(sql, {card.name: dc.read(empty, card)})


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_names_of_columns_stay_names(name):
    card = hostile_card([name])
    choices = Choices(
        card.name,
        (Measure("people"), Measure("average", f"{name}_"), Measure()),
        (Grouping(name), Grouping(f"{name}_", "bin 20")),
        (Condition(name, "in", ("a",)), Condition(f"{name}_", ">=", ("3",))),
        "down",
    )
    sql = sql_of(choices, card)
    (tree,) = statements_of(sql)
    assert {one.name for one in tree.find_all(exp.Table)} == {card.name}
    assert {one.name for one in tree.find_all(exp.Column)} <= {name, f"{name}_", card.unit, "people", "people_2"}
    made = planned(sql, card)
    assert len(made.keys) == 2
    assert len(made.figures) == 3


def test_keywords_are_names_too():
    names = words()
    assert len(names) > 300
    card = hostile_card(names)
    for name in names:
        assert needs_quotes(name)
    for start in range(0, len(names), 7):  # some at a time: planning each alone takes long
        name = names[start]
        choices = Choices(
            card.name, (Measure("total", f"{name}_"),), (Grouping(name),), (Condition(name, "in", ("a",)),)
        )
        (tree,) = statements_of(sql_of(choices, card))
        assert {one.name for one in tree.find_all(exp.Column)} == {name, f"{name}_"}


@pytest.mark.parametrize("value", [value for value in HOSTILE if value])
def test_values_of_categories_stay_values(value):
    card = hostile_card(["x"], (value, "another"))
    for values in ((value,), (value, "another")):
        sql = sql_of(Choices(card.name, conditions=(Condition("x", "in", values),)), card)
        (tree,) = statements_of(sql)
        where = tree.args["where"].this
        literals = [one.name for one in where.find_all(exp.Literal)]
        assert sorted(literals) == sorted(values)
        assert where.sql() == (exp.column("x").eq(value) if len(values) == 1 else exp.column("x").isin(*values)).sql()


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_typed_texts_stay_texts(text):
    (tree,) = statements_of(asked(conditions=(Condition("zip", "=", (text,)),)))
    assert tree.args["where"].this.sql() == exp.column("zip").eq(text).sql()


def test_names_of_the_answer_do_not_collide():
    sql = asked(measures=(Measure("total", "age"), Measure("total", "age"), Measure("total", "age")))
    assert "total_age_2" in sql
    assert "total_age_3" in sql
    card = hostile_card(["n", "n_error"])
    sql = sql_of(Choices(card.name, groupings=(Grouping("n"), Grouping("n_error"))), card)
    planned(sql, card)


def test_choices_survive_json_and_nothing_else_is_taken_for_them():
    choices = Choices(
        "visits", (Measure("average", "age"),), (Grouping("sex"),), (Condition("age", ">", ("3",)),), "up"
    )
    assert Choices.from_dict(choices.to_dict()) == choices
    for wrong in (None, [], {}, "x", choices.to_dict() | {"table": 3}, choices.to_dict() | {"measures": [{}]},
                  choices.to_dict() | {"conditions": [{"column": "a", "comparison": "b", "values": [1]}]}):  # fmt: skip
        with pytest.raises(BadInput):
            Choices.from_dict(wrong)


def test_a_question_in_words():
    choices = Choices(
        "visits",
        (Measure("average", "age"), Measure()),
        (Grouping("born", "weekday (1 is Monday)"), Grouping("age", "bin 10")),
        (Condition("sex", "in", ("F", "M")), Condition("zip", "missing")),
    )
    said = "Average of age, number of visits by born (weekday) and age (bins of 10) where sex is F or M and zip missing"
    assert title_of(choices) == said

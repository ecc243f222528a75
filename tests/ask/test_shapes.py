"""Plans by shape: a question that differs from an earlier one in literals is planned as if it were the first."""

import datetime as dt
import itertools

import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import BadQuery
from discreet.verbs.ask import shapes as module
from discreet.verbs.ask.question import planned
from discreet.verbs.ask.shapes import Shapes

CARD = dc.Card(
    "visits",
    (
        dc.Column("person", dc.Kind.INTEGER, dc.Role.IDENTIFIER),
        dc.Column("ward", dc.Kind.TEXT, categories=["north", "south", "it's"], required=True),
        dc.Column("note", dc.Kind.TEXT, max_length=20),
        dc.Column("age", dc.Kind.INTEGER, bounds=(0, 120)),
        dc.Column("cost", dc.Kind.REAL, bounds=(0, 1000)),
        dc.Column("born", dc.Kind.DATE, bounds=(dt.date(1900, 1, 1), dt.date(2026, 1, 1))),
        dc.Column("at", dc.Kind.TIMESTAMP, bounds=(dt.datetime(2020, 1, 1), dt.datetime(2026, 1, 1))),
    ),
    unit="person",
    rows_per_unit=3,
)
MANY = 300
ROWS = pa.table(
    {
        "person": [number // 2 for number in range(MANY)],
        "ward": [("north", "south", "it's")[number % 3] for number in range(MANY)],
        "note": [None if number % 7 == 0 else f"n{number % 10}" for number in range(MANY)],
        "age": [number % 90 for number in range(MANY)],
        "cost": [number % 100 + 0.5 for number in range(MANY)],
        "born": [dt.date(1940, 1, 1) + dt.timedelta(days=97 * number) for number in range(MANY)],
        "at": [dt.datetime(2021, 1, 1) + dt.timedelta(hours=97 * number) for number in range(MANY)],
    }
)
TEXTS = ["north", "it's", "", "ü\n--", "2001-02-03", "%", "n1", "'; DROP", "\\", "discreet literal 000"]
DAYS = ["1960-06-30", "2001-02-03", "1940-01-01", "7001-01-01", "0001-01-01"]
NUMBERS = ["60", "0", "007", "1", "999999999999999", "5"]
TEMPLATES = {
    "SELECT ward, COUNT(*) AS n FROM visits WHERE note = {t} AND age > {n} GROUP BY ward": True,
    "SELECT COUNT(*) FROM visits WHERE born BETWEEN DATE {d} AND DATE {d}": True,
    "SELECT COUNT(*) FROM visits v WHERE NOT (v.born < {d} OR v.ward IN ({t}, {t}, {t})) AND {n} <= age": True,
    "SELECT ward, SUM(cost), AVG(age) FROM visits WHERE cost <> {n} AND age NOT IN ({n}, {n}) GROUP BY 1 "
    "HAVING COUNT(*) > 5 ORDER BY 2 LIMIT 3": True,
    "SELECT MEDIAN(age) FROM visits WHERE ward = {t}": False,
    "SELECT COUNT(*) FROM visits WHERE ward LIKE {t}": False,
    "SELECT COUNT(*) FROM visits WHERE age + {n} > {n}": False,
    "SELECT COUNT(*) FROM visits WHERE LENGTH(note) > {n}": False,
    "SELECT COUNT(*) FROM visits WHERE -age < {n}": False,
    "SELECT COUNT(*) FROM visits WHERE at > {d}": False,
    "SELECT COUNT(*) FROM visits WHERE CASE WHEN ward = {t} THEN 1 ELSE 2 END = {n}": False,
    "SELECT COUNT(*) FROM (SELECT * FROM visits) WHERE age > {n}": False,
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.person = b.person WHERE a.age > {n}": False,
    "SELECT CASE WHEN age > {n} THEN 'old' ELSE 'young' END, COUNT(*) FROM visits WHERE age > {n} GROUP BY 1": False,
    "SELECT age > 30 AS old, COUNT(*) FROM visits WHERE ward = {t} GROUP BY age > 30": True,
    "SELECT COUNT(*) FILTER (WHERE age > {n}) FROM visits": False,
    "SELECT COUNT(*) FROM visits WHERE born > CURRENT_DATE AND age = {n}": True,
    "SELECT COUNT(*) FROM visits WHERE age = {n} AND age = {n} OR {t} <> ward": True,
}
"""Questions, and whether their shapes are used: those that are must be, or these tests say nothing."""


@pytest.fixture(scope="module")
def tables():
    return {"visits": dc.read(ROWS, CARD)}


def filled(template):
    """Questions of one shape, with all kinds of literals."""
    kinds = {"t": TEXTS, "d": DAYS, "n": NUMBERS}
    parts = template.replace("{", "\0{").replace("}", "}\0").split("\0")
    for turn in range(12):
        counter = itertools.count(turn)
        made = ""
        for part in parts:
            if part in ("{t}", "{d}", "{n}"):
                values = kinds[part[1]]
                value = values[next(counter) * 7 % len(values)]
                made += value if part == "{n}" else "'" + value.replace("'", "''") + "'"
            else:
                made += part
        yield made


def plan_of(text, tables):
    try:
        return planned(text, tables)
    except BadQuery as error:
        return str(error)


@pytest.mark.parametrize(("template", "used"), TEMPLATES.items())
def test_a_filled_plan_is_the_plan(template, used, tables):
    shapes, found_by_shape = Shapes(), 0
    for text in filled(template):
        wanted = plan_of(text, tables)
        found = shapes.find(text, ["v1"])
        if found is None:
            if not isinstance(wanted, str):
                shapes.learn(text, wanted, tables, ["v1"])
            continue
        found_by_shape += 1
        assert (found.text, found.fingerprint) == (wanted.text, wanted.fingerprint)
        assert found.plan == wanted.plan
        (mine,), (theirs,) = found.plan.parts, wanted.plan.parts
        assert mine.query == theirs.query
        assert mine.rows.owned == theirs.rows.owned
        if mine.written is not None:
            assert mine.written.text == theirs.query.sql("duckdb")
            assert "731946" not in mine.written.text
            assert "discreet literal" not in mine.written.text.replace("discreet literal 000", "")
    assert (found_by_shape > 0) == used


def test_questions_with_other_literals_have_other_fingerprints_and_answers(tables):
    shapes, seen, counts = Shapes(), set(), {}
    template = "SELECT COUNT(*) AS n FROM visits WHERE age >= {} AND age <= {}"
    pairs = [(low, high) for low in range(0, 90, 9) for high in range(0, 90, 9)]
    for low, high in pairs:
        text = template.format(low, high)
        found = shapes.find(text, [])
        if found is None:
            found = planned(text, tables)
            shapes.learn(text, found, tables, [])
        seen.add(found.fingerprint)
        (part,) = found.plan.parts
        (measure,) = part.measures
        counts[low, high] = tables["visits"].engine.fetch(part.query).column(measure)[0].as_py()
        if part.written is not None:
            again = tables["visits"].engine.fetch_written(part.written)
            assert again.column(measure)[0].as_py() == counts[low, high]
    assert counts == {(low, high): sum(low <= n % 90 <= high for n in range(MANY)) for low, high in pairs}
    assert len(seen) == len(pairs)


def test_the_same_question_in_another_spelling_has_the_same_fingerprint(tables):
    shapes = Shapes()
    one, other = (
        "SELECT COUNT(*) FROM visits WHERE age > {} AND note = '{}'",
        ("SELECT COUNT( * ) AS n\nFROM visits -- all\nWHERE '{1}' = note AND {0} < age"),
    )
    for number in range(6):
        prints = set()
        for template in (one, other):
            text = template.format(number, f"n{number}")
            found = shapes.find(text, [])
            assert (found is not None) == (number >= 2)
            if found is None:
                found = planned(text, tables)
                shapes.learn(text, found, tables, [])
            prints.add(found.fingerprint)
        assert len(prints) == 1


def test_a_shape_means_something_else_on_another_day_and_with_another_table(tables, monkeypatch):
    shapes, text = Shapes(), "SELECT COUNT(*) FROM visits WHERE born < CURRENT_DATE AND age = {}"
    for number in range(2):
        shapes.learn(text.format(number), planned(text.format(number), tables), tables, ["v1"])
    assert shapes.find(text.format(3), ["v1"]) is not None
    assert shapes.find(text.format(3), ["v2"]) is None
    monkeypatch.setattr(module, "today", lambda: dt.date(2030, 1, 1))
    assert shapes.find(text.format(3), ["v1"]) is None


def test_literals_that_bound_what_a_unit_adds_are_never_filled(tables):
    shapes = Shapes()
    text = (
        "SELECT COUNT(*) FROM (SELECT age, ROW_NUMBER() OVER (PARTITION BY person ORDER BY age) AS place "
        "FROM visits) WHERE place <= {}"
    )
    most = []
    for number in (1, 2, 3, 1):
        found = planned(text.format(number), tables)
        shapes.learn(text.format(number), found, tables, [])
        assert shapes.find(text.format(number), []) is None
        most.append(found.plan.parts[0].rows.most)
    assert most == [1, 2, 3, 1]


@pytest.mark.parametrize(
    "odd",
    ["1e1", "1.0", "-5", "0x10", "9999999999999999", "'5'", "NULL", "age", "E'a'", "DATE '2020-01-01'", "1 -- '5'\n"],
)
def test_what_is_no_plain_literal_is_planned_as_ever(odd, tables):
    shapes, text = Shapes(), "SELECT COUNT(*) FROM visits WHERE age > {} AND ward = 'north'"
    for number in range(3):
        shapes.learn(text.format(number), planned(text.format(number), tables), tables, [])
    wanted = plan_of(text.format(odd), tables)
    found = shapes.find(text.format(odd), [])
    assert found is None or (found.fingerprint, found.plan) == (wanted.fingerprint, wanted.plan)


@pytest.mark.parametrize("odd", ["20010203", "2001-2-3", "2001-02-30", "2001-02-03 ", "yesterday", "٢٠٠١-٠٢-٠٣", ""])
def test_what_is_no_day_is_not_read_as_one(odd, tables):
    shapes, text = Shapes(), "SELECT COUNT(*) FROM visits WHERE born > '{}'"
    for day in DAYS:
        shapes.learn(text.format(day), planned(text.format(day), tables), tables, [])
    assert shapes.find(text.format("1999-12-31"), []) is not None
    assert shapes.find(text.format(odd), []) is None


def test_few_shapes_are_kept(tables, monkeypatch):
    monkeypatch.setattr(module, "_MOST_SHAPES", 3)
    shapes = Shapes()
    for name in "abcde":
        text = f"SELECT COUNT(*) AS {name} FROM visits WHERE age > 1"
        for _ in range(2):
            shapes.learn(text, planned(text, tables), tables, [])
    known = [name for name in "abcde" if shapes.find(f"SELECT COUNT(*) AS {name} FROM visits WHERE age > 2", [])]
    assert known == ["c", "d", "e"]

"""Questions that are small to write and would be large to run: refused before anything runs."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.ask.test_plan import planned, table

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask import value
from discreet.verbs.ask.plan import Plan
from discreet.verbs.ask.question import normal, questions_in
from discreet.verbs.ask.value import CHARACTERS

AGE = Column("age", Kind.INTEGER, bounds=(0, 120))
NOTE = Column("note", Kind.TEXT)


def _doubled(times: int, first: str = "note") -> str:
    """A text of a column that is doubled so often, one SELECT of WITH after the other."""
    parts = [f"s0 AS (SELECT {first} AS n FROM visits)"]
    parts += [f"s{i} AS (SELECT n || n AS n FROM s{i - 1})" for i in range(1, times + 1)]
    return f"WITH {', '.join(parts)} SELECT COUNT(*) AS n FROM s{times} WHERE n = 'x'"


def test_a_text_that_is_doubled_again_and_again_is_refused() -> None:
    question = _doubled(8)
    assert len(question) < 400
    with pytest.raises(BadQuery, match="could have 16,000 characters"):
        planned(question)
    assert planned(_doubled(3))
    assert planned(_doubled(8, "LEFT(note, 20)"))


@pytest.mark.parametrize(
    "made",
    [
        "note || note || note || note || note || note || note || note || note || note || note",
        "CONCAT(note, note, note, note, note, note, note, note, note, note, note)",
        "LOWER(CONCAT(note, note, note, note, note, note)) || UPPER(CONCAT(note, note, note, note, note, note))",
        "CASE WHEN age > 3 THEN CONCAT(note, note, note, note, note, note) ELSE 'x' END || "
        "COALESCE(CONCAT(note, note, note, note, note, note), 'x')",
        "NULLIF(CONCAT(note, note, note, note, note, note), 'x') || SUBSTRING(CONCAT(note, note, note, note, note), 2)",
    ],
)
def test_what_is_made_of_texts_is_as_long_as_they_are_together(made: str) -> None:
    with pytest.raises(BadQuery, match="characters"):
        planned(f"SELECT COUNT(*) FROM visits WHERE {made} = 'x'")


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT CONCAT(note, note, note, note, note, note) AS n FROM visits "
        "UNION ALL SELECT city AS n FROM visits) AS s",
        "(SELECT person, MAX(CONCAT(note, note, note, note, note, note)) AS n FROM visits GROUP BY person) AS s",
        "(SELECT MAX(CONCAT(note, note, note, note, note, note)) FILTER (WHERE age > 1) AS n FROM visits "
        "GROUP BY person) AS s",
        "visits AS a LEFT JOIN (SELECT person, CONCAT(note, note, note, note, note, note) AS n FROM visits) AS b "
        "ON a.person = b.person",
    ],
)
def test_the_length_of_a_text_goes_through_every_select(source: str) -> None:
    with pytest.raises(BadQuery, match="could have 12,000 characters"):
        planned(f"SELECT COUNT(*) FROM {source} WHERE n || n = 'x'")
    assert planned(f"SELECT COUNT(*) FROM {source} WHERE n || 'x' = 'x'")


def test_how_long_texts_are_is_declared() -> None:
    def asked(longest: int | None) -> Plan:
        card = Card("visits", (AGE, Column("note", Kind.TEXT, max_length=longest)))
        text = "SELECT COUNT(*) FROM visits WHERE CONCAT(note, note, note, note) = 'x'"
        return planned(text, {"visits": table(card)})

    assert asked(None) and asked(2_500)
    with pytest.raises(BadQuery, match="could have 12,000 characters"):
        asked(3_000)


def test_texts_are_counted_in_the_whole_query() -> None:
    """One is short enough, and so many of them are not; a SELECT of WITH counts as often as it is named."""
    long = "CONCAT(note, note, note, note, note, note, note, note)"  # 2,000 to 8,000 characters are made on the way
    once = f"WITH a AS (SELECT {long} AS n FROM visits) SELECT COUNT(*) AS n FROM a WHERE n = 'x'"
    made = [node.meta.get(CHARACTERS, 0) for node in planned(once).query.walk()]
    assert sum(made) == sum(range(2_000, 8_001, 1_000))
    three = "(SELECT n FROM a UNION ALL SELECT n FROM a UNION ALL SELECT n FROM a) AS s"
    with pytest.raises(BadQuery, match="more than 100,000 characters"):
        planned(f"WITH a AS (SELECT {long} AS n FROM visits) SELECT COUNT(*) AS n FROM {three} WHERE n = 'x'")


def test_a_query_that_grows_through_its_parts_is_refused() -> None:
    values = ", ".join(str(place) for place in range(1, 2_300))
    a = f"a AS (SELECT age FROM visits WHERE age IN ({values}))"
    assert planned(f"WITH {a} SELECT COUNT(*) AS n FROM a")
    five = " UNION ALL ".join(["SELECT age FROM a"] * 5)
    with pytest.raises(BadQuery, match="too large"):
        planned(f"WITH {a} SELECT COUNT(*) AS n FROM ({five}) AS s WHERE age > 3")


def _deep(levels: int) -> str:
    """SELECTs inside others, of which each uses what the one inside computed twice or more."""
    made = "SELECT person, age AS v FROM visits"
    for level in range(levels):
        made = f"SELECT person, LEAST(v, {110 - level}) AS v FROM ({made}) WHERE v > {level}"
    return f"SELECT COUNT(*) AS n FROM ({made}) WHERE v > 50"


def test_what_engines_put_in_the_place_of_columns_is_counted() -> None:
    assert planned(_deep(4))
    with pytest.raises(BadQuery, match="including the subqueries it uses"):
        planned(_deep(12))


def test_what_a_join_does_for_one_unit_is_bounded() -> None:
    """Or how long an answer takes would tell that somebody with many rows is there."""
    others = " ".join(f"JOIN visits AS v{i} USING (person)" for i in range(6))
    assert planned(f"SELECT COUNT(*) AS n FROM visits AS a {others}")
    heavy = ", ".join(f"SUM(LEAST(LENGTH(UPPER(a.note || '{i}')), 9)) AS s{i}" for i in range(9))
    assert planned(f"SELECT {heavy} FROM visits AS a JOIN visits AS b USING (person)")
    with pytest.raises(BadQuery, match="could reveal people"):
        planned(f"SELECT {heavy} FROM visits AS a {others}")


def test_texts_that_are_held_for_every_unit_count_more() -> None:
    def asked(times: int) -> Plan:
        each = ", ".join(f"MAX(note || '{i}') AS m{i}" for i in range(times))
        return planned(f"SELECT COUNT(*) AS n FROM (SELECT {each} FROM visits GROUP BY person) WHERE m0 = 'x'")

    assert asked(5)
    with pytest.raises(BadQuery, match="more than 100,000 characters"):
        asked(10)


REFUSED = {
    "aggregates": "SELECT " + ", ".join(f"SUM(age + {i})" for i in range(65)) + " FROM visits",
    "columns": "SELECT COUNT(*) FROM (SELECT " + ", ".join(f"age + {i} AS a{i}" for i in range(257)) + " FROM visits)",
    "too large": "SELECT " + ", ".join(f"CORR(age + {i}, age * {i + 1})" for i in range(60)) + " FROM visits",
    "figures": "SELECT WIDTH_BUCKET(age, 0, 120, 9000) AS a, MOD(age, 10) AS b, "
    + ", ".join(f"SUM(age + {i})" for i in range(20))
    + " FROM visits GROUP BY 1, 2",
    "quantiles": "SELECT WIDTH_BUCKET(age, 0, 120, 9000) AS a, MEDIAN(age) FROM visits GROUP BY 1",
}


@pytest.mark.parametrize("why", REFUSED)
def test_many_figures_are_asked_in_several_questions(why: str) -> None:
    with pytest.raises(BadQuery, match=why):
        planned(REFUSED[why])


def test_a_value_whose_length_nobody_wrote_down_is_as_long_as_any() -> None:
    from discreet.verbs.ask.value import LONGEST_TEXT, Value

    assert Value(exp.column("x"), Kind.TEXT).characters == LONGEST_TEXT
    assert Value(exp.column("x"), Kind.TEXT, domain=("a", "abc")).characters == 3
    assert Value(exp.column("x"), Kind.INTEGER, domain=(1, 1000)).characters == 0


@pytest.mark.parametrize("type_", ["DATE", "DECIMAL", "TIMESTAMP", "ROW", "STRUCT", "ARRAY"])
@pytest.mark.parametrize(
    "question", ["SELECT {} FROM visits", "SELECT 1 FROM {}", "SELECT CAST(age AS {}) FROM visits"]
)
def test_what_could_be_a_type_is_not_read_again_and_again(type_: str, question: str) -> None:
    """sqlglot reads it twice, and what stands in it twice again: forty of them took longer than anybody lives."""
    opened, closed = ("[", "]") if type_ == "ARRAY" else ("(", ")")
    text = question.format(f"{type_} {opened}" * 40 + "age" + closed * 40)
    assert len(text) < 600
    with pytest.raises(BadQuery):
        planned(normal(text))


@pytest.mark.parametrize(
    "call", ["MONTHS_BETWEEN({}, age)", "STRPOS({}, 'a', 2)", "STRTOK({}, 'a', 1)", "NVL2({}, 1, 2)"]
)
def test_a_function_that_is_written_with_its_argument_several_times_is_refused(call: str) -> None:
    """sqlglot writes MONTHS_BETWEEN for DuckDB with its argument in four places: twenty of them took terabytes."""
    made = "age"
    for _ in range(20):
        made = call.format(made)
    question = f"SELECT COUNT({made}) FROM visits"
    if call.startswith("NVL2"):  # which becomes longer, and not again and again
        assert len(normal(question)) < 4 * len(question)
        return
    with pytest.raises(BadQuery, match="too large when expanded"):
        normal(question)
    with pytest.raises(BadQuery, match="too large when expanded"):
        questions_in(question)


@pytest.mark.parametrize("text", ["SELECT INITCAP(INITCAP(note)) FROM visits", "SELECT DATETIME(age) FROM visits"])
def test_what_sqlglot_stumbles_over_is_no_question(text: str) -> None:
    with pytest.raises(BadQuery):
        planned(normal(text))


@pytest.mark.parametrize(
    "search",
    [
        f"note LIKE '%{'_' * 450}#%'",
        f"note ILIKE '%{'_' * 450}#%'",
        f"note LIKE '%{'_' * 450}#!%' ESCAPE '!'",
        f"POSITION('{'a' * 450}#' IN note) > 0",
    ],
)
def test_much_is_not_looked_for_in_long_texts(search: str) -> None:
    """Each place of a text is compared with all of the pattern: for a moment that tells whose text it was."""
    some = [search.replace("#", str(place)) for place in range(10, 30)]
    assert planned(f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(some[:4])}")
    with pytest.raises(BadQuery, match="Searching the texts of one row"):
        planned(f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(some)}")
    with pytest.raises(BadQuery, match="Searching the texts of one row"):
        planned(f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE {one})' for one in some)} FROM visits")
    assert planned(f"SELECT COUNT(*) FROM (SELECT LEFT(note, 50) AS note FROM visits) WHERE {' OR '.join(some)}")


@pytest.mark.parametrize("part", ["POWER(POWER(x, 8), 8)", "ROUND(ROUND(x * 2.5) * 1.5)"])
@pytest.mark.parametrize(
    "question", ["SELECT COUNT(*) FROM t WHERE x IN ({})", "SELECT COUNT(*) FROM (SELECT {} FROM t) AS s"]
)
def test_what_is_made_for_all_parts_together_is_bounded(
    part: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part is made, and copied, before what it stands in is measured: hundreds of them took minutes."""
    tables = {"t": table(Card("t", (Column("x", Kind.REAL, bounds=(0.0, 1.0)),)))}
    some = [f"{part}{f' AS c{place}' if '(SELECT' in question else ''}" for place in range(4)]
    assert planned(question.format(some[0]), tables)
    monkeypatch.setattr(value, "_MOST_MADE", 15_000)
    with pytest.raises(BadQuery, match="is too long, including what it uses"):
        planned(question.format(", ".join(some)), tables)


@pytest.mark.parametrize("digits", ["'{}'", "'{}' '{}'", "$${}$$"])
def test_a_long_text_behind_an_interval_is_not_looked_through(digits: str) -> None:
    """sqlglot looks for numbers and units in it, which took as long as the square of its length."""
    with pytest.raises(BadQuery, match="before INTERVAL is too long"):
        planned(f"SELECT COUNT(*) FROM visits WHERE day + INTERVAL {digits.replace('{}', '9' * 9_000)} DAY > day")


def test_a_quantile_of_many_digits_is_refused() -> None:
    with pytest.raises(BadQuery, match="between 0 and 1"):
        planned(f"SELECT QUANTILE_CONT(age, 0.{'1' * 5_000}) FROM visits")


def test_a_plan_that_is_kept_holds_no_lists_of_values_that_nobody_asked_for() -> None:
    """Ten thousand values of each of thirty columns, in each of the plans that are kept, were gigabytes."""
    buckets = ", ".join(f"WIDTH_BUCKET(age, 0, 120, 9000) AS b{place}" for place in range(30))
    made = planned(f"SELECT COUNT(*) AS n FROM (SELECT {buckets} FROM visits) WHERE b1 = 1")
    assert not made.rows.columns.known


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_a_query_is_as_long_as_its_tree_is_large(dialect: str) -> None:
    """sqlglot writes LEAST for DuckDB with each of its parts twice, and what stands in them twice again."""
    made = "age"
    for place in range(6):
        made = f"{('LEAST', 'GREATEST')[place % 2]}({made}, {place})"
    query = planned(f"SELECT SUM({made}) AS s, WIDTH_BUCKET({made}, 0, 9, 3) AS b FROM visits GROUP BY 2").query
    assert len(query.sql(dialect)) < 10 * sum(1 for _ in query.walk())

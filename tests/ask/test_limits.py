"""Limits of questions: what is exactly as large as it may be is asked, and what is larger by one is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlglot
from sqlglot import exp
from tests.ask.test_plan import CARD, planned, table
from tests.ask.visits import Silent, loaded

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.engines.duckdb import DuckDB
from discreet.engines.measures import COUNT
from discreet.errors import BadQuery
from discreet.verbs.ask import plan, scalar, source, syntax, value
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.plan import Plan
from discreet.verbs.ask.price import price
from discreet.verbs.ask.quantile import SLICE, counts_by_group
from discreet.verbs.ask.rows import position, table_rows, whole_domain

GROUPED = "SELECT city, member, COUNT(*) AS n, SUM(age) AS s, MEDIAN(age) AS m FROM visits GROUP BY city, member"
NESTED = "WITH a AS (SELECT LEFT(note, 9) || 'x' AS t, age + 1 AS x FROM visits) SELECT COUNT(*), SUM(x) FROM a"
SEARCHED = "SELECT COUNT(*) AS n, SUM(age) FILTER (WHERE note LIKE '%a_b%') AS s FROM visits WHERE note LIKE 'a%'"
JOINED = "SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b USING (person) WHERE a.age > b.age"


def size(made: Plan) -> syntax.Size:
    counted = syntax.Size()
    counted.add(made.query)
    return counted


def selects(text: str) -> int:
    return sum(1 for _ in sqlglot.parse_one(text).find_all(exp.Select))


LIMITS: list[tuple[Any, str, str, Callable[[str], int], str]] = [
    (syntax, "LONGEST", GROUPED, len, "longer than"),
    (syntax, "_DEEPEST", NESTED, lambda text: syntax.depth(syntax.parse_question(text)), "nested too deeply"),
    (syntax, "_MOST_SELECTS", NESTED, selects, "more than 1 SELECTs"),
    (syntax, "_MOST_AGGREGATES", GROUPED, lambda _: 3, "more than 2 aggregates"),
    (syntax, "_MOST_COLUMNS", GROUPED, lambda _: 5, "more than 4 columns"),
    (syntax, "MOST_NODES", NESTED, lambda text: size(planned(text)).nodes, "too large"),
    (syntax, "MOST_WEIGHT", NESTED, lambda text: size(planned(text)).weight, "too large"),
    (syntax, "MOST_CHARACTERS", NESTED, lambda text: size(planned(text)).characters, "characters in all"),
    (syntax, "MOST_SEARCH", SEARCHED, lambda text: size(planned(text)).search, "Searching the texts"),
    (plan, "_DEEPEST_QUERY", NESTED, lambda text: syntax.depth(planned(text).query), "nested too deeply"),
    (plan, "_MOST_KEYS", GROUPED, lambda _: 8, "makes 8 groups"),
    (plan, "_MOST_FIGURES", GROUPED, lambda _: 16, "asks for 16 figures"),
    (plan, "MOST_QUANTILES", GROUPED, lambda _: 8, "asks for 8 quantiles"),
    (plan, "MOST_VALUES", GROUPED, lambda text: 8 * len(planned(text).after.expressions), "values; the limit is"),
    (plan, "_MOST_WORK", JOINED, lambda text: planned(text).rows.most * size(planned(text)).work, "could have 9 rows"),
    (source, "_MOST_READS", JOINED, lambda _: 2, "reads more than 1 tables"),
    (source, "_MOST_JOINED", JOINED, lambda _: 9, "could have 9 rows in this join"),
]


@pytest.mark.parametrize(("module", "name", "text", "largest", "refusal"), LIMITS, ids=[one[1] for one in LIMITS])
def test_a_question_may_be_as_large_as_the_limit(
    module: Any, name: str, text: str, largest: Callable[[str], int], refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = largest(text)
    assert most > 1
    monkeypatch.setattr(module, name, most)
    assert planned(text)
    monkeypatch.setattr(module, name, most - 1)
    with pytest.raises(BadQuery, match=refusal):
        planned(text)


def test_work_is_limited_for_joins_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_MOST_WORK", 1)
    assert planned(GROUPED)


def test_the_work_on_a_row_is_that_of_nodes_and_characters() -> None:
    assert syntax.Size(0, 0, 0).work == 20
    assert syntax.Size(99, 7, 8).work == 20 + 7 + 2


def test_an_expression_may_have_as_many_nodes_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = table_rows(table(CARD)).columns
    node = sqlglot.parse_one("age + 2 * change")
    made = scalar.scalar(node, columns)
    nodes = sum(1 for _ in made.sql.walk())
    assert made.weight == nodes
    for module, name in ((value, "_LARGEST_TREE"), (scalar, "_HEAVIEST")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, nodes)
            assert scalar.scalar(node, columns).sql == made.sql
            patch.setattr(module, name, nodes - 1)
            with pytest.raises(BadQuery, match="is too long"):
                scalar.scalar(node, columns)


def test_a_place_in_the_answer_is_counted_from_one() -> None:
    def at(text: str) -> int:
        return position(exp.Literal.number(text), 3, "ORDER BY")

    assert [at(text) for text in ("1", "3", "00000002")] == [0, 2, 1]
    for text in ("0", "4", "000000002", "1.0"):
        with pytest.raises(BadQuery, match=f"ORDER BY {text}: there is no such column"):
            at(text)


def test_a_limit_has_an_end() -> None:
    assert planned(f"SELECT COUNT(*) AS n FROM visits LIMIT {10**9}").after.args["limit"].expression.name == str(10**9)
    for said in (10**9 + 1, "1.5", "-1", "age"):
        with pytest.raises(BadQuery, match="LIMIT must be a number"):
            planned(f"SELECT COUNT(*) AS n FROM visits LIMIT {said}")


@pytest.mark.parametrize(("low", "high", "few"), [(5, 1004, True), (5, 1005, False), (-3, 3, True), (-600, 600, False)])
def test_whole_numbers_are_categories_if_there_are_a_thousand_at_most(low: int, high: int, few: bool) -> None:
    expected = tuple(range(low, high + 1)) if few else None
    assert whole_domain((low, high)) == expected  # type: ignore[arg-type]
    rows = table_rows(table(Card("t", (Column("x", Kind.INTEGER, bounds=(low, high)),))))
    assert rows.columns["x"].domain == expected


@pytest.mark.parametrize("share", ["0.001", "0.999", "0.125"])
def test_a_quantile_of_three_digits_is_asked(share: str) -> None:
    (made,) = planned(f"SELECT QUANTILE_CONT(age, {share}) FROM visits").quantiles.values()
    assert str(float(made.share)) == share


@pytest.mark.parametrize("share", ["0.0005", "0.0015", "0", "1", "1e-2", "'0.5'", "age"])
def test_other_quantiles_are_not(share: str) -> None:
    with pytest.raises(BadQuery, match=r"between 0 and 1|three decimals"):
        planned(f"SELECT QUANTILE_CONT(age, {share}) FROM visits")


@pytest.mark.parametrize(("high", "slices", "whole"), [(4095, 4096, True), (4096, 1024, False)])
def test_few_whole_numbers_are_slices_of_their_own(high: int, slices: int, whole: bool) -> None:
    tables = {"t": table(Card("t", (Column("x", Kind.INTEGER, bounds=(0, high)),)))}
    (made,) = planned("SELECT MEDIAN(x) FROM t", tables).quantiles.values()
    assert (made.slices, made.whole) == (slices, whole)


def test_in_takes_as_many_values_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.verbs.ask.scalar import conditions

    monkeypatch.setattr(conditions, "MANY", 3)
    assert planned("SELECT COUNT(*) FROM visits WHERE age IN (1, 2, 3)")
    with pytest.raises(BadQuery, match="IN with 4 values"):
        planned("SELECT COUNT(*) FROM visits WHERE age IN (1, 2, 3, 4)")


def test_public_columns_of_a_thousand_values_are_listed_and_of_one_value_have_no_bounds() -> None:
    import pyarrow as pa

    engine = DuckDB()
    values = {"few": list(range(1000)), "many": list(range(1001)), "one": [7.5, 7.5], "none": [None]}
    for name, listed in values.items():
        kind = Kind.REAL if name in ("one", "none") else Kind.INTEGER
        type_ = pa.float64() if kind is Kind.REAL else pa.int64()
        engine.load(name, pa.table({"x": pa.array(listed, type_)}))
        known = table(Card(name, (Column("x", kind),), public=True), engine)  # type: ignore[arg-type]
        found = source.described(plan.replace(known, relation=exp.select("x").from_(name))).card["x"]
        expected = {
            "few": (tuple(range(1000)), None),
            "many": (None, (0, 1000)),
            "one": ((7.5,), None),
            "none": (None, None),
        }
        assert (found.categories, found.bounds) == expected[name], name


def test_groups_of_a_unit_are_cut_where_the_card_allows_fewer_than_it_has_rows() -> None:
    text = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"
    plain = planned(text)
    assert plain.rows.most == 3
    for few in (1, 2, 3):
        made = planned(text, {"visits": table(plan.replace(CARD, groups_per_unit=few))})
        assert (made.query == plain.query) == (few >= 3)
        assert made.rows.owned.groups == min(few, 3)


def test_an_average_far_from_zero_is_as_exact_as_one_near_it() -> None:
    engine = DuckDB()
    card = Card("t", (Column("x", Kind.REAL, bounds=(1e9, 1e9 + 1)),))
    values = [(1e9 + 0.25,), (1e9 + 0.5,), (1e9 + 0.75,), (1e9 + 1,)]
    made = planned("SELECT AVG(x) AS a, SUM(x) AS s FROM t", {"t": loaded(engine, card, values, "t")})
    (row,) = answer(made, price(made, 1), Silent()).to_pylist()
    assert row["a"] == pytest.approx(1e9 + 0.625, abs=1e-6)
    assert row["s"] == pytest.approx(4e9 + 2.5, abs=10)


def test_a_name_that_means_nothing_is_told_what_there_is() -> None:
    for text, hint in (
        ("SELECT COUNT(x.age) FROM visits AS v JOIN visits AS w USING (person)", "There is: v, w."),
        ("SELECT COUNT(x.age) FROM (SELECT age FROM visits)", "There is: none that has a name."),
        ("SELECT COUNT(v.size) FROM visits AS v", "There are: person, age"),
        ("SELECT COUNT(x) FROM (SELECT age, city FROM visits) AS s", "There are: age, city."),
    ):
        with pytest.raises(BadQuery, match="There is no") as refusal:
            planned(text)
        assert hint in str(refusal.value), text


def test_slices_beyond_the_ends_are_the_ends() -> None:
    (made,) = planned("SELECT MEDIAN(grade) FROM visits").quantiles.values()
    found = [{"k0": "a", SLICE: place, COUNT: 2} for place in (-1, 0, made.slices - 1, made.slices, None)]
    counts = counts_by_group(made, [*found, {"k0": "b", SLICE: 1, COUNT: 5}], ["k0"])
    assert counts[("a",)].tolist() == [4, *[0] * (made.slices - 2), 4]
    assert counts[("b",)].tolist() == [0, 5, *[0] * (made.slices - 2)]


def test_a_part_of_a_question_is_quoted_up_to_60_characters() -> None:
    for many in (59, 60):
        assert value.said(exp.column("x" * many)) == "x" * many
    assert value.said(exp.column("x" * 61)) == "x" * 59 + "…"


@pytest.mark.parametrize("bounds", [(0.0, 1e-300), (0.0, 1e280), (-1e280, 0.0)])
def test_numbers_beyond_what_can_be_computed_with_have_no_quantiles(bounds: tuple[float, float]) -> None:
    tables = {"t": table(Card("t", (Column("x", Kind.REAL, bounds=bounds),)))}
    with pytest.raises(BadQuery, match="to compute quantiles"):
        planned("SELECT MEDIAN(x) FROM t", tables)

"""What the worked cases say of themselves, counted on the engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from discreet import samples
from discreet.core.card import Role
from discreet.core.kind import Kind
from discreet.core.table import Table, violations

CASES: list[Callable[[], Table]] = [
    samples.inpatient,
    samples.got,
    samples.tarragona5,
    samples.age6,
    samples.students,
    samples.psychiatric,
    lambda: samples.psychiatric(rich=True),
    samples.drug_trial,
    samples.bits,
    samples.block7,
    samples.municipality,
    samples.municipality_totals,
    samples.transactions,
]


@pytest.mark.parametrize("case", CASES)
def test_every_case_keeps_to_its_card_and_the_card_is_fully_declared(case: Callable[[], Table]) -> None:
    table = case()
    assert violations(table) == ()
    assert table.card.private
    for column in table.card.columns:
        if column.role is Role.SENSITIVE and column.kind in (Kind.INTEGER, Kind.REAL, Kind.DECIMAL):
            assert column.bounds is not None


def test_the_raw_inpatient_table_has_no_two_records_alike() -> None:
    assert sizes(samples.inpatient()) == [1] * 12


def test_the_published_inpatient_table_is_4_anonymous_and_one_class_has_a_single_condition() -> None:
    published = samples.inpatient().generalize({"zip": 2, "age": 1, "nationality": 1})
    classes = by_class(published)
    assert {key: len(rows) for key, rows in classes.items()} == {
        ("130**", "<30", "*"): 4,
        ("1485*", ">=40", "*"): 4,
        ("130**", "3*", "*"): 4,
    }
    assert {key: conditions(rows) for key, rows in classes.items()} == {
        ("130**", "<30", "*"): {"Heart", "Viral"},
        ("1485*", ">=40", "*"): {"Cancer", "Heart", "Viral"},
        ("130**", "3*", "*"): {"Cancer"},
    }


def test_regrouped_the_inpatient_table_stays_4_anonymous_and_is_3_diverse() -> None:
    regrouped = samples.inpatient().generalize({"zip": 1, "age": 2, "nationality": 1})
    classes = by_class(regrouped)
    assert set(classes) == {("1305*", "<40", "*"), ("1485*", ">=40", "*"), ("1306*", "<40", "*")}
    assert {len(rows) for rows in classes.values()} == {4}
    assert all(len(conditions(rows)) == 3 for rows in classes.values())


def test_without_names_7_of_9_in_got_are_unique_on_age() -> None:
    assert sizes(samples.got()).count(1) == 7


def test_in_tarragona_hyu_is_unique_hence_her_illness_is_known() -> None:
    table = samples.tarragona5()
    alone = [rows for rows in by_class(table).values() if len(rows) == 1]
    assert [[(row["respondent"], row["illness"]) for row in rows] for rows in alone] == [[("HYU", "Heart attack")]]


def test_in_tarragona_the_others_illness_is_disclosed_without_their_identity() -> None:
    others = [rows for rows in by_class(samples.tarragona5()).values() if len(rows) > 1]
    assert [len(rows) for rows in others] == [2, 2]
    assert sorted(sorted({row["illness"] for row in rows}) for rows in others) == [["AIDS"], ["Cancer"]]


def test_two_2_anonymous_answers_together_single_out_don() -> None:
    rows = samples.age6().fetch().to_pylist()
    sick = [row for row in rows if row["disease"]]
    age, weight = min(row["age"] for row in sick), min(row["weight"] for row in sick)
    assert (age, weight) == (40, 100)
    assert sizes(samples.age6(), "age") == sizes(samples.age6(), "weight") == [2, 2, 2]
    assert [row["name"] for row in rows if (row["age"], row["weight"]) == (age, weight)] == ["Don"]


def test_exactly_one_anthropology_student_lives_in_enfield_and_she_is_sick() -> None:
    classes = by_class(samples.students())
    assert [row["sick"] for row in classes["Enfield", "anthropology"]] == [True]
    assert sizes(samples.students()).count(1) == 1


def test_an_average_income_gives_ms_rich_away() -> None:
    without, with_her = (values(samples.psychiatric(rich=rich), "income") for rich in (False, True))
    assert (len(without), len(with_her)) == (10, 11)
    assert Fraction(sum(without), 10) == 3300
    assert Fraction(sum(with_her), 11) == Fraction(133_000, 11)
    assert f"{sum(with_her) / 11:,.3f}" == "12,090.909"
    assert sum(with_her) - sum(without) == 100_000


def test_drug_x_is_declared_in_1_to_4_and_exact() -> None:
    table = samples.drug_trial()
    assert table.card["drug_x"].bounds == (1, 4)
    assert sum(values(table, "drug_x")) == Decimal("12.7")
    assert set(values(table, "height")) == {"6'2\"", "5'3\"", "5'9\"", "6'7\""}


def test_bits_have_their_marginals_and_their_cumulative_distribution() -> None:
    table = samples.bits()
    assert [sum(values(table, name)) for name in ("d1", "d2", "d3")] == [4, 3, 4]
    words = [4 * row["d1"] + 2 * row["d2"] + row["d3"] for row in table.fetch().to_pylist()]
    assert len(words) == 10
    assert [sum(word <= last for word in words) for last in range(8)] == [3, 4, 6, 6, 6, 9, 10, 10]


@pytest.mark.parametrize("measure", ["count", "salary"])
def test_both_municipality_tables_add_up(measure: str) -> None:
    assert additive_problems(cells(samples.municipality(), measure), totals(measure)) == []


def test_a_municipality_table_that_does_not_add_up_is_reported() -> None:
    broken = cells(samples.municipality(), "count") | {("M2", "P3"): 2}
    assert additive_problems(broken, totals("count")) == [
        "(M2, Total): published 133, cells sum to 134",
        "(Total, P3): published 46, cells sum to 47",
        "(Total, Total): published 346, cells sum to 347",
    ]


def test_totals_that_contradict_each_other_are_reported() -> None:
    wrong = totals("salary") | {("Total", "Total"): 8621}
    assert additive_problems(cells(samples.municipality(), "salary"), wrong) == [
        "(Total, Total): published 8621, cells sum to 8620"
    ]


def test_the_municipality_cells_under_attack_are_the_ones_of_the_text() -> None:
    count, salary = (cells(samples.municipality(), measure) for measure in ("count", "salary"))
    assert (count["M2", "P3"], salary["M2", "P3"]) == (1, 22)
    assert count["M1", "P1"] == 2
    assert (count["M3", "P5"], salary["M3", "P5"] - 350) == (5, 13)


def test_a_suppressed_cell_is_recomputed_from_the_totals() -> None:
    shown = cells(samples.municipality(), "salary")
    del shown["M2", "P3"]
    row = sum(value for (municipality, _), value in shown.items() if municipality == "M2")
    assert totals("salary")["M2", "Total"] - row == 22


def test_the_transactions_support_the_pairs_as_in_the_text() -> None:
    baskets = defaultdict(set)
    for row in samples.transactions().fetch().to_pylist():
        baskets[row["transaction"]].add(row["item"])
    support = {pair: sum(set(pair) <= items for items in baskets.values()) for pair in ("ab", "bc", "ac")}
    assert support == {"ab": 2, "bc": 2, "ac": 3}
    assert [name for name, items in baskets.items() if set("abc") <= items] == ["T1", "T2"]


def sizes(table: Table, *names: str) -> list[int]:
    """The sizes of the classes of records alike on the quasi-identifiers, or on ``names``."""
    return table.histogram(*names).column("n").to_pylist()


def by_class(table: Table) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in table.fetch().to_pylist():
        found[tuple(row[name] for name in table.quasi())].append(row)
    return found


def conditions(rows: list[dict[str, Any]]) -> set[str]:
    return {row["condition"] for row in rows}


def values(table: Table, name: str) -> list[Any]:
    return table.fetch().column(name).to_pylist()


def cells(table: Table, measure: str) -> dict[tuple[str, str], int]:
    return {(row["municipality"], row["profession"]): row[measure] for row in table.fetch().to_pylist()}


def totals(measure: str) -> dict[tuple[str, str], int]:
    return cells(samples.municipality_totals(), measure)


def additive_problems(inner: Mapping[tuple[str, str], int], published: Mapping[tuple[str, str], int]) -> list[str]:
    """Each published total that is not the sum of its cells."""
    problems = []
    for (row, column), total in published.items():
        parts = [v for (r, c), v in inner.items() if row in (r, "Total") and column in (c, "Total")]
        if sum(parts) != total:
            problems.append(f"({row}, {column}): published {total}, cells sum to {sum(parts)}")
    return problems

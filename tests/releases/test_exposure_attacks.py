"""Attempts to get one person's value out of several releases without being refused or told that nothing was checked."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sqlglot import parse_one
from tests.curator.offices import BY, CARD, office, staff
from tests.releases.registers import listed
from tests.releases.test_exposure_cases import COLUMNS, ILL, opened, people, where

import discreet as dc
from discreet.cli.publish import registered_in
from discreet.curator.backup import back_up, restore
from discreet.curator.curator import Curator
from discreet.errors import BadInput, Exposed, NotFound, Taken
from discreet.releases.facts import Choice, Opaque
from discreet.releases.holdings import declare_holding
from discreet.releases.registration import weigh
from discreet.verbs.publish.people import Linked

YOUNG = "age < 79"
ROUND = {"method": "round base=5 how=conventional"}
COLUMNS |= {
    "name": 'kind = "text"\nrole = "identifier"',
    "hobby": 'kind = "text"\nrole = "other"',
    "chapter": 'kind = "text"\nrole = "sensitive"\nhierarchy = { type = "taxonomy", '
    'tree = { infectious = ["flu", "hiv"], other = ["cold", "none"] } }',
}
ATTACKS: list[Any] = []


def expect(outcome: str) -> Callable[[Any], Any]:
    """Take note of an attack, and of what has to become of its last release."""

    def noted(attack: Any) -> Any:
        ATTACKS.append(pytest.param(attack, outcome, id=attack.__name__))
        return attack

    return noted


def outcome_of(attack: Any, folder: Any) -> str:
    """Refused, an error, told that it was not checked, or nothing of these."""
    try:
        made = attack(folder)
    except Exposed as error:
        return "undecided" if "It could not be decided" in str(error) else "refused"
    except BadInput as error:
        return f"error: {error.message}"
    said = " ".join((*made.statement.caveats, *made.notices))
    return "not checked" if "Not checked together with" in said else "passed"


def table(rows: Any, by: str = "town × ill", **how: Any) -> Any:
    return dc.tabulate(rows, by, **(how or {"rules": "min=3"}))


def another(value: str) -> str:
    return ILL[(ILL.index(value) + 1) % len(ILL)]


@contextmanager
def role(column: str, now: str) -> Iterator[None]:
    """The card gives a column another role."""
    before = COLUMNS[column]
    was = next(one for one in ("quasi", "sensitive", "other") if f'role = "{one}"' in before)
    COLUMNS[column] = before.replace(f'role = "{was}"', f'role = "{now}"')
    try:
        yield
    finally:
        COLUMNS[column] = before


def paid(count: int = 400, **first: int) -> list[dict[str, Any]]:
    rows = [row | {"income": 1000 + 100 * (row["id"] % 7)} for row in people(count)]
    rows[0] |= first
    return rows


def without(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != name} for row in rows]


# -- conditions


@pytest.mark.parametrize(
    "condition",
    [
        "AGE < 79", '"Age" < 79', "t.age < 79", "NOT age >= 79", "NOT (age BETWEEN 79 AND 200)", "age < (SELECT 79)",
        "CASE WHEN age >= 79 THEN false ELSE true END", "COALESCE(age, 0) < 79", "age * 2 - age < 79",
        "id <> 0", "ID % 400 > 0", "name <> 'n0'", "name || town <> 'n0A'", "age < 79 OR (age >= 79 AND id <> 0)",
    ],
)  # fmt: skip
def test_a_condition_that_leaves_out_one_person_is_refused_however_it_is_written(tmp_path, condition):
    rows = opened(tmp_path, [row | {"name": f"n{row['id']}"} for row in people(120)])
    table(rows)
    with pytest.raises(Exposed, match="group of 1 person"):
        table(where(rows, condition))


@pytest.mark.parametrize("condition", ["rowid <> 0", "CAST(t AS TEXT) NOT LIKE '%79%'"])
def test_a_condition_has_columns_of_the_card_only(tmp_path, condition):
    with pytest.raises(NotFound, match="has no column"):
        where(opened(tmp_path, people(40)), condition)


@pytest.mark.parametrize("condition", ["COLUMNS('ill') = 'hiv'", "#4 = 'hiv'", "id IN (SELECT id FROM elsewhere)"])
def test_a_condition_that_does_not_name_its_columns_is_not_checked(tmp_path, condition):
    rows = opened(tmp_path, people(120))
    rows.engine.store("elsewhere", where(rows, "ill = 'hiv'").relation)
    table(rows)
    assert (
        outcome_of(lambda _: table(rows.where(parse_one(condition, dialect="duckdb")), "town"), None) == "not checked"
    )


@pytest.mark.parametrize("condition", ["is_sick(id)", "id + is_sick(id) > 3", "random() < 0.9"])
def test_a_condition_by_a_function_of_the_database_is_not_checked(tmp_path, condition):
    """Whatever it is given, it may look at other columns."""
    assert isinstance(Choice.of(where(opened(tmp_path, people(40)), condition)), Opaque)


@pytest.mark.parametrize(
    ("query", "outcome"),
    [
        ("SELECT * FROM {} WHERE age < 79", "refused"),
        ("SELECT t.id, T.town, age, ill FROM {} AS t WHERE t.AGE < 79 AND NOT t.id IS NULL", "refused"),
        ("SELECT id, town, age, min(ill) FILTER (WHERE ill > '') ill FROM {} WHERE id > 0 GROUP BY 1, 2, 3", "refused"),
        ("SELECT * FROM {} WHERE ill = 'hiv'", "not checked"),
        ("SELECT id, town, age, ill FROM (SELECT *, ill AS why FROM {}) AS t WHERE why = 'hiv'", "not checked"),
        ("WITH hiv AS (SELECT * FROM {} WHERE ill = 'hiv') SELECT * FROM hiv", "not checked"),
        ("SELECT id, town, age, max(ill) AS ill FROM {} GROUP BY 1, 2, 3 HAVING max(ill) = 'hiv'", "not checked"),
        ("SELECT * FROM {} ORDER BY ill LIMIT 50", "not checked"),
        ("SELECT * FROM {0} EXCEPT SELECT * FROM {0} WHERE id = 0", "not checked"),
    ],
)  # fmt: skip
def test_rows_may_be_chosen_by_the_query_of_an_address(tmp_path, postgres, postgres_address, fresh, query, outcome):
    """A condition counts as one of ``table.where``; of one by other columns than the card's no one can say by which."""
    name = fresh()
    rows = people(120)
    table(opened(tmp_path, rows))
    postgres.load(name, pa.Table.from_pylist(rows))
    address = f"{postgres_address}#{query.format(name)}"
    assert outcome_of(lambda folder: table(dc.read(address, folder / "p.toml")), tmp_path) == outcome


def test_rows_chosen_again_after_the_query_of_an_address(tmp_path, postgres, postgres_address, fresh):
    """Whoever has hiv is chosen by the query: no one knows who that is, whatever else they are chosen by."""
    name = fresh()
    rows = people(120)
    rows[0]["ill"] = "hiv"
    table(opened(tmp_path, rows))
    postgres.load(name, pa.Table.from_pylist(rows))
    for query, outcome in (("ill = 'hiv'", "not checked"), ("age > 0", "refused")):
        address = f"{postgres_address}#SELECT * FROM {name} WHERE {query}"
        read = dc.read(address, tmp_path / "p.toml").where(YOUNG).where("ill = 'hiv'")
        assert outcome_of(lambda folder, read=read: table(read, "town", rules="min=2"), tmp_path) == outcome


# -- tables of one release


def _by_two_bands(folder, rows):
    """Both bands are the same, but for one person."""
    COLUMNS["band"] = COLUMNS["other_band"] = 'kind = "text"\nrole = "quasi"'
    both = [row | dict.fromkeys(("band", "other_band"), "young" if row["age"] < 45 else "old") for row in rows]
    both[0]["other_band"] = "young"
    return opened(folder, both)


@expect("refused")
def two_tables_of_one_release(folder):
    return table(_by_two_bands(folder, people(400)), "band × ill; other_band × ill")


@expect("refused")
def sums_in_two_tables_of_one_release(folder):
    return table(_by_two_bands(folder, paid()), "band; other_band", value="income", rules="min=3")


@expect("passed")
def two_tables_of_one_release_that_differ_by_many(folder):
    return table(opened(folder, people(400, oldest=0)), "town × ill; town; ill")


# -- what figures tell besides


@expect("refused")
def a_code_that_occurs(folder):
    """A rounded table prints 0 for hiv, but lists it: somebody has it, and nobody under 79 does."""
    rows = [row | {"ill": "flu" if row["ill"] == "hiv" else row["ill"]} for row in people(120)]
    rows[0]["ill"] = "hiv"
    opened_rows = opened(folder, rows)
    table(opened_rows, **ROUND)
    return table(where(opened_rows, YOUNG), **ROUND)


@expect("refused")
def a_code_that_does_not_occur(folder):
    """The towns of those with hiv are listed, and D is none; of six of 90, five of them of D, one has it."""
    rows = [row | {"ill": another("hiv") if row["town"] == "D" else row["ill"]} for row in people(120, oldest=0)]
    ill = ("hiv", "none", "none", "none", "flu", "flu")
    rows += [{"id": 900 + n, "town": "ADDDDD"[n], "age": 90, "ill": one} for n, one in enumerate(ill)]
    opened_rows = opened(folder, rows)
    table(opened_rows.where("ill = 'hiv'"), "town")
    return dc.publish(opened_rows.where("age >= 90").select("id", "age", "ill"), "generalize", "k=2")


def _of_the_old(folder):
    """Of those of 70 or more everybody who has something infectious has hiv, and in E nobody has anything else."""
    old = [("E", "hiv")] * 4 + [("A", "hiv"), ("A", "none")] * 4 + [("B", "none")] * 5
    rows = [row | {"town": "ABE"[row["id"] % 3]} for row in people(240, oldest=0)]
    rows += [{"id": 500 + n, "town": town, "age": 72, "ill": ill} for n, (town, ill) in enumerate(old)]
    rows[240]["age"] = 79
    return opened(folder, [{"chapter" if name == "ill" else name: row[name] for name in row} for row in rows])


@expect("refused")
def a_value_in_a_group_of_which_no_other_occurs(folder):
    """The first table tells that whoever is 79 has something infectious, the other two that it is hiv."""
    rows = _of_the_old(folder)
    table(where(rows, "age >= 70"), "town × chapter@1")
    table(rows, "town × chapter")
    return table(where(rows, YOUNG), "town × chapter")


@expect("refused")
def a_value_of_those_that_were_chosen_of_which_no_other_occurs(folder):
    rows = _of_the_old(folder)
    table(where(where(rows, "age >= 70"), "chapter = 'flu' OR chapter = 'hiv'"), "town")
    table(rows, "town × chapter")
    return table(where(rows, YOUNG), "town × chapter")


@expect("refused")
def a_value_that_was_recoded_after_rows_were_left_out(folder):
    COLUMNS["pastime"] = COLUMNS["chapter"].replace("sensitive", "other")
    read = opened(folder, without("ill", [row | {"pastime": row["ill"]} for row in people(120)]))
    table(where(read, "age > 0").generalize({"pastime": 1}), "town × pastime")
    return table(where(read, YOUNG).generalize({"pastime": 1}), "town × pastime")


@expect("refused")
def one_of_two_by_a_group_of_values(folder):
    """No illness of the pair is known, but that one of them is infectious: each knows of the other."""
    rows = [row | {"chapter": row["ill"]} for row in people(120, oldest=2)]
    rows[0]["chapter"], rows[1]["chapter"] = "flu", "cold"
    opened_rows = opened(folder, rows)
    table(opened_rows, "town × chapter@1")
    return table(where(opened_rows, YOUNG), "town × chapter@1")


@expect("refused")
def two_groups_of_values_with_a_missing_one(folder):
    rows = [row | {"ill": None if row["id"] % 5 == 0 else row["ill"]} for row in people(160)]
    read = opened(folder, rows)
    for condition in ("ill = 'hiv' OR ill IS NULL", "ill = 'flu' OR ill = 'cold'"):
        table(read.where(condition), "town")
    return table(where(read, YOUNG).where("ill = 'hiv' OR ill IS NULL"), "town")


@expect("refused")
def a_column_that_another_one_says(folder):
    rows = [row | {"disease": "yes" if row["ill"] in ("flu", "hiv") else "no"} for row in people(120)]
    opened_rows = opened(folder, rows)
    table(opened_rows)
    return table(where(opened_rows, YOUNG), "town × disease")


@expect("refused")
def a_column_under_another_name(folder):
    rows = [row | {"chapter": row["ill"]} for row in people(120)]
    opened_rows = opened(folder, rows)
    table(opened_rows)
    return table(where(opened_rows, YOUNG), "town × chapter")


@expect("passed")
def rows_of_two_files_in_one_order(folder):
    """Rows with secrets hidden leave in an order of their own: else line by line they would be the same people."""
    rows = [row | {"disease": ("no", "yes")[row["id"] % 3 % 2]} for row in people(160, oldest=0)]
    read = opened(folder, rows)
    secrets = {"town": "town=A, ill=hiv", "age": "age=20, disease=yes"}
    made = [
        dc.hide(read.select("id", side, told), itemsets=[secrets[side]], support=1)
        for side, told in (("town", "ill"), ("age", "disease"))
    ]
    for one in made:
        baskets = one.payload["items"].to_pylist()
        assert baskets == sorted(baskets)
    return made[1]


@expect("not checked")
def items_that_were_taken_out_and_are_named(folder):
    """Whoever is told that hiv was hidden in A knows what every gap there was."""
    rows = people(160)
    rows[0]["ill"] = "hiv"
    read = opened(folder, rows)
    dc.hide(read.select("id", "town", "ill"), itemsets=["town=A, ill=hiv"], support=3, tell="secrets")
    return table(where(read, YOUNG))


# -- sums


@expect("refused")
def an_income(folder):
    rows = opened(folder, paid())
    table(rows, "town", value="income", rules="p=10")
    return table(where(rows, YOUNG), "town", value="income", rules="p=10")


@pytest.mark.parametrize("bounds", ["[0, 1000000]", "[-1000000, 1000000]", ""])
def test_an_income_in_a_town_in_which_no_other_has_any_is_refused(tmp_path, bounds):
    """The sum of the town is as much as one of them can have at most, and nobody knows that somebody has it all."""
    rows = [row | {"income": 5000 if row["age"] >= 79 else 0} for row in people(120)]
    with pytest.MonkeyPatch.context() as patch:
        said = f"bounds = {bounds}" if bounds else ""
        patch.setitem(COLUMNS, "income", f'kind = "integer"\nrole = "sensitive"\n{said}')
        read = opened(tmp_path, rows)
    table(read, "town", value="income", rules="min=3")
    with pytest.raises(Exposed, match="reveals income of a group of 1 person"):
        table(where(read, YOUNG), "town", value="income", rules="min=3")


@pytest.mark.parametrize(("least", "outcome"), [(0, "refused"), (-1000, "refused"), (-1_000_000, "passed")])
def test_an_income_beside_two_small_ones_that_may_be_negative(tmp_path, least, outcome):
    """Three of 79 or more, of three sectors, have 100,080 together: nobody can have lost more than the card says."""
    rows = [row | {"sector": "abc"[row["id"] % 3]} for row in paid(120)]
    for row, income in zip(rows, (100_000, 50, 30), strict=False):
        row |= {"town": "A", "age": 79, "income": income}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(COLUMNS, "income", f'kind = "integer"\nrole = "sensitive"\nbounds = [{least}, 1000000]')
        read = opened(tmp_path, rows)
    table(read, "sector × ill")
    table(read, "town", value="income", rules="min=3")
    attack = lambda folder: table(where(read, YOUNG), "town", value="income", rules="min=3")  # noqa: E731
    assert outcome_of(attack, tmp_path) == outcome


@expect("refused")
def an_income_that_one_contributor_could_estimate_before(folder):
    """Whoever has most of E knows nearly what the next one has; now everybody knows it."""
    rows = paid() + [
        {"id": 500 + n, "town": "E", "age": 79 if n == 1 else 40, "ill": "flu", "income": income}
        for n, income in enumerate((100_000, 5000, 100, 90))
    ]
    rows[0]["age"] = 40
    read = opened(folder, rows)
    table(read, "town", value="income", rules="min=3")
    return table(where(read, YOUNG), "town", value="income", rules="min=3")


@expect("refused")
def an_income_that_another_contributor_could_estimate_before(folder):
    """Two people of 80 lead a town each, so that the next one in it knows what they have; now they know each other's,
    from the incomes of everyone and of everyone but three of 80."""
    rows = [row | {"sex": "fm"[row["id"] // 4 % 2]} for row in paid(120)]
    rows[0]["age"] = 40
    towns = (
        ("E", 80, 5000),
        ("E", 40, 9000),
        ("E", 40, 40),
        ("F", 80, 6000),
        ("F", 40, 9500),
        ("F", 40, 30),
        ("A", 80, 35),
    )
    for n, (town, age, income) in enumerate(towns, 900):
        rows.append({"id": n, "town": town, "age": age, "ill": "flu", "income": income, "sex": "f"})
    read = opened(folder, rows)
    table(read, "town", value="income", rules="min=3")
    table(where(read, "age <> 80"), "sex", value="income", rules="min=3")
    return table(read, "sex", value="income", rules="min=3")


@expect("refused")
def no_income(folder):
    rows = opened(folder, paid(income=0))
    table(rows, "town", value="income", rules="p=10")
    return table(where(rows, YOUNG), "town", value="income", rules="p=10")


@expect("refused")
def a_missing_income(folder):
    """Both sums are the same, so that whoever is left out has no income."""
    rows = opened(folder, paid(income=None))
    table(rows, "town", value="income", rules="p=10")
    return table(where(rows, YOUNG), "town", value="income", rules="p=10")


@expect("passed")
def incomes_of_a_town_in_which_nobody_has_one(folder):
    """What one table tells by itself is for its own rules to judge."""
    rows = [row | {"income": None if row["town"] == "B" else row["income"]} for row in paid()]
    rows[1]["town"] = "E"
    return table(opened(folder, rows), "town × age", value="income", rules="p=10")


@expect("refused")
def people_without_a_gain_in_towns_that_are_not_listed(folder):
    """Of three of 90, two have nothing, since their towns are not among those of the old: what is left is the third's.

    Gains may be negative, so that nobody would know without that table.
    """
    rows = [row | {"gain": row["id"] * 37 % 400 - 150} for row in people(120, oldest=0)]
    for row, town, gain in zip(rows, "EFA", (None, None, 777), strict=False):
        row |= {"town": town, "age": 90, "gain": gain}
    COLUMNS["gain"] = 'kind = "integer"\nrole = "sensitive"\nbounds = [-100000, 100000]'
    read = opened(folder, [row | {"sex": "fm"[row["id"] // 4 % 2]} for row in rows])
    table(read)
    table(where(read, "age >= 60"), "town", value="gain", rules="min=3")
    table(read, "sex", value="gain", rules="min=3")
    return table(where(read, YOUNG), "sex", value="gain", rules="min=3")


def _every_day(folder):
    """Sixty people with a row for each of six days."""
    COLUMNS["day"] = 'kind = "integer"\nrole = "quasi"\nbounds = [0, 31]'
    days = [(n, day) for n in range(60) for day in range(6)]
    rows = [
        {"id": n, "town": "AB"[n % 2], "day": day, "ill": ILL[(n * 7 + day * 3 + n // 5) % 4]}
        | {"income": 100 + (n * 37 + day * 11) % 400}
        for n, day in days
    ]
    return opened(folder, rows, most=6)


@expect("refused")
def four_of_the_rows_of_one_person(folder):
    """On one of four days somebody had hiv, and nobody knows on which."""
    rows = _every_day(folder)
    table(rows, "day × ill")
    table(rows)
    return table(where(rows, "NOT (id = 0 AND day < 4)"))


@expect("refused")
def the_income_of_one_person_on_three_days(folder):
    rows = _every_day(folder)
    table(rows, "day", value="income", rules="p=10")
    table(rows, "town", value="income", rules="p=10")
    return table(where(rows, "NOT (id = 0 AND day < 3)"), "town", value="income", rules="p=10")


@expect("undecided")
def a_sum_and_then_values(folder):
    rows = opened(folder, paid())
    table(rows, "town", value="income", rules="p=10")
    return dc.publish(where(rows, YOUNG).select("id", "town", "income"), "generalize", "k=2")


@expect("undecided")
def values_and_then_a_sum(folder):
    rows = opened(folder, paid())
    dc.publish(where(rows, YOUNG).select("id", "town", "income"), "generalize", "k=2")
    return table(rows, "town", value="income", rules="p=10")


@expect("undecided")
def sums_with_other_decimals(folder):
    rows = opened(folder, paid())
    table(rows, "town", value="income", rules="p=10")
    return table(where(rows, YOUNG), "town", value="income", rules="p=10", decimals=1)


@pytest.mark.parametrize(
    ("two", "bounds"),
    [
        pytest.param((5000, 3000), [0, 1_000_000], id="by what one of the two has"),
        pytest.param((1, 0), [0, 1], id="yes and no"),
        pytest.param((9000, 0), [0, 9000], id="the most and nothing"),
        pytest.param((9000, -9000), [-9000, 9000], id="gain and loss"),
        pytest.param((8950, 10), [0, 9000], id="nearly the most"),
    ],
)
def test_sums_without_one_and_without_another_are_refused(tmp_path, two, bounds):
    """Each of the two knows how much more the other has, and anybody if it is as much as anybody can have."""
    most = bounds[1]
    rows = [row | {"income": min(most, row["id"] * 97 % 2000)} for row in people(120, oldest=2)]
    for row, income in zip(rows, two, strict=False):
        row["income"] = income
    before = COLUMNS["income"]
    COLUMNS["income"] = before.replace("[0, 1000000]", str(bounds))
    try:
        read = opened(tmp_path, rows)
    finally:
        COLUMNS["income"] = before
    table(where(read, "id <> 0"), "town", value="income", rules="min=3")
    with pytest.raises(Exposed, match="group of 1 person"):
        table(where(read, "id <> 1"), "town", value="income", rules="min=3")


@expect("not checked")
def sums_by_what_is_told(folder):
    """That there is an income in A of somebody with hiv tells that somebody has it."""
    rows = opened(folder, paid())
    table(rows, "town × ill", value="income", rules="p=10")
    return table(where(rows, YOUNG))


# -- who is who


@expect("not checked")
def a_value_that_changed(folder):
    rows = people(120)
    table(opened(folder, rows))
    rows[100]["ill"] = another(rows[100]["ill"])
    return table(where(opened(folder, rows), YOUNG))


@expect("not checked")
def a_value_that_changed_beside_a_table_that_did_not(folder):
    rows = [row | {"disease": ("no", "yes", "yes")[row["id"] % 3]} for row in people(120)]
    table(opened(folder, rows), "town × disease")
    rows[100]["disease"] = "no" if rows[100]["disease"] == "yes" else "yes"
    return table(where(opened(folder, rows), YOUNG), "town × ill; town × disease")


@expect("not checked")
def a_value_that_changed_beside_a_stable_one(folder):
    rows = [row | {"hobby": "xy"[row["id"] % 2]} for row in people(120)]
    for changed in (False, True):
        if changed:
            rows[100]["ill"] = another(rows[100]["ill"])
        opened(folder, rows)
        card = folder / "p.toml"
        card.write_text(card.read_text().replace("rows_per_unit", 'stable = ["hobby"]\nrows_per_unit'))
        read = dc.read(folder / "p.parquet", card=card)
        made = table(where(read, YOUNG) if changed else read, "town × ill; town × hobby")
    return made


def _with_a_lasting_hobby(folder, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(COLUMNS, "hobby", 'kind = "text"\nrole = "sensitive"\ncategories = ["x", "y"]')
        opened(folder, rows)
    card = folder / "p.toml"
    card.write_text(card.read_text().replace("rows_per_unit", 'stable = ["hobby"]\nrows_per_unit'))
    return dc.read(folder / "p.parquet", card=card)


@expect("not checked")
def what_figures_of_another_state_say_of_a_column_that_never_changes(folder):
    """All of 75 have hobby x, by those of them with flu; an illness changes; those of 60 are told, and all of 60 or
    more: what is left are two of 79 with hobby y."""
    groups = [(5, 75, "x", "flu"), (2, 79, "y", "flu")]
    groups += [(5, age, hobby, ill) for age in (60, 30) for hobby in "xy" for ill in ILL]
    rows = [{"age": age, "hobby": hobby, "ill": ill} for count, age, hobby, ill in groups for _ in range(count)]
    rows = [{"id": n, **row} for n, row in enumerate(rows)]
    table(_with_a_lasting_hobby(folder, rows).where("age = 75 OR id = 7").where("ill <> 'hiv'"), "hobby", rules="min=2")
    rows[7]["ill"] = another(rows[7]["ill"])
    read = _with_a_lasting_hobby(folder, rows)
    table(read.where("age = 60"), "hobby × ill", rules="min=2")
    return table(read.where("age >= 60"), "hobby", rules="min=2")


@expect("not checked")
def a_table_of_which_half_is_in_the_state_before(folder):
    """A disease of town A is changed and changed back: only the illnesses of the table in between are as they were."""
    rows = [row | {"disease": ("no", "yes")[row["id"] // 4 % 2]} for row in people(120, oldest=0)]
    rows[1]["age"] = 79  # of town B
    both = "town × ill; town × disease"
    table(opened(folder, rows).where("town = 'A'"), both)
    rows[4]["disease"] = "yes" if rows[4]["disease"] == "no" else "no"
    table(opened(folder, rows), both)
    rows[4]["disease"] = "yes" if rows[4]["disease"] == "no" else "no"
    read = opened(folder, rows)
    made = table(where(read, YOUNG), "town × disease")
    assert listed(read.registers[0])[-1].told["checked"] == [1]
    return made


@expect("not checked")
def two_states_that_a_third_table_agrees_with(folder):
    rows = people(120)
    table(opened(folder, rows))
    rows[100]["ill"] = another(rows[100]["ill"])
    table(opened(folder, rows))
    return table(opened(folder, rows).where(f"town <> '{rows[100]['town']}'"))


@expect("error: The register's population 'p' has other people: none of them is in this table.")
def people_with_new_numbers_in_the_same_file(folder):
    table(opened(folder, people(120)))
    return table(where(opened(folder, people(120, first=1000)), YOUNG))


@expect("error: The register's population 'p' has other people: none of them is in this table.")
def people_with_new_numbers_in_memory(folder):
    opened(folder, people(120))
    first, second = (dc.read(pa.Table.from_pylist(people(120, first=n)), folder / "p.toml") for n in (0, 1000))
    table(first)
    return table(where(second, YOUNG))


@expect("not checked")
def rows_without_unit_a_year_later(folder):
    rows = without("id", people(120))
    table(opened(folder, rows, unit=None))
    older = [row | {"age": row["age"] + 1} for row in rows]
    return table(where(opened(folder, older, unit=None), "age < 80"))


@expect("not checked")
def rows_without_unit_recoded(folder):
    rows = opened(folder, without("id", people(120)), unit=None)
    table(rows)
    return table(where(rows, YOUNG).generalize({"age": 1}))


@expect("not checked")
def people_with_several_rows_that_changed_elsewhere(folder):
    rows = [row | {"hobby": "x"} for row in people(120)]
    table(opened(folder, rows, most=3))
    return table(where(opened(folder, [row | {"hobby": "y"} for row in rows], most=3), YOUNG))


@expect("refused")
def the_same_rows_without_unit(folder):
    rows = opened(folder, without("id", people(120)), unit=None)
    table(rows)
    return table(where(rows, YOUNG))


@expect("refused")
def other_numbers_of_the_same_value_in_another_file(folder):
    table(opened(folder, people(120)))
    rows = [row | {"id": str(row["id"])} for row in reversed(people(120)) if row["age"] < 79]
    COLUMNS["id"] = COLUMNS["id"].replace("integer", "text")
    try:
        return table(opened(folder, rows, file="q", population="p"))
    finally:
        COLUMNS["id"] = COLUMNS["id"].replace("text", "integer")


# -- cards and registers


@expect("not checked")
def what_everybody_knew_is_not_known_any_more(folder):
    table(opened(folder, people(120)))
    with role("age", "other"):
        return table(where(opened(folder, people(120)), YOUNG))


@expect("refused")
def what_nobody_should_learn_is_not_sensitive_any_more(folder):
    rows = [row | {"disease": "yes"} for row in people(120)]
    table(opened(folder, rows))
    with role("ill", "other"):
        return table(where(opened(folder, rows), YOUNG))


@expect("not checked")
def what_nobody_should_learn_is_known_to_everybody(folder):
    rows = [row | {"disease": ("no", "yes")[row["id"] // 4 % 2]} for row in people(120)]
    table(opened(folder, rows))
    with role("ill", "quasi"):
        return table(where(opened(folder, rows), YOUNG), "town × ill × disease", rules="min=2")


@pytest.mark.parametrize(
    ("column", "counted"),
    [('kind = "boolean"', [True]), ('kind = "boolean"', ["true"]), ('kind = "integer"\ncategories = [0, 1]', [1])],
)
def test_a_policy_counts_values_however_they_are_written(tmp_path, column, counted):
    cast = bool if "boolean" in column else int
    COLUMNS["hiv"] = f'{column}\nrole = "sensitive"'
    rows = opened(tmp_path, [row | {"hiv": cast(row["id"] // 4 % 2)} for row in people(120)])
    rows = replace(rows, policy=dc.ExposurePolicy(values={"hiv": counted}))
    table(rows, "town × hiv")
    with pytest.raises(Exposed, match="group of 1 person"):
        table(where(rows, YOUNG), "town × hiv")


@expect("refused")
def one_of_two_values_that_count(folder):
    """How many have hiv, and how many flu, is hidden in both tables: one person more has one of the two."""
    ill = ["cold"] * 40 + ["none"] * 60 + ["hiv", "flu"] * 3 + ["hiv"]
    rows = [{"id": n, "town": "A", "age": 30, "ill": one} for n, one in enumerate(ill)]
    rows[-1]["age"] = 79
    read = replace(opened(folder, rows), policy=dc.ExposurePolicy(values={"ill": ["hiv", "flu"]}))
    assert table(read, "ill", rules="min=4").payload.column("hidden").to_pylist() == [False, False, True, True, False]
    return table(where(read, YOUNG), "ill", rules="min=4")


@expect("error: The exposure policy names yes of hiv, which is not one of its categories.")
def a_policy_that_counts_no_truth(folder):
    COLUMNS["hiv"] = 'kind = "boolean"\nrole = "sensitive"'
    rows = opened(folder, [row | {"hiv": row["id"] % 2 == 0} for row in people(40)])
    return table(replace(rows, policy=dc.ExposurePolicy(values={"hiv": ["yes"]})), "town × hiv")


@expect("refused")
def a_sensitive_column_that_the_new_table_lacks(folder):
    """Everybody with hobby x has hiv, by the first table; the others tell who has hobby x."""
    rows = [
        {"id": n, "town": "ABCD"[n % 4], "hobby": "xyz"[n % 3], "ill": ILL[n % 4] if n % 3 else "hiv"}
        | {"disease": ("no", "yes")[n // 2 % 2]}
        for n in range(240)
    ]
    read = opened(folder, rows)
    table(read.select("id", "town", "hobby", "ill"), "hobby × ill")
    fewer = read.select("id", "town", "hobby", "disease")
    table(fewer, "town × hobby; town × disease")
    return table(where(fewer, "id <> 3"), "town × hobby; town × disease")


@expect("not checked")
def no_register(folder):
    rows = opened(folder, people(120))
    return table(where(dc.read(folder / "p.parquet", rows.card), YOUNG))


@expect("not checked")
def a_table_of_figures(folder):
    table(opened(folder, people(120)))
    lines = [f"{town},{ill},{7}" for town in "ABCD" for ill in ILL]
    (folder / "figures.csv").write_text("\n".join(["town,ill,n", *lines]))
    return dc.tabulate(dc.read_table(folder / "figures.csv", value="n", count="n"), rules="min=3")


@expect("not checked")
def another_population_of_the_same_source(folder):
    table(opened(folder, people(120)))
    return table(where(opened(folder, people(120), name="q", population="others"), YOUNG))


@expect("refused")
def a_card_under_another_file_name(folder):
    table(opened(folder, people(120)))
    (folder / "p.toml").rename(folder / "q.toml")
    return table(where(dc.read(folder / "p.parquet", card=folder / "q.toml"), YOUNG))


def test_two_cards_of_the_same_rows_at_the_same_moment(tmp_path):
    """Neither has a register yet when the other looks for it."""
    first = opened(tmp_path, people(120))
    shutil.copy(tmp_path / "p.toml", tmp_path / "q.toml")
    second = dc.read(tmp_path / "p.parquet", card=tmp_path / "q.toml")
    weighed = weigh(first, Opaque("of the first card"), "a file")
    table(where(second, YOUNG))
    with pytest.raises(Taken, match="Another card of the same rows got its first register meanwhile"):
        weighed.register(None, "publish", 120)
    with pytest.raises(Exposed, match="group of 1 person"):
        table(first)


@expect("refused")
def a_table_that_a_recipient_holds_by_a_card_under_another_name(folder):
    """Who declares it counts on it for whatever left by the card's old name."""
    rows = people(120, oldest=4)
    table(where(opened(folder, rows), YOUNG))
    (folder / "p.toml").rename(folder / "q.toml")
    read = dc.read(folder / "p.parquet", card=folder / "q.toml")
    pa.csv.write_csv(pa.Table.from_pylist(rows[1:4]).select(["id", "ill"]), folder / "held.csv")
    declare_holding(read, folder / "held.csv", "ann")
    return table(read)


@expect("refused")
def a_card_by_a_link_in_another_folder(folder):
    table(opened(folder, people(120)))
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "p.toml").symlink_to(folder / "p.toml")
    return table(where(dc.read(folder / "p.parquet", card=folder / "elsewhere" / "p.toml"), YOUNG))


@expect("refused")
def two_releases_of_which_each_register_lists_one(folder):
    """Everyone but the old man beside the card, the old in the workspace, and those who are not old in both."""
    groups = [(80, "f", 40), (80, "m", 1), (30, "f", 40), (30, "m", 40)]
    rows = [{"age": age, "sex": sex} for age, sex, count in groups for _ in range(count)]
    read = opened(folder, [row | {"id": n, "ill": ILL[(n * 7 + n // 4) % 4]} for n, row in enumerate(rows)])
    with Curator.create(folder / "clinic", {"p": (folder / "p.parquet", folder / "p.toml")}, dc.Pure(3)) as curator:
        table(where(read, "age < 79 OR sex = 'f'"), "ill")
        table(where(curator.workspace.original("p"), "age >= 79"), "ill")
    return table(where(registered_in(read, folder / "clinic"), YOUNG), "ill")


@expect("not checked")
def a_second_table_without_a_register(folder):
    """Everyone's illness leaves beside their visits, and by a table of counts."""
    rows = people(120, oldest=0)
    patients = opened(folder, rows)
    visits = [{"id": n, "sex": "fm"[n % 2], "disease": ("no", "yes")[n % 3 % 2]} for n in range(120) for _ in range(2)]
    read = opened(folder, visits, name="visits", file="visits", most=2)
    table(patients)
    return dc.publish(read, "generalize", "k=2", people=Linked(other=dc.read(folder / "p.parquet", patients.card)))


@expect("not checked")
def a_table_that_a_recipient_holds_of_another_state(folder):
    """The statement says nothing of who holds what, but the data steward is told."""
    rows = people(120)
    read = opened(folder, rows)
    pa.csv.write_csv(pa.Table.from_pylist(rows[1:]).select(["id", "ill"]), folder / "held.csv")
    declare_holding(read, folder / "held.csv", "ann")
    rows[100]["ill"] = another(rows[100]["ill"])
    made = table(opened(folder, rows))
    assert "ann" not in str(made.statement)
    return made


@expect("error: Give the reason to release it anyway: the statement and the register quote it.")
def a_reason_that_says_nothing(folder):
    rows = opened(folder, people(120))
    table(rows)
    return table(where(rows, YOUNG).despite(" . "))


@expect("not checked")
def a_population_that_is_not_declared_any_more(folder):
    table(opened(folder, people(120), population="clinic"))
    return table(where(opened(folder, people(120)), YOUNG))


@expect("error: The exposure policy names AIDS of ill, which is not one of its categories.")
def a_policy_that_counts_no_value(folder):
    rows = opened(folder, people(120))
    table(rows)
    policy = dc.ExposurePolicy(values={"ill": ["AIDS"]})
    return table(where(replace(rows, policy=policy), YOUNG))


@expect("not checked")
def a_table_that_a_restored_workspace_has_forgotten(folder):
    opened(folder, people(120))
    place, copy = folder / "clinic", folder / "clinic.tar"
    with Curator.create(place, {"p": (folder / "p.parquet", folder / "p.toml")}, dc.Pure(3)) as curator:
        back_up(place, copy)
        table(curator.workspace.original("p"))
    restore(copy, folder / "again", forget=True)
    with Curator(folder / "again") as curator:
        return table(where(curator.workspace.original("p"), YOUNG))


@expect("refused")
def an_audited_sum_to_which_one_person_contributes_all(folder):
    """Had anybody else in Rome lost something, that one might have more."""
    data = staff(60)
    salaries = [5000 if n == 3 else 0 if n % 3 == 0 else 100 * (n % 7) for n in range(60)]
    data = data.set_column(data.column_names.index("salary"), "salary", pa.array(salaries))
    pq.write_table(data, folder / "staff.parquet")
    low = [replace(one, bounds=(-9000, 9000)) if one.name == "salary" else one for one in CARD.columns]
    card = replace(CARD, columns=tuple(low))
    with Curator.create(folder / "office", {"staff": (folder / "staff.parquet", card)}, dc.Pure(3)) as curator:
        curator.audit("staff", {"salary": "sum"}, by=BY)
        curator.ask_audited("SELECT SUM(salary) AS s FROM staff WHERE city = 'Rome'")
        rows = curator.workspace.original("staff").where("who <> 3")
    return table(rows, "city", value="salary", rules="min=3")


@expect("refused")
def an_audited_answer_and_a_table(folder):
    pq.write_table(staff(60), folder / "staff.parquet")
    with office(folder / "office", data=folder / "staff.parquet") as curator:
        curator.ask_audited("SELECT SUM(salary) AS s FROM staff")
        rows = curator.workspace.original("staff").where("who <> 3")
    return table(rows, "city", value="salary", rules="p=10")


def test_an_audited_answer_says_what_it_was_not_checked_with(tmp_path):
    pq.write_table(staff(60), tmp_path / "staff.parquet")
    with office(tmp_path / "office", data=tmp_path / "staff.parquet") as curator:
        dc.publish(curator.workspace.original("staff"), "rank-swap p=5 on age")
        answer = curator.ask_audited("SELECT SUM(salary) AS s FROM staff WHERE age < 79")
        assert any("Not checked together with 1 earlier release" in one for one in answer.statement.caveats)


@pytest.mark.parametrize(("attack", "outcome"), ATTACKS)
def test_attack(tmp_path, attack, outcome):
    assert outcome_of(attack, tmp_path) == outcome

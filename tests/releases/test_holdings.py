"""Tables that a recipient holds count for this recipient: in the check of what comes next, and in what they know."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.releases.registers import listed
from tests.releases.test_exposure_cases import COLUMNS, ILL, opened, people, where

import discreet as dc
from discreet.errors import BadInput, DataError, Exposed
from discreet.releases import holdings
from discreet.releases.exposure import Checked, Exposure
from discreet.releases.holdings import declare_holding
from discreet.releases.overview import HELD, populations_in
from discreet.releases.register import earlier_releases


def held(folder, rows, *columns, name="held.csv"):
    pa.csv.write_csv(pa.Table.from_pylist(rows).select(list(columns)), folder / name)
    return folder / name


def many(*, alone="A"):
    """Eight people of every town and illness, and in one town a ninth."""
    rows = [{"id": n, "town": "ABCD"[n % 4], "age": 20 + n // 4, "ill": ILL[n // 4 % 4]} for n in range(128)]
    return [*rows, {"id": 500, "town": alone, "age": 70, "ill": "hiv"}]


def test_who_holds_the_values_of_all_but_one_must_not_learn_that_one(tmp_path):
    rows = many()
    table = opened(tmp_path, rows)
    found = declare_holding(table, held(tmp_path, rows[:-1], "id", "ill"), "ann")
    assert str(found) == "ann holds ill of 128 people."
    assert earlier_releases(table) == [], "it is no release"
    with pytest.raises(Exposed) as refused:
        dc.tabulate(table, "town × ill", rules="min=3")
    assert "together with “a table that ann holds (held.csv)” of 20" in refused.value.message
    assert "reveals ill of a group of 1 person" in refused.value.message
    dc.tabulate(where(table, "age < 70"), "town × ill", rules="min=3")  # of those that she knows all of


def test_what_one_recipient_knows_protects_nobody_from_another(tmp_path):
    rows = many()
    table = opened(tmp_path, rows)
    dc.tabulate(where(table, "age < 70"), "town × ill", rules="min=3")
    declare_holding(table, held(tmp_path, rows[-1:], "id", "ill"), "bob")
    with pytest.raises(Exposed, match=r"of 20\S+ \(release 1\), reveals ill of a group of 1 person"):
        dc.tabulate(table, "town × ill", rules="min=3")  # bob knows it; whoever has the first table does not
    declare_holding(table, held(tmp_path, rows[:3], "id", "ill", name="few.csv"), "ann")
    dc.tabulate(where(table, "age < 70"), "town × ill", rules="min=3")


def test_the_statement_says_nothing_of_who_holds_what(tmp_path):
    rows = many()
    table = opened(tmp_path, rows)
    declare_holding(table, held(tmp_path, rows[:4], "id", "ill"), "ann")
    made = dc.tabulate(table, "town × ill", rules="min=3")
    assert made.notices == ()
    assert "ann" not in str(made.statement)
    again = dc.tabulate(table, "town × ill", rules="min=3")
    assert "Checked together with 1 earlier release of" in str(again.statement)


@pytest.mark.parametrize("before", [False, True])
def test_the_statement_of_what_is_released_all_the_same_says_nothing_of_who_holds_what(tmp_path, before):
    rows = many()
    table = opened(tmp_path, rows)
    declare_holding(table, held(tmp_path, [one for one in rows if one["id"] != 0], "id", "ill"), "ann")
    if before:
        dc.tabulate(table.where("id <> 0"), "town × ill", rules="min=3")
    with pytest.raises(Exposed, match="a table that ann holds"):
        dc.tabulate(table, "town × ill", rules="min=3")
    said = str(dc.tabulate(table.despite("agreed"), "town × ill", rules="min=3").statement)
    assert "ann" not in said
    assert ("“counts by town × ill” of" if before else "together with what a recipient knows") in said


def test_people_are_recognised_by_what_only_one_of_them_has(tmp_path):
    rows = people(400)
    table = opened(tmp_path, rows)
    unique = [one for one in rows if [(r["town"], r["age"]) for r in rows].count((one["town"], one["age"])) == 1]
    assert len(unique) == 1
    found = declare_holding(table, held(tmp_path, rows, "town", "age", "ill"), "ann")
    assert (found.people, found.unmatched, found.different) == (1, 399, 0)
    with pytest.raises(DataError, match=r"No row of .* matches exactly one person"):
        declare_holding(table, held(tmp_path, [rows[50]], "town", "age", "ill", name="some.csv"), "ann")


def test_what_is_not_as_it_is_now_is_left_out(tmp_path):
    rows = many()
    changed = [one | {"ill": "none" if one["ill"] != "none" else "flu"} for one in rows[:5]]
    table = opened(tmp_path, rows)
    found = declare_holding(
        table, held(tmp_path, [*changed, *rows[5:9], rows[5], {**rows[0], "id": 900}], "id", "ill"), "ann"
    )
    assert (found.people, found.unmatched, found.different) == (3, 3, 5)
    assert "3 rows left out: matching no one, or several people; 5 rows left out: different from the table" in str(
        found
    )


def test_amounts_that_a_recipient_holds_count_one_by_one(tmp_path):
    rows = [{"id": n, "town": "AB"[n % 2], "income": 1000 + 37 * n} for n in range(40)]
    table = opened(tmp_path, rows)
    declare_holding(table, held(tmp_path, rows[2:], "id", "income"), "ann")
    with pytest.raises(Exposed, match="reveals income of a group of 1 person"):
        dc.tabulate(table, "town", "income", rules="p=10")


def test_who_knows_that_people_have_no_amount_knows_what_they_add(tmp_path):
    """Gains may be negative, so that nobody else knows what those of town F have together."""
    rows = [{"id": n, "town": "AB"[n % 2], "age": 30, "sex": "f", "gain": 37 * n} for n in range(40)]
    rows += [{"id": n, "town": "F", "age": 30, "sex": "m", "gain": 400 if n == 50 else None} for n in range(50, 55)]
    rows.append({"id": 60, "town": "A", "age": 79, "sex": "m", "gain": 999})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(COLUMNS, "gain", 'kind = "integer"\nrole = "sensitive"\nbounds = [-100000, 100000]')
        table = opened(tmp_path, rows)
    known = [row for row in rows if row["town"] == "F"]
    assert declare_holding(table, held(tmp_path, known, "id", "gain"), "ann").people == 5
    declare_holding(table, held(tmp_path, known[1:], "id", "gain", name="none.csv"), "bob")
    dc.tabulate(where(table, "age < 79"), "town", "gain", rules="min=3")
    with pytest.raises(Exposed, match="reveals gain of a group of 1 person"):
        dc.tabulate(table, "sex", "gain", rules="min=2")


def test_amounts_of_many_people_leave_sums_undecided(tmp_path, monkeypatch):
    rows = [{"id": n, "town": "AB"[n % 2], "income": 1000 + 37 * n} for n in range(40)]
    table = opened(tmp_path, rows)
    monkeypatch.setattr(holdings, "_MOST_AMOUNTS", 5)
    declare_holding(table, held(tmp_path, rows[:6], "id", "income"), "ann")
    with pytest.raises(Exposed, match="income was released by its values and as sums"):
        dc.tabulate(table, "town", "income", rules="p=10")


def test_a_recipient_can_compute_more_with_it_and_nobody_else_can(tmp_path):
    rows = many()
    table = opened(tmp_path, rows)
    dc.tabulate(table, "town × ill", rules="min=3")
    declare_holding(table, held(tmp_path, rows[:-1], "id", "ill"), "ann")
    place = table.registers[0]
    [everybody] = populations_in(place, table.policy)
    assert [one.state for one in everybody.departures] == ["checked", HELD]
    assert (everybody.standings[0].groups, everybody.standings[0].exposed) == (4, 0)
    [hers] = populations_in(place, table.policy, lines={1, 2})
    assert hers.standings[0].exposed == 1
    assert listed(place)[1].told["recipient"] == "ann"


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (("id", "town"), "no column of p that reveals anything"),
        (("ill",), "cannot be matched with people: add the column id"),
    ],
)
def test_what_cannot_be_declared_says_why(tmp_path, columns, match):
    rows = many()
    table = opened(tmp_path, rows)
    with pytest.raises(BadInput, match=match):
        declare_holding(table, held(tmp_path, rows, *columns), "ann")
    assert listed(table.registers[0]) == []


def test_people_must_be_told_apart_and_values_of_their_kind(tmp_path):
    rows = many()
    with pytest.raises(BadInput, match="has no unit with one row per person"):
        declare_holding(opened(tmp_path, rows, unit=None), held(tmp_path, rows, "id", "ill"), "ann")
    pq.write_table(pa.table({"id": ["x"], "ill": ["flu"]}), tmp_path / "text.parquet")
    with pytest.raises(DataError, match="do not have the kinds"):
        declare_holding(opened(tmp_path, rows, file="q"), tmp_path / "text.parquet", "ann")
    with pytest.raises(BadInput, match="Name the recipient"):
        declare_holding(opened(tmp_path, rows, file="q"), tmp_path / "text.parquet", "")


@pytest.mark.parametrize(("most", "measure"), [(6, "income"), (5, "")])
def test_amounts_of_so_many_people_are_told_one_by_one(tmp_path, monkeypatch, most, measure):
    table = opened(tmp_path, [{"id": n, "town": "A", "income": 1000 + n} for n in range(6)])
    monkeypatch.setattr(holdings, "_MOST_AMOUNTS", most)
    (made,) = holdings._facts(table, [table.card["income"]])
    assert (made.measure, made.low.tolist()) == (measure, [1000 + n for n in range(6)] if measure else [1] * 6)


def test_who_is_who_must_be_known_of_what_somebody_holds(tmp_path, monkeypatch):
    rows = many()
    table = opened(tmp_path, rows)
    unsure = Checked(Exposure((), undecided=("rows are alike",)), None, None)
    monkeypatch.setattr(holdings, "check", lambda *given, **options: unsure)
    with pytest.raises(BadInput, match="People cannot be matched:  rows are alike"):
        declare_holding(table, held(tmp_path, rows, "id", "ill"), "ann")

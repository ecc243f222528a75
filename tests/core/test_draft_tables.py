"""Several tables at once: keys, what refers to them, units and populations, each with the evidence."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.cardfile import parse_cards
from discreet.core.draft_tables import Drafts
from discreet.engines.read import draft, read
from discreet.errors import BadInput, NotFound

RNG = np.random.default_rng(22)
PEOPLE, VISITS = 600, 2_000
WHO = np.sort(np.r_[np.repeat(7, 30), RNG.integers(0, PEOPLE, VISITS - 30)])
TABLES = {
    "patients": pa.table(
        {"id": [f"P{n:04}" for n in range(PEOPLE)], "sex": ["f", "m"] * 300, "born": RNG.integers(1930, 2010, PEOPLE)}
    ),
    "visits": pa.table(
        {
            "visit_id": np.arange(VISITS) + 10_000,
            "patient_id": [f"P{n:04}" for n in WHO],
            "ward_id": RNG.integers(1, 9, VISITS),
            "cost": RNG.lognormal(6, 1, VISITS),
        }
    ),
    "wards": pa.table({"ward_id": np.arange(1, 13), "ward": [f"Ward {n}" for n in range(12)]}),
    "labs": pa.table({"visit_id": RNG.integers(10_000, 10_000 + VISITS, 4_000), "value": RNG.normal(5, 1, 4_000)}),
}


@pytest.fixture(scope="module")
def drafted():
    return draft(TABLES)


def test_keys_and_what_refers_to_them_are_found_with_the_evidence(drafted):
    found = {(one.table, one.column, one.parent, one.key): (one.values, one.included) for one in drafted.links}
    people, visits = len(set(WHO)), len(set(TABLES["labs"]["visit_id"].to_pylist()))
    assert found == {
        ("visits", "patient_id", "patients", "id"): (people, people),
        ("visits", "ward_id", "wards", "ward_id"): (8, 8),
        ("labs", "visit_id", "visits", "visit_id"): (visits, visits),
    }
    link = next(one for one in drafted.links if one.column == "patient_id")
    assert f"all {people} values are there" in str(link)
    assert "have at most" in str(link)
    assert f"1 has {int((WHO == 7).sum())}" in str(link)


def test_people_become_units_of_one_population(drafted):
    cards = {one.card.name: one.card for one in drafted.tables}
    assert {name: (card.unit, card.population) for name, card in cards.items()} == {
        "patients": ("id", "patients"),
        "visits": ("patient_id", "patients"),
        "wards": (None, None),
        "labs": (None, None),
    }
    assert all(card.rows_per_unit is None for card in cards.values())
    said = drafted.to_toml()
    assert "rename patient_id, or id of patients" in said
    assert "add id of patients to this table" in said
    assert "Declare rows_per_unit" in " ".join(drafted["visits"].reasons["patient_id"])
    assert parse_cards(said) == cards


def test_drafts_read_their_tables(drafted):
    assert read(TABLES["visits"], drafted, table="visits").count() == VISITS
    with pytest.raises(NotFound, match="there are patients, visits"):
        read(TABLES["visits"], drafted, table="none")


def test_the_picture_shows_every_table_and_link(drafted):
    drawn = drafted.picture()
    assert all(f">{name}</text>" in drawn.svg for name in (*TABLES, "patient_id", "quasi"))
    assert drawn.svg.count('class="link"') == len(drafted.links)
    assert "visits.patient_id → patients.id" in drawn.caption


def test_tables_that_have_nothing_in_common_are_not_linked():
    drafted = draft({"a": pa.table({"id": [1, 2, 3]}), "b": pa.table({"id": [1, 2, 3], "age": [1, 2, 3]})})
    assert drafted.links == ()
    assert drafted.picture().caption == "No table refers to another."


def test_values_that_are_not_there_are_counted():
    some = pa.table({"customer": ["K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "K9", "X"]})
    keys = pa.table({"customer": [f"K{n}" for n in range(1, 40)]})
    (link,) = draft({"orders": some, "customers": keys}).links
    assert (link.values, link.included) == (10, 9)
    assert draft({"orders": some, "customers": keys.slice(3)}).links == ()


def test_tables_need_names(tmp_path):
    with pytest.raises(BadInput, match="need different names"):
        draft([pa.table({"a": [1]}), pa.table({"a": [1]})])
    (tmp_path / "a.csv").write_text("id\n1\n2\n")
    (tmp_path / "b.csv").write_text("a_id;when\n1;31.12.2020\n1;30.11.2020\n")
    drafted = dc.draft([str(tmp_path / "a.csv"), tmp_path / "b.csv"])
    assert isinstance(drafted, Drafts)
    assert [str(one).partition(":")[0] for one in drafted.links] == ["b.a_id → a.id"]


def test_tables_of_a_database_are_linked_there(postgres, postgres_address, fresh):
    names = fresh(), fresh()
    postgres.load(names[0], TABLES["patients"])
    postgres.load(names[1], TABLES["visits"])
    drafted = draft(dict(zip(("patients", "visits"), (f"{postgres_address}#{name}" for name in names), strict=True)))
    assert len(drafted.links) == 1

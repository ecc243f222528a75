"""Several tables in one workspace: public ones, joins, and engines that are shared."""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.curator.clinics import BUDGET, CARD, visits

from discreet.core.card import Card, Column
from discreet.core.cardfile import dump_cards
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.errors import BadInput, BadQuery, Damaged, NotFound
from discreet.verbs.ask.distribution import Distribution
from discreet.verbs.ask.question import planned, pose

CITIES = "city,land,size\nRome,south,9\nMilan,north,5\nTurin,north,4\nTurin,north,1\n"
PEOPLE = Card(
    "people",
    (Column("patient", Kind.INTEGER), Column("age", Kind.INTEGER, bounds=(0, 99))),
    unit="patient",
    rows_per_unit=1,
)


def people(count=500):
    return pa.table({"patient": range(count), "age": [one % 90 for one in range(count)]})


@pytest.fixture
def curator(tmp_path):
    (tmp_path / "cities.csv").write_text(CITIES)
    tables = {"visits": (visits(), CARD), "people": (people(), PEOPLE)}
    public = {"cities": tmp_path / "cities.csv"}
    with Curator.create(tmp_path / "clinic", tables, BUDGET, public=public) as made:
        yield made


def test_a_public_table_has_no_account_and_its_values_are_known(curator):
    assert curator.workspace.private == ("visits", "people")
    assert {one.name for one in curator.ledger.accounts()} & {"cities", "cities/analyst"} == set()
    card = curator.workspace.card("cities")
    assert card.public
    assert card["land"].categories == ("north", "south")
    assert card["size"].categories == (1, 4, 5, 9)


def test_who_may_not_ask_a_table_does_not_hear_of_it(curator):
    curator.add_analyst("ann", BUDGET, ["people"])
    for name in ("cities", "visits", "nowhere"):
        with pytest.raises(NotFound) as told:
            curator.quote(Distribution("age", 8, "0.1"), name, analyst="ann")
        assert str(told.value) == f"There is no table about people called {name!r}; there are people."


def test_a_join_with_a_public_table_shows_every_group(curator):
    text = "SELECT land, COUNT(*) AS n FROM visits JOIN cities USING (city) GROUP BY land"
    answer = curator.ask(text, epsilon=1)
    assert answer.table["land"].to_pylist() == ["north", "south"]
    north, south = answer.table["n"].to_pylist()
    assert abs(south - 334) < 100 > abs(north - 3 * 333)
    assert set(answer.left_on) == {"visits"}, "nothing is charged to what is public"
    assert curator.ask(text, epsilon=1).free


def test_a_join_of_private_tables_is_charged_to_both(curator):
    text = "SELECT AVG(age) AS age FROM visits JOIN people USING (patient) WHERE city = 'Rome'"
    answer = curator.ask(text, epsilon=1)
    assert abs(answer.table["age"][0].as_py() - 44) < 20
    for name in ("visits", "people"):
        assert curator.left(name).table == Approximate(2, "1e-6")


def test_a_public_table_alone_is_not_asked(curator):
    with pytest.raises(BadQuery, match="public"):
        curator.ask("SELECT COUNT(*) AS n FROM cities", epsilon=1)
    assert curator.left("visits").table == BUDGET


def test_who_may_not_ask_a_table_may_not_join_it(curator):
    curator.add_analyst("ann", BUDGET, ["people"])
    with pytest.raises(BadQuery, match="no table 'visits'"):
        curator.ask("SELECT COUNT(*) AS n FROM people JOIN visits USING (patient)", epsilon=1, analyst="ann")
    assert curator.ask("SELECT COUNT(*) AS n FROM people JOIN cities ON age = size", epsilon=1, analyst="ann").table


def test_a_question_knows_all_tables_it_reads(curator):
    tables = {name: curator.workspace.open(name) for name in curator.workspace.tables}
    twins = {name: one.id for name, one in curator.workspace.tables.items()}
    text = "SELECT COUNT(*) FROM visits JOIN people USING (patient) JOIN cities USING (city)"
    asked = planned(text, tables)
    question = pose(asked, twins, epsilon=1)
    assert question.tables == ("people", "visits")
    assert question.twins == twins
    for name in twins:
        assert pose(asked, twins | {name: "another"}, epsilon=1).identity != question.identity
    assert len({id(table.engine) for table in tables.values()}) == 1


def test_public_values_keep_to_their_card_too(tmp_path):
    """Else one row of a public table could move a sum by more than its noise is for."""
    card = Card("cities", (Column("city", Kind.TEXT), Column("size", Kind.INTEGER, bounds=(0, 9))), public=True)
    cities = pa.table({"city": ["Rome", "Milan"], "size": [10**9, -(10**9)]})
    for tables, public in (
        ({"visits": (visits(), CARD), "cities": (cities, card)}, {}),
        ({"visits": (visits(), CARD)}, {"cities": (cities, replace(card, public=False))}),
    ):
        folder = tmp_path / f"clinic{len(public)}"
        with Curator.create(folder, tables, BUDGET, public=public) as curator:
            assert curator.workspace.open("cities").fetch()["size"].to_pylist() == [9, 0]


def test_a_public_table_is_not_private_as_well(tmp_path):
    (tmp_path / "cities.csv").write_text(CITIES)
    with pytest.raises(BadInput, match="cannot be public and about people"):
        Curator.create(tmp_path / "c", {"visits": (visits(), CARD)}, BUDGET, public={"visits": visits()})
    with pytest.raises(BadInput, match="table about people"):
        Curator.create(tmp_path / "c", {}, BUDGET, public={"cities": tmp_path / "cities.csv"})
    assert [path.name for path in tmp_path.iterdir()] == ["cities.csv"]


def test_a_card_in_a_file_may_say_that_a_table_is_public(tmp_path):
    card = Card("cities", (Column("city", Kind.TEXT),), public=True)
    (tmp_path / "cards.toml").write_text(dump_cards([CARD, card]))
    (tmp_path / "cities.csv").write_text(CITIES)
    tables = {
        "visits": (visits(), tmp_path / "cards.toml"),
        "cities": (tmp_path / "cities.csv", tmp_path / "cards.toml"),
    }
    with Curator.create(tmp_path / "clinic", tables, BUDGET) as curator:
        assert curator.workspace.private == ("visits",)


def test_a_twin_that_cannot_be_read_is_noticed_before_the_charge(curator):
    text = "SELECT COUNT(*) AS n FROM visits"
    (curator.workspace.folder / "tables" / "visits" / "twin.parquet").write_bytes(b"PAR1")
    with pytest.raises(Damaged, match="bounded table of visits"):
        curator.ask(text, epsilon=1)
    assert curator.left("visits").table == BUDGET


def test_tables_of_one_database_can_be_joined_and_others_not(tmp_path, postgres, postgres_address, fresh):
    names = fresh(), fresh()
    postgres.load(names[0], visits())
    postgres.load(names[1], people())
    tables = {
        "visits": (f"{postgres_address}#{names[0]}", CARD),
        "people": (f"{postgres_address}#{names[1]}", PEOPLE),
        "here": (people(), PEOPLE),
    }
    with Curator.create(tmp_path / "clinic", tables, BUDGET) as curator:
        joined = "SELECT COUNT(*) AS n FROM visits JOIN {} USING (patient)"
        assert abs(curator.ask(joined.format("people"), epsilon=2).table["n"][0].as_py() - 1000) < 100
        with pytest.raises(BadQuery, match="different databases"):
            curator.ask(joined.format("here"), epsilon=1)

"""The folder: whole or not there, and nothing changes in it unseen."""

from dataclasses import replace

import psycopg
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tests.curator.clinics import BUDGET, CARD, COUNT, clinic, visits

from discreet.core.card import Card, Column
from discreet.core.cardfile import dump_cards
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.errors import BadInput, Damaged, DataError, DiscreetError, LoginFailed, NotFound


def test_a_workspace_is_all_or_nothing(tmp_path):
    folder = tmp_path / "clinic"
    with pytest.raises(DiscreetError):
        Curator.create(folder, {"visits": (visits(), CARD), "more": (tmp_path / "none.csv", CARD)}, BUDGET)
    assert not list(tmp_path.iterdir())
    clinic(folder).close()
    assert sorted(path.name for path in folder.iterdir() if "-" not in path.name) == [
        "ledger.db",
        "releases",
        "tables",
        "workspace.toml",
    ]
    with pytest.raises(BadInput, match="not an empty folder"):
        clinic(folder)


def test_an_empty_folder_may_become_one(tmp_path):
    (tmp_path / "clinic").mkdir()
    clinic(tmp_path / "clinic").close()
    with pytest.raises(NotFound, match="no folder"):
        clinic(tmp_path / "none" / "clinic")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../up", "1st", "x" * 41])
def test_a_table_needs_a_plain_name(tmp_path, name):
    with pytest.raises(BadInput, match="name"):
        Curator.create(tmp_path / "clinic", {name: (visits(), CARD)}, BUDGET)
    with pytest.raises(BadInput, match="same name"):
        Curator.create(tmp_path / "clinic", {"a": (visits(), CARD), "A": (visits(), CARD)}, BUDGET)


def test_what_is_no_workspace_or_a_broken_one_says_so(tmp_path):
    with pytest.raises(NotFound, match="no workspace"):
        Curator(tmp_path)
    folder = tmp_path / "clinic"
    clinic(folder).close()
    file = folder / "workspace.toml"
    good = file.read_text()
    for bad, error, said in (
        (good.replace("format = 1", "format = 2"), BadInput, "format 2"),
        (good.replace("ledger =", "lodger ="), Damaged, "was changed"),
        (good + "[", Damaged, "cannot be read"),
    ):
        file.write_text(bad)
        with pytest.raises(error, match=said):
            Curator(folder)
    file.write_text(good)
    (folder / "releases").rmdir()
    with pytest.raises(Damaged, match="is incomplete"):
        Curator(folder)
    (folder / "releases").mkdir()
    (folder / "ledger.db").unlink()
    with pytest.raises(NotFound, match="no ledger"):
        Curator(folder)


def test_a_card_that_was_changed_is_noticed(tmp_path):
    clinic(tmp_path / "clinic").close()
    card = tmp_path / "clinic" / "tables" / "visits" / "card.toml"
    card.write_text(card.read_text().replace("1000.0", "9000.0"))
    with (
        Curator(tmp_path / "clinic") as curator,
        pytest.raises(Damaged, match="not the one its bounded table was made with"),
    ):
        curator.ask(COUNT, epsilon=1)


def test_a_twin_that_was_changed_is_noticed_by_verify(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        assert curator.verify().sound
        (tmp_path / "clinic" / "tables" / "visits" / "twin.parquet").write_bytes(b"PAR1")
        with pytest.raises(Damaged, match="bounded table of visits"):
            curator.verify()


def test_a_twin_that_is_missing_is_noticed(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        (tmp_path / "clinic" / "tables" / "visits" / "twin.parquet").unlink()
        for look in (lambda: curator.ask(COUNT, epsilon=1), curator.verify, curator.workspace.require_files):
            with pytest.raises(Damaged, match="bounded table of visits is missing"):
                look()
        (tmp_path / "clinic" / "tables" / "visits" / "card.toml").unlink()
        with pytest.raises(Damaged, match="card of visits is missing"):
            curator.workspace.card("visits")


def test_a_file_of_several_cards_is_searched_by_the_tables_name(tmp_path):
    (tmp_path / "cards.toml").write_text(dump_cards([replace(CARD, name="other", unit=None, rows_per_unit=None), CARD]))
    with Curator.create(tmp_path / "clinic", {"visits": (visits(), tmp_path / "cards.toml")}, BUDGET) as curator:
        assert curator.workspace.card("visits").rows_per_unit == 2


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:sesame@localhost/clinic#visits",
        "postgresql://ann:ses@me@localhost/clinic#visits",
        "postgresql://localhost/clinic?password=sesame#visits",
        "sc://localhost:15002/;token=sesame#visits",
    ],
)
def test_no_password_is_written_down(tmp_path, address):
    for tables, ledger in (({"visits": (address, CARD)}, None), ({"visits": (visits(), CARD)}, address)):
        with pytest.raises(BadInput, match="holds a password") as error:
            Curator.create(tmp_path / "clinic", tables, BUDGET, ledger=ledger)
        assert "sesame" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def shared_ledger(postgres_address):
    """A database in which there is not a ledger, before and after."""
    yield postgres_address
    with psycopg.connect(postgres_address) as connection:
        connection.execute("DROP SCHEMA discreet_ledger CASCADE")


def test_a_table_and_a_ledger_in_postgres(tmp_path, postgres, shared_ledger, fresh):
    name = fresh()
    postgres.load(name, visits())
    tables = {name: (f"{shared_ledger}#{name}", CARD)}
    asked = f"SELECT COUNT(*) AS n FROM {name}"
    with Curator.create(tmp_path / "one", tables, Pure(2), ledger=shared_ledger) as one:
        first = one.ask(asked, epsilon=1)
        assert abs(first.table["n"][0].as_py() - 1000) < 100
        assert name in one.workspace.tables[name].twin
        with Curator.create(tmp_path / "two", tables, Pure(2), ledger=shared_ledger) as two:
            assert two.ask(asked, epsilon=1).left.table == Pure(0), "one budget for both"
        assert one.verify().sound


def test_a_login_that_fails_says_so(tmp_path, postgres_address):
    address = postgres_address.replace("postgres:@", "guarded@")
    if address == postgres_address:
        pytest.skip("the address of this server names no user")
    with pytest.raises(LoginFailed):
        Curator.create(tmp_path / "clinic", {"visits": (f"{address}#visits", CARD)}, BUDGET)
    assert not list(tmp_path.iterdir())


def wide(values):
    """A table with whole numbers of 64 bits and no sign, as a person's number and as a figure."""
    numbers = pa.array(values, pa.uint64())
    return pa.table({"who": numbers, "code": numbers, "paid": numbers, "kind": numbers})


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("beyond", ["who", "code"])
def test_whole_numbers_beyond_64_bits_are_refused_by_name_and_without_anybodys_value(tmp_path, memory, beyond):
    card = Card(
        "t",
        (Column("who", Kind.INTEGER), Column("code", Kind.INTEGER), Column("paid", Kind.INTEGER, bounds=(0, 9))),
        unit="who",
        rows_per_unit=1,
    )
    large, small = wide([1, 2**64 - 5, 2**63]), wide([1, 2, 3])
    rows = small.set_column(small.schema.get_field_index(beyond), beyond, large.column(beyond))
    parquet.write_table(rows, tmp_path / "t.parquet")
    source = rows if memory else tmp_path / "t.parquet"
    with pytest.raises(DataError, match=f"2 values of {beyond} are whole numbers that do not fit") as refusal:
        Curator.create(tmp_path / "office", {"t": (source, card)}, BUDGET)
    assert str(2**64 - 5) not in str(refusal.value)
    assert not (tmp_path / "office").exists()


def test_whole_numbers_beyond_64_bits_are_moved_to_their_bounds_like_others(tmp_path):
    card = Card(
        "t",
        (
            Column("paid", Kind.INTEGER, bounds=(0, 9)),
            Column("kind", Kind.INTEGER, categories=(1, 2)),
            Column("code", Kind.DECIMAL, bounds=(0, 5)),
        ),
    )
    with Curator.create(tmp_path / "office", {"t": (wide([1, 2**64 - 5, 2**63]), card)}, Pure(2000)) as curator:
        asked = "SELECT SUM(paid) AS p, COUNT(kind) AS k, ROUND(SUM(code)) AS c FROM t"
        assert list(curator.ask(asked, epsilon=1500).table.to_pylist()[0].values())[:3] == [19.0, 1, 11.0]

"""What left beside a card counts in a workspace that is made from it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releases.registers import listed

import discreet as dc
from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.errors import Exposed, Unsound
from discreet.releases.adoption import ADOPTED
from discreet.releases.holdings import declare_holding
from discreet.releases.register import Register

CARD = """discreet = 1
[tables.patients]
unit = "id"
rows_per_unit = 1
{more}
[tables.patients.columns.id]
kind = "text"
role = "identifier"
[tables.patients.columns.town]
kind = "text"
role = "quasi"
[tables.patients.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 110]
[tables.patients.columns.ill]
kind = "text"
role = "sensitive"
categories = ["flu", "cancer", "none"]
"""
TOWNS, ILL = ("Ayr", "Bath", "Cork", "Dover"), ("flu", "cancer", "none")
ROWS = [
    {"id": f"p{n}", "town": TOWNS[n % 4], "age": 79 if n == 17 else 18 + n % 60, "ill": ILL[n % 3]} for n in range(400)
]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "patients.parquet")
    (folder / "patients.toml").write_text(CARD.format(more=""))
    return folder


def opened(folder: Path) -> dc.Table:
    return dc.read(folder / "patients.parquet", card=folder / "patients.toml")


def tabulate(table: dc.Table, where: str = "", to: Path | None = None) -> None:
    dc.tabulate(table.where(where) if where else table, "town × ill", rules="min=3", to=to)


def created(data: Path, place: Path, name: str = "patients", **more: tuple[Path, Path]) -> Curator:
    return Curator.create(place, {name: (data / "patients.parquet", data / "patients.toml"), **more}, Pure(3))


@pytest.mark.parametrize("name", ["patients", "people"])
def test_the_pair_is_refused_whose_first_table_left_beside_the_card(data, tmp_path, name):
    tabulate(opened(data), to=data / "everybody")
    tabulate(opened(data), "age < 60", to=data / "below-60")
    with created(data, tmp_path / "clinic", name) as curator:
        original = curator.workspace.original(name)
        with pytest.raises(Exposed, match=r"release 1\).* reveals ill of a group of 1 person"):
            tabulate(original, "age < 79")
        release = dc.tabulate(original.where("age < 50"), "town × ill", rules="min=3")
        assert any("Checked together with 2 earlier releases" in one for one in release.statement.caveats)
        with Register(curator.workspace.register) as register:
            register.verify()
        lines = listed(curator.workspace.register)
    assert [one.release for one in lines] == [str(data / "everybody"), str(data / "below-60"), ""]
    assert {(one.population, one.table) for one in lines} == {(name, name)}
    assert [one.told.get("checked") for one in lines] == [[], [1], [1, 2]]
    assert not (tmp_path / "clinic" / "register.db-head").read_bytes().startswith(b"0000000000")
    assert len(listed(data / "patients.register.db")) == 2


def test_a_table_that_is_added_brings_its_register_along(data, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(data, other)
    (other / "patients.toml").write_text(CARD.format(more="").replace("patients", "staff"))
    with created(other, tmp_path / "clinic", "staff") as curator:
        tabulate(curator.workspace.original("staff"))
        tabulate(opened(data), to=data / "everybody")
        curator.add_table("patients", data / "patients.parquet", data / "patients.toml", Pure(3))
        lines = listed(curator.workspace.register)
        assert [(one.number, one.population) for one in lines] == [(1, "staff"), (2, "patients")]
        with pytest.raises(Exposed, match="release 2"):
            tabulate(curator.workspace.original("patients"), "age < 79")


def test_two_tables_by_one_card_both_bring_its_register_along(data, tmp_path):
    tabulate(opened(data))
    shutil.copy(data / "patients.parquet", data / "later.parquet")
    with created(data, tmp_path / "clinic", later=(data / "later.parquet", data / "patients.toml")) as curator:
        for name in ("patients", "later"):
            with pytest.raises(Exposed, match="reveals ill of a group of 1 person"):
                tabulate(curator.workspace.original(name), "age < 79")
        lines = listed(curator.workspace.register)
        assert [(one.population, one.table) for one in lines] == [("patients", "patients"), ("later", "later")]


def test_what_left_since_counts_once_the_card_is_revised_and_nothing_counts_twice(data, tmp_path):
    tabulate(opened(data), "age < 60", to=data / "below-60")
    with created(data, tmp_path / "clinic") as curator:
        register = curator.workspace.register
        tabulate(curator.workspace.original("patients"), "age < 50")
        both = opened(data)
        tabulate(replace(both, registers=(*both.registers, register)), "age < 40", to=data / "below-40")
        assert len(listed(register)) == 3
        tabulate(opened(data), to=data / "everybody")
        curator.revise_card("patients", data / "patients.toml", data / "patients.parquet")
        lines = listed(register)
        assert [Path(one.release).name for one in lines] == ["below-60", "", "below-40", "everybody"]
        assert lines[-1].told["checked"] == [1]  # of those it was checked with beside the card, as they are called here
        with pytest.raises(Exposed, match=r"release 4\).* reveals ill of a group of 1 person"):
            tabulate(curator.workspace.original("patients"), "age < 79")
        curator.revise_card("patients", data / "patients.toml", data / "patients.parquet")
        assert listed(register) == lines
        with Register(register) as again:
            again.verify()


def test_two_registers_of_one_population_are_put_together(data, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(data, other)
    for folder, name in ((data, "patients"), (other, "staff")):
        card = CARD.format(more='population = "all"\nstable = ["ill"]').replace("[tables.patients", f"[tables.{name}")
        (folder / "patients.toml").write_text(card)
    tabulate(opened(data), to=data / "everybody")
    tabulate(opened(other), "age < 60", to=other / "below-60")
    more = {"staff": (other / "patients.parquet", other / "patients.toml")}
    with created(data, tmp_path / "clinic", **more) as curator:
        lines = listed(curator.workspace.register)
        assert [Path(one.release).name for one in lines] == ["everybody", "below-60"]
        with pytest.raises(Exposed, match="release 1"):
            tabulate(curator.workspace.original("staff"), "age < 79")
        with pytest.raises(Exposed, match="release 2"):
            tabulate(curator.workspace.original("patients"), "age < 60 AND id <> 'p18'")


def test_what_a_recipient_holds_is_adopted_too(data, tmp_path):
    rows = [row for row in ROWS if row["town"] == "Bath" and row["age"] < 50 and row["id"] != "p1"]
    pq.write_table(pa.Table.from_pylist(rows).select(["id", "ill"]), data / "ann.parquet")
    declare_holding(opened(data), data / "ann.parquet", "ann")
    with created(data, tmp_path / "clinic") as curator, pytest.raises(Exposed, match="a table that ann holds"):
        tabulate(curator.workspace.original("patients"), "age < 50")


def test_a_register_that_is_not_sound_makes_no_workspace(data, tmp_path):
    tabulate(opened(data), to=data / "everybody")
    file = data / "patients.register.db"
    first = file.read_bytes()
    tabulate(opened(data), "age < 60", to=data / "below-60")
    whole = file.read_bytes()
    with created(tmp_path / "data", tmp_path / "sound") as sound:
        known = len(listed(sound.workspace.register))
        for content in (first, whole[:5000], None):
            file.unlink(missing_ok=True)
            if content is not None:
                file.write_bytes(content)
            with pytest.raises(Unsound):
                created(data, tmp_path / "clinic")
            with pytest.raises(Unsound):
                sound.add_table("more", data / "patients.parquet", data / "patients.toml", Pure(3))
            assert sorted(one.name for one in tmp_path.iterdir()) == ["data", "sound"]
            assert list(sound.workspace.tables) == ["patients"]
            assert len(listed(sound.workspace.register)) == known
        file.write_bytes(whole)
    created(data, tmp_path / "clinic").close()
    assert all(ADOPTED in one.told for one in listed(tmp_path / "clinic" / "register.db"))


def test_without_a_register_beside_the_card_there_is_none(data, tmp_path):
    with created(data, tmp_path / "clinic") as curator:
        assert not Path(curator.workspace.register).exists()


def test_a_register_in_postgresql_adopts_too(data, tmp_path, postgres_address):
    tabulate(opened(data), to=data / "everybody")
    source = data / "patients.parquet", data / "patients.toml"
    with Curator.create(tmp_path / "clinic", {"patients": source}, Pure(3), ledger=postgres_address) as curator:
        assert [one.release for one in listed(curator.workspace.register)] == [str(data / "everybody")]
        with pytest.raises(Exposed, match="release 1"):
            tabulate(curator.workspace.original("patients"), "age < 79")

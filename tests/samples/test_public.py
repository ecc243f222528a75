"""The real data sets are whole, and keep to the cards declared for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from discreet import samples
from discreet.core.card import Role
from discreet.core.table import Table, violations

SIZES: list[tuple[Callable[[], Table], int, int]] = [
    (samples.abalone, 4_177, 9),
    (samples.adult, 32_561, 14),
    (samples.contraceptive, 1_473, 10),
    (samples.german_credit, 1_000, 21),
    (samples.titanic, 1_309, 14),
]


@pytest.mark.parametrize(("data", "rows", "columns"), SIZES)
def test_every_record_is_there_and_keeps_to_the_card(data: Callable[[], Table], rows: int, columns: int) -> None:
    table = data()
    assert (table.count(), len(table.columns)) == (rows, columns)
    assert table.card.private
    assert table.card.having(Role.QUASI)
    assert violations(table) == ()


def test_missing_values_of_adult_are_null() -> None:
    data = samples.adult().fetch()
    nulls = {name: data.column(name).null_count for name in data.column_names if data.column(name).null_count}
    assert nulls == {"workclass": 1836, "occupation": 1843, "native_country": 583}


def test_adult_knows_its_incomes_and_its_taxonomies() -> None:
    table = samples.adult()
    incomes = dict(zip(*table.histogram("income").to_pydict().values(), strict=True))
    assert incomes == {"<=50K": 24_720, ">50K": 7_841}
    continents = dict(
        zip(*table.histogram("native_country", levels={"native_country": 2}).to_pydict().values(), strict=True)
    )
    assert continents[None] == 583
    assert set(continents) == {"America", "Asia", "Europe", None}
    levels = {"age": 2, "education": 2, "native_country": 2, "marital_status": 1}
    coarse, fine = (len(table.histogram(*levels, levels=given)) for given in (levels, {}))
    assert coarse < fine / 20


def test_every_code_of_german_credit_has_a_word() -> None:
    data = samples.german_credit().fetch()
    assert all(column.null_count == 0 for column in data.columns)
    assert data.column("risk").to_pylist().count("good") == 700


def test_every_data_file_has_a_source_and_a_licence() -> None:
    folder = Path(samples.__file__).parent / "public" / "data"
    sources = (folder / "SOURCES.md").read_text()
    files = {file.name for file in folder.iterdir()} - {"SOURCES.md"}
    assert len(files) == len(SIZES)
    assert [name for name in sorted(files) if f"## {name}\n" not in sources] == []

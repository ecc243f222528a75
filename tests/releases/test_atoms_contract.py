"""Every engine tells the same people apart: the same records, groups and atoms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one
from tests.releases.test_exposure_cases import COLUMNS, people

import discreet as dc
from discreet.core import sql
from discreet.core.cardfile import parse_cards
from discreet.core.table import Table
from discreet.errors import Exposed
from discreet.releases.atoms import link, nobody
from discreet.releases.records import fetch_records, told_by
from discreet.releases.registration import facts_of


def card(columns: list[str], unit: str | None) -> Any:
    """A card of a table ``p``."""
    lines = ["discreet = 1", "[tables.p]", *([f'unit = "{unit}"', "rows_per_unit = 1"] if unit else [])]
    for name in columns:
        lines += [f"[tables.p.columns.{name}]", COLUMNS[name]]
    return parse_cards("\n".join(lines))["p"]


def loaded(engine, name: str, rows: list[dict[str, Any]], unit: str | None) -> Table:
    engine.load(name, pa.Table.from_pylist(rows))
    columns = list(rows[0])
    return Table(card(columns, unit), engine, exp.select(*map(sql.column, columns)).from_(sql.table(name)))


def rows_of(unit: str | None) -> list[dict[str, Any]]:
    rows = people(60, oldest=1)
    rows[3]["ill"] = None
    rows[4]["town"] = "Å “x”"
    if unit is None:
        rows = [{name: value for name, value in row.items() if name != "id"} for row in (*rows, *rows[:5])]
    return rows


def atoms_of(table: Table, asked: tuple[str | None, ...], monkeypatch) -> Any:
    """The people of a space after some tables of counts, as plain data in one order."""
    seen: list[Any] = []

    def keep(method, made, table, loss):
        found = method.facts(made, table)
        seen.extend(found)
        return facts_of(method, made, replace(table, registers=()), loss)

    monkeypatch.setattr("discreet.releases.pipeline.facts_of", keep)
    for text in asked:
        rows = table if text is None else table.where(parse_one(text))
        dc.tabulate(rows, "town × ill", method="round base=3 how=conventional")
    space = nobody()
    for figures in seen:
        records = fetch_records(figures)
        space = link(space, records, told_by(figures, records, "a table"))
    held = space.people
    groups = [one.group.tolist() for one in space.told]
    return sorted(
        (
            key,
            str(unit),
            copies,
            tuple(group[atom] for group in groups),
            str(ill),
        )
        for key, unit, copies, atom, ill in zip(
            held.key.to_pylist(), held.unit.to_pylist(), held.copies.tolist(), held.atom.tolist(),
            held.values["ill"].to_pylist(), strict=True,
        )
    )  # fmt: skip


@pytest.mark.parametrize("unit", ["id", None])
def test_atoms_are_the_same_everywhere(engine, duckdb, fresh, unit, monkeypatch):
    asked = (None, "age < 79", "age > 30 OR town = 'A'")
    rows = rows_of(unit)
    here = atoms_of(loaded(engine, fresh(), rows, unit), asked, monkeypatch)
    there = atoms_of(loaded(duckdb, fresh(), rows, unit), asked, monkeypatch)
    assert here == there
    assert len(here) == 60
    assert sum(one[2] for one in here) == len(rows)
    assert len({one[3] for one in here}) > 6


def test_the_pair_is_refused_everywhere(engine, fresh, tmp_path):
    table = replace(loaded(engine, fresh(), people(200), "id"), registers=(str(tmp_path / "p.register.db"),))
    dc.tabulate(table, "town × ill", rules="min=3")
    with pytest.raises(Exposed, match="reveals ill of a group of 1 person"):
        dc.tabulate(table.where(parse_one("age < 79")), "town × ill", rules="min=3")

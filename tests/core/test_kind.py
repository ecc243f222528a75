"""Every kind is declared wherever something is particular to a kind: a kind that is forgotten somewhere fails here."""

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.engines.values import LITERALS, USUAL

from discreet.core import document, sql
from discreet.core.card import Card, Column, fits
from discreet.core.cardfile import card_schema, dump_cards, parse_cards
from discreet.core.draft import draft_card
from discreet.core.kind import CATEGORICAL, LISTABLE, MOMENTS, NUMBERS, ORDERED, TYPES, Kind
from discreet.engines.bounded_table import bounded
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import _KINDS
from discreet.engines.read import read

EVERY = pytest.mark.parametrize("kind", Kind, ids=lambda one: one.value)


def card_of(kind, **declared):
    return Card("t", (Column("id", Kind.INTEGER, "identifier"), Column("age", kind, "quasi", **declared)))


def rows_of(kind):
    return pa.table({"id": [1, 2], "age": pa.array(USUAL[kind], sql.arrow_type(kind, scale=2))})


def declared(kind):
    return {"bounds": USUAL[kind]} if kind in ORDERED else {"categories": USUAL[kind]}


def test_every_kind_is_declared():
    assert set(TYPES) == set(USUAL) == {kind for kind, _ in LITERALS.values()} == set(Kind)
    assert NUMBERS | MOMENTS == ORDERED
    assert not ORDERED & CATEGORICAL
    assert CATEGORICAL < LISTABLE
    names = [name for one in Kind for name in TYPES[one].postgres]
    assert len(names) == len(set(names)) == len(_KINDS)
    tests = [test for one in Kind for test in TYPES[one].arrow_family]
    assert len(tests) == len(set(tests))


@EVERY
def test_a_value_is_of_its_kind_alone(kind):
    for value in USUAL[kind]:
        assert fits(value, kind)
        others = {other for other in Kind if fits(value, other)} - {kind}
        assert others == ({Kind.REAL, Kind.DECIMAL} if kind is Kind.INTEGER else set())


@EVERY
def test_sql_and_arrow_hold_its_values(kind):
    engine = DuckDB()
    shown = [
        sql.named(exp.cast(sql.literal(one), sql.sql_type(kind, scale=2)), f"c{n}") for n, one in enumerate(USUAL[kind])
    ]
    found = engine.fetch(exp.select(*shown))
    assert {field.type for field in found.schema} == {sql.arrow_type(kind, scale=2)}
    assert {sql.kind_of(field.type) for field in found.schema} == {kind}
    assert tuple(found.to_pylist()[0].values()) == USUAL[kind]


@EVERY
def test_it_is_read_from_text_as_the_card_says(kind, tmp_path):
    texts = ["true" if one is True else "false" if one is False else str(one) for one in USUAL[kind]]
    file = tmp_path / "t.csv"
    file.write_text("id,age\n" + "".join(f'{n},"{one}"\n' for n, one in enumerate(texts)))
    found = read(file, card_of(kind)).fetch()["age"]
    assert sql.kind_of(found.type) is kind
    assert tuple(found.to_pylist()) == USUAL[kind]
    if TYPES[kind].guess:  # narrower than what is accepted
        assert all(re.fullmatch(TYPES[kind].guess, one) for one in texts)
        first = next(other for other in Kind if TYPES[other].guess and re.fullmatch(TYPES[other].guess, texts[1]))
        assert first is kind or {first, kind} <= NUMBERS


@EVERY
def test_a_card_spells_it(kind):
    card = card_of(kind, **declared(kind))
    assert parse_cards(dump_cards([card])) == {"t": card}
    assert f'kind = "{kind.value}"' in dump_cards([card])
    column = card_schema()["properties"]["tables"]["additionalProperties"]["properties"]["columns"][
        "additionalProperties"
    ]
    assert kind.value in column["properties"]["kind"]["enum"]
    problems = replace(card["age"], bounds=USUAL[kind], categories=None).problems()
    assert bool(problems) is (kind not in ORDERED)


@EVERY
def test_a_draft_and_a_bounded_table_take_it(kind):
    table = read(rows_of(kind), card_of(kind, **declared(kind)))
    drafted = draft_card(table.engine, table.relation, "t", bounds_from_data=True).card["age"]
    assert drafted.kind is kind
    assert bool(drafted.bounds) is (kind in ORDERED)
    cut = bounded(replace(table, card=replace(table.card, unit="id", rows_per_unit=1)))
    assert sorted(cut.fetch()["age"].to_pylist()) == list(USUAL[kind])
    held = table.engine.dictionary_codes(table.relation, ["age"])
    assert (held is not None) is (kind in LISTABLE)


@EVERY
def test_a_release_keeps_its_values_exactly(kind):
    assert document.loads(document.dumps(list(USUAL[kind]))) == list(USUAL[kind])


@EVERY
def test_the_page_about_cards_names_it(kind):
    page = (Path(__file__).parents[2] / "docs" / "cards.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith("| `kind` |")]
    assert f"`{kind.value}`" in row


def test_a_kind_that_is_forgotten_is_noticed(monkeypatch):
    monkeypatch.delitem(TYPES, Kind.DATE)
    with pytest.raises(KeyError):
        sql.arrow_type(Kind.DATE)
    with pytest.raises(KeyError):
        sql.sql_type(Kind.DATE)

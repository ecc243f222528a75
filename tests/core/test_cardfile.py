"""Cards in TOML, and their JSON schema."""

import datetime as dt
import json
import tomllib
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.hierarchy.examples import EXAMPLES

from discreet import samples
from discreet.core import toml
from discreet.core.card import Card, Column, Role
from discreet.core.cardfile import card_schema, dump_cards, from_fields, load_card, parse_cards, to_fields
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, CardError, NotFound

GOOD = """
[tables.visits]
unit = "patient"
rows_per_unit = 4
note = "one row a visit"

[tables.visits.columns.patient]
kind = "text"
role = "identifier"

[tables.visits.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 110]
hierarchy = { type = "intervals", widths = [5, 10, 20] }

[tables.visits.columns.cost]
kind = "decimal"
role = "sensitive"
bounds = [0, 99999.99]
required = true

[tables.visits.columns.admitted]
kind = "date"
bounds = [2020-01-01, 2026-12-31]
hierarchy = "calendar"

[hierarchies.calendar]
type = "dates"
levels = ["month", "year"]
"""


def test_a_card_reads_as_it_says():
    card = parse_cards(GOOD)["visits"]
    assert card.unit == "patient"
    assert card.rows_per_unit == 4
    assert card["age"].hierarchy == Intervals((5, 10, 20))
    assert card["cost"].bounds == (Decimal(0), Decimal("99999.99"))
    assert card["cost"].required and not card["age"].required
    assert parse_cards(dump_cards([card]))["visits"]["cost"].required
    assert card["admitted"].hierarchy == Dates(("month", "year"))
    assert card["admitted"].bounds == (dt.date(2020, 1, 1), dt.date(2026, 12, 31))


_words = st.sampled_from(
    ["columns", "kind", "role", "bounds", "categories", "hierarchy", "type", "mask", "taxonomy", "tree", "length", "a"]
)

BAD = """
discreet = 1
[tables.t]
unti = "id"
unit = "who"

[tables.t.columns.age]
kind = "integre"
bounds = [110, 0]
[tables.t.columns.zip]
kind = "text"
role = "qausi"
hierarchy = "nowhere"

[tables.t.columns.x]
kind = "real"
bounds = [3, 1]

[tables.t.columns.y]
kind = "integer"
bounds = [1]
categories = 3

[tables.t.columns.z]
kind = "integer"
hierarchy = { type = "intervalls", widths = [5] }
"""


def test_every_problem_is_reported_at_once_with_its_line():
    with pytest.raises(CardError) as caught:
        parse_cards(BAD, source="bad.toml")
    lines = {problem.line: problem.what for problem in caught.value.problems}
    assert "did you mean 'unit'" in lines[4]
    assert "not below" in next(p.what for p in caught.value.problems if p.path[-2:] == ("age", "bounds"))
    assert "'integre' is not known" in lines[8]
    assert "'qausi' is not known" in lines[12]
    assert "no [hierarchies.nowhere]" in lines[13]
    assert "not below" in lines[17]
    assert "two values" in lines[21]
    assert "must be a list" in lines[22]
    assert "intervals" in lines[26]
    assert str(caught.value).startswith("bad.toml has ")
    assert "line 4, tables.t.unti" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tables.t.columns.a]\nkind='text'\ncategories=[['a']]", "is not of kind text"),
        ("[tables.t.columns.a]\nkind='integer'\nbounds=[0, inf]", "two integer values"),
        ("[tables.t.columns.a]\nkind='real'\nbounds=[-inf, inf]", "two real values"),
        ("[tables.t.columns.a]\nkind='timestamp'\nbounds=[2020-01-01T00:00:00Z, 2021-01-01T00:00:00]", "time zone"),
        ("[hierarchies]\nx = 3\n[tables.t.columns.a]\nkind='text'", "must be a table, got 3"),
        ("[tables", "not valid TOML"),
        ("", "no table"),
        ("discreet = 2\n[tables.t.columns.a]\nkind='text'", "format 2"),
        ("tables = 3", "must be a table"),
        ("[tables]\nt = 3", "must be a table"),
        ("[tables.t]\n", "at least one column"),
        ("[tables.t.columns.a]\nkind='text'\nnote=true", "must be text, got True"),
    ],
)
def test_a_card_that_is_no_card_says_why(text, says):
    with pytest.raises(CardError, match=says.replace("[", r"\[")):
        parse_cards(text)


_toml = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"])) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=200)
@given(st.fixed_dictionaries({"tables": st.dictionaries(_words, st.dictionaries(_words, _toml), max_size=2) | _toml}))
def test_any_toml_gives_cards_or_a_card_error(data):
    with suppress(CardError):
        parse_cards(toml.dump(data))


def test_one_file_holds_several_tables(tmp_path):
    path = tmp_path / "world.toml"
    path.write_text('[tables.a.columns.x]\nkind = "text"\n[tables.b.columns.y]\nkind = "real"\n')
    assert load_card(path, "b").columns[0].name == "y"
    with pytest.raises(NotFound, match="a, b"):
        load_card(path)
    with pytest.raises(NotFound, match="no table 'c'"):
        load_card(path, "c")


def test_a_missing_card_says_how_to_draft_one(tmp_path):
    with pytest.raises(NotFound, match="card draft"):
        load_card(tmp_path / "no.toml")


def test_a_taxonomy_file_lies_beside_its_card(tmp_path):
    (tmp_path / "city.csv").write_text("Reus;Tarragona;*\nSitges;Barcelona;*\n")
    path = tmp_path / "card.toml"
    path.write_text('[tables.t.columns.c]\nkind = "text"\nhierarchy = { type = "taxonomy", file = "city.csv" }\n')
    taxonomy = load_card(path)["c"].hierarchy
    assert taxonomy is not None
    assert taxonomy.height == 2
    path.write_text('[tables.t.columns.c]\nkind = "text"\nhierarchy = { type = "taxonomy", file = "no.csv" }\n')
    with pytest.raises(CardError, match=r"no\.csv"):
        load_card(path)


_names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip)


@st.composite
def columns(draw, name):
    kind = draw(st.sampled_from(Kind))
    values = {
        Kind.INTEGER: st.integers(-(2**53), 2**53),
        Kind.REAL: st.floats(allow_nan=False, allow_infinity=False),
        Kind.DECIMAL: st.decimals(-1000, 1000, places=3),
        Kind.TEXT: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        Kind.BOOLEAN: st.booleans(),
        Kind.DATE: st.dates(),
        Kind.TIMESTAMP: st.datetimes(),
    }[kind]
    some = sorted(draw(st.lists(values, min_size=2, max_size=2 if kind is Kind.BOOLEAN else 5, unique=True)))
    bounded = kind not in (Kind.TEXT, Kind.BOOLEAN) and draw(st.booleans())
    hierarchies = {
        Kind.INTEGER: Intervals((5, 10), bottom=10, top=80),
        Kind.TEXT: Mask(5, other="?"),
        Kind.DATE: Dates(),
    }
    role = draw(st.sampled_from(Role))
    hierarchy = None if role is Role.IDENTIFIER else draw(st.sampled_from([None, hierarchies.get(kind)]))
    field = "bounds" if bounded else "categories"
    return Column(
        name,
        kind,
        role,
        bounds=(some[0], some[-1]) if bounded else None,
        categories=None if bounded else tuple(some),
        hierarchy=hierarchy,
        from_data=draw(st.sampled_from([(), (field,)])),
        note=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    )


@st.composite
def cards(draw):
    names = draw(st.lists(_names, min_size=1, max_size=4, unique_by=str.casefold))
    unit = draw(st.sampled_from([None, names[0]]))
    rows = draw(st.integers(1, 9)) if unit else None
    return Card(draw(_names), tuple(draw(columns(name)) for name in names), unit, rows, draw(_names))


@given(cards())
def test_cards_survive_a_round_trip_through_toml(card):
    assert parse_cards(dump_cards([card])) == {card.name: card}


def test_taxonomies_survive_a_round_trip_through_toml():
    tree = from_fields(
        {"type": "taxonomy", "tree": {"America": {"North": ["US", "Canada"]}, "Asia": ["Japan"]}}, folder=None
    )
    card = Card("t", (Column("country", Kind.TEXT, Role.QUASI, hierarchy=tree),))
    assert parse_cards(dump_cards([card]), folder=Path()) == {"t": card}


def test_public_and_groups_per_unit_are_written_and_read():
    column = Column("a", Kind.INTEGER)
    cards = [
        Card("p", (column,), public=True),
        Card("t", (column,), unit="a", rows_per_unit=3, groups_per_unit=2),
    ]
    assert list(parse_cards(dump_cards(cards)).values()) == cards
    with pytest.raises(CardError, match="public: must be true or false"):
        parse_cards(dump_cards(cards).replace("public = true", "public = 1"))


def test_the_longest_text_is_written_and_read():
    card = Card("t", (Column("a", Kind.TEXT, max_length=20), Column("b", Kind.TEXT)))
    assert parse_cards(dump_cards([card])) == {"t": card}
    assert (card["a"].characters, card["b"].characters) == (20, 1_000)
    with pytest.raises(CardError, match="max_length: must be a whole number"):
        parse_cards(dump_cards([card]).replace("max_length = 20", "max_length = true"))


def test_population_and_stable_columns_are_written_and_read():
    columns = (Column("who", Kind.TEXT, Role.IDENTIFIER), Column("sex", Kind.TEXT), Column("ill", Kind.TEXT))
    card = Card("t", columns, "who", 1, population="Patients of Sjöbo", stable=["sex"])
    assert (card.people, Card("t", columns).people, card.stable) == ("Patients of Sjöbo", "t", ("sex",))
    text = dump_cards([card])
    assert parse_cards(text) == {"t": card}
    assert problems(tomllib.loads(text)) == []
    assert card.without_unit(columns[1:]).stable == ()
    for said, says in (
        ('stable = ["tex"]', r"line \d+, tables\.t\.stable: there is no column 'tex'"),
        ('stable = ["who"]', "'who' is the unit"),
        ('stable = "sex"', "stable: must be a list"),
    ):
        with pytest.raises(CardError, match=says):
            parse_cards(text.replace('stable = ["sex"]', said))
    with pytest.raises(CardError, match="stable: without a unit"):
        parse_cards(text.replace('unit = "who"\n', ""))
    with pytest.raises(CardError, match="'name' is an identifier"):
        parse_cards(text.replace('["sex"]', '["name"]') + '[tables.t.columns.name]\nkind = "text"\nrole = "identifier"')
    with pytest.raises(BadInput, match="stable is a list of columns"):
        Card("t", columns, "who", stable="sex")
    for name in ("", " a", "a/b", "..", "x" * 41, "a\n"):
        with pytest.raises(CardError, match="population: is a short name"):
            Card("t", columns, population=name)


def test_what_is_stable_of_a_card_in_python_is_checked_when_rows_are_read():
    columns = (Column("who", Kind.INTEGER, Role.IDENTIFIER), Column("sex", Kind.TEXT))
    rows = pa.table({"who": [1, 2], "sex": ["f", "m"]})
    with pytest.raises(CardError, match="there is no column 'born'"):
        read(rows, Card("t", columns, "who", 1, stable=["born"]))
    assert read(rows, Card("t", columns, "who", 1, stable=["sex"])).select("who").card.stable == ()


VALIDATOR = jsonschema.Draft202012Validator(card_schema())


def problems(card):
    plain = json.loads(json.dumps(card, default=str))  # dates are text to an editor
    return [error.message for error in VALIDATOR.iter_errors(plain)]


def column(**fields):
    return {"tables": {"t": {"columns": {"c": {"kind": "text", **fields}}}}}


@pytest.mark.parametrize("make", [samples.inpatient, samples.drug_trial, samples.bits, samples.municipality])
def test_a_sound_card_fits_the_schema(make):
    assert problems(tomllib.loads(dump_cards([make().card]))) == []
    assert problems(tomllib.loads(dump_cards(samples.hospital(100, 1).cards.values()))) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_every_hierarchy_fits_the_schema(example):
    assert problems(column(hierarchy=to_fields(example.hierarchy))) == []


@pytest.mark.parametrize("name", HIERARCHIES.names())
def test_an_unknown_field_of_a_hierarchy_does_not(name):
    assert problems(column(hierarchy={"type": name, "mood": 1}))


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"tables": {}},
        {"tables": {"t": {"columns": {}}}},
        column(kind="integre"),
        column(roll="quasi"),
        column(bounds=[1]),
        column(hierarchy={"type": "intervalls"}),
        {**column(), "discreet": 2},
    ],
)
def test_a_wrong_card_does_not(card):
    assert problems(card)

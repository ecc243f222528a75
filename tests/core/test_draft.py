import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet import samples
from discreet.core import sql
from discreet.core.card import Role
from discreet.core.cardfile import parse_cards
from discreet.core.draft import draft_card
from discreet.core.hierarchy import Dates, Intervals, Mask
from discreet.core.kind import Kind
from discreet.engines.read import draft, read
from discreet.errors import DataError

DATA = pa.table(
    {
        "visit": list(range(30)),
        "patientId": [f"p{i // 3}" for i in range(30)],
        "Birth Date": [dt.date(1990, 1, 1 + i % 28) for i in range(30)],
        "zip": [f"{13050 + i % 7:05}" for i in range(30)],
        "age": [20 + i for i in range(30)],
        "Diagnosis": ["flu", "cold", "burn"] * 10,
        "answer": ["1", "2", "many"] * 10,
        "mood": ["good", None, "bad"] * 10,
    }
)


def test_roles_and_hierarchies_are_suggested_with_their_reason():
    drafted = draft(DATA, name="visits")
    card = drafted.card
    roles = {column.name: column.role.value for column in card.columns}
    assert roles == {
        "visit": "identifier",
        "patientId": "identifier",
        "Birth Date": "quasi",
        "zip": "quasi",
        "age": "quasi",
        "Diagnosis": "sensitive",
        "answer": "undecided",
        "mood": "undecided",
    }
    assert card["Birth Date"].hierarchy == Dates()
    assert card["zip"].hierarchy == Mask(5)
    assert card["age"].hierarchy == Intervals((5, 10, 20))
    assert card.unit == "patientId"
    assert "every row has a different value" in drafted.reasons["visit"][0]
    assert "its name says 'birth', a person's features" in drafted.reasons["Birth Date"][0]
    assert "10 missing" in drafted.reasons["mood"][0]


def test_bounds_and_categories_are_left_for_a_person_to_declare():
    drafted = draft(DATA)
    assert drafted.card.private
    assert all(column.bounds is None and column.categories is None for column in drafted.card.columns)
    assert "# Declare: bounds" in drafted.to_toml()
    assert any("required = true" in why for why in drafted.reasons["age"]), "whether that is by chance is asked"
    assert not any(column.required for column in drafted.card.columns)
    assert "49" not in drafted.to_toml(), "the largest age is not to be read off the draft"


def test_bounds_from_the_data_are_marked_as_not_private():
    drafted = draft(DATA, bounds_from_data=True)
    assert not drafted.card.private
    assert drafted.card["age"].bounds == (20, 49)
    assert drafted.card["age"].from_data == ("bounds",)
    assert drafted.card["mood"].categories == ("bad", "good")
    assert "NOT PRIVATE" in drafted.to_toml()


@pytest.mark.parametrize("from_data", [False, True])
@pytest.mark.parametrize("make", [samples.inpatient, samples.got, samples.bits, samples.drug_trial])
def test_a_draft_is_a_sound_card_for_the_data_it_was_drafted_from(make, from_data):
    data = make().fetch()
    drafted = draft(data, name="t", bounds_from_data=from_data)
    assert parse_cards(drafted.to_toml()) == {"t": drafted.card}
    assert read(data, drafted.card).count() == data.num_rows


def test_columns_no_card_can_describe_are_left_out():
    data = pa.table({"a": [1, 1], "b": [[1], [2]]})
    assert [column.name for column in draft(data).card.columns] == ["a"]
    with pytest.raises(DataError, match="No column has a type"):
        draft(data.select(["b"]))


def test_a_code_kept_as_a_number_is_not_cut_into_intervals():
    drafted = draft(pa.table({"zip": [13053, 13068, 13068]}))
    assert drafted.card["zip"].hierarchy is None
    assert any("convert the column to text" in why for why in drafted.reasons["zip"])


def test_an_empty_table_and_numbers_that_are_no_numbers_can_be_drafted():
    nothing = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    assert draft(nothing, bounds_from_data=True).rows == 0
    odd = draft(pa.table({"x": [1.0, float("nan")]}), bounds_from_data=True)
    assert odd.card["x"].bounds is None
    assert odd.card["x"].kind is Kind.REAL
    assert odd.card["x"].role is Role.UNDECIDED


PEOPLE = np.repeat(np.arange(2_000), 5)
SPARSE = np.random.default_rng(1).choice(10**8, 2_000, replace=False)
KEYS = {
    "mrn": (100_000 + PEOPLE).tolist(),
    "Fallnummer": [f"2024/{who:06}" for who in PEOPLE],
    "case_no": (10**8 + SPARSE[PEOPLE]).tolist(),
    "wer": (PEOPLE + 1).tolist(),
    "kunde": [f"K{SPARSE[who]:08}" for who in PEOPLE],
}


@pytest.mark.parametrize("name", KEYS)
def test_an_identifier_that_repeats_is_a_unit_whatever_it_is_called(name):
    rows = pa.table({"age": [20 + n % 60 for n in range(10_000)], name: KEYS[name]})
    drafted = draft(rows, name="visits")
    assert drafted.card[name].role is Role.IDENTIFIER
    assert drafted.card.unit == name
    assert any("rows_per_unit" in why and "rows_are_people" in why for why in drafted.reasons[name])


def uneven(seed=3):
    """Rows of 2,000 people who come more or less often."""
    rng = np.random.default_rng(seed)
    rows = {
        "geometric": rng.geometric(0.25, 2_000),
        "lognormal": np.ceil(rng.lognormal(1, 1, 2_000)).astype(int),
        "some never": rng.lognormal(1, 1, 2_000).astype(int),
        "one often": np.r_[205, np.full(1_999, 5)],
        "all often": np.full(2_000, 80),
    }
    return {name: rng.permutation(np.repeat(np.arange(2_000), visits)) for name, visits in rows.items()}


LETTERS = ["".join(word) for word in np.random.default_rng(2).choice(list("ABCDEFGHKLMNPQRSTUVWXYZ"), (2_000, 6))]
WRITTEN = {
    "Fallnummer": lambda who: [f"2024/{one:06}" for one in who],
    "case_no": lambda who: 10**8 + SPARSE[who],
    "patient": lambda who: who + 1,
    "dense": lambda who: 100_000 + who,
    "long": lambda who: 10**18 + SPARSE[who],
    "ahv": lambda who: [f"756.{SPARSE[one] // 10_000:04}.{SPARSE[one] % 10_000:04}.{one % 97:02}" for one in who],
    "six": lambda who: [LETTERS[one] for one in who],
    "float": lambda who: np.where(np.arange(len(who)) % 17 == 0, np.nan, 100_000.0 + who),
    "null": lambda who: pa.array(np.where(np.arange(len(who)) % 17 == 0, np.nan, 1e8 + SPARSE[who]), from_pandas=True),
    "decimal": lambda who: pa.array((10**8 + SPARSE[who]).tolist()).cast(pa.decimal128(38, 2)),
}


@pytest.mark.parametrize("visits", uneven())
def test_identifiers_are_recognised_however_uneven_visits_are_and_however_they_are_written(visits):
    who = uneven()[visits]
    rows = pa.table({name: make(who) for name, make in WRITTEN.items()})
    roles = {column.name: column.role for column in draft(rows).card.columns}
    assert roles == dict.fromkeys(WRITTEN, Role.IDENTIFIER)


def test_identifiers_are_recognised_on_every_engine(engine, fresh):
    who, name, written = uneven()["some never"], fresh(), ("Fallnummer", "dense", "float", "decimal")
    odd = {"cost": pa.array(np.arange(len(who)) * 0.5), "day": [dt.date(2024, 1, 1 + n % 28) for n in range(len(who))]}
    engine.load(name, pa.table({one: WRITTEN[one](who) for one in written} | odd))
    card = draft_card(engine, exp.select("*").from_(sql.table(name)), "t").card
    assert {column.name for column in card.having(Role.IDENTIFIER)} == set(written)


def drawn(make):
    return make(np.random.default_rng(1)).tolist()


def ranked(rng, count, size):
    """Values by Zipf's law: the second is half as common as the first, and so on."""
    weights = 1 / np.arange(1, count + 1)
    return rng.choice(count, size, p=weights / weights.sum())


@pytest.mark.parametrize(
    "values",
    [
        drawn(lambda rng: rng.normal(3_500, 500, 10_000).astype(int)),
        drawn(lambda rng: rng.normal(50_000, 9_000, 10_000).astype(int) // 500 * 500),
        drawn(lambda rng: rng.lognormal(10.5, 0.4, 10_000).astype(int)),
        drawn(lambda rng: rng.integers(1950, 2020, 10_000)),
        drawn(lambda rng: rng.integers(0, 100, 10_000)),
        [f"{code:05}" for code in drawn(lambda rng: 10_000 + rng.zipf(1.4, 10_000) % 800)],
        [f"{2000 + n % 20}-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(10_000)],
        ["red", "green", "blue", "none"] * 2_500,
        [f"{31 - n % 20}.{1 + n % 12:02}.{1950 + n % 70}" if n else "unknown" for n in range(10_000)],
        [f"{'JGEC'[code % 4]}{10 + code % 50}.{code % 7}" for code in drawn(lambda rng: rng.integers(0, 200, 10_000))],
        [f"{price / 100:.2f}" for price in drawn(lambda rng: rng.integers(1_000, 9_999, 10_000))],
        [f"W{code:03}" for code in drawn(lambda rng: rng.zipf(2, 10_000) % 200)],
        drawn(lambda rng: ranked(rng, 3_000, 10_000) + 10_000),
        [f"A{code:03}" for code in drawn(lambda rng: ranked(rng, 200, 10_000))],
        drawn(lambda rng: rng.integers(0, 5_000, 10_000)),
        drawn(lambda rng: np.round(rng.lognormal(8, 1, 10_000))),
        drawn(lambda rng: rng.normal(3_500, 500, 10_000).round()),
    ],
)
def test_measures_years_codes_of_places_and_dates_are_no_identifiers(values):
    drafted = draft(pa.table({"w": values, "age": [20 + n % 60 for n in range(10_000)]}))
    assert drafted.card["w"].role in (Role.UNDECIDED, Role.QUASI)
    assert drafted.card.unit is None


def test_a_name_that_several_share_is_asked_about():
    drafted = draft(pa.table({"surname": ["Huber", "Huber", "Maier"], "age": [1, 2, 3]}))
    assert drafted.card.unit is None
    assert any("rows_are_people = true" in why for why in drafted.reasons["surname"])


def test_long_text_is_pointed_out():
    notes = [f"came in with a bad cough, case {n}" for n in range(40)]
    drafted = draft(pa.table({"note": notes, "age": [20 + n % 3 for n in range(40)]}), name="t")
    assert drafted.card["note"].role is Role.IDENTIFIER, "free text may name people"
    drafted = draft(pa.table({"note": ["pt. 1", "pt. 2"] * 20, "age": [20 + n % 3 for n in range(40)]}), name="t")
    assert drafted.card["note"].role is Role.SENSITIVE
    short = [
        f"{name} ill" for name in ("Tina", "Anna", "Sven", "Uwe", "Rosa", "Otto", "Karl", "Nora", "Max", "Ida", "Jan")
    ]
    drafted = draft(pa.table({"note": short * 4, "age": [20 + n % 3 for n in range(44)]}), name="t")
    assert drafted.card["note"].role is Role.UNDECIDED, "short texts may name people too"
    drafted = draft(pa.table({"illness": notes * 2, "age": [20 + n % 3 for n in range(80)]}), name="t")
    assert any("may_leave = true" in why for why in drafted.reasons["illness"])


def test_a_short_text_is_what_else_its_name_says():
    rows = pa.table(
        {
            "Geschlecht_Text": ["weiblich", "divers"] * 30,
            "Geschlecht_Bemerkung": ["Es geht Frau Schulz heute wieder gut."] * 60,
        }
    )
    drafted = draft(rows, name="t")
    assert drafted.card["Geschlecht_Text"].role is Role.QUASI
    assert drafted.card["Geschlecht_Bemerkung"].role is Role.IDENTIFIER

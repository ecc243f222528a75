"""Roles that drafts guess, for the columns of well-known public data sets and of files in four languages."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Role
from discreet.engines.read import draft

ROWS = 1_460
RNG = np.random.default_rng(22)


def of(*values):
    """These values, drawn evenly."""
    return [values[n] for n in RNG.integers(0, len(values), ROWS)]


def reals(low, high):
    return RNG.uniform(low, high, ROWS).round(1).tolist()


def whole(low, high):
    return RNG.integers(low, high, ROWS).tolist()


YES = of("Yes", "No")
FLAG = of(0, 1)
UNIQUE = RNG.permutation(ROWS).tolist()
IDENTIFIER = {
    "PassengerId": UNIQUE,
    "Name": [f"Braund, Mr. Owen {n}" for n in range(ROWS)],
    "customerID": [f"{n:04}-VHVEG" for n in UNIQUE],
    "EmployeeNumber": UNIQUE,
    "PID": UNIQUE,
    "Telefonnummer": [f"+43 1 {n:06}" for n in UNIQUE],
    "apellidos": [f"Garcia{n % 700}" for n in range(ROWS)],
    "nom": [f"Martin{n % 700}" for n in range(ROWS)],
    "Straße": [f"Hauptgasse {n % 900}" for n in range(ROWS)],
    "kontakt": [f"p{n}@example.org" for n in UNIQUE],
    "reach": [f"+41 79 {n % 990 + 100:03} 00 11" for n in UNIQUE],
    "bank": [f"AT61 1904 3002 3457 {n % 900:04}" for n in UNIQUE],
    "who": [f"Anna{chr(97 + n % 26)} Huber{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(ROWS)],
}
SENSITIVE = {
    "affairs": reals(0, 50),
    "religious": whole(1, 5),
    "stroke": FLAG,
    "hypertension": FLAG,
    "heart_disease": FLAG,
    "avg_glucose_level": reals(55, 272),
    "charges": reals(1_000, 60_000),
    "TotalCharges": reals(18, 8_000),
    "bmi": reals(15, 60),
    "SystolicBP": whole(70, 160),
    "DiastolicBP": whole(49, 100),
    "PID": whole(0, 7),
    "vote": FLAG,
    "Survived": FLAG,
    "Fare": reals(0, 500),
    "capital-gain": whole(0, 99_999),
    "income": of("<=50K", ">50K"),
    "MonthlyIncome": whole(1_000, 20_000),
    "smoking_status": of("never", "formerly", "Unknown"),
    "Pregnancies": whole(0, 17),
    "union": FLAG,
    "Outcome": FLAG,
    "credit_amount": whole(250, 18_000),
    "SalePrice": whole(34_900, 755_000),
    "arrested": YES,
    "genotype": of("AA", "Aa", "aa"),
    "Hauptdiagnose": of("J45", "I10", "E11"),
    "Haushaltseinkommen": whole(800, 9_000),
    "Konfession": of("rk", "ev", "-"),
    "salaire": whole(1_000, 9_000),
    "maladie": of("grippe", "asthme"),
    "enfermedad": of("gripe", "asma"),
    "sindicato": of("si", "no"),
    "Bemerkung": of("kommt wieder", "angerufen"),
    "drug_name": of("aspirin", "ibuprofen", "statin"),
}
QUASI = {
    "relationship": of("Husband", "Not-in-family", "Own-child"),
    "ever_married": YES,
    "work_type": of("Private", "Self-employed", "Govt_job"),
    "Ticket": [f"A/5 {n % 681}" for n in range(ROWS)],
    "Street": of("Grvl", "Pave"),
    "Neighborhood": of("CollgCr", "Veenker", "NoRidge"),
    "Residence_type": of("Urban", "Rural"),
    "gender": of("Male", "Female"),
    "educ": whole(9, 20),
    "education-num": whole(1, 16),
    "occupation_husb": whole(1, 6),
    "yrs_married": reals(0, 23),
    "native-country": of("United-States", "Mexico"),
    "hours-per-week": whole(1, 99),
    "race": of("White", "Black", "Other"),
    "Cabin": [f"C{n % 147}" for n in range(ROWS)],
    "Embarked": of("S", "C", "Q"),
    "SibSp": whole(0, 8),
    "Dependents": YES,
    "Department": of("Sales", "Research"),
    "Geburtsjahr": whole(1920, 2010),
    "Familienstand": of("ledig", "verheiratet"),
    "code_postal": [f"{n:05}" for n in whole(1_000, 1_400)],
    "wohin": [f"{n:05}" for n in whole(10_000, 10_400)],
    "nacionalidad": of("ES", "FR"),
    "city_name": of("Rome", "Milan", "Turin"),
    "when": [dt.date(2020, 1, 1) + dt.timedelta(n) for n in whole(0, 900)],
}
OTHER = {"unit_count": [1] * ROWS, "Over18": ["Y"] * ROWS, "schema_version": of("1.0", "1.1")}
UNDECIDED = {
    "selfLR": whole(1, 8),
    "fnlwgt": RNG.lognormal(12, 0.5, ROWS).astype(int).tolist(),
    "x1": reals(0, 1),
    "sepal_width": reals(2, 5),
    "flag": YES,
    "mostly": ["Y", *[None] * (ROWS - 1)],
}
COLUMNS = [
    (name, values, role)
    for role, columns in (
        (Role.IDENTIFIER, IDENTIFIER),
        (Role.SENSITIVE, SENSITIVE),
        (Role.QUASI, QUASI),
        (Role.OTHER, OTHER),
        (Role.UNDECIDED, UNDECIDED),
    )
    for name, values in columns.items()
]


def test_roles_of_well_known_columns():
    """One table for each time that a name is used, since every draft looks at all of its columns."""
    wrong = {}
    for columns in (COLUMNS, [one for one in COLUMNS if one[0] == "PID" and one[2] is Role.SENSITIVE]):
        kept = {name: (values, role) for name, values, role in reversed(columns)}
        card = draft(pa.table({name: pa.array(values) for name, (values, _) in kept.items()})).card
        wrong |= {name: card[name].role.value for name, (_, role) in kept.items() if card[name].role is not role}
    assert wrong == {}


def test_what_names_somebody_in_a_small_table_stays_an_identifier():
    assert draft(pa.table({"street": ["Main Road 1", "Main Road 2"]})).card["street"].role is Role.IDENTIFIER


@pytest.mark.parametrize("role", [Role.OTHER, Role.UNDECIDED])
def test_a_draft_says_why(role):
    columns = OTHER if role is Role.OTHER else UNDECIDED
    reasons = draft(pa.table(columns)).reasons
    assert all(f"{role.value}: " in why[0] for why in reasons.values())

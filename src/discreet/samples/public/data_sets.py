"""Real public data: abalone, adult, contraceptive, german_credit and titanic, each with a fully declared card.

``data/SOURCES.md`` says where each file comes from and under which licence.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type
from discreet.core.table import Table
from discreet.engines.read import read

_LARGEST = {
    "length": 1.0,
    "diameter": 1.0,
    "height": 1.2,
    "whole_weight": 3.0,
    "shucked_weight": 1.5,
    "viscera_weight": 1.0,
    "shell_weight": 1.5,
}


def abalone() -> Table:
    """4,177 abalones: eight measurements (all known to an intruder) and the sex, which is the class.

    Nash, Sellers, Talbot, Cawthorn and Ford (1994), The Population Biology of Abalone; from the UCI Machine
    Learning Repository (CC BY 4.0). Lengths and weights are divided by 200.
    """
    card = Card(
        "abalone",
        (
            Column("sex", Kind.TEXT, Role.SENSITIVE, categories=("M", "F", "I"), note="I: infant"),
            *(Column(name, Kind.REAL, Role.QUASI, bounds=(0.0, most)) for name, most in _LARGEST.items()),
            Column("rings", Kind.INTEGER, Role.QUASI, bounds=(1, 30), note="1.5 more than these is the age"),
        ),
        note="A row is an abalone.",
    )
    return read(read_data_file("abalone.csv", card.columns), card)


_WORKCLASS = {
    "Government": ["Federal-gov", "State-gov", "Local-gov"],
    "Self-employed": ["Self-emp-inc", "Self-emp-not-inc"],
    "Employee": ["Private"],
    "Unpaid": ["Without-pay", "Never-worked"],
}
_EDUCATION = {
    "School": {
        "Primary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "Secondary": ["9th", "10th", "11th", "12th", "HS-grad"],
    },
    "Higher": {
        "Undergraduate": ["Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors"],
        "Graduate": ["Masters", "Prof-school", "Doctorate"],
    },
}
_MARITAL = {
    "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
    "Not married": ["Never-married", "Divorced", "Separated", "Widowed"],
}
_RELATIONSHIP = {
    "Couple": ["Husband", "Wife"],
    "Relative": ["Own-child", "Other-relative"],
    "No family": ["Not-in-family", "Unmarried"],
}
_OCCUPATION = {
    "White collar": ["Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales", "Tech-support"],
    "Blue collar": [
        "Craft-repair", "Machine-op-inspct", "Handlers-cleaners", "Transport-moving", "Farming-fishing",
    ],
    "Service": ["Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"],
}  # fmt: skip
_COUNTRY = {
    "America": {
        "North America": ["United-States", "Outlying-US(Guam-USVI-etc)", "Canada", "Mexico"],
        "Central America": ["El-Salvador", "Guatemala", "Honduras", "Nicaragua"],
        "Caribbean": ["Puerto-Rico", "Cuba", "Jamaica", "Dominican-Republic", "Haiti", "Trinadad&Tobago"],
        "South America": ["Columbia", "Ecuador", "Peru"],
    },
    "Asia": {
        "East Asia": ["China", "Hong", "Japan", "South", "Taiwan"],
        "South-East Asia": ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
        "South and West Asia": ["India", "Iran"],
    },
    "Europe": {
        "Northern Europe": ["England", "Ireland", "Scotland"],
        "Western Europe": ["France", "Germany", "Holand-Netherlands"],
        "Southern Europe": ["Greece", "Italy", "Portugal", "Yugoslavia"],
        "Eastern Europe": ["Hungary", "Poland"],
    },
}


def adult() -> Table:
    """32,561 adults of the United States census of 1994, and whether they earned more than 50,000 dollars.

    Becker and Kohavi, Adult (the training part); from the UCI Machine Learning Repository (CC BY 4.0),
    without the sampling weight. Missing values (of workclass, occupation and country) are NULL; the spelling of
    countries is the file's. Roles and hierarchies are ours.
    """
    card = Card(
        "adult",
        (
            Column("age", Kind.INTEGER, Role.QUASI, bounds=(17, 90), hierarchy=Intervals(widths=(5, 10, 20))),
            _grouped("workclass", Role.QUASI, Taxonomy.from_tree(_WORKCLASS)),
            _grouped("education", Role.QUASI, Taxonomy.from_tree(_EDUCATION)),
            Column(
                "education_num",
                Kind.INTEGER,
                Role.QUASI,
                bounds=(1, 16),
                hierarchy=Intervals(widths=(4, 8), anchor=1),
                note="education as a number: says the same",
            ),
            _grouped("marital_status", Role.QUASI, Taxonomy.from_tree(_MARITAL)),
            _grouped("occupation", Role.SENSITIVE, Taxonomy.from_tree(_OCCUPATION)),
            _grouped("relationship", Role.QUASI, Taxonomy.from_tree(_RELATIONSHIP)),
            Column(
                "race",
                Kind.TEXT,
                Role.QUASI,
                categories=("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
            ),
            Column("sex", Kind.TEXT, Role.QUASI, categories=("Female", "Male")),
            Column("capital_gain", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 99_999)),
            Column("capital_loss", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 9_999)),
            Column("hours_per_week", Kind.INTEGER, bounds=(1, 99)),
            _grouped("native_country", Role.QUASI, Taxonomy.from_tree(_COUNTRY)),
            Column("income", Kind.TEXT, Role.SENSITIVE, categories=("<=50K", ">50K")),
        ),
    )
    return read(read_data_file("adult.csv.gz", card.columns), card)


def _grouped(name: str, role: Role, taxonomy: Taxonomy) -> Column:
    """A column whose categories are the leaves of its taxonomy."""
    return Column(name, Kind.TEXT, role, categories=taxonomy.leaves, hierarchy=taxonomy)


def contraceptive() -> Table:
    """1,473 married women of Indonesia, 1987, and which contraceptive method they use.

    A part of the National Indonesia Contraceptive Prevalence Survey, prepared by Tjen-Sien Lim; from the UCI
    Machine Learning Repository (CC BY 4.0).
    """
    education = "1 low … 4 high"
    card = Card(
        "contraceptive",
        (
            Column("age", Kind.INTEGER, Role.QUASI, bounds=(15, 50), hierarchy=Intervals(widths=(5, 10))),
            _coded("education", Role.QUASI, range(1, 5), education),
            _coded("husband_education", Role.QUASI, range(1, 5), education),
            Column("children", Kind.INTEGER, Role.QUASI, bounds=(0, 20)),
            _coded("religion", Role.SENSITIVE, range(2), "0 other, 1 Islam"),
            _coded("working", Role.QUASI, range(2), "0 yes, 1 no"),
            _coded("husband_occupation", Role.QUASI, range(1, 5), ""),
            _coded("standard_of_living", Role.OTHER, range(1, 5), education),
            _coded("media_exposure", Role.OTHER, range(2), "0 good, 1 not good"),
            _coded("method", Role.SENSITIVE, range(1, 4), "1 none, 2 long-term, 3 short-term"),
        ),
    )
    return read(read_data_file("contraceptive.csv", card.columns), card)


def _coded(name: str, role: Role, codes: range, note: str) -> Column:
    return Column(name, Kind.INTEGER, role, categories=tuple(codes), note=note)


# What the codes of each attribute stand for, in the order of the codes.
_WORDS: dict[str, tuple[str, ...]] = {
    "checking": ("<0 DM", "0-200 DM", ">=200 DM", "no account"),
    "history": ("no credits", "all paid", "paid till now", "delayed", "critical"),
    "purpose": (
        "new car",
        "used car",
        "furniture",
        "television",
        "appliances",
        "repairs",
        "education",
        "vacation",
        "retraining",
        "business",
        "other",
    ),
    "savings": ("<100 DM", "100-500 DM", "500-1000 DM", ">=1000 DM", "unknown"),
    "employed": ("unemployed", "<1 year", "1-4 years", "4-7 years", ">=7 years"),
    "status": ("male divorced", "female not single", "male single", "male married", "female single"),
    "guarantor": ("none", "co-applicant", "guarantor"),
    "property": ("real estate", "savings agreement", "car or other", "none"),
    "other_plans": ("bank", "stores", "none"),
    "housing": ("rent", "own", "free"),
    "job": ("unskilled non-resident", "unskilled", "skilled", "highly qualified"),
    "telephone": ("none", "yes"),
    "foreign_worker": ("yes", "no"),
    "risk": ("good", "bad"),
}
_PREFIX = {
    "checking": "A1", "history": "A3", "purpose": "A4", "savings": "A6", "employed": "A7", "status": "A9",
    "guarantor": "A10", "property": "A12", "other_plans": "A14", "housing": "A15", "job": "A17",
    "telephone": "A19", "foreign_worker": "A20", "risk": "",
}  # fmt: skip
_FROM_ZERO = {"history", "purpose"}


def german_credit() -> Table:
    """1,000 loan applicants of a German bank, what was known of them, and whether they were a good risk.

    Hans Hofmann, Statlog (German Credit Data); from the UCI Machine Learning Repository (CC BY 4.0).
    """
    card = Card(
        "german_credit",
        (
            _worded("checking", Role.SENSITIVE),
            Column("months", Kind.INTEGER, bounds=(1, 120)),
            _worded("history", Role.SENSITIVE),
            _worded("purpose"),
            Column("amount", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 20_000), note="DM"),
            _worded("savings", Role.SENSITIVE),
            _worded("employed", Role.QUASI),
            Column("rate", Kind.INTEGER, bounds=(1, 4), note="Instalment, % of disposable income, coded"),
            _worded("status", Role.QUASI),
            _worded("guarantor"),
            Column("residence", Kind.INTEGER, Role.QUASI, bounds=(1, 4), note="Years lived there, coded"),
            _worded("property", Role.SENSITIVE),
            Column("age", Kind.INTEGER, Role.QUASI, bounds=(18, 80), hierarchy=Intervals(widths=(5, 10, 20))),
            _worded("other_plans"),
            _worded("housing", Role.QUASI),
            Column("credits", Kind.INTEGER, bounds=(1, 4)),
            _worded("job", Role.QUASI),
            Column("dependants", Kind.INTEGER, bounds=(1, 2)),
            _worded("telephone", Role.QUASI),
            _worded("foreign_worker", Role.QUASI),
            _worded("risk", Role.SENSITIVE),
        ),
    )
    data = read_data_file("german_credit.txt", card.columns, delimiter=" ")
    for name, words in _WORDS.items():
        data = data.set_column(data.column_names.index(name), name, _spelled_out(data.column(name), name, words))
    return read(data, card)


def _worded(name: str, role: Role = Role.OTHER) -> Column:
    return Column(name, Kind.TEXT, role, categories=_WORDS[name])


def _spelled_out(codes: pa.ChunkedArray[Any], name: str, words: tuple[str, ...]) -> pa.ChunkedArray[Any]:
    start = 0 if name in _FROM_ZERO else 1
    known = pa.array([f"{_PREFIX[name]}{number}" for number in range(start, start + len(words))])
    return pa.chunked_array([pa.array(words)]).take(pc.index_in(codes, known))


def titanic() -> Table:
    """1,309 passengers of 1912, with age, class, fare, family and whether they survived.

    The ``titanic3`` data of Vanderbilt University's department of biostatistics (Harrell and Cason), after
    the Encyclopedia Titanica. Missing values (of age, fare, cabin, embarked, boat, body and
    home) are NULL.
    """
    card = Card(
        "titanic",
        (
            Column("class", Kind.INTEGER, Role.QUASI, categories=(1, 2, 3)),
            Column("survived", Kind.INTEGER, Role.SENSITIVE, categories=(0, 1)),
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            Column("sex", Kind.TEXT, Role.QUASI, categories=("female", "male")),
            Column("age", Kind.REAL, Role.QUASI, bounds=(0.0, 100.0), hierarchy=Intervals(widths=(5, 10, 20))),
            Column("siblings_spouses", Kind.INTEGER, Role.QUASI, bounds=(0, 10)),
            Column("parents_children", Kind.INTEGER, Role.QUASI, bounds=(0, 10)),
            Column("ticket", Kind.TEXT, Role.IDENTIFIER, note="Shared by those who travelled together"),
            Column("fare", Kind.REAL, Role.QUASI, bounds=(0.0, 600.0)),
            Column("cabin", Kind.TEXT, Role.QUASI),
            Column("embarked", Kind.TEXT, Role.QUASI, categories=("C", "Q", "S")),
            Column("boat", Kind.TEXT, Role.SENSITIVE, note="NULL for nearly all who died"),
            Column("body", Kind.INTEGER, Role.IDENTIFIER, bounds=(1, 400), note="Number of the body found"),
            Column("home", Kind.TEXT, Role.QUASI),
        ),
    )
    return read(read_data_file("titanic.csv", card.columns), card)


_FOLDER = Path(__file__).with_name("data")


def read_data_file(name: str, columns: Iterable[Column], *, delimiter: str = ",") -> pa.Table:
    """The rows of a file without a header, whose columns are these; text is trimmed, and ``?`` is NULL."""
    kinds = {column.name: arrow_type(column.kind) for column in columns}
    data = csv.read_csv(
        _FOLDER / name,
        read_options=csv.ReadOptions(column_names=list(kinds)),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(
            column_types=kinds, null_values=["?"], strings_can_be_null=True, quoted_strings_can_be_null=True
        ),
    )
    for i, field in enumerate(data.schema):
        if pa.types.is_string(field.type):
            data = data.set_column(i, field, pc.utf8_trim_whitespace(data.column(i)))
    return data

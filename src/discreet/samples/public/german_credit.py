"""German credit: a thousand loans, with the file's codes put into words."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.samples.public.data_files import read_data_file

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

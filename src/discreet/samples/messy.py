"""A made-up hospital's file as stewards get them, with every usual trouble, its card and the rows it really holds.

A windows-1252 text with semicolons, two lines of title above the header, several rows a patient, dates in two formats,
zip codes with leading zeros, decimal commas, umlauts, codes with labels, marks for missing values, spaces around
values, notes with semicolons, quotes and line breaks, and a few values that do not fit.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.cardfile import dump_cards
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.kind import Kind
from discreet.core.text_format import FileLayout, TextFormat
from discreet.errors import BadInput
from discreet.samples.world.draw import Choice, skewed_counts, zipf

TOWNS = ("Köln", "Düren", "Jülich", "Bonn", "Würselen", "Aachen", "Eschweiler", "Hürth")
_FIRST = ("Jörg", "Anna", "Käthe", "Søren", "Lena", "François", "Marie", "Uwe", "Zoë", "Paul")
_LAST = ("Müller", "Weiß", "Schäfer", "Öhler", "Becker", "Groß", "Krüger", "Lang", "Vogt", "Nuñez")
DIAGNOSES = ("influenza", "fracture", "diabetes", "asthma", "cancer", "depression", "hypertension")
WARDS = ("surgery", "medicine", "paediatrics", "psychiatry")
_NOTES = (
    "{} kam um 8:30; Puls 80",
    'Sagt: "es geht besser",\nwill nach Hause',
    "Termin mit {} verschoben; bitte anrufen",
    "Zustand unverändert, Therapie fortgesetzt",
)
_SEXES = {"1": "male", "2": "female", "3": "diverse"}
_TODAY = dt.date(2025, 12, 31)
_ODD_DATES, _ODD_COSTS = ("31.02.1970", "unbekannt", "00.00.0000"), ("ca. 200", "siehe Akte")
_MARKS = ("?", "NA", "", " ")
MOST_ROWS = 12
"""Largest number of rows of a patient."""

CARD = Card(
    "stays",
    (
        Column("patient_no", Kind.TEXT, Role.IDENTIFIER),
        Column("name", Kind.TEXT, Role.IDENTIFIER),
        Column(
            "born",
            Kind.DATE,
            Role.QUASI,
            bounds=(dt.date(1915, 1, 1), _TODAY),
            hierarchy=Dates(("month", "year", "decade")),
            text=TextFormat(format=("%d.%m.%Y", "%Y-%m-%d"), misfit="missing"),
        ),
        Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(5)),
        Column("town", Kind.TEXT, Role.QUASI, categories=TOWNS),
        Column("sex", Kind.TEXT, Role.QUASI, categories=(*_SEXES.values(),), text=TextFormat(labels=_SEXES)),
        Column(
            "height_cm",
            Kind.INTEGER,
            Role.QUASI,
            bounds=(40, 220),
            hierarchy=Intervals((10, 20, 40)),
            note="at admission",
        ),
        Column(
            "admitted",
            Kind.TIMESTAMP,
            Role.QUASI,
            bounds=(dt.datetime(2024, 1, 1), dt.datetime(2025, 12, 31, 23, 59)),
            hierarchy=Dates(("month", "quarter", "year")),
            text=TextFormat(format=("%d.%m.%Y %H:%M",)),
        ),
        Column("ward", Kind.TEXT, Role.OTHER, categories=WARDS),
        Column("diagnosis", Kind.TEXT, Role.SENSITIVE, categories=DIAGNOSES),
        Column(
            "cost",
            Kind.DECIMAL,
            Role.SENSITIVE,
            bounds=(Decimal(0), Decimal(1_000_000)),
            text=TextFormat(decimal=",", thousands=".", misfit="missing"),
        ),
        Column("smoker", Kind.BOOLEAN, Role.SENSITIVE, text=TextFormat(true=("ja",), false=("nein",))),
        Column("note", Kind.TEXT, Role.IDENTIFIER),
    ),
    unit="patient_no",
    rows_per_unit=MOST_ROWS,
    text=TextFormat(missing=("?", "NA"), trim=True),
    file=FileLayout(encoding="windows-1252", delimiter=";", header=3),
)
"""What a steward would declare of the file."""


@dataclass(frozen=True)
class MessyFile:
    """The bytes of the file, its card, and the rows that a right reading finds."""

    content: bytes
    card: Card
    truth: pa.Table

    def write(self, folder: str | Path) -> Path:
        """Write ``stays.csv``, and its card as ``truth.toml``, into a folder; the path of the file."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / "truth.toml").write_text(dump_cards([self.card]), encoding="utf-8")
        file = place / "stays.csv"
        file.write_bytes(self.content)
        return file


def messy(rows: int = 20_000, seed: int = 1) -> MessyFile:
    """About ``rows`` hospital stays in a file with every usual trouble; the same for the same arguments."""
    if rows < 1:
        raise BadInput(f"A file needs at least 1 row, got {rows}.")
    rng = np.random.default_rng(seed)
    people = _people(rng, max(1, rows * 2 // 5))
    counts = 1 + np.minimum(skewed_counts(rng, np.full(len(people), 1.5), 0.8), MOST_ROWS - 1)
    whose = np.repeat(np.arange(len(people)), counts)[:rows]
    stays = [_stay(rng, people[who]) for who in rng.permutation(whose)]
    truth = pa.table({name: pa.array([stay[name] for stay in stays], kind) for name, kind in _ARROW.items()})
    text = io.StringIO()
    text.write("Klinikum Rheinaue, Aufenthalte\nStand: 31.12.2025\n")
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(_ARROW)
    odd: dict[str, list[Any]] = {"born": [], "cost": []}
    for stay in stays:
        cells = {name: _written(rng, name, value) for name, value in stay.items()}
        for name, texts in (("born", _ODD_DATES), ("cost", _ODD_COSTS)):
            misfit = rng.random() < 0.004
            odd[name].append(None if misfit else stay[name])
            if misfit:
                cells[name] = texts[rng.integers(len(texts))]
        writer.writerow(cells.values())
    for name, values in odd.items():
        truth = truth.set_column(truth.schema.get_field_index(name), name, pa.array(values, _ARROW[name]))
    return MessyFile(text.getvalue().encode("windows-1252"), CARD, truth)


_ARROW: dict[str, pa.DataType] = {
    "patient_no": pa.string(),
    "name": pa.string(),
    "born": pa.date32(),
    "zip": pa.string(),
    "town": pa.string(),
    "sex": pa.string(),
    "height_cm": pa.int64(),
    "admitted": pa.timestamp("us"),
    "ward": pa.string(),
    "diagnosis": pa.string(),
    "cost": pa.decimal128(38, 2),
    "smoker": pa.bool_(),
    "note": pa.string(),
}


def _people(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    town = Choice(zipf(len(TOWNS), 1.0)).draw_many(rng, count)
    ages = np.clip(rng.normal(55, 22, count), 0, 105) * 365.25
    return [
        {
            "patient_no": f"{100_000 + 7 * number:08d}",
            "name": f"{_FIRST[rng.integers(len(_FIRST))]} {_LAST[rng.integers(len(_LAST))]}",
            "born": _TODAY - dt.timedelta(days=int(age)),
            "zip": f"{1_001 + 137 * int(place) + int(rng.integers(0, 6)):05d}",
            "town": TOWNS[place],
            "sex": (*_SEXES.values(),)[rng.choice(3, p=(0.49, 0.5, 0.01))],
            "height_cm": int(np.clip(rng.normal(171, 10), 150, 205)),
        }
        for number, (place, age) in enumerate(zip(town, ages, strict=True))
    ]


def _stay(rng: np.random.Generator, person: dict[str, Any]) -> dict[str, Any]:
    """One row of the truth; some values are missing."""
    day = dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(rng.integers(0, 730 * 24 * 60)))
    note = _NOTES[rng.integers(len(_NOTES))].format(person["name"]) if rng.random() < 0.7 else None
    stay = {
        **person,
        "admitted": day,
        "ward": WARDS[rng.integers(len(WARDS))],
        "diagnosis": DIAGNOSES[min(int(rng.exponential(2)), len(DIAGNOSES) - 1)],
        "cost": Decimal(int(np.exp(rng.normal(12, 1.2)))) / 100,
        "smoker": bool(rng.random() < 0.25),
        "note": note,
    }
    for name in ("height_cm", "diagnosis", "cost", "smoker", "sex"):
        if rng.random() < 0.02:
            stay[name] = None
    return stay


def _written(rng: np.random.Generator, name: str, value: Any) -> str:
    """A value as the file has it."""
    if value is None:
        return _MARKS[rng.integers(len(_MARKS))]
    if name == "born":
        return str(value.strftime("%d.%m.%Y") if rng.random() < 0.8 else value.isoformat())
    if name == "admitted":
        return f"{value:%d.%m.%Y %H:%M}"
    if name == "sex":
        return {label: code for code, label in _SEXES.items()}[value]
    if name == "cost":
        return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))
    if name == "smoker":
        return ("Ja" if value else "Nein") if rng.random() < 0.1 else ("ja" if value else "nein")
    spaced = name in ("town", "ward") and rng.random() < 0.05
    return f" {value} " if spaced else str(value)

"""What brought the patients in, how long they stayed, what it cost and how it ended."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from discreet.samples.world.draw import Choice, Codes, Reals, skewed_counts
from discreet.samples.world.people import AS_OF, People, days, labels

_AGE_BANDS = np.array([5, 18, 40, 65, 80])
"""Where the six age bands part: infants, children, young, middle-aged, old, very old."""

_PROFILES = {
    "any": (1, 1, 1, 1, 1, 1),
    "infant": (9, 1, 0.02, 0.01, 0.01, 0.01),
    "child": (5, 6, 1, 0.5, 0.3, 0.3),
    "young": (0.2, 1, 4, 2, 0.8, 0.4),
    "fertile": (0, 0.05, 6, 0.3, 0, 0),
    "middle": (0.05, 0.2, 1.5, 4, 3, 2),
    "old": (0.01, 0.05, 0.4, 2.5, 6, 7),
    "frail": (0.01, 0.01, 0.05, 0.4, 4, 12),
}


@dataclass(frozen=True)
class Diagnosis:
    """One diagnosis: how common, at which ages, the share of women, how long, dear and deadly."""

    chapter: str
    group: str
    name: str
    weight: float
    ages: str
    female: float
    stay: float
    cost: float
    deadly: float


DIAGNOSES = tuple(Diagnosis(**row) for row in csv.read_csv(Path(__file__).with_name("diagnoses.csv")).to_pylist())
_CHAPTERS = list(dict.fromkeys(d.chapter for d in DIAGNOSES))
_CHAPTER_OF = np.array([_CHAPTERS.index(d.chapter) for d in DIAGNOSES])
_STAY = np.array([d.stay for d in DIAGNOSES])
_COST = np.array([d.cost for d in DIAGNOSES])
_DEADLY = np.array([d.deadly for d in DIAGNOSES])


def tree() -> dict[str, dict[str, list[str]]]:
    """The classification: chapter, group, names."""
    found: dict[str, dict[str, list[str]]] = {}
    for d in DIAGNOSES:
        found.setdefault(d.chapter, {}).setdefault(d.group, []).append(d.name)
    return found


def _weights(band: int, sex: int) -> Reals:
    return np.array([d.weight * _PROFILES[d.ages][band] * (d.female, 1 - d.female)[sex] for d in DIAGNOSES])


MOST_VISITS = 20
"""No one has more visits than this in the two years."""
SINCE = dt.date(2024, 1, 1)
LONGEST_STAY = 60
DEAREST = 500_000
WARDS = (
    "Internal", "Oncology", "Psychiatry", "Neurology", "Ophthalmology", "Cardiology", "Pulmonology",
    "Surgery", "Orthopaedics", "Urology", "Obstetrics", "Paediatrics", "Emergency",
)  # fmt: skip
OUTCOMES = ("home", "home care", "transferred", "died")

_WARD_OF_CHAPTER = np.array([0, 1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 8])
_HOURS = Choice(np.array([2, 2, 1, 1, 1, 2, 4, 8, 12, 13, 13, 12, 10, 9, 9, 8, 8, 7, 6, 5, 5, 4, 3, 3], float))
_DIAGNOSIS = Choice(np.array([_weights(band, sex) for band in range(len(_AGE_BANDS) + 1) for sex in range(2)]))
"""What someone has; the row of weights is 2 × age band + sex."""
_SECONDS_A_DAY = 86_400


def visits(persons: People, start: int, first_visit: int, rng: np.random.Generator) -> pa.RecordBatch:
    """The visits of these patients, who are numbered from ``start``, each patient's in order of time."""
    who, moment = _moments(persons, rng)
    age = persons.age[who]
    diagnosis = _diagnosed(persons, who, rng)
    stay = _stays(diagnosis, age, rng)
    return pa.RecordBatch.from_pydict(
        {
            "visit_id": pa.array(np.arange(first_visit, first_visit + len(who))),
            "patient_id": pa.array(who + start),
            "admitted": pa.array(moment * 1_000_000).view(pa.timestamp("us")),
            "diagnosis": labels(tuple(d.name for d in DIAGNOSES), diagnosis),
            "ward": labels(WARDS, _wards(diagnosis, age, rng)),
            "length_of_stay": pa.array(stay),
            "cost": _money(_costs(diagnosis, stay, rng)),
            "outcome": labels(OUTCOMES, _outcomes(who, diagnosis, age, rng)),
        }
    )


def _moments(persons: People, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Who came, and when (seconds since 1970): after birth, by day more than by night."""
    need = np.interp(persons.age, [0, 5, 18, 40, 65, 85], [2, 1.2, 1, 1.6, 3, 4])
    count = np.minimum(1 + skewed_counts(rng, need, 0.8), MOST_VISITS)
    who = np.repeat(np.arange(len(persons)), count)
    since = np.maximum(persons.birth, days(SINCE))[who]
    day = since + (rng.random(len(who)) * (days(AS_OF) + 1 - since)).astype(np.int64)
    second = _HOURS.draw_many(rng, len(who)) * 3600 + rng.integers(0, 3600, len(who))
    # Sorting one number is several times faster than sorting by two: a moment has 40 bits to spare.
    ordered = np.sort((who << 40) | (day * _SECONDS_A_DAY + second))
    return who, ordered & ((1 << 40) - 1)


def _diagnosed(persons: People, who: Codes, rng: np.random.Generator) -> Codes:
    """Half of all visits are for what the patient mainly suffers from."""
    stratum = 2 * np.digitize(persons.age, _AGE_BANDS) + persons.sex
    main = _DIAGNOSIS.draw(rng, stratum)
    return np.where(rng.random(len(who)) < 0.5, main[who], _DIAGNOSIS.draw(rng, stratum[who]))


def _stays(diagnosis: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    mean = _STAY[diagnosis] * (1 + 0.01 * np.maximum(age - 50, 0))
    return np.minimum(skewed_counts(rng, mean, 2), LONGEST_STAY)


def _costs(diagnosis: Codes, stay: Codes, rng: np.random.Generator) -> Reals:
    """Lognormal around half the price of the diagnosis and a price a day."""
    usual: Reals = 0.5 * _COST[diagnosis] * (1 + stay / (1 + _STAY[diagnosis]))
    return np.clip(usual * rng.lognormal(-0.1, 0.5, len(stay)), 20, DEAREST)


def _wards(diagnosis: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    usual = np.where(age < 16, WARDS.index("Paediatrics"), _WARD_OF_CHAPTER[_CHAPTER_OF[diagnosis]])
    return np.where(rng.random(len(age)) < 0.12, WARDS.index("Emergency"), usual)


def _outcomes(who: Codes, diagnosis: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    """The old go home less often, and no one comes back from the dead: only a last visit may end so."""
    luck = rng.random(len(who))
    last = np.append(who[1:] != who[:-1], True)
    dies = last * np.minimum(_DEADLY[diagnosis] * np.interp(age, [0, 50, 90], [0.3, 1, 4]), 0.9)
    moved = 0.03 + 0.0006 * age
    cared = np.interp(age, [0, 60, 95], [0.01, 0.06, 0.4])
    at_home = 1 - dies - (1 - dies) * (moved + cared)
    return np.select([luck < dies, luck < dies + at_home, luck < 1 - (1 - dies) * moved], [3, 0, 1], 2)


def _money(amount: Reals) -> pa.Array[Any]:
    """Amounts as decimals with two places: little-endian 128-bit cents, whose upper half is 0."""
    cents = np.zeros((len(amount), 2), np.int64)
    cents[:, 0] = np.round(amount * 100)
    return pa.Array.from_buffers(pa.decimal128(38, 2), len(cents), [None, pa.py_buffer(cents.data)])

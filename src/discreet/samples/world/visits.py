"""What brought the patients in, how long they stayed, what it cost and how it ended."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.samples.world.draw import Choice, Codes, Reals, skewed_counts
from discreet.samples.world.people import AS_OF, People, days, labels

AGE_BANDS = np.array([5, 18, 40, 65, 80])
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

    name: str
    weight: float
    ages: str
    female: float
    stay: float
    cost: float
    deadly: float = 0.002


_D = Diagnosis
CHAPTERS: dict[str, dict[str, tuple[Diagnosis, ...]]] = {
    "Infections": {
        "Intestinal infections": (
            _D("Viral gastroenteritis", 8, "child", 0.5, 2, 1200),
            _D("Salmonella infection", 1, "any", 0.5, 4, 2500),
            _D("Clostridium colitis", 1, "frail", 0.52, 9, 7000, 0.06),
        ),
        "Other infections": (
            _D("Sepsis", 3, "old", 0.47, 11, 15000, 0.18),
            _D("Tuberculosis", 0.3, "middle", 0.37, 14, 9000, 0.03),
            _D("HIV disease", 0.4, "young", 0.23, 7, 8000, 0.02),
            _D("Hepatitis C", 0.5, "middle", 0.37, 4, 6000, 0.01),
        ),
    },
    "Neoplasms": {
        "Malignant neoplasms": (
            _D("Breast cancer", 3, "old", 1, 5, 14000, 0.03),
            _D("Prostate cancer", 3, "old", 0, 4, 12000, 0.02),
            _D("Lung cancer", 2, "old", 0.44, 8, 17000, 0.12),
            _D("Colon cancer", 2, "old", 0.47, 9, 16000, 0.06),
            _D("Leukaemia", 0.5, "any", 0.44, 14, 30000, 0.07),
            _D("Melanoma", 0.8, "middle", 0.47, 2, 6000, 0.01),
        ),
        "Benign neoplasms": (
            _D("Uterine fibroids", 1.5, "young", 1, 3, 5000),
            _D("Benign colon polyp", 3, "middle", 0.44, 1, 1500),
        ),
    },
    "Blood and metabolism": {
        "Diabetes": (
            _D("Type 1 diabetes", 1, "child", 0.47, 4, 4000),
            _D("Type 2 diabetes", 6, "old", 0.44, 5, 5000, 0.006),
        ),
        "Other metabolic diseases": (
            _D("Iron deficiency anaemia", 2, "any", 0.64, 3, 2200),
            _D("Hypothyroidism", 1.5, "middle", 0.80, 2, 1500),
            _D("Obesity", 1.5, "middle", 0.62, 3, 7000),
            _D("Gout", 1, "middle", 0.20, 2, 1300),
            _D("Dehydration", 2, "frail", 0.55, 3, 1900, 0.01),
        ),
    },
    "Mental disorders": {
        "Mood and anxiety": (
            _D("Depressive episode", 4, "young", 0.64, 16, 7000),
            _D("Bipolar disorder", 1, "young", 0.52, 20, 9000),
            _D("Panic disorder", 1.5, "young", 0.67, 3, 1600),
        ),
        "Addiction": (
            _D("Alcohol dependence", 4, "middle", 0.23, 8, 4500, 0.004),
            _D("Opioid dependence", 1, "young", 0.29, 9, 5000, 0.008),
        ),
        "Other disorders": (
            _D("Schizophrenia", 1.5, "young", 0.44, 28, 12000),
            _D("Dementia", 2.5, "frail", 0.58, 14, 8000, 0.03),
        ),
    },
    "Nervous system": {
        "Headache and seizures": (
            _D("Migraine", 3, "young", 0.74, 1, 1200),
            _D("Epilepsy", 2, "child", 0.47, 3, 3500, 0.003),
        ),
        "Degenerative diseases": (
            _D("Multiple sclerosis", 0.7, "young", 0.71, 6, 11000),
            _D("Parkinson disease", 1.2, "frail", 0.41, 9, 8000, 0.02),
            _D("Carpal tunnel syndrome", 1.8, "middle", 0.69, 0.2, 1800),
        ),
    },
    "Eye and ear": {
        "Eye": (
            _D("Cataract", 7, "frail", 0.55, 0.2, 2200),
            _D("Glaucoma", 1.2, "old", 0.5, 1, 2600),
            _D("Retinal detachment", 0.5, "middle", 0.44, 3, 4800),
        ),
        "Ear": (
            _D("Middle ear infection", 3, "infant", 0.47, 1, 900),
            _D("Hearing loss", 1, "frail", 0.44, 1, 1700),
        ),
    },
    "Circulation": {
        "Heart disease": (
            _D("Myocardial infarction", 4, "old", 0.33, 6, 16000, 0.07),
            _D("Angina pectoris", 4, "old", 0.37, 3, 6000, 0.006),
            _D("Heart failure", 6, "frail", 0.5, 9, 8500, 0.08),
            _D("Atrial fibrillation", 4, "old", 0.44, 4, 5000, 0.008),
        ),
        "Vessels and pressure": (
            _D("Stroke", 4, "old", 0.47, 11, 13000, 0.09),
            _D("Hypertension", 4, "old", 0.57, 3, 2300),
            _D("Varicose veins", 1.5, "middle", 0.69, 1, 2400),
            _D("Pulmonary embolism", 1, "old", 0.5, 7, 8000, 0.06),
        ),
    },
    "Breathing": {
        "Acute infections": (
            _D("Pneumonia", 6, "old", 0.44, 8, 6500, 0.08),
            _D("Influenza", 3, "any", 0.5, 4, 2500, 0.01),
            _D("Acute bronchitis", 4, "infant", 0.44, 3, 1900),
            _D("Tonsillitis", 3, "child", 0.52, 2, 1700),
        ),
        "Chronic diseases": (
            _D("Asthma", 2.5, "child", 0.47, 3, 2600),
            _D("Chronic obstructive disease", 4, "old", 0.41, 8, 6000, 0.04),
        ),
    },
    "Digestion": {
        "Surgical": (
            _D("Appendicitis", 3, "child", 0.44, 3, 5500),
            _D("Gallstones", 5, "middle", 0.67, 4, 5800),
            _D("Inguinal hernia", 4, "middle", 0.11, 2, 3600),
        ),
        "Medical": (
            _D("Gastritis", 3, "any", 0.52, 2, 1700),
            _D("Crohn disease", 0.8, "young", 0.5, 7, 7500),
            _D("Liver cirrhosis", 1.2, "middle", 0.33, 9, 9500, 0.09),
            _D("Pancreatitis", 1.2, "middle", 0.41, 9, 9000, 0.03),
        ),
    },
    "Skin and skeleton": {
        "Skin": (
            _D("Cellulitis", 2, "old", 0.44, 6, 4000, 0.005),
            _D("Psoriasis", 0.7, "middle", 0.47, 7, 4500),
        ),
        "Joints and back": (
            _D("Hip arthrosis", 4, "old", 0.57, 8, 13000, 0.002),
            _D("Knee arthrosis", 4, "old", 0.62, 7, 12500, 0.001),
            _D("Rheumatoid arthritis", 1, "middle", 0.72, 7, 6000),
            _D("Slipped disc", 4, "middle", 0.47, 5, 5500),
            _D("Back pain", 5, "middle", 0.52, 4, 2400),
        ),
    },
    "Kidney and reproduction": {
        "Kidney and bladder": (
            _D("Urinary tract infection", 4, "frail", 0.69, 5, 3200, 0.01),
            _D("Kidney stones", 3, "middle", 0.33, 2, 3000),
            _D("Kidney failure", 2, "frail", 0.44, 9, 11000, 0.08),
        ),
        "Reproductive organs": (
            _D("Enlarged prostate", 2.5, "old", 0, 4, 4500),
            _D("Endometriosis", 1, "fertile", 1, 2, 4800),
        ),
    },
    "Birth": {
        "Pregnancy": (
            _D("Single delivery", 12, "fertile", 1, 3, 4200),
            _D("Caesarean delivery", 4, "fertile", 1, 5, 7500),
            _D("Miscarriage", 2, "fertile", 1, 1, 1900),
            _D("Pre-eclampsia", 0.6, "fertile", 1, 6, 7800),
        ),
        "Newborn": (
            _D("Preterm infant", 1.5, "infant", 0.47, 24, 38000, 0.02),
            _D("Neonatal jaundice", 3, "infant", 0.44, 3, 2600),
        ),
    },
    "Injuries": {
        "Fractures": (
            _D("Hip fracture", 4, "frail", 0.64, 13, 15000, 0.05),
            _D("Forearm fracture", 4, "child", 0.47, 2, 4200),
            _D("Ankle fracture", 2.5, "young", 0.52, 4, 6000),
        ),
        "Other injuries": (
            _D("Concussion", 5, "child", 0.41, 1, 1400),
            _D("Open wound", 3, "young", 0.29, 1, 1300),
            _D("Burn", 0.7, "any", 0.37, 9, 14000, 0.01),
            _D("Drug poisoning", 2, "young", 0.58, 2, 2300, 0.006),
        ),
    },
}

DIAGNOSES = tuple(d for groups in CHAPTERS.values() for group in groups.values() for d in group)
CHAPTER_OF = np.repeat(np.arange(len(CHAPTERS)), [sum(map(len, groups.values())) for groups in CHAPTERS.values()])
STAY = np.array([d.stay for d in DIAGNOSES])
COST = np.array([d.cost for d in DIAGNOSES])
DEADLY = np.array([d.deadly for d in DIAGNOSES])


def tree() -> dict[str, dict[str, list[str]]]:
    """The classification: chapter, group, names."""
    return {
        chapter: {group: [d.name for d in members] for group, members in groups.items()}
        for chapter, groups in CHAPTERS.items()
    }


def by_age_and_sex() -> Choice:
    """What somebody has; the row of weights is 2 × age band + sex."""
    return Choice(np.array([_weights(band, sex) for band in range(len(AGE_BANDS) + 1) for sex in range(2)]))


def _weights(band: int, sex: int) -> Reals:
    return np.array([d.weight * _PROFILES[d.ages][band] * (d.female, 1 - d.female)[sex] for d in DIAGNOSES])


MOST_VISITS = 20
"""Nobody has more visits than this in the two years."""
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
_DIAGNOSIS = by_age_and_sex()
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
    stratum = 2 * np.digitize(persons.age, AGE_BANDS) + persons.sex
    main = _DIAGNOSIS.draw(rng, stratum)
    return np.where(rng.random(len(who)) < 0.5, main[who], _DIAGNOSIS.draw(rng, stratum[who]))


def _stays(diagnosis: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    mean = STAY[diagnosis] * (1 + 0.01 * np.maximum(age - 50, 0))
    return np.minimum(skewed_counts(rng, mean, 2), LONGEST_STAY)


def _costs(diagnosis: Codes, stay: Codes, rng: np.random.Generator) -> Reals:
    """Lognormal around half the price of the diagnosis and a price a day."""
    usual: Reals = 0.5 * COST[diagnosis] * (1 + stay / (1 + STAY[diagnosis]))
    return np.clip(usual * rng.lognormal(-0.1, 0.5, len(stay)), 20, DEAREST)


def _wards(diagnosis: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    usual = np.where(age < 16, WARDS.index("Paediatrics"), _WARD_OF_CHAPTER[CHAPTER_OF[diagnosis]])
    return np.where(rng.random(len(age)) < 0.12, WARDS.index("Emergency"), usual)


def _outcomes(who: Codes, diagnosis: Codes, age: Codes, rng: np.random.Generator) -> Codes:
    """The old go home less often, and nobody comes back from the dead: only a last visit may end so."""
    luck = rng.random(len(who))
    last = np.append(who[1:] != who[:-1], True)
    dies = last * np.minimum(DEADLY[diagnosis] * np.interp(age, [0, 50, 90], [0.3, 1, 4]), 0.9)
    moved = 0.03 + 0.0006 * age
    cared = np.interp(age, [0, 60, 95], [0.01, 0.06, 0.4])
    at_home = 1 - dies - (1 - dies) * (moved + cared)
    return np.select([luck < dies, luck < dies + at_home, luck < 1 - (1 - dies) * moved], [3, 0, 1], 2)


def _money(amount: Reals) -> pa.Array[Any]:
    """Amounts as decimals with two places: little-endian 128-bit cents, whose upper half is 0."""
    cents = np.zeros((len(amount), 2), np.int64)
    cents[:, 0] = np.round(amount * 100)
    return pa.Array.from_buffers(pa.decimal128(38, 2), len(cents), [None, pa.py_buffer(cents.data)])

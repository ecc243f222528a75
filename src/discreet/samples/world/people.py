"""People, as arrays of codes, and the table of patients made of them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.samples.world import names
from discreet.samples.world.draw import Choice, Codes
from discreet.samples.world.places import ETHNICITIES, Places

AS_OF = dt.date(2025, 12, 31)
"""The day on which everybody is as old as they are."""
OLDEST = 105
SEXES = ("F", "M")
INSURANCES = ("private", "public", "senior", "none")

_EPOCH = dt.date(1970, 1, 1)
_YEARS = np.arange(OLDEST)
_PYRAMID = np.interp(_YEARS, [0, 20, 40, 55, 65, 75, 85, 95, 105], [1, 1.05, 1.1, 1.1, 0.9, 0.6, 0.3, 0.05, 0])
_NEED = np.interp(_YEARS, [0, 2, 5, 18, 40, 65, 85, 105], [1.6, 1, 0.5, 0.5, 0.7, 1.3, 1.8, 1.8])
_FEMALE = np.interp(_YEARS, [0, 60, 80, 100], [0.487, 0.51, 0.6, 0.75])

PATIENT_AGES = Choice(_PYRAMID * _NEED)
"""Who comes to a hospital: infants and the old more than others."""
ADULT_AGES = Choice(np.where(_YEARS < 18, 0, _PYRAMID))
"""All adults of the town."""


@dataclass(frozen=True)
class People:
    """Some people: equally long arrays of codes."""

    first: Codes
    last: Codes
    sex: Codes
    age: Codes
    birth: Codes
    """Days since 1970-01-01."""
    zip: Codes

    def __len__(self) -> int:
        return len(self.first)


def people(count: int, ages: Choice, where: Places, rng: np.random.Generator) -> People:
    """People of these ages, living in these places."""
    age = ages.draw_many(rng, count)
    sex = (rng.random(count) >= _FEMALE[age]).astype(np.int64)
    # One day more than the year needs, so that nobody is a day short of their age.
    lived = ((age + rng.random(count)) * 365.2425).astype(np.int64) + 1
    return People(
        first=names.first_names.draw_many(rng, count) + sex * names.OF_ONE_SEX,
        last=names.last_names.draw_many(rng, count),
        sex=sex,
        age=age,
        birth=days(AS_OF) - lived,
        zip=where.live.draw_many(rng, count),
    )


def patients(persons: People, start: int, where: Places, rng: np.random.Generator) -> pa.RecordBatch:
    """The table of patients, numbered from ``start``."""
    ethnicity = where.ethnicity.draw(rng, persons.zip)
    return pa.RecordBatch.from_pydict(
        {
            "patient_id": pa.array(np.arange(start, start + len(persons))),
            "name": names.full_names(persons.first, persons.last),
            "zip": where.codes.take(persons.zip),
            "sex": labels(SEXES, persons.sex),
            "birth_date": dates(persons.birth),
            "ethnicity": labels(ETHNICITIES, ethnicity),
            "insurance": labels(INSURANCES, _insurance(persons, where, rng)),
        }
    )


def days(date: dt.date) -> int:
    """Days since 1970-01-01."""
    return (date - _EPOCH).days


def dates(day: Codes) -> pa.Array[Any]:
    """Days since 1970-01-01 as dates."""
    return pa.array(day.astype(np.int32)).view(pa.date32())


def labels(texts: tuple[str, ...], codes: Codes) -> pa.Array[Any]:
    """The texts behind the codes."""
    return pa.array(texts).take(codes)


def _insurance(persons: People, where: Places, rng: np.random.Generator) -> Codes:
    """The old have the senior scheme; of the others, the affluent are privately insured more often."""
    luck = rng.random(len(persons))
    private = 0.25 + 0.6 * where.affluence[persons.zip]
    young = np.select([luck < private, luck < private + 0.7 * (1 - private)], [0, 1], 3)
    return np.where((persons.age >= 65) & (luck < 0.94), 2, young)

"""People, as arrays of codes: where they live, what they are called, and the table of patients made of them."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.samples.world.draw import Choice, Codes, Reals, zipf

_FEMALE_SYLLABLES = (
    "Al An Bel Cor Da El Fi Ga Il Jo Ka Li Ma Ni Or Pe Ro Sa Ti Va",
    "ana bria della essa ina ira issa iva lene mira nea ora quella rine tha vea",
)
_MALE_SYLLABLES = (
    "Ad Bar Cal Do Ed Fer Gar Ha Iv Jar Ke Lo Mar Nor Os Pel Ral Sor Tam Ul",
    "an bert den dor erik fin gar ion kel lam mond nard ric sten ton vin",
)
_SURNAME_SYLLABLES = (
    "Ash Bel Bram Cor Dun Elm Fal Gor Hal Ing Kel Lan Mor Nor Orm Pen Ras Sel Thorn Ul Ver Wex",
    "a bro da e go i ka lo me o ri sa to u va",
    "berg brook dale den field ford ham lock man mark mere more quist rell sen son stad tor vale wick",
)


def _joined(*syllables: str) -> list[str]:
    return ["".join(parts) for parts in itertools.product(*(text.split() for text in syllables))]


_FIRST = pa.array(_joined(*_FEMALE_SYLLABLES) + _joined(*_MALE_SYLLABLES))
_SURNAMES = pa.array(_joined(*_SURNAME_SYLLABLES))

OF_ONE_SEX = len(_FIRST) // 2
_ORDER = np.random.default_rng(0)  # which names are the common ones: the same in every world
first_names = Choice(_ORDER.permutation(zipf(OF_ONE_SEX, 20)))
"""The first names of women; those of men follow after ``OF_ONE_SEX``."""
last_names = Choice(_ORDER.permutation(zipf(len(_SURNAMES), 40)))


def full_names(first: Codes, last: Codes) -> pa.Array[Any]:
    """The names behind the codes."""
    return pc.binary_join_element_wise(_FIRST.take(first), _SURNAMES.take(last), " ")  # type: ignore[call-overload,no-any-return]


ETHNICITIES = ("White", "Hispanic", "Black", "Asian", "Native", "Other")
_SHARES = np.array([0.58, 0.19, 0.13, 0.06, 0.01, 0.03])
PARTIES = ("Green", "Blue", "Yellow", "Red", "None")

_PEOPLE_PER_ZIP = 4_400
_FEWEST, _MOST = 25, 40_000
_PREFIXES = np.arange(10, 1000)


@dataclass(frozen=True)
class Places:
    """The ZIP areas of one world. A person's ZIP is an index into them."""

    codes: pa.Array[Any]
    """Their five digits, as text."""
    live: Choice
    """Which ZIP a person lives in."""
    ethnicity: Choice
    """The ethnicity of someone who lives in a ZIP."""
    party: Choice
    """The party of someone who lives in a ZIP."""
    affluence: Reals
    """From 0 to 1."""


def places(people: int, rng: np.random.Generator) -> Places:
    """The ZIP areas for a world of ``people``.

    Their number grows with the people, as it does in a country, so that an area has 4,400 of them on average
    and a large one seven times as many: at any size from 100,000 people on, about the share that Sweeney
    found is unique on ZIP, sex and date of birth. Neighbours, with the same first three digits, are alike.
    """
    count = min(max(people // _PEOPLE_PER_ZIP, _FEWEST), _MOST)
    prefixes = rng.choice(_PREFIXES, size=max(3, -(-count // 50)), replace=False)
    region = np.repeat(np.arange(len(prefixes)), 100)
    site = np.sort(rng.choice(len(region), size=count, replace=False))
    code = prefixes[region[site]] * 100 + site % 100
    mix = rng.dirichlet(3 * _SHARES, size=len(prefixes))[region[site]]
    lean = rng.dirichlet([2, 3, 1, 3, 2], size=len(prefixes))[region[site]]
    return Places(
        codes=pa.array([f"{number:05d}" for number in code]),
        live=Choice(rng.permutation(zipf(count, count / 20))),
        ethnicity=Choice(0.7 * mix + 0.3 * rng.dirichlet(3 * _SHARES, size=count) + 1e-4),
        party=Choice(lean + 0.02),
        affluence=rng.beta(2, 2, size=count),
    )


AS_OF = dt.date(2025, 12, 31)
"""The day on which everyone is as old as they are."""
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
    # One day more than the year needs, so that no one is a day short of their age.
    lived = ((age + rng.random(count)) * 365.2425).astype(np.int64) + 1
    return People(
        first=first_names.draw_many(rng, count) + sex * OF_ONE_SEX,
        last=last_names.draw_many(rng, count),
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
            "name": full_names(persons.first, persons.last),
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

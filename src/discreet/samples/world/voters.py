"""The public list of voters: most adult patients are on it, among many who never were patients."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.samples.world import names
from discreet.samples.world.people import ADULT_AGES, AS_OF, SEXES, People, dates, labels, people
from discreet.samples.world.places import PARTIES, Places

LISTED = 0.7
"""The share of adult patients on the list."""
_MOVED = 0.05


def voters(patients: People, first_voter: int, where: Places, rng: np.random.Generator) -> pa.RecordBatch:
    """Voters: the listed of these patients, and as many other adults as there are patients, well mixed.

    One listed patient in twenty has moved: the list and the hospital know different ZIPs.
    """
    listed = np.flatnonzero((patients.age >= 18) & (rng.random(len(patients)) < LISTED))
    others = people(len(patients), ADULT_AGES, where, rng)
    zips = patients.zip[listed]
    moved = rng.random(len(listed)) < _MOVED
    zips[moved] = where.live.draw_many(rng, int(moved.sum()))
    order = rng.permutation(len(listed) + len(others))
    age, sex, birth, first, last = (
        np.concatenate([getattr(patients, name)[listed], getattr(others, name)])[order]
        for name in ("age", "sex", "birth", "first", "last")
    )
    zip_ = np.concatenate([zips, others.zip])[order]
    since = np.floor((age - 17) * rng.random(len(age)) ** 2).astype(np.int64)
    return pa.RecordBatch.from_pydict(
        {
            "voter_id": pa.array(np.arange(first_voter, first_voter + len(order))),
            "name": names.full_names(first, last),
            "zip": where.codes.take(zip_),
            "sex": labels(SEXES, sex),
            "birth_date": dates(birth),
            "party": labels(PARTIES, where.party.draw(rng, zip_)),
            "registered": pa.array(AS_OF.year - since),
        }
    )

"""Where people live: ZIP areas of very unequal size, each with its own mix of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.samples.world.draw import Choice, Reals, zipf

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
    """The ethnicity of somebody who lives in a ZIP."""
    party: Choice
    """The party of somebody who lives in a ZIP."""
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

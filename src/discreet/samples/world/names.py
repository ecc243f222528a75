"""Names of nobody: syllables put together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.samples.world.draw import Choice, Codes, zipf

_FEMALE = (
    "Al An Bel Cor Da El Fi Ga Il Jo Ka Li Ma Ni Or Pe Ro Sa Ti Va",
    "ana bria della essa ina ira issa iva lene mira nea ora quella rine tha vea",
)
_MALE = (
    "Ad Bar Cal Do Ed Fer Gar Ha Iv Jar Ke Lo Mar Nor Os Pel Ral Sor Tam Ul",
    "an bert den dor erik fin gar ion kel lam mond nard ric sten ton vin",
)
_LAST = (
    "Ash Bel Bram Cor Dun Elm Fal Gor Hal Ing Kel Lan Mor Nor Orm Pen Ras Sel Thorn Ul Ver Wex",
    "a bro da e go i ka lo me o ri sa to u va",
    "berg brook dale den field ford ham lock man mark mere more quist rell sen son stad tor vale wick",
)


def _joined(*syllables: str) -> list[str]:
    return ["".join(parts) for parts in itertools.product(*(text.split() for text in syllables))]


_FIRST = pa.array(_joined(*_FEMALE) + _joined(*_MALE))
_SURNAMES = pa.array(_joined(*_LAST))

OF_ONE_SEX = len(_FIRST) // 2
_ORDER = np.random.default_rng(0)  # which names are the common ones: the same in every world
first_names = Choice(_ORDER.permutation(zipf(OF_ONE_SEX, 20)))
"""The first names of women; those of men follow after ``OF_ONE_SEX``."""
last_names = Choice(_ORDER.permutation(zipf(len(_SURNAMES), 40)))


def full_names(first: Codes, last: Codes) -> pa.Array[Any]:
    """The names behind the codes."""
    return pc.binary_join_element_wise(_FIRST.take(first), _SURNAMES.take(last), " ")  # type: ignore[call-overload,no-any-return]

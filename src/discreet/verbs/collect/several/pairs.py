"""Keys with values, of which each person has some: films and how they are rated, illnesses and how bad they are.

A device *pads and samples*: it draws one of its pairs, or, if it has fewer than ``length``, one of them or of as many
made-up keys as are missing. A value becomes the highest or the lowest possible, the nearer the likelier, so that it is
right on average. People with more than ``length`` pairs are counted too little: declare a length that most stay below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.errors import DataError
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Domain
from discreet.verbs.collect.numbers.grid import Grid

People: TypeAlias = "pa.MapArray[Any, Any] | pa.ChunkedArray[Any] | Iterable[Mapping[Any, float]]"
"""The pairs of each person: mappings, or an Arrow array of maps."""


@dataclass(frozen=True)
class Drawn:
    """One pair of each person: a key's place (beyond that of the last key: a made-up one) and if its value is high."""

    keys: Codes
    high: Codes


def drawn(people: People, domain: Domain, grid: Grid, length: int, entropy: Entropy) -> Drawn:
    """Pad and sample. ``grid`` has one step."""
    starts, keys, values = _flat(people)
    codes, sizes = domain.codes(keys) if len(keys) else np.zeros(0, dtype=np.int64), np.diff(starts)
    among = np.maximum(sizes, length)
    picked = np.empty(sizes.size, dtype=np.int64)
    for size in np.unique(among):
        alike = np.flatnonzero(among == size)
        picked[alike] = entropy.many_below(int(size), alike.size)
    told = len(domain) + picked - sizes
    high = entropy.coins(sizes.size).astype(np.int64)
    own = np.flatnonzero(picked < sizes)
    at = starts[own] + picked[own]
    told[own] = codes[at]
    high[own] = grid.place(values[at], entropy)
    return Drawn(told, high)


def _flat(people: People) -> tuple[Codes, pa.Array[Any], Any]:
    """Where each person's pairs start, and the keys and values of all of them."""
    if isinstance(people, pa.ChunkedArray):
        people = pa.concat_arrays(people.chunks or [pa.array([], people.type)])
    if isinstance(people, pa.MapArray):
        if people.null_count:
            raise DataError("A person's pairs are missing.", hint="Who has none has an empty map.")
        starts = people.offsets.to_numpy().astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        keys, values = people.keys.slice(first, last - first), people.items.slice(first, last - first)
        flat = starts - first, keys, np.asarray(values, dtype=np.float64)
    else:
        each = [list(pairs.items()) for pairs in people]
        starts = np.cumsum([0, *map(len, each)])
        keys = pa.array([key for pairs in each for key, _ in pairs])
        flat = starts, keys, np.array([value for pairs in each for _, value in pairs], dtype=np.float64)
    _require_once(*flat[:2])
    return flat


def _require_once(starts: Codes, keys: pa.Array[Any]) -> None:
    """A key twice would be likelier to be drawn than the promise allows for."""
    person = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    pairs = pa.table({"person": pa.array(person), "key": keys})
    if pairs.group_by(["person", "key"]).aggregate([]).num_rows < pairs.num_rows:
        raise DataError("A person has a key twice.", hint="Give each key one value, their mean perhaps.")

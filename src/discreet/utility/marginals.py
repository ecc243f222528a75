"""How far the released counts are from the original ones, column by column and for columns together."""

from __future__ import annotations

from itertools import combinations, islice
from math import comb

import numpy as np

from discreet.errors import DataError
from discreet.utility.cells import Array
from discreet.utility.metric import Figure
from discreet.utility.pair import Pair

_PARTS = {1: 10, 2: 5, 3: 3}
"""Numbers are cut into so many parts, each holding as many of the original rows: fewer for more columns together, so
that what differs is not mere chance."""
_MOST = 500
"""So many sets of columns are looked at, at most."""


def one_way(pair: Pair) -> Figure:
    """The mean total variation distance of single columns."""
    return _distance(pair, 1)


def two_way(pair: Pair) -> Figure:
    """The same of pairs of columns."""
    return _distance(pair, 2)


def three_way(pair: Pair) -> Figure:
    """The same of three columns together."""
    return _distance(pair, 3)


def _distance(pair: Pair, ways: int) -> Figure:
    width = len(pair.columns)
    if width < ways:
        raise DataError(f"There are fewer than {ways} columns.")
    parts = [_parts(pair, place, _PARTS[ways]) for place in range(width)]
    step = -(-comb(width, ways) // _MOST)
    found = {}
    for places in islice(combinations(range(width), ways), 0, None, step):
        a, b = (_key([parts[place][side] for place in places]) for side in (0, 1))
        found[" × ".join(pair.columns[place] for place in places)] = _variation(a, b)
    worst = dict(sorted(found.items(), key=lambda one: -one[1])[:10])
    return Figure(float(np.mean([*found.values()])), worst)


def _parts(pair: Pair, place: int, most: int) -> tuple[Array, Array]:
    """The column of both sides as whole numbers from 0; NULL is a part of its own."""
    a, b = pair.original[:, place], pair.released[:, place]
    if pair.numeric[place]:
        borders = np.unique(np.nanquantile(a, np.arange(1, most) / most, method="inverted_cdf"))
        cut = (np.where(np.isnan(side), 0, 1 + np.searchsorted(borders, side, "right")) for side in (a, b))
        first, second = cut
        return first.astype(np.int64), second.astype(np.int64)
    return np.nan_to_num(a + 1).astype(np.int64), np.nan_to_num(b + 1).astype(np.int64)


def _key(columns: list[Array]) -> Array:
    """Several columns as one whole number; the columns of both sides must be cut alike."""
    key = columns[0]
    for column in columns[1:]:
        key = key * (1 << 20) + column
    return key


def _variation(a: Array, b: Array) -> float:
    _, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    most = int(codes.max()) + 1
    p, q = (np.bincount(side, minlength=most) / len(side) for side in (codes[: len(a)], codes[len(a) :]))
    return float(np.abs(p - q).sum() / 2)

"""Respondents who are alone in a cell, and what their cells imply for totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from discreet.verbs.attack.intruder.sparse import components
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, Numbers, rolled_up


def merged(dimensions: Sequence[Dimension], inner: Numbers) -> Numbers:
    """The largest contributions of every cell from those of the ``inner`` ones, the largest first on the last axis.

    This is right if no one is in two inner cells: the n largest of a union are among the n largest of its parts.
    """
    kept = inner.shape[-1]

    def largest(one: Numbers, other: Numbers) -> Numbers:
        return np.sort(np.concatenate([one, other], axis=-1), axis=-1)[..., : -kept - 1 : -1]

    return rolled_up(dimensions, inner, 0, largest)


def surely(dimensions: Sequence[Dimension], inner: Numbers, most: int) -> Numbers:
    """How many of the largest contributions of every cell, ``most`` of them, follow from the ``inner`` ones.

    ``inner`` says it of these, ``most`` where all are known. Of a union they are as many as of each of its parts: what
    is not known of a part may be next.
    """
    return rolled_up(dimensions, inner, most, np.minimum)


def numbered(whose: Iterable[object]) -> Numbers:
    """Numbers for respondents by what the unit's column says of them: the same in every table, and not negative."""
    return np.array([_number(str(one)) for one in whose], np.int64)


def alone(table: CrossTable, counts: Numbers) -> Numbers:
    """Where ``counts`` is 1 a number for the respondent, else -1, if no column says who they are.

    Anyone who is alone in a total is alone in those of its parts where anyone is, so these cells have the same
    number. It is made of the codes of one of them, and is another in other cells, of this table or of one that is
    linked to it.
    """
    single = counts.ravel() == 1
    relations = Cells.of(table).relations
    totals = relations.indices[relations.data == 1]
    rows = np.flatnonzero(single[totals])
    parts = (relations[rows] < 0).tocoo()
    same = single[parts.col]
    group = components(totals[rows][parts.row[same]], parts.col[same], table.size)
    first = np.empty(table.size, np.int64)
    first[group[::-1]] = np.arange(table.size)[::-1]  # the last one written, which is the first of its group, stays
    return np.where(single, _named(table)[first[group]], -1).reshape(table.shape)


def _named(table: CrossTable) -> Numbers:
    """A number for each cell from its codes: that of a total of all is 0, so that it is the same in linked tables."""
    found = np.zeros((), np.uint64)
    for side in table.dimensions:
        codes = [0, *(_number(f"{side.name}={code}") for code in side.codes[1:])]
        found = np.add.outer(found, np.array(codes, np.uint64))
    return (found.ravel() >> np.uint64(1)).astype(np.int64)


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 1

"""Columns that a synthetic column is made to depend on, as a matrix for regressions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.errors import BadInput, DataError
from discreet.verbs.publish.mask.swap import classes
from discreet.verbs.publish.mask.values import Array, numbers
from discreet.verbs.publish.masking import ORDERED, require_released

_MOST = 200


def require_given(card: Card, given: Sequence[str], masked: Sequence[str]) -> None:
    """An error unless ``given`` are released columns that are not masked themselves."""
    for name in given:
        require_released(card, card[name])
        if name in masked:
            raise BadInput(f"{name!r} cannot be masked and given at once.")


def regressors(card: Card, rows: pa.Table, given: Sequence[str]) -> Array:
    """A column of ones, numbers as they are, standardised, and for each category but the first a column of 0 and 1."""
    made = [np.ones((rows.num_rows, 1))]
    for name in given:
        cells = rows.column(name)
        if card[name].kind in ORDERED:
            found = numbers(cells)
            if not found.there.all():
                raise DataError(f"{name!r} is given and has missing values.", hint="Give columns without any.")
            around = found.values - found.values.sum() / max(1, len(found.values))
            spread = np.sqrt((around**2).sum() / max(1, len(around))) or 1.0
            made.append((around / spread)[:, None])
        else:
            codes = classes(rows, [name])
            if codes.max(initial=0) >= _MOST:
                raise BadInput(f"{name!r} has more than {_MOST} categories.", hint="Give a coarser column.")
            made.append(np.eye(int(codes.max(initial=0)) + 1)[codes][:, 1:])
    return np.hstack(made)


def matrix_of(rows: pa.Table, names: Sequence[str]) -> Array:
    """Columns as float64; what is missing is NaN."""
    made = np.full((rows.num_rows, len(names)), np.nan)
    for place, name in enumerate(names):
        found = numbers(rows.column(name))
        made[found.there, place] = found.values
    return made

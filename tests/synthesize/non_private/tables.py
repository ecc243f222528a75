"""Made-up tables whose laws are known, for tests of synthesizers."""

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type
from discreet.engines.read import read

KINDS = {"i": Kind.INTEGER, "f": Kind.REAL, "U": Kind.TEXT, "O": Kind.TEXT, "b": Kind.BOOLEAN}


def table(card=None, **columns):
    """A table of arrays; the last column is the secret."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    *_, last = arrays
    own = [
        Column(name, KINDS[values.dtype.kind], Role.SENSITIVE if name == last else Role.QUASI)
        for name, values in arrays.items()
    ]
    rows = pa.table(
        {name: pa.array(values.tolist(), arrow_type(KINDS[values.dtype.kind])) for name, values in arrays.items()}
    )
    return read(rows, card or Card("made", tuple(own)))


def column(rows, name):
    """A column of rows as an array; NULL is NaN or None."""
    return rows.column(name).to_numpy(zero_copy_only=False)

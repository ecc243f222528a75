"""Record keys: secret random numbers of respondents, the same in every table.

A number is a keyed hash (BLAKE2b) of who the row is about, so nothing has to be stored but the key. To anyone who
does not have the key the numbers are independent and uniform, as far as anyone knows how to tell; anyone who has it
can undo all that was made with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import numpy as np
from sqlglot import exp

from discreet.core import sql
from discreet.core.document import open_private
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.verbs.tabulate.method import ProtectionProblem
from discreet.verbs.tabulate.tables.crosstable import Dimension, Numbers
from discreet.verbs.tabulate.tables.gather import Measure, measure
from discreet.verbs.tabulate.tables.sides import Side, side

_LENGTH = 32


def draw_secret(entropy: Entropy = SYSTEM) -> bytes:
    """A key of 256 random bits, to be kept as carefully as the rows, and to be used for all tables of them."""
    return entropy.bytes(_LENGTH)


def secret_in(place: Path) -> bytes:
    """The secret stored in a file; if there is none, it is drawn and stored before its first use."""
    if not place.exists():
        with open_private(place) as file:
            file.write(draw_secret())
    return place.read_bytes()


@dataclass(frozen=True)
class KeyedRows:
    """The rows of a table, added up by inner cell and respondent, with the secret number of each respondent.

    A respondent is the card's unit. Without a unit it is all that a row says: rows that say the same have the same
    number, and count as often as they are there.
    """

    sides: tuple[Side, ...]
    what: Measure
    secret: bytes
    use: Literal["cell-key", "factor"]
    """What the numbers are for: another use gives other numbers, which tell nothing of these."""

    @classmethod
    def of(
        cls,
        table: Table,
        by: Sequence[str],
        value: str | None,
        *,
        secret: bytes,
        use: Literal["cell-key", "factor"],
        decimals: int | None = None,
        declared: bool = False,
    ) -> KeyedRows:
        """The rows of the table that ``build`` would make; ``declared`` as there."""
        if len(secret) != _LENGTH:
            raise BadInput(
                f"A secret key has {_LENGTH} bytes, this one {len(secret)}.", hint="Draw one: draw_secret()."
            )
        what = measure(table, value, None, decimals)
        return cls(tuple(side(what.rows, asked, declared=declared) for asked in by), what, secret, use)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        return tuple(one.dimension for one in self.sides)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.dimensions))

    def stream(self) -> Iterator[tuple[tuple[Numbers, ...], Numbers, Numbers]]:
        """A batch at a time: the places of inner cells, the numbers of respondents (uint64), what they contribute."""
        import pyarrow as pa

        for batch in self.what.rows.engine.stream(self._query()):
            rows = pa.Table.from_batches([batch])
            places = tuple(one.find(_finest(one), rows.column(f"key_{place}")) for place, one in enumerate(self.sides))
            who = [rows.column(name).to_pylist() for name in rows.column_names if name.startswith("who_")]
            yield places, self._numbers(zip(*who, strict=True)), rows.column("size").to_numpy()

    def _numbers(self, respondents: Iterable[tuple[object, ...]]) -> Numbers:
        person = self.use.encode()
        hashed = b"".join(
            blake2b(repr(one).encode(), digest_size=8, key=self.secret, person=person).digest() for one in respondents
        )
        return np.frombuffer(hashed, "<u8")

    def _query(self) -> exp.Select:
        names = self.what.rows.columns if self.what.unit is None else (self.what.unit,)
        keys = [sql.named(one.at(_finest(one)), f"key_{place}") for place, one in enumerate(self.sides)]
        who = [sql.named(sql.column(name), f"who_{place}") for place, name in enumerate(names)]
        rows = self.what.rows.query(*keys, *who, sql.named(self.what.value.copy(), "size"))
        alike = [sql.column(one.alias) for one in (*keys, *who)]
        size = sql.named(exp.cast(exp.Sum(this=sql.column("size")), exp.DType.BIGINT), "size")
        return exp.select(*alike, size).from_(rows.subquery("r")).group_by(*(one.copy() for one in alike))


def _finest(one: Side) -> int:
    return next(iter(one.places))


def source_of(problem: ProtectionProblem, method: str, *, weights: bool = True) -> Table:
    """The rows of a table; an error if there are none, or if they have ``weights`` that the method does not support."""
    if problem.source is None:
        raise BadInput(
            f"{method} changes rows, but only an aggregate table is given.",
            hint="Use the rows instead of the aggregate table.",
        )
    if problem.weight is not None and not weights:
        raise BadInput(
            f"{method} changes people's contributions and does not support weights.",
            hint="Leave the weight out, or choose another method.",
        )
    return problem.source


def secret_of(problem: ProtectionProblem, source: Table) -> tuple[bytes, tuple[str, ...]]:
    """The given secret or a new one, and a caveat if people cannot be recognised in later tables."""
    unit = source.card.unit
    if problem.secret is not None and unit is None:
        raise BadInput(
            "A secret key gives each person the same changes every time, but the card names no column that "
            "identifies people.",
            hint="Name the unit on the card, or leave the secret out.",
        )
    secret = draw_secret() if problem.secret is None else problem.secret
    if unit is not None:
        return secret, ()
    return secret, (
        "No column identifies people: each further table changes the same people differently, and averaging "
        "several tables removes the changes.",
    )

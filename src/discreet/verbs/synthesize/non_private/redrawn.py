"""Masking methods that make values anew, as synthesizers: IPSO (``mask/ipso.py``) and resampling (``resample.py``).

They change numbers only; everything else stays, row by row, so that the table is partially synthetic.

Why this is not private. What is not made is there for everyone to see; IPSO keeps what a regression says, resampling
keeps the ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.core.catalogue import register
from discreet.core.families import SYNTHESIZERS
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.publish.recoding import published_columns
from discreet.verbs.synthesize.non_private.synthesizer import LEAST, ColumnRoles, Synthetic, require_people


@dataclass(frozen=True)
class Redrawn:
    """Rows with numbers redrawn by ``method``; if it names no columns, all that are not given."""

    method: Ipso | Resample

    def __post_init__(self) -> None:
        if not isinstance(self.method, Ipso | Resample):
            raise BadInput(f"Ipso and Resample redraw values; {type(self.method).__name__} does not.")

    @property
    def name(self) -> str:
        """The masking method, as a synthesizer."""
        return f"synthesize {self.method.name}"

    def synthesize(self, table: Table, seed: int | None = None) -> Synthetic:
        """As many rows as there are, with the numbers of the masking method."""
        given = self.method.given if isinstance(self.method, Ipso) else ()
        numbers = [c.name for c in published_columns(table.card) if c.kind in NUMBERS and c.name not in given]
        if not self.method.columns and not numbers:
            raise BadInput(f"{self.name} makes numbers, but {table.card.name} has none.")
        parts = ColumnRoles.of(table.card, self.method.columns or numbers, given)
        require_people(table, LEAST)
        masked = replace(self.method, columns=parts.made).mask(table, seed)
        parts = replace(parts, given=tuple(given))
        return Synthetic(
            masked.rows,
            {**masked.parameters, "kept": list(parts.kept), "made": masked.rows.num_rows},
            masked.steps,
            (*parts.warnings(), *masked.not_promised),
        )


register(SYNTHESIZERS, "ipso", Ipso, make=Redrawn, paper="Burridge 2003")
register(SYNTHESIZERS, "resample", Resample, make=Redrawn, paper="Heer 1993")

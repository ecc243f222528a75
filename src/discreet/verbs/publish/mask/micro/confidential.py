"""The confidential column of which every group must hold several values, and the model that says how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column
from discreet.errors import BadInput
from discreet.models.classes import Classes, Spread, domain_of
from discreet.models.diversity import EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.model import Model
from discreet.verbs.publish.mask.values import Array
from discreet.verbs.publish.masking import require_released

if TYPE_CHECKING:
    from discreet.verbs.publish.mask.micro.diverse import Rule

Diversity: TypeAlias = LDiversity | EntropyLDiversity | RecursiveLDiversity | PSensitivity


@dataclass(frozen=True)
class Confidential:
    """A column as codes, and what a group must hold of it. NULL is a value like others, as it is to the models."""

    model: Diversity
    column: Column
    domain: pa.Array[Any]
    codes: Array

    @property
    def rule(self) -> Rule:
        """The model, for the kernels to steer by."""
        from discreet.verbs.publish.mask.micro import diverse

        model, values = self.model, len(self.domain)
        if isinstance(model, EntropyLDiversity):
            return diverse.Rule(diverse.ENTROPY, float(model.l), 1.0, values)
        if isinstance(model, RecursiveLDiversity):
            return diverse.Rule(diverse.RECURSIVE, float(model.l), float(model.c), values)
        least = model.p if isinstance(model, PSensitivity) else model.l
        return diverse.Rule(diverse.DISTINCT, float(least), 1.0, values)

    def broken(self, rows: Array, of: Array) -> Array:
        """Which groups of some rows are not diverse enough: the model's own verdict, which is exact."""
        codes = self.codes[rows]
        lines, counts = np.unique(of * len(self.domain) + codes, return_counts=True)
        spread = Spread(self.column, self.domain, lines // len(self.domain), lines % len(self.domain), counts)
        return self.model.breaking(Classes(np.bincount(of).astype(np.int64), {self.column.name: spread}))


def confidential(card: Card, rows: pa.Table, model: Model | None, masked: tuple[str, ...]) -> Confidential | None:
    """What a model asks for of a table; an error if it cannot be had."""
    if model is None:
        return None
    if not isinstance(model, Diversity):
        raise BadInput(
            f"Groups cannot be formed by {model!r}.",
            hint="Give an l-diversity or a p-sensitivity; publish(require=…) checks others.",
        )
    column = card[model.on]
    require_released(card, column)
    if column.name in masked:
        raise BadInput(f"{column.name!r} cannot be masked and confidential at once.", hint="Mask other columns.")
    cells = rows.column(column.name).combine_chunks()
    domain = domain_of(column, cells)
    codes = np.asarray(pc.index_in(cells, domain).to_numpy(zero_copy_only=False), dtype=np.int64)
    return Confidential(model, column, domain, codes)

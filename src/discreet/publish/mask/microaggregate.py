"""Microaggregation: records in groups of at least k that lie together, and in every group one record for all.

The sum of squares within the groups is what is lost; finding groups that lose least is NP-hard in two or more columns
(Oganian and Domingo-Ferrer 2001), so it is done by MDAV, V-MDAV or CBFS, and bettered by a search. One column
is grouped best of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column, Role
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.classes import Classes, Spread, domain_of
from discreet.models.diversity import EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.noise.masking import Generator, generator
from discreet.publish.mask.micro.aggregate import aggregated, chosen_for
from discreet.publish.mask.micro.embed import Coordinate, coordinates, embedded
from discreet.publish.mask.micro.gaps import patterns
from discreet.publish.mask.micro.grouping import MOST_IMPROVED, Way, grouped
from discreet.publish.mask.values import Array, replaced
from discreet.publish.masking import ANY, Masked, chosen, require_released

if TYPE_CHECKING:
    from discreet.publish.mask.micro.diverse import Rule

Diversity: TypeAlias = LDiversity | EntropyLDiversity | RecursiveLDiversity | PSensitivity
_ALGORITHMS = ("mdav", "v-mdav", "cbfs", "optimal")


@dataclass(frozen=True)
class Microaggregate:
    """Groups of at least ``k`` records, formed by ``algorithm``; ``optimal`` is for one column at a time.

    ``parts``: columns are grouped together in parts of so many, or in these parts, each by itself; by default all in
    one. ``diverse``: what every group must hold of a confidential column. ``improve``: how often, for each group,
    a few groups are put together anew to lose less (1,000 is thorough). ``gamma``: how much nearer a record
    must be to a group than to others to join it, by v-mdav. ``median`` instead of mean. More than ``block`` rows are
    divided into blocks first, and groups do not cross their borders.

    Why this is private: if all that is known of people is masked in one part, each masked record is that of k or more,
    so that nobody can be singled out by it (k-anonymity: Domingo-Ferrer and Torra 2005). In several parts that holds
    for each part alone. Nothing else is promised: members of a group are alike, so what stands for them says about
    what each of them is.
    """

    name: ClassVar[str] = "microaggregate"
    k: int
    columns: Sequence[str] = ()
    algorithm: Literal["mdav", "v-mdav", "cbfs", "optimal"] = "mdav"
    parts: int | Sequence[Sequence[str]] | None = None
    diverse: Diversity | None = None
    improve: int = 0
    gamma: float = 0.2
    median: bool = False
    standardise: bool = True
    block: int = 100_000

    def __post_init__(self) -> None:
        for what, least in (("k", 2), ("improve", 0), ("block", 1000)):
            said = getattr(self, what)
            if isinstance(said, bool) or not isinstance(said, int) or said < least:
                raise BadInput(f"{what} is a whole number, {least} or more, got {said!r}.")
        if self.algorithm not in _ALGORITHMS:
            raise BadInput(f"Records are grouped by {', '.join(_ALGORITHMS)}, not {self.algorithm!r}.")
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float) or not 0 <= self.gamma < np.inf:
            raise BadInput(f"gamma is a number, 0 or more, got {self.gamma!r}.")
        if self.block < 4 * self.k:
            raise BadInput(f"A block holds several groups: at least {4 * self.k:,} rows, not {self.block:,}.")
        if self.improve and self.k > MOST_IMPROVED:
            raise BadInput(f"Groups of up to {MOST_IMPROVED} can be improved, not of {self.k}.", hint="Leave it out.")
        if self.algorithm == "optimal" and (self.improve or self.diverse):
            raise BadInput("What is optimal cannot be improved, nor made diverse.", hint="Use mdav instead.")
        if isinstance(self.diverse, PSensitivity) and self.diverse.k > self.k:
            raise BadInput(f"Groups of {self.k} cannot be {self.diverse.claim.text}.", hint=f"Ask for k={self.diverse.k}.")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. What is missing stays missing; where too few lack the same values, more is left out."""
        card, rows, rng = table.card, table.payload(), generator(seed)
        names = chosen(card, self.columns, ANY, self.name)
        confidential = _Confidential.of(card, rows, self.diverse, names)
        told: list[dict[str, Any]] = []
        for part in self._parts(names):
            columns = coordinates(card, rows, part)
            made = self._masked(columns, rows.num_rows, confidential, rng)
            for column, cells in zip(columns, made.cells, strict=True):
                rows = replaced(rows, column.column.name, cells)
            told.append(made.told)
        return Masked(rows, self._parameters(names, told), self._steps(told), self._not_promised(card, names, told))

"""Swapping: values change places between people. Every column keeps all its values; rows do not.

Rank swapping (Moore 1996) exchanges values with others of nearly the same rank, column by column. With the plain one an
intruder who knows p can rule out most rows (Nin, Herranz and Torra 2008); their two variants, p-distribution and
p-buckets, rule out no one. Data swapping (Dalenius and Reiss 1982) exchanges the values of some people at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.catalogue import Checked, check_parameters, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import ORDERED, Kind
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.masker import Masked, columns_to_mask, require_given
from discreet.verbs.publish.mask.values import Array, Cells, reorder, with_column


@declare(MASKING, "rank-swap", example="rank-swap p=5", paper="Moore 1996; Nin, Herranz and Torra 2008")
class RankSwap:
    """Values swapped with others of nearly the same rank, column by column.

    ``window``: with any of the next p % of ranks. ``normal`` (p-distribution): with rank i + r, r normal with mean and
    deviation of p/2 %. ``buckets``: p buckets of ranks; with a rank of the same bucket or the b-th next, chance 1/2,
    1/4, … .
    """

    name: ClassVar[str]
    p: float = parameter("Maximum rank distance, per cent; with buckets, their number.", above=0)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    law: Literal["window", "normal", "buckets"] = parameter("Distribution of the rank change.", default="window")

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.law == "buckets" and (self.p != int(self.p) or self.p > 1000):
            raise BadInput(f"p must be a number of buckets from 1 to 1000, got {self.p}.")
        if self.law != "buckets" and self.p > 100:
            raise BadInput(f"p must be a per cent of the ranks, at most 100, got {self.p}.")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. NULLs stay where they are; equal values are ranked at random."""
        names = columns_to_mask(table.card, self.columns, ORDERED, self.name)
        rng, rows = generator(seed), table.payload()
        for name in names:
            rows = with_column(rows, name, self._swap_ranks(rows.column(name), rng))
        how = {
            "window": f"with one of the next {self.p:g} % of ranks, drawn evenly among those not yet swapped",
            "normal": f"with the free rank nearest to i + r, r normal with mean and deviation {self.p / 2:g} %",
            "buckets": f"within {self.p:g} buckets of ranks: in the same one with chance 1/2, in the next with 1/4, …",
        }[self.law]
        return Masked(
            rows,
            {"columns": list(names), "p": self.p, "law": self.law, "marginals": "unchanged"},
            (f"{', '.join(names)}: in each column separately, values were swapped {how}.",),
            (
                "Values move little in rank: approximate knowledge about a person stays valid.",
                *(
                    (
                        "An intruder who knows p and the original ranks can rule out all rows but those "
                        "within p % in every column.",
                    )
                    if self.law == "window"
                    else ()
                ),
                "The largest and smallest values are still in the release.",
            ),
        )

    def _swap_ranks(self, cells: Cells, rng: Generator) -> Cells:
        from discreet.verbs.publish.mask.swap_kernels import swap_around, swap_buckets, swap_within

        there, ranked = ranks(cells, rng)
        count = len(ranked)
        if self.law == "buckets":
            to = swap_buckets(count, int(self.p), rng)
        elif self.law == "normal":
            to = swap_around(count, self.p / 200 * count, self.p / 200 * count, rng)
        else:
            to = swap_within(count, max(1, int(self.p / 100 * count)), rng)
        source = np.arange(len(cells))
        source[there[ranked]] = there[ranked[to]]
        return reorder(cells, source)


@declare(MASKING, "data-swap", example="data-swap share=10%", paper="Dalenius and Reiss 1982")
class DataSwap(Checked):
    """A share of people, paired at random among those alike, exchange columns as a whole."""

    name: ClassVar[str]
    share: float = parameter("Share of people to swap, such as 5% or 0.05.", above=0, most=1)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    within: Sequence[str] = parameter("Columns on which swapped people must agree.", default=(), clause="within")

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once; NULL is a value like others."""
        names = columns_to_mask(table.card, self.columns, frozenset(Kind), self.name)
        require_given(table.card, self.within, names, "exchanged and agreed on")
        rng, rows = generator(seed), table.payload()
        source, swapped = _pairs(rows, self.within, self.share, rng)
        for name in names:
            rows = with_column(rows, name, reorder(rows.column(name), source))
        same = f" who agree on {', '.join(self.within)}" if self.within else ""
        kept = [*names, *self.within]
        return Masked(
            rows,
            {
                "columns": list(names),
                "share": self.share,
                "within": list(self.within),
                "swapped": swapped,
                "marginals": f"unchanged, also of {', '.join(kept)} together",
            },
            (f"{swapped:,} people{same} exchanged {', '.join(names)} with each other, in random pairs.",),
            (
                "People who were not drawn, or had no partner, keep every value: "
                f"{rows.num_rows - swapped:,} of {rows.num_rows:,} rows were not exchanged.",
                *(
                    (f"A person who is unique on {', '.join(self.within)} certainly keeps every value.",)
                    if self.within
                    else ()
                ),
                "Pairs with equal values are unchanged.",
            ),
        )


def ranks(cells: Cells, rng: Generator) -> tuple[Array, Array]:
    """The places that hold a value, and among them the order from the smallest; equal values are in random order."""
    there = np.flatnonzero(np.asarray(cells.is_valid().to_numpy(zero_copy_only=False)))
    kept = pc.drop_null(cells)
    if pa.types.is_date32(kept.type):
        kept = kept.cast(pa.int32())
    elif pa.types.is_timestamp(kept.type):
        kept = kept.cast(pa.int64())
    elif pa.types.is_decimal(kept.type):
        kept = kept.cast(pa.float64(), safe=False)
    values = np.asarray(kept.to_numpy(zero_copy_only=False) if len(kept) else np.empty(0))
    shuffled = rng.permutation(len(values))
    return there, shuffled[np.argsort(values[shuffled], kind="stable")]


def equal_row_codes(rows: pa.Table, names: Sequence[str]) -> Array:
    """A number for each row, equal where the rows agree on ``names``, NULL included."""
    label = np.zeros(rows.num_rows, np.int64)
    for name in names:
        encoded: Any = pc.dictionary_encode(rows.column(name).combine_chunks(), null_encoding="encode")
        own = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        label = np.unique(label * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
    return label


def _pairs(rows: pa.Table, within: Sequence[str], share: float, rng: Generator) -> tuple[Array, int]:
    """For each row the one whose values it gets, and how many get another's. Odd ones out stay."""
    drawn = rng.permutation(rows.num_rows)[: round(share * rows.num_rows)]
    label = equal_row_codes(rows, within)[drawn]
    order = np.argsort(label, kind="stable")
    drawn, label = drawn[order], label[order]
    starts = np.flatnonzero(np.r_[True, label[1:] != label[:-1]]) if len(label) else np.empty(0, np.int64)
    place = np.arange(len(label)) - np.repeat(starts, np.diff(np.r_[starts, len(label)]))
    first = np.flatnonzero((place[:-1] % 2 == 0) & (label[:-1] == label[1:])) if len(label) else starts
    source = np.arange(rows.num_rows)
    source[drawn[first]], source[drawn[first + 1]] = drawn[first + 1], drawn[first]
    return source, 2 * len(first)

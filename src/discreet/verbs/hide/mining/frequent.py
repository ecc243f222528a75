"""Frequent itemsets: all itemsets of at least a given support."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.core.exact import Number, exact
from discreet.errors import BadInput, NotFound
from discreet.verbs.hide.transactions import Transactions

Array = npt.NDArray[Any]
Itemset = frozenset[str]
Keep = Literal["all", "closed", "maximal"]

MOST_ITEMSETS = 20_000_000
"""Largest number of frequent itemsets that fit in memory."""
_NO_LIMIT = 1 << 30


@dataclass(frozen=True, eq=False)
class Frequent:
    """Frequent itemsets and their supports, as a tree in which an itemset shares its beginning with others.

    ``found[itemset]`` is a support, ``itemset in found`` says whether it is frequent, and iterating gives pairs
    (itemset, support). With ``keep`` only some itemsets are counted and gone through; looking up works for all.
    """

    items: tuple[str, ...]
    """The frequent items, the rarest first."""
    nodes: Array
    """A row an itemset: its last item, its support, its parent's row (-1: none), where its children begin and end."""
    least: int
    rows: int
    """How many transactions there are."""
    shown: Array
    """The rows of ``nodes`` that are gone through."""
    longest: int | None = None
    """Longer itemsets were not looked for."""

    @cached_property
    def supports(self) -> Array:
        """The support of each itemset, in the order of going through them."""
        found: Array = self.nodes[self.shown, 1].astype(np.int64)
        return found

    @cached_property
    def lengths(self) -> Array:
        """How many items each node's itemset has."""
        found = np.ones(len(self.nodes), np.int64)
        for size in range(2, len(self.items) + 2):
            below = self.nodes[:, 2] >= 0
            longer = np.flatnonzero(below & (found[self.nodes[:, 2]] == size - 1))
            if not len(longer):
                break
            found[longer] = size
        return found

    @cached_property
    def names(self) -> list[Itemset]:
        """The itemset of each node. A parent stands before its children."""
        found: list[Itemset] = []
        for item, parent in zip(self.nodes[:, 0].tolist(), self.nodes[:, 2].tolist(), strict=True):
            own = frozenset((self.items[item],))
            found.append(found[parent] | own if parent >= 0 else own)
        return found

    def node(self, itemset: Iterable[str]) -> int:
        """The row of an itemset in ``nodes``, or -1 if it is not frequent."""
        try:
            path = sorted(self._number[name] for name in set(itemset))
        except KeyError:
            return -1
        node = -1
        for item in path:
            if node < 0:
                node = item
                continue
            begin, end = self.nodes[node, 3], self.nodes[node, 4]
            place = begin + int(np.searchsorted(self.nodes[begin:end, 0], item))
            if place == end or self.nodes[place, 0] != item:
                return -1
            node = int(place)
        return node

    def get(self, itemset: Iterable[str]) -> int | None:
        """The support of an itemset, or None if it is not frequent; of the empty one, all transactions."""
        wanted = frozenset(itemset)
        if not wanted:
            return self.rows
        node = self.node(wanted)
        return None if node < 0 else int(self.nodes[node, 1])

    def __getitem__(self, itemset: Iterable[str]) -> int:
        wanted = frozenset(itemset)
        support = self.get(wanted)
        if support is None:
            raise NotFound(f"{{{', '.join(sorted(wanted))}}} is not frequent: fewer than {self.least} have it.")
        return support

    def __contains__(self, itemset: Collection[str]) -> bool:
        return self.get(itemset) is not None

    def __len__(self) -> int:
        return len(self.shown)

    def __iter__(self) -> Iterator[tuple[Itemset, int]]:
        names = self.names
        for node, support in zip(self.shown.tolist(), self.supports.tolist(), strict=True):
            yield names[node], support

    def as_dict(self) -> dict[Itemset, int]:
        """The itemsets and their supports."""
        return dict(self)

    def keep(self, which: Keep) -> Frequent:
        """All, the closed ones (no larger itemset has the same support) or the maximal ones (none is frequent)."""
        if which == "all":
            return replace(self, shown=np.arange(len(self.nodes)))
        if which not in ("closed", "maximal"):
            raise BadInput(f"Itemsets must be all, closed or maximal, not {which!r}.")
        from discreet.verbs.hide.mining import kernels

        covered = kernels.covered(self.nodes, self.deepest)
        return replace(self, shown=np.flatnonzero(covered < 2 if which == "closed" else covered == 0))

    @property
    def deepest(self) -> int:
        """The length of the longest itemset, at least 1."""
        return int(self.lengths.max(initial=1))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.items)}

    def __str__(self) -> str:
        return f"{len(self):,} itemsets that at least {self.least:,} of {self.rows:,} transactions have"

    __repr__ = __str__


def frequent(transactions: Transactions, least: int, *, longest: int | None = None, keep: Keep = "all") -> Frequent:
    """All itemsets (of at most ``longest`` items) that at least ``least`` transactions have.

    Items are taken from the rarest to the most frequent, so that each set of transactions to be gone through is small.
    """
    if least < 1:
        raise BadInput(f"An itemset must be in at least one transaction to be frequent, not {least}.")
    if longest is not None and longest < 1:
        raise BadInput(f"The longest itemset must have at least one item, not {longest}.")
    from discreet.verbs.hide.mining import kernels

    supports = transactions.supports
    order = np.argsort(supports, kind="stable")
    order = order[supports[order] >= least]
    starts, codes = kernels.by_row(transactions.bits[order], transactions.rows)
    nodes = kernels.grow(starts, codes, supports[order], least, longest or _NO_LIMIT, MOST_ITEMSETS)
    if len(nodes) > MOST_ITEMSETS:
        raise BadInput(
            f"More than {MOST_ITEMSETS:,} itemsets are in at least {least:,} transactions.",
            hint="Use a higher support, or shorter itemsets.",
        )
    found = Frequent(
        tuple(transactions.items[code] for code in order),
        nodes,
        least,
        transactions.rows,
        np.arange(len(nodes)),
        longest,
    )
    return found if keep == "all" else found.keep(keep)


def least_of(share: Number, rows: int) -> int:
    """How many of ``rows`` transactions are at least a ``share`` of them, and at least one."""
    given = exact(share, "The support")
    if given > 1:
        raise BadInput(f"A support of {share} is above 100 %.", hint="Write 2% as 0.02 or 1/50.")
    return max(1, ceil(Fraction(given) * rows))

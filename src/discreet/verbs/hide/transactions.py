"""Transactions as a bitmap: one bit for each item and transaction.

The support of an itemset, the number of transactions that have all its items, is then the number of ones in the AND of
a few rows of words, and the transactions to be changed are the places of these ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.text import meant
from discreet.errors import BadInput, NotFound

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint64]

_WORD = 64


@dataclass(frozen=True, eq=False)
class Transactions:
    """Which items each of ``rows`` transactions has. Equal only if names, their order and all bits are."""

    items: tuple[str, ...]
    bits: Words
    """A row of words an item: bit t of it (bit t mod 64 of word t // 64) says whether transaction t has the item."""
    rows: int

    def __post_init__(self) -> None:
        if len(set(self.items)) != len(self.items):
            raise BadInput("Two items have the same name.")
        if self.bits.shape != (len(self.items), words_for(self.rows)) or self.bits.dtype != np.uint64:
            raise BadInput(f"The bits of {len(self.items)} items in {self.rows} transactions have another shape.")

    @classmethod
    def of(cls, rows: Iterable[Collection[str]], items: Iterable[str] = ()) -> Transactions:
        """Transactions given as collections of names; ``items`` are there even if no transaction has them.

        A text is a collection too: of its letters.
        """
        given = [row if isinstance(row, Collection) else tuple(row) for row in rows]
        names = sorted({*items, *chain.from_iterable(given)})
        number = {name: place for place, name in enumerate(names)}
        lengths = np.fromiter(map(len, given), np.int64, len(given))
        codes = np.fromiter(map(number.__getitem__, chain.from_iterable(given)), np.int64, int(lengths.sum()))
        return cls.from_cells(tuple(names), np.repeat(np.arange(len(given)), lengths), codes, len(given))

    @classmethod
    def from_cells(cls, items: tuple[str, ...], row: Array, item: Array, rows: int) -> Transactions:
        """Transactions given as pairs: transaction ``row[n]`` has item number ``item[n]``; a pair may come twice."""
        for numbers, many in ((row, rows), (item, len(items))):
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < many:
                raise BadInput(f"Transactions are numbered from 0 to {rows - 1}, and items to {len(items) - 1}.")
        bits = np.zeros((len(items), words_for(rows)), np.uint64)
        _kernels().set_bits(bits, row.astype(np.int64), item.astype(np.int64))
        return cls(items, bits, rows)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The number of each item: which row of the bits is its."""
        return {name: place for place, name in enumerate(self.items)}

    def codes(self, itemset: Iterable[str]) -> list[int]:
        """The numbers of some items, in order; an error for a name that is none of them."""
        return sorted(map(self._code, set(itemset)))

    def _code(self, name: str) -> int:
        found = self.number.get(name)
        if found is None:
            raise NotFound(f"There is no item {name!r}{meant(name, self.items)}.", hint="Items are case-sensitive.")
        return found

    def having(self, itemset: Iterable[str]) -> Words:
        """The transactions that have all of ``itemset``, as bits; all of them for the empty set."""
        codes = self.codes(itemset)
        if not codes:
            return all_ones(self.rows)
        found: Words = np.bitwise_and.reduce(self.bits[codes], axis=0)
        return found

    def rows_of(self, itemset: Iterable[str]) -> Array:
        """The numbers of the transactions that have all of ``itemset``."""
        return places(self.having(itemset))

    def support(self, itemset: Iterable[str]) -> int:
        """How many transactions have all of ``itemset``."""
        return int(np.bitwise_count(self.having(itemset)).sum(dtype=np.int64))

    def holds(self, itemsets: Sequence[Collection[str]], rows: Array) -> Array:
        """Which of some transactions (across) has which of some itemsets (down)."""
        found = np.empty((len(itemsets), len(rows)), bool)
        words, shifts = rows // _WORD, (rows % _WORD).astype(np.uint64)
        for place, itemset in enumerate(itemsets):
            found[place] = (self.having(itemset)[words] >> shifts & np.uint64(1)).astype(bool)
        return found

    @cached_property
    def supports(self) -> Array:
        """The support of each item, in the order of ``items``."""
        found: Array = np.bitwise_count(self.bits).sum(axis=1, dtype=np.int64)
        return found

    @cached_property
    def by_row(self) -> tuple[Array, Array]:
        """The same transactions row by row: where each begins (one place more at the end), and the item numbers."""
        starts, codes = _kernels().by_row(self.bits, self.rows)
        return starts, codes

    def row(self, number: int) -> tuple[str, ...]:
        """The items of one transaction."""
        word, bit = divmod(number, _WORD)
        held = np.flatnonzero(self.bits[:, word] >> np.uint64(bit) & np.uint64(1))
        return tuple(self.items[code] for code in held)

    def to_rows(self) -> Iterator[tuple[str, ...]]:
        """Every transaction as the names of its items, in the order of ``items``."""
        starts, codes = self.by_row
        names = [self.items[code] for code in codes.tolist()]
        ends = starts.tolist()
        return (tuple(names[begin:end]) for begin, end in pairwise(ends))

    def without(self, cells: Iterable[tuple[int, str]]) -> Transactions:
        """The same with items removed of transactions, given as pairs (transaction number, item)."""
        return self.changed(cells, ())

    def changed(self, out: Iterable[tuple[int, str]], put: Iterable[tuple[int, str]]) -> Transactions:
        """The same with the cells ``out`` removed and the cells ``put`` put in: (transaction number, item) each."""
        bits = self.bits.copy()
        for cells, present in ((out, False), (put, True)):
            for row, name in cells:
                if not 0 <= row < self.rows:
                    raise NotFound(f"There is no transaction number {row}: there are {self.rows}.")
                place, mask = (self._code(name), row // _WORD), np.uint64(1 << row % _WORD)
                bits[place] = bits[place] | mask if present else bits[place] & ~mask
        return Transactions(self.items, bits, self.rows)

    def projected(self, items: Sequence[str]) -> Transactions:
        """The same transactions with some items only, in the given order."""
        return Transactions(tuple(items), self.bits[list(map(self._code, items))], self.rows)

    def differs(self, other: Transactions) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """The cells that ``other``, of the same items, has no longer, and those that it has in addition."""
        self.require_like(other)
        found = []
        for bits in (self.bits & ~other.bits, other.bits & ~self.bits):
            cells = ((row, self.items[code]) for code in np.flatnonzero(bits.any(axis=1)) for row in places(bits[code]))
            found.append(sorted((int(row), name) for row, name in cells))
        return found[0], found[1]

    def require_like(self, other: Transactions) -> None:
        """An error unless ``other`` has as many transactions, and the same items in the same order."""
        if self.items != other.items or self.rows != other.rows:
            raise BadInput("A cell-by-cell comparison needs the same number of transactions, and the same items.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transactions):
            return NotImplemented
        return self.items == other.items and self.rows == other.rows and bool((self.bits == other.bits).all())

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def __str__(self) -> str:
        cells = int(self.supports.sum())
        mean = cells / self.rows if self.rows else 0.0
        return f"{self.rows:,} transactions of {len(self.items):,} items, {mean:.1f} per transaction"

    __repr__ = __str__


def words_for(rows: int) -> int:
    """How many words of 64 bits hold a bit for each of ``rows`` transactions."""
    return -(-rows // _WORD)


def all_ones(rows: int) -> Words:
    """A one for each of ``rows`` transactions, and zeros to the end of the last word."""
    bits = np.full(words_for(rows), ~np.uint64(0))
    if rows % _WORD:
        bits[-1] = (np.uint64(1) << np.uint64(rows % _WORD)) - np.uint64(1)
    return bits


def places(bits: Words) -> Array:
    """Where the ones are."""
    return np.flatnonzero(np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little"))


def _kernels() -> Any:
    """The compiled loops, loaded when they are needed: that takes a moment."""
    from discreet.verbs.hide.mining import kernels

    return kernels

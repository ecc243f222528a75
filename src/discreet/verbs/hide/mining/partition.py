"""Out-of-core mining in two passes over blocks of transactions.

Savasere, Omiecinski and Navathe (1995). If an itemset is in a share s of all transactions then it is in a share s of
those of at least one block: were it in less than that of every block, it would be in less of all. So the first pass
mines each block with the same share, and what is frequent in some block is counted in all of them by the second. The
result is that of mining everything at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from discreet.core.exact import Number
from discreet.errors import DataError
from discreet.verbs.hide.mining.frequent import Frequent, Itemset, frequent, least_of
from discreet.verbs.hide.transactions import Transactions, Words, all_ones

Blocks = Callable[[], Iterable[Transactions]]
"""Function that returns all blocks of the transactions, from the first one, at every call."""


def frequent_in_blocks(blocks: Blocks, share: Number, *, longest: int | None = None) -> Frequent:
    """All itemsets that at least a ``share`` of the transactions have; no more than three blocks are in memory at once.

    Blocks should be of about the same, large size: in one of a few transactions, everything is frequent.
    """
    candidates: set[Itemset] = set()
    rows = 0
    for block in _evenly(blocks()):
        rows += block.rows
        if block.rows:
            candidates.update(itemset for itemset, _ in frequent(block, least_of(share, block.rows), longest=longest))
    least = least_of(share, rows)
    counted = dict.fromkeys(_in_order(candidates), 0)
    again = 0
    for block in blocks():
        again += block.rows
        _count(block, counted)
    if again != rows:
        raise DataError(
            f"There were {rows:,} transactions at first and {again:,} later.", hint="Is a file being written?"
        )
    return _tree({one: support for one, support in counted.items() if support >= least}, least, rows, longest)


def _in_order(itemsets: Iterable[Itemset]) -> list[tuple[str, ...]]:
    """Itemsets as sorted tuples in depth-first order: each after its own beginning."""
    return sorted(tuple(sorted(itemset)) for itemset in itemsets)


def _count(block: Transactions, counted: dict[tuple[str, ...], int]) -> None:
    """Add the supports in a block. Neighbours in the order share a beginning, whose bits are reused."""
    path: list[str] = []
    held: list[Words] = [all_ones(block.rows)]
    nothing = np.zeros_like(held[0])
    for itemset in counted:
        same = 0
        while same < min(len(path), len(itemset)) and path[same] == itemset[same]:
            same += 1
        del path[same:], held[same + 1 :]
        for name in itemset[same:]:
            code = block.number.get(name)
            held.append(nothing if code is None else held[-1] & block.bits[code])
            path.append(name)
        counted[itemset] += int(np.bitwise_count(held[-1]).sum(dtype=np.int64))


def _tree(supports: dict[tuple[str, ...], int], least: int, rows: int, longest: int | None) -> Frequent:
    """Counted itemsets, with all their subsets, as the tree that a miner makes."""
    items = sorted((name for name, *rest in supports if not rest), key=lambda name: (supports[name,], name))
    number = {name: place for place, name in enumerate(items)}
    ranked = {tuple(sorted(number[name] for name in one)): support for one, support in supports.items()}
    order = sorted(ranked, key=lambda path: (len(path), path))  # level by level: children stand together
    place = {path: node for node, path in enumerate(order)}
    nodes = np.zeros((len(order), 5), np.int32)
    for node, path in enumerate(order):
        parent = place[path[:-1]] if len(path) > 1 else -1
        nodes[node, :3] = path[-1], ranked[path], parent
        if parent >= 0:
            if nodes[parent, 4] == 0:
                nodes[parent, 3] = node
            nodes[parent, 4] = node + 1
    return Frequent(tuple(items), nodes, least, rows, np.arange(len(nodes)), longest)


def _evenly(blocks: Iterable[Transactions]) -> Iterator[Transactions]:
    """The blocks; a last block of less than half the size of the one before is merged with it."""
    held: list[Transactions] = []
    for block in blocks:
        held.append(block)
        if len(held) > 2:
            yield held.pop(0)
    if len(held) == 2 and 2 * held[1].rows < held[0].rows:
        held = [_together(*held)]
    yield from held


def _together(one: Transactions, other: Transactions) -> Transactions:
    items = tuple(sorted({*one.items, *other.items}))
    number = {name: place for place, name in enumerate(items)}
    rows, codes = [], []
    for part, shift in ((one, 0), (other, one.rows)):
        starts, held = part.by_row
        new = np.array([number[name] for name in part.items], np.int64)
        rows.append(np.repeat(np.arange(part.rows) + shift, np.diff(starts)))
        codes.append(new[held])
    return Transactions.from_cells(items, np.concatenate(rows), np.concatenate(codes), one.rows + other.rows)

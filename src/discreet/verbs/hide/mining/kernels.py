"""Compiled loops of the miner (Numba). Import lazily: compilation takes a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]


@njit(cache=True)
def _ones(word: Any) -> Any:
    """How many bits of a word are one. Compilers know this form and make one instruction of it."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True)
def _last_one(word: Any) -> Any:
    """The place of the lowest one of a word that is not zero."""
    return _ones((word & (~word + np.uint64(1))) - np.uint64(1))


@njit(cache=True)
def set_bits(bits: Array, row: Array, item: Array) -> None:
    """Set bit ``row[n]`` of the words of ``item[n]``, for all n."""
    for n in range(len(row)):
        bits[item[n], row[n] >> 6] |= np.uint64(1) << np.uint64(row[n] & 63)


@njit(cache=True)
def by_row(bits: Array, rows: int) -> tuple[Array, Array]:
    """Turn bits an item into items a transaction: where each begins, and the item numbers in order."""
    starts = np.zeros(rows + 1, np.int64)
    for item in range(bits.shape[0]):
        for place in range(bits.shape[1]):
            word = bits[item, place]
            while word:
                starts[(place << 6) + np.int64(_last_one(word)) + 1] += 1
                word &= word - np.uint64(1)
    for end in range(rows):
        starts[end + 1] += starts[end]
    codes, at = np.empty(starts[rows], np.int32), starts.copy()
    for item in range(bits.shape[0]):
        for place in range(bits.shape[1]):
            word = bits[item, place]
            while word:
                row = (place << 6) + np.int64(_last_one(word))
                codes[at[row]] = item
                at[row] += 1
                word &= word - np.uint64(1)
    return starts, codes


@njit(cache=True)
def _longer(held: Array) -> Array:
    """The same rows in an array of twice the length."""
    made = np.empty((2 * held.shape[0], held.shape[1]), held.dtype)
    for row in range(held.shape[0]):
        for column in range(held.shape[1]):
            made[row, column] = held[row, column]
    return made


@njit(cache=True)
def _occurrences(starts: Array, codes: Array, singles: Array) -> tuple[Array, Array, Array]:
    """Where each item is: where its list begins, the places in ``codes``, and for each place where its row ends."""
    first = np.zeros(len(singles) + 1, np.int64)
    for item in range(len(singles)):
        first[item + 1] = first[item] + singles[item]
    at, owners, ends = first.copy(), np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            item = codes[place]
            owners[at[item]] = place
            at[item] += 1
            ends[place] = starts[row + 1]
    return first, owners, ends


@njit(cache=True)
def _add(nodes: Array, made: int, item: Any, support: Any, parent: int) -> Array:
    """Write one more node, without children, in a longer array if need be."""
    if made == nodes.shape[0]:
        nodes = _longer(nodes)
    nodes[made, 0], nodes[made, 1], nodes[made, 2] = item, support, parent
    nodes[made, 3], nodes[made, 4] = 0, 0
    return nodes


@njit(cache=True)
def _join(  # noqa: PLR0917  # Numba takes arguments by position
    nodes: Array, made: int, slots: Array, begin: int, least: int, longest: int, most: int
) -> tuple[Array, int]:
    """Join the siblings from node ``begin`` on, whose bits are in the first half of the slots, as long as possible.

    The classes of siblings that are not done stand in the slots one behind another. Of each there is a frame: the slot
    of the next sibling to be joined with those after it, the end of the class, and the node of that sibling.
    """
    members, wide = slots.shape[0] // 2, slots.shape[1]
    frames = np.empty((members + 1, 3), np.int64)
    frames[0, 0], frames[0, 1], frames[0, 2] = 0, members, begin
    depth = 0
    while depth >= 0 and made <= most:
        one, end, node = frames[depth, 0], frames[depth, 1], frames[depth, 2]
        if end - one < 2 or depth + 3 > longest:  # the last one has no one to be joined with
            depth -= 1
            continue
        frames[depth, 0], frames[depth, 2] = one + 1, node + 1
        if slots.shape[0] < 2 * end - one:
            slots = _longer(slots)
        fresh, born = end, made
        for other in range(one + 1, end):
            total = np.uint64(0)
            for word in range(wide):
                both = slots[one, word] & slots[other, word]
                slots[fresh, word] = both
                total += _ones(both)
            if np.int64(total) >= least:
                nodes = _add(nodes, made, np.int64(nodes[node + other - one, 0]), np.int64(total), node)
                made += 1
                fresh += 1
        nodes[node, 3], nodes[node, 4] = born, made
        if fresh - end > 1:
            depth += 1
            frames[depth, 0], frames[depth, 1], frames[depth, 2] = end, fresh, born
    return nodes, made


@njit(cache=True)
def grow(  # noqa: PLR0917  # Numba takes arguments by position
    starts: Array, codes: Array, singles: Array, least: int, longest: int, most: int
) -> Array:
    """All frequent itemsets, by depth first search (eclat, Zaki 2000), as the nodes of a tree.

    The transactions come row by row, with the frequent items only, numbered by ascending support; ``singles`` are
    their supports. A node is (last item, support, parent, first child, end of the children); the children of a node
    stand together, in the order of their items, and the first nodes are the single items.

    For each item i the transactions that have it are gone through once, and the items after i are counted (which
    costs what is there, not what could be). Those that stay frequent get a bit for each of these transactions only.
    From there on, itemsets are joined by AND. So bits are dense even where the data is sparse. Ends early, with more
    than ``most`` nodes, if there are more than that.
    """
    count = made = len(singles)
    nodes = np.empty((max(2 * count, 1024), 5), np.int32)
    for item in range(count):
        nodes[item, 0], nodes[item, 1], nodes[item, 2] = item, singles[item], -1
        nodes[item, 3], nodes[item, 4] = 0, 0
    first, owners, ends = _occurrences(starts, codes, singles)
    counts, local = np.zeros(count, np.int64), np.empty(count, np.int64)
    for item in range(count if longest > 1 else 0):
        for entry in range(first[item], first[item + 1]):
            for place in range(owners[entry] + 1, ends[owners[entry]]):
                counts[codes[place]] += 1
        begin = made
        for other in range(item + 1, count):
            local[other] = -1
            if counts[other] >= least:
                nodes = _add(nodes, made, other, counts[other], item)
                local[other] = made - begin
                made += 1
            counts[other] = 0
        nodes[item, 3], nodes[item, 4] = begin, made
        if made - begin < 2 or longest == 2:
            continue
        slots = np.zeros((2 * (made - begin), (singles[item] + 63) >> 6), np.uint64)
        for number in range(singles[item]):
            owner = owners[first[item] + number]
            bit = np.uint64(1) << np.uint64(number & 63)
            for place in range(owner + 1, ends[owner]):
                if local[codes[place]] >= 0:
                    slots[local[codes[place]], number >> 6] |= bit
        nodes, made = _join(nodes, made, slots, begin, least, longest, most)
        if made > most:
            break
    return nodes[:made]


@njit(cache=True)
def _path(nodes: Array, node: int, path: Array) -> int:
    """Write the items of a node's itemset into ``path``, in order; how many there are."""
    length, up = 0, node
    while up >= 0:
        length += 1
        up = nodes[up, 2]
    place, up = length, node
    while up >= 0:
        place -= 1
        path[place] = nodes[up, 0]
        up = nodes[up, 2]
    return length


@njit(cache=True)
def _child(nodes: Array, node: Any, item: int) -> Any:
    """The node one item further, or -1."""
    if node < 0:
        return item
    low, high = nodes[node, 3], nodes[node, 4]
    while low < high:
        middle = (low + high) // 2
        if nodes[middle, 0] < item:
            low = middle + 1
        else:
            high = middle
    return low if low < nodes[node, 4] and nodes[low, 0] == item else -1


@njit(cache=True)
def _without(nodes: Array, path: Array, length: int, left_out: Array) -> Any:
    """The node of the first ``length`` items of a path but those ``left_out``; -1 if it is not frequent."""
    node = np.int64(-1)
    for place in range(length):
        if not left_out[place]:
            node = _child(nodes, node, path[place])
            if node < 0:
                return -1
    return node


@njit(cache=True)
def covered(nodes: Array, deepest: int) -> Array:
    """For each node: has it a frequent superset with one item more (1), one of the same support even (2), or none (0)?

    If any superset is frequent then so is one with one item more, and its support is between the two.
    """
    found = np.zeros(len(nodes), np.uint8)
    path, left_out = np.empty(deepest, np.int32), np.zeros(deepest, np.bool_)
    for node in range(len(nodes)):
        length = _path(nodes, node, path)
        for place in range(length if length > 1 else 0):
            left_out[place] = True
            part = _without(nodes, path, length, left_out)
            left_out[place] = False
            if nodes[part, 1] == nodes[node, 1]:
                found[part] = 2
            elif found[part] == 0:
                found[part] = 1
    return found


@njit(cache=True)
def joined(nodes: Array, singles: int, deepest: int) -> Array:
    """Pairs of siblings whose union is not frequent, while all that is left by taking one item out of it is."""
    found, made = np.empty((64, 2), np.int32), 0
    path, left_out = np.empty(deepest + 1, np.int32), np.zeros(deepest + 1, np.bool_)
    for node in range(len(nodes)):
        length = _path(nodes, node, path)
        up = nodes[node, 2]
        for other in range(node + 1, singles if up < 0 else nodes[up, 4]):
            path[length] = nodes[other, 0]
            if _child(nodes, node, nodes[other, 0]) >= 0:
                continue
            whole = True
            for place in range(length - 1):
                left_out[place] = True
                whole = _without(nodes, path, length + 1, left_out) >= 0
                left_out[place] = False
                if not whole:
                    break
            if whole:
                if made == found.shape[0]:
                    found = _longer(found)
                found[made, 0], found[made, 1] = node, other
                made += 1
    return found[:made]


@njit(cache=True)
def implied(nodes: Array, needed: Array, deepest: int, most: int) -> Array:
    """All rules that hold: (whole itemset, antecedent, consequent) as nodes.

    ``needed[n]`` is the support that a whole must have for the antecedent n. A larger consequent leaves a smaller
    antecedent with at least the support, so that where one fails, all larger ones that contain it do. Ends early, with
    more than ``most`` rules, if there are more than that.
    """
    found, made = np.empty((64, 3), np.int32), 0
    path, chosen = np.empty(deepest, np.int32), np.empty(deepest, np.int32)
    out, kept = np.zeros(deepest, np.bool_), np.ones(deepest, np.bool_)
    for node in range(len(nodes)):
        length, size, place = _path(nodes, node, path), 0, 0
        while True:
            if place == length or size == length - 1:  # go back: give up the last item and try the next one
                if size == 0:
                    break
                size -= 1
                place = chosen[size]
                out[place], kept[place] = False, True
                place += 1
                continue
            out[place], kept[place] = True, False
            left = _without(nodes, path, length, out)
            if nodes[node, 1] >= needed[left]:
                if made == found.shape[0]:
                    found = _longer(found)
                found[made, 0], found[made, 1] = node, left
                found[made, 2] = _without(nodes, path, length, kept)
                made += 1
                if made > most:
                    return found[:made]
                chosen[size] = place
                size += 1
            else:
                out[place], kept[place] = False, True
            place += 1
    return found[:made]

"""Numba kernels of the lattice search. Import this where it is needed only: compiling takes a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing


@njit(cache=True)
def number_keys(keys: Array) -> tuple[Array, Array]:
    """Number different keys by first appearance: the number of each key, and where each number appears first."""
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    high, last = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    slots = np.full(1 << bits, -1, np.int32)
    numbers, firsts = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
    seen = np.empty(len(keys), np.uint64)
    found = 0
    for place in range(len(keys)):
        key = keys[place]
        slot = (key * _SPREAD) >> high
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = found
                seen[found], firsts[found] = key, place
                numbers[place] = found
                found += 1
                break
            if seen[number] == key:
                numbers[place] = number
                break
            slot = (slot + np.uint64(1)) & last
    return numbers, firsts[:found]


@njit(cache=True)
def coarsen(  # noqa: PLR0917  # Numba takes arguments by position
    keys: Array, members: Array, counts: Array, before: Array, after: Array, fields: Array, starts: Array, up: Array
) -> tuple[Array, Array, Array, Array]:
    """Put classes together that have the same labels when columns go from one level to another.

    The key of a class is the labels of all columns, each a field of bits: ``fields`` has word, shift and mask of
    each. ``up[starts[c, a, b] + label]`` is the new label of column c, shifted; with a negative start there is one
    label only, 0. Returned are for each class the number of its new one, by first appearance, and for each of those its
    first member, its key and the sum of the counts. Keys are exact: they are equal only if all labels are.
    """
    words, count = keys.shape
    fresh = np.empty((words, count), np.uint64)
    for word in range(words):
        stay = np.uint64(0xFFFFFFFFFFFFFFFF)
        for column in range(len(before)):
            if fields[column, 0] == word and before[column] != after[column]:
                stay &= ~(fields[column, 2] << fields[column, 1])
        old, new = keys[word], fresh[word]
        for place in range(count):
            new[place] = old[place] & stay
        for column in range(len(before)):
            start = starts[column, before[column], after[column]]
            if fields[column, 0] == word and start >= 0:
                begin, shift, mask = np.uint64(start), fields[column, 1], fields[column, 2]
                for place in range(count):
                    new[place] |= up[begin + ((old[place] >> shift) & mask)]
    numbers, firsts = number_keys(fresh[0])
    for word in range(1, words):
        others, apart = number_keys(fresh[word])
        both = numbers.astype(np.uint64)
        for place in range(count):
            both[place] = both[place] * np.uint64(len(apart)) + others[place]
        numbers, firsts = number_keys(both)
    first = np.empty(len(firsts), members.dtype)
    labels = np.empty((words, len(firsts)), np.uint64)
    sums = np.zeros(len(firsts), np.int64)
    for number in range(len(firsts)):
        first[number] = members[firsts[number]]
        for word in range(words):
            labels[word, number] = fresh[word, firsts[number]]
    for place in range(count):
        sums[numbers[place]] += counts[place]
    return numbers, first, labels, sums


@njit(cache=True)
def tally(  # noqa: PLR0917
    codes: Array, offsets: Array, members: Array, counts: Array, numbers: Array, kept: Array
) -> tuple[Array, int]:
    """Rows of each value among members whose class is not kept, the values of all columns in one line (column c begins
    at ``offsets[c]``), and the number of these members."""
    found, gone = np.zeros(offsets[-1], np.float64), 0
    for place in range(len(members)):
        if not kept[numbers[place]]:
            gone += 1
            for column in range(codes.shape[1]):
                found[offsets[column] + codes[members[place], column]] += counts[place]
    return found, gone


@njit(cache=True)
def part(keys: Array, members: Array, counts: Array, numbers: Array, kept: Array) -> tuple[Array, Array, Array]:
    """Members whose class is kept, with their keys and counts."""
    stay = 0
    for number in numbers:
        stay += kept[number]
    here, rows = np.empty(stay, members.dtype), np.empty(stay, np.int64)
    labels = np.empty((len(keys), stay), np.uint64)
    at = 0
    for place in range(len(members)):
        if kept[numbers[place]]:
            here[at], rows[at] = members[place], counts[place]
            for word in range(len(keys)):
                labels[word, at] = keys[word, place]
            at += 1
    return labels, here, rows


@njit(cache=True)
def lost(counts: Array, kept: Array) -> int:
    """The sum of the counts that are not kept."""
    total = 0
    for place in range(len(counts)):
        if not kept[place]:
            total += counts[place]
    return total


@njit(cache=True)
def weigh(found: Array, offsets: Array, weights: Array, starts: Array, base: Array) -> Array:
    """For each column and level ``base`` plus the sum over its values of rows × weight."""
    sums = base.copy()
    for column in range(base.shape[0]):
        first, end = offsets[column], offsets[column + 1]
        for level in range(base.shape[1]):
            start = starts[column, level]
            if start >= 0:
                for value in range(first, end):
                    sums[column, level] += found[value] * weights[start + value - first]
    return sums

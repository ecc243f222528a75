"""Vectors of integers modulo 2**bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.verbs.combine.group import ModularGroup

BITS = (1, 8, 16, 24, 40, 56, 64, 72, 128, 256)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BITS), st.lists(st.integers(-(2**300), 2**300), max_size=20))
def test_vectors_and_bytes(bits: int, numbers: list[int]) -> None:
    group = ModularGroup(bits)
    vector = group.vector(numbers)
    assert [int(one) for one in vector] == [number % group.modulus for number in numbers]
    assert vector.dtype == group.dtype
    packed = group.pack(vector)
    assert len(packed) == group.size(len(numbers))
    again = group.unpack(packed, len(numbers))
    assert again.dtype == group.dtype and again.tolist() == vector.tolist()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(BITS), st.lists(st.tuples(*[st.integers(0, 2**256)] * 3), min_size=1, max_size=9))
def test_sums_and_differences(bits: int, rows: list[tuple[int, int, int]]) -> None:
    group = ModularGroup(bits)
    a, b, c = (group.vector(column) for column in zip(*rows, strict=True))
    want = [(x - y + z) % group.modulus for x, y, z in rows]
    assert [int(one) for one in group.reduce(a - b + c)] == want
    assert group.pack(a - b + c) == group.pack(group.vector(want))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64])
def test_arrays(kind: type) -> None:
    assert ModularGroup(16).vector(np.array([1, 2, 100], kind)).tolist() == [1, 2, 100]
    assert ModularGroup(8).vector(np.array([-1, -128], np.int8)).tolist() == [255, 128]


def test_bytes_are_the_lowest_first() -> None:
    assert ModularGroup(24).pack(ModularGroup(24).vector([1, 0x030201])) == bytes([1, 0, 0, 1, 2, 3])
    assert ModularGroup(72).pack(ModularGroup(72).vector([0x0201])) == bytes([1, 2, *[0] * 7])
    assert ModularGroup(1).pack(ModularGroup(1).vector([1, 0, 0, 0, 0, 0, 0, 0, 1])) == bytes([1, 1])


@pytest.mark.parametrize(("most", "bits"), [(0, 1), (1, 1), (2, 8), (255, 8), (256, 16), (2**64 - 1, 64), (2**64, 72)])
def test_holding(most: int, bits: int) -> None:
    assert ModularGroup.fitting(most) == ModularGroup(bits)
    assert most < ModularGroup(bits).modulus


@pytest.mark.parametrize("bits", [0, -8, 2, 7, 12, 65, 4104])
def test_no_such_group(bits: int) -> None:
    with pytest.raises(BadInput, match="1 bit, or a multiple of 8"):
        ModularGroup(bits)


@pytest.mark.parametrize(("bits", "size"), [(1, 2), (8, 10), (24, 25), (64, 81), (128, 0)])
def test_bytes_of_another_length(bits: int, size: int) -> None:
    with pytest.raises(BadInput, match="take"):
        ModularGroup(bits).unpack(bytes(size), 9 if bits != 1 else 3)

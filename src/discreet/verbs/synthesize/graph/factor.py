"""Arrays whose axes are columns: line one up with another, multiply two, and sum columns out."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Number = TypeVar("Number", bound=np.number[Any])

PLAIN = 1 << 20  # products below this many terms are summed here: BLAS wakes threads, which costs more


def aligned(array: Array, columns: Sequence[int], onto: Sequence[int]) -> Array:
    """The array over `columns` as a view that broadcasts against an array over `onto`, which holds them all."""
    order = sorted(range(len(columns)), key=lambda axis: onto.index(columns[axis]))
    present = {columns[axis]: array.shape[axis] for axis in order}
    return array.transpose(order).reshape([present.get(column, 1) for column in onto])


def summed(array: NDArray[Number], columns: Sequence[int], onto: Sequence[int]) -> NDArray[Number]:
    """The array over `columns` with everything but `onto` summed out; its axes in the order of `onto`."""
    gone = tuple(axis for axis, column in enumerate(columns) if column not in onto)
    kept = [column for column in columns if column in onto]
    result: NDArray[Number] = np.asarray(array.sum(axis=gone))
    return result.transpose([kept.index(column) for column in onto])


def multiplied(one: Array, columns: Sequence[int], other: Array, others: Sequence[int], onto: Sequence[int]) -> Array:
    """The product of two arrays over columns, with everything but `onto` summed out."""
    sizes = dict(zip(columns, one.shape, strict=True)) | dict(zip(others, other.shape, strict=True))
    names = dict(zip(sizes, string.ascii_letters, strict=False))
    left, right, out = ("".join(names[column] for column in some) for some in (columns, others, onto))
    terms = math.prod(sizes.values())
    result: Array = np.einsum(f"{left},{right}->{out}", one, other, optimize=terms > PLAIN)
    return result

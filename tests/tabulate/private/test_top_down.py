"""Whole numbers: never below zero, every sum met exactly, whatever the figures; and the nearest where that is small."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadInput, NoPromise
from discreet.verbs.tabulate.private.strategy import Columns
from discreet.verbs.tabulate.private.top_down import in_whole_numbers, require_fits, split, transported
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed

figures = st.floats(-50, 50, allow_nan=False)


@st.composite
def sums(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of figures, and sums of rows and columns that have one total and nothing else to do with it."""
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    there = np.array(draw(st.lists(st.integers(0, 9), min_size=25, max_size=25)))[: shape[0] * shape[1]].reshape(shape)
    target = np.array(draw(st.lists(figures, min_size=25, max_size=25)))[: shape[0] * shape[1]].reshape(shape)
    return target, there.sum(axis=1), there.sum(axis=0)


@given(sums())
def test_sums_of_rows_and_columns_are_met(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    target, rows, columns = case
    table = transported(target, rows, columns)
    assert table.dtype == np.int64
    assert table.min() >= 0
    assert (table.sum(axis=1) == rows).all()
    assert (table.sum(axis=0) == columns).all()
    parts = split(target, rows)
    assert parts.min() >= 0
    assert (parts.sum(axis=1) == rows).all()


def test_what_has_the_sums_already_is_left_alone() -> None:
    there = np.array([[3, 0, 7], [1, 0, 2]])
    assert (transported(there + 0.2, there.sum(axis=1), there.sum(axis=0)) == there).all()
    assert (split(there - 0.4, there.sum(axis=1)) == there).all()


def test_what_cannot_be_met_is_refused() -> None:
    with pytest.raises(NoPromise, match="different totals"):
        transported(np.zeros((2, 2)), np.array([1, 1]), np.array([1, 2]))
    with pytest.raises(NoPromise, match="too large"):
        split(np.full((1, 3), 1e20), np.array([2**60 + 1]))


@given(st.lists(st.floats(-2, 5), min_size=4, max_size=4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_of_two_by_two_the_nearest_is_found(target: list[float], a: int, b: int, c: int) -> None:
    """There is one such table for each value of the first cell, so that all can be tried."""
    near = np.array(target).reshape(2, 2)
    rows, columns = np.array([a + b, c]), np.array([a + c, b])
    all_tables = [np.array([[x, rows[0] - x], [columns[0] - x, rows[1] - columns[0] + x]]) for x in range(13)]
    best = min(float(((one - near) ** 2).sum()) for one in all_tables if one.min() >= 0)
    assert float(((transported(near, rows, columns) - near) ** 2).sum()) <= best + 0.1


@st.composite
def trees(draw: st.DrawFn, name: str) -> Dimension:
    leaves = draw(st.integers(1, 6))
    depth = draw(st.integers(0, 2))
    paths = []
    for leaf in range(leaves):
        path = [f"{name}{leaf}"]
        for level in range(1, depth + 1):
            path.append(f"{name}{level}.{leaf // (2**level)}")
        paths.append(path)
    return Dimension.from_paths(name, paths)


SETS = [("a",), ("ab",), ("ab", "bc", "ac"), ("abc",), ("abc", "abd"), ("abc", "ad", "bd"), ("a", "b"), ("ab", "a")]


@settings(max_examples=50)
@given(st.sampled_from(SETS), st.data())
def test_tables_agree_exactly_whatever_the_figures(sets: tuple[str, ...], data: st.DataObject) -> None:
    sides = {name: data.draw(trees(name)) for name in "abcd"}
    tables = tuple(map(frozenset, sets))
    seed = data.draw(st.integers(0, 2**32 - 1))

    def real(columns: Columns) -> np.ndarray:
        shape = [len(sides[name].leaves) for name in sides if name in columns]
        return np.random.default_rng([seed, len(columns)]).normal(2, 5, shape)

    require_fits(tables)
    found = in_whole_numbers(sides, tables, real)
    printed = []
    for columns in tables:
        axes = [sides[name] for name in sides if name in columns]
        assert found[columns].min() >= 0
        printed.append(CrossTable(tuple(axes), summed(axes, found[columns])))
    cells = Cells.of(*printed)  # an error if a cell that tables share has two figures
    assert not len(cells.broken())
    assert cells.values[0] == max(0, round(float(real(frozenset()))))


@pytest.mark.parametrize("sets", [("abc", "abd", "acd", "bcd"), ("abc", "abd", "ace")])
def test_tables_that_share_too_much_are_refused(sets: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="overlaps too much"):
        require_fits(map(frozenset, sets))


def test_three_sums_can_contradict_each_other() -> None:
    """Why more than two parts are refused: sums by each pair of three yes-or-no columns that agree by every single
    column, and no counts >= 0 that have them, in whole numbers or not."""
    even, odd = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
    for cells in product(range(2), repeat=8):
        cube = np.array(cells).reshape(2, 2, 2)
        fits = [(cube.sum(axis=axis) == want).all() for axis, want in enumerate((even, even, odd))]
        assert not all(fits)
    assert (even.sum(axis=0) == odd.sum(axis=0)).all()
    assert (even.sum(axis=1) == odd.sum(axis=1)).all()

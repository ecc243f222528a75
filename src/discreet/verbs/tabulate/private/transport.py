"""Whole numbers, none below zero, with given sums, as near as can be to given figures."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from discreet.errors import NoPromise

_Numbers = np.ndarray[Any, Any]
_ROUNDS = 100
_CLOSE = 1e-2
_LITTLE = 1e-9


def split(target: _Numbers, rows: _Numbers) -> _Numbers:
    """Whole numbers >= 0 near ``target`` whose rows have these sums, which are whole and >= 0.

    Why the sums are met: the nearest real table is rounded down, and what each row then lacks, less than its number
    of cells, is given one by one to the largest remainders.
    """
    near = np.maximum(target + _shifts(target, rows)[:, None], 0.0)
    table = np.floor(near).astype(np.int64)
    lacking = rows - table.sum(axis=1)
    if lacking.min(initial=0) < 0 or lacking.max(initial=0) > target.shape[1]:
        raise NoPromise("The figures are too large to be told apart in floating point, so no table is made of them.")
    places = np.argsort(np.argsort(table - near, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(table + (places < lacking[:, None]))


def transported(target: _Numbers, rows: _Numbers, columns: _Numbers) -> _Numbers:
    """Whole numbers >= 0 near ``target`` with these sums of rows and columns, which are whole, >= 0 and of one total.

    Why the sums are met: the nearest real table with these sums is found approximately, rounded, and then changed by
    one along shortest paths, each of which settles one unit of what is still missing (successive shortest paths,
    which with convex costs keep what is found nearest: Ahuja, Magnanti, Orlin 1993, section 14.5). A row that lacks
    a unit and a column that does share a cell, so there is always a path.
    """
    if rows.sum() != columns.sum():
        raise NoPromise("Sums of rows and columns that differ in all contradict each other, so no table has them.")
    near = _nearest(target, rows, columns)
    table = np.rint(near).astype(np.int64)
    lacking, wanting = rows - table.sum(axis=1), columns - table.sum(axis=0)
    while lacking.any() or wanting.any():
        _settle(table, near, lacking, wanting)
    return table


def _nearest(target: _Numbers, rows: _Numbers, columns: _Numbers) -> _Numbers:
    """Nearly the nearest real table >= 0 with these sums.

    It is max(0, target + a + b) for some shift a of each row and b of each column (the conditions of Karush, Kuhn and
    Tucker); each is found while the other is held, in turns, which never moves away (coordinate ascent on the dual).
    """
    down = np.zeros(len(rows))
    across = np.zeros(len(columns))
    for _ in range(_ROUNDS):
        down = _shifts(target + across, rows)
        table = np.maximum(target + down[:, None] + across, 0.0)
        if np.abs(table.sum(axis=0) - columns).max() < _CLOSE:
            break
        across = _shifts((target + down[:, None]).T, columns)
    return np.maximum(target + down[:, None] + across, 0.0)


def _shifts(target: _Numbers, sums: _Numbers) -> _Numbers:
    """For each row the s with Σ max(0, target + s) = its sum: the projection onto a simplex (Held and others 1974)."""
    falling = -np.sort(-target, axis=1)
    over = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, target.shape[1] + 1)
    last = np.maximum((falling > over).sum(axis=1) - 1, 0)
    return np.asarray(-np.take_along_axis(over, last[:, None], axis=1)[:, 0])


def _settle(table: _Numbers, near: _Numbers, lacking: _Numbers, wanting: _Numbers) -> None:
    """Change cells by one along shortest paths, no two of which meet; each settles one unit of what is missing."""
    up = 2 * (table - near) + 1  # what one more adds to the squared distance
    down = np.where(table > 0, 1 - 2 * (table - near), np.inf)
    to_row = np.where(lacking > 0, 0.0, np.inf)
    to_column = np.where(wanting < 0, 0.0, np.inf)
    row_from = np.full(len(lacking), -1)
    column_from = np.full(len(wanting), -1)
    while True:
        changed = _shorter(to_row[:, None] + up, to_column, column_from)
        if not _shorter((to_column + down).T, to_row, row_from) and not changed:
            break
    ends = [(to_row[row], False, row) for row in np.flatnonzero(lacking < 0).tolist()]
    ends += [(to_column[column], True, column) for column in np.flatnonzero(wanting > 0).tolist()]
    used: set[tuple[bool, int]] = set()
    for _, is_column, place in sorted(ends):
        path = [(is_column, place)]
        while (before := int((column_from if path[-1][0] else row_from)[path[-1][1]])) >= 0:
            path.append((not path[-1][0], before))
        if used.isdisjoint(path):
            used.update(path)
            _change(table, lacking, wanting, path)


def _change(table: _Numbers, lacking: _Numbers, wanting: _Numbers, path: list[tuple[bool, int]]) -> None:
    """Follow a path, its end first: one more from a row to a column, one less from a column to a row."""
    for (is_column, place), (_, before) in pairwise(path):
        if is_column:
            table[before, place] += 1
        else:
            table[place, before] -= 1
    for (is_column, place), sign in ((path[0], 1), (path[-1], -1)):
        if is_column:
            wanting[place] -= sign
        else:
            lacking[place] += sign


def _shorter(paths: _Numbers, known: _Numbers, through: _Numbers) -> bool:
    """Whether any of the places across is reached by a shorter path than is known; if so, it is known now."""
    best = paths.argmin(axis=0)
    length = paths[best, np.arange(len(known))]
    shorter = length < known - _LITTLE
    known[shorter] = length[shorter]
    through[shorter] = best[shorter]
    return bool(shorter.any())

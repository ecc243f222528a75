import itertools

import numpy as np
import pytest
from tests.tabulate.drawn import drawn

from discreet.verbs.tabulate.intruder.boxes import Boxes


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_rectangle_of_a_plain_table(seed):
    rng = np.random.default_rng(seed)
    cells = drawn(seed, sides=2, codes=6, nested=0.0)
    rows, columns = cells.tables[0].shape
    cost = rng.integers(1, 100, len(cells)).astype(float)
    shut = rng.random(len(cells)) < 0.1
    row, column = int(rng.integers(1, rows)), int(rng.integers(1, columns))
    cell = row * columns + column
    level = int(rng.integers(0, 10))
    best = np.inf
    for other, across in itertools.product(set(range(rows)) - {row}, set(range(columns)) - {column}):
        corners = np.array([cell, other * columns + column, row * columns + across, other * columns + across])
        if not shut[corners].any() and (cells.values[corners] >= level).all():
            best = min(best, cost[corners].sum())
    found = Boxes(cells).cheapest(cell, level, level, cost, shut)
    assert best == (np.inf if found is None else cost[found].sum())


@pytest.mark.parametrize("seed", range(20))
def test_corners_can_move_together(seed):
    cells = drawn(seed, sides=3)
    cell = int(np.random.default_rng(seed).integers(len(cells)))
    corners = Boxes(cells).cheapest(cell, 0, 0, np.ones(len(cells)), np.zeros(len(cells), bool))
    assert corners is not None and cell in corners and len(set(corners.tolist())) == len(corners)
    relations = cells.relations.toarray()[:, corners].astype(float)
    others = relations[:, corners != cell]
    change, *_ = np.linalg.lstsq(others, -relations[:, corners == cell].ravel(), rcond=None)
    np.testing.assert_allclose(np.abs(change), 1)
    np.testing.assert_allclose(others @ change, -relations[:, corners == cell].ravel(), atol=1e-9)

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


def moves(side, code):
    """Every way along one side: the codes that move with a leaf under this one, and those against it, with signs."""

    def above(leaf):
        while leaf >= 0:
            yield leaf
            leaf = side.parents[leaf]

    leaves = [set(above(int(leaf))) for leaf in side.leaves]
    for up in leaves:
        if code in up:
            yield dict.fromkeys(up, 1)
            for down in leaves:
                if code not in down:
                    yield dict.fromkeys(up - down, 1) | dict.fromkeys(down - up, -1)


def by_trying(cells, cell, below, above, cost, shut):
    """The least cost of a box all of whose corners may move with the cell."""
    (table,) = cells.tables
    best = np.inf
    ways = [
        list(moves(side, code))
        for side, code in zip(table.dimensions, np.unravel_index(cell, table.shape), strict=True)
    ]
    for box in itertools.product(*ways):
        total = 0.0
        for corner in itertools.product(*(one.items() for one in box)):
            place = np.ravel_multi_index([code for code, _ in corner], table.shape)
            up, down = (above, below) if np.prod([sign for _, sign in corner]) > 0 else (below, above)
            fits = cells.upper[place] - cells.values[place] >= up and cells.values[place] - cells.lower[place] >= down
            total += cost[place] if fits and not shut[place] else np.inf
        best = min(best, total)
    return best


@pytest.mark.parametrize("sides", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_box_of_all_with_totals_within_totals(seed, sides):
    """Levels below and above differ, and some cells have exactly the room that is needed."""
    cells = drawn(seed, sides=sides, codes=4 if sides < 3 else 2, nested=0.7, most=8)
    rng = np.random.default_rng(seed)
    cells = cells.knowing(np.zeros(len(cells)), cells.values + rng.integers(0, 9, len(cells)))
    boxes, cost = Boxes(cells), rng.integers(1, 100, len(cells)).astype(float)
    cost[rng.random(len(cells)) < 0.1] = np.inf
    for cell in rng.permutation(len(cells))[:6].tolist():
        shut = rng.random(len(cells)) < 0.05
        below, above = rng.integers(0, 4, 2).tolist()
        found = boxes.cheapest(cell, below, above, cost, shut)
        assert (np.inf if found is None else cost[found].sum()) == by_trying(cells, cell, below, above, cost, shut)

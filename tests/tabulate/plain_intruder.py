"""An intruder written another way, one program of SciPy over the whole table for each question, and tables for it."""

import numpy as np
from scipy.optimize import linprog
from tests.tabulate.drawn import drawn, side

from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, summed


def furthest(cells, hidden, cell, sign, known=()):
    """The largest (1) or smallest (-1) value a cell can have, if some hidden ones are known."""
    values = cells.values.astype(float)
    low, high = np.where(hidden, cells.lower, values), np.where(hidden, cells.upper, values)
    low[list(known)] = high[list(known)] = values[list(known)]
    goal = np.zeros(len(cells))
    goal[cell] = -sign
    relations = cells.relations.astype(float)
    found = linprog(goal, A_eq=relations, b_eq=np.zeros(relations.shape[0]), bounds=np.c_[low, high], method="highs")
    assert found.status in {0, 3}
    return -sign * found.fun if found.status == 0 else sign * np.inf


def lacking(cells, protection, hidden):
    """Every (cell, side, insider) that is too close."""
    found = set()
    for cell in np.flatnonzero(protection.sensitive).tolist():
        for sign, level in ((-1, protection.below[cell]), (1, protection.above[cell])):
            for insider, known in ((None, ()), *enumerate(protection.insiders)):
                if cell in known or (cell, sign, None) in found:
                    continue
                if sign * (furthest(cells, hidden, cell, sign, known) - cells.values[cell]) < level - 1e-6:
                    found.add((cell, sign, insider))
    return found


def linked(seed):
    """The cells of two tables that share a side."""
    rng = np.random.default_rng(seed)
    sides = [side(rng, name, 3, nested) for name, nested in (("a", True), ("b", False), ("c", False))]
    inner = rng.integers(0, 40, size=[len(one.leaves) for one in sides])
    one, two = (sides[0], sides[1]), (sides[0], sides[2])
    return Cells.of(
        CrossTable(one, summed(one, inner.sum(axis=2))),
        CrossTable(two, summed(two, inner.sum(axis=1))),
    )


def task(seed):
    """Cells with sensitive ones among them, now and then with insiders and with what everybody knows."""
    rng = np.random.default_rng(seed)
    cells = linked(seed) if seed % 4 == 3 else drawn(seed, sides=2 + seed % 2, codes=3)
    if seed % 5 == 4:
        cells = cells.knowing(np.floor(cells.values / 2), np.ceil(cells.values * 1.5) + 1)
    ends = np.minimum(cells.values - cells.lower, cells.upper - cells.values)
    some = rng.permutation(np.flatnonzero((cells.values > 0) & (ends > 0)))[: 2 + len(cells) // 12]
    sensitive = np.zeros(len(cells), bool)
    sensitive[some] = True
    level = np.where(sensitive, np.minimum(ends, 1 + np.floor(cells.values * 0.1)), 0.0)
    insiders = tuple((int(cell),) for cell in some[:2]) if seed % 3 == 1 else ()
    return cells, Protection(sensitive, level, np.floor(level * 1.5), insiders=insiders)

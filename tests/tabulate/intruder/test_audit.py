import numpy as np
import pytest
from tests.tabulate.municipality import salaries
from tests.tabulate.plain_intruder import furthest, lacking, task

from discreet.errors import NoPromise
from discreet.verbs.tabulate.intruder.audit import certify, intervals, recoverable, short
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed


def hide(table, *codes):
    hidden = np.zeros(table.size, bool)
    hidden[[table.cell(*one) for one in codes]] = True
    return hidden


def test_one_hidden_municipality_is_computed_and_four_are_not():
    table = salaries()
    cells = Cells.of(table)
    alone = hide(table, ("M2", "P3"))
    cell = table.cell("M2", "P3")
    told = intervals(cells, alone)
    assert told.low[cell] == told.high[cell] == 22
    assert recoverable(cells, alone).tolist() == [cell]
    four = hide(table, ("M2", "P3"), ("M2", "P5"), ("M1", "P3"), ("M1", "P5"))
    told = intervals(cells, four)
    assert (told.low[cell], told.high[cell]) == (0, 342)
    assert not len(recoverable(cells, four))
    assert (told.low[~four] == cells.values[~four]).all()


@pytest.mark.parametrize("seed", range(18))
def test_intervals_are_those_of_the_plain_intruder(seed):
    cells, _ = task(seed)
    rng = np.random.default_rng(seed)
    hidden = rng.random(len(cells)) < rng.uniform(0.2, 0.8)
    if seed % 6 == 5:
        free = rng.random(len(cells)) < 0.5
        cells = cells.knowing(np.where(free, -np.inf, cells.lower), cells.upper)
    told = intervals(cells, hidden)
    some = rng.permutation(np.flatnonzero(hidden))[:12]
    low, high = ([furthest(cells, hidden, cell, sign) for cell in some] for sign in (-1, 1))
    np.testing.assert_allclose(told.low[some], low, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(told.high[some], high, rtol=1e-6, atol=1e-6)
    assert recoverable(cells, hidden).tolist() == np.flatnonzero(hidden & (told.low == told.high)).tolist()


@pytest.mark.parametrize("seed", range(18))
def test_short_is_what_the_plain_intruder_finds(seed):
    cells, protection = task(seed)
    hidden = protection.sensitive | (np.random.default_rng(seed).random(len(cells)) < 0.5)
    found = short(cells, protection, hidden)
    assert {(one.cell, one.side, one.insider) for one in found} == lacking(cells, protection, hidden)
    if found:
        with pytest.raises(NoPromise, match=cells.name(found[0].cell)):
            certify(cells, protection, hidden)
    else:
        certify(cells, protection, hidden)


def test_only_some_cells_and_what_an_insider_knows():
    table = salaries()
    cells = Cells.of(table)
    four = hide(table, ("M2", "P3"), ("M2", "P5"), ("M1", "P3"), ("M1", "P5"))
    cell, other = table.cell("M2", "P3"), table.cell("M1", "P5")
    told = intervals(cells, four, only=np.array([cell]))
    assert (told.low[cell], told.high[cell]) == (0, 342)
    assert (told.low[other], told.high[other]) == (0, np.inf)
    told = intervals(cells, four, known=(other,))
    assert told.low[cell] == told.high[cell] == 22
    assert set(recoverable(cells, four, known=(other,))) == set(np.flatnonzero(four)) - {other}


def test_a_sensitive_cell_that_is_printed_is_short():
    table = salaries()
    cells = Cells.of(table)
    sensitive = hide(table, ("M2", "P3"))
    level = np.where(sensitive, 3.0, 0.0)
    found = short(cells, Protection(sensitive, level, level), np.zeros(len(cells), bool))
    assert {(one.cell, one.side) for one in found} == {(table.cell("M2", "P3"), -1), (table.cell("M2", "P3"), 1)}


def test_the_parts_of_a_total_of_zero_are_known():
    side = Dimension.flat("a", "xyz")
    cells = Cells.of(CrossTable((side,), summed((side,), np.zeros(3, np.int64))))
    hidden = np.array([False, True, True, True])
    assert recoverable(cells, hidden).tolist() == [1, 2, 3]


def test_large_figures_do_not_hide_a_narrow_interval():
    sides = tuple(Dimension.flat(name, "xy") for name in "abc")
    cells = Cells.of(CrossTable(sides, summed(sides, np.full((2, 2, 2), 10**15))))
    inner = np.zeros((3, 3, 3), bool)
    inner[1:, 1:, 1:] = True
    hidden = inner.ravel()
    cells = cells.knowing(cells.values - 1.0, cells.values + 1.0)
    told = intervals(cells, hidden)
    assert not len(recoverable(cells, hidden))
    assert (told.high[hidden] - told.low[hidden] == 2).all()


def test_progress_ends_with_all():
    cells, protection = task(2)
    shares = []
    intervals(cells, np.ones(len(cells), bool), progress=lambda share, what: shares.append(share))
    assert shares[-1] == 1 and shares == sorted(shares)
    shares.clear()
    short(cells, protection, np.ones(len(cells), bool), progress=lambda share, what: shares.append(share))
    assert shares[-1] == 1 and shares == sorted(shares)

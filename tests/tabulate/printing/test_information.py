"""Information loss: nothing lost, everything lost, and figures worked out by hand."""

import json

import numpy as np
import pytest
from tests.tabulate.municipality import people, salaries

from discreet.errors import BadInput
from discreet.verbs.tabulate.method import Intervals, Protection
from discreet.verbs.tabulate.printing.information import changed_loss, hidden_loss
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension

SIDE = (Dimension.flat("a", ["x", "y", "z"]),)


def line(*values, decimals=0):
    return Cells.of(CrossTable(SIDE, np.array(values, np.int64), decimals=decimals))


def protection(cells, *sensitive):
    chosen = np.zeros(len(cells), bool)
    chosen[list(sensitive)] = True
    return Protection(chosen, chosen * 1.0, chosen * 1.0)


def test_a_table_that_did_not_change_lost_nothing():
    for table in (people(), salaries()):
        cells = Cells.of(table)
        loss = changed_loss(cells, cells.values)
        assert loss.to_dict() == {
            "cells": 24,
            "changed": 0,
            "mean_absolute": 0.0,
            "max_absolute": 0.0,
            "mean_relative": 0.0,
            "max_relative": 0.0,
            "chi_square": 0.0,
            "hellinger": 0.0,
            "mean_share": 0.0,
            "max_share": 0.0,
            "rank_correlation": 1.0,
            "gaps": 0,
        }
        assert "it adds up" in str(loss)


def test_figures_worked_out_by_hand():
    cells = line(100, 10, 20, 70, decimals=1)
    loss = changed_loss(cells, np.array([100, 20, 10, 70]))
    assert (loss.cells, loss.changed, loss.gaps) == (4, 2, 0)
    assert loss.mean_absolute == pytest.approx(0.5) and loss.max_absolute == pytest.approx(1.0)
    assert loss.mean_relative == pytest.approx((1 + 0.5) / 4) and loss.max_relative == 1
    assert loss.chi_square == pytest.approx((100 / 10 + 100 / 20) / 10)
    assert loss.hellinger == pytest.approx(np.sqrt(0.2) - np.sqrt(0.1))
    assert loss.mean_share == pytest.approx(0.2 / 3) and loss.max_share == pytest.approx(0.1)
    assert loss.rank_correlation == pytest.approx(0.5)


def test_everything_lost():
    moved = changed_loss(line(10, 10, 0, 0), np.array([10, 0, 0, 10]))
    assert moved.hellinger == pytest.approx(1.0) and moved.max_share == 1
    assert moved.rank_correlation == pytest.approx(-0.5)
    turned = changed_loss(line(6, 1, 2, 3), np.array([6, 3, 2, 1]))
    assert turned.rank_correlation == pytest.approx(-1)
    wiped = changed_loss(line(6, 1, 2, 3), np.zeros(4, np.int64))
    assert wiped.hellinger is None and wiped.rank_correlation is None and wiped.max_relative == 1
    torn = changed_loss(line(6, 1, 2, 3), np.array([5, 0, 0, 5]))
    assert torn.gaps == 0 and changed_loss(line(6, 1, 2, 3), np.array([5, 0, 5, 5])).gaps == 1


def test_negative_figures_have_no_distribution():
    loss = changed_loss(line(0, -1, -2, 3), np.array([0, -1, -1, 2]))
    assert loss.hellinger is None and loss.max_share == 0.0 and loss.max_relative == 0.5


def test_hidden_cells_are_counted_and_weighed():
    cells = line(100, 10, 20, 70)
    hidden = np.array([False, True, True, False])
    seen = Intervals(np.array([100, 0, 0, 70.0]), np.array([100, 30, 30, 70.0]))
    loss = hidden_loss(cells, protection(cells, 1), hidden, cells.values.astype(float), seen)
    assert (loss.cells, loss.primary, loss.secondary, loss.share) == (4, 1, 1, 0.5)
    assert loss.weight == 20 and loss.weight_share == pytest.approx(30 / 200)
    assert loss.width == pytest.approx((30 / 10 + 30 / 20) / 2) and loss.unbounded == 0
    assert str(loss).startswith("2 cells of 4 suppressed (50.0%), 1 of them sensitive; 15.0% of the total weight")
    json.dumps(loss.to_dict(), allow_nan=False)


def test_nothing_hidden_and_everything_hidden():
    cells = line(100, 10, 20, 70)
    none = hidden_loss(cells, protection(cells), np.zeros(4, bool), np.ones(4))
    assert (none.primary, none.secondary, none.share, none.weight, none.weight_share) == (0, 0, 0.0, 0.0, 0.0)
    assert none.width is None and none.unbounded is None
    endless = Intervals(np.zeros(4), np.full(4, np.inf))
    whole = hidden_loss(cells, protection(cells, 0, 1, 2, 3), np.ones(4, bool), np.zeros(4), endless)
    assert (whole.primary, whole.share, whole.weight_share, whole.width, whole.unbounded) == (4, 1.0, 0.0, None, 4)


def test_other_figures_are_refused():
    with pytest.raises(BadInput, match="compared"):
        changed_loss(line(6, 1, 2, 3), np.zeros(3, np.int64))

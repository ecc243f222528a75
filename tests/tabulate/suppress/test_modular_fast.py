"""What every search that gives no bound promises: whatever it hides protects, by an intruder written another way."""

import time

import numpy as np
import pytest
from tests.tabulate.municipality import salaries
from tests.tabulate.plain_intruder import furthest, lacking, task

from discreet.errors import NoPromise
from discreet.releases.method import silent
from discreet.verbs.tabulate.intruder.audit import certify
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.suppress.fast import fast
from discreet.verbs.tabulate.suppress.modular import _Pieces, modular
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed

both = pytest.mark.parametrize("search", [modular, fast])


def one_person():
    """The municipalities, where one salary is to be off by 3."""
    table = salaries()
    cells = Cells.of(table)
    sensitive = np.zeros(len(cells), bool)
    sensitive[table.cell("M2", "P3")] = True
    level = np.where(sensitive, 3.0, 0.0)
    return cells, Protection(sensitive, level, level)


@both
@pytest.mark.parametrize("seed", range(12))
def test_every_pattern_protects(search, seed):
    cells, protection = task(seed)
    weights = np.maximum(cells.values, 1).astype(float)
    pattern = search(cells, protection, weights, np.ones(len(cells), bool), seconds=60, gap=0.5)
    assert (pattern.hidden >= protection.sensitive).all()
    assert not lacking(cells, protection, pattern.hidden)
    assert pattern.weight == weights[pattern.hidden & ~protection.sensitive].sum()


@both
def test_what_must_be_printed_is_printed(search):
    cells, protection = task(0)
    totals = np.array(["Total" in cells.name(cell) for cell in range(len(cells))])
    zeros = cells.values == 0
    inner = Protection(protection.sensitive & ~totals, protection.below * ~totals, protection.above * ~totals)
    pattern = search(cells, inner, np.ones(len(cells)), ~totals & ~zeros, seconds=60, gap=0.5)
    assert not (pattern.hidden & (totals | zeros)).any()
    assert not lacking(cells, inner, pattern.hidden)


@both
def test_the_municipalities(search):
    cells, protection = one_person()
    pattern = search(cells, protection, cells.values.astype(float), ~protection.sensitive, seconds=60)
    assert pattern.hidden.sum() == 4
    assert pattern.weight <= 320 + 720 + 360


@both
def test_what_cannot_be_protected_is_refused_by_name(search):
    cells, protection = one_person()
    with pytest.raises(NoPromise, match="M2, P3"):
        search(cells, protection, np.ones(len(cells)), np.zeros(len(cells), bool), seconds=60)


@both
def test_no_time_is_refused_where_work_is_left(search):
    cells, protection = task(3)  # linked: shared cells have no boxes
    with pytest.raises(NoPromise, match="within the time limit"):
        search(cells, protection, np.ones(len(cells)), np.ones(len(cells), bool), seconds=0.0)


@both
def test_progress_is_told(search):
    cells, protection = task(0)
    shares = []
    everything = np.ones(len(cells), bool)
    search(cells, protection, np.ones(len(cells)), everything, seconds=60, progress=lambda s, what: shares.append(s))
    assert shares and 0 <= min(shares) <= max(shares) <= 1


def test_pieces_do_no_harm():
    cells, protection = task(1)
    weights = np.maximum(cells.values, 1).astype(float)
    one, other = (
        s(cells, protection, weights, np.ones(len(cells), bool), seconds=60, gap=0.5) for s in (modular, fast)
    )
    assert one.weight <= other.weight


@pytest.mark.slow
@both
def test_a_large_nested_table(search):
    rng = np.random.default_rng(7)
    sides = tuple(
        Dimension.from_paths(name, [(f"{name}{leaf}", f"{name}-{leaf // 4}") for leaf in range(16)]) for name in "abc"
    )
    inner = np.ceil(rng.lognormal(4, 1.5, (16, 16, 16))).astype(np.int64)
    cells = Cells.of(CrossTable(sides, summed(sides, inner)))
    sensitive = np.zeros(len(cells), bool)
    sensitive[rng.permutation(len(cells))[:400]] = True
    level = np.where(sensitive, np.ceil(cells.values * 0.1), 0.0)
    protection = Protection(sensitive, level, level)
    weights = cells.values.astype(float)
    pattern = search(cells, protection, weights, ~sensitive, seconds=60, gap=0.1)
    certify(cells, protection, pattern.hidden)
    for cell in rng.permutation(np.flatnonzero(sensitive))[:20]:
        for sign in (-1, 1):
            off = sign * (furthest(cells, pattern.hidden, cell, sign) - cells.values[cell])
            assert off >= level[cell] * (1 - 1e-6)


def test_a_piece_is_solved_three_times_at_most_and_only_when_another_one_asks():
    cells, protection = task(0)
    pieces = _Pieces(cells, protection, np.ones(len(cells)), np.ones(len(cells), bool))
    solved = []

    def protect(piece, seconds, gap):
        solved.append(next(number for number, one in enumerate(pieces.pieces) if one is piece))
        return set(range(len(pieces.pieces)))

    pieces.protect = protect
    pieces.protect_all(time.monotonic(), 600.0, 0.0, silent)
    assert len(pieces.pieces) > 1
    assert np.bincount(solved).tolist() == [3] * len(pieces.pieces)


def test_when_the_time_for_pieces_is_over_nothing_more_is_hidden():
    cells, protection = task(0)
    pieces = _Pieces(cells, protection, np.ones(len(cells)), np.ones(len(cells), bool))
    hidden = pieces.protect_all(time.monotonic() - 6.0, 10.0, 0.0, silent)
    assert hidden.tolist() == protection.sensitive.tolist()

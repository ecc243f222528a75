"""The exact solver against trying every pattern, with an intruder of its own."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.errors import NoPromise
from discreet.verbs.attack.intruder.network import Cut
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.suppress.demands import Demand, Demands
from discreet.verbs.tabulate.suppress.linear import Linear
from discreet.verbs.tabulate.suppress.optimal import optimal
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed


def flat(name, parts):
    return Dimension.flat(name, [f"{name}{place}" for place in range(parts)])


def nested(name, groups, parts):
    leaves = itertools.product(range(groups), range(parts))
    return Dimension.from_paths(name, [(f"{name}{group}.{part}", f"{name}{group}") for group, part in leaves])


def safe(cells, protection, hidden, shut, cell, side, level):
    """Whether an intruder who knows ``shut`` too holds it possible that a cell is off by a level."""
    low = np.where(hidden, cells.lower - cells.values, 0.0)
    high = np.where(hidden, cells.upper - cells.values, 0.0)
    low[list(shut)] = high[list(shut)] = 0.0
    if (high[cell] if side > 0 else -low[cell]) < level * (1 - 1e-6):
        return False
    low[cell] = high[cell] = level * side * (1 - 1e-6)
    nothing = np.zeros(cells.relations.shape[0])
    bounds = np.stack([low, high], axis=1)
    return linprog(np.zeros(len(cells)), A_eq=cells.relations, b_eq=nothing, bounds=bounds).status == 0


def protects(cells, protection, hidden):
    return all(
        safe(cells, protection, hidden, shut, cell, side, level)
        for cell in np.flatnonzero(protection.sensitive)
        for side, level in ((1, protection.above[cell]), (-1, protection.below[cell]))
        if level > 0
        for shut in ((), *(known for known in protection.insiders if cell not in known))
    )


def by_trying(cells, protection, weights, candidates):
    """The least weight of a pattern that protects, or none; patterns within one that fails are not tried."""
    extra = np.flatnonzero(candidates & ~protection.sensitive)
    sets = [chosen for size in range(len(extra) + 1) for chosen in itertools.combinations(extra, size)]
    failed = []
    if not protects(cells, protection, protection.sensitive | candidates):
        return None
    for chosen in sorted(sets, key=lambda one: weights[list(one)].sum()):
        hidden = protection.sensitive.copy()
        hidden[list(chosen)] = True
        if any((hidden <= other).all() for other in failed):
            continue
        if protects(cells, protection, hidden):
            return weights[list(chosen)].sum()
        failed.append(hidden)
    raise AssertionError


SHAPES = [
    lambda rng: [[flat("a", rng.integers(2, 7))]],
    lambda rng: [[nested("a", 2, rng.integers(2, 4))]],
    lambda rng: [[flat("a", rng.integers(2, 4)), flat("b", rng.integers(2, 4))]],
    lambda rng: [[flat("a", 2), flat("b", 2), flat("c", 2)]],
    lambda rng: [[nested("a", 2, 2), flat("b", 2)]],
    lambda rng: [[flat("a", 2), flat("b", 2)], [flat("a", 2), flat("c", 2)]],
]


def drawn(seed, most=7):
    """A small table with random figures, bounds, levels, insiders, weights and candidates."""
    rng = np.random.default_rng(seed)
    top = int(rng.choice([3, 30, 1000]))
    tables, margin = [], None
    for sides in SHAPES[seed % len(SHAPES)](rng):
        inner = rng.integers(-top if rng.random() < 0.3 else 0, top + 1, [len(side.leaves) for side in sides])
        if margin is not None:
            inner[:, -1] = margin - inner[:, :-1].sum(axis=1)
        margin = inner.sum(axis=1) if inner.ndim == 2 else None
        tables.append(CrossTable(tuple(sides), summed(sides, inner.astype(np.int64))))
    cells = Cells.of(*tables)
    count, values = len(cells), cells.values
    if rng.random() < 0.5:
        spread = [np.where(rng.random(count) < 0.3, np.inf, rng.integers(0, 2 * top, count)) for _ in range(2)]
        cells = cells.knowing(values - spread[0], values + spread[1])
    sensitive = np.zeros(count, bool)
    sensitive[rng.choice(count, rng.integers(1, 4), replace=False)] = True
    scale = rng.choice([1.0, 0.37])
    below, above = (
        np.where(sensitive, np.minimum(rng.integers(0, max(2, top // 4), count), room) * scale, 0.0)
        for room in (values - cells.lower, cells.upper - values)
    )
    insiders = ()
    if rng.random() < 0.4:
        places = np.flatnonzero(sensitive)
        insiders = tuple(tuple(rng.choice(places, rng.integers(1, 3)).tolist()) for _ in range(2))
    candidates = ~sensitive
    spare = np.flatnonzero(candidates)
    candidates[rng.choice(spare, max(0, len(spare) - most), replace=False)] = False
    weights = [np.abs(values).astype(float), np.ones(count), 10 * rng.random(count), rng.integers(0, 4, count) * 1.0]
    return cells, Protection(sensitive, below, above, {}, insiders), weights[rng.integers(4)], candidates


def check(seeds):
    feasible = 0
    for seed in seeds:
        cells, protection, weights, candidates = drawn(seed)
        least = by_trying(cells, protection, weights, candidates)
        if least is None:
            with pytest.raises(NoPromise):
                optimal(cells, protection, weights, candidates, seconds=60)
            continue
        found = optimal(cells, protection, weights, candidates, seconds=60)
        assert found.weight == pytest.approx(least), seed
        assert found.bound == pytest.approx(least), seed
        assert protects(cells, protection, found.hidden), seed
        assert (found.hidden <= protection.sensitive | candidates).all(), seed
        assert (found.hidden >= protection.sensitive).all(), seed
        feasible += 1
    return feasible


@pytest.mark.slow
def test_equals_trying_every_pattern():
    assert check(range(40)) > 15


@pytest.mark.slow
def test_equals_trying_every_pattern_on_a_thousand_tables():
    assert check(range(40, 1040)) > 400


SALARIES = np.array([[360, 450, 720, 400, 360], [1440, 540, 22, 570, 320], [722, 1178, 375, 800, 363]], np.int64)


def municipalities():
    sides = (flat("M", 3), flat("P", 5))
    table = CrossTable(sides, summed(sides, SALARIES), "salaries")
    return table, Cells.of(table)


def protection_of(cells, levels):
    sensitive = np.zeros(len(cells), bool)
    level = np.zeros(len(cells))
    for cell, one in levels.items():
        sensitive[cell], level[cell] = True, one
    return Protection(sensitive, level, level.copy())


def test_one_cell_of_the_municipalities_needs_three_more():
    table, cells = municipalities()
    protection = protection_of(cells, {table.cell("M1", "P2"): 22.0})
    inner = np.array([["Total" not in table.codes(cell) for cell in range(len(cells))]]).ravel()
    found = optimal(cells, protection, cells.values.astype(float), inner, seconds=60)
    expected = {("M1", "P2"), ("M1", "P4"), ("M2", "P2"), ("M2", "P4")}
    assert {table.codes(cell) for cell in np.flatnonzero(found.hidden)} == expected
    assert found.weight == found.bound == 320 + 375 + 363
    assert found.gap == 0


def test_nothing_sensitive():
    _, cells = municipalities()
    found = optimal(cells, protection_of(cells, {}), np.ones(len(cells)), np.ones(len(cells), bool), seconds=1)
    assert not found.hidden.any()
    assert found.weight == found.bound == 0


def test_everything_sensitive():
    _, cells = municipalities()
    protection = protection_of(cells, dict.fromkeys(range(len(cells)), 1.0))
    found = optimal(cells, protection, np.ones(len(cells)), np.ones(len(cells), bool), seconds=1)
    assert found.hidden.all()
    assert found.weight == 0


def test_a_total_with_one_part():
    side = Dimension("one", ("Total", "part"), (-1, 0))
    cells = Cells.of(CrossTable((side,), np.array([7, 7], np.int64)))
    found = optimal(cells, protection_of(cells, {1: 3.0}), np.ones(2), np.ones(2, bool), seconds=1)
    assert found.hidden.all()
    with pytest.raises(NoPromise, match="The cell part cannot be protected"):
        optimal(cells, protection_of(cells, {1: 3.0}), np.ones(2), np.zeros(2, bool), seconds=1)


def test_a_refusal_names_the_cell_and_no_figure():
    table, cells = municipalities()
    protection = protection_of(cells, {table.cell("M1", "P2"): 23.0})
    with pytest.raises(NoPromise) as refused:
        optimal(cells, protection, np.ones(len(cells)), np.ones(len(cells), bool), seconds=1)
    assert "M1, P2" in str(refused.value)
    assert "22" not in str(refused.value)
    assert "Combine codes" in refused.value.hint


def test_cells_of_zero_can_rise_but_not_fall():
    side = flat("a", 3)
    cells = Cells.of(CrossTable((side,), summed([side], np.array([5, 0, 9], np.int64))))
    rises = Protection(np.array([False, True, False, False]), np.zeros(4), np.array([0, 2.0, 0, 0]))
    only_zero = np.array([False, False, True, False])
    with pytest.raises(NoPromise):
        optimal(cells, rises, np.ones(4), only_zero, seconds=1)
    falls = Protection(rises.sensitive, rises.above, rises.below)
    assert optimal(cells, falls, np.ones(4), only_zero, seconds=1).hidden.tolist() == [False, True, True, False]


def test_cells_that_cost_nothing_are_hidden_only_where_they_help():
    _, cells = municipalities()
    protection = protection_of(cells, {7: 20.0})
    found = optimal(cells, protection, np.zeros(len(cells)), np.ones(len(cells), bool), seconds=5)
    assert found.hidden.sum() == 4
    assert found.weight == found.bound == 0


def test_an_insider_makes_more_cells_hidden():
    side = flat("a", 4)
    cells = Cells.of(CrossTable((side,), summed([side], np.array([10, 10, 30, 40], np.int64))))
    alone = protection_of(cells, {1: 2.0, 2: 2.0})
    weights, every = cells.values.astype(float), np.ones(5, bool)
    assert optimal(cells, alone, weights, every, seconds=1).weight == 0
    knowing = Protection(alone.sensitive, alone.below, alone.above, {}, ((1,),))
    assert optimal(cells, knowing, weights, every, seconds=1).weight == 30


def test_large_figures_with_small_levels():
    side = flat("a", 3)
    inner = np.array([10**12, 10**12 + 1, 3 * 10**12], np.int64)
    cells = Cells.of(CrossTable((side, side_b := flat("b", 2)), summed([side, side_b], np.stack([inner, inner], 1))))
    found = optimal(cells, protection_of(cells, {4: 1.0}), np.ones(len(cells)), np.ones(len(cells), bool), seconds=5)
    assert found.weight == found.bound == 3


def test_when_the_time_is_over_the_best_so_far_is_given():
    cells, protection, weights, candidates = drawn(2, most=99)
    weights = np.abs(cells.values).astype(float) + 1
    candidates = ~protection.sensitive
    found = optimal(cells, protection, weights, candidates, seconds=0)
    assert protects(cells, protection, found.hidden)
    assert found.bound <= optimal(cells, protection, weights, candidates, seconds=60).weight <= found.weight


def test_progress_is_told():
    table, cells = municipalities()
    told = []
    protection = protection_of(cells, {table.cell("M1", "P2"): 22.0})
    optimal(
        cells,
        protection,
        np.ones(len(cells)),
        np.ones(len(cells), bool),
        seconds=9,
        progress=lambda *it: told.append(it),
    )
    assert told
    assert all(0 <= done <= 1 for done, _ in told)


@pytest.mark.parametrize("dear", [1, 2])
def test_a_price_is_spread_over_what_a_cell_can_take(dear):
    """The total is 0; the first part may rise if others fall: one large one, or two that can take half each."""
    relations = np.array([[1, 1, 1, 1, -1]])
    rise, fall = np.full(5, 10.0), np.array([10.0, 10.0, 5.0, 5.0, 0.0])
    rise[4] = 0
    price = np.array([1.0, 3.0, dear, dear, 1.0])
    chosen = Linear(relations).cheapest(0, 1, 10.0, rise, fall, price, np.zeros(0, np.int64))
    assert chosen.tolist() == ([2, 3] if 2 * dear < 3 else [1])


def test_where_all_is_hidden_a_cell_may_change_by_more_than_the_one_that_is_looked_at():
    """The second cell changes like the first, and the third like both."""
    relations = np.array([[1, -1, 0], [1, 1, -1]])
    for share, amount in ((1.0, 5.0), (0.5, 1.25)):
        opened = Linear(relations).opened(np.full(3, 10.0), np.zeros(3), np.array([1.0, 1.0, share]))
        assert opened.reach(0, 1, 5.0).amount == pytest.approx(amount)


@pytest.mark.parametrize("level", [0.5, 8.0])
def test_a_cell_counts_in_an_inequality_by_its_share_of_what_is_left(level):
    """A quarter of the level is always there; the others can take three eighths, all and nothing of it."""
    room = np.array([0.25, 0.375, 2.0, 0.0]) * level
    yes = np.ones(4, bool)
    known = SimpleNamespace(rise=room, fall=np.full(4, np.inf), always=np.arange(4) == 0, may=yes & (np.arange(4) > 0))
    cut = Cut(np.arange(4), np.ones(4), np.zeros(4))
    which, by = Demands.inequality(known, Demand(9, 1, level), cut)
    assert (which.tolist(), by.tolist()) == ([1, 2], [0.5, 1.0])
    known.always[:] = True
    assert [part.tolist() for part in Demands.inequality(known, Demand(9, 1, level), cut)] == [[], []]

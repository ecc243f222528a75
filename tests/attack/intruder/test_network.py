"""Which tables are networks, and what flows through them."""

import numpy as np
import pytest

from discreet.verbs.attack.intruder.network import Network
from discreet.verbs.tabulate.suppress.linear import Linear
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed


def nested(name, *branches):
    paths = [()]
    for parts in branches:
        paths = [(f"{path[0] if path else name}.{part}", *path) for path in paths for part in range(parts)]
    return Dimension.from_paths(name, paths)


def cells(*sides, seed=0):
    inner = np.random.default_rng(seed).integers(0, 20, [len(side.leaves) for side in sides])
    return Cells.of(CrossTable(sides, summed(sides, inner.astype(np.int64))))


A, B, C = (Dimension.flat(name, [f"{name}{place}" for place in range(3)]) for name in "abc")
DEEP = nested("d", 2, 2, 2)


@pytest.mark.parametrize("sides", [(A,), (DEEP,), (A, B), (A, DEEP), (DEEP, A), (A, nested("e", 3, 2))])
def test_tables_that_are_networks(sides):
    one = cells(*sides)
    network = Network.of(one.relations)
    assert network is not None
    flow = np.zeros((network.nodes, len(one)))
    np.add.at(flow, (network.tails, np.arange(len(one))), 1)
    np.add.at(flow, (network.heads, np.arange(len(one))), -1)
    relations = one.relations.toarray()
    rank = np.linalg.matrix_rank(relations)
    assert np.linalg.matrix_rank(flow) == rank == np.linalg.matrix_rank(np.vstack([flow, relations]))


@pytest.mark.parametrize("sides", [(A, B, C), (DEEP, nested("e", 2, 2))])
def test_tables_that_are_not(sides):
    assert Network.of(cells(*sides).relations) is None


def test_linked_tables_of_which_one_side_is_shared_are_a_network():
    inner = np.arange(9, dtype=np.int64).reshape(3, 3)
    one, two = (CrossTable(sides, summed(sides, inner)) for sides in ((A, B), (A, C)))
    assert Network.of(Cells.of(one, two).relations) is not None


@pytest.mark.parametrize("sides", [(A,), (A, B), (DEEP, A)])
@pytest.mark.parametrize("seed", range(5))
def test_flow_and_linear_program_agree(sides, seed):
    one = cells(*sides, seed=seed)
    rng = np.random.default_rng(seed)
    room = [np.where(rng.random(len(one)) < 0.6, rng.integers(0, 9, len(one)), 0).astype(float) for _ in range(2)]
    share = np.where(rng.random(len(one)) < 0.5, 1.0, rng.random(len(one)))
    flow = Network.of(one.relations).opened(*room, share)
    program = Linear(one.relations).opened(*room, share)
    for cell in range(len(one)):
        shut = rng.choice(len(one), 2) if cell % 2 else None
        for side in (1, -1):
            by_flow, by_program = flow.reach(cell, side, 5.0, shut), program.reach(cell, side, 5.0, shut)
            assert by_flow.amount == pytest.approx(by_program.amount, abs=1e-6)
            for found in (by_flow, by_program):
                change = np.zeros(len(one))
                change[found.moved] = found.by
                change[cell] = found.amount * side
                assert np.abs(one.relations @ change).max() < 1e-6
                for cut in found.cuts:
                    most = [np.minimum(part[cut.cells], 5.0) * share[cut.cells] for part in room]
                    assert cut.rises @ most[0] + cut.falls @ most[1] == pytest.approx(found.amount, abs=1e-6)


def test_without_a_limit_a_cell_may_rise_for_ever():
    one = cells(A, B)
    network = Network.of(one.relations)
    rise, fall = np.full(len(one), np.inf), one.values.astype(float)
    assert network.opened(rise, fall).reach(5, 1).amount == np.inf
    assert network.opened(np.zeros(len(one)), fall).reach(5, 1).amount < np.inf


def test_a_cell_in_no_relation_is_free():
    side = Dimension("one", ("Total",), (-1,))
    one = Cells.of(CrossTable((side,), np.array([4], np.int64)))
    assert Network.of(one.relations).opened(np.zeros(1), np.zeros(1)).reach(0, 1, 3.0).amount == 3

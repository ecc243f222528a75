"""Cells and relations of one table, and of several that share some."""

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed

REGION = Dimension.from_paths("region", [("n1", "N"), ("n2", "N"), ("s",)])
ACTIVITY = Dimension.flat("activity", ["p", "q"])
SIZE = Dimension.flat("size", ["small", "large", "huge"])
ROWS = np.arange(1, 19).reshape(3, 2, 3)


def made(*sides, rows=ROWS, axis=2, **more):
    return CrossTable(sides, summed(sides, rows.sum(axis=axis)), **more)


def test_every_total_is_a_relation_that_holds():
    cells = Cells.of(made(REGION, ACTIVITY))
    assert len(cells) == 15
    assert cells.relations.shape == (2 * 3 + 5, 15)  # two totals of regions in three columns, five totals of activities
    assert not len(cells.broken())
    assert cells.name(4) == "N, p"


def test_a_wrong_total_breaks_its_relations():
    table = made(REGION, ACTIVITY)
    wrong = table.values.copy()
    wrong[1, 1] += 1  # N, p: a total of n1 and n2, and a part of two totals
    cells = Cells.of(CrossTable(table.dimensions, wrong))
    assert len(cells.broken()) == 3


def test_linked_tables_share_cells_and_their_relations():
    first, second = made(REGION, ACTIVITY), made(REGION, SIZE, axis=1)
    cells = Cells.of(first, second)
    assert len(cells) == 15 + 20 - 5  # the totals of regions are the same
    assert cells.places[0][first.cell("N", "Total")] == cells.places[1][second.cell("N", "Total")]
    assert cells.relations.shape[0] == (6 + 5) + (8 + 5) - 2
    assert not len(cells.broken())


def test_linked_tables_that_disagree():
    other = made(REGION, SIZE, rows=ROWS + 1, axis=1)
    with pytest.raises(BadInput, match="different figures"):
        Cells.of(made(REGION, ACTIVITY), other)
    with pytest.raises(BadInput, match="decimals"):
        Cells.of(made(REGION, ACTIVITY), made(REGION, SIZE, axis=1, decimals=1))


def test_what_everybody_knows():
    cells = Cells.of(made(REGION, ACTIVITY))
    assert (cells.lower == 0).all()
    assert np.isposinf(cells.upper).all()
    assert np.isneginf(Cells.of(made(REGION, ACTIVITY, rows=-ROWS)).lower).all()
    nearer = cells.knowing(cells.values * 0.5, cells.values * 1.5)
    assert nearer.upper[0] == cells.values[0] * 1.5
    with pytest.raises(BadInput):
        cells.knowing(cells.values + 1, cells.values + 2)


PLACES = [("n1", "North"), ("n2", "North"), ("s3", "Hills"), ("w1", "West"), ("w2", "West")]
FINE = Dimension.from_paths("place", PLACES)
COARSE = Dimension.from_paths("place", [("North",), ("Hills",), ("West",)])
BY_PLACE = np.arange(1, 11).reshape(5, 2)


def at_two_levels():
    coarse = np.stack([BY_PLACE[:2].sum(axis=0), BY_PLACE[2], BY_PLACE[3:].sum(axis=0)])
    sides = (FINE, ACTIVITY), (COARSE, ACTIVITY)
    return tuple(
        CrossTable(side, summed(side, inner), "x") for side, inner in zip(sides, (BY_PLACE, coarse), strict=True)
    )


def test_a_total_left_out_for_its_single_part_is_the_same_cell_in_a_coarser_table():
    fine, coarse = at_two_levels()
    cells = Cells.of(fine, coarse)
    assert len(cells) == fine.size
    assert cells.places[0][fine.cell("s3", "p")] == cells.places[1][coarse.cell("Hills", "p")]
    assert not len(cells.broken())
    assert Cells.of(coarse, fine).name(coarse.cell("Hills", "q")) == "Hills, q"


def test_aliases_of_aliases_are_the_same_too():
    sides = [
        Dimension.from_paths("r", [path[start:] for path in [("a", "A", "AA"), ("b", "B", "BB")]])
        for start in (0, 1, 2)
    ]
    tables = [CrossTable((side,), np.array([3, 1, 2])) for side in sides]
    assert len(Cells.of(tables[2], tables[0], tables[1])) == 3


def test_a_table_that_has_a_total_and_its_single_part_keeps_both():
    both = Dimension.from_parents("place", {"Total": None, "Hills": "Total", "s3": "Hills", "o": "Total"})
    lean = Dimension.from_paths("place", [("s3", "Hills"), ("o",)])
    cells = Cells.of(CrossTable((both,), np.array([3, 1, 1, 2])), CrossTable((lean,), np.array([3, 1, 2])))
    assert len(cells) == 4


def test_linked_tables_call_a_total_by_one_name():
    other = Dimension.from_paths("region", [("n1", "N"), ("n2", "N"), ("s",)], "All")
    with pytest.raises(BadInput, match="one name for the total of region; it is called 'Total' and 'All'"):
        Cells.of(made(REGION, ACTIVITY), made(other, SIZE, axis=1))


def test_many_sides_are_shared_without_running_out_of_bits():
    sides = [Dimension.flat(f"side{number}", map(str, range(999))) for number in range(8)]
    tables = [CrossTable((side,), summed((side,), np.ones(999, np.int64))) for side in sides]
    assert len(Cells.of(*tables)) == 8 * 999 + 1

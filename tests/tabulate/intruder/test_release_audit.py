"""What anybody can compute from a release: exact, and a clear error for what is no release of a table."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import BadInput, DataError
from discreet.verbs.tabulate.intruder.release_audit import audit
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed

SIDES = (Dimension.flat("area", ["a", "b"]), Dimension.flat("sort", ["x", "y"]))


def release(inner, hidden, *, change=lambda tables: tables, drop=(), least=0):
    cells = Cells.of(CrossTable(SIDES, summed(SIDES, np.array(inner, np.int64)), "pay"))
    mask = np.zeros(len(cells), bool)
    mask[[cells.tables[0].cell(*codes) for codes in hidden]] = True
    printed = PublishedTable.of(cells, cells.values, mask)
    recipe = dc.Recipe("by hand", {"tables": change(printed.structure()), "least_hidden": least})
    return dc.Release(printed.rows().drop_columns(list(drop)), dc.Statement("respondent"), recipe), cells


def kept(cells, sensitive=()):
    chosen = np.zeros(len(cells), bool)
    chosen[list(sensitive)] = True
    level = np.where(chosen, 5.0, 0.0)
    return pa.table({"value": cells.values, "sensitive": chosen, "below": level, "above": level})


SQUARE = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]


def test_a_cell_that_only_has_one_value_is_recovered_and_others_are_not():
    seen = audit(release([[0, 5], [7, 9]], SQUARE)[0])
    assert not len(seen.recovered)
    assert str(seen).splitlines() == ["4 of 9 cells are suppressed.", "None of them can be computed exactly."]
    seen = audit(release([[0, 0], [7, 9]], SQUARE)[0])
    assert str(seen).splitlines()[:2] == ["4 of 9 cells are suppressed.", "a, x can be computed: 0."]
    assert "None of them" not in str(seen)
    assert [seen.cells.name(int(cell)) for cell in seen.recovered] == ["a, x", "a, y", "b, x", "b, y"]


def test_figures_that_floats_cannot_hold_need_the_holders_file():
    large = 2**53 + 1
    one, cells = release([[large, 5], [7, 9]], SQUARE)
    with pytest.raises(DataError, match=r"too large .* holder"):
        audit(one)
    seen = audit(one, kept(cells))
    assert not len(seen.recovered)
    single, cells = release([[large, 5], [7, 9]], [("a", "x")])
    assert len(audit(single, kept(cells)).recovered) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"change": lambda tables: None},
        {"change": lambda tables: []},
        {"change": lambda tables: [5]},
        {"change": lambda tables: [{**tables[0], "figure": "nope"}]},
        {"change": lambda tables: [{**tables[0], "decimals": 40}]},
        {"change": lambda tables: [{**tables[0], "decimals": 4000}]},
        {"change": lambda tables: [{**tables[0], "decimals": -1}]},
        {"change": lambda tables: [{**tables[0], "dimensions": []}]},
        {"change": lambda tables: [{**tables[0], "dimensions": [{**tables[0]["dimensions"][0], "name": "nope"}]}]},
        {"change": lambda tables: [{**tables[0], "dimensions": [{**tables[0]["dimensions"][0], "parents": [9]}]}]},
        {"least": "nope"},
        {"least": 10**400},
        {"drop": ["hidden"]},
        {"drop": ["pay"]},
        {"drop": ["area"]},
    ],
)
@pytest.mark.parametrize("hidden", [(), SQUARE])
def test_what_is_no_release_of_a_table_is_said(wrong, hidden):
    with pytest.raises(BadInput):
        audit(release([[1, 5], [7, 9]], hidden, **wrong)[0])


def test_a_file_that_is_not_the_holders_is_said():
    one, cells = release([[1, 5], [7, 9]], SQUARE)
    right = kept(cells, [4])
    assert audit(one, right).short.tolist() == [4]
    texts = right.set_column(2, "below", pa.array(["1"] * len(cells)))
    blank = right.set_column(0, "value", pa.array([None] * len(cells), pa.int64()))
    other = kept(release([[1, 5], [7, 10]], SQUARE)[1])
    for wrong in (right.drop_columns(["below"]), right.select([]), right.slice(1), texts, blank, other):
        with pytest.raises(BadInput, match="does not belong to this release"):
            audit(one, wrong)


def test_a_level_that_is_exactly_met_is_not_short_and_one_unit_more_is():
    one, cells = release([[1, 5], [7, 9]], SQUARE)
    told = audit(one).intervals
    below, above = cells.values - told.low, told.high - cells.values
    hidden = below + above > 0
    file = {"value": cells.values, "sensitive": hidden, "below": below, "above": above}
    assert not len(audit(one, pa.table(file)).short)
    for name in ("below", "above"):
        more = {**file, name: file[name] + (np.arange(len(cells)) == 4)}
        assert audit(one, pa.table(more)).short.tolist() == [4]

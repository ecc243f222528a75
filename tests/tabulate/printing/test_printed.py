"""Tables as they leave, and back again."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tabulate.tables.test_cells import at_two_levels

import discreet as dc
from discreet.errors import BadInput, DataError
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.rules import parse_rules
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension


def test_a_figure_that_two_levels_have_is_hidden_in_both_and_read_back_so():
    release = dc.tabulate(at_two_levels(), rules="cells=s3,p")
    hidden = {(row["place"], row["activity"]): row["hidden"] for row in release.payload.to_pylist()}
    assert hidden["s3", "p"]
    assert ("Hills", "p") not in hidden
    back = PublishedTable.read(release)
    fine, coarse = back.tables
    assert coarse.dimensions == at_two_levels()[1].dimensions
    assert fine.dimensions[0].aliases == {"Hills": "s3"}
    assert back.hidden[1].flat[coarse.cell("Hills", "p")]
    assert len(Cells.of(fine, coarse)) == fine.size


@pytest.mark.parametrize(("side", "what"), [("hidden", "x"), ("hidden", ""), ("n", ""), ("r", "hidden"), ("r", "r")])
def test_columns_do_not_overwrite_each_other(side, what):
    table = CrossTable((Dimension.flat(side, ["a", "b"]),), np.array([3, 1, 2]), what)
    with pytest.raises(BadInput, match="No dimension or value may have the name"):
        PublishedTable((table,), (np.zeros(3, bool),))


def test_a_side_may_be_called_n_where_nothing_else_is():
    table = CrossTable((Dimension.flat("n", ["a", "b"]),), np.array([3, 1, 2]), "x")
    assert PublishedTable((table,), (np.zeros(3, bool),)).rows().column_names == ["n", "x", "hidden"]


def test_a_release_that_lacks_a_column():
    release = dc.tabulate(at_two_levels(), rules=parse_rules("cells=s3,p"))
    for column in ("place", "x", "hidden"):
        with pytest.raises(DataError, match=f"no column '{column}'"):
            PublishedTable.read(replace(release, payload=release.payload.drop_columns([column])))

"""Methods by name: what they refuse, and what they tell only to the holder."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.card import Card, Column
from discreet.core.families import TABLE_METHODS
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NotFound
from discreet.verbs.tabulate.method import ProtectionProblem
from discreet.verbs.tabulate.perturb.factors import Multiply, multiplied
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed

SECRET = bytes(range(32))
CARD = Card(
    "people",
    (
        Column("who", Kind.INTEGER),
        Column("area", Kind.TEXT),
        Column("sort", Kind.TEXT),
        Column("pay", Kind.INTEGER),
        Column("weight", Kind.INTEGER),
    ),
    unit="who",
    rows_per_unit=4,
)


def people(*, card=CARD, count=60):
    rng = np.random.default_rng(0)
    rows = {
        "who": np.arange(count),
        "area": np.array(["a", "b", "c"])[rng.integers(3, size=count)],
        "sort": np.array(["x", "y"])[rng.integers(2, size=count)],
        "pay": rng.integers(1, 5, size=count),
        "weight": rng.integers(1, 9, size=count),
    }
    return read(pa.table(rows), card)


@pytest.mark.parametrize("method", ["cell-key", "factors"])
def test_a_secret_needs_to_know_who_a_row_is_about(method):
    value = "pay" if method == "factors" else None
    nobody = people(card=replace(CARD, unit=None, rows_per_unit=None))
    with pytest.raises(BadInput, match="unit"):
        dc.tabulate(nobody, "area", value, method=method, secret=SECRET)
    assert "each further table" in str(dc.tabulate(nobody, "area", value, method=method).statement)
    assert "each further table" not in str(dc.tabulate(people(), "area", value, method=method, secret=SECRET).statement)
    for wrong in (b"", b"short"):
        with pytest.raises(BadInput, match="32 bytes"):
            dc.tabulate(people(), "area", value, method=method, secret=wrong)
    with pytest.raises(BadInput, match="weight"):
        dc.tabulate(people(), "area", value, method=method, weight="weight")


def test_cell_keys_are_for_counts_of_people_that_are_changed():
    with pytest.raises(BadInput, match="variance of the change must be above 0"):
        dc.tabulate(people(), "area", method="cell-key variance=0")
    with pytest.raises(BadInput, match="decimals"):
        dc.tabulate(people(), "area", method="cell-key", decimals=2)


@pytest.mark.parametrize("how", [{"weight": "weight"}, {"decimals": 2}, {"value": "pay"}])
def test_swapping_keeps_weights_and_decimals(how):
    """Nothing but the area changes, so the table by sort is as it was."""
    made = dc.tabulate(people(), "sort", method="swap areas=area risk=sort k=50", **how)
    assert np.array_equal(made.holder.details.values, made.holder.details.cells.values)


@pytest.mark.parametrize("option", ["areas=nope risk=sort", "areas=area risk=nope", "areas=area risk=sort match=nope"])
def test_swapping_by_a_column_that_is_not_there(option):
    with pytest.raises(NotFound, match="nope"):
        dc.tabulate(people(), "area", method=f"swap {option}")


@pytest.mark.parametrize("law", [Multiply(0.1, 0.25), Multiply(0.01, 0.02, "uniform")])
def test_no_figure_of_one_respondent_is_printed_as_it_is_however_small(law):
    true = np.arange(60) % 12
    rows = people().fetch().set_column(1, "area", pa.array([f"{place:02}" for place in range(60)]))
    made = multiplied(read(rows.set_column(3, "pay", pa.array(true)), CARD), ["area"], "pay", law, SECRET).table.values
    off = np.abs(made[1:] - true)
    assert (off >= law.least * true).all()
    assert (off[true > 0] >= 1).all()
    assert (off <= np.ceil(law.most * true)).all()
    assert made[0] == made[1:].sum()


def test_a_total_that_cancels_is_not_printed_as_it_is():
    rows = pa.table(
        {"who": [1, 1, 2], "area": ["a", "a", "b"], "sort": ["x", "y", "x"], "pay": [10, -9, 50], "weight": [1, 1, 1]}
    )
    with pytest.raises(BadInput, match="negative"):
        multiplied(read(rows, CARD), ["area", "sort"], "pay", Multiply(0.05, 0.050001), SECRET)


def test_the_holder_of_a_table_with_factors_is_told_what_to_expect():
    facts = dict(dc.tabulate(people(), "area", "pay", method="factors").holder.details.facts)
    assert "(median)" in facts["expected change"]


def rounded(inner, method, rules=""):
    sides = (Dimension.flat("area", ["a", "b"]), Dimension.flat("sort", ["x", "y"]))
    return dc.tabulate(CrossTable(sides, summed(sides, np.array(inner, np.int64)), "pay"), rules=rules, method=method)


def test_the_holder_of_a_rounded_table_is_told_what_it_tells_exactly():
    """1, 1, 1, 1 with totals 2 and 4 are printed as 0, 0, 0, 0 with totals 3 and 3: no other figures are."""
    facts = dict(rounded([[4, 4], [4, 4]], "round base=10 how=conventional", "cells=a,x").holder.details.facts)
    assert facts["sensitive cells published exactly"] == "0 of 1 cell"
    assert "sensitive cells published exactly" not in dict(
        rounded([[4, 4], [4, 4]], "round base=10").holder.details.facts
    )
    facts = dict(rounded([[1, 1], [1, 1]], "round base=3 how=conventional", "cells=a,x").holder.details.facts)
    assert facts["sensitive cells published exactly"] == "1 of 1 cell"


@pytest.mark.parametrize("base", ["2.5", "0.01"])
def test_a_base_is_a_whole_number_of_units(base):
    with pytest.raises(BadInput, match="multiples"):
        rounded([[4, 4], [4, 4]], f"round base={base}")


@pytest.mark.parametrize(
    ("name", "value"), [("cell-key", None), ("factors", "pay"), ("swap areas=area risk=pay", None)]
)
def test_declared_codes_that_nobody_has_stay_in_the_table(name, value):
    columns = (*CARD.columns[:2], replace(CARD.columns[2], categories=("x", "y", "z")), *CARD.columns[3:])
    rows = people(card=replace(CARD, columns=columns))
    cells = Cells.of(build(rows, ["area", "sort"], value, declared=True))
    made = TABLE_METHODS.parse(name).apply(
        ProtectionProblem(cells, protect(cells, ()), rows, (("area", "sort"),), value)
    )
    assert len(made.values) == len(cells) == 4 * 4
    assert (made.values[cells.values == 0] == 0).all() or name.startswith("swap")


@pytest.mark.parametrize("method", ["suppress", "adjust", "round base=1"])
def test_searches_take_any_time_above_0_and_any_gap_below_1(method):
    for wrong in ("seconds=0", "seconds=-1", *(() if "round" in method else ("gap=-0.001", "gap=1"))):
        with pytest.raises(BadInput, match=wrong.partition("=")[0]):
            TABLE_METHODS.parse(f"{method} {wrong}")
    assert TABLE_METHODS.parse(f"{method} seconds=0.001").seconds == 0.001
    if "round" not in method:
        assert [TABLE_METHODS.parse(f"{method} gap={gap}").gap for gap in (0, 0.999)] == [0, 0.999]


@pytest.mark.parametrize(("what", "title"), [("pay", "pay by area"), ("", "counts by area")])
def test_a_table_is_called_by_what_it_sums_and_by_what(what, title):
    side = Dimension.flat("area", ["a", "b"])
    made = dc.tabulate(CrossTable((side,), np.array([9, 4, 5]), what), method="round base=3")
    assert made.holder.title == title

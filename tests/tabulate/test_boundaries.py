"""Numbers that decide: exactly at a boundary, and just beyond it."""

from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest
from tests.tabulate.suppress.test_optimal import protection_of

import discreet as dc
from discreet.errors import BadInput, DataError, NoPromise
from discreet.verbs.attack.intruder.sparse import sparse
from discreet.verbs.attack.intruder.unknowns import Simplex, outer_bounds, unknowns
from discreet.verbs.tabulate.intruder.audit import certify
from discreet.verbs.tabulate.intruder.boxes import Boxes, Sides
from discreet.verbs.tabulate.intruder.release_audit import audit
from discreet.verbs.tabulate.perturb.integer_rounding import WholeNumberProblem
from discreet.verbs.tabulate.printing import html, xlsx
from discreet.verbs.tabulate.printing.information import changed_loss
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.private.top_down import _settle
from discreet.verbs.tabulate.rules import PriorPosterior
from discreet.verbs.tabulate.suppress.master import _LASTING, _OFTEN, Master
from discreet.verbs.tabulate.suppress.optimal import optimal
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension, summed
from discreet.verbs.tabulate.tables.respondents import numbered

AREA, SORT = Dimension.flat("area", ["a", "b"]), Dimension.flat("sort", ["x", "y"])
NESTED = Dimension.from_paths("place", [("p1", "North"), ("p2", "North"), ("q1", "South"), ("q2", "South")])


def crossed(inner, *sides):
    return CrossTable(sides, summed(sides, np.array(inner, np.int64)), "pay")


def published(table, hidden=()):
    mask = np.zeros(table.shape, bool)
    mask.flat[[table.cell(*codes) for codes in hidden]] = True
    made = PublishedTable((table,), (mask,))
    recipe = dc.Recipe("by hand", {"tables": made.structure(), "least_hidden": 0})
    return dc.Release(made.rows(), dc.Statement("respondent"), recipe)


# suppression


def master(weights, *cuts, may=None):
    made = Master(np.array(weights, float), np.ones(len(weights), bool) if may is None else may, np.ones(len(weights)))
    made.require([(np.array(cells), np.array(by, float)) for cells, by in cuts])
    made.admit(np.arange(len(weights)))
    return made


def test_a_bound_counts_every_multiplier_above_0():
    """Hide one of two cells, of 3 and 5: the multiplier is 3. Where hiding a cell pays more than 1, it is below 1."""
    made = master([3, 5], ([0, 1], [1, 1]))
    assert made.solve().tolist() == [1, 0]
    bound, costs = made.reduced()
    assert (bound, costs.tolist()) == (3, [0, 2])
    made.multipliers = np.array([0.5])
    bound, costs = made.reduced()
    assert (bound, costs.tolist()) == (0.5, [2.5, 4.5])
    made.multipliers = np.array([4.0])
    bound, costs = made.reduced()
    assert (bound, costs.tolist()) == (3, [-1, 1])
    made.multipliers = np.array([0.0])
    assert made.reduced()[0] == 0


def test_a_cell_that_must_not_be_hidden_helps_no_bound():
    made = master([3, 5], ([0, 1], [1, 1]))
    made.exclude(np.array([0]))
    assert made.solve().tolist() == [0, 1]
    made.multipliers = np.array([4.0])
    assert made.reduced()[0] == 4


def test_an_inequality_is_forgotten_if_it_was_slack_for_so_long():
    made = master([1, 1, 1], ([0], [1]), ([0, 1], [1, 1]), ([0, 2], [2, 1]))
    for _ in range(_OFTEN):
        made.solve()
    assert made.idle == [0, 0, _OFTEN]
    made.forget()
    assert len(made.rows) == 3
    made.solve()
    made.forget()
    assert made.idle == [0, 0] and len(made.rows) == len(made.keys) == len(made.known) == len(made.multipliers) == 2
    assert made.solve().tolist() == [1, 0, 0]
    cut = (np.array([0, 2]), np.array([2.0, 1.0]))
    made.require([cut, (np.array([0]), np.array([1.0]))])
    assert len(made.rows) == 3, "what is there is not added, and what was forgotten is"
    made.require([(np.array([0, 1]), np.array([3.0, 1.0]))], lasting=True)
    assert made.idle == [0, 0, 0, -_LASTING]
    made.solve()
    assert made.idle[2:] == [1, 1 - _LASTING]


@pytest.mark.parametrize(("weights", "whole"), [([3, 5], True), ([3, 5.5], False)])
def test_whole_weights_are_known_to_be(weights, whole):
    assert master(weights, ([0, 1], [1, 1])).integral == whole
    assert master(weights, ([0, 1], [1, 1]), may=np.array([True, False])).integral


def test_a_cell_that_costs_1_is_not_free():
    """Three sides: a cell is protected by a cube, and all else is shown."""
    sides = (AREA, SORT, Dimension.flat("size", ["s", "t"]))
    cells = Cells.of(CrossTable(sides, summed(sides, np.full((2, 2, 2), 10))))
    every = np.ones(len(cells), bool)
    protection = protection_of(cells, {cells.tables[0].cell("a", "x", "s"): 1})
    found = optimal(cells, protection, np.ones(len(cells)), every, seconds=60)
    assert (found.hidden.sum(), found.weight, found.bound) == (8, 7, 7)


@pytest.mark.parametrize(("p", "q", "fine"), [("0.5", "1", True), ("0.5", "0.5", False), ("0", "1", False)])
def test_what_is_known_before_and_after_may_be_less_than_1_per_cent(p, q, fine):
    if fine:
        assert PriorPosterior(p, q).reason
    else:
        with pytest.raises(BadInput):
            PriorPosterior(p, q)


# private tables


@pytest.mark.parametrize(
    ("table", "settled"), [([[1, 0]], [[0, 1]]), ([[2, 0]], [[1, 1]]), ([[0, 0]], [[0, 0]]), ([[1, 5]], [[0, 6]])]
)
def test_one_moves_to_another_column_if_there_is_one(table, settled):
    table, lacking, wanting = np.array(table), np.array([0]), np.array([-1, 1])
    _settle(table, table.astype(float), lacking, wanting)
    assert table.tolist() == settled
    assert wanting.any() == (settled == [[0, 0]]) and not lacking.any()


# intruder


@pytest.mark.parametrize("scale", [1, 10**6, 2**33])
def test_a_solver_sees_figures_that_are_not_too_large_and_tells_them_as_they_are(scale):
    """Four hidden cells in a square: all fall and rise by what the least of those across has."""
    cells = Cells.of(crossed(np.array([[3, 5], [7, 9]]) * scale, AREA, SORT))
    hidden = np.zeros(len(cells), bool)
    hidden[[cells.tables[0].cell(*codes) for codes in ("ax", "ay", "bx", "by")]] = True
    (part,) = unknowns(cells, hidden)
    solver = Simplex(part)
    assert solver._scale == {1: 1, 10**6: 1, 2**33: 128}[scale]
    for cell, fall, rise in (("ax", 3, 5), ("ay", 5, 3), ("bx", 5, 3), ("by", 3, 5)):
        column = int(part.column([cells.tables[0].cell(*cell)])[0])
        for side, most in ((-1, fall), (1, rise)):
            change = solver.furthest(np.array([column]), np.array([float(side)]))[column]
            assert change == pytest.approx(side * most * scale, rel=1e-9)
            far, moving = solver.reach(column, side, np.inf, np.empty(0, np.int64))
            assert far == pytest.approx(most * scale, rel=1e-9) and len(moving) == 4
            assert solver.reach(column, side, 2 * scale, np.empty(0, np.int64))[0] == pytest.approx(2 * scale, rel=1e-9)
            far, moving = solver.reach(column, side, np.inf, np.array([(column + 1) % 4]))
            assert far == pytest.approx(0, abs=1e-6 * scale) and not len(moving)


@pytest.mark.parametrize("scale", [1, 2**33])
def test_a_solver_knows_how_far_figures_rise(scale):
    cells = Cells.of(crossed(np.array([[3, 5], [7, 9]]) * scale, AREA, SORT))
    table = cells.tables[0]
    places = [table.cell(*codes) for codes in ("ax", "ay", "bx", "by")]
    upper = cells.upper.copy()
    upper[places] = cells.values[places] + 2 * scale
    (part,) = unknowns(replace(cells, upper=upper), np.isin(np.arange(len(cells)), places))
    for side in (-1, 1):
        far, _ = Simplex(part).reach(0, side, np.inf, np.empty(0, np.int64))
        assert far == pytest.approx(2 * scale, rel=1e-9)


def test_cells_that_are_not_hidden_have_no_column():
    cells = Cells.of(crossed([[3, 5], [7, 9]], AREA, SORT))
    places = np.sort([cells.tables[0].cell(*codes) for codes in ("ax", "ay", "bx", "by")])
    (part,) = unknowns(cells, np.isin(np.arange(len(cells)), places))
    assert part.column(np.arange(len(cells))).tolist() == [0, 1, 2, 3]
    assert part.column(places[[3, 0]]).tolist() == [3, 0]
    assert part.column([len(cells), len(cells) + 5]).tolist() == []


def test_a_respondent_is_a_number_of_63_bits():
    assert numbered(["x", 7, "7"]).tolist() == [
        int.from_bytes(blake2b(one, digest_size=8).digest()) // 2 for one in (b"x", b"7", b"7")
    ]


def test_bounds_of_single_relations_of_a_square():
    cells = Cells.of(crossed([[3, 5], [7, 9]], AREA, SORT))
    hidden = np.zeros(len(cells), bool)
    hidden[[cells.tables[0].cell(*codes) for codes in ("ax", "ay", "bx", "by")]] = True
    (part,) = unknowns(cells, hidden)
    assert part.fall.tolist() == [3, 5, 7, 9]
    fall, rise = outer_bounds(part)
    assert (fall.tolist(), rise.tolist()) == ([3, 5, 5, 3], [5, 3, 3, 5])
    fall, rise = outer_bounds(part, rounds=1)
    assert (fall.tolist(), rise.tolist()) == ([3, 5, 7, 9], [5, 3, 3, 5])


def test_only_a_square_around_a_cell_that_all_may_move_is_a_box():
    cells = Cells.of(crossed([[3, 5], [7, 9]], AREA, SORT))
    table = cells.tables[0]
    corner = table.cell("a", "x")
    open_cells = np.isin(np.arange(len(cells)), [table.cell(*codes) for codes in ("ax", "ay", "bx", "by")])
    cost = np.arange(len(cells)) + 1.0

    def found(below, above):
        corners = Boxes(cells).cheapest(corner, below, above, cost, ~open_cells)
        return None if corners is None else sorted(corners.tolist())

    square = np.flatnonzero(open_cells).tolist()
    assert found(3, 5) == square
    assert found(3.5, 5) is None and found(3, 5.5) is None
    assert found(0, 0) == square


def test_a_box_within_a_part_of_a_side_leaves_its_totals_alone():
    """North is p1 and p2. The cheapest box around p2 moves p1 against it; if p1 is shut, all totals on the way move."""
    cells = Cells.of(crossed(np.full((4, 2), 10), NESTED, SORT))
    table = cells.tables[0]
    sides = Sides.of(table)
    assert sides.last[0] - sides.first[0] == 4
    shut = np.zeros(len(cells), bool)

    def names():
        corners = Boxes(cells).cheapest(table.cell("q1", "x"), 1, 1, np.ones(len(cells)), shut)
        return {cells.name(int(cell)) for cell in corners}

    assert names() == {"q1, x", "q1, y", "q2, x", "q2, y"}
    shut[[table.cell("q2", sort) for sort in "xy"]] = True
    with_totals = names()
    assert {"South, x", "South, y", "q1, x", "q1, y"} < with_totals
    assert len(with_totals) in (6, 8)
    total = next(code for code in NESTED.codes if NESTED.parents[NESTED.codes.index(code)] < 0)
    around = Boxes(cells).cheapest(table.cell("South", "x"), 1, 1, np.ones(len(cells)), np.arange(len(cells)) < 0)
    moved = {cells.name(int(cell)) for cell in around}
    assert "South, x" in moved and len(moved) == 6, f"a leaf under it, and its total {total}, in two columns"


@pytest.mark.parametrize(("off", "short"), [(0.0, []), (0.5e-6, []), (2e-6, [4])])
def test_a_level_may_be_missed_by_a_millionth(off, short):
    table = crossed([[1, 5], [7, 9]], AREA, SORT)
    one = published(table, ["ax", "ay", "bx", "by"])
    told = audit(one).intervals
    values = table.values.ravel()
    below, above = values - told.low, told.high - values
    for name in ("below", "above"):
        file = {"value": values, "sensitive": np.arange(len(values)) == 4, "below": below, "above": above}
        file[name] = file[name] * (1 + off * (np.arange(len(values)) == 4))
        assert audit(one, pa.table(file)).short.tolist() == short


@pytest.mark.parametrize(("level", "short"), [(0.0, []), (0.5, [4])])
def test_a_cell_that_nobody_asks_to_protect_may_be_computed(level, short):
    table = crossed([[1, 5], [7, 9]], AREA, SORT)
    one, many = published(table, ["ax"]), table.size
    hidden = np.arange(many) == table.cell("a", "x")
    for below, above in ((level, 0.0), (0.0, level)):
        file = {"value": table.values.ravel(), "sensitive": hidden, "below": below * hidden, "above": above * hidden}
        assert audit(one, pa.table(file)).short.tolist() == short


def test_what_is_printed_must_add_up_even_if_the_holder_says_so():
    table = crossed([[1, 5], [7, 9]], AREA, SORT)
    wrong = replace(table, values=table.values + (np.arange(9).reshape(3, 3) == 0))
    with pytest.raises(DataError, match="do not add up"):
        audit(published(wrong))


# rounding


def problem(floors, fractions, least=-9, most=9):
    """a + b = c."""
    relations = sparse().csr_array(np.array([[1, 1, -1]], np.int8))
    size = len(floors)
    return WholeNumberProblem(
        relations,
        np.array(floors),
        np.array(fractions, float),
        np.ones(size),
        np.full(size, least),
        np.full(size, most),
    )


def test_numbers_go_one_step_less_than_the_reach_beyond_their_neighbours_and_stay_within_what_they_may_be():
    """Steps up for what is between two numbers, then on upwards from the ceiling, then downwards from the floor."""
    one = problem([2, 5, 7], [0.5, 0.0, 0.25], least=1, most=8)
    program, steps = one._steps(1)
    assert program.cost.tolist() == [0, 0.5] and program.most.tolist() == [1, 1]
    program, steps = one._steps(2)
    assert program.most.tolist() == [1, 1, 1, 1, 0, 1, 1, 1]
    program, steps = one._steps(4)
    assert program.most.tolist() == [1, 1, 3, 3, 0, 1, 3, 3]
    program, steps = one._steps(9)
    assert program.most.tolist() == [1, 1, 5, 3, 0, 1, 4, 6]
    assert program.cost.tolist() == [0, 0.5, *[1] * 6]
    assert steps.toarray().tolist() == [
        [1, 0, 1, 0, 0, -1, 0, 0],
        [0, 0, 0, 1, 0, 0, -1, 0],
        [0, 1, 0, 0, 1, 0, 0, -1],
    ]


@pytest.mark.parametrize(
    ("floors", "fractions", "reach", "distance"),
    [
        ([2, 5, 7], [0, 0, 0], 1, 0),
        ([2, 5, 7], [0.5, 0.25, 0.75], 1, 1.0),
        ([2, 5, 8], [0, 0, 0], 2, 1),
        ([2, 5, 10], [0, 0, 0], 2, 3),
        ([2, 5, 11], [0, 0, 0], 3, 4),
    ],
)
def test_the_nearest_whole_numbers_are_as_near_as_they_can_be(floors, fractions, reach, distance):
    made = problem(floors, fractions, 0, 20).nearest(10.0, 0.0, lambda *_: None)
    assert made.reach == reach
    assert made.distance == pytest.approx(distance) and made.bound == pytest.approx(distance)
    assert made.values[0] + made.values[1] == made.values[2]
    assert np.abs(made.values - np.array(floors) - np.array(fractions)).max() < reach


# printing


@pytest.mark.parametrize(("most", "fine"), [(5, True), (4, False)])
def test_a_sheet_has_a_column_for_each_side_down_and_each_code_across(tmp_path, monkeypatch, most, fine):
    """Three codes across with their total, and one column of labels: four, below five."""
    table = crossed([[1, 2], [3, 4]], AREA, SORT)
    monkeypatch.setattr(xlsx, "_MOST_COLUMNS", most)
    if fine:
        assert xlsx.save_xlsx(published(table), tmp_path / "t.xlsx").exists()
    else:
        with pytest.raises(BadInput, match="3 rows and 3 columns"):
            xlsx.save_xlsx(published(table), tmp_path / "t.xlsx")


@pytest.mark.parametrize(("most", "fine"), [(4, True), (3, False)])
def test_a_sheet_has_a_row_for_its_heads(tmp_path, monkeypatch, most, fine):
    table = crossed([[1, 2], [3, 4]], AREA, SORT)
    monkeypatch.setattr(xlsx, "_MOST_ROWS", most)
    if fine:
        assert xlsx.save_xlsx(published(table), tmp_path / "t.xlsx").exists()
    else:
        with pytest.raises(BadInput, match="3 rows and 3 columns"):
            xlsx.save_xlsx(published(table), tmp_path / "t.xlsx")


def test_a_workbook_shows_totals_bold_and_keeps_its_heads_in_view(tmp_path):
    from openpyxl import load_workbook

    table = crossed([[1, 2], [3, 4], [5, 6], [7, 8]], NESTED, SORT)
    sheet = load_workbook(xlsx.save_xlsx(published(table, [("p1", "x")]), tmp_path / "t.xlsx"))["Table 1"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert rows[0] == ["place", *SORT.codes]
    figures = table.values.tolist()
    at = NESTED.codes.index("p1")
    assert rows[at + 1] == ["p1", figures[at][0], "×", figures[at][2]]
    assert [row[1:] for place, row in enumerate(rows[1:]) if place != at] == figures[:at] + figures[at + 1 :]
    bold = {row[0].value for row in sheet.iter_rows() if all(cell.font.bold for cell in row)}
    assert bold == {"place", *(code for code, parts in zip(NESTED.codes, NESTED.parts, strict=True) if parts)}
    assert [cell.alignment.horizontal for cell in sheet[1]] == ["left", *["right"] * 3]
    assert sheet.freeze_panes == "B2"


def test_a_page_shows_every_figure_in_its_row_and_column():
    table = crossed([[1, 2], [3, 4]], AREA, SORT)
    hidden = np.zeros(table.shape, bool)
    seen = []
    page = html.laid_out(table, hidden, lambda cell: (seen.append(cell) or f"cell {cell}", "", ""))
    assert seen == list(range(9))
    rows = str(page).split("<tr")[2:]
    assert [[f"cell {3 * row + column}<" in text for column in range(3)] for row, text in enumerate(rows)] == [
        [True] * 3
    ] * 3
    assert str(page).count('scope="col"') == str(page).count('scope="row"') == 3


def test_codes_within_a_total_stand_further_in():
    table = crossed([1, 2, 3, 4], NESTED)
    by_row = str(html.laid_out(crossed([[1, 2]] * 4, NESTED, SORT), np.zeros((7, 3), bool)))
    assert [by_row.count(f"padding-left:{9 + 14 * depth}px") for depth in (0, 1, 2, 3)] == [1, 2, 4, 0]
    across = str(html.laid_out(table, np.zeros(table.shape, bool)))
    assert "padding-left:9px" not in across.rsplit("</style>", maxsplit=1)[-1]
    assert across.count("<tr") == 2 and across.count("<td") == 9


# what was lost


def test_a_figure_that_is_off_by_one_is_changed():
    cells = Cells.of(crossed([[3, 5], [7, 9]], AREA, SORT))
    off = np.zeros(len(cells), np.int64)
    assert changed_loss(cells, cells.values).changed == 0
    off[[4, 8]] = 1, -1
    told = changed_loss(cells, cells.values + off)
    assert (told.changed, told.max_absolute) == (2, 1.0)


@pytest.mark.parametrize(
    ("counts", "empty"), [([[0, 5], [7, 9]], False), ([[0, 0], [7, 9]], True), ([[0, 5], [0, 9]], True)]
)
def test_a_code_is_empty_if_nobody_has_it_anywhere(counts, empty):
    table = crossed([[3, 5], [7, 9]], AREA, SORT)
    there = replace(table, contributions=Contributions(summed((AREA, SORT), np.array(counts))))
    assert Cells.of(there).has_empty_codes == empty
    assert not Cells.of(table).has_empty_codes
    row = replace(crossed([3, 5], AREA), contributions=Contributions(summed((AREA,), np.array(counts[0]))))
    assert Cells.of(row).has_empty_codes, "of one side alone, an empty cell is an empty code"


@pytest.mark.parametrize(("many", "told"), [(5, "p5."), (6, "p5 and 1 more.")])
def test_a_refusal_names_five_cells(many, told):
    side = Dimension.flat("place", [f"p{n}" for n in range(1, many + 1)])
    cells = Cells.of(crossed([10] * many, side))
    protection = protection_of(cells, dict.fromkeys(range(1, many + 1), 1.0))
    with pytest.raises(NoPromise) as refusal:
        certify(cells, protection, np.zeros(len(cells), bool))
    assert f"p4; {told}" in str(refusal.value)


def test_hidden_figures_are_published_as_nothing():
    cells = Cells.of(crossed([[3, 5], [7, 9]], AREA, SORT))
    hidden = np.arange(len(cells)) == 4
    (made,) = PublishedTable.of(cells, cells.values, hidden).tables
    assert made.values.ravel().tolist() == np.where(hidden, 0, cells.values).tolist()

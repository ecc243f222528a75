"""The verb: from rows or figures to a release that gives nobody away."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.releases.test_exposure_cases import opened, where

import discreet as dc
from discreet.core.release import with_rows
from discreet.errors import BadInput, DataError
from discreet.releases.registration import facts_of
from discreet.verbs.tabulate.intruder.release_audit import audit
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension, summed

SIDES = (
    Dimension.flat("municipality", ["M1", "M2", "M3"]),
    Dimension.flat("profession", [f"P{i}" for i in range(1, 6)]),
)


def municipality(*, sole: bool = True) -> CrossTable:
    rows = dc.samples.municipality().fetch()
    values = np.array(rows["salary"].to_pylist(), np.int64).reshape(3, 5)
    counts = summed(SIDES, np.array(rows["count"].to_pylist(), np.int64).reshape(3, 5))
    largest = np.zeros((4, 6, 2), np.int64)
    largest[..., 0] = np.maximum(summed(SIDES, values) // np.maximum(counts, 1), 1)
    largest[2, 3, 0], largest[1, 1], largest[3, 5, 0] = 22, (200, 160), 350
    alone = np.where(counts == 1, 0, -1) if sole else None
    return CrossTable(SIDES, summed(SIDES, values), "salary", 0, Contributions(counts, largest, alone))


def test_the_worked_case_hides_no_more_than_the_printed_answer():
    table = municipality()
    made = dc.tabulate(table, rules="min=2")
    hidden = {made.holder.details.cells.name(cell) for cell in np.flatnonzero(made.holder.details.hidden)}
    assert "M2, P3" in hidden
    assert len(hidden) == 4
    printed_answer = sum(table.values.flat[table.cell(*codes)] for codes in (("M2", "P5"), ("M1", "P3"), ("M1", "P5")))
    added = np.flatnonzero(made.holder.details.added)
    assert table.values.ravel()[added].sum() == 1058 <= printed_answer
    fewest = dc.tabulate(table, rules="min=2", method="suppress weight=cells")
    assert fewest.holder.details.added.sum() == 3


def test_the_three_attacks_are_told_of_the_right_cells():
    made = dc.tabulate(municipality(), rules="min=3; n=1,k=0.9")
    told = made.holder.details.exposures
    assert any(one.startswith("M2, P3") and "single" in one for one in told)
    assert any(one.startswith("M1, P1") for one in told)
    assert any(one.startswith("M3, P5") and "13" in one for one in told)
    assert {one.split(":")[0] for one in told} == {"M2, P3", "M1, P1", "M3, P5"}


def test_a_release_is_laid_out_with_crosses_saved_and_audited_from_its_folder(tmp_path):
    made = dc.tabulate(municipality(), rules="min=2", to=tmp_path / "table", csv=True, holder=tmp_path / "kept.parquet")
    report = (tmp_path / "table" / "report.html").read_text(encoding="utf-8")
    assert report.count(">×<") == 4
    assert ">8,620<" in report
    back = dc.Release.load(tmp_path / "table")
    assert PublishedTable.read(back).rows() == back.payload == with_rows(made).payload
    seen = audit(back)
    assert not len(seen.recovered)
    low, high = made.holder.details.intervals.low, made.holder.details.intervals.high
    assert np.array_equal(seen.intervals.low, low)
    assert np.array_equal(seen.intervals.high, high)
    assert (low <= made.holder.details.cells.values).all()
    assert (made.holder.details.cells.values <= high).all()
    assert 'class="sensitive"' not in report
    assert (tmp_path / "kept.parquet").stat().st_mode & 0o077 == 0


def test_the_holders_page_says_what_is_sensitive_and_why():
    page = dc.tabulate(municipality(), rules="min=2").holder.page()
    assert 'class="sensitive"' in page
    assert 'class="added"' in page
    assert "an intruder can compute that it is between" in page


def test_a_single_hidden_cell_is_recovered():
    cells = dc.tabulate(municipality(), rules="min=2").holder.details.cells
    hidden = np.zeros(len(cells), bool)
    hidden[cells.tables[0].cell("M2", "P3")] = True
    printed = PublishedTable.of(cells, cells.values, hidden)
    release = dc.Release(
        printed.rows(),
        dc.Statement("respondent"),
        dc.Recipe("by hand", {"tables": printed.structure(), "least_hidden": 0}),
    )
    seen = audit(release)
    assert [seen.cells.name(int(cell)) for cell in seen.recovered] == ["M2, P3"]
    assert "M2, P3 can be computed: 22." in str(seen)


def test_rows_are_added_up_and_linked_tables_share_cells():
    firms = dc.samples.firms(400, seed=2)
    made = dc.tabulate(firms, ["region@1 × size", "size"], "turnover", rules="p=10", method="suppress seconds=20")
    assert made.payload.num_rows == 5 * 4
    assert set(made.payload.column_names) == {"region", "size", "turnover", "hidden"}
    assert made.recipe.parameters["rules"] == ["p%"]
    assert "10" not in str(made.statement)


def test_figures_changed_add_up_and_say_what_they_are():
    rounded = dc.tabulate(municipality(), method="round base=10")
    assert not rounded.private
    values = rounded.holder.details.values
    assert not (values % 10).any()
    assert not (rounded.holder.details.cells.relations @ values).any()
    adjusted = dc.tabulate(municipality(), rules="min=3", method="adjust")
    off = np.abs(adjusted.holder.details.values - adjusted.holder.details.cells.values)
    wanted = adjusted.holder.details.protection
    assert (off >= np.minimum(wanted.below, wanted.above))[wanted.sensitive].all()
    assert adjusted.statement.models[0].name == "far-enough-off"


def test_a_workbook_has_crosses_and_figures(tmp_path):
    from openpyxl import load_workbook

    made = dc.tabulate(municipality(), rules="min=2")
    saved = dc.tabulate(municipality(), rules="min=2", to=tmp_path / "table")
    sheet = load_workbook(dc.save_xlsx(made, tmp_path / "t.xlsx"))["Table 1"]
    assert dc.save_xlsx(saved, tmp_path / "of-folder.xlsx").read_bytes() == (tmp_path / "t.xlsx").read_bytes()
    assert [cell.value for cell in sheet[1]] == ["municipality", "Total", "P1", "P2", "P3", "P4", "P5"]
    assert [cell.value for cell in sheet[2]][:3] == ["Total", 8620, 2522]
    assert sum(cell.value == "×" for row in sheet for cell in row) == 4


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"rules": ""}, BadInput),
        ({"rules": "p=10", "method": "suppres"}, BadInput),
        ({"rules": "p=10", "method": "suppress how=magic"}, BadInput),
        ({"rules": "p=10", "method": "round"}, BadInput),
        ({"rules": "min=2", "by": "municipality"}, BadInput),
    ],
)
def test_what_makes_no_sense_is_refused(how, error):
    with pytest.raises(error):
        dc.tabulate(municipality(), **how)


def test_what_is_no_table_is_told_how_to_become_one():
    with pytest.raises(BadInput, match="neither a table of rows"):
        dc.tabulate(dc.samples.firms(50).fetch().to_pandas(), "size", rules="min=3")


def test_a_table_that_does_not_add_up_is_told_where():
    table = municipality()
    wrong = table.values.copy()
    wrong[2, 0] += 1
    with pytest.raises(DataError, match="M2, Total"):
        dc.tabulate(CrossTable(SIDES, wrong, "salary", 0, table.contributions), rules="min=2")


def test_nothing_is_kept_of_a_release_that_could_not_be_written(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(BadInput, match="not an empty folder"):
        dc.tabulate(municipality(), rules="min=2", to=tmp_path / "out", holder=tmp_path / "kept")
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


@pytest.mark.parametrize("method", ["cell-key most=3 variance=1", "swap areas=region risk=activity"])
def test_counts_are_changed_by_the_rows_they_are_made_of(method):
    firms = dc.samples.firms(300, seed=2)
    made = dc.tabulate(firms, "region@1 × size", method=method)
    assert not made.private
    assert (made.holder.details.values != made.holder.details.cells.values).any()
    again = dc.tabulate(firms, "region@1 × size", method=method, secret=made.holder.details.secret)
    if method.startswith("cell-key"):
        assert np.abs(made.holder.details.values - made.holder.details.cells.values).max() <= 3
        assert (again.holder.details.values == made.holder.details.values).all()
    else:
        assert not (made.holder.details.cells.relations @ made.holder.details.values).any()


def test_factors_change_what_respondents_contribute():
    firms = dc.samples.firms(300, seed=2)
    made = dc.tabulate(firms, "region@1 × size", "turnover", method="factors least=10% most=20%")
    off = np.abs(made.holder.details.values / np.maximum(made.holder.details.cells.values, 1) - 1)
    assert 0 < off.max() <= 0.2 + 1e-3
    assert not (made.holder.details.cells.relations @ made.holder.details.values).any()
    with pytest.raises(BadInput, match="table of counts"):
        dc.tabulate(firms, "size", method="factors")
    with pytest.raises(BadInput, match="only an aggregate table"):
        dc.tabulate(municipality(), method="cell-key")


def test_a_total_need_not_be_kept_from_whoever_is_alone_in_most_of_it():
    places = Dimension.from_paths("place", [("a1", "A"), ("a2", "A"), ("b1", "B"), ("b2", "B")])
    kinds = Dimension.flat("kind", ["x", "y"])
    sides = (places, kinds)
    values = summed(sides, np.array([[990, 500], [10, 400], [300, 350], [310, 340]], np.int64))
    counts = summed(sides, np.array([[1, 20], [4, 20], [20, 20], [20, 20]], np.int64))
    largest = np.zeros((*values.shape, 2), np.int64)
    largest[..., 0] = values // np.maximum(counts, 1)
    table = CrossTable(sides, values, "v", 0)
    for codes in (("a1", "x"), ("A", "x")):
        largest.reshape(-1, 2)[table.cell(*codes)] = (990, 0)
    alone = np.where(np.arange(values.size) == table.cell("a1", "x"), 0, -1).reshape(values.shape)
    known = Contributions(counts, largest, alone)
    made = dc.tabulate(CrossTable(sides, values, "v", 0, known), rules="n=1,k=0.8")
    protection = made.holder.details.protection
    assert protection.sensitive.sum() == 2
    assert protection.insiders == ((table.cell("a1", "x"),),)
    assert protection.within == ((table.cell("A", "x"),),)
    assert made.holder.details.hidden[protection.sensitive].all()


def test_everybody_knows_that_a_hidden_count_is_not_zero():
    side = Dimension.flat("row", ["a", "b", "c", "d"]), Dimension.flat("column", ["x", "y", "z"])
    counts = summed(side, np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 20, 30]], np.int64))
    made = dc.tabulate(CrossTable(side, counts, "", 0, Contributions(counts)), rules="min=2")
    assert made.recipe.parameters["least_hidden"] == 1
    hidden, told = made.holder.details.hidden, made.holder.details.intervals
    assert (told.low[hidden] >= 1).all()
    assert (told.high[hidden] > told.low[hidden]).all()
    zeros = dc.tabulate(CrossTable(side, counts, "", 0, Contributions(counts)), rules="min=2", method="suppress zeros")
    assert zeros.recipe.parameters["least_hidden"] == 0


def test_large_figures_beside_small_ones_are_audited():
    sides = tuple(
        Dimension.flat(name, [f"{name}{place}" for place in range(size)])
        for name, size in zip("abc", (2, 2, 3), strict=True)
    )
    inner = np.array([[[30, 0, 81205321], [29, 25242077, 22]], [[0, 11, 29], [0, 13, 38]]], np.int64)
    counts = np.where(inner == 0, 0, np.where(inner < 40, 1, 20))
    table = CrossTable(sides, summed(sides, inner), "v", 0, Contributions(summed(sides, counts)))
    made = dc.tabulate(table, rules="min=3", method="suppress how=fast")
    assert (made.holder.details.intervals.high >= made.holder.details.cells.values).all()


def facts_seen(monkeypatch):
    """A list that gets what each release tells."""
    seen = []

    def keep(method, made, table, loss):
        seen.extend(method.facts(made, table))
        return facts_of(method, made, replace(table, registers=()), loss)

    monkeypatch.setattr("discreet.releases.pipeline.facts_of", keep)
    return seen


def test_the_facts_of_a_table_have_the_share_that_its_p_percent_rule_promises(tmp_path, monkeypatch):
    rows = [{"id": n, "town": "AB"[n % 2], "income": 10 + n} for n in range(24)]
    seen = facts_seen(monkeypatch)
    dc.tabulate(opened(tmp_path, rows), "town", value="income", rules="p=15")
    assert [one.share for one in seen] == [Fraction(15, 100)]


def test_of_rows_chosen_by_what_not_everybody_knows_nobody_else_is_told_to_be_there(tmp_path, monkeypatch):
    """Towns and sexes of those with the flu: of other towns, and of other sexes, nobody was chosen."""
    rows = [
        {"id": n, "town": town, "sex": sex, "ill": ill}
        for n, (town, sex, ill) in enumerate(zip("AABC", "fmff", ("flu", "flu", "flu", "cold"), strict=True))
    ]
    seen = facts_seen(monkeypatch)
    chosen = where(opened(tmp_path, rows), "ill = 'flu'")
    dc.tabulate(chosen, "town × sex", method="round base=3 how=conventional")
    (figures,) = seen
    assert [side.leaves for side in figures.sides] == [3, 3, 2]
    assert figures.codes.tolist()[-2:] == [[3, 4, 0], [4, 3, 0]]
    assert figures.low.tolist()[-2:] == figures.high.tolist()[-2:] == [0, 0]
    covers = [[cover.tolist() for cover in side.covers[-2:]] for side in figures.sides[:2]]
    assert covers == [[[2], [0, 1, 2]]] * 2

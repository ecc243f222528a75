"""What a release tells, as figures: of fewer columns, of rows that were chosen, and of a published file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import parse_one
from tests.releases.test_exposure_cases import opened

from discreet.core import sql
from discreet.errors import DataError
from discreet.releases import facts
from discreet.releases.atoms import People, nobody
from discreet.releases.facts import Choice, FactSide, Figures, Opaque, TupleFinder, class_figures, gap_figures
from discreet.releases.records import Ambiguous, Answered, _combinations, fetch_records, told_by

PEOPLE = [
    {"id": 1, "town": "A", "ill": "flu", "disease": "no"},
    {"id": 2, "town": "A", "ill": "cold", "disease": "no"},
    {"id": 3, "town": "A", "ill": "flu", "disease": "yes"},
    {"id": 4, "town": "B", "ill": "flu", "disease": "no"},
    {"id": 5, "town": "B", "ill": "flu", "disease": "yes"},
]


def side(name, leaves, tells=()):
    """A side whose codes are the total and every leaf."""
    covers = (np.arange(leaves), *np.arange(leaves).reshape(-1, 1))
    return FactSide(name, tells, (), lambda columns: np.zeros(0), leaves, covers)


def table_of(*, measure=""):
    """Counts by town, illness and disease, of which everybody is taken to know the town."""
    sides = (side("town", 2), side("ill", 2, ("ill",)), side("disease", 2, ("disease",)))
    codes = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 2], [2, 2, 0], [0, 0, 1]])
    figures = np.arange(6.0)
    return Figures(None, sides, codes, figures, figures + 1, measure=measure)  # type: ignore[arg-type]


def test_figures_of_one_column_are_those_that_are_totals_over_the_others():
    ill = table_of().project({"ill", "town"})
    assert [one.name for one in ill.sides] == ["town", "ill"] and ill.tells == ("ill",)
    assert ill.codes.tolist() == [[1, 0], [1, 1], [2, 2]]
    assert (ill.low.tolist(), ill.high.tolist()) == ([0, 1, 4], [1, 2, 5])
    disease = table_of().project({"disease"})
    assert (disease.codes.tolist(), disease.low.tolist()) == ([[1, 0], [0, 1]], [0, 5])


def test_figures_are_projected_to_what_they_tell_or_not_at_all():
    whole, sums = table_of(), table_of(measure="pay")
    assert whole.project({"ill", "disease", "more"}) is whole
    assert whole.project({"town"}) is None and whole.project(()) is None
    assert sums.tells == ("ill", "disease", "pay")
    assert sums.project({"ill", "disease", "pay"}) is sums
    assert sums.project({"ill", "disease"}) is None and sums.project({"pay"}) is None


def published(folder, told=("ill", "disease")):
    rows = opened(folder, PEOPLE)
    return class_figures(rows, {"town": sql.column("town")}, rows, told)


def counted(figures):
    """Figures by the labels of their codes."""
    labels = [one.find.labels.to_pylist() for one in figures.sides]
    return {
        tuple(value for place, code in enumerate(codes) for value in labels[place][code].values()): count
        for codes, count in zip(figures.codes.tolist(), figures.low.tolist(), strict=True)
    }


def test_a_published_file_counts_its_rows_by_class_and_values(tmp_path):
    (made,) = published(tmp_path)
    assert made.complete and made.low is made.high
    assert counted(made) == {
        ("A", "flu", "no"): 1,
        ("A", "cold", "no"): 1,
        ("A", "flu", "yes"): 1,
        ("B", "flu", "no"): 1,
        ("B", "flu", "yes"): 1,
    }
    fewer = made.project({"ill"})
    assert counted(fewer) == {("A", "flu"): 2, ("A", "cold"): 1, ("B", "flu"): 2}
    assert fewer.tells == ("ill",) and fewer.sides[1].leaves == 2
    (alone,) = published(tmp_path, ())
    assert counted(alone) == {("A",): 3, ("B",): 2} and alone.tells == ()


@pytest.mark.parametrize(("most", "opaque"), [(5, False), (4, True)])
def test_a_file_of_too_many_different_rows_is_opaque(tmp_path, monkeypatch, most, opaque):
    monkeypatch.setattr(facts, "_MOST_COMBINATIONS", most)
    assert isinstance(published(tmp_path), Opaque) is opaque


@pytest.mark.parametrize("columns", [2, 70])
def test_rows_are_found_by_all_their_values_missing_ones_included(columns):
    """Seventy columns of two values have more combinations than fit 64 bits."""
    rows = [["a"] * columns, [None] * columns, ["a"] * (columns - 1) + [None], [None] + ["a"] * (columns - 1)]
    unknown = ["b"] + ["a"] * (columns - 1)
    asked = [
        rows[2],
        unknown,
        rows[0],
        rows[3],
        ["a", None, *["a"] * (columns - 2)] if columns > 2 else unknown,
        rows[1],
    ]
    names = [f"c{n}" for n in range(columns)]

    def table(some):
        return pa.table({name: pa.array([row[n] for row in some], pa.string()) for n, name in enumerate(names)})

    find = TupleFinder(table(rows))
    assert find([table(asked).column(name) for name in names]).tolist() == [2, -1, 0, 3, -1, 1]
    assert find([table([]).column(name) for name in names]).tolist() == []


@pytest.mark.parametrize(
    ("conditions", "tells"),
    [
        ((), ()),
        (("town = 'A'",), ()),
        (("ill = 'flu'",), ("ill",)),
        (("town = 'A' AND (ill = 'flu' OR disease = 'no')",), ("disease", "ill")),
        (("town = 'A'", "ill = 'flu'"), ("ill",)),
        (("town = 'A' OR ill = 'flu'",), None),
    ],
)
def test_what_is_told_by_choosing_rows(tmp_path, conditions, tells):
    table = opened(tmp_path, PEOPLE)
    for one in conditions:
        table = table.where(parse_one(one))
    made = Choice.of(table)
    if tells is None:
        assert made == Opaque("its rows were chosen by ill and town at once")
        return
    assert made.tells == tells and (made.condition is None) is (not tells)
    if not tells:
        assert made.rows is table
        return
    town = any("town" in one for one in conditions)
    assert made.rows.fetch().num_rows == (3 if town else 5), "all that everybody knows could have been chosen"
    label = made.rows.engine.fetch(made.rows.query(sql.named(made.side.labels[0], "label"), sql.column("id")))
    chosen = dict(zip(label.column("id").to_pylist(), made.side.find([label.column("label")]).tolist(), strict=True))
    kept = table.fetch().column("id").to_pylist()
    assert chosen == {who: 0 if who in kept else 1 for who in chosen}
    assert (made.side.leaves, [one.tolist() for one in made.side.covers]) == (2, [[0]])


def test_rows_chosen_by_what_cannot_be_looked_at_again_are_opaque(tmp_path):
    table = opened(tmp_path, PEOPLE).where(parse_one("ill = 'flu'"))
    assert Choice.of(replace(table, unchosen=None)) == Opaque("its rows were chosen by ill")


def test_sums_that_were_answered_are_figures_over_groups_of_rows():
    made = Answered("pay", pa.array([7, 8, 9]), np.array([1, -1, 0]), np.array([2.0, 4, 8]), np.array([8.0, 2]))
    records, told = made.records("who")
    assert (records.key.to_pylist(), records.unit.to_pylist(), records.by) == (["7", "9"], [7, 9], ("who",))
    assert (records.copies.tolist(), records.group.tolist(), records.leaf.tolist()) == ([1, 1], [1, 0], [0, 0])
    assert records.amounts.tolist() == [2, 8]
    assert (told.number, told.tells, told.domain, told.leaf.tolist(), told.leaves) == (0, (), ((),), [0], 1)
    assert (told.starts.tolist(), told.places.tolist(), told.possible.tolist()) == ([0, 1, 2], [0, 1], [0, 1])
    assert told.low.tolist() == told.high.tolist() == [8, 2] and told.measure == "pay in 10^-0"
    for units in ([7, 8, 7], [7, 8, None]):
        with pytest.raises(Ambiguous):
            replace(made, unit=pa.array(units)).records("who")


@pytest.mark.parametrize("columns", [(), ("aabb",), ("abcdeabcde", "xxxxxyyyyy"), ("abab", "xxyy", "ppqp")])
def test_every_combination_of_values_is_found_once_with_a_row_that_has_it(columns):
    rows = list(zip(*columns, strict=True)) if columns else [()] * 3
    coded = [pa.array(list(one)).dictionary_encode() for one in columns]
    found, first = _combinations(coded, len(rows))
    assert len(found) == len(set(found)) and set(found) == set(rows)
    assert [rows[row] for row in first.tolist()] == list(found)
    assert not columns or _combinations([one[:0] for one in coded], 0)[0] == ()


def with_gaps(folder, gaps=(1, 0, 0, 0, 1), data=PEOPLE):
    """The people as they were released, some without a disease."""
    rows = opened(folder, PEOPLE)
    told = ["ill", "disease"]
    return gap_figures(rows, pa.Table.from_pylist(data), ["town"], told, column="disease", gaps=np.array(gaps, bool))


def test_a_gap_may_have_been_any_value_that_the_others_leave(tmp_path):
    """Of A with the flu one gap and one yes, of A with a cold one no, of B with the flu one no and one gap."""
    (made,) = with_gaps(tmp_path)
    known, telling = (one.find.labels.to_pylist() for one in made.sides)
    singles, totals = {}, {}
    for (town, told), *ends in zip(made.codes.tolist(), made.low.tolist(), made.high.tolist(), strict=True):
        leaves = made.sides[1].covers[told].tolist()
        (place,) = made.sides[0].covers[town].tolist()
        where = known[place]["town"], telling[leaves[0]]["ill"]
        if told < len(telling):
            singles[*where, telling[told]["disease"]] = ends
        else:
            assert {telling[leaf]["ill"] for leaf in leaves} == {where[1]}
            totals[where] = ends
    assert singles == {
        ("A", "flu", "no"): [0, 1],
        ("A", "flu", "yes"): [1, 2],
        ("A", "cold", "no"): [1, 1],
        ("B", "flu", "no"): [1, 2],
        ("B", "flu", "yes"): [0, 1],
    }
    assert totals == {("A", "flu"): [2, 2], ("B", "flu"): [2, 2]} and made.complete


@pytest.mark.parametrize(("most", "opaque"), [(5, False), (4, True)])
def test_rows_with_gaps_that_are_too_many_are_opaque(tmp_path, monkeypatch, most, opaque):
    monkeypatch.setattr(facts, "_MOST_COMBINATIONS", most)
    assert isinstance(with_gaps(tmp_path), Opaque) is opaque


def test_rows_that_are_no_longer_there_are_an_error(tmp_path):
    with pytest.raises(DataError, match="changed while"):
        with_gaps(tmp_path, data=[*PEOPLE[:4], {"id": 5, "town": "B", "ill": "cold", "disease": "yes"}])


@pytest.mark.parametrize(("low", "high", "fine"), [(0, 0, True), (-1, 1, True), (1, 1, False), (-1, -1, False)])
def test_figures_of_other_rows_are_an_error(tmp_path, low, high, fine):
    (made,) = published(tmp_path)
    other = replace(made, low=made.low + low, high=made.high + high)
    if fine:
        assert told_by(other, fetch_records(other), "it").leaves == 3
    else:
        with pytest.raises(DataError, match="it was not made from these rows"):
            told_by(other, fetch_records(other), "it")


def test_units_are_counted_in_every_atom_they_are_in():
    def people(units, atoms):
        size = len(units)
        return People(pa.array(range(size)), pa.array(units), np.ones(size, np.int64), np.array(atoms))

    assert people([7, 7, 7], [0, 1, 1]).unit_counts.tolist() == [1, 1], "somebody alone"
    assert people([7, 8, 8, 7], [0, 0, 1, 1]).unit_counts.tolist() == [2, 2]
    assert (nobody().people.atoms, people([7], [0]).atoms) == (0, 1)

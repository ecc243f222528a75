"""Every figure at both extremes and in between; the baselines are what is really got."""

import json
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.utility.faithful.cases import N, copy, one_by_one, people, release, sample

import discreet as dc
from discreet.core import release_extras, sql
from discreet.core.report import heat
from discreet.core.table import Table
from discreet.errors import BadInput, DataError, NotFound
from discreet.utility.faithful.columns import associations, coded, counts, if_independent, of_a_sample, variation

ERRORS = ("1-way error", "2-way error", "3-way error", "correlations", "propensity")


@pytest.fixture(scope="module")
def found():
    table, few = people(), people(n=300)
    made = {"copy": (few, copy(few)), "sample": (table, sample(table)), "one by one": (table, one_by_one(table))}
    return {name: dc.utility.fidelity(mine, release(rows)) for name, (mine, rows) in made.items()}


def test_a_copy_is_perfect(found):
    copied = found["copy"]
    assert copied["k-marginal score"] == 1000
    assert [copied[name] for name in ERRORS[:4]] == pytest.approx([0] * 4, abs=1e-9)
    assert copied["propensity"] < copied.entry("propensity").sample
    assert copied["learning"] <= 0.01
    assert copied["trees AUC"] == 0


def test_another_sample_gets_what_another_sample_is_said_to_get(found):
    for name in ERRORS:
        entry = found["sample"].entry(name)
        assert entry.sample / 3 < entry.figure < 2 * entry.sample, name
    for name in ERRORS[1:3]:  # the mean of many
        entry = found["sample"].entry(name)
        assert entry.figure == pytest.approx(entry.sample, rel=0.15), name
    assert found["sample"]["learning"] < 0.02
    assert found["sample"]["trees AUC"] < 0.1


def test_columns_drawn_one_by_one_get_what_independent_data_are_said_to_get(found):
    """Single columns are right, and that is all."""
    mixed = found["one by one"]
    assert mixed["1-way error"] == pytest.approx(0, abs=1e-12)
    for name in (*ERRORS[1:], "k-marginal score", "trees AUC", "learning"):
        entry = mixed.entry(name)
        assert entry.figure == pytest.approx(entry.independent, rel=0.3), name
        assert abs(entry.figure - entry.best) > 3 * abs((entry.sample or 0) - entry.best), name


def test_the_score_is_a_thousand_less_the_error_of_pairs(found):
    for one in found.values():
        assert one["k-marginal score"] == pytest.approx(1000 * (1 - one["2-way error"]))


def test_elsewhere_is_as_bad_as_can_be():
    table = people(n=200)
    rows = table.payload()
    for name, value in (("age", 1_000), ("cost", 1e9), ("town", "z"), ("ill", "maybe")):
        alike = pa.array([value] * 200, rows[name].type)
        rows = rows.set_column(rows.column_names.index(name), name, alike)
    far = dc.utility.fidelity(table, release(rows), columns=["age", "town"])
    assert far["1-way error"] == pytest.approx(0.95, abs=0.06)  # the last tenth of ages is beyond all of them, too
    assert far["propensity"] > 0.9
    assert far.entry("3-way error").why.startswith("not measured: there are fewer than 3")


def test_bounds_that_left_with_the_rows_stand_beside_the_errors_of_the_same_counts():
    """Twelve against ten: three flats too many in Ayr, a house in Bath, and two flats too few there."""
    columns = (
        dc.Column("town", dc.Kind.TEXT, dc.Role.QUASI, categories=("Ayr", "Bath")),
        dc.Column("home", dc.Kind.TEXT, dc.Role.QUASI, categories=("flat", "house")),
    )
    mine = pa.table({"town": ["Ayr"] * 4 + ["Bath"] * 6, "home": ["flat", "house"] * 5})
    told = {
        "by": "mst",
        "rows": 12,
        "columns": ["home", "town"],
        "exact": ["home", "town"],
        "reach": {"home": 3, "home × town": 30},
    }
    made = pa.table({"town": ["Ayr"] * 7 + ["Bath"] * 5, "home": ["flat", "house"] * 2 + ["flat"] * 4 + ["house"] * 4})
    made = made.replace_schema_metadata({release_extras.SYNTHETIC: json.dumps(told)})
    found = dc.utility.fidelity(dc.read(mine, dc.Card("homes", columns)), release(made))
    assert [one.cells for one in found.count_errors] == [
        ("home × town", "no bound", "33.3%"),
        ("home", "25.0%", "16.7%"),
    ]
    assert found.to_dict()["count_errors"]["home"] == {"promised": 0.25, "measured": 2 / 12}
    assert found.pictures()[0].title == "Error of counts: promised and measured"
    assert "measured 16.67" in found.pictures()[0].svg
    plain = dc.utility.fidelity(dc.read(mine, dc.Card("homes", columns)), release(made.replace_schema_metadata(None)))
    assert plain.count_errors == ()
    assert "count_errors" in plain.to_dict()


def test_variation_is_the_share_that_is_elsewhere():
    assert variation(np.array([1, 1]), np.array([3, 1])) == 0.25
    assert variation(np.array([5, 0]), np.array([0, 2])) == 1


@pytest.mark.parametrize(("shares", "rows"), [((1, 1), 1), ((1, 3), 4), ((5, 1, 1), 3), ((7,), 5)])
def test_what_a_sample_gets_is_exact(shares, rows):
    """By adding up all samples of a few rows."""
    mine = np.array(shares, dtype=float)
    expected = 0.0
    for p in mine / mine.sum():
        for hits in range(rows + 1):
            expected += comb(rows, hits) * p**hits * (1 - p) ** (rows - hits) * abs(hits / rows - p) / 2
    assert of_a_sample(mine, rows) == pytest.approx(expected, rel=2e-3)


def test_independence_is_told_from_counts():
    assert if_independent(np.outer([1, 2], [3, 1])) == pytest.approx(0)
    assert if_independent(np.diag([1.0, 1.0])) == 0.5


def test_counts_are_those_of_the_rows():
    table = people()
    codes = [coded(table, name) for name in ("age", "cost", "seen", "town", "ill")]
    got = counts(table, codes, [(1,), (3, 4)])
    assert got[1,][0] == table.payload()["cost"].null_count
    assert got[1,][1:].tolist() == pytest.approx([(N - got[1,][0]) / 10] * 10, abs=1)
    frame = table.payload().to_pandas()
    for i, town in enumerate(codes[3].labels):
        for j, ill in enumerate(codes[4].labels):
            assert got[3, 4][i, j] == ((frame.town == town) & (frame.ill == ill)).sum()
    assert codes[3].labels == ("NULL", "c", "b", "a", "all else")  # as declared


def test_associations_are_the_known_ones():
    table = people()
    names = ("age", "cost", "seen", "town", "ill")
    codes = [coded(table, name) for name in names]
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    found = associations(table, codes, counts(table, codes, pairs))
    frame = table.payload().to_pandas()
    assert found[0, 1] == pytest.approx(frame.age.corr(frame.cost))
    groups = frame.groupby("town").age
    between = (groups.size() * (groups.mean() - frame.age.mean()) ** 2).sum()
    assert found[0, 3] == pytest.approx(np.sqrt(between / ((frame.age - frame.age.mean()) ** 2).sum()))
    assert 0 < found[3, 4] < 1
    same = associations(table, [codes[3], codes[3]], {(0, 1): np.diag([0.0, 300, 500, 700, 0])})
    assert same[0, 1] == pytest.approx(1, abs=0.01)
    apart = associations(table, [codes[3], codes[3]], {(0, 1): np.outer([0, 300, 500, 700, 0.0], [0, 10, 20, 5, 0.0])})
    assert apart[0, 1] == 0


def test_models_are_tested_on_a_control_and_progress_is_told():
    table, others = people(n=300), people(seed=9, n=300)
    told = []
    made = release(sample(others))
    got = dc.utility.fidelity(table, made, control=others, progress=lambda share, what: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1
    entry = got.entry("learning")
    assert "who are in neither" in entry.meaning
    assert abs(entry.figure) < 0.05
    wrong = dc.read(pa.table({"age": [1]}), dc.Card("x", (dc.Column("age", dc.Kind.INTEGER),)))
    with pytest.raises(DataError, match="control has no column"):
        dc.utility.fidelity(table, release(sample(table)), control=wrong)


def test_what_cannot_be_compared_is_named_and_what_is_missing_told():
    table = people(n=100)
    rows = table.payload().drop_columns(["seen"])
    rows = rows.set_column(0, "age", pa.array(["30 to 39"] * 100))
    got = dc.utility.fidelity(table, rows, target="town")
    assert got.left_out == ("age", "seen")
    assert got.columns == ("cost", "town", "ill")
    assert got["learning"] is not None
    assert dc.utility.fidelity(table, rows.select(["cost", "town"])).entry("learning").why.startswith("not measured")
    with pytest.raises(DataError, match="no column with values"):
        dc.utility.fidelity(table, pa.table({"shoe": [1]}))
    with pytest.raises(DataError, match="no rows"):
        dc.utility.fidelity(table, rows.slice(0, 0))
    with pytest.raises(NotFound, match="not among the columns"):
        dc.utility.fidelity(table, rows, target="seen")
    with pytest.raises(NotFound, match="releases no column"):
        dc.utility.fidelity(table, rows, columns=["shoe"])
    with pytest.raises(DataError, match="table of rows"):
        dc.utility.fidelity(table, dc.Release(1, dc.Statement(unit="person"), dc.Recipe("by hand")))
    with pytest.raises(BadInput, match="not measured"):
        got["shoe size"]


@pytest.mark.parametrize("rows", [1, 2])
def test_few_rows_and_columns_that_are_all_the_same_or_missing(rows):
    few = pa.table(
        {"n": pa.array([1.5] * rows), "t": pa.array(["x"] * rows), "gone": pa.array([None] * rows, pa.int64())}
    )
    columns = (dc.Column("n", dc.Kind.REAL), dc.Column("t", dc.Kind.TEXT), dc.Column("gone", dc.Kind.INTEGER))
    got = dc.utility.fidelity(dc.read(few, dc.Card("few", columns)), few)
    assert got["k-marginal score"] == 1000
    assert got["correlations"] is None
    assert got["propensity"] is None
    assert got.pictures()


def test_where_everything_is_missing_counts_are_told_all_the_same():
    gone = pa.table({"a": pa.nulls(9, pa.int64()), "b": pa.nulls(9, pa.string())})
    columns = (dc.Column("a", dc.Kind.INTEGER), dc.Column("b", dc.Kind.TEXT))
    got = dc.utility.fidelity(dc.read(gone, dc.Card("gone", columns)), gone)
    assert got["k-marginal score"] == 1000
    for name in ("propensity", "trees AUC", "learning"):
        assert got.entry(name).why.startswith("not measured: The release has no column with values")


def test_rows_in_a_folder_and_in_a_table(tmp_path):
    table = people(n=30)
    rows = one_by_one(table)
    saved = dc.Release(rows, dc.Statement(unit="person"), dc.Recipe("synthesize")).save(tmp_path / "r")
    here, *there = (
        dc.utility.fidelity(table, made, columns=["town", "ill"], target="town")["2-way error"]
        for made in (rows, dc.Release.load(saved), dc.read(saved / "payload.parquet", table.card))
    )
    assert there == [here, here]
    assert dc.utility.fidelity(table, saved, columns=["town", "ill"])["2-way error"] == here
    with pytest.raises(NotFound):
        dc.utility.fidelity(table, str(tmp_path / "nowhere"))


def test_of_several_copies_the_first_is_looked_at():
    table = people(n=30)
    mine = one_by_one(table)
    both = pa.concat_tables(
        [rows.append_column("copy", pa.array([n] * 30)) for n, rows in ((2, copy(table)), (1, mine))]
    )
    some = {"columns": ["town", "ill"]}
    got = dc.utility.fidelity(table, release(both, "synthesize cart", copies=2), **some)
    assert got.rows == (30, 30)
    assert got["2-way error"] == dc.utility.fidelity(table, mine, **some)["2-way error"] > 0
    assert "copy 1 of 2" in str(got)


def test_it_is_told_in_words_pictures_and_for_machines(found, tmp_path):
    one = found["one by one"]
    assert "less is better (0 is best)" in str(one)
    assert "more is better (1000 is best)" in str(one)
    drawn = {picture.title: picture for picture in one.pictures()}
    assert set(drawn) == {
        "age",
        "cost",
        "seen",
        "town",
        "ill",
        "Errors of pairs of columns",
        "Changes of associations",
        "Told apart",
    }
    assert "age and ill" in drawn["Errors of pairs of columns"].svg
    page = one.html(tmp_path / "f.html").read_text()
    assert "confidential" in page
    assert page.count("<img") == 8
    assert "Worst: 2-way error" in page
    told = json.loads(json.dumps(one.to_dict()))
    assert told["rows"] == {"original": N, "synthetic": N}
    assert told["measured"]["2-way error"]["independent"] > told["measured"]["2-way error"]["sample"]
    assert len(one.entry("2-way error").details) == 10


def test_a_heat_map_refuses_what_it_cannot_draw():
    for labels, values in (([], []), (["a"], [[1, 2]]), (["a"], [[-1.0]]), (["a"], [[float("inf")]])):
        with pytest.raises(BadInput):
            heat("x", labels, values)
    assert 'fill-opacity="1.000"' in heat("x", ["a", "b"], [[float("nan"), 2.0], [1.0, 0.0]]).svg


def test_counts_and_associations_are_the_same_on_every_engine(engine, fresh):
    here, names = people(n=200), ("cost", "seen", "town", "ill")
    name = fresh()
    engine.load(name, here.fetch())
    relation = exp.select(*(sql.column(column) for column in here.columns)).from_(sql.table(name))
    there = Table(here.card, engine, relation)
    sets = [(0,), (0, 1, 3), *((i, j) for i in range(4) for j in range(i + 1, 4))]
    figures = []
    for table in (here, there):
        codes = [coded(table, column) for column in names]
        counted = counts(table, codes, sets)
        figures.append((codes, counted, associations(table, codes, counted)))
    assert [one.labels for one in figures[0][0]] == [one.labels for one in figures[1][0]]
    for some in sets:
        assert (figures[0][1][some] == figures[1][1][some]).all()
    assert figures[0][2] == pytest.approx(figures[1][2], nan_ok=True)

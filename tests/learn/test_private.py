"""Learners with a privacy loss: what they find, what bounds their sums, and what they make of bad input."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.learn.planted import CARD, credit, rows
from tests.noise.bits import Repeatable

import discreet as dc
from discreet.core.card import Card, Column
from discreet.core.document import dumps, loads
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Pure
from discreet.engines.read import read
from discreet.errors import BadInput, BudgetExceeded, NoPromise, NotDeclared
from discreet.noise.entropy import Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.learn.frame import NumberFeature
from discreet.verbs.learn.private.coding import FINE, CodedRows, Coding
from discreet.verbs.learn.private.log_odds import log_odds
from discreet.verbs.learn.private.meter import GRID, Lesson, Meter

LOTS = "epsilon=3 delta=1e-6"


@pytest.fixture(autouse=True)
def same_noise(monkeypatch):
    """The same noise in each run: what is found does not depend on luck."""
    bits = Repeatable(1)
    monkeypatch.setattr(Entropy, "bytes", lambda _, count: bits.bytes(count))


class Still(Meter):
    """A meter whose noise is left out: what rows add can be seen."""

    def _noisy(self, sums, total, squares, share):
        self.seen = (sums, total, squares)
        return super()._noisy(sums, total, squares, share)


def coded(count):
    return CodedRows((np.zeros(count, np.uint16),), np.zeros(count, np.int64))


@pytest.mark.parametrize("allowance", [Pure(1), Concentrated("1/2")])
def test_no_row_adds_a_longer_vector_than_the_noise_is_for_whatever_a_learner_says(allowance):
    """Each hostile row stands alone: what it adds is the sums."""
    hostile = [
        [0.3, 0.4],
        [3.0, 4.0],
        [1e308, 1e308],
        [np.inf, 1.0],
        [np.nan, 2.0],
        [-np.inf, np.nan],
        [5e-324, -5e-324],
        [1.0 + 2**-52, 1.0],
        [-1e200, 1e-200],
        [0.6000000000000001, 0.8000000000000002],
    ]
    rng = np.random.default_rng(1)
    hostile += (rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-3, 4, (200, 1))).tolist()
    full = 0
    for vector in hostile:
        meter = Still(coded(1), allowance, 1, Repeatable(1))
        zero = np.zeros(1, np.int64)
        with np.errstate(all="ignore"):
            meter.sums(
                lambda part, v=vector, z=zero: [(z, np.array(v[:1])), (z + 1, np.array(v[1:]))], 2, 1.0, Fraction(1)
            )
        sums, total, squares = meter.seen
        assert (total, squares) == (GRID, GRID**2)
        if isinstance(allowance, Pure):
            assert np.abs(sums).sum() <= total
        else:
            assert (sums**2).sum() <= squares
        full += (sums**2).sum() > 0.99 * squares
    assert full > 50 or isinstance(allowance, Pure)


@pytest.mark.parametrize("places", [[0, 0], [1, 0], [0, 2], [-1, 0], [1, 1]])
def test_a_row_that_names_a_place_twice_or_one_that_is_not_there_adds_nothing(places):
    """Twice 0.7 in one place would be 1.4, where two places are as long as 1."""
    meter = Still(coded(2), Concentrated(1), 1, Repeatable(1))
    second = np.array([places, [0, 1]])
    meter.sums(lambda part: [(at, np.full(2, 0.7)) for at in second.T], 2, 1.0, Fraction(1))
    alone = int(0.7 / np.hypot(0.7, 0.7).clip(1) * GRID)
    assert meter.seen[0].tolist() == [alone, alone]


def test_products_of_a_row_that_is_too_long_count_for_nothing_and_no_pair_twice():
    pairs = np.stack(np.triu_indices(3))
    for entries, counted in (([4, 4, 4], True), ([4, -4, 0], True), ([9, 9, 9], True), ([1, 2, 3], True)):
        meter = Still(coded(1), Concentrated(1), 1, Repeatable(1))
        meter.products(lambda part, e=entries: np.array([e]), pairs, 4, 3, Fraction(1))
        sums, total, squares = meter.seen
        assert np.abs(sums).sum() <= total
        assert (sums**2).sum() <= squares
        assert bool(sums.any()) is counted
    assert (sums**2).sum() < squares
    meter = Still(coded(1), Concentrated(1), 1, Repeatable(1))
    meter.products(lambda part: np.array([[4, 4, 4, 4]]), np.stack(np.triu_indices(4)), 4, 3, Fraction(1))
    assert not meter.seen[0].any(), "four numbers where three were promised"
    with pytest.raises(NoPromise, match="twice"):
        meter.products(lambda part: np.array([[1, 1]]), np.array([[0, 1], [1, 0]]), 4, 3, Fraction(1))


def test_a_row_is_in_one_cell_of_each_histogram_and_shares_run_out():
    meter = Still(coded(5), Pure(1), 2, Repeatable(1))
    cells = [lambda part: np.array([0, 1, 2, 7, -1]), lambda part: np.array([0, 0, 0, 0, 0])]
    meter.histograms(cells, [3, 1], Fraction(1, 2))
    assert meter.seen[0].tolist() == [1, 1, 1, 5]
    assert meter.seen[1:] == (2, 2)
    with pytest.raises(NoPromise, match="share"):
        meter.histograms(cells, [3, 1], Fraction(3, 4))


def test_the_noise_is_that_of_the_share_and_of_all_rows_of_a_person(monkeypatch):
    drawn = []
    for kind in (DiscreteLaplace, DiscreteGaussian):
        add = kind.add_all
        monkeypatch.setattr(kind, "add_all", lambda self, v, e, add=add: drawn.append(self) or add(self, v, e))
    cells = [lambda part: np.zeros(1, np.int64)] * 4
    Meter(coded(1), Pure(1), 3, Repeatable(1)).histograms(cells, [1] * 4, Fraction(1, 2))
    Meter(coded(1), Concentrated("1/2"), 3, Repeatable(1)).histograms(cells, [1] * 4, Fraction(1, 2))
    assert drawn[0].scale == 3 * 4 * 2
    assert drawn[1].sigma_squared == 9 * 4 / (2 * Fraction(1, 4))


@pytest.mark.parametrize("method", ["additive", "naive-bayes", "logistic"])
def test_a_classifier_finds_what_was_planted_and_says_how_good_it_is(method):
    release = dc.learn(credit(6000), f"{method} target=default {LOTS} by=job")
    model = dc.load_model(release)
    fresh = rows(4000, seed=9)
    right = np.mean(np.array(model.predict(fresh)) == np.array(fresh.column("default")))
    assert right > np.mean(np.array(fresh.column("default")) == "no") - 0.02
    report = release.payload["report"]
    assert abs(report["accuracy"] - right) < 0.05
    assert set(report["by"]) == {"job = none", "job = clerk", "job = farmer", "job = missing"}
    odds = model.predict_proba(fresh)
    assert odds.column_names == ["no", "yes"]
    assert np.allclose(np.array(odds.column(0)) + np.array(odds.column(1)), 1)
    poor = pa.table({"age": [40, 40], "income": [5.0, 95.0], "job": ["none", "farmer"]})
    low, high = model.predict_proba(poor).column("yes").to_pylist()
    assert low > high + 0.2


def test_a_model_says_how_good_it_is_and_what_it_needs():
    fresh = rows(500, seed=9)
    for method in ("naive-bayes", "noisy-tree"):
        model = dc.load_model(dc.learn(credit(6000), f"{method} target=default {LOTS}"))
        right = np.mean(np.array(model.predict(fresh)) == np.array(fresh.column("default")))
        assert model.score(fresh) == model.score(fresh.to_pandas()) == pytest.approx(right)
        assert {"income", "job"} <= set(model.columns) <= {"age", "income", "job"}
        half = fresh.set_column(4, "default", pa.array([None] * 250 + fresh.column("default").to_pylist()[250:]))
        assert model.score(half) == pytest.approx(model.score(fresh.slice(250)))
        with pytest.raises(BadInput, match="No row has a"):
            model.score(half.slice(0, 250))
        with pytest.raises(BadInput, match="needs the column 'income', and these rows do not have it"):
            model.score(fresh.drop_columns("income"))
        with pytest.raises(BadInput, match="needs the column 'default'"):
            model.score(fresh.drop_columns("default"))


def test_a_line_is_found_and_its_error_told():
    rng = np.random.default_rng(3)
    x, z = rng.uniform(0, 10, 20_000), rng.choice(["a", "b"], 20_000)
    y = np.clip(20 + 4 * x + 10 * (z == "b") + rng.normal(0, 3, 20_000), 0, 100)
    card = Card(
        "points",
        (
            Column("x", Kind.REAL, bounds=(0.0, 10.0), required=True),
            Column("z", Kind.TEXT, categories=("a", "b"), required=True),
            Column("y", Kind.REAL, bounds=(0.0, 100.0)),
        ),
    )
    release = dc.learn(read(pa.table({"x": x, "z": z, "y": y}), card), "ridge", target="y", epsilon=2)
    model = dc.load_model(release)
    assert model.score(pa.table({"x": x, "z": z, "y": y})) == pytest.approx(1 - 9 / np.var(y), abs=0.02)
    assert model.score(pa.table({"x": [5.0] * 2, "z": ["a"] * 2, "y": [1.0] * 2})) == 0
    told = np.array(model.predict(pa.table({"x": [0.0, 10.0, 10.0], "z": ["a", "a", "b"]})))
    assert np.abs(told - [20, 60, 70]).max() < 2
    report = release.payload["report"]
    assert abs(report["r2"] - 0.95) < report["r2_error"] + 0.02
    assert "× x" in str(model)


LINE = Card(
    "line",
    (
        Column("x", Kind.REAL, bounds=(0.0, 10.0), required=True),
        Column("group", Kind.TEXT, categories=("a", "b", "nobody")),
        Column("y", Kind.REAL, bounds=(0.0, 100.0), required=True),
    ),
)


def coefficients(draw, count=5000, card=LINE, epsilon=4):
    """What is told of the coefficients that were planted: 3 for x, 10 for group b."""
    method = dc.Ridge(target="y", epsilon=epsilon)
    x, group = draw.integers(0, FINE + 1, count), draw.integers(0, 2, count)
    y = 20 + 30 * x / FINE + 10 * group + draw.normal(0, 8, count)
    columns = {"x": x, "copy": x, "group": group}
    codings, target = method.codings(card), method.target_coding(card)
    codes = tuple(columns[one.feature.name].astype(np.uint16) for one in codings)
    held = CodedRows(codes, np.clip(np.rint(y / 100 * FINE), 0, FINE).astype(np.int64))
    meter = Meter(held, method.allowance, 1, Repeatable(int(draw.integers(2**30))))
    return method.fit(Lesson(meter, held, codings, target)).report["coefficients"]


def test_intervals_of_coefficients_hold_with_the_noise_in_them_and_are_no_wider_than_that():
    draw, runs = np.random.default_rng(1), 100
    told = [coefficients(draw) for _ in range(runs)]
    for place, (name, planted) in enumerate((("x", 3.0), ("group = b", 10.0))):
        own = [one[place] for one in told]
        assert {one["column"] for one in own} == {name}
        assert sum(one["low"] <= planted <= one["high"] for one in own) >= 80, "by chance: less than once in 10**7"
        spread = np.std([one["adds"] for one in own])
        assert np.mean([one["high"] - one["low"] for one in own]) == pytest.approx(2 * 1.96 * spread, rel=0.35)


def test_no_interval_is_told_where_columns_say_the_same_or_noise_hides_them():
    draw = np.random.default_rng(2)
    twice = replace(LINE, columns=(*LINE.columns, replace(LINE["x"], name="copy")))
    assert coefficients(draw, card=twice) is None
    assert coefficients(draw, epsilon=Fraction(1, 10)) is None


def test_a_model_is_readable_data_that_comes_back_from_the_folder(tmp_path):
    release = dc.learn(credit(), "additive", target="default", epsilon=1, delta="1e-6", to=tmp_path / "model")
    model = dc.load_model(release)
    assert dc.load_model(tmp_path / "model") == model == dc.load_model(loads(dumps(release.payload)))
    assert "is in no ledger" in release.promise
    assert "Approximate" in repr(release.statement.loss)
    frame = rows(50, seed=4).to_pandas()
    assert model.predict(frame) == model.predict(rows(50, seed=4))
    odd = pa.table({"age": [None, 500], "income": [None, float("nan")], "job": [None, "astronaut"]})
    assert model.predict(odd).null_count == 0
    data = model.to_dict()
    for wrong in (
        data | {"more": 1},
        data | {"base": [0.0, 1.0]},
        data | {"terms": [data["terms"][0] | {"weights": [[0.0]]}]},
        data | {"terms": [data["terms"][0] | {"slope": [0.0, 1.0]}]},
        data | {"base": ["1"]},
        {"kind": "os.system"},
    ):
        with pytest.raises(BadInput):
            dc.load_model({"learner": "additive", "model": wrong})


def test_several_classes():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 30, 9000)
    y = np.array(["low", "mid", "high"])[np.minimum(x // 10, 2)]
    card = Card(
        "c", (Column("x", Kind.INTEGER, bounds=(0, 29)), Column("y", Kind.TEXT, categories=("low", "mid", "high")))
    )
    model = dc.load_model(dc.learn(read(pa.table({"x": x, "y": y}), card), f"additive target=y {LOTS}"))
    assert model.predict(pa.table({"x": [3, 15, 28]})).to_pylist() == ["low", "mid", "high"]


def with_column(name, values, count=2000):
    held = rows(count)
    place = held.column_names.index(name)
    return held.set_column(place, name, pa.array(values * count, held.schema.field(name).type))


FEW = {"no rows": rows(3).slice(0, 0), "three rows": rows(3)}
ODD = {
    "one class": with_column("default", ["no"]),
    "a target without values": with_column("default", [None]),
    "a target that is not declared": with_column("default", ["perhaps"]),
    "a constant": with_column("income", [50.0]),
    "no number": with_column("income", [float("nan")]),
    "numbers without end": with_column("income", [float("inf")]),
    "numbers out of bounds": with_column("income", [1e300]),
    "values that are not declared": with_column("job", ["astronaut"]),
    "no value": with_column("job", [None]),
}
NOTHING = {
    ("a target without values", "default"), ("a target that is not declared", "default"), ("no number", "income"),
    ("no number", "count"),
}  # fmt: skip
"""What is left of these rows to learn such a target or centres from: none."""
LEARNERS = [
    *(f"{name} target=default" for name in ("additive", "naive-bayes", "logistic", "noisy-tree")),
    "naive-bayes target=default numbers=gaussian",
    "ridge target=income",
    "k-means count=3",
    "pca count=2",
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("data", [*FEW, *ODD])
@pytest.mark.parametrize("method", LEARNERS)
def test_from_odd_rows_a_model_is_learnt_that_is_finite_or_says_that_it_says_nothing(data, method):
    release = dc.learn(read((FEW | ODD)[data], CARD), f"{method} epsilon=1")
    assert dumps(release.payload)  # which knows no number that is not finite
    model = dc.load_model(release)
    assert str(model)
    told = (model.predict if hasattr(model, "predict") else lambda asked: model.transform(asked).column(0))(rows(20))
    assert told.null_count == 0
    learnt = method.split()[1].replace("target=", "").split("=")[0]
    if data in FEW or (data, learnt) in NOTHING:
        assert release.payload["says_nothing"]
        assert "says nothing" in release.promise
        if "target" in method:
            assert len(set(told.to_pylist())) == 1
    else:
        assert not release.payload["says_nothing"]
    if (data, learnt) == ("one class", "default"):
        assert set(told.to_pylist()) == {"no"}


def test_a_tree_finds_its_rule_and_tells_no_more_than_the_noise_lets_it():
    release = dc.learn(credit(6000), f"noisy-tree target=default {LOTS}")
    said = str(dc.load_model(release))
    assert "income <" in said
    assert "job = none" in said
    fresh = rows(4000, seed=9).to_pandas()
    assert np.mean(np.array(dc.load_model(release).predict(fresh)) == fresh.default) > 0.9
    nothing = dc.learn(credit(1500), "noisy-tree target=default epsilon=1/50")
    assert str(dc.load_model(nothing)) in ("no", "yes")


def blobs(count=30_000):
    rng = np.random.default_rng(7)
    middles = np.array([[20.0, 20.0, 50.0], [80.0, 30.0, 50.0], [50.0, 80.0, 50.0]])
    points = np.clip(middles[rng.integers(0, 3, count)] + rng.normal(0, [5, 5, 1], (count, 3)), 0, 100)
    columns = tuple(Column(name, Kind.REAL, bounds=(0.0, 100.0)) for name in "xyz")
    points[::100, 0] = np.nan
    return read(pa.table(dict(zip("xyz", points.T, strict=True))), Card("blobs", columns)), middles


def test_clusters_are_found_and_tell_which_is_nearest():
    table, middles = blobs()
    model = dc.load_model(dc.learn(table, "k-means", count=3, epsilon=1))
    centres = np.array([[one.unscaled(v) for one, v in zip(model.features, c, strict=True)] for c in model.centres])
    assert max(min(np.abs(middle - one).max() for one in centres) for middle in middles) < 1.5
    told = model.predict(pa.table({"x": [20.0, 80.0, None], "y": [20.0, 30.0, 1.0], "z": [50.0] * 3})).to_pylist()
    assert told[0] != told[1]
    assert told[2] is None


def test_principal_components_are_those_of_the_covariance():
    table, _ = blobs()
    model = dc.load_model(dc.learn(table, "pca", count=3, epsilon=2))
    known = np.stack([table.fetch().column(name).to_numpy() for name in "xyz"], axis=1)
    known = known[~np.isnan(known).any(axis=1)] / 50 - 1
    values, vectors = np.linalg.eigh(np.cov(known.T))
    assert np.allclose(model.shares, values[::-1] / values.sum(), atol=0.01)
    assert np.abs(np.array(model.components)[0] @ vectors[:, -1]) > 0.99
    moved = model.transform(table)
    assert moved.column_names == ["component 1", "component 2", "component 3"]
    assert moved.column(0).null_count == 300
    for wrong in ({"means": [0.0]}, {"shares": []}, {"components": [[1.0]]}):
        with pytest.raises(BadInput):
            dc.load_model({"learner": "pca", "model": model.to_dict() | wrong})


def test_a_constant_number_is_predicted():
    data = rows(2000).set_column(2, "income", pa.array([50.0] * 2000))
    model = dc.load_model(dc.learn(read(data, CARD), "ridge target=income epsilon=5"))
    assert np.abs(np.array(model.predict(rows(20))) - 50).max() < 10


def test_more_columns_than_rows_and_nothing_but_missing_values():
    names = [f"x{place}" for place in range(60)]
    columns = tuple(Column(name, Kind.REAL, bounds=(0.0, 1.0)) for name in names)
    card = Card("wide", (*columns, Column("y", Kind.BOOLEAN)))
    data = pa.table({**{name: [float("nan")] * 40 for name in names}, "y": [True, False] * 20})
    for method in ("additive target=y", "logistic target=y", "ridge target=x0"):
        release = dc.learn(read(data, card), f"{method} epsilon=1")
        assert release.payload["says_nothing"]
        assert dc.load_model(release).predict(data).null_count == 0


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("additive target=income epsilon=1", "one of a few values"),
        ("ridge target=default epsilon=1", "not a number"),
        ("additive target=default", "epsilon or rho"),
        ("additive target=default epsilon=1 rho=1", "not both"),
        ("additive target=default delta=1e-6", "needs an epsilon"),
        ("additive target=default epsilon=1 on default", "cannot be learnt from as well"),
        ("additive target=default epsilon=1 by=name", "by"),
        ("additive target=default epsilon=1e-7", "pure noise"),
        ("additive epsilon=1", "needs target"),
        ("additive target=default epsilon=0", "above"),
        ("additive target=default epsilon=1 bins=1", "bins"),
    ],
)
def test_bad_input_is_told_before_any_row_is_read(method, told):
    with pytest.raises(BadInput, match=told):
        dc.learn(credit(), method)


def test_what_the_card_does_not_declare_is_not_learnt_from():
    card = Card("open", (Column("x", Kind.REAL), Column("y", Kind.BOOLEAN)))
    with pytest.raises(NotDeclared, match="bounds"):
        dc.learn(read(pa.table({"x": [1.0], "y": [True]}), card), "additive target=y epsilon=1")
    with pytest.raises(BadInput, match="seed"):
        dc.learn(credit(), "additive target=default epsilon=1", seed=1)
    with pytest.raises(BadInput, match="already"):
        dc.learn(credit(), dc.Additive(target="default", epsilon=1), epsilon=2)


def test_a_workspace_charges_a_model_once(tmp_path):
    with dc.Curator.create(tmp_path / "bank", {"credit": (rows(2000), CARD)}, Pure(2)) as curator:
        method = dc.Additive(target="default", epsilon=1)
        first = curator.release(method, "credit")
        again = curator.release(dc.Additive(target="default", epsilon=1), "credit")
        assert first.payload == again.payload
        assert first.receipt.loss == Pure(1)
        assert dc.load_model(again).predict(rows(5)).null_count == 0
        curator.release(dc.Ridge(target="income", epsilon=1), "credit")
        with pytest.raises(BudgetExceeded):
            curator.release(dc.Additive(target="default", epsilon=1, bins=8), "credit")


def test_a_joined_group_of_intervals_is_whole_and_in_order():
    """What is made of noisy counts: neighbours with one rate are one group, and a jump is a border."""
    counts = np.array([[900.0] * 6 + [100.0] * 6, [100.0] * 6 + [900.0] * 6])
    coding = Coding.of(NumberFeature("x", Kind.REAL, 0.0, 12.0), Card("c", (Column("x", Kind.REAL),)), 11)
    odds = log_odds([coding], [np.append(counts, [[0.0], [0.0]], axis=1)], 10.0)
    table = odds.tables[0][:, 0]
    assert len(set(table[:6])) == len(set(table[6:12])) == 1
    assert table[0] < -1.5 < 1.5 < table[6]
    assert table[12] == pytest.approx(0.0, abs=0.01)

"""Linear models, clusters and statistics: right against an independent computation, rounded, and plain data."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.contract.replay import Finding, Outcome, recorded, replayed

import discreet as dc
from discreet.core.document import dumps, loads
from discreet.core.loss import Pure
from discreet.engines.read import read
from discreet.errors import BadInput, DataError
from discreet.verbs.learn.learner import NoisySums, exact_sums

CARD = dc.Card(
    "points",
    (
        dc.Column("x", "real", bounds=(0, 10)),
        dc.Column("group", "text", categories=("a", "b", "c")),
        dc.Column("y", "real", bounds=(-5, 5)),
        dc.Column("day", "date", bounds=(dt.date(2020, 1, 1), dt.date(2020, 12, 31))),
    ),
)


TWO = dc.Card("points", (CARD["x"], CARD["y"]))


def points(count=800):
    draw = np.random.default_rng(3)
    x = draw.uniform(0, 10, count)
    group = draw.choice(["a", "b", "c"], count)
    y = np.clip(0.4 * x - 3 + 2 * (group == "b") + draw.normal(0, 0.3, count), -5, 5)
    day = np.datetime64("2020-01-01") + draw.integers(0, 366, count)
    return pa.table({"x": x, "group": group, "y": y, "day": day})


def learnt(learner, table=None, tell=exact_sums):
    table = table or read(points(), CARD)
    frame = learner.frame(table)
    trainer = learner.trainer(frame)
    model = trainer.train(np.arange(len(frame.person)), tell)
    assert dc.load_model(loads(dumps(model.to_dict()))) == model
    assert model.picture().svg
    return model, trainer.score(model, np.arange(len(frame.person)))


def test_a_linear_model_is_that_of_least_squares():
    model, score = learnt(dc.LinearModel("y", ("x", "group"), step=0.01))
    rows = points()
    x, y = (rows[name].to_numpy() for name in ("x", "y"))
    group = np.array(rows["group"].to_pylist())
    matrix = np.stack([np.ones(len(x)), x / 10, group == "b", group == "c"], axis=1).astype(float)
    slow = np.linalg.lstsq(matrix, (y + 5) / 10, rcond=None)[0]
    assert np.allclose([model.intercept, *model.coefficients], np.round(slow, 2), atol=1e-9)
    assert score > 0.9
    told = model.predict(pa.table({"x": [5.0, None], "group": ["b", "a"]})).to_pylist()
    assert told[0] == pytest.approx(0.4 * 5 - 1, abs=0.2)
    assert told[1] is None
    assert "× group = b" in str(model)


def test_centres_are_where_the_points_are():
    draw = np.random.default_rng(4)
    middles = np.array([[2.0, -3.0], [8.0, 0.0], [5.0, 4.0]])
    drawn = middles[draw.integers(0, 3, 600)] + draw.normal(0, 0.3, (600, 2))
    table = read(pa.table({"x": drawn[:, 0], "y": drawn[:, 1]}), dc.Card("points", (CARD["x"], CARD["y"])))
    model, score = learnt(dc.Clusters(3, step=0.05), table)
    assert model.centres == ((0.2, 0.2), (0.5, 0.9), (0.8, 0.5))
    assert score > 0.9
    assert model.predict(pa.table({"x": [8.0, None], "y": [0.1, 0.0]})).to_pylist() == [2, None]
    assert str(model).splitlines()[0] == "cluster 0: x 2.0, y -3.0"


@pytest.mark.parametrize("of", ["mean", "median", "deviation"])
def test_statistics_are_those_of_numpy(of):
    model, score = learnt(dc.Statistics(of, ("x", "y"), step=0.01))
    slow = {"mean": np.mean, "median": np.median, "deviation": np.std}[of]
    for name, figure in model.figures.items():
        assert figure == pytest.approx(slow(points()[name].to_numpy()), abs=0.06)
    assert score > 0.99
    assert str(model).startswith(f"{of} of x: ")
    assert len(model.predict(points())) == 800


LEARNERS = (
    dc.DecisionTree("group"),
    dc.LinearModel("y"),
    dc.Clusters(2),
    *(dc.Statistics(of) for of in ("mean", "median", "deviation")),
)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
def test_noise_gives_a_model_of_the_same_kind_and_none_if_there_is_no_row(learner):
    little, _ = learnt(learner, tell=NoisySums(Fraction(10**9), learner.queries, 1))
    exact, _ = learnt(learner)
    assert little.to_dict().keys() == exact.to_dict().keys()
    if learner.name != "tree":
        assert little == exact
    much, _ = learnt(learner, tell=NoisySums(Fraction(1, 100), learner.queries, 1))
    assert type(much) is type(exact)
    frame = learner.frame(read(points(), CARD))
    assert type(learner.trainer(frame).train(np.arange(0), exact_sums)) is type(exact)


def test_noise_is_as_large_as_what_one_person_moves():
    """The mean size of Laplace noise is its scale: of 4,000 draws it is off by a tenth once in 1e9 times."""
    told = NoisySums(Fraction(1, 2), queries=3, rows=2)(np.zeros(4000), 5.0)
    assert 0.9 < np.abs(told).mean() / (2 * 5 * 3 * 2) < 1.1
    assert not 0.9 < np.abs(told).mean() / (5 * 3 * 2) < 1.1


EXTREME = {"x": [10.0, 0.0], "group": ["c", "a"], "y": [5.0, -5.0], "day": [dt.date(2020, 12, 31)] * 2}
OWNED = dc.Card("points", (dc.Column("who", "integer"), *CARD.columns), unit="who", rows_per_unit=2)


def with_noise(learner, rows, epsilon=Fraction(1), per_person=2):
    """The model that is learnt with noise, as bytes, and what it charges."""
    trainer = learner.trainer(learner.frame(read(rows, OWNED)))
    everybody = np.arange(len(trainer.frame.person))
    model = trainer.train(everybody, NoisySums(epsilon, learner.queries, per_person))
    return Outcome(Pure(epsilon), {"model": dumps(model.to_dict()).encode()})


def neighbours_of(count):
    """Points, two of each person, and the same without one of the people, the first of whom is far from all others."""
    rows = pa.concat_tables([pa.table(EXTREME).cast(points(0).schema), points(count)])
    rows = rows.add_column(0, "who", pa.array(np.arange(rows.num_rows) // 2))
    return rows, [pa.concat_tables([rows.slice(0, at), rows.slice(at + 2)]) for at in (0, 10, 20)]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: f"{one.name} {getattr(one, 'of', '')}".strip())
def test_a_neighbour_changes_the_noisy_model_by_no_more_than_is_charged(learner):
    """A coupled replay: with the first run's noise the model is the same, and what differs under it is the loss."""
    rows, others = neighbours_of(60)
    first, tape = recorded(lambda: with_noise(learner, rows), 1)
    shares = [replayed(lambda: with_noise(learner, one), first, tape, 1).share(first.loss) for one in others]  # noqa: B023
    assert max(shares) > 0.1, "nothing was seen"
    with pytest.raises(Finding, match="was charged; lost was"):
        for one in others:
            faulty, tape = recorded(lambda: with_noise(learner, rows, Fraction(20), 1), 1)
            charged = replace(faulty, loss=Pure(1))
            replayed(lambda: replace(with_noise(learner, one, Fraction(20), 1), loss=Pure(1)), charged, tape, 1)  # noqa: B023


def test_missing_values_are_left_out():
    rows = pa.table({"x": [1.0, None, 3.0, float("nan")], "group": ["a", "b", None, "z"], "y": [1.0, 2.0, 3.0, 4.0]})
    table = read(rows, dc.Card("points", CARD.columns[:3]))
    assert len(dc.LinearModel("y").frame(table).person) == 1
    assert learnt(dc.Statistics("mean", ("x",)), table)[0].figures == {"x": 2.0}


def test_a_column_of_which_nothing_is_known_is_refused_and_in_a_sample_left_out():
    table = read(pa.table({"x": [1.0, None], "y": pa.array([None, None], pa.float64())}), TWO)
    with pytest.raises(DataError, match="No value of 'y'"):
        dc.Statistics().frame(table)
    learner = dc.Statistics(columns=("x",))
    trainer = learner.trainer(learner.frame(table))
    assert trainer.train(np.arange(0), exact_sums).figures == {}
    assert trainer.score(trainer.train(np.arange(0), exact_sums), np.arange(1)) == pytest.approx(0.6)


def test_no_more_clusters_than_full_cells():
    table = read(pa.table({"x": [1.0, 1.1, 9.0] * 9, "y": [0.0] * 27}), TWO)
    with pytest.raises(DataError, match="occupy 2 cells") as refused:
        dc.Clusters(3).frame(table)
    assert "Ask for 2" in refused.value.hint
    learner = dc.Clusters(2)
    trainer = learner.trainer(learner.frame(table))
    assert len(trainer.train(np.arange(5), exact_sums).centres) == 1  # rows are in order: these are in one cell


def test_what_is_rounded_stays_in_the_bounds():
    table = read(pa.table({"x": [0.0, 9.9] * 9, "y": [5.0] * 18}), TWO)
    assert learnt(dc.Clusters(2, step=0.6), table)[0].centres[-1] == (1.0, 1.0)  # the next step is at 1.2


def test_dates_are_told_as_dates():
    assert str(learnt(dc.Statistics("median", ("day",), step=0.1))[0]).startswith("median of day: 2020-0")
    assert str(learnt(dc.Statistics("deviation", ("day",), step=0.1))[0]).endswith(" days")
    assert dc.Statistics("median").steps()[-1] == "It is located in 1,000 equal intervals."


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (lambda: dc.LinearModel("group"), "predicts numbers"),
        (lambda: dc.LinearModel("y", ("y",)), "cannot be learnt from as well"),
        (lambda: dc.LinearModel("y", step=0), "step must be a number"),
        (lambda: dc.LinearModel("y", step=5e-324), "step must be a number"),
        (lambda: dc.Clusters(1), "between 2 and 100"),
        (lambda: dc.Clusters(2, ("group",)), "is not numeric"),
        (lambda: dc.Statistics("mode"), "of must be mean"),
        (lambda: dc.Statistics("mean", "x"), "list of names"),
    ],
)
def test_what_cannot_be_learnt(learner, words):
    with pytest.raises(BadInput, match=words):
        learner().frame(read(points(), CARD))


@pytest.mark.parametrize("kind", ["linear", "clusters", "statistics"])
def test_damaged_models_are_refused(kind):
    learner = {"linear": dc.LinearModel("y"), "clusters": dc.Clusters(2), "statistics": dc.Statistics()}[kind]
    model, _ = learnt(learner)
    data = model.to_dict()
    for name in ("coefficients", "centres", "shares"):
        if name in data:
            with pytest.raises(BadInput):
                dc.load_model(data | {name: data[name][:1] if name != "centres" else [[0.5]]})
    with pytest.raises(BadInput):
        dc.load_model(data | {"more": 1})

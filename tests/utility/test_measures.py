"""Figures that can be computed by hand, and what ``loss`` says of releases."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import norm
from tests.utility.sides import noisy, people, strangers

import discreet as dc
from discreet.errors import BadInput, Damaged, DataError, NotFound
from discreet.utility import information_loss, learning
from discreet.utility.information_loss import il1, table
from discreet.utility.measure import loss, target_of
from discreet.utility.pair import pair
from discreet.verbs.publish.mask.noise import Noise


def numbers(**columns):
    card = dc.Card("t", tuple(dc.Column(name, dc.Kind.REAL, dc.Role.QUASI) for name in columns))
    return dc.read(pa.table({name: [float(v) for v in values] for name, values in columns.items()}), card=card)


def test_il1_by_hand():
    two = numbers(x=[0, 2], y=[10, 30])
    rows = pa.table({"x": [3.0, 0.0], "y": [30.0, 10.0]})
    found = il1(pair(two, rows, np.array([1, 0])))
    assert found.details["x"] == pytest.approx((1 / (np.sqrt(2) * np.std([0, 2], ddof=1))) / 2)
    assert found.details["y"] == 0


def test_il1_of_strangers_is_about_what_two_normal_draws_differ_by():
    rng = np.random.default_rng(1)
    two = numbers(x=rng.normal(size=20_000))
    rows = pa.table({"x": rng.normal(size=20_000)})
    assert il1(pair(two, rows, np.arange(20_000))).value == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)


def test_the_classical_table_has_the_handbook_s_lines():
    rows, links = noisy(people(), 0.2)
    found = table(pair(people(), rows, links))
    assert list(found) == [
        "values",
        "covariances",
        "correlations",
        "correlations with components",
        "communalities",
        "component weights",
    ]
    x, y = people().payload(), rows
    r = [np.corrcoef(side["age"].to_numpy(), side["weight"].to_numpy())[0, 1] for side in (x, y)]
    assert found["correlations"]["absolute"] < 3 * abs(r[0] - r[1]) + 0.1
    assert "values" not in table(pair(people(), rows))


def test_pil_of_a_moved_mean_is_the_probability_it_says():
    x = np.random.default_rng(1).normal(size=1_000)
    off = 0.02
    found = information_loss.families(pair(numbers(x=x), pa.table({"x": x + off})))
    assert found["means"] == pytest.approx(2 * norm.cdf(off / (x.std() / np.sqrt(1_000))) - 1)
    assert found["variances"] == pytest.approx(0, abs=1e-6)


def test_pil_s_variance_of_a_correlation_is_the_published_one():
    """(r²/n)[μ₂₂/μ₁₁² + ¼(μ₄₀/μ₂₀² + μ₀₄/μ₀₂² + 2μ₂₂/(μ₂₀μ₀₂)) − μ₃₁/(μ₁₁μ₂₀) − μ₁₃/(μ₁₁μ₀₂)]"""
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    y = x + rng.normal(size=500) ** 3
    a, c = x - x.mean(), y - y.mean()

    def m(i, j):
        return float((a**i * c**j).mean())

    r = m(1, 1) / np.sqrt(m(2, 0) * m(0, 2))
    variance = (r**2 / 500) * (
        m(2, 2) / m(1, 1) ** 2
        + (m(4, 0) / m(2, 0) ** 2 + m(0, 4) / m(0, 2) ** 2 + 2 * m(2, 2) / (m(2, 0) * m(0, 2))) / 4
        - m(3, 1) / (m(1, 1) * m(2, 0))
        - m(1, 3) / (m(1, 1) * m(0, 2))
    )
    other = y + rng.normal(size=500)
    found = information_loss.families(pair(numbers(x=x, y=y), pa.table({"x": x, "y": other})))
    off = abs(np.corrcoef(x, other)[0, 1] - r)
    assert found["correlations"] == pytest.approx(2 * norm.cdf(off / np.sqrt(variance)) - 1)


def test_marginals_by_hand():
    card = dc.Card("t", (dc.Column("a", dc.Kind.TEXT), dc.Column("b", dc.Kind.TEXT)))
    two = dc.read(pa.table({"a": list("xxyy"), "b": list("pqpq")}), card=card)
    same_alone = pa.table({"a": list("xxyy"), "b": list("ppqq")})
    two = pair(two, same_alone)
    assert information_loss.marginals(two, 1).value == 0
    assert information_loss.marginals(two, 2).value == 0.5
    with pytest.raises(DataError, match="fewer than 3"):
        information_loss.marginals(two, 3)


def test_overlap_is_that_of_the_intervals_of_least_squares():
    rows, _ = noisy(people(), 0.5)
    found = information_loss.overlap(pair(people(), rows))
    assert 0 < found.value < 1
    assert set(found.details) == {"on age", "on weight", "on income"}


def test_agreement_of_clusters_is_the_adjusted_rand_index():
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, 200), rng.integers(0, 5, 200)
    b[:100] = a[:100]
    assert information_loss._agreement(a, b) == pytest.approx(adjusted_rand_score(a, b))


def test_the_area_is_the_roc_s():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    score, positive = rng.integers(0, 20, 300).astype(float), rng.random(300) < 0.3
    assert learning._area(score, positive) == pytest.approx(roc_auc_score(positive, score))


def test_models_are_tested_on_people_they_have_not_seen():
    """With classes by lot, the nearest neighbour of a person in the training data is never the person."""
    rng = np.random.default_rng(1)
    card = dc.Card("t", (dc.Column("x", dc.Kind.REAL), dc.Column("c", dc.Kind.TEXT, dc.Role.SENSITIVE)))
    two = dc.read(pa.table({"x": rng.random(300), "c": rng.choice(["a", "b"], 300).tolist()}), card=card)
    found = learning.scores(pair(two, two.payload(), np.arange(300), target="c"))
    assert all(score.accuracy < 0.65 for score in found.values())


def test_propensity_grows_with_noise():
    small, large = (learning.propensity(pair(people(), noisy(people(), a)[0])).value for a in (0.1, 1.0))
    assert small < large < 1


def test_loss_of_a_release_in_its_holder_s_hands_and_of_one_read_again(tmp_path):
    release = dc.publish(people(), Noise(0.1), to=tmp_path / "r", seed=1)
    held = dc.utility.loss(people(), release, metrics=["il1", "pil"])
    assert held["il1"] == pytest.approx(0.1 * np.sqrt(2 / np.pi) / np.sqrt(2), rel=0.1)
    again = dc.utility.loss(people(), dc.Release.load(tmp_path / "r"), metrics=["il1", "pil"])
    assert again["il1"] is None
    assert again["pil"] == held["pil"]
    assert "give links" in str(again)
    assert "give links" in again._repr_html_()
    assert again._repr_html_().startswith('<div class="discreet-release">')
    assert "less is better" in repr(held)
    linked = loss(people(), dc.Release.load(tmp_path / "r"), links=release.links, metrics=["il1"])
    assert linked["il1"] == held["il1"]
    assert linked.to_dict()["measures"]["il1"]["figure"] == held["il1"]


def test_columns_that_cannot_be_compared_are_named():
    rows = people().payload()
    rows = rows.set_column(0, "age", pa.array(["30 to 39"] * rows.num_rows)).drop_columns(["town"])
    found = loss(people(), rows, metrics=["pil"])
    assert found.left_out == ("age", "town")
    assert "not comparable: age, town" in str(found)


def test_mistakes_are_answered():
    rows, links = strangers(people())
    with pytest.raises(BadInput, match="no measure 'nonsense'"):
        loss(people(), rows, metrics=["nonsense"])
    with pytest.raises(NotFound, match="nobody"):
        loss(people(), rows, target="nobody")
    with pytest.raises(DataError, match="points outside"):
        loss(people(), rows, links=links + 1)
    with pytest.raises(DataError, match="one whole number"):
        loss(people(), rows, links=links[:-1])
    with pytest.raises(DataError, match="no rows"):
        loss(people(), rows.slice(0, 0))
    with pytest.raises(BadInput, match="was not measured"):
        loss(people(), rows, metrics=["pil"])["il1"]


def test_the_target_is_a_sensitive_column_with_categories():
    assert target_of(people()) == "ill"


def people_and_rows(**changed):
    rng = np.random.default_rng(5)
    rows = pa.table({"x": rng.normal(size=60), "y": rng.normal(size=60), "c": list("abc") * 20})
    numbers = (dc.Column(name, dc.Kind.REAL) for name in "xy")
    card = dc.Card("people", (*numbers, dc.Column("c", dc.Kind.TEXT, dc.Role.SENSITIVE)))
    masked = pa.table({name: changed.get(name, rows[name]) for name in rows.column_names})
    return dc.read(rows, card), masked


def test_a_column_that_was_blanked_is_lost():
    table, masked = people_and_rows(y=pa.nulls(60, pa.float64()))
    lost = loss(table, masked, links=np.arange(60))
    assert lost["il1"] == pytest.approx(np.sqrt(2 / np.pi) / 2)
    assert lost["marginals 1"] > 0.3
    assert lost["propensity"] > 0.5
    assert lost.entry("pil").figure is None


def test_what_cannot_be_measured_is_no_figure():
    table, masked = people_and_rows(x=pa.array([np.inf, *np.zeros(59)]))
    assert all(entry.figure is None or np.isfinite(entry.figure) for entry in loss(table, masked).entries)
    few = table.payload().slice(0, 12)
    assert "too few" in loss(dc.read(few, table.card), few, links=np.arange(12)).entry("learning").why


@pytest.mark.parametrize("often", [2, 3])
def test_a_constant_that_stayed_is_no_loss_however_many_rows_there_are(often):
    """The mean of many times 0.1 is not quite 0.1, and how far off hangs on how many there are."""
    x = np.random.default_rng(1).normal(size=47)
    z = x + np.random.default_rng(2).normal(size=47)
    before = numbers(x=x, same=[0.1] * 47, too=[0.7] * 47, z=z)
    after = pa.table({name: np.repeat(before.payload()[name].to_numpy(), often) for name in before.columns})
    both = pair(before, after, np.repeat(np.arange(47), often))
    lost = information_loss.families(both)
    assert {name: value for name, value in lost.items() if name != "quantiles"} == pytest.approx(
        dict.fromkeys(lost.keys() - {"quantiles"}, 0.0), abs=1e-9
    )
    assert table(both)["correlations"]["variation"] == pytest.approx(0, abs=1e-9)
    assert information_loss.correlation_change(both).value == pytest.approx(0, abs=1e-9)
    assert set(information_loss.overlap(both).details) == {"on x", "on z"}
    assert il1(both).value == 0
    alone = pair(numbers(same=[0.1] * 47), pa.table({"same": [0.1] * 47 * often}))
    assert information_loss.pil(alone) == 0
    assert table(alone)["covariances"]["variation"] == 0
    moved = information_loss.families(pair(numbers(same=[0.1] * 47), pa.table({"same": [0.3] * 50})))
    assert moved == {"means": 1, "variances": 0, "quantiles": 1}


def test_saved_rows_that_were_changed_are_not_measured(tmp_path):
    release = dc.publish(people(), Noise(0.1), to=tmp_path / "r", seed=1)
    pq.write_table(people().payload(), tmp_path / "r" / "payload.parquet")
    with pytest.raises(Damaged, match="was changed after it was saved"):
        loss(people(), release)

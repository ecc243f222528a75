"""Every function, on rows split among three parties, is what it is on the pooled rows."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tests.combine.playing import played, result

from discreet.core.document import dumps, loads
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import Aborted, BadInput, DataError
from discreet.verbs.combine.data import load
from discreet.verbs.combine.terms import Terms

SIZES = {"north": 170, "south": 90, "east": 40}
FIELDS = {
    "sum": "sum of=age:0:110",
    "count": "count",
    "mean": "mean of=income:-200:2000:2",
    "variance": "variance of=income:-200:2000:2",
    "histogram": "histogram of=age edges=0,18,65,110",
    "table": "table of=sex:f|m,ill:no|yes",
    "min": "min of=age:0:110",
    "max": "max of=income:-200:2000:2",
    "median": "median of=age:0:110",
    "quantile": "quantile at=0.9 of=age:0:110",
    "regression": "regression y=income:-200:2000:2 x=age:0:110,dose:0:5:3",
    "logistic": "logistic y=ill:no|yes x=age:0:110,dose:0:5:3",
    "bayes": "bayes y=ill:no|yes x=sex:f|m,age:0:110",
    "tree": "tree y=ill:no|yes x=sex:f|m,old:false|true depth=2",
    "kmeans": "kmeans x=age:0:110,dose:0:5:3 k=3",
}


def rows(seed, count):
    """Made-up people."""
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 111, count)
    dose = np.round(draw.uniform(0, 5, count), 3)
    ill = draw.uniform(size=count) < 1 / (1 + np.exp(-(age / 20 + dose / 2 - 4)))
    return {
        "age": age,
        "dose": dose,
        "income": np.round(draw.normal(600, 150, count) + 3 * age - 20 * dose, 2),
        "sex": draw.choice(["f", "m"], count),
        "old": age > 60,
        "ill": np.where(ill, "yes", "no"),
    }


HELD = {name: rows(place, count) for place, (name, count) in enumerate(SIZES.items())}
ALL = {column: np.concatenate([held[column] for held in HELD.values()]) for column in HELD["north"]}


@pytest.fixture(scope="module")
def found():
    return {name: result(text, HELD) for name, text in FIELDS.items()}


def test_every_function_is_tried_and_written_as_plain_data(found):
    assert set(FIELDS) | {"parity"} == set(COMBINE_FUNCTIONS.names())
    for one in found.values():
        assert loads(dumps(one.value)) == one.value
        assert str(one)
        assert one.parties == tuple(SIZES)


def test_sums_counts_and_moments_are_exact(found):
    cents = [round(100 * value) for value in ALL["income"].tolist()]
    mean = Fraction(sum(cents), 100 * len(cents))
    variance = sum((Fraction(cent, 100) - mean) ** 2 for cent in cents) / (len(cents) - 1)
    assert found["sum"].value == int(ALL["age"].sum())
    assert found["count"].value == 300
    assert found["mean"].value["mean"] == found["variance"].value["mean"] == float(mean)
    assert found["variance"].value["variance"] == float(variance)
    assert found["mean"].value["sum"] * 100 == sum(cents)


def test_counts_of_cells_are_exact(found):
    expected, _ = np.histogram(ALL["age"], [0, 18, 65, 110])
    assert list(found["histogram"].value["counts"].values()) == expected.tolist()
    for sex, ill, n in found["table"].value["rows"]:
        assert n == int(((ALL["sex"] == sex) & (ALL["ill"] == ill)).sum())
    assert len(found["table"].value["rows"]) == 4
    by_category = result("histogram of=sex:m|f|x", HELD).value["counts"]
    assert by_category == {"m": int((ALL["sex"] == "m").sum()), "f": int((ALL["sex"] == "f").sum()), "x": 0}


def test_order_statistics_are_exact_and_say_what_was_seen(found):
    for name, column, share in (
        ("min", "age", 0),
        ("median", "age", 0.5),
        ("quantile", "age", 0.9),
        ("max", "income", 1),
    ):
        expected = np.quantile(ALL[column], share, method="inverted_cdf")
        assert float(found[name].value[name]) == expected
        seen = found[name].revealed[-1]
        most = COMBINE_FUNCTIONS.parse(FIELDS[name]).sums(Terms(tuple(SIZES), function=FIELDS[name]))
        assert seen.count(" at or below ") <= most - 1
    assert f"{int((ALL['age'] <= 55).sum())} at or below 55" in found["median"].revealed[-1]


def test_linear_regression_is_that_of_the_pooled_rows(found):
    x, y = np.column_stack([ALL["age"], ALL["dose"]]), ALL["income"]
    fitted = LinearRegression().fit(x, y)
    told = found["regression"].value
    assert [row[1] for row in told["rows"]] == pytest.approx([fitted.intercept_, *fitted.coef_], rel=1e-10)
    assert told["r squared"] == pytest.approx(fitted.score(x, y), rel=1e-10)
    whole = np.column_stack([np.ones(300), x])
    noise = ((y - fitted.predict(x)) ** 2).sum() / (300 - 3)
    errors = np.sqrt(noise * np.diag(np.linalg.inv(whole.T @ whole)))
    assert [row[2] for row in told["rows"]] == pytest.approx(errors.tolist(), rel=1e-9)


def test_r_squared_is_exact_however_far_from_zero_the_numbers_are():
    x = list(range(200))
    near = [i % 2 + i // 50 for i in x]
    held = {"north": (0, 90), "south": (90, 200)}

    def told(off, high):
        rows = {name: {"x": x[a:b], "y": [off + y for y in near[a:b]]} for name, (a, b) in held.items()}
        return result(f"regression y=y:0:{high} x=x:0:1000", rows).value["r squared"]

    assert told(10**12, 2 * 10**12) == told(0, 10)


def test_logistic_regression_converges_to_the_pooled_estimate(found):
    x = np.column_stack([ALL["age"], ALL["dose"]])
    fitted = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(x, ALL["ill"])
    told = found["logistic"].value
    assert told["converged"]
    errors = [row[2] for row in told["rows"]]
    for (_, estimate, error), expected in zip(told["rows"], [*fitted.intercept_, *fitted.coef_[0]], strict=True):
        assert abs(estimate - expected) < 1e-6 * error
    chance = fitted.predict_proba(x)[:, 1]
    whole = np.column_stack([np.ones(300), x])
    spread = np.linalg.inv(whole.T @ (whole * (chance * (1 - chance))[:, None]))
    assert errors == pytest.approx(np.sqrt(np.diag(spread)).tolist(), rel=1e-5)


def test_naive_bayes_has_the_pooled_counts_means_and_variances(found):
    told = found["bayes"].value
    fitted = GaussianNB(var_smoothing=0).fit(ALL["age"][:, None], ALL["ill"])
    assert list(told["classes"].values()) == fitted.class_count_.tolist()
    for place, (_, mean, variance) in enumerate(told["given"]["age"]["rows"]):
        n = fitted.class_count_[place]
        assert mean == pytest.approx(fitted.theta_[place, 0], rel=1e-12)
        assert variance * (n - 1) / n == pytest.approx(fitted.var_[place, 0], rel=1e-9)
    for ill, sex, n, chance in told["given"]["sex"]["rows"]:
        assert n == int(((ALL["sex"] == sex) & (ALL["ill"] == ill)).sum())
        assert chance == (n + 1) / (told["classes"][ill] + 2)


WEATHER = """
sunny hot high no no;sunny hot high yes no;overcast hot high no yes;rain mild high no yes;rain cool normal no yes
rain cool normal yes no;overcast cool normal yes yes;sunny mild high no no;sunny cool normal no yes
rain mild normal no yes;sunny mild normal yes yes;overcast mild high yes yes;overcast hot normal no yes
rain mild high yes no
"""


def test_the_tree_is_quinlans():
    """Quinlan's fourteen days: outlook first, then humidity where it is sunny and wind where it rains."""
    days = [day.split() for line in WEATHER.strip().split("\n") for day in line.split(";")]
    names = ("outlook", "temperature", "humidity", "windy", "play")
    held = {
        party: {name: [day[place] for day in days[start::3]] for place, name in enumerate(names)}
        for start, party in enumerate(SIZES)
    }
    fields = "outlook:sunny|overcast|rain,temperature:hot|mild|cool,humidity:high|normal,windy:no|yes"
    tree = result(f"tree y=play:no|yes x={fields} depth=3", held).value
    assert tree["asks"] == "outlook"
    assert tree["rows"] == {"no": 5, "yes": 9}
    sunny, overcast, rain = tree["answers"].values()
    assert overcast == {"says": "yes", "rows": {"no": 0, "yes": 4}}
    assert (sunny["asks"], rain["asks"]) == ("humidity", "windy")
    assert sunny["answers"]["high"]["says"] == "no"
    assert rain["answers"]["no"]["says"] == "yes"


def test_k_means_is_lloyds_method_on_the_pooled_rows(found):
    scaled = np.column_stack([(2 * ALL["age"] - 110) / 110, (2 * ALL["dose"] - 5) / 5])
    start = np.array([[0, -1 / 3], [-1 / 2, 1 / 3], [1 / 2, -7 / 9]])  # Halton's first points, on the same scale
    fitted = KMeans(3, init=start, n_init=1, algorithm="lloyd", tol=0, max_iter=300).fit(scaled)
    told = found["kmeans"].value
    assert told["converged"]
    assert [row[2] for row in told["rows"]] == np.bincount(fitted.labels_).tolist()
    centres = [[(2 * age - 110) / 110, (2 * dose - 5) / 5] for age, dose, _ in told["rows"]]
    assert np.array(centres) == pytest.approx(fitted.cluster_centers_, abs=1e-9)


def test_rows_in_files_give_the_same(found, tmp_path):
    held = {}
    for name, columns in HELD.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        held[name] = load(tmp_path / f"{name}.parquet")
    for name in ("mean", "table", "median", "regression", "bayes", "tree"):
        assert result(FIELDS[name], held) == found[name]


def test_noise_stays_in_its_place(found):
    """With ε = 10,000 figures of scale below 1/80 are exact but for a chance of e**-80, and moments are close."""
    much = Fraction(10_000)
    for name in ("sum", "count", "histogram", "table"):
        assert result(FIELDS[name], HELD, epsilon=much).value == found[name].value
    noisy = result("variance of=age:0:110", HELD, epsilon=much).value
    assert noisy["rows"] == 300
    assert noisy["mean"] == pytest.approx(ALL["age"].mean(), abs=0.01)
    assert noisy["variance"] == pytest.approx(ALL["age"].var(ddof=1), abs=1)
    bayes = result(FIELDS["bayes"], HELD, epsilon=much).value
    assert bayes["classes"] == found["bayes"].value["classes"]
    assert bayes["given"]["sex"] == found["bayes"].value["given"]["sex"]


def test_little_data_and_much_noise_give_no_nonsense():
    empty = {name: {"age": []} for name in SIZES}
    assert result("mean of=age:0:110", empty).value["mean"] is None
    assert result("median of=age:0:110", empty).value["median"] is None
    for place in range(5):
        terms = Terms(tuple(SIZES), function="variance of=age:0:11", epsilon=Fraction(1, 2))
        told = played(terms, empty, run=place).results["north"].value
        assert told["mean"] is None or 0 <= told["mean"] <= 11
        assert told["variance"] is None or told["variance"] >= 0


def test_the_sums_are_as_many_as_the_steps_say():
    for name, text in FIELDS.items():
        terms = Terms(tuple(SIZES), "shares", text)
        messages = played(terms, HELD).messages
        sums = {message.kind.partition("/")[0] for message in messages}
        assert len(sums) <= COMBINE_FUNCTIONS.parse(terms.function).sums(terms), name
        if name not in ("logistic", "kmeans", "tree", "min", "max", "median", "quantile"):
            assert len(sums) == 1


def test_what_cannot_be_told_apart_ends_for_everybody():
    held = {name: {"a": [1, 2, 3], "b": [2, 4, 6], "y": [1, 0, 1]} for name in SIZES}
    found = played(Terms(tuple(SIZES), function="regression y=y:0:1 x=a:0:9,b:0:9"), held)
    assert set(found.aborted) == set(SIZES)
    assert isinstance(found.aborted["north"], Aborted)


def test_perfectly_separated_classes_are_said_not_to_converge():
    held = {name: {"a": list(range(10)), "y": ["n"] * 5 + ["y"] * 5} for name in SIZES}
    told = result("logistic y=y:n|y x=a:0:9", held).value
    assert not told["converged"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("histogram of=age", "edges"),
        ("histogram of=age edges=3,2", "edges"),
        ("table of=sex", "not declared"),
        ("tree y=a:n|y x=a:n|y", "not in x"),
        ("logistic y=a:1|2|3 x=b:0:1", "two categories"),
        ("mean of=a:0:1,b:0:1", "more than one"),
        ("mean of=a:0", "is not a column"),
        ("quantile at=0", "above 0"),
        ("quantile at=2", "must be at most 100 %"),
        ("kmeans x=a:0:1 k=0", "one centre"),
        ("mean weight=b", "is not a parameter of"),
        ("table", "needs of"),
        ("regression y=sex:f|m x=a:0:1", "must be a number"),
        ("table of=a:x|x", "different"),
    ],
)
def test_a_wrong_text_is_told_with_a_reason(text, why):
    with pytest.raises(BadInput, match=why):
        COMBINE_FUNCTIONS.parse(text).check(Terms(tuple(SIZES)))


def test_a_category_that_was_not_declared_is_an_error_before_anything_is_sent():
    with pytest.raises(DataError, match="none of f, x"):
        result("histogram of=sex:f|x", HELD)

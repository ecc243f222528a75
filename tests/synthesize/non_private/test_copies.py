"""Several copies, and what they say together."""

import math

import numpy as np
import pytest
from tests.publish.mask.people import people
from tests.synthesize.non_private.tables import column, table

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.errors import BadInput, DataError
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copies import Copies, combine_copies
from discreet.verbs.synthesize.non_private.redrawn import Redrawn


def test_the_rules_by_hand():
    estimates, variances = [1.0, 2.0, 3.0], [0.5, 0.5, 2.0]  # their mean is 2, b = 1, u = 1
    partial = combine_copies(estimates, variances, "partial")
    assert (partial.estimate, partial.variance, partial.freedom) == pytest.approx((2, 1 + 1 / 3, 2 * (1 + 3) ** 2))
    full = combine_copies(estimates, variances, "full")
    assert (full.estimate, full.variance, full.freedom) == pytest.approx((2, 4 / 3 - 1, 2 * (1 - 3 / 4) ** 2))
    simple = combine_copies(estimates, variances, "simple", ratio=0.5)
    assert (simple.variance, simple.freedom) == pytest.approx((0.5 + 1 / 3, math.inf))
    low, high = simple.interval()
    assert (high - low) / 2 == pytest.approx(1.959964 * math.sqrt(5 / 6), rel=1e-6)
    low, high = partial.interval(0.9)
    assert (high - low) / 2 == pytest.approx(1.693889 * math.sqrt(4 / 3), rel=1e-5)  # the t law with 32 degrees
    assert str(simple).startswith("2 (95 %: ")


def test_a_variance_is_never_negative():
    found = combine_copies([1.0, 1.1], [4.0, 4.0], "full", ratio=2)
    assert (found.variance, found.freedom) == (8.0, math.inf)
    same = combine_copies([1.0, 1.0], [4.0, 4.0])
    assert (same.variance, same.freedom) == (4.0, math.inf)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (([1.0], [1.0]), "needs several copies"),
        (([1.0, 2.0], [1.0]), "same length"),
        (([], []), "same length"),
        (([1.0, math.nan], [1.0, 1.0]), "finite"),
        (([1.0, 2.0], [1.0, -1.0]), "variances non-negative"),
        (([1.0, 2.0], [1.0, 1.0], "other"), "partial, full or simple"),
        (({"a": 1}, max), "two lists of numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(what, why):
    with pytest.raises(BadInput, match=why):
        combine_copies(*what)


def test_copies_are_numbered_and_differ():
    made = Copies(Cart(rows=50), 3).synthesize(people(), 1)
    assert made.rows.column_names[-1] == "copy"
    assert np.bincount(column(made.rows, "copy")).tolist() == [0, 50, 50, 50]
    parts = [made.rows.slice(50 * n, 50).drop_columns(["copy"]) for n in range(3)]
    assert not parts[0].equals(parts[1])
    assert made.rows.equals(Copies(Cart(rows=50), 3).synthesize(people(), 1).rows)
    assert made.parameters["copies"] == 3
    with pytest.raises(BadInput, match="already"):
        Copies(Cart()).synthesize(table(copy=np.arange(9)))
    with pytest.raises(BadInput, match="at least 2"):
        Copies(Cart(), 1)
    with pytest.raises(BadInput, match="needs a synthesizer"):
        Copies(Copies(Cart(), 2), 2)


def test_masks_that_make_values_anew():
    before = people().payload()
    made = Redrawn(Ipso("B", given=["smokes"])).synthesize(people(), 1)
    assert made.parameters["columns"] == ["age", "weight", "height", "income", "same"]
    assert made.rows["town"].equals(before["town"])
    assert any("not used" in said and "town" in said and "smokes" not in said for said in made.not_promised)
    some = Redrawn(Resample(3, ["weight"])).synthesize(people(), 1)
    assert some.parameters["kept"] == [name for name in before.column_names if name != "weight"]
    assert not some.rows["weight"].equals(before["weight"])
    assert Redrawn(Resample()).name == "synthesize resample"
    with pytest.raises(BadInput, match="does not"):
        Redrawn(Noise(0.1))
    few = Card("few", (Column("id", Kind.INTEGER, Role.IDENTIFIER), Column("x", Kind.REAL)), unit="id")
    with pytest.raises(DataError, match="rows of 4 people, too few"):
        Redrawn(Resample()).synthesize(table(few, id=np.arange(12) % 4, x=np.arange(12.0)))
    with pytest.raises(DataError, match="rows of 1 person, too few"):
        Redrawn(Resample()).synthesize(table(x=[1.0]))
    with pytest.raises(BadInput, match="has none"):
        Redrawn(Resample()).synthesize(table(x=["a", "b"]))


def covered(kind, draw, *, trials=400, people_=100, copies=5, rows=100, seed=1):
    """How often the interval for a mean of 0 holds it, where ``draw`` makes copies of normal data."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(trials):
        made = draw(rng.standard_normal(people_), rng, copies, rows)
        found = combine_copies(made.mean(axis=1), made.var(axis=1, ddof=1) / rows, kind, ratio=rows / people_)
        low, high = found.interval()
        hits += low <= 0 <= high
    return hits / trials


def known(data, rng, copies, rows):
    """Drawn as if what was learnt were the truth."""
    return rng.normal(data.mean(), data.std(ddof=1), (copies, rows))


def posterior(data, rng, copies, rows):
    """What may have been learnt is drawn first."""
    count = len(data)
    spread = np.sqrt((count - 1) * data.var(ddof=1) / rng.chisquare(count - 1, copies))
    center = rng.normal(data.mean(), spread / math.sqrt(count))
    return rng.normal(center[:, None], spread[:, None], (copies, rows))


def half(data, rng, copies, rows):
    """Half of the values are kept, the others drawn anew from what was learnt of them."""
    made = known(data[rows // 2 :], rng, copies, rows)
    made[:, : rows // 2] = data[: rows // 2]
    return made


@pytest.mark.parametrize(
    ("kind", "draw", "rows"),
    [("simple", known, 100), ("simple", known, 300), ("full", posterior, 100), ("partial", half, 100)],
)
def test_intervals_hold_what_they_say(kind, draw, rows):
    """400 trials: four deviations of a share of 0.95 are 0.044. The full rule is known to be wide for few copies."""
    assert 0.95 - 0.044 < covered(kind, draw, rows=rows) < (1 if kind == "full" else 0.95 + 0.044)


@pytest.mark.slow
def test_partial_copies_by_trees_hold_what_they_say():
    """A column made anew given another: the mean of it, with Reiter's rule."""
    rng = np.random.default_rng(1)
    hits, trials = 0, 150
    for trial in range(trials):
        x = rng.standard_normal(300)
        y = x + rng.standard_normal(300)
        rows = Copies(Cart(columns=["y"], leaf=10), 5).synthesize(table(x=x, y=y), trial).rows
        made = column(rows, "y").reshape(5, -1)
        low, high = combine_copies(made.mean(axis=1), made.var(axis=1, ddof=1) / 300).interval()
        hits += low <= 0 <= high
    assert hits / trials > 0.95 - 5 * math.sqrt(0.95 * 0.05 / trials)

"""Each way to spend an allowance: all of it is spent, on what is worth it, and only through the meter."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from tests.noise.bits import Repeatable

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Pure
from discreet.engines.read import read
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.tree import cells
from discreet.verbs.synthesize.select import aim, bayes, independent, mst, mwem, workload
from discreet.verbs.synthesize.spending import GRID, Chosen, Counts, Measured, Meter

WAYS = {"aim": aim, "mst": mst, "mwem": mwem, "bayes": bayes, "independent": independent}
SIZES = (3, 4, 3, 2, 2)
CARD = Card(
    "t",
    (
        Column("who", Kind.INTEGER, role="identifier"),
        *(Column(f"c{at}", Kind.INTEGER, categories=tuple(range(n)), required=True) for at, n in enumerate(SIZES)),
    ),
    unit="who",
    rows_per_unit=2,
)


def codes(rows=600):
    """c1 follows c0, c2 follows c1, c3 is c2 > 0 or not, and c4 has nothing to do with them."""
    rng = np.random.default_rng(7)
    c0 = rng.integers(0, 3, rows)
    c1 = np.where(rng.random(rows) < 0.8, c0, 3)
    c2 = np.where(rng.random(rows) < 0.8, np.minimum(c1, 2), 0)
    return np.stack([c0, c1, c2, (c2 > 0).astype(int), rng.integers(0, 2, rows)], axis=1)


def counts(more=(), sizes=5):
    """Counts of the first columns of these rows, two a person, and of one more person."""
    rows = np.concatenate([codes(), np.array(more, dtype=int).reshape(-1, len(SIZES))])
    columns = {f"c{at}": rows[:, at] for at in range(len(SIZES))}
    table = read(pa.table({"who": np.minimum(np.arange(len(rows)) // 2, 300), **columns}), CARD)
    return Counts(table, Domain.of(CARD, [f"c{at}" for at in range(sizes)]))


COUNTS = counts()


@cache
def run(way, loss, counts=COUNTS):
    """What was known, what was selected, what was asked and the meter, with an eighth spent on single columns."""
    trail = []
    meter = Meter(counts, loss, 2, Repeatable(1), trail)
    known = [meter.measure((at,), Fraction(1, 8 * len(meter.sizes))) for at in range(len(meter.sizes))]
    return known, WAYS[way].select(meter, known), trail, meter


def off(known, found):
    """How far the model of what was found is from all pairs, in the worst case."""
    model = fit(SIZES, [*known, *found])
    pairs = list(itertools.combinations(range(len(SIZES)), 2))
    wanted = zip(pairs, model.marginals(pairs), strict=True)
    return max(np.abs(COUNTS.over(pair) - one).sum() / (2 * model.total) for pair, one in wanted)


@pytest.mark.parametrize("loss", [Pure(2), Concentrated("1/10")], ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_all_is_spent_and_nothing_is_asked_beside_the_meter(way, loss):
    known, found, trail, meter = run(way, loss)
    assert meter.left == 0
    assert [one.columns for one in (*known, *found)] == [step.columns for step in trail if isinstance(step, Measured)]


@pytest.mark.parametrize("way", WAYS)
def test_the_same_questions_of_neighbours_have_answers_within_the_sensitivity(way):
    """The replay audit: every step that was taken, taken again with and without a person who has two rows."""
    *_, trail, _ = run(way, Concentrated("1/10"))
    for more in ([(2, 3, 1, 0, 1)] * 2, [(0, 0, 0, 0, 0), (1, 3, 2, 1, 1)]):
        theirs = counts(more)
        for step in trail:
            if isinstance(step, Measured):
                assert np.abs(COUNTS.over(step.columns) - theirs.over(step.columns)).sum() == 2
            else:
                assert isinstance(step, Chosen)
                moved = zip(step.scores(COUNTS), step.scores(theirs), strict=True)
                assert max(abs(one - other) for one, other in moved) <= 2 * max(step.weights) * GRID


@pytest.mark.parametrize(("way", "worst"), [("mst", 0.03), ("aim", 0.04), ("bayes", 0.05), ("mwem", 0.05)])
def test_with_much_to_spend_the_model_is_near_the_table(way, worst):
    known, found, *_ = run(way, Concentrated(20 if way == "aim" else 10_000))
    assert off(known, found) < worst
    assert off(known, []) > 0.3


def test_a_tree_joins_what_depends_and_leaves_no_column_alone():
    _, found, *_ = run("mst", Concentrated(10_000))
    pairs = [one.columns for one in found]
    assert {(0, 1), (1, 2), (2, 3)} < set(pairs)
    assert any(4 in pair for pair in pairs)
    assert len(pairs) == len(set(pairs)) == 4 + len(SIZES) // mst.COLUMNS_A_PAIR


def test_aim_keeps_its_model_small():
    known = [(at,) for at in range(len(SIZES))]
    for largest in (1, 30):
        trail = []
        meter = Meter(COUNTS, Concentrated(100), 2, Repeatable(1), trail)
        first = [meter.measure(columns, Fraction(1, 40)) for columns in known]
        chosen = aim.select(meter, first, largest=largest)
        assert cells(SIZES, known + [one.columns for one in chosen]) <= max(largest, sum(SIZES))


def test_aim_spends_more_a_round_when_rounds_are_too_cheap():
    _, found, *_ = run("aim", Concentrated("1/100"))
    shares = [one.deviation for one in found]
    assert min(shares) < 0.6 * max(shares)
    assert len(found) < aim.ROUNDS * len(SIZES)


def test_aim_takes_a_workload():
    meter = Meter(COUNTS, Concentrated(100), 2, Repeatable(1))
    first = [meter.measure((at,), Fraction(1, 40)) for at in range(len(SIZES))]
    found = aim.select(meter, first, [(0, 1, 2)])
    assert {column for one in found for column in one.columns} <= {0, 1, 2}
    assert any(len(one.columns) == 3 for one in found)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("columns", [1, 2])
def test_few_columns_are_enough(way, columns):
    _, found, _, meter = run(way, Concentrated(1), counts=counts(sizes=columns))
    assert meter.left == 0
    assert found


def test_a_family_is_in_one_clique_of_those_before():
    _, found, *_ = run("bayes", Concentrated(10_000))
    joined = [set(one.columns) for one in found]
    for at, family in enumerate(joined):
        before = set().union(*joined[:at]) if at else family
        assert len(family - before) <= 1
        assert not at or any(family & before <= other for other in joined[:at])


@pytest.mark.parametrize("way", ["mst", "bayes", "mwem"])
def test_what_is_too_wide_for_a_model_is_not_measured_together(way, monkeypatch):
    limit = {"mst": "WIDEST", "bayes": "LARGEST", "mwem": "LARGEST"}[way]
    for most in (1, 20):
        monkeypatch.setattr(WAYS[way], limit, most)
        trail = []
        meter = Meter(COUNTS, Concentrated(100), 2, Repeatable(1), trail)
        known = [meter.measure((at,), Fraction(1, 40)) for at in range(len(SIZES))]
        found = WAYS[way].select(meter, known)
        assert meter.left == 0
        assert cells(SIZES, [one.columns for one in (*known, *found)]) <= most + sum(SIZES)
        assert any(len(one.columns) > 1 for one in found) == (most > 1)
        chosen = [step for step in trail if isinstance(step, Chosen)]
        asked = [one.columns for one in found if len(one.columns) > 1]
        assert all(columns in step.candidates for step, columns in zip(chosen, asked, strict=False))


def test_what_a_workload_asks_of_its_parts():
    assert workload.closure([(0, 2), (1,)]) == [(0,), (1,), (2,), (0, 2)]
    assert workload.relevance((0, 1), [(0, 2), (0, 1), (3,)]) == 3
    assert workload.ways(3, 2) == [(0, 1), (0, 2), (1, 2)]
    assert workload.size(SIZES, (1, 2)) == 12

"""Models of a population inside the search: it finds what trying everything finds."""

import itertools
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.publish import exhaustive as slow

from discreet.engines.read import read
from discreet.errors import NoPromise
from discreet.models.estimators import ESTIMATORS, estimates
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.presence import DeltaPresence
from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk
from discreet.models.uniqueness import PopulationUniqueness
from discreet.utility.quality import ClassSize, Discernibility, Precision
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.publish import publish

MEASURES = [(Precision(), slow.precision), (Discernibility(), slow.discernibility), (ClassSize(), slow.class_size)]
"""Which of several classes alike in size is suppressed does not matter to these."""


# Each rule takes (rows, people) of every class, by its label, and the people in none; it gives the labels to suppress.


def rows_at_least(k):
    return lambda sizes, outside: {label for label, (rows, _) in sizes.items() if rows < k}


def people_at_least(k):
    return lambda sizes, outside: {label for label, (_, people) in sizes.items() if people < k}


def present(low, high):
    def rule(sizes, outside):
        if low > 0 and outside:
            return set(sizes)
        return {label for label, (rows, people) in sizes.items() if not low <= Fraction(rows, people) <= high}

    return rule


def mean_risk(most, *, known, average=False):
    """``known``: the intruder knows the population; else no more than the table."""

    def risk(left):
        seen = [(rows, people if known else rows) for rows, people in left]
        mean = sum(Fraction(rows, people) for rows, people in seen) / sum(rows for rows, _ in seen)
        return max(mean, Fraction(len(seen), sum(people for _, people in seen))) if average else mean

    def rule(sizes, outside):
        order = sorted(sizes, key=lambda label: (sizes[label][1] if known else sizes[label][0], sizes[label][0]))
        for gone in range(len(order) + 1):
            left = [sizes[label] for label in order[gone:]]
            if not left or risk(left) <= most:
                return set(order[:gone])
        raise AssertionError

    return rule


def unique(most, people, estimator):
    def share(sizes):
        if not sizes[1]:
            return 0
        if estimator == "largest":
            return estimates(dict(sizes), people).largest
        found = ESTIMATORS[estimator](dict(sizes), people)
        return min((ESTIMATORS["zayatz"](dict(sizes), people) if math.isnan(found) else found) / people, 1)

    def rule(sizes, outside):
        alone = [label for label, (rows, _) in sizes.items() if rows == 1]
        counts = Counter(rows for rows, _ in sizes.values())
        if share(counts) <= most:
            return set()
        low, high = 0, len(alone)  # how many must go; that fewer uniques are fewer is taken for granted
        while low < high:
            middle = (low + high) // 2
            if share(Counter({**counts, 1: len(alone) - middle})) <= most:
                high = middle
            else:
                low = middle + 1
        return set(alone[:low])

    return rule


def nodes(case, everybody):
    """For all combinations of levels the rows of each class, and how many people are in it."""
    for levels in itertools.product(*(range(height + 1) for height in case.heights)):
        people = everybody.classes(levels)
        yield levels, case.classes(levels), {label: len(places) for label, places in people.items()}


def best(case, lattice, rules, measure, share):
    """The least loss of all combinations of levels; ``None`` if none will do."""
    limit = min(math.floor(Fraction(share) * len(case.rows)), len(case.rows) - 1)
    least = None
    for levels, classes, people in lattice:
        kept = classes
        while True:
            sizes = {label: (len(places), people[label]) for label, places in kept.items()}
            outside = sum(people.values()) - sum(many for _, many in sizes.values())
            gone = set().union(*(rule(sizes, outside) for rule in rules)) if sizes else set()
            if not gone:
                break
            kept = {label: places for label, places in kept.items() if label not in gone}
        if len(case.rows) - sum(map(len, kept.values())) <= limit:
            loss = measure(case, levels, kept)
            least = loss if least is None or loss < least else least
    return least


def random_models(rng, turn, population, people):
    """A model, each in its turn, and sometimes another."""
    k, low, high = rng.randint(2, 8), Fraction(rng.choice([0, 0, 1]), 20), Fraction(rng.randint(5, 10), 10)
    most = Fraction(rng.randint(1, 6), 10)
    estimator = rng.choice(["zayatz", "pitman", "largest"])
    known = [
        (KAnonymity(2), rows_at_least(2)),
        (KMap(k, population), people_at_least(k)),
        (JournalistRisk(most, population), people_at_least(1 / most)),
        (DeltaPresence(low, high, population), present(low, high)),
        (MarketerRisk(most), mean_risk(most, known=False)),
        (MarketerRisk(most, population), mean_risk(most, known=True)),
        (AverageRisk(most, population), mean_risk(most, known=True, average=True)),
        (PopulationUniqueness(most / 4, people, estimator), unique(most / 4, people, estimator)),
    ]
    first = known[turn % len(known)]
    return [first, rng.choice(known)] if rng.random() < 0.3 else [first]


@pytest.mark.parametrize("seed", range(4))
def test_the_search_equals_trying_everything(seed, duckdb):
    rng = random.Random(seed)  # noqa: S311
    case = slow.random_case(rng)
    pools = [list(paths) if paths else ["u", "v", "w", "x"] for paths in case.paths]
    others = [tuple(rng.choice(pool) for pool in pools) for _ in range(rng.choice([0, 10, 60]))]
    everybody = slow.Case(case.rows + tuple((quasi, "a") for quasi in others), case.paths)
    population = read(everybody.data(), replace(everybody.card(), name="everybody"), engine=duckdb)
    table = read(case.data(), case.card(), engine=duckdb)
    lattice = list(nodes(case, everybody))
    for turn in range(4 * seed, 4 * seed + 4):
        models = random_models(rng, turn, population, len(everybody.rows))
        quality, measure = rng.choice(MEASURES)
        share = rng.choice([0, "1/10", "1/3", 1])
        required = [model for model, _ in models]
        expected = best(case, lattice, [rule for _, rule in models], measure, share)
        try:
            found = Generalize(share, quality).recode(table, required)
        except NoPromise:
            found = None
        assert (found is None) == (expected is None), (models, share)
        if found is not None:
            assert found.optimal
            assert found.loss == pytest.approx(expected, abs=1e-9), (required, quality, share)
    if found is not None:  # what is published is checked against the population again
        release = publish(table, Generalize(share, quality), required)
        assert release.recipe.parameters["suppressed"] == found.suppressed <= Fraction(share) * len(case.rows)

"""The search finds what trying everything finds: for any models, measures, limits and tables."""

import random
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.publish import exhaustive as slow

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import Model
from discreet.models.risk import ProsecutorRisk
from discreet.utility.quality import Classification, Granularity
from discreet.verbs.publish.generalize import Generalize

SHARES = [0, "1/10", "1/3", "2/3", 1]


@dataclass(frozen=True)
class FewTogether(Model):
    """No class has more than so many rows: as far from monotone as can be."""

    most: int
    name = "few together"
    meaning = "rows in the largest class:"

    @property
    def claim_text(self):
        return f"at most {self.most} together"

    @property
    def monotone(self):
        return False

    def figures(self, classes):
        return classes.sizes.astype(np.float64)

    def breaking(self, classes):
        return classes.sizes > self.most


def random_models(rng):
    """One to three models, each with the same in plain Python."""
    k, l, t = rng.randint(1, 5), rng.choice([1, 2, 2, 3]), Fraction(rng.randint(3, 9), 10)  # noqa: E741
    known = [
        (KAnonymity(k), slow.at_least(k)),
        (LDiversity(l, "s"), slow.distinct(l)),
        (EntropyLDiversity(l, "s"), slow.entropy(l)),
        (RecursiveLDiversity(2, l, "s"), slow.recursive(2, l)),
        (AlphaK(t, k, "s"), slow.share_at_most(t, k)),
        (TCloseness(t, "s", "equal"), slow.close(t)),
        (ProsecutorRisk(t / 2), slow.at_least(2 / t)),
        (FewTogether(10), slow.at_most_rows(10)),
    ]
    first = [known[0]] if rng.random() < 0.6 else []
    return first + rng.sample(known[1:], rng.randint(0 if first else 1, 2))


def check(case, found, holds, measure, share, choices=None):
    """That a recoding is what trying everything says it should be."""
    least, nodes = slow.best(case, holds, measure, share, choices)
    if least is None:
        assert found is None
        return
    assert found is not None, (least, nodes)
    assert found.optimal
    assert found.gap == 0
    assert found.loss == pytest.approx(least, abs=1e-9, rel=1e-12)
    levels = tuple(found.levels[name] for name in case.names)
    assert levels in nodes
    kept = slow.kept_classes(case, levels, holds)
    every = case.classes(levels)
    assert found.suppressed == len(case.rows) - sum(map(len, kept.values()))
    assert found.suppressed <= Fraction(share) * len(case.rows)
    dropped = [] if found.dropped is None else [tuple(row.values()) for row in found.dropped.to_pylist()]
    assert sorted(map(str, dropped)) == sorted(str(label) for label in every if label not in kept)


def found_or_none(search, *arguments):
    try:
        return search(*arguments)
    except NoPromise:
        return None


def random_question(rng):
    models = random_models(rng)
    quality, measure = rng.choice(slow.MEASURES)
    return [model for model, _ in models], [test for _, test in models], quality, measure, rng.choice(SHARES)


@pytest.mark.parametrize("seed", range(25))
def test_the_search_equals_trying_everything(seed):
    rng = random.Random(seed)  # noqa: S311  # 20 lattices each, 500 in all
    for _ in range(20):
        case = slow.random_case(rng)
        models, holds, quality, measure, share = random_question(rng)
        found = found_or_none(Generalize(share, quality).search, case.tuples(), models)
        check(case, found, holds, measure, share)


@pytest.mark.parametrize("seed", range(100, 108))
def test_the_same_from_the_rows_on_an_engine(seed, duckdb):
    rng = random.Random(seed)  # noqa: S311
    case = slow.random_case(rng)
    models, holds, quality, measure, share = random_question(rng)
    table = read(case.data(), case.card(), engine=duckdb)
    found = found_or_none(Generalize(share, quality).recode, table, models)
    check(case, found, holds, measure, share)


@pytest.mark.parametrize("seed", range(200, 240))
def test_limits_on_levels_are_kept(seed):
    rng = random.Random(seed)  # noqa: S311
    case = slow.random_case(rng)
    models, holds, quality, measure, share = random_question(rng)
    limits, choices = {}, []
    for name, height in zip(case.names, case.heights, strict=True):
        low = rng.randint(0, height)
        high = rng.randint(low, height)
        choices.append(range(low, high + 1))
        limits[name] = rng.choice([(low, high), range(low, high + 1)]) if low < high else low
    found = found_or_none(Generalize(share, quality, limits).search, case.tuples(), models)
    check(case, found, holds, measure, share, choices)


@pytest.mark.parametrize("seed", range(300, 308))
def test_a_class_counts_by_the_whole_population(seed, duckdb):
    rng = random.Random(seed)  # noqa: S311
    case = slow.random_case(rng)
    others = [tuple(rng.choice(list(p) if p else ["u", "v", "w"]) for p in case.paths) for _ in range(30)]
    k, share = rng.randint(2, 8), rng.choice(SHARES)
    everybody = slow.Case(case.rows + tuple((quasi, "a") for quasi in others), case.paths)
    population = read(everybody.data(), replace(everybody.card(), name="everybody"), engine=duckdb)

    def least_loss():
        least = None
        for levels in slow.itertools.product(*(range(height + 1) for height in case.heights)):
            people = everybody.classes(levels)
            kept = {label: places for label, places in case.classes(levels).items() if len(people[label]) >= k}
            gone = len(case.rows) - sum(map(len, kept.values()))
            if gone <= min(Fraction(share) * len(case.rows), len(case.rows) - 1):
                loss = everywhere(levels, kept)
                least = loss if least is None else min(loss, least)
        return least

    def everywhere(levels, kept):
        staying = {place for places in kept.values() for place in places}
        shares = [
            everybody.share(column, quasi[column], level) if place in staying else 1
            for place, (quasi, _) in enumerate(case.rows)
            for column, level in enumerate(levels)
        ]
        return sum(shares) / len(shares)

    table = read(case.data(), case.card(), engine=duckdb)
    found = found_or_none(Generalize(share).recode, table, [KMap(k, population)])
    expected = least_loss()
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.loss == pytest.approx(expected)
        assert found.suppressed <= Fraction(share) * len(case.rows)


def taxonomy(*paths):
    return {path[0]: path for path in paths}


COLOURS = taxonomy(("red", "warm"), ("orange", "warm"), ("blue", "cold"), ("green", "cold"))


def case_of(*rows, paths=(COLOURS,)):
    return slow.Case(tuple((row if isinstance(row, tuple) else (row,), "a") for row in rows), paths)


def levels_of(case, models, **asked):
    found = Generalize(**asked).search(case.tuples(), models)
    return tuple(found.levels.values()), found.suppressed


def test_nothing_is_changed_that_need_not_be():
    assert levels_of(case_of("red", "red", "blue", "blue"), [KAnonymity(2)]) == ((0,), 0)


def test_a_level_is_raised_before_a_row_is_lost():
    assert levels_of(case_of("red", "orange", "blue", "blue"), [KAnonymity(2)]) == ((1,), 0)


def test_a_row_is_lost_if_that_costs_less():
    rows = ["red"] * 9 + ["blue"]
    assert levels_of(case_of(*rows), [KAnonymity(2)]) == ((2,), 0)
    assert levels_of(case_of(*rows), [KAnonymity(2)], suppress="1/10") == ((0,), 1)


def test_the_share_to_suppress_is_exact():
    rows = ["red"] * 9 + ["blue"]
    assert levels_of(case_of(*rows), [KAnonymity(2)], suppress=0.1) == ((0,), 1)
    assert levels_of(case_of(*rows), [KAnonymity(2)], suppress="999999999999999/10000000000000000") == ((2,), 0)


def test_missing_values_are_like_each_other_and_nothing_else():
    assert levels_of(case_of(None, None, "red", "red"), [KAnonymity(2)]) == ((0,), 0)
    assert levels_of(case_of(None, "red", "red", "red"), [KAnonymity(2)]) == ((2,), 0)


def test_a_constant_column_stays():
    assert levels_of(case_of("red", "red", "red"), [KAnonymity(3)]) == ((0,), 0)


def test_rows_that_are_all_unique_become_one_class():
    assert levels_of(case_of("red", "orange", "blue", "green"), [KAnonymity(4)]) == ((2,), 0)


def test_one_row_is_1_anonymous():
    assert levels_of(case_of("red"), [KAnonymity(1)]) == ((0,), 0)


def test_an_empty_table_loses_nothing(duckdb):
    case = case_of("red")
    table = read(case.data().slice(0, 0), case.card(), engine=duckdb)
    found = Generalize(quality=Classification("s")).recode(table, [KAnonymity(5), LDiversity(2, "s")])
    assert found.levels == {"q0": 0}
    assert (found.suppressed, found.loss, found.optimal) == (0, 0, True)


def test_a_column_without_a_hierarchy_is_kept_or_hidden():
    assert levels_of(case_of("u", "v", paths=(None,)), [KAnonymity(2)]) == ((1,), 0)


def test_a_recoding_that_keeps_nothing_is_none():
    with pytest.raises(NoPromise, match="cannot be 5-anonymous: not even all rows"):
        Generalize(suppress=1).search(case_of("red", "red").tuples(), [KAnonymity(5)])


def test_a_refusal_says_what_would_help():
    tuples = case_of("red", "orange", "blue").tuples()
    with pytest.raises(NoPromise, match=r"at most 0 of the rows.*coarser levels or more suppressed rows"):
        Generalize(levels={"q0": (0, 1)}).search(tuples, [KAnonymity(2)])
    with pytest.raises(NoPromise, match="cannot be 2-diverse on s"):
        Generalize().search(tuples, [KAnonymity(1), LDiversity(2, "s")])


def test_models_joined_by_and_are_models():
    case = case_of("red", "red", "blue", "blue")
    assert levels_of(case, [KAnonymity(2) & LDiversity(1, "s")]) == ((0,), 0)
    assert levels_of(case, [PSensitivity(1, 3, "s")]) == ((2,), 0)


@pytest.mark.parametrize("levels", [3, -1, True, "1", (0, 3), (2, 1), (0, 1, 2), range(0, 3, 2), range(0), 1.0])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(BadInput, match="levels of 'q0' go from 0 to 2"):
        Generalize(levels={"q0": levels}).search(case_of("red").tuples(), [KAnonymity(1)])


def test_levels_of_other_columns_are_refused():
    with pytest.raises(NotFound, match="'s' is not a quasi-identifier; these are q0"):
        Generalize(levels={"s": 1}).search(case_of("red").tuples(), [KAnonymity(1)])


@pytest.mark.parametrize("share", [-0.1, 1.1, "5 %", True, float("nan")])
def test_a_share_is_from_0_to_1(share):
    with pytest.raises(BadInput, match="suppress"):
        Generalize(suppress=share)


def test_a_recoding_tells_how_it_was_made():
    said = []
    case = case_of(*["red"] * 9, "blue")
    method = Generalize("1/10", Granularity("geometric"), {"q0": (0, 1)}, time_limit=100)
    found = method.search(case.tuples(), [KAnonymity(2)], lambda share, what: said.append((share, what)))
    assert found.parameters == {
        "suppress": Fraction(1, 10),
        "measure": "granularity, geometric mean",
        "limits": {"q0": [0, 1]},
        "time_limit": 100,
    }
    assert "none of the others can lose less" in found.steps[0]
    assert found.steps[1:] == ("Levels: q0 0.", "1 of 10 rows were suppressed, in classes that broke a model.")
    assert found.dropped.to_pylist() == [{"q0": "blue"}]
    assert found.quality["loss of q0"] == pytest.approx(0.1)
    assert all(0 <= share <= 1 for share, _ in said)


@pytest.mark.parametrize("model", [LDiversity(2, "city"), TCloseness("0.1", "city") & KAnonymity(2)])
def test_a_model_of_a_quasi_identifier_is_refused_before_the_search(model):
    card = Card("t", (Column("city", Kind.TEXT, Role.QUASI), Column("sex", Kind.TEXT, Role.QUASI)))
    table = read(pa.table({"city": list("abab"), "sex": list("ffff")}), card)
    with pytest.raises(BadInput, match="'city', a quasi-identifier"):
        Generalize().recode(table, [model])

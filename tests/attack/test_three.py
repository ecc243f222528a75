"""Singling out, linkability and inference: a copy gives everybody away, other people's data nobody."""

import itertools
from collections import Counter
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

import discreet as dc
from discreet.verbs.attack.attack import every_attack
from discreet.verbs.attack.distance import gower_distances
from discreet.verbs.attack.finding import Outcome, clopper_pearson
from discreet.verbs.attack.guesses import GuessResults, added_risk, evaluate_guesses
from discreet.verbs.attack.inference import Inference, _commonest, _same
from discreet.verbs.attack.linkability import Linkability, telling_halves
from discreet.verbs.attack.singling_out import By, SinglingOut, _one_of

ATTACKS = [SinglingOut(By.ONE), SinglingOut(By.SEVERAL), Linkability(), Inference(), Inference("income")]
CONTROLS = {"no control": None, "as many": released.N, "more": 2 * released.N, "fewer": released.N // 2}


def made(attack, size, nulls=False):
    control = None if size is None else released.people(size, seed=9, nulls=nulls)
    changes = {"guesses": 100, "control": control}
    return type(attack)(**{**vars(attack), **changes})


@pytest.fixture(params=ATTACKS, ids=lambda attack: f"{attack.name} {getattr(attack, 'secret', '')}")
def attack(request):
    return request.param


@pytest.fixture(params=CONTROLS, ids=str)
def size(request):
    return CONTROLS[request.param]


def test_a_copy_gives_everybody_away(attack, size):
    nulls = size != released.N
    table = released.people(nulls=nulls)
    found = made(attack, size, nulls).run(released.release(table.fetch())[0], table)
    assert found.outcome is Outcome.BROKE
    assert found.figure > 0.98
    assert ("control" in found.details) == (size is not None)
    if size:
        assert found.details["risk"] > 0.95
        assert found.details["risk from"] <= found.details["risk"] <= found.details["risk to"]
    assert found.victims
    assert found.meaning.endswith(".") and found.knows.endswith(".")


def test_other_people_give_nobody_away(attack, size):
    table = released.people()
    found = made(attack, size).run(released.release(released.people(seed=77).fetch())[0], table)
    assert found.outcome is Outcome.NOTHING
    assert not found.victims
    if size:
        assert found.details["risk from"] == 0.0


@pytest.mark.parametrize("by", By)
def test_without_a_control_guessing_is_to_put_descriptions_together_without_looking(by):
    """And only more than what may be reached without knowing anybody, 37 %, is learned."""
    table = released.people()
    control = released.people(seed=9)
    for rows, outcome in ((table, Outcome.BROKE), (released.people(seed=77), Outcome.NOTHING)):
        release, _ = released.release(rows.fetch())
        found = SinglingOut(by).run(release, table)
        assert found.baseline < 0.15
        assert found.baseline == SinglingOut(by, control).run(release, table).details["guessing"]
        assert found.details["ceiling without any knowledge"] == pytest.approx(np.exp(-1), abs=0.01)
        assert "Up to 37% is possible without any knowledge" in found.meaning
        assert found.outcome is outcome


def test_what_is_general_is_no_risk():
    """Whoever reads a law of nature off a release learns about everybody, in it or not."""

    def aging(seed):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, 400)
        return released.known(pa.table({"age": age, "old": np.where(age > 50, "yes", "no")}), old=dc.Role.SENSITIVE)

    table = aging(1)
    release, _ = released.release(table.fetch())
    blind, careful = Inference().run(release, table), Inference(control=aging(2)).run(release, table)
    assert blind.figure == careful.figure == 1.0
    assert blind.outcome is Outcome.BROKE and "control group" in blind.meaning
    assert careful.outcome is Outcome.NOTHING
    assert careful.details["control"] > 0.95


def test_victims_are_the_people_who_are_singled_out():
    table = released.known(pa.table({"x": [1, 1, 5, 9], "town": ["a", "a", "a", "b"]}))
    found = SinglingOut(By.ONE).run(released.release(table.fetch())[0], table)
    assert set(found.victims) == {2, 3}


def test_equal_rows_cannot_be_described():
    table = released.known(pa.table({"x": [1, 1], "town": ["a", "a"]}))
    for by in By:
        found = SinglingOut(by).run(released.release(table.fetch())[0], table)
        assert found.outcome is Outcome.FAILED
        assert "description" in found.meaning


@pytest.mark.parametrize(
    ("fitting", "people", "drawn"), [(1, 5, 2), (2, 5, 2), (3, 6, 4), (5, 5, 1), (0, 5, 2), (4, 5, 3)]
)
def test_a_larger_control_counts_as_a_sample_of_it(fitting, people, drawn):
    draws = [len([one for one in draw if one < fitting]) for draw in itertools.combinations(range(people), drawn)]
    assert _one_of(fitting, people, drawn) == pytest.approx(draws.count(1) / comb(people, drawn))


def test_halves_that_point_at_rows_by_lot_are_joined_by_chance():
    table = released.known(pa.table({"x": np.zeros(40), "y": np.zeros(40)}))
    release, _ = released.release(table.fetch())
    shares = [Linkability(neighbours=3, seed=seed).run(release, table).figure for seed in range(50)]
    chance = 1 - comb(37, 3) / comb(40, 3)
    assert Linkability(neighbours=3).run(release, table).baseline == pytest.approx(chance)
    assert np.mean(shares) == pytest.approx(chance, abs=6.2 * np.sqrt(chance * (1 - chance) / 2000))  # 1e-9


def test_columns_are_split_so_that_both_files_tell_much():
    rng = np.random.default_rng(4)
    rows = np.column_stack([*rng.integers(0, 2, (4, 100)), *rng.integers(0, 20, (2, 100)), np.zeros(100)])

    def crowds(half):
        alike = Counter(map(tuple, rows[:, half]))
        return np.array([alike[tuple(row)] for row in rows[:, half]])

    def joined(first, second):
        return np.mean(crowds([*first, *second]) / crowds(first) / crowds(second))

    columns = list(range(7))
    splits = [list(some) for size in range(1, 4) for some in itertools.combinations(columns, size)]
    best = max(joined(some, [one for one in columns if one not in some]) for some in splits)
    first, second = telling_halves(rows)
    assert sorted(first + second) == columns
    assert joined(first, second) == pytest.approx(best)
    assert joined(columns[::2], columns[1::2]) < best


def test_continuous_columns_are_shared_out_evenly():
    assert sorted(map(len, telling_halves(np.random.default_rng(1).normal(size=(50, 6))))) == [3, 3]


def test_a_copy_of_patients_can_be_linked_by_their_births_and_the_rest():
    patients = dc.samples.hospital(rows=300, seed=1).table("patients")
    found = Linkability().run(released.release(patients.payload())[0], patients)
    assert found.details["first file"] == ["birth_date"]
    assert found.figure > 0.5  # by every other column 3 %: the one that tells most is alone in its file


@pytest.mark.parametrize("rows", [300, 3000])
def test_what_a_copy_would_give_is_told_where_people_are_alike_in_a_file(rows):
    patients = dc.samples.hospital(rows=rows, seed=1).table("patients")
    release, _ = released.release(patients.payload())
    found = Linkability().run(release, patients)
    kinds = [found.details[file] for file in ("first file", "second file")]
    people = patients.payload().to_pylist()
    keys = [[tuple(one[name] for name in file) for one in people] for file in (*kinds, [*kinds[0], *kinds[1]])]
    counts = [Counter(some) for some in keys]
    first, second, both = (np.array([count[one] for one in some]) for some, count in zip(keys, counts, strict=True))
    expected = np.mean(both / first / second)
    assert found.details["upper limit from an exact copy"] == pytest.approx(expected)
    assert f"about {expected:.0%}" in found.meaning
    assert found.interval[0] < expected < found.interval[1]
    table = released.people()
    assert "upper limit from an exact copy" not in Linkability().run(released.release(table.fetch())[0], table).details


def test_of_equally_near_rows_the_commonest_value_is_taken_and_of_equally_common_ones_one_by_lot():
    table = released.known(
        pa.table({"x": [1, 1, 1, 2, 3, 3], "s": ["u", "u", "v", "v", "u", "v"]}), s=dc.Role.SENSITIVE
    )
    found = Inference().run(released.release(table.fetch())[0], table)
    assert found.figure == pytest.approx((1 + 1 + 0 + 1 + 1 / 2 + 1 / 2) / 6)
    assert found.baseline == 0.5


def test_numbers_are_right_within_the_tolerance():
    table = released.known(pa.table({"x": [1, 2, 3, 4], "s": [100.0, 100.0, 100.0, 0.0]}), s=dc.Role.SENSITIVE)
    release, _ = released.release(pa.table({"x": [1, 2, 3, 4], "s": [104.0, 106.0, 95.0, 0.0]}))
    found = Inference(tolerance=0.05).run(release, table)
    assert found.figure == pytest.approx(3 / 4)


def test_distances_treat_null_as_a_value():
    rows = np.array([[0.0, 1.0], [10.0, np.nan], [np.nan, 2.0]])
    people = np.array([[5.0, 1.0], [np.nan, np.nan]])
    (far,) = gower_distances(people, rows, np.array([True, False]))
    assert far.tolist() == [[0.5, 1.5, 2.0], [2.0, 1.0, 1.0]]


def test_the_risk_is_what_the_release_adds():
    assert added_risk(0.6, 0.2) == pytest.approx(0.5)
    assert added_risk(0.1, 0.2) == 0.0
    assert added_risk(1.0, 1.0) == 0.0
    guesses = GuessResults(np.repeat([1.0, 0.0], [60, 40]), np.arange(100), np.repeat([1.0, 0.0], [20, 80]), 0.1)
    found = evaluate_guesses("a", "b.", guesses, "c.", {})
    main, control = clopper_pearson(60, 100, 0.975), clopper_pearson(20, 100, 0.975)
    assert found.details["risk from"] == pytest.approx(added_risk(main[0], control[1]))
    assert found.details["risk to"] == pytest.approx(added_risk(main[1], control[0]))
    assert found.baseline == 0.2


def test_what_cannot_be_compared_is_said(attack):
    table = released.people()
    ranges, _ = released.release(pa.table({"age": ["30 to 39"] * released.N}))
    assert attack.run(ranges, table).outcome is Outcome.FAILED
    number = dc.Release(3, dc.Statement(unit="a row"), dc.Recipe("by hand", {}))
    assert attack.run(number, table).outcome is Outcome.FAILED
    assert attack.applies(number)
    assert attack.applies(released.release(table.fetch(), "publish")[0])
    assert attack.applies(released.release(table.fetch())[0]) is None
    text = released.known(pa.table({name: ["x"] for name in table.columns}))
    bare = type(attack)(**{**vars(attack), "control": text})
    assert "control" in bare.run(released.release(table.fetch())[0], table).meaning
    bare = type(attack)(**{**vars(attack), "control": released.known(pa.table({"other": [1]}))})
    assert "control" in bare.run(released.release(table.fetch())[0], table).meaning


def test_two_files_need_columns_of_their_own():
    table = released.people()
    release, _ = released.release(table.fetch())
    for attack in (Linkability(("age",)), Linkability(("age",), ("age", "income")), Linkability(("age",), ("shoe",))):
        assert attack.run(release, table).outcome is Outcome.FAILED


def test_they_are_among_the_attacks_on_releases():
    names = [one.name for one in every_attack()]
    assert {"linkability", "inference", "singling out by one column", "singling out by several columns"} <= set(names)
    assert len(set(names)) == len(names)


def test_of_several_secrets_the_worst_is_told():
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 300)
    blood = rng.choice(["A", "B", "0"], 300, p=[0.8, 0.1, 0.1])
    rows = pa.table({"age": age, "blood": blood, "ill": np.where(age > 50, "yes", "no")})
    table = released.known(rows, blood=dc.Role.SENSITIVE, ill=dc.Role.SENSITIVE)
    release = dc.publish(table, dc.Microaggregate(5))
    found = Inference().run(release, table)
    assert (found.outcome, found.details["secret"]) == (Outcome.BROKE, "ill")
    assert Inference("blood").run(release, table).outcome is Outcome.NOTHING
    without = dc.Release(rows.drop(["blood"]), dc.Statement(unit="a row"), dc.Recipe("by hand", {}))
    assert Inference().run(without, table).outcome is Outcome.BROKE


def test_the_commonest_number_is_the_one_most_are_near():
    values = np.array([10.0, 10.4, 10.8, 50.0, 50.0])
    assert _commonest(values, 0.05).tolist() == [10.4]
    assert _commonest(values, 0.0).tolist() == [50.0]
    gaps = np.array([np.nan, np.nan, 3.0, 3.0, 4.0])
    assert np.array_equal(_commonest(gaps, 0.0), [3.0, np.nan], equal_nan=True)


def test_the_commonest_value_is_the_best_of_all_guesses():
    rng = np.random.default_rng(3)
    for tolerance in (0.0, 0.05, 0.5, 2.0):
        values = rng.integers(-20, 20, 40) * 1.1
        right = [int(_same(one, values, tolerance).sum()) for one in np.unique(values)]
        found = _commonest(values, tolerance)
        assert _same(found[0], values, tolerance).sum() == max(right)

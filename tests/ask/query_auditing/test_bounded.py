"""The auditor of bounded sums, against every table there could be: all of one transcript keep everybody's secret."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.verbs.ask.query_auditing import bounded
from discreet.verbs.ask.query_auditing.auditor import Classes, Part, Verdict
from discreet.verbs.ask.query_auditing.bounded import Bounded


@pytest.fixture
def few(monkeypatch):
    """Sets of few people are looked at too: all tables of many are too many to go through."""
    monkeypatch.setattr(bounded, "_FEWEST", 1)


def auditor(people, *, high=1, width=1, whole=True):
    classes = Classes(np.arange(people))
    return classes, Bounded(classes, Fraction(0), Fraction(high), Fraction(width), whole=whole)


def parts_of(classes, one, group):
    count = group.max(initial=-1) + 1
    parents, of_class = classes.split(group, count)
    one.widen(parents)
    return [Part("sum", of_class == place) for place in range(count)]


def transcript(values, questions, **options):
    """All that whoever asks these questions of a table gets to see."""
    classes, one = auditor(len(values), **options)
    seen = []
    for group in questions:
        parts = parts_of(classes, one, group)
        verdict = one.weigh(parts)
        if verdict in (Verdict.DENY, Verdict.CLOSED):
            seen.append("denied")
            continue
        answers = [Fraction(int(values[group == place].sum())) for place in range(len(parts))]
        if verdict is Verdict.LOOK and not one.bears(parts, answers):
            one.close()
            seen.append("closed")
            continue
        one.learn(parts, answers)
        seen.append(tuple(answers))
    return tuple(seen)


def all_tables(people, questions, values=(0, 1), **options):
    """Every table there could be, by what is seen of it; those with the same sums are asked once."""
    alike, seen = {}, {}
    for row in product(values, repeat=people):
        sums = [np.array(row)[group == one].sum() for group in questions for one in range(group.max() + 1)]
        alike.setdefault(tuple(sums), []).append(row)
    for rows in alike.values():
        seen.setdefault(transcript(np.array(rows[0]), questions, **options), []).extend(rows)
    return seen


def check(people, questions):
    seen = all_tables(people, [np.array(one) for one in questions])
    for tables in seen.values():
        assert all(len({row[one] for row in tables}) == 2 for one in range(people)), "both are possible for everybody"
    return seen


@pytest.mark.parametrize("people", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_whatever_is_seen_both_truths_stay_possible_for_everybody(few, people):
    seen = check(people, [[0] * (people - 2) + [-1, -1], [0] * people])
    assert {type(one) for one in sum(seen, ())} == {tuple, str}, "some was answered and some was not"
    assert any("closed" in one for one in seen)


@pytest.mark.slow
def test_whatever_is_seen_of_random_questions_both_truths_stay_possible(few):
    random = np.random.default_rng(3)
    for _ in range(25):
        check(5, random.integers(-1, 2, (3, 5)))


def test_after_a_denial_that_looked_nothing_is_answered():
    everybody, some = np.zeros(5, dtype=int), np.array([0, 0, 0, -1, -1])
    assert transcript(np.zeros(5, dtype=int), [everybody, some]) == ("closed", "denied")
    _, one = auditor(5)
    one.close()
    assert one.weigh([Part("sum", np.array([True]))]) is Verdict.CLOSED, "which is said of it"
    assert transcript(np.array([1, 0, 1, 0, 1]), [everybody, some])[0] == (3,)


def test_few_people_are_denied_whatever_their_values():
    several, few_left = np.array([0] * 4 + [-1] * 6), np.array([0] * 7 + [-1] * 3)
    for values in (np.zeros(10, dtype=int), np.array([1, 0] * 5)):
        assert transcript(values, [several]) == ("denied",)
    assert transcript(np.array([1, 0] * 5), [np.zeros(10, dtype=int), few_left])[1] == "denied", "three are left"


def test_so_many_classes_are_weighed(monkeypatch):
    sets, values = [np.array([0] * 5 + [-1] * 5), np.array([-1] * 5 + [0] * 5)], np.array([1, 0] * 5)
    for most in (bounded._MOST_CLASSES, 2):
        monkeypatch.setattr(bounded, "_MOST_CLASSES", most)
        assert transcript(values, sets)[1] == (2,)
    monkeypatch.setattr(bounded, "_MOST_CLASSES", 1)
    assert transcript(values, sets) == ("denied", "denied")


def test_whole_numbers_are_asked_in_sets_that_are_nested_or_apart(few):
    crossing = [np.array([0, 0, 0, 0, -1, -1]), np.array([-1, -1, 0, 0, 0, 0])]
    values = np.array([1, 0, 1, 0, 1, 0])
    assert transcript(values, crossing) == ((2,), "denied")
    assert transcript(values, crossing, whole=False, width="1/2")[1] == (2,)


@pytest.mark.slow
def test_real_numbers_keep_their_width(few):
    people, questions = 3, [np.zeros(3, dtype=int), np.array([0, 0, -1])]
    for tables in all_tables(people, questions, (0, 1, 2, 3), high=3, width=2, whole=False).values():
        for one in range(people):
            values = {row[one] for row in tables}
            assert max(values) - min(values) >= 2


def test_a_width_between_whole_numbers_is_the_next_one():
    classes, one = auditor(4, high=3, width="3/2")
    assert one._width * 3 == pytest.approx(1.5), "2, but for half a unit"
    _, fine = auditor(4, high=10**6, width=1000)
    assert fine._width > 1000 / 10**6, "units too small for the solver: a little more is asked"
    assert classes.count == 1


def test_questions_that_were_denied_elsewhere_change_nothing(few):
    split, whole = auditor(6), auditor(6)
    group = np.array([0, 0, 0, 0, -1, -1])
    parts_of(*split, np.arange(6))
    assert split[0].count == 6
    assert split[1].weigh(parts_of(*split, group)) is whole[1].weigh(parts_of(*whole, group)) is Verdict.LOOK

"""The auditor of sums: what it answers tells of nobody, what it denies would have, and the data is never asked."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.verbs.ask.query_auditing.auditor import Classes, Part, Verdict
from discreet.verbs.ask.query_auditing.kernels import PRIME
from discreet.verbs.ask.query_auditing.sums import Span, Sums, _fraction


class Asker:
    """Asks an auditor about sets of rows."""

    def __init__(self, owner):
        self.owner = np.array(owner)
        self.classes = Classes(self.owner)
        self.auditor = Sums(self.classes)
        self.answered = []

    def ask(self, group):
        """Ask for the sums of one or more sets, by row; whether they were answered."""
        group = np.array(group)
        count = group.max(initial=-1) + 1
        parents, of_class = self.classes.split(group, count)
        self.auditor.widen(parents)
        parts = [Part("sum", of_class == one) for one in range(count)]
        if self.auditor.weigh(parts) is not Verdict.ANSWER:
            return False
        self.auditor.learn(parts, [Fraction(0)] * count)
        self.answered += [group == one for one in range(count)]
        return True


def rank(rows):
    """Of a matrix of fractions, by elimination."""
    rows, found = [[Fraction(int(one)) for one in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((place for place in range(found, len(rows)) if rows[place][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for place in range(found + 1, len(rows)):
            if rows[place][column]:
                factor = rows[place][column] / rows[found][column]
                rows[place] = [one - factor * other for one, other in zip(rows[place], rows[found], strict=True)]
        found += 1
    return found


def told(sets, owner):
    """Those of whose rows alone something follows from the sums of some sets.

    A combination that is zero on everybody else's rows, and not zero, is there just if leaving a person's rows out
    makes the rank smaller.
    """
    if not sets:
        return set()
    sets = np.array(sets)
    whole = rank(sets)
    return {one for one in set(owner) if rank(sets[:, np.array(owner) != one]) < whole}


def histories(count, seed):
    """Random people with one or more rows, and random questions about them, some for several sets at once."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        rows = int(random.integers(3, 9))
        owner = np.sort(random.integers(0, rows, rows)) if random.random() < 0.4 else np.arange(rows)
        asked = [random.integers(-1, random.integers(1, 3), rows) for _ in range(int(random.integers(4, 12)))]
        yield owner, asked


def check(count, seed):
    outcomes = set()
    for owner, asked in histories(count, seed):
        asker = Asker(owner)
        for group in asked:
            with_it = [*asker.answered, *(group == one for one in range(group.max(initial=-1) + 1))]
            answered = asker.ask(group)
            outcomes.add(answered)
            assert answered == (not told(with_it, owner)), "denied just where it would tell"
        assert not told(asker.answered, owner)
    assert outcomes == {True, False}


def test_nobody_is_told_by_random_histories():
    check(60, seed=1)


@pytest.mark.slow
def test_nobody_is_told_by_a_thousand_random_histories():
    check(1000, seed=2)


def test_the_classic_attacks_are_denied():
    n_and_one_less = Asker(range(6))
    assert n_and_one_less.ask([0] * 6)
    assert not n_and_one_less.ask([0] * 5 + [-1])
    overlapping = Asker(range(3))
    assert overlapping.ask([0, 0, -1])
    assert overlapping.ask([-1, 0, 0])
    assert not overlapping.ask([0, -1, 0]), "all three pairs of three people tell everybody"
    tracker = Asker(range(8))
    assert tracker.ask([0] * 4 + [-1] * 4), "C: half of them"
    assert tracker.ask([-1] * 4 + [0] * 4), "not C"
    assert not tracker.ask([0] * 4 + [-1] * 3 + [0]), "C, or the one who is looked for"
    alone = Asker(range(3))
    assert not alone.ask([0, -1, -1])
    assert not alone.ask([0, 1, 1]), "all or nothing"
    assert alone.ask([0, 0, 0])


def test_one_persons_several_rows_are_one_person():
    asker = Asker([0, 0, 1, 1])
    assert not asker.ask([0, 0, -1, -1])
    assert asker.ask([0, -1, 0, -1])
    assert not asker.ask([-1, 0, 0, -1]), "the difference between two rows of one person would be told"
    assert asker.ask([-1, 0, -1, 0])


def test_what_was_denied_leaves_no_trace_in_what_is_known():
    asker, other = Asker(range(10)), Asker(range(10))
    assert asker.ask([0] * 10)
    assert other.ask([0] * 10)
    for one in range(10):
        assert not asker.ask([0 if row != one else -1 for row in range(10)])
    for group in ([0] * 5 + [-1] * 5, [0, 0, -1, -1, -1, 0, 0, -1, -1, -1], [0] * 9 + [-1], [-1] * 5 + [0] * 5):
        assert asker.ask(group) == other.ask(group)


def test_a_question_that_follows_from_others_is_free_to_answer():
    asker = Asker(range(9))
    assert asker.ask([0] * 3 + [1] * 3 + [2] * 3)
    for group in ([0] * 9, [0] * 6 + [-1] * 3, [-1] * 3 + [0] * 6):
        assert asker.ask(group)
    assert asker.auditor._span.rank == 3


def test_fractions_are_found_by_their_residues():
    for top, bottom in [(0, 1), (1, 1), (-1, 1), (2, 3), (-355, 113), (32767, 32766)]:
        assert _fraction(top * pow(bottom, -1, PRIME) % PRIME) == (top, bottom)


def test_what_the_prime_takes_for_dependent_and_is_not_must_not_be_answered():
    span = Span(Classes(np.arange(3)))
    span.add(np.array([True, True, False]))
    span._rows[0][:] = [1, 0, 0]  # as if the prime had lost a column
    assert not span.add(np.array([True, False, False]))

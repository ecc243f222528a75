"""The auditor of extremes, against all answers that could be given, and against other data with the same answers."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.verbs.ask.query_auditing.auditor import Classes, Part, Verdict
from discreet.verbs.ask.query_auditing.extremes import Extremes


class Asker:
    """Asks an auditor for extremes of some values."""

    def __init__(self, owner, values):
        self.owner, self.values = np.array(owner), np.array(values)
        self.classes = Classes(self.owner)
        self.auditor = Extremes(self.classes)
        self.seen = []

    def ask(self, how, group):
        """The answers for one or more sets, by row, or ``None``."""
        answers = self._ask(how, group)
        self.seen.append((how, group, answers))
        return answers

    def _ask(self, how, group):
        group = np.array(group)
        count = group.max(initial=-1) + 1
        parents, of_class = self.classes.split(group, count)
        self.auditor.widen(parents)
        parts = [Part(how, of_class == one) for one in range(count)]
        if self.auditor.weigh(parts) is not Verdict.ANSWER:
            return None
        find = np.max if how == "max" else np.min
        answers = [int(find(self.values[group == one])) for one in range(count) if (group == one).any()]
        self.auditor.learn([part for part in parts if part.asked.any()], list(map(Fraction, answers)))
        return answers


def tells(history, owner):
    """By the definition, of (set, answer) for MAX: impossible (``None``), or whether somebody is told."""
    upper = np.full(len(owner), np.inf)
    for asked, answer in history:
        upper[asked] = np.minimum(upper[asked], answer)
    extremes = [set(owner[asked & (upper == answer)]) for asked, answer in history]
    return None if not all(extremes) else any(len(one) == 1 for one in extremes)


def would_tell(history, asked, owner):
    """Whether any possible answer would tell: every answer there was, and something between, below and above."""
    known = sorted({answer for _, answer in history}) or [0.0]
    between = [(one + other) / 2 for one, other in pairwise(known)]
    candidates = [known[0] - 1, *known, *between, known[-1] + 1]
    return any(tells([*history, (asked, candidate)], owner) for candidate in candidates)


def check(count, seed):
    random = np.random.default_rng(seed)
    outcomes = set()
    for _ in range(count):
        rows = int(random.integers(2, 8))
        owner = np.sort(random.integers(0, rows, rows)) if random.random() < 0.4 else np.arange(rows)
        how, sign = ("max", 1) if random.random() < 0.5 else ("min", -1)
        values = random.integers(0, 6, rows)
        asker, history = Asker(owner, values), []
        for _ in range(int(random.integers(3, 9))):
            asked = random.random(rows) < 0.6
            if not asked.any():
                continue
            answer = asker.ask(how, np.where(asked, 0, -1))
            outcomes.add(answer is None)
            assert (answer is None) == would_tell(history, asked, owner)
            if answer is not None:
                history.append((asked, sign * answer[0]))
        same_answers(asker, history, sign)
    assert outcomes == {True, False}


def same_answers(asker, history, sign):
    """Other values with the same answers: for everybody there are, and they are denied the same."""
    upper = np.full(len(asker.owner), 9)
    for asked, answer in history:
        upper[asked] = np.minimum(upper[asked], answer)
    for person in set(asker.owner):
        other = upper - (asker.owner == person)
        assert all(other[asked].max() == answer for asked, answer in history), "somebody's values were determined"
        again = Asker(asker.owner, sign * other)
        for how, group, answers in asker.seen:
            assert again.ask(how, group) == answers, "the same history, answered and denied the same"


def test_it_denies_just_where_a_possible_answer_would_tell():
    check(80, seed=1)


@pytest.mark.slow
def test_it_denies_just_where_a_possible_answer_would_tell_a_thousand_times():
    check(1000, seed=2)


def test_a_largest_value_with_one_person_left_out_is_denied():
    asker = Asker(range(5), [1, 2, 3, 4, 5])
    assert asker.ask("max", [0] * 5) == [5]
    assert asker.ask("max", [0] * 4 + [-1]) is None
    assert asker.ask("max", [0, 0, 0, -1, -1]) == [3]
    assert asker.ask("max", [0] * 5) == [5]


def test_largest_and_smallest_are_asked_of_others():
    asker = Asker(range(6), range(6))
    assert asker.ask("max", [0, 0, 0, -1, -1, -1]) == [2]
    assert asker.ask("min", [0] * 6) is None
    assert asker.ask("min", [-1, -1, 0, 0, 0, 0]) is None
    assert asker.ask("min", [-1, -1, -1, 0, 0, 0]) == [3]
    assert asker.ask("max", [-1, -1, -1, 0, 0, 0]) is None


def test_several_groups_are_answered_where_nobody_was_asked_about():
    asker = Asker(range(8), range(8))
    assert asker.ask("max", [0, 0, 1, 1, 2, -1, -1, -1]) is None, "one is alone"
    assert asker.ask("max", [0, 0, 1, 1, 1, -1, -1, -1]) == [1, 4]
    assert asker.ask("max", [-1, -1, -1, -1, 0, 0, 1, 1]) is None
    assert asker.ask("max", [-1, -1, -1, -1, -1, 0, 0, 0]) == [7]

"""Differencing and averaging: exact answers and fresh noise give way, answers that are stored and charged do not."""

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

import discreet as dc
from discreet.errors import Refused
from discreet.verbs.attack.differencing import averaging, differencing
from discreet.verbs.attack.finding import Outcome

SECRET = ("ill", "yes")
PEOPLE = 24
CARD = dc.Card(
    "people",
    (
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI, bounds=(18, 98)),
        dc.Column("town", dc.Kind.TEXT, dc.Role.QUASI, categories=("a", "b")),
        dc.Column("ill", dc.Kind.TEXT, dc.Role.SENSITIVE, categories=("yes", "no")),
    ),
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    ages = rng.permutation(np.arange(18, 98))
    return pa.table(
        {
            "age": pa.array(ages),
            "town": pa.array(rng.choice(["a", "b"], len(ages)).tolist()),
            "ill": pa.array(rng.permutation(["yes", "no"] * (len(ages) // 2)).tolist()),
        }
    )


@pytest.fixture(scope="module")
def known(rows):
    return released.known(rows, ill=dc.Role.SENSITIVE)


@pytest.fixture(scope="module")
def exact(known):
    """Answers any question, truly; a question is counted once, so that repeats are cheap."""
    held = {}

    def ask(condition):
        if condition not in held:
            held[condition] = known.engine.fetch(known.query("COUNT(*)").where(condition)).column(0)[0].as_py()
        return held[condition]

    return ask


def test_exact_answers_tell_everybody(exact, known, rows):
    found = differencing(exact, known, SECRET, people=PEOPLE)
    assert found.outcome is Outcome.BROKE
    assert found.figure == 1.0
    assert found.details["questions"] == PEOPLE + 1
    assert all(0 <= row < rows.num_rows for row in found.victims)


def test_a_door_that_refuses_small_groups_is_no_protection(exact, known):
    def ask(condition):
        if exact(condition) < 10:
            raise Refused("Too few.")
        return exact(condition)

    found = differencing(ask, known, SECRET, people=PEOPLE)
    assert found.figure == 1.0
    assert found.details["refused"] == 0


def test_fresh_noise_averages_out(exact, known):
    rng = np.random.default_rng(2)

    def ask(condition):
        return exact(condition) + rng.laplace(scale=5)

    once = differencing(ask, known, SECRET, people=PEOPLE)
    often = averaging(ask, known, SECRET, people=PEOPLE, times=2000)
    assert once.outcome is Outcome.NOTHING
    assert often.outcome is Outcome.BROKE
    assert often.figure == 1.0
    assert often.details["spread of repeats"] > 1


def test_a_curator_withstands_both(rows, known, tmp_path):
    with dc.Curator.create(tmp_path / "door", {"people": (rows, CARD)}, dc.Pure(1)) as curator:

        def ask(condition):
            question = f"SELECT COUNT(*) AS n FROM people WHERE {condition}"
            return curator.ask(question, epsilon="0.1").table["n"][0].as_py()

        often = averaging(ask, known, SECRET, people=PEOPLE, times=3)
        spent = curator.left("people").table
        once = differencing(ask, known, SECRET, people=PEOPLE)
        assert curator.left("people").table == spent
    for found in (often, once):  # the budget's doing: ten answers are too few, whatever noise is in them
        assert found.outcome is not Outcome.BROKE
        assert found.details["refused"] == PEOPLE + 1 - 10
    assert often.details["spread of repeats"] == 0.0  # and the memory's: what was answered is answered again
    assert often.figure == once.figure


def all_told(ill, well, epsilon):
    """The probability that differencing counts with noise tells rightly of so many ill and so many well people.

    Everybody's count has one draw of noise in it, a person's own another: whoever is ill is told so if the second is at
    most the first, and whoever is well is told so if it is not less.
    """
    ratio = np.exp(-epsilon)
    steps = np.arange(-int(40 / epsilon) - 2, int(40 / epsilon) + 3)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(steps)
    at_most = np.cumsum(law)
    return float(np.sum(law * at_most**ill * (1 - at_most + law) ** well))


def test_noise_alone_withstands_differencing(rows, known, tmp_path):
    """However much budget there is: at a small epsilon not all are told, at a large one they are, save once in 1e9."""
    many, few = 36, 10
    ill = sum(one == "yes" for one in rows["ill"].to_pylist()[:many])
    assert all_told(ill, many - ill, 0.1) < 1e-9
    assert 1 - all_told(few, few, 30.0) < 1e-9  # next to no noise would be noticed
    with dc.Curator.create(tmp_path / "door", {"people": (rows, CARD)}, dc.Pure(1000)) as curator:

        def asking(epsilon):
            question = "SELECT COUNT(*) AS n FROM people WHERE "
            return lambda condition: curator.ask(question + condition, epsilon=epsilon).table["n"][0].as_py()

        protected = differencing(asking("0.1"), known, SECRET, people=many)
        bare = differencing(asking("30"), known, SECRET, people=few)
    assert protected.details["refused"] == bare.details["refused"] == 0
    assert protected.figure < 1.0
    assert bare.figure == 1.0


def test_nobody_alone_cannot_be_attacked(exact):
    table = released.known(pa.table({"town": ["a", "a"], "ill": ["yes", "no"]}), ill=dc.Role.SENSITIVE)
    assert differencing(exact, table, SECRET).outcome is Outcome.FAILED
    assert differencing(exact, table, ("none", 1)).outcome is Outcome.FAILED


def test_averaging_takes_repeats(exact, known):
    with pytest.raises(dc.errors.BadInput):
        averaging(exact, known, SECRET, times=1)

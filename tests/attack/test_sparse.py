"""The attack on sparse tables, on ratings drawn like those of films: few are rated by many, most by few."""

import numpy as np
import pyarrow as pa
import pytest
from tests.attack.cases import by_hand

import discreet as dc
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.sparse import Scoreboard

PEOPLE, FILMS, EACH = 400, 1500, 25
BOARD = Scoreboard("user", "film", {"stars": 1.5, "day": 30.0})
CARD = dc.Card(
    "ratings",
    tuple(dc.Column(name, dc.Kind.INTEGER) for name in ("user", "film", "stars", "day")),
)


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(1)
    liked = 1 / np.arange(1, FILMS + 1)
    films = np.concatenate([rng.choice(FILMS, EACH, replace=False, p=liked / liked.sum()) for _ in range(PEOPLE)])
    return pa.table(
        {
            "user": np.repeat(np.arange(PEOPLE), EACH),
            "film": films,
            "stars": rng.integers(1, 6, PEOPLE * EACH),
            "day": rng.integers(0, 2000, PEOPLE * EACH),
        }
    )


def heard(ratings, entries, seed=2, wrong=0):
    """What an acquaintance remembers: a few films each, stars and days roughly, some films by mistake."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([who * EACH + rng.choice(EACH, entries, replace=False) for who in range(100)])
    known = ratings.take(pa.array(rows))
    stars = known["stars"].to_numpy() + rng.integers(-1, 2, len(rows))
    days = known["day"].to_numpy() + rng.integers(-14, 15, len(rows))
    films = known["film"].to_numpy().copy()
    for place in range(wrong):
        films[place::entries] = rng.integers(0, FILMS, 100)
    columns = {"user": known["user"], "film": films, "stars": stars, "day": days}
    return dc.read(pa.table(columns), CARD)


def test_eight_roughly_known_ratings_find_nearly_everybody_and_two_do_not(ratings):
    found = BOARD.run(by_hand(ratings), heard(ratings, 8))
    assert found.outcome is Outcome.BROKE
    assert found.figure > 0.95
    assert found.details["named wrongly"] == 0
    assert found.baseline == pytest.approx(1 / PEOPLE)
    assert BOARD.run(by_hand(ratings), heard(ratings, 2)).figure < found.figure


def test_two_of_eight_may_be_wrong(ratings):
    assert BOARD.run(by_hand(ratings), heard(ratings, 8, wrong=2)).figure > 0.9


def test_who_is_not_there_is_seldom_named(ratings):
    """The record of whoever is attacked was left out. The more a record must stand out, the fewer are named."""
    others = by_hand(ratings.slice(100 * EACH))
    named = []
    for eccentricity in (0.0, 1.5, 6.0):
        board = Scoreboard("user", "film", BOARD.values, eccentricity)
        found = board.run(others, heard(ratings, 8))
        assert found.figure == 0
        named.append(found.details["named wrongly"])
    assert named[0] == 100
    assert named[1] < 50
    assert named[2] < 10
    assert board.run(by_hand(ratings), heard(ratings, 8)).figure > 0.95  # who is there still stands out


def test_strangers_ratings_find_nobody(ratings):
    rng = np.random.default_rng(5)
    shuffled = ratings.set_column(0, "user", pa.array(rng.permutation(ratings["user"].to_numpy())))
    found = BOARD.run(by_hand(shuffled), heard(ratings, 8))
    assert found.figure < 0.05
    assert found.outcome is Outcome.NOTHING


def test_what_is_missing_is_said(ratings):
    release, known = by_hand(ratings.select(["user", "film"])), heard(ratings, 2)
    assert "no column 'stars'" in BOARD.applies(release)
    assert BOARD.run(release, known).outcome is Outcome.FAILED
    assert Scoreboard("user", "film").run(release, known).outcome is not Outcome.FAILED

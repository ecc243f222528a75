import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released
from tests.attack.cases import by_hand

import discreet as dc
from discreet.verbs.attack.composition import Composition
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.uniqueness import QuasiMatching


def crossed(rng, n=60):
    rows = pa.table({"a": rng.integers(0, 6, n), "b": rng.integers(0, 6, n), "ill": rng.integers(0, 8, n)})
    return released.known(rows, ill=dc.Role.SENSITIVE)


def plain(table, one, other):
    """For each person the rows of the first release that agree with a row of the second that may be theirs too."""
    mine, first, second = table.fetch().to_pylist(), one.to_pylist(), other.to_pylist()
    found = []
    for person in mine:
        seen = {row["ill"] for row in second if row["b"] == person["b"]}
        found.append(sum(row["a"] == person["a"] and row["ill"] in seen for row in first))
    return found


def test_candidates_are_those_of_all_releases():
    table = crossed(np.random.default_rng(3))
    one, other = (table.fetch().select([name, "ill"]) for name in "ab")
    found = Composition((by_hand(other),)).run(by_hand(one), table, np.arange(60))
    assert found.details["singled out by all together"] == plain(table, one, other).count(1)
    assert found.outcome is Outcome.BROKE
    assert found.figure > found.baseline
    assert found.baseline == QuasiMatching().run(by_hand(one), table, np.arange(60)).figure
    sure = found.details["sensitive value certain from all together"]
    assert sure >= found.details["sensitive value certain from the first alone"]


def test_a_release_of_the_same_tells_nothing_new():
    table = crossed(np.random.default_rng(3))
    one = by_hand(table.fetch().select(["a"]))
    found = Composition((one,)).run(one, table, np.arange(60))
    assert found.outcome is Outcome.NOTHING
    assert found.figure == pytest.approx(found.baseline)


def test_three_releases_tell_no_less_than_two():
    table = crossed(np.random.default_rng(4))
    one, other, third = (by_hand(table.fetch().select(names)) for names in (["a", "ill"], ["b", "ill"], ["a", "b"]))
    two = Composition((other,)).run(one, table, np.arange(60))
    three = Composition((other, third)).run(one, table, np.arange(60))
    assert three.details["releases"] == 3
    assert three.figure >= two.figure - 1e-9


def test_without_others_or_rows_there_is_nothing_to_lay_side_by_side():
    table = crossed(np.random.default_rng(3))
    release = by_hand(table.fetch())
    number = dc.Release(1.0, dc.Statement(unit="a row"), dc.Recipe("mean"))
    assert "No other release" in Composition(()).applies(release)
    assert "not a table" in Composition((number,)).applies(release)
    strange = by_hand(pa.table({"z": [1, 2]}))
    found = Composition((strange,)).run(release, table)
    assert found.outcome is Outcome.FAILED
    assert "no usable values" in found.meaning

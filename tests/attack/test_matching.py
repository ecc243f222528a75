"""Which rows may be whose. That the true one always may is tested for every method in tests/contract."""

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released
from tests.publish.test_publish_every import CARD, METHODS, people

import discreet as dc
from discreet.engines.read import read
from discreet.errors import DataError, NotFound
from discreet.verbs.attack import matching as module
from discreet.verbs.attack.matching import find_candidates


def test_candidates_are_the_equal_rows_of_a_copy():
    table = released.known(pa.table({"a": [1, 1, 2, None], "b": ["x", "x", "y", None]}))
    made, links = released.release(table.fetch())
    found = find_candidates(made, table, links)
    assert found.candidate_counts.tolist() == [2, 2, 1, 1]
    assert found.success.tolist() == [0.5, 0.5, 1, 1]
    assert found.certain.tolist() == [False, False, True, True]
    assert find_candidates(made, table).success.tolist() == [0.5, 0.5, 1, 1]


def test_a_row_that_may_be_others_as_well_is_not_a_persons():
    """Of three people alike one row was sampled: who takes it is right once in three times."""
    table = released.known(pa.table({"a": [1, 1, 1, 2]}))
    made, _ = released.release(pa.table({"a": [1]}))
    found = find_candidates(made, table)
    assert found.candidate_counts.tolist() == [1, 1, 1, 0]
    assert found.success.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert not found.certain.any()


@pytest.mark.parametrize("limit", ["_MAX_PAIRS", "_MAX_CELLS"])
def test_of_large_tables_some_people_are_attacked(monkeypatch, limit):
    rows = people(1, 90)
    table = read(rows, CARD)
    release = dc.publish(table, METHODS["mondrian"], dc.KAnonymity(3))
    whole = find_candidates(release, table)
    monkeypatch.setattr(module, limit, 200)
    part = find_candidates(release, table)
    assert 1 <= len(part.people) < 90
    assert part.scale == pytest.approx(90 / len(part.people))
    assert (part.key_counts[part.key_of] == whole.key_counts[whole.key_of][part.people]).all()
    assert (part.candidate_counts == whole.candidate_counts[part.people]).all()


def test_who_is_alone_is_alone_in_a_part_too(monkeypatch):
    table = released.known(pa.table({"a": [str(n) for n in range(300)]}))
    made, _ = released.release(table.fetch())
    monkeypatch.setattr(module, "_MAX_CELLS", 30_000)
    found = find_candidates(made, table)
    assert len(found.people) < 300
    assert found.certain.all()


def test_pairs_are_compared_in_blocks(monkeypatch):
    table = read(people(1, 90), CARD)
    release = dc.publish(table, METHODS["mondrian relaxed"], dc.KAnonymity(3))
    whole = find_candidates(release, table)
    monkeypatch.setattr(module, "_BLOCK_PAIRS", 7)
    assert (find_candidates(release, table).candidate_counts == whole.candidate_counts).all()
    assert np.allclose(find_candidates(release, table).success, whole.success)


def test_what_cannot_be_matched_is_said():
    table = released.people(20)
    noisy, said = released.noisy(table, 1.0, ["age", "income", "height"])
    made, _ = released.release(noisy.select(["age", "income", "height"]), "noise", **said)
    with pytest.raises(DataError, match="no usable values"):
        find_candidates(made, table)
    with pytest.raises(NotFound, match="shoe"):
        find_candidates(made, table, None, ("shoe",))
    with pytest.raises(DataError, match="no rows"):
        find_candidates(released.release(table.fetch().slice(0, 0))[0], table)
    with pytest.raises(DataError, match="not a table"):
        find_candidates(dc.Release(1.0, dc.Statement(unit="a row"), dc.Recipe("mean")), table)

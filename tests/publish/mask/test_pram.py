import numpy as np
import pytest
from tests.publish.mask.people import people

from discreet.errors import BadInput, DataError
from discreet.publish.mask.pram import Pram, undone
from discreet.publish.mask.transition import evenly, invariant, least_moved

COUNTS = np.array([600.0, 0.0, 300.0, 80.0, 20.0])


def test_an_invariant_matrix_keeps_the_counts():
    made = invariant(evenly(5, 0.7), COUNTS)
    assert np.allclose(made.sum(axis=1), 1, rtol=1e-12)
    assert np.allclose(COUNTS @ made, COUNTS, rtol=1e-9)
    assert not np.allclose(COUNTS @ evenly(5, 0.7), COUNTS, rtol=0.01)


@pytest.mark.parametrize("keep", [0.5, 0.7, 0.9])
def test_the_optimal_matrix_keeps_counts_and_moves_less_than_any_other(keep):
    best = least_moved(COUNTS, keep, "c")
    assert np.allclose(COUNTS @ best, COUNTS, rtol=1e-9)
    there = COUNTS > 0
    assert np.all(np.diag(best)[there] <= keep + 1e-9)
    steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    moved = COUNTS @ (best * steps).sum(axis=1)
    draw = np.random.default_rng(1)
    for _ in range(200):
        other = invariant(draw.dirichlet(np.full(5, 0.5), 5), COUNTS)
        if np.all(np.diag(other)[there] <= keep):
            assert COUNTS @ (other * steps).sum(axis=1) >= moved - 1e-6


def test_a_category_too_large_to_change_is_said_so():
    with pytest.raises(BadInput, match="too large"):
        least_moved(np.array([900.0, 100.0]), 0.5, "c")


@pytest.mark.parametrize("how", ["even", "invariant"])
def test_to_keep_less_than_a_blind_guess_would_is_refused(how):
    for keep in (0.0, 0.1, 0.49):
        with pytest.raises(BadInput, match="flipped") as refused:
            Pram(keep, ["smokes"], how).mask(people())
        assert "1/2" in refused.value.hint
    with pytest.raises(BadInput, match="any other of 4"):
        Pram(0.24, ["town"], how).mask(people())
    for keep, name in ((0.5, "smokes"), (0.25, "town")):
        told = Pram(keep, [name], how).mask(people(), 1).parameters["matrices"][name]
        assert 0.2 < told["changed"] < 0.8


def test_given_matrices_are_used():
    certain = {"smokes": [[0.0, 1.0], [1.0, 0.0]]}
    before, after = people().payload(), Pram(matrices=certain).mask(people(), 1)
    assert after.rows["smokes"].to_pylist() == [not one for one in before["smokes"].to_pylist()]
    assert after.parameters["how"] == "given"
    assert after.parameters["matrices"]["smokes"]["categories"] == ["False", "True"]


@pytest.mark.parametrize(
    "wrong",
    [
        Pram,
        lambda: Pram(1.0),
        lambda: Pram(0.5, how="best"),
        lambda: Pram(0.5, matrices={}),
        lambda: Pram(0.5, ["height"]).mask(people()),
        lambda: Pram(columns=["town"], matrices={"smokes": [[1]]}).mask(people()),
        lambda: Pram(matrices={"smokes": [[1.0]]}).mask(people()),
        lambda: Pram(matrices={"smokes": [[0.5, 0.4], [0, 1]]}).mask(people()),
        lambda: Pram(0.5, ["born"]).mask(people(4000)),
        lambda: undone([1, 2], [[0.5, 0.5], [0.5, 0.5]]),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadInput):
        wrong()


def test_a_value_that_is_no_category_is_refused():
    masker = Pram(0.5, ["town"])
    state = masker.plan(people()).state
    strange = people().payload().to_batches()[0]
    values, cumulated = state["town"]
    with pytest.raises(DataError):
        masker.batch({"town": (values[1:], cumulated)}, strange, np.random.default_rng(1))

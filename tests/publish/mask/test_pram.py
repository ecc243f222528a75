import re

import numpy as np
import pytest
from tests.publish.mask.people import people

from discreet.errors import BadInput, DataError
from discreet.verbs.publish.mask.pram import Pram, even_matrix, invariant_matrix, optimal_matrix, undone

COUNTS = np.array([600.0, 0.0, 300.0, 80.0, 20.0])


def test_an_invariant_matrix_keeps_the_counts():
    made = invariant_matrix(even_matrix(5, 0.7), COUNTS)
    assert np.allclose(made.sum(axis=1), 1, rtol=1e-12)
    assert np.allclose(COUNTS @ made, COUNTS, rtol=1e-9)
    assert not np.allclose(COUNTS @ even_matrix(5, 0.7), COUNTS, rtol=0.01)


@pytest.mark.parametrize("keep", [0.65, 0.7, 0.9])
def test_the_optimal_matrix_keeps_counts_and_moves_less_than_any_other(keep):
    best = optimal_matrix(COUNTS, keep, "c")
    assert np.allclose(COUNTS @ best, COUNTS, rtol=1e-9)
    there = COUNTS > 0
    most = keep * np.minimum.outer(COUNTS, COUNTS)
    assert np.all((COUNTS[:, None] * best)[:, there] <= most[:, there] + 1e-6)
    steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    moved = COUNTS @ (best * steps).sum(axis=1)
    draw, compared = np.random.default_rng(1), 0
    for _ in range(200):
        other = draw.random() * invariant_matrix(draw.dirichlet(np.full(5, 0.5), 5), COUNTS)
        other += (1 - other.sum(axis=1, keepdims=True)) * COUNTS / COUNTS.sum()
        if np.all((COUNTS[:, None] * other)[:, there] <= most[:, there]):
            compared += 1
            assert COUNTS @ (other * steps).sum(axis=1) >= moved - 1e-6
    assert compared


@pytest.mark.parametrize("counts", [[500, 500], [250, 250, 250, 250], [900, 100], [400, 300, 200, 100], [7, 0, 1, 1]])
def test_the_optimal_matrix_hides_with_whatever_is_kept(counts):
    """Whoever sees a category names the true one with ``keep`` at best; less than the commonest's share hides less."""
    shares = np.array(counts, float) / sum(counts)
    for keep in (*np.linspace(shares.max(), 0.99, 5), float(shares.max())):
        matrix = optimal_matrix(np.array(counts, float), keep, "c")
        flow = shares[:, None] * matrix
        assert np.allclose(flow.sum(axis=0), shares, atol=1e-9)
        assert np.all(flow.max(axis=0) <= keep * shares + 1e-9)
    for keep in (0.0, 0.1, shares.max() - 0.01):
        with pytest.raises(BadInput, match="commonest category") as refused:
            optimal_matrix(np.array(counts, float), keep, "c")
        optimal_matrix(np.array(counts, float), float(re.search(r"at least ([\d.]+),", refused.value.hint)[1]), "c")


def test_an_optimal_matrix_that_would_flip_is_refused():
    with pytest.raises(BadInput, match=r"smokes: .* commonest category"):
        Pram(0.1, ["smokes"], "optimal").mask(people())


@pytest.mark.parametrize("how", ["even", "invariant"])
def test_to_keep_less_than_a_blind_guess_would_is_refused(how):
    for keep in (0.0, 0.1, 0.49):
        with pytest.raises(BadInput, match="flipped") as refused:
            Pram(keep, ["smokes"], how).mask(people())
        assert "1/2" in refused.value.hint
    with pytest.raises(BadInput, match="another of 4"):
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

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

from discreet.verbs.attack.distance import DistanceLinkage, Metric
from discreet.verbs.attack.linkage_kernels import Points, nearest_rows


def by_hand(people, rows, truth):
    """Every pair, in the order of columns, as plain Python adds."""
    ties, found = [], []
    for place, codes, own in zip(people.places, people.codes, truth, strict=True):
        distances = []
        for other, others in zip(rows.places, rows.codes, strict=True):
            total = 0.0
            for a, b in zip(place, other, strict=True):
                total += (a - b) ** 2
            for a, b, cost in zip(codes, others, people.costs, strict=True):
                total += cost if a != b else 0.0
            distances.append(total)
        ties.append(distances.count(min(distances)))
        found.append(own >= 0 and distances[own] == min(distances))
    return ties, found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("grid", [2, 5, 1000])
@pytest.mark.parametrize(("numbers", "texts"), [(1, 0), (3, 0), (2, 2), (0, 2), (8, 1)])
def test_the_tree_finds_what_all_pairs_give_ties_included(seed, grid, numbers, texts):
    rng = np.random.default_rng([seed, grid, numbers])
    costs = rng.integers(1, 4, texts).astype(float)

    def points(n):
        return Points(rng.integers(0, grid, (n, numbers)) / 7, rng.integers(0, 3, (n, texts)), costs)

    people, rows = points(40), points(90)
    truth = rng.integers(-1, 90, 40)
    row, ties, found = nearest_rows(people, rows, truth)
    expected = by_hand(people, rows, truth)
    assert ties.tolist() == expected[0]
    assert found.tolist() == expected[1]
    assert nearest_rows(people, rows, row)[2].all()


def test_who_shares_a_centroid_with_k_is_found_by_one_in_k():
    values = np.repeat(np.arange(30.0), 4)
    table = released.known(pa.table({"x": values + np.tile([-0.1, -0.05, 0.05, 0.1], 30)}))
    made, links = released.release(pa.table({"x": values}))
    for metric in (Metric.EUCLIDEAN, Metric.MAHALANOBIS):
        found = DistanceLinkage(metric=metric).run(made, table, links)
        assert found.figure == pytest.approx(0.25)
        assert found.victims == ()


def test_equal_rows_stay_equal_however_they_are_turned():
    rng = np.random.default_rng(3)
    centroids = np.repeat(rng.normal(size=(25, 5)), 4, axis=0)
    spread = np.tile([[0.01], [-0.01], [0.02], [-0.02]], (25, 1))
    names = "abcde"
    table = released.known(pa.table(dict(zip(names, (centroids + spread).T, strict=True))))
    made, links = released.release(pa.table(dict(zip(names, centroids.T, strict=True))))
    found = DistanceLinkage(metric=Metric.MAHALANOBIS).run(made, table, links)
    assert found.figure == pytest.approx(0.25)


def test_ranks_see_through_what_is_monotone():
    table = released.known(pa.table({"x": np.random.default_rng(1).random(200), "y": np.arange(200.0)}))
    rows = table.fetch()
    bent = pa.table({"x": 100 * rows["x"].to_numpy() ** 3, "y": -50 + np.sqrt(rows["y"].to_numpy())})
    made, links = released.release(bent)
    assert DistanceLinkage(metric=Metric.RANK).run(made, table, links).figure == 1.0
    assert DistanceLinkage().run(made, table, links).figure < 0.2


def test_mahalanobis_sees_through_noise_that_follows_the_data():
    rng = np.random.default_rng(2)
    base = rng.normal(size=(500, 1))
    values = base + 0.05 * rng.normal(size=(500, 3))
    noise = 0.5 * (rng.normal(size=(500, 1)) + 0.05 * rng.normal(size=(500, 3)))
    table = released.known(pa.table(dict(zip("xyz", values.T, strict=True))))
    made, links = released.release(pa.table(dict(zip("xyz", (values + noise).T, strict=True))))
    plain, turned = (DistanceLinkage(metric=metric).run(made, table, links).figure for metric in list(Metric)[:2])
    assert turned > 2 * plain


def test_text_alone_links_as_well_as_it_can():
    table = released.known(pa.table({"a": list("xxyz"), "b": list("uvuu")}))
    made, links = released.release(table.fetch())
    assert DistanceLinkage().run(made, table, links).figure == 1.0
    table = released.known(pa.table({"a": list("xxyz")}))
    made, links = released.release(table.fetch())
    assert DistanceLinkage().run(made, table, links).figure == 0.75

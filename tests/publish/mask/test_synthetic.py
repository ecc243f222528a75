"""IPSO and shuffling: what they keep, to the last digits."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr
from tests.publish.mask.people import CARD, people, rows

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, DataError
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.moments import matrix_of, regressors
from discreet.verbs.publish.mask.shuffle import Shuffle

GIVEN = ("smokes", "born")


def fitted(table_rows):
    """Coefficients and residual covariance of height and weight on what is given, over complete rows."""
    y = matrix_of(table_rows, ("height", "weight"))
    x = regressors(CARD, table_rows, GIVEN)
    whole = ~np.isnan(y).any(axis=1)
    b = np.linalg.lstsq(x[whole], y[whole], rcond=None)[0]
    left = y[whole] - x[whole] @ b
    return b, left.T @ left / whole.sum()


@pytest.mark.parametrize("version", ["A", "B", "C"])
def test_the_regression_is_found_again(version):
    before = people().payload()
    after = Ipso(version, ("height", "weight"), GIVEN).mask(people(), 1).rows
    (b, s), (b2, s2) = fitted(before), fitted(after)
    assert np.allclose(b, b2, rtol=1e-9)
    same = np.allclose(s, s2, rtol=1e-9)
    assert same if version == "C" else not same
    if version == "B":
        assert np.allclose(s, s2, rtol=0.4, atol=1)


def test_without_anything_given_means_and_covariances_are_kept():
    before = people().payload()
    after = Ipso("C", ("height", "weight")).mask(people(), 1).rows
    a, b = (matrix_of(t, ("height", "weight")) for t in (before, after))
    whole = ~np.isnan(a).any(axis=1)
    assert np.allclose(a[whole].mean(axis=0), b[whole].mean(axis=0), rtol=1e-9)
    assert np.allclose(np.cov(a[whole].T), np.cov(b[whole].T), rtol=1e-9)
    assert abs(np.corrcoef(a[whole, 0], b[whole, 0])[0, 1]) < 0.2, "the values themselves are new"


def towns(**sizes):
    """Towns of so many people each, a town hall beside each town, and pay."""
    town = [name for name, size in sizes.items() for _ in range(size)]
    columns = {"town": Kind.TEXT, "hall": Kind.TEXT, "same": Kind.REAL, "pay": Kind.REAL}
    card = Card("towns", tuple(Column(name, kind, Role.QUASI) for name, kind in columns.items()))
    pay = np.random.default_rng(1).normal(3000, 800, len(town))
    return read(pa.table({"town": town, "hall": town, "same": [7.5] * len(town), "pay": pay}), card)


@pytest.mark.parametrize("version", ["A", "B", "C"])
@pytest.mark.parametrize("few", [1, 2])
def test_who_is_alone_or_one_of_two_in_what_is_given_is_not_published(version, few):
    """Residuals are orthogonal to what is given: theirs, or the sum of theirs, would be 0."""
    with pytest.raises(DataError, match="Given 'town', a person is unique") as refused:
        Ipso(version, ("pay",), ("same", "town")).mask(towns(Linz=30, Graz=20, Ried=few))
    assert "Pool rare categories" in refused.value.hint
    crowd = towns(Linz=30, Graz=20, Ried=3)
    # that one column is constant, and one follows from another, singles nobody out
    masked = Ipso(version, ("pay",), ("same", "town", "hall")).mask(crowd, 1)
    assert not np.isclose(masked.rows["pay"], crowd.payload()["pay"], rtol=1e-6).any()
    assert any("even for three" in sentence for sentence in masked.not_promised)


def test_who_lies_far_out_in_what_is_given_is_not_published():
    data = rows().set_column(3, "height", pa.array([1e6, *rows()["height"].to_pylist()[1:]]))
    with pytest.raises(DataError, match="Given 'height', a person is unique"):
        Ipso("C", ("income",), ("smokes", "height")).mask(read(data, CARD))
    with pytest.raises(DataError, match="too few"):
        Ipso("A", ("pay",)).mask(towns(Linz=2))


def test_shuffling_keeps_rank_correlations_and_nothing_of_who_had_what():
    table = people(4000)
    before, after = table.payload(), Shuffle(("weight",), ("height",)).mask(table, 1).rows
    whole = np.asarray(before["weight"].is_valid())
    h, w, v = (np.asarray(c.to_numpy())[whole] for c in (before["height"], before["weight"], after["weight"]))
    assert abs(spearmanr(h, w)[0] - spearmanr(h, v)[0]) < 0.03
    left_w, left_v = w - np.polyval(np.polyfit(h, w, 1), h), v - np.polyval(np.polyfit(h, v, 1), h)
    assert abs(np.corrcoef(left_w, left_v)[0, 1]) < 0.1


def test_what_makes_no_sense_is_refused():
    with pytest.raises(BadInput, match="A, B or C"):
        Ipso("D")
    with pytest.raises(BadInput, match="masked and given"):
        Ipso("C", ["height"], ["height"]).mask(people())
    with pytest.raises(BadInput, match="Shuffling needs ordered columns"):
        Shuffle(["height"], ["town"]).mask(people())
    with pytest.raises(DataError, match="missing values"):
        Ipso("C", ["height"], ["age"]).mask(people())
    with pytest.raises(DataError, match="too few"):
        Ipso("B", ["height", "weight"]).mask(read(rows(2), CARD))
    with pytest.raises(DataError, match="too few"):
        Shuffle(["height", "weight"]).mask(people(2))
    with pytest.raises(BadInput, match="200 categories"):
        regressors(CARD, rows(400).set_column(7, "town", rows(400)["id"].cast("string")), ["town"])

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.mask.people import people

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.verbs.publish.mask.swap import DataSwap, RankSwap
from discreet.verbs.publish.mask.swap_kernels import swap_around, swap_buckets, swap_within


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1001])
def test_ranks_change_places_in_pairs(count):
    laws = (
        lambda rng: swap_within(count, 7, rng),
        lambda rng: swap_around(count, 5.0, 5.0, rng),
        lambda rng: swap_buckets(count, 5, rng),
    )
    for law in laws:
        to = law(generator(3))
        assert np.array_equal(to[to], np.arange(count))
        assert np.sum(to == np.arange(count)) <= max(1, count // 50), "nearly everybody is swapped"


def test_nobody_moves_farther_than_the_window():
    to = swap_within(1000, 20, generator(1))
    assert np.abs(to - np.arange(1000)).max() == 20


def test_values_stay_within_p_per_cent_of_their_rank():
    before, after = people().payload()["height"].to_numpy(), RankSwap(5, ["height"]).mask(people(), 1).rows["height"]
    rank = {value: place for place, value in enumerate(np.sort(before))}
    moved = [abs(rank[a] - rank[b]) for a, b in zip(before, after.to_pylist(), strict=True)]
    assert 0 < max(moved) <= 0.05 * len(before)


def test_people_exchange_as_a_whole_and_only_with_those_who_agree():
    table = people()
    before = table.payload()
    after = DataSwap(0.5, ["height", "town"], ["smokes"]).mask(table, 1)
    joint = [sorted(map(str, zip(*(t[c].to_pylist() for c in ("height", "town", "smokes")), strict=True)))
             for t in (before, after.rows)]  # fmt: skip
    assert joint[0] == joint[1]
    changed = sum(a != b for a, b in zip(before["height"].to_pylist(), after.rows["height"].to_pylist(), strict=True))
    assert changed == after.parameters["swapped"]
    assert 190 <= changed <= 200


def test_who_has_nobody_to_exchange_with_is_told_of():
    card = Card("t", (Column("town", Kind.TEXT, Role.QUASI), Column("pay", Kind.INTEGER, Role.SENSITIVE)))
    table = read(pa.table({"town": ["A", "A", "A", "A", "H"], "pay": [1, 2, 3, 4, 99]}), card)
    masked = DataSwap(1.0, ["pay"], ["town"]).mask(table, 1)
    assert masked.rows["pay"].to_pylist()[4] == 99
    assert any("1 of 5 rows were not exchanged" in sentence for sentence in masked.not_promised)
    assert "A person who is unique on town certainly keeps every value." in masked.not_promised
    assert not any("is unique on" in sentence for sentence in DataSwap(1.0, ["pay"]).mask(table).not_promised)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RankSwap(0),
        lambda: RankSwap(101),
        lambda: RankSwap(2.5, law="buckets"),
        lambda: RankSwap(5, law="other"),
        lambda: RankSwap(5, ["town"]).mask(people()),
        lambda: RankSwap(5, ["id"]).mask(people()),
        lambda: RankSwap(5, "age").mask(people()),
        lambda: RankSwap(5, ["age", "age"]).mask(people()),
        lambda: DataSwap(1.5),
        lambda: DataSwap(0.1, ["age"], ["age"]).mask(people()),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadInput):
        wrong()

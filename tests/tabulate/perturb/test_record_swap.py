"""Record swapping: those who stand out move, every count by area and match columns stays."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.tabulate.perturb.record_swap import record_swap

CARD = Card(
    "census",
    (
        Column("person", Kind.INTEGER, Role.IDENTIFIER),
        Column("home", Kind.INTEGER),
        Column("region", Kind.TEXT, Role.QUASI),
        Column("town", Kind.TEXT, Role.QUASI),
        Column("age", Kind.TEXT, Role.QUASI),
        Column("job", Kind.TEXT, Role.QUASI),
    ),
)


def census(seed, homes=120, towns=6, jobs=8):
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), rng.integers(1, 4, size=homes))
    town = rng.integers(towns, size=homes)[home]
    rows = {
        "person": np.arange(len(home)),
        "home": home,
        "region": np.array(["N", "S"])[town % 2],
        "town": np.array([f"t{number}" for number in range(towns)])[town],
        "age": np.array(["young", "old"])[rng.integers(2, size=len(home))],
        "job": np.array([f"j{number}" for number in range(jobs)])[np.minimum(rng.geometric(0.4, len(home)), jobs) - 1],
    }
    order = rng.permutation(len(home))
    return read(pa.table({name: values[order] for name, values in rows.items()}), CARD)


def listed(rows):
    names = [column.name for column in CARD.columns]
    return read(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]), CARD)


def counts(table, *names):
    found = table.histogram(*names)
    return sorted(tuple(row.values()) for row in found.to_pylist())


def columns(table, *names):
    rows = sorted(table.fetch().to_pylist(), key=lambda row: row["person"])
    return [tuple(row[name] for name in names) for row in rows]


def test_counts_by_area_and_match_columns_stay():
    for seed in range(3):
        before = census(seed)
        swap = record_swap(
            before, areas=["region", "town"], risk=["age", "job"], match=["age"], household="home", seed=seed
        )
        after = swap.table
        assert swap.swapped > 0 and swap.at_risk >= swap.left
        for names in (["town"], ["region"], ["region", "town", "age"], ["age", "job"], ["home", "age", "job"]):
            assert counts(before, *names) == counts(after, *names)
        assert columns(before, "home", "age", "job") == columns(after, "home", "age", "job"), "only places move"
        moved = [a != b for a, b in zip(columns(before, "town"), columns(after, "town"), strict=True)]
        homes = {home for (home,), far in zip(columns(before, "home"), moved, strict=True) if far}
        assert len(homes) == swap.swapped
        assert len({(home, town) for home, town in columns(after, "home", "town")}) == swap.households
        assert {(a, b) for a, b in columns(after, "region", "town")} == {
            (a, b) for a, b in columns(before, "region", "town")
        }, "a town stays in its region"


def test_who_stands_out_moves_if_anybody_matches():
    rows = [(0, 0, "N", "a", "old", "judge"), *((n, n, "N", "a", "old", "cook") for n in range(1, 9))]
    rows += [(n, n, "N", "b", "old", "cook") for n in range(9, 15)]
    rows += [(n, n, "S", "c", "old", "cook") for n in range(15, 20)]
    table = listed(rows)
    swap = record_swap(table, areas=["region", "town"], risk=["job"], k=2, seed=1)
    assert (swap.at_risk, swap.swapped, swap.left, swap.households) == (1, 2, 0, 20)
    assert columns(swap.table, "region")[0] == ("S",), "alone in the whole region: moved out of it"
    alone = record_swap(table, areas=["region", "town"], risk=["job"], match=["job"], k=2, seed=1)
    assert (alone.at_risk, alone.swapped, alone.left) == (1, 0, 1)
    assert columns(alone.table, "town") == columns(table, "town")


def test_who_stands_out_in_a_town_only_stays_in_the_region():
    rows = [(0, 0, "N", "a", "old", "judge"), *((n, n, "N", "a", "old", "cook") for n in range(1, 9))]
    rows += [(n, n, "N", "b", "old", job) for n, job in enumerate(["judge", "judge", "cook", "cook"], 9)]
    rows += [(n, n, "S", "c", "old", "cook") for n in range(15, 25)]
    table = listed(rows)
    for seed in range(5):
        swap = record_swap(table, areas=["region", "town"], risk=["job"], k=2, seed=seed)
        assert (swap.at_risk, swap.swapped) == (1, 2)
        assert columns(swap.table, "region", "town")[0] == ("N", "b")
        assert counts(swap.table, "region", "job") == counts(table, "region", "job")


def test_a_rate_swaps_others_too():
    table = census(2)
    few = record_swap(table, areas=["town"], risk=["age"], k=2, household="home", seed=4)
    assert few.swapped == few.at_risk == 0
    many = record_swap(table, areas=["town"], risk=["age"], k=2, household="home", rate=0.25, seed=4)
    assert many.swapped == 30
    most = record_swap(table, areas=["town"], risk=["age"], k=2, household="home", rate=1.0, seed=4)
    assert 100 < most.swapped <= 120


def test_a_seed_repeats_a_swap_and_none_does_not():
    table = census(3)
    given = {"areas": ["town"], "risk": ["age"], "household": "home", "rate": 0.5}
    one, other = (record_swap(table, **given, seed=5) for _ in range(2))
    assert columns(one.table, "town") == columns(other.table, "town")
    assert columns(record_swap(table, **given).table, "town") != columns(one.table, "town")


def test_wrong_input_is_refused():
    table = census(1, homes=5)
    for wrong in (
        {"areas": [], "risk": ["age"]},
        {"areas": ["town"], "risk": []},
        {"areas": ["town"], "risk": ["town"]},
        {"areas": ["town"], "risk": ["age"], "k": 1},
        {"areas": ["town"], "risk": ["age"], "rate": 2},
    ):
        with pytest.raises(BadInput, match="Swapping needs"):
            record_swap(table, **wrong)
    with pytest.raises(DataError, match="two areas"):
        record_swap(census(1), areas=["town"], risk=["age"], household="age")


def test_the_rows_of_a_unit_in_one_area_move_together():
    card = replace(CARD, unit="home", rows_per_unit=3)
    before = read(census(0).fetch(), card)
    swap = record_swap(before, areas=["region", "town"], risk=["job"], k=5, seed=1)
    assert swap.swapped and swap.households == 120
    assert (
        swap.table.fetch()
        == record_swap(before, areas=["region", "town"], risk=["job"], household="home", k=5, seed=1).table.fetch()
    )


@pytest.mark.parametrize("wrong", ["areas", "risk", "match", "household"])
def test_a_column_that_is_not_there_is_said(wrong):
    asked = {"areas": ["region"], "risk": ["job"], "match": ["age"], "household": "home"}
    with pytest.raises(NotFound, match=r"'towns' .did you mean 'town'"):
        record_swap(census(0), **asked | {wrong: "towns" if wrong == "household" else ["towns"]})

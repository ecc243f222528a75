import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released
from tests.attack.cases import by_hand

from discreet.models.estimators import estimates
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.report import Report
from discreet.verbs.attack.suda import SpecialUniques, minimal_uniques, scores
from discreet.verbs.attack.uniqueness import PopulationUniques, QuasiMatching, Uniqueness


def test_candidate_rows_are_counted():
    table = released.known(pa.table({"a": [1] * 6 + [2] * 3 + [3]}))
    found = QuasiMatching().run(by_hand(table.fetch()), table)
    assert found.details["candidate rows"] == {
        "0": 0,
        "1": 1,
        "2 to 4": 3,
        "5 to 9": 6,
        "10 to 99": 0,
        "100 or more": 0,
    }
    assert found.figure == pytest.approx(3 / 10)
    assert found.details["measured"] == "from the numbers of candidate rows"
    assert QuasiMatching().run(by_hand(table.fetch()), table, np.arange(10)).details["measured"] == "by links"


def test_the_share_of_a_population_is_the_estimators():
    rng = np.random.default_rng(1)
    table = released.known(pa.table({"a": rng.geometric(0.02, 300)}))
    found = PopulationUniques(people=3000).run(by_hand(table.fetch()), table)
    _, counts = np.unique(table.fetch()["a"].to_numpy(), return_counts=True)
    size, many = np.unique(counts, return_counts=True)
    sizes = dict(zip(size.tolist(), many.tolist(), strict=True))
    assert found.figure == pytest.approx(estimates(sizes, 3000).largest)
    assert found.interval[0] <= found.figure <= found.interval[1]
    assert found.details["sample uniques"] == sizes[1]
    assert found.interval == (min(found.details["estimates"].values()), max(found.details["estimates"].values()))
    assert "not 95 %: " in str(found)
    assert "not 95 %: " in str(Report("r", "people", (found,)))
    assert found.to_dict()["interval_is"] == found.interval_is
    alone = Uniqueness().run(by_hand(table.fetch()), table)
    assert alone.interval_is == "95 %"


def test_a_population_is_no_smaller_than_its_sample():
    table = released.people(50)
    found = PopulationUniques(people=40).run(by_hand(table.fetch()), table)
    assert found.outcome is Outcome.FAILED
    assert "smaller than the sample of 50" in found.meaning
    assert "unknown" in PopulationUniques().applies(by_hand(table.fetch()))


def test_a_lucky_guess_among_strangers_is_no_breach():
    table = released.known(pa.table({"a": list(range(200))}))
    made, links = released.release(pa.table({"a": np.roll(np.arange(200), 1)}))
    found = Uniqueness().run(made, table, links)
    assert found.details["sure"] == 200
    assert found.details["right"] == 0
    assert found.outcome is Outcome.NOTHING


def test_scores_are_those_of_suda():
    """Four columns and sizes up to three: one column counts 3·2·1, two 2·1, three 1."""
    rows = pa.table({"a": [1, 2, 2, 2], "b": [1, 1, 2, 2], "c": [1, 1, 1, 1], "d": [1, 1, 1, 2]})
    found = minimal_uniques(rows, ["a", "b", "c", "d"], 3)
    assert {subset: who.tolist() for subset, who in found.items()} == {(0,): [0], (0, 1): [1], (1, 3): [2], (3,): [3]}
    assert scores(found, 4, 4, 3).tolist() == [6, 2, 2, 6]


def test_who_is_found_by_few_values_is_counted_by_how_few():
    table = released.known(pa.table({"a": [1, 2, 2, 2, 3, 3], "b": [1, 1, 2, 2, 5, 5], "d": [1, 1, 1, 4, 1, 1]}))
    found = SpecialUniques().run(by_hand(table.fetch()), table)
    assert found.details["by number of values"] == {"1": 2, "2": 2, "3": 0}
    assert found.figure == pytest.approx(4 / 6)
    assert found.victims == (0, 1, 2, 3)
    assert SpecialUniques(size=1).run(by_hand(table.fetch()), table).victims == (0, 3)


def test_estimates_that_may_be_far_off_are_said_to_be():
    values = [*range(200), *(1_000 + n // 10 for n in range(1_800))]  # a tenth are alone, the rest in classes of 10
    table = released.known(pa.table({"a": values}))
    found = PopulationUniques(people=20_000).run(by_hand(table.fetch()), table)
    assert found.figure == pytest.approx(0.1) == found.interval[1]
    assert "far too low" in found.details["warnings"][0]

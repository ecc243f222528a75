"""What holds for every attack of this kind: a copy gives everybody away, strangers nobody."""

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

import discreet as dc
from discreet.verbs.attack import learned, probabilistic, transparency
from discreet.verbs.attack.distance import DistanceLinkage, Metric
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.learned import LearnedLinkage, Shape
from discreet.verbs.attack.probabilistic import ProbabilisticLinkage
from discreet.verbs.attack.risk import IntervalDisclosure, Width
from discreet.verbs.attack.transparency import MicroaggregationIntersection, NoiseLinkage, RankSwapIntersection

N = 160
NUMBERS = ["age", "income", "height"]
RECIPES = {
    RankSwapIntersection: ("rank-swap", {"columns": NUMBERS, "p": 1.0, "law": "window"}),
    MicroaggregationIntersection: ("microaggregate", {"columns": NUMBERS, "blocks": [[n] for n in NUMBERS], "k": 3}),
    NoiseLinkage: ("noise", {"columns": NUMBERS, "noise_variance": dict.fromkeys(NUMBERS, 0.01)}),
}
ATTACKS = [
    *(DistanceLinkage(metric=metric) for metric in Metric),
    ProbabilisticLinkage(),
    *(LearnedLinkage(shape=shape) for shape in Shape),
    *(IntervalDisclosure(width) for width in Width),
    *(made() for made in RECIPES),
]


def released_by(attack, rows):
    method, parameters = RECIPES.get(type(attack), ("by hand", {}))
    return released.release(rows, method, **parameters)


@pytest.fixture(params=ATTACKS, ids=repr)
def attack(request):
    return request.param


@pytest.mark.parametrize("nulls", [False, True], ids=["full", "NULLs"])
def test_a_copy_gives_everybody_away(attack, nulls):
    table = released.people(N, nulls=nulls)
    made, links = released_by(attack, table.fetch())
    found = attack.run(made, table, links)
    assert found.outcome is Outcome.BROKE
    assert found.figure > (0.95 if not (nulls and isinstance(attack, IntervalDisclosure)) else 0.9)
    assert found.interval[0] <= found.figure <= found.interval[1]
    assert found.meaning.endswith(".") and found.knows.endswith(".")


def test_strangers_give_nobody_away(attack):
    table = released.people(N)
    made, links = released_by(attack, released.strangers(table))
    found = attack.run(made, table, links)
    assert found.outcome is Outcome.NOTHING
    assert found.interval[0] <= found.baseline
    assert found.baseline == pytest.approx(1 / N) or isinstance(attack, IntervalDisclosure)


def test_without_links_nothing_can_be_measured(attack):
    table = released.people(N)
    found = attack.run(released_by(attack, table.fetch())[0], table)
    assert found.outcome is Outcome.FAILED
    assert "links" in found.meaning


def test_suppressed_people_count_and_are_not_found(attack):
    table = released.people(N)
    made, links = released_by(attack, table.fetch().slice(0, N // 2))
    found = attack.run(made, table, links)
    assert found.figure <= 0.5
    assert found.details["people"] in (N, N // 2)


def test_a_release_without_what_is_known_cannot_be_linked(attack):
    table = released.people(N)
    made, links = released_by(attack, pa.table({"age": ["30 to 39"] * N, "other": range(N)}))
    assert attack.run(made, table, links).outcome is Outcome.FAILED


def test_a_constant_column_tells_nothing(attack):
    table = released.known(pa.table({name: pa.array(np.full(50, 7.0)) for name in NUMBERS}))
    made, links = released_by(attack, table.fetch())
    found = attack.run(made, table, links)
    assert found.figure == pytest.approx(found.baseline)
    assert found.outcome is Outcome.NOTHING


@pytest.mark.parametrize(
    ("links", "why"),
    [
        (np.zeros(N, int), "same row"),
        (np.arange(N) + 1, "points outside"),
        (np.arange(5), "one whole number per released row"),
        (np.arange(float(N)), "one whole number per released row"),
    ],
)
def test_links_must_make_sense(links, why):
    table = released.people(N)
    found = DistanceLinkage().run(released.release(table.fetch())[0], table, links)
    assert found.outcome is Outcome.FAILED
    assert why in found.meaning


def test_an_unknown_column_is_an_error_of_the_caller():
    table = released.people(N)
    made, links = released.release(table.fetch())
    found = DistanceLinkage(("shoe",)).run(made, table, links)
    assert found.outcome is Outcome.FAILED
    assert "shoe" in found.meaning


def test_an_attack_on_one_method_does_not_run_on_another():
    table = released.people(N)
    made, links = released.release(table.fetch(), "rank-swap", p=2.0, columns=["age"])
    found = NoiseLinkage().run(made, table, links)
    assert found.outcome is Outcome.FAILED
    assert "made by rank-swap" in found.meaning


def test_the_quasi_identifiers_are_what_is_known():
    rows = released.people(N).fetch()
    table = released.known(rows, town=dc.Role.SENSITIVE, born=dc.Role.IDENTIFIER)
    made, links = released.release(rows)
    assert DistanceLinkage().run(made, table, links).details["columns"] == ["age", "income", "height"]


@pytest.mark.parametrize("few", [False, True], ids=["everybody", "a sample"])
def test_victims_are_row_numbers_of_the_original(attack, few, monkeypatch):
    """Only the last people have a row of their own: whoever is named is one of them."""
    if isinstance(attack, IntervalDisclosure):
        pytest.skip("it needs no links, and finds ranges")
    if few:
        for module in (learned, probabilistic, transparency):
            monkeypatch.setattr(module, "MAX_PAIRS", N * N // 2 * (10 if module is learned else 1))
    table = released.people(N)
    own, other = table.fetch(), released.people(N, seed=77).fetch()
    rows = pa.concat_tables([other.slice(0, N // 4), own.slice(N // 4)])
    made, links = released_by(attack, rows)
    found = attack.run(made, table, np.where(links < N // 4, -1, links))
    assert found.outcome is Outcome.BROKE
    assert found.details["people"] == N // (1 + isinstance(attack, LearnedLinkage)) // (
        1 + (few and isinstance(attack, LearnedLinkage | ProbabilisticLinkage | NoiseLinkage))
    )
    assert found.victims
    assert min(found.victims) >= N // 4

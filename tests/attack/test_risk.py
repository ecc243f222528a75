import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

from discreet.errors import DataError
from discreet.verbs.attack.distance import DistanceLinkage
from discreet.verbs.attack.probabilistic import ProbabilisticLinkage
from discreet.verbs.attack.risk import DisclosureRisk, IntervalDisclosure, Width, disclosure_risk


def test_half_is_intervals_and_a_quarter_each_linkage():
    assert DisclosureRisk(0.4, 0.2, 0.1).total == pytest.approx(0.5 * 0.4 + 0.25 * 0.2 + 0.25 * 0.1)


def test_it_is_made_of_the_attacks_averaged_over_what_may_be_known():
    table = released.people(200)
    rows, _ = released.noisy(table, 0.3, ["income", "height"])
    made, links = released.release(rows)
    sets = (("age", "income"), ("income", "height", "town"))
    risk = disclosure_risk(made, table, links, sets)

    def mean(attacks):
        return sum(attack.run(made, table, links).figure for attack in attacks) / 2

    assert risk.interval == pytest.approx(mean([IntervalDisclosure(width) for width in Width]))
    assert risk.distance == pytest.approx(mean([DistanceLinkage(known) for known in sets]))
    assert risk.probabilistic == pytest.approx(mean([ProbabilisticLinkage(known) for known in sets]))


def test_a_copy_is_all_risk():
    table = released.people(200)
    made, links = released.release(table.fetch())
    assert disclosure_risk(made, table, links).total > 0.98


def test_what_cannot_be_measured_is_an_error():
    table = released.people(50)
    made, links = released.release(table.fetch())
    with pytest.raises(DataError, match="cannot be measured"):
        disclosure_risk(made, table, links[:10])


# -- interval disclosure -----------------------------------------------------------------------------------------------


def run(attack, true, shown):
    table = released.known(pa.table({"x": pa.array(true, pa.float64())}))
    return attack.run(*_swapped(released.release(pa.table({"x": pa.array(shown, pa.float64())})), table))


def _swapped(made, table):
    return made[0], table, made[1]


def test_by_deviation_the_reach_is_so_many_per_cent_to_each_side():
    shown = np.array([0.0, 2.0] * 50)  # standard deviation 1
    for off, expected in ((0.015, 0.9), (0.095, 0.1), (0.11, 0.0)):
        found = run(IntervalDisclosure(Width.DEVIATION), shown + off, shown)
        assert found.figure == pytest.approx(expected)


def test_by_rank_half_of_the_width_is_to_each_side():
    shown = np.arange(200.0)
    for off, expected in ((0.0, 1.0), (1.0, 1.0), (2.0, 0.9), (10.0, 0.1), (11.0, 0.0)):
        true = np.where((np.arange(200) >= 20) & (np.arange(200) < 180), shown + off, shown)
        found = run(IntervalDisclosure(Width.RANK), true, shown)
        assert found.figure == pytest.approx((40 + 160 * expected) / 200)


def test_by_rank_equal_values_do_not_widen_the_interval():
    shown = np.repeat(np.arange(10.0), 20)  # a tenth of the rows each: up to 10 % there is nobody else in reach
    inner = (shown > 0) & (shown < 9)
    for per_cent, reached in ((1, 0), (10, 0), (11, 1), (30, 1), (31, 2)):
        for off in (0, 1, 2):
            found = run(IntervalDisclosure(Width.RANK, widths=(per_cent,)), np.where(inner, shown + off, shown), shown)
            hits = (off <= reached) & (shown[inner] + off <= 9)
            assert found.figure == pytest.approx((40 + hits.sum()) / 200)


def test_by_rank_one_value_for_all_tells_only_those_who_have_it():
    true = np.arange(100.0)
    assert run(IntervalDisclosure(Width.RANK), true, np.full(100, 50.0)).figure == pytest.approx(0.01)


def test_guessing_is_to_look_around_somebody_else():
    rng = np.random.default_rng(1)
    true, shown = rng.normal(size=10), rng.normal(size=10)
    for width in Width:
        attack = IntervalDisclosure(width, widths=(20,))
        everyone = [run(attack, np.roll(true, turn), shown).figure for turn in range(10)]
        assert run(attack, true, shown).baseline == pytest.approx(np.mean(everyone))


def test_null_discloses_nothing():
    values = np.arange(100.0)
    holes = [None if place % 4 == 0 else value for place, value in enumerate(values)]
    for true, shown in ((values, holes), (holes, values), (holes, holes)):
        for width in Width:
            assert run(IntervalDisclosure(width), true, shown).figure == pytest.approx(0.75)


def test_figures_are_given_by_column():
    table = released.people()
    rows, _ = released.noisy(table, 0.05, ["income"])
    made, links = released.release(rows)
    found = IntervalDisclosure().run(made, table, links)
    assert set(found.details["columns"]) == {"age", "income", "height", "born"}
    assert found.details["columns"]["height"] == 1.0
    assert found.details["columns"]["income"] < 1.0

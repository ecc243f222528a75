import pytest
from tests.attack import released

from discreet.errors import DataError
from discreet.verbs.attack.distance import DistanceLinkage
from discreet.verbs.attack.interval import IntervalDisclosure, Width
from discreet.verbs.attack.probabilistic import ProbabilisticLinkage
from discreet.verbs.attack.risk import DisclosureRisk, disclosure_risk


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

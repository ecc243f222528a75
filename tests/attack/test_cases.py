"""The worked cases: what an intruder learns in each, to the person."""

from fractions import Fraction

import pyarrow as pa
import pytest
from tests.attack.cases import bare, by_hand

import discreet as dc
from discreet.verbs.attack.composition import Composition
from discreet.verbs.attack.differencing import LastFromMean
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.homogeneity import BackgroundKnowledge, Homogeneity
from discreet.verbs.attack.uniqueness import QuasiMatching, Uniqueness

HYU, DON = 4, 3


def halving(values):
    """The mechanism of the text: every step of rank away from the truth halves the probability."""
    matrix = []
    for true in range(len(values)):
        weights = [Fraction(1, 2 ** abs(true - shown)) for shown in range(len(values))]
        matrix.append([float(weight / sum(weights)) for weight in weights])
    return {"categories": [str(value) for value in values], "matrix": matrix}


def test_got_7_of_9_are_unique_without_their_names():
    table = dc.samples.got()
    found = Uniqueness().run(bare(table), table)
    assert found.details["right"] == 7
    assert found.outcome is Outcome.BROKE


def test_hyu_is_re_identified_and_so_is_her_illness_known():
    table = dc.samples.tarragona5()
    found = Uniqueness().run(bare(table), table)
    assert found.victims == (HYU,)
    assert found.figure == 1 / 5
    assert HYU in Homogeneity().run(bare(table), table).victims


def test_attributes_are_disclosed_without_identities():
    rows = dc.samples.tarragona5().fetch().slice(0, 4)
    table = dc.read(rows, dc.samples.tarragona5().card)
    assert dc.check(table, dc.KAnonymity(2)).holds
    assert Uniqueness().run(bare(table), table).outcome is Outcome.NOTHING
    found = Homogeneity().run(bare(table), table)
    assert found.figure == 1
    assert found.victims == (0, 1, 2, 3)
    assert found.outcome is Outcome.BROKE


def test_enfields_anthropologist_is_known_to_be_sick():
    table = dc.samples.students()
    found = Uniqueness().run(bare(table), table)
    assert found.victims == (0,)
    row = table.fetch().slice(0, 1).to_pylist()[0]
    assert row == {"lives": "Enfield", "studies": "anthropology", "sick": True}
    assert 0 in Homogeneity().run(bare(table), table).victims


def test_of_4_anonymous_inpatients_one_class_has_one_condition_and_regrouped_none_has():
    table = dc.samples.inpatient()
    levels = {"zip": 2, "age": 1, "nationality": 1}
    published = by_hand(table.generalize(levels).payload(), "publish", levels=levels)
    matched = QuasiMatching().run(published, table)
    assert matched.figure == pytest.approx(1 / 4)
    assert matched.details["fewest candidate rows"] == 4
    assert Homogeneity().run(published, table).victims == (8, 9, 10, 11)
    assert Homogeneity().run(published, table).figure == pytest.approx(4 / 12)
    assert BackgroundKnowledge().run(published, table).figure == pytest.approx(8 / 12)  # <30: Heart or Viral
    levels = {"zip": 1, "age": 2, "nationality": 1}
    regrouped = by_hand(table.generalize(levels).payload(), "publish", levels=levels)
    assert Homogeneity().run(regrouped, table).outcome is Outcome.NOTHING
    assert BackgroundKnowledge().run(regrouped, table).figure == 0


def test_two_2_anonymous_releases_single_out_don_together():
    table = dc.samples.age6()
    by_age, by_weight = (by_hand(table.fetch().select([name, "disease"])) for name in ("age", "weight"))
    for release in (by_age, by_weight):
        found = QuasiMatching().run(release, table)
        assert found.figure == pytest.approx(1 / 2)
        assert found.details["fewest candidate rows"] == 2
    found = Composition((by_weight,)).run(by_age, table)
    assert found.outcome is Outcome.BROKE
    assert DON in found.victims
    assert found.baseline == pytest.approx(1 / 2)
    assert found.details["of these by no single release"] == 4  # all but Alice and Bob, who are alike


def test_two_answers_each_about_two_people_are_about_don():
    """The youngest, and the lightest, with the disease: two people may be either, and one may be both."""
    table = dc.samples.age6()
    age, weight = by_hand(pa.table({"age": [40]})), by_hand(pa.table({"weight": [100]}))
    for answer in (age, weight):
        assert QuasiMatching().run(answer, table).figure == pytest.approx(1 / 6)  # one of two, of six
        assert Uniqueness().run(answer, table).outcome is Outcome.NOTHING
    found = Composition((weight,)).run(age, table)
    assert found.victims == (DON,)
    assert found.details["singled out by all together"] == 1
    assert found.outcome is Outcome.BROKE


def test_noisy_answers_do_not_single_out_don():
    table = dc.samples.age6()
    ages, weights = halving([30, 40, 50]), halving([60, 90, 100])
    assert ages["matrix"][1] == [1 / 4, 1 / 2, 1 / 4]
    assert weights["matrix"][2] == pytest.approx([1 / 7, 2 / 7, 4 / 7])
    age = by_hand(pa.table({"age": [40]}), "pram", columns=["age"], matrices={"age": ages})
    weight = by_hand(pa.table({"weight": [100]}), "pram", columns=["weight"], matrices={"weight": weights})
    found = Composition((weight,)).run(age, table)
    assert found.outcome is Outcome.NOTHING
    assert found.victims == ()
    assert found.details["singled out by all together"] == 0
    # what can be believed of each person, by Bayes' rule: it sums to 1, and of Don it is less than a half
    assert found.figure * 6 == pytest.approx(1)
    fitting = zip([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 0, 2], strict=True)  # of each person the places of age and weight
    likely = [ages["matrix"][a][1] * weights["matrix"][w][2] for a, w in fitting]
    assert found.details["highest probability of success"] == pytest.approx(likely[DON] / sum(likely))
    assert likely[DON] / sum(likely) < 0.4


def test_ms_rich_is_found_from_a_mean():
    table = dc.samples.psychiatric(rich=True)
    said = {"column": "income", "count": 11}
    exact = dc.Release(133_000 / 11, dc.Statement(unit="a row"), dc.Recipe("mean", said))
    found = LastFromMean().run(exact, table)
    assert found.outcome is Outcome.BROKE
    assert found.figure == 1
    assert found.victims[0] == 10
    assert found.details["computed for the largest outlier"] == pytest.approx(100_000)
    noisy = dc.Release(133_000 / 11 + 900, dc.Statement(unit="a row"), dc.Recipe("mean", said))
    assert LastFromMean().run(noisy, table).outcome is Outcome.NOTHING


def test_a_mean_of_others_is_no_mean_of_these():
    table = dc.samples.psychiatric()
    other = dc.Release(3300.0, dc.Statement(unit="a row"), dc.Recipe("mean", {"column": "income", "count": 11}))
    assert LastFromMean().run(other, table).outcome is Outcome.FAILED
    assert LastFromMean().applies(bare(table)) == "The release is not a mean of a column."

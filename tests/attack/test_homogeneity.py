from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released
from tests.attack.cases import by_hand

import discreet as dc
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.verbs.attack.finding import Finding, Outcome, worst_finding
from discreet.verbs.attack.homogeneity import BackgroundKnowledge, Homogeneity, Similarity, Skewness

ILLS = Taxonomy.from_tree({"stomach": ["ulcer", "gastritis"], "lungs": ["flu", "asthma"]})


def wards(ills, ward=(1, 1, 2, 2)):
    rows = pa.table({"ward": list(ward), "ill": list(ills)})
    kind = dc.Kind.TEXT if isinstance(ills[0], str) else dc.Kind.INTEGER
    columns = (
        dc.Column("ward", dc.Kind.INTEGER, dc.Role.QUASI),
        dc.Column("ill", kind, dc.Role.SENSITIVE, hierarchy=ILLS if kind is dc.Kind.TEXT else None),
    )
    table = dc.read(rows, dc.Card("wards", columns))
    return by_hand(rows), table


def test_beliefs_shift_to_what_is_frequent_nearby():
    release, table = wards(["flu", "ulcer"] + ["flu"] * 18, [1, 1] + [2] * 18)
    found = Skewness().run(release, table)
    assert found.figure == pytest.approx((2 * 0.5 + 18) / 20)
    assert found.baseline == pytest.approx((19 * 0.95 + 0.05) / 20)
    assert found.details["largest growth of belief"] == {"value": "ulcer", "from": 0.05, "to": 0.5}


def test_values_of_one_kind_are_almost_known():
    release, table = wards(["ulcer", "gastritis", "flu", "ulcer"])
    assert Homogeneity().run(release, table).figure == 0
    found = Similarity().run(release, table)
    assert found.victims == (0, 1)
    assert found.figure == 0.5


def test_numbers_that_are_near_are_almost_known():
    release, table = wards([100, 105, 0, 200])
    assert Similarity().run(release, table).victims == (0, 1)
    assert Similarity(width=0.01).run(release, table).figure == 0
    assert Similarity().run(*wards([7, 7, 7, 7])).outcome is Outcome.NOTHING
    gaps = pa.table({"ward": [1, 1, 2, 2], "ill": pa.array([100, None, 0, 200], pa.int64())})
    assert Similarity().run(by_hand(gaps), dc.read(gaps, table.card)).figure == 0


def test_what_everybody_has_is_no_disclosure():
    release, table = wards(["flu"] * 4)
    for attack in (Homogeneity(), BackgroundKnowledge(), Skewness(), Similarity()):
        assert attack.run(release, table).outcome is Outcome.NOTHING


def test_what_nearly_everybody_has_is_nearly_no_disclosure():
    """Seven of eight earn nothing: to be sure of it adds an eighth, to be sure of the one who does seven eighths."""
    release, table = wards([0] * 7 + [900], [1, 1, 1, 1, 2, 2, 2, 3])
    for attack in (Homogeneity(), Similarity()):
        found = attack.run(release, table)
        assert found.figure == 1
        assert found.baseline == pytest.approx((7 * 7 / 8 + 1 / 8) / 8)
        assert found.outcome is Outcome.BROKE
    usual = dc.read(table.fetch().slice(0, 7), table.card)
    found = Homogeneity().run(release, usual)
    assert (found.figure, found.baseline) == (1, 7 / 8)
    release, table = wards(["ulcer", "gastritis", "flu", "ulcer"])
    assert Similarity().run(release, table).baseline == pytest.approx(3 / 4 * 2 / 4)  # of two known, stomach


def test_of_several_secrets_the_one_that_tells_most_counts():
    rows = pa.table({"ward": [1, 1, 2, 2], "gain": [0, 0, 0, 0], "ill": ["flu", "flu", "cold", "ulcer"]})
    table = released.known(rows, gain=dc.Role.SENSITIVE, ill=dc.Role.SENSITIVE)
    found = Homogeneity().run(by_hand(rows), table)
    assert found.details["column"] == "ill"
    assert (found.figure, found.baseline) == (1 / 2, 1 / 4)


def test_to_rule_out_one_value_is_enough_where_there_are_two():
    release, table = wards(["flu", "ulcer", "flu", "ulcer", "asthma"], [1, 1, 2, 2, 2])
    assert BackgroundKnowledge().run(release, table).victims == (0, 1)
    assert BackgroundKnowledge(excludes=2).run(release, table).outcome is Outcome.NOTHING  # all there are


def test_what_is_not_there_or_not_as_it_was_cannot_be_learned():
    release, table = wards(["flu", "ulcer", "flu", "ulcer"])
    assert "does not show" in Homogeneity().run(by_hand(release.payload.select(["ward"])), table).meaning
    masked = by_hand(release.payload, "pram", columns=["ill"], matrices={})
    assert Homogeneity().run(masked, table).outcome is Outcome.FAILED
    nobody = released.people(10)
    assert "declares no sensitive column" in Homogeneity().run(by_hand(nobody.fetch()), nobody).meaning
    plain = released.known(release.payload, ill=dc.Role.SENSITIVE)
    assert "has no hierarchy" in Similarity().run(release, plain).meaning
    assert Homogeneity(on="ward").run(release, plain).figure == 1


def test_a_column_that_is_learned_is_not_hidden_behind_one_that_is_not():
    """A few rows may be far above guessing by chance: what surely broke comes first."""
    broke = Finding("a", "", Outcome.BROKE, 0.2, (0.1, 0.3), 0.05, "")
    nothing = Finding("a", "", Outcome.NOTHING, 0.8, (0.5, 0.9), 0.55, "")
    assert worst_finding([nothing, broke]) is broke
    assert worst_finding([replace(nothing, figure=0.6), nothing]) is nothing
    q = np.repeat(np.arange(6), 10)
    rng = np.random.default_rng(1)
    halves = np.where(rng.random(60) < np.where(q < 3, 0.75, 0.3), "y", "n")
    rows = pa.table({"q": q, "half": halves, "own": [f"v{place}" for place in range(60)]})
    table = released.known(rows, half=dc.Role.SENSITIVE, own=dc.Role.SENSITIVE)
    found = Skewness().run(by_hand(rows), table)
    assert (found.outcome, found.details["column"]) == (Outcome.BROKE, "own")

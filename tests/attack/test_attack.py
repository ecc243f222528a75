"""The verb: which attacks are run, what stops them, and whom they are compared with."""

import numpy as np
import pytest
from tests.attack import released
from tests.attack.cases import bare, by_hand
from tests.publish.test_publish_every import CARD, METHODS, people

import discreet as dc
from discreet.errors import BadInput, MissingPart, NotFound
from discreet.verbs.attack.attack import attack, every_attack
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.linkability import Linkability
from discreet.verbs.attack.uniqueness import Uniqueness


def test_attacks_can_be_chosen_by_name_or_made():
    table = dc.samples.students()
    report = dc.attack(bare(table), known=table, attacks=["homogeneity", Uniqueness(("lives",))])
    assert {one.attack for one in report.findings} == {"homogeneity", "uniqueness"}
    by_home = next(one for one in report.findings if one.attack == "uniqueness")
    assert by_home.figure == 0
    with pytest.raises(NotFound, match="no attack 'magic'"):
        attack(bare(table), table, attacks=["magic"])
    with pytest.raises(BadInput, match="list of names"):
        attack(bare(table), table, attacks="homogeneity")


def test_other_releases_and_populations_are_taken_in():
    table = dc.samples.age6()
    by_age, by_weight = (by_hand(table.fetch().select([name, "disease"])) for name in ("age", "weight"))
    names = ["composition", "population uniqueness"]
    report = attack(by_age, table, attacks=names, others=[by_weight], population=1000)
    assert {one.attack for one in report.findings} == set(names)
    why = dict(attack(by_age, table, attacks=names).not_applicable)
    assert why["composition"].startswith("No other release")
    assert why["population uniqueness"] == "The size of the population is unknown: give it with --population."


def test_rows_in_a_folder_are_read(tmp_path):
    table = dc.read(people(1, 60), CARD)
    release = dc.publish(table, METHODS["mondrian"], dc.KAnonymity(3), to=tmp_path / "r")
    there = attack(release, table, attacks=["uniqueness"])
    assert there.findings[0].outcome is Outcome.NOTHING
    assert attack(dc.Release.load(tmp_path / "r"), table, attacks=["uniqueness"]).findings == there.findings


def test_what_stops_an_attack_stops_no_other():
    class Broken:
        name = "broken"

        def applies(self, release):
            return None

        def run(self, release, known, links=None):
            raise MissingPart("SciPy", "attack")

    table = dc.samples.students()
    report = attack(bare(table), table, attacks=[Broken(), "uniqueness"])
    assert [one.outcome for one in report.findings] == [Outcome.BROKE, Outcome.FAILED]
    assert "discreet[attack]" in report.findings[1].meaning


def test_links_that_do_not_fit_are_said():
    table = released.people(30)
    report = attack(by_hand(table.fetch()), table, np.arange(5), attacks=["uniqueness", "distance linkage"])
    assert [one.outcome for one in report.findings] == [Outcome.FAILED] * 2
    assert all("one whole number per released row" in one.meaning for one in report.findings)


def test_a_control_reaches_the_attacks_that_use_one():
    table, control = released.people(40), released.people(40, seed=9)
    names = [one.name for one in every_attack() if hasattr(one, "control")]
    own = Linkability(control=released.people(40, seed=5))
    report = attack(by_hand(table.fetch()), table, attacks=[*names, own, "uniqueness"], control=control)
    assert not report.not_applicable
    assert {one.attack for one in report.findings if one.outcome is Outcome.BROKE} == {*names, "uniqueness"}
    compared = [one for one in report.findings if "risk" in one.details]
    assert len(compared) == len(names)  # all but membership, which is not a risk beside others, and one of our own
    (alone,) = [one for one in names if one not in {each.attack for each in compared}]
    assert "control group" in dict(attack(by_hand(table.fetch()), table, attacks=names).not_applicable)[alone]


def test_progress_is_told():
    table, told = dc.samples.students(), []
    attack(bare(table), table, progress=lambda share, what: told.append((share, what)))
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[-1] == (1.0, "done")
    assert {one.name for one in every_attack()} <= {what for _, what in told}

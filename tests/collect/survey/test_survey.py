"""How a survey's loss is shared, what it promises, and by what its reports are known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.collect.survey.surveys import INCOME, survey

from discreet.core.loss import Approximate, Pure
from discreet.core.statement import Evidence
from discreet.errors import BadInput
from discreet.verbs.collect.survey.file import EXAMPLE
from discreet.verbs.collect.survey.question import Question, browser_parameters, explain_protocol
from discreet.verbs.collect.survey.survey import Shuffler, better_share


def test_the_loss_is_split_or_one_question_has_all_of_it():
    split, sampled = survey(share="split"), survey(share="sampled")
    assert {one.mechanism.epsilon for one in split.protocols} == {1}
    assert {one.mechanism.epsilon for one in sampled.protocols} == {4}
    assert split.loss == sampled.loss == Pure(4)


def test_every_protocol_is_audited_also_one_with_many_answers():
    wide = Question("town", "Where do you live?", "choice", tuple(f"town {index}" for index in range(300)))
    for one in survey(*EXAMPLE, INCOME, wide).protocols:
        assert one.loss_audit.holds
        assert one.loss_audit.epsilon == pytest.approx(4 / 6, rel=1e-6)


def test_sampling_is_the_better_rule_for_many_questions_and_the_reason_says_so():
    share, why = better_share(survey(epsilon=2))
    assert share == "sampled"
    assert "12.6% if split and 5.4% if sampled" in why
    assert better_share(survey(EXAMPLE[0]))[0] == "split"


def test_a_shuffler_makes_the_loss_smaller_and_is_assumed():
    plain = survey(EXAMPLE[0], epsilon=1)
    shuffled = replace(plain, shuffler=Shuffler("The post office", Fraction(1, 10**6)))
    assert plain.statement(10_000).loss == Pure(1)
    assert "Participation itself is not hidden" in str(plain.statement(10_000))
    result = shuffled.statement(10_000)
    assert isinstance(result.loss, Approximate)
    assert result.loss.epsilon < Fraction(1, 10)
    assert plain.statement(10_000).evidence is Evidence.PROVED
    assert result.evidence is Evidence.CALCULATED  # shuffle.py works in floats
    assert "The post office shuffles all reports, at least 10,000," in str(result)
    assert "A single report that is linked to a name has a loss of ε = 1." in str(result)


def test_whatever_gives_reports_a_meaning_is_in_the_fingerprint():
    made = survey()
    like, *rest = EXAMPLE
    others = [
        survey(epsilon=3),
        survey(share="sampled"),
        survey(replace(like, text="Do you dislike the band?"), *rest),
        survey(replace(like, protocol="sue"), *rest),
        survey(*rest, like),
        survey(*rest),
    ]
    assert len({made.fingerprint, *(one.fingerprint for one in others)}) == 7
    assert replace(made, title="Noise", about="Ours.").fingerprint == made.fingerprint


def test_names_are_unique():
    with pytest.raises(BadInput, match="different names"):
        survey(EXAMPLE[0], EXAMPLE[0])


def test_the_page_is_told_what_its_randomiser_flips_by():
    asked = survey(*EXAMPLE, INCOME, epsilon=4).protocols
    report_codes = [browser_parameters(one.mechanism) for one in asked]
    assert [one["way"] for one in report_codes] == ["grr", "unary", "grr", "unary", "duchi"]
    assert Fraction(report_codes[0]["own"]) == asked[0].mechanism.p_own
    assert all("probability" in explain_protocol(one.mechanism) for one in asked)
    wide = survey(INCOME, epsilon=5).protocols[0].mechanism
    assert browser_parameters(wide) == {
        "way": "window",
        "steps": 20,
        "width": wide.width,
        "inside": str(wide.inside),
    }

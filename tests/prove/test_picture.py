"""Verdicts as pages, and proofs at work on an example."""

import re

import pytest
from tests.prove.corpus import text

from discreet.verbs.prove.checking import check
from discreet.verbs.prove.pairing import paired
from discreet.verbs.prove.picture import drawn
from discreet.verbs.prove.verdicts import Unknown


@pytest.fixture(
    scope="module",
    params=["above_threshold", "geometric", "one_time_pad", pytest.param("prefix_sum", marks=pytest.mark.slow)],
)
def proved(request):
    return check(text(request.param))


def test_an_example_shows_the_same_in_both_runs_within_the_claim(proved):
    found = paired(proved.program, proved.certificate.alignments[0])
    assert any(moment.drawn for moment in found.moments)
    assert all(moment.first == moment.second for moment in found.moments if not moment.drawn)
    claim = 0 if proved.program.name == "one_time_pad" else 1
    assert sum(moment.cost for moment in found.moments) <= claim
    assert found.pair.inputs != found.pair.neighbours


def test_a_page_has_both_runs_and_asks_nobody_for_anything(proved):
    page = drawn(proved).page
    assert {"first run", "second run", "An example", "so far"} <= set(re.findall(r"<(?:th|h2)[^>]*>([^<]+)<", page))
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=[\"']?http", page)
    assert "default-src 'none'" in page


def test_a_counterexample_has_its_chances_as_bars():
    found = drawn(check(text("bad_partial_sum")))
    assert found.svg.count("<rect") == 3
    assert "given the first input" in found.page
    assert found._repr_html_() in found.page or found.body in found.page


def test_what_is_not_known_is_said_and_what_comes_from_the_program_is_escaped():
    verdict = check(text("mean"))
    page = drawn(Unknown(verdict.program, 1.0, ("<b>bold</b>",))).page
    assert "UNKNOWN" in page
    assert "&lt;b&gt;bold" in page


def test_programs_that_call_others_or_are_enumerated_have_no_example():
    for name in ("composed", "randomised_response"):
        assert "An example" not in drawn(check(text(name))).page

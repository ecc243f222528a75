"""Benchmarks made wrong: none is proved, and most are refuted."""

import pytest
from tests.prove.corpus import text
from tests.prove.mutants import mutants

from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.prove import prove
from discreet.verbs.prove.unparse import program_text

BENCHMARKS = (
    *("laplace", "partial_sum", "prefix_sum", "dummy_sum1_n", "dummy_sum2", "smart_sum", "noisy_max", "noisy_max_exp"),
    *("noisy_max_inc", "above_threshold", "svt", "svt_inc", "svt_dec", "gap_svt", "num_svt", "adaptive_svt"),
    *("private_mean", "lecture_private_mean"),
)
SECONDS = 10
WANTED, SHARE = 10, 0.8


def made(name):
    return [(what, program_text(one)) for what, one in mutants(load_program(text(name)).program)]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_there_are_enough_mutants_and_all_are_programs(name):
    found = made(name)
    assert len(found) >= WANTED
    assert len({source for _, source in found}) == len(found)
    for what, source in found:
        assert load_program(source).program, what


@pytest.mark.parametrize("name", ["laplace", "partial_sum"])
def test_the_mutants_of_a_sum_are_refuted(name):
    for what, source in made(name):
        assert prove(source, seconds=2).word == "REFUTED", what


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_no_mutant_is_proved_and_most_are_refuted(name):
    verdicts = {what: prove(source, seconds=SECONDS).word for what, source in made(name)}
    assert "PROVED" not in verdicts.values(), verdicts
    assert sum(word == "REFUTED" for word in verdicts.values()) >= SHARE * len(verdicts), verdicts

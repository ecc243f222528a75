"""Every program of the corpus gets the verdict that is true of it; the mechanisms of the house have proved twins."""

from pathlib import Path

import pytest
from tests.prove.corpus import FILES, expected

import discreet
from discreet.errors import NotFound
from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.prove import prove

TWINS = sorted((Path(__file__).parent / "twins").glob("*.dp"))
QUICK = (
    *(
        "above_threshold",
        "composed",
        "randomised_response",
        "one_time_pad",
        "laplace",
        "exponential_mechanism",
        "geometric",
    ),
    *("mean", "bad_svt1", "bad_svt3", "bad_noisy_max", "bad_partial_sum", "bad_smart_sum", "two_time_pad"),
    *(
        "report_noisy_max_integers",
        "report_noisy_max_two_sided",
        "dummy_sum1",
        "ends_early",
        "divides_by_a_secret",
        "gaussian_centred",
    ),
)


@pytest.mark.parametrize(
    "file",
    [pytest.param(one, marks=() if one.stem in QUICK else pytest.mark.slow, id=one.stem) for one in FILES],
)
def test_a_program_gets_the_verdict_that_is_true_of_it(file):
    assert prove(file).word.lower() == expected(file)


@pytest.mark.parametrize("file", TWINS, ids=lambda file: file.stem)
def test_a_mechanism_of_the_house_has_a_twin_that_is_proved(file):
    first = file.read_text().splitlines()[0].removeprefix("# twin: ")
    assert (Path(discreet.__file__).parent / first).is_file()
    assert prove(file).word == "PROVED"


def test_the_last_program_of_a_file_is_meant_unless_one_is_named():
    file = FILES[0].with_name("composed.dp")
    assert load_program(file).program.name == "composed"
    assert load_program(file, "noisy").program.name == "noisy"
    assert not load_program(file, "noisy").others
    with pytest.raises(NotFound, match=r"no program 'noise' here.*did you mean 'noisy'"):
        load_program(file, "noise")
    with pytest.raises(NotFound, match="no file"):
        load_program(file.with_name("nothing.dp"))

"""The examples of the console have the verdict that their titles say, and a text of others opens no file."""

import pytest

from discreet.errors import BadProgram
from discreet.verbs.prove.examples import EXAMPLES
from discreet.verbs.prove.programs import load_text
from discreet.verbs.prove.prove import prove

QUICK = ("not private", "Randomised", "Python")
MARKED = '@private(adjacent="one", claim="eps")\ndef f(x: Private[int]):\n    return '


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(one, id=one.title, marks=[] if any(word in one.title for word in QUICK) else pytest.mark.slow)
        for one in EXAMPLES
    ],
)
def test_an_example_has_the_verdict_that_its_title_says(example):
    verdict = prove(load_text(example.text, python=example.python))
    assert verdict.word == ("REFUTED" if "not private" in example.title else "PROVED")


def test_every_example_is_in_the_language():
    names = [load_text(one.text, python=one.python).program.name for one in EXAMPLES]
    assert len(set(names)) == len(EXAMPLES) >= 8


def test_a_text_of_one_line_is_no_path(tmp_path):
    file = tmp_path / "mean.dp"
    file.write_text(EXAMPLES[0].text)
    for python in (False, True):
        with pytest.raises(BadProgram, match="Line 1"):
            load_text(str(file), python=python)


@pytest.mark.parametrize("text", ["-" * 19_000 + "1", f"{MARKED}{'-' * 900}x\n", f"{MARKED}{'(' * 5_000}"])
def test_a_program_that_is_nested_too_deeply_is_refused(text):
    with pytest.raises(BadProgram, match="nested"):
        load_text(text, python=True)


def test_python_is_read_and_never_run(tmp_path):
    mark = tmp_path / "ran"
    run = f'open({str(mark)!r}, "w").close()\n'
    text = f"import os\n{run}{EXAMPLES[-1].text}\n{run}"
    assert load_text(text, python=True).program.name == "noisy_sum"
    with pytest.raises(BadProgram):
        load_text(f"{MARKED}{run}", python=True)
    assert not mark.exists()

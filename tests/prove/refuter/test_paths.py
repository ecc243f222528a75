"""The paths of a program against its runs: for whatever is drawn, exactly one path is taken, and shows the same."""

import random
from fractions import Fraction
from itertools import islice

import pytest
from tests.prove.corpus import FILES

from discreet.verbs.prove.interpreter import run
from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.refuter.arithmetic import Intractable
from discreet.verbs.prove.refuter.neighbours import candidate_pairs
from discreet.verbs.prove.refuter.paths import Task, all_paths
from discreet.verbs.prove.refuter.sampling import _observed
from discreet.verbs.prove.refuter.symbolic import LinearForm

COINS = ("Bernoulli", "Uniform", "ExpMech")
UNCOMPARED = ("redraws", "sum_and_count")
"""One may go on for ever, the other divides by a draw."""


def drawing(generator):
    """A way to draw numbers at random, and the list of what it has drawn, less the centres."""
    numbers = []

    def draw(sample, arguments):
        if sample.distribution == "DLaplace":
            number = generator.randint(-9, 9)
        else:
            number = Fraction(generator.randint(0 if sample.distribution == "Exp" else -600, 600), 64)
        numbers.append(Fraction(number))
        return number + (arguments[1] if len(arguments) > 1 else 0)

    return draw, numbers


def value(form, numbers):
    return form.constant + sum((factor * numbers[draw] for draw, factor in form.terms), Fraction(0))


def fits(path, numbers):
    """Whether what was drawn leads along a path."""
    if len(numbers) != len(path.noises):
        return False
    for condition in path.conditions:
        found = value(condition.form, numbers)
        if found < 0 or (found == 0 and condition.strict):
            return False
    return True


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_one_path_is_taken_and_shows_what_the_run_shows(file):
    loaded = load_program(file)
    generator = random.Random(file.stem)  # noqa: S311
    compared = 0
    for pair in islice(candidate_pairs(loaded.program, [Fraction(1)]), 8):
        task = Task(loaded.program, pair.inputs, pair.parameters, loaded.others)
        try:
            paths = list(all_paths(task, most=200))
        except Intractable:
            continue
        if any(path.weight != 1 or path.picks for path in paths):
            continue  # coins are gone through by the tests of finite programs
        for _ in range(5):
            draw, numbers = drawing(generator)
            shown = _observed(run(loaded.program, pair.inputs, pair.parameters, draw, loaded.others))
            taken = [path for path in paths if fits(path, numbers)]
            assert len(taken) == 1
            assert tuple(value(one, numbers) if isinstance(one, LinearForm) else one for one in taken[0].shown) == shown
            compared += 1
    assert compared or file.stem in UNCOMPARED or any(word in file.read_text() for word in COINS)

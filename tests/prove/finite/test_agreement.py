"""Random finite programs: what is enumerated, refuted and proved agrees with runs through every way the coins fall."""

from fractions import Fraction

import pytest
from tests.prove.finite.random_programs import random_program

from discreet.verbs.prove import finite
from discreet.verbs.prove.certificate import Certificate
from discreet.verbs.prove.finite.enumeration import possible_inputs
from discreet.verbs.prove.interpreter import run
from discreet.verbs.prove.kernel.enumeration import compare_neighbours
from discreet.verbs.prove.kernel.solver import Unsupported
from discreet.verbs.prove.programs import load_program
from discreet.verbs.prove.prover import find_proof
from discreet.verbs.prove.refuter import refute
from discreet.verbs.prove.refuter.neighbours import InputPair, are_neighbours, evaluate
from discreet.verbs.prove.syntax import Number

ONE = {"eps": Fraction(1)}


class Script:
    """Coins that fall as written down; where nothing is written, the first way, and the others are noted."""

    def __init__(self, written):
        self.written, self.fallen, self.chance, self.others = written, [], Fraction(1), []

    def draw(self, sample, arguments):
        if sample.distribution == "Bernoulli":
            choices = {True: Fraction(arguments[0]), False: 1 - Fraction(arguments[0])}
        else:
            values = range(arguments[0], arguments[1] + 1)
            choices = {value: Fraction(1, len(values)) for value in values}
        if len(self.fallen) < len(self.written):
            way = self.written[len(self.fallen)]
        else:
            way, *others = choices
            self.others += [(*self.fallen, other) for other in others]
        self.fallen.append(way)
        self.chance *= choices[way]
        return way


def by_runs(program, given):
    """The chance of each outcome, by running the program once for every way the coins may fall."""
    found, waiting = {}, [()]
    while waiting:
        script = Script(waiting.pop())
        outcome = run(program, given, ONE, script.draw)
        found[outcome] = found.get(outcome, Fraction(0)) + script.chance
        waiting += script.others
    return {outcome: chance for outcome, chance in found.items() if chance}


def truly_private(program, laws):
    """Whether the claim holds, by comparing all neighbours."""
    for first, mu in laws:
        names = {**ONE, **first}
        claim, delta = evaluate(program.epsilon, names), evaluate(program.delta, names)
        for second, nu in laws:
            if (
                are_neighbours(program, InputPair(ONE, first, second))
                and finite.skewed_distance(mu, nu, claim).low > delta
            ):
                return False
    return True


def agree(seed, *, proving=True, seconds=2):
    """Whether a program is private, and what was said of it; fails if anything contradicts."""
    program = load_program(random_program(seed)).program
    laws = [(given, finite.outcomes(program, given, ONE)) for given in possible_inputs(program)]
    for given, law in laws:
        assert law == by_runs(program, given)
    true = truly_private(program, laws)
    assert finite.is_private(program) == true
    refuted, proved = refute(program, seconds=seconds), find_proof(program, seconds=seconds) if proving else None
    assert refuted is None or not true, "refuted, and private"
    assert true or not isinstance(proved, Certificate), "proved, and not private"
    return true, refuted is not None, isinstance(proved, Certificate)


def test_nothing_contradicts_enumeration():
    found = [agree(seed, proving=seed % 8 == 1) for seed in range(40)]
    wrong = [refuted for true, refuted, _ in found if not true]
    assert sum(wrong) >= 0.95 * len(wrong) > 0
    assert any(proved for _, _, proved in found)


def test_what_the_checker_enumerates_agrees_with_this_one():
    """The checker has an enumeration of its own, by runs instead of paths, so that it depends on nothing here."""
    compared = 0
    for seed in range(120):
        program = load_program(random_program(seed)).program
        if program.delta != Number(Fraction(0)):
            continue
        try:
            compared += compare_neighbours(program, {})
            holds = True
        except Unsupported as reason:
            assert "likelier" in str(reason)
            holds = False
        assert holds == finite.is_private(program), seed
    assert compared > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_nothing_contradicts_enumeration_in_ten_thousand_programs(part):
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        agree(seed, seconds=1 / 10)

"""The checker takes proofs and nothing else."""

import random
from dataclasses import replace
from functools import cache

import pytest
from tests.prove.corpus import text

from discreet.core.document import dumps, loads
from discreet.errors import BadInput, Damaged
from discreet.verbs.prove.certificate import Alignment, Certificate, Coupling
from discreet.verbs.prove.checker import check_certificate
from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.prover import NoProof, find_proof
from discreet.verbs.prove.unparse import digest

CORRUPTED = ["laplace", "svt", "noisy_max", "histogram_l1", "gaussian_count", "rappor_bit"]
PROVED = [*CORRUPTED, "composed", pytest.param("svt_inc", marks=pytest.mark.slow)]


@cache
def proof(name):
    *others, program = parse_programs(text(name))
    others = {other.name: other for other in others}
    made = find_proof(program, others)
    assert isinstance(made, Certificate), made
    return program, made, others


@pytest.mark.parametrize("name", PROVED)
def test_a_proof_that_was_written_down_and_read_again_is_one(name):
    program, made, others = proof(name)
    again = Certificate.from_dict(loads(dumps(made.to_dict())))
    assert again == made
    checked = check_certificate(program, again, others)
    assert checked.ends
    assert "the cost is within the claim" in checked.conditions


def test_loops_that_are_not_shown_to_end_must_be_paid_for_at_every_round():
    program, made, others = proof("block_sums")
    checked = check_certificate(program, made, others)
    assert not checked.ends
    assert any("at every iteration of the loop" in text for text in checked.conditions)


ENDLESS = """
adjacent one by 1
claim eps
f(x : private real, T : real) : list of real
  i := 0
  if T > 0
    while i >= 0
      z := $ Laplace(1/eps, 0)
      emit x + z
      i := i + 1
"""


def endless(source, shift, charge, *invariants):
    [program] = parse_programs(source)
    coupling = Coupling(1, "z", "Laplace", "1 / eps", shift, charge)
    alignment = Alignment(False, (coupling,), (("i >= 0", "i == i'", *invariants),))
    return program, Certificate("f", digest(program), "eps", "0", "alignment", (alignment,)).sealed()


def test_a_loop_without_an_end_costs_what_its_rounds_do():
    """At the end of such a program every cost is within the claim, since no run gets there."""
    program, made = endless(ENDLESS, "x - x'", "1", "cost1'' >= 0")
    with pytest.raises(Damaged, match="may not terminate, and its iterations may cost more"):
        check_certificate(program, made)
    assert isinstance(find_proof(program), NoProof)


def test_a_loop_without_an_end_may_be_private():
    program, made = endless(ENDLESS.replace("emit x + z", "emit z"), "0", "0", "cost1'' == 0")
    assert not check_certificate(program, made).ends
    once = ENDLESS.replace("emit x + z", "emit z if i > 0 else x + z")
    program, made = endless(once, "x - x' if i == 0 else 0", "1 if i == 0 else 0", "cost1'' == (0 if i == 0 else 1)")
    assert not check_certificate(program, made).ends


def test_what_is_called_must_be_shown_to_end():
    called = ENDLESS.replace("emit x + z", "emit i").replace("z := $ Laplace(1/eps, 0)", "skip")
    assert isinstance(prove_last(called), Certificate)
    found = prove_last(called + "adjacent one by 1\nclaim eps\ng(x : private real)\n  r := f(x, 1)\n  emit 1\n")
    assert isinstance(found, NoProof)
    assert any("which may not terminate" in text for text in found.tried)


def prove_last(text):
    *others, program = parse_programs(text)
    return find_proof(program, {other.name: other for other in others})


# -- ties and deltas --------------------------------------------------------------------------------------------------

TIE = """
adjacent one by 1
claim 0
f(x : private int) : bool
  z := $ {noise}
  if z == x
    emit true
  else
    emit false
"""


def missing(noise, distribution, *values):
    """A proof that a draw never is what it is compared with."""
    [program] = parse_programs(TIE.format(noise=noise))
    coupling = Coupling(1, "z", distribution, "1", "0", "0", values)
    alignment = Alignment(False, (coupling,), ())
    return program, Certificate("f", digest(program), "0", "0", "alignment", (alignment,)).sealed()


def test_what_is_continuous_hits_no_single_value():
    assert check_certificate(*missing("Laplace(1, 0)", "Laplace", "x", "x'"))
    with pytest.raises(Damaged, match="both runs take the same branch"):
        check_certificate(*missing("Laplace(1, 0)", "Laplace", "x"))
    with pytest.raises(Damaged, match="reads its own draw"):
        check_certificate(*missing("Laplace(1, 0)", "Laplace", "z"))
    with pytest.raises(Damaged, match="truth value used as a number"):
        check_certificate(*missing("Laplace(1, 0)", "Laplace", "x == x"))


def test_an_integer_may_hit_any_value():
    with pytest.raises(Damaged, match="not continuous"):
        check_certificate(*missing("DLaplace(1, 0)", "DLaplace", "x", "x'"))


def test_what_is_missed_is_written_down_with_the_proof():
    _, made = missing("Laplace(1, 0)", "Laplace", "x", "x'")
    again = Certificate.from_dict(loads(dumps(made.to_dict())))
    assert again == made
    assert again.alignments[0].couplings[0].misses == ("x", "x'")


@pytest.mark.slow
def test_a_proof_about_ties_is_none_without_them():
    program, made, others = proof("k_min_max")
    assert made.alignments[0].couplings[0].misses
    alignment = made.alignments[0]
    hits = tuple(replace(coupling, misses=()) for coupling in alignment.couplings)
    changed = replace(made, alignments=(replace(alignment, couplings=hits),)).sealed()
    with pytest.raises(Damaged, match="is kept by the loop"):
        check_certificate(program, changed, others)


@pytest.mark.parametrize("claim", ["eps, -1/1000", "eps, eps - 2", "0 - 1, 1/2"])
def test_no_claim_below_0_is_proved(claim):
    [program] = parse_programs(
        f"adjacent any\nclaim {claim}\nf(x : private {{0,1}})\n  z := $ Laplace(1/eps, 0)\n  emit z\n"
    )
    assert isinstance(find_proof(program), NoProof)


# -- lists that are handed over ---------------------------------------------------------------------------------------

CALL = """
adjacent one by 1
claim eps
g(x : private real, a : {first}, b : {second}) : real
  z := $ Laplace(1/eps, 0)
  y := x + z
  if {leaks}
    y := x
  return y

adjacent one by 1
claim eps
f(x : private real, a : {first}) : real
  r := g(x, a, a)
  return r
"""


@pytest.mark.parametrize(
    ("first", "second", "leaks"),
    [
        ("list of 2 int", "list of 2 {0,1}", "b[0] == 1000"),
        ("list of int", "list of 2 int", "size(b) >= 3"),
        ("list of 2 {0,1,2}", "list of 2 {0,1}", "b[0] >= 2"),
        ("list of 3 real", "list of 2 real", "size(b) >= 3"),
    ],
)
def test_a_list_is_handed_over_only_as_what_the_input_it_becomes_is(first, second, leaks):
    found = prove_last(CALL.format(first=first, second=second, leaks=leaks))
    assert isinstance(found, NoProof), found
    assert any("list of the wrong type" in text for text in found.tried), found.tried
    same = prove_last(CALL.format(first=first, second=first, leaks="1 > 2"))
    assert isinstance(same, Certificate), same


# -- corrupted certificates -------------------------------------------------------------------------------------------


def changed_alignment(certificate, change):
    first, *rest = certificate.alignments
    return replace(certificate, alignments=(change(first), *rest))


def changed_coupling(certificate, rng, **changes):
    def change(alignment):
        couplings = list(alignment.couplings)
        places = [place for place, coupling in enumerate(couplings) if coupling.scale] or [0]
        place = rng.choice(places)
        made = {name: act(getattr(couplings[place], name)) for name, act in changes.items()}
        couplings[place] = replace(couplings[place], **made)
        return replace(alignment, couplings=tuple(couplings))

    return changed_alignment(certificate, change)


def other_shift(certificate, rng):
    """Another shift, charged for: the runs part, or it costs too much."""
    if any(coupling.distribution == "Bernoulli" for coupling in certificate.alignments[0].couplings):
        return changed_coupling(certificate, rng, shift=lambda text: f"not ({text})")
    by = rng.choice(["1", "-1/2", "3", "1/1000"])
    charge = (lambda text: text) if certificate.method == "lockstep" else (lambda text: f"{text} + abs({by})")
    return changed_coupling(certificate, rng, shift=lambda text: f"({text}) + {by}", charge=charge)


def smaller_charge(certificate, rng):
    return changed_coupling(certificate, rng, charge=lambda _: rng.choice(["-1", "-1/2", "0 - 3"]))


def larger_charge(certificate, rng):
    return changed_coupling(certificate, rng, charge=lambda text: "7" if text.isdigit() else f"7 + {text}")


def own_draw(certificate, rng):
    """A shift that reads what is drawn."""
    names = {coupling.scale: coupling.name for coupling in certificate.alignments[0].couplings}
    scale = rng.choice(sorted(names))

    def change(alignment):
        made = [
            replace(coupling, shift=f"({coupling.shift}) + 0 * {coupling.name}")
            if coupling.scale == scale
            else coupling
            for coupling in alignment.couplings
        ]
        return replace(alignment, couplings=tuple(made))

    return changed_alignment(certificate, change)


def unknown_name(certificate, rng):
    name = rng.choice(["nobody", "branch9''", "shown7''", "cost9''", "where'''"])
    return changed_coupling(certificate, rng, charge=lambda text: f"{text} + {name}")


def false_invariant(certificate, rng):
    """One that contradicts itself, or does not hold at the beginning, or is not kept."""
    extra = rng.choice(["1 == 2", "eps < 0", "i < 0", "i == 0", "i' == i + 1", "i <= 3"])

    def change(alignment):
        return replace(alignment, invariants=tuple((*texts, extra) for texts in alignment.invariants))

    return changed_alignment(certificate, change)


def no_invariants(certificate, rng):
    def change(alignment):
        return replace(alignment, invariants=rng.choice([(), tuple(() for _ in alignment.invariants), ((), (), ())]))

    return changed_alignment(certificate, change)


def another_draw(certificate, rng):
    name, act = rng.choice(
        [
            ("number", lambda number: number + 1),
            ("name", lambda name: name + "x"),
            ("distribution", lambda _: "Exp"),
            ("scale", lambda scale: f"2 * ({scale})"),
        ]
    )
    return changed_coupling(certificate, rng, **{name: act})


def couplings_missing(certificate, rng):
    return changed_alignment(certificate, lambda alignment: replace(alignment, couplings=alignment.couplings[1:]))


def another_claim(certificate, rng):
    name = rng.choice(["epsilon", "delta", "program", "digest", "method"])
    return replace(certificate, **{name: rng.choice(["0", "eps / 2", "enumeration", "f" * 64])})


def another_direction(certificate, rng):
    alignments = certificate.alignments
    return replace(
        certificate,
        alignments=rng.choice(
            [(), alignments * 2, tuple(replace(one, backwards=not one.backwards) for one in alignments)]
        ),
    )


ANY = [other_shift, smaller_charge, larger_charge, own_draw, unknown_name, another_draw, couplings_missing]
ANY += [another_claim, another_direction]
LOOPS = [false_invariant, no_invariants]


def test_a_hundred_corrupted_certificates_are_refused():
    rng = random.Random(10)  # noqa: S311
    refused = 0
    for number in range(120):
        name = CORRUPTED[number % len(CORRUPTED)]
        program, made, others = proof(name)
        has_loops = bool(made.alignments[0].invariants)
        corrupt = rng.choice(ANY + LOOPS * 2 if has_loops else ANY)
        damaged = corrupt(made, rng)
        assert damaged != made
        with pytest.raises((Damaged, BadInput)):
            check_certificate(program, damaged.sealed(), others)
        with pytest.raises(Damaged):
            check_certificate(program, damaged, others)
        refused += 1
    assert refused >= 100


def test_a_proof_is_of_one_program():
    _, made, _ = proof("svt")
    weaker = parse_programs(text("svt").replace("4*N/eps", "2*N/eps"))[0]
    with pytest.raises(Damaged, match="another program"):
        check_certificate(weaker, made)


def test_a_call_needs_the_proof_of_what_is_called():
    program, made, others = proof("composed")
    with pytest.raises(Damaged, match="one proof for each"):
        check_certificate(program, replace(made, callees=()).sealed(), others)
    weaker = {
        name: replace(other, epsilon=parse_programs(text("laplace").replace("claim eps", "claim 1"))[0].epsilon)
        for name, other in others.items()
    }
    with pytest.raises(Damaged, match="another program"):
        check_certificate(program, made, weaker)


@pytest.mark.parametrize("data", [None, {}, [], {"program": 1}])
def test_what_is_no_certificate_is_refused(data):
    with pytest.raises(BadInput):
        Certificate.from_dict(data)

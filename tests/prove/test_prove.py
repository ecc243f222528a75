"""Verdicts: neither search is believed, and what is said can be read."""

from dataclasses import replace

import pytest
from tests.prove.corpus import text

from discreet.errors import BadInput, Damaged
from discreet.verbs.prove import prover, refuter
from discreet.verbs.prove.certificate import read_certificate, write_certificate
from discreet.verbs.prove.prove import infer_epsilon, prove, recheck
from discreet.verbs.prove.verdicts import Proved, Refuted, Unknown


@pytest.fixture(scope="module")
def svt():
    return prove(text("svt"))


def test_a_proof_can_be_read(svt):
    assert isinstance(svt, Proved)
    assert str(svt).startswith("PROVED  svt is (eps)-differentially private, for every length of q and every T and N.")
    assert "  rho     8     2 / eps      1 " in str(svt)
    assert "eps/2" in str(svt)
    assert "invariant of loop 1: " in str(svt)
    assert "''" not in str(svt), "the proof's own names are put into words"
    assert svt.to_dict()["proof"]["program"] == "svt"


def test_a_proof_is_saved_and_gone_through_again(svt, tmp_path):
    write_certificate(svt.certificate, tmp_path / "svt.proof.json")
    again = read_certificate(tmp_path / "svt.proof.json")
    assert again == svt.certificate
    assert recheck(text("svt"), again).proved
    with pytest.raises(Damaged, match="another program"):
        recheck(text("gap_svt"), again)
    with pytest.raises(Damaged, match="another program"):
        recheck(text("svt").replace("2/eps", "1/eps"), again)


def test_gaussian_noise_has_a_curve_and_other_noise_is_priced_in_zcdp():
    found = prove(text("gaussian_count"))
    assert found.lines[1].endswith("rho = 1/98")
    assert found.lines[-1].endswith("by the exact curve of Gaussian noise")
    both = text("gaussian_count").replace("return x + z", "y := $ Laplace(9, 0)\n  emit x + z\n  return x + y")
    assert prove(both.replace("Gaussian(7", "Gaussian(9")).lines[-1].endswith("by zCDP")


def test_eps_is_mentioned_only_where_it_matters():
    assert prove(text("randomised_response_too_sharp")).summary.endswith("-differentially private.")
    assert prove(text("bad_svt3")).summary.endswith(" at eps = 1.")
    assert "with a delta of 1/20" in prove(text("leaks_too_often")).summary


def test_both_directions_are_shown_where_neighbours_have_one():
    found = prove(text("svt_inc"))
    assert [line for line in found.lines if line.startswith("from the")] == [
        "from the first input to the second:",
        "from the second input to the first:",
    ]


@pytest.mark.slow
def test_a_proof_says_if_runs_were_not_shown_to_end(svt):
    assert svt.ends
    found = prove(text("block_sums"))
    assert (found.word, found.ends) == ("PROVED", False)
    assert found.summary.endswith(", whether or not it ends.")
    assert found.lines[-1] == "termination was not proved"
    assert found.to_dict()["ends"] is False


def test_densities_are_called_so():
    found = prove(text("laplace").replace("claim eps", "claim eps/2"))
    assert found.counterexample.density
    assert any(line.startswith("density ") for line in found.lines)
    assert not any("probability" in line for line in found.lines)


def test_a_counterexample_can_be_read():
    found = prove(text("mean"))
    assert isinstance(found, Refuted)
    assert found.summary == "mean is not private for any eps: one input can give an output that its neighbour cannot."
    assert {"input   d = [0]", "beside  d' = [1]"} <= set(found.lines)
    assert found.to_dict()["counterexample"]["second"] == "0"
    other = prove(text("bad_partial_sum"))
    assert "is not (eps)-differentially private at eps = " in other.summary
    assert any(line.startswith("ratio") for line in other.lines)


def test_what_neither_side_finds_is_unknown(monkeypatch):
    monkeypatch.setattr(prover, "find_proof", lambda *_, **__: prover.NoProof(("one thing", "another")))
    monkeypatch.setattr(refuter, "refute", lambda *_, **__: None)
    found = prove(text("laplace"))
    assert isinstance(found, Unknown)
    assert not found.proved
    assert "tried: one thing" in str(found)


def test_a_proof_is_not_believed_unless_the_checker_does(svt, monkeypatch):
    wrong = replace(svt.certificate, epsilon="eps / 2").sealed()
    monkeypatch.setattr(prover, "find_proof", lambda *_, **__: wrong)
    monkeypatch.setattr(refuter, "refute", lambda *_, **__: None)
    found = prove(text("svt"))
    assert found.word == "UNKNOWN"
    assert "the checker rejected" in str(found)


def test_a_counterexample_is_not_believed_unless_it_is_replayed(monkeypatch):
    found = prove(text("mean"))
    monkeypatch.setattr(
        refuter, "refute", lambda *_, **__: replace(found.counterexample, neighbours=found.counterexample.inputs)
    )
    monkeypatch.setattr(prover, "find_proof", lambda *_, **__: prover.NoProof(()))
    assert prove(text("mean")).word == "UNKNOWN"


def test_the_smallest_epsilon_is_found():
    assert infer_epsilon(text("laplace").replace("claim eps", "claim 3*eps")) == "eps"


def test_a_search_takes_some_time():
    with pytest.raises(BadInput, match="above 0 seconds"):
        prove(text("laplace"), seconds=0)


def test_a_large_claim_of_gaussian_noise_is_proved_and_checked_again():
    large = text("gaussian_count").replace("claim 1/2,", "claim 1000000000,")
    assert large != text("gaussian_count")
    found = prove(large)
    assert isinstance(found, Proved)
    assert recheck(large, found.certificate).proved


def test_neighbours_for_which_an_enumeration_fails_are_suspected():
    body = "k := $ Bernoulli(0 if x == 0 else 3/4)\n  return k\n"
    told = f"adjacent dec by 2\nclaim 1/4, 1/10\ntold(x : private 0..1) : bool\n  {body}"
    assert isinstance(prove(told, seconds=5), Refuted)


def test_a_ratio_beyond_all_floats_can_be_read():
    found = prove(
        "adjacent one by 1\nclaim 1\nf(x : private real) : real\n  k := $ Laplace(1/5000, 0)\n  return x + k\n"
    )
    assert "e+481…, where 2.71828… is allowed" in str(found)


def test_a_list_of_very_many_items_is_left_open():
    found = prove(f"adjacent any\nclaim 1\nf(q : private list of {10**8} {{0,1,2}}) : int\n  return q[0]\n", seconds=2)
    assert isinstance(found, Unknown)

"""Prove or refute the privacy claim of a program.

The prover and the refuter search, and neither is believed. The checker goes through a proof again, with solvers of its
own, before the verdict is PROVED; a counterexample is replayed before it is REFUTED. So a fault of either search costs
an UNKNOWN and no more.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

from discreet.errors import BadInput, Damaged
from discreet.verbs.prove.programs import LoadedProgram, Source, load_program
from discreet.verbs.prove.verdicts import ProofVerdict, Proved, Refuted, Unknown

if TYPE_CHECKING:
    from discreet.verbs.prove.certificate import Certificate

SEARCH_SECONDS = 20.0
"""Default time limit of a search, seconds of processor time."""
_FIRST_REFUTATION_SECONDS = 0.4
"""Time limit of the first, quick refutation, seconds: what is plainly wrong is found before the prover gives up."""
_PROVER_SHARE = 0.4
"""Share of the time limit that the prover gets; most proofs are found within a few seconds."""


def prove(program: Source, *, name: str | None = None, seconds: float = SEARCH_SECONDS) -> ProofVerdict:
    """Prove or refute the privacy claim of a program: ``Proved``, ``Refuted`` or ``Unknown``.

    ``program`` is a program's text, a file (``.dp``, or ``.py`` with marked functions), or a Python function marked by
    ``private``. ``name`` selects one of several programs; the default is the last one.
    """
    from discreet.verbs.prove import prover, refuter

    _require_positive(seconds)
    loaded, start = load_program(program, name), thread_time()
    claim, others = loaded.program, loaded.others
    tried: list[str] = []
    counterexample = refuter.refute(claim, others=others, seconds=min(_FIRST_REFUTATION_SECONDS, seconds))
    if counterexample is None:
        proof = prover.find_proof(claim, others, seconds=seconds * _PROVER_SHARE)
        hints: list[refuter.InputPair] = []
        if isinstance(proof, prover.NoProof):
            tried += proof.tried
            hints += [refuter.InputPair(case.parameters, case.inputs, case.neighbours) for case in proof.cases]
        else:
            try:
                return _checked(loaded, proof, start)
            except Damaged as reason:
                tried.append(f"a proof, which the checker rejected: {reason.message}")
        left = max(start + seconds - thread_time(), seconds * (1 - _PROVER_SHARE))
        counterexample = refuter.refute(claim, hints, others=others, seconds=left)
    if counterexample is not None and refuter.replay(claim, counterexample, others):
        return Refuted(claim, thread_time() - start, counterexample, others)
    tried.append("counterexamples on small inputs: none found")
    return Unknown(claim, thread_time() - start, tuple(tried))


def recheck(program: Source, certificate: Certificate, *, name: str | None = None) -> Proved:
    """Check a saved proof again; ``Damaged`` says why if it is no proof of this program."""
    return _checked(load_program(program, name), certificate, thread_time())


def infer_epsilon(program: Source, *, name: str | None = None, seconds: float = SEARCH_SECONDS) -> str | None:
    """The smallest epsilon for which a proof is found, as an expression; None without any proof."""
    from discreet.verbs.prove import prover
    from discreet.verbs.prove.unparse import expression_text

    _require_positive(seconds)
    loaded = load_program(program, name)
    claim = prover.infer_claim(loaded.program, loaded.others, seconds=seconds)
    return None if claim is None else expression_text(claim)


def _checked(loaded: LoadedProgram, certificate: Certificate, start: float) -> Proved:
    from discreet.verbs.prove.checker import check_certificate

    checked = check_certificate(loaded.program, certificate, loaded.others)
    return Proved(loaded.program, thread_time() - start, certificate, loaded.others, checked.ends)


def _require_positive(seconds: float) -> None:
    if not seconds > 0:
        raise BadInput(f"The time limit must be above 0 seconds, not {seconds}.")

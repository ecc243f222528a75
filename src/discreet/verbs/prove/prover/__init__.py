"""Search for a proof: shifts that work in bounded cases, then invariants for all sizes, then the checker's word.

Nothing here is trusted. ``find_proof`` returns only what ``checker.check_certificate`` accepts.
"""

from discreet.verbs.prove.prover.prover import NoProof, find_proof, infer_claim
from discreet.verbs.prove.prover.search import FailedCase

__all__ = ["FailedCase", "NoProof", "find_proof", "infer_claim"]

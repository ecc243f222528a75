"""Looking for a proof: shifts that work in small cases, then invariants for all sizes, then the checker's word.

Nothing here is trusted. ``prove`` returns only what ``checker.check`` accepts.
"""

from discreet.verbs.prove.certificate import Certificate
from discreet.verbs.prove.prover.proving import Failure, infer, prove
from discreet.verbs.prove.prover.search import Hint

__all__ = ["Certificate", "Failure", "Hint", "infer", "prove"]

"""Proofs and refutations of privacy claims: a proof that a person can read, or two neighbouring inputs that break it.

The modules by subject: ``prove`` (the verb), ``programs`` (texts, files, Python functions), ``checker`` and ``kernel``
(what has to be right for a PROVED), ``prover`` and ``refuter`` (searches that nothing relies on), ``distributions``
(what can be drawn), ``finite`` (exact distances and couplings of finite programs).

The names below are loaded when they are first used.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)

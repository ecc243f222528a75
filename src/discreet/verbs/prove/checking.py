"""Is a program private? The prover and the refuter are asked, and neither is believed.

A proof is gone through again by the checker, with solvers of its own, before anybody is told PROVED; a counterexample
is replayed before anybody is told REFUTED. So a fault of either search costs an UNKNOWN and no more.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

from discreet.errors import BadInput, Damaged
from discreet.verbs.prove.programs import Loaded, Source, load
from discreet.verbs.prove.verdicts import Proved, Refuted, Unknown, Verdict

if TYPE_CHECKING:
    from discreet.verbs.prove.certificate import Certificate

SECONDS = 20.0
"""How long a search may take (of processor time), unless somebody says otherwise."""
_GLANCE = 0.4
"""How long the refuter looks first: what is plainly wrong is found sooner than the prover gives up."""
_PROOF = 0.4
"""The share of the time that the prover gets; a proof that is found is mostly found within a few seconds."""


def check(source: Source, *, program: str | None = None, seconds: float = SECONDS) -> Verdict:
    """Prove or refute what is claimed of a program: ``Proved``, ``Refuted`` or ``Unknown``.

    ``source`` is a program's text, a file, or a Python function marked by ``private``; ``program`` is which of several
    programs is meant (the last one if nobody says).
    """
    return check_loaded(load(source, program), seconds=seconds)


def check_loaded(loaded: Loaded, *, seconds: float = SECONDS) -> Verdict:
    """The same of a program that was read already."""
    from discreet.verbs.prove import prover, refuter

    _require_some(seconds)
    program, others, start = loaded.program, loaded.others, thread_time()
    tried: list[str] = []
    counterexample = refuter.refute(program, others=others, seconds=min(_GLANCE, seconds))
    hints: tuple[prover.Hint, ...] = ()
    if counterexample is None:
        found = prover.prove(program, others, seconds=seconds * _PROOF)
        if not isinstance(found, prover.Failure):
            try:
                return recheck_loaded(loaded, found, since=start)
            except Damaged as wrong:
                tried.append(f"a proof that the checker did not accept: {wrong.message}")
        else:
            tried += found.tried
            hints = found.hints
        left = max(start + seconds - thread_time(), seconds * (1 - _PROOF))
        counterexample = refuter.refute(program, hints, others=others, seconds=left)
    if counterexample is not None and refuter.replay(program, counterexample, others):
        return Refuted(program, thread_time() - start, counterexample, others)
    tried.append("small inputs and events that would break the claim: none found")
    return Unknown(program, thread_time() - start, tuple(tried))


def recheck(source: Source, certificate: Certificate, *, program: str | None = None) -> Proved:
    """Go through a saved proof again; ``Damaged`` says why if it is none of this program."""
    return recheck_loaded(load(source, program), certificate)


def recheck_loaded(loaded: Loaded, certificate: Certificate, *, since: float | None = None) -> Proved:
    """The same of a program that was read already; the time counts from ``since``."""
    from discreet.verbs.prove import checker

    start = thread_time() if since is None else since
    checked = checker.check(loaded.program, certificate, loaded.others)
    return Proved(loaded.program, thread_time() - start, certificate, loaded.others, checked.ends)


def infer(source: Source, *, program: str | None = None, seconds: float = SECONDS) -> str | None:
    """The smallest epsilon that can be proved, as an expression; none if no proof was found."""
    return infer_loaded(load(source, program), seconds=seconds)


def infer_loaded(loaded: Loaded, *, seconds: float = SECONDS) -> str | None:
    """The same of a program that was read already."""
    from discreet.verbs.prove import prover
    from discreet.verbs.prove.texts import written

    _require_some(seconds)
    found = prover.infer(loaded.program, loaded.others, seconds=seconds)
    return None if found is None else written(found)


def _require_some(seconds: float) -> None:
    if not seconds > 0:
        raise BadInput(f"A search takes some time: {seconds} seconds are none.")

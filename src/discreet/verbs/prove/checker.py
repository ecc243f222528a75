"""Checker of certificates: every condition is derived again from the program and decided by fresh solvers.

The prover may be as wrong as it likes. A certificate is data; its texts are read by the language's own reader and may
read only what the rules allow at that place. What makes a PROVED true, and has to be trusted, is

- this module, and ``kernel``: the rules, and the conditions they make of a program and a proof;
- ``parser`` and ``syntax``: that the tree is what the text says, of the program and of the proof (and
  ``python_programs``, ``name_safety`` and ``programs``, where it is a function);
- ``typecheck``: what is refused before, on which the rules rely;
- ``unparse``: the digest, by which a proof is one of this program, and the text of claims and scales;
- ``interpreter``, for proofs by enumeration: they are what its runs show;
- the solver z3 where it says that something cannot be, and Python's exact fractions.

Loops that are not shown to end: ``kernel/walk.py`` says why what they cost must be within the claim at every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import BadProgram, Damaged
from discreet.verbs.prove.certificate import Alignment, Certificate
from discreet.verbs.prove.kernel.delta_bounds import delta_bound
from discreet.verbs.prove.kernel.distribution_rules import rule_of
from discreet.verbs.prove.kernel.enumeration import compare_neighbours
from discreet.verbs.prove.kernel.layout import ProgramLayout, number_program
from discreet.verbs.prove.kernel.loop_rule import LoopRound, ProofTexts
from discreet.verbs.prove.kernel.solver import Unsupported, load_z3
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.syntax import Call, Expression, Number, Operation, Program, Sample
from discreet.verbs.prove.typecheck import check_types
from discreet.verbs.prove.unparse import digest, expression_text

_QUERY_SECONDS = 20.0
"""Time limit of one solver query, seconds."""


@dataclass(frozen=True)
class CheckedProof:
    """A certificate that is a proof, with the conditions that were decided, in words.

    ``ends``: every run was shown to end. If not, the claim was shown to hold for what is seen up to any round.
    """

    certificate: Certificate
    conditions: tuple[str, ...]
    ends: bool


def check_certificate(
    program: Program,
    certificate: Certificate,
    others: Mapping[str, Program] | None = None,
    *,
    until: float | None = None,
) -> CheckedProof:
    """Check a certificate against a program. ``Damaged`` says what does not hold.

    ``until`` (of this thread's processor time): outcomes that take longer to enumerate are not a proof.
    """
    others = others or {}
    certificate.require_sealed()
    if (certificate.program, certificate.digest) != (program.name, digest(program)):
        raise Damaged(f"This proof is for another program, not for {program.name}.", hint="Prove the program again.")
    if (certificate.epsilon, certificate.delta) != (expression_text(program.epsilon), expression_text(program.delta)):
        raise Damaged(
            f"This proof is for another claim than the one {program.name} makes.", hint="Prove the program again."
        )
    check_types(program, others)
    try:
        layout = number_program(program, others)
        progress = _check_callees(layout, certificate, others, until)
        if certificate.method == "enumeration":
            if certificate.alignments:
                raise _not_a_proof(program, "it contains more than an enumeration needs")
            progress.conditions.append(f"{compare_neighbours(program, others, until)} pairs of neighbours compared")
        else:
            for alignment in _required_alignments(program, certificate):
                _check_alignment(layout, certificate, alignment, others, progress)
    except (Unsupported, BadProgram, load_z3().Z3Exception) as reason:
        raise Damaged(f"The proof of {program.name} is not valid: {reason}.", hint="Prove the program again.") from None
    return CheckedProof(certificate, tuple(progress.conditions), progress.ends)


@dataclass
class _Progress:
    """The conditions decided so far."""

    conditions: list[str]
    ends: bool = True


def _not_a_proof(program: Program, what: str) -> Damaged:
    return Damaged(f"The proof of {program.name} is not valid: {what}.", hint="Prove the program again.")


def _check_callees(
    layout: ProgramLayout, certificate: Certificate, others: Mapping[str, Program], until: float | None
) -> _Progress:
    """Every called program has a proof of its own, that of exactly the program that is called."""
    called = {site.statement.program for site, _ in layout.sites if isinstance(site.statement, Call)}
    proofs = {callee.program: callee for callee in certificate.callees}
    if set(proofs) != called or len(proofs) != len(certificate.callees):
        raise _not_a_proof(layout.program, "it does not have one proof for each program that is called")
    earlier = {name: other for name, other in others.items() if name != layout.program.name}
    checked = [check_certificate(others[name], proofs[name], earlier, until=until) for name in sorted(called)]
    if endless := [one.certificate.program for one in checked if not one.ends]:
        raise _not_a_proof(layout.program, f"it calls {endless[0]}, which may not terminate")
    return _Progress([text for one in checked for text in one.conditions])


def _required_alignments(program: Program, certificate: Certificate) -> tuple[Alignment, ...]:
    """The alignments that a proof must have: one direction is enough if the neighbour relation is symmetric."""
    both = program.adjacent.kind in ("inc", "dec")
    if certificate.method not in ("alignment", "lockstep"):
        raise _not_a_proof(program, f"there is no method {certificate.method!r}")
    if [alignment.backwards for alignment in certificate.alignments] != ([False, True] if both else [False]):
        raise _not_a_proof(program, "it does not cover both directions" if both else "it must cover one direction")
    return certificate.alignments


def _check_alignment(
    layout: ProgramLayout,
    certificate: Certificate,
    alignment: Alignment,
    others: Mapping[str, Program],
    progress: _Progress,
) -> None:
    program, lockstep = layout.program, certificate.method == "lockstep"
    _require_sites(layout, alignment)
    if len(alignment.invariants) != len(layout.loops):
        raise _not_a_proof(program, "it does not have invariants for each loop")
    proof = ProofTexts(
        [parse_expression(coupling.shift) for coupling in alignment.couplings],
        [parse_expression(coupling.charge) for coupling in alignment.couplings],
        [[parse_expression(text) for text in texts] for texts in alignment.invariants],
        misses=[[parse_expression(text) for text in coupling.misses] for coupling in alignment.couplings],
        lockstep=lockstep,
    )
    world = World(layout, backwards=alignment.backwards)
    walk = Walk(world, proof, others)
    if lockstep:
        walk.run(world.number(_rho(layout, certificate)))
    else:
        walk.run()  # what holds with no delta holds with any
        walk.require(world.truth(True), world.real(world.public(program.delta)) >= 0, "the delta is at least 0")
    endless = _Solvers(program, world).events(walk, proof, progress)
    if endless:
        progress.ends = False
        costs = {one.place: (one, walk.within_claim(one.state)) for one in endless}
        _Solvers(program, world).costs(walk, costs, progress)


def _require_sites(layout: ProgramLayout, alignment: Alignment) -> None:
    """The couplings name the draws as the program has them, in their order."""
    if len(alignment.couplings) != len(layout.sites):
        raise _not_a_proof(layout.program, "it does not have a coupling for each draw")
    for coupling, (site, _) in zip(alignment.couplings, layout.sites, strict=True):
        draw = site.statement
        assert isinstance(draw, Sample | Call)  # noqa: S101
        drawn = (
            (draw.distribution, expression_text(draw.arguments[0])) if isinstance(draw, Sample) else (draw.program, "")
        )
        if (coupling.number, coupling.name, coupling.distribution, coupling.scale) != (site.number, draw.name, *drawn):
            raise _not_a_proof(
                layout.program, f"coupling {coupling.number} does not belong to the draw at line {draw.at.line}"
            )
        if coupling.misses and not (isinstance(draw, Sample) and rule_of(draw.distribution).continuous):
            raise _not_a_proof(
                layout.program, f"the draw at line {draw.at.line} is not continuous and may hit any value"
            )


def _rho(layout: ProgramLayout, certificate: Certificate) -> Fraction:
    """The bound on what the draws cost, if it gives the claim."""
    program = layout.program
    epsilon, delta, rho = (
        _constant(expression) for expression in (program.epsilon, program.delta, parse_expression(certificate.rho))
    )
    if epsilon is None or delta is None or rho is None:
        raise _not_a_proof(program, "a claim with a delta must be of numbers")
    if delta_bound(layout, rho, epsilon) > delta:
        raise _not_a_proof(program, f"a cost of rho = {rho} does not imply the claim")
    return rho


def _constant(expression: Expression) -> Fraction | None:
    match expression:
        case Number(value):
            return value
        case Operation("/", (Number(over), Number(under))) if under:
            return over / under
    return None


class _Solvers:
    """Two solvers: one with the plain facts, one that knows products as well."""

    def __init__(self, program: Program, world: World) -> None:
        self._program, self._z3 = program, world.z3
        self._solvers = []
        for facts in (world.axioms, [*world.axioms, *world.hard]):
            solver = world.z3.Solver(ctx=world.ctx)
            solver.set("timeout", int(_QUERY_SECONDS * 1000))
            solver.add(*facts)
            self._solvers.append(solver)

    def events(self, walk: Walk, proof: ProofTexts, progress: _Progress) -> list[LoopRound]:
        """Go through the obligations in order: assumptions are added, claims are decided from what came before.

        Gives the loops that were not shown to end.
        """
        rounds = {one.place: one for one in proof.rounds}
        endless: list[LoopRound] = []
        self._require_possible(None, "its assumptions contradict each other")
        for place, event in enumerate(walk.events):
            if place in rounds:
                begun = rounds[place]
                self._require_possible(begun.inside, f"no iteration of the loop at line {begun.line} is possible")
            endless += self._endless(proof, place)
            if event.claim:
                answer = self._implied(event.guard, event.term)
                if answer != self._z3.unsat:
                    verdict = "is not true" if answer == self._z3.sat else "could not be decided"
                    raise _not_a_proof(self._program, f'"{event.what}" {verdict}')
                progress.conditions.append(event.what)
            for solver in self._solvers:
                solver.add(self._z3.Implies(event.guard, event.term))
        self._require_possible(None, "no run reaches the end")
        return endless

    def costs(self, walk: Walk, endless: Mapping[int, tuple[LoopRound, Any]], progress: _Progress) -> None:
        """What was paid is within the claim at every round of the loops that may not end, by what came before it."""
        for place, event in enumerate(walk.events):
            if place in endless:
                begun, afforded = endless[place]
                if self._implied(begun.inside, afforded) != self._z3.unsat:
                    loop = f"the loop at line {begun.line}"
                    what = f"{loop} may not terminate, and its iterations may cost more than the claim"
                    raise _not_a_proof(self._program, what)
                progress.conditions.append(
                    f"the cost is within the claim at every iteration of the loop at line {begun.line}"
                )
            for solver in self._solvers:
                solver.add(self._z3.Implies(event.guard, event.term))

    def _endless(self, proof: ProofTexts, place: int) -> Iterator[LoopRound]:
        """Loops whose iteration ends here without a proof that they terminate."""
        for end, begun, pairs in proof.measures:
            if end == place and not any(
                self._implied(begun.inside, after <= before - 1, quick=True) == self._z3.unsat
                for before, after in pairs
            ):
                yield begun

    def _implied(self, guard: Any, term: Any, *, quick: bool = False) -> Any:
        answer = None
        for solver in self._solvers[:1] if quick else self._solvers:
            solver.push()
            solver.add(guard, self._z3.Not(term))
            answer = solver.check()
            solver.pop()
            if answer == self._z3.unsat:
                break
        return answer

    def _require_possible(self, guard: Any, what: str) -> None:
        """Require that a situation is possible: from contradictions everything follows."""
        solver = self._solvers[0]
        solver.push()
        if guard is not None:
            solver.add(guard)
        answer = solver.check()
        solver.pop()
        if answer != self._z3.sat:
            raise _not_a_proof(self._program, what)

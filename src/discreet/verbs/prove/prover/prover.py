"""The prover: search for a proof of one claim, by alignment, enumeration and lockstep."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product

from discreet.errors import BadInput, Damaged
from discreet.verbs.prove import syntax
from discreet.verbs.prove.certificate import Alignment, Certificate, Coupling
from discreet.verbs.prove.checker import check_certificate
from discreet.verbs.prove.distributions import DISTRIBUTIONS, Pairing
from discreet.verbs.prove.interpreter import value_of
from discreet.verbs.prove.kernel.delta_bounds import delta_bound
from discreet.verbs.prove.kernel.enumeration import ClaimFails, compare_neighbours
from discreet.verbs.prove.kernel.layout import ProgramLayout, number_program
from discreet.verbs.prove.kernel.solver import Unsupported, load_z3
from discreet.verbs.prove.prover.dataflow import ZERO, operation
from discreet.verbs.prove.prover.induction import Induction, invariant_candidates
from discreet.verbs.prove.prover.search import FailedCase, ShiftSearch
from discreet.verbs.prove.prover.shift_candidates import ShiftSlot, coin_couplings, shift_slots, ties
from discreet.verbs.prove.syntax import mentions_eps, names_in
from discreet.verbs.prove.typecheck import check_types
from discreet.verbs.prove.unparse import digest, expression_text

_MAX_GUESSES = 8
"""Largest number of combinations of shifts tried by induction."""
_ROUND_MULTIPLES = (5, 6, 8, 10, 12, 16, 20, 32, 50, 64, 100)
_EPS_MULTIPLES = sorted(
    {Fraction(0), Fraction(1, 1000)}
    | {Fraction(a, b) for b in (1, 2, 3, 4) for a in range(1, 4 * b + 1)}
    | {multiple for n in _ROUND_MULTIPLES for multiple in (Fraction(n), Fraction(1, n))}
)
"""Multiples of eps that are tried as inferred claims."""
_NUMERIC_CLAIMS = [Fraction(n, 100) for n in range(1001)]
"""Inferred claims of programs without eps."""


@dataclass(frozen=True)
class NoProof:
    """No proof was found: what was tried, and bounded cases that refuted guesses, for the refuter."""

    tried: tuple[str, ...]
    cases: tuple[FailedCase, ...] = ()


def find_proof(
    program: syntax.Program, others: Mapping[str, syntax.Program] | None = None, *, seconds: float = 10.0
) -> Certificate | NoProof:
    """A checked proof of the program's claim for all sizes and parameters, or what was tried.

    ``others`` are the programs it may call. ``seconds`` are of processor time.
    """
    others = others or {}
    check_types(program, others)
    return _Prover(program, others, time.thread_time() + seconds).run()


def infer_claim(
    program: syntax.Program, others: Mapping[str, syntax.Program] | None = None, *, seconds: float = 30.0
) -> syntax.Expression | None:
    """The smallest claim that can be proved.

    It is searched among multiples of eps, then of eps times the length of a list; if nothing in the program depends
    on eps, among numbers (hundredths up to 10), then numbers times the length of a list.

    What is proved for a claim is true for a larger one, so half of what is left is ruled out by each attempt.
    """
    if program.delta != ZERO:
        raise BadInput(
            f"{program.name} claims a delta, but the search is for an epsilon alone.",
            hint="Leave the delta out, or try claims one by one.",
        )
    others = others or {}
    deadline = time.thread_time() + seconds
    by_eps = any(mentions_eps(one, {}, claim=False) for one in (program, *others.values()))
    sizes: list[syntax.Expression] = [
        syntax.Size(syntax.Name(given.name)) for given in program.inputs if isinstance(given.type, syntax.ListOf)
    ]
    one = syntax.Name("eps") if by_eps else syntax.Number(Fraction(1))
    for unit in (one, *(operation("*", size, one) if by_eps else size for size in sizes)):
        claims = [_times(multiple, unit) for multiple in (_EPS_MULTIPLES if by_eps else _NUMERIC_CLAIMS)]

        def holds(place: int, claims: Sequence[syntax.Expression] = claims) -> bool:
            left = deadline - time.thread_time()
            changed = replace(program, epsilon=claims[place], delta=ZERO)
            return left > 0 and isinstance(find_proof(changed, others, seconds=min(left, 10.0)), Certificate)

        low, best = 0, len(claims) - 1
        if not holds(best):
            continue
        while low < best:
            middle = (low + best) // 2
            low, best = (low, middle) if holds(middle) else (middle + 1, best)
        return claims[best]
    return None


def _times(multiple: Fraction, unit: syntax.Expression) -> syntax.Expression:
    if unit == syntax.Number(Fraction(1)) or not multiple:
        return syntax.Number(multiple)
    if multiple == 1:
        return unit
    whole = unit if multiple.numerator == 1 else operation("*", syntax.Number(Fraction(multiple.numerator)), unit)
    return whole if multiple.denominator == 1 else operation("/", whole, syntax.Number(Fraction(multiple.denominator)))


class _Prover:
    def __init__(self, program: syntax.Program, others: Mapping[str, syntax.Program], deadline: float) -> None:
        self.program, self.others, self.deadline = program, others, deadline
        self.tried: list[str] = []
        self.hints: list[FailedCase] = []

    def run(self) -> Certificate | NoProof:
        end, now = self.deadline, time.thread_time()
        half = now + (end - now) / 2 if self._may_be_finite() or self.program.delta != ZERO else end
        for method, deadline in ((self._by_alignment, half), (self._by_enumeration, end), (self._in_lockstep, end)):
            self.deadline = deadline
            try:
                proof = method()
                if proof is not None:
                    check_certificate(self.program, proof, self.others, until=end)
                    return proof
            except Unsupported as reason:
                self.tried.append(f"no proof rule covers {reason}")
            except load_z3().Z3Exception as reason:
                self.tried.append(f"the solver gave up: {reason}")
            except Damaged as reason:
                self.tried.append(f"the checker: {reason.message}")
                if method == self._by_enumeration:
                    self._suspect(end)
        return NoProof(tuple(dict.fromkeys(self.tried)), tuple(self.hints))

    def _certificate(self, method: str, **parts: object) -> Certificate:
        program = self.program
        certificate = Certificate(
            program.name, digest(program), expression_text(program.epsilon), expression_text(program.delta), method
        )
        return replace(certificate, **parts).sealed()  # type: ignore[arg-type]

    # -- enumeration --------------------------------------------------------------------------------------------------

    def _may_be_finite(self) -> bool:
        """Whether the claim is a number and the inputs are finite; then some time is reserved for enumeration."""
        return not any(list(names_in(claim)) for claim in (self.program.epsilon, self.program.delta)) and all(
            given.type.length is not None
            if isinstance(given.type, syntax.ListOf)
            else given.type not in (syntax.REAL, syntax.INT)
            for given in self.program.inputs
        )

    def _by_enumeration(self) -> Certificate | None:
        if not self._may_be_finite():
            return None
        if time.thread_time() > self.deadline:
            self.tried.append("enumeration of all outcomes: the time limit was reached")
            return None
        return self._certificate("enumeration", callees=self._callees(number_program(self.program, self.others)))

    def _suspect(self, until: float) -> None:
        """Pass neighbours for which the claim fails to the refuter."""
        try:
            compare_neighbours(self.program, self.others, until)
        except ClaimFails as failure:
            self.hints.insert(0, FailedCase({"eps": Fraction(1)}, failure.inputs, failure.neighbours))
        except Unsupported:
            pass

    # -- alignment ----------------------------------------------------------------------------------------------------

    def _by_alignment(self) -> Certificate | None:
        layout = number_program(self.program, self.others)
        callees = self._callees(layout)
        alignments = self._in_directions(lambda backwards: self._aligned(layout, backwards))
        if alignments is None:
            return None
        return self._certificate("alignment", alignments=alignments, callees=callees)

    def _callees(self, layout: ProgramLayout) -> tuple[Certificate, ...]:
        proofs = []
        for name in sorted(
            {site.statement.program for site, _ in layout.sites if isinstance(site.statement, syntax.Call)}
        ):
            earlier = {other: program for other, program in self.others.items() if other != name}
            proof = find_proof(self.others[name], earlier, seconds=self.deadline - time.thread_time())
            if isinstance(proof, NoProof):
                raise Unsupported(f"a call of {name}, which is not proved")
            proofs.append(proof)
        return tuple(proofs)

    def _aligned(self, layout: ProgramLayout, backwards: bool) -> Alignment | None:
        for settled in self._settled(layout):
            if time.thread_time() > self.deadline:
                self.tried.append("not every coupling of the coins: the time limit was reached")
                return None
            every, misses = _open_slots(layout, settled), ties(layout)
            narrow = [slot.narrowed() for slot in every]
            for open_ in (narrow, every) if narrow != every else (every,):
                search = ShiftSearch(layout, self.others, open_, settled, backwards, self.deadline, misses=misses)
                alignment = self._by_induction(layout, search)
                self.hints += search.hints
                if alignment is not None:
                    return alignment
        return None

    def _by_induction(self, layout: ProgramLayout, search: ShiftSearch) -> Alignment | None:
        """The first guess for which invariants are found."""
        shown = "" if search.charge is None else f"in lockstep at {expression_text(search.charge)} each, "
        before = len(self.tried)
        for guess in islice(search.guesses(), _MAX_GUESSES):
            shifts, charges = _shifts_and_charges(layout, search, guess)
            misses = [search.misses.get(site.number, ()) for site, _ in layout.sites]
            texts = [invariant_candidates(layout, loop, level, charges) for loop, level in layout.levels()]
            induction = Induction(search, shifts, charges, misses, texts)
            invariants = induction.invariants()
            if invariants is not None:
                couplings = _couplings(layout, shifts, charges, misses)
                return Alignment(search.backwards, couplings, tuple(map(tuple, invariants)))
            moved = ", ".join(expression_text(shift) for shift in shifts)
            self.tried.append(f"{shown}shifts {moved}: not shown for all sizes that {induction.failed}")
        if len(self.tried) == before:
            words = sum(len(slot.words) for slot in search.slots)
            self.tried.append(f"{shown}no shifts among {words} work in small cases")
        return None

    def _settled(self, layout: ProgramLayout) -> Iterator[dict[int, tuple[syntax.Expression, syntax.Expression]]]:
        """Every combination of couplings of the coins; calls and selections have only one."""
        fixed: dict[int, tuple[syntax.Expression, syntax.Expression]] = {}
        tossed: list[tuple[int, list[tuple[syntax.Expression, syntax.Expression]]]] = []
        for site, level in layout.sites:
            statement = site.statement
            pairing = (
                DISTRIBUTIONS[statement.distribution].pairing if isinstance(statement, syntax.Sample) else Pairing.SAME
            )
            if pairing is Pairing.SAME:
                fixed[site.number] = (ZERO, ZERO)
            elif pairing is Pairing.FLIP:
                tossed.append((site.number, coin_couplings(layout, site, level)))
        for ways in product(*(ways for _, ways in tossed)):
            yield {**fixed, **dict(zip((number for number, _ in tossed), ways, strict=True))}

    # -- lockstep -----------------------------------------------------------------------------------------------------

    def _in_lockstep(self) -> Certificate | None:
        program = self.program
        if program.delta == ZERO:
            return None
        layout = number_program(program, self.others)
        if any(list(names_in(claim)) for claim in (program.epsilon, program.delta)):
            raise Unsupported("a claim with a delta that is not of numbers")
        epsilon, delta = (Fraction(str(value_of(claim, {}))) for claim in (program.epsilon, program.delta))
        rho = _largest_rho(layout, epsilon, delta)
        by = program.adjacent.by
        for charge in (by, operation("*", syntax.Number(Fraction(2)), by)):
            alignments = self._moved_by(layout, charge, rho)
            if alignments is not None:
                return self._certificate("lockstep", alignments=alignments, rho=str(rho))
        return None

    def _moved_by(
        self, layout: ProgramLayout, charge: syntax.Expression, rho: Fraction
    ) -> tuple[Alignment, ...] | None:
        """Alignments with shifts of at most ``charge`` that do not read later values."""
        coins_ = {
            site.number: (syntax.Truth(False), ZERO) for site, _ in layout.sites if not _is_shifted(site.statement)
        }
        settled: dict[int, tuple[syntax.Expression, syntax.Expression]] = {**coins_}
        open_ = list(
            {slot.site: replace(slot, when=syntax.Truth(True)) for slot in _open_slots(layout, settled)}.values()
        )
        return self._in_directions(
            lambda backwards: self._by_induction(
                layout, ShiftSearch(layout, self.others, open_, settled, backwards, self.deadline, charge, rho)
            )
        )

    def _in_directions(self, align: Callable[[bool], Alignment | None]) -> tuple[Alignment, ...] | None:
        """An alignment for each direction that needs one; None if one direction has none."""
        alignments = []
        for backwards in (False, True) if self.program.adjacent.kind in ("inc", "dec") else (False,):
            alignment = align(backwards)
            if alignment is None:
                return None
            alignments.append(alignment)
        return tuple(alignments)


def _is_shifted(statement: object) -> bool:
    shifted = (Pairing.SHIFT, Pairing.ROTATE)
    return isinstance(statement, syntax.Sample) and DISTRIBUTIONS[statement.distribution].pairing in shifted


def _largest_rho(layout: ProgramLayout, epsilon: Fraction, delta: Fraction) -> Fraction:
    low, high = Fraction(0), Fraction(64)
    for _ in range(32):
        middle = Fraction(round((low + high) / 2 * 10**8), 10**8)
        low, high = (middle, high) if delta_bound(layout, middle, epsilon) <= delta else (low, middle)
    return low


def _open_slots(layout: ProgramLayout, settled: Mapping[int, object]) -> list[ShiftSlot]:
    return [
        slot for site, level in layout.sites if site.number not in settled for slot in shift_slots(layout, site, level)
    ]


def _shifts_and_charges(
    layout: ProgramLayout, search: ShiftSearch, guess: Sequence[syntax.Expression]
) -> tuple[list[syntax.Expression], list[syntax.Expression]]:
    """Shifts and charges of all draws: the guessed ones by case, and the settled ones."""
    chosen: dict[int, syntax.Expression] = {}
    for slot, word in zip(search.slots, guess, strict=True):
        before = chosen.get(slot.site)
        chosen[slot.site] = (
            word if before is None or before == word else syntax.Operation("if", (slot.when, word, before))
        )
    plans = dict(search.settled) | {site: (shift, search.charge or _absolute(shift)) for site, shift in chosen.items()}
    return [plans[site.number][0] for site, _ in layout.sites], [plans[site.number][1] for site, _ in layout.sites]


def _absolute(shift: syntax.Expression) -> syntax.Expression:
    match shift:
        case syntax.Number(value):
            return syntax.Number(abs(value))
        case syntax.Operation("if", (condition, then, other)):
            return syntax.Operation("if", (condition, _absolute(then), _absolute(other)))
        case syntax.Operation("neg", (syntax.Number() as value,)):
            return value
    return operation("abs", shift)


def _couplings(
    layout: ProgramLayout,
    shifts: Sequence[syntax.Expression],
    charges: Sequence[syntax.Expression],
    misses: Sequence[Sequence[syntax.Expression]],
) -> tuple[Coupling, ...]:
    couplings = []
    for (site, _), shift, charge, missed in zip(layout.sites, shifts, charges, misses, strict=True):
        draw = site.statement
        assert isinstance(draw, syntax.Sample | syntax.Call)  # noqa: S101
        drawn = (
            (draw.distribution, expression_text(draw.arguments[0]))
            if isinstance(draw, syntax.Sample)
            else (draw.program, "")
        )
        missed_texts = tuple(expression_text(value) for value in missed)
        couplings.append(
            Coupling(site.number, draw.name, *drawn, expression_text(shift), expression_text(charge), missed_texts)
        )
    return tuple(couplings)

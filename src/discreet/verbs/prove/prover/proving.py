"""The prover: one claim of one program, in a limited time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product

from discreet.errors import BadInput, Damaged
from discreet.verbs.prove.certificate import Alignment, Certificate, Coupling
from discreet.verbs.prove.checker import check
from discreet.verbs.prove.inside import expressions, names_in, statements
from discreet.verbs.prove.kernel.enumeration import Likelier, enumerated
from discreet.verbs.prove.kernel.layout import Layout, Unsupported, lay_out
from discreet.verbs.prove.kernel.solver import load_z3
from discreet.verbs.prove.kernel.zcdp import delta_within
from discreet.verbs.prove.kinds import types
from discreet.verbs.prove.prover.coins import coins
from discreet.verbs.prove.prover.following import ZERO, op
from discreet.verbs.prove.prover.induction import Induction
from discreet.verbs.prove.prover.search import Hint, Search
from discreet.verbs.prove.prover.templates import candidates
from discreet.verbs.prove.prover.vocabulary import Slot, slots, ties
from discreet.verbs.prove.running import value_of
from discreet.verbs.prove.syntax import (
    INT,
    REAL,
    Call,
    Expression,
    ListOf,
    Name,
    Number,
    Operation,
    Program,
    Sample,
    Size,
    Truth,
)
from discreet.verbs.prove.texts import digest, written

_GUESSES = 8
_ROUND = (5, 6, 8, 10, 12, 16, 20, 32, 50, 64, 100)
_MULTIPLES = sorted(
    {Fraction(0), Fraction(1, 1000)}
    | {Fraction(a, b) for b in (1, 2, 3, 4) for a in range(1, 4 * b + 1)}
    | {multiple for n in _ROUND for multiple in (Fraction(n), Fraction(1, n))}
)
"""What a claim in eps is a multiple of, if it is inferred."""
_NUMBERS = [Fraction(n, 100) for n in range(1001)]
"""Claims of programs without eps."""


@dataclass(frozen=True)
class Failure:
    """No proof was found: what was tried, and small cases on which guesses failed, for the refuter."""

    tried: tuple[str, ...]
    hints: tuple[Hint, ...] = ()


def prove(
    program: Program, others: Mapping[str, Program] | None = None, *, seconds: float = 10.0
) -> Certificate | Failure:
    """A checked proof that the program keeps its claim for all sizes and parameters, or what was tried.

    ``others`` are the programs it may call. ``seconds`` are of processor time.
    """
    others = others or {}
    types(program, others)
    return _Proving(program, others, time.thread_time() + seconds).run()


def infer(program: Program, others: Mapping[str, Program] | None = None, *, seconds: float = 30.0) -> Expression | None:
    """The smallest claim that is proved among multiples of eps, or else of eps times the length of a list; if nothing
    of the program depends on eps, among numbers (hundredths up to 10), or else numbers times the length of a list.

    What is proved for a claim is true for a larger one, so half of what is left is ruled out by each attempt.
    """
    if program.delta != ZERO:
        raise BadInput(
            f"{program.name} claims a delta, and only an epsilon alone is looked for.",
            hint="Leave the delta out, or try claims one by one.",
        )
    others = others or {}
    deadline = time.thread_time() + seconds
    by_eps = any(_uses_eps(one) for one in (program, *others.values()))
    sizes: list[Expression] = [Size(Name(given.name)) for given in program.inputs if isinstance(given.type, ListOf)]
    one = Name("eps") if by_eps else Number(Fraction(1))
    for unit in (one, *(op("*", size, one) if by_eps else size for size in sizes)):
        claims = [_times(multiple, unit) for multiple in (_MULTIPLES if by_eps else _NUMBERS)]

        def holds(place: int, claims: Sequence[Expression] = claims) -> bool:
            left = deadline - time.thread_time()
            changed = replace(program, epsilon=claims[place], delta=ZERO)
            return left > 0 and isinstance(prove(changed, others, seconds=min(left, 10.0)), Certificate)

        low, best = 0, len(claims) - 1
        if not holds(best):
            continue
        while low < best:
            middle = (low + best) // 2
            low, best = (low, middle) if holds(middle) else (middle + 1, best)
        return claims[best]
    return None


def _uses_eps(program: Program) -> bool:
    """Whether anything but the claim depends on eps."""
    inside = (part for statement in statements(program.body) for part in expressions(statement))
    return any(
        name.name == "eps" for part in (program.adjacent.by, *program.assumes, *inside) for name in names_in(part)
    )


def _times(multiple: Fraction, unit: Expression) -> Expression:
    if unit == Number(Fraction(1)) or not multiple:
        return Number(multiple)
    if multiple == 1:
        return unit
    whole = unit if multiple.numerator == 1 else op("*", Number(Fraction(multiple.numerator)), unit)
    return whole if multiple.denominator == 1 else op("/", whole, Number(Fraction(multiple.denominator)))


class _Proving:
    def __init__(self, program: Program, others: Mapping[str, Program], deadline: float) -> None:
        self.program, self.others, self.deadline = program, others, deadline
        self.tried: list[str] = []
        self.hints: list[Hint] = []

    def run(self) -> Certificate | Failure:
        end, now = self.deadline, time.thread_time()
        half = now + (end - now) / 2 if self._may_be_finite() or self.program.delta != ZERO else end
        for method, deadline in ((self._by_alignment, half), (self._by_enumeration, end), (self._in_lockstep, end)):
            self.deadline = deadline
            try:
                made = method()
                if made is not None:
                    check(self.program, made, self.others, until=end)
                    return made
            except Unsupported as reason:
                self.tried.append(f"the rules do not reach {reason}")
            except load_z3().Z3Exception as reason:
                self.tried.append(f"the solver gave up: {reason}")
            except Damaged as reason:
                self.tried.append(f"the checker: {reason.message}")
                if method == self._by_enumeration:
                    self._suspect(end)
        return Failure(tuple(dict.fromkeys(self.tried)), tuple(self.hints))

    def _certificate(self, method: str, **parts: object) -> Certificate:
        program = self.program
        made = Certificate(program.name, digest(program), written(program.epsilon), written(program.delta), method)
        return replace(made, **parts).sealed()  # type: ignore[arg-type]

    # -- enumeration --------------------------------------------------------------------------------------------------

    def _may_be_finite(self) -> bool:
        """Whether the claim and the inputs leave room for enumeration; then some time is kept for it."""
        return not any(list(names_in(claim)) for claim in (self.program.epsilon, self.program.delta)) and all(
            given.type.length is not None if isinstance(given.type, ListOf) else given.type not in (REAL, INT)
            for given in self.program.inputs
        )

    def _by_enumeration(self) -> Certificate | None:
        if not self._may_be_finite():
            return None
        if time.thread_time() > self.deadline:
            self.tried.append("no outcomes were enumerated: the time was up")
            return None
        return self._certificate("enumeration", callees=self._callees(lay_out(self.program, self.others)))

    def _suspect(self, until: float) -> None:
        """Hand the neighbours for which the claim fails to the refuter."""
        try:
            enumerated(self.program, self.others, until)
        except Likelier as found:
            self.hints.insert(0, Hint({}, found.inputs, found.neighbours, ()))
        except Unsupported:
            pass

    # -- alignment ----------------------------------------------------------------------------------------------------

    def _by_alignment(self) -> Certificate | None:
        layout = lay_out(self.program, self.others)
        callees = self._callees(layout)
        made = []
        for backwards in (False, True) if self.program.adjacent.kind in ("inc", "dec") else (False,):
            alignment = self._aligned(layout, backwards)
            if alignment is None:
                return None
            made.append(alignment)
        return self._certificate("alignment", alignments=tuple(made), callees=callees)

    def _callees(self, layout: Layout) -> tuple[Certificate, ...]:
        found = []
        for name in sorted({site.statement.program for site, _ in layout.sites if isinstance(site.statement, Call)}):
            earlier = {other: program for other, program in self.others.items() if other != name}
            proof = prove(self.others[name], earlier, seconds=self.deadline - time.thread_time())
            if isinstance(proof, Failure):
                raise Unsupported(f"a call of {name}, which is not proved")
            found.append(proof)
        return tuple(found)

    def _aligned(self, layout: Layout, backwards: bool) -> Alignment | None:
        for settled in self._settled(layout):
            if time.thread_time() > self.deadline:
                self.tried.append("not all ways to treat the coins: the time was up")
                return None
            every, misses = _slots(layout, settled), ties(layout)
            narrow = [slot.narrowed() for slot in every]
            for open_ in (narrow, every) if narrow != every else (every,):
                search = Search(layout, self.others, open_, settled, backwards, self.deadline, misses=misses)
                found = self._by_induction(layout, search)
                self.hints += search.hints
                if found is not None:
                    return found
        return None

    def _by_induction(self, layout: Layout, search: Search) -> Alignment | None:
        """The first guess for which there are invariants."""
        tried = 0
        for guess in islice(search.guesses(), _GUESSES):
            tried += 1
            shifts, charges = _plans(layout, search.slots, guess, search.settled)
            texts = [candidates(layout, loop, level, charges) for loop, level in layout.levels()]
            misses = [search.misses.get(site.number, ()) for site, _ in layout.sites]
            induction = Induction(
                layout,
                self.others,
                shifts,
                charges,
                texts,
                backwards=search.backwards,
                deadline=self.deadline,
                misses=misses,
            )
            found = induction.invariants()
            if found is not None:
                couplings = _couplings(layout, shifts, charges, misses)
                return Alignment(search.backwards, couplings, tuple(map(tuple, found)))
            shown = ", ".join(written(shift) for shift in shifts)
            self.tried.append(f"shifts {shown}: not shown for all sizes that {induction.failed}")
        if not tried:
            self.tried.append(f"no shifts among {sum(len(slot.words) for slot in search.slots)} work in small cases")
        return None

    def _settled(self, layout: Layout) -> Iterator[dict[int, tuple[Expression, Expression]]]:
        """Every way to treat the coins; calls and choices need nothing."""
        fixed: dict[int, tuple[Expression, Expression]] = {}
        tossed: list[tuple[int, list[tuple[Expression, Expression]]]] = []
        for site, level in layout.sites:
            statement = site.statement
            if isinstance(statement, Call) or (isinstance(statement, Sample) and statement.distribution == "ExpMech"):
                fixed[site.number] = (ZERO, ZERO)
            elif isinstance(statement, Sample) and statement.distribution == "Bernoulli":
                tossed.append((site.number, coins(layout, site, level)))
        for ways in product(*(ways for _, ways in tossed)):
            yield {**fixed, **dict(zip((number for number, _ in tossed), ways, strict=True))}

    # -- lockstep -----------------------------------------------------------------------------------------------------

    def _in_lockstep(self) -> Certificate | None:
        program = self.program
        if program.delta == ZERO:
            return None
        layout = lay_out(program, self.others)
        if any(list(names_in(claim)) for claim in (program.epsilon, program.delta)):
            raise Unsupported("a claim with a delta that is not of numbers")
        epsilon, delta = (Fraction(str(value_of(claim, {}))) for claim in (program.epsilon, program.delta))
        rho = _largest_rho(layout, epsilon, delta)
        by = program.adjacent.by
        for charge in (by, op("*", Number(Fraction(2)), by)):
            made = self._moved_by(layout, charge, rho)
            if made is not None:
                return self._certificate("lockstep", alignments=made, rho=str(rho))
        return None

    def _moved_by(self, layout: Layout, charge: Expression, rho: Fraction) -> tuple[Alignment, ...] | None:
        """Shifts of at most ``charge`` that read nothing foreseen."""
        coins_ = {site.number: (Truth(False), ZERO) for site, _ in layout.sites if not _moves(site.statement)}
        settled: dict[int, tuple[Expression, Expression]] = {**coins_}
        open_ = list({slot.site: replace(slot, when=Truth(True)) for slot in _slots(layout, settled)}.values())
        made, nothing = [], [()] * len(layout.sites)
        for backwards in (False, True) if self.program.adjacent.kind in ("inc", "dec") else (False,):
            search = Search(layout, self.others, open_, settled, backwards, self.deadline, charge, rho)
            for guess in islice(search.guesses(), _GUESSES):
                shifts, _ = _plans(layout, open_, guess, settled)
                charges = [charge if _moves(site.statement) else ZERO for site, _ in layout.sites]
                texts = [candidates(layout, loop, level, charges) for loop, level in layout.levels()]
                induction = Induction(
                    layout,
                    self.others,
                    shifts,
                    charges,
                    texts,
                    backwards=backwards,
                    deadline=self.deadline,
                    lockstep=True,
                    bound=rho,
                )
                found = induction.invariants()
                if found is not None:
                    couplings = _couplings(layout, shifts, charges, nothing)
                    made.append(Alignment(backwards, couplings, tuple(map(tuple, found))))
                    break
                self.tried.append(f"lockstep, shifts of {written(charge)}: not shown that {induction.failed}")
            else:
                self.tried.append(f"no shifts of at most {written(charge)} in lockstep work in small cases")
                return None
        return tuple(made)


def _moves(statement: object) -> bool:
    return isinstance(statement, Sample) and statement.distribution != "Bernoulli"


def _largest_rho(layout: Layout, epsilon: Fraction, delta: Fraction) -> Fraction:
    low, high = Fraction(0), Fraction(64)
    for _ in range(32):
        middle = Fraction(round((low + high) / 2 * 10**8), 10**8)
        low, high = (middle, high) if delta_within(layout, middle, epsilon) <= delta else (low, middle)
    return low


def _slots(layout: Layout, settled: Mapping[int, object]) -> list[Slot]:
    return [slot for site, level in layout.sites if site.number not in settled for slot in slots(layout, site, level)]


def _plans(
    layout: Layout,
    open_: Sequence[Slot],
    guess: Sequence[Expression],
    settled: Mapping[int, tuple[Expression, Expression]],
) -> tuple[list[Expression], list[Expression]]:
    """Shifts and charges of all draws: what was guessed by case, and what was settled."""
    chosen: dict[int, Expression] = {}
    for slot, word in zip(open_, guess, strict=True):
        before = chosen.get(slot.site)
        chosen[slot.site] = word if before is None or before == word else Operation("if", (slot.when, word, before))
    shifts, charges = [], []
    for site, _ in layout.sites:
        shift = settled[site.number][0] if site.number in settled else chosen[site.number]
        shifts.append(shift)
        charges.append(settled[site.number][1] if site.number in settled else _size(shift))
    return shifts, charges


def _size(shift: Expression) -> Expression:
    match shift:
        case Number(value):
            return Number(abs(value))
        case Operation("if", (condition, then, other)):
            return Operation("if", (condition, _size(then), _size(other)))
        case Operation("neg", (Number() as value,)):
            return value
    return op("abs", shift)


def _couplings(
    layout: Layout,
    shifts: Sequence[Expression],
    charges: Sequence[Expression],
    misses: Sequence[Sequence[Expression]],
) -> tuple[Coupling, ...]:
    found = []
    for (site, _), shift, charge, missed in zip(layout.sites, shifts, charges, misses, strict=True):
        draw = site.statement
        assert isinstance(draw, Sample | Call)  # noqa: S101
        drawn = (draw.distribution, written(draw.arguments[0])) if isinstance(draw, Sample) else (draw.program, "")
        told = tuple(written(value) for value in missed)
        found.append(Coupling(site.number, draw.name, *drawn, written(shift), written(charge), told))
    return tuple(found)

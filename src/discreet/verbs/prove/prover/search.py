"""Counterexample-guided search for shifts that work in all bounded cases.

A guess takes one word for each slot. A broken case is numbers for everything but the guess; put into what must
hold, it becomes a condition on the guess alone, so the next guess is right about every case seen so far.

A bounded case has lists of a few items, unrolled loops, and numbers for parameters. What is true of bounded cases is a
guess; the induction and the checker say whether it is a proof.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout
from discreet.verbs.prove.kernel.solver import Kind, Term, Unsupported, load_z3
from discreet.verbs.prove.kernel.state import ProofScope, State, merge_states
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.prover.dataflow import multiplied_parameters
from discreet.verbs.prove.prover.shift_candidates import ShiftSlot
from discreet.verbs.prove.syntax import Expression, Input, ListOf, Program, While

_MAX_LIST_ITEMS = 1000
"""Most items of a list in a bounded case."""
_CASE_MILLISECONDS = 4000
"""Time limit for deciding one bounded case."""
_GUESS_MILLISECONDS = 400
"""Time limit for one guess."""
_MAX_HINTS = 40
"""Most failed cases that are kept for the refuter."""


class BoundedWorld(World):
    """Inputs whose lists have ``rounds`` items, each a separate unknown."""

    def __init__(self, layout: ProgramLayout, rounds: int, fixed: Mapping[str, Fraction], *, backwards: bool) -> None:
        self.rounds = rounds
        self.unknowns: list[Term] = []
        self._cells: dict[tuple[str, int, int], Term] = {}
        sizes = {
            f"size(){given.name}": Fraction(rounds if given.type.length is None else given.type.length)
            for given in layout.program.inputs
            if isinstance(given.type, ListOf)
        }
        super().__init__(layout, backwards=backwards, fixed={**fixed, **sizes})
        for given in layout.program.inputs:
            if isinstance(given.type, ListOf):
                self._spell_out(given, self.fixed[f"size(){given.name}"])

    def new(self, name: str, kind: Kind) -> Term:
        unknown = super().new(name, kind)
        self.unknowns.append(unknown)
        return unknown

    def named(self, term: Term, name: str) -> Term:
        del name
        return term

    def quotient(self, over: Term, under: Term, safe: list[Term]) -> Term:
        under = self.z3.simplify(under)
        if self.z3.is_rational_value(under):
            return super().quotient(over, under, safe)
        safe.append(under != 0)
        return over / under

    def cells(self) -> list[tuple[tuple[str, int, int], Term]]:
        """Every item of every list: name, run, place."""
        return list(self._cells.items())

    def _spell_out(self, given: Input, length: Fraction) -> None:
        assert isinstance(given.type, ListOf)  # noqa: S101
        if length > _MAX_LIST_ITEMS:
            raise Unsupported("lists of that many items")
        kind = self.layout.kinds[f"{given.name}[]"]
        changes = []
        for place in range(int(length)):
            first = self.new(f"{given.name}[{place}]", kind)
            second = self.new(f"{given.name}'[{place}]", kind) if given.private else first
            self._cells[given.name, 1, place], self._cells[given.name, 2, place] = first, second
            self._bounds(given.type.item, first, second)
            if given.private:
                number = self.program.private.index(given)
                self._close(first, second, self.both(self.which == number, self.where == place))
                if kind != "bool":
                    changes.append(self.absolute(self.real(second - first)))
        if given.private and self.kind == "l1" and changes:
            self.axioms.append(self.z3.Sum(*changes) <= self._budgets[self.program.private.index(given)])

    def item(self, name: str, run: int, index: Term) -> Term:
        cells = [cell for (of, which, _), cell in self._cells.items() if (of, which) == (name, run)]
        if not self.z3.is_int(index):
            raise Unsupported("an index that is not an integer")
        index = self.z3.simplify(index)
        if not cells:
            return self.new(name, self.layout.kinds[f"{name}[]"])
        if self.z3.is_int_value(index):
            return cells[index.as_long() % len(cells)]
        item = cells[0]
        for place, cell in enumerate(cells[1:], 1):
            item = self.z3.If(index == place, cell, item)
        return item


class UnrolledPlan:
    """A plan with undetermined shifts, and loops of at most a given number of rounds."""

    def __init__(
        self,
        world: BoundedWorld,
        slots: Sequence[ShiftSlot],
        settled: Mapping[int, tuple[Expression, Expression]],
        charge: Expression | None = None,
        misses: Mapping[int, Sequence[Expression]] | None = None,
    ) -> None:
        self.world, self.lockstep, self._charge = world, charge is not None, charge
        self._settled, self._misses = settled, misses or {}
        self.choices = [
            (slot, [world.z3.Bool(f"take {number} {place}", world.ctx) for place in range(len(slot.words))])
            for number, slot in enumerate(slots)
        ]
        self._last: dict[int, Term] = {}

    def shift(self, site: int, scope: ProofScope) -> Term:
        if site in self._settled:
            return scope.value(self._settled[site][0])
        z3, shift = self.world.z3, None
        for slot, takes in self.choices:
            if slot.site != site:
                continue
            values = [scope.value(word) for word in slot.words]
            if any(not z3.is_int(value) for value in values):
                values = [self.world.real(value) for value in values]
            chosen = values[0]
            for take, value in zip(takes[1:], values[1:], strict=True):
                chosen = z3.If(take, value, chosen)
            shift = chosen if shift is None else z3.If(scope.value(slot.when), *self.world.same_sort(chosen, shift))
        self._last[site] = self.world.absolute(self.world.real(shift))
        return shift

    def charge(self, site: int, scope: ProofScope) -> Expression | Term:
        if self._charge is not None and site not in self._settled:
            return self._charge
        return self._settled[site][1] if site in self._settled else self._last[site]

    def misses(self, site: int, scope: ProofScope) -> list[Term]:
        return [scope.number(value) for value in self._misses.get(site, ())]

    def loop(self, walk: Walk, step: NumberedStep, state: State, guard: Term) -> State:
        return unroll(walk, step, state, guard, self.world.rounds)


def unroll(walk: Walk, step: NumberedStep, state: State, guard: Term, rounds: int) -> State:
    """Unroll a loop, round by round."""
    assert isinstance(step.statement, While)  # noqa: S101
    z3 = walk.world.z3
    first, second = walk.values(step.statement.condition, state, guard)
    first, second = z3.simplify(first), z3.simplify(second)
    if z3.is_false(first) and z3.is_false(second):
        return state
    walk.require(
        guard, first == second, f"both runs continue or leave the loop together at line {step.statement.at.line}"
    )
    if not rounds:
        walk.assume(guard, z3.Not(first))
        return state
    inside = walk.world.both(guard, first)
    walk.foresee(walk.level_of(step))
    end = _simplified(walk.world, walk.block(step.then, state, inside))
    return merge_states(walk.world, first, unroll(walk, step, end, inside, rounds - 1), state)


def _simplified(world: World, state: State) -> State:
    """The state with counters simplified to numbers, so that indices are numbers too."""
    z3 = world.z3

    def plain(values: dict[str, Term]) -> dict[str, Term]:
        return {
            name: term if z3.is_bool(term) or term.is_real() else z3.simplify(term) for name, term in values.items()
        }

    return State(plain(state.first), plain(state.second), state.lengths, state.costs)


def violation(walk: Walk) -> Term:
    """The condition that some obligation fails although all assumptions before it hold."""
    z3 = walk.world.z3
    so_far = walk.world.truth(True)
    failures = []
    for event in walk.events:
        if event.claim:
            failures.append(z3.And(so_far, event.guard, z3.Not(event.term)))
        else:
            so_far = z3.And(so_far, z3.Implies(event.guard, event.term))
    return z3.Or(*failures)


def small_parameters(layout: ProgramLayout, program: Program) -> list[dict[str, Fraction]]:
    """Values for the parameters that are multiplied or divided by, in a few ways."""
    names = multiplied_parameters(layout, program)
    settings = [{"eps": Fraction(1), **{name: Fraction(value) for name in names}} for value in (1, 2)]
    return settings if names else settings[:1]


@dataclass(frozen=True)
class FailedCase:
    """A bounded case in which a guess failed: parameters and both inputs, for the refuter to try."""

    parameters: Mapping[str, Fraction]
    inputs: Mapping[str, Any]
    neighbours: Mapping[str, Any]


@dataclass
class BoundedCase:
    """A bounded case: its world, what breaks it, and the choices left open."""

    world: BoundedWorld
    breaks: Term
    plan: UnrolledPlan


@dataclass
class ShiftSearch:
    """Search for the simplest shifts that no bounded case breaks."""

    layout: ProgramLayout
    others: Mapping[str, Program]
    slots: Sequence[ShiftSlot]
    settled: Mapping[int, tuple[Expression, Expression]]
    backwards: bool
    deadline: float
    charge: Expression | None = None
    bound: Fraction | None = None
    misses: Mapping[int, Sequence[Expression]] = field(default_factory=dict)
    hints: list[FailedCase] = field(default_factory=list)

    def guesses(self) -> Iterator[list[Expression]]:
        """Guesses of one word per slot, without repetition."""
        self._guesser = _Guesser(load_z3(), self.slots)
        cases: list[BoundedCase] = []
        larger = [9] if self.layout.loops else []
        sizes = [1, 2, 3, 5] if self.layout.loops else [1]
        for rounds in sizes:
            cases += self._cases(rounds)
            if self._settle(cases) is None:
                return
        while time.thread_time() < self.deadline:
            guess = self._settle(cases)
            if guess is None:
                return
            yield [slot.words[place] for slot, place in zip(self.slots, guess, strict=True)]
            self._guesser.forbid(guess)
            if larger and time.thread_time() < self.deadline:
                cases += self._cases(larger.pop())  # it worked in small cases and not in all

    def _cases(self, rounds: int) -> list[BoundedCase]:
        cases = []
        for numbers in small_parameters(self.layout, self.layout.program):
            world = BoundedWorld(self.layout, rounds, numbers, backwards=self.backwards)
            plan = UnrolledPlan(world, self.slots, self.settled, self.charge, self.misses)
            walk = Walk(world, plan, self.others)
            walk.run(None if self.bound is None else world.number(self.bound))
            solver = world.z3.Solver(ctx=world.ctx)
            solver.add(*world.axioms)
            if solver.check() == world.z3.sat:
                cases.append(BoundedCase(world, violation(walk), plan))
        return cases

    def _settle(self, cases: list[BoundedCase]) -> list[int] | None:
        """A guess that no case breaks."""
        guess = self._guesser.guess()
        place = 0
        clean = 0
        while guess is not None and clean < len(cases):
            if time.thread_time() > self.deadline:
                return None
            case = cases[place % len(cases)]
            broken = self._broken(case, guess)
            if broken is None:
                clean += 1
                place += 1
                continue
            clean = 0
            self._guesser.learn(broken)
            again = self._guesser.guess()
            if again == guess:
                self._guesser.forbid(guess)
                again = self._guesser.guess()
            guess = again
        return guess

    def _broken(self, case: BoundedCase, guess: list[int]) -> Term | None:
        """A condition on all guesses, learned from a case that breaks this one; None if none does."""
        world, z3 = case.world, case.world.z3
        taken = [
            (take, world.truth(place == chosen))
            for (_, takes), chosen in zip(case.plan.choices, guess, strict=True)
            for place, take in enumerate(takes)
        ]
        solver = z3.Solver(ctx=world.ctx)
        solver.set("timeout", max(1, min(_CASE_MILLISECONDS, int(1000 * (self.deadline - time.thread_time())))))
        solver.add(*world.axioms, z3.simplify(z3.substitute(case.breaks, *taken)))
        if solver.check() != z3.sat:
            return None
        model = solver.model()
        values = [(unknown, model.eval(unknown, model_completion=True)) for unknown in world.unknowns]
        if len(self.hints) < _MAX_HINTS:
            self.hints.append(_failed_case(case.world, model))
        return z3.simplify(z3.Not(z3.substitute(case.breaks, *values)))


class _Guesser:
    """Chooses one word per slot, the simplest that satisfy everything learned."""

    def __init__(self, z3: Any, slots: Sequence[ShiftSlot]) -> None:
        self._z3, self._slots = z3, slots
        self._ctx = z3.Context()
        self._solver = z3.Solver(ctx=self._ctx)
        self._solver.set("timeout", _GUESS_MILLISECONDS)
        self._takes = [
            [z3.Bool(f"take {number} {place}", self._ctx) for place in range(len(slot.words))]
            for number, slot in enumerate(slots)
        ]
        weights = []
        for takes, slot in zip(self._takes, slots, strict=True):
            self._solver.add(z3.PbEq([(take, 1) for take in takes], 1))
            weights += list(zip(takes, slot.weights, strict=True))
        self._weights = [(take, weight) for take, weight in weights if weight]
        self._limit = 0

    def learn(self, condition: Term) -> None:
        self._solver.add(condition.translate(self._ctx))

    def forbid(self, guess: list[int]) -> None:
        taken = (takes[place] for takes, place in zip(self._takes, guess, strict=True))
        self._solver.add(self._z3.Not(self._z3.And(*taken, self._z3.BoolVal(True, self._ctx))))

    def guess(self) -> list[int] | None:
        z3 = self._z3
        largest = 3 * len(self._slots)
        while self._limit <= largest:
            self._solver.push()
            if self._weights:
                self._solver.add(z3.PbLe(self._weights, self._limit))
            answer = self._solver.check()
            model = self._solver.model() if answer == z3.sat else None
            self._solver.pop()
            if model is not None:
                taken = [[z3.is_true(model.eval(take, model_completion=True)) for take in one] for one in self._takes]
                return [one.index(True) for one in taken]
            self._limit += 1
        return None


def _failed_case(world: BoundedWorld, model: Any) -> FailedCase:
    def number(term: Term) -> Any:
        value = model.eval(term, model_completion=True)
        if world.z3.is_bool(value):
            return world.z3.is_true(value)
        return Fraction(value.as_long()) if value.is_int() else Fraction(str(value.as_fraction()))

    sides: list[dict[str, Any]] = [{}, {}]
    for given in world.program.inputs:
        for run, side in enumerate(sides, 1):
            if isinstance(given.type, ListOf):
                cells = [cell for (name, of, _), cell in world.cells() if (name, of) == (given.name, run)]
                side[given.name] = tuple(number(cell) for cell in cells)
            else:
                side[given.name] = number((world.first if run == 1 else world.second)[given.name])
    return FailedCase({"eps": world.fixed["eps"]}, sides[0], sides[1])

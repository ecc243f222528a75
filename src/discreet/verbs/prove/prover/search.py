"""Counterexample-guided search for shifts that work in all bounded cases.

A guess takes one word for each slot. A broken case is numbers for everything but the guess; put into what must
hold, it becomes a condition on the guess alone, so the next guess is right about every case seen so far.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.verbs.prove.kernel.layout import ProgramLayout
from discreet.verbs.prove.kernel.solver import Term
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.prover.bounded_cases import BoundedWorld, UnrolledPlan, small_parameters, violation
from discreet.verbs.prove.prover.shift_candidates import ShiftSlot
from discreet.verbs.prove.syntax import Expression, ListOf, Program

_CASE_MILLISECONDS = 4000
"""Time limit for deciding one bounded case."""
_GUESS_MILLISECONDS = 400
"""Time limit for one guess."""


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
    walk: Walk


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
        from discreet.verbs.prove.kernel.solver import load_z3

        z3 = load_z3()
        self._guesser = _Guesser(z3, self.slots)
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
                cases.append(BoundedCase(world, violation(walk), plan, walk))
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
            for choice, chosen in zip(case.plan.choices, guess, strict=True)
            for place, take in enumerate(choice.takes)
        ]
        solver = z3.Solver(ctx=world.ctx)
        solver.set("timeout", max(1, min(_CASE_MILLISECONDS, int(1000 * (self.deadline - time.thread_time())))))
        solver.add(*world.axioms, z3.simplify(z3.substitute(case.breaks, *taken)))
        if solver.check() != z3.sat:
            return None
        model = solver.model()
        values = [(unknown, model.eval(unknown, model_completion=True)) for unknown in world.unknowns]
        self._remember(case, model)
        return z3.simplify(z3.Not(z3.substitute(case.breaks, *values)))

    def _remember(self, case: BoundedCase, model: Any) -> None:
        if len(self.hints) < 40:
            self.hints.append(_failed_case(case, model))


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
        self._solver.add(
            self._z3.Not(
                self._z3.And(
                    *(t[place] for t, place in zip(self._takes, guess, strict=True)), self._z3.BoolVal(True, self._ctx)
                )
            )
        )

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
                return [
                    next(
                        place for place, take in enumerate(takes) if z3.is_true(model.eval(take, model_completion=True))
                    )
                    for takes in self._takes
                ]
            self._limit += 1
        return None


def _failed_case(case: BoundedCase, model: Any) -> FailedCase:
    world = case.world

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

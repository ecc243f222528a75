"""Inductive invariants by elimination (Houdini): candidates that a round does not preserve are dropped.

What is left is the strongest conjunction of candidates that is inductive. Then the ones that the proof
does not need are left out, by following unsatisfiable cores back from what must hold.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.verbs.prove.kernel.loop_rule import ProofTexts
from discreet.verbs.prove.kernel.solver import Term
from discreet.verbs.prove.kernel.walk import Obligation, Walk
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.prover.search import ShiftSearch
from discreet.verbs.prove.syntax import Expression

_QUERY_MILLISECONDS = 3000
"""Time limit of one solver query."""


class Induction:
    """One attempt to prove given shifts and charges for all sizes and parameters."""

    def __init__(
        self,
        search: ShiftSearch,
        shifts: Sequence[Expression],
        charges: Sequence[Expression],
        misses: Sequence[Sequence[Expression]],
        texts: Sequence[Sequence[str]],
    ) -> None:
        self.texts, self.deadline = texts, search.deadline
        self.world = World(search.layout, backwards=search.backwards)
        self._z3 = self.world.z3
        self._switches: dict[tuple[int, int], Term] = {}
        readings = [[parse_expression(text) for text in loop] for loop in texts]
        self.proof = ProofTexts(
            shifts, charges, readings, misses=misses, lockstep=search.bound is not None, switch=self._switch
        )
        self.walk = Walk(self.world, self.proof, search.others)
        self.walk.run(None if search.bound is None else self.world.number(search.bound))
        self.failed = ""

    def _switch(self, loop: int, place: int, holds: Term) -> Term:
        switch = self._z3.Bool(f"keep {loop} {place}", self.world.ctx)
        self._switches[loop, place] = switch
        return self._z3.Implies(switch, holds)

    def invariants(self) -> list[list[str]] | None:
        """The invariants of each loop, if they are enough."""
        active = set(self._switches)
        groups = self._groups()
        changed = True
        while changed:
            changed = False
            for group in groups:
                changed |= group.drop(active, self)
                if time.thread_time() > self.deadline:
                    self.failed = "time is up"
                    return None
        needed = self._needed(active)
        if needed is None:
            return None
        return [
            [text for place, text in enumerate(loop) if (number, place) in needed]
            for number, loop in enumerate(self.texts, 1)
        ]

    def _groups(self) -> list[_CandidateGroup]:
        groups: dict[tuple[str, int], _CandidateGroup] = {}
        before: list[Term] = []
        for event in self.walk.events:
            if not event.claim:
                before.append(self._z3.Implies(event.guard, event.term))
            elif event.tag is not None:
                when, loop, place = event.tag
                if (when, loop) not in groups:
                    groups[when, loop] = _CandidateGroup(self.world, list(before), event.guard)
                groups[when, loop].add((loop, place), event.term)
        return list(groups.values())

    def _needed(self, active: set[tuple[int, int]]) -> set[tuple[int, int]] | None:
        """The candidates needed for the obligations and for each other."""
        needed: set[tuple[int, int]] = set()
        done: set[tuple[int, int]] = set()
        goals = [(place, event) for place, event in enumerate(self.walk.events) if event.claim and event.tag is None]
        solvers = [_new_solver(self.world, hard=hard) for hard in (False, True)]
        for place, event in goals:
            core = self._core(solvers, place, event, active)
            if core is None:
                self.failed = event.what
                return None
            needed |= core
        for core in self._endings(solvers, active):
            if core is None:
                return None
            needed |= core
        while needed - done:
            new = needed - done
            done |= new
            for place, event in enumerate(self.walk.events):
                if event.tag is not None and event.tag[1:] in new:
                    core = self._core(solvers, place, event, active)
                    if core is None:
                        self.failed = event.what
                        return None
                    needed |= core
        return needed

    def _endings(self, solvers: list[Any], active: set[tuple[int, int]]) -> Iterator[set[tuple[int, int]] | None]:
        """The candidates needed for each loop to end, or else for its cost to stay within the claim at every round."""
        for end, begun, pairs in self.proof.measures:
            nearer = [Obligation(True, begun.inside, after <= before - 1, "") for before, after in pairs]
            cores = (self._core(solvers[:1], end, one, active) for one in nearer)
            core = next((one for one in cores if one is not None), None)
            if core is None:
                what = f"the rounds of the loop at line {begun.line}, which may not end, cost no more than is claimed"
                self.failed = what
                paid = Obligation(True, begun.inside, self.walk.within_claim(begun.state), what)
                fresh = [_new_solver(self.world, hard=hard) for hard in (False, True)]  # they know what paid is about
                core = self._core(fresh, begun.place, paid, active)
            yield core

    def _core(
        self, solvers: list[Any], place: int, event: Obligation, active: set[tuple[int, int]]
    ) -> set[tuple[int, int]] | None:
        for solver in solvers:
            if time.thread_time() > self.deadline:
                return None
            solver.push()
            for earlier in self.walk.events[:place]:
                if not earlier.claim:
                    solver.add(self._z3.Implies(earlier.guard, earlier.term))
            solver.add(event.guard, self._z3.Not(event.term))
            answer = solver.check(*(self._switches[key] for key in sorted(active)))
            core = {str(literal) for literal in solver.unsat_core()} if answer == self._z3.unsat else None
            solver.pop()
            if core is not None:
                return {key for key in active if f"keep {key[0]} {key[1]}" in core}
        return None


class _CandidateGroup:
    """Candidates of one loop at one place: before it, or after a round."""

    def __init__(self, world: World, before: list[Term], guard: Term) -> None:
        self._world, self._before, self._guard = world, before, guard
        self._terms: dict[tuple[int, int], Term] = {}
        self._solver: Any = None

    def add(self, key: tuple[int, int], term: Term) -> None:
        self._terms[key] = term

    def drop(self, active: set[tuple[int, int]], induction: Induction) -> bool:
        """Drop the candidates that fail here, and tell whether there were any."""
        z3 = self._world.z3
        if self._solver is None:
            self._solver = _new_solver(self._world)
            self._solver.add(*self._before, self._guard)
        changed = False
        while mine := [key for key in self._terms if key in active]:
            if time.thread_time() > induction.deadline:
                return changed
            self._solver.push()
            self._solver.add(z3.Or(*(z3.Not(self._terms[key]) for key in mine)))
            answer = self._solver.check(*(induction._switches[key] for key in active))
            if answer == z3.sat:
                model = self._solver.model()
                failing = {key for key in mine if not z3.is_true(model.eval(self._terms[key], model_completion=True))}
            self._solver.pop()
            if answer == z3.unsat:
                return changed
            if answer != z3.sat or not failing:
                failing = self._undecided(mine, active, induction)
                if not failing:
                    return changed
            active -= failing
            changed = True
        return changed

    def _undecided(
        self, mine: list[tuple[int, int]], active: set[tuple[int, int]], induction: Induction
    ) -> set[tuple[int, int]]:
        """One by one, where the solver could not decide them together."""
        z3, failing = self._world.z3, set()
        for key in mine:
            self._solver.push()
            self._solver.add(z3.Not(self._terms[key]))
            if self._solver.check(*(induction._switches[other] for other in active)) != z3.unsat:
                failing.add(key)
            self._solver.pop()
        return failing


def _new_solver(world: World, *, hard: bool = False) -> Any:
    solver = world.z3.Solver(ctx=world.ctx)
    solver.set("timeout", _QUERY_MILLISECONDS)
    solver.add(*world.axioms, *(world.hard if hard else []))
    return solver

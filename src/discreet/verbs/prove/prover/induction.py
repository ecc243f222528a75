"""Loop invariants: candidates from templates, and the elimination of those that a round does not preserve (Houdini).

What is left is the strongest conjunction of candidates that is inductive. Then the ones that the proof
does not need are left out, by following unsatisfiable cores back from what must hold.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout, assigned_variables, read_variables
from discreet.verbs.prove.kernel.loop_rule import ProofTexts, conjuncts
from discreet.verbs.prove.kernel.solver import Term
from discreet.verbs.prove.kernel.walk import Obligation, Walk
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.prover.dataflow import counters, differing_variables, shows_loop_variable
from discreet.verbs.prove.prover.search import ShiftSearch
from discreet.verbs.prove.syntax import (
    Assign,
    Expression,
    ListOf,
    Name,
    Number,
    Operation,
    Sample,
    While,
    statements,
    subexpressions,
)
from discreet.verbs.prove.unparse import expression_text

_Key: TypeAlias = tuple[int, int]
"""A candidate: number of its loop, and its index among the loop's candidates."""
_QUERY_MILLISECONDS = 3000
"""Time limit of one solver query, milliseconds."""


def invariant_candidates(
    layout: ProgramLayout, loop: NumberedStep, level: tuple[int, ...], charges: Sequence[Expression] = ()
) -> list[str]:
    """Candidate invariants about the variables a loop changes; ``level`` is the stack of loops, itself last.

    ``charges`` are those of all draws; the numbers in them are what costs may be multiples of.
    """
    return list(dict.fromkeys(_Templates(layout, loop, level, charges).all()))


class _Templates:
    def __init__(
        self, layout: ProgramLayout, loop: NumberedStep, level: tuple[int, ...], charges: Sequence[Expression]
    ) -> None:
        statement = loop.statement
        assert isinstance(statement, While)  # noqa: S101
        self.layout, self.loop, self.level, self.body = layout, loop, level, statement.body
        self.condition = statement.condition
        changed = sorted(name for name in assigned_variables(self.body) if layout.kinds[name] != "list")
        apart = differing_variables(layout)
        kinds = layout.kinds
        carried = [name for name in changed if not _local(name, loop)]
        self.changed = carried
        self.apart = [name for name in carried if name in apart]
        self.same = [name for name in carried if name not in apart]
        self.moved = [name for name in self.apart if kinds[name] in ("int", "real")]
        self.numbers = [name for name in self.same if kinds[name] in ("int", "real")]
        self.costs = [f"cost{site.number}''" for site, at in layout.sites if at and at[0] == level[0]]
        self.counters = counters(layout, loop.number)
        self.lists = [given.name for given in layout.program.private if isinstance(given.type, ListOf)]
        by = expression_text(layout.program.adjacent.by)
        self.by = by if layout.program.adjacent.by == Name(by) or by.isdigit() else f"({by})"
        literals = {part.value for charge in charges for part in subexpressions(charge) if isinstance(part, Number)}
        self.units = [str(value) for value in sorted(literals) if value.denominator > 1]
        self.steps = (
            []
            if layout.program.adjacent.kind == "any"
            else [self.by, str(2 * int(by)) if by.isdigit() else f"2 * {self.by}"]
        )
        if self.steps and not by.isdigit():
            self.steps.append("1")

    def all(self) -> Iterator[str]:
        yield from (f"{name}' == {name}" for name in self.changed)
        yield from self._bounds()
        yield from self._paid()
        yield from self._together()
        yield from self._changes()
        atoms = list(self._short() if self._winners() else self._changes())
        for guard in self._guards():
            yield from (f"not ({guard}) or {atom}" for atom in atoms)

    def _bounds(self) -> Iterator[str]:
        """Bounds of counters, and the loop condition one round later."""
        for name in self.changed:
            if self.layout.kinds[name] == "int":
                marks = (name, f"{name}'") if name in self.apart else (name,)
                for text in marks:
                    yield f"{text} >= 0"
                    yield f"{text} <= 1"
                    for counter in self.counters:
                        if counter != name:
                            yield f"{text} <= {counter}"
                            yield f"{text} < {counter} or {counter} == 0"
        for name in self.numbers:
            yield from (f"{name} >= 0",)
            for given in self.layout.program.inputs:
                if isinstance(given.type, ListOf) and self.layout.kinds[name] == "int":
                    yield f"{name} <= size({given.name})"
        for part in conjuncts(self.condition):
            match part:
                case Operation("<" | "<=", (left, right)):
                    yield from self._weaker(left, right)
                case Operation(">" | ">=", (right, left)):
                    yield from self._weaker(left, right)

    def _weaker(self, left: Expression, right: Expression) -> Iterator[str]:
        yield expression_text(Operation("<=", (left, right)))
        for statement in statements(self.body):
            match statement:
                case Assign(name, Operation("+", (Name(same), step))) if name == same and name in read_variables(left):
                    yield expression_text(Operation("<=", (left, Operation("+", (right, step)))))

    def _paid(self) -> Iterator[str]:
        """Bounds of costs: by a counter of the program, and in total by an account that it keeps."""
        for name in self.numbers:
            for cost in self.costs:
                yield from (
                    f"{cost} <= {name}" if step == "1" else f"{cost} <= {step} * {name}" for step in self._rates()
                )
                if self.layout.kinds[name] == "int" and name not in self.counters:
                    yield from (f"{cost} <= {step} * (1 - {name})" for step in self._rates())
            if self.layout.kinds[name] == "real" and self.costs:
                yield f"{self._money()} <= {name}"
        if self.layout.program.adjacent.kind in ("all", "inc", "dec"):
            for counter in self.counters:
                for moved in self.moved:
                    yield f"{moved}' - {moved} <= {self.by} * {counter}"
                    yield f"{moved} - {moved}' <= {self.by} * {counter}"
        if self.layout.program.adjacent.kind == "l1":
            for name in self.lists:
                for counter in self.counters:
                    spent = f"spent_{name}''[{counter}]"
                    yield from (f"{cost} <= {spent}" for cost in self.costs)
                    yield from (f"{cost} <= {unit} * {spent}" for cost in self.costs for unit in self.units)
                    for moved in self.moved:
                        for change in (f"{moved}' - {moved}", f"{moved} - {moved}'"):
                            yield f"{change} <= {spent}"
                            yield from (f"{cost} + ({change}) <= {spent}" for cost in self.costs)

    def _rates(self) -> list[str]:
        return [*self.steps, *self.units]

    def _money(self) -> str:
        parts = []
        for site, at in self.layout.sites:
            statement = site.statement
            if self.loop.number in at and isinstance(statement, Sample):
                parts.append(f"cost{site.number}'' * (1 / ({expression_text(statement.arguments[0])}))")
        return " + ".join(parts) or "0"

    def _shown(self) -> list[str]:
        """Variables that are output after the loop and may single out one of its rounds."""
        around = self.level[:-1]
        return [
            f"shown{step.number}''"
            for step, at in self.layout.outputs
            if at == around[: len(at)] and self.layout.shown(step) == "int"
        ]

    def _winners(self) -> list[str]:
        """Those variables that this loop sets, if there are several."""
        outputs = [f"shown{step.number}''" for step, _ in self.layout.outputs if shows_loop_variable(step, self.loop)]
        shown = [name for name in self._shown() if name in outputs]
        return shown if len(shown) > 1 else []

    def _together(self) -> Iterator[str]:
        """For several singled-out rounds: which are different, in what, and their joint cost."""
        shown = self._winners()
        if not shown:
            return
        for counter in self.counters:
            for one, two in combinations(self.moved, 2):
                if self.layout.kinds[one] == self.layout.kinds[two] == "int":
                    yield f"{counter} <= 1 or {one} != {two}"
                elif self.layout.kinds[one] == self.layout.kinds[two]:
                    yield f"{one} <= {two}"
                    yield f"{two} <= {one}"
                    yield f"{counter} > 1 or {one} == {two}"
            past = " + ".join(f"(1 if {counter} > {output} else 0)" for output in shown)
            yield from (f"{cost} <= {step} * ({past})" for cost in self.costs for step in self.steps)

    def _short(self) -> Iterator[str]:
        """Only the strongest relations, since several singled-out rounds need many guards."""
        yield from (f"{name}' == {name}" for name in self.apart)
        for name in self.moved:
            if self.layout.kinds[name] == "real":
                yield from (f"{name}' - {name} >= {self.by}", f"{name} - {name}' >= {self.by}")
        yield from (f"{cost} <= {limit}" for cost in self.costs for limit in ("0", *self.steps[:2]))

    def _guards(self) -> Iterator[str]:
        winners = self._winners()
        shown = winners or self._shown()
        for counter in self.counters:
            if shown and self.apart:
                yield f"{counter} == 0"
            if self.layout.program.adjacent.kind == "one":
                yield f"{counter} <= where''"
                yield f"{counter} > where''"
            for output in shown:
                alone = "".join(f" and {output} != {other}" for other in winners if other != output)
                yield f"{counter} <= {output}"
                yield f"0 < {counter} and {counter} <= {output}"
                yield f"{counter} > {output}"
                for name in self.apart:
                    if self.layout.kinds[name] == "int":
                        yield f"{counter} > {output} and {name} == {output}{alone}"
        if len(self.layout.program.private) > 1 and self.layout.program.adjacent.kind == "one":
            yield from (f"which'' != {place}" for place in range(len(self.layout.program.private)))

    def _changes(self) -> Iterator[str]:
        """Differences of variables, costs, and their sums."""
        limits = ["0", *self.steps]
        for name in self.apart:
            yield f"{name}' == {name}"
        for name in self.moved:
            for limit in limits:
                yield f"{name}' - {name} <= {limit}"
                yield f"{name} - {name}' <= {limit}"
                if limit != "0":
                    yield f"{name}' - {name} >= {limit}"
                    yield f"{name} - {name}' >= {limit}"
        for cost in self.costs:
            yield from (f"{cost} <= {limit}" for limit in [*limits, *self.units])
            for name in self.moved:
                for limit in self.steps:
                    yield f"{cost} + ({name}' - {name}) <= {limit}"
                    yield f"{cost} + ({name} - {name}') <= {limit}"


def _local(name: str, loop: NumberedStep) -> bool:
    """Whether every round sets a variable before it reads it."""
    for step in loop.then:
        statement = step.statement
        match statement:
            case Assign(written_, value) if name not in read_variables(value):
                if written_ == name:
                    return True
            case Sample(written_, _, arguments) if not any(name in read_variables(argument) for argument in arguments):
                if written_ == name:
                    return True
            case _:
                return False
    return False


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
        self._switches: dict[_Key, Term] = {}
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
        """Invariants of each loop, if they suffice for the proof."""
        active = set(self._switches)
        groups = self._groups()
        changed = True
        while changed:
            changed = False
            for group in groups:
                changed |= group.drop(active, self)
                if time.thread_time() > self.deadline:
                    self.failed = "the time limit was reached"
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

    def _needed(self, active: set[_Key]) -> set[_Key] | None:
        """Candidates needed for the obligations and for each other."""
        needed: set[_Key] = set()
        done: set[_Key] = set()
        goals = [(place, event) for place, event in enumerate(self.walk.events) if event.claim and event.tag is None]
        solvers = [_new_solver(self.world, hard=hard) for hard in (False, True)]
        for place, event in goals:
            if (core := self._core(solvers, place, event, active)) is None:
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
                    if (core := self._core(solvers, place, event, active)) is None:
                        return None
                    needed |= core
        return needed

    def _endings(self, solvers: list[Any], active: set[_Key]) -> Iterator[set[_Key] | None]:
        """Candidates needed for each loop to terminate, or else for its cost to stay within the claim."""
        for end, begun, pairs in self.proof.measures:
            nearer = [Obligation(True, begun.inside, after <= before - 1, "") for before, after in pairs]
            cores = (self._core(solvers[:1], end, one, active) for one in nearer)
            core = next((one for one in cores if one is not None), None)
            if core is None:
                loop = f"the loop at line {begun.line}, which may not terminate,"
                what = f"the iterations of {loop} cost no more than the claim"
                paid = Obligation(True, begun.inside, self.walk.within_claim(begun.state), what)
                fresh = [_new_solver(self.world, hard=hard) for hard in (False, True)]  # they know what paid is about
                core = self._core(fresh, begun.place, paid, active)
            yield core

    def _core(self, solvers: list[Any], place: int, event: Obligation, active: set[_Key]) -> set[_Key] | None:
        for solver in solvers:
            if time.thread_time() > self.deadline:
                break
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
        self.failed = event.what
        return None


class _CandidateGroup:
    """Candidates of one loop at one point: before it, or after a round."""

    def __init__(self, world: World, before: list[Term], guard: Term) -> None:
        self._world, self._before, self._guard = world, before, guard
        self._terms: dict[_Key, Term] = {}
        self._solver: Any = None

    def add(self, key: _Key, term: Term) -> None:
        self._terms[key] = term

    def drop(self, active: set[_Key], induction: Induction) -> bool:
        """Drop the candidates that fail here; whether there were any."""
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

    def _undecided(self, mine: list[_Key], active: set[_Key], induction: Induction) -> set[_Key]:
        """Check candidates one by one, where the solver could not decide them together."""
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

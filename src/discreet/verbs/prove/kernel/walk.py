"""Once through a program with both runs side by side: what may be assumed, and what must hold.

Why it proves privacy (pure). Call *trace* the outcomes of all visible branches and loop conditions and all outputs
that are no real numbers; there are countably many. Fix one, z, and neighbours x, x'. The second run's draws are a
function of the first run's: each is moved by a shift that reads z, the inputs, and what was drawn before, never the
draw itself. z says which draws there are, so the function is triangular with slope 1 (on integers and coins: one to
one), hence keeps volumes. At each draw the density of the value is at most e^(|shift| / scale) times that of the
moved value. The walk demands that whenever the first run has trace z, the second run with the moved draws has trace z
and the same real outputs, and that the costs add up to at most the claim. Then P(x: z, B) <= e^claim P(x': z, B) for
every set B of real outputs; sum over z. Hiding the outcomes of branches afterwards is post-processing.

The trace is known to shifts as unknowns (``branchN''``, ``shownN''``): at the branch the first run is *assumed* to go
that way, the second *shown* to. A draw inside a loop may read the outcomes of its own round only.

Ties. A proof may say that a continuous draw is not some value. What it names reads what a shift may read, so for each z
it is a function of what was drawn before, which the draw hits with probability 0. z has finitely many draws, so those
runs are few enough to be left out on the left side of what is to be shown.

Faults (an index outside a list, a division by 0) must be impossible in both runs. Conditions with ``and`` and ``or``
are taken to evaluate all their parts, so nothing depends on their order.

Runs that may not end. ``Proof.rounds`` are the heads of loops. Where a loop is not shown to end, the checker demands
that what was paid before each of its rounds is within the claim. Then the argument above holds for traces up to any
round, with an arbitrary value for what is foreseen and was not reached: the conditions up to there were shown for all
values. A run that has shown something ends, or gets to the head of such a loop again; so what it has shown so far is a
sum over such traces, and what it shows without end a limit of these.

What must hold may use only what was assumed before it (``events`` are in order): an invariant is never its own
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from discreet.verbs.prove.kernel.layout import Layout, Step, Unsupported, assigned
from discreet.verbs.prove.kernel.state import Run, Scope, State, merged
from discreet.verbs.prove.kernel.values import Term
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.syntax import (
    Assign,
    Call,
    Emit,
    Expression,
    If,
    Joined,
    Listing,
    Name,
    Program,
    Return,
    Sample,
    While,
)


@dataclass(frozen=True)
class Event:
    """Something assumed, or (``claim``) something that must hold; ``guard`` is when. ``tag`` is the loop rule's own."""

    claim: bool
    guard: Term
    term: Term
    what: str
    tag: tuple[str, int, int] | None = None


class Plan(Protocol):
    """What the proof says: shifts and charges at draws, and how to pass a loop."""

    lockstep: bool

    def shift(self, site: int, scope: Scope) -> Term: ...
    def charge(self, site: int, scope: Scope) -> Expression | Term: ...
    def misses(self, site: int, scope: Scope) -> list[Term]: ...
    def loop(self, walk: Walk, step: Step, state: State, guard: Term) -> State: ...


class Walk:
    """The events of one program under one plan. ``bound`` is what the whole may cost, ``rates`` what a charge costs."""

    def __init__(self, world: World, plan: Plan, others: Mapping[str, Program]) -> None:
        self.world, self.plan, self.others = world, plan, others
        self.layout: Layout = world.layout
        self.events: list[Event] = []
        self.rates: dict[int, Term] = {}
        self.seen: dict[str, Term] = {}
        self.limit: Term = None

    def run(self, bound: Term | None = None) -> State:
        """Walk from the beginning to the end, where the cost must be within the claim (or ``bound``)."""
        world = self.world
        state = State(dict(world.first), dict(world.second), {}, {})
        for name, kind in self.layout.kinds.items():
            if name in self.layout.assigned and kind == "list":
                state.lengths[name] = world.number(0, "int")
            elif name in self.layout.assigned and name not in state.first:
                state.first[name], state.second[name] = world.new(name, kind), world.new(name + "'", kind)
        state.costs = {step.number: world.number(0) for step, _ in self.layout.sites}
        self.foresee(())
        everywhere = world.truth(True)
        end = self.block(self.layout.steps, state, everywhere)
        self.limit = world.real(world.public(world.program.epsilon)) if bound is None else bound
        self.must(everywhere, self.afforded(end), "the cost is within the claim")
        return end

    def afforded(self, state: State) -> Term:
        """Whether what was paid so far is within the claim; to be asked after the walk, which finds the rates."""
        paid = (self._paid(state, site) for site in state.costs)
        return self.world.z3.Sum(*paid, self.world.number(0)) <= self.limit

    def _paid(self, end: State, site: int) -> Term:
        """What a draw cost in all. To help the solver: what is at most c costs at most c times the rate."""
        world = self.world
        total, rate = world.named(end.costs[site], f"total{site}"), self.rates[site]
        for limit in (world.number(1), world.by, 2 * world.by):
            low = world.both(total <= limit, rate >= 0)
            world.hard.append(world.z3.Implies(low, total * rate <= limit * rate))
        return total * rate

    # -- events -------------------------------------------------------------------------------------------------------

    def given(self, guard: Term, term: Term, what: str = "") -> None:
        self.events.append(Event(False, guard, term, what))

    def must(self, guard: Term, term: Term, what: str, tag: tuple[str, int, int] | None = None) -> None:
        self.events.append(Event(True, guard, term, what, tag))

    def foresee(self, level: tuple[int, ...]) -> None:
        """Fresh unknowns for what will be seen in one round of a loop (or outside all loops)."""
        for step, at in self.layout.branches:
            if at == level:
                self.seen[f"branch{step.number}''"] = self.world.new(f"branch{step.number}''", "bool")
        for step, at in self.layout.outputs:
            kind = self.layout.shown(step)
            if at == level and kind in ("int", "bool"):
                self.seen[f"shown{step.number}''"] = self.world.new(f"shown{step.number}''", kind)

    def scope(self, state: State, level: tuple[int, ...], hidden: str = "", *, foreseen: bool = True) -> Scope:
        """What texts of the proof may read at a point inside these loops: what is seen in the rounds it is in."""
        allowed = {
            f"{word}{step.number}''"
            for word, steps in (("branch", self.layout.branches), ("shown", self.layout.outputs))
            for step, at in steps
            if at == level[: len(at)]
        }
        seen = {name: term for name, term in self.seen.items() if foreseen and name in allowed}
        return Scope(self.world, state, seen, hidden)

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, steps: tuple[Step, ...], state: State, guard: Term) -> State:
        for outputs, some in groupby(steps, lambda step: isinstance(step.statement, Emit | Return)):
            if outputs:
                self.shown(tuple(some), state, guard)
            else:
                for step in some:
                    state = self.step(step, state, guard)
        return state

    def step(self, step: Step, state: State, guard: Term) -> State:
        match step.statement:
            case Assign(name, value) if self.layout.kinds[name] == "list":
                made = state.copy()
                made.lengths[name] = self.listed(value, state, guard)
                return made
            case Assign(name, value):
                made = state.copy()
                made.first[name], made.second[name] = self.values(value, state, guard)
                return made
            case Sample() | Call():
                from discreet.verbs.prove.kernel.draws import drawn

                return drawn(self, step, state, guard)
            case If() if step.number:
                return self.branch(step, state, guard)
            case If():
                return self.each(step, state, guard)
            case While():
                return self.plan.loop(self, step, state, guard)
        return state

    def values(self, expression: Expression, state: State, guard: Term) -> tuple[Term, Term]:
        """The value of an expression in both runs, where it must have one."""
        return self.value(expression, state, guard, 1), self.value(expression, state, guard, 2)

    def value(self, expression: Expression, state: State, guard: Term, run: int) -> Term:
        safe: list[Term] = []
        found = Run(self.world, state, run).value(expression, safe)
        for condition in safe:
            self.must(guard, condition, "no index is outside its list and nothing is divided by 0")
        return found

    def branch(self, step: Step, state: State, guard: Term) -> State:
        """A visible branch: the first run goes as foreseen, so the second must."""
        statement = step.statement
        assert isinstance(statement, If)  # noqa: S101
        first, second = self.values(statement.condition, state, guard)
        foreseen = self.seen[f"branch{step.number}''"]
        self.given(guard, first == foreseen)
        self.must(guard, second == foreseen, f"both runs go the same way at line {statement.at.line}")
        then = self.block(step.then, state, self.world.both(guard, foreseen))
        other = self.block(step.other, state, self.world.both(guard, self.world.z3.Not(foreseen)))
        return merged(self.world, foreseen, then, other)

    def each(self, step: Step, state: State, guard: Term) -> State:
        """A branch that nobody sees: each run takes its own way."""
        made = state.copy()
        made.first = self._alone(step, state, guard, 1).first
        made.second = self._alone(step, state, guard, 2).second
        return made

    def _alone(self, step: Step, state: State, guard: Term, run: int) -> State:
        statement = step.statement
        if isinstance(statement, Assign):
            made = state.copy()
            values = made.first if run == 1 else made.second
            values[statement.name] = self.value(statement.value, state, guard, run)
            return made
        if not isinstance(statement, If):
            raise Unsupported("something visible inside a branch that is not")
        condition = self.value(statement.condition, state, guard, run)
        then, other = state, state
        for inner in step.then:
            then = self._alone(inner, then, self.world.both(guard, condition), run)
        for inner in step.other:
            other = self._alone(inner, other, self.world.both(guard, self.world.z3.Not(condition)), run)
        return merged(self.world, condition, then, other)

    # -- what is shown ------------------------------------------------------------------------------------------------

    def shown(self, steps: tuple[Step, ...], state: State, guard: Term) -> None:
        """What both runs show must be the same. If it is no real number, it is foreseen, as a branch is.

        Outputs that follow each other with nothing between them are one output of several values: none is shown by
        a run that does not show all of them, since none may be a fault. So the first run shows all as foreseen before
        anything is demanded of the second.
        """
        found = []
        for step in steps:
            value = step.statement
            assert isinstance(value, Emit | Return)  # noqa: S101
            if self.layout.shown(step) == "list":
                self.listed(value.value, state, guard)
            else:
                found.append((step, *self.values(value.value, state, guard)))
        same = []
        for step, first, second in found:
            foreseen = self.seen.get(f"shown{step.number}''")
            if foreseen is not None:
                self.given(guard, self.world.equal(first, foreseen))
            same.append((self.world.equal(first if foreseen is None else foreseen, second), step.statement.at.line))
        for equal, line in same:
            self.must(guard, equal, f"both runs show the same at line {line}")

    def listed(self, value: Expression, state: State, guard: Term) -> Term:
        """The length of a list that the program makes. Its items must be the same in both runs, as if shown."""
        match value:
            case Name(name) if name in state.lengths:
                return state.lengths[name]
            case Listing(items):
                for item in items:
                    first, second = self.values(item, state, guard)
                    equal = self.world.equal(first, second)
                    self.must(guard, equal, f"both runs put the same into the list at line {value.at.line}")
                return self.world.number(len(items), "int")
            case Joined(left, right):
                return self.listed(left, state, guard) + self.listed(right, state, guard)
        raise Unsupported("a list that is an input, used as a value")

    # -- loops --------------------------------------------------------------------------------------------------------

    def forgotten(self, step: Step, state: State) -> State:
        """The state after any number of rounds: what a loop changes may be anything."""
        statement = step.statement
        assert isinstance(statement, While)  # noqa: S101
        made = state.copy()
        for name in sorted(assigned(statement.body)):
            kind = self.layout.kinds[name]
            if kind == "list":
                made.lengths[name] = self.world.new(f"size {name}", "int")
            else:
                made.first[name], made.second[name] = self.world.new(name, kind), self.world.new(name + "'", kind)
        for site, level in self.layout.sites:
            if step.number in level:
                made.costs[site.number] = self.world.new(f"cost{site.number}''", "real")
        return made

    def level_of(self, step: Step) -> tuple[int, ...]:
        """The loops around the rounds of a loop, with itself."""
        return self.layout.levels()[step.number - 1][1]

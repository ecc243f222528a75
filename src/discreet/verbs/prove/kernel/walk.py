"""The walk through a program with both runs side by side: its assumptions and proof obligations.

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

Runs that may not end. ``ProofTexts.rounds`` are the heads of loops. Where a loop is not shown to end, the checker
demands that what was paid before each of its rounds is within the claim. Then the argument above holds for traces up to
any round, with an arbitrary value for what is foreseen and was not reached: the conditions up to there were shown for
all values. A run that has shown something ends, or gets to the head of such a loop again; so what it has shown so far
is a sum over such traces, and what it shows without end a limit of these.

What must hold may use only what was assumed before it (``events`` are in order): an invariant is never its own
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from discreet.verbs.prove import syntax
from discreet.verbs.prove.kernel.call_rule import call_rule
from discreet.verbs.prove.kernel.distribution_rules import draw_rule
from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout, assigned_variables
from discreet.verbs.prove.kernel.solver import Term, Unsupported
from discreet.verbs.prove.kernel.state import ProofScope, RunReader, State, merge_states
from discreet.verbs.prove.kernel.world import World


@dataclass(frozen=True)
class Obligation:
    """An assumption or (``claim``) a proof obligation, under a ``guard``; ``tag`` is for the loop rule."""

    claim: bool
    guard: Term
    term: Term
    what: str
    tag: tuple[str, int, int] | None = None


class ProofPlan(Protocol):
    """A proof plan: shifts and charges of draws, and the treatment of loops."""

    lockstep: bool

    def shift(self, site: int, scope: ProofScope) -> Term: ...
    def charge(self, site: int, scope: ProofScope) -> syntax.Expression | Term: ...
    def misses(self, site: int, scope: ProofScope) -> list[Term]: ...
    def loop(self, walk: Walk, step: NumberedStep, state: State, guard: Term) -> State: ...


class Walk:
    """The obligations of one program under one plan.

    ``bound`` is what the whole may cost, ``rates`` what a charge costs.
    """

    def __init__(self, world: World, plan: ProofPlan, others: Mapping[str, syntax.Program]) -> None:
        self.world, self.plan, self.others = world, plan, others
        self.layout: ProgramLayout = world.layout
        self.events: list[Obligation] = []
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
        self.require(everywhere, self.within_claim(end), "the cost is within the claim")
        return end

    def within_claim(self, state: State) -> Term:
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

    def assume(self, guard: Term, term: Term, what: str = "") -> None:
        self.events.append(Obligation(False, guard, term, what))

    def require(self, guard: Term, term: Term, what: str, tag: tuple[str, int, int] | None = None) -> None:
        self.events.append(Obligation(True, guard, term, what, tag))

    def foresee(self, level: tuple[int, ...]) -> None:
        """Fresh unknowns for what will be seen in one round of a loop (or outside all loops)."""
        for step, at in self.layout.branches:
            if at == level:
                self.seen[f"branch{step.number}''"] = self.world.new(f"branch{step.number}''", "bool")
        for step, at in self.layout.outputs:
            kind = self.layout.shown(step)
            if at == level and kind in ("int", "bool"):
                self.seen[f"shown{step.number}''"] = self.world.new(f"shown{step.number}''", kind)

    def scope(self, state: State, level: tuple[int, ...], hidden: str = "", *, foreseen: bool = True) -> ProofScope:
        """What texts of the proof may read at a point inside these loops: what is seen in the rounds it is in."""
        allowed = {
            f"{word}{step.number}''"
            for word, steps in (("branch", self.layout.branches), ("shown", self.layout.outputs))
            for step, at in steps
            if at == level[: len(at)]
        }
        seen = {name: term for name, term in self.seen.items() if foreseen and name in allowed}
        return ProofScope(self.world, state, seen, hidden)

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, steps: tuple[NumberedStep, ...], state: State, guard: Term) -> State:
        for outputs, some in groupby(steps, lambda step: isinstance(step.statement, syntax.Emit | syntax.Return)):
            if outputs:
                self.outputs(tuple(some), state, guard)
            else:
                for step in some:
                    state = self.step(step, state, guard)
        return state

    def step(self, step: NumberedStep, state: State, guard: Term) -> State:
        match step.statement:
            case syntax.Assign(name, value) if self.layout.kinds[name] == "list":
                after = state.copy()
                after.lengths[name] = self.list_length(value, state, guard)
                return after
            case syntax.Assign(name, value):
                after = state.copy()
                after.first[name], after.second[name] = self.values(value, state, guard)
                return after
            case syntax.Sample() as draw:
                return draw_rule(self, step, draw, state, guard)
            case syntax.Call() as call:
                return call_rule(self, step, call, state, guard)
            case syntax.If() if step.number:
                return self.branch(step, state, guard)
            case syntax.If():
                return self.hidden_branch(step, state, guard)
            case syntax.While():
                return self.plan.loop(self, step, state, guard)
        return state

    def values(self, expression: syntax.Expression, state: State, guard: Term) -> tuple[Term, Term]:
        """The value of an expression in both runs, where it must have one."""
        return self.value(expression, state, guard, 1), self.value(expression, state, guard, 2)

    def value(self, expression: syntax.Expression, state: State, guard: Term, run: int) -> Term:
        safe: list[Term] = []
        term = RunReader(self.world, state, run).value(expression, safe)
        for condition in safe:
            self.require(guard, condition, "no index is outside its list and nothing is divided by 0")
        return term

    def branch(self, step: NumberedStep, state: State, guard: Term) -> State:
        """A visible branch: the first run goes as foreseen, so the second must."""
        statement = step.statement
        assert isinstance(statement, syntax.If)  # noqa: S101
        first, second = self.values(statement.condition, state, guard)
        foreseen = self.seen[f"branch{step.number}''"]
        self.assume(guard, first == foreseen)
        self.require(guard, second == foreseen, f"both runs take the same branch at line {statement.at.line}")
        then = self.block(step.then, state, self.world.both(guard, foreseen))
        other = self.block(step.other, state, self.world.both(guard, self.world.z3.Not(foreseen)))
        return merge_states(self.world, foreseen, then, other)

    def hidden_branch(self, step: NumberedStep, state: State, guard: Term) -> State:
        """A hidden branch: each run takes its own side."""
        after = state.copy()
        after.first = self._alone(step, state, guard, 1).first
        after.second = self._alone(step, state, guard, 2).second
        return after

    def _alone(self, step: NumberedStep, state: State, guard: Term, run: int) -> State:
        statement = step.statement
        if isinstance(statement, syntax.Assign):
            after = state.copy()
            values = after.first if run == 1 else after.second
            values[statement.name] = self.value(statement.value, state, guard, run)
            return after
        if not isinstance(statement, syntax.If):
            raise Unsupported("a draw or an output in a branch that only one of the two runs takes")
        condition = self.value(statement.condition, state, guard, run)
        then, other = state, state
        for inner in step.then:
            then = self._alone(inner, then, self.world.both(guard, condition), run)
        for inner in step.other:
            other = self._alone(inner, other, self.world.both(guard, self.world.z3.Not(condition)), run)
        return merge_states(self.world, condition, then, other)

    # -- what is shown ------------------------------------------------------------------------------------------------

    def outputs(self, steps: tuple[NumberedStep, ...], state: State, guard: Term) -> None:
        """What both runs show must be the same. If it is no real number, it is foreseen, as a branch is.

        Outputs that follow each other with nothing between them are one output of several values: none is shown by
        a run that does not show all of them, since none may be a fault. So the first run shows all as foreseen before
        anything is demanded of the second.
        """
        shown = []
        for step in steps:
            value = step.statement
            assert isinstance(value, syntax.Emit | syntax.Return)  # noqa: S101
            if self.layout.shown(step) == "list":
                self.list_length(value.value, state, guard)
            else:
                shown.append((step, *self.values(value.value, state, guard)))
        same = []
        for step, first, second in shown:
            foreseen = self.seen.get(f"shown{step.number}''")
            if foreseen is not None:
                self.assume(guard, self.world.equal(first, foreseen))
            same.append((self.world.equal(first if foreseen is None else foreseen, second), step.statement.at.line))
        for equal, line in same:
            self.require(guard, equal, f"both runs output the same at line {line}")

    def list_length(self, value: syntax.Expression, state: State, guard: Term) -> Term:
        """The length of a list that the program makes. Its items must be the same in both runs, as if shown."""
        match value:
            case syntax.Name(name) if name in state.lengths:
                return state.lengths[name]
            case syntax.Listing(items):
                for item in items:
                    first, second = self.values(item, state, guard)
                    equal = self.world.equal(first, second)
                    self.require(guard, equal, f"both runs put the same items into the list at line {value.at.line}")
                return self.world.number(len(items), "int")
            case syntax.Joined(left, right):
                return self.list_length(left, state, guard) + self.list_length(right, state, guard)
        raise Unsupported("a list that is an input, used as a value")

    # -- loops --------------------------------------------------------------------------------------------------------

    def havoc(self, step: NumberedStep, state: State) -> State:
        """The state after any number of rounds: what a loop changes may be anything."""
        statement = step.statement
        assert isinstance(statement, syntax.While)  # noqa: S101
        after = state.copy()
        for name in sorted(assigned_variables(statement.body)):
            kind = self.layout.kinds[name]
            if kind == "list":
                after.lengths[name] = self.world.new(f"size {name}", "int")
            else:
                after.first[name], after.second[name] = self.world.new(name, kind), self.world.new(name + "'", kind)
        for site, level in self.layout.sites:
            if step.number in level:
                after.costs[site.number] = self.world.new(f"cost{site.number}''", "real")
        return after

    def level_of(self, step: NumberedStep) -> tuple[int, ...]:
        """The loops around the rounds of a loop, with itself."""
        return self.layout.levels()[step.number - 1][1]

"""Bounded cases of a program: lists of a few items, unrolled loops, numbers for parameters.

Only for the search. What is true of bounded cases is a guess; the induction and the checker say whether it is a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout
from discreet.verbs.prove.kernel.solver import Kind, Term, Unsupported
from discreet.verbs.prove.kernel.state import ProofScope, State, merge_states
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.prover.dataflow import multiplied_parameters
from discreet.verbs.prove.prover.shift_candidates import ShiftSlot
from discreet.verbs.prove.syntax import Expression, Input, ListOf, Program, While

_MAX_LIST_ITEMS = 1000
"""Most items of a list in a bounded case."""


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
                self._close(number, first, second, self.both(self.which == number, self.where == place))
                if kind != "bool":
                    changes.append(self.absolute(self.real(second - first)))
        if given.private and self.kind == "l1" and changes:
            self.axioms.append(self.z3.Sum(*changes) <= self._budgets[self.program.private.index(given)])

    def item(self, name: str, run: int, index: Term) -> Term:
        cells = [cell for (of, which, _), cell in self._cells.items() if (of, which) == (name, run)]
        if not self.z3.is_int(index):
            raise Unsupported("an index that is no integer")
        index = self.z3.simplify(index)
        if not cells:
            return self.new(name, self.layout.kinds[f"{name}[]"])
        if self.z3.is_int_value(index):
            return cells[index.as_long() % len(cells)]
        item = cells[0]
        for place, cell in enumerate(cells[1:], 1):
            item = self.z3.If(index == place, cell, item)
        return item


@dataclass
class WordChoice:
    """One unknown for each word of each slot: which is taken."""

    slot: ShiftSlot
    takes: list[Term]


class UnrolledPlan:
    """A plan with the shifts left open, and loops of at most so many rounds."""

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
            WordChoice(slot, [world.z3.Bool(f"take {number} {place}", world.ctx) for place in range(len(slot.words))])
            for number, slot in enumerate(slots)
        ]
        self._last: dict[int, Term] = {}

    def shift(self, site: int, scope: ProofScope) -> Term:
        if site in self._settled:
            return scope.value(self._settled[site][0])
        z3, shift = self.world.z3, None
        for choice in self.choices:
            if choice.slot.site != site:
                continue
            values = [scope.value(word) for word in choice.slot.words]
            if any(not z3.is_int(value) for value in values):
                values = [self.world.real(value) for value in values]
            chosen = values[0]
            for take, value in zip(choice.takes[1:], values[1:], strict=True):
                chosen = z3.If(take, value, chosen)
            shift = (
                chosen if shift is None else z3.If(scope.value(choice.slot.when), *self.world.same_sort(chosen, shift))
            )
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
    walk.require(guard, first == second, f"both runs go on or stop together at line {step.statement.at.line}")
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

"""The rule of loops: invariants that hold before the first iteration and are preserved by each hold after the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.verbs.prove.kernel.layout import NumberedStep
from discreet.verbs.prove.kernel.solver import Term
from discreet.verbs.prove.kernel.state import ProofScope, RunReader, State
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.syntax import Expression, Operation, While


@dataclass(frozen=True)
class LoopRound:
    """The place in the obligations where a round of a loop begins, its guard and its state."""

    place: int
    inside: Term
    line: int
    state: State


class ProofTexts:
    """A proof plan from expressions: a shift and a charge per draw, invariants per loop.

    ``switch`` may put an invariant under a condition (the prover searches that way). ``rounds`` are
    the places in the events at which a round of a loop begins, ``measures`` those at which it has ended.
    """

    def __init__(
        self,
        shifts: Sequence[Expression],
        charges: Sequence[Expression],
        invariants: Sequence[Sequence[Expression]],
        *,
        misses: Sequence[Sequence[Expression]] = (),
        lockstep: bool = False,
        switch: Callable[[int, int, Term], Term] | None = None,
    ) -> None:
        self.lockstep = lockstep
        self._shifts, self._charges, self._invariants, self._switch = shifts, charges, invariants, switch
        self._misses = misses
        self.rounds: list[LoopRound] = []
        self.measures: list[tuple[int, LoopRound, list[tuple[Term, Term]]]] = []

    def shift(self, site: int, scope: ProofScope) -> Term:
        return scope.value(self._shifts[site - 1])

    def charge(self, site: int, scope: ProofScope) -> Expression:
        scope.value(self._charges[site - 1])
        return self._charges[site - 1]

    def misses(self, site: int, scope: ProofScope) -> list[Term]:
        return [scope.number(value) for value in self._misses[site - 1]] if self._misses else []

    def loop(self, walk: Walk, step: NumberedStep, state: State, guard: Term) -> State:
        """Apply the loop rule: both runs must agree on every condition of the loop, as at a visible branch."""
        statement = step.statement
        assert isinstance(statement, While)  # noqa: S101
        level = walk.level_of(step)
        around = level[:-1]
        texts = self._invariants[step.number - 1]
        self._require(walk, step, state, guard, "begin")
        after = walk.havoc(step, state)
        for length in after.lengths.values():
            walk.assume(guard, length >= 0)
        scope = walk.scope(after, around)
        for place, text in enumerate(texts):
            holds = scope.truth(text)
            walk.assume(guard, self._switch(step.number, place, holds) if self._switch else holds)
        first, second = walk.values(statement.condition, after, guard)
        walk.require(
            guard, first == second, f"both runs continue or leave the loop together at line {statement.at.line}"
        )
        inside = walk.world.both(guard, first)
        begun = LoopRound(len(walk.events), inside, statement.at.line, after)
        self.rounds.append(begun)
        walk.foresee(level)
        end = walk.block(step.then, after, inside)
        self._require(walk, step, end, inside, "kept")
        self.measures.append((len(walk.events), begun, _measures(walk, statement.condition, after, end)))
        walk.assume(guard, walk.world.z3.Not(first))
        return after

    def _require(self, walk: Walk, step: NumberedStep, state: State, guard: Term, when: str) -> None:
        scope = walk.scope(state, walk.level_of(step)[:-1])
        line = step.statement.at.line
        phrase = "holds before" if when == "begin" else "is preserved by"
        for place, text in enumerate(self._invariants[step.number - 1]):
            what = f"invariant {place + 1} {phrase} the loop at line {line}"
            walk.require(guard, scope.truth(text), what, (when, step.number, place))


def _measures(walk: Walk, condition: Expression, start: State, end: State) -> list[tuple[Term, Term]]:
    """Ranking terms of the first run, before and after a round, one for each comparison in the condition.

    What is not below 0 as long as the loop goes on, and falls by 1 or more in each round, ends the loop.
    """
    measures = []
    for part in conjuncts(condition):
        match part:
            case Operation("<" | "<=", (small, large)) | Operation(">" | ">=", (large, small)):
                left = Operation("-", (large, small))
                values = [RunReader(walk.world, state, 1).value(left, []) for state in (start, end)]
                measures.append((values[0], values[1]))
    return measures


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The parts of a conjunction."""
    if isinstance(condition, Operation) and condition.operator == "and":
        return tuple(part for argument in condition.arguments for part in conjuncts(argument))
    return (condition,)

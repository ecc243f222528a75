"""Loops by invariants: what holds before the first round and is kept by every round holds whenever the loop is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.verbs.prove.kernel.layout import Step
from discreet.verbs.prove.kernel.state import Run, Scope, State
from discreet.verbs.prove.kernel.values import Term
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.syntax import Expression, Operation, While


@dataclass(frozen=True)
class Round:
    """Where in the events any round of a loop begins, when there is one, and what is known there."""

    place: int
    inside: Term
    line: int
    state: State


class Proof:
    """A plan made of texts: for each draw a shift and a charge, for each loop its invariants.

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
        self.rounds: list[Round] = []
        self.measures: list[tuple[int, Round, list[tuple[Term, Term]]]] = []

    def shift(self, site: int, scope: Scope) -> Term:
        return scope.value(self._shifts[site - 1])

    def charge(self, site: int, scope: Scope) -> Expression:
        scope.value(self._charges[site - 1])
        return self._charges[site - 1]

    def misses(self, site: int, scope: Scope) -> list[Term]:
        return [scope.number(value) for value in self._misses[site - 1]] if self._misses else []

    def loop(self, walk: Walk, step: Step, state: State, guard: Term) -> State:
        """The rule. Both runs must agree on every condition of the loop, as at a visible branch."""
        statement = step.statement
        assert isinstance(statement, While)  # noqa: S101
        level = walk.level_of(step)
        around = level[:-1]
        texts = self._invariants[step.number - 1]
        self._require(walk, step, state, guard, "begin")
        made = walk.forgotten(step, state)
        for length in made.lengths.values():
            walk.given(guard, length >= 0)
        scope = walk.scope(made, around)
        for place, text in enumerate(texts):
            holds = scope.truth(text)
            walk.given(guard, self._switch(step.number, place, holds) if self._switch else holds)
        first, second = walk.values(statement.condition, made, guard)
        walk.must(guard, first == second, f"both runs go on or stop together at line {statement.at.line}")
        inside = walk.world.both(guard, first)
        begun = Round(len(walk.events), inside, statement.at.line, made)
        self.rounds.append(begun)
        walk.foresee(level)
        end = walk.block(step.then, made, inside)
        self._require(walk, step, end, inside, "kept")
        self.measures.append((len(walk.events), begun, _measures(walk, statement.condition, made, end)))
        walk.given(guard, walk.world.z3.Not(first))
        return made

    def _require(self, walk: Walk, step: Step, state: State, guard: Term, when: str) -> None:
        scope = walk.scope(state, walk.level_of(step)[:-1])
        line = step.statement.at.line
        told = "holds before" if when == "begin" else "is kept by"
        for place, text in enumerate(self._invariants[step.number - 1]):
            what = f"invariant {place + 1} {told} the loop at line {line}"
            walk.must(guard, scope.truth(text), what, (when, step.number, place))


def _measures(walk: Walk, condition: Expression, start: State, end: State) -> list[tuple[Term, Term]]:
    """How far the first run is from where its loop stops, before and after a round, by each comparison it goes on by.

    What is not below 0 as long as the loop goes on, and falls by 1 or more in each round, ends the loop.
    """
    found = []
    for part in conjuncts(condition):
        match part:
            case Operation("<" | "<=", (small, large)) | Operation(">" | ">=", (large, small)):
                left = Operation("-", (large, small))
                values = [Run(walk.world, state, 1).value(left, []) for state in (start, end)]
                found.append((values[0], values[1]))
    return found


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """What must all hold for a condition to."""
    if isinstance(condition, Operation) and condition.operator == "and":
        return tuple(part for argument in condition.arguments for part in conjuncts(argument))
    return (condition,)

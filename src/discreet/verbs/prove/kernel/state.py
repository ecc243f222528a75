"""The state of both runs at one point of a program, and the evaluation of a proof's texts there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.verbs.prove.kernel.solver import Term, Unsupported
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.syntax import Expression


@dataclass
class State:
    """Variables of both runs, lengths of the lists that the program makes, and the cost so far of each draw."""

    first: dict[str, Term]
    second: dict[str, Term]
    lengths: dict[str, Term] = field(default_factory=dict)
    costs: dict[int, Term] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.first), dict(self.second), dict(self.lengths), dict(self.costs))

    def after_draw(self, name: str, values: tuple[Term, Term], site: int, cost: Term) -> State:
        """The state once a draw has given a variable its two values, at a cost."""
        after = self.copy()
        after.first[name], after.second[name] = values
        after.costs[site] = after.costs[site] + cost
        return after


def merge_states(world: World, condition: Term, then: State, other: State) -> State:
    """One state or the other, by a condition."""

    def pick(left: Mapping[Any, Term], right: Mapping[Any, Term]) -> dict[Any, Term]:
        merged = {}
        for name in left:
            one, two = left[name], right[name]
            if not one.eq(two):
                one, two = world.same_sort(one, two)
                one = world.z3.If(condition, one, two)
            merged[name] = one
        return merged

    return State(
        pick(then.first, other.first),
        pick(then.second, other.second),
        pick(then.lengths, other.lengths),
        pick(then.costs, other.costs),
    )


class RunReader:
    """Evaluates expressions of the program in one of the two runs."""

    def __init__(self, world: World, state: State, run: int) -> None:
        self._world, self._state, self._run = world, state, run
        self._values = state.first if run == 1 else state.second

    def value(self, expression: Expression, safe: list[Term]) -> Term:
        """The value; what keeps it from being a fault (no division by 0, no index outside) is added to ``safe``."""

        def read(name: str, index: Term) -> Term:
            item = self._world.item(name, self._run, index)
            safe.append(self._world.both(index >= 0, index < self._world.size(name)))
            return item

        return self._world.value(expression, self._look, read, safe)

    def _look(self, name: str) -> Term:
        if name.startswith("size ") and name.removeprefix("size ") in self._state.lengths:
            return self._state.lengths[name.removeprefix("size ")]
        if name in self._values:
            return self._values[name]
        if name in self._world.constants:
            return self._world.constants[name]
        raise Unsupported(f"the name {name}")


class ProofScope:
    """Evaluates a proof's texts at one point: in both runs, with what the observer will see.

    ``seen`` are the outcomes of branches and outputs that may be read here; ``hidden`` is a variable that may not.
    """

    def __init__(self, world: World, state: State, seen: Mapping[str, Term], hidden: str = "") -> None:
        self._world, self._state, self._seen, self._hidden = world, state, seen, hidden

    def value(self, expression: Expression) -> Term:
        return self._world.value(expression, self._look, self._read, [])

    def truth(self, expression: Expression) -> Term:
        """The value of an invariant."""
        term = self.value(expression)
        if not self._world.z3.is_bool(term):
            raise Unsupported("an invariant that is neither true nor false")
        return term

    def number(self, charge: Expression | Term) -> Term:
        """A charge, written or computed, as a real number."""
        term = charge if self._world.z3.is_expr(charge) else self.value(charge)
        return self._world.real(term)

    def _look(self, name: str) -> Term:
        world, state = self._world, self._state
        plain = name.removesuffix("'")
        if plain == self._hidden and self._hidden:
            raise Unsupported(f"a shift that reads its own draw {plain}")
        if name.startswith("size ") and name.removeprefix("size ") in state.lengths:
            return state.lengths[name.removeprefix("size ")]
        if name in self._seen:
            return self._seen[name]
        if name.startswith("cost") and name.endswith("''") and name[4:-2].isdigit() and int(name[4:-2]) in state.costs:
            return state.costs[int(name[4:-2])]
        if name in ("where''", "which''") and world.kind == "one":
            return world.where if name == "where''" else world.which
        if name in state.first:
            return state.first[name]
        if name != plain and plain in state.second:
            return state.second[plain]
        if name in world.constants:
            return world.constants[name]
        raise Unsupported(f"the name {name} here")

    def _read(self, name: str, index: Term) -> Term:
        if name.startswith("spent_") and name.endswith("''"):
            return self._world.spent(name[6:-2], index)
        return self._world.item(name.removesuffix("'"), 2 if name.endswith("'") else 1, index)

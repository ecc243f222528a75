"""Where both runs stand at one point of a program, and how a proof's own texts are read there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.verbs.prove.kernel.layout import Unsupported
from discreet.verbs.prove.kernel.values import Term
from discreet.verbs.prove.kernel.world import World
from discreet.verbs.prove.syntax import Expression


@dataclass
class State:
    """The variables of both runs, how long the lists are that the program makes, and the cost so far of each draw."""

    first: dict[str, Term]
    second: dict[str, Term]
    lengths: dict[str, Term] = field(default_factory=dict)
    costs: dict[int, Term] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.first), dict(self.second), dict(self.lengths), dict(self.costs))


def merged(world: World, condition: Term, then: State, other: State) -> State:
    """The one state or the other."""

    def pick(left: Mapping[Any, Term], right: Mapping[Any, Term]) -> dict[Any, Term]:
        found = {}
        for name in left:
            one, two = left[name], right[name]
            if not one.eq(two):
                one, two = world.alike(one, two)
                one = world.z3.If(condition, one, two)
            found[name] = one
        return found

    return State(
        pick(then.first, other.first),
        pick(then.second, other.second),
        pick(then.lengths, other.lengths),
        pick(then.costs, other.costs),
    )


class Run:
    """Expressions of the program, in one of the two runs."""

    def __init__(self, world: World, state: State, run: int) -> None:
        self._world, self._state, self._run = world, state, run
        self._values = state.first if run == 1 else state.second

    def value(self, expression: Expression, safe: list[Term]) -> Term:
        """Its value; what keeps it from being a fault (no division by 0, no index outside) is added to ``safe``."""

        def read(name: str, index: Term) -> Term:
            found = self._world.item(name, self._run, index)
            safe.append(self._world.both(index >= 0, index < self._world.size(name)))
            return found

        return self._world.value(expression, self._look, read, safe)

    def _look(self, name: str) -> Term:
        if name.startswith("size ") and name.removeprefix("size ") in self._state.lengths:
            return self._state.lengths[name.removeprefix("size ")]
        if name in self._values:
            return self._values[name]
        if name in self._world.constants:
            return self._world.constants[name]
        raise Unsupported(f"the name {name}")


class Scope:
    """The texts of a proof at one point: both runs, and what the proof knows of what the observer will see.

    ``seen`` are the outcomes of branches and outputs that may be read here; ``hidden`` is a variable that may not.
    """

    def __init__(self, world: World, state: State, seen: Mapping[str, Term], hidden: str = "") -> None:
        self._world, self._state, self._seen, self._hidden = world, state, seen, hidden

    def value(self, expression: Expression) -> Term:
        return self._world.value(expression, self._look, self._read, [])

    def truth(self, expression: Expression) -> Term:
        """An invariant."""
        found = self.value(expression)
        if not self._world.z3.is_bool(found):
            raise Unsupported("an invariant that is neither true nor false")
        return found

    def number(self, charge: Expression | Term) -> Term:
        """A charge, written or computed, as a real number."""
        found = charge if self._world.z3.is_expr(charge) else self.value(charge)
        return self._world.real(found)

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

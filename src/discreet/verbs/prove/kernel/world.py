"""The inputs of both runs as terms, and the neighbour relation as axioms.

Private lists are two functions from indices to values, the same for the whole proof. What neighbours are is stated at
each index at which either run, or the proof, reads a list. This loses nothing that could make a false proof: whatever
lists there are, functions that continue them equally beyond their ends satisfy every statement made here. Reading an
item twice, in whatever order or pass, gives the same value because a function does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreet.verbs.prove.kernel.layout import ProgramLayout
from discreet.verbs.prove.kernel.solver import Kind, Term, Unsupported
from discreet.verbs.prove.kernel.terms import SIZES, Terms
from discreet.verbs.prove.syntax import Input, ListOf, Range


class World(Terms):
    """The inputs and constants of one proof, as terms.

    ``fixed`` gives some public constants a value, for searches over bounded cases; a proof has none.
    """

    def __init__(
        self, layout: ProgramLayout, *, backwards: bool = False, fixed: Mapping[str, Fraction] | None = None
    ) -> None:
        super().__init__(layout)
        self.fixed = dict(fixed or {})
        self._instances: set[tuple[str, int]] = set()
        self._functions: dict[tuple[str, int], Any] = {}
        self.kind = self._kind(backwards)
        if "eps" in layout.assigned:
            raise Unsupported("an assignment to eps")
        self.constants["eps"] = self._constant("eps", "real")
        self.axioms.append(self.constants["eps"] > 0)
        self.first: dict[str, Term] = {}
        self.second: dict[str, Term] = {}
        self.where = self.new("where''", "int")
        self.which = self.new("which''", "int")
        self._budgets: list[Term] = []
        for given in self.program.inputs:
            self._declare(given)
        self.by: Term = self.real(self.public(self.program.adjacent.by))
        self._neighbours()
        for condition in self.program.assumes:
            self.axioms.append(self.public(condition))

    def _kind(self, backwards: bool) -> str:
        kind = self.program.adjacent.kind
        return {"inc": "dec", "dec": "inc"}.get(kind, kind) if backwards else kind

    # -- inputs -------------------------------------------------------------------------------------------------------

    def _constant(self, name: str, kind: Kind) -> Term:
        return self.number(self.fixed[name], kind) if name in self.fixed else self.new(name, kind)

    def _declare(self, given: Input) -> None:
        name, type_ = given.name, given.type
        if isinstance(type_, ListOf):
            if name in self.layout.assigned:
                raise Unsupported(f"an assignment to the list {name}")
            size = self._constant(f"{SIZES}{name}", "int")
            self.constants[SIZES + name] = size
            self.axioms.append(size >= 0 if type_.length is None else size == type_.length)
            return
        kind = self.layout.kinds[name]
        if given.private:
            self.first[name], self.second[name] = self.new(name, kind), self.new(name + "'", kind)
        else:
            value = self.constants.get(name) if name == "eps" else self._constant(name, kind)
            self.constants[name] = self.first[name] = self.second[name] = value
        self._bounds(type_, self.first[name], self.second[name])

    def _bounds(self, type_: object, *terms: Term) -> None:
        if isinstance(type_, Range):
            self.axioms.extend(self.both(type_.low <= term, term <= type_.high) for term in terms)

    def _neighbours(self) -> None:
        """What is known of the private inputs that are no lists, and of ``where''``, ``which''`` and the budgets."""
        private = self.program.private
        self.axioms.append(self.both(self.which >= 0, self.which < max(len(private), 1)))
        if self.kind == "l1":
            self._budgets = [self.new(f"budget_{given.name}''", "real") for given in private]
            self.axioms += [budget >= 0 for budget in self._budgets]
            self.axioms.append(self.z3.Sum(*self._budgets, self.number(0)) <= self.by)
        for place, given in enumerate(private):
            if not isinstance(given.type, ListOf):
                first, second = self.first[given.name], self.second[given.name]
                self._close(first, second, self.which == place)
                if self.kind == "l1" and not self.z3.is_bool(first):
                    self.axioms.append(self.absolute(self.real(second - first)) <= self._budgets[place])

    def _close(self, first: Term, second: Term, here: Term) -> None:
        """Two values of neighbours; ``here`` says whether it is this one that may differ, if one may."""
        if self.kind == "one":
            self.axioms.append(self.z3.Or(here, first == second))
        if self.z3.is_bool(first) or self.kind == "any":
            return
        change = self.real(second - first)
        low = self.number(0) if self.kind == "inc" else -self.by
        high = self.number(0) if self.kind == "dec" else self.by
        self.axioms.append(self.both(low <= change, change <= high))

    def item(self, name: str, run: int, index: Term) -> Term:
        """An item of an input list in run 1 or 2."""
        given = next((given for given in self.program.inputs if given.name == name), None)
        if given is None or not isinstance(given.type, ListOf):
            raise Unsupported(f"an item of {name}, which is not an input")
        if not self.z3.is_int(index):
            raise Unsupported("an index that is not an integer")
        first = self._function(name, 1, "int", self.layout.kinds[f"{name}[]"])(index)
        if not given.private:
            self._once(name, index, lambda: self._bounds(given.type.item, first))  # type: ignore[union-attr]
            return first
        second = self._function(name, 2, "int", self.layout.kinds[f"{name}[]"])(index)
        self._once(name, index, lambda: self._items(given, index, first, second))
        return first if run == 1 else second

    def _items(self, given: Input, index: Term, first: Term, second: Term) -> None:
        assert isinstance(given.type, ListOf)  # noqa: S101
        place = self.program.private.index(given)
        self._bounds(given.type.item, first, second)
        self._close(first, second, self.both(self.which == place, index == self.where))
        if self.kind == "l1":
            self.spent(given.name, index)
            self.spent(given.name, index + 1)
            if not self.z3.is_bool(first):
                spent = self._function(given.name, 3, "int", "real")
                change = self.absolute(self.real(second - first))
                self.axioms.append(spent(index + 1) == spent(index) + change)

    def spent(self, name: str, index: Term) -> Term:
        """By how much the items of a list before an index differ in all; 0 at and before its beginning."""
        place = next((place for place, given in enumerate(self.program.private) if given.name == name), None)
        if self.kind != "l1" or place is None or self.layout.kinds[name] != "list":
            raise Unsupported(f"spent_{name}''")
        spent = self._function(name, 3, "int", "real")(index)
        within = self.both(spent >= 0, spent <= self._budgets[place], self.z3.Implies(index <= 0, spent == 0))
        self._once(f"{name} spent", index, lambda: self.axioms.append(within))
        return spent

    def size(self, name: str) -> Term:
        """The length of an input list, the same in both runs."""
        if SIZES + name not in self.constants:
            raise Unsupported(f"the size of {name}")
        return self.constants[SIZES + name]

    def _function(self, name: str, run: int, of: Kind, to: Kind) -> Any:
        key = (name, run)
        if key not in self._functions:
            mark = {1: "", 2: "'", 3: " spent"}[run]
            self._functions[key] = self.z3.Function(name + mark, self.sort(of), self.sort(to))
        return self._functions[key]

    def _once(self, name: str, index: Term, act: Callable[[], object]) -> None:
        key = (name, index.get_id())
        if key not in self._instances:
            self._instances.add(key)
            self._kept.append(index)
            act()

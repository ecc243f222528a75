"""Candidate invariants of a loop; ``induction`` drops those that are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout, assigned_variables, read_variables
from discreet.verbs.prove.kernel.loop_rule import conjuncts
from discreet.verbs.prove.prover.dataflow import counters, differing_variables, shows_loop_variable
from discreet.verbs.prove.syntax import Assign, Expression, ListOf, Name, Number, Operation, Sample, While
from discreet.verbs.prove.traverse import statements, subexpressions
from discreet.verbs.prove.unparse import expression_text


def invariant_candidates(
    layout: ProgramLayout, loop: NumberedStep, level: tuple[int, ...], charges: Sequence[Expression] = ()
) -> list[str]:
    """Candidate invariants about the variables that a loop changes; ``level`` are the loops around it, with itself.

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
        """How large counters are; the loop's own condition, one round weaker."""
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
        """Costs that grow with a counter of the program, and all of them together within an account it keeps."""
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
        """What will be shown after the loop and may single out one of its rounds."""
        around = self.level[:-1]
        return [
            f"shown{step.number}''"
            for step, at in self.layout.outputs
            if at == around[: len(at)] and self.layout.shown(step) == "int"
        ]

    def _winners(self) -> list[str]:
        """Those of them that are variables of this loop, if there are several."""
        outputs = [f"shown{step.number}''" for step, _ in self.layout.outputs if shows_loop_variable(step, self.loop)]
        shown = [name for name in self._shown() if name in outputs]
        return shown if len(shown) > 1 else []

    def _together(self) -> Iterator[str]:
        """Where several rounds are singled out: which are different, by what, and what they cost together."""
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
        """Only the strongest changes, since several singled-out rounds make many guards."""
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
        """How far apart variables are, what was charged, and both together."""
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

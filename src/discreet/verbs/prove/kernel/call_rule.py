"""The rule of calls: a called program is charged its proved claim.

A program with a proved claim gives the same result in both runs at the cost of its claim, if what it is given are
neighbours by its own declaration; at no cost if it is given the same. What it shows is part of what its claim is about.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.verbs.prove import syntax
from discreet.verbs.prove.kernel.layout import NumberedStep, kind_of, number_program
from discreet.verbs.prove.kernel.solver import Term, Unsupported
from discreet.verbs.prove.kernel.state import State

if TYPE_CHECKING:
    from discreet.verbs.prove.kernel.walk import Walk


def call_rule(walk: Walk, step: NumberedStep, call: syntax.Call, state: State, guard: Term) -> State:
    """The state after a call."""
    world, site, line = walk.world, step.number, call.at.line
    if walk.plan.lockstep:
        raise Unsupported("a call in a claim with a delta")
    program = walk.others[call.program]
    if len(program.inputs) != len(call.arguments) or program.delta != syntax.Number(Fraction(0)):
        raise Unsupported(f"a call of {program.name} with the wrong number of inputs, or whose claim has a delta")
    _require_result(program, walk)
    given = dict(zip((given.name for given in program.inputs), call.arguments, strict=True))
    close, same = _neighbours_by_callee(walk, program, given, state, guard)
    walk.require(guard, close, f"what {program.name} is given at line {line} are neighbours")
    for condition in program.assumes:
        walk.require(
            guard,
            walk.value(_substitute(condition, given), state, guard, 1),
            f"what {program.name} assumes at line {line}",
        )
    bound = _substitute(program.epsilon, given)
    price = world.real(walk.value(bound, state, guard, 1))
    walk.require(guard, price >= 0, f"the claim of {program.name} at line {line} is at least 0")
    zero, one = world.number(0), world.number(1)
    if walk.layout.constant(bound):
        walk.rates[site], cost = price, one
    else:
        walk.rates[site], cost = one, price
    kind = walk.layout.kinds[call.name]
    value = world.new(call.name, "int" if kind == "list" else kind)
    if kind == "list":
        walk.assume(guard, value >= 0)
        after = state.copy()
        after.lengths[call.name] = value
        after.costs[site] = after.costs[site] + world.z3.If(same, zero, cost)
        return after
    return state.after_draw(call.name, (value, value), site, world.z3.If(same, zero, cost))


def _require_result(program: syntax.Program, walk: Walk) -> None:
    last = program.body[-1]
    if not isinstance(last, syntax.Return):
        return  # its value is the list of what it emits
    shown = kind_of(last.value, number_program(program, walk.others).kinds)
    declared = program.result
    name = (
        declared.name
        if isinstance(declared, syntax.Scalar)
        else "list"
        if isinstance(declared, syntax.ListOf)
        else "int"
    )
    if declared is None or (shown != name and (shown, name) != ("int", "real")):
        raise Unsupported(f"a call of {program.name}, whose result does not have the declared type")


def _neighbours_by_callee(
    walk: Walk, program: syntax.Program, given: dict[str, syntax.Expression], state: State, guard: Term
) -> tuple[Term, Term]:
    """Whether the inputs of a called program are neighbours by its own declaration, and whether they are the same."""
    world, kind = walk.world, program.adjacent.kind
    by = world.real(walk.value(_substitute(program.adjacent.by, given), state, guard, 1))
    close, same, changed, changes = [], [], [], []
    for wanted in program.inputs:
        argument = given[wanted.name]
        if isinstance(wanted.type, syntax.ListOf):
            close.append(_list_argument(walk, program, wanted, argument, by))
            same.append(world.truth(not wanted.private))
            continue
        first, second = walk.values(argument, state, guard)
        name = wanted.type.name if isinstance(wanted.type, syntax.Scalar) else "int"
        if world.z3.is_bool(first) != (name == "bool") or (
            name == "int" and not (world.z3.is_int(first) and world.z3.is_int(second))
        ):
            raise Unsupported(f"a call of {program.name} with a value of the wrong type")
        if isinstance(wanted.type, syntax.Range):
            close += [world.both(wanted.type.low <= value, value <= wanted.type.high) for value in (first, second)]
        same.append(world.equal(first, second))
        if not wanted.private:
            close.append(same[-1])
        else:
            changed.append(world.z3.If(same[-1], world.number(0), world.number(1)))
            if name != "bool":
                changes.append(world.real(second) - world.real(first))
    return world.both(*close, _adjacent_by_kind(walk, kind, by, changed, changes)), world.both(*same)


def _adjacent_by_kind(walk: Walk, kind: str, by: Term, changed: list[Term], changes: list[Term]) -> Term:
    """Whether the changed values are neighbours by this adjacency; a claim for growing values was proved both ways."""
    world = walk.world
    sizes = [world.absolute(change) for change in changes]
    each = world.both(*(size <= by for size in sizes))
    match kind:
        case "any":
            return world.truth(True)
        case "one":
            return world.both(each, world.z3.Sum(*changed, world.number(0)) <= 1)
        case "l1":
            return world.both(world.z3.Sum(*sizes, world.number(0)) <= by, len(sizes) == len(changed))
        case "inc" | "dec":
            grown, shrunk = (world.both(*(sign * change >= 0 for change in changes)) for sign in (1, -1))
            return world.both(each, world.z3.Or(grown, shrunk), len(sizes) == len(changed))
    return each


def _list_argument(
    walk: Walk, program: syntax.Program, wanted: syntax.Input, argument: syntax.Expression, by: Term
) -> Term:
    """A list handed over as it is: the callers' neighbours must be the called program's.

    What was proved of the called program was proved for lists of exactly this type: items, range and length.
    """
    world = walk.world
    given = next(
        (x for x in world.program.inputs if isinstance(argument, syntax.Name) and x.name == argument.name), None
    )
    if given is None or not isinstance(given.type, syntax.ListOf):
        raise Unsupported(f"a call of {program.name} with a list that is not an input")
    if given.type != wanted.type or (given.private and not wanted.private) or len(program.private) > 1:
        raise Unsupported(f"a call of {program.name} with a list of the wrong type")
    if not given.private or program.adjacent.kind == "any":
        return world.truth(True)
    implied = {
        "one": ("one", "all", "l1"),
        "l1": ("l1", "all"),
        "all": ("all",),
        "inc": ("inc", "all"),
        "dec": ("dec", "all"),
    }
    if program.adjacent.kind not in implied.get(world.program.adjacent.kind, ()) or len(world.program.private) > 1:
        raise Unsupported(f"a call of {program.name}, whose neighbouring inputs are defined differently")
    return world.by <= by


def _substitute(expression: syntax.Expression, given: dict[str, syntax.Expression]) -> syntax.Expression:
    """An expression of the called program's inputs, in the caller's words."""
    match expression:
        case syntax.Name(name):
            return given.get(name, expression)
        case syntax.Size(syntax.Name(name)):
            argument = given.get(name)
            return syntax.Size(argument) if isinstance(argument, syntax.Name) else expression
        case syntax.Operation(operator, arguments):
            return syntax.Operation(
                operator, tuple(_substitute(argument, given) for argument in arguments), expression.at
            )
        case syntax.Number() | syntax.Truth():
            return expression
    raise Unsupported("an item of a list in a claim")

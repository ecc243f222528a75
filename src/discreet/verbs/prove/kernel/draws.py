"""One draw of both runs: how the second run's value follows from the first's, and what that costs.

The rules, each with the reason why the density (or probability) of the first value is at most e^cost times that of
the second.

- Laplace: exp(-|e| / b) <= exp(|s| / b) exp(-|e + s| / b). On integers the same, for an integer shift.
- Exp: on e >= 0 alone, so the shift must not be below 0: exp(-e / b) = exp(s / b) exp(-(e + s) / b).
- Bernoulli: the coin, or its other side; the probabilities themselves are compared, with a rational number below
  e^charge.
- Uniform: all values are as likely, so moving along the range and around its end costs nothing.
- ExpMech: the same index in both runs. Its weight falls by at most e^(w c), the sum of all weights grows by at most
  e^(w g), where c and g are how far this score falls and how far any score grows. If every score may change either
  way, both are at most ``by``; if scores only grow, c = 0; if they only fall, g = 0; if they change by ``by`` in all,
  or one does, then c + g <= by, since the score that falls is another than the one that grows.
- Call: a program with a proved claim gives the same result in both runs at the cost of its claim, if what it is given
  are neighbours by its own declaration; at no cost if it is given the same. What it shows is part of what its claim
  is about.
- In lockstep (claims with a delta) shifts read nothing that is foreseen, so one map of draws serves all traces: the
  first run is a function F of its draws, the second is F of its own draws moved back. Moved back, each draw has the
  distribution of the first run's with its centre moved by a shift that follows from the draws before it: an adaptive
  sequence of mechanisms, of which the outputs are post-processing. A Gaussian costs shift^2 / (2 sigma^2) in zCDP,
  and Laplace noise (shift / b)^2 / 2, since e-privacy is (e^2 / 2)-zCDP. Costs add up, also where they depend on what
  was drawn, as long as they keep within rho along every path (Feldman and Zrnic's filters). If all noise is Gaussian,
  the same sum bounds more than zCDP does: ``curve.py``.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.verbs.prove.kernel.layout import Step, Unsupported, kind_of, lay_out
from discreet.verbs.prove.kernel.powers import below_exp
from discreet.verbs.prove.kernel.state import Scope, State
from discreet.verbs.prove.kernel.values import Term
from discreet.verbs.prove.kernel.walk import Walk
from discreet.verbs.prove.syntax import (
    Call,
    Expression,
    Input,
    ListOf,
    Name,
    Number,
    Operation,
    Program,
    Range,
    Return,
    Sample,
    Scalar,
    Size,
    Truth,
)


def drawn(walk: Walk, step: Step, state: State, guard: Term) -> State:
    """The state after a draw or a call."""
    statement = step.statement
    if isinstance(statement, Call):
        return _called(walk, step, statement, state, guard)
    assert isinstance(statement, Sample)  # noqa: S101
    if walk.plan.lockstep and statement.distribution in ("Exp", "ExpMech"):
        raise Unsupported(f"{statement.distribution} noise in a claim with a delta")
    if not walk.plan.lockstep and statement.distribution == "Gaussian":
        raise Unsupported("Gaussian noise in a claim without a delta")
    rules = {"Laplace": _moved, "DLaplace": _moved, "Exp": _moved, "Gaussian": _moved}
    rules |= {"Bernoulli": _coin, "Uniform": _turned, "ExpMech": _chosen}
    return rules[statement.distribution](walk, step, statement, state, guard)


def _scope(walk: Walk, step: Step, state: State, name: str) -> Scope:
    level = next(level for site, level in walk.layout.sites if site.number == step.number)
    return walk.scope(state, level, hidden=name, foreseen=not walk.plan.lockstep)


def _after(state: State, name: str, values: tuple[Term, Term], site: int, cost: Term) -> State:
    made = state.copy()
    made.first[name], made.second[name] = values
    made.costs[site] = made.costs[site] + cost
    return made


def _moved(walk: Walk, step: Step, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    centre = draw.arguments[1] if len(draw.arguments) > 1 else Number(Fraction(0))
    scales = [world.real(scale) for scale in walk.values(draw.arguments[0], state, guard)]
    first, second = walk.values(centre, state, guard)
    walk.must(
        guard, world.both(scales[0] > 0, scales[0] == scales[1]), f"the scale at line {line} is the same, above 0"
    )
    scope = _scope(walk, step, state, draw.name)
    shift = walk.plan.shift(site, scope)
    charge = scope.number(walk.plan.charge(site, scope))
    if draw.distribution == "DLaplace":
        if not (world.z3.is_int(shift) and world.z3.is_int(first) and world.z3.is_int(second)):
            raise Unsupported("an integer moved by what may be no integer")
    else:
        shift, first, second = world.real(shift), world.real(first), world.real(second)
    if draw.distribution == "Exp":
        walk.must(guard, shift >= 0, f"the shift at line {line} is not below 0")
    walk.must(guard, world.size_of(world.real(shift)) <= charge, f"the charge at line {line} covers the shift")
    noise = world.new(f"noise{site}''", "int" if draw.distribution == "DLaplace" else "real")
    if draw.distribution == "Exp":
        walk.given(guard, noise >= 0)
    for value in walk.plan.misses(site, scope):
        if draw.distribution == "DLaplace":
            raise Unsupported("an integer that misses a value")
        walk.given(guard, first + noise != value)
    if walk.plan.lockstep:
        if not walk.layout.constant(draw.arguments[0]):
            raise Unsupported("noise whose size is not a public constant, in a claim with a delta")
        square = Operation("*", (draw.arguments[0], draw.arguments[0]))
        walk.rates[site] = world.inverse(Operation("*", (Number(Fraction(2)), square)))
        charge = world.z3.simplify(charge * charge)
    elif walk.layout.constant(draw.arguments[0]):
        walk.rates[site] = world.inverse(draw.arguments[0])
    else:
        walk.rates[site] = world.number(1)
        charge = world.divided(charge, scales[0], [])
    return _after(state, draw.name, (first + noise, second + noise + shift), site, charge)


def _coin(walk: Walk, step: Step, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    scope = _scope(walk, step, state, draw.name)
    chances = [world.real(chance) for chance in walk.values(draw.arguments[0], state, guard)]
    for chance in chances:
        walk.must(guard, world.both(chance >= 0, chance <= 1), f"the chance at line {line} is one")
    side = world.new(draw.name, "bool")
    walk.rates[site] = world.number(1)
    if walk.plan.lockstep:
        walk.must(guard, chances[0] == chances[1], f"the chance at line {line} is the same in both runs")
        return _after(state, draw.name, (side, side), site, world.number(0))
    flip = walk.plan.shift(site, scope)
    if not world.z3.is_bool(flip):
        raise Unsupported("a coin moved by a number")
    other = world.z3.Xor(side, flip)
    likely = [world.z3.If(face, chance, 1 - chance) for face, chance in zip((side, other), chances, strict=True)]
    charge = walk.plan.charge(site, scope)
    for allowed, when in _powers(walk, charge, scope, world.truth(True)):
        enough = world.z3.Implies(when, likely[0] <= world.number(allowed) * likely[1])
        walk.must(guard, enough, f"the charge at line {line} covers the odds")
    return _after(state, draw.name, (side, other), site, scope.number(charge))


def _powers(walk: Walk, charge: Expression | Term, scope: Scope, when: Term) -> list[tuple[Fraction, Term]]:
    """Rational numbers below e^charge, each with when it is the one: a charge for a coin is numbers by cases."""
    match charge:
        case Number(value) if value >= 0:
            return [(below_exp(value), when)]
        case Operation("/", (Number(over), Number(under))) if over >= 0 and under > 0:
            return [(below_exp(over / under), when)]
        case Operation("if", (condition, then, other)):
            case_ = scope.value(condition)
            both, neither = walk.world.both(when, case_), walk.world.both(when, walk.world.z3.Not(case_))
            return _powers(walk, then, scope, both) + _powers(walk, other, scope, neither)
    raise Unsupported("a charge for a coin that is not a number")


def _turned(walk: Walk, step: Step, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    (low, low2), (high, high2) = (walk.values(argument, state, guard) for argument in draw.arguments)
    if not all(world.z3.is_int(end) for end in (low, low2, high, high2)):
        raise Unsupported("a uniform draw between what may be no integers")
    same = world.both(low == low2, high == high2, low <= high)
    walk.must(guard, same, f"the range at line {line} is the same in both runs")
    turn = walk.plan.shift(site, _scope(walk, step, state, draw.name))
    if not world.z3.is_int(turn):
        raise Unsupported("an integer moved by what may be no integer")
    walk.must(guard, world.both(turn >= 0, turn <= high - low), f"the shift at line {line} is within the range")
    value = world.new(draw.name, "int")
    walk.given(guard, world.both(value >= low, value <= high))
    walk.rates[site] = world.number(1)
    moved = world.z3.If(value + turn <= high, value + turn, value + turn - (high - low + 1))
    return _after(state, draw.name, (value, moved), site, world.number(0))


def _chosen(walk: Walk, step: Step, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    scores, weight = draw.arguments
    given = next(
        (given for given in world.program.inputs if isinstance(scores, Name) and given.name == scores.name), None
    )
    if given is None or not isinstance(given.type, ListOf) or not walk.layout.constant(weight):
        raise Unsupported("an exponential mechanism on what is no input, or with a weight that is not constant")
    if walk.layout.kinds[f"{given.name}[]"] == "bool" or (given.private and world.kind == "any"):
        raise Unsupported("an exponential mechanism on scores that may change by anything")
    weights = [world.real(value) for value in walk.values(weight, state, guard)]
    walk.must(
        guard, world.both(weights[0] >= 0, world.size(given.name) >= 1), f"there is something to choose at line {line}"
    )
    times = (2 if world.kind == "all" else 1) if given.private else 0
    walk.rates[site] = world.real(
        world.public(Operation("*", (Operation("*", (Number(Fraction(times)), weight)), world.program.adjacent.by)))
    )
    value = world.new(draw.name, "int")
    walk.given(guard, world.both(value >= 0, value < world.size(given.name)))
    return _after(state, draw.name, (value, value), site, world.number(1))


# -- calls ------------------------------------------------------------------------------------------------------------


def _called(walk: Walk, step: Step, call: Call, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, call.at.line
    if walk.plan.lockstep:
        raise Unsupported("a call in a claim with a delta")
    program = walk.others[call.program]
    if len(program.inputs) != len(call.arguments) or program.delta != Number(Fraction(0)):
        raise Unsupported(f"a call of {program.name} with other inputs than it has, or whose claim has a delta")
    _require_result(program, walk)
    given = dict(zip((given.name for given in program.inputs), call.arguments, strict=True))
    close, same = _handed_over(walk, program, given, state, guard)
    walk.must(guard, close, f"what {program.name} is given at line {line} are neighbours")
    for condition in program.assumes:
        walk.must(
            guard, walk.value(_put(condition, given), state, guard, 1), f"what {program.name} assumes at line {line}"
        )
    bound = _put(program.epsilon, given)
    price = world.real(walk.value(bound, state, guard, 1))
    walk.must(guard, price >= 0, f"the claim of {program.name} at line {line} is not below 0")
    zero, one = world.number(0), world.number(1)
    if walk.layout.constant(bound):
        walk.rates[site], cost = price, one
    else:
        walk.rates[site], cost = one, price
    kind = walk.layout.kinds[call.name]
    value = world.new(call.name, "int" if kind == "list" else kind)
    if kind == "list":
        walk.given(guard, value >= 0)
        made = state.copy()
        made.lengths[call.name] = value
        made.costs[site] = made.costs[site] + world.z3.If(same, zero, cost)
        return made
    return _after(state, call.name, (value, value), site, world.z3.If(same, zero, cost))


def _require_result(program: Program, walk: Walk) -> None:
    last = program.body[-1]
    if not isinstance(last, Return):
        return  # its value is the list of what it emits
    shown = kind_of(last.value, lay_out(program, walk.others).kinds)
    declared = program.result
    name = declared.name if isinstance(declared, Scalar) else "list" if isinstance(declared, ListOf) else "int"
    if declared is None or (shown != name and (shown, name) != ("int", "real")):
        raise Unsupported(f"a call of {program.name}, whose result is not what it says")


def _handed_over(
    walk: Walk, program: Program, given: dict[str, Expression], state: State, guard: Term
) -> tuple[Term, Term]:
    """Whether the inputs of a called program are neighbours by its own declaration, and whether they are the same."""
    world, kind = walk.world, program.adjacent.kind
    by = world.real(walk.value(_put(program.adjacent.by, given), state, guard, 1))
    close, same, changed, changes = [], [], [], []
    for wanted in program.inputs:
        argument = given[wanted.name]
        if isinstance(wanted.type, ListOf):
            close.append(_whole_list(walk, program, wanted, argument, by))
            same.append(world.truth(not wanted.private))
            continue
        first, second = walk.values(argument, state, guard)
        name = wanted.type.name if isinstance(wanted.type, Scalar) else "int"
        if world.z3.is_bool(first) != (name == "bool") or (
            name == "int" and not (world.z3.is_int(first) and world.z3.is_int(second))
        ):
            raise Unsupported(f"a call of {program.name} with a value of another type")
        if isinstance(wanted.type, Range):
            close += [world.both(wanted.type.low <= value, value <= wanted.type.high) for value in (first, second)]
        same.append(world.equal(first, second))
        if not wanted.private:
            close.append(same[-1])
        else:
            changed.append(world.z3.If(same[-1], world.number(0), world.number(1)))
            if name != "bool":
                changes.append(world.real(second) - world.real(first))
    return world.both(*close, _by_kind(walk, kind, by, changed, changes)), world.both(*same)


def _by_kind(walk: Walk, kind: str, by: Term, changed: list[Term], changes: list[Term]) -> Term:
    """Whether changes of single values are those of neighbours; a claim for values that grow was proved both ways."""
    world = walk.world
    sizes = [world.size_of(change) for change in changes]
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


def _whole_list(walk: Walk, program: Program, wanted: Input, argument: Expression, by: Term) -> Term:
    """A list handed over as it is: the callers' neighbours must be the called program's.

    What was proved of the called program was proved for lists of exactly this type: items, range and length.
    """
    world = walk.world
    given = next((x for x in world.program.inputs if isinstance(argument, Name) and x.name == argument.name), None)
    if given is None or not isinstance(given.type, ListOf):
        raise Unsupported(f"a call of {program.name} with a list that is no input")
    if given.type != wanted.type or (given.private and not wanted.private) or len(program.private) > 1:
        raise Unsupported(f"a call of {program.name} with a list of another type")
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
        raise Unsupported(f"a call of {program.name}, whose neighbours are others")
    return world.by <= by


def _put(expression: Expression, given: dict[str, Expression]) -> Expression:
    """An expression of the called program's inputs, in the caller's words."""
    match expression:
        case Name(name):
            return given.get(name, expression)
        case Size(Name(name)):
            argument = given.get(name)
            return Size(argument) if isinstance(argument, Name) else expression
        case Operation(operator, arguments):
            return Operation(operator, tuple(_put(argument, given) for argument in arguments), expression.at)
        case Number() | Truth():
            return expression
    raise Unsupported("an item of a list in a claim")

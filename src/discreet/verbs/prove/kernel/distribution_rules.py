"""Coupling rules of the distributions: how the second run's draw follows from the first's, and what that costs.

To add a distribution, add its rule to ``RULES``, with the argument here. Nothing is read from
``verbs/prove/distributions.py``: what these rules say of a distribution is all that a proof rests on.

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
- In lockstep (claims with a delta) shifts read nothing that is foreseen, so one map of draws serves all traces: the
  first run is a function F of its draws, the second is F of its own draws moved back. Moved back, each draw has the
  distribution of the first run's with its centre moved by a shift that follows from the draws before it: an adaptive
  sequence of mechanisms, of which the outputs are post-processing. A Gaussian costs shift^2 / (2 sigma^2) in zCDP,
  and Laplace noise (shift / b)^2 / 2, since e-privacy is (e^2 / 2)-zCDP. Costs add up, also where they depend on what
  was drawn, as long as they keep within rho along every path (Feldman and Zrnic's filters). If all noise is Gaussian,
  the same sum bounds more than zCDP does: ``delta_bounds.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from discreet.verbs.prove.kernel.exp_bounds import exp_below
from discreet.verbs.prove.kernel.solver import Kind, Term, Unsupported
from discreet.verbs.prove.syntax import Expression, ListOf, Name, Number, Operation, Sample, Value

if TYPE_CHECKING:
    from discreet.verbs.prove.kernel.layout import NumberedStep
    from discreet.verbs.prove.kernel.state import ProofScope, State
    from discreet.verbs.prove.kernel.walk import Walk

    CoupleDraw: TypeAlias = Callable[[Walk, NumberedStep, Sample, State, Term], State]

_MAX_VALUES = 20_000
"""Most values of a draw that are enumerated."""


@dataclass(frozen=True)
class DrawRule:
    """What the kernel knows of a distribution.

    ``result`` is the kind of its draws and ``arity`` the number of its arguments. ``pure`` and ``lockstep`` say in
    which proofs it may occur (claims without and with a delta). ``continuous`` noise hits any one value with
    probability 0; ``one_sided`` noise is never below 0. ``gaussian_curve``: in lockstep its draws are Gaussian or cost
    nothing, so the exact curve of Gaussian noise holds. ``chances`` gives the exact probability of each value, none
    of them if there is no distribution with such arguments.
    """

    result: Kind
    arity: int
    couple: CoupleDraw
    pure: bool = True
    lockstep: bool = True
    continuous: bool = False
    one_sided: bool = False
    gaussian_curve: bool = False
    chances: Callable[[tuple[Value, ...]], dict[Value, Fraction]] | None = None


def rule_of(distribution: str) -> DrawRule:
    """The rule of a distribution; ``Unsupported`` if there is none."""
    if distribution not in RULES:
        raise Unsupported(f"{distribution} draws")
    return RULES[distribution]


def draw_rule(walk: Walk, step: NumberedStep, draw: Sample, state: State, guard: Term) -> State:
    """The state after a draw."""
    rule = rule_of(draw.distribution)
    if len(draw.arguments) != rule.arity:
        raise Unsupported(f"{draw.distribution} with {len(draw.arguments)} arguments")
    if walk.plan.lockstep and not rule.lockstep:
        raise Unsupported(f"{draw.distribution} noise in a claim with a delta")
    if not walk.plan.lockstep and not rule.pure:
        raise Unsupported(f"{draw.distribution} noise in a claim without a delta")
    return rule.couple(walk, step, draw, state, guard)


def _scope(walk: Walk, step: NumberedStep, state: State, name: str) -> ProofScope:
    level = next(level for site, level in walk.layout.sites if site.number == step.number)
    return walk.scope(state, level, hidden=name, foreseen=not walk.plan.lockstep)


def _shift_rule(walk: Walk, step: NumberedStep, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    rule = RULES[draw.distribution]
    whole = rule.result == "int"
    centre = draw.arguments[1] if len(draw.arguments) > 1 else Number(Fraction(0))
    scales = [world.real(scale) for scale in walk.values(draw.arguments[0], state, guard)]
    first, second = walk.values(centre, state, guard)
    walk.require(
        guard, world.both(scales[0] > 0, scales[0] == scales[1]), f"the scale at line {line} is the same, above 0"
    )
    scope = _scope(walk, step, state, draw.name)
    shift = walk.plan.shift(site, scope)
    charge = scope.number(walk.plan.charge(site, scope))
    if whole:
        if not (world.z3.is_int(shift) and world.z3.is_int(first) and world.z3.is_int(second)):
            raise Unsupported("an integer shifted by a value that may not be an integer")
    else:
        shift, first, second = world.real(shift), world.real(first), world.real(second)
    if rule.one_sided:
        walk.require(guard, shift >= 0, f"the shift at line {line} is at least 0")
    walk.require(guard, world.absolute(world.real(shift)) <= charge, f"the charge at line {line} covers the shift")
    noise = world.new(f"noise{site}''", rule.result)
    if rule.one_sided:
        walk.assume(guard, noise >= 0)
    for value in walk.plan.misses(site, scope):
        if not rule.continuous:
            raise Unsupported("an integer draw that is assumed to miss a value")
        walk.assume(guard, first + noise != value)
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
        charge = world.quotient(charge, scales[0], [])
    return state.after_draw(draw.name, (first + noise, second + noise + shift), site, charge)


def _coin_rule(walk: Walk, step: NumberedStep, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    scope = _scope(walk, step, state, draw.name)
    chances = [world.real(chance) for chance in walk.values(draw.arguments[0], state, guard)]
    for chance in chances:
        walk.require(guard, world.both(chance >= 0, chance <= 1), f"the probability at line {line} is between 0 and 1")
    side = world.new(draw.name, "bool")
    walk.rates[site] = world.number(1)
    if walk.plan.lockstep:
        walk.require(guard, chances[0] == chances[1], f"the probability at line {line} is the same in both runs")
        return state.after_draw(draw.name, (side, side), site, world.number(0))
    flip = walk.plan.shift(site, scope)
    if not world.z3.is_bool(flip):
        raise Unsupported("a coin shifted by a number")
    other = world.z3.Xor(side, flip)
    likely = [world.z3.If(face, chance, 1 - chance) for face, chance in zip((side, other), chances, strict=True)]
    charge = walk.plan.charge(site, scope)
    for allowed, when in _exp_by_cases(walk, charge, scope, world.truth(True)):
        enough = world.z3.Implies(when, likely[0] <= world.number(allowed) * likely[1])
        walk.require(guard, enough, f"the charge at line {line} covers the ratio of probabilities")
    return state.after_draw(draw.name, (side, other), site, scope.number(charge))


def _exp_by_cases(walk: Walk, charge: Expression | Term, scope: ProofScope, when: Term) -> list[tuple[Fraction, Term]]:
    """Rational lower bounds of e^charge, each with its condition: the charge of a coin is a number per case."""
    match charge:
        case Number(value) if value >= 0:
            return [(exp_below(value), when)]
        case Operation("/", (Number(over), Number(under))) if over >= 0 and under > 0:
            return [(exp_below(over / under), when)]
        case Operation("if", (condition, then, other)):
            case_ = scope.value(condition)
            both, neither = walk.world.both(when, case_), walk.world.both(when, walk.world.z3.Not(case_))
            return _exp_by_cases(walk, then, scope, both) + _exp_by_cases(walk, other, scope, neither)
    raise Unsupported("a charge for a coin that is not a number")


def _rotation_rule(walk: Walk, step: NumberedStep, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    (low, low2), (high, high2) = (walk.values(argument, state, guard) for argument in draw.arguments)
    if not all(world.z3.is_int(end) for end in (low, low2, high, high2)):
        raise Unsupported("a uniform draw whose bounds may not be integers")
    same = world.both(low == low2, high == high2, low <= high)
    walk.require(guard, same, f"the range at line {line} is the same in both runs")
    turn = walk.plan.shift(site, _scope(walk, step, state, draw.name))
    if not world.z3.is_int(turn):
        raise Unsupported("an integer shifted by a value that may not be an integer")
    walk.require(guard, world.both(turn >= 0, turn <= high - low), f"the shift at line {line} is within the range")
    value = world.new(draw.name, "int")
    walk.assume(guard, world.both(value >= low, value <= high))
    walk.rates[site] = world.number(1)
    moved = world.z3.If(value + turn <= high, value + turn, value + turn - (high - low + 1))
    return state.after_draw(draw.name, (value, moved), site, world.number(0))


def _selection_rule(walk: Walk, step: NumberedStep, draw: Sample, state: State, guard: Term) -> State:
    world, site, line = walk.world, step.number, draw.at.line
    scores, weight = draw.arguments
    given = next(
        (given for given in world.program.inputs if isinstance(scores, Name) and given.name == scores.name), None
    )
    if given is None or not isinstance(given.type, ListOf) or not walk.layout.constant(weight):
        raise Unsupported("an exponential mechanism whose candidates are not an input, or whose weight is not constant")
    if walk.layout.kinds[f"{given.name}[]"] == "bool" or (given.private and world.kind == "any"):
        raise Unsupported("an exponential mechanism on scores of unbounded sensitivity")
    weights = [world.real(value) for value in walk.values(weight, state, guard)]
    walk.require(
        guard,
        world.both(weights[0] >= 0, world.size(given.name) >= 1),
        f"the exponential mechanism at line {line} has candidates, and a weight of at least 0",
    )
    times = (2 if world.kind == "all" else 1) if given.private else 0
    walk.rates[site] = world.real(
        world.public(Operation("*", (Operation("*", (Number(Fraction(times)), weight)), world.program.adjacent.by)))
    )
    value = world.new(draw.name, "int")
    walk.assume(guard, world.both(value >= 0, value < world.size(given.name)))
    return state.after_draw(draw.name, (value, value), site, world.number(1))


# -- exact probabilities, for proofs by enumeration -------------------------------------------------------------------


def _coin_chances(arguments: tuple[Value, ...]) -> dict[Value, Fraction]:
    chance = _number(arguments[0])
    if not 0 <= chance <= 1:
        return {}
    return {side: odds for side, odds in ((True, chance), (False, 1 - chance)) if odds}


def _range_chances(arguments: tuple[Value, ...]) -> dict[Value, Fraction]:
    low, high = (_number(argument) for argument in arguments)
    if low.denominator != 1 or high.denominator != 1:
        raise Unsupported("a uniform draw whose bounds may not be integers")
    if high - low >= _MAX_VALUES:
        raise Unsupported("too many outcomes to enumerate")
    values = range(int(low), int(high) + 1)
    return {value: Fraction(1, len(values)) for value in values}


def _number(value: Value) -> Fraction:
    if isinstance(value, tuple):
        raise Unsupported("a list as a number")
    return Fraction(value)


RULES: dict[str, DrawRule] = {
    "Laplace": DrawRule("real", 2, _shift_rule, continuous=True),
    "DLaplace": DrawRule("int", 2, _shift_rule),
    "Exp": DrawRule("real", 1, _shift_rule, continuous=True, one_sided=True, lockstep=False),
    "Gaussian": DrawRule("real", 2, _shift_rule, continuous=True, pure=False, gaussian_curve=True),
    "Bernoulli": DrawRule("bool", 1, _coin_rule, gaussian_curve=True, chances=_coin_chances),
    "Uniform": DrawRule("int", 2, _rotation_rule, gaussian_curve=True, chances=_range_chances),
    "ExpMech": DrawRule("int", 2, _selection_rule, lockstep=False),
}
"""The rule of each distribution that can be proved about."""

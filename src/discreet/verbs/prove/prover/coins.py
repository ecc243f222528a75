"""Coins: leave them as they are, or turn them over where the private values differ; with what that costs."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

from discreet.verbs.prove.inside import expressions, parts, statements
from discreet.verbs.prove.kernel.layout import Layout, Step
from discreet.verbs.prove.kernel.powers import above_log
from discreet.verbs.prove.prover.following import ZERO, difference, op
from discreet.verbs.prove.syntax import Expression, Item, Name, Number, Operation, Sample, Truth


def coins(layout: Layout, site: Step, level: tuple[int, ...]) -> list[tuple[Expression, Expression]]:
    """Ways to pair a coin with that of the other run, each with a charge."""
    draw = site.statement
    assert isinstance(draw, Sample)  # noqa: S101
    chances = _leaves(draw.arguments[0])
    found: list[tuple[Expression, Expression]] = []
    apart = [op("!=", *change.arguments) for change in _changes(layout, level) if isinstance(change, Operation)]
    if chances is None or len(chances) == 1:
        found.append((Truth(False), ZERO))
    if chances is None or min(chances) <= 0 or max(chances) >= 1:
        return found
    if len(chances) > 1:
        cost = Number(max(_log(p / q) for p, q in permutations(_sides(chances), 2)))
        found += [(Truth(False), Operation("if", (when, cost, ZERO))) for when in apart]
        return found
    [chance] = chances
    cost = Number(_log(max(chance / (1 - chance), (1 - chance) / chance)))
    found += [(when, Operation("if", (when, cost, ZERO))) for when in apart]
    return found


def _log(ratio: Fraction) -> Fraction:
    return above_log(max(ratio, Fraction(1)))


def _sides(chances: set[Fraction]) -> list[Fraction]:
    return sorted(chances | {1 - chance for chance in chances})


def _leaves(chance: Expression) -> set[Fraction] | None:
    """The numbers a chance may be."""
    match chance:
        case Number(value):
            return {value}
        case Operation("/", (Number(over), Number(under))) if under:
            return {over / under}
        case Operation("if", (_, then, other)):
            first, second = _leaves(then), _leaves(other)
            return None if first is None or second is None else first | second
    return None


def _changes(layout: Layout, level: tuple[int, ...]) -> list[Expression]:
    """What is private and may be read at the draw: values, and the items of lists that its round reads."""
    private = {given.name for given in layout.program.private}
    found: dict[str, Expression] = {}
    for statement in statements(layout.program.body):
        for expression in expressions(statement):
            for part in parts(expression):
                if isinstance(part, Name) and part.name in private:
                    found[part.name] = part
                if isinstance(part, Item) and part.of.name in private and level:
                    found[repr(part)] = part
    return [difference(layout, part) for part in found.values()]

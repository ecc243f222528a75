"""A proof in words: the coupling and the cost of each draw, and the invariants of loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadProgram
from discreet.verbs.prove.certificate import Alignment, Coupling
from discreet.verbs.prove.distributions import DISTRIBUTIONS, Pairing
from discreet.verbs.prove.kernel.layout import number_program
from discreet.verbs.prove.kernel.solver import Unsupported
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.syntax import (
    Call,
    Emit,
    Expression,
    Item,
    Name,
    Number,
    Operation,
    Program,
    Return,
    Sample,
    Size,
    statements,
)
from discreet.verbs.prove.unparse import claim_text, expression_text


@dataclass(frozen=True)
class CouplingRow:
    """The coupling of one draw in words, and its cost."""

    sample: str
    line: int
    scale: str
    shift: str
    cost: str


def coupling_rows(program: Program, alignment: Alignment, others: Mapping[str, Program]) -> tuple[CouplingRow, ...]:
    """The draws of a proof, in the order of the program."""
    words = _proof_names(program, alignment, others)
    draws = [one for one in statements(program.body) if isinstance(one, Sample | Call)]
    return tuple(_coupling_row(one, draws[one.number - 1], words, others) for one in alignment.couplings)


def invariant_texts(
    program: Program, alignment: Alignment, others: Mapping[str, Program]
) -> tuple[tuple[str, ...], ...]:
    """The invariants of each loop, in words."""
    words = _proof_names(program, alignment, others)
    return tuple(tuple(_invariant_text(text, words) for text in one) for one in alignment.invariants)


def _coupling_row(
    coupling: Coupling, draw: Sample | Call, words: Mapping[str, str], others: Mapping[str, Program]
) -> CouplingRow:
    if isinstance(draw, Call):
        by = f"{draw.program}, as proved"
        return CouplingRow(coupling.name, draw.at.line, by, "the same result", claim_text(others[draw.program]))
    declared = DISTRIBUTIONS[draw.distribution]
    shift = _shift_text(coupling.shift, words)
    match declared.pairing:
        case Pairing.FLIP:
            shift = {"false": "the same side", "true": "the other side"}.get(shift, f"turned if {shift}")
        case Pairing.ROTATE:
            shift = "the same value" if shift == "0" else f"moved by {shift}"
        case Pairing.SAME:
            shift = "the same index"
        case Pairing.SHIFT if declared.normal and shift == "0":
            shift = "the same value"
    scale = declared.scale_text([expression_text(argument) for argument in draw.arguments])
    return CouplingRow(coupling.name, draw.at.line, scale, shift, declared.cost or _cost(coupling, words))


def _cost(coupling: Coupling, words: Mapping[str, str]) -> str:
    """The cost of a draw; ``|shift|`` where the charge is the size of the shift."""
    try:
        charge, shift = parse_expression(coupling.charge), parse_expression(coupling.shift)
    except BadProgram:
        return coupling.charge
    declared = DISTRIBUTIONS[coupling.distribution]
    if declared.pairing is not Pairing.SHIFT:
        return _text(charge, words)
    if declared.normal:  # (difference of centres)² / (2 sigma²), in zCDP
        price, sigma = f"({coupling.charge})", f"({coupling.scale})"
        return f"rho = {cost_text(f'{price} * {price}', f'2 * {sigma} * {sigma}')}"
    if _product(charge) is None and _without_abs(charge) == _without_abs(shift):
        return f"|shift| * {factor_text(coupling.scale)}"
    return cost_text(coupling.charge, coupling.scale)


def _without_abs(expression: Expression) -> Expression:
    """An expression without the ``abs`` in it."""
    if isinstance(expression, Operation):
        arguments = tuple(_without_abs(argument) for argument in expression.arguments)
        return arguments[0] if expression.operator == "abs" else Operation(expression.operator, arguments)
    return expression


def _proof_names(program: Program, alignment: Alignment, others: Mapping[str, Program]) -> dict[str, str]:
    """Readable names for the variables of the proof itself."""
    names = {f"cost{one.number}''": f"charged({one.name})" for one in alignment.couplings}
    try:
        layout = number_program(program, others)
    except Unsupported:
        return names
    names |= {f"branch{step.number}''": f"‹line {step.statement.at.line} holds›" for step, _ in layout.branches}
    lines = Counter(step.statement.at.line for step, _ in layout.outputs)
    for step, _ in layout.outputs:
        line, shown = step.statement.at.line, step.statement
        what = f"{expression_text(shown.value)} " if lines[line] > 1 and isinstance(shown, Emit | Return) else ""
        names[f"shown{step.number}''"] = f"‹{what}shown at line {line}›"
    return names | {"where''": "‹the place that differs›", "which''": "‹the input that differs›"}


def _invariant_text(text: str, words: Mapping[str, str]) -> str:
    """An invariant in words; ``not a or b`` becomes ``b, when a``."""
    try:
        invariant = parse_expression(text)
    except BadProgram:
        return text
    match invariant:
        case Operation("or", (Operation("not", (when,)), then)):
            return f"{_text(then, words)}, when {_text(when, words)}"
    return _text(invariant, words)


def _shift_text(text: str, words: Mapping[str, str]) -> str:
    try:
        return _text(parse_expression(text), words)
    except BadProgram:
        return text


def _text(expression: Expression, words: Mapping[str, str]) -> str:
    return expression_text(_renamed(_without_not(expression), words))


def _without_not(expression: Expression) -> Expression:
    """``0 if not c else x`` is ``x if c else 0``."""
    if isinstance(expression, Operation):
        arguments = tuple(_without_not(argument) for argument in expression.arguments)
        match expression.operator, arguments:
            case "if", (Operation("not", (condition,)), yes, no):
                return Operation("if", (condition, no, yes))
        return Operation(expression.operator, arguments)
    return expression


def _renamed(expression: Expression, words: Mapping[str, str]) -> Expression:
    match expression:
        case Name(name):
            return Name(words.get(name, name))
        case Operation(operator, arguments):
            return Operation(operator, tuple(_renamed(argument, words) for argument in arguments))
        case Item(of, index):
            return Item(of, _renamed(index, words))
    return expression


_Product: TypeAlias = tuple[Fraction, Counter[str]]
"""A number times powers of names."""


def cost_text(charge: str, scale: str) -> str:
    """The quotient ``charge`` / ``scale``, simplified if both are products."""
    try:
        above, below = parse_expression(charge), parse_expression(scale)
    except BadProgram:
        return f"({charge}) / ({scale})"
    divisor, dividend = _product(below), _product(above)
    if divisor is None or divisor[0] == 0:
        return f"({charge}) / ({scale})"
    if dividend is None:
        return f"({expression_text(above)}) * {factor_text(scale)}"
    return _product_text(_times(dividend, _inverse(divisor)))


def factor_text(scale: str) -> str:
    """One over ``scale``."""
    product = _product(parse_expression(scale))
    return f"1/({scale})" if product is None or product[0] == 0 else _product_text(_inverse(product))


def _product(expression: Expression) -> _Product | None:
    """An expression as a number times powers of names; None if it is no such product."""
    match expression:
        case Number(value):
            return value, Counter()
        case Name(name):
            return Fraction(1), Counter({name: 1})
        case Size(of):
            return Fraction(1), Counter({f"size({of.name})": 1})
        case Operation("neg", (inner,)):
            part = _product(inner)
            return None if part is None else (-part[0], part[1])
        case Operation("*" | "/" as operator, (left, right)):
            one, other = _product(left), _product(right)
            if one is None or other is None or (operator == "/" and other[0] == 0):
                return None
            return _times(one, other if operator == "*" else _inverse(other))
    return None


def _inverse(product: _Product) -> _Product:
    return 1 / product[0], Counter({name: -power for name, power in product[1].items()})


def _times(one: _Product, other: _Product) -> _Product:
    powers = Counter(one[1])
    for name, power in other[1].items():
        powers[name] += power
    return one[0] * other[0], powers


def _product_text(product: _Product) -> str:
    number, powers = product
    if number == 0:
        return "0"
    above = _factors(abs(number.numerator), ((name, power) for name, power in powers.items() if power > 0))
    below = _factors(number.denominator, ((name, -power) for name, power in powers.items() if power < 0))
    sign = "-" if number < 0 else ""
    if not below:
        return sign + ("*".join(above) or "1")
    joined = "*".join(below)
    return f"{sign}{'*'.join(above) or '1'}/{joined if len(below) == 1 else f'({joined})'}"


def _factors(number: int, powers: Iterable[tuple[str, int]]) -> list[str]:
    return [str(number)] * (number != 1) + [name for name, power in sorted(powers) for _ in range(power)]

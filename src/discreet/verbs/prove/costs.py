"""What a draw costs, in as few words as possible: a charge of 2 on a scale of 4*N/eps is eps/(2*N)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadProgram
from discreet.verbs.prove.reading import read_expression
from discreet.verbs.prove.syntax import Expression, Name, Number, Operation, Size
from discreet.verbs.prove.texts import written

_Product: TypeAlias = tuple[Fraction, Counter[str]]
"""A number times powers of names."""


def cost_text(charge: str, scale: str) -> str:
    """``charge`` over ``scale``; left as it stands where it is no product."""
    try:
        above, below = read_expression(charge), read_expression(scale)
    except BadProgram:
        return f"({charge}) / ({scale})"
    divisor, dividend = _product(below), _product(above)
    if divisor is None or divisor[0] == 0:
        return f"({charge}) / ({scale})"
    if dividend is None:
        return f"({written(above)}) * {factor_text(scale)}"
    return _text(_times(dividend, _inverse(divisor)))


def factor_text(scale: str) -> str:
    """One over ``scale``."""
    found = _product(read_expression(scale))
    return f"1/({scale})" if found is None or found[0] == 0 else _text(_inverse(found))


def is_product(found: Expression) -> bool:
    """Whether an expression is a number times powers of names."""
    return _product(found) is not None


def _product(found: Expression) -> _Product | None:
    match found:
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


def _inverse(found: _Product) -> _Product:
    return 1 / found[0], Counter({name: -power for name, power in found[1].items()})


def _times(one: _Product, other: _Product) -> _Product:
    powers = Counter(one[1])
    for name, power in other[1].items():
        powers[name] += power
    return one[0] * other[0], powers


def _text(product: _Product) -> str:
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

"""Expressions as terms of the solver, over exact reals and integers.

Products and quotients of constants (``eps / (4*N)``) are one unknown each; that the unknown *is* that product is in
``hard``, which only the queries that need it are given. Leaving facts out can only make a proof fail.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.verbs.prove.kernel.layout import ProgramLayout, kind_of
from discreet.verbs.prove.kernel.solver import Kind, Term, Unsupported, load_z3
from discreet.verbs.prove.syntax import Expression, Item, Name, Number, Operation, Size, Truth

Look: TypeAlias = Callable[[str], Term]
Read: TypeAlias = Callable[[str, Term], Term]
SIZES = "size()"
"""Prefix of the constant that is a list's size."""
_BINARY: dict[str, Callable[[Term, Term], Term]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


class Terms:
    """Terms of one proof, in a solver's context of their own; ``axioms`` and ``hard`` are always true of them."""

    def __init__(self, layout: ProgramLayout) -> None:
        self.z3 = load_z3()
        self.ctx = self.z3.Context()
        self.layout, self.program = layout, layout.program
        self.axioms: list[Term] = []
        self.hard: list[Term] = []
        self.constants: dict[str, Term] = {}
        self._made = 0
        self._monomials: dict[tuple[tuple[str, int], ...], Term] = {}
        self._kept: list[Term] = []
        self._quotients: set[tuple[int, int]] = set()
        self._quotient = self.z3.Function("quotient''", self.sort("real"), self.sort("real"), self.sort("real"))

    # -- making terms -------------------------------------------------------------------------------------------------

    def sort(self, kind: Kind) -> Any:
        return {"int": self.z3.IntSort, "real": self.z3.RealSort, "bool": self.z3.BoolSort}[kind](self.ctx)

    def new(self, name: str, kind: Kind) -> Term:
        """A fresh unknown."""
        self._made += 1
        return self.z3.Const(f"{name}!{self._made}", self.sort(kind))

    def number(self, value: Fraction | int, kind: Kind = "real") -> Term:
        value = Fraction(value)
        if kind == "int":
            return self.z3.IntVal(value.numerator, self.ctx)
        return self.z3.RealVal(f"{value.numerator}/{value.denominator}", self.ctx)

    def truth(self, value: bool) -> Term:
        return self.z3.BoolVal(value, self.ctx)

    def real(self, term: Term) -> Term:
        """A number as a real term."""
        if not self.z3.is_arith(term):
            raise Unsupported("a truth value used as a number")
        if self.z3.is_int(term):
            return self.z3.ToReal(term)
        return term

    def same_sort(self, first: Term, second: Term) -> tuple[Term, Term]:
        """Two values as terms of one sort."""
        if first.sort() == second.sort():
            return first, second
        if self.z3.is_bool(first) or self.z3.is_bool(second):
            raise Unsupported("a truth value used as a number")
        return self.real(first), self.real(second)

    def equal(self, first: Term, second: Term) -> Term:
        left, right = self.same_sort(first, second)
        return left == right

    def absolute(self, term: Term) -> Term:
        """The absolute value."""
        return self.z3.If(term >= 0, term, -term)

    def named(self, term: Term, name: str) -> Term:
        """The same value as an unknown of its own: products of unknowns are easier to decide than those of cases."""
        unknown = self.new(name, "real")
        self.axioms.append(unknown == term)
        return unknown

    def both(self, *terms: Term) -> Term:
        return self.z3.And(*terms, self.truth(True))

    # -- values of expressions ----------------------------------------------------------------------------------------

    def public(self, expression: Expression) -> Term:
        """The value of an expression of public constants."""
        if not self.layout.constant(expression):
            raise Unsupported("neighbours, a claim or an assumption that is not about public constants")
        return self.value(expression, self.constants.__getitem__, self._nothing_read, [])

    def _nothing_read(self, name: str, index: Term) -> Term:
        raise Unsupported(f"an item of {name} in a claim")

    def value(self, expression: Expression, look: Look, read: Read, safe: list[Term]) -> Term:
        """The value of an expression; what must hold for it to have one is added to ``safe``."""
        match expression:
            case Number(value):
                return self.number(value, "int" if value.denominator == 1 else "real")
            case Truth(value):
                return self.truth(value)
            case Name(name):
                return look(name)
            case Size(of):
                return self.constants[SIZES + of.name] if SIZES + of.name in self.constants else look(f"size {of.name}")
            case Item(of, index):
                return read(of.name, self.value(index, look, read, safe))
            case Operation("*" | "/") if (sum_ := self.laurent(expression, safe)) is not None and is_nonlinear(
                expression, sum_
            ):
                return self.of_laurent(sum_)
            case Operation(operator, arguments):
                values = [self.value(argument, look, read, safe) for argument in arguments]
                return self._operation(operator, values, safe)
        raise Unsupported("a list as a value")

    def _operation(self, operator: str, values: list[Term], safe: list[Term]) -> Term:
        z3 = self.z3
        match operator, values:
            case "and", _:
                return z3.And(*values)
            case "or", _:
                return z3.Or(*values)
            case "not", [value]:
                return z3.Not(value)
            case "if", [condition, then, other]:
                then, other = self.same_sort(then, other)
                return z3.If(condition, then, other)
            case "==", [left, right]:
                return self.equal(left, right)
            case "!=", [left, right]:
                return z3.Not(self.equal(left, right))
            case "xor", [left, right]:
                return self._xor(left, right, safe)
        if any(z3.is_bool(value) for value in values):
            raise Unsupported("a truth value used as a number")
        match operator, values:
            case "neg", [value]:
                return -value
            case "abs", [value]:
                return self.absolute(value)
            case "/", [over, under]:
                return self.quotient(self.real(over), self.real(under), safe)
        left, right = self.same_sort(*values)
        if operator in ("min", "max"):
            return z3.If(left <= right if operator == "min" else left >= right, left, right)
        if operator not in _BINARY:
            raise Unsupported(f"the operator {operator}")
        return _BINARY[operator](left, right)

    def _xor(self, left: Term, right: Term, safe: list[Term]) -> Term:
        """The exclusive or of truth values or bits; larger integers are excluded by a condition."""
        if self.z3.is_bool(left) and self.z3.is_bool(right):
            return self.z3.Xor(left, right)
        left, right = self.same_sort(left, right)
        if not self.z3.is_int(left):
            raise Unsupported("xor of values that are neither integers nor truth values")
        safe.extend(self.both(bit >= 0, bit <= 1) for bit in (left, right))
        return self.z3.If(left == right, self.number(0, "int"), self.number(1, "int"))

    def quotient(self, over: Term, under: Term, safe: list[Term]) -> Term:
        """A quotient: equal for equal parts, and (hard) what multiplication gives back."""
        under = self.z3.simplify(under)
        if self.z3.is_rational_value(under) and under.as_fraction() != 0:
            return over * self.number(1 / under.as_fraction())
        safe.append(under != 0)
        quotient = self._quotient(over, under)
        key = (over.get_id(), under.get_id())
        if key not in self._quotients:
            self._quotients.add(key)
            self._kept += [over, under]
            self.hard.append(self.z3.Implies(under != 0, quotient * under == over))
        return quotient

    # -- products of constants ----------------------------------------------------------------------------------------

    def laurent(self, expression: Expression, safe: list[Term]) -> Laurent | None:
        """An expression of constants as a sum of products of powers, if it is one."""
        match expression:
            case Number(value):
                return {(): value} if value else {}
            case Name(name) | Size(Name(name)):
                key = name if isinstance(expression, Name) else SIZES + name
                term = self.constants.get(key)
                if term is None or key in self.layout.assigned or self.z3.is_bool(term):
                    return None
                return self._number_of(term) or {((key, 1),): Fraction(1)}
            case Operation("neg", (inner,)):
                negated = self.laurent(inner, safe)
                return None if negated is None else {powers: -factor for powers, factor in negated.items()}
            case Operation("+" | "-" | "*" | "/" as operator, (left, right)):
                first, second = self.laurent(left, safe), self.laurent(right, safe)
                if first is None or second is None:
                    return None
                if operator == "/":
                    return self._divided(first, second, safe)
                if operator == "*":
                    return multiply(first, second)
                sign = 1 if operator == "+" else -1
                return add(first, {powers: sign * factor for powers, factor in second.items()})
        return None

    def _number_of(self, term: Term) -> Laurent | None:
        if self.z3.is_int_value(term) or self.z3.is_rational_value(term):
            value = Fraction(str(term.as_fraction() if term.is_real() else term.as_long()))
            return {(): value} if value else None
        return None

    def _divided(self, over: Laurent, under: Laurent, safe: list[Term]) -> Laurent | None:
        if len(under) != 1:
            return None
        [(powers, factor)] = under.items()
        safe.extend(self.constants[name] != 0 for name, _ in powers)
        return multiply(over, {tuple((name, -power) for name, power in powers): 1 / factor})

    def of_laurent(self, sum_: Laurent) -> Term:
        terms = [self.number(factor) * self.monomial(powers) for powers, factor in sum_.items()]
        return self.z3.simplify(self.z3.Sum(*terms, self.number(0)))

    def monomial(self, powers: tuple[tuple[str, int], ...]) -> Term:
        """A product of powers of constants, as one unknown."""
        if not powers:
            return self.number(1)
        if len(powers) == 1 and powers[0][1] == 1:
            return self.real(self.constants[powers[0][0]])
        if powers not in self._monomials:
            product = self._monomials[powers] = self.new("*".join(f"{name}^{power}" for name, power in powers), "real")
            over, under = self.number(1), self.number(1)
            for name, power in powers:
                for _ in range(abs(power)):
                    if power > 0:
                        over = over * self.real(self.constants[name])
                    else:
                        under = under * self.real(self.constants[name])
            positive = self.both(*(self.constants[name] > 0 for name, _ in powers))
            self.axioms.append(self.z3.Implies(positive, product > 0))
            self.hard.append(self.z3.Implies(under != 0, product * under == over))
        return self._monomials[powers]

    def inverse(self, expression: Expression) -> Term:
        """One over an expression of constants."""
        one = Operation("/", (Number(Fraction(1)), expression))
        if kind_of(expression, {**self.layout.kinds}) == "bool":
            raise Unsupported("a scale that is not a number")
        return self.real(self.value(one, self.constants.__getitem__, self._nothing_read, []))


Laurent: TypeAlias = dict[tuple[tuple[str, int], ...], Fraction]
"""``{(("N", -1), ("eps", 1)): 1/4}`` is eps/(4N)."""


def is_nonlinear(expression: Operation, sum_: Laurent) -> bool:
    """Whether an expression is more than a multiple of a constant."""
    return expression.operator == "/" or any(sum(abs(power) for _, power in powers) > 1 for powers in sum_)


def add(first: Laurent, second: Laurent) -> Laurent:
    total = dict(first)
    for powers, factor in second.items():
        total[powers] = total.get(powers, Fraction(0)) + factor
    return {powers: factor for powers, factor in total.items() if factor}


def multiply(first: Laurent, second: Laurent) -> Laurent:
    product: Laurent = {}
    for one, left in first.items():
        for two, right in second.items():
            powers = dict(one)
            for name, power in two:
                powers[name] = powers.get(name, 0) + power
            kept = tuple(sorted((name, power) for name, power in powers.items() if power))
            product = add(product, {kept: left * right})
    return product

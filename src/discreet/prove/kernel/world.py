"""The inputs of two runs, and what makes them neighbours.

Private lists are two functions from indices to values, the same for the whole proof. What neighbours are is stated at
each index at which either run, or the proof, reads a list. This loses nothing that could make a false proof: whatever
lists there are, functions that continue them equally beyond their ends satisfy every statement made here. Reading an
item twice, in whatever order or pass, gives the same value because a function does.

Numbers are real or integer, exactly. Products and quotients of constants (``eps / (4*N)``) are one unknown each; that
the unknown *is* that product is in ``hard``, which only the queries that need it are given. Leaving facts out can
only make a proof fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.prove.kernel.layout import Kind, Layout, Unsupported, kind_of
from discreet.prove.kernel.solver import load_z3
from discreet.prove.syntax import Expression, Input, Item, ListOf, Name, Number, Operation, Range, Size, Truth

Term: TypeAlias = Any
"""A z3 term."""
Laurent: TypeAlias = dict[tuple[tuple[str, int], ...], Fraction]
"""A sum of products of powers of constants: ``{(("N", -1), ("eps", 1)): 1/4}`` is eps/(4N)."""
Look: TypeAlias = Callable[[str], Term]
Read: TypeAlias = Callable[[str, Term], Term]
_SIZES = "size()"


class World:
    """Terms of one proof, in a solver's context of their own.

    ``fixed`` gives some public constants a value, for searches over small cases; a proof has none.
    """

    def __init__(self, layout: Layout, *, backwards: bool = False, fixed: Mapping[str, Fraction] | None = None) -> None:
        self.z3 = load_z3()
        self.ctx = self.z3.Context()
        self.layout, self.program = layout, layout.program
        self.fixed = dict(fixed or {})
        self.axioms: list[Term] = []
        self.hard: list[Term] = []
        self._made = 0
        self._monomials: dict[tuple[tuple[str, int], ...], Term] = {}
        self._instances: set[tuple[str, int]] = set()
        self._kept: list[Term] = []
        self._functions: dict[tuple[str, int], Any] = {}
        self._quotients: set[tuple[int, int]] = set()
        self._quotient = self.z3.Function("quotient''", self.sort("real"), self.sort("real"), self.sort("real"))
        self.kind = self._kind(backwards)
        if "eps" in layout.assigned:
            raise Unsupported("eps is changed")
        self.constants: dict[str, Term] = {"eps": self._constant("eps", "real")}
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

    # -- making terms -------------------------------------------------------------------------------------------------

    def sort(self, kind: Kind) -> Any:
        return {"int": self.z3.IntSort, "real": self.z3.RealSort, "bool": self.z3.BoolSort}[kind](self.ctx)

    def new(self, name: str, kind: Kind) -> Term:
        """An unknown that nothing else is named after."""
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
        """A number as a real one."""
        if term.is_int():
            return self.z3.ToReal(term)
        return term

    def alike(self, first: Term, second: Term) -> tuple[Term, Term]:
        """Two values of one sort."""
        if first.sort() == second.sort():
            return first, second
        if self.z3.is_bool(first) or self.z3.is_bool(second):
            raise Unsupported("a truth value used as a number")
        return self.real(first), self.real(second)

    def equal(self, first: Term, second: Term) -> Term:
        left, right = self.alike(first, second)
        return left == right

    def size_of(self, term: Term) -> Term:
        """|term|."""
        return self.z3.If(term >= 0, term, -term)

    def both(self, *terms: Term) -> Term:
        return self.z3.And(*terms, self.truth(True))

    # -- inputs -------------------------------------------------------------------------------------------------------

    def _constant(self, name: str, kind: Kind) -> Term:
        return self.number(self.fixed[name], kind) if name in self.fixed else self.new(name, kind)

    def _declare(self, given: Input) -> None:
        name, type_ = given.name, given.type
        if isinstance(type_, ListOf):
            if name in self.layout.assigned:
                raise Unsupported(f"the list {name} is changed")
            size = self._constant(f"{_SIZES}{name}", "int")
            self.constants[_SIZES + name] = size
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
                self._close(place, first, second, self.which == place)
                if self.kind == "l1" and not self.z3.is_bool(first):
                    self.axioms.append(self.size_of(self.real(second - first)) <= self._budgets[place])

    def _close(self, place: int, first: Term, second: Term, here: Term) -> None:
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
            raise Unsupported(f"an item of {name}, which is no input")
        if not index.is_int():
            raise Unsupported("an index that is no integer")
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
        self._close(place, first, second, self.both(self.which == place, index == self.where))
        if self.kind == "l1":
            self.spent(given.name, index)
            self.spent(given.name, index + 1)
            if not self.z3.is_bool(first):
                spent = self._function(given.name, 3, "int", "real")
                change = self.size_of(self.real(second - first))
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
        """How long an input list is, in both runs."""
        if _SIZES + name not in self.constants:
            raise Unsupported(f"the size of {name}")
        return self.constants[_SIZES + name]

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
                return self.size(of.name) if _SIZES + of.name in self.constants else look(f"size {of.name}")
            case Item(of, index):
                return read(of.name, self.value(index, look, read, safe))
            case Operation("*" | "/") if (sum_ := self.laurent(expression, safe)) is not None and _bent(expression, sum_):
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
                then, other = self.alike(then, other)
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
                return self.size_of(value)
            case "/", [over, under]:
                return self.divided(self.real(over), self.real(under), safe)
        left, right = self.alike(*values)
        match operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "min":
                return z3.If(left <= right, left, right)
            case "max":
                return z3.If(left >= right, left, right)
            case "<":
                return left < right
            case "<=":
                return left <= right
            case ">":
                return left > right
            case ">=":
                return left >= right
        raise Unsupported(f"the operator {operator}")

    def _xor(self, left: Term, right: Term, safe: list[Term]) -> Term:
        """Of truth values, or of bits; of larger integers nothing is known here, so they must not occur."""
        if self.z3.is_bool(left) and self.z3.is_bool(right):
            return self.z3.Xor(left, right)
        left, right = self.alike(left, right)
        if not left.is_int():
            raise Unsupported("xor of what are neither integers nor truth values")
        safe.extend(self.both(bit >= 0, bit <= 1) for bit in (left, right))
        return self.z3.If(left == right, self.number(0, "int"), self.number(1, "int"))

    def divided(self, over: Term, under: Term, safe: list[Term]) -> Term:
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
                key = name if isinstance(expression, Name) else _SIZES + name
                term = self.constants.get(key)
                if term is None or key in self.layout.assigned or self.z3.is_bool(term):
                    return None
                return self._number_of(term) or {((key, 1),): Fraction(1)}
            case Operation("neg", (inner,)):
                found = self.laurent(inner, safe)
                return None if found is None else {powers: -factor for powers, factor in found.items()}
            case Operation("+" | "-" | "*" | "/" as operator, (left, right)):
                first, second = self.laurent(left, safe), self.laurent(right, safe)
                if first is None or second is None:
                    return None
                if operator == "/":
                    return self._divided(first, second, safe)
                if operator == "*":
                    return _product(first, second)
                sign = 1 if operator == "+" else -1
                return _sum(first, {powers: sign * factor for powers, factor in second.items()})
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
        return _product(over, {tuple((name, -power) for name, power in powers): 1 / factor})

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
            made = self._monomials[powers] = self.new("*".join(f"{name}^{power}" for name, power in powers), "real")
            over, under = self.number(1), self.number(1)
            for name, power in powers:
                for _ in range(abs(power)):
                    if power > 0:
                        over = over * self.real(self.constants[name])
                    else:
                        under = under * self.real(self.constants[name])
            positive = self.both(*(self.constants[name] > 0 for name, _ in powers))
            self.axioms.append(self.z3.Implies(positive, made > 0))
            self.hard.append(self.z3.Implies(under != 0, made * under == over))
        return self._monomials[powers]

    def inverse(self, expression: Expression) -> Term:
        """One over an expression of constants."""
        one = Operation("/", (Number(Fraction(1)), expression))
        if kind_of(expression, {**self.layout.kinds}) == "bool":
            raise Unsupported("a scale that is no number")
        return self.real(self.value(one, self.constants.__getitem__, self._nothing_read, []))


def _bent(expression: Operation, sum_: Laurent) -> bool:
    """Whether it is more than a multiple of a constant."""
    return expression.operator == "/" or any(sum(abs(power) for _, power in powers) > 1 for powers in sum_)


def _sum(first: Laurent, second: Laurent) -> Laurent:
    found = dict(first)
    for powers, factor in second.items():
        found[powers] = found.get(powers, Fraction(0)) + factor
    return {powers: factor for powers, factor in found.items() if factor}


def _product(first: Laurent, second: Laurent) -> Laurent:
    found: Laurent = {}
    for one, left in first.items():
        for two, right in second.items():
            powers = dict(one)
            for name, power in two:
                powers[name] = powers.get(name, 0) + power
            kept = tuple(sorted((name, power) for name, power in powers.items() if power))
            found = _sum(found, {kept: left * right})
    return found

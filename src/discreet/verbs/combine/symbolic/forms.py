"""What protocols compute with on symbols: linear forms instead of vectors, terms instead of keys and shares.

All elements of a vector go through a protocol alike, so one form stands for each of them. Its variables are the
parties' values, what parties drew, and masks. A mask's seed is a term; since AES in counter mode looks uniform to
whoever does not know its key, a mask is a variable of its own, known to whoever knows the seed and uniform for
everybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, SupportsInt, TypeAlias

from discreet.errors import BadInput


@dataclass(frozen=True)
class Secret:
    """32 bytes that a party drew under a label."""

    party: str
    label: str


@dataclass(frozen=True)
class Seed:
    """What the owners of two secrets agreed on; whoever knows one of the two knows it, since public keys are public."""

    of: frozenset[Any]


@dataclass(frozen=True)
class Public:
    """The public key of a secret. It tells nothing of it."""

    of: Any


@dataclass(frozen=True)
class Share:
    """A holder's share of a secret: ``threshold`` of the same sharing give it, fewer give nothing."""

    of: Any
    label: str
    holder: str
    threshold: int


@dataclass(frozen=True)
class Digest:
    """A fingerprint of several parts. Whoever can guess them can check the guess, so it counts as telling them."""

    of: tuple[Any, ...]


@dataclass(frozen=True)
class Value:
    """What a party brings."""

    party: str


@dataclass(frozen=True)
class Draw:
    """A uniform vector that a party drew under a label."""

    party: str
    label: str


@dataclass(frozen=True)
class Mask:
    """A uniform vector made of a seed under a label."""

    seed: Any
    label: str


Variable: TypeAlias = Value | Draw | Mask


class Form:
    """A sum of variables with integer coefficients; immutable, and a vector as far as a protocol can tell."""

    __slots__ = ("_parts",)
    __array_ufunc__ = None  # numbers of NumPy leave arithmetic with a form to the form

    def __init__(self, parts: Mapping[Variable, int]) -> None:
        self._parts = {variable: factor for variable, factor in parts.items() if factor}

    @classmethod
    def sum(cls, variables: Iterable[Variable]) -> Form:
        """These variables added up."""
        return cls(dict.fromkeys(variables, 1))

    def __iter__(self) -> Iterator[tuple[Variable, int]]:
        return iter(self._parts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(frozenset(self._parts.items()))

    def __add__(self, other: object) -> Form:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Form:
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> Form:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Form:
        return Form({variable: -factor for variable, factor in self})

    def __mod__(self, modulus: int) -> Form:
        """What a group of more than 64 bits reduces by."""
        return Form({variable: factor % modulus for variable, factor in self})

    def __and__(self, mask: SupportsInt) -> Form:
        """What a group of up to 64 bits reduces by: the modulus less 1."""
        return self % (int(mask) + 1)

    def _plus(self, other: object, sign: int) -> Form:
        if not isinstance(other, Form):
            if isinstance(other, int) and other == 0:
                return self
            raise BadInput(f"On symbols a vector is added to vectors only, not to {type(other).__name__}.")
        whole = Form({})
        whole._parts = dict(self._parts)  # a copy does not hash the variables again, which is what takes time
        for variable, factor in other:
            if changed := whole._parts.get(variable, 0) + sign * factor:
                whole._parts[variable] = changed
            else:
                del whole._parts[variable]
        return whole

    def __str__(self) -> str:
        """Such as "east's value" or "north + east"."""
        if len(self._parts) == 1 and (single := next(iter(self)))[1] == 1 and isinstance(single[0], Value):
            return f"{single[0].party}'s value"
        text = ""
        for variable, factor in self:
            sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
            text += f"{sign}{'' if abs(factor) == 1 else f'{abs(factor)}·'}{_name(variable)}"
        return text or "0"

    __repr__ = __str__


def _name(variable: Variable) -> str:
    match variable:
        case Value(party=party):
            return party
        case Draw(party=party, label=label):
            return f"({label} of {party})"
        case Mask(label=label):
            return f"({label})"

"""Symbols for protocols: linear forms in place of vectors, terms in place of keys and shares.

All elements of a vector go through a protocol alike, so one form stands for each of them. Its variables are the
parties' values, what parties drew, and masks. A mask's seed is a term; since AES in counter mode looks uniform to
anyone who does not know its key, a mask is a variable of its own, known to anyone who knows the seed and uniform for
everyone else.

A label that serves two purposes would give related bits where a protocol counts on independent ones: an error here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsInt, TypeAlias

from discreet.errors import BadInput
from discreet.verbs.combine.crypto import Crypto
from discreet.verbs.combine.group import ModularGroup


@dataclass(frozen=True)
class Secret:
    """A secret that a party drew under a label."""

    party: str
    label: str


@dataclass(frozen=True)
class Seed:
    """The seed that two secrets' owners agreed on; anyone who knows one of the secrets knows it."""

    of: frozenset[Any]


@dataclass(frozen=True)
class Public:
    """The public key of a secret, which tells nothing of it."""

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
    """A digest of several parts. Anyone who can guess them can check the guess, so it counts as telling them."""

    of: tuple[Any, ...]


@dataclass(frozen=True)
class Value:
    """The value of a party."""

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


class LinearForm:
    """Linear form: variables with integer coefficients; immutable, and a vector as far as a protocol can tell."""

    __slots__ = ("_parts",)
    __array_ufunc__ = None  # numbers of NumPy leave arithmetic with a form to the form

    def __init__(self, parts: Mapping[Variable, int]) -> None:
        self._parts = {variable: factor for variable, factor in parts.items() if factor}

    @classmethod
    def sum(cls, variables: Iterable[Variable]) -> LinearForm:
        """Sum of these variables."""
        return cls(dict.fromkeys(variables, 1))

    def __iter__(self) -> Iterator[tuple[Variable, int]]:
        return iter(self._parts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearForm) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(frozenset(self._parts.items()))

    def __add__(self, other: object) -> LinearForm:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> LinearForm:
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> LinearForm:
        return (-self)._plus(other, 1)

    def __neg__(self) -> LinearForm:
        return LinearForm({variable: -factor for variable, factor in self})

    def __mod__(self, modulus: int) -> LinearForm:
        """Reduce, as groups of more than 64 bits do."""
        return LinearForm({variable: factor % modulus for variable, factor in self})

    def __and__(self, mask: SupportsInt) -> LinearForm:
        """Reduce, as groups of up to 64 bits do, by the modulus less 1."""
        return self % (int(mask) + 1)

    def _plus(self, other: object, sign: int) -> LinearForm:
        if not isinstance(other, LinearForm):
            if isinstance(other, int) and other == 0:
                return self
            raise BadInput(f"A symbolic vector can only be added to another one, not to {type(other).__name__}.")
        whole = LinearForm({})
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


class SymbolicCrypto(Crypto):
    """Cryptographic primitives of a party on symbols."""

    def __init__(self, party: str) -> None:
        self._party = party
        self._purposes: dict[object, object] = {}

    def draw(self, label: str, group: ModularGroup, length: int) -> Any:
        self._for_one_purpose(label, ("draw", group, length))
        return LinearForm.sum([Draw(self._party, label)])

    def secret(self, label: str) -> Secret:
        self._for_one_purpose(label, "secret")
        return Secret(self._party, label)

    def public(self, secret: Any) -> Public:
        return Public(secret)

    def agree(self, mine: Any, theirs: Public) -> Seed:
        return Seed(frozenset({mine, theirs.of}))

    def mask(self, seed: Any, label: str, group: ModularGroup, length: int) -> Any:
        self._for_one_purpose((seed, label), (group, length))
        return LinearForm.sum([Mask(seed, label)])

    def split(self, secret: Any, label: str, holders: Sequence[str], threshold: int) -> dict[str, Share]:
        if not 1 <= threshold <= len(holders):
            raise BadInput(f"A secret is not shared among {len(holders)} so that {threshold} are enough.")
        self._for_one_purpose(label, ("split", secret, tuple(holders), threshold))
        return {holder: Share(secret, label, holder, threshold) for holder in holders}

    def join(self, shares: Mapping[str, Share], threshold: int) -> Any:
        sharings = {(share.of, share.label, share.threshold) for share in shares.values()}
        if len(sharings) != 1:
            raise BadInput("These shares are not all of the same secret.")
        secret, _, needed = sharings.pop()
        if len({share.holder for share in shares.values()}) < needed or threshold != needed:
            raise BadInput(f"These shares do not give the secret: {needed} different ones are needed.")
        return secret

    def digest(self, group: ModularGroup, *parts: Any) -> Digest:
        return Digest(tuple(part % group.modulus if isinstance(part, LinearForm) else part for part in parts))

    def fits(self, part: Any, group: ModularGroup, length: int) -> bool:
        """Whether this is a form, which stands for vectors of every group and length."""
        return isinstance(part, LinearForm)

    def is_public(self, part: Any) -> bool:
        return isinstance(part, Public)

    def is_share(self, part: Any) -> bool:
        return isinstance(part, Share)

    def _for_one_purpose(self, label: object, purpose: object) -> None:
        if self._purposes.setdefault(label, purpose) != purpose:
            raise BadInput(f"{self._party} uses the label {label!r} for two purposes.")

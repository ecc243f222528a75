"""What a coalition learns, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import gcd

from discreet.core.markup import tag
from discreet.verbs.combine.symbolic.forms import Form, Value
from discreet.verbs.combine.symbolic.module import Module, Row

_SUMS = 10
"""With up to so many honest parties, plain sums of their values are tried first: they read best."""


@dataclass(frozen=True)
class Learnt:
    """What a coalition learns from all it saw, besides its own values."""

    coalition: tuple[str, ...]
    beyond: tuple[Form, ...]
    """What it learns beyond the result; with the result, all else that it learns follows from these."""
    values: tuple[str, ...]
    """Whose values it gets outright, be it from the result itself."""
    result: tuple[str, ...]
    """Whose values are in the result; nobody's when there is none."""
    bits: int
    """What it knows, it knows modulo 2**bits."""

    @classmethod
    def from_module(cls, coalition: tuple[str, ...], found: Module, result: tuple[str, ...]) -> Learnt:
        """In the canonical, readable basis: values first, then sums of few values, then whatever is left."""
        total: Row = {value: 1 for value in found.columns if value.party in result}
        allowed = Module.of([total], found.columns, found.bits)
        values = tuple(value.party for value in found.columns if {value: 1} in found)
        beyond = () if found == allowed else tuple(form for form in _readable(found) if dict(form) not in allowed)
        return cls(coalition, beyond, values, result, found.bits)

    @property
    def nothing(self) -> bool:
        """Whether it learns no more than its own values and the result."""
        return not self.beyond

    def __str__(self) -> str:
        """One sentence."""
        together = f"{listed(self.coalition)} {'together' if len(self.coalition) > 1 else 'alone'}"
        learn = "learn" if len(self.coalition) > 1 else "learns"
        if self.beyond:
            what = listed(_said(form, self.bits) for form in self.beyond)
            return f"{together} {learn} {what}{'' if self.result else ', though there is no result'}."
        if not self.result:
            return f"{together} {learn} nothing, and there is no result."
        if self.values:
            given = listed(f"{party}'s value" for party in self.values)
            return f"To {together} the sum itself gives {given} away; no protocol can prevent that."
        return f"{together} {learn} nothing beyond the sum."

    def _repr_html_(self) -> str:
        return tag("p", str(self))


def listed(words: Iterable[str]) -> str:
    """Words as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _said(form: Form, bits: int) -> str:
    """A form in words: 2**k times something is all of it but the k highest bits."""
    common = gcd(*(factor for _, factor in form))
    twos = (common & -common).bit_length() - 1
    if not twos:
        return str(form)
    which = "bit" if bits - twos == 1 else f"{bits - twos} bits"
    return f"the last {which} of {Form({variable: factor >> twos for variable, factor in form})}"


def _readable(found: Module) -> Iterator[Form]:
    """Forms from which all of ``found`` follows, none of which follows from those before."""
    got = Module.of([], found.columns, found.bits)
    for row in chain(_sums(found.columns), map(found.named, found.rows)):
        if got == found:
            return
        if row in found and row not in got:
            got = Module.of([*map(got.named, got.rows), row], found.columns, found.bits)
            yield Form({value: _signed(factor, found.bits) for value, factor in row.items()})


def _sums(values: Sequence[Value]) -> Iterator[Row]:
    sizes = range(1, len(values) + 1) if len(values) <= _SUMS else (1,)
    return (dict.fromkeys(some, 1) for size in sizes for some in combinations(values, size))


def _signed(factor: int, bits: int) -> int:
    return factor - (1 << bits) if factor > 1 << (bits - 1) else factor

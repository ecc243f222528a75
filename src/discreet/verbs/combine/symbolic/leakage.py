"""Leakage: what a coalition learns beyond its own values and the result, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import gcd

from discreet.core.markup import tag
from discreet.verbs.combine.symbolic.howell_form import HowellForm, Row
from discreet.verbs.combine.symbolic.symbols import LinearForm, Value

_MAX_SUMMED_PARTIES = 10
"""Number of honest parties up to which plain sums of their values are tried first: they read best."""


@dataclass(frozen=True)
class Leakage:
    """What a coalition learns from its view, besides its own values."""

    coalition: tuple[str, ...]
    beyond: tuple[LinearForm, ...]
    """Sums of honest values that it learns beyond the result; all else follows from these and the result."""
    values: tuple[str, ...]
    """Parties whose values it learns exactly, be it from the result itself."""
    result: tuple[str, ...]
    """Parties whose values are in the result; empty without a result."""
    bits: int
    """What it knows, it knows modulo 2**bits."""

    @classmethod
    def from_module(cls, coalition: tuple[str, ...], found: HowellForm, result: tuple[str, ...]) -> Leakage:
        """Leakage in a readable basis: values first, then sums of few values, then the rest."""
        total: Row = {value: 1 for value in found.columns if value.party in result}
        allowed = HowellForm.spanning([total], found.columns, found.bits)
        values = tuple(value.party for value in found.columns if {value: 1} in found)
        beyond = () if found == allowed else tuple(form for form in _readable(found) if dict(form) not in allowed)
        return cls(coalition, beyond, values, result, found.bits)

    @property
    def nothing(self) -> bool:
        """Whether it learns no more than its own values and the result."""
        return not self.beyond

    def __str__(self) -> str:
        """The leakage as one sentence."""
        together = f"{listed(self.coalition)} {'together' if len(self.coalition) > 1 else 'alone'}"
        learn = "learn" if len(self.coalition) > 1 else "learns"
        if self.beyond:
            what = listed(_describe_form(form, self.bits) for form in self.beyond)
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
    """Join words as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _describe_form(form: LinearForm, bits: int) -> str:
    """Describe a form: 2**k times a value is all of it but its k highest bits."""
    common = gcd(*(factor for _, factor in form))
    twos = (common & -common).bit_length() - 1
    if not twos:
        return str(form)
    which = "bit" if bits - twos == 1 else f"{bits - twos} bits"
    return f"the last {which} of {LinearForm({variable: factor >> twos for variable, factor in form})}"


def _readable(found: HowellForm) -> Iterator[LinearForm]:
    """Independent forms that span ``found``."""
    got = HowellForm.spanning([], found.columns, found.bits)
    for row in chain(_sums(found.columns), map(found.named, found.rows)):
        if got == found:
            return
        if row in found and row not in got:
            got = HowellForm.spanning([*map(got.named, got.rows), row], found.columns, found.bits)
            yield LinearForm({value: _signed(factor, found.bits) for value, factor in row.items()})


def _sums(values: Sequence[Value]) -> Iterator[Row]:
    sizes = range(1, len(values) + 1) if len(values) <= _MAX_SUMMED_PARTIES else (1,)
    return (dict.fromkeys(some, 1) for size in sizes for some in combinations(values, size))


def _signed(factor: int, bits: int) -> int:
    return factor - (1 << bits) if factor > 1 << (bits - 1) else factor

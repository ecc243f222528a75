"""Leakage to coalitions: what they learn beyond their own values and the result, computed on symbols.

A coalition's members follow the protocol and remember everything: their values, draws and messages (their view). The
result counts as known to every coalition, and is no leak. Each sum is analysed alone: what several sums of one session
tell together is for the function that asks for them to say.

Why the answer is exact. To the coalition a view is A·x + B·r, apart from what it knows itself: x are the honest values,
r the variables unknown to it, which are uniform and independent. So given x the view is uniform on a coset of B's
image, and two choices of x give the same distribution or two without a common view. Which coset it is, is given by the
forms u·A of all u with u·B = 0, since modulo 2**bits a submodule is the set on which all forms that vanish on it
vanish. Those forms are what remains when the unknown is eliminated: the coalition learns their values and nothing else,
whatever it knew before. Secrets count as known by their rules alone: keys, masks and sealed messages are taken to be
unbreakable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations
from math import gcd
from typing import Any, TypedDict, Unpack, cast

from discreet.core.families import SUM_PROTOCOLS
from discreet.core.markup import tag
from discreet.errors import BadInput
from discreet.verbs.combine import bus
from discreet.verbs.combine.effects import Body, Broadcast, Effect, Send
from discreet.verbs.combine.group import ModularGroup, Vector
from discreet.verbs.combine.protocols.masks import Dining
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol
from discreet.verbs.combine.symbolic import symbols
from discreet.verbs.combine.symbolic.howell_form import HowellForm, Row
from discreet.verbs.combine.symbolic.symbols import LinearForm, Value
from discreet.verbs.combine.terms import Terms

_MAX_ENUMERATED_PARTIES = 10
"""Number of parties up to which all coalitions are analysed."""
_MAX_SUMMED_PARTIES = 10
"""Number of honest parties up to which plain sums of their values are tried first: they read best."""


class Scenario(TypedDict, total=False):
    """Conditions of a symbolic run."""

    threshold: int
    """Number of parties that must stay; default: all."""
    adder: str
    """The party that adds up; default: each for itself."""
    drops: Mapping[str, str]
    """Parties that drop out, each before its message of a kind."""
    late: Mapping[str, str]
    """The same, with that message arriving late, when no one waits for it any more."""
    group: ModularGroup
    """Group of the values; default: 64-bit integers, or bits for the dining cryptographers."""


def leakage(
    what: SumProtocol | Terms | str, parties: Sequence[str], coalition: Iterable[str], **scenario: Unpack[Scenario]
) -> Leakage:
    """What a coalition learns from a secure sum by a protocol, or by a session's terms."""
    return run(what, parties, **scenario).leakage(coalition)


def leakages(
    what: SumProtocol | Terms | str, parties: Sequence[str], **scenario: Unpack[Scenario]
) -> dict[tuple[str, ...], Leakage]:
    """What each coalition learns, the small ones first."""
    if len(parties) > _MAX_ENUMERATED_PARTIES:
        raise BadInput(
            f"All coalitions are analysed among up to {_MAX_ENUMERATED_PARTIES} parties; these are {len(parties)}.",
            hint="Ask for one coalition.",
        )
    ran = run(what, parties, **scenario)
    sizes = range(1, len(parties))
    some = chain.from_iterable(combinations(parties, size) for size in sizes)
    return {coalition: ran.leakage(coalition) for coalition in some}


def withstands(
    what: SumProtocol | Terms | str, parties: Sequence[str], **scenario: Unpack[Scenario]
) -> tuple[tuple[str, ...], ...]:
    """Largest coalitions of which no part learns more than its own values and the result.

    All but one are left out where there are more than two: to them the result itself gives the last value away.
    """
    leaks = leakages(what, parties, **scenario)
    most = max(len(parties) - 2, 1)
    safe: list[tuple[str, ...]] = []
    for some, saw in leaks.items():
        parts = combinations(some, len(some) - 1) if len(some) > 1 else ()
        if len(some) <= most and saw.nothing and all(part in safe for part in parts):
            safe.append(some)
    return tuple(some for some in safe if not any(set(some) < set(other) for other in safe))


@dataclass(frozen=True)
class SymbolicRun:
    """A symbolic run of a protocol: each party's view, and the parties whose values are in the result."""

    parties: tuple[str, ...]
    bits: int
    seen: Mapping[str, Sequence[Body]]
    result: tuple[str, ...]
    totals: tuple[Vector, ...]

    def leakage(self, coalition: Iterable[str]) -> Leakage:
        """What these parties learn together."""
        members = set(coalition)
        if not members or not members < set(self.parties):
            raise BadInput(
                f"A coalition is some of {listed(self.parties)}, not all; got {listed(sorted(members) or ['no one'])}."
            )
        of = tuple(party for party in self.parties if party in members)
        results = [symbols.LinearForm.sum(map(symbols.Value, self.result)), *self.totals]
        view = chain(results, *(self.seen[party] for party in of))
        honest = tuple(party for party in self.parties if party not in members)
        return Leakage.from_module(of, known_sums(view, members, honest, self.bits), self.result)


def run(what: SumProtocol | Terms | str, parties: Sequence[str], **scenario: Unpack[Scenario]) -> SymbolicRun:
    """Run a protocol on symbols.

    Where parties end with different results, the one with most values is the result and the others are leaks.
    """
    if isinstance(what, Terms):
        scenario = {**scenario, "threshold": what.threshold, "adder": what.adder}
        what = what.protocol
    protocol = SUM_PROTOCOLS.parse(what) if isinstance(what, str) else what
    order = tuple(parties)
    group = scenario.get("group", ModularGroup(1 if isinstance(protocol, Dining) else 64))
    late = scenario.get("late", {})
    leave = {**scenario.get("drops", {}), **late}
    left: dict[str, Send | Broadcast] = {}

    def leaves(party: str, effect: Effect) -> bool:
        if isinstance(effect, Send | Broadcast) and leave.get(party) == effect.kind:
            left[party] = effect
        return party in left

    plays = {}
    for party in order:
        crypto, value = symbols.SymbolicCrypto(party), cast("Vector", symbols.LinearForm.sum([symbols.Value(party)]))
        me = Party(
            party, order, group, 1, crypto, threshold=scenario.get("threshold", 0), adder=scenario.get("adder", "")
        )
        plays[party] = protocol.play(me, value)
    played = bus.play(plays, leaves=leaves)
    if never := [party for party in leave if party not in left]:
        raise BadInput(f"{listed(never)} cannot drop out before that message: it never sends it.")
    seen = {party: [message.body for message in played.view(party)] for party in order}
    for party in late:
        to = left[party].to
        for other in (to,) if isinstance(to, str) else to:
            seen[other].append(left[party].body)
    results = sorted(played.results.values(), key=lambda total: -len(total.parties))
    return SymbolicRun(
        order, group.bits, seen, results[0].parties if results else (), tuple(each.vector for each in results)
    )


def known_sums(view: Iterable[Any], coalition: Set[str], honest: tuple[str, ...], bits: int) -> HowellForm:
    """All sums of honest parties' values that a coalition can compute from its view."""
    parts = [part for whole in view for part in _parts(whole)]
    known = secrets(parts, coalition)
    forms = {part for part in parts if isinstance(part, symbols.LinearForm)}
    rows = [{variable: factor for variable, factor in form if not _knows(variable, coalition, known)} for form in forms]
    return HowellForm.spanning(rows, tuple(symbols.Value(party) for party in honest), bits)


def secrets(parts: Iterable[Any], coalition: Set[str]) -> Set[Any]:
    """Secrets and seeds in a view, and those that enough shares in it give.

    Those of the coalition's own parties, and seeds that follow from a known secret, are not listed: see ``_knows``.
    """
    known: set[Any] = set()
    sharings: defaultdict[tuple[Any, str, int], set[str]] = defaultdict(set)
    for part in parts:
        if isinstance(part, symbols.Secret | symbols.Seed):
            known.add(part)
        elif isinstance(part, symbols.Share):
            sharings[part.of, part.label, part.threshold].add(part.holder)
    known.update(secret for (secret, _, threshold), holders in sharings.items() if len(holders) >= threshold)
    return known


def _knows(term: symbols.Variable | symbols.Secret | symbols.Seed, coalition: Set[str], known: Set[Any]) -> bool:
    match term:
        case symbols.Value(party=party) | symbols.Draw(party=party) | symbols.Secret(party=party):
            return party in coalition or term in known
        case symbols.Mask(seed=seed):
            return _knows(seed, coalition, known)
        case symbols.Seed(of=pair):
            return term in known or any(_knows(secret, coalition, known) for secret in pair)


def _parts(whole: Any) -> Iterator[Any]:
    """The terms in a message. What is neither a term nor plain text could hide anything, so it is refused."""
    match whole:
        case symbols.LinearForm() | symbols.Secret() | symbols.Seed() | symbols.Share():
            yield whole
        case symbols.Digest(of=parts):
            yield from _parts(parts)
        case Mapping():
            yield from _parts(tuple(whole.values()))
        case tuple() | list():
            for part in whole:
                yield from _parts(part)
        case str() | bytes() | int() | symbols.Public() | None:
            pass
        case _:
            raise BadInput(f"A message has a {type(whole).__name__}, which the symbolic analysis does not support.")


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
    def from_module(cls, coalition: tuple[str, ...], span: HowellForm, result: tuple[str, ...]) -> Leakage:
        """Leakage in a readable basis: values first, then sums of few values, then the rest."""
        total: Row = {value: 1 for value in span.columns if value.party in result}
        allowed = HowellForm.spanning([total], span.columns, span.bits)
        values = tuple(value.party for value in span.columns if {value: 1} in span)
        beyond = () if span == allowed else tuple(form for form in _readable(span) if dict(form) not in allowed)
        return cls(coalition, beyond, values, result, span.bits)

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
            exposed = listed(f"{party}'s value" for party in self.values)
            return f"{together} can compute {exposed} from the sum; no protocol can prevent that."
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


def _readable(span: HowellForm) -> Iterator[LinearForm]:
    """Independent forms that span ``found``."""
    got = HowellForm.spanning([], span.columns, span.bits)
    for row in chain(_sums(span.columns), map(span.named, span.rows)):
        if got == span:
            return
        if row in span and row not in got:
            got = HowellForm.spanning([*map(got.named, got.rows), row], span.columns, span.bits)
            yield LinearForm({value: _signed(factor, span.bits) for value, factor in row.items()})


def _sums(values: Sequence[Value]) -> Iterator[Row]:
    sizes = range(1, len(values) + 1) if len(values) <= _MAX_SUMMED_PARTIES else (1,)
    return (dict.fromkeys(some, 1) for size in sizes for some in combinations(values, size))


def _signed(factor: int, bits: int) -> int:
    return factor - (1 << bits) if factor > 1 << (bits - 1) else factor

"""Joint exposure: what a new release gives away together with everything that left before.

Every release is protected by itself; together they may not be. Two tables of the same people of which one leaves out a
single person differ by that person. So before a release is sealed its facts (``facts.py``) are put beside those of all
earlier releases of the same population (``linking.py``): people fall into atoms (``atoms.py``), released figures are
sums over atoms, and an intruder's linear system (``joint_counts.py``, ``joint_sums.py``) says what follows.

What is promised. The intruder is taken to know who is in which group of every release, and nothing of anyone's told
values. A value is *exposed* if, by all releases together and by no single one of them, its exact count is known in a
group of fewer than ``smallest_group`` people, or if a contributor can estimate another's amount within p %. What a
release tells by itself is for its own models and rules to judge. Counts are decided exactly over whole numbers, or not
at all: what is too large is *undecided*, which is not safe, and what cannot be said in figures is *not checked*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

from discreet.core.card import Card, ExposurePolicy, Role
from discreet.core.exact import exact
from discreet.core.kind import Kind
from discreet.core.programs import Numbers
from discreet.core.text import number
from discreet.releases.atoms import Space, dump_people, dump_told
from discreet.releases.facts import Facts, Lossy, Opaque
from discreet.releases.joint_counts import CountSystem, Target, TooLarge, unions, value_groups
from discreet.releases.joint_sums import SAME, Closeness, SumSystem, SumTarget
from discreet.releases.linking import Known, Linking, load_spaces
from discreet.releases.records import Ambiguous, Answered, Recorded, Told
from discreet.verbs.attack.intruder.determined import Verdict

_EXPLAINING = 10.0
"""Seconds for finding the fewest releases that explain a finding."""


@dataclass(frozen=True)
class Finding:
    """A group of which too much becomes known."""

    people: int
    """How many people are in it."""
    column: str
    releases: tuple[int, ...]
    """Lines of the earlier releases from which it follows, together with the new one."""


@dataclass(frozen=True)
class Exposure:
    """What a new release reveals together with earlier ones."""

    checked: tuple[int, ...]
    """Lines of the earlier releases it was checked with."""
    findings: tuple[Finding, ...] = ()
    exposed: int = 0
    """How many people are in a group of which too much becomes known."""
    undecided: tuple[str, ...] = ()
    """Why something was not decided."""

    @property
    def safe(self) -> bool:
        """Whether nothing is exposed and everything was decided."""
        return not self.findings and not self.undecided


@dataclass(frozen=True)
class KnownCounts:
    """How many counts there are in some small atoms, and which follow from everything that left."""

    counts: int = 0
    determined: tuple[Target, ...] = ()
    """Of single atoms, and of several that are small together."""
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """A verdict, and what the register is to keep if the release leaves."""

    exposure: Exposure
    told: bytes | None
    people: bytes | None


def check(
    facts: Facts | tuple[Answered | Recorded, ...],
    title: str,
    card: Card,
    known: Known,
    policy: ExposurePolicy,
    *,
    judge: bool = True,
) -> Checked:
    """Put the facts of a new release beside those of earlier ones, and ``judge`` what they tell together."""
    if isinstance(facts, Opaque | Lossy) or not facts:
        return Checked(Exposure(()), None, None)
    earlier = known.earlier
    linked = Linking(load_spaces(earlier, known.people), card, title, known)
    try:
        if telling := [one for one in facts if one.tells]:
            linked.add(telling)
    except Ambiguous as error:
        why = str(error) or "equal rows are in different groups, so people cannot be matched"
        return Checked(Exposure(tuple(line for line, _, _ in earlier), undecided=(why,)), None, None)
    if not linked.new:
        return Checked(Exposure(()), None, None)
    deadline = thread_time() + policy.seconds
    sensitive = {column.name for column in card.having(Role.SENSITIVE)}
    sensitive |= set(known.sensitive) if sensitive else set()  # this release need not be about all of them
    parts = [
        _Space(view, sensitive, policy, deadline, card).exposure()
        for name in (linked.new if judge else ())
        for view in linked.spaces[name].views(known.held)
    ]
    lines = [linked.lines(name) for name in linked.whole(telling)]
    exposure = Exposure(
        tuple(sorted(max(lines, key=len, default=()))),
        tuple(dict.fromkeys(finding for one in parts for finding in one.findings)),
        max((one.exposed for one in parts), default=0),
        tuple(dict.fromkeys(why for one in parts for why in one.undecided)),
    )
    told = {name: [one for one in linked.spaces[name].told if one.number == 0] for name in linked.new}
    return Checked(exposure, dump_told(told, linked.parents), dump_people(linked.spaces))


def known_counts(
    space: Space, small: Numbers, sensitive: Collection[str], policy: ExposurePolicy, deadline: float
) -> KnownCounts:
    """The counts of sensitive values (of all values, if no column is sensitive) in some atoms that are known by now."""
    return _Space(space, sensitive, policy, deadline).known_counts(small)


class _Space:
    """The exposure of the people of one space."""

    def __init__(
        self,
        space: Space,
        sensitive: Collection[str],
        policy: ExposurePolicy,
        deadline: float,
        card: Card | None = None,
    ) -> None:
        self._space, self._policy, self._deadline, self._card = space, policy, deadline, card
        self._sensitive = sensitive
        self._systems: dict[tuple[int, ...], SumSystem] = {}

    def exposure(self) -> Exposure:
        parts = [self._counts(), *self._summed(), *(self._sums(measure) for measure in self._measures())]
        return Exposure(
            (),
            tuple(finding for part in parts for finding in part.findings),
            sum(part.exposed for part in parts),
            tuple(why for part in parts for why in part.undecided),
        )

    def known_counts(self, small: Numbers) -> KnownCounts:
        """The counts in small atoms that everything that left determines."""
        told = [one for one in self._space.told if not one.measure]
        if not told or not len(small):
            return KnownCounts()
        try:
            counts = len(self._targets(told, small))
            pinned, undecided = self._pinned(told, small)
        except TooLarge:
            return KnownCounts(undecided=("there are too many groups and values to compute",))
        why = (f"{number(len(undecided), 'count')} could not be decided in time",) if undecided else ()
        return KnownCounts(counts, tuple(pinned), why)

    # -- counts

    def _counts(self) -> Exposure:
        told = [one for one in self._space.told if not one.measure]
        if len(told) < 2 or not any(one.number == 0 for one in told):
            return Exposure(())
        people = self._space.people
        covered = np.any([one.group >= 0 for one in told], axis=0)
        small = np.flatnonzero(covered & (people.unit_counts < self._policy.smallest_group))
        if not len(small):
            return Exposure(())
        try:
            return self._clashes(told, small)
        except TooLarge:
            return Exposure((), undecided=("there are too many groups and values to compute",))

    def _clashes(self, told: Sequence[Told], small: Numbers) -> Exposure:
        """What the new release tells together with earlier ones, and neither of them alone."""
        pinned, undecided = self._pinned(told, small)
        new = [one for one in told if one.number == 0]
        old = [one for one in told if one.number]
        for part in (*([one] for one in new), old):  # one table is for its own rules to judge; the rest is out
            known = set(self._decide(part, self._asked(part, pinned))[0])
            pinned = [one for one in pinned if one not in known or self._narrowed(part, one)]
        findings = self._explained(old, new, pinned)
        why = (f"{number(len(undecided), 'count')} could not be decided in time",) if undecided else ()
        return Exposure((), findings, self._people({atom for one in pinned for atom in one.atoms}), why)

    def _pinned(self, told: Sequence[Told], small: Numbers) -> tuple[list[Target], list[Target]]:
        """Which counts of small groups follow from all releases, and of which it is undecided: of single atoms first,
        then of several together of which no single one is known."""
        targets = self._targets(told, small)
        if not targets:
            return [], []
        system = CountSystem.of(self._space, told)
        changes: list[Numbers] = []
        verdicts = system.verdicts(targets, max(self._deadline - thread_time(), 0.1), changes=changes)
        pinned, undecided = _sorted(targets, verdicts)
        free = np.flatnonzero(np.array(verdicts) == Verdict.FREE)
        if len(free):
            units = self._space.people.units_of(small)
            found = unions(
                [targets[n] for n in free], changes[0][free], changes[1][free], units, self._policy.smallest_group
            )
            several = list(found)
            verdicts = system.verdicts(several, max(self._deadline - thread_time(), 0.1)) if several else []
            more = _sorted(several, verdicts)
            return [*pinned, *more[0]], [*undecided, *more[1]]
        return pinned, undecided

    def _narrowed(self, part: Sequence[Told], target: Target) -> bool:
        """Whether some releases reveal something of a group that is too small, and all together of fewer people.

        Two files of classes of two people each may single out one of them, whom each of the files hides behind another.
        """
        groups = np.stack([one.group for one in part])
        alike = np.flatnonzero((groups == groups[:, [target.atoms[0]]]).all(axis=0))
        few = self._people(target.atoms)
        return len(target.atoms) == 1 and few < self._people(alike) < self._policy.smallest_group

    def _people(self, atoms: Collection[int]) -> int:
        """How many units there are in some atoms."""
        return self._space.people.count(np.array(list(atoms), np.int64))

    def _targets(self, told: Sequence[Told], small: Numbers) -> list[Target]:
        """Every value that counts, in every small atom of whose people it was told."""
        targets = []
        for column in dict.fromkeys(name for one in told for name in one.tells):
            if self._sensitive and column not in self._sensitive:
                continue
            telling = [one for one in told if column in one.tells]
            values = {row[one.tells.index(column)] for one in telling for row in one.domain}
            counted = {value for value in values if self._policy.counts(column, value)}
            chosen: list[Any] = sorted(counted, key=str)
            groups = set().union(*(value_groups(one, column) for one in telling))
            groups |= {frozenset(counted)} if 1 < len(counted) < len(values) else set()  # any of those that count
            chosen += sorted((tuple(sorted(one, key=str)) for one in groups if one <= counted), key=str)
            for atom in small[np.any([one.group[small] >= 0 for one in telling], axis=0)].tolist():
                targets += [Target((atom,), column, value) for value in chosen]
        return targets

    def _asked(self, told: Sequence[Told], targets: Sequence[Target]) -> list[Target]:
        """Those of the targets that these releases tell anything of."""
        columns = {name for one in told for name in one.tells}
        return [
            one
            for one in targets
            if one.column in columns
            and all(any(r.group[atom] >= 0 for r in told if one.column in r.tells) for atom in one.atoms)
        ]

    def _decide(self, told: Sequence[Told], targets: Sequence[Target]) -> tuple[list[Target], list[Target]]:
        """Which targets are determined by these releases, and which are undecided."""
        if not targets or not told:
            return [], []
        left = max(self._deadline - thread_time(), 0.1)
        verdicts = CountSystem.of(self._space, told).verdicts(targets, left)
        return _sorted(targets, verdicts)

    def _explained(self, old: Sequence[Told], new: Sequence[Told], pinned: Sequence[Target]) -> tuple[Finding, ...]:
        """A finding for each column: the group, and the fewest earlier releases found that it follows from."""
        findings = []
        for column in dict.fromkeys(one.column for one in pinned):
            mine = [one for one in pinned if one.column == column]
            first = min(mine, key=lambda one: (len(one.atoms), self._people(one.atoms), one.atoms))
            needed = self._needed(old, new, first)
            findings.append(Finding(self._people(first.atoms), column, tuple(sorted(one.number for one in needed))))
        return tuple(findings)

    def _needed(self, old: Sequence[Told], new: Sequence[Told], target: Target) -> list[Told]:
        """Earlier releases, at least one, from which a target follows together with the new, and that cannot be spared.

        If that takes long, there are a few more. Those that tell of the target's people come first.
        Of a row of releases from which it follows, the last of the shortest beginning from which it does is needed.
        """
        rest = sorted(old, key=lambda one: -sum(one.group[atom] >= 0 for atom in target.atoms))
        needed: list[Told] = []
        until = min(self._deadline, thread_time() + _EXPLAINING)
        while rest and not (needed and self._follows([*needed, *new], target)):
            short, enough = 0, len(rest)
            while enough - short > 1:
                if thread_time() > until:
                    return needed + rest[:enough]
                middle = (short + enough) // 2
                if self._follows([*needed, *rest[:middle], *new], target):
                    enough = middle
                else:
                    short = middle
            needed, rest = [*needed, *rest[enough - 1 : enough]], rest[: enough - 1]
        return needed

    def _follows(self, told: Sequence[Told], target: Target) -> bool:
        return bool(self._decide(told, self._asked(told, [target]))[0])

    # -- sums

    def _summed(self) -> Iterator[Exposure]:
        """Undecided for each column whose values the new release tells, and of which sums are out."""
        for column in dict.fromkeys(name for one in self._space.told if one.number == 0 for name in one.tells):
            if any(one.measure.rpartition(" in 10^-")[0] == column for one in self._space.told):
                yield Exposure((), undecided=(f"{column} was released by its values and as sums",))

    def _measures(self) -> list[str]:
        return list(dict.fromkeys(one.measure for one in self._space.told if one.measure and one.number == 0))

    def _sums(self, measure: str) -> Exposure:
        told = [one for one in self._space.told if one.measure == measure]
        new, old = [one for one in told if one.number == 0], [one for one in told if one.number]
        column = measure.rpartition(" in 10^-")[0]
        if any(column in one.tells for one in self._space.told):
            return Exposure((), undecided=(f"{column} was released by its values and as sums",))
        if len({one.measure for one in self._space.told if one.measure.rpartition(" in 10^-")[0] == column}) > 1:
            return Exposure((), undecided=(f"sums of {column} were released with different decimals",))
        promised = max((Fraction(one.share) for one in new if one.share), default=None)
        several = bool(old) or len(new) > 1
        if promised is None and not several:
            return Exposure(())
        share = max(promised or Fraction(0), exact(self._policy.share, "share")) if several else promised
        assert share is not None  # noqa: S101  # one of both is there
        alone = [*([old] if old else []), *([one] for one in new)]
        parts = [part for part in alone if part is old or not promised]  # one table is for its own rules to judge
        try:
            exposed, undecided = self._estimated(told, share, parts if several else [])
        except TooLarge:
            return Exposure((), undecided=("there are too many groups of one person to compute with",))
        if several and (ends := self._ends(column, measure)) is not None:
            bounded = self._between(told, share, ends)
            for part in alone:
                bounded -= self._between(part, share, ends, bounded)
            own = self._system(told).contributions  # of two people, each knows their own
            other = {one: next((unit for unit in own[one.atoms[0]] if unit != one.unit), None) for one in bounded}
            exposed |= {one for one in bounded if not self._known(parts, one, Closeness(share, other[one]))}
        if not exposed:
            why = (f"{number(undecided, 'amount')} could not be decided in time",) if undecided else ()
            return Exposure((), undecided=why)
        lines = tuple(one.number for one in old)
        smallest = min(self._people(one.atoms) for one in exposed)
        return Exposure((), (Finding(smallest, column, lines),), len({one.unit for one in exposed}))

    def _estimated(
        self, told: Sequence[Told], share: Fraction, parts: Sequence[Sequence[Told]]
    ) -> tuple[set[SumTarget], int]:
        """The targets that someone can estimate too closely from these releases, and could not as closely from one of
        the parts alone, and how many could not be decided."""
        exposed, undecided = set(), 0
        few = self._space.people.unit_counts < self._policy.smallest_group
        small = frozenset(np.flatnonzero(few).tolist())
        system = self._system(told)
        for target in system.candidates(share, small, self._deadline):
            for near in (share, SAME) if parts else (share,):  # who could estimate it must not know it exactly now
                verdict = system.estimated(target, near, self._deadline, partial(self._known, parts, target))
                if verdict is not Verdict.FREE:
                    break
            if verdict is Verdict.DETERMINED:
                exposed.add(target)
            undecided += verdict is Verdict.UNDECIDED
        return exposed, undecided

    def _known(self, parts: Iterable[Sequence[Told]], target: SumTarget, how: Closeness) -> bool:
        """Whether a target can be estimated so closely from one of the parts alone."""
        for part in parts:
            system = self._system(part)
            told_of = all(system.part[atom] >= 0 for atom in target.atoms)
            if not told_of or (how.share == SAME and self._among_more(part, target, how)):
                continue
            if system.verdict(target, how, self._deadline) is Verdict.DETERMINED:
                return True
        return False

    def _among_more(self, part: Sequence[Told], target: SumTarget, how: Closeness) -> bool:
        """Whether some releases reveal an amount of a larger group, and all together that it is one person's own.

        If the others of the group have nothing, it is as large as the largest estimate; but no one knows that yet.
        """
        units = frozenset[int]().union(*self._space.people.units_of(np.array(target.atoms)).values())
        own = self._system(part).by_unit.get(target.unit, {})
        groups = np.stack([one.group for one in part])
        alike = [np.flatnonzero((groups == groups[:, [atom]]).all(axis=0)) for atom in target.atoms]
        more = self._people(np.unique(np.concatenate(alike)).tolist()) > self._people(target.atoms)
        return more and units <= {target.unit, how.by} and any(own.get(atom) for atom in target.atoms)

    def _system(self, told: Sequence[Told]) -> SumSystem:
        key = tuple(map(id, told))
        if key not in self._systems:
            measure = told[0].measure
            ends = self._ends(measure.rpartition(" in 10^-")[0], measure)
            self._systems[key] = SumSystem.of(self._space, told, -np.inf if ends is None else ends[0])
        return self._systems[key]

    def _between(
        self, told: Sequence[Told], share: Fraction, ends: tuple[float, float], among: set[SumTarget] | None = None
    ) -> set[SumTarget]:
        """The targets that these releases tell from above and below, by the ends between which amounts lie."""
        if among is not None and not among:
            return set()
        system = self._system(told)
        targets = system.candidates(share, range(len(system.part)), self._deadline) if among is None else among
        return system.between((one for one in targets if system.part[one.atoms[0]] >= 0), share, ends)

    def _ends(self, column: str, measure: str) -> tuple[float, float] | None:
        """The least and the most that an amount can be by the card, in units of the measure, and by those there are."""
        if self._card is None or column not in self._card:
            return None
        declared = self._card[column]
        ends = declared.bounds or (declared.categories and (min(declared.categories), max(declared.categories)))
        if not ends and declared.kind is not Kind.BOOLEAN:
            return None
        unit = 10.0 ** int(measure.rpartition("^-")[2])
        low, high = (float(str(one)) * unit for one in ends or (0, 1))
        amounts = self._space.people.amounts[measure]
        return min(low, float(np.nanmin(amounts))), max(high, float(np.nanmax(amounts)))


def _sorted(targets: Sequence[Target], verdicts: Sequence[Verdict]) -> tuple[list[Target], list[Target]]:
    """The targets that are determined, and those that are undecided."""
    both = list(zip(targets, verdicts, strict=True))
    return (
        [one for one, verdict in both if verdict is Verdict.DETERMINED],
        [one for one, verdict in both if verdict is Verdict.UNDECIDED],
    )

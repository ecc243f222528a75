"""Joint exposure: what a new release gives away together with everything that left before.

Every release is protected by itself; together they may not be. Two tables of the same people of which one leaves out a
single person differ by that person. So before a release is sealed its facts (``facts.py``) are put beside those of all
earlier releases of the same population: people fall into atoms (``atoms.py``), released figures are sums over atoms,
and an intruder's linear system (``joint_counts.py``, ``joint_sums.py``) says what follows.

What is promised. The intruder is taken to know who is in which group of every release, and nothing of anyone's told
values. A value is *exposed* if, by all releases together and by no single one of them, its exact count is known in a
group of fewer than ``smallest_group`` people, or if a contributor can estimate another's amount within p %. What a
release tells by itself is for its own models and rules to judge. Counts are decided exactly over whole numbers, or not
at all: what is too large is *undecided*, which is not safe, and what cannot be said in figures is *not checked*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import thread_time
from typing import Any

import numpy as np
import pyarrow.compute as pc

from discreet.core.card import Card, ExposurePolicy, Role
from discreet.core.exact import exact
from discreet.core.kind import Kind
from discreet.core.programs import Numbers
from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.releases.atoms import Space, dump_people, dump_told, link, load_people, load_told, nobody, same_values
from discreet.releases.facts import Facts, Figures, Lossy, Opaque
from discreet.releases.joint_counts import CountSystem, Target, TooLarge, unions, value_groups
from discreet.releases.joint_sums import Closeness, SumSystem, SumTarget, closer
from discreet.releases.records import Ambiguous, Answered, Recorded, Records, Told, all_keys, fetch_records, told_by
from discreet.verbs.attack.intruder.determined import Verdict

_EXPLAINING = 10.0
"""Seconds for finding the fewest releases that explain a finding."""
STABLE = "stable"
"""Space of the columns that never change for a unit, whatever the state of the table."""


@dataclass(frozen=True)
class Finding:
    """A group of which too much becomes known."""

    people: int
    """How many people are in it."""
    column: str
    releases: tuple[int, ...]
    """Lines of the earlier releases from which it follows, together with the new one."""
    helps: tuple[str, ...] = ()
    """Changes to the new release under which it does not."""


@dataclass(frozen=True)
class Exposure:
    """What a new release gives away together with earlier ones."""

    checked: tuple[int, ...]
    """Lines of the earlier releases it was checked with."""
    findings: tuple[Finding, ...] = ()
    exposed: int = 0
    """How many people are in a group of which too much becomes known."""
    undecided: tuple[str, ...] = ()
    """Why something was not decided."""
    atoms: int = 0
    smallest: int = 0
    """People in the smallest group that all releases together distinguish."""

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


@dataclass(frozen=True)
class Known:
    """What the register kept of a population."""

    earlier: Sequence[tuple[int, str, bytes]] = ()
    """Line, title and told figures of every release."""
    people: bytes | None = None
    same_source: bool = True
    """Whether some of it was made of the same source."""
    sensitive: Collection[str] = ()
    """Columns that were sensitive for any of it."""
    held: Mapping[int, str] = field(default_factory=dict)
    """Of lines that are no releases: who holds the table."""


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
    joined = _Joining(load_spaces(earlier, known.people), card, title, known)
    try:
        if telling := [one for one in facts if one.tells]:
            joined.add(telling)
    except Ambiguous as error:
        why = str(error) or "equal rows are in different groups, so people cannot be matched"
        return Checked(Exposure(tuple(line for line, _, _ in earlier), undecided=(why,)), None, None)
    if not joined.new:
        return Checked(Exposure(()), None, None)
    deadline = thread_time() + policy.seconds
    sensitive = {column.name for column in card.having(Role.SENSITIVE)}
    sensitive |= set(known.sensitive) if sensitive else set()  # this release need not be about all of them
    views = {name: joined.spaces[name].views(known.held) for name in joined.new}
    found = [
        _seen([_Space(one, sensitive, policy, deadline, card).exposure() for one in views[name]])
        if judge
        else Exposure(tuple(sorted({one.number for one in joined.spaces[name].told} - {0})))
        for name in joined.new
    ]
    whole = joined.whole(telling)
    told = {name: [one for one in joined.spaces[name].told if one.number == 0] for name in joined.new}
    verdict = Exposure(
        max((one.checked for name, one in zip(joined.new, found, strict=True) if name in whole), key=len, default=()),
        tuple(finding for one in found for finding in one.findings),
        max(one.exposed for one in found),
        tuple(dict.fromkeys(why for one in found for why in one.undecided)),
        max(one.atoms for one in found),
        min(one.smallest for one in found),
    )
    return Checked(verdict, dump_told(told, joined.parents), dump_people(joined.spaces))


def _seen(parts: Sequence[Exposure]) -> Exposure:
    """What each recipient can compute: the first has the releases alone, others hold tables besides."""
    if len(parts) < 2:
        return parts[0]
    return replace(
        parts[0],
        checked=tuple(sorted({line for one in parts for line in one.checked})),
        findings=tuple(dict.fromkeys(finding for one in parts for finding in one.findings)),
        exposed=max(one.exposed for one in parts),
        undecided=tuple(dict.fromkeys(why for one in parts for why in one.undecided)),
    )


def known_counts(
    space: Space, small: Numbers, sensitive: Collection[str], policy: ExposurePolicy, deadline: float
) -> KnownCounts:
    """The counts of sensitive values (of all values, if no column is sensitive) in some atoms that are known by now."""
    return _Space(space, sensitive, policy, deadline).known_counts(small)


def load_spaces(earlier: Sequence[tuple[int, str, bytes]], people: bytes | None) -> dict[str, Space]:
    """The spaces of a population, with what all earlier releases tell of today's atoms."""
    spaces = {} if people is None else load_people(people)
    now = {name: np.arange(space.people.atoms) for name, space in spaces.items()}
    told: dict[str, list[Told]] = {name: [] for name in spaces}
    for line, title, data in sorted(earlier, reverse=True):
        found, parents = load_told(data, line, title)
        for name, items in found.items():
            told[name] += [one.at(now[name]) for one in items]
        for name, parent in parents.items():
            now[name] = np.where(now[name] >= 0, parent[np.maximum(now[name], 0)], -1)
    return {name: replace(space, told=tuple(reversed(told[name]))) for name, space in spaces.items()}


class _Joining:
    """Adds the figures of a new release to the spaces of its population."""

    def __init__(self, spaces: Mapping[str, Space], card: Card, title: str, known: Known) -> None:
        self.spaces, self._card, self._title, self._known = dict(spaces), card, title, known
        self.new: list[str] = []
        self.parents: dict[str, Numbers] = {}
        self._unsure: set[str] = set()

    def add(self, facts: Sequence[Figures | Answered | Recorded]) -> None:
        """Link all figures of the release with the people that earlier releases told of."""
        found = [(one, *self._read(one)) for one in facts]
        agreeing = [self._agreeing(figures, records, told) for figures, records, told in found]
        new = [] if set.intersection(*map(set, agreeing)) else [str(len(self._states()) + 1)]
        for (figures, records, told), states in zip(found, agreeing, strict=True):
            for name in (*states, *new):
                self._link(name, records, told)
            self._add_stable(figures, records)

    def whole(self, facts: Sequence[Figures | Answered | Recorded]) -> list[str]:
        """The spaces in which all figures of the release are, and in which it is known who is who.

        Of several, what was told in one is not put beside what was told in another, so that it was checked with one.
        """
        many = {name: sum(one.number == 0 for one in self.spaces[name].told) for name in self.new}
        stable = all(set(one.tells) <= set(self._card.stable) for one in facts)
        sure = (name for name in self.new if name not in self._unsure and (name != STABLE or stable))
        return [name for name in sure if many[name] == len(facts)]

    def _read(self, figures: Figures | Answered | Recorded) -> tuple[Records, Told]:
        by = next((self.spaces[name].by for name in self._states()), ())
        if not isinstance(figures, Figures):
            records, told = figures.records(self._card.unit or "")
            if by and records.by != by:
                raise Ambiguous("people had several rows in earlier releases, so rows cannot be matched")
            return records, replace(told, title=self._title)
        records = fetch_records(figures, by)
        return records, told_by(figures, records, self._title)

    def _add_stable(self, figures: Figures | Answered | Recorded, records: Records) -> None:
        """Link what is told of columns that never change with all states of the table."""
        if isinstance(figures, Recorded):
            found = figures.stable
        else:
            plain = isinstance(figures, Figures) and self._card.stable
            lasting = figures.project(self._card.stable) if plain else None  # type: ignore[union-attr]  # just seen
            if lasting is None or records.by != (self._card.unit,):
                return
            stable = fetch_records(lasting, records.by)
            found = stable, told_by(lasting, stable, self._title)
        if found is None:
            return
        records, told = found
        if STABLE in self.spaces and not same_values(self.spaces[STABLE].people, records, told)[1]:
            raise DataError(
                f"A column that the card of {self._card.name} declares stable has changed for a person since "
                "it was released.",
                hint="Remove it from stable, or correct the table.",
            )
        self._link(STABLE, records, told)

    def _link(self, name: str, records: Records, told: Told) -> None:
        before = self.spaces.get(name, nobody())
        linked = link(before, records, told)
        parent = np.full(linked.people.atoms, -1, np.int64)
        parent[linked.people.atom[: len(before.people)]] = before.people.atom
        known = self.parents.get(name)
        self.parents[name] = parent if known is None else np.where(parent >= 0, known[np.maximum(parent, 0)], -1)
        self.spaces[name] = linked
        if name not in self.new:
            self.new.append(name)

    def _agreeing(self, figures: Figures | Answered | Recorded, records: Records, told: Told) -> list[str]:
        """The states of the table of which all that was told is as it is now, for everyone who is in both.

        More than one, if what changed between them is something else: anyone who guesses that a value stayed is right.
        """
        alike = self._states()
        found = {name: same_values(self.spaces[name].people, records, told) for name in alike}
        strangers = alike and not any(common for common, _ in found.values())
        same_source = self._known.same_source
        if isinstance(figures, Figures) and alike and (strangers or records.by != (self._card.unit,)):
            keys = all_keys(figures.rows, records.by)
            there = {name: pc.is_in(self.spaces[name].people.key, value_set=keys) for name in alike}
            if records.by == (self._card.unit,):
                same_source &= any(pc.any(one).as_py() for one in there.values())
            else:  # rows are told apart by their content: of one that is gone no one can say which it is now
                here = pc.all(pc.is_in(records.key, value_set=keys)).as_py()
                self._unsure |= {name for name, one in there.items() if not here or not pc.all(one).as_py()}
        if strangers and not same_source and records.by == (self._card.unit,):
            raise BadInput(
                f"The register's population {self._card.people!r} has other people: none of them is in this table.",
                hint='If these are other people, declare a different population on their card: population = "…".',
            )
        if strangers and same_source:
            return alike[-1:]  # other rows of the same source
        return [name for name, (common, same) in found.items() if common and same]

    def _states(self) -> list[str]:
        return sorted((name for name in self.spaces if name != STABLE), key=int)


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
        people = self._space.people
        parts = [self._counts(), *self._summed(), *(self._sums(measure) for measure in self._measures())]
        lines = {one.number for one in self._space.told} - {0}
        return Exposure(
            tuple(sorted(lines)),
            tuple(finding for part in parts for finding in part.findings),
            sum(part.exposed for part in parts),
            tuple(why for part in parts for why in part.undecided),
            people.atoms,
            int(people.unit_counts.min(initial=0)),
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
        """Whether some releases alone tell of a group that is too small already, and all together of fewer people.

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
            chosen += sorted(tuple(sorted(one, key=str)) for one in groups if one <= counted)
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
        """A finding for each column: the group, the fewest earlier releases found it follows from, and what helps."""
        findings = []
        for column in dict.fromkeys(one.column for one in pinned):
            mine = [one for one in pinned if one.column == column]
            first = min(mine, key=lambda one: (len(one.atoms), self._people(one.atoms), one.atoms))
            needed = self._needed(old, new, first)
            helps = tuple(self._helps(old, new, mine))
            findings.append(
                Finding(self._people(first.atoms), column, tuple(sorted(one.number for one in needed)), helps)
            )
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

    def _helps(self, old: Sequence[Told], new: Sequence[Told], pinned: Sequence[Target]) -> Iterator[str]:
        """The obvious changes to a table, tried out: which of them would do."""
        if len(new) != 1 or thread_time() > self._deadline:
            return
        for side, figures in new[0].coarser:
            if len(figures[2]) and not any(self._decide([*old, _only(new[0], figures)], pinned)):
                yield f"the same table without {side}"

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
        try:
            exposed, undecided = self._estimated(told, share)
        except TooLarge:
            return Exposure((), undecided=("there are too many groups of one person to compute with",))
        alone = [*([old] if old else []), *([one] for one in new)]  # what one table tells is for its own rules to judge
        asked = [(target, how) for target in exposed for how in closer(share)]
        found = set(asked) - self._close(told, asked, Verdict.FREE)
        if several and (ends := self._ends(column, measure)) is not None:
            bounded = self._between(told, share, ends)
            for part in alone:
                bounded -= self._between(part, share, ends, bounded)
            own = self._system(told).contributions  # of two people, each knows their own
            found |= {(one, Closeness(share, insiders=len(own[one.atoms[0]]) > 1)) for one in bounded}
        for part in alone:
            if part is old or not promised:
                found -= self._close(part, found, Verdict.DETERMINED)
        exposed = {target for target, _ in found}
        if not exposed:
            why = (f"{number(undecided, 'amount')} could not be decided in time",) if undecided else ()
            return Exposure((), undecided=why)
        lines = tuple(one.number for one in old)
        smallest = min(self._people(one.atoms) for one in exposed)
        return Exposure((), (Finding(smallest, column, lines),), len({one.unit for one in exposed}))

    def _estimated(self, told: Sequence[Told], share: Fraction) -> tuple[set[SumTarget], int]:
        """The targets that can be estimated too closely from these releases, and how many could not be decided."""
        system = self._system(told)
        exposed, undecided = set(), 0
        few = self._space.people.unit_counts < self._policy.smallest_group
        small = frozenset(np.flatnonzero(few).tolist())
        for target in system.candidates(share, small, self._deadline):
            verdict = system.verdict(target, Closeness(share, insiders=True), self._deadline)
            if verdict is Verdict.DETERMINED:
                exposed.add(target)
            undecided += verdict is Verdict.UNDECIDED
        return exposed, undecided

    def _close(
        self, told: Sequence[Told], asked: Iterable[tuple[SumTarget, Closeness]], verdict: Verdict
    ) -> set[tuple[SumTarget, Closeness]]:
        """Those of the targets on which this is the verdict, if these releases tell something of them."""
        system = self._system(told)
        return {
            (target, how)
            for target, how in asked
            if all(system.part[atom] >= 0 for atom in target.atoms)
            and system.verdict(target, how, self._deadline) is verdict
        }

    def _system(self, told: Sequence[Told]) -> SumSystem:
        key = tuple(map(id, told))
        if key not in self._systems:
            self._systems[key] = SumSystem.of(self._space, told)
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


def _only(told: Told, figures: tuple[Numbers, Numbers, Numbers, Numbers]) -> Told:
    """What a release would tell if it had these figures only."""
    starts, places, low, high = figures
    empty = places[np.repeat(high <= 0, np.diff(starts))]
    possible = np.setdiff1d(np.union1d(told.possible, told.places), empty)
    return replace(told, starts=starts, places=places, low=low, high=high, possible=possible)

"""Sums from which one contributor can estimate another's, when several figures are read together.

Unknown is what the people of each atom have together. A contributor knows what they reported, in *every* atom they are
in, and subtracts it. So for a target t, a set A of atoms that t is in and a contributor u the estimate is the largest
that the sum over A can be, given all that was released and that no sum is below what u has in it, less what u has in A.
It must not be within p % above what t has in A. Anyone who is alone in an atom knows its sum exactly.

First everyone is taken to know the largest contribution to each atom, and the sum of an atom that someone else is
alone in, which is more than any single contributor knows: if that does not suffice, nothing does. Only where it does
are contributors looked at one by one.

Where the card says between which ends amounts lie, everyone knows that, too, and may find an amount from above and
below: of two people of whom one has 100 more than the other, and no one more than 100, one has 100 and one nothing.

Amounts are whole numbers of their smallest unit, and everyone knows that: if the largest sum over the reals is none in
whole numbers, an integer program says what is. Where sums are very large a unit more or less does not matter, and no
program could tell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from time import thread_time
from typing import Any

import numpy as np

from discreet.core.programs import Numbers, Program, Status
from discreet.releases.atoms import Space
from discreet.releases.joint_counts import TooLarge
from discreet.releases.records import Told
from discreet.verbs.attack.intruder.determined import Verdict
from discreet.verbs.attack.intruder.sparse import components, sparse
from discreet.verbs.attack.intruder.unknowns import Simplex, Unknowns

_MOST_CONTRIBUTORS = 2_000
"""Rows of contributors that are looked at one by one, at most."""
_MOST_UNION = 10
"""Atoms of one target of which all sets are looked at, at most."""
_NEARLY = 1 - 1e-7
SAME = Fraction(1, 10**6)
"""Share within which an estimate is as good as the amount."""
_LARGEST = 1e7
"""What the sums add up to, at most, if they are to be whole numbers."""
_EXACT = 1e15
"""What they add up to, at most, for a solver to tell a unit more or less."""


@dataclass(frozen=True)
class SumTarget:
    """What one contributor has in a set of atoms."""

    unit: int
    atoms: tuple[int, ...]


@dataclass(frozen=True)
class Closeness:
    """How closely an amount may be estimated, and by whom."""

    share: Fraction
    by: int | None = None
    """A contributor who knows their own amounts; ``None``: anyone."""


@dataclass(frozen=True, eq=False)
class SumSystem:
    """What the people of each atom have together, and what single contributors have of it."""

    sums: Numbers
    matrix: Any
    low: Numbers
    high: Numbers
    floor: Numbers
    """The least that everyone knows each atom to have: 0, or what the card says of amounts that may be negative."""
    nonnegative: bool
    part: Numbers
    """For each atom the connected part it is in; -1 if nothing was released of it."""
    records: Numbers
    """How many amounts each atom has."""
    contributions: dict[int, dict[int, float]]
    """By atom and unit."""
    by_unit: dict[int, dict[int, float]]
    alone: Numbers
    """Whether an atom has one unit only."""

    @classmethod
    def of(cls, space: Space, told: Sequence[Told], least: float = -np.inf) -> SumSystem:
        """The sums of one measure, by what these releases tell of it; ``least`` is the least that an amount can be,
        where it may be negative."""
        people, measure = space.people, told[0].measure
        amounts = np.nan_to_num(people.amounts[measure]) * people.copies
        sums = np.bincount(people.atom, amounts, people.atoms)
        blocks = []
        for one in told:
            figure = np.repeat(np.arange(len(one.low)), np.diff(one.starts))
            covered = np.flatnonzero(one.group >= 0)
            used, where = np.unique(np.concatenate([one.places, one.group[covered]]), return_inverse=True)
            adds = sparse().csr_array(
                (np.ones(len(figure)), (figure, where[: len(figure)])), shape=(len(one.low), len(used))
            )
            has = sparse().csr_array(
                (np.ones(len(covered)), (where[len(figure) :], covered)), shape=(len(used), people.atoms)
            )
            blocks.append(adds @ has)
        matrix = sparse().csr_array(sparse().vstack(blocks, format="csr"))
        low, high = np.concatenate([one.low for one in told]), np.concatenate([one.high for one in told])
        coordinates = matrix.tocoo()
        label = components(coordinates.row, len(low) + coordinates.col, len(low) + people.atoms)[len(low) :]
        part = np.where(np.isin(np.arange(people.atoms), coordinates.col), label, -1)
        contributions: dict[int, dict[int, float]] = {}
        by_unit: dict[int, dict[int, float]] = {}
        single = people.unit.null_count == len(people.unit)
        units = np.arange(len(people)) if single else people.units
        told_of = ~np.isnan(people.amounts[measure])
        for record in np.flatnonzero(told_of & (part[people.atom] >= 0)).tolist():
            atom, unit = int(people.atom[record]), int(units[record])
            for copy in range(int(people.copies[record]) if single else 1):
                who = unit + copy * len(people)
                own = contributions.setdefault(atom, {})
                own[who] = own.get(who, 0.0) + abs(float(amounts[record]) / (people.copies[record] if single else 1))
                by_unit.setdefault(who, {})[atom] = own[who]
        nonnegative = all(one.nonnegative for one in told)
        records = np.bincount(people.atom, np.where(told_of, people.copies, 0), people.atoms)
        floor = np.zeros(people.atoms)
        if not nonnegative:
            floor[records > 0] = least * records[records > 0]
        alone = people.unit_counts == 1
        return cls(sums, matrix, low, high, floor, nonnegative, part, records, contributions, by_unit, alone)

    def candidates(self, share: Fraction, small: Container[int], deadline: float) -> Iterator[SumTarget]:
        """Contributors who could be estimated too closely if the sum of their atoms were known exactly.

        That someone has nothing is only looked for in ``small`` atoms. ``TooLarge`` if someone is in too many atoms.
        """
        for unit, own in self.by_unit.items():
            for atoms in self._sets(unit, share, deadline):
                rivals = self._others(unit, atoms)
                mine, total = sum(own[atom] for atom in atoms), sum(sum(self.contributions[a].values()) for a in atoms)
                known = mine > 0 or (len(atoms) == 1 and atoms[0] in small)
                if known and total - max(rivals.values(), default=0.0) < _too_close(mine, share):
                    yield SumTarget(unit, atoms)

    def _sets(self, unit: int, share: Fraction, deadline: float) -> Iterator[tuple[int, ...]]:
        """The sets of a unit's atoms in which others, but for the largest of them, may have too little.

        What they have in several atoms adds up, and the largest of them has no more there than the largest of each
        atom: so an atom with too much of it is in no such set. Of many atoms the single ones suffice, if all may have
        so much more at once that no set of them is estimated too closely.
        """
        own = self.by_unit[unit]
        most = max(_too_close(sum(own.values()), share) - sum(own.values()), 0.5)
        rest = {atom: [size for other, size in self.contributions[atom].items() if other != unit] for atom in own}
        atoms = sorted(atom for atom, sizes in rest.items() if sum(sizes) - max(sizes, default=0.0) <= most)
        largest = len(atoms)
        if largest > _MOST_UNION:
            if not self._all_reach(unit, atoms, share, deadline):
                raise TooLarge
            largest = 1
        for size in range(1, largest + 1):
            yield from combinations(atoms, size)

    def _all_reach(self, unit: int, atoms: Sequence[int], share: Fraction, deadline: float) -> bool:
        """Whether each of a unit's atoms may have so much more, all at the same time, for anyone who knows the largest
        contribution of others to each atom, and the sum where one of them is alone."""
        own = self.by_unit[unit]
        mates = np.flatnonzero(np.isin(self.part, self.part[list(atoms)]))
        known = self._largest(unit, mates)
        sums = self.sums[mates]
        rise = np.where(np.isin(mates, list(self._alone(unit, mates))), 0.0, np.inf)
        floor = np.array([known[int(atom)] for atom in mates])
        part = self._unknowns(mates, sums - np.minimum(floor, sums), rise)
        least = -part.fall
        least[np.searchsorted(mates, atoms)] = [np.ceil(_too_close(own[one], share) - own[one]) for one in atoms]
        program = Program(
            np.zeros(len(part)), part.relations, 0.0, 0.0, least, part.rise, integral=_scale(sums) <= _LARGEST
        )
        return _scale(sums) <= _EXACT and program.solve(deadline=deadline).x is not None

    def verdict(self, target: SumTarget, how: Closeness, deadline: float) -> Verdict:
        """Whether the target can be estimated so closely."""
        if thread_time() > deadline:
            return Verdict.UNDECIDED
        known = {} if how.by is None else self.by_unit.get(how.by, {})
        seen = sum(known.get(atom, 0.0) for atom in target.atoms)
        mates = self._mates(target)
        alone = self._alone(target.unit, mates).intersection(known)
        reaches = self._reaches(target, known, mates, alone, self._limit(target, how.share) + seen, deadline)
        return Verdict.UNDECIDED if reaches is None else Verdict.FREE if reaches else Verdict.DETERMINED

    def estimated(
        self,
        target: SumTarget,
        share: Fraction,
        deadline: float,
        known: Callable[[Closeness], bool] = lambda how: False,
    ) -> Verdict:
        """Whether anyone, or a contributor who knows their own amounts, can estimate the target within the share,
        other than those of whom it is ``known``."""
        mates = self._mates(target)
        most = max(self._others(target.unit, target.atoms).values(), default=0.0)
        largest, alone = self._largest(target.unit, mates), self._alone(target.unit, mates)
        if self._reaches(target, largest, mates, alone, self._limit(target, share) + most, deadline):
            return Verdict.FREE
        insiders = self._insiders(target)
        sure = len(insiders) <= _MOST_CONTRIBUTORS
        for row in ((None,), *insiders[:_MOST_CONTRIBUTORS]):
            for unit in row:
                how = Closeness(share, unit)
                verdict = self.verdict(target, how, deadline)
                if verdict is not Verdict.DETERMINED:
                    sure &= verdict is Verdict.FREE
                    break
                if not known(how):
                    return verdict
        return Verdict.FREE if sure else Verdict.UNDECIDED

    def _insiders(self, target: SumTarget) -> list[list[int]]:
        """Other contributors, in rows. If the first of a row cannot estimate the target, no one in it can: of two who
        are in one atom only, the one who has more there subtracts more, and knows more of the sum."""
        rows, several = [], set()
        for atom in self._mates(target).tolist():
            single, more = self._ranks[atom]
            several |= more - {target.unit}
            rows += [row] if (row := [unit for unit in single if unit != target.unit]) else []
        rivals = self._others(target.unit, target.atoms)
        return sorted([*rows, *([unit] for unit in several)], key=lambda row: (-rivals.get(row[0], 0.0), row[0]))

    @cached_property
    def _ranks(self) -> dict[int, tuple[list[int], set[int]]]:
        """For each atom the contributors who are in no other, the largest first, and those who are."""
        found = {}
        for atom, sizes in self.contributions.items():
            more = {unit for unit in sizes if len(self.by_unit[unit]) > 1}
            found[atom] = sorted(sizes.keys() - more, key=lambda unit: (-sizes[unit], unit)), more
        return found

    def _mates(self, target: SumTarget) -> Numbers:
        """The atoms that are connected with a target's."""
        return np.flatnonzero(np.isin(self.part, self.part[list(target.atoms)]))

    def _limit(self, target: SumTarget, share: Fraction) -> float:
        """Estimates below this are too close to the target."""
        own = self.by_unit[target.unit]
        return _too_close(sum(own[atom] for atom in target.atoms), share) * _NEARLY

    def _largest(self, target: int, mates: Numbers) -> dict[int, float]:
        """The largest contribution of another to each atom."""
        return {
            atom: max((size for unit, size in self.contributions[atom].items() if unit != target), default=0.0)
            for atom in mates.tolist()
        }

    def _alone(self, target: int, mates: Numbers) -> set[int]:
        """The atoms in which another is alone."""
        return {atom for atom in mates.tolist() if self.alone[atom] and target not in self.contributions[atom]}

    def _others(self, unit: int, atoms: Iterable[int]) -> dict[int, float]:
        """What others have in these atoms."""
        found: dict[int, float] = {}
        for atom in atoms:
            for other, size in self.contributions[atom].items():
                if other != unit:
                    found[other] = found.get(other, 0.0) + size
        return found

    def between(self, targets: Iterable[SumTarget], share: Fraction, ends: tuple[float, float]) -> set[SumTarget]:
        """Those of the targets, alone or in twos in an atom, whose amount can be told within the share from above and
        from below, by the other of the two or by anyone, since each amount lies between these ends; and not by the
        ends alone."""
        found = set()
        by_part: dict[int, list[SumTarget]] = {}
        for target in targets:
            few = len(self.contributions[target.atoms[0]])
            if len(target.atoms) == 1 and (few == 1 or (few == 2 and self.nonnegative)):
                by_part.setdefault(int(self.part[target.atoms[0]]), []).append(target)
        for part, mine in by_part.items():
            mates = np.flatnonzero(self.part == part)
            sums, least, most = self.sums[mates], self.records[mates] * ends[0], self.records[mates] * ends[1]
            simplex = Simplex(self._unknowns(mates, sums - np.minimum(least, sums), np.maximum(most, sums) - sums))
            for target in mine:
                atom = target.atoms[0]
                at = np.searchsorted(mates, target.atoms)
                seen = sum(self._others(target.unit, target.atoms).values())
                amount = self.sums[atom] - seen
                near = float(share) * abs(amount) if amount else 0.5
                known = max(most[at[0]] - seen - amount, amount - least[at[0]] + seen) if seen == 0 else np.inf
                moves = (abs(simplex.furthest(at, way)[at[0]]) for way in (np.ones(1), -np.ones(1)))
                if known >= near and all(move < near for move in moves):
                    found.add(target)
        return found

    def _reaches(  # noqa: PLR0917
        self,
        target: SumTarget,
        known: dict[int, float],
        mates: Numbers,
        exact: Collection[int],
        far: float,
        deadline: float,
    ) -> bool | None:
        """Whether the target's atoms may have so much together, for someone with a share of their own in some, who
        knows the sums of ``exact`` atoms; ``None`` if time runs out."""
        sums = self.sums[mates]
        floor = np.array([known.get(atom, self.floor[atom]) for atom in mates.tolist()])
        rise = np.where(np.isin(mates, list(exact)), 0.0, np.inf)
        places = np.searchsorted(mates, target.atoms)
        part = self._unknowns(mates, sums - np.minimum(floor, sums), rise)
        changes = Simplex(part).furthest(places, np.ones(len(places)))
        still_missing = far - float(sums[places].sum())
        whole = np.rint(changes)
        integral = not (part.relations @ whole).any() and (whole >= -part.fall).all() and (whole <= part.rise).all()
        if changes[places].sum() < still_missing or integral or _scale(sums) > _LARGEST:
            return bool(changes[places].sum() >= still_missing)
        cost = np.zeros(len(part))
        cost[places] = -1.0
        program = Program(cost, part.relations, 0.0, 0.0, -part.fall, part.rise, integral=True)
        solved = program.solve(deadline=deadline)
        reached = solved.x is not None and -solved.value >= still_missing
        return True if reached else None if solved.status is not Status.OPTIMAL else False

    def _unknowns(self, mates: Numbers, fall: Numbers, rise: Numbers) -> Unknowns:
        """What the sums of a connected part may be, in changes by which each may fall and rise."""
        sums = self.sums[mates]
        rows = np.flatnonzero(np.diff(self.matrix[:, mates].indptr))
        matrix = sparse().csr_array(self.matrix[rows][:, mates])
        figures = matrix @ sums
        low, high = self.low[rows], self.high[rows]
        within = np.flatnonzero(low < high)
        enough = _scale(sums)
        slack = sparse().csr_array(
            (-np.ones(len(within)), (within, np.arange(len(within)))), shape=(len(rows), len(within))
        )
        relations = sparse().csr_array(sparse().hstack([matrix, slack], format="csr"))
        fall, rise = (
            np.minimum(np.concatenate([one, more[within]]), enough)
            for one, more in ((fall, figures - low), (rise, high - figures))
        )
        return Unknowns(np.arange(len(fall)), relations, fall, rise)


def _scale(sums: Numbers) -> float:
    """More than any sum can change by."""
    return float(4.0 * (np.abs(sums).sum() + 1.0))


def _too_close(amount: float, share: Fraction) -> float:
    """Estimates below this are too close to an amount, of which every whole unit counts."""
    return max((1 + float(share)) * amount, amount + 0.5)

"""Counts that an intruder can work out from the figures of several releases together.

Unknown is how the told values spread over the atoms: how many people of atom a have the combination t of values, a
whole number that is 0 or more. What is released are sums of these. ``determined`` says which of them are the same in
every database that agrees with all releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, permutations
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.programs import Numbers
from discreet.noise.masking import generator
from discreet.releases.atoms import NOT_TOLD, People, Space
from discreet.releases.records import Told
from discreet.verbs.attack.intruder.determined import LinearSystem, Seen, Verdict, determined
from discreet.verbs.attack.intruder.sparse import sparse

_MOST_COMBINATIONS = 50_000
_MOST_PAIRS = 400_000
"""Unknowns of a system, at most."""
_MOST_LOOKED_AT = 2_000_000
_MOST_UNIONS = 20_000
"""Groups of several atoms that are looked at, and of which it is computed whether they are known, at most."""
_BY_CHANCE = 10
"""People for each value of a column that says another, below which that may be chance."""
_Dependencies: TypeAlias = Mapping[tuple[str, str], Mapping[str | None, str | None]]


class TooLarge(Exception):
    """There are more unknowns than can be computed with."""


@dataclass(frozen=True)
class Target:
    """A value of a column, or one of several values, among the people of an atom, or of several."""

    atoms: tuple[int, ...]
    column: str
    value: str | tuple[str | None, ...] | None

    @property
    def values(self) -> tuple[str | None, ...]:
        """The values that are counted."""
        return self.value if isinstance(self.value, tuple) else (self.value,)


@dataclass(frozen=True, eq=False)
class CountSystem:
    """Unknown counts: how many people of an atom have a combination of values."""

    columns: tuple[str, ...]
    combinations: tuple[tuple[str | None, ...], ...]
    atom: Numbers
    combination: Numbers
    """For each unknown its atom, ascending, and its combination."""
    truth: Numbers
    relations: Any
    fall: Numbers
    rise: Numbers
    """Of the unknowns and, behind them, of figures that are known within an interval."""

    @classmethod
    def of(cls, space: Space, told: Sequence[Told]) -> CountSystem:
        """What the people of a space may have, by what these releases tell."""
        columns, combinations, of_combination, of_atom = _combinations(
            told, _dependencies(space.people) if len({one.tells for one in told}) > 1 else {}
        )
        leaves = [_leaves(one, columns, combinations) for one in told]
        atom, combination = _pairs(told, leaves, of_combination, of_atom)
        truth = _truth(space, columns, combinations, atom, combination)
        lib = sparse()
        size = len(atom)
        sizes = space.people.sizes
        rows = [lib.csr_array((np.ones(size), (atom, np.arange(size))), shape=(len(sizes), size))]
        lows, highs = [sizes.astype(float)], [sizes.astype(float)]
        for one, leaf in zip(told, leaves, strict=True):
            group = one.group[atom]
            place = np.where((group >= 0) & (leaf[combination] >= 0), group * one.leaves + leaf[combination], -1)
            used, where = np.unique(np.concatenate([one.places, place[place >= 0]]), return_inverse=True)
            figure = np.repeat(np.arange(len(one.low)), np.diff(one.starts))
            adds = lib.csr_array(
                (np.ones(len(figure)), (figure, where[: len(figure)])), shape=(len(one.low), len(used))
            )
            has = lib.csr_array(
                (np.ones(len(where) - len(figure)), (where[len(figure) :], np.flatnonzero(place >= 0))),
                shape=(len(used), size),
            )
            rows.append(adds @ has)
            lows.append(one.low)
            highs.append(one.high)
        matrix, low, high = _distinct(
            lib.csr_array(lib.vstack(rows, format="csr")), np.concatenate(lows), np.concatenate(highs)
        )
        sums = matrix @ truth
        within = np.flatnonzero(low < high)
        slack = lib.csr_array((-np.ones(len(within)), (within, np.arange(len(within)))), shape=(len(low), len(within)))
        relations = lib.csr_array(lib.hstack([matrix, slack], format="csr"))
        fall = np.concatenate([truth, sums[within] - low[within]])
        rise = np.concatenate([sizes[atom] - truth, high[within] - sums[within]])
        return cls(columns, combinations, atom, combination, truth, relations, fall, rise)

    def verdicts(
        self, targets: Sequence[Target], seconds: float, *, changes: list[Numbers] | None = None, reals: bool = False
    ) -> list[Verdict]:
        """Whether the count of each target is the same in every possible database.

        ``changes`` takes for each target what its changes in some possible databases add up to, with random weights,
        and the part it is in.
        """
        lib = sparse()
        row, unknown = self._parts(targets)
        parts = np.bincount(row, minlength=len(targets))
        adds = lib.csr_array((np.ones(len(row)), (row, unknown)), shape=(len(targets), self.relations.shape[1]))
        asked = np.full(len(targets), -1)
        single = parts == 1
        asked[row[single[row]]] = unknown[single[row]]
        several = np.flatnonzero(parts > 1)
        asked[several] = self.relations.shape[1] + np.arange(len(several))
        relations, fall, rise = self.relations, self.fall, self.rise
        if len(several):
            these = lib.csr_array(adds[several])
            relations = lib.csr_array(
                lib.block_array([[relations, None], [these, -lib.eye_array(len(several))]], format="csr")
            )
            fall, rise = np.concatenate([fall, these @ fall]), np.concatenate([rise, these @ rise])
        kind = np.full(len(fall), -1)
        kind[: len(self.combination)] = self.combination
        found = np.full(len(targets), Verdict.DETERMINED, np.int8)
        there = asked >= 0
        seen = Seen() if changes is not None else None
        found[there] = determined(
            LinearSystem(relations, fall, rise, kind), asked[there], seconds=seconds, seen=seen, reals=reals
        )
        if seen is not None and changes is not None:
            here = np.maximum(asked, 0)
            changes += [np.where(there, seen.marks[here], 0), np.where(there, seen.part[here], -1)]
        return [Verdict(int(one)) for one in found]

    def _parts(self, targets: Sequence[Target]) -> tuple[Numbers, Numbers]:
        """The unknowns that each target adds up: for each of them the target's number and its own."""
        rows, unknowns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for place, name in enumerate(self.columns):
            values = {value: code for code, value in enumerate(dict.fromkeys(row[place] for row in self.combinations))}
            codes = np.array([values[row[place]] for row in self.combinations], np.int64)
            keys = self.atom * len(values) + codes[self.combination]
            order = np.argsort(keys, kind="stable")
            asked = [
                (number, atom * len(values) + values[value])
                for number, one in enumerate(targets)
                if one.column == name
                for value in one.values
                if value in values
                for atom in one.atoms
            ]
            number, key = np.array(asked, np.int64).reshape(-1, 2).T
            low = np.searchsorted(keys[order], key)
            many = np.searchsorted(keys[order], key, side="right") - low
            which = np.repeat(low, many) + np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
            rows.append(np.repeat(number, many))
            unknowns.append(order[which])
        return np.concatenate(rows), np.concatenate(unknowns)


def unions(
    free: Sequence[Target], changed: Numbers, part: Numbers, units: Mapping[int, frozenset[int]], smallest: int
) -> Iterator[Target]:
    """Groups of several atoms with fewer than ``smallest`` units of which a count may be known, though of no atom is.

    ``free`` are targets that change, in some possible databases by what ``changed`` says with random weights. A count
    of several atoms is known only if their changes cancel in every database. Where people have several rows, a group
    may be any of the atoms of one of them.
    ``TooLarge`` if there are too many to look at.
    """
    together: dict[tuple[str, str | tuple[str | None, ...] | None, int], list[int]] = {}
    for place, one in enumerate(free):
        together.setdefault((one.column, one.value, int(part[place])), []).append(place)
    looked, found = 0, set[Target]()
    for (column, value, _), places in together.items():
        marks = {free[place].atoms[0]: int(changed[place]) for place in places}
        sets = list(_sets_of_units(marks, units, _MOST_LOOKED_AT - looked))
        sums = [sum(marks[atom] for atom in atoms) for atoms in sets]
        at: dict[int, list[int]] = {}
        for number, total in enumerate(sums):
            at.setdefault(total % 2**64, []).append(number)
        for size in range(smallest - 1):
            for some in combinations(range(len(sets)), size):
                looked += bool(some)
                if looked > _MOST_LOOKED_AT:
                    raise TooLarge
                for last in at.get(-sum(sums[number] for number in some) % 2**64, ()):
                    atoms = [atom for number in (*some, last) for atom in sets[number]]
                    few = len(frozenset.union(*(units[atom] for atom in atoms))) < smallest
                    if (not some or last > some[-1]) and len(set(atoms)) == len(atoms) and few:
                        target = Target(tuple(sorted(atoms)), column, value)
                        if target not in found:
                            found.add(target)
                            yield target
                        if len(found) > _MOST_UNIONS:
                            raise TooLarge


def _sets_of_units(atoms: Iterable[int], units: Mapping[int, frozenset[int]], most: int) -> Iterator[tuple[int, ...]]:
    """All sets of atoms of one unit: single atoms where units have one row; ``TooLarge`` if more than ``most``."""
    of_unit: dict[int, list[int]] = {}
    for atom in atoms:
        for unit in units[atom]:
            of_unit.setdefault(unit, []).append(atom)
    several = dict.fromkeys(map(tuple, of_unit.values()))
    if sum(2 ** len(mine) - 1 for mine in several) > most:
        raise TooLarge
    sets = (some for mine in several for size in range(len(mine)) for some in combinations(mine, size + 1))
    yield from dict.fromkeys(sets)


def value_groups(one: Told, column: str) -> set[frozenset[str | None]]:
    """Groups of several values of a column, but not of all, that figures of a release count together."""
    at = one.tells.index(column)
    groups = {(one.places[low:high] % one.leaves).tobytes() for low, high in pairwise(one.starts.tolist())}
    leaves_of: dict[str | None, set[int]] = {}
    for row, leaf in zip(one.domain, one.leaf.tolist(), strict=True):
        leaves_of.setdefault(row[at], set()).add(leaf)
    found = set()
    for group in groups:
        leaves = set(np.frombuffer(group, np.int64).tolist())
        values = frozenset(value for value, its in leaves_of.items() if its <= leaves)
        split = any(its & leaves and not its <= leaves for its in leaves_of.values())
        if not split and 1 < len(values) < len(leaves_of) - 1:
            found.add(values)
    return found


def _combinations(
    told: Sequence[Told], dependencies: _Dependencies
) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...], Numbers, Numbers]:
    """The columns that are told of, every combination of their values that someone may have, and for each combination
    and each atom the number of the set of columns that it has values of, or that was told of its people.

    What two releases tell of different columns may go together in any way, unless a column they share says otherwise,
    or one of them says the other.
    """
    by_columns: dict[tuple[str, ...], set[tuple[str | None, ...]]] = {}
    for one in told:
        by_columns.setdefault(one.tells, set()).update(one.domain)
    columns = tuple(dict.fromkeys(name for names in by_columns for name in names))
    covers = np.stack([np.any([o.group >= 0 for o in told if o.tells == names], axis=0) for names in by_columns])
    patterns, pattern = np.unique(covers, axis=1, return_inverse=True)
    found: dict[tuple[str | None, ...], int] = {}
    sets: dict[frozenset[str], int] = {}
    kind = np.empty(patterns.shape[1], np.int64)
    for number, covered in enumerate(patterns.T.tolist()):
        domains = [(names, rows) for (names, rows), has in zip(by_columns.items(), covered, strict=True) if has]
        its = {name for names, _ in domains for name in names}
        kind[number] = sets.setdefault(frozenset(its), len(sets))
        for row in _joined(domains, dependencies) if domains else ():
            found[tuple(row.get(name, NOT_TOLD) for name in columns)] = int(kind[number])
        if len(found) > _MOST_COMBINATIONS:
            raise TooLarge
    ordered = sorted(found, key=repr)
    return columns, tuple(ordered), np.array([found[row] for row in ordered], np.int64), kind[pattern.ravel()]


def _joined(
    domains: Sequence[tuple[tuple[str, ...], set[tuple[str | None, ...]]]], dependencies: _Dependencies
) -> Sequence[dict[str, str | None]]:
    """Every combination of values that each of the domains allows."""
    rows: list[dict[str, str | None]] = [{}]
    for names, more in domains:
        shared = [name for name in names if name in rows[0]]
        index: dict[tuple[str | None, ...], list[dict[str, str | None]]] = {}
        for row in more:
            value = dict(zip(names, row, strict=True))
            index.setdefault(tuple(value[name] for name in shared), []).append(value)
        joined = []
        for before in rows:
            joined += [before | after for after in index.get(tuple(before[name] for name in shared), ())]
            if len(joined) > _MOST_COMBINATIONS:
                raise TooLarge
        its = set(joined[0]) if joined else set()
        for (one, other), says in dependencies.items():
            if {one, other} <= its:
                joined = [row for row in joined if says.get(row[one], row[other]) == row[other]]
        rows = joined
        if not rows:
            break
    return rows


@lru_cache(maxsize=1)
def _dependencies(people: People) -> _Dependencies:
    """For columns of which one says another, as a diagnosis its chapter: which value goes with each.

    Among a few people that may be chance, and says nothing.
    """
    found = {}
    coded = {name: column.dictionary_encode(null_encoding="encode") for name, column in people.values.items()}
    codes = {name: one.indices.to_numpy(zero_copy_only=False).astype(np.int64) for name, one in coded.items()}
    names = {name: one.dictionary.to_pylist() for name, one in coded.items()}
    told = {name: codes[name] != (names[name].index(NOT_TOLD) if NOT_TOLD in names[name] else -1) for name in codes}
    for one, other in permutations(codes, 2):
        both = told[one] & told[other]
        pairs = np.unique(codes[one][both] * len(names[other]) + codes[other][both])
        firsts, seconds = pairs // len(names[other]), pairs % len(names[other])
        each = len(np.unique(firsts)) == len(firsts) and len(np.unique(seconds)) > 1
        if each and both.sum() >= _BY_CHANCE * len(firsts):
            found[one, other] = {
                names[one][a]: names[other][b] for a, b in zip(firsts.tolist(), seconds.tolist(), strict=True)
            }
    return found


def _leaves(one: Told, columns: Sequence[str], combinations: Sequence[tuple[str | None, ...]]) -> Numbers:
    """For each combination the leaf of a release it belongs to; -1 if no one that it tells of has it."""
    at = [columns.index(name) for name in one.tells]
    known = dict(zip(one.domain, one.leaf.tolist(), strict=True))
    return np.array([known.get(tuple(row[place] for place in at), -1) for row in combinations], np.int64)


def _pairs(
    told: Sequence[Told], leaves: Sequence[Numbers], of_combination: Numbers, of_atom: Numbers
) -> tuple[Numbers, Numbers]:
    """Atoms and combinations that someone of the atom may have: no release says that no one has them."""
    groups = np.stack([one.group for one in told])
    first = np.argmax(groups >= 0, axis=0)
    atoms, combinations = list[Numbers](), list[Numbers]()
    for number, (one, leaf) in enumerate(zip(told, leaves, strict=True)):
        mine = np.flatnonzero((first == number) & (groups[number] >= 0))
        if not len(mine):
            continue
        members = np.flatnonzero(leaf >= 0)
        order = members[np.argsort(leaf[members], kind="stable")]
        starts = np.searchsorted(leaf[order], np.arange(one.leaves + 1))
        group, value = one.possible // one.leaves, one.possible % one.leaves
        sizes = (starts[1:] - starts[:-1])[value]
        expanded = np.repeat(np.arange(len(group)), sizes)
        within = np.arange(len(expanded)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        of_group, of_value = group[expanded], order[starts[value[expanded]] + within]
        low = np.searchsorted(of_group, groups[number][mine])
        many = np.searchsorted(of_group, groups[number][mine], side="right") - low
        if sum(map(len, atoms)) + many.sum() > 20 * _MOST_PAIRS:
            raise TooLarge
        which = np.repeat(low, many) + np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        atom, combination = np.repeat(mine, many), of_value[which]
        ok = of_atom[atom] == of_combination[combination]
        atom, combination = atom[ok], combination[ok]
        for other, its in zip(told, leaves, strict=True):
            at = other.group[atom]
            place = at * other.leaves + its[combination]
            ok = (at < 0) | ((its[combination] >= 0) & _among(place, other.possible))
            atom, combination = atom[ok], combination[ok]
        atoms.append(atom)
        combinations.append(combination)
    atom = np.concatenate(atoms) if atoms else np.empty(0, np.int64)
    combination = np.concatenate(combinations) if combinations else np.empty(0, np.int64)
    if len(atom) > _MOST_PAIRS:
        raise TooLarge
    order = np.lexsort((combination, atom))
    return atom[order], combination[order]


def _among(places: Numbers, sorted_places: Numbers) -> Numbers:
    where = np.minimum(np.searchsorted(sorted_places, places), max(len(sorted_places) - 1, 0))
    return sorted_places[where] == places if len(sorted_places) else np.zeros(len(places), bool)


def _truth(
    space: Space,
    columns: Sequence[str],
    combinations: Sequence[tuple[str | None, ...]],
    atom: Numbers,
    combination: Numbers,
) -> Numbers:
    """How many people there are of each pair."""
    people = space.people
    some = np.zeros(people.atoms, np.int64)
    some[atom] = combination  # any one that someone of the atom may have: all of them have values of the same columns
    mine = np.flatnonzero(np.isin(people.atom, np.unique(atom)))
    key = np.zeros(len(mine), np.int64)
    coded = []
    for place, name in enumerate(columns):
        column = people.values[name].take(pa.array(mine)).dictionary_encode(null_encoding="encode")
        names = [*column.dictionary.to_pylist(), NOT_TOLD]
        told = np.array([row[place] != NOT_TOLD for row in combinations], bool)[some[people.atom[mine]]]
        codes = np.where(told, column.indices.to_numpy(zero_copy_only=False), len(names) - 1)
        coded.append((names, codes))
        _, key = np.unique(key, return_inverse=True)
        key = key * len(names) + codes
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    number = {row: place for place, row in enumerate(combinations)}
    which_one = np.array(
        [number[tuple(names[codes[row]] for names, codes in coded)] for row in first.tolist()], np.int64
    )
    pairs = atom * len(combinations) + combination
    where = np.searchsorted(pairs, people.atom[mine] * len(combinations) + which_one[which])
    return np.bincount(where, people.copies[mine], len(atom))


def _distinct(matrix: Any, low: Numbers, high: Numbers) -> tuple[Any, Numbers, Numbers]:
    """Each sum once, within the narrowest interval; equal groups of different releases are one equation."""
    weights = generator(0).integers(1, 2**62, matrix.shape[1]).astype(np.uint64)
    sums = np.zeros(matrix.shape[0], np.uint64)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    np.add.at(sums, rows, weights[matrix.indices] * matrix.data.astype(np.uint64))
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    least, most = np.full(len(first), -np.inf), np.full(len(first), np.inf)
    np.maximum.at(least, which, low)
    np.minimum.at(most, which, high)
    there = np.flatnonzero((np.diff(matrix.indptr)[first] > 0) & ((least > -np.inf) | (most < np.inf)))
    return sparse().csr_array(matrix[first[there]]), least[there], most[there]

"""What several releases give away together, by going through all databases that agree with what was released.

Written from the definition, without a line of ``discreet.releases``: a release is what its payload prints, a database
gives every row told of a value, and a count is determined if it is the same in all databases that agree. An amount is
estimated by somebody who knows their own: the largest it is in all databases that agree with that, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """How many of some rows have certain values: at least and at most."""

    rows: frozenset[Hashable]
    values: tuple[tuple[str, Any], ...]
    low: float
    high: float


@dataclass(frozen=True)
class Said:
    """What one table or file tells: the group of each row, the values it names of each column, and its figures."""

    release: int
    group: Mapping[Hashable, Hashable]
    labels: Mapping[str, frozenset[Any]]
    facts: tuple[Fact, ...]
    truth: Mapping[Hashable, Row]
    sums: tuple[Fact, ...] = ()
    """What the amounts of some rows add up to."""
    measure: str = ""
    promised: float = 0.0
    """Share of a p% rule."""

    @property
    def told(self) -> set[str]:
        """Columns whose values are told."""
        return {*self.labels, *([self.measure] if self.measure else [])}


def compatible(one: Said, other: Said) -> bool:
    """Whether all that both told of the same rows was the same."""
    return all(
        one.truth[key][name] == other.truth[key][name]
        for key in one.truth.keys() & other.truth.keys()
        for name in one.told & other.told
    )


def table_said(
    release: int,
    rows: Mapping[Hashable, Row],
    printed: Any,
    quasi: Sequence[str],
    recipe: Any,
    value: str = "",
    promised: float = 0.0,
) -> Said:
    """What a printed table of counts, or of sums of a ``value``, tells of ``rows``."""
    figure = value or "n"
    sides = [name for name in printed.column_names if name not in (figure, "hidden")]
    lines = printed.to_pylist()
    known = [name for name in sides if name in quasi]
    told = [name for name in sides if name not in quasi]
    facts = []
    for line in lines:
        of = frozenset(
            key for key, row in rows.items() if all(line[name] in ("Total", str(row[name])) for name in known)
        )
        values = tuple((name, line[name]) for name in told if line[name] != "Total")
        if line["hidden"]:
            low, high = recipe["least_hidden"], np.inf
        elif "base" in recipe:
            low, high = _before_rounding(line[figure], int(recipe["base"]), recipe["how"], recipe["reach"])
        else:
            low = high = line[figure]
        facts.append(Fact(of, values, low, high))
    labels = {name: frozenset(line[name] for line in lines) - {"Total"} for name in told}
    facts += [Fact(frozenset(rows), ((name, code),), 1, np.inf) for name in told for code in sorted(labels[name])]
    group = {key: tuple(row[name] for name in known) for key, row in rows.items()}
    if value:
        return Said(release, group, {}, (), rows, tuple(facts), value, promised)
    return Said(release, group, labels, tuple(facts), rows)


def each_table(printed: Any, by: Sequence[str]) -> list[Any]:
    """The tables of a release, each made by columns such as ``town × ill``."""
    found = []
    for asked in by:
        sides = asked.split(" × ")
        others = [name for name in printed.column_names[:-2] if name not in sides]
        told = [name for name in others if "Total" in printed.column(name).to_pylist()]  # else there is one code only
        lines = [line for line in printed.to_pylist() if all(line[name] == "Total" for name in told)]
        found.append(pa.Table.from_pylist(lines, printed.schema).drop_columns(others))
    return found


def answer_said(release: int, rows: Mapping[Hashable, Row], sums: Mapping[Hashable, int], by: str, value: str) -> Said:
    """What exact sums tell, of all of ``rows`` or for each value of a column."""
    group = {key: row[by] if by else None for key, row in rows.items()}
    facts = [Fact(frozenset(key for key in rows if group[key] == one), (), sums[one], sums[one]) for one in sums]
    return Said(release, group, {}, (), rows, tuple(facts), value)


def _before_rounding(printed: int, base: int, how: str, reach: int) -> tuple[int, int]:
    if how == "conventional":
        possible = [n for n in range(printed + 2 * base) if (n + base // 2) // base * base == printed]
        return min(possible), max(possible)
    return printed - reach * base + 1, printed + reach * base - 1


def file_said(
    release: int, rows: Mapping[Hashable, Row], classes: Mapping[Hashable, Hashable], told: Sequence[str]
) -> Said:
    """What a published file tells of ``rows``, of which each is in a class or was left out."""
    labels = {name: frozenset(rows[key][name] for key in classes) for name in told}
    facts = []
    for one in set(classes.values()):
        of = frozenset(key for key, its in classes.items() if its == one)
        for values in product(*(sorted(labels[name]) for name in told)):
            count = sum(all(rows[key][n] == v for n, v in zip(told, values, strict=True)) for key in of)
            facts.append(Fact(of, tuple(zip(told, values, strict=True)), count, count))
    return Said(release, classes, labels, tuple(facts), {key: rows[key] for key in classes})


class Databases:
    """All assignments of values to rows that agree with what was said."""

    def __init__(self, said: Sequence[Said]) -> None:
        self.said = said
        self.rows = list(dict.fromkeys(key for one in said for key in one.group))
        self.columns = list(dict.fromkeys(name for one in said for name in one.labels))
        self.domains = [list(product(*(self._values(key, name) for name in self.columns))) for key in self.rows]
        facts = {(one.rows, one.values, one.low, one.high) for part in said for one in part.facts}
        self._facts = [Fact(*one) for one in facts]
        self.found = self._go_through()

    def tells_of(self, key: Hashable, column: str) -> bool:
        return any(key in one.group and column in one.labels for one in self.said)

    def _values(self, key: Hashable, column: str) -> list[Any]:
        named = [one.labels[column] for one in self.said if key in one.group and column in one.labels]
        return sorted(frozenset.intersection(*named)) if named else [None]

    def _go_through(self) -> Any:
        """A row a database, a column a row of the table: which of its possible values it has."""
        found = np.zeros((1, 0), np.int16)
        counts = np.zeros((1, len(self._facts)), np.int16)
        left = np.array([len(one.rows) for one in self._facts])
        low, high = (np.array([getattr(one, side) for one in self._facts]) for side in ("low", "high"))
        for key, domain in zip(self.rows, self.domains, strict=True):
            here = np.array([key in one.rows for one in self._facts])
            adds = np.array(
                [
                    [
                        key in one.rows and all(row[self.columns.index(name)] == value for name, value in one.values)
                        for one in self._facts
                    ]
                    for row in domain
                ],
                np.int16,
            )
            left = left - here
            which = np.tile(np.arange(len(domain)), len(found))
            before = np.repeat(np.arange(len(found)), len(domain))
            counts = counts[before] + adds[which]
            ok = ((counts <= high) & (counts + left >= low)).all(axis=1)
            found = np.concatenate([found[before[ok]], which[ok, None].astype(np.int16)], axis=1)
            counts = counts[ok]
            assert len(found), "the true database is always among them"
        return found

    def determined(self, rows: Sequence[Hashable], column: str, value: Any) -> bool:
        """Whether all databases agree on how many of ``rows`` have ``value``."""
        if not all(self.tells_of(key, column) for key in rows):
            return False
        place = self.columns.index(column)
        counts = np.zeros(len(self.found), np.int64)
        for key in rows:
            at = self.rows.index(key)
            has = np.array([one[place] == value for one in self.domains[at]])
            counts += has[self.found[:, at]]
        return bool((counts == counts[0]).all())


def exposed(
    earlier: Sequence[Said],
    new: Sequence[Said],
    sensitive: Sequence[str],
    unit: Mapping[Hashable, Hashable],
    smallest: int = 3,
    *,
    unions: bool = True,
) -> list[tuple[tuple[Hashable, ...], str, Any]]:
    """Groups of fewer than ``smallest`` units of which a count follows from all, and not from a part alone.

    Parts are all earlier releases, and each table of the new one. A part that tells it of a larger group, which is too
    small as well, is no excuse: fewer people are singled out.

    A group is an atom, or several of which it is not already measured how many of some of them have the value.
    """
    both = [*earlier, *new]
    earlier, new = ([one for one in part if one.labels] for part in (earlier, new))
    of_parts = [one for one in (earlier, *([one] for one in new)) if one]
    if not new or len(of_parts) < 2:
        return []
    joint, parts = Databases([*earlier, *new]), [Databases(one) for one in of_parts]
    found = []
    several = len({unit[key] for one in both for key in one.group}) < len({key for one in both for key in one.group})
    for atoms in _groups(both, (len(unit) + 1 if several else smallest) if unions else 2):
        rows = [key for atom in atoms for key in atom]
        if len({unit[key] for key in rows}) >= smallest:
            continue
        for column in sensitive:
            values = {value for one in (*earlier, *new) for value in one.labels.get(column, ())}
            for value in sorted(values):
                if (
                    joint.determined(rows, column, value)
                    and not any(
                        part.determined(rows, column, value) and not _narrowed(of, atoms, unit, smallest)
                        for part, of in zip(parts, of_parts, strict=True)
                    )
                    and not any(joint.determined(some, column, value) for some in _fewer(atoms))
                ):
                    found.append((tuple(rows), column, value))
    return found


def _narrowed(
    said: Sequence[Said], atoms: Sequence[list[Hashable]], unit: Mapping[Hashable, Hashable], smallest: int
) -> bool:
    place = [one.group.get(atoms[0][0], "nowhere") for one in said]
    everybody = dict.fromkeys(key for key in unit)
    alike = {unit[key] for key in everybody if [one.group.get(key, "nowhere") for one in said] == place}
    return len(atoms) == 1 and len({unit[key] for key in atoms[0]}) < len(alike) < smallest


def _groups(said: Sequence[Said], smallest: int) -> Iterator[tuple[list[Hashable], ...]]:
    """Atoms, and fewer than ``smallest`` of them together."""
    atoms: dict[Hashable, list[Hashable]] = {}
    for key in dict.fromkeys(key for one in said for key in one.group):
        atoms.setdefault(tuple(one.group.get(key, "nowhere") for one in said), []).append(key)
    for size in range(1, smallest):
        yield from combinations(atoms.values(), size)


def _fewer(atoms: Sequence[list[Hashable]]) -> Iterator[list[Hashable]]:
    for size in range(1, len(atoms)):
        for some in combinations(atoms, size):
            yield [key for atom in some for key in atom]


class Amounts:
    """All whole amounts, 0 or more, that agree with sums that were told."""

    def __init__(self, said: Sequence[Said], truth: Mapping[Hashable, int]) -> None:
        facts = {(one.rows, max(one.low, 0), one.high) for part in said for one in part.sums if one.high < np.inf}
        assert all(one.low <= 0 for part in said for one in part.sums if one.high == np.inf), (
            "of hidden sums is nothing known"
        )
        self.rows = sorted(frozenset().union(*(one[0] for one in facts)), key=repr)
        self._truth = truth
        low, high = (np.array([one[side] for one in facts], np.int16) for side in (1, 2))
        within = np.array([[key in one[0] for one in facts] for key in self.rows], np.int16)
        found, sums = np.zeros((1, 0), np.int16), np.zeros((1, len(facts)), np.int16)
        for place in range(len(self.rows)):
            amounts = np.arange(high[within[place] > 0].min() + 1, dtype=np.int16)
            which, before = np.tile(amounts, len(found)), np.repeat(np.arange(len(found)), len(amounts))
            now = sums[before] + which[:, None] * within[place]
            complete = ~within[place + 1 :].any(axis=0)
            ok = ((now <= high) & (~complete | (now >= low))).all(axis=1)
            found, sums = np.concatenate([found[before[ok]], which[ok, None]], axis=1), now[ok]
            assert len(found), "the true amounts are always among them"
        self.found = found

    def largest(self, rows: Sequence[Hashable], own: Sequence[Hashable]) -> float:
        """The most that some rows have together, for somebody who knows what is in their own."""
        if not all(key in self.rows for key in rows):
            return np.inf
        possible = np.ones(len(self.found), bool)
        for key in own:
            if key in self.rows:
                possible &= self.found[:, self.rows.index(key)] == self._truth[key]
        return float(self.found[possible][:, [self.rows.index(key) for key in rows]].sum(axis=1).max())


def estimated(
    earlier: Sequence[Said],
    new: Sequence[Said],
    unit: Mapping[Hashable, Hashable],
    share: float,
    smallest: int = 3,
) -> list[tuple[Hashable, ...]]:
    """Units and rows of theirs of which somebody else knows the amounts to within a share above.

    Told apart is whether they are known exactly, and who knows them: anybody, or one who knows their own.

    Who promised as much by a p% rule has to keep it; else only what no part tells by itself counts. That somebody
    has nothing counts in groups of fewer than ``smallest`` units.
    """
    both = [*earlier, *new]
    earlier, new = ([one for one in part if one.sums] for part in (earlier, new))
    promised = max((one.promised for one in new), default=0.0)
    several = bool(earlier) or len(new) > 1
    if not new or not (several or promised):
        return []
    share = max(promised, share) if several else promised
    truth = {key: row[one.measure] for one in (*earlier, *new) for key, row in one.truth.items()}
    found = _near(Amounts([*earlier, *new], truth), both, truth, unit, share, smallest)
    for alone in (earlier, *([] if promised else ([one] for one in new))):
        if alone and found:
            known = _near(Amounts(alone, truth), both, truth, unit, share, smallest)
            found -= {one for one in known if not _among_more(alone, both, truth, unit, one)}
    return sorted(found, key=repr)


def _among_more(
    alone: Sequence[Said],
    said: Sequence[Said],
    truth: Mapping[Hashable, int],
    unit: Mapping[Hashable, Hashable],
    estimate: tuple[Any, ...],
) -> bool:
    """Whether a part estimates an amount exactly, but as that of more people: that it is as large, it does not say."""
    who, rows, near, by = estimate
    mine = sum(truth[key] for key in rows)
    atoms = [one[0] for one in _groups(said, 2) if set(one[0]) & set(rows)]
    units = {unit[key] for atom in atoms for key in atom}
    places = [[one.group.get(key, "nowhere") for one in alone] for key in rows]
    everybody = {key for one in said for key in one.group}
    alike = {unit[key] for key in everybody if [one.group.get(key, "nowhere") for one in alone] in places}
    return mine > 0 and near == mine + 0.5 and units <= {who, by} and len(alike) > len(units)


def _near(
    amounts: Amounts,
    said: Sequence[Said],
    truth: Mapping[Hashable, int],
    unit: Mapping[Hashable, Hashable],
    share: float,
    smallest: int,
) -> set[tuple[Hashable, ...]]:
    atoms = [one[0] for one in _groups(said, 2)]
    owned = {who: [key for key in truth if unit[key] == who] for who in {unit[key] for key in truth}}
    found = set()
    for who, own in owned.items():
        parts = [[key for key in atom if key in own] for atom in atoms]
        parts = [part for part in parts if part]
        few = [len({unit[key] for key in atom}) < smallest for atom in atoms if set(atom) & set(own)]
        for size in range(1, len(parts) + 1):
            for some in combinations(range(len(parts)), size):
                rows = [key for part in some for key in parts[part]]
                mine = sum(truth[key] for key in rows)
                if not mine and not (size == 1 and few[some[0]]):
                    continue
                for near in (max((1 + share) * mine - 1e-6, mine + 0.5), mine + 0.5):
                    for by in (None, *owned):
                        if by != who and amounts.largest(rows, owned.get(by, ())) < near:
                            found.add((who, tuple(rows), near, by))
    return found

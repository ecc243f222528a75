"""What several releases give away together, by going through all databases that agree with what was released.

Written from the definition, without a line of ``discreet.releases``: a release is what its payload prints, a database
gives every row told of a value, and a count is determined if it is the same in all databases that agree.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

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


def table_said(release: int, rows: Mapping[Hashable, Row], printed: Any, quasi: Sequence[str], recipe: Any) -> Said:
    """What a printed table of counts tells of ``rows``."""
    sides = [name for name in printed.column_names if name not in ("n", "hidden")]
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
            low, high = _before_rounding(line["n"], int(recipe["base"]), recipe["how"], recipe["reach"])
        else:
            low = high = line["n"]
        facts.append(Fact(of, values, low, high))
    labels = {name: frozenset(line[name] for line in lines) - {"Total"} for name in told}
    facts += [Fact(frozenset(rows), ((name, code),), 1, np.inf) for name in told for code in sorted(labels[name])]
    group = {key: tuple(row[name] for name in known) for key, row in rows.items()}
    return Said(release, group, labels, tuple(facts), rows)


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
    """Groups of fewer than ``smallest`` units of which a count follows from all, and not from either part alone.

    A group is an atom, or several of which it is not known already how many of some of them have the value.
    """
    both = [*earlier, *new]
    if not earlier or not new:
        return []
    joint, parts = Databases(both), (Databases(earlier), Databases(new))
    found = []
    for atoms in _groups(both, smallest if unions else 2):
        rows = [key for atom in atoms for key in atom]
        if len({unit[key] for key in rows}) >= smallest:
            continue
        for column in sensitive:
            values = {value for one in both for value in one.labels.get(column, ())}
            for value in sorted(values):
                if (
                    joint.determined(rows, column, value)
                    and not any(part.determined(rows, column, value) for part in parts)
                    and not any(joint.determined(some, column, value) for some in _fewer(atoms))
                ):
                    found.append((tuple(rows), column, value))
    return found


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

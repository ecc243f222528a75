"""Categories in groups of groups, as a tree or a CSV file, and the paths of labels that ordered groupings share.

A path is a value and its labels upwards, below the top. All paths of a hierarchy are equally long.

Two shapes of files are read, told apart by the number of columns:

- two: a child and its parent, in any order of rows; a parent that is no one's child lies below the top;
- more: a value, its labels upwards and ``*`` at the end, as ARX writes them. A last column without ``*``
  is a level of its own.

Columns are divided by ``;`` or ``,``. Names are taken as they are, spaces included.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path as FilePath
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core import sql
from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.hierarchy import TOP, refuse, wrong_label, wrong_other
from discreet.core.kind import CATEGORICAL, Kind
from discreet.errors import HierarchyError, NotFound


@declare(HIERARCHIES, "taxonomy", example='{ type = "taxonomy", tree = { Asia = ["Japan"], Europe = ["France"] } }')
class Taxonomy:
    """Each value and its labels upwards, below the top, in the order declared.

    Branches may be unevenly deep: a value with fewer labels stays itself on the lower levels, so that all
    reach the top together. Made from a tree (``from_tree``) or a file (``from_csv``), and equal if they say
    the same.
    """

    paths: Sequence[Sequence[str]] = parameter("Each value and its labels upwards; in a card, a tree or a file.")
    other: str | None = parameter("Label of unknown values.", default=None)

    type: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]] = CATEGORICAL | {Kind.INTEGER}

    def __post_init__(self) -> None:
        paths = level_off(self.paths)
        problems = wrong_other(self.other)
        if not paths:
            problems.append("it has no values")
        refuse(self.type, problems + wrong_paths(paths, self.other))
        object.__setattr__(self, "paths", paths)

    @classmethod
    def from_tree(cls, tree: object, other: str | None = None) -> Taxonomy:
        """From nested tables ending in lists: ``{"Asia": {"East": ["Japan"]}, "Europe": ["France", "Spain"]}``.

        A table or list with nothing in it makes its name a value. Whole numbers and booleans may be listed too.
        """
        problems: list[str] = []
        paths = _branches(tree, (), problems)
        refuse(cls.type, problems)
        return cls(paths, other)

    @classmethod
    def from_csv(cls, file: FilePath | str, other: str | None = None) -> Taxonomy:
        """From a file of children and parents, or of a row for each value with all its labels, as ARX has it."""
        return cls(read_paths(FilePath(file)), other)

    @property
    def height(self) -> int:
        return len(self.paths[0])

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, in the order declared."""
        return tuple(path[0] for path in self.paths)

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        return lookup(value, self._paths, level, kind)

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        return among(as_listed(value, kind), self.leaves)

    def fields(self) -> dict[str, Any]:
        return {"tree": _tree([tuple(reversed(path)) for path in self._paths])}

    @property
    def _paths(self) -> tuple[Path, ...]:
        return self.paths  # type: ignore[return-value]  # made so in __post_init__


def _branches(tree: object, above: Path, problems: list[str]) -> list[Path]:
    """The paths of a tree; what is wrong with it is added to ``problems``."""
    if isinstance(tree, Mapping):
        pairs = [(spelled(name), below) for name, below in tree.items()]
    elif isinstance(tree, list | tuple):
        pairs = [(spelled(name), ()) for name in tree]
    else:
        problems.append(f"a tree is made of tables and lists, got {tree!r}{_under(above)}")
        return []
    found: list[Path] = []
    for name, below in pairs:
        if name is None:
            problems.append(f"names must be text, whole numbers or booleans, got {tree!r}{_under(above)}")
        elif below in ((), [], {}):
            found.append((name, *above))
        else:
            found += _branches(below, (name, *above), problems)
    return found


def _under(above: Path) -> str:
    return f" under {above[0]!r}" if above else ""


def _tree(paths: Sequence[Path]) -> dict[str, Any] | list[str]:
    """The tree of paths written from the top down."""
    branches: dict[str, list[Path]] = {}
    for path in paths:
        branches.setdefault(path[0], []).append(path[1:])
    ends = {name: all(label == name for below in rest for label in below) for name, rest in branches.items()}
    if all(ends.values()):
        return list(branches)
    return {name: [] if ends[name] else _tree(rest) for name, rest in branches.items()}


Path = tuple[str, ...]

PLAIN = 16
"""Up to this many labels a CASE with an IN for each is about as fast as anything, and reads better."""


def spelled(value: object) -> str | None:
    """A listed value as the text engines give it; ``None`` if it is no text, whole number or boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def level_off(paths: Iterable[Sequence[str]]) -> tuple[Path, ...]:
    """Equally long paths: where there is less to say of a value, it stays itself on the lower levels."""
    lean = [(path[0], *_without_first(path)) for path in paths]
    longest = max(map(len, lean), default=0)
    return tuple((path[0],) * (longest - len(path)) + path for path in lean)


def wrong_paths(paths: Sequence[Path], other: str | None, lines: Sequence[int] | None = None) -> list[str]:
    """Values listed twice, labels with two labels above them, labels that mean two things; with ``lines`` where."""

    def at(*numbers: int) -> str:
        return f" (lines {', '.join(str(lines[n]) for n in sorted(set(numbers)))})" if lines else ""

    problems: list[str] = []
    first: dict[str, int] = {}
    for number, path in enumerate(paths):
        before = first.setdefault(path[0], number)
        if before != number and paths[before][:2] == path[:2]:
            problems.append(f"{path[0]!r} is listed twice{at(before, number)}")
    above: dict[tuple[int, str], int] = {}
    for number, path in enumerate(paths):
        for level, (label, parent) in enumerate(pairwise(path)):
            before = above.setdefault((level, label), number)
            if (rival := paths[before][level + 1]) != parent:
                problems.append(f"{label!r} lies in both {rival!r} and {parent!r}{at(before, number)}")
    for label in dict.fromkeys(label for path in paths for label in path):
        problems += wrong_label(label, "a label")
    problems += [
        f"the label {label!r} ends in a space"
        for label in dict.fromkeys(label for path in paths for label in path[1:] if label != path[0])
        if label.endswith(" ")
    ]
    meanings = _meanings(paths)
    for label, groups in meanings.items():
        if len(set(groups.values())) > 1:
            shown = " and ".join(f"level {level}" for level in sorted(groups))
            where = at(*(first[min(values, key=first.__getitem__)] for values in groups.values()))
            problems.append(f"{label!r} stands for different things on {shown}{where}")
    if other in meanings:
        problems.append(f"other {other!r} is a label already")
    return problems


def lookup(value: exp.Expr, paths: Sequence[Path], level: int, kind: Kind) -> exp.Expr:
    """The label of a listed value on a level.

    Values that stay themselves are taken first. A few labels are told apart by an IN for each; many by their
    number in binary, an IN for each digit, which cuts the label out of one long text. An IN is one probe of a
    hash table on each engine, so this takes log2 of the probes of the plain form.
    """
    value = as_listed(value, kind)
    same = [path[0] for path in paths if path[level] == path[0]]
    groups: dict[str, list[str]] = {}
    for path in paths:
        if path[level] != path[0]:
            groups.setdefault(path[level], []).append(path[0])
    if not groups:
        return value
    grouped = _plain(value, groups) if len(groups) <= PLAIN else _numbered(value, groups)
    return exp.case().when(among(value, same), value).else_(grouped) if same else grouped


def among(value: exp.Expr, values: Iterable[str]) -> exp.Expr:
    """Whether a value is one of these."""
    return exp.In(this=value.copy(), expressions=[sql.literal(item) for item in values])


def as_listed(value: exp.Expr, kind: Kind) -> exp.Expr:
    """A value as the text it is listed by."""
    return value.copy() if kind is Kind.TEXT else sql.as_text(value)


def _plain(value: exp.Expr, groups: Mapping[str, Sequence[str]]) -> exp.Expr:
    *labels, last = groups
    chosen = exp.case()
    for label in labels:
        chosen = chosen.when(among(value, groups[label]), sql.literal(label))
    return chosen.else_(sql.literal(last)) if labels else sql.literal(last)


def _numbered(value: exp.Expr, groups: Mapping[str, Sequence[str]]) -> exp.Expr:
    width = max(map(len, groups))
    start: exp.Expr = exp.Literal.number(1)
    for digit in range((len(groups) - 1).bit_length()):
        ones = [item for number, items in enumerate(groups.values()) if number >> digit & 1 for item in items]
        offset = exp.Literal.number(width << digit)
        start = start + exp.case().when(among(value, ones), offset).else_(exp.Literal.number(0))
    labels = sql.literal("".join(label.ljust(width) for label in groups))
    cut = exp.Substring(this=labels, start=start, length=exp.Literal.number(width))
    return exp.Trim(this=cut, position="TRAILING", expression=sql.literal(" "))


def _without_first(path: Sequence[str]) -> list[str]:
    """The path above its value, which may repeat itself at the lower end."""
    runs = [(label, list(run)) for label, run in groupby(path)]
    return [label for _, run in runs[1:] for label in run]


def _meanings(paths: Sequence[Path]) -> dict[str, dict[int, frozenset[str]]]:
    """For each label and each level it is on, the values it stands for."""
    found: dict[str, dict[int, set[str]]] = {}
    for path in paths:
        for level, label in enumerate(path):
            found.setdefault(label, {}).setdefault(level, set()).add(path[0])
    return {label: {level: frozenset(values) for level, values in levels.items()} for label, levels in found.items()}


Row = tuple[int, list[str]]


def read_paths(file: FilePath) -> list[Path]:
    """The paths a file declares, in the order of its rows."""
    rows = _rows(file)
    problems = [f"line {line}: a name is missing" for line, cells in rows if not all(cells)]
    width = len(rows[0][1])
    problems += [
        f"line {line} has {len(cells)} columns, line {rows[0][0]} has {width}"
        for line, cells in rows
        if len(cells) != width
    ]
    refuse(file.name, problems)
    return _from_pairs(file.name, rows) if width == 2 else _from_rows(file.name, rows)


def _rows(file: FilePath) -> list[Row]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"There is no taxonomy file {file}.") from None
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"{file.name} is not UTF-8 text: byte {error.start + 1} cannot be read.", hint="Save it as UTF-8."
        ) from None
    except OSError as error:
        raise HierarchyError(f"{file.name} cannot be read: {error.strerror}.") from None
    readings = [_split(file, text, delimiter) for delimiter in ";,"]
    if not readings[0]:
        raise HierarchyError(f"{file.name} is empty: expected a value and its labels on each line.")
    best = max(readings, key=lambda rows: (_even(rows), len(rows[0][1])))
    if len(best[0][1]) < 2:
        raise HierarchyError(
            f"{file.name} has one column only: expected columns divided by ; or , on line {best[0][0]}."
        )
    return best


def _split(file: FilePath, text: str, delimiter: str) -> list[Row]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise HierarchyError(f"{file.name}, line {reader.line_num}: {error}.") from None


def _even(rows: list[Row]) -> bool:
    return len(rows[0][1]) > 1 and all(len(cells) == len(rows[0][1]) for _, cells in rows)


def _from_rows(name: str, rows: list[Row]) -> list[Path]:
    """Paths from rows that hold one each; the same row twice says nothing new."""
    if all(cells[-1] == TOP for _, cells in rows):
        rows = [(line, cells[:-1]) for line, cells in rows]
    lines: dict[Path, int] = {}
    for line, cells in rows:
        lines.setdefault(tuple(cells), line)
    paths = level_off(lines)
    refuse(name, wrong_paths(paths, None, list(lines.values())))
    return list(lines)


def _from_pairs(name: str, rows: list[Row]) -> list[Path]:
    if [cell.casefold() for cell in rows[0][1]] == ["child", "parent"]:
        rows = rows[1:]
    parents: dict[str, tuple[str, int]] = {}
    problems = []
    for line, (child, parent) in rows:
        known, before = parents.setdefault(child, (parent, line))
        if known != parent:
            problems.append(f"{child!r} lies in both {known!r} and {parent!r} (lines {before}, {line})")
        if child == TOP:
            problems.append(f"line {line}: {TOP!r} is the top and has no parent")
    problems += _circles(parents)
    refuse(name, problems)
    inner = {parent for parent, _ in parents.values()}
    return [_upwards(child, parents) for child in parents if child not in inner]


def _circles(parents: dict[str, tuple[str, int]]) -> list[str]:
    """Chains of parents that come back to where they began, each told once."""
    problems, done = [], set[str]()
    for start in parents:
        chain: dict[str, int] = {}
        node = start
        while node in parents and node not in chain and node not in done:
            chain[node] = parents[node][1]
            node = parents[node][0]
        if node in chain:
            circle = list(chain)[list(chain).index(node) :]
            lines = ", ".join(str(chain[label]) for label in circle)
            shown = " → ".join((*circle, node))
            problems.append(f"{shown} is a cycle (lines {lines})")
        done.update(chain)
    return problems


def _upwards(leaf: str, parents: dict[str, tuple[str, int]]) -> Path:
    path = [leaf]
    while path[-1] in parents and parents[path[-1]][0] != TOP:
        path.append(parents[path[-1]][0])
    return tuple(path)

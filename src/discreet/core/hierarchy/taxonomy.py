"""Categories in groups of groups, as a tree or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.declared import refuse, wrong_other
from discreet.core.hierarchy.grouping import Path, among, as_listed, level_off, lookup, spelled, wrong_paths
from discreet.core.hierarchy.taxonomy_file import read_paths
from discreet.core.kind import Kind


@declare(HIERARCHIES, "taxonomy", example='{ type = "taxonomy", tree = { Asia = ["Japan"], Europe = ["France"] } }')
class Taxonomy:
    """Each value and its labels upwards, below the top, in the order declared.

    Branches may be unevenly deep: a value with fewer labels stays itself on the lower levels, so that all
    reach the top together. Made from a tree (``from_tree``) or a file (``from_csv``), and equal if they say
    the same.
    """

    paths: Sequence[Sequence[str]] = parameter("Each value and its labels upwards; in a card, a tree or a file.")
    other: str | None = parameter("Label of values that it does not know.", default=None)

    type: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN})

    def __post_init__(self) -> None:
        paths = level_off(self.paths)
        problems = wrong_other(self.other)
        if not paths:
            problems.append("there is no value in it")
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

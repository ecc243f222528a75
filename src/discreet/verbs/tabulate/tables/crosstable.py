"""Cross table: figures with totals at every level, and what is known of the contributors to each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from discreet.errors import BadInput

Numbers: TypeAlias = np.ndarray[Any, Any]
MOST_CELLS = 50_000_000
"""Largest table, cells."""
MOST_KEPT = 100
"""Largest contributions kept for each cell."""
HIDDEN = "hidden"
COUNT = "n"
"""What the columns of a table that leaves are called beside its sides: whether a figure is hidden, and counts."""
TOTAL = "Total"


@dataclass(frozen=True)
class Dimension:
    """The codes of one side, the total of all first, each total before its parts.

    A total with a single part prints the same figure twice, so anyone who builds a dimension leaves one of them out
    (``from_paths`` does); a table that is given has it if it was printed so.
    """

    name: str
    codes: tuple[str, ...]
    parents: tuple[int, ...]
    """For each code the place of its total; -1 for the total of all, which is the first."""
    aliases: Mapping[str, str] = field(default_factory=dict, compare=False)
    """For each total that is left out because it has a single part the code that stands for it: they are one figure."""

    def __post_init__(self) -> None:
        twice = [code for code, times in Counter(self.codes).items() if times > 1]
        if twice:
            raise BadInput(
                f"{self.name} has two codes with the name {twice[0]!r}.", hint="Give each total a different name."
            )
        if not self.codes or len(self.codes) != len(self.parents) or self.parents[0] != -1:
            raise BadInput(f"{self.name} needs codes, the total of all first.")
        if any(not 0 <= parent < place for place, parent in enumerate(self.parents[1:], 1)):
            raise BadInput(f"{self.name}: a code comes before its total.", hint="Write each total before its parts.")
        if any(label in self.places or code not in self.places for label, code in self.aliases.items()):
            raise BadInput(
                f"{self.name}: an omitted total must not be a code itself, and must name the code that replaces it."
            )

    @classmethod
    def flat(cls, name: str, leaves: Iterable[str], total: str = TOTAL) -> Dimension:
        """A total and its parts, one level deep."""
        codes = (total, *leaves)
        return cls(name, codes, (-1, *(0 for _ in codes[1:])))

    @classmethod
    def from_paths(cls, name: str, paths: Iterable[Sequence[str]], total: str = TOTAL) -> Dimension:
        """From one path for each leaf, from the leaf upwards, the total of all left out.

        A label that equals the one below it on a path, or that has a single part, is left out (``aliases`` says what
        stands for it); of a single leaf there is no total.
        """
        parts: dict[tuple[str, ...], dict[str, None]] = {}
        for path in paths:
            down = tuple(label for place, label in enumerate(path) if place == 0 or label != path[place - 1])[::-1]
            for depth, label in enumerate(down):
                parts.setdefault(down[:depth], {})[label] = None
        codes, parents = [total], [-1]
        left_out: dict[str, set[str]] = {}
        top: tuple[str, ...] = ()
        while len(parts.get(top, ())) == 1:
            top = (*top, *parts[top])
        if top not in parts:
            return cls(name, top[-1:] or (total,), (-1,), {label: top[-1] for label in top if label != top[-1]})
        left_out.update((label, {total}) for label in top)

        def add(above: tuple[str, ...], parent: int) -> None:
            for label in parts.get(above, {}):
                here = (*above, label)
                if len(parts.get(here, ())) == 1:
                    add(here, parent)
                    left_out.setdefault(label, set()).add(stands_for(here))
                    continue
                codes.append(label)
                parents.append(parent)
                add(here, len(codes) - 1)

        def stands_for(here: tuple[str, ...]) -> str:
            while len(parts.get(here, ())) == 1:
                here = (*here, *parts[here])
            return here[-1]

        add(top, 0)
        aliases = {label: min(by) for label, by in left_out.items() if len(by) == 1 and label not in codes}
        return cls(name, tuple(codes), tuple(parents), aliases)

    @classmethod
    def from_parents(cls, name: str, parents: Mapping[str, str | None]) -> Dimension:
        """From the total of each code (``None`` for the total of all), in any order."""
        tops = [code for code, parent in parents.items() if parent is None]
        unknown = sorted({p for p in parents.values() if p is not None and p not in parents})
        if len(tops) != 1 or unknown:
            wrong = f"{unknown[0]!r} is not a code" if unknown else f"{len(tops)} codes have no total above them"
            raise BadInput(f"{name}: {wrong}.", hint="One code is the grand total; every other names its parent.")
        below: dict[str | None, list[str]] = {}
        for code, parent in parents.items():
            below.setdefault(parent, []).append(code)
        order, waiting = [], [tops[0]]
        while waiting:
            order.append(waiting.pop())
            waiting += reversed(below.get(order[-1], []))
        if len(order) < len(parents):
            raise BadInput(f"{name}: {min(set(parents) - set(order))!r} is part of a cycle of totals.")
        places = {code: place for place, code in enumerate(order)}
        return cls(name, tuple(order), tuple(-1 if (p := parents[c]) is None else places[p] for c in order))

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each code is."""
        return {code: place for place, code in enumerate(self.codes)}

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """For each code the places of its parts; of a leaf, none."""
        below: list[list[int]] = [[] for _ in self.codes]
        for place, parent in enumerate(self.parents[1:], 1):
            below[parent].append(place)
        return tuple(map(tuple, below))

    @cached_property
    def leaves(self) -> Numbers:
        """The places of the codes that have no parts."""
        return np.array([place for place, parts in enumerate(self.parts) if not parts], dtype=np.int64)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many totals each code has above it."""
        found = [0] * len(self.codes)
        for place, parent in enumerate(self.parents[1:], 1):
            found[place] = found[parent] + 1
        return tuple(found)

    def totals_at(self, depth: int) -> Numbers:
        """For each code the place of its total at a depth, or its own if it is less deep."""
        up = np.arange(len(self))
        for place in range(1, len(self)):
            if self.depths[place] > depth:
                up[place] = up[self.parents[place]]
        return up

    @property
    def nested(self) -> bool:
        """Whether there are totals within totals."""
        return max(self.depths) > 1


@dataclass(frozen=True)
class Contributions:
    """Who is in each cell; every array has the table's shape first."""

    counts: Numbers
    """How many respondents; with sampling weights those who answered, whatever they stand for."""
    largest: Numbers | None = None
    """Their largest contributions, the largest first, one axis more than the table; 0 where there are fewer."""
    sole: Numbers | None = None
    """Where there is a single respondent, a number that stands for them, the same in every cell; elsewhere -1."""
    absolute: Numbers | None = None
    """Only where some contributions are negative: the sum of the absolute ones. ``largest`` are absolute then too."""
    known: Numbers | None = None
    """How many of ``largest`` are known; ``None`` if all are."""


@dataclass(frozen=True)
class CrossTable:
    """Figures by one or more dimensions, in whole units of 10 to the power of minus ``decimals``, totals included."""

    dimensions: tuple[Dimension, ...]
    values: Numbers
    what: str = ""
    """What was added up; empty for a table of counts."""
    decimals: int = 0
    contributions: Contributions | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        names = [side.name for side in self.dimensions]
        if not names or len(set(names)) < len(names):
            raise BadInput("A table needs one or more dimensions, each from a different column.")
        if self.values.shape != self.shape or self.values.dtype != np.int64:
            raise BadInput(f"A table of {' × '.join(map(str, self.shape))} cells needs as many whole numbers.")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each side has."""
        return tuple(map(len, self.dimensions))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return prod(self.shape)

    def codes(self, cell: int) -> tuple[str, ...]:
        """The codes of a cell, given by its place in the flattened table."""
        where = np.unravel_index(cell, self.shape)
        return tuple(side.codes[int(place)] for side, place in zip(self.dimensions, where, strict=True))

    def cell(self, *codes: str) -> int:
        """The place in the flattened table of the cell with these codes."""
        if len(codes) != len(self.dimensions):
            raise BadInput(f"A cell of this table has {len(self.dimensions)} codes, got {len(codes)}.")
        for side, code in zip(self.dimensions, codes, strict=True):
            if code not in side.places:
                raise BadInput(f"{side.name} has no code {code!r}.")
        places = [side.places[code] for side, code in zip(self.dimensions, codes, strict=True)]
        return int(np.ravel_multi_index(places, self.shape))

    def written(self, value: float) -> str:
        """A figure in whole units as people write it."""
        return written(value, self.decimals)


def require_size(dimensions: Sequence[Dimension]) -> None:
    """Raise an error if a table with these sides would have too many cells."""
    sizes = [len(side) for side in dimensions]
    if prod(sizes) > MOST_CELLS:
        raise BadInput(
            f"The table would have {' × '.join(f'{size:,}' for size in sizes)} = {prod(sizes):,} cells; "
            f"the limit is {MOST_CELLS:,}.",
            hint="Start at a coarser level (column@level), or leave a column out.",
        )


def require_names(sides: Sequence[str], what: str) -> None:
    """Raise an error if the columns of a table, which has one for each side and for its figures, share a name."""
    figure = what or COUNT
    if what == HIDDEN or HIDDEN in sides or figure in sides:
        name = figure if figure in sides else HIDDEN
        has = "figures" if name == figure else "what is hidden"
        raise BadInput(
            f"No dimension or value may have the name {name!r}: it is reserved for {has}.",
            hint="Give the column another name.",
        )


def written(value: float, decimals: int) -> str:
    """A figure in whole units of 10 to the power of minus ``decimals`` as people write it."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if float(value).is_integer():
        return f"{Decimal(int(value)).scaleb(-decimals):,.{decimals}f}"
    return f"{value / 10**decimals:,.{decimals + 1}f}"


def summed(dimensions: Sequence[Dimension], inner: Numbers) -> Numbers:
    """The whole table of these ``inner`` figures, which are those of the leaves of every side, in their order."""
    return rolled_up(dimensions, inner, 0, np.add)


def rolled_up(
    dimensions: Sequence[Dimension], inner: Numbers, none: int, join: Callable[[Numbers, Numbers], Numbers]
) -> Numbers:
    """The whole table of these ``inner`` figures, each total joined from its parts, beginning with ``none``."""
    table = inner
    for axis, side in enumerate(dimensions):
        whole = np.full((len(side), *np.delete(table.shape, axis)), none, dtype=table.dtype)
        whole[side.leaves] = np.moveaxis(table, axis, 0)
        for place in range(len(side) - 1, 0, -1):
            whole[side.parents[place]] = join(whole[side.parents[place]], whole[place])
        table = np.moveaxis(whole, 0, axis)
    return np.ascontiguousarray(table)

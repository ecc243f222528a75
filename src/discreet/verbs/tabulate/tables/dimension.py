"""Dimension of a table: its codes as a tree of totals and their parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import BadInput

TOTAL = "Total"
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Dimension:
    """The codes of one side, the total of all first, each total before its parts.

    A total with a single part prints the same figure twice, so whoever builds a dimension leaves one of them out
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
            raise BadInput(f"{self.name} has two codes called {twice[0]!r}.", hint="Give each total a name of its own.")
        if not self.codes or len(self.codes) != len(self.parents) or self.parents[0] != -1:
            raise BadInput(f"{self.name} needs codes, the total of all first.")
        if any(not 0 <= parent < place for place, parent in enumerate(self.parents[1:], 1)):
            raise BadInput(f"{self.name}: a code stands before its total.", hint="Write each total before its parts.")
        if any(label in self.places or code not in self.places for label, code in self.aliases.items()):
            raise BadInput(f"{self.name}: what is left out is no code, and a code stands for it.")

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
            wrong = f"{unknown[0]!r} is no code" if unknown else f"{len(tops)} codes have no total above them"
            raise BadInput(f"{name}: {wrong}.", hint="One code is the total of all; every other names its total.")
        below: dict[str | None, list[str]] = {}
        for code, parent in parents.items():
            below.setdefault(parent, []).append(code)
        order, waiting = [], [tops[0]]
        while waiting:
            order.append(waiting.pop())
            waiting += reversed(below.get(order[-1], []))
        if len(order) < len(parents):
            raise BadInput(f"{name}: {min(set(parents) - set(order))!r} is its own total, over others.")
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
    def leaves(self) -> _Numbers:
        """The places of the codes that have no parts."""
        return np.array([place for place, parts in enumerate(self.parts) if not parts], dtype=np.int64)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many totals each code has above it."""
        found = [0] * len(self.codes)
        for place, parent in enumerate(self.parents[1:], 1):
            found[place] = found[parent] + 1
        return tuple(found)

    @property
    def nested(self) -> bool:
        """Whether there are totals within totals."""
        return max(self.depths) > 1

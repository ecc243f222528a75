"""Categories that have an order, grouped with their neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.hierarchy import listed, refuse, whole_numbers, wrong_multiples, wrong_other
from discreet.core.hierarchy.taxonomy import Path, among, as_listed, lookup, spelled, wrong_paths
from discreet.core.kind import Kind


@declare(HIERARCHIES, "ordered", example='{ type = "ordered", order = ["low", "middle", "high"], sizes = [2] }')
class Ordered:
    """Values in their order, in runs of growing size: level 1 has runs of ``sizes[0]``, and so on.

    Each size is a multiple of the one before, so that runs nest; the last run may be shorter. A run is
    called by its ends, ``primary..secondary``, or by its only value.
    """

    order: Sequence[str | int] = parameter("All values, in order.")
    sizes: Sequence[int] = parameter("Sizes of runs, each a multiple of the one before.")
    other: str | None = parameter("Label of unknown values.", default=None)
    _paths: tuple[Path, ...] = field(init=False, repr=False, compare=False)

    type: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT, Kind.INTEGER})

    def __post_init__(self) -> None:
        problems = wrong_other(self.other)
        items = listed(self.order) or ()
        order = [text for item in items if not isinstance(item, bool) and (text := spelled(item)) is not None]
        if not items or len(order) < len(items):
            problems.append(f"order must be a list of texts or whole numbers, got {self.order!r}")
        sizes, wrong = whole_numbers(self.sizes, "sizes")
        problems += wrong or wrong_multiples(sizes, "sizes")
        problems += [f"{item!r} is listed twice" for item in _repeated(order)]
        refuse(self.type, problems)
        paths = tuple((item, *(_run(order, place, size) for size in sizes)) for place, item in enumerate(order))
        refuse(self.type, wrong_paths(paths, self.other) + _ambiguous(order, sizes))
        object.__setattr__(self, "order", tuple(order))
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "_paths", paths)

    @property
    def height(self) -> int:
        return len(self.sizes) + 1

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        return lookup(value, self._paths, level, kind)

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr:
        return among(as_listed(value, kind), (path[0] for path in self._paths))

    def fields(self) -> dict[str, Any]:
        return {"order": list(self.order), "sizes": list(self.sizes)}


def _run(order: Sequence[str], place: int, size: int) -> str:
    run = order[place - place % size :][:size]
    return run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}"


def _ambiguous(order: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Runs of a level that have the same name, since their values have dots in them."""
    levels = [[_run(order, start, size) for start in range(0, len(order), size)] for size in sizes]
    return [f"two runs are called {label!r}" for labels in levels for label in _repeated(labels)]


def _repeated(items: Sequence[str]) -> list[str]:
    return [item for item, count in Counter(items).items() if count > 1]

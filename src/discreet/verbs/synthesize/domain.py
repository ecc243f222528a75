"""The domain of synthetic rows: the columns of a table as codes, by what its card declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.card import Card, Column
from discreet.core.exact import whole
from discreet.core.kind import LISTABLE, Kind
from discreet.core.text import meant
from discreet.errors import BadInput, NotDeclared, NotFound
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import require_names
from discreet.verbs.publish.recoding import published_columns
from discreet.verbs.synthesize.attributes import Attribute, Binned, Listed, Merged
from discreet.verbs.synthesize.graph.measurement import Measurement

BINS = 32
"""Default number of intervals of a column with bounds."""
_FEW = 100
"""Largest number of whole numbers or days that get a code each, unless bins are asked for."""
_FINE = 512
"""Number of intervals counted where their borders follow the data (quantiles)."""
_MOST_BINS = 4096
_RARE = 3
"""Counts below this many standard deviations of their noise are merged with others."""


@dataclass(frozen=True)
class Domain:
    """Attributes in the order in which they leave."""

    attributes: tuple[Attribute, ...]

    @classmethod
    def of(
        cls,
        card: Card,
        columns: Sequence[str] = (),
        bins: int | Mapping[str, int] | None = None,
        quantiles: Sequence[str] = (),
    ) -> Domain:
        """The released columns of a card, or those named; of ``quantiles`` finer intervals, to be merged later."""
        released = {column.name: column for column in published_columns(card)}
        for name in (*columns, *(bins if isinstance(bins, Mapping) else ()), *quantiles):
            if name not in released:
                kept = " is not released" if name in card else f" is not a column{meant(name, released)}"
                raise NotFound(f"{name!r}{kept}; there are {', '.join(released)}.")
        require_names(columns)
        chosen = [released[name] for name in columns] if columns else list(released.values())
        for name in (*(bins if isinstance(bins, Mapping) else ()), *quantiles):
            if released[name] not in chosen:
                raise BadInput(f"{name} is binned but not among the columns.", hint="Name it among the columns.")
        for name in quantiles:
            if released[name].bounds is None:
                raise BadInput(f"{name} has no bounds, and so no quantiles.", hint="Leave it out.")
        wanted = {column.name: bins.get(column.name) if isinstance(bins, Mapping) else bins for column in chosen}
        for name, many in wanted.items():
            if many is not None and whole(many, f"The bins of {name}") > _MOST_BINS:
                raise BadInput(f"The limit is {_MOST_BINS:,} bins, not {many:,}.")
        fine = [_FINE if one.name in quantiles else wanted[one.name] for one in chosen]
        return cls(tuple(_attribute(one, many) for one, many in zip(chosen, fine, strict=True)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(one.size for one in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.column.name for one in self.attributes)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of what is drawn."""
        return pa.schema([(one.column.name, one.type) for one in self.attributes])

    def called(self, columns: Sequence[int]) -> str:
        """Name of a marginal: its columns, such as "age × sex"."""
        return " × ".join(self.names[place] for place in columns)

    def refined(self, codes: NDArray[np.integer], rng: Generator) -> NDArray[np.int64]:
        """Rows of codes as they were before any were merged."""
        columns = [one.refined(codes[:, place].astype(np.int64), rng) for place, one in enumerate(self.attributes)]
        return np.stack(columns, axis=1)

    def decoded(self, codes: NDArray[np.integer], rng: Generator) -> pa.Table:
        """A row of values for each row of codes."""
        columns = [one.decoded(codes[:, place].astype(np.int64), rng) for place, one in enumerate(self.attributes)]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def with_merged(self, place: int, attribute: Attribute) -> Domain:
        """Replace one attribute."""
        return replace(self, attributes=(*self.attributes[:place], attribute, *self.attributes[place + 1 :]))


def merge_rare(
    fine: Attribute,
    counts: NDArray[np.float64],
    deviation: float,
    most: int | None = None,
    apart: NDArray[np.int64] | None = None,
) -> Attribute:
    """Merge codes that are too rare to be told from noise, by counts with noise of ``deviation``.

    Rare values become one code. Rare intervals are joined with their neighbours until they are no longer rare; with
    ``most``, until each has about one row in ``most``, as quantiles would. The code of missing values stays. Codes
    with different numbers in ``apart`` are never merged.
    """
    if not isinstance(fine, Listed | Binned):
        return fine
    values = fine.size - (not fine.column.required)
    known, sorts = counts[:values], np.zeros(values, np.int64) if apart is None else apart[:values]
    groups = _runs(known, deviation, most, sorts) if isinstance(fine, Binned) else _rare(known, deviation, sorts)
    if fine.size > values:
        groups = [*groups, max(groups) + 1]
    if max(groups) + 1 == fine.size:
        return fine
    return Merged(fine, tuple(groups), tuple(np.maximum(counts, 0.0).tolist()))


def regroup_measurement(narrow: Attribute, one: Measurement) -> Measurement:
    """A measurement of an attribute before its codes were merged, in the merged codes.

    Merged counts have more noise than others. A measurement has one deviation: that of its mean variance is taken.
    """
    if not isinstance(narrow, Merged):
        return one
    counts = np.bincount(narrow.groups, one.counts, narrow.size).astype(np.float64)
    return Measurement(one.columns, counts, one.deviation * (len(narrow.groups) / narrow.size) ** 0.5)


def _runs(counts: NDArray[np.float64], deviation: float, most: int | None, sorts: NDArray[np.int64]) -> list[int]:
    enough = 0.0 if most is None else float(np.maximum(counts, 0).sum()) / most
    groups = list[int]()
    for some in np.split(counts, np.flatnonzero(np.diff(sorts)) + 1):
        before = groups[-1] + 1 if groups else 0
        groups += [before + group for group in _run(some, deviation, enough)]
    return groups


def _run(counts: NDArray[np.float64], deviation: float, enough: float) -> list[int]:
    groups, group, sum_, members = [], 0, 0.0, 0
    for count in counts.tolist():
        groups.append(group)
        sum_, members = sum_ + count, members + 1
        if sum_ >= max(_RARE * deviation * members**0.5, enough):
            group, sum_, members = group + 1, 0.0, 0
    if members and group:  # what is left at the end goes with those before it
        groups = [min(one, group - 1) for one in groups]
    return groups


def _rare(counts: NDArray[np.float64], deviation: float, sorts: NDArray[np.int64]) -> list[int]:
    rare = counts < _RARE * deviation
    for one in np.unique(sorts[rare]):
        if (rare & (sorts == one)).sum() < 2:
            rare &= sorts != one
    places = np.cumsum(~rare) - 1
    places[rare] = int((~rare).sum()) + np.unique(sorts[rare], return_inverse=True)[1]
    return places.tolist()  # type: ignore[no-any-return]


def _attribute(column: Column, bins: int | None) -> Attribute:
    if column.categories is not None:
        return Listed(column, column.categories)
    if column.kind is Kind.BOOLEAN:
        return Listed(column, (False, True))
    if column.bounds is None:
        what = "categories" if column.kind is Kind.TEXT else "bounds"
        raise NotDeclared(
            f"Synthetic values of {column.name!r} are drawn from the card, which declares no {what}.",
            hint=f"Declare {what}, or leave the column out: name the others (columns=[…], or on COLUMNS).",
        )
    if bins is None:
        bins = _FEW if column.kind in LISTABLE and _values(column) <= _FEW else BINS
    return Binned.of(column, bins)


def _values(column: Column) -> int:
    low, high = column.bounds  # type: ignore[misc]  # anyone who asks has looked
    return int((high - low).days if column.kind is Kind.DATE else high - low) + 1  # type: ignore[operator,union-attr,arg-type]

"""How faithful synthetic rows are, for their holder: each figure with its direction, its meaning, and what others get.

It tells about the original rows exactly, so it is no release and must not leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.markup import tag
from discreet.core.report import Picture, grouped_bars, heading, heat, listing, pairs, pill, section, styled, write_page
from discreet.core.text import number
from discreet.errors import BadInput

Array: TypeAlias = npt.NDArray[Any]

_WARNING = "It has exact figures of the original rows: confidential, for the holder only."


@dataclass(frozen=True)
class Measured:
    """One figure, or why there is none, and the range to expect."""

    name: str
    figure: float | None
    meaning: str
    """What it is, in a sentence or two for anyone who is no statistician."""
    best: float = 0.0
    """What a copy of the original gets."""
    sample: float | None = None
    """What another sample of the same people would get, on average: nothing synthetic should be asked for more."""
    independent: float | None = None
    """What data get that have each column right and nothing else, or anyone who guesses. Anything useful does better,
    but by figures that do not see columns together."""
    details: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def direction(self) -> str:
        """Which way is good."""
        return f"{'more' if self.best > 0 else 'less'} is better ({self.best:g} is best)"

    @property
    def cells(self) -> tuple[str, ...]:
        """Its name, its figure, what a sample and independent data get, and which way is good, as text."""
        return self.name, *map(_shown, (self.figure, self.sample, self.independent)), self.direction

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        told: dict[str, Any] = {"figure": self.figure, "direction": self.direction, "meaning": self.meaning}
        if self.why:
            return told | {"why": self.why}
        return told | {"sample": self.sample, "independent": self.independent, "details": dict(self.details)}


@dataclass(frozen=True)
class Spread:
    """A column: what its codes stand for, and which share of the rows of each side has each."""

    name: str
    labels: tuple[str, ...]
    original: Array
    synthetic: Array
    apart: float


@dataclass(frozen=True)
class CountError:
    """Error of counts over one or two columns, as shares of the synthetic rows: what was promised, and what it is."""

    name: str
    promised: float
    """Bound that left with the synthetic rows: no count is off by more, with 95 % confidence."""
    measured: float
    """Largest error of any count over the values, or intervals of values, that are compared here."""

    @property
    def cells(self) -> tuple[str, str, str]:
        """Its name, the bound and the error, as text."""
        return self.name, f"{self.promised:.1%}" if self.promised < 1 else "no bound", f"{self.measured:.1%}"


@dataclass(frozen=True, repr=False)
class Fidelity:
    """How faithful synthetic rows are. ``fidelity["k-marginal score"]`` is a figure, ``None`` if not measured."""

    title: str
    rows: tuple[int, int]
    """Of the original, and synthetic ones."""
    measured: tuple[Measured, ...]
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    """Columns of the original that the synthetic rows lack, or show as another kind of value."""
    spreads: tuple[Spread, ...] = field(compare=False)
    pair_errors: Array = field(compare=False)
    """Of each two columns the distance; NaN on the diagonal."""
    associations: tuple[Array, Array] = field(compare=False)
    """Associations between columns in the original, and in the synthetic rows."""
    propensities: tuple[Array, Array] | None = field(default=None, compare=False)
    """How likely synthetic rows of the original seem, and synthetic ones."""
    count_errors: tuple[CountError, ...] = ()
    """Error bounds that the synthetic rows carry beside the errors themselves; the largest bound first."""

    def __getitem__(self, name: str) -> float | None:
        return self.entry(name).figure

    def entry(self, name: str) -> Measured:
        """All about one figure."""
        for one in self.measured:
            if one.name == name:
                return one
        raise BadInput(f"{name!r} was not measured.", hint=f"Measured: {', '.join(one.name for one in self.measured)}.")

    def pictures(self) -> tuple[Picture, ...]:
        """Columns side by side, errors of pairs, changes of correlations, and how rows are told apart."""
        found = [*_error_pictures(self.count_errors), *_column_pictures(self.spreads)]
        if len(self.columns) > 1:
            found.append(_pair_picture(self.columns, self.pair_errors))
            found.append(_association_picture(self.columns, *self.associations))
        if self.propensities is not None:
            found.append(_propensity_picture(*self.propensities))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "title": self.title,
            "rows": {"original": self.rows[0], "synthetic": self.rows[1]},
            "columns": {spread.name: spread.apart for spread in self.spreads},
            "left_out": list(self.left_out),
            "measured": {one.name: one.to_dict() for one in self.measured},
            "count_errors": {
                one.name: {"promised": one.promised, "measured": one.measured} for one in self.count_errors
            },
        }

    def html(self, path: str | Path) -> Path:
        """Write the report as one page that opens offline, for its owner alone. It must never leave."""
        return write_page(path, f"How faithful {self.title} is", self._repr_html_())

    @property
    def summary(self) -> str:
        """What was compared, in a sentence."""
        mine, theirs = self.rows
        said = f"How faithful {self.title} is: {number(theirs, 'synthetic row')} beside {mine:,} original rows"
        return said + f", {number(len(self.columns), 'column')}{self._beside}."

    def __str__(self) -> str:
        lines = [self.summary, f"  {'':<17}{'figure':>10}{'a sample':>10}{'independent':>13}"]
        for one in self.measured:
            name, figure, sample, independent, direction = one.cells
            lines.append(f"  {name:<17}{figure:>10}{sample:>10}{independent:>13}  {one.why or direction}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        figures = listing(
            ("measure", "figure", "another sample", "independent", "direction"),
            ("text", "number", "number", "number", "prose"),
            (one.cells for one in self.measured),
        )
        read = (
            "Another sample: the value for a fresh sample of the same size, the best to expect. Independent: "
            "the value for data with each column right and no relations, or for a guess."
        )
        worst = [
            section(f"Worst: {one.name}", pairs((what, _shown(far)) for what, far in one.details.items()))
            for one in self.measured
            if one.details
        ]
        return styled(
            [
                heading(f"How faithful {self.title} is"),
                tag("p", pill("Confidential"), " ", _WARNING),
                tag("p", self.summary),
                section("Figures", figures, tag("p", read)),
                section("What they are", pairs((one.name, one.why or one.meaning) for one in self.measured)),
                *(section(picture.title, picture.figure) for picture in self.pictures()),
                *worst,
            ]
        )

    @property
    def _beside(self) -> str:
        return f"; not comparable: {', '.join(self.left_out)}" if self.left_out else ""


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.4f}"


def distance_matrix(width: int, found: Mapping[tuple[int, ...], float]) -> Array:
    """Distances of pairs as a matrix."""
    made = np.full((width, width), np.nan)
    for (a, b), far in found.items():
        made[a, b] = made[b, a] = far
    return made


_MOST = 8
"""Columns that are drawn, the worst first."""
_VALUES = 12
_STEPS = 10


def _error_pictures(errors: Sequence[CountError]) -> Iterable[Picture]:
    """The largest bounds on counts, and the errors of the same counts."""
    shown = errors[:_MOST]
    if shown:
        series = {
            "promised, at most": [100 * min(one.promised, 1.0) for one in shown],
            "measured": [100 * one.measured for one in shown],
        }
        caption = (
            "Error of counts over these columns, per cent of the synthetic rows. The promise left with the rows, and "
            "holds with 95 % confidence for any count of the bounded table; 100 means no bound. Measured is the "
            "largest error of a count in the values and intervals that are compared here."
        )
        yield grouped_bars(
            "Error of counts: promised and measured", [one.name for one in shown], series, caption=caption
        )


def _column_pictures(spreads: Sequence[Spread]) -> Iterable[Picture]:
    """The columns that are furthest apart, value by value."""
    for spread in sorted(spreads, key=lambda one: -one.apart)[:_MOST]:
        there = np.flatnonzero(spread.original + spread.synthetic)
        kept = np.sort(there[np.argsort(-(spread.original + spread.synthetic)[there], kind="stable")][:_VALUES])
        series = {
            "original": [100 * float(spread.original[place]) for place in kept],
            "synthetic": [100 * float(spread.synthetic[place]) for place in kept],
        }
        caption = f"Per cent of the rows. Total variation distance: {100 * spread.apart:.1f} %."
        yield grouped_bars(spread.name, [spread.labels[place] for place in kept], series, caption=caption)


def _pair_picture(names: Sequence[str], errors: Array) -> Picture:
    """How far two columns together are from the original, for every two."""
    caption = "Total variation distance of pairs of columns. Dark is worse."
    return heat("Errors of pairs of columns", names, errors, caption=caption)


def _association_picture(names: Sequence[str], original: Array, synthetic: Array) -> Picture:
    """Change of the associations between columns."""
    both = np.isnan(original) & np.isnan(synthetic)
    moved = np.abs(np.nan_to_num(original) - np.nan_to_num(synthetic))
    caption = "Change of associations (correlation, Cramér's V, correlation ratio). Dark is worse."
    return heat("Changes of associations", names, np.where(both, np.nan, moved), caption=caption)


def _propensity_picture(original: Array, synthetic: Array) -> Picture:
    """How likely synthetic rows seem that are, and rows that are not."""
    edges = np.linspace(0, 1, _STEPS + 1)
    shares = [np.histogram(side, edges)[0] / len(side) * 100 for side in (original, synthetic)]
    labels = [f"{low:.1f} to {high:.1f}" for low, high in pairwise(edges)]
    caption = "Per cent of rows by their predicted probability of being synthetic. Similar bars are good."
    return grouped_bars(
        "Told apart", labels, {"original": shares[0].tolist(), "synthetic": shares[1].tolist()}, caption=caption
    )

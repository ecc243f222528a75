"""What a release has lost by every measure there is, each with its direction and meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from discreet.core.card import Role
from discreet.core.kind import CATEGORICAL
from discreet.core.release import Release
from discreet.core.report import heading, listing, pairs, section, styled
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.errors import BadInput, DataError, MissingPart
from discreet.utility import information_loss, learning
from discreet.utility.pair import Array, Figure, Metric, Pair, pair


def _pil(two: Pair) -> Figure:
    return Figure(information_loss.pil(two), information_loss.families(two))


def _marginals(ways: int) -> Callable[[Pair], Figure]:
    return partial(information_loss.marginals, ways=ways)


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "il1",
            "Mean change of a person's numbers, in standard deviations; about 0.8 if values were shuffled.",
            information_loss.il1,
            worst=None,
            record_wise=True,
        ),
        Metric(
            "classical",
            "Relative change of values, covariances, correlations and principal components.",
            information_loss.classical,
            worst=None,
        ),
        Metric(
            "pil",
            "Probability that means, variances, correlations and quantiles differ by more than chance (PIL).",
            _pil,
        ),
        Metric("marginals 1", "Total variation distance of single columns.", _marginals(1)),
        Metric("marginals 2", "The same for pairs of columns.", _marginals(2)),
        Metric("marginals 3", "The same for triples of columns.", _marginals(3)),
        Metric(
            "correlations",
            "Mean change of correlations, relative to the maximum of 2.",
            information_loss.correlation_change,
        ),
        Metric(
            "regressions",
            "How far the confidence intervals of regression coefficients overlap with the original ones.",
            information_loss.overlap,
            best=1.0,
            worst=0.0,
        ),
        Metric(
            "clusters",
            "Agreement of the clusters found in the release and in the original; 0 is chance.",
            information_loss.clusters,
            best=1.0,
            worst=-0.5,
        ),
        Metric("propensity", "How well released rows can be separated from original ones.", learning.propensity),
        Metric(
            "learning",
            "Accuracy lost by training models on the release: tree, naive Bayes, nearest neighbours, SVM.",
            learning.learning,
            worst=None,
            record_wise=True,
        ),
    )
}


@dataclass(frozen=True)
class Entry:
    """One measure: its figure, or why there is none."""

    metric: Metric
    figure: float | None
    details: Mapping[str, float] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, repr=False)
class Lost:
    """What a release has lost. ``lost["pil"]`` is the figure of one measure, ``None`` if it could not be measured."""

    title: str
    entries: tuple[Entry, ...]
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    """Columns that could not be compared, because the release lacks them or shows them as another kind of value."""

    def __getitem__(self, name: str) -> float | None:
        return self.entry(name).figure

    def entry(self, name: str) -> Entry:
        """All about one measure."""
        for entry in self.entries:
            if entry.metric.name == name:
                return entry
        raise BadInput(
            f"{name!r} was not measured.", hint=f"Measured: {', '.join(e.metric.name for e in self.entries)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "columns": list(self.columns),
            "left_out": list(self.left_out),
            "measures": {
                entry.metric.name: {
                    "figure": entry.figure,
                    "direction": entry.metric.direction,
                    **({"why": entry.why} if entry.why else {"details": dict(entry.details)}),
                }
                for entry in self.entries
            },
        }

    def __str__(self) -> str:
        lines = [f"Information loss of {self.title} ({len(self.columns)} columns compared{self._beside})"]
        for entry in self.entries:
            lines.append(f"  {entry.metric.name:<13}{shown(entry.figure):>10}  {entry.why or entry.metric.direction}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        measures = listing(
            ("measure", "figure", "direction", "meaning"),
            ("text", "number", "prose", "prose"),
            ((e.metric.name, shown(e.figure), e.metric.direction, e.why or e.metric.meaning) for e in self.entries),
        )
        columns = [("compared", ", ".join(self.columns)), ("not comparable", ", ".join(self.left_out))]
        return styled(
            [
                heading(f"Information loss of {self.title}"),
                section("Measures", measures),
                section("Columns", pairs([(what, names) for what, names in columns if names])),
            ]
        )

    @property
    def _beside(self) -> str:
        return f"; not comparable: {', '.join(self.left_out)}" if self.left_out else ""


def loss(
    table: Table,
    release: Release[Any] | pa.Table,
    *,
    links: Array | None = None,
    columns: Sequence[str] = (),
    target: str | None = None,
    metrics: Sequence[str] = (),
) -> Lost:
    """What ``release`` lost of ``table``, by all ``metrics`` or those named.

    Released rows are in an order of their own, so whatever compares people with themselves needs ``links``: those the
    release carries in its holder's hands, or those that ``publish`` kept. Without them it is not measured, and says so.
    ``target`` is what models predict; by default the first sensitive column with categories.
    """
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        near = meant(unknown[0], METRICS)
        raise BadInput(f"There is no measure {unknown[0]!r}{near}.", hint=f"Choose from {', '.join(METRICS)}.")
    two = pair(table, release, links, columns, target or target_of(table))
    entries = tuple(_entry(METRICS[name], two) for name in metrics or METRICS)
    title = release.title if isinstance(release, Release) else "the release"
    return Lost(title, entries, two.columns, two.left_out)


def shown(figure: float | None) -> str:
    """A figure as text; a dash if there is none."""
    return "–" if figure is None else f"{figure:.4f}"


def target_of(table: Table) -> str | None:
    """The first sensitive column that holds categories, if there is one."""
    found = (c.name for c in table.card.having(Role.SENSITIVE) if c.kind in CATEGORICAL and c.name != table.card.unit)
    return next(found, None)


def _entry(metric: Metric, two: Pair) -> Entry:
    if metric.record_wise and two.links is None:
        return Entry(metric, None, why="not measured: released rows are not linked to original ones; give links")
    try:
        found = metric.measure(two)
    except (DataError, MissingPart) as problem:
        return Entry(metric, None, why=f"not measured: {problem}")
    if not math.isfinite(found.value):
        return Entry(metric, None, why="not measured: the figure is not finite; are values infinite?")
    return Entry(metric, found.value, found.details)

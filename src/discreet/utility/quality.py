"""How much a recoded table has lost: the measures a search for the best recoding minimises.

Less is better with all of them. A measure is small, frozen, and comparable by value. There are two families: those
that add up columns (what each cell lost, and what a suppressed row lost), and those that look at classes. Besides
``loss``, which says what a recoding is worth, each has what a search needs to know before it has tried: figures that
no recoding between a finer and a coarser one can stay below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import Checked, declare, parameter, register
from discreet.core.families import QUALITIES

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Classes: TypeAlias = Any
"""Equivalence classes of ``models/classes.py``, which this room does not know: ``sizes``, ``rows``, ``spread``."""
Tuples: TypeAlias = Any
"""Distinct tuples of ``verbs/publish/tuples.py``: ``codes``, ``counts``, ``levels``, ``shares``, ``classes``."""


class Quality(Checked):
    """A measure of information loss."""

    name: ClassVar[str]

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns it looks at besides the quasi-identifiers."""
        return ()

    def __str__(self) -> str:
        return self.name

    def loss(self, tuples: Tuples, levels: Integers, groups: Integers, kept: Booleans) -> float:
        """What is lost when tuples get these levels, and of the classes they form some are kept.

        ``levels`` has one for each column, or (columns, tuples); ``groups`` the class of each tuple.
        """
        raise NotImplementedError


class ByColumn(Quality):
    """Measures that add up what each column lost."""

    linear: ClassVar[bool] = True
    """Whether a suppressed cell loses 1, whatever becomes of others."""

    def cells(self, tuples: Tuples, column: int) -> Floats:
        """Shape (levels, values): what a cell that is kept loses, by its level and value; it grows with the level."""
        raise NotImplementedError

    def gone(self, labels: Integers, counts: Floats, cells: Floats) -> float:
        """What suppressing cells adds to what they lost already: their labels, their rows, the losses so far.

        With what they lost already, it never shrinks when more is suppressed or when labels are coarser, nor does it
        by itself when labels are finer: searches prune by this.
        """
        return float(counts @ (1 - cells))

    def column(self, total: Floats, rows: int) -> Floats:
        """The figure of a column in which cells lose ``total`` together."""
        return total

    def score(self, columns: Floats) -> Floats:
        """An increasing function of the figure of each column whose sum over columns orders losses."""
        return columns

    def total(self, score: float, columns: int) -> float:
        """The loss for a sum of scores."""
        return score

    def loss(self, tuples: Tuples, levels: Integers, groups: Integers, kept: Booleans) -> float:
        columns = self.columns(tuples, levels, groups, kept)
        return self.total(float(self.score(columns).sum()), len(columns))

    def columns(self, tuples: Tuples, levels: Integers, groups: Integers, kept: Booleans) -> Floats:
        """What each column lost."""
        out = ~kept[groups]
        some = bool(out.any())
        found = np.zeros(len(tuples.names))
        for place, codes in enumerate(tuples.codes):
            cells, labels, level = self.cells(tuples, place), tuples.levels[place].codes, levels[place]
            if levels.ndim == 1:  # the values say all
                rows = np.bincount(codes, weights=tuples.counts, minlength=cells.shape[1])
                found[place] = cells[level] @ rows
                if some:
                    gone = np.bincount(codes[out], weights=tuples.counts[out], minlength=cells.shape[1])
                    found[place] += self.gone(labels[level], gone.astype(np.float64), cells[level])
            else:
                each = cells[level, codes]
                found[place] = each @ tuples.counts
                if some:
                    label = (level * len(codes) + labels[level, codes])[out]
                    found[place] += self.gone(label, tuples.counts[out].astype(np.float64), each[out])
        return self.column(found, tuples.rows)


@declare(QUALITIES, "granularity", rank=0, paper="Iyengar 2002")
class Granularity(ByColumn):
    """The mean share of its domain that a cell covers: (leaves − 1) / (domain − 1); a suppressed cell covers all.

    Iyengar's loss (2002), as ARX has it. Columns are averaged; with ``mean="geometric"`` as ARX does by default,
    GM(1 + x) − 1.
    """

    mean: Literal["arithmetic", "geometric"] = parameter(
        "Mean over columns: arithmetic or geometric.", default="arithmetic"
    )

    def cells(self, tuples: Tuples, column: int) -> Floats:
        return np.asarray(tuples.shares[column])

    def column(self, total: Floats, rows: int) -> Floats:
        return total / max(rows, 1)

    def score(self, columns: Floats) -> Floats:
        return np.log1p(columns) if self.mean == "geometric" else columns

    def __str__(self) -> str:
        return f"{self.name}, {self.mean} mean"

    def total(self, score: float, columns: int) -> float:
        mean = score / max(columns, 1)
        return float(np.expm1(mean)) if self.mean == "geometric" else mean


register(QUALITIES, "geometric", Granularity, preset={"mean": "geometric"}, rank=1, paper="Iyengar 2002; ARX")


@declare(QUALITIES, "precision", paper="Sweeney 2002")
class Precision(ByColumn):
    """The mean height of a cell in its hierarchy, from 0 to 1; a suppressed cell is at the top (Sweeney 2002)."""

    def cells(self, tuples: Tuples, column: int) -> Floats:
        levels, values = tuples.shares[column].shape
        return np.repeat(np.arange(levels) / max(levels - 1, 1), values).reshape(levels, values)

    def column(self, total: Floats, rows: int) -> Floats:
        return total / max(rows, 1)

    def total(self, score: float, columns: int) -> float:
        return score / max(columns, 1)


@declare(QUALITIES, "entropy", paper="De Waal and Willenborg 1999; Gionis and Tassa 2009")
class Entropy(ByColumn):
    """Non-uniform entropy in bits (De Waal & Willenborg 1999, Gionis & Tassa 2009): how much must be told to
    get every cell back from its label, summed over all cells.

    Suppressed cells lose, besides, what it takes to tell their labels among suppressed rows, as in ARX.
    """

    linear: ClassVar[bool] = False

    def cells(self, tuples: Tuples, column: int) -> Floats:
        values = len(tuples.values[column])
        rows = np.bincount(tuples.codes[column], weights=tuples.counts, minlength=values)
        codes = tuples.levels[column].codes
        together = np.stack([np.bincount(level, weights=rows)[level] for level in codes])
        return np.asarray(np.log2(np.maximum(together, 1) / np.maximum(rows, 1)))

    def gone(self, labels: Integers, counts: Floats, cells: Floats) -> float:
        sums = np.bincount(labels, weights=counts)
        sums = sums[sums > 0]
        return float(sums @ np.log2(sums.sum() / sums))


class ByClass(Quality):
    """Measures that look at the classes."""

    def worth(self, classes: Classes, rows: int, out: int) -> float:
        """What is lost when these classes are kept, and ``out`` of ``rows`` rows are suppressed."""
        raise NotImplementedError

    def bound(self, finest: Classes, into: npt.NDArray[np.integer[Any]], smallest: int, rows: int, out: int) -> float:
        """What every recoding loses whose classes are unions of ``finest`` and parts of what these form by ``into``.

        Each class that is kept has at least ``smallest`` rows; ``out`` rows are in no class and will be suppressed.
        """
        raise NotImplementedError

    def loss(self, tuples: Tuples, levels: Integers, groups: Integers, kept: Booleans) -> float:
        classes = tuples.classes(groups).keeping(kept)
        return self.worth(classes, tuples.rows, tuples.rows - classes.rows)


@declare(QUALITIES, "discernibility", paper="Bayardo and Agrawal 2005")
class Discernibility(ByClass):
    """The sum over rows of the size of their class; a suppressed row counts as all rows (Bayardo & Agrawal 2005)."""

    def worth(self, classes: Classes, rows: int, out: int) -> float:
        return float((classes.sizes.astype(np.float64) ** 2).sum() + out * rows)

    def bound(self, finest: Classes, into: npt.NDArray[np.integer[Any]], smallest: int, rows: int, out: int) -> float:
        sizes = finest.sizes.astype(np.float64)
        return float((sizes * np.minimum(np.maximum(sizes, smallest), rows)).sum() + out * rows)


@declare(QUALITIES, "class-size", paper="LeFevre and others 2006")
class ClassSize(ByClass):
    """The mean size of a class, all suppressed rows being one (LeFevre et al. 2006, as ARX has it)."""

    name: ClassVar[str] = "class size"

    def worth(self, classes: Classes, rows: int, out: int) -> float:
        return rows / max(len(classes.sizes) + (out > 0), 1)

    def bound(self, finest: Classes, into: npt.NDArray[np.integer[Any]], smallest: int, rows: int, out: int) -> float:
        # A class that is kept holds one of the finest that is large enough by itself, or is made of small ones only.
        large = finest.sizes >= smallest
        room = np.bincount(into, weights=np.where(large, 0, finest.sizes)) // smallest
        return rows / (int(large.sum()) + int(room.sum()) + 1)


@declare(QUALITIES, "classification", example="classification on COLUMN", paper="Iyengar 2002")
class Classification(ByClass):
    """The share of rows a classifier gets wrong that says the commonest value of ``target`` in each class; a
    suppressed row is wrong (Iyengar 2002)."""

    target: str = parameter("Target column of the classification.", clause="on", column="any")

    @property
    def sensitive(self) -> tuple[str, ...]:
        return (self.target,)

    def __str__(self) -> str:
        return f"{self.name} of {self.target}"

    def worth(self, classes: Classes, rows: int, out: int) -> float:
        return (rows - int(_commonest(classes, self.target).sum())) / max(rows, 1)

    def bound(self, finest: Classes, into: npt.NDArray[np.integer[Any]], smallest: int, rows: int, out: int) -> float:
        return (rows - int(_commonest(finest, self.target).sum())) / max(rows, 1)


def figures(tuples: Tuples, levels: Integers, groups: Integers, kept: Booleans) -> Mapping[str, float]:
    """What a recoding is worth by each measure that needs no choice, and what each column lost: for reports.

    Measures that follow from what is released, that is: the entropy would tell how frequent values were before.
    """
    columns = Granularity().columns(tuples, levels, groups, kept)
    classes = tuples.classes(groups).keeping(kept)
    found = {Granularity.name: float(columns.mean())}
    found[Precision.name] = Precision().loss(tuples, levels, groups, kept)
    for measure in (Discernibility(), ClassSize()):
        found[measure.name] = measure.worth(classes, tuples.rows, tuples.rows - classes.rows)
    return found | {f"loss of {name}": float(lost) for name, lost in zip(tuples.names, columns, strict=True)}


def _commonest(classes: Classes, target: str) -> Integers:
    """How often the commonest value of the target occurs in each class."""
    spread = classes.spread(target)
    most = np.zeros(len(classes.sizes), dtype=np.int64)
    np.maximum.at(most, spread.classes, spread.counts)
    return most

"""l-diversity, p-sensitive k-anonymity and (α,k)-anonymity: how many sensitive values a class holds, how evenly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import MODELS
from discreet.models.classes import Classes, Flags, Integers, Spread
from discreet.models.exact_compare import Floats, at_most, below, dot, ln, plain, quotient, sign, unsure
from discreet.models.model import Model


@declare(
    MODELS, "l-diversity", example="l=3", spelled="[distinct ]l={l}[ on {on}]", paper="Machanavajjhala and others 2007"
)
class LDiversity(Model):
    """Every class holds at least l different values (distinct l-diversity: Machanavajjhala and others 2007).

    Why this is private: a class never tells a person's value outright. It may still tell it all but surely, when one
    value is far more frequent than the rest: ask for entropy or recursive diversity, or (α, k)-anonymity. That a value
    is missing counts as one: among two values, a class may tell what all have of whom there is anything known.

    Of people with several rows: no l - 1 values are such that everyone in a class has one of them (``_distinct``).

    Monotone: merged classes hold the values of both.
    """

    several_rows = True
    l: int = parameter("Minimum number of distinct values in an equivalence class.", least=1)  # noqa: E741
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")

    meaning = "fewest distinct values in a class"
    lowest = True

    @property
    def claim_text(self) -> str:
        return f"{self.l}-diverse on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        return _distinct(classes, classes.spread(self.on)).astype(np.float64)

    def breaking(self, classes: Classes) -> Flags:
        return np.asarray(_distinct(classes, classes.spread(self.on)) < self.l, dtype=np.bool_)


@declare(
    MODELS,
    "entropy l-diversity",
    example="entropy l=3",
    spelled="entropy l={l}[ on {on}]",
    paper="Machanavajjhala and others 2007",
    init=False,
)
class EntropyLDiversity(Model):
    """The entropy of the values in every class is at least log l (Machanavajjhala and others 2007).

    The figure is e to the entropy: the number of equally frequent values that would be as uncertain. ``l`` need not be
    whole. Values that are equally frequent, and equality in general, are decided exactly (``exact_compare.py``).

    Why this is private: it bounds, on average over the class, what remains unknown of a person's value.

    Monotone: entropy is concave, so that of a mixture is at least the smaller of its parts'.
    """

    l: Fraction = parameter("Minimum effective number of values in an equivalence class.", least=1)  # noqa: E741
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")

    meaning = "least effective number of values"
    lowest = True

    def __init__(self, l: Number, on: str) -> None:  # noqa: E741
        check_parameters(self, l=l, on=on)

    @property
    def claim_text(self) -> str:
        return f"entropy {plain(self.l)}-diverse on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        spread = classes.spread(self.on)
        counts, sizes = spread.counts.astype(np.float64), classes.sizes
        worth = np.exp(np.log(sizes) - spread.by_class(np.add, counts * np.log(counts)) / sizes)
        return np.where(_even(spread), _distinct(classes, spread), worth)

    def breaking(self, classes: Classes) -> Flags:
        figures = self.figures(classes)
        found = np.asarray(figures < float(self.l), dtype=np.bool_)
        spread = classes.spread(self.on)
        even = _even(spread)
        found[even] = figures[even] < math.ceil(self.l)
        ends = np.append(spread.starts, len(spread.counts))
        for place in np.flatnonzero(unsure(figures, float(self.l)) & ~even):
            found[place] = not self._reached(spread.counts[ends[place] : ends[place + 1]])
        return found

    def _reached(self, counts: Integers) -> bool:
        rows = int(counts.sum())
        over = [(rows, ln(rows)), (-rows, ln(self.l)), *((-int(one), ln(int(one))) for one in counts)]
        return sign(dot(over), dot(over[:1])) >= 0


@declare(
    MODELS,
    "recursive (c,l)-diversity",
    example="recursive c=2 l=3",
    spelled="recursive c={c} l={l}[ on {on}]",
    paper="Machanavajjhala and others 2007",
    init=False,
)
class RecursiveLDiversity(Model):
    """In every class the most frequent value is rarer than c times the l-th most frequent and all rarer ones together.

    r1 < c (rl + … + rm), as Machanavajjhala and others (2007) have it, strictly. The figure is r1 over
    that sum: infinite in a class with fewer than l values.

    Why this is private: an intruder who has ruled out l - 2 values for a person still finds the rest (c, 2)-diverse.

    Monotone: the counts of the l - 1 most frequent values of merged classes are together at most the sum of what they
    were, so the rest is at least that sum; the most frequent value's count is at most the sum, too.
    """

    c: Fraction = parameter("Maximum ratio of the most frequent value to the rarer ones.", above=0)
    l: int = parameter("Rank from which values count as rarer.", least=1)  # noqa: E741
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")

    meaning = "most frequent value over the rarer ones"

    def __init__(self, c: Number, l: int, on: str) -> None:  # noqa: E741
        check_parameters(self, c=c, l=l, on=on)

    @property
    def claim_text(self) -> str:
        return f"recursively ({plain(self.c)}, {self.l})-diverse on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        top, rest = self._counts(classes)
        return np.where(rest > 0, quotient(top, np.maximum(rest, 1)), np.inf)

    def breaking(self, classes: Classes) -> Flags:
        top, rest = self._counts(classes)
        return np.asarray((rest == 0) | ~below(top, np.maximum(rest, 1), self.c), dtype=np.bool_)

    def _counts(self, classes: Classes) -> tuple[Integers, Integers]:
        """Of each class the count of the most frequent value, and of the l-th and all rarer ones together."""
        spread = classes.spread(self.on)
        order = np.lexsort((-spread.counts, spread.classes))
        falling = spread.counts[order]
        rank = np.arange(len(falling)) - spread.starts[spread.classes]
        return falling[spread.starts], spread.by_class(np.add, np.where(rank >= self.l - 1, falling, 0))


@declare(
    MODELS, "p-sensitive k-anonymity", example="p=2 k=5", spelled="p={p} k={k}[ on {on}]", paper="Truta and Vinod 2006"
)
class PSensitivity(Model):
    """Every class has at least k rows and p different values (p-sensitive k-anonymity: Truta and Vinod 2006).

    The figure is the number of values. Private as k-anonymity and distinct diversity together are, and monotone since
    both are.
    """

    several_rows = True
    p: int = parameter("Minimum number of distinct values in an equivalence class.", least=1)
    k: int = parameter("Minimum number of rows in an equivalence class.", least=1)
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")

    meaning = "fewest distinct values in a class"
    lowest = True

    @property
    def claim_text(self) -> str:
        return f"{self.p}-sensitive {self.k}-anonymous on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        return _distinct(classes, classes.spread(self.on)).astype(np.float64)

    def breaking(self, classes: Classes) -> Flags:
        few = _distinct(classes, classes.spread(self.on)) < self.p
        return np.asarray(few | (classes.sizes < self.k), dtype=np.bool_)

    def explained(self, classes: Classes) -> str:
        return _smallest(classes) + self.meaning


@declare(
    MODELS,
    "(α,k)-anonymity",
    example="alpha=0.5 k=5",
    spelled="alpha={alpha} k={k}[ on {on}]",
    paper="Wong and others 2006",
    init=False,
)
class AlphaK(Model):
    """Every class has at least k rows, and no value has more than a share α of one ((α, k): Wong and others 2006).

    The bound is on every value of the column, which is their general model; the figure is the largest share.

    Why this is private: no one can be more than α sure of a person's value by her class.

    Monotone: a value's share in merged classes lies between its shares in them.
    """

    several_rows = True
    alpha: Fraction = parameter("Maximum share of a value in an equivalence class.", above=0, most=1)
    k: int = parameter("Minimum number of rows in an equivalence class.", least=1)
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")

    meaning = "largest share of a value"

    def __init__(self, alpha: Number, k: int, on: str) -> None:
        check_parameters(self, alpha=alpha, k=k, on=on)

    @property
    def claim_text(self) -> str:
        return f"({plain(self.alpha)}, {self.k})-anonymous on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        return quotient(self._top(classes), classes.sizes)

    def breaking(self, classes: Classes) -> Flags:
        return ~at_most(self._top(classes), classes.sizes, self.alpha) | (classes.sizes < self.k)

    def explained(self, classes: Classes) -> str:
        return _smallest(classes) + self.meaning

    def _top(self, classes: Classes) -> Integers:
        spread = classes.spread(self.on)
        return spread.by_class(np.maximum, spread.counts)


def _smallest(classes: Classes) -> str:
    return f"smallest class {classes.sizes.min(initial=classes.rows):,}; "


def _even(spread: Spread) -> Flags:
    """Which classes have all their values equally often."""
    most, least = (spread.by_class(function, spread.counts) for function in (np.maximum, np.minimum))
    return np.asarray(most == least, dtype=np.bool_)


def _distinct(classes: Classes, spread: Spread) -> Integers:
    """How many values an intruder has to look at in each class before no one is left who has another.

    Where everyone has one value that is the number of different values. People with several rows may have several: if
    everyone in a class has flu, flu is certain, whatever else they have. Of l values the l - 1 most frequent must
    then be those of fewer people than there are, counted for each value. So no l - 1 values are enough for everyone
    to have one of them, and anyone who rules out l - 2 for a person still finds people without the next. Monotone:
    for any l - 1 values the numbers of people in merged classes add up, and so do the sizes.
    """
    values = np.bincount(spread.classes, minlength=len(classes.sizes)).astype(np.int64)
    if not classes.several or not len(spread.counts):
        return values
    falling = spread.counts[np.lexsort((-spread.counts, spread.classes))]
    running = np.cumsum(falling)
    before = np.repeat((running - falling)[spread.starts], values)
    fewer = running - before < np.repeat(classes.sizes, values)
    return 1 + spread.by_class(np.add, fewer.astype(np.int64))

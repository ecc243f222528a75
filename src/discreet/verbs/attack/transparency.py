"""Transparency attacks: the recipe says how the data were masked, and the intruder uses it.

Privacy must not hang on a secret method (Kerckhoffs), so these are the attacks that count for a published recipe.
Torra (2017), "Data Privacy: Foundations, New Developments and the Big Data Challenge", chapter 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.statement import Recipe
from discreet.errors import DataError
from discreet.verbs.attack.distance import standardised, whitened_by
from discreet.verbs.attack.linkage import PAIRS, Linkage, Linked, by_lot, every
from discreet.verbs.attack.linkage_matrix import Sight

Array = npt.NDArray[Any]


@declare(ATTACKS, "rank-swap intersection", rank=11)
class RankSwapIntersection(Linkage):
    """Rows whose every value is within p per cent of the ranks of the person's: the true one is always among them, and
    often alone (Nin, Herranz and Torra 2008). Of several the nearest in rank is taken.

    Values keep their marginals under swapping, so that the released column alone tells all ranks.
    """

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ("rank-swap",)

    @property
    def skill(self) -> str:
        return "and from the recipe how far values were swapped"

    def link(self, sight: Sight, recipe: Recipe) -> Linked:
        per_cent = _number(recipe, "p")
        if recipe.parameters.get("law", "window") != "window":
            raise DataError("Ranks were swapped by a law that rules out no row.")
        swapped = _masked(sight, recipe)
        low, high = np.empty_like(sight.known), np.empty_like(sight.known)
        for column, numeric in enumerate(sight.numeric):
            known, shown = sight.known[:, column], sight.shown[:, column]
            if swapped[column] and numeric:
                low[:, column], high[:, column] = reach(known, shown, per_cent)
            else:
                low[:, column] = high[:, column] = known
        return _intersected(sight, low, high)


@declare(ATTACKS, "microaggregation intersection", rank=12)
class MicroaggregationIntersection(Linkage):
    """Rows whose every value is next to the person's: columns that were microaggregated one by one have groups without
    overlap, so that a value lies between the means of its own group and of the next (Nin and Torra 2009).

    Columns that were microaggregated together give no such bounds, nor do groups that were made diverse or improved,
    which may overlap; then the nearest centroid is the best guess.
    """

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ("microaggregate",)

    @property
    def skill(self) -> str:
        return "and from the recipe which columns were averaged in groups, and how"

    def link(self, sight: Sight, recipe: Recipe) -> Linked:
        averaged = _masked(sight, recipe)
        apart = not recipe.parameters.get("diverse") and not recipe.parameters.get("improve")
        alone = {names[0] for names in _blocks(recipe) if len(names) == 1 and apart}
        low, high = np.full_like(sight.known, -np.inf), np.full_like(sight.known, np.inf)
        for column, name in enumerate(sight.columns):
            known, shown = sight.known[:, column], sight.shown[:, column]
            if not averaged[column]:
                low[:, column] = high[:, column] = known
            elif name in alone and sight.numeric[column]:
                low[:, column], high[:, column] = beside(known, shown)
        return _intersected(sight, low, high)


@declare(ATTACKS, "linkage by the likeliest noise", rank=13)
class NoiseLinkage(Linkage):
    """The row that is most probably the person's, given the law of the noise: by Bayes' rule the likelihood of the
    noise it would take, divided by how likely such a row is for anybody. So a row that is like many
    people's convinces less.

    For normal noise, independent or correlated, and for log-normal factors (in logarithms) this is the best any
    attacker can do who looks at one person at a time; a uniform factor is taken for a log-normal one of the same
    spread.
    """

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ("noise", "multiply")

    @property
    def skill(self) -> str:
        return "and from the recipe how the noise is distributed"

    def link(self, sight: Sight, recipe: Recipe) -> Linked:
        from discreet.verbs.attack.bayes import likeliest

        noisy = _masked(sight, recipe) & sight.numeric
        if not noisy.any():
            raise DataError("The recipe names no column the attacker knows.")
        chosen = every(len(sight.known), PAIRS // len(sight.shown))
        sample = sight.people(chosen)
        names = [name for name, masked in zip(sight.columns, noisy, strict=True) if masked]
        people, rows = sample.known[:, noisy], sight.shown[:, noisy]
        if recipe.method == "multiply":
            people, rows, covariance = _in_logarithms(people, rows, _number(recipe, "alpha"))
        else:
            covariance = _noise(recipe, names)
        scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        unit = covariance / np.outer(scale, scale)
        turned = whitened_by(unit, np.nan_to_num(people) / scale, np.nan_to_num(rows) / scale)
        same = [_alike(side, noisy) for side in (sample.known, sight.shown)]
        ties, found = likeliest(turned[0], turned[1], same[0], same[1], sample.truth)
        return Linked(by_lot(ties, found), {}, sample.guessing, chosen)


def _intersected(sight: Sight, low: Array, high: Array) -> Linked:
    """Link to the nearest of the rows within the limits of each person; to none if there is none."""
    from discreet.verbs.attack.window_kernels import within

    people, rows = standardised(sight.known[:, sight.numeric], sight.shown[:, sight.numeric])
    candidates, ties, found = within(
        sight.shown, low, high, np.nan_to_num(people), np.nan_to_num(rows), sight.truth, int(np.argmax(sight.numeric))
    )
    certain = float(np.mean((candidates == 1) & found))
    details = {"certain": certain, "mean number of candidates": float(candidates.mean())}
    return Linked(by_lot(ties, found), details, sight.guessing)


def reach(known: Array, shown: Array, per_cent: float) -> tuple[Array, Array]:
    """The values within so many per cent of the ranks; of equal values any rank may be the person's."""
    there = np.sort(shown[~np.isnan(shown)])
    steps, last = max(1, int(per_cent / 100 * len(there))), len(there) - 1
    low = there[(np.searchsorted(there, known, "left") - steps).clip(0, last)]
    high = there[(np.searchsorted(there, known, "right") - 1 + steps).clip(0, last)]
    return np.where(np.isnan(known), np.nan, low), np.where(np.isnan(known), np.nan, high)


def beside(known: Array, shown: Array) -> tuple[Array, Array]:
    """The group means next to each value, below and above.

    A value that is a mean itself may be in the group before or after, too, if the same value is in several.
    """
    means = np.unique(shown[~np.isnan(shown)])
    low = np.searchsorted(means, known, "left") - 1
    high = np.searchsorted(means, known, "right")
    last = len(means) - 1
    below, above = means[low.clip(0, last)], means[high.clip(0, last)]
    return np.where(np.isnan(known), np.nan, below), np.where(np.isnan(known), np.nan, above)


def _masked(sight: Sight, recipe: Recipe) -> Array:
    """Which columns in sight the recipe says it changed."""
    names = recipe.parameters.get("columns")
    if not isinstance(names, Iterable) or isinstance(names, str):
        raise DataError("The recipe does not say which columns were masked.")
    return np.isin(np.array(sight.columns), np.array(list(names), dtype=str))


def _blocks(recipe: Recipe) -> list[list[str]]:
    """The columns that were microaggregated together; all of them, unless the recipe says otherwise."""
    blocks = recipe.parameters.get("blocks")
    return [list(block) for block in blocks] if blocks else [list(recipe.parameters.get("columns", ()))]


def _noise(recipe: Recipe, names: list[str]) -> Array:
    """The covariance of the noise on ``names``, as the recipe gives it; 0 where a column was constant."""
    variances: Any = recipe.parameters.get("noise_variance")
    covariance = recipe.parameters.get("noise_covariance")
    try:
        if covariance is None:
            return np.diag(np.array([variances[name] for name in names], dtype=float))
        places = [list(recipe.parameters["columns"]).index(name) for name in names]
        return np.array(covariance, dtype=float)[np.ix_(places, places)]
    except (TypeError, KeyError, ValueError, IndexError):
        raise DataError("The recipe does not say how the noise is distributed.") from None


def _in_logarithms(people: Array, rows: Array, alpha: float) -> tuple[Array, Array, Array]:
    """Log-normal factors with mean 1 as normal noise. A zero stays a zero, far from everything else."""
    spread = float(np.log1p(alpha**2))
    with np.errstate(divide="ignore"):
        before, after = (np.maximum(np.log(np.abs(side)), -700.0) for side in (people, rows))
    return before, np.where(rows == 0, after, after + spread / 2), spread * np.eye(people.shape[1])


def _alike(side: Array, noisy: Array) -> Array:
    """What noise does not change, as codes: the other columns, and in noisy ones where NULL is."""
    return np.asarray(np.nan_to_num(np.column_stack([side[:, ~noisy], np.isnan(side[:, noisy])]), nan=-1e300))


def _number(recipe: Recipe, name: str) -> float:
    value = recipe.parameters.get(name)
    if isinstance(value, bool) or value is None:
        raise DataError(f"The recipe does not say {name!r}.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"The recipe's {name!r} is not a number.") from None

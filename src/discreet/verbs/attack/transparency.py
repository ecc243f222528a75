"""Transparency attacks: the recipe says how the data were masked, and the intruder uses it.

Privacy must not depend on a secret method (Kerckhoffs), so these are the attacks that count for a published recipe.
Torra (2017), "Data Privacy: Foundations, New Developments and the Big Data Challenge", chapter 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.statement import Recipe
from discreet.errors import DataError
from discreet.verbs.attack.distance import standardised, whitened_by
from discreet.verbs.attack.finding import Array
from discreet.verbs.attack.linkage import MAX_PAIRS, Linkage, LinkageData, LinkResult, evenly_spaced, tie_success


@declare(ATTACKS, "rank-swap intersection", rank=11)
class RankSwapIntersection(Linkage):
    """Rows whose every value is within p per cent of the ranks of the person's: the true one is always among them, and
    often alone (Nin, Herranz and Torra 2008). Of several candidates the nearest is taken.

    Values keep their marginals under swapping, so that the released column alone tells all ranks.
    """

    methods: ClassVar[tuple[str, ...]] = ("rank-swap",)
    skill: ClassVar[str] = "and the recipe's swap distance"

    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        per_cent = _number(recipe, "p")
        if recipe.parameters.get("law", "window") != "window":
            raise DataError("Ranks were swapped by a distribution that rules out no row.")
        swapped = _masked_columns(data, recipe)
        low, high = np.empty_like(data.known), np.empty_like(data.known)
        for column, numeric in enumerate(data.numeric):
            known, shown = data.known[:, column], data.released[:, column]
            if swapped[column] and numeric:
                low[:, column], high[:, column] = rank_window(known, shown, per_cent)
            else:
                low[:, column] = high[:, column] = known
        return _intersected(data, low, high)


@declare(ATTACKS, "microaggregation intersection", rank=12)
class MicroaggregationIntersection(Linkage):
    """Rows whose every value is next to the person's: columns that were microaggregated one by one have groups without
    overlap, so that a value lies between the means of its own group and of the next (Nin and Torra 2009).

    Columns that were microaggregated together give no such bounds, nor do groups that were made diverse or improved,
    which may overlap; then the nearest centroid is the best guess.
    """

    methods: ClassVar[tuple[str, ...]] = ("microaggregate",)
    skill: ClassVar[str] = "and from the recipe which columns were averaged in groups, and how"

    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        averaged = _masked_columns(data, recipe)
        apart = not recipe.parameters.get("diverse") and not recipe.parameters.get("improve")
        alone = {names[0] for names in _blocks(recipe) if len(names) == 1 and apart}
        low, high = np.full_like(data.known, -np.inf), np.full_like(data.known, np.inf)
        for column, name in enumerate(data.columns):
            known, shown = data.known[:, column], data.released[:, column]
            if not averaged[column]:
                low[:, column] = high[:, column] = known
            elif name in alone and data.numeric[column]:
                low[:, column], high[:, column] = neighbouring_means(known, shown)
        return _intersected(data, low, high)


@declare(ATTACKS, "linkage by the likeliest noise", rank=13)
class NoiseLinkage(Linkage):
    """The row that is most probably the person's, given the distribution of the noise: by Bayes' rule the likelihood of
    the noise it would take, divided by how likely such a row is for anyone. So a row that is like many people's
    convinces less.

    For normal noise, independent or correlated, and for log-normal factors (in logarithms) this is the best any
    attacker can do who looks at one person at a time; a uniform factor is taken for a log-normal one of the same
    spread.
    """

    methods: ClassVar[tuple[str, ...]] = ("noise", "multiply")
    skill: ClassVar[str] = "and from the recipe how the noise is distributed"

    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        from discreet.verbs.attack.linkage_kernels import likeliest_rows

        noisy = _masked_columns(data, recipe) & data.numeric
        if not noisy.any():
            raise DataError("The recipe names no column that the attacker knows.")
        chosen = evenly_spaced(len(data.known), MAX_PAIRS // len(data.released))
        sample = data.with_people(chosen)
        names = [name for name, masked in zip(data.columns, noisy, strict=True) if masked]
        people, rows = sample.known[:, noisy], data.released[:, noisy]
        if recipe.method == "multiply":
            people, rows, covariance = _in_logarithms(people, rows, _number(recipe, "alpha"))
        else:
            covariance = _noise_covariance(recipe, names)
        scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        unit = covariance / np.outer(scale, scale)
        whitened = whitened_by(unit, np.nan_to_num(people) / scale, np.nan_to_num(rows) / scale)
        same = [_unchanged(side, noisy) for side in (sample.known, data.released)]
        ties, found = likeliest_rows(whitened[0], whitened[1], same[0], same[1], sample.truth)
        return LinkResult(tie_success(ties, found), {}, sample.guess_rate, chosen)


def _intersected(data: LinkageData, low: Array, high: Array) -> LinkResult:
    """Link to the nearest of the candidate rows, those within the limits of each person; to none if there is none."""
    from discreet.verbs.attack.linkage_kernels import rows_within

    people, rows = standardised(data.known[:, data.numeric], data.released[:, data.numeric])
    candidates, ties, found = rows_within(
        data.released, low, high, np.nan_to_num(people), np.nan_to_num(rows), data.truth, int(np.argmax(data.numeric))
    )
    certain = float(np.mean((candidates == 1) & found))
    details = {"certain": certain, "mean number of candidates": float(candidates.mean())}
    return LinkResult(tie_success(ties, found), details, data.guess_rate)


def rank_window(known: Array, shown: Array, per_cent: float) -> tuple[Array, Array]:
    """Lowest and highest value within ``per_cent`` of each rank; of equal values any rank may be the person's."""
    there = np.sort(shown[~np.isnan(shown)])
    steps, last = max(1, int(per_cent / 100 * len(there))), len(there) - 1
    low = there[(np.searchsorted(there, known, "left") - steps).clip(0, last)]
    high = there[(np.searchsorted(there, known, "right") - 1 + steps).clip(0, last)]
    return np.where(np.isnan(known), np.nan, low), np.where(np.isnan(known), np.nan, high)


def neighbouring_means(known: Array, shown: Array) -> tuple[Array, Array]:
    """Group means next to each value, below and above.

    A value that is a mean itself may be in the group before or after, too, if the same value is in several.
    """
    means = np.unique(shown[~np.isnan(shown)])
    low = np.searchsorted(means, known, "left") - 1
    high = np.searchsorted(means, known, "right")
    last = len(means) - 1
    below, above = means[low.clip(0, last)], means[high.clip(0, last)]
    return np.where(np.isnan(known), np.nan, below), np.where(np.isnan(known), np.nan, above)


def _masked_columns(data: LinkageData, recipe: Recipe) -> Array:
    """Which columns the recipe says were masked."""
    names = recipe.parameters.get("columns")
    if not isinstance(names, Iterable) or isinstance(names, str):
        raise DataError("The recipe does not say which columns were masked.")
    return np.isin(np.array(data.columns), np.array(list(names), dtype=str))


def _blocks(recipe: Recipe) -> list[list[str]]:
    """Columns that were microaggregated together; all of them, unless the recipe says otherwise."""
    blocks = recipe.parameters.get("blocks")
    return [list(block) for block in blocks] if blocks else [list(recipe.parameters.get("columns", ()))]


def _noise_covariance(recipe: Recipe, names: list[str]) -> Array:
    """Covariance of the noise on ``names``, as the recipe gives it; 0 where a column was constant."""
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


def _unchanged(side: Array, noisy: Array) -> Array:
    """Values that noise does not change, as codes: the other columns, and in noisy ones where NULL is."""
    return np.asarray(np.nan_to_num(np.column_stack([side[:, ~noisy], np.isnan(side[:, noisy])]), nan=-1e300))


def _number(recipe: Recipe, name: str) -> float:
    value = recipe.parameters.get(name)
    if isinstance(value, bool) or value is None:
        raise DataError(f"The recipe does not say {name!r}.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"The recipe's {name!r} is not a number.") from None

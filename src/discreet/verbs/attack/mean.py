"""A published mean gives away whoever is not known yet: the last value is what is missing from the sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Finding, failed, share

Array = npt.NDArray[Any]


@declare(ATTACKS, "the last value from a mean", rank=20)
class LastFromMean:
    """Compute one person's value from the mean, the number of people and the values of all others.

    ``within``: how near the true value, as a share of the column's range, counts as known. For releases whose payload
    is a number and whose recipe names the ``column`` and the ``count`` of values.
    """

    within: float = parameter("Share of the column's range within which a value counts as known.", default=0.01)

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        """For a mean."""
        said = release.recipe.parameters
        number = isinstance(release.payload, int | float) and not isinstance(release.payload, bool)
        if number and isinstance(said.get("column"), str) and isinstance(said.get("count"), int):
            return None
        return "The release is not a mean of a column."

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people whose value is computed."""
        knows = "The attacker knows how many people there are and the values of all but one, whoever that is."
        try:
            if why := self.applies(release):
                raise DataError(why)
            values, width = _values(known, release.recipe.parameters["column"])
            if len(values) != release.recipe.parameters["count"]:
                raise DataError(f"The mean is not of the {len(values):,} values that are known.")
        except BadInput as problem:
            return failed(self.name, knows, str(problem))
        mean = float(release.payload)
        computed = mean * len(values) - (values.sum() - values)
        near = np.abs(computed - values) <= self.within * width
        guessed = float(np.mean(np.abs(mean - values) <= self.within * width))
        special = np.argsort(-np.abs(values - np.median(values)), kind="stable")[:SHOWN_VICTIMS]
        meaning = (
            f"The share of people whose {release.recipe.parameters['column']} is computed to within "
            f"{self.within:.0%} of its range by somebody who knows all others'; whoever stands out is given away even "
            "to those who know less. 0 is best."
        )
        details = {"people": len(values), "computed for who stands out most": float(computed[special[0]])}
        found = share(self.name, knows, near.astype(float), guessed, meaning, details=details)
        return replace(found, victims=tuple(int(place) for place in special if near[place]))


def _values(known: Table, name: str) -> tuple[Array, float]:
    """The values, and how far apart they can be: as declared, or as they are."""
    column, cells = known.card[name], known.fetch()[name].drop_null()
    if not (pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type) or pa.types.is_decimal(cells.type)):
        raise DataError(f"{name!r} holds no numbers.")
    values = np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), dtype=float)
    if not len(values):
        raise DataError(f"{name!r} holds no values.")
    low, high = column.bounds or (values.min(), values.max())
    return values, float(high) - float(low)  # type: ignore[arg-type]  # a column of numbers is bounded by numbers

"""Several synthetic copies of one table, and what they say together.

One synthetic table hides how uncertain it is: a figure from it is off by what was drawn, and no one can tell how far.
Of several copies, drawn independently, the spread between them tells it (Rubin 1993). Each copy is analysed as if it
were the data; ``combine_copies`` puts the estimates together:

* *partial*: some values were made, all people are there. T = u + b/m (Reiter 2003, "Inference for partially synthetic,
  public use microdata sets"), with (m − 1)(1 + um/b)² degrees of freedom.
* *full*: new people, drawn with what may have been learnt drawn first (``proper``). T = (1 + 1/m)b − u (Raghunathan,
  Reiter and Rubin 2003, "Multiple imputation for statistical disclosure limitation"), with (m − 1)(1 − um/((m + 1)b))²
  degrees of freedom; where T is not positive, u times the ratio of the numbers of rows instead (Reiter 2002).
* *simple*: new people, drawn from what was learnt as if it were the truth. T = u(k/n + 1/m) for k rows made of n (Raab,
  Nowok and Dibben 2017, "Practical data synthesis for large samples"); one copy is enough, and estimates are normal.

u is the mean of the copies' variances, b the variance between their estimates, m how many there are.

More copies tell more about people, too: anyone who has all of them can average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import check_parameters, parameter
from discreet.core.optional import extra
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.noise.masking import Draws
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer, Synthetic

COPY = "copy"
"""The column that says which copy a row belongs to, from 1."""


@dataclass(frozen=True)
class Copies:
    """Several independent tables by one synthesizer in one release; the column ``copy`` numbers them."""

    method: Synthesizer
    copies: int = parameter("Number of tables to draw.", default=5, least=2)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Synthesizer) or isinstance(self.method, Copies):
            raise BadInput("Copies needs a synthesizer.", hint="Such as Copies(Cart(), 5).")
        check_parameters(self)

    @property
    def name(self) -> str:
        """The synthesizer's name."""
        return self.method.name

    def synthesize(self, table: Table, seed: int | None = None) -> Synthetic:
        """All copies, one after the other."""
        if COPY in (name.casefold() for name in table.columns):
            raise BadInput(f"The table has a column {COPY!r} already, which is reserved for the number of the copy.")
        roots = Draws.of(seed)
        made = [
            self.method.synthesize(table, int(roots.at(copy).integers(2**63))) for copy in range(1, self.copies + 1)
        ]
        numbered = [
            one.rows.append_column(COPY, pa.array(np.full(one.rows.num_rows, copy))) for copy, one in enumerate(made, 1)
        ]
        return Synthetic(
            pa.concat_tables(numbered),
            {**made[0].parameters, "copies": self.copies},
            (*made[0].steps, f"{self.copies} copies were made independently; {COPY} is the number of the copy."),
            (*made[0].not_promised, "Several copies can be averaged, and reveal more than one."),
        )


@dataclass(frozen=True)
class Combined:
    """An estimate combined from several copies."""

    estimate: float
    variance: float
    freedom: float
    """Degrees of freedom of the t distribution; infinite for the normal."""

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the estimate."""
        if not 0 < confidence < 1:
            raise BadInput(f"Confidence must be between 0 and 1, got {confidence!r}.")
        with extra("attack"):
            from scipy.special import ndtri, stdtrit
        share = (1 + confidence) / 2
        reach = float(ndtri(share) if math.isinf(self.freedom) else stdtrit(self.freedom, share)) * self.error
        return self.estimate - reach, self.estimate + reach

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.estimate:.6g} (95 %: {low:.6g} to {high:.6g})"


def combine_copies(
    estimates: Sequence[float],
    variances: Sequence[float],
    kind: Literal["partial", "full", "simple"] = "partial",
    *,
    ratio: float = 1.0,
) -> Combined:
    """Combine the estimates that were computed on each copy, and their variances, into one estimate.

    ``kind`` says how the copies were made: *partial* if some columns were kept, *full* if none was and the synthesizer
    is ``proper``, *simple* if none was and it is not. ``ratio`` is the number of rows of a copy by that of the table.
    """
    try:
        q, v = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    except (TypeError, ValueError):
        raise BadInput(
            "Combining copies needs the estimate on each and its variance: two lists of numbers.",
            hint="Take the rows of a release copy by copy (its column copy says which), and compute on each.",
        ) from None
    if q.ndim != 1 or q.shape != v.shape or not len(q):
        raise BadInput("Give one estimate and one variance per copy, as two lists of the same length.")
    if not (np.isfinite(q).all() and np.isfinite(v).all() and (v >= 0).all() and math.isfinite(ratio) and ratio > 0):
        raise BadInput("Estimates must be finite, variances non-negative, and the ratio positive.")
    m, center, within = len(q), float(q.mean()), float(v.mean())
    if kind == "simple":
        return Combined(center, within * (ratio + 1 / m), math.inf)
    if kind not in ("partial", "full"):
        raise BadInput(f"kind must be partial, full or simple, not {kind!r}.")
    if m < 2:
        raise BadInput("The variance between copies needs several copies.", hint='Make several, or use kind="simple".')
    between = float(q.var(ddof=1))
    if kind == "partial":
        freedom = (m - 1) * (1 + within * m / between) ** 2 if between else math.inf
        return Combined(center, within + between / m, freedom)
    variance = (1 + 1 / m) * between - within
    if variance <= 0:
        return Combined(center, ratio * within, math.inf)
    return Combined(center, variance, (m - 1) * (1 - within * m / ((m + 1) * between)) ** 2)

"""What reports tell: unbiased figures, each with its error bar.

Each figure is a sum of independent reports, of which it is the exact mean and variance that are known; bars are by the
normal law, which for the numbers of people that local privacy needs is close (the tests cover it by simulation), and by
exact tails where few reports decide (``few``). The variance depends on the true figure: a bar reaches to the farthest
figure c that is not refuted, one with (c - estimate)² <= z² variance(c) (a score interval, Wilson 1927), not to z
deviations at the estimate.
``together`` holds for all values at once: each bar then is wrong with a chance divided by their number (Bonferroni).
Figures may be below 0 or above n: cutting them off would bias them. What makes them look better is a step of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.exact import equation
from discreet.core.picture import Picture, bars
from discreet.errors import BadInput
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.score_intervals import reach_of_counts

if TYPE_CHECKING:
    from discreet.verbs.collect.frequency_oracle import Tally

_SHOWN = 20


@dataclass(frozen=True)
class Estimate:
    """How many of ``n`` people have each value."""

    client: Client
    n: int
    supports: Counts
    """How many reports support each value: what the figures are made of."""
    counts: NDArray[np.float64]
    deviations: NDArray[np.float64]
    """Standard deviations, each at the estimated share."""
    confidence: float
    steps: tuple[str, ...] = ()
    """What was done to the figures after they were estimated; if anything was, they may be biased."""

    @classmethod
    def of(cls, tally: Tally, confidence: float) -> Estimate:
        """The unbiased estimate."""
        if not 0 < confidence < 1:
            raise BadInput(f"Confidence lies between 0 and 1, got {confidence}.")
        if tally.reports == 0:
            raise BadInput("There are no reports to estimate from.")
        client, n, supports = tally.client, tally.reports, tally.supports
        p, q = client.chances
        shares = (supports / n - q) / (p - q)
        deviations = np.sqrt(client.variances(n, np.clip(shares, 0, 1)))
        return cls(client, n, supports, shares * n, deviations, confidence)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of people with each value."""
        return self.counts / self.n

    @property
    def bars(self) -> NDArray[np.float64]:
        """How far each count is off at most, each by itself with the stated confidence."""
        return self.bars_at(1 - self.confidence)

    @property
    def together(self) -> NDArray[np.float64]:
        """How far each count is off at most, all of them at once with the stated confidence."""
        return self.bars_at((1 - self.confidence) / len(self.client.domain))

    def after(self, step: str) -> Estimate:
        """The figures after a named step (norm-sub, norm-cut, base-cut, cls, power, ibu), which is written down."""
        from discreet.verbs.collect.postprocess import STEPS

        if step not in STEPS:
            raise BadInput(f"There is no step {step!r}.", hint=f"Known are {', '.join(STEPS)}.")
        return replace(self, counts=STEPS[step](self), steps=(*self.steps, step))

    def table(self) -> pa.Table:
        """Values, counts, shares and both kinds of error bars."""
        figures: dict[str, Any] = {"value": list(self.client.domain.values), "count": self.counts, "share": self.shares}
        return pa.table(figures | {"count_error": self.bars, "count_error_together": self.together})

    @property
    def title(self) -> str:
        """How many reports these are, and of what protocol."""
        done = "".join(f", after {step}" for step in self.steps)
        return f"{self.n:,} reports, {self.client.name}, {equation('ε', self.client.epsilon)}{done}"

    def picture(self, *, shown: int = _SHOWN) -> Picture:
        """The largest figures as bars, with error bars."""
        largest, left = self._largest(shown)
        names = [str(self.client.domain.values[place]) for place in largest]
        counts, errors = self.counts[largest].tolist(), self.bars[largest].tolist()
        caption = f"People with each value, of {self.n:,}; each error bar holds with {self.confidence:.4g}.{left}"
        return bars(self.title, names, counts, errors=errors, caption=caption)

    def __str__(self) -> str:
        largest, left = self._largest(_SHOWN)
        names = [str(self.client.domain.values[place]) for place in largest]
        wide, errors = max(map(len, names)), self.bars
        lines = [
            f"{name:<{wide}}  {self.counts[place]:>14,.0f} ± {errors[place]:,.0f}  {self.shares[place]:>8.2%}"
            for name, place in zip(names, largest, strict=True)
        ]
        return "\n".join([f"{self.title} (each ± holds with {self.confidence:.4g})", *lines, *([left] if left else [])])

    def _repr_html_(self) -> str:
        largest, left = self._largest(_SHOWN)
        errors = self.bars
        rows = "".join(
            f"<tr><td>{escape(str(self.client.domain.values[place]))}</td><td>{self.counts[place]:,.0f}</td>"
            f"<td>± {errors[place]:,.0f}</td><td>{self.shares[place]:.2%}</td></tr>"
            for place in largest
        )
        head = "<tr><th>value</th><th>people</th><th>error</th><th>share</th></tr>"
        return f"{self.picture()._repr_html_()}<table>{head}{rows}</table><p>{escape(left)}</p>"

    def bars_at(self, error: float) -> NDArray[np.float64]:
        """How far each count is off at most, each by itself, but with a chance of ``error``."""
        return reach_of_counts(error, self.supports, self.n, self.client.chances, self.deviations**2)

    def _largest(self, shown: int) -> tuple[Counts, str]:
        """The places of the largest figures in the order of the question, and what is said of the others."""
        if len(self.counts) <= shown:
            return np.arange(len(self.counts)), ""
        return np.argsort(-self.counts, kind="stable")[
            :shown
        ], f" {len(self.counts) - shown:,} smaller ones are left out."

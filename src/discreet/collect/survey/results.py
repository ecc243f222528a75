"""What the reports of a survey tell: shares, means and quantiles, each between two bounds.

Of a question that is told value by value, every linear figure (a mean, the share at or below a number) is

    c + Σ (w - c) share         w: its weight for each value, c: their mean

which is unbiased, since estimated shares are; taking c off first matters where they need not add up to one. Its
variance over the devices' coins follows from the chances that they flip by. A number that is rounded at random adds at
most a quarter of a step squared. If every device draws one question, those who answer one are a sample of all who took
part, and the variance of drawing them without repeats is added. Figures are about the people who took part, not about
others.

A quantile is the first point at or below which so many people are. It lies between the first point of which that cannot
be ruled out and the point after the last of which it can; each is one test, so half of the error is allowed to each.
Where numbers are rounded, both move on by a step, since no number is rounded by more.
``together`` bounds hold for all figures of the survey at once (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.collect.client import Client
from discreet.collect.estimate import Estimate
from discreet.collect.frequency.unary import Unary
from discreet.collect.numbers.mean import MeanProtocol
from discreet.collect.poison import bearable
from discreet.collect.score import reach
from discreet.collect.survey.counted import Counted
from discreet.collect.survey.scale import had_codes, read_reports
from discreet.collect.survey.survey import Survey
from discreet.collect.tally import Tally
from discreet.core.exact import equation
from discreet.core.picture import Picture, bars
from discreet.core.recipe import Recipe
from discreet.core.release import Release
from discreet.errors import BadInput

Floats = NDArray[np.float64]
QUANTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}


@dataclass(frozen=True)
class Figure:
    """A share, a mean or a quantile, with the bounds between which it is."""

    question: str
    figure: str
    """A value, ``mean``, or the name of a quantile."""
    kind: str
    """share, mean or quantile."""
    estimate: float
    low: float
    high: float
    low_together: float
    high_together: float


@dataclass(frozen=True)
class Results:
    """What a survey found."""

    survey: Survey
    people: int
    """How many took part."""
    counted: tuple[Counted, ...]
    confidence: float
    codes: bool = False
    """Whether everybody had a one-time code."""

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise BadInput(f"Confidence lies between 0 and 1, got {self.confidence}.")
        for one in self.counted:
            if one.reports < 2:
                raise BadInput(f"There are no reports on {one.asked.name} to estimate from.")

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, question by question."""
        number = sum(1 for one in self.counted for _ in _bounds(one, self.people, self.confidence))
        alone, together = (
            [found for one in self.counted for found in _bounds(one, self.people, confidence)]
            for confidence in (self.confidence, 1 - (1 - self.confidence) / number)
        )
        return tuple(Figure(*one, *other[-2:]) for one, other in zip(alone, together, strict=True))

    def table(self) -> pa.Table:
        """A row for each figure."""
        return pa.table({name: [getattr(one, name) for one in self.figures] for name in Figure.__match_args__})

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """A chart for each question."""
        found = self.figures
        return tuple(
            _picture(self, one, [each for each in found if each.question == one.asked.name]) for one in self.counted
        )

    def release(self) -> Release[pa.Table]:
        """What may be handed on: figures, what was promised to those who answered, and how they were found."""
        asked = [
            {"question": one.asked.question.to_dict(), "protocol": one.asked.mechanism.name, "reports": one.reports}
            | {"epsilon": str(one.asked.mechanism.epsilon)}
            for one in self.counted
        ]
        parameters: dict[str, Any] = {"survey": self.survey.fingerprint, "share": self.survey.share}
        parameters |= {"people": self.people, "confidence": self.confidence, "questions": asked}
        audits = [f"Audit of {one.asked.name}: {one.asked.audited}" for one in self.counted]
        borne = [
            f"Made-up reports on {one.asked.name}: {bearable(one.kept.estimate(confidence=self.confidence))}"
            for one in self.counted
            if isinstance(one.kept, Tally)
        ]
        return Release(
            self.table(),
            self.survey.statement(self.people, codes=self.codes),
            Recipe("collect", parameters, (*audits, *borne)),
            pictures=self.pictures,
            title=self.survey.title,
        )


def estimate(survey: Survey, paths: Iterable[Path], *, confidence: float = 0.95) -> Results:
    """What the reports in some files tell; they are read a part at a time, and nothing is kept of them but counts."""
    counted, people, codes = tuple(Counted(asked) for asked in survey.asked), 0, True
    for path in paths:
        codes = had_codes(survey, path) and codes
        for number, columns in read_reports(survey, path):
            people += number
            for one in counted:
                one.add(columns[one.asked.name])
    if people == 0:
        raise BadInput("There are no reports yet.")
    return Results(survey, people, counted, confidence, codes)


_Row = tuple[str, str, str, float, float, float]


def _bounds(one: Counted, people: int, confidence: float) -> Iterator[_Row]:
    """Every figure of a question with its bounds at a confidence."""
    name, z = one.asked.name, NormalDist().inv_cdf((1 + confidence) / 2)
    left = (1 - one.reports / people) / one.reports  # what drawing some of all adds, for a variance of one
    if not isinstance(one.kept, Tally):
        assert isinstance(one.asked.mechanism, MeanProtocol)  # noqa: S101
        found = one.asked.mechanism.estimate_counts(one.kept, confidence=confidence)
        yield name, "mean", "mean", found.mean, found.mean - found.bar, found.mean + found.bar
        return
    shares = one.kept.estimate(confidence=confidence)
    off = off_by(shares, z, left)
    for value, share, bar in zip(shares.client.domain.values, shares.shares.tolist(), off.tolist(), strict=True):
        yield name, str(value), "share", share, share - bar, share + bar
    grid = one.asked.question.grid
    if grid is not None:
        points = one.asked.question.points
        mean, deviation = linear(shares, points, left)
        step = 0.0 if one.asked.question.whole else float(grid.step)
        bar = z * math.hypot(deviation, step / 2 / math.sqrt(one.reports))
        yield name, "mean", "mean", mean, mean - bar, mean + bar
        below = [linear(shares, (points <= point).astype(np.float64), left) for point in points[:-1]]
        figures, deviations = np.array(below).T
        for title, at in QUANTILES.items():
            value, low, high = _quantile(points, at, figures, z * deviations)
            yield name, title, "quantile", value, low - step, high + step


def off_by(shares: Estimate, z: float, left: float) -> Floats:
    """How far each share is off at most, by devices' coins and by who was drawn."""
    (p, q), likely = shares.client.chances, np.clip(shares.shares, 0, 1)
    noise = (p * (1 - p) - q * (1 - q)) / (p - q) ** 2 / shares.n
    variance = (shares.deviations / shares.n) ** 2 + likely * (1 - likely) * left
    return reach(z, variance, noise + (1 - 2 * likely) * left, left)


def linear(shares: Estimate, weights: Floats, left: float = 0.0) -> tuple[float, float]:
    """The sum of all shares by their weights, and its standard deviation."""
    client, centre = shares.client, float(weights.mean())
    away = weights - centre
    figure = centre + float(away @ shares.shares)
    likely = np.clip(shares.shares, 0, 1)
    likely = likely / likely.sum() if likely.sum() else np.full(len(likely), 1 / len(likely))
    noise = float(likely @ _noise(client, away)) / shares.n
    drawn = float(likely @ away**2 - (likely @ away) ** 2) * left
    return figure, math.sqrt(noise + drawn)


def _noise(client: Client, weights: Floats) -> Floats:
    """For each answer, the variance of what its report adds to a sum by weights."""
    p, q = client.chances
    if isinstance(client, Unary):  # a coin for each value
        own, other = p * (1 - p) * weights**2, q * (1 - q) * weights**2
        return np.asarray((own + other.sum() - other) / (p - q) ** 2)
    told = weights / (p - q)  # one value is told
    mean, square = (q @ each + (p - q) * each for each in (told, told**2))
    return np.asarray(square - mean**2)


def _quantile(points: Floats, at: float, below: Floats, bars_: Floats) -> tuple[float, float, float]:
    """The first point at or below which a share of people is, and its bounds; ``below`` leaves out the last point."""
    last = len(points) - 1
    value, low = (_first(reached, last) for reached in (below >= at, below + bars_ >= at))
    high = last - _first((below - bars_ < at)[::-1], last)
    return float(points[value]), float(points[low]), float(points[high])


def _first(true: NDArray[np.bool_], otherwise: int) -> int:
    """The place of the first that is true."""
    return int(true.argmax()) if true.any() else otherwise


def _picture(results: Results, one: Counted, figures: list[Figure]) -> Picture:
    shown = [each for each in figures if each.kind == "share"] or figures
    unit = 100 if shown[0].kind == "share" else 1
    said = f"{one.reports:,} reports, {one.asked.mechanism.name}, {equation('ε', one.asked.mechanism.epsilon)}"
    errors = [unit * (each.high - each.low) / 2 for each in shown]
    what = "Percent of people" if unit == 100 else "The mean"
    return bars(
        one.asked.question.text,
        [each.figure for each in shown],
        [unit * each.estimate for each in shown],
        errors=errors,
        caption=f"{what}; each error bar holds with {results.confidence:.4g}. {said}.",
    )

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

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.exact import equation
from discreet.core.picture import Picture, bars
from discreet.core.recipe import Recipe
from discreet.core.release import Release
from discreet.errors import BadInput
from discreet.verbs.collect.estimate import Estimate
from discreet.verbs.collect.exact_tails import FEW
from discreet.verbs.collect.frequency.unary_encoding import Unary
from discreet.verbs.collect.frequency_oracle import Client, Tally
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.poisoning import Alarm, Watch, alarms_of_numbers, bearable
from discreet.verbs.collect.postprocess import STEPS
from discreet.verbs.collect.score_intervals import reach, reach_of_share, z_of
from discreet.verbs.collect.survey.report_files import had_codes, read_reports
from discreet.verbs.collect.survey.survey import Counted, Survey

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
    alarms: tuple[tuple[str, Alarm], ...] = ()
    """What no answers explain about the reports on a question: signs of made-up reports."""
    after: str | None = None
    """A named step that shares were taken through after they were estimated; they may be biased then."""

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise BadInput(f"Confidence lies between 0 and 1, got {self.confidence}.")
        if self.after is not None and self.after not in STEPS:
            raise BadInput(f"There is no step {self.after!r}.", hint=f"Known are {', '.join(STEPS)}.")
        for one in self.counted:
            if one.reports < 2:
                few = "is one report" if one.reports else "are no reports"
                raise BadInput(
                    f"There {few} on {one.asked.name} to estimate from.", hint="It takes two: wait for more people."
                )

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, question by question."""
        alone = [found for one in self.counted for found in _bounds(one, self.people, self.confidence)]
        every = 1 - (1 - self.confidence) / len(alone)
        together = [found for one in self.counted for found in _bounds(one, self.people, every)]
        stepped = self._stepped()
        return tuple(
            Figure(*one[:3], stepped.get(one[:2], one[3]), *one[4:], *other[-2:])
            for one, other in zip(alone, together, strict=True)
        )

    def _stepped(self) -> dict[tuple[str, str], float]:
        """Shares after the named step, by question and value; their bounds stay those of the unbiased figures."""
        if self.after is None:
            return {}
        found: dict[tuple[str, str], float] = {}
        for one in self.counted:
            if isinstance(one.kept, Tally):
                shares = one.kept.estimate(confidence=self.confidence).after(self.after).shares
                values = map(str, one.asked.question.domain.values)
                found |= {(one.asked.name, value): share for value, share in zip(values, shares.tolist(), strict=True)}
        return found

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
        parameters |= {"after": self.after} if self.after else {}
        audits = [f"Audit of {one.asked.name}: {one.asked.audited}" for one in self.counted]
        borne = [
            f"Made-up reports on {one.asked.name}: {bearable(one.kept.estimate(confidence=self.confidence))}"
            for one in self.counted
            if isinstance(one.kept, Tally)
        ]
        raised = [f"Alarm about {name}: {alarm}" for name, alarm in self.alarms]
        raised = raised or ["No test for made-up reports raised an alarm; crude attacks alone are noticed."]
        stepped = [f"Shares were taken through {self.after}, and may be biased; bounds are those from before."]
        return Release(
            self.table(),
            self.survey.statement(self.people, codes=self.codes),
            Recipe("collect", parameters, (*audits, *borne, *raised, *(stepped if self.after else ()))),
            pictures=self.pictures,
            title=self.survey.title,
        )


def estimate(survey: Survey, paths: Iterable[Path], *, confidence: float = 0.95, after: str | None = None) -> Results:
    """What the reports in some files tell; they are read a part at a time, and nothing is kept of them but counts.

    A file that is given twice, by whatever name, is refused: everybody in it would count twice.
    """
    counted, people, codes = tuple(Counted(asked) for asked in survey.asked), 0, True
    watches = [Watch(one.asked.mechanism) if isinstance(one.asked.mechanism, Client) else None for one in counted]
    given: dict[bytes, Path] = {}
    for path in paths:
        codes = had_codes(survey, path) and codes
        digest, before = _digest(path, given), people
        for number, columns in read_reports(survey, path):
            people += number
            for one, watch in zip(counted, watches, strict=True):
                one.add(columns[one.asked.name])
                if watch is not None:
                    watch.add(columns[one.asked.name])
        if people > before:
            given[digest] = path
    if people == 0:
        raise BadInput("There are no reports yet.")
    raised = [
        (one.asked.name, alarm)
        for one, watch in zip(counted, watches, strict=True)
        if one.reports
        for alarm in _alarms(one, watch)
    ]
    return Results(survey, people, counted, confidence, codes, tuple(raised), after)


def _alarms(one: Counted, watch: Watch | None) -> tuple[Alarm, ...]:
    if isinstance(one.kept, Tally):
        return () if watch is None else watch.alarms(one.kept)
    assert isinstance(one.asked.mechanism, MeanProtocol)  # noqa: S101
    return alarms_of_numbers(one.asked.mechanism, one.kept)


def _digest(path: Path, given: dict[bytes, Path]) -> bytes:
    """What stands for all that is in a file; an error if it was in another."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    if digest in given:
        raise BadInput(
            f"The same reports are in {given[digest]} and {path}.", hint="Give them once: nobody counts twice."
        )
    return digest


_Row = tuple[str, str, str, float, float, float]


def _bounds(one: Counted, people: int, confidence: float) -> Iterator[_Row]:
    """Every figure of a question with its bounds at a confidence."""
    name, z = one.asked.name, z_of(1 - confidence)
    left = (1 - one.reports / people) / one.reports  # what drawing some of all adds, for a variance of one
    if not isinstance(one.kept, Tally):
        assert isinstance(one.asked.mechanism, MeanProtocol)  # noqa: S101
        found = one.asked.mechanism.estimate_counts(one.kept, confidence=confidence)
        yield name, "mean", "mean", found.mean, found.mean - found.bar, found.mean + found.bar
        return
    shares = one.kept.estimate(confidence=confidence)
    off = off_by(shares, 1 - confidence, left)
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


def off_by(shares: Estimate, error: float, left: float) -> Floats:
    """How far each share is off at most, by devices' coins and by who was drawn: a fair sample, so that few coins are
    taken as they are (``few``)."""
    if left <= 0:
        return shares.bars_at(error) / shares.n
    (p, q), likely = shares.client.chances, np.clip(shares.shares, 0, 1)
    noise = (p * (1 - p) - q * (1 - q)) / (p - q) ** 2 / shares.n
    variance = (shares.deviations / shares.n) ** 2 + likely * (1 - likely) * left
    normal = reach(z_of(error), variance, noise + (1 - 2 * likely) * left, left)
    told = shares.supports / shares.n
    few = told * (1 - told) * shares.n < FEW
    return np.where(few, np.maximum(normal, reach_of_share(error, told, shares.n) / (p - q)), normal)


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
    what += f", after {results.after}" if results.after and unit == 100 else ""
    return bars(
        one.asked.question.text,
        [each.figure for each in shown],
        [unit * each.estimate for each in shown],
        errors=errors,
        caption=f"{what}; each error bar holds with {results.confidence:.4g}. {said}.",
    )

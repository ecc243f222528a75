"""Survey results: estimated shares, means and quantiles, each between two bounds.

Of a question that is reported value by value, every linear figure (a mean, the share at or below a number) is

    c + Σ (w - c) share         w: its weight for each value, c: their mean

which is unbiased, since estimated shares are; taking c off first matters where they need not add up to one. Its
variance over the devices' coins follows from the probabilities that they draw by. A number that is rounded at random
adds at most a quarter of a step squared. If every device draws one question, those who answer one are a sample of all
who took part, and the variance of drawing them without repeats is added. Figures are about the people who took part,
not about others.

A quantile is the first point with at least that share of people at or below it. It lies between the first point of
which that cannot be ruled out and the point after the last of which it can; each is one test, so half of the error is
allowed to each. Where numbers are rounded, both move on by a step, since no number is rounded by more. Bounds
``_together`` hold for all figures of the survey at once (Bonferroni).
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
from discreet.core.release import Release
from discreet.core.report import Picture, bars
from discreet.errors import BadInput
from discreet.releases.method import Made
from discreet.verbs.collect.confidence_intervals import (
    MIN_NORMAL_VARIANCE,
    normal_quantile,
    score_bound,
    share_error_bound,
)
from discreet.verbs.collect.domain import Floats
from discreet.verbs.collect.frequency.unary_encoding import UnaryEncoding
from discreet.verbs.collect.frequency_oracle import STEPS, FrequencyEstimate, FrequencyOracle, ReportTally
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.poisoning import (
    PoisoningAlarm,
    PoisoningDetector,
    detect_poisoning_of_numbers,
    poisoning_tolerance,
)
from discreet.verbs.collect.release import make_release
from discreet.verbs.collect.report_arrays import require_confidence
from discreet.verbs.collect.survey.report_files import had_codes, read_reports
from discreet.verbs.collect.survey.survey import QuestionTally, Survey

QUANTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}


@dataclass(frozen=True)
class SurveyFigure:
    """An estimated share, mean or quantile, with its bounds."""

    question: str
    figure: str
    """A value, ``mean``, or the name of a quantile."""
    kind: str
    """Kind of figure: share, mean or quantile."""
    estimate: float
    low: float
    high: float
    low_together: float
    high_together: float


@dataclass(frozen=True)
class SurveyResults:
    """Estimates from the reports of a survey."""

    survey: Survey
    people: int
    """Number of people who took part."""
    tallies: tuple[QuestionTally, ...]
    confidence: float
    codes: bool = False
    """Whether everyone had a one-time code."""
    alarms: tuple[tuple[str, PoisoningAlarm], ...] = ()
    """Alarms about reports on a question that may be made up."""
    postprocess: str | None = None
    """Post-processing step of shares, if any; they may be biased then."""

    def __post_init__(self) -> None:
        require_confidence(self.confidence)
        if self.postprocess is not None and self.postprocess not in STEPS:
            raise BadInput(f"There is no step {self.postprocess!r}.", hint=f"Choose from {', '.join(STEPS)}.")
        for question in self.tallies:
            if question.reports < 2:
                few = "is one report" if question.reports else "are no reports"
                raise BadInput(
                    f"There {few} on {question.protocol.name} to estimate from.",
                    hint="At least two are needed: wait for more people.",
                )

    @property
    def figures(self) -> tuple[SurveyFigure, ...]:
        """All figures, question by question."""
        rows = [row for tally in self.tallies for row in _bounds(tally, self.people, self.confidence)]
        every = 1 - (1 - self.confidence) / len(rows)
        joint_rows = [row for tally in self.tallies for row in _bounds(tally, self.people, every)]
        shares = self._postprocessed()
        return tuple(
            SurveyFigure(*row[:3], shares.get(row[:2], row[3]), *row[4:], *joint[-2:])
            for row, joint in zip(rows, joint_rows, strict=True)
        )

    def _postprocessed(self) -> dict[tuple[str, str], float]:
        """Post-processed shares by question and value; their bounds stay those of the unbiased figures."""
        if self.postprocess is None:
            return {}
        result: dict[tuple[str, str], float] = {}
        for name, estimate in self._estimates:
            shares = estimate.postprocess(self.postprocess).shares.tolist()
            values = map(str, estimate.oracle.domain.values)
            result |= {(name, value): share for value, share in zip(values, shares, strict=True)}
        return result

    @property
    def _estimates(self) -> list[tuple[str, FrequencyEstimate]]:
        """Names and estimates of the questions whose values are counted."""
        return [
            (question.protocol.name, question.tally.estimate(confidence=self.confidence))
            for question in self.tallies
            if isinstance(question.tally, ReportTally)
        ]

    def table(self) -> pa.Table:
        """A row for each figure."""
        figures = self.figures
        return pa.table({name: [getattr(each, name) for each in figures] for name in SurveyFigure.__match_args__})

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """A chart for each question."""
        figures = self.figures
        return tuple(
            _picture(self, question, [each for each in figures if each.question == question.protocol.name])
            for question in self.tallies
        )

    def release(self) -> Release[pa.Table]:
        """The release of all figures, with the statement to respondents and how the figures were estimated."""
        questions = [
            {
                "question": question.protocol.question.to_dict(),
                "protocol": question.mechanism.name,
                "reports": question.reports,
                "epsilon": str(question.mechanism.epsilon),
            }
            for question in self.tallies
        ]
        parameters: dict[str, Any] = {"survey": self.survey.fingerprint, "share": self.survey.share}
        parameters |= {"people": self.people, "confidence": self.confidence, "questions": questions}
        parameters |= {"postprocess": self.postprocess} if self.postprocess else {}
        notes = [f"Loss audit of {question.protocol.name}: {question.protocol.loss_audit}" for question in self.tallies]
        notes += [f"Forged reports on {name}: {poisoning_tolerance(estimate)}" for name, estimate in self._estimates]
        quiet = "No test for forged reports raised a warning; only crude attacks are detected."
        notes += [f"Warning about {name}: {alarm}" for name, alarm in self.alarms] or [quiet]
        if self.postprocess:
            notes.append(
                f"Shares were post-processed by {self.postprocess} and may be biased; bounds are from before that."
            )
        made = Made(self.table(), parameters, tuple(notes), pictures=self.pictures, title=self.survey.title)
        return make_release(self.survey.statement(self.people, codes=self.codes), made)


def estimate_survey(
    survey: Survey, paths: Iterable[Path], *, confidence: float = 0.95, postprocess: str | None = None
) -> SurveyResults:
    """Estimate the figures of a survey from files of reports, which are read in batches.

    A file that is given twice, by whatever name, is refused: everyone in it would count twice.
    """
    tallies, people, codes = tuple(QuestionTally(protocol) for protocol in survey.protocols), 0, True
    detectors = [
        PoisoningDetector(question.mechanism) if isinstance(question.mechanism, FrequencyOracle) else None
        for question in tallies
    ]
    digests: dict[bytes, Path] = {}
    for path in paths:
        codes = had_codes(survey, path) and codes
        digest, before = _digest(path, digests), people
        for number, columns in read_reports(survey, path):
            people += number
            for question, detector in zip(tallies, detectors, strict=True):
                question.add(columns[question.protocol.name])
                if detector is not None:
                    detector.add(columns[question.protocol.name])
        if people > before:
            digests[digest] = path
    if people == 0:
        raise BadInput("There are no reports yet.")
    raised = [
        (question.protocol.name, alarm)
        for question, detector in zip(tallies, detectors, strict=True)
        if question.reports
        for alarm in _alarms(question, detector)
    ]
    return SurveyResults(survey, people, tallies, confidence, codes, tuple(raised), postprocess)


def _alarms(question: QuestionTally, detector: PoisoningDetector | None) -> tuple[PoisoningAlarm, ...]:
    if isinstance(question.tally, ReportTally):
        return () if detector is None else detector.alarms(question.tally)
    assert isinstance(question.mechanism, MeanProtocol)  # noqa: S101
    return detect_poisoning_of_numbers(question.mechanism, question.tally)


def _digest(path: Path, digests: dict[bytes, Path]) -> bytes:
    """Digest of a file; an error if another file has the same."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    if digest in digests:
        raise BadInput(f"The same reports are in {digests[digest]} and {path}.", hint="Give each file once.")
    return digest


_Row = tuple[str, str, str, float, float, float]


def _bounds(question: QuestionTally, people: int, confidence: float) -> Iterator[_Row]:
    """Figures of a question with their bounds at a confidence."""
    name, z = question.protocol.name, normal_quantile(1 - confidence)
    left = (1 - question.reports / people) / question.reports  # what drawing some of all adds, for a variance of one
    if not isinstance(question.tally, ReportTally):
        assert isinstance(question.mechanism, MeanProtocol)  # noqa: S101
        result = question.mechanism.estimate_counts(question.tally, confidence=confidence)
        yield name, "mean", "mean", result.mean, result.mean - result.error_bar, result.mean + result.error_bar
        return
    shares = question.tally.estimate(confidence=confidence)
    off = sampled_share_bound(shares, 1 - confidence, left)
    for value, share, bar in zip(shares.oracle.domain.values, shares.shares.tolist(), off.tolist(), strict=True):
        yield name, str(value), "share", share, share - bar, share + bar
    grid = question.protocol.question.grid
    if grid is not None:
        points = question.protocol.question.points
        mean, deviation = linear_figure(shares, points, left)
        step = 0.0 if question.protocol.question.whole else float(grid.step)
        bar = z * math.hypot(deviation, step / 2 / math.sqrt(question.reports))
        yield name, "mean", "mean", mean, mean - bar, mean + bar
        below = [linear_figure(shares, (points <= point).astype(np.float64), left) for point in points[:-1]]
        figures, deviations = np.array(below).T
        for title, at in QUANTILES.items():
            value, low, high = _quantile(points, at, figures, z * deviations)
            yield name, title, "quantile", value, low - step, high + step


def sampled_share_bound(shares: FrequencyEstimate, error: float, left: float) -> Floats:
    """Largest error of each share, by devices' coins and by which people were drawn.

    Those who were drawn are a fair sample, so that few coins are taken as they are (``confidence_intervals``).
    """
    if left <= 0:
        return shares.error_bars_at(error) / shares.n
    (p, q), likely = shares.oracle.probabilities, np.clip(shares.shares, 0, 1)
    noise = (p * (1 - p) - q * (1 - q)) / (p - q) ** 2 / shares.n
    variance = (shares.deviations / shares.n) ** 2 + likely * (1 - likely) * left
    normal = score_bound(normal_quantile(error), variance, noise + (1 - 2 * likely) * left, left)
    report_codes = shares.supports / shares.n
    few = report_codes * (1 - report_codes) * shares.n < MIN_NORMAL_VARIANCE
    return np.where(few, np.maximum(normal, share_error_bound(error, report_codes, shares.n) / (p - q)), normal)


def linear_figure(shares: FrequencyEstimate, weights: Floats, left: float = 0.0) -> tuple[float, float]:
    """Weighted sum of all shares, and its standard deviation."""
    oracle, centre = shares.oracle, float(weights.mean())
    away = weights - centre
    figure = centre + float(away @ shares.shares)
    likely = np.clip(shares.shares, 0, 1)
    likely = likely / likely.sum() if likely.sum() else np.full(len(likely), 1 / len(likely))
    noise = float(likely @ _noise(oracle, away)) / shares.n
    drawn = float(likely @ away**2 - (likely @ away) ** 2) * left
    return figure, math.sqrt(noise + drawn)


def _noise(oracle: FrequencyOracle, weights: Floats) -> Floats:
    """Variance of the contribution of one report to a weighted sum, for each answer."""
    p, q = oracle.probabilities
    if isinstance(oracle, UnaryEncoding):  # a coin for each value
        own, other = p * (1 - p) * weights**2, q * (1 - q) * weights**2
        return np.asarray((own + other.sum() - other) / (p - q) ** 2)
    report_codes = weights / (p - q)  # one value is reported
    mean, square = (q @ each + (p - q) * each for each in (report_codes, report_codes**2))
    return np.asarray(square - mean**2)


def _quantile(points: Floats, at: float, below: Floats, bars_: Floats) -> tuple[float, float, float]:
    """Quantile and its bounds; ``below`` leaves out the last point."""
    last = len(points) - 1
    value, low = (_first(reached, last) for reached in (below >= at, below + bars_ >= at))
    high = last - _first((below - bars_ < at)[::-1], last)
    return float(points[value]), float(points[low]), float(points[high])


def _first(true: NDArray[np.bool_], otherwise: int) -> int:
    """Index of the first that is true."""
    return int(true.argmax()) if true.any() else otherwise


def _picture(results: SurveyResults, question: QuestionTally, figures: list[SurveyFigure]) -> Picture:
    shown = [each for each in figures if each.kind == "share"] or figures
    unit = 100 if shown[0].kind == "share" else 1
    summary = f"{question.reports:,} reports, {question.mechanism.name}, {equation('ε', question.mechanism.epsilon)}"
    errors = [unit * (each.high - each.low) / 2 for each in shown]
    what = "Percent of people" if unit == 100 else "The mean"
    what += f", after {results.postprocess}" if results.postprocess and unit == 100 else ""
    return bars(
        question.protocol.question.text,
        [each.figure for each in shown],
        [unit * each.estimate for each in shown],
        errors=errors,
        caption=f"{what}; each error bar holds with {results.confidence:.4g}. {summary}.",
    )

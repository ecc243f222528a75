"""Membership: was this person's row used? Against whatever can be trained or made again on chosen rows.

Shadow runs, with and without each target, teach what scores members get: Shokri, Stronati, Song and Shmatikov (2017),
"Membership inference attacks against machine learning models"; target by target: Carlini, Chien, Nasr, Song, Terzis and
Tramèr (2022), "Membership inference attacks from first principles" (LiRA). Stadler, Oprisanu and Troncoso (2022),
"Synthetic data: anonymisation groundhog day", do it to synthetic tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.noise.masking import Draws
from discreet.verbs.attack.distance_to_closest_record import auc, best_threshold, nearness
from discreet.verbs.attack.empirical_epsilon import effective_epsilon
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Finding, Outcome, failed, share

Array = npt.NDArray[Any]
Score = Callable[[pa.Table], Array]
"""A model: of each row a number that is larger for rows it was trained on, such as a log-likelihood or minus a loss."""
Train = Callable[[pa.Table, int], "Score | Release[Any] | pa.Table"]
"""Trains a model, or makes a table, of some rows and a seed. Rows of a table are scored by how near its closest is."""

_MEANING = (
    "The share of coins that the attacker tells rightly from what was trained, where a coin decided whether a person "
    "was in; one half is best, 1 means that membership is no secret."
)


class Test(Enum):
    """How a score is judged."""

    LIKELIHOOD = "likelihood ratio"
    """Against the scores that this target had in shadow runs with them and without (normal laws; LiRA)."""
    THRESHOLD = "one threshold"
    """Against the one threshold that parts the shadow runs of all targets best."""


@dataclass(frozen=True)
class Runs:
    """Scores of all targets in all runs, and who was in."""

    scores: Array
    inside: Array


def membership(
    train: Train,
    known: Table,
    targets: Sequence[int],
    *,
    runs: int = 64,
    by: Test = Test.LIKELIHOOD,
    confidence: float = 0.95,
    seed: int = 1,
) -> Finding:
    """Train ``runs`` times on ``known`` with each of ``targets`` (row numbers) in or out by a coin, half of them as
    shadows, and tell the coins of the other half.

    In each judged run a single target, drawn by lot, counts for the figure and for the lower bound of epsilon, so that
    what is counted is independent. It bounds the loss of adding or removing a row.
    """
    knows = "The attacker knows all other rows and the row in question, and can train again as often as they like."
    try:
        played = _play(train, known, np.asarray(targets), runs, seed)
        half = runs // 2
        shadows = Runs(played.scores[:half], played.inside[:half])
        judge = _likelihood if by is Test.LIKELIHOOD else _threshold
        evidence = judge(shadows, played.scores[half:])
        truth = played.inside[half:]
        lots = Draws.of(seed).at(1).integers(truth.shape[1], size=len(truth))
        drawn = np.arange(len(truth)), lots
        coins, told = truth[drawn], evidence[drawn]
        bound = effective_epsilon(told[coins], told[~coins], confidence=confidence)
    except BadInput as problem:
        return failed("membership", knows, str(problem))
    right = np.where(told == 0, 0.5, (told > 0) == coins)
    details = {
        "test": by.value,
        "runs": runs,
        "targets": len(targets),
        "AUC": round(auc(evidence[truth], evidence[~truth]), 4),
        "epsilon at least": math.floor(bound.epsilon * 10_000) / 10_000,  # a lower bound is rounded down
        "confidence": confidence,
        "TPR": bound.tpr,
        "FPR": bound.fpr,
    }
    found = share("membership", knows, right, 0.5, _MEANING, details=details)
    return _naming(found, np.asarray(targets), np.mean((evidence > 0) == truth, axis=0))


def _play(train: Train, known: Table, targets: Array, runs: int, seed: int) -> Runs:
    """Train with everybody but the targets whose coin says out."""
    rows = known.fetch()
    if not len(targets) or len(set(targets.tolist())) != len(targets) or targets.dtype.kind not in "iu":
        raise BadInput("Targets are different row numbers, at least one.")
    if targets.min() < 0 or targets.max() >= rows.num_rows:
        raise BadInput(f"Targets are rows of the {rows.num_rows:,} that are known.")
    if runs < 32:
        raise BadInput("Membership takes at least 32 runs: half of them teach, half are judged.")
    inside = Draws.of(seed).at(0).integers(0, 2, (runs, len(targets))).astype(bool)
    asked = rows.take(targets)
    wanted, scores = read(asked, card=known.card), np.empty(inside.shape)
    for run, coins in enumerate(inside):
        kept = np.ones(rows.num_rows, dtype=bool)
        kept[targets[~coins]] = False
        scores[run] = _scored(train(rows.filter(pa.array(kept)), run), wanted, asked)
    if np.isnan(scores).any():
        raise BadInput("A score is not a number.")
    return Runs(scores, inside)


def _scored(made: Score | Release[Any] | pa.Table, wanted: Table, rows: pa.Table) -> Array:
    if isinstance(made, pa.Table):
        made = Release.unpromised(made)
    if isinstance(made, Release):
        return nearness(wanted, made)
    scores = np.asarray(made(rows), dtype=np.float64)
    if scores.shape != (rows.num_rows,):
        raise BadInput(f"A model scores each row: expected {rows.num_rows} numbers, got {scores.shape}.")
    return scores


def _likelihood(shadows: Runs, scores: Array) -> Array:
    """The logarithm of how much likelier each score is for a member, by the two normal laws of each target."""
    floor = 1e-6 * float(np.ptp(shadows.scores)) + 1e-12
    evidence = np.zeros(scores.shape)
    for sign, which in ((1, shadows.inside), (-1, ~shadows.inside)):
        counts = np.maximum(which.sum(axis=0), 1)
        mean = np.where(which, shadows.scores, 0.0).sum(axis=0) / counts
        spread = np.sqrt(np.where(which, (shadows.scores - mean) ** 2, 0.0).sum(axis=0) / counts)
        spread = np.maximum(spread, floor)
        evidence += sign * (-np.log(spread) - ((scores - mean) / spread) ** 2 / 2)
    return evidence


def _threshold(shadows: Runs, scores: Array) -> Array:
    """By how much a score lies above the threshold that is right most often in shadow runs."""
    limit = best_threshold(shadows.scores[shadows.inside], shadows.scores[~shadows.inside])
    return np.asarray(scores - limit)


def _naming(found: Finding, targets: Array, right: Array) -> Finding:
    """As victims those targets whose coin was told in nine of ten judged runs or more, most often first."""
    if found.outcome is not Outcome.BROKE:
        return replace(found, victims=())
    order = np.argsort(-right, kind="stable")[:SHOWN_VICTIMS]
    return replace(found, victims=tuple(int(targets[at]) for at in order if right[at] >= 0.9))

"""Membership inference: was a person's row in the training or source data?

By the closest record of a release (Chen, Yu, Zhang and Fritz 2020, "GAN-Leaks: a taxonomy of membership inference
attacks against generative models"); by shadow runs of whatever can be trained or made again on chosen rows, with and
without each target (Shokri, Stronati, Song and Shmatikov 2017, "Membership inference attacks against machine learning
models"), target by target (Carlini, Chien, Nasr, Song, Terzis and Tramèr 2022, "Membership inference attacks from first
principles", LiRA). Stadler, Oprisanu and Troncoso (2022), "Synthetic data: anonymisation groundhog day", do it to
synthetic tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Draws
from discreet.verbs.attack.distance import closest_distances
from discreet.verbs.attack.finding import (
    SHOWN_VICTIMS,
    Array,
    Finding,
    Outcome,
    clopper_pearson,
    failed_finding,
    share_finding,
)
from discreet.verbs.attack.guesses import DEFAULT_GUESSES, ControlledAttack, sample_targets, targets_and_control

Score = Callable[[pa.Table], Array]
"""A model: gives each row a number, larger for rows it was trained on, such as a log-likelihood or minus a loss."""
Train = Callable[[pa.Table, int], "Score | Release[Any] | pa.Table"]
"""Trains a model, or makes a table, of some rows and a seed. Rows are scored against a table by its closest record."""

_MAX_THRESHOLDS = 500
"""Largest number of thresholds tried for an empirical epsilon."""
_MIN_RUNS = 32
"""Minimum number of runs of a membership test: half for training, half for evaluation."""


@declare(ATTACKS, "membership by the closest record", rank=33)
class ClosestRecord(ControlledAttack):
    """Membership inference by the distance to the closest released record.

    People within a threshold distance of a released row are called members. The threshold is learnt from every other
    person of either kind, and evaluated on the rest. People of one release are not independent of each other, so that
    no epsilon is claimed.
    """

    control: Table | None = None
    guesses: int = DEFAULT_GUESSES

    knows: ClassVar[str] = "The attacker knows the row in question, and the membership of some others."

    def applies(self, release: Release[Any]) -> str | None:
        """``None`` for microdata with a control group, else the reason why not."""
        if self.control is None:
            return (
                "Membership inference needs a control group of people who are not in the data. Add one with --control."
            )
        return super().applies(release)

    def evaluate(self, release: Release[Any], known: Table) -> Finding:
        """Share of people whose membership is inferred correctly."""
        both = targets_and_control(release, known, self.control)
        if both.control is None:
            raise DataError("Membership inference needs a control group of people who are not in the data.")
        groups, data = (both.people, both.control), both.data
        who = [sample_targets(people, data.released, self.guesses) for people in groups]
        count = min(map(len, who))
        if count < 2:
            raise DataError("Membership inference needs at least two members and two non-members.")
        who = [some[np.arange(count) * len(some) // count] for some in who]  # evenly spaced: rows may be sorted
        near = [
            -closest_distances(people[some], data.released, data.numeric)
            for people, some in zip(groups, who, strict=True)
        ]
        limit = best_threshold(near[0][::2], near[1][::2])
        right = np.concatenate([near[0][1::2] > limit, near[1][1::2] <= limit])
        members = who[0][1::2]
        details = {"columns": list(data.columns), "AUC": round(auc(*near), 4), "distance": -limit}
        meaning = (
            "Share of people whose membership the attacker infers correctly, half of them being members; 0.5 "
            "is best, 1 means that membership is not secret."
        )
        found = share_finding(self.name, self.knows, right.astype(float), 0.5, meaning, details=details)
        victims = tuple(int(members[at]) for at in found.victims if at < len(members))
        return replace(found, victims=victims if found.outcome is Outcome.BROKE else ())


class Test(Enum):
    """Statistical test of a membership score."""

    LIKELIHOOD = "likelihood ratio"
    """Likelihood ratio against the target's scores in shadow runs with and without them (normal; LiRA)."""
    THRESHOLD = "one threshold"
    """One threshold for all targets, the one that separates their shadow runs best."""


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
    """Membership inference against a training procedure, with shadow runs.

    ``train`` is run ``runs`` times on ``known``, with each of ``targets`` (row numbers) in or out by a coin flip. Half
    of the runs are shadows, from which the attack learns to infer the coins of the other half.

    In each judged run a single target, drawn by lot, counts for the figure and for the lower bound of epsilon, so that
    what is counted is independent. It bounds the loss of adding or removing a row.
    """
    knows = "The attacker knows all other rows and the row in question, and can retrain as often as they like."
    try:
        scores, inside = _shadow_runs(train, known, np.asarray(targets), runs, seed)
        half = runs // 2
        judge = _likelihood_ratio if by is Test.LIKELIHOOD else _threshold_distance
        evidence, truth = judge(scores[:half], inside[:half], scores[half:]), inside[half:]
        lots = Draws.of(seed).at(1).integers(truth.shape[1], size=len(truth))
        drawn = np.arange(len(truth)), lots
        coins, told = truth[drawn], evidence[drawn]
        bound = effective_epsilon(told[coins], told[~coins], confidence=confidence)
    except BadInput as problem:
        return failed_finding("membership", knows, str(problem))
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
    meaning = (
        "Share of random inclusions that the attacker infers from the trained model; 0.5 is best, 1 means "
        "that membership is not secret."
    )
    found = share_finding("membership", knows, right, 0.5, meaning, details=details)
    if found.outcome is not Outcome.BROKE:
        return replace(found, victims=())
    told_share = np.mean((evidence > 0) == truth, axis=0)
    order = np.argsort(-told_share, kind="stable")[:SHOWN_VICTIMS]  # those told in nine of ten judged runs or more
    return replace(found, victims=tuple(int(targets[at]) for at in order if told_share[at] >= 0.9))


def _shadow_runs(train: Train, known: Table, targets: Array, runs: int, seed: int) -> tuple[Array, Array]:
    """Train without the targets whose coin says out: scores of all targets in all runs, and who was in."""
    rows = known.fetch()
    if not len(targets) or len(set(targets.tolist())) != len(targets) or targets.dtype.kind not in "iu":
        raise BadInput("Targets must be different row numbers, at least one.")
    if targets.min() < 0 or targets.max() >= rows.num_rows:
        raise BadInput(f"Targets must be among the {rows.num_rows:,} known rows.")
    if runs < _MIN_RUNS:
        raise BadInput(f"Membership inference needs at least {_MIN_RUNS} runs: half for training, half for testing.")
    inside = Draws.of(seed).at(0).integers(0, 2, (runs, len(targets))).astype(bool)
    asked = rows.take(targets)
    wanted, scores = read(asked, card=known.card), np.empty(inside.shape)
    for run, coins in enumerate(inside):
        kept = np.ones(rows.num_rows, dtype=bool)
        kept[targets[~coins]] = False
        scores[run] = _membership_scores(train(rows.filter(pa.array(kept)), run), wanted, asked)
    if np.isnan(scores).any():
        raise BadInput("A score is not a number.")
    return scores, inside


def _membership_scores(made: Score | Release[Any] | pa.Table, wanted: Table, rows: pa.Table) -> Array:
    if isinstance(made, pa.Table):
        made = Release.unpromised(made)
    if isinstance(made, Release):
        both = targets_and_control(made, wanted, None)
        return -closest_distances(both.people, both.data.released, both.data.numeric)
    scores = np.asarray(made(rows), dtype=np.float64)
    if scores.shape != (rows.num_rows,):
        raise BadInput(f"A model scores each row: expected {rows.num_rows} numbers, got {scores.shape}.")
    return scores


def _likelihood_ratio(shadows: Array, inside: Array, scores: Array) -> Array:
    """Log-likelihood ratio of each score, member against other, by the two normal distributions of each target."""
    floor = 1e-6 * float(np.ptp(shadows)) + 1e-12
    evidence = np.zeros(scores.shape)
    for sign, which in ((1, inside), (-1, ~inside)):
        counts = np.maximum(which.sum(axis=0), 1)
        mean = np.where(which, shadows, 0.0).sum(axis=0) / counts
        spread = np.sqrt(np.where(which, (shadows - mean) ** 2, 0.0).sum(axis=0) / counts)
        spread = np.maximum(spread, floor)
        evidence += sign * (-np.log(spread) - ((scores - mean) / spread) ** 2 / 2)
    return evidence


def _threshold_distance(shadows: Array, inside: Array, scores: Array) -> Array:
    """Distance of each score above the threshold that classifies shadow runs best."""
    return np.asarray(scores - best_threshold(shadows[inside], shadows[~inside]))


@dataclass(frozen=True)
class EffectiveEpsilon:
    """Empirical lower bound of the loss: at least ``epsilon``, with ``confidence``."""

    epsilon: float
    confidence: float
    threshold: float
    """Score above which a row is classified as a member."""
    tpr: float
    """True-positive rate: share of members classified as members."""
    fpr: float
    """False-positive rate: share of non-members classified as members."""


def effective_epsilon(
    members: Array, others: Array, *, confidence: float = 0.95, delta: float = 0.0
) -> EffectiveEpsilon:
    """Empirical lower bound of epsilon from membership scores, each from an independent run.

    Under (epsilon, delta)-differential privacy any test for membership has TPR <= e^epsilon FPR + delta, and the same
    of those it clears (Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy"). Rates that
    were counted bound the true ones by the intervals of Clopper and Pearson (Jagielski, Ullman and Oprea 2020,
    "Auditing differentially private machine learning").

    Why this is valid: the threshold, and whether members or others are counted on, are chosen by every other score; the
    bound is computed from the rest, which the choice knows nothing of. Both rates are within their one-sided limits
    with ``confidence``, by the union bound.
    """
    groups = [np.asarray(scores, dtype=np.float64) for scores in (members, others)]
    if any(scores.ndim != 1 or np.isnan(scores).any() for scores in groups):
        raise BadInput("Scores must be a list of numbers.")
    if any(len(scores) < 4 for scores in groups):
        raise BadInput("An effective epsilon needs at least 4 scores of members, and of others.")
    first, second = ((groups[0][half::2], groups[1][half::2]) for half in (0, 1))

    def bound(half: tuple[Array, Array], threshold: float, cleared: bool) -> float:
        """What the counts prove: by members called so or, if ``cleared``, by others who are not."""
        called, wrongly = half[0] > threshold, half[1] > threshold
        hits, errors = (~wrongly, ~called) if cleared else (called, wrongly)
        low = clopper_pearson(int(hits.sum()), len(hits), confidence)[0] - delta
        high = clopper_pearson(int(errors.sum()), len(errors), confidence)[1]
        return math.log(low / high) if low > 0 else -math.inf

    values = np.unique(np.concatenate(first))
    limits = values[:: -(-len(values) // _MAX_THRESHOLDS)]
    chosen = max(itertools.product(limits.tolist(), (False, True)), key=lambda one: bound(first, *one))
    tpr, fpr = (float((scores > chosen[0]).mean()) for scores in second)
    return EffectiveEpsilon(max(bound(second, *chosen), 0.0), confidence, chosen[0], tpr, fpr)


def best_threshold(members: Array, others: Array) -> float:
    """Threshold that separates members (above) from non-members best."""
    values = np.concatenate([members, others])
    order = np.argsort(values, kind="stable")
    values, inside = values[order], (np.arange(len(values)) < len(members))[order]
    right = len(members) + np.concatenate([[0], np.cumsum(np.where(inside, -1, 1))])
    apart = np.concatenate([[True], values[1:] > values[:-1], [True]])
    best = int(np.argmax(np.where(apart, right, -1)))
    ends = np.concatenate([[values[0] - 1.0], values, [values[-1] + 1.0]])
    return float((ends[best] + ends[best + 1]) / 2)


def auc(members: Array, others: Array) -> float:
    """Area under the ROC curve: the probability that a member's score exceeds another's; ties count half."""
    there = np.sort(others)
    below, above = (np.searchsorted(there, members, side) for side in ("left", "right"))
    return float((below + above).mean() / 2 / len(there)) if len(members) and len(there) else 0.5

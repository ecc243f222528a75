"""Models as measures: what they learn from a release (learning), and whether they tell its rows apart (propensity)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.core.optional import extra
from discreet.errors import DataError
from discreet.utility.pair import Array, Figure, Pair, spread

_FEWEST = 40
_FOLDS = 5
_MOST = 5_000
_CATEGORIES = 20


@dataclass(frozen=True)
class Score:
    """How well a model does: the share it gets right, and the area under the ROC curve (of each class against the
    others, by how common the class is)."""

    accuracy: float
    auc: float


def learning(pair: Pair) -> Figure:
    """What models lose in accuracy when they are trained on the release: the mean over four of them. 0: as good as
    those trained on the original; it may be less than 0, when masking happens to smooth."""
    mine, theirs = scores(pair, masked=False), scores(pair)
    lost = float(np.mean([mine[name].accuracy - theirs[name].accuracy for name in mine]))
    return Figure(lost, compare_scores(theirs, mine, "on the original"))


def compare_scores(found: Mapping[str, Score], others: Mapping[str, Score], where: str) -> dict[str, float]:
    """The scores of each model, beside those that it has elsewhere, for reports."""
    details: dict[str, float] = {}
    for name, score in found.items():
        details |= {f"{name}: accuracy": score.accuracy, f"{name}: accuracy {where}": others[name].accuracy}
        details |= {f"{name}: AUC": score.auc, f"{name}: AUC {where}": others[name].auc}
    return details


def scores(pair: Pair, *, masked: bool = True, folds: int = _FOLDS) -> Mapping[str, Score]:
    """The four models, cross-validated: trained on the released rows of some people (or, not ``masked``, on their
    original ones), tested on the original rows of the others. So it must be known which row is whose: a model tested
    on people it was trained on looks better than it is."""
    target = _target(pair)
    x, y = pair.linked
    some = slice(None, None, -(-len(x) // _MOST))
    x, y = x[some], y[some]
    known = ~np.isnan(x[:, target]) & ~np.isnan(y[:, target])
    x, y = x[known], y[known]
    if len(x) < _FEWEST:
        raise DataError(f"Fewer than {_FEWEST} rows have {pair.target}: too few to learn from.")
    classes = np.unique(x[:, target])
    if len(classes) < 2:
        raise DataError(f"{pair.target} has fewer than two values.")
    order = np.lexsort([*x.T, x[:, target]])  # people's own order, not that of the release
    fold = np.empty(len(x), np.int64)
    fold[order] = np.arange(len(x)) % folds
    seen, taught = _features(pair, target, x, y)
    shown = taught if masked else seen
    labels = y[:, target] if masked else x[:, target]
    found = {}
    for name, make in _models().items():
        chances = np.zeros((len(x), len(classes)))
        for part in range(folds):
            test = fold == part
            chances[test] = _chances(make(), shown[~test], labels[~test], seen[test], classes)
        found[name] = _score(chances, x[:, target], classes)
    return found


def transfer(pair: Pair, trained: Array, tested: Array) -> tuple[Mapping[str, Score], Mapping[str, Score]]:
    """The four models tested on the original rows ``tested``: trained on the rows ``trained`` of other people, and on
    as many released rows, evenly spaced. No released row has to be anyone's."""
    target = _target(pair)
    trained, tested, made = (side[~np.isnan(side[:, target])] for side in (trained, tested, pair.released))
    if min(map(len, (trained, tested, made))) < _FEWEST // 2:
        raise DataError(f"Fewer than {_FEWEST} rows have {pair.target}: too few to learn from.")
    made = made[:: max(len(made) // len(trained), 1)]
    classes = np.unique(tested[:, target])
    if len(classes) < 2:
        raise DataError(f"{pair.target} has fewer than two values.")
    seen, shown = _features(pair, target, np.concatenate([trained, tested]), made)
    asked = seen[len(trained) :]
    ways = ((seen[: len(trained)], trained[:, target]), (shown, made[:, target]))
    real, synthetic = (
        {
            name: _score(_chances(make(), *way, asked, classes), tested[:, target], classes)
            for name, make in _models().items()
        }
        for way in ways
    )
    return real, synthetic


def _target(pair: Pair) -> int:
    if pair.target is None:
        raise DataError("There is no column to be predicted.", hint="Name one as the target.")
    if pair.target not in pair.columns:
        raise DataError(f"The release does not show {pair.target} as the original does.")
    place = pair.columns.index(pair.target)
    if len(np.unique(pair.original[:, place])) > _CATEGORIES:
        raise DataError(f"{pair.target} has more than {_CATEGORIES} values.", hint="Name a target with fewer.")
    if len(pair.columns) < 2:
        raise DataError("There is no column to predict by.")
    return place


def _features(pair: Pair, target: int, x: Array, y: Array) -> tuple[Array, Array]:
    """Both sides for a model: numbers in the original's standard deviations, categories as 0 and 1."""
    left, right = [], []
    for place, number in enumerate(pair.numeric):
        a, b = x[:, place], y[:, place]
        if place == target:
            continue
        if number:
            mean, wide = np.nanmean(a), spread(a) or 1.0
            left.append(np.nan_to_num((a - mean) / wide))
            right.append(np.nan_to_num((b - mean) / wide))
            continue
        kinds, counts = np.unique(a[~np.isnan(a)], return_counts=True)
        for kind in kinds[np.argsort(-counts, kind="stable")][:_CATEGORIES]:
            left.append((a == kind).astype(float))
            right.append((b == kind).astype(float))
    return np.column_stack(left), np.column_stack(right)


def _models() -> Mapping[str, Any]:
    with extra("attack"):
        from sklearn.naive_bayes import GaussianNB
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.svm import LinearSVC
        from sklearn.tree import DecisionTreeClassifier
    return {
        "decision tree": lambda: DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0),
        "naive Bayes": GaussianNB,
        "nearest neighbours": lambda: KNeighborsClassifier(15),
        "support vectors": lambda: LinearSVC(dual=False, random_state=0),
    }


def _chances(model: Any, x: Array, y: Array, asked: Array, classes: Array) -> Array:
    """What the model gives each class, classes it never saw least of all."""
    held = np.unique(y)
    found = np.full((len(asked), len(classes)), -np.inf)
    at = np.searchsorted(classes, held)
    at = at[np.isin(held, classes)]
    if len(held) < 2:
        found[:, at] = 0.0
        return found
    model.fit(x, y)
    given = model.predict_proba(asked) if hasattr(model, "predict_proba") else model.decision_function(asked)
    if given.ndim == 1:
        given = np.column_stack([-given, given])
    found[:, at] = given[:, np.isin(held, classes)]
    return found


def _score(chances: Array, truth: Array, classes: Array) -> Score:
    right = classes[chances.argmax(axis=1)] == truth
    areas = [_area(chances[:, place], truth == one) for place, one in enumerate(classes)]
    common = [float(np.mean(truth == one)) for one in classes]
    return Score(float(right.mean()), float(np.dot(areas, common)))


def _area(score: Array, positive: Array) -> float:
    """The probability that one of the class scores higher than one that is not, ties counting half."""
    order = np.argsort(score, kind="stable")
    _, which, counts = np.unique(score[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = np.empty(len(score))
    ranks[order] = (ends - (counts - 1) / 2)[which]
    yes = int(positive.sum())
    return float((ranks[positive].sum() - yes * (yes + 1) / 2) / (yes * (len(score) - yes)))


_PRODUCTS = 12
"""With more numeric columns, products of two are left out."""
_MOST_COMPARED = 50_000


def propensity(pair: Pair) -> Figure:
    """A logistic model guesses of every row which side it is from, by its values, their squares and products. The
    figure is the mean square of (guess − share), in proportion to what a model that is always right would get.

    0: the sides cannot be told apart by such a model; 1: every row can.
    """
    a, b = (side[:: -(-len(side) // _MOST_COMPARED)] for side in (pair.original, pair.released))
    guess, used = guesses(a, b, pair.numeric)
    return Figure(apart(guess, len(b)), {"columns used": float(used)})


def apart(guess: Array, released: int) -> float:
    """The mean square of (guess − share), as a share of its most: of rows of which the last ``released`` are so."""
    share = released / len(guess)
    return float(np.mean((guess - share) ** 2) / (share * (1 - share)))


def guesses(a: Array, b: Array, numeric: tuple[bool, ...]) -> tuple[Array, int]:
    """Of every row of both sides how likely it is of the second, by a model of both, and by how many columns, not
    counting those that follow from others."""
    with extra("attack"):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
    x = described(np.concatenate([a, b]), numeric, len(a))
    if not x.shape[1]:
        raise DataError("No column varies.")
    side = np.repeat([0, 1], [len(a), len(b)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sides far apart are never told apart surely enough
        found = LogisticRegression(C=100.0, max_iter=200).fit(x, side).predict_proba(x)[:, 1]
    around = x - x.mean(axis=0)
    return np.asarray(found), int(np.linalg.matrix_rank(around.T @ around, hermitian=True))


def described(rows: Array, numeric: tuple[bool, ...], count: int) -> Array:
    """What a model sees of rows: numbers in the standard deviations of the first ``count`` of them, their squares and
    products; the commonest categories, and whether something is missing, as 0 and 1."""
    numbers, marks = [], []
    for values, number in zip(rows.T, numeric, strict=True):
        gone = np.isnan(values)
        marks.append(gone.astype(float))
        if number:
            mine = values[:count]
            scaled = (values - np.nanmean(mine)) / (spread(mine) or 1.0)
            numbers.append(np.clip(np.where(gone, 0.0, scaled), -100.0, 100.0))
        else:
            kinds, counts = np.unique(values[~gone], return_counts=True)
            common = kinds[np.argsort(-counts, kind="stable")][:_CATEGORIES]
            marks += [(values == kind).astype(float) for kind in common]
    found = [*numbers, *(column**2 for column in numbers), *marks]
    if len(numbers) <= _PRODUCTS:
        found += [one * other for one, other in combinations(numbers, 2)]
    kept = [column for column in found if np.ptp(column) > 0]
    return np.column_stack(kept) if kept else np.zeros((len(rows), 0))

"""How faithful synthetic rows are to the original ones, by every figure there is.

What is measured row by row (telling rows apart, models trained on synthetic rows) is measured on samples of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import NUMBERS
from discreet.core.optional import extra
from discreet.core.release import Release, Rows
from discreet.core.sql import kind_of
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import DataError, MissingPart, NotFound
from discreet.noise.masking import generator
from discreet.utility.faithful.columns import (
    Coded,
    Columns,
    associations,
    coded,
    counts,
    if_independent,
    of_a_sample,
    variation,
)
from discreet.utility.faithful.report import Fidelity, Measured, Spread, distance_matrix
from discreet.utility.learning import apart, guesses, transfer
from discreet.utility.measure import target_of
from discreet.utility.pair import Array, Pair, pair

Progress: TypeAlias = Callable[[float, str], None]
Counted: TypeAlias = Mapping[Columns, Array]

_MOST = 300
"""So many sets of three columns are looked at, at most."""
_SHOWN = 10
_COPY = "copy"
"""The column that says which copy a row belongs to, where a release has several (``non_private/copies.py``)."""
_WAYS = {
    1: ("1-way error", "The share of rows in the wrong place, column by column (total variation), on average."),
    2: ("2-way error", "The same, of two columns together."),
    3: ("3-way error", "The same, of three columns together."),
}
_MODELS = {
    "propensity": "How well a logistic model, which sees numbers two by two and categories one by one, tells synthetic "
    "from original rows (pMSE, as a share of its most): 0 is not at all, 1 always. It does not see how categories hang "
    "together, so that independent columns may do well.",
    "told by trees": "How well a random forest, which sees any columns together, tells synthetic from original rows "
    "that it was not trained on (2 AUC − 1): 0 is not at all, 1 always.",
    "learning": "The AUC that models lose by being trained on synthetic rows and not on people: the mean of a decision "
    "tree, naive Bayes, nearest neighbours and support vectors. An AUC of 0.5 is guessing.",
}


def fidelity(
    original: Table,
    synthetic: Release[Any] | Table | pa.Table | str | Path,
    *,
    columns: Sequence[str] = (),
    target: str | None = None,
    control: Table | None = None,
    progress: Progress | None = None,
) -> Fidelity:
    """How faithful ``synthetic`` is to ``original``: counts of one, two and three columns, correlations, whether rows
    can be told apart, and what models are worth that were trained on it.

    ``synthetic`` is a release, the folder of one, or rows. Of several copies the first is looked at: all together would
    be one large table, which is more even than any of them.

    ``columns`` are by default all that both have and are no identifiers. ``target`` is what models predict (default:
    the first sensitive column with categories). ``control``, a table like the original, holds people who are not in it:
    models are tested on them. Without, they are tested on every other person of the original, whom the synthetic rows
    were made of too. Counts are made by the engines of both tables; models see samples.
    """
    say = progress or (lambda share, what: None)
    if isinstance(synthetic, str | Path):
        synthetic = Release.load(synthetic)
    other, title = _table(synthetic), synthetic.title if isinstance(synthetic, Release) else "the synthetic table"
    if isinstance(synthetic, Release) and _COPY in other.card and "copies" in synthetic.recipe.parameters:
        other = other.where(exp.EQ(this=sql.column(_COPY), expression=sql.literal(1)))
        title += f" (copy 1 of {synthetic.recipe.parameters['copies']})"
    names, left_out = _common(original, other, columns)
    if missing := [name for name in names if control is not None and name not in control.columns]:
        raise DataError(f"The control has no column {', '.join(missing)}.")
    predicted = _target(original, names, target)
    rows = original.count(), other.count()
    if not all(rows):
        raise DataError("There are no rows to compare.")
    codes = []
    for place, name in enumerate(names):
        say(0.3 * place / len(names), name)
        codes.append(coded(original, name))
    sets = _sets(len(names))
    say(0.3, "counting the original")
    mine = counts(original, codes, sets)
    say(0.45, "counting the synthetic rows")
    theirs = counts(other, codes, sets)
    far = {some: variation(mine[some], theirs[some]) for some in sets}
    say(0.6, "correlations")
    strengths = associations(original, codes, mine), associations(other, codes, theirs)
    measured = [*_marginals(names, mine, far, rows[1]), _correlations(names, *strengths, rows[1])]
    told, by_rows = _by_rows(original, other, names, target=predicted, control=control, say=say)
    measured += by_rows
    say(1.0, "done")
    return Fidelity(
        title,
        rows,
        tuple(measured),
        names,
        left_out,
        tuple(_spread(one, mine[place,], theirs[place,], far[place,]) for place, one in enumerate(codes)),
        distance_matrix(len(names), {some: value for some, value in far.items() if len(some) == 2}),
        strengths,
        (told.original, told.synthetic) if told is not None else None,
    )


def _table(synthetic: Release[Any] | Table | pa.Table) -> Table:
    """The synthetic rows as a table; those in a folder stay there."""
    if isinstance(synthetic, Table):
        return synthetic
    rows = synthetic.payload if isinstance(synthetic, Release) else synthetic
    if not isinstance(rows, pa.Table | Rows):
        raise DataError("Only a table of rows can be compared.", hint="This release is none.")
    schema = pq.read_schema(rows.path) if isinstance(rows, Rows) else rows.schema
    kinds = {field.name: kind for field in schema if (kind := kind_of(field.type)) is not None}
    card = Card("synthetic", tuple(Column(name, kind) for name, kind in kinds.items()))
    return read(rows.path if isinstance(rows, Rows) else rows, card)


def _common(original: Table, other: Table, columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns both have as values of the same kind, and the others of the original."""
    card = original.card
    own = [column.name for column in card.columns if column.role is not Role.IDENTIFIER and column.name != card.unit]
    for name in columns:
        if name not in own:
            raise NotFound(f"{card.name} releases no column {name!r}.")
    wanted = columns or own
    same = [name for name in wanted if name in other.card and _alike(card[name], other.card[name])]
    if not same:
        raise DataError("The synthetic rows have no column with values of the kind the original has.")
    return tuple(same), tuple(name for name in wanted if name not in same)


def _target(original: Table, names: Sequence[str], asked: str | None) -> str | None:
    """The column to predict, if there is one among those that are compared."""
    if asked is not None and asked not in names:
        raise NotFound(f"{asked!r} is not among the columns that both sides have: {', '.join(names)}.")
    found = asked or target_of(original)
    return found if found in names else None


def _alike(mine: Column, theirs: Column) -> bool:
    return mine.kind is theirs.kind or {mine.kind, theirs.kind} <= NUMBERS


def _sets(width: int) -> list[Columns]:
    """All single columns and pairs, and threes: all, or evenly spaced ones."""
    step = -(-comb(width, 3) // _MOST) or 1
    threes = islice(combinations(range(width), 3), 0, None, step)
    return [*((place,) for place in range(width)), *combinations(range(width), 2), *threes]


def _marginals(names: Sequence[str], mine: Counted, far: Mapping[Columns, float], rows: int) -> list[Measured]:
    found = []
    for ways, (title, meaning) in _WAYS.items():
        each = {some: value for some, value in far.items() if len(some) == ways}
        if not each:
            found.append(Measured(title, None, meaning, why=f"not measured: there are fewer than {ways} columns"))
            continue
        worst = sorted(each, key=lambda some: -each[some])[:_SHOWN]
        found.append(
            Measured(
                title,
                float(np.mean([*each.values()])),
                meaning,
                sample=float(np.mean([of_a_sample(mine[some], rows) for some in each])),
                independent=float(np.mean([if_independent(mine[some]) for some in each])) if ways > 1 else None,
                details={" × ".join(names[place] for place in some): each[some] for some in worst},
            )
        )
    return [_score(found[1]), *found]


def _score(pairs: Measured) -> Measured:
    """The k-marginal score for k = 2, as NIST counts it: 1000 less the mean error of pairs in thousandths."""
    meaning = (
        "1000 times what is right: 1 less the mean error of all pairs of columns. NIST's score for k = 2, by parts of "
        "our own (tenths of the original, the 30 commonest values), so compare it with scores made the same way."
    )

    def score(error: float | None) -> float | None:
        return None if error is None else 1000 * (1 - error)

    values = (score(error) for error in (pairs.figure, pairs.sample, pairs.independent))
    figure, sample, independent = values
    return Measured("k-marginal score", figure, meaning, 1000.0, sample, independent, why=pairs.why)


def _correlations(names: Sequence[str], mine: Array, theirs: Array, rows: int) -> Measured:
    meaning = (
        "How far the strength with which two columns hang together has moved, on average: correlations of numbers, "
        "Cramér's V of categories, the correlation ratio of both. What a sample gets is approximate."
    )
    above = np.triu_indices(len(names), 1)
    was, is_now = mine[above], theirs[above]
    there = ~(np.isnan(was) & np.isnan(is_now))
    if not there.any():
        return Measured("correlations", None, meaning, why="not measured: there are no two columns that vary")
    was, is_now = np.nan_to_num(was[there]), np.nan_to_num(is_now[there])
    moved = np.abs(was - is_now)
    which = [f"{a} × {b}" for (a, b), one in zip(combinations(names, 2), there, strict=True) if one]
    worst = np.argsort(-moved, kind="stable")[:_SHOWN]
    return Measured(
        "correlations",
        float(moved.mean()),
        meaning,
        sample=float(np.mean(np.sqrt(2 / (np.pi * rows)) * (1 - was**2))),
        independent=float(np.abs(was).mean()),
        details={which[place]: float(moved[place]) for place in worst},
    )


def _by_rows(
    original: Table, other: Table, names: tuple[str, ...], *, target: str | None, control: Table | None, say: Progress
) -> tuple[Told | None, list[Measured]]:
    """What models tell of single rows; what cannot be measured says why."""
    say(0.7, "telling rows apart")
    try:
        two, held = paired(original, other, names, target, control)
    except DataError as problem:
        return None, [_unmeasured(name, problem) for name in _MODELS]
    told, entry = _told(two)
    say(0.85, "training models")
    return told, [entry, _trees(two), _learning(two, held)]


def _unmeasured(name: str, problem: Exception) -> Measured:
    return Measured(name, None, _MODELS[name], why=f"not measured: {problem}")


def _told(two: Pair) -> tuple[Told | None, Measured]:
    try:
        told = told_apart(two)
    except (DataError, MissingPart) as problem:
        return None, _unmeasured("propensity", problem)
    meaning = _MODELS["propensity"]
    return told, Measured("propensity", told.figure, meaning, sample=told.sample, independent=told.independent)


def _trees(two: Pair) -> Measured:
    name = "told by trees"
    try:
        figure, independent = told_by_trees(two)
    except (DataError, MissingPart) as problem:
        return _unmeasured(name, problem)
    return Measured(name, figure, _MODELS[name], sample=0.0, independent=independent)


def _learning(two: Pair, held: Array | None) -> Measured:
    name = "learning"
    tested = "who are in neither" if held is not None else "whom the synthetic rows were made of too"
    meaning = f"{_MODELS[name]} They are tested on people {tested}."
    try:
        found = taught(two, held)
    except (DataError, MissingPart) as problem:
        return _unmeasured(name, problem)
    return Measured(name, found.figure, meaning, sample=0.0, independent=found.guessing, details=found.details)


def _spread(column: Coded, mine: Array, theirs: Array, far: float) -> Spread:
    return Spread(column.name, column.labels, mine / mine.sum(), theirs / theirs.sum(), far)


MOST = 10_000
"""So many rows of each side are looked at, at most, evenly spaced."""
_LEARNT = 5_000
_FEWEST = 40


@dataclass(frozen=True)
class Told:
    """How well rows can be told apart: the figure, what another sample and independent columns would get, and how
    likely synthetic each row of the two sides seems."""

    figure: float
    sample: float
    independent: float
    original: Array
    synthetic: Array


@dataclass(frozen=True)
class Taught:
    """The AUC that models lose by being trained on synthetic rows, what guessing loses, and all scores."""

    figure: float
    guessing: float
    details: dict[str, float]


def sampled(table: Table, names: tuple[str, ...], most: int = MOST) -> pa.Table:
    """Evenly spaced rows of ``table``, at most ``most``: they stream by, and are never all in memory."""
    step = -(-max(table.count(), 1) // most)
    query = table.query(*map(sql.column, names))
    seen, kept = 0, []
    reader = table.engine.stream(query)
    for batch in reader:
        kept.append(batch.take(np.arange(-seen % step, batch.num_rows, step)))
        seen += batch.num_rows
    return pa.Table.from_batches(kept, reader.schema)


def paired(
    original: Table, synthetic: Table, names: tuple[str, ...], target: str | None, control: Table | None
) -> tuple[Pair, Array | None]:
    """Samples of both sides on one footing, and the people of ``control`` on the same."""
    card = original.card.without_unit(original.card[name] for name in names)
    mine = sampled(original, names)
    people = mine.num_rows
    if control is not None:
        mine = pa.concat_tables([mine, sampled(control, names).cast(mine.schema)])
    two = pair(read(mine, card), sampled(synthetic, names), columns=names, target=target)
    held = two.original[people:] if control is not None else None
    return replace(two, original=two.original[:people]), held


def told_apart(two: Pair) -> Told:
    """Can a model tell synthetic from original rows? (Woo, Reiter, Oganian and Karr 2009)

    Of rows drawn from the original with replacement it would think, by chance, what Snoke, Raab, Nowok, Dibben and
    Slavković (2018) compute: a share of (columns used) × (share of original rows) / rows of the most there can be.
    """
    guess, used = guesses(two.original, two.released, two.numeric)
    count, mixed = len(two.original), _one_by_one(two)
    return Told(
        apart(guess, len(two.released)),
        min(used * count / len(guess) ** 2, 1.0),
        apart(guesses(two.original, mixed, two.numeric)[0], len(mixed)),
        guess[:count],
        guess[count:],
    )


def told_by_trees(two: Pair) -> tuple[float, float]:
    """How well a forest tells rows apart that it was not trained on, and how well if columns were independent.

    A logistic model sees numbers two by two and categories one by one. Trees see any columns together. The figure is
    2 AUC − 1, or 0 if that is less: the share of pairs told apart beyond guessing.
    """
    return tuple(_by_trees(two.original, other) for other in (two.released, _one_by_one(two)))  # type: ignore[return-value]


def _by_trees(a: Array, b: Array) -> float:
    with extra("attack"):
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.metrics import roc_auc_score
    x, side = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    if min(len(a), len(b)) < _FEWEST:
        raise DataError(f"Fewer than {_FEWEST} rows are too few to learn from.")
    fold, guess = generator(2).permutation(len(x)) % 2, np.zeros(len(x))
    for part in (0, 1):
        model = RandomForestClassifier(25, min_samples_leaf=10, max_features=0.5, random_state=0)
        model.fit(x[fold != part], side[fold != part])
        guess[fold == part] = model.predict_proba(x[fold == part])[:, 1]
    areas = [roc_auc_score(side[fold == part], guess[fold == part]) for part in (0, 1)]
    return max(2 * float(np.mean(areas)) - 1, 0.0)


def _one_by_one(two: Pair) -> Array:
    """Rows with columns of the original that have nothing to do with each other."""
    rng = generator(1)
    return np.column_stack([rng.permutation(column) for column in two.original.T])


def taught(two: Pair, held_out: Array | None) -> Taught:
    """Train on synthetic rows, test on people: those of ``held_out``, or every other one of the original.

    It is compared with training on original rows, of all or of the other half.
    """
    x = two.original
    if held_out is not None:
        trained, tested = x, held_out
    else:
        order = np.lexsort(x.T)
        trained, tested = x[order[::2]], x[order[1::2]]
    trained, tested = (side[:: max(-(-len(side) // _LEARNT), 1)] for side in (trained, tested))
    real, synthetic = transfer(two, trained, tested)
    details: dict[str, float] = {}
    for name, score in synthetic.items():
        details |= {f"{name}: accuracy": score.accuracy, f"{name}: accuracy if trained on people": real[name].accuracy}
        details |= {f"{name}: AUC": score.auc, f"{name}: AUC if trained on people": real[name].auc}
    best = float(np.mean([score.auc for score in real.values()]))
    return Taught(best - float(np.mean([score.auc for score in synthetic.values()])), best - 0.5, details)

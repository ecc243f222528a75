"""Fidelity of synthetic rows to the original: marginals, correlations, distinguishability, model performance.

What is measured row by row (separating rows, models trained on synthetic rows) is measured on samples of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice
from math import comb
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core import release_extras, sql
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
from discreet.utility.faithful.report import CountError, Fidelity, Measured, Spread, distance_matrix
from discreet.utility.learning import apart, compare_scores, guesses, transfer
from discreet.utility.measure import target_of
from discreet.utility.pair import Array, Pair, pair

Progress: TypeAlias = Callable[[float, str], None]
"""Callback with the share done, 0 to 1, and the current step."""
Counted: TypeAlias = Mapping[Columns, Array]
"""Counts of each set of columns."""

_MOST = 300
"""Largest number of three-column sets compared."""
_SHOWN = 10
_COPY = "copy"
"""Column with the number of the copy, where a release has several (``non_private/copies.py``)."""
_WAYS = {
    1: ("1-way error", "Mean total variation distance of single columns: the share of rows that would have to move."),
    2: ("2-way error", "The same for pairs of columns."),
    3: ("3-way error", "The same for triples of columns."),
}
_MODELS = {
    "propensity": "How well a logistic model, with pairs of numbers and single categories, separates synthetic from "
    "original rows (pMSE as a share of its maximum): 0 not at all, 1 always. It does not see relations "
    "between categories, so independent columns may score well.",
    "trees AUC": "How well a random forest separates held-out synthetic from original rows (2 AUC − 1): 0 not at all, "
    "1 always.",
    "learning": "AUC lost by training models on synthetic instead of original rows: mean of a decision tree, naive "
    "Bayes, nearest neighbours and a support vector machine. An AUC of 0.5 is guessing.",
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
    """Fidelity of ``synthetic`` to ``original``.

    Measured are marginals of one, two and three columns, correlations, how well models distinguish the rows, and the
    performance of models trained on synthetic rows.

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
    propensities, by_models = _by_models(original, other, names, target=predicted, control=control, say=say)
    measured += by_models
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
        propensities,
        _count_errors(synthetic, names, mine, theirs),
    )


def _count_errors(
    synthetic: Release[Any] | Table | pa.Table, names: Sequence[str], mine: Counted, theirs: Counted
) -> tuple[CountError, ...]:
    """The error bounds that synthetic rows carry, if they do, beside the errors of the same counts."""
    written = {} if isinstance(synthetic, Table) else _schema(synthetic).metadata or {}
    if release_extras.SYNTHETIC.encode() not in written:
        return ()
    said = release_extras.read(written[release_extras.SYNTHETIC.encode()])
    called = {frozenset(one): release_extras.called(one) for one in release_extras.sets(said["columns"])}
    rows, found = max(said["rows"], 1), []
    for some in mine:
        name = called.get(frozenset(names[place] for place in some))
        if name is not None and name in said["reach"]:
            off = theirs[some] - mine[some]
            error = max(float(off[off > 0].sum()), float(-off[off < 0].sum()))
            found.append(CountError(name, said["reach"][name] / rows, error / rows))
    return tuple(sorted(found, key=lambda one: -one.promised))


def _schema(synthetic: Release[Any] | pa.Table) -> pa.Schema:
    rows = synthetic.payload if isinstance(synthetic, Release) else synthetic
    if not isinstance(rows, pa.Table | Rows):
        raise DataError("Only a table of rows can be compared.", hint="This release is not a table of rows.")
    return pq.read_schema(rows.path) if isinstance(rows, Rows) else rows.schema


def _table(synthetic: Release[Any] | Table | pa.Table) -> Table:
    """Synthetic rows as a table; those in a folder are not loaded."""
    if isinstance(synthetic, Table):
        return synthetic
    rows = synthetic.payload if isinstance(synthetic, Release) else synthetic
    kinds = {field.name: kind for field in _schema(synthetic) if (kind := kind_of(field.type)) is not None}
    card = Card("synthetic", tuple(Column(name, kind) for name, kind in kinds.items()))
    return read(rows.path if isinstance(rows, Rows) else rows, card)


def _common(original: Table, other: Table, columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that both have with the same kind, and the original's other columns."""
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
    """The target column of models, if it is among those compared."""
    if asked is not None and asked not in names:
        raise NotFound(f"{asked!r} is not among the columns that both sides have: {', '.join(names)}.")
    found = asked or target_of(original)
    return found if found in names else None


def _alike(mine: Column, theirs: Column) -> bool:
    return mine.kind is theirs.kind or {mine.kind, theirs.kind} <= NUMBERS


def _sets(width: int) -> list[Columns]:
    """All single columns and pairs, and all or evenly spaced triples."""
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
    """NIST's k-marginal score for k = 2: 1000 less the mean error of pairs in thousandths."""
    meaning = (
        "1000 × (1 − mean error of all pairs of columns). NIST's k-marginal score for k = 2, with our own "
        "bins (tenths of the original, the 30 commonest values), so compare it only with scores computed the "
        "same way."
    )

    def score(error: float | None) -> float | None:
        return None if error is None else 1000 * (1 - error)

    values = (score(error) for error in (pairs.figure, pairs.sample, pairs.independent))
    figure, sample, independent = values
    return Measured("k-marginal score", figure, meaning, 1000.0, sample, independent, why=pairs.why)


def _correlations(names: Sequence[str], mine: Array, theirs: Array, rows: int) -> Measured:
    meaning = (
        "Mean change of the association between two columns: correlations of numbers, "
        "Cramér's V of categories, the correlation ratio of both. The figure for a sample is approximate."
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


def _by_models(
    original: Table, other: Table, names: tuple[str, ...], *, target: str | None, control: Table | None, say: Progress
) -> tuple[tuple[Array, Array] | None, list[Measured]]:
    """Propensity of the rows of both sides, and the measures by models; a measure that fails says why."""
    say(0.7, "separating rows")
    try:
        two, held_out = sample_pair(original, other, names, target, control)
    except DataError as problem:
        return None, [_unmeasured(name, problem) for name in _MODELS]
    propensities = None
    try:
        propensities, propensity = propensity_score(two)
    except (DataError, MissingPart) as problem:
        propensity = _unmeasured("propensity", problem)
    say(0.85, "training models")
    found = [propensity]
    for name, measure in (("trees AUC", forest_score), ("learning", partial(transfer_loss, held_out=held_out))):
        try:
            found.append(measure(two))
        except (DataError, MissingPart) as problem:
            found.append(_unmeasured(name, problem))
    return propensities, found


def _unmeasured(name: str, problem: Exception) -> Measured:
    return Measured(name, None, _MODELS[name], why=f"not measured: {problem}")


def _spread(column: Coded, mine: Array, theirs: Array, far: float) -> Spread:
    return Spread(column.name, column.labels, mine / mine.sum(), theirs / theirs.sum(), far)


MOST = 10_000
"""Largest number of rows of each side that models see, evenly spaced."""
_LEARNT = 5_000
"""Largest number of rows to train and to test on."""
_FEWEST = 40
"""Minimum number of rows on each side for a model."""


def sample_rows(table: Table, names: tuple[str, ...], most: int = MOST) -> pa.Table:
    """At most ``most`` evenly spaced rows of ``table``, streamed."""
    step = -(-max(table.count(), 1) // most)
    query = table.query(*map(sql.column, names))
    seen, kept = 0, []
    reader = table.engine.stream(query)
    for batch in reader:
        kept.append(batch.take(np.arange(-seen % step, batch.num_rows, step)))
        seen += batch.num_rows
    return pa.Table.from_batches(kept, reader.schema)


def sample_pair(
    original: Table, synthetic: Table, names: tuple[str, ...], target: str | None, control: Table | None
) -> tuple[Pair, Array | None]:
    """Samples of both sides as comparable columns, and those of ``control``."""
    card = original.card.without_unit(original.card[name] for name in names)
    mine = sample_rows(original, names)
    people = mine.num_rows
    if control is not None:
        mine = pa.concat_tables([mine, sample_rows(control, names).cast(mine.schema)])
    two = pair(read(mine, card), sample_rows(synthetic, names), columns=names, target=target)
    held = two.original[people:] if control is not None else None
    return replace(two, original=two.original[:people]), held


def propensity_score(two: Pair) -> tuple[tuple[Array, Array], Measured]:
    """Propensity of each row of both sides, and its score: how well a model distinguishes synthetic rows.

    The score is that of Woo, Reiter, Oganian and Karr (2009). Of rows drawn from the original with replacement a model
    would think, by chance, what Snoke, Raab, Nowok, Dibben and Slavković (2018) compute: a share of (columns used) ×
    (share of original rows) / rows of the most there can be.
    """
    guess, used = guesses(two.original, two.released, two.numeric)
    count, mixed = len(two.original), _one_by_one(two)
    score = Measured(
        "propensity",
        apart(guess, len(two.released)),
        _MODELS["propensity"],
        sample=min(used * count / len(guess) ** 2, 1.0),
        independent=apart(guesses(two.original, mixed, two.numeric)[0], len(mixed)),
    )
    return (guess[:count], guess[count:]), score


def forest_score(two: Pair) -> Measured:
    """How well a random forest distinguishes held-out rows, and how well if columns were independent.

    A logistic model sees numbers two by two and categories one by one. Trees see any columns together. The figure is
    2 AUC − 1, or 0 if that is less: the share of pairs told apart beyond guessing.
    """
    figure, independent = (_by_trees(two.original, other) for other in (two.released, _one_by_one(two)))
    return Measured("trees AUC", figure, _MODELS["trees AUC"], sample=0.0, independent=independent)


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
    """Rows of the original with every column permuted independently."""
    rng = generator(1)
    return np.column_stack([rng.permutation(column) for column in two.original.T])


def transfer_loss(two: Pair, held_out: Array | None) -> Measured:
    """Loss of AUC by training on synthetic rows, tested on real people: ``held_out``, or every other one of the
    original. It is compared with training on original rows, of all or of the other half.
    """
    x, who = two.original, "who are in neither"
    if held_out is not None:
        trained, tested = x, held_out
    else:
        order, who = np.lexsort(x.T), "who were also used to make the synthetic rows"
        trained, tested = x[order[::2]], x[order[1::2]]
    trained, tested = (side[:: max(-(-len(side) // _LEARNT), 1)] for side in (trained, tested))
    real, synthetic = transfer(two, trained, tested)
    best, reached = (float(np.mean([score.auc for score in side.values()])) for side in (real, synthetic))
    return Measured(
        "learning",
        best - reached,
        f"{_MODELS['learning']} They are tested on people {who}.",
        sample=0.0,
        independent=best - 0.5,
        details=compare_scores(synthetic, real, "if trained on people"),
    )

"""What is measured row by row, on samples of both sides: telling rows apart, and models trained on synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from discreet.core import sql
from discreet.core.optional import extra
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import DataError
from discreet.noise.masking import generator
from discreet.utility.cells import Array
from discreet.utility.learning import transfer
from discreet.utility.pair import Pair, pair
from discreet.utility.propensity import apart, guesses

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

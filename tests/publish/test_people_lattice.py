"""Full-domain generalisation where people have several rows, against trying every combination of levels."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from tests import several_rows as plain

import discreet as dc
from discreet.errors import BadInput, NoPromise
from discreet.models.row_sets import row_sets
from discreet.utility.quality import Discernibility
from discreet.verbs.publish.tuples import coded_tuples

SEEDS = [*range(14), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(14, 300))]


def _labelled(rows, node):
    widths, ages = (1, 2, 4, 99), node[0]
    shown = []
    for row in rows:
        age = row["age"] // widths[ages] if ages < 3 else "*"
        shown.append({**row, "age": age, "ward": row["ward"] if node[1] == 0 else "*"})
    return shown


def _best(rows, table, k, l, share):  # noqa: E741
    """The least loss over all nodes at which whole people may be suppressed so that the models hold."""
    sets = row_sets(table)
    tuples = coded_tuples(table, sets.labels, sets.tuples)
    losses = [
        dict(zip(zip(values.to_pylist(), strict=True), range(len(values)), strict=True)) for values in tuples.values
    ]
    people = len(plain.by_person(rows))
    best = None
    for node in product(range(4), range(2)):
        shown = _labelled(rows, node)
        classes = plain.classes(shown)
        gone = {p for one in classes if len(one) < k or plain.diversity(one, shown) < l for p in one}
        if len(gone) > int(share * people) or len(gone) == people:
            continue
        total = 0.0
        for column, name in enumerate(("age", "ward")):
            cells = tuples.shares[column][node[column]]
            total += sum(1 if row["who"] in gone else cells[losses[column][(row[name],)]] for row in rows) / len(rows)
        best = min(best, total / 2) if best is not None else total / 2
    return best


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 4)])
def test_the_search_finds_the_least_loss(seed, share):
    rows = plain.rows_of(seed)
    table, k, l = plain.table_of(rows), 2 + seed % 2, 1 + seed % 3  # noqa: E741
    if len(plain.by_person(rows)) == len(rows):
        return
    best = _best(rows, table, k, l, share)
    models = [dc.KAnonymity(k), dc.LDiversity(l, "ill")]
    if best is None:
        with pytest.raises(NoPromise):
            dc.Generalize(suppress=share).recode(table, models)
        return
    found = dc.Generalize(suppress=share).recode(table, models)
    assert found.optimal
    assert found.loss == pytest.approx(best)
    gone = set() if found.dropped is None else set(found.dropped.column("who").to_pylist())
    assert found.suppressed == sum(row["who"] in gone for row in rows)
    shown = _labelled([row for row in rows if row["who"] not in gone], tuple(found.levels.values()))
    for members in plain.classes(shown):
        assert len(members) >= k
        assert plain.diversity(members, shown) >= l
    assert found.quality["granularity"] == pytest.approx(best)


def test_a_measure_of_classes_is_refused():
    with pytest.raises(BadInput, match="adds up columns"):
        dc.publish(
            plain.table_of(plain.rows_of(3, people=9)),
            dc.Generalize(quality=Discernibility()),
            "k=2",
            people="linked",
        )


def test_other_recoders_want_one_row_of_each():
    with pytest.raises(BadInput, match="one-row"):
        dc.LocalRecode().recode(plain.table_of(plain.rows_of(3, people=9)), [dc.KAnonymity(2)])

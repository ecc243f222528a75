"""Every method, all the way out: models re-checked in plain Python, rows accounted for, and given again."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.hand import class_sizes

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import NoPromise
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.verbs.publish.dummies import AddDummies
from discreet.verbs.publish.earlier_releases import check_together
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.local import LocalRecode, SuppressCells
from discreet.verbs.publish.mondrian import Mondrian
from discreet.verbs.publish.publish import publish

QUASI = ["age", "city", "smokes"]
CARD = Card(
    "people",
    (
        Column("name", Kind.TEXT, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Intervals(widths=(5, 10))),
        Column("city", Kind.TEXT, Role.QUASI, hierarchy=Taxonomy.from_tree({"north": ["a", "b"], "south": ["c", "d"]})),
        Column("smokes", Kind.BOOLEAN, Role.QUASI),
        Column("disease", Kind.TEXT, Role.SENSITIVE),
        Column("visits", Kind.INTEGER),
    ),
)
METHODS = {
    "generalize": Generalize(suppress="1/10"),
    "local": LocalRecode(suppress="1/10", effort=4),
    "mondrian": Mondrian(),
    "mondrian relaxed": Mondrian(strict=False),
    "suppress cells": SuppressCells(effort=4),
    "dummies": AddDummies({"age": 2, "city": 1}, most=5),
}
OWN_LABELS = [method for method in METHODS if method not in ("generalize", "dummies")]


def people(seed, rows):
    """Rows with few and many values, and gaps."""
    rng = np.random.default_rng(seed)
    gap = rng.random(rows) < 0.1
    return pa.table(
        {
            "name": [f"person {place}" for place in range(rows)],
            "age": pa.array(rng.integers(0, 40, rows), mask=gap),
            "city": pa.array(list(rng.choice(list("abcd"), rows)), mask=rng.random(rows) < 0.05),
            "smokes": pa.array(rng.random(rows) < 0.3),
            "disease": pa.array(list(rng.choice(["flu", "cold", "cough"], rows)), mask=rng.random(rows) < 0.1),
            "visits": pa.array(rng.integers(0, 9, rows)),
        }
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_what_leaves_satisfies_what_was_asked(method, seed, tmp_path):
    rows = 40 + 17 * seed
    given = people(seed, rows)
    table = read(given, CARD)
    models = [KAnonymity(3), LDiversity(2, "disease")]
    release = publish(table, METHODS[method], models, holder=tmp_path / "key.parquet" if method in OWN_LABELS else None)
    assert release.payload.column_names == [column.name for column in CARD.columns[1:]]
    assert min(class_sizes(release.payload, QUASI).values()) >= 3
    diseases = defaultdict(set)
    for row in release.payload.to_pylist():
        diseases[tuple(row[name] for name in QUASI)].add(row["disease"])
    assert min(map(len, diseases.values())) >= 2
    made = release.recipe.parameters
    assert release.payload.num_rows == rows - made["suppressed"] + made.get("dummies", 0)
    assert made["suppressed"] <= rows // 10
    kept, every = (class_sizes(part, ["disease", "visits"]) for part in (release.payload, given))
    if not made.get("dummies"):
        assert not kept - every  # what is not recoded is as it was
    assert release.payload.sort_by([(name, "ascending") for name in release.payload.column_names]) == release.payload


@pytest.mark.parametrize("method", METHODS)
def test_what_left_can_be_given(method, tmp_path):
    """Together with itself a release shows nothing new, but for dummies, who are nobody."""
    table, key = read(people(1, 60), CARD), tmp_path / "key.parquet"
    first = publish(table, METHODS[method], KAnonymity(3), holder=key if method in OWN_LABELS else None)
    earlier = (first, key) if method in OWN_LABELS else first
    again = Generalize(levels={"age": 3, "city": 2, "smokes": 1})
    everything = again.recode(table, [KAnonymity(3)])
    found = check_together(table, everything, [earlier], [KAnonymity(1)])
    assert found.sizes.rows == 60
    if first.recipe.parameters.get("dummies"):
        return
    missing = first.recipe.parameters["suppressed"]
    sizes = class_sizes(first.payload, QUASI).values()
    assert sorted(found.sizes.classes) == sorted({*sizes, *([missing] if missing else [])})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [1, 2])
def test_too_few_people_are_refused(method, rows):
    with pytest.raises(NoPromise):
        publish(read(people(3, rows), CARD), METHODS[method], KAnonymity(30))

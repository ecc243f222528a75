"""Made-up establishments of made-up firms: what a statistical office adds up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.samples.world.draw import Choice, zipf

REGIONS = {
    "North": ["Coast", "Islands", "Moors", "Delta"],
    "South": ["Vineyards", "Hills", "Border"],
    "East": ["Plain", "Lakes", "Forest", "Mines"],
    "West": ["Port", "Cliffs", "Valley"],
}
ACTIVITIES = {
    "Food": ["Fishing", "Farming", "Baking", "Brewing"],
    "Making": ["Textiles", "Timber", "Metal", "Machines", "Ships"],
    "Building": ["Houses", "Roads"],
    "Trade": ["Wholesale", "Retail", "Repair"],
    "Services": ["Inns", "Transport", "Finance", "Research"],
}
SIZES = ("small", "medium", "large")
_MOST = 10**9
_MOST_PLACES = 12
_LARGE = (10, 100)


def firms(rows: int = 3_000, seed: int = 1) -> Table:
    """Establishments with their firm, region, activity, size and turnover in thousands; the same seed, the same firms.

    Turnover is skewed as real turnover is, so that many cells of a table are dominated by one firm; a firm may have
    establishments in several regions.
    """
    if rows < 1:
        raise BadInput(f"There must be at least one establishment, not {rows}.")
    rng = np.random.default_rng(seed)
    count = max(1, rows * 2 // 3)
    firm = np.concatenate([np.arange(count), rng.integers(0, count, rows)])[:rows]
    nth = np.zeros(rows, np.int64)
    order = np.argsort(firm, kind="stable")
    starts = np.flatnonzero(np.diff(firm[order], prepend=-1))
    nth[order] = np.arange(rows) - np.repeat(starts, np.diff([*starts, rows]))
    kept = nth < _MOST_PLACES
    firm = firm[kept]
    regions, activities = ([leaf for leaves in tree.values() for leaf in leaves] for tree in (REGIONS, ACTIVITIES))
    region = Choice(zipf(len(regions), 1.0)[rng.permutation(len(regions))]).draw_many(rng, len(firm))
    main = Choice(zipf(len(activities), 1.5)[rng.permutation(len(activities))]).draw_many(rng, count)
    strength = rng.normal(0, 1.2, count)
    turnover = np.exp(5 + 0.1 * main[firm] + strength[firm] + rng.normal(0, 0.8, len(firm)))
    staff = turnover / 60
    size = np.searchsorted(_LARGE, staff)
    table = pa.table(
        {
            "firm": pa.array(firm.astype(np.int64)),
            "region": pa.array(np.array(regions)[region]),
            "activity": pa.array(np.array(activities)[main[firm]]),
            "size": pa.array(np.array(SIZES)[size]),
            "turnover": pa.array(np.minimum(np.ceil(turnover), _MOST).astype(np.int64)),
        }
    )
    return read(table, _card())


def _card() -> Card:
    region, activity = Taxonomy.from_tree(REGIONS), Taxonomy.from_tree(ACTIVITIES)
    return Card(
        "firms",
        (
            Column("firm", Kind.INTEGER, Role.IDENTIFIER),
            Column("region", Kind.TEXT, Role.QUASI, categories=region.leaves, hierarchy=region),
            Column("activity", Kind.TEXT, Role.QUASI, categories=activity.leaves, hierarchy=activity),
            Column("size", Kind.TEXT, Role.QUASI, categories=SIZES),
            Column("turnover", Kind.INTEGER, Role.SENSITIVE, bounds=(0, _MOST)),
        ),
        unit="firm",
        rows_per_unit=_MOST_PLACES,
    )

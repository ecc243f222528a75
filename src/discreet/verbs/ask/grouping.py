"""ROLLUP, CUBE and GROUPING SETS: the groupings of one GROUP BY, and totals made of its finest groups.

The finest grouping is measured once, and every total is the sum of its noisy groups. So totals agree with what they
are totals of, and each row is still in one group: it costs what the finest grouping costs. Asked one by one, L
groupings have L times the noise each; a total of k groups has √k times the noise of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.errors import BadQuery

MOST_SETS = 64
TOTAL = "_total"
"""Behind the name of a key: 1 in rows that are totals over it, 0 in others."""
ADDED = "added"
"""How many of the finest groups are in a group."""
_Keys = tuple[exp.Expr, ...]


def grouping_sets(select: exp.Select) -> tuple[exp.Select, tuple[tuple[int, ...], ...]]:
    """The SELECT grouped by everything that is grouped by, and the groupings, as places in that; none: only that."""
    group = select.args.get("group")
    if group is None or not (
        group.args.get("rollup") or group.args.get("cube") or any(map(_several, group.expressions))
    ):
        return select, ()
    listed: list[exp.Expr] = list(group.expressions)
    if group.args.get("rollup") or group.args.get("cube"):  # GROUP BY a, b WITH ROLLUP
        whole = exp.Rollup if group.args.get("rollup") else exp.Cube
        listed = [whole(expressions=[one.copy() for one in listed])]
    every = product(*(list(islice(_sets(one), MOST_SETS + 1)) for one in listed))
    sets = [_joined(several) for several in islice(every, MOST_SETS + 1)]
    if len(sets) > MOST_SETS:
        raise BadQuery(f"GROUP BY makes more than {MOST_SETS} groupings.", hint="Use fewer columns.")
    finest = tuple(dict.fromkeys(key for one in sets for key in one))
    places = tuple(dict.fromkeys(tuple(sorted({finest.index(key) for key in one})) for one in sets))
    if tuple(range(len(finest))) not in places:
        raise BadQuery(
            "One of the GROUPING SETS must have all the columns: the others are its totals.",
            hint="Ask for each grouping, with UNION ALL between them: SELECT a, COUNT(*) … GROUP BY a UNION ALL SELECT "
            "b, COUNT(*) … GROUP BY b.",
        )
    plain = select.copy()
    plain.set("group", exp.Group(expressions=[key.copy() for key in finest]))
    return plain, places


def _several(node: exp.Expr) -> bool:
    return isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)


def _sets(node: exp.Expr) -> Iterator[_Keys]:
    """The groupings that an element of GROUP BY asks for."""
    if isinstance(node, exp.Rollup):
        parts = [_keys(one) for one in node.expressions]
        for many in range(len(parts), -1, -1):
            yield _joined(parts[:many])
    elif isinstance(node, exp.Cube):
        parts = [_keys(one) for one in node.expressions]
        for many in range(len(parts), -1, -1):
            yield from map(_joined, combinations(parts, many))
    elif isinstance(node, exp.GroupingSets):
        for one in node.expressions:
            yield from _sets(one)
    else:
        yield _keys(node)


def _keys(node: exp.Expr) -> _Keys:
    """An element of ROLLUP: a column, or several that are rolled up together."""
    return tuple(node.expressions) if isinstance(node, exp.Tuple) else (node.unnest(),)


def _joined(parts: Sequence[_Keys]) -> _Keys:
    return tuple(key for part in parts for key in part)


def totals(
    keys: pa.Table, noisy: Mapping[str, np.ndarray[Any, Any]], sets: Sequence[Sequence[str]]
) -> tuple[pa.Table, dict[str, np.ndarray[Any, Any]]]:
    """The groups of all groupings, and what was measured in them, given the noisy figures of the finest groups.

    The finest groups have those in which a key is NULL: they are in no group that is shown by that key, and in the
    totals over it.
    """
    columns: dict[str, Any] = {name: keys.column(name) for name in keys.column_names}
    measured = pa.table(columns | dict(noisy))
    pieces = []
    for kept in sets:
        asked: list[Any] = [(name, "sum") for name in noisy] + [([], "count_all")]
        added = measured.group_by(list(kept), use_threads=False).aggregate(asked)
        for name in kept:
            added = added.filter(pc.is_valid(added.column(name)))
        columns = {}  # in the same order for all groupings
        for field in keys.schema:
            there = field.name in kept
            columns[field.name] = added.column(field.name) if there else pa.nulls(added.num_rows, field.type)
            columns[f"{field.name}{TOTAL}"] = pa.array(np.full(added.num_rows, 0 if there else 1, dtype=np.int64))
        columns |= {name: added.column(f"{name}_sum") for name in noisy} | {ADDED: added.column("count_all")}
        pieces.append(pa.table(columns))
    whole = pa.concat_tables(pieces)
    figures = {name: np.asarray(whole.column(name).to_numpy()) for name in (*noisy, ADDED)}
    return whole.drop_columns(list(figures)), figures

"""Few groups of a unit, where groups are not declared: so that many people's groups are seen at all.

Why this is private: which groups of a unit count is decided by a hash of the unit and the group, and by the group
itself where hashes are equal: by its own rows, and nobody else's. So removing a unit removes its own rows among those
that are kept, and no others. A unit is then in at most ``groups_per_unit`` groups, each of which it changes the
number of units of by one, and only so many groups can exist because of it (Wilson and others 2020 bound the
partitions of a user so).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from discreet.ask.rows import UNIT, Rows
from discreet.ask.value import Value
from discreet.core import sql

_PLACE = "discreet_place"


def few_groups(rows: Rows, keys: Iterable[Value]) -> Rows:
    """The rows of as many groups of each unit as the card lets count."""
    few = rows.groups_per_unit
    if rows.unit is None or few is None or few >= rows.most:
        return rows
    parts = [value.sql.copy() for value in keys]
    scrambled = sql.scrambled([sql.column(UNIT), *(part.copy() for part in parts)], rows.engine.dialect)
    place = exp.Window(
        this=exp.DenseRank(),
        partition_by=[sql.column(UNIT)],
        order=exp.Order(expressions=[exp.Ordered(this=one) for one in (scrambled, *parts)]),
    )
    placed = exp.select("*", sql.named(place, _PLACE), copy=False).from_(rows.query.subquery("r"), copy=False)
    kept = exp.select("*").from_(placed.subquery("p", copy=False), copy=False)
    kept = kept.where(sql.column(_PLACE) <= few, copy=False)
    return replace(rows, query=kept, cut=few)

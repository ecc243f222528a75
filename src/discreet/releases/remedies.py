"""Remedies for a refused release: the obvious changes, tried out, so that the refusal says which of them would pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from time import monotonic
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.table import Table
from discreet.errors import DiscreetError
from discreet.releases.method import Alternative, Bench, Made, Method
from discreet.releases.register import Entry
from discreet.releases.registration import facts_of, weigh

_SECONDS = 10.0
"""Longest time to try changes."""
_ENOUGH = 3
"""Changes that are named, at most."""


def remedies(method: Method[Any], made: Made[Any], table: Table, clashing: Sequence[Entry]) -> tuple[str, ...]:
    """The changes of a method's result that would pass together with all earlier releases, in words."""
    return tuple(islice(_passing(method, made, table, clashing), _ENOUGH))


def _passing(method: Method[Any], made: Made[Any], table: Table, clashing: Sequence[Entry]) -> Iterator[str]:
    deadline = monotonic() + min(_SECONDS, table.policy.seconds)
    for said, make, rows in chain(method.alternatives(made, table, clashing), _same_rows(method, table, clashing)):
        left = deadline - monotonic()
        if left <= 0:
            return
        with suppress(DiscreetError):  # one that cannot be made, or would be refused, too
            if _passes(make(), replace(rows, policy=replace(rows.policy, seconds=left)), clashing):
                yield said


def _passes(method: Method[Any], table: Table, clashing: Sequence[Entry]) -> bool:
    """Whether a result would leave, having been checked together with the releases that it clashed with."""
    made = method.make(table, Bench())
    if isinstance(made.payload, Table):
        made = replace(made, payload=made.payload.fetch())
    made = method.recheck(made, made.payload, method.promise(table.card))
    weighed = weigh(table, facts_of(method, made, table, None), made.title)
    checked = {line for *_, found, _ in weighed.checks for line in found.exposure.checked}
    return {one.number for one in clashing} <= checked


def _same_rows(method: Method[Any], table: Table, clashing: Sequence[Entry]) -> Iterator[Alternative[Any]]:
    """The same release of the rows that an earlier one was made of."""
    mine = [one.sql() for one in table.chosen]
    for entry in clashing:
        conditions = entry.told.get("where")
        if conditions is None or conditions == mine:
            continue
        shown = exp.select(*map(sql.column, table.columns)).from_((table.whole or table.relation).subquery("t"))
        rows = replace(table, relation=shown, unchosen=None, whole=None, chosen=(), chosen_by=())
        with suppress(DiscreetError):  # a column that is not there any more
            for one in conditions:
                rows = rows.where(one)
            chosen = f"where {' and '.join(conditions)}" if conditions else "all rows"
            yield f"the same for the rows of release {entry.number} ({chosen})", partial(method.on, rows), rows

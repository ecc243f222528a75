"""A release as a table, so that models can be checked again on what left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.release import Release
from discreet.core.sql import kind_of
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput


def released(folder: str | Path, card: Card) -> Table:
    """The rows of a published release, every file checked against its hash, with the roles that ``card`` gives them.

    Quasi-identifiers are what the release shows of them: labels, of whatever kind.
    """
    release = Release.load(folder)
    place = Path(folder) / "payload.parquet"
    if not place.is_file():
        raise BadInput(f"{release.title!r} is not a published table.", hint="Look at it with `discreet show`.")
    if card.unit is not None and card.rows_per_unit != 1:
        raise BadInput(
            f"A {card.unit} has several rows, and {release.title!r} does not say which: nobody can count people in it.",
            hint="What holds for it was checked when it was made: see its statement with `discreet show`.",
        )
    kinds = {field.name: kind_of(field.type) for field in pq.read_schema(place)}
    columns = [_seen(column, kinds) for column in card.columns if column.name in kinds]
    return read(place, card.without_unit(columns))


def _seen(column: Column, kinds: Mapping[str, Kind | None]) -> Column:
    kind = kinds[column.name]
    return column if column.role is not Role.QUASI else Column(column.name, kind or column.kind, Role.QUASI)

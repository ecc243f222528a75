"""Tables that a recipient holds: what someone knows of people besides what left from here.

A data steward declares that a recipient holds a table with values of these people. It becomes a line of the register
with its facts, which count in the check of every later release for this recipient, and in what they can compute; for
others they do not, since of what one knows another may still learn. Quasi-identifiers need no line: everyone is taken
to know them.

Of values, the holder is in a group with all others that the recipient knows to have the same; of an amount, everyone
whom the recipient knows it of is alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.core.text import number
from discreet.engines.read import open_source, read
from discreet.errors import BadInput, DataError, Taken
from discreet.releases.exposure import check
from discreet.releases.facts import FactSide, Figures, TupleFinder, each_leaf
from discreet.releases.register import RECIPIENT, Register, entry_of, with_registers_beside
from discreet.releases.registration import attempts, known_at

_MOST_AMOUNTS = 1_000
"""People whose amounts are computed with one by one, at most."""
_HERE, _NOW, _HELD = "discreet_unit", "discreet_now_", "discreet_held"


@dataclass(frozen=True)
class Holding:
    """What was declared that a recipient holds."""

    recipient: str
    columns: tuple[str, ...]
    people: int
    """Of how many people the values count."""
    unmatched: int
    """Rows that are no one's, or may be several people's; they are left out."""
    different: int
    """Rows that say something else than the table does; they are left out."""

    def __str__(self) -> str:
        left = [(self.unmatched, "matching no one, or several people"), (self.different, "different from the table")]
        out = "".join(f"; {number(count, 'row')} left out: {why}" for count, why in left if count)
        people = number(self.people, "person", "people")
        return f"{self.recipient} holds {' and '.join(self.columns)} of {people}{out}."


def declare_holding(table: Table, file: str | Path, recipient: str) -> Holding:
    """Declare that a recipient holds the table in a file: its values of these people count from now on.

    People are recognised by the unit, or, if the file has none, by the quasi-identifiers in it, as far as only one
    person has them.
    """
    if not recipient or not table.registers:
        raise BadInput("Name the recipient, and a table of people that has a register.")
    if table.card.unit is None or (table.card.rows_per_unit or 1) != 1:
        raise BadInput(
            f"{table.card.name} has no unit with one row per person, which a recipient's table needs.",
            hint="Declare the unit on the card, with rows_per_unit = 1.",
        )
    source = open_source(str(file))
    rows = source.engine.fetch(source.relation)
    told = [one for one in table.card.columns if one.name in rows.column_names and _is_told(table, one)]
    if not told:
        raise BadInput(
            f"{Path(file).name} has no column of {table.card.name} that reveals anything about people.",
            hint="Quasi-identifiers need not be declared: everyone is assumed to know them.",
        )
    now = table.fetch()
    units, unmatched, different = _matched(table, now, rows, told)
    found = Holding(recipient, tuple(one.name for one in told), len(units), unmatched, different)
    if not len(units):
        raise DataError(
            f"No row of {Path(file).name} matches exactly one person of the current {table.card.name}: {found}"
        )
    unit = table.card[str(table.card.unit)]
    columns = (unit, *told, Column(_HELD, Kind.BOOLEAN, Role.OTHER))
    now = now.append_column(_HELD, pc.is_in(now.column(unit.name), value_set=units))
    everybody = read(now.select([one.name for one in columns]), replace(table.card, columns=columns, stable=()))
    _register(table, _facts(everybody.where(sql.column(_HELD)), told), found, Path(file))
    return found


def _is_told(table: Table, column: Column) -> bool:
    return column.role not in (Role.QUASI, Role.IDENTIFIER) and column.name != table.card.unit


def _matched(table: Table, now: pa.Table, rows: pa.Table, told: Sequence[Column]) -> tuple[Any, int, int]:
    """The units of everyone whom a row is surely of and right about, and how many rows were left out."""
    unit, names = str(table.card.unit), [one.name for one in told]
    by = [unit] if unit in rows.column_names else [name for name in table.quasi() if name in rows.column_names]
    if not by:
        raise BadInput(f"Rows cannot be matched with people: add the column {unit}, or quasi-identifiers.")
    try:
        rows = rows.select([*by, *names]).cast(pa.schema([now.schema.field(name) for name in (*by, *names)]))
    except pa.ArrowException as error:
        raise DataError(
            f"The values do not have the kinds that the card of {table.card.name} declares: {error}"
        ) from None
    here = now.append_column(_HERE, now.column(unit))
    firsts: list[Any] = [(_HERE, "count"), *((name, "first") for name in (_HERE, *names))]
    people = here.group_by(by, use_threads=False).aggregate(firsts)
    people = people.filter(pc.field(f"{_HERE}_count") == 1)
    people = people.select([*by, f"{_HERE}_first", *(f"{name}_first" for name in names)])
    people = people.rename_columns([*by, _HERE, *(_NOW + name for name in names)])
    found = rows.join(people, by, join_type="inner")
    twice = found.group_by(_HERE, use_threads=False).aggregate([(_HERE, "count")])
    once = twice.filter(pc.field(f"{_HERE}_count") == 1).column(_HERE)
    found = found.filter(pc.field(_HERE).isin(once.combine_chunks()))
    kept = found
    for name in names:
        one, other = pc.field(name), pc.field(_NOW + name)
        kept = kept.filter((one == other) | (one.is_null() & other.is_null()))
    return kept.column(_HERE).combine_chunks(), rows.num_rows - found.num_rows, found.num_rows - kept.num_rows


def _facts(rows: Table, told: Sequence[Column]) -> tuple[Figures, ...]:
    """What the holder of some rows knows: of values, who has which; of an amount, everyone's own.

    Amounts of many people, or with decimals, are told as values: sums of such a column are undecided from then on.
    """
    few = rows.count() <= _MOST_AMOUNTS
    summed = [one.name for one in told if few and one.kind is Kind.INTEGER and one.categories is None]
    values = [one.name for one in told if one.name not in summed]
    facts = []
    if values:
        counted = rows.histogram(*values)
        find, leaves = TupleFinder(counted.select(values)), counted.num_rows
        labels = tuple(map(sql.column, values))
        known = FactSide("holder", (), labels, find, leaves, each_leaf(leaves))
        codes = np.repeat(np.arange(leaves).reshape(-1, 1), 2, axis=1)
        counts = counted.column(-1).to_numpy().astype(np.float64)
        facts.append(Figures(rows, (known, replace(known, tells=tuple(values))), codes, counts, counts, complete=True))
    for name in summed:
        unit = str(rows.card.unit)
        amount = exp.Coalesce(this=sql.column(name), expressions=[sql.literal(0)])  # who has none adds nothing
        people = rows.engine.fetch(rows.query(sql.column(unit), sql.named(amount, name)))
        find, leaves = TupleFinder(people.select([unit])), people.num_rows
        side = FactSide("holder", (), (sql.column(unit),), find, leaves, each_leaf(leaves))
        amounts = people.column(name).to_numpy().astype(np.float64)
        codes = np.arange(leaves).reshape(-1, 1)
        positive = not rows.card[name].may_be_negative
        facts.append(Figures(rows, (side,), codes, amounts, amounts, measure=name, amount=amount, nonnegative=positive))
    return tuple(facts)


def _register(table: Table, facts: tuple[Figures, ...], found: Holding, file: Path) -> None:
    title = f"a table that {found.recipient} holds ({file.name})"
    for place in with_registers_beside(table).registers:
        for _ in attempts():
            known, _, earlier = known_at(table, place)
            checked = check(facts, title, table.card, known, table.policy, judge=False)
            if checked.told is None:
                raise BadInput("People cannot be matched:  " + "; ".join(checked.exposure.undecided))
            said = {RECIPIENT: found.recipient, "tells": list(found.columns), "unit": table.card.unit}
            entry = entry_of(table, None, "held", found.people, title=title, facts="figures", told=said)
            try:
                with Register(place) as register:
                    register.add(entry, checked.told, checked.people, after=earlier[-1].number if earlier else 0)
                break
            except Taken:
                continue

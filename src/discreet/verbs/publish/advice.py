"""Advice before publishing: which columns identify people, and what anonymity would cost.

All of it is counted by aggregates on the engine, and is for the holder's eyes: nothing here may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.core.card import Role
from discreet.core.exact import Number
from discreet.core.identifiers import Identifying, describe
from discreet.core.table import Table
from discreet.errors import NoPromise
from discreet.models.classes import Sizes, require_people
from discreet.models.k_anonymity import KAnonymity
from discreet.models.model import Model
from discreet.releases.method import Progress, silent
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.recoding import published_columns

_TOO_MUCH = 0.5
_SECONDS = 20.0


@dataclass(frozen=True)
class Telling:
    """Identifying power of columns."""

    columns: tuple[str, ...]
    roles: tuple[Role, ...]
    distinction: float
    """Different value combinations as a share of the rows (Motwani and Xu 2008)."""
    separation: float
    """Share of pairs of people who differ in them (Motwani and Xu 2008)."""
    unique: float
    """Share of people whose values no one else has."""


@dataclass(frozen=True)
class Cost:
    """Loss of the optimal recoding when only the most identifying quasi-identifiers are kept."""

    columns: tuple[str, ...]
    unique: float
    """Share of people whose values in these columns no one else has."""
    loss: float | None
    """The granularity lost, from 0 to 1; ``None``: there is no solution."""
    suppressed: float
    """The share of rows that are suppressed."""


@dataclass(frozen=True)
class Advice:
    """Identifying columns and the cost of anonymity, for the holder."""

    rows: int
    alone: tuple[Telling, ...]
    """Each column that would leave, the most telling first."""
    pairs: tuple[Telling, ...]
    """Every two of the most telling ones, but for columns that tell everyone apart alone."""
    costs: tuple[Cost, ...]
    """One more quasi-identifier at a time."""
    asked: tuple[str, ...] = ("what is asked",)
    """The models that these costs are for, such as "5-anonymous"."""

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Columns marked "other" that identify people as well as a quasi-identifier does."""
        quasi = [one.separation for one in self.alone if one.roles == (Role.QUASI,)]
        least = min(quasi, default=0.5)
        return tuple(one.columns[0] for one in self.alone if one.roles == (Role.OTHER,) and 0 < one.separation >= least)

    @property
    def destroys(self) -> bool:
        """Whether less than half of what the quasi-identifiers say would be left."""
        return bool(self.costs) and (self.costs[-1].loss is None or self.costs[-1].loss > _TOO_MUCH)

    def __str__(self) -> str:
        if not self.rows:
            return "There are no rows to analyse."
        said = []
        if self.undeclared:
            many = len(self.undeclared) > 1
            said.append(
                f"Could an outsider know {', '.join(self.undeclared)}? Then declare "
                f"{'them quasi-identifiers: each' if many else 'it a quasi-identifier: it'} identifies "
                "people as well as a declared one does."
            )
        if not self.costs:
            return " ".join([*said, "No quasi-identifier is declared."])
        last = self.costs[-1]
        said.append(f"{100 * last.unique:.1f} % of the people are unique on the quasi-identifiers.")
        if last.loss is None:
            said.append(f"No recoding makes the table {' and '.join(self.asked)}.")
        else:
            said.append(
                f"The best recoding that is {' and '.join(self.asked)} loses {100 * last.loss:.0f} % of the "
                f"information in the quasi-identifiers, and {100 * last.suppressed:.1f} % of the rows."
            )
        if self.destroys:
            fine = [cost for cost in self.costs if cost.loss is not None and cost.loss <= _TOO_MUCH]
            if fine:
                said.append(f"Up to {len(fine[-1].columns)} of them can be kept: {', '.join(fine[-1].columns)}.")
            said.append(
                "Full-domain generalisation would destroy this table. Local recoding (--method local) loses "
                "less; otherwise publish fewer columns, or answer questions instead (discreet ask)."
            )
        return " ".join(said)


def advise(
    table: Table,
    require: Model | Sequence[Model] | None = None,
    *,
    suppress: Number = "0.05",
    progress: Progress | None = None,
) -> Advice:
    """Look at a table as an intruder would, and try what ``require`` (default: 5-anonymity) would cost.

    The costs are those of the optimal full-domain generalisation, with one more quasi-identifier at a time.
    """
    models = (KAnonymity(5),) if require is None else (require,) if isinstance(require, Model) else tuple(require)
    say = progress or silent
    require_people(table)
    released = published_columns(table.card)
    columns = [replace(column, role=Role.QUASI) for column in released]
    say(0.0, "looking at columns")
    found = describe(replace(table, card=table.card.without_unit(columns)))
    roles = {column.name: column.role for column in released}
    alone = [_identifying_power(one, roles, found.rows) for one in found.alone]
    whole = {one.columns[0] for one in alone if one.unique == 1}
    pairs = [_identifying_power(one, roles, found.rows) for one in found.pairs if whole.isdisjoint(one.columns)]
    order = [one.columns[0] for one in sorted(alone, key=_rank) if one.roles == (Role.QUASI,)]
    costs = []
    for count in range(1, len(order) + 1):
        say(0.2 + 0.8 * (count - 1) / len(order), f"trying {count} of {len(order)} quasi-identifiers")
        costs.append(_cost(table, tuple(order[:count]), models, suppress, found.rows))
    asked = tuple(model.claim.text for model in models)
    ranked = tuple(sorted(alone, key=_rank)), tuple(sorted(pairs, key=_rank))
    return Advice(found.rows, *ranked, tuple(costs), asked)


def _identifying_power(found: Identifying, roles: dict[str, Role], rows: int) -> Telling:
    separation = 1 - (found.crowd - 1) / (rows - 1) if rows > 1 else 0.0
    return Telling(
        found.columns,
        tuple(roles[name] for name in found.columns),
        found.classes / rows,
        separation,
        found.unique / rows,
    )


def _cost(table: Table, names: tuple[str, ...], models: Sequence[Model], suppress: Number, rows: int) -> Cost:
    columns = tuple(
        replace(column, role=Role.OTHER) if column.role is Role.QUASI and column.name not in names else column
        for column in table.card.columns
    )
    narrow = replace(table, card=replace(table.card, columns=columns))
    unique = Sizes.of(narrow).unique
    try:
        best = Generalize(suppress=suppress, time_limit=_SECONDS).recode(narrow, models)
    except NoPromise:
        return Cost(names, unique, None, 1.0)
    return Cost(names, unique, best.quality.get("granularity", best.loss), best.suppressed / rows)


def _rank(one: Telling) -> tuple[float, float]:
    return -one.separation, -one.unique

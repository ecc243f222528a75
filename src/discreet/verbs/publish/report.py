"""Class sizes, re-identification risk and loss by column of a published table, beside those of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.core import sql
from discreet.core.report import Picture, bars
from discreet.core.table import Table, count_name
from discreet.models.check import by_size


@dataclass(frozen=True)
class Sizes:
    """Number of equivalence classes of each size."""

    classes: Mapping[int, int]

    @classmethod
    def of(cls, table: Table) -> Sizes:
        """Counted on the table's engine; what comes back is one line for each size there is."""
        names = table.quasi()
        size = count_name(names)
        counted = exp.select(sql.named(sql.column(size), "size"), sql.named(sql.count_rows(), "classes"))
        query = counted.from_(table.histogram_query(*names).subquery("h")).group_by(sql.column(size))
        found = table.engine.fetch(query).to_pylist()
        return cls({int(row["size"]): int(row["classes"]) for row in sorted(found, key=lambda row: row["size"])})

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(size * count for size, count in self.classes.items())

    @property
    def count(self) -> int:
        """Number of classes."""
        return sum(self.classes.values())

    @property
    def smallest(self) -> int:
        """The size of the smallest class; 0 if there is none."""
        return min(self.classes, default=0)

    @property
    def unique(self) -> float:
        """Share of rows that are alone in their class."""
        return self.classes.get(1, 0) / self.rows if self.rows else 0.0

    @property
    def highest_risk(self) -> float:
        """Probability of picking the right row of the smallest class."""
        return 1 / self.smallest if self.smallest else 0.0

    @property
    def average_risk(self) -> float:
        """Mean of that probability over all rows."""
        return self.count / self.rows if self.rows else 0.0


def pictures(before: Sizes, after: Sizes, lost: Mapping[str, float], noun: str = "rows") -> tuple[Picture, ...]:
    """The drawings of a report, made of sizes and losses alone; ``noun``: what the classes are of."""
    found = []
    if after.rows:
        caption = f"{after.count:,} classes; the smallest has {after.smallest:,} {noun}."
        found.append(by_size(f"{noun.capitalize()} by the size of their class", after.classes, caption))
        found.append(_risk(before, after, noun))
    if lost:
        caption = "0: every value is as it was; 100: nothing is left of the column. A suppressed row counts as 100."
        values = [*(100 * share for share in lost.values()), 100.0]
        found.append(bars("What each column lost, in per cent", [*lost, "(all there is)"], values, caption=caption))
    return tuple(found)


def _risk(before: Sizes, after: Sizes, noun: str) -> Picture:
    """Re-identification risk from the quasi-identifiers before and after, in per cent."""
    measured = {
        "unique": (before.unique, after.unique),
        "highest risk": (before.highest_risk, after.highest_risk),
        "average risk": (before.average_risk, after.average_risk),
    }
    labels = [f"{name}, {when}" for name in measured for when in ("before", "after")]
    values = [100 * figure for pair in measured.values() for figure in pair]
    caption = f"Of the {noun}, how many are alone in their class; and the chance that a guess within a class is right."
    return bars("Risk before and after, in per cent", labels, values, caption=caption)

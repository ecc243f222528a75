"""A table: a card and a relation on an engine. Lazy; Arrow on the way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.core import markup, sql
from discreet.core.card import Card, Column, Role
from discreet.core.engine import Engine
from discreet.core.hierarchy.expression import apply
from discreet.core.hierarchy.protocol import TOP
from discreet.core.kind import Kind
from discreet.core.validate import require_known
from discreet.errors import BadInput, HierarchyError, NotFound

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Table:
    """Records about people, where they lie, and the card that says what they are.

    Nothing runs until rows or figures are asked for. The relation shows the card's columns and no others:
    what nobody has declared is not there. A row stays its unit's, whatever is done to it.
    """

    card: Card
    engine: Engine
    relation: exp.Query
    unseen: tuple[str, ...] = ()
    """Columns of the source that the card does not declare."""
    withheld: tuple[str, ...] = ()
    """Columns that stay behind when something is made of this table: see ``withheld.py``."""
    source: str = ""
    """Where the rows came from: a full path, or an address without its password; empty for rows in memory."""
    registers: tuple[Path, ...] = ()
    """Files that list what was released of these people (``releases/register.py``)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.card.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types the rows will have."""
        return self.engine.schema(self.relation)

    def fetch(self) -> pa.Table:
        """All rows, identifiers included: for the holder's eyes."""
        return self.engine.fetch(self.relation)

    def payload(self) -> pa.Table:
        """All rows without identifiers and unit: what a release may hold."""
        kept = [c.name for c in self.card.columns if c.role is not Role.IDENTIFIER and c.name != self.card.unit]
        if not kept:
            raise BadInput(f"Every column of {self.card.name} is an identifier: there is nothing to release.")
        return self.engine.fetch(self.query(*map(sql.column, kept)))

    def stream(self) -> pa.RecordBatchReader:
        """All rows, a batch at a time."""
        return self.engine.stream(self.relation)

    def head(self, rows: int = 10) -> pa.Table:
        """Some rows, in no particular order."""
        return self.engine.fetch(self.query(exp.Star()).limit(rows))

    def count(self) -> int:
        """How many rows there are."""
        counted = self.engine.fetch(self.query(sql.named(sql.count_rows(), "n")))
        return int(counted.column(0)[0].as_py())

    def query(self, *what: exp.Expr) -> exp.Select:
        """The query that selects ``what`` from the rows, to build on."""
        return exp.select(*what, copy=False).from_(self.relation.subquery("t"), copy=False)

    def select(self, *names: str) -> Table:
        """The same rows with these columns only; the unit must be among them, or a row would become a person."""
        columns = tuple(self.card[name] for name in names)
        if self.card.unit is not None and self.card.unit not in names:
            raise BadInput(
                f"The unit {self.card.unit!r} must stay, or nobody could tell whose rows these are.",
                hint="Select it too; payload() leaves it out of what is released.",
            )
        card = replace(self.card, columns=columns)
        return replace(self, card=card, relation=self.query(*map(sql.column, names)))

    def where(self, condition: exp.Expr) -> Table:
        """The rows for which ``condition`` holds."""
        return replace(self, relation=self.query(exp.Star()).where(condition))

    def histogram(self, *names: str, levels: Mapping[str, int] | None = None) -> pa.Table:
        """The distinct value combinations of ``names`` (default: the quasi-identifiers) and how many rows have each.

        The count is the last column, ``n`` (``n_``, if a column has that name). With ``levels`` the values
        are generalised first. This is all that searches and checks see of the rows.
        """
        names = names or self.quasi()
        for name in levels or ():
            if name not in names:
                raise NotFound(f"There is no level to be had for {name!r}: the histogram is of {', '.join(names)}.")
        table = self.generalize(levels) if levels else self
        return self.engine.fetch(table.histogram_query(*names))

    def histogram_query(self, *names: str) -> exp.Select:
        """The query behind ``histogram``, to build larger ones on."""
        keys = [sql.column(self.card[name].name) for name in names]
        counted = sql.named(sql.count_rows(), count_name(names))
        return self.query(*keys, counted).group_by(*(key.copy() for key in keys))

    def generalize(self, levels: Mapping[str, int]) -> Table:
        """The same rows with each named column at its level of its hierarchy.

        A value that a hierarchy does not know is an error here, and not a NULL in the result.
        """
        shown: dict[str, exp.Expr] = {name: sql.column(name) for name in self.columns}
        shown |= {name: self._at_level(self.card[name], level) for name, level in levels.items()}
        require_known(self, [name for name, level in levels.items() if 0 < level < self._height(name)])
        columns = (
            Column(column.name, Kind.TEXT, column.role, note=column.note) if levels.get(column.name, 0) else column
            for column in self.card.columns
        )
        return replace(self, card=replace(self.card, columns=tuple(columns)), relation=self.query(*shown.values()))

    def store(self, name: str) -> Table:
        """The same rows as a table of the engine's own, so that later questions do not compute them again."""
        self.engine.store(name, self.relation)
        return replace(self, relation=exp.select(*map(sql.column, self.columns)).from_(sql.table(name)))

    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers; an error if the card declares none."""
        names = tuple(column.name for column in self.card.having(Role.QUASI))
        if not names:
            raise NotFound(
                f"The card of {self.card.name} declares no quasi-identifier.",
                hint='Give role = "quasi" to the columns an outsider may know.',
            )
        return names

    def _height(self, name: str) -> int:
        hierarchy = self.card[name].hierarchy
        return hierarchy.height if hierarchy else 1

    def _at_level(self, column: Column, level: int) -> exp.Expr:
        value = sql.column(column.name)
        if isinstance(level, bool) or not isinstance(level, int):
            raise BadInput(f"The level of {column.name!r} is a whole number, not {level!r}.")
        if level == 0:
            return value
        if column.name == self.card.unit:
            raise BadInput(f"The unit {column.name!r} says whose rows these are, and is not generalised.")
        if column.hierarchy is None:
            if level != 1:
                raise HierarchyError(f"Column {column.name!r} has no hierarchy: it can be kept (0) or suppressed (1).")
            return sql.named(exp.cast(exp.Literal.string(TOP), exp.DType.TEXT), column.name)
        return sql.named(apply(column.hierarchy, value, level, column.kind), column.name)

    def __str__(self) -> str:
        lines = [f"{self.card.name} on {self.engine.title}"]
        width = max(map(len, self.columns))
        for column in self.card.columns:
            line = f"  {column.name:<{width}}  {column.kind.value:<9}  {column.role.value:<10}  {column.declared}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = ((c.name, c.kind.value, c.role.value, c.declared) for c in self.card.columns)
        return markup.table(
            ("column", "kind", "role", "declared"), cells, caption=f"{self.card.name} on {self.engine.title}"
        )


def count_name(names: Iterable[str]) -> str:
    """What the count of a histogram over ``names`` is called: ``n``, or ``n_`` if that is taken."""
    taken = {name.casefold() for name in names}
    name = "n"
    while name in taken:
        name += "_"
    return name

"""A table: a card and a relation on an engine. Lazy; Arrow on the way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.engine import Engine
from discreet.core.hierarchy.expression import apply
from discreet.core.hierarchy.protocol import TOP
from discreet.core.kind import Kind
from discreet.core.validate import require_known
from discreet.errors import HierarchyError, NotFound

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """Records about people, where they lie, and the card that says what they are.

    Nothing runs until rows or figures are asked for. The relation shows the card's columns and no others:
    what nobody has declared is not there.
    """

    card: Card
    engine: Engine
    relation: exp.Query

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.card.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types the rows will have."""
        return self.engine.schema(self.relation)

    def fetch(self) -> pa.Table:
        """All rows."""
        return self.engine.fetch(self.relation)

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
        return exp.select(*what).from_(self.relation.subquery("t", copy=True))

    def select(self, *names: str) -> Table:
        """The same rows with these columns only."""
        columns = tuple(self.card[name] for name in names)
        unit = self.card.unit if self.card.unit in names else None
        card = replace(
            self.card,
            columns=columns,
            unit=unit,
            rows_per_unit=self.card.rows_per_unit if unit else None,
        )
        return Table(card, self.engine, self.query(*map(sql.column, names)))

    def where(self, condition: exp.Expr) -> Table:
        """The rows for which ``condition`` holds."""
        return replace(self, relation=self.query(exp.Star()).where(condition))

    def histogram(self, *names: str, levels: Mapping[str, int] | None = None) -> pa.Table:
        """The distinct value combinations of ``names`` (default: the quasi-identifiers) and how many rows have each.

        The count is the last column, ``n`` (``n_``, if a column has that name). With ``levels`` the values
        are generalised first. This is all that searches and checks see of the rows.
        """
        return self.engine.fetch(self.histogram_query(*names, levels=levels))

    def histogram_query(self, *names: str, levels: Mapping[str, int] | None = None) -> exp.Select:
        """The query behind ``histogram``, to build larger ones on."""
        names = names or self.quasi()
        levels = levels or {}
        keys = [self._at_level(self.card[name], levels.get(name, 0)) for name in names]
        counted = sql.named(sql.count_rows(), count_name(names))
        grouped = [exp.Literal.number(position) for position in range(1, len(keys) + 1)]
        return self.query(*keys, counted).group_by(*grouped)

    def generalize(self, levels: Mapping[str, int]) -> Table:
        """The same rows with each named column at its level of its hierarchy.

        A value that a hierarchy does not know is an error here, and not a NULL in the result.
        """
        require_known(self, [name for name, level in levels.items() if 0 < level < self._height(name)])
        shown = [self._at_level(column, levels.get(column.name, 0)) for column in self.card.columns]
        columns = (
            Column(column.name, Kind.TEXT, column.role, note=column.note) if levels.get(column.name, 0) > 0 else column
            for column in self.card.columns
        )
        return Table(replace(self.card, columns=tuple(columns)), self.engine, self.query(*shown))

    def store(self, name: str) -> Table:
        """The same rows as a table of the engine's own, so that later questions do not compute them again."""
        self.engine.store(name, self.relation)
        stored = exp.select(*map(sql.column, self.columns)).from_(sql.table(name))
        return replace(self, relation=stored)

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
        if level == 0:
            return value
        if column.hierarchy is None:
            if level != 1:
                raise HierarchyError(f"Column {column.name!r} has no hierarchy: it can be kept (0) or suppressed (1).")
            return sql.named(exp.cast(exp.Literal.string(TOP), exp.DType.TEXT), column.name)
        return sql.named(apply(column.hierarchy, value, level, column.kind), column.name)

    def __str__(self) -> str:
        lines = [f"{self.card.name} on {self.engine.title}"]
        width = max(map(len, self.columns))
        for column in self.card.columns:
            lines.append(f"  {column.name:<{width}}  {column.kind.value:<9}  {column.role.value}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(column.name)}</td><td>{column.kind.value}</td><td>{column.role.value}</td></tr>"
            for column in self.card.columns
        )
        return (
            f"<table><caption>{escape(self.card.name)} on {escape(self.engine.title)}</caption>"
            f"<thead><tr><th>column</th><th>kind</th><th>role</th></tr></thead><tbody>{rows}</tbody></table>"
        )


def count_name(names: Iterable[str]) -> str:
    """What the count of a histogram over ``names`` is called: ``n``, or ``n_`` if that is taken."""
    taken = {name.casefold() for name in names}
    name = "n"
    while name in taken:
        name += "_"
    return name

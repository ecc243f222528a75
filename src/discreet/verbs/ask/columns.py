"""The columns a question can name, and which one it means.

Names are found as SQL finds them: whatever their case, with or without their table's name. A name that could be
two columns is an error: the bounds of one must never be believed of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.core import sql
from discreet.errors import BadQuery
from discreet.verbs.ask.value import Value


@dataclass(frozen=True)
class Known:
    """A column under the name a question has for it."""

    name: str
    value: Value
    table: str = ""
    """What the question calls the table it is of; empty if it has no name for it."""
    bare: bool = True
    """Whether it is found without its table's name; of two that USING makes one, the second is not."""


def name_of(expression: exp.Expr) -> str:
    """What an expression of a SELECT inside another is called: without a name, by what it says."""
    return expression.alias_or_name if isinstance(expression, exp.Alias | exp.Column) else expression.sql()


class Columns(Mapping[str, Value]):
    """All columns there are, in order."""

    def __init__(self, known: Iterable[Known]) -> None:
        self.known = tuple(known)

    def find(self, node: exp.Column) -> Value:
        """The column that is meant; an error if there is none, or more than one."""
        found = self._among(node.name, node.table)
        if len(found) == 1:
            return found[0].value
        if found:
            said = " and ".join(f"{one.table}.{one.name}" if one.table else one.name for one in found)
            raise BadQuery(f"{node.name!r} could be {said}.", hint="Say which, with its table's name before it.")
        if node.table and node.table.casefold() not in self.tables:
            named = ", ".join(dict.fromkeys(one.table for one in self.known if one.table)) or "none that has a name"
            raise BadQuery(f"There is no table {node.table!r} in this FROM.", hint=f"There is: {named}.")
        there = [one.name for one in self.known if not node.table or one.table.casefold() == node.table.casefold()]
        raise BadQuery(
            f"There is no column {node.name!r}.", hint=f"There are: {', '.join(dict.fromkeys(there)) or 'none'}."
        )

    def has(self, node: exp.Column) -> bool:
        """Whether there is one of that name."""
        return bool(self._among(node.name, node.table))

    @property
    def tables(self) -> frozenset[str]:
        """What the tables are called, in small letters."""
        return frozenset(one.table.casefold() for one in self.known if one.table)

    def starred(self, table: str = "") -> list[tuple[str, Value]]:
        """What a star means, or a star behind a table's name."""
        if table and table.casefold() not in self.tables:
            raise BadQuery(f"There is no table {table!r} in this FROM.")
        chosen = (one for one in self.known if (one.table.casefold() == table.casefold() if table else one.bare))
        return [(one.name, one.value) for one in chosen]

    def called(self, table: str) -> Columns:
        """The same columns, of a table of that name and no other."""
        return Columns(replace(one, table=table, bare=True) for one in self.known if one.bare)

    def text(self, node: exp.Expr) -> str:
        """One text for all ways to write the same expression: whatever names of tables and cases of letters."""
        plain = node.copy()
        for column in list(plain.find_all(exp.Column)):
            found = self._among(column.name, column.table)
            meant = found[0].value.sql.copy() if len(found) == 1 else sql.column(f"?{column.sql()}")
            if column is plain:
                plain = meant
            else:
                column.replace(meant)
        return plain.sql(comments=False)

    def _among(self, name: str, table: str) -> list[Known]:
        found = [one for one in self.known if one.name.casefold() == name.casefold()]
        if table:
            return [one for one in found if one.table.casefold() == table.casefold()]
        return [one for one in found if one.bare]

    def __getitem__(self, name: str) -> Value:
        found = self._among(name, "")
        if len(found) != 1:
            raise KeyError(name)
        return found[0].value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(one.name for one in self.known if one.bare))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self.known == other.known

    def __hash__(self) -> int:
        return hash(tuple(self))

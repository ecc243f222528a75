"""What a GROUP BY groups by."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import BadQuery
from discreet.verbs.ask.columns import Columns
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.value import Value


def keys_of(select: exp.Select, columns: Columns) -> list[tuple[exp.Expr, Value]]:
    """The expressions of GROUP BY and their values; a number or a name may stand for a column of the answer."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        raise BadQuery("GROUP BY ALL cannot be asked.", hint="Name what to group by: GROUP BY city, sex.")
    if any(value for key, value in group.args.items() if key != "expressions") or any(
        isinstance(one, exp.Rollup | exp.Cube | exp.GroupingSets) for one in group.expressions
    ):
        raise BadQuery(
            "GROUP BY takes columns and expressions: ROLLUP, CUBE and GROUPING SETS cannot be asked.",
            hint="Ask for each grouping as a question of its own.",
        )
    aliases = {one.alias.casefold(): one.this for one in select.expressions if isinstance(one, exp.Alias)}
    found = []
    for given in group.expressions:
        node = given
        if isinstance(node, exp.Literal) and not node.is_string:
            place = position(node, len(select.expressions), "GROUP BY")
            node = select.expressions[place].unalias()
        elif isinstance(node, exp.Column) and not node.table and node.name not in columns:
            node = aliases.get(node.name.casefold(), node)
        value = scalar(node, columns)
        if node.find(exp.Column) is None:  # engines would take a number for the place of a column
            raise BadQuery(f"GROUP BY {node.sql()} makes one group only.", hint="Group by a column, or leave it out.")
        found.append((node, value))
    return found


def position(node: exp.Literal, columns: int, clause: str) -> int:
    """The column of the answer that a number stands for, counted from 0."""
    place = int(node.name) - 1 if node.name.isdigit() and len(node.name) < 9 else -1
    if not 0 <= place < columns:
        raise BadQuery(f"{clause} {node.name}: there is no such column in the answer.")
    return place

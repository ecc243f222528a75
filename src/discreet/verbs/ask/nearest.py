"""The nearest question that works, for one that is refused: it is offered with the refusal.

Whether it works is found out by planning it. So nothing is offered that would be refused as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from discreet.core import sql
from discreet.errors import DiscreetError
from discreet.verbs.ask.results import is_aggregated
from discreet.verbs.ask.spelling import today
from discreet.verbs.ask.syntax import statements_of, written

_MOST_TRIED = 4
_NOW = frozenset({"NOW", "GETDATE", "SYSDATETIME", "GETUTCDATE"})
_OF_ROWS = ("expressions", "order", "limit", "offset", "distinct", "qualify")


def nearest_question(text: str, works: Callable[[str], object]) -> str | None:
    """The first question near ``text`` that ``works`` raises no error for; ``None``: there is none."""
    try:
        (tree,) = statements_of(text)
        tried = [written(one, len(text)) for one in _near(tree)]
    except (DiscreetError, ValueError):
        return None
    for one in tried[:_MOST_TRIED]:
        try:
            works(one)
        except DiscreetError:
            continue
        return one
    return None


def _usable(node: exp.Expr) -> exp.Expr:
    """The day for the moment, a text for what is replaced in it, and at least 1 for a divisor that may be 0."""
    if isinstance(node, exp.CurrentTimestamp) or (isinstance(node, exp.Anonymous) and node.name.upper() in _NOW):
        return sql.literal(today())
    if isinstance(node, exp.RegexpReplace | exp.Replace | exp.RegexpExtract):
        return exp.paren(node.this).unnest()
    if isinstance(node, exp.Nullif) and isinstance(node.parent, exp.Div) and node.arg_key == "expression":
        return exp.Greatest(this=node.this.copy(), expressions=[exp.Literal.number(1)], ignore_nulls=True)
    return node


def _near(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    """Without what cannot be used on rows; for a comparison with a figure, the figure; for rows, how many there are."""
    if not isinstance(tree, exp.Select):
        return
    usable = tree.transform(_usable)
    if usable != tree:
        yield usable
    for node in tree.find_all(exp.Subquery):
        if isinstance(node.parent, exp.Binary | exp.Between) and isinstance(node.this, exp.Select):
            yield node.this.copy()
    if not (tree.args.get("group") or tree.args.get("having") or any(map(is_aggregated, tree.expressions))):
        counted = tree.copy()
        for key in _OF_ROWS:
            counted.set(key, None)
        yield counted.select(exp.alias_(exp.Count(this=exp.Star(), big_int=True), "n"), copy=False)

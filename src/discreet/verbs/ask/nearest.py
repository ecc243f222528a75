"""The nearest question that works, for one that is refused: it is offered with the refusal.

Whether it works is found out by planning it. So nothing is offered that would be refused as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from discreet.errors import DiscreetError
from discreet.verbs.ask.results import is_aggregated
from discreet.verbs.ask.syntax import statements_of, written

_MOST_TRIED = 4
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


def _near(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    """For a comparison with a figure, the figure; for rows, how many there are."""
    if not isinstance(tree, exp.Select):
        return
    for node in tree.find_all(exp.Subquery):
        if isinstance(node.parent, exp.Binary | exp.Between) and isinstance(node.this, exp.Select):
            yield node.this.copy()
    if not (tree.args.get("group") or tree.args.get("having") or any(map(is_aggregated, tree.expressions))):
        counted = tree.copy()
        for key in _OF_ROWS:
            counted.set(key, None)
        yield counted.select(exp.alias_(exp.Count(this=exp.Star(), big_int=True), "n"), copy=False)

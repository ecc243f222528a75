"""The most frequent of declared values: chosen, and not read off noisy counts.

Why this is private: a value scores as many rows as have it. A unit's rows each add one to one score, of one group, so a
unit moves all scores the same way, and by at most rows_per_unit over all groups together. The mechanism is run in every
group, and loses in each at most in proportion to the unit's rows there. Scores that move the same way halve what a
selection loses (``noise/selection.py``).

For an epsilon it is permute-and-flip, which is never worse than the exponential mechanism (McKenna and Sheldon 2020);
for a rho the exponential mechanism, whose range is bounded (Cesar and Rogers 2021). Both are better than the largest of
noisy counts at the same loss, whose differences have twice the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind, Scalar
from discreet.core.loss import Pure
from discreet.engines.contribution import OwnedRows
from discreet.errors import BadQuery, NotDeclared
from discreet.noise.entropy import Entropy
from discreet.noise.selection import Exponential, PermuteAndFlip, Selection
from discreet.verbs.ask.syntax import MOST_NODES
from discreet.verbs.ask.value import Value

_MOST_VALUES = 1000
_KINDS = (Kind.TEXT, Kind.INTEGER, Kind.REAL, Kind.BOOLEAN, Kind.DATE)


@dataclass(frozen=True)
class Mode:
    """Plan of the most frequent value; the engine computes which of them each row has."""

    slice: exp.Expr
    """The place of a row's value among them, or NULL."""
    values: tuple[Scalar, ...]
    rows_per_unit: int

    @property
    def slices(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def sensitivity(self) -> int:
        """Largest change of the scores by one unit, summed over all groups; all change the same way."""
        return self.rows_per_unit

    def mechanism(self, loss: Pure, *, bounded_range: bool) -> Selection:
        """The mechanism that loses so much; for a rho its range must be bounded."""
        kind = Exponential if bounded_range else PermuteAndFlip
        return kind.for_loss(loss, self.sensitivity, monotone=True)

    def choose(self, counts: np.ndarray[Any, Any], mechanism: Selection, entropy: Entropy) -> float:
        """Draw the place of a value, given how many rows have each."""
        return float(mechanism.choose(self.scores(counts).tolist(), entropy))

    def best(self, counts: np.ndarray[Any, Any]) -> float:
        """The place of the most frequent value, the first of several: for rows that are private already."""
        return float(counts.argmax())

    def scores(self, counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The score of each value."""
        return counts


def largest_group(select: exp.Select) -> exp.Expr | None:
    """The key k of ``SELECT k … GROUP BY k ORDER BY COUNT(*) DESC LIMIT 1``, which is the mode of k; else ``None``."""
    clauses = {key for key, value in select.args.items() if value} - {"from_", "joins", "where", "kind", "hint"}
    if clauses != {"expressions", "group", "order", "limit"}:
        return None
    group, order, limit = (select.args[key] for key in ("group", "order", "limit"))
    one = [len(several.expressions) for several in (select, group, order)] == [1, 1, 1]
    if not one or any(value for key, value in group.args.items() if key != "expressions"):
        return None
    shown, (key,), (by,) = select.selects[0], group.expressions, order.expressions
    named = isinstance(key, exp.Column) and not key.table and key.name.lower() == shown.alias.lower()
    same = named or key == shown.unalias() or key == exp.Literal.number(1)
    rows = isinstance(by.this, exp.Count) and isinstance(by.this.this, exp.Star | exp.Literal)
    wanted = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count")
    first = wanted == exp.Literal.number(1) and not limit.args.get("limit_options")
    return shown.unalias() if same and rows and first and by.args.get("desc") else None


def mode(value: Value, said: str, rows: OwnedRows) -> Mode:
    """Plan for the most frequent of a value's declared values."""
    if value.domain is None or not 1 <= len(value.domain) <= _MOST_VALUES:
        raise NotDeclared(
            f"MODE({said}) chooses among declared values, at most {_MOST_VALUES:,}; which {said} has is not declared.",
            hint=f"Ask for the largest groups: SELECT {said}, COUNT(*) AS n … GROUP BY {said} ORDER BY n DESC LIMIT 1.",
        )
    if value.kind not in _KINDS:
        raise BadQuery(f"MODE({said}) is not supported: it is {value.kind.value}.")
    if len(value.domain) * sum(1 for _ in value.sql.walk()) > MOST_NODES:
        raise BadQuery(f"MODE({said}) is too large when expanded.", hint="Compute less, or choose among fewer values.")
    places = exp.Case(
        ifs=[
            exp.If(this=exp.EQ(this=exp.paren(value.sql.copy()), expression=sql.literal(one)), true=sql.literal(place))
            for place, one in enumerate(value.domain)
        ]
    )
    return Mode(places, value.domain, rows.most)

"""From SQL text to an audited question: figures of audited columns, a condition and groups by public ones.

What is not listed here is refused by name: an auditor answers for what it has weighed, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.query_auditing.policy import AGGREGATES, Policy
from discreet.verbs.ask.rows import Rows, keys_of
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.syntax import answer_name, clause_name, require_whole_characters, statements_of
from discreet.verbs.ask.value import Value

_LONGEST = 3_000
_CLAUSES = {"expressions", "from_", "where", "group", "kind"}
_FUNCTIONS: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Avg: "avg", exp.Max: "max", exp.Min: "min"}
COUNT = "count"


@dataclass(frozen=True)
class AuditedFigure:
    """A figure of the answer."""

    name: str
    aggregate: str
    """``sum``, ``avg``, ``max``, ``min`` or ``count``."""
    column: str = ""
    """The audited column; empty for a count."""

    @property
    def weighed(self) -> tuple[str, str] | None:
        """Aggregate and column for the auditor: an average counts as a sum, since everyone knows its count."""
        return None if self.aggregate == COUNT else ("sum" if self.aggregate == "avg" else self.aggregate, self.column)


@dataclass(frozen=True)
class AuditedQuestion:
    """A question as its auditors see it."""

    text: str
    figures: tuple[AuditedFigure, ...]
    keys: tuple[tuple[str, Value], ...]
    """Expressions of GROUP BY, each with its name in the answer."""
    where: Value | None

    @property
    def weighed(self) -> tuple[tuple[str, str], ...]:
        """The audited aggregates and columns, each once: what the answer tells of every group."""
        return tuple(dict.fromkeys(one.weighed for one in self.figures if one.weighed is not None))


def table_of(text: str) -> str:
    """The one table that a question is about."""
    return _table(_parsed(text)).name


def audited_question(text: str, rows: Rows, policy: Policy) -> AuditedQuestion:
    """Parse a question about the rows of an audited table."""
    select = _parsed(text)
    called = _table(select).alias_or_name
    known = rows.columns.called(called)
    where = select.args.get("where")
    condition = None
    if where is not None:
        _require_public(where.this, policy)
        condition = scalar(where.this, known)
        if condition.kind is not Kind.BOOLEAN:
            raise BadQuery(f"WHERE takes a condition; {where.this.sql()} is {condition.kind.value}.")
    for node in _grouped(select, policy):
        _require_public(node, policy)
    keys = keys_of(select, known)
    for node, _ in keys:  # what names of the answer, and numbers, stand for
        _require_public(node, policy)
    texts = {known.text(node): value for node, value in keys}
    figures, shown = [], []
    for place, node in enumerate(select.expressions):
        inner = node.unalias()
        name = answer_name(node, place)
        if known.text(inner) in texts:
            shown.append((name, texts[known.text(inner)]))
        else:
            figures.append(_figure(name, inner, policy, called))
    _require_names([name for name, _ in shown] + [one.name for one in figures])
    if not any(one.column for one in figures):
        raise BadQuery(
            "The question has no audited column.", hint=f"Ask for figures of {', '.join(policy.columns)}: SUM, AVG, …"
        )
    if len(shown) < len(keys):
        raise BadQuery("The columns of GROUP BY must be in SELECT.", hint="Add them to SELECT.")
    return AuditedQuestion(text, tuple(figures), tuple(shown), condition)


def _parsed(text: str) -> exp.Select:
    if len(text) > _LONGEST:
        raise BadQuery(f"The question is longer than {_LONGEST:,} characters.")
    require_whole_characters(text)
    statements = statements_of(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise BadQuery("A question with query auditing must be one SELECT.")
    select = statements[0]
    extra = [key for key, value in select.args.items() if value and key not in _CLAUSES]
    if extra:
        raise BadQuery(
            f"{clause_name(extra[0])} is not supported with query auditing.",
            hint="Use one table, WHERE and GROUP BY: SELECT city, SUM(salary) FROM staff WHERE age > 40 GROUP BY city.",
        )
    if select.find(exp.Subquery) or sum(1 for _ in select.find_all(exp.Select)) > 1:
        raise BadQuery("Query auditing does not support subqueries.")
    return select


def _table(select: exp.Select) -> exp.Table:
    source = select.args.get("from_")
    found = None if source is None else source.this
    if not isinstance(found, exp.Table) or not isinstance(found.this, exp.Identifier):
        raise BadQuery("Query auditing needs one table of the workspace: SELECT … FROM table.")
    if any(value for key, value in found.args.items() if key not in ("this", "alias")):
        raise BadQuery("Query auditing needs one plain table: without joins, samples or a schema.")
    if isinstance(alias := found.args.get("alias"), exp.TableAlias) and alias.columns:
        raise BadQuery("Column aliases of the table are not supported with query auditing.")
    return found


def _figure(name: str, node: exp.Expr, policy: Policy, called: str) -> AuditedFigure:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.expressions:
        return AuditedFigure(name, COUNT)
    aggregate = _FUNCTIONS.get(type(node))
    column = node.this if aggregate is not None else None
    if not isinstance(column, exp.Column) or len([one for one in node.args.values() if one]) > 1:
        raise BadQuery(f"{node.sql()} cannot be audited.", hint="Use SUM, AVG, MAX or MIN of a column, or COUNT(*).")
    of = [part.name.casefold() for part in column.parts[:-1]]
    if of not in ([], [called.casefold()]):
        raise BadQuery(f"There is no {column.sql()} here.", hint=f"The table is called {called}.")
    watched = next((one for one in policy.columns if one.casefold() == column.name.casefold()), None)
    if watched is None:
        raise BadQuery(f"{column.name} is not audited.", hint=f"Audited: {', '.join(policy.columns)}.")
    figure = AuditedFigure(name, aggregate or "", watched)
    how = policy.columns[watched].how
    if figure.weighed is None or figure.weighed[0] not in AGGREGATES[how]:
        raise BadQuery(
            f"{watched} is audited for {how}, which does not cover {node.sql()}.",
            hint="Sums and extremes of one column together could reveal what neither does alone.",
        )
    return figure


def _grouped(select: exp.Select, policy: Policy) -> Sequence[exp.Expr]:
    """Expressions of GROUP BY; a name that only the answer has is replaced by what it names."""
    names = {one.alias.casefold(): one.this for one in select.expressions if isinstance(one, exp.Alias)}
    for public in policy.by:
        names.pop(public.casefold(), None)
    group = select.args.get("group")
    return [names.get(one.name.casefold(), one) for one in (group.expressions if group is not None else ())]


def _require_public(node: exp.Expr, policy: Policy) -> None:
    allowed = {name.casefold() for name in policy.by}
    for column in node.find_all(exp.Column):
        if column.name.casefold() not in allowed:
            raise BadQuery(
                f"{column.name} cannot be used in conditions or groups.",
                hint=f"Conditions and groups may use: {', '.join(policy.by) or 'none'}.",
            )


def _require_names(names: Sequence[str]) -> None:
    folded = [name.casefold() for name in names]
    for name in names:
        if folded.count(name.casefold()) > 1:
            raise BadQuery(f"Two columns of the answer are called {name!r}.", hint="Name them with AS.")

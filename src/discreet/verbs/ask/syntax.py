"""The syntax of questions: SQL text to a syntax tree, or an error in plain words, and how large queries may be.

A question is short, and its query need not be: a SELECT of WITH stands in the query as often as it is named, and what
stands in it again as often; and engines put what a column was computed of wherever it is used. Time for planning grows
with the nodes, and memory on the engine with the characters: it works on a few thousand rows at a time, and holds every
text that is made of them. So both are counted in the query as the engine gets it, and as it makes it.

Reading and writing a question must not take long either, since nothing stops them: sqlglot reads what could be a type
twice, and what stands in it twice again, and writes some functions as others with an argument in several places, and
what stands in it as often again. So both are given up where they come to much more than the text itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import sqlglot
from sqlglot import Dialect, Parser, exp
from sqlglot.dialects.duckdb import DuckDB as DuckDBDialect
from sqlglot.errors import ErrorLevel
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import BadQuery
from discreet.verbs.ask.spelling import one_spelling, written_out
from discreet.verbs.ask.value import CHARACTERS, SEARCH, WEIGHT

LONGEST = 20_000
"""Characters of a question, at most."""
_DEEPEST = 64
_MOST_SELECTS = 32
_MOST_AGGREGATES = 64
_MOST_COLUMNS = 256
_CLAUSES = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_", "kind", "hint",
    "distinct", "qualify", "this", "expression",
}  # fmt: skip
_STARTS = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "(")
MOST_NODES = 15_000
MOST_WEIGHT = 60_000
"""Nodes of the query, with every column replaced by what it was computed of."""
MOST_CHARACTERS = 100_000
"""Characters of all texts that are made for one row."""
MOST_SEARCH = 2_000_000
"""Comparisons of two characters that all searches in the texts of one row may take: about a thousandth of a second.
Engines stop between some thousand rows, and not before."""
_ROW = 20
"""Nodes that take as long as a row itself."""
_CHARACTERS_A_NODE = 3
"""Characters that take as long as a node."""
_SEARCH_A_NODE = 20
"""Comparisons of two characters that take as long as a node."""
_MOST_REREAD = 20_000
"""Tokens that are read again, at most, for a text of few; of others twice as many as they have."""
_MOST_WRITTEN = 4
"""How many times as long as a question may be its text may become when it is written out again."""
_LONGEST_INTERVAL = 1_000
_CUT = "Cut the texts first: LEFT(x, 20), or declare max_length on the card."
_DIALECT = DuckDBDialect()
_OTHERS = ("tsql", "spark", "postgres")


def statements_of(text: str) -> list[exp.Expr | None]:
    """The statements of a text; one that is empty is ``None``.

    A text that DuckDB's parser cannot read is read as T-SQL, as Spark's SQL or as PostgreSQL's, by whichever can first,
    and written as DuckDB's. So no text that DuckDB can read ever means anything else.
    """
    try:
        found = parsed(text, "duckdb")
    except _ReadAgain as error:  # the others would take as long before they give up
        raise BadQuery(error.message, hint=error.hint) from None
    except BadQuery:
        for dialect in _OTHERS:
            try:
                several = parsed(text, dialect)
                again = "; ".join(written(one, len(text)) for one in several if one is not None)
                found = parsed(again, "duckdb")
                break
            except BadQuery:
                continue
        else:
            raise
    return [one if one is None else one_spelling(one) for one in found]


def parsed(text: str, dialect: str) -> list[exp.Expr | None]:
    """The statements of a text in a dialect; an error if it cannot be read, or reading takes too long."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
        _require_short_intervals(tokens)
        parser = _parser(dialect)(dialect=dialect)
        parser.left = _MOST_REREAD + 2 * len(tokens)  # type: ignore[attr-defined]
        return list(parser.parse(tokens, text))
    except sqlglot.errors.ParseError as error:
        raise _unreadable(text, error) from None
    except sqlglot.errors.TokenError:
        raise BadQuery("The SQL cannot be parsed.", hint="A quote or comment may not be closed.") from None
    except RecursionError:
        raise BadQuery("The SQL cannot be parsed: it is nested too deeply.") from None
    except BadQuery:
        raise
    except Exception:  # noqa: BLE001  # it takes numbers to be Python's, and parts to be there that are not
        raise BadQuery("The SQL cannot be parsed.") from None


def _require_short_intervals(tokens: list[Token]) -> None:
    """An error if the text behind an INTERVAL could be so long that looking for numbers in it stops everyone."""
    run = 0
    for token in tokens if any(one.token_type is TokenType.INTERVAL for one in tokens) else ():
        run = run + len(token.text) if token.token_type.name.endswith("STRING") else 0  # neighbours are one text
        if run > _LONGEST_INTERVAL:
            raise BadQuery("The text before INTERVAL is too long.", hint="Like x + INTERVAL 3 MONTH.")


def written(statement: exp.Expr, most: int = 0) -> str:
    """A statement as text, without comments; an error if it becomes several times as long as one of ``most``."""
    try:
        return _Writer(_MOST_WRITTEN * max(most, LONGEST)).generate(statement, copy=False)
    except BadQuery:
        raise
    except RecursionError:
        raise _too_deep() from None
    except Exception:  # noqa: BLE001  # it takes parts to be there that are not
        raise BadQuery("The SQL cannot be parsed.") from None


class _ReadAgain(BadQuery):
    """A parser would go back in a text again and again."""


@cache
def _parser(dialect: str) -> type[Parser]:
    """A parser that gives up where it goes back in the text again and again."""

    class Limited(Dialect.get_or_raise(dialect).parser_class):  # type: ignore[misc]
        left = 0
        """Tokens that may be read again."""

        def _retreat(self, index: int) -> None:
            self.left -= max(self._index - index, 0)
            if self.left < 0:
                raise _ReadAgain("The question is nested too deeply.", hint="Nest fewer functions.")
            super()._retreat(index)

    return Limited


class _Writer(DuckDBGenerator):
    """A generator that gives up where it writes too much."""

    def __init__(self, most: int) -> None:
        super().__init__(dialect=_DIALECT, comments=False, unsupported_level=ErrorLevel.IGNORE)
        self._most = self._left = most
        """Characters of a text, and nodes that may still be written."""

    def sql(self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True) -> str:
        self._left -= 1
        made = super().sql(expression, key, comment) if self._left >= 0 else ""
        if self._left < 0 or len(made) > self._most:
            raise BadQuery("The question is too large when expanded.", hint="Nest fewer functions.")
        return made


def parse_question(text: str) -> exp.Query:
    """The syntax tree of a question, which is one SELECT, or a UNION of some, of a size that can be planned."""
    if len(text) > LONGEST:
        raise BadQuery(f"The question is longer than {LONGEST:,} characters.")
    statements = statements_of(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Select | exp.Union):
        hint = "Ask several in one batch." if len(statements) > 1 else "Only SELECT is supported, and UNION of some."
        raise BadQuery("A question must be one SELECT.", hint=hint)
    select = written_out(statements[0])
    if depth(select) > _DEEPEST:
        raise _too_deep()
    if sum(1 for _ in select.find_all(exp.Select)) > _MOST_SELECTS:
        raise BadQuery(f"The question is nested too deeply: it has more than {_MOST_SELECTS} SELECTs.")
    _require_supported(select)
    if sum(1 for _ in select.find_all(exp.AggFunc)) > _MOST_AGGREGATES:
        raise BadQuery(f"The question has more than {_MOST_AGGREGATES} aggregates.", hint="Ask several questions.")
    if any(len(one.expressions) > _MOST_COLUMNS for one in select.find_all(exp.Select)):
        raise BadQuery(f"A SELECT has more than {_MOST_COLUMNS} columns.", hint="Ask several questions.")
    extra = [key for key, value in select.args.items() if value and key not in _CLAUSES]
    if extra:
        raise BadQuery(
            f"{clause_name(extra[0])} is not supported.", hint="Use WHERE, GROUP BY, HAVING, ORDER BY and LIMIT."
        )
    return select


def clause_name(key: str) -> str:
    """The clause of a SELECT that sqlglot has under ``key``, as people write it."""
    name = {"locks": "FOR UPDATE", "order": "ORDER BY"}.get(key, key.rstrip("_").upper())
    return name.removesuffix("S") if name in ("JOINS", "LATERALS", "PIVOTS", "WINDOWS") else name


def require_whole_characters(text: str) -> None:
    """An error if a question could not be written down."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadQuery("The question has an incomplete Unicode character.") from None


def answer_name(node: exp.Expr, place: int) -> str:
    """What a column of the answer is called: its alias, its own name, or its place."""
    inner = node.unalias()
    return node.alias or (inner.name if isinstance(inner, exp.Column) else "") or f"column{place + 1}"


def _require_supported(select: exp.Query) -> None:
    """An error if a question has what no part of one can have: it says what to ask instead."""
    for node in select.walk():
        if isinstance(node, exp.Query) and not _in_from(node, select) and figure_clause(node.unnest()) is None:
            raise BadQuery(
                "Subqueries are supported in FROM and WITH, IN and EXISTS, and as figures beside other figures, not in "
                "conditions on rows.",
                hint="To compare with a figure, ask for it first and write it as a number.",
            )


def _too_deep() -> BadQuery:
    return BadQuery("The question is nested too deeply.", hint="A long chain of conditions can often be an IN.")


def _unreadable(text: str, error: sqlglot.errors.ParseError) -> BadQuery:
    """Where reading stopped. What the parser says of it names its own classes, and so is not shown."""
    found = error.errors[0] if error.errors else {}
    near, line, column = found.get("highlight") or "", found.get("line"), found.get("col")
    place = f" at line {line}, column {max(1, column - len(near) + 1)}" if line and column else ""
    said = f", near {near[:40]!r}" if near else ""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    odd = not first.upper().startswith(_STARTS)
    hint = f"A question must start with SELECT or WITH, not {first[:40]!r}." if odd else "Check the text before it."
    return BadQuery(f"The SQL cannot be parsed{place}{said}.", hint=hint)


def _in_from(query: exp.Query, whole: exp.Query) -> bool:
    """Whether a query stands where rows come from, or are looked for."""
    node: exp.Expr | None = query
    while node is not whole and isinstance(node, exp.Query | exp.Paren):
        node = node.parent
    asks = isinstance(node, exp.Exists | exp.In) and node.find_ancestor(exp.Having, exp.Order) is None
    return node is whole or asks or isinstance(node, exp.From | exp.Join | exp.CTE | exp.Lateral | exp.Table)


def figure_clause(query: exp.Expr) -> exp.Select | None:
    """The SELECT in whose columns, HAVING, QUALIFY or ORDER BY a query in parentheses stands as a single value."""
    node, parent = query.parent, query.parent
    while parent is not None and not isinstance(parent, exp.Select):
        if isinstance(
            parent, exp.AggFunc | exp.Filter | exp.Exists | exp.In | exp.Where | exp.From | exp.Join | exp.CTE
        ):
            return None
        node, parent = parent, parent.parent
    shown = node is not None and node.arg_key in ("expressions", "having", "qualify", "order")
    return parent if shown and isinstance(query.parent, exp.Subquery) else None


@dataclass
class Size:
    """What was counted so far."""

    nodes: int = 0
    weight: int = 0
    characters: int = 0
    search: int = 0

    @property
    def work(self) -> int:
        """What is done for one row, in nodes: some characters take as long as one, and the row itself as some."""
        return _ROW + self.weight + self.characters // _CHARACTERS_A_NODE + self.search // _SEARCH_A_NODE

    def add(self, query: exp.Expr) -> None:
        """Count a query, or a part of one; an error if it is too much."""
        for node in query.walk():
            self.nodes += 1
            if node._meta:
                self.characters += node.meta.get(CHARACTERS, 0)
                self.weight += node.meta.get(WEIGHT, 0)
                self.search += node.meta.get(SEARCH, 0)
            if self.nodes > MOST_NODES or self.weight > MOST_WEIGHT:
                raise BadQuery(
                    "The question is too large.", hint="Use the tables of WITH less often, or ask several questions."
                )
            if self.characters > MOST_CHARACTERS:
                raise BadQuery(
                    f"The texts computed for one row could have more than {MOST_CHARACTERS:,} characters in all.",
                    hint=_CUT,
                )
            if self.search > MOST_SEARCH:
                raise BadQuery(
                    "Searching the texts of one row by LIKE or POSITION would take too long.",
                    hint=f"Search for less. {_CUT}",
                )


def depth(tree: exp.Expr) -> int:
    """Levels of a syntax tree."""
    levels, level = 0, [tree]
    while level:
        levels, level = levels + 1, [child for node in level for child in node.iter_expressions()]
    return levels

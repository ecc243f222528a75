"""Statements of a client: texts are split into statements, and each is classified by its first words.

A text is taken apart by PostgreSQL's rules for quotes and comments. Telling statements apart decides who answers, never
what they may see: the API reads a question again and decides for itself, and the catalogue has no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, cast

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import BadInput, BadQuery
from discreet.service.api.schemas import LONGEST_QUESTION
from discreet.service.postgres import values
from discreet.verbs.ask.syntax import parsed, statements_of, written

LONGEST = 100_000
"""Maximum length of a text with statements, characters."""
_MOST_STATEMENTS = 200
_LONGEST_LOOKUP = 40_000


class Asks(Enum):
    """Kind of a statement."""

    QUESTION = "a question about people"
    CATALOGUE = "a question about the catalogue"
    EXPLAIN = "the price of a question"
    SHOW = "a parameter, or the budget"
    SET = "a parameter to be set"
    TRANSACTION = "the begin or end of a transaction"
    NOTHING = "nothing that has to be done"
    FORGET = "prepared statements and parameters to be forgotten"
    REFUSED = "what is not done here"


@dataclass(frozen=True)
class Statement:
    """A statement: its text, its first words in capitals, and what it asks for."""

    text: str
    words: tuple[str, ...]
    asks: Asks
    tokens: tuple[Token, ...]
    inner: Statement | None = None
    """The statement to be explained."""

    @property
    def parameters(self) -> int:
        """How many parameters it has: the largest that it names."""
        return max((_number(self.tokens, at) for at in range(len(self.tokens))), default=0)

    @property
    def returns_rows(self) -> bool:
        """Whether rows are returned."""
        return self.asks in (Asks.QUESTION, Asks.CATALOGUE, Asks.EXPLAIN, Asks.SHOW)


class _Tokenizer(Postgres.Tokenizer):
    """PostgreSQL's tokens, in EXPLAIN and SHOW too, which sqlglot would leave as one text."""

    COMMANDS: ClassVar[set[TokenType]] = set()


_FIRST = {
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"), Asks.TRANSACTION),
    **dict.fromkeys(("SET", "RESET"), Asks.SET),
    "SHOW": Asks.SHOW,
    "EXPLAIN": Asks.EXPLAIN,
    **dict.fromkeys(("DEALLOCATE", "DISCARD"), Asks.FORGET),
    **dict.fromkeys(("CLOSE", "UNLISTEN"), Asks.NOTHING),
}
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "(", "FROM")


def statements(text: str) -> list[Statement]:
    """The statements of a text."""
    if len(text) > LONGEST:
        raise BadInput(f"The statement is longer than {LONGEST:,} characters.")
    try:
        tokens = _Tokenizer(dialect=Postgres()).tokenize(text)
    except SqlglotError:
        raise BadQuery("The SQL cannot be parsed.", hint="A quote or comment may not be closed.") from None
    found: list[Statement] = []
    part: list[Token] = []
    for token in [*tokens, None]:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            part.append(token)
        elif part:
            found.append(_statement(text, part))
            part = []
        if len(found) > _MOST_STATEMENTS:
            raise BadInput(f"A text may have at most {_MOST_STATEMENTS} statements.")
    return found


def _statement(text: str, tokens: Sequence[Token]) -> Statement:
    own = text[tokens[0].start : tokens[-1].end + 1]
    words = tuple(token.text.upper() for token in tokens[:8])
    asks = _FIRST.get(words[0])
    if asks is Asks.EXPLAIN:
        return _explained(text, tokens, own, words)
    if asks is None:
        asks = _query(tokens) if words[0] in _QUERIES else Asks.REFUSED
    return Statement(own, words, asks, tuple(tokens))


def _explained(text: str, tokens: Sequence[Token], own: str, words: tuple[str, ...]) -> Statement:
    rest = list(tokens[1:])
    if len(rest) > 1 and rest[0].token_type is TokenType.L_PAREN and rest[1].text.upper() not in _QUERIES:
        closing = next((at for at, one in enumerate(rest) if one.token_type is TokenType.R_PAREN), len(rest) - 1)
        options = {one.text.upper() for one in rest[:closing]}
        rest = rest[closing + 1 :]
    else:
        options = set()
        while rest and rest[0].text.upper() in ("ANALYZE", "ANALYSE", "VERBOSE"):
            options.add(rest.pop(0).text.upper())
    if options & {"ANALYZE", "ANALYSE"}:
        raise BadQuery("EXPLAIN ANALYZE would ask the question.", hint="EXPLAIN alone tells the price, free of charge.")
    if options & {"JSON", "XML", "YAML"}:
        raise BadQuery("EXPLAIN supports the format TEXT only.")
    if not rest:
        raise BadQuery("EXPLAIN needs a question.")
    inner = _statement(text, rest)
    if inner.asks not in (Asks.QUESTION, Asks.CATALOGUE):
        raise BadQuery("Only the price of a SELECT can be explained.")
    return Statement(own, words, Asks.EXPLAIN, tuple(tokens), inner)


def _query(tokens: Sequence[Token]) -> Asks:
    """Whether a query is about the catalogue: it names it, has no FROM, or surely has no rows."""
    plain = [one for one in tokens if one.token_type is not TokenType.STRING]
    for one in plain:
        name = one.text.casefold()
        if (name.startswith("pg_") or name == "information_schema") and one.text:
            return Asks.CATALOGUE
    upper = [one.text.upper() for one in tokens]
    if "FROM" not in upper and tokens[0].text.upper() != "TABLE":
        return Asks.CATALOGUE
    return Asks.CATALOGUE if _has_no_rows(upper) else Asks.QUESTION


def _has_no_rows(upper: Sequence[str]) -> bool:
    """Whether a query ends with LIMIT 0, or its own WHERE is never true: clients ask so for columns and their types."""
    if upper[-2:] == ["LIMIT", "0"]:
        return True
    depth = 0
    for at, word in enumerate(upper):
        depth += (word == "(") - (word == ")")
        if word == "WHERE" and depth == 0:
            rest = list(upper[at + 1 :])
            while rest[:1] == ["("]:
                rest = rest[1:]
            ends = rest[3:] if len(rest) > 2 and rest[1] == "=" else rest[1:]
            never = rest[:1] == ["FALSE"] or (
                len(rest) > 2 and rest[1] == "=" and rest[0].isdecimal() and rest[2].isdecimal() and rest[0] != rest[2]
            )
            return never and all(one in (")", "LIMIT") or one.isdecimal() for one in ends)
    return False


def _number(tokens: Sequence[Token], at: int) -> int:
    """The number of the parameter that begins at a token; 0 if none does."""
    one = tokens[at]
    text = one.text
    if one.token_type is TokenType.PARAMETER and at + 1 < len(tokens):
        text = "$" + tokens[at + 1].text
    if text.startswith("$") and text[1:].isdecimal() and len(text) < 6 and one.token_type is not TokenType.STRING:
        return int(text[1:])
    return 0


@dataclass(frozen=True)
class Parameters:
    """Values of parameters as literals, by their numbers."""

    literals: tuple[exp.Expr, ...]

    @classmethod
    def read(cls, given: Sequence[bytes | None], types: Sequence[int], formats: Sequence[int]) -> Parameters:
        """From a Bind message."""
        each = values.as_formats(formats, len(given))
        padded = [*types, *[0] * (len(given) - len(types))]
        return cls(tuple(map(values.literal_of, given, padded, each)))

    def put_into(self, tree: exp.Expr) -> exp.Expr:
        """The tree with each parameter replaced by its literal."""
        whole = exp.Paren(this=tree)
        for node in list(whole.find_all(exp.Parameter, exp.Placeholder)):
            name = node.name or (node.this.name if isinstance(node.this, exp.Expr) else str(node.this or ""))
            if not name.isdecimal() or not 1 <= int(name) <= len(self.literals):
                raise BadInput(f"There is no value for the parameter ${name[:10]}.")
            node.replace(self.literals[int(name) - 1].copy())
        return cast("exp.Expr", whole.this)


def tree_of(text: str) -> exp.Expr:
    """The syntax tree of a statement about the catalogue, by PostgreSQL's syntax."""
    if len(text) > _LONGEST_LOOKUP:
        raise BadQuery(f"A question about the catalogue has more than {_LONGEST_LOOKUP:,} characters.")
    trees = parsed(text, "postgres")
    if len(trees) != 1 or (tree := trees[0]) is None:
        raise BadQuery("The SQL cannot be parsed.")
    return tree


def question_with(text: str, parameters: Parameters) -> str:
    """A question with literals for its parameters."""
    if len(text) > LONGEST_QUESTION:
        raise BadQuery(f"The question is longer than {LONGEST_QUESTION:,} characters.")
    trees = statements_of(text)
    if len(trees) != 1 or (tree := trees[0]) is None:
        raise BadQuery("The SQL cannot be parsed.")
    bound = parameters.put_into(tree)
    for node in bound.find_all(exp.Limit, exp.Offset):  # where some clients write a cast around it
        inner = node.expression
        if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal):
            inner.replace(inner.this.copy())
    return written(bound, len(text))

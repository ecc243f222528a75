"""Session of an analyst: runs or answers each statement.

A question is a request of the API in the analyst's name (``questions.py``), and a question about the catalogue is
answered from cards (``catalogue.py``). Nothing else reads anything, and nothing here changes anything but the session:
transactions begin and end, and there is nothing that they could take back but what was set. What was charged in one
that is rolled back stays charged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias

from anyio import to_thread
from sqlglot import exp

from discreet.errors import BadInput, BadQuery, NotFound
from discreet.service.postgres.catalogue import Result
from discreet.service.postgres.catalogue_sql import rewritten
from discreet.service.postgres.questions import Columns, Outcome, Questions
from discreet.service.postgres.session_settings import SessionSettings
from discreet.service.postgres.statements import Asks, Parameters, Statement, question_with, tree_of
from discreet.service.postgres.values import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    NUMERIC,
    PG_TYPES,
    TEXT,
    TIMESTAMP,
    PgType,
    array_type,
    literal_of,
    type_of,
)
from discreet.verbs.ask.syntax import statements_of

Lookup: TypeAlias = Callable[[Sequence[Mapping[str, Any]], Callable[[Mapping[str, str]], exp.Query]], Awaitable[Result]]
"""Asks the catalogue: the analyst's tables, and what makes the query of their names, in a thread."""
_SAMPLES = {BOOL: "true", DATE: "2000-01-01", TIMESTAMP: "2000-01-01 00:00:00", FLOAT8: "1", NUMERIC: "1", INT8: "1"}
_SAMPLES |= {INT4: "1"}
"""A value of each type, for a statement that is described before its parameters are known."""
NO_PARAMETERS = Parameters(())


class FailedTransaction(Exception):
    """A statement in a transaction that failed: only its end is accepted."""


class Session:
    """State of an analyst's session in one connection."""

    def __init__(
        self,
        questions: Questions,
        settings: SessionSettings,
        lookup: Lookup,
        prepared: MutableMapping[str, Any],
    ) -> None:
        """``prepared`` has the connection's prepared statements by name, to be forgotten when that is asked for."""
        self.settings, self._questions, self._lookup, self._prepared = settings, questions, lookup, prepared
        self.status = "I"
        """I: outside a transaction, T: within one, E: within one that failed."""
        self._savepoints: list[str] = []

    def fail(self) -> None:
        """A statement failed."""
        if self.status == "T":
            self.status = "E"

    async def run(self, statement: Statement, parameters: Parameters = NO_PARAMETERS) -> Outcome:
        """Do what a statement asks for."""
        if self.status == "E" and not (
            statement.asks is Asks.TRANSACTION and statement.words[0] in ("ROLLBACK", "ABORT", "COMMIT", "END")
        ):
            raise FailedTransaction
        match statement.asks:
            case Asks.QUESTION:
                return await self._questions.ask(await self._question(statement, parameters))
            case Asks.CATALOGUE:
                found = await self._look_up(statement, parameters)
                return Outcome(f"SELECT {len(found.rows)}", found.columns, found.rows)
            case Asks.EXPLAIN if statement.inner is not None:
                return await self._explain(statement.inner, parameters)
            case Asks.SHOW:
                return await self._show(statement)
            case Asks.SET:
                return self._set(statement)
            case Asks.TRANSACTION:
                return self._transaction(statement)
            case Asks.FORGET:
                return self._forgotten(statement)
            case Asks.NOTHING:
                return Outcome(statement.words[0])
        raise BadQuery(
            f"{statement.words[0][:30]} is not supported: this connection is read-only.",
            hint="Supported are SELECT, SET, SHOW, EXPLAIN and transactions.",
        )

    async def describe(self, statement: Statement, parameters: Parameters) -> Columns | None:
        """The columns of what a statement will give, if it gives rows; nothing is asked of anyone's rows."""
        match statement.asks:
            case Asks.QUESTION:
                return await self._questions.describe(await self._question(statement, parameters))
            case Asks.CATALOGUE:
                return (await self._look_up(statement, parameters)).columns
            case Asks.EXPLAIN:
                return (("QUERY PLAN", TEXT),)
            case Asks.SHOW:
                return (await self._show(statement)).columns
        return None

    async def types(self, statement: Statement, given: Sequence[int]) -> list[int]:
        """The type of each parameter: as the client said, or as it is used."""
        count = statement.parameters
        if count > len(given) or 0 in given:
            used = await to_thread.run_sync(_used_types, statement, await self._questions.kinds())
        else:
            used = {}
        padded = [*given, *[0] * (count - len(given))]
        return [oid or used.get(place, TEXT).oid for place, oid in enumerate(padded, 1)]

    def samples(self, types: Sequence[int]) -> Parameters:
        """Values that parameters of these types could have."""
        made = []
        for oid in types:
            type_ = PG_TYPES.get(oid, TEXT)
            text = "{}" if type_.element is not None else _SAMPLES.get(type_, "1" if type_.size in (2, 4, 8) else "")
            made.append(literal_of(text.encode(), oid, 0))
        return Parameters(tuple(made))

    async def _question(self, statement: Statement, parameters: Parameters) -> str:
        if not parameters.literals:
            return statement.text
        return await to_thread.run_sync(question_with, statement.text, parameters)

    async def _look_up(self, statement: Statement, parameters: Parameters) -> Result:
        def query(tables: Mapping[str, str]) -> exp.Query:
            return rewritten(parameters.put_into(tree_of(statement.text)), tables, self.settings.get)

        return await self._lookup(await self._questions.tables(), query)

    async def _explain(self, inner: Statement, parameters: Parameters) -> Outcome:
        if inner.asks is Asks.CATALOGUE:
            lines = ["The catalogue answers this from the cards of your tables: it is free."]
            return Outcome("EXPLAIN", (("QUERY PLAN", TEXT),), [(line,) for line in lines])
        return await self._questions.explain(await self._question(inner, parameters))

    async def _show(self, statement: Statement) -> Outcome:
        name = "".join(one.text for one in statement.tokens[1:]).lower()
        if name == "discreet.budget":
            return await self._questions.budget()
        if name == "all":
            columns = tuple((one, TEXT) for one in ("name", "setting", "description"))
            return Outcome("SHOW", columns, self.settings.everything())
        spelled = {"timezone": "TimeZone", "transactionisolationlevel": "transaction_isolation"}
        name = spelled.get(name, name)
        name = "session_authorization" if name == "sessionauthorization" else name
        return Outcome("SHOW", ((name, TEXT),), [(self.settings.require(name),)])

    def _set(self, statement: Statement) -> Outcome:
        words, tokens = list(statement.words), list(statement.tokens)
        if words[0] == "RESET":
            name = "".join(one.text for one in tokens[1:])
            if name.lower() == "all":
                self.settings.reset()
                return Outcome("RESET")
            return Outcome("RESET", changed=self.settings.set(name, None))
        local = words[1:2] == ["LOCAL"]
        if words[1:2] in (["LOCAL"], ["SESSION"]):
            del words[1], tokens[1]
        if words[1:2] in (["CHARACTERISTICS"], ["TRANSACTION"]):
            return Outcome("SET")
        if words[1:2] in (["ROLE"], ["AUTHORIZATION"]):
            raise BadInput("A connection cannot change its user.", hint="Connect again with another user and token.")
        if words[1:3] == ["TIME", "ZONE"]:
            place, name = 3, "TimeZone"
        elif words[1:2] == ["NAMES"]:
            place, name = 2, "client_encoding"
        else:
            place = next((at for at, one in enumerate(tokens) if one.text.upper() in ("=", "TO") and at), 0)
            name = "".join(one.text for one in tokens[1:place])
            place += 1
            if place == 1 or not name:
                raise BadQuery("SET has the form SET name = value.", hint="Like SET discreet.epsilon = 0.1")
        return Outcome("SET", changed=self.settings.set(name, _value(statement, tokens[place:]), local=local))

    def _transaction(self, statement: Statement) -> Outcome:
        words = [one for one in statement.words if one not in ("TRANSACTION", "WORK", "TO", "SAVEPOINT")]
        first, name = statement.words[0], words[-1]
        if first in ("BEGIN", "START"):
            return self._begin("START TRANSACTION" if first == "START" else "BEGIN")
        if first in ("SAVEPOINT", "RELEASE") or (first == "ROLLBACK" and "TO" in statement.words):
            return self._savepoint(first, name)
        if self.status == "I":
            tag = "COMMIT" if first in ("COMMIT", "END") else "ROLLBACK"
            return Outcome(tag, notices=(("WARNING", "There is no transaction in progress."),))
        well = first in ("COMMIT", "END") and self.status == "T"
        self.settings.end(well=well)
        self.status, self._savepoints = "I", []
        return Outcome("COMMIT" if well else "ROLLBACK")

    def _begin(self, tag: str) -> Outcome:
        if self.status == "T":
            return Outcome(tag, notices=(("WARNING", "There is already a transaction in progress."),))
        self.status = "T"
        self.settings.begin()
        return Outcome(tag)

    def _savepoint(self, first: str, name: str) -> Outcome:
        if self.status == "I":
            raise NoTransaction
        if first == "SAVEPOINT":
            if len(self._savepoints) >= _MOST_SAVEPOINTS:
                raise BadInput("This transaction has too many savepoints.")
            self._savepoints.append(name)
            return Outcome("SAVEPOINT")
        if name not in self._savepoints:
            raise NotFound("There is no such savepoint.")
        place = len(self._savepoints) - 1 - self._savepoints[::-1].index(name)
        del self._savepoints[place + (first == "ROLLBACK") :]
        self.status = "T"
        return Outcome(first)

    def _forgotten(self, statement: Statement) -> Outcome:
        if statement.words[0] == "DISCARD":
            if statement.words[-1] == "ALL":
                self.settings.reset()
                self._prepared.clear()
            return Outcome(f"DISCARD {statement.words[-1]}" if len(statement.words) == 2 else "DISCARD ALL")
        name = statement.tokens[-1]
        if name.text.upper() == "ALL":
            self._prepared.clear()
            return Outcome("DEALLOCATE ALL")
        self._prepared.pop(name.text, None)
        return Outcome("DEALLOCATE")


class NoTransaction(Exception):
    """A savepoint outside a transaction."""


_MOST_SAVEPOINTS = 1_000


def _value(statement: Statement, tokens: Sequence[Any]) -> str | None:
    """What a parameter is set to; ``None``: to its default."""
    if not tokens:
        raise BadQuery("SET has the form SET name = value.", hint="Like SET discreet.epsilon = 0.1")
    if len(tokens) == 1:
        return None if tokens[0].text.upper() == "DEFAULT" else str(tokens[0].text)
    begin = statement.tokens[0].start
    return statement.text[tokens[0].start - begin :]


def _used_types(statement: Statement, kinds: Mapping[str, str]) -> dict[int, PgType]:
    """The types of parameters that are compared with a column, cast, or in LIMIT."""
    try:
        [tree] = statements_of(statement.text)
    except (BadQuery, ValueError):
        return {}
    found: dict[int, PgType] = {}
    for node in tree.find_all(exp.Parameter, exp.Placeholder) if tree is not None else ():
        name = node.name or (node.this.name if isinstance(node.this, exp.Expr) else str(node.this or ""))
        if not name.isdecimal():
            continue
        parent = node.parent
        if isinstance(parent, exp.Limit | exp.Offset):
            found[int(name)] = INT8
        elif isinstance(parent, exp.Cast):
            found[int(name)] = _CASTS.get(parent.to.this.name, TEXT) if isinstance(parent.to, exp.DataType) else TEXT
        elif isinstance(parent, exp.Binary | exp.Between | exp.In):
            beside = next((one for one in parent.iter_expressions() if isinstance(one, exp.Column)), None)
            if beside is not None:
                found[int(name)] = type_of(kinds.get(beside.name.casefold(), ""))
    return found


_CASTS = {
    "ARRAY": array_type(TEXT),
    "INT": INT4,
    "SMALLINT": INT4,
    "BIGINT": INT8,
    "DOUBLE": FLOAT8,
    "FLOAT": FLOAT8,
    "DECIMAL": NUMERIC,
    "BOOLEAN": BOOL,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
}

"""Questions of a session: each is a request of the API, with the analyst's token and what the session has set.

Beside the budget there is a cap on what a connection spends (``discreet.max_per_connection``). It counts the ε of every
question that may have been charged, whatever became of it: also of one that was cancelled, or failed after its charge.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from anyio import to_thread
from sqlglot import exp

from discreet.budget.filter import Budget
from discreet.core import loss as losses
from discreet.core.exact import exact
from discreet.core.loss import Pure
from discreet.curator.answer import MARK
from discreet.errors import AccessError, BadInput, BadQuery, BudgetExceeded, DiscreetError, Refused
from discreet.service.client import quote_of
from discreet.service.postgres.session_settings import SessionSettings
from discreet.service.postgres.values import BOOL, TEXT, PgType, type_of
from discreet.service.spending_cap import Cap
from discreet.verbs.ask.postprocess import ERROR
from discreet.verbs.ask.syntax import statements_of

Request: TypeAlias = Callable[[str, str, Mapping[str, Any] | None], Awaitable[Any]]
Columns: TypeAlias = tuple[tuple[str, PgType], ...]
_TABLES_SECONDS = 5.0
"""Time for which the list of an analyst's tables is reused, seconds."""
_UTC = "+00:00"


@dataclass(frozen=True)
class Outcome:
    """Result of a statement: its tag, its rows if it has some, and notices."""

    tag: str
    columns: Columns | None = None
    rows: Sequence[Sequence[Any]] = ()
    notices: tuple[tuple[str, str], ...] = ()
    """Severity and text of each."""
    changed: str = ""
    """The parameter of the session that was set."""


class Questions:
    """Questions of an analyst in one connection."""

    def __init__(self, request: Request, settings: SessionSettings) -> None:
        self._request, self._settings = request, settings
        hint = "SET discreet.max_per_connection sets another limit, up to the one of this service."
        self._cap = Cap(Budget(Pure(1)), what="This connection", hint=hint)
        self._tables: tuple[float, Sequence[Mapping[str, Any]]] = (0.0, ())

    async def tables(self) -> Sequence[Mapping[str, Any]]:
        """The tables that the analyst may ask, by their cards."""
        at, found = self._tables
        if not at or time.monotonic() - at > _TABLES_SECONDS:
            found = await self._request("GET", "/v1/tables", None)
            self._tables = time.monotonic(), found
        return found

    async def kinds(self) -> dict[str, str]:
        """The kind of each column that a question may name; of a name that several tables have, the first."""
        columns = [one for table in await self.tables() for one in table["columns"]]
        return {str(one["name"]).casefold(): str(one["kind"]) for one in reversed(columns)}

    async def ask(self, text: str) -> Outcome:
        """The answer to a question."""
        body = {**await self._body(text), "instead": self._settings.own("synthetic") == "on"}
        loss = Pure(exact(body["epsilon"], "epsilon"))
        due = await self._reserved(loss, body)
        charged = True
        try:
            [answer] = (await self._request("POST", "/v1/ask", body))["answers"]
            charged = not answer["free"]
        except (BudgetExceeded, AccessError):
            charged = False
            raise
        except (BadInput, Refused) as error:
            charged = await self._can_be_priced(body)
            raise await self._kinder(text, error) from None
        finally:
            if due:
                self._cap.settle(loss, charged=charged)
            elif charged:  # the budget was raised since the price was told
                self._cap.count(loss)
        return await to_thread.run_sync(self._outcome, answer)

    async def describe(self, text: str) -> Columns:
        """The columns of the answer to a question; nothing is asked."""
        try:
            price = await self._price(await self._body(text))
        except (BadInput, Refused) as error:
            raise await self._kinder(text, error) from None
        columns = [(name, type_of(kind)) for name, kind in price["columns"].items()]
        shown = self._shown([name for name, _ in columns])
        marked = ((MARK, BOOL),) if price["synthetic"] and self._settings.own("synthetic") == "on" else ()
        return (*(column for column, is_shown in zip(columns, shown, strict=True) if is_shown), *marked)

    async def explain(self, text: str) -> Outcome:
        """The price of a question and the error of each of its figures."""
        try:
            price = await self._price(await self._body(text))
        except (BadInput, Refused) as error:
            raise await self._kinder(text, error) from None
        lines = [*str(quote_of(price)).splitlines(), f"This connection may spend {self._left()} more."]
        return Outcome("EXPLAIN", (("QUERY PLAN", TEXT),), [(line,) for line in lines])

    async def budget(self) -> Outcome:
        """The budgets of the analyst and their tables, and what the connection may still spend."""
        accounts = await self._request("GET", "/v1/budgets", None)
        rows = [(one["account"], *(str(losses.from_dict(one[key])) for key in _SHOWN_BUDGET)) for one in accounts]
        limit = self._require_cap().limit
        rows.append(("this connection", str(limit), str(self._cap.spent), self._left()))
        columns = tuple((name, TEXT) for name in ("account", *_SHOWN_BUDGET))
        return Outcome("SHOW", columns, rows)

    def _require_cap(self) -> Cap:
        """The cap with the limit that the session has now."""
        limit = exact(self._settings.require("discreet.max_per_connection"), "max_per_connection")
        if self._cap.limit.limit != Pure(limit):
            self._cap.limit = Budget(Pure(limit))
        return self._cap

    def _left(self) -> str:
        return str(self._require_cap().left)

    async def _body(self, text: str) -> dict[str, Any]:
        """A question and what to spend on it, as the API takes it."""
        own = self._settings.own
        epsilon, error, delta = own("epsilon"), own("error"), own("delta") or "0"
        if error is not None:
            rows = own("rows")
            wish = {"question": text, "error": error, "delta": delta, "expect": own("expect")}
            wish["rows"] = None if rows is None else int(rows)  # type: ignore[assignment]
            needed = str((await self._request("POST", "/v1/epsilon", wish))["epsilon"])
            if epsilon is not None and exact(needed, "epsilon") > exact(epsilon, "epsilon"):
                raise BadInput(
                    f"An error of {error} takes ε = {float(exact(needed, 'epsilon')):g}, which is more than "
                    f"discreet.epsilon = {epsilon}.",
                    hint="SET discreet.epsilon to more, discreet.error to more, or RESET one of them.",
                )
            epsilon = needed
        if epsilon is None:
            raise BadInput(
                "No price is set for the question.",
                hint="SET discreet.epsilon = 0.1, or discreet.error = 50. In the options of a connection: "
                "-c discreet.epsilon=0.1. EXPLAIN tells the error beforehand, free of charge.",
            )
        return {"questions": [text], "epsilon": epsilon, "delta": delta}

    async def _price(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        rows = self._settings.own("rows")
        asked = {name: body[name] for name in ("questions", "epsilon", "delta")}
        asked["rows"] = None if rows is None else int(rows)
        [price] = (await self._request("POST", "/v1/price", asked))["prices"]
        found: Mapping[str, Any] = price
        return found

    async def _reserved(self, loss: Pure, body: Mapping[str, Any]) -> bool:
        """Whether a loss was set aside: what is over the cap is asked all the same if it is free."""
        try:
            self._require_cap().reserve(loss)
        except BudgetExceeded:
            price = await self._price(body)
            if not price["answered"] and not (price["synthetic"] and body["instead"]):
                raise
            return False
        return True

    async def _can_be_priced(self, body: Mapping[str, Any]) -> bool:
        """Whether a question that failed may have been charged: one that cannot even be priced was not."""
        try:
            await self._price(body)
        except (BadInput, Refused):
            return False
        except DiscreetError:
            return True
        return True

    async def _kinder(self, text: str, error: DiscreetError) -> DiscreetError:
        """The error; for a question that asks for rows, one that names what can be asked."""
        if type(error) is not BadQuery or not await to_thread.run_sync(_asks_for_rows, text):
            return error
        nearest = await to_thread.run_sync(_nearest, text, await self.tables())
        if nearest is None:
            return error
        return Refused("Rows of people are not shown, only figures about many of them.", hint=nearest)

    def _shown(self, names: Sequence[str]) -> list[bool]:
        """Which columns of an answer are shown: error bars only if the session has them."""
        bars = {f"{name}{ERROR}" for name in names}
        return [self._settings.own("error_bars") == "on" or name not in bars for name in names]

    def _outcome(self, answer: Mapping[str, Any]) -> Outcome:
        grid = answer["answer"]
        shown = self._shown([one["name"] for one in grid["columns"]])
        places = [place for place, is_shown in enumerate(shown) if is_shown]
        columns = tuple((grid["columns"][at]["name"], type_of(grid["columns"][at]["kind"])) for at in places)
        at_utc = {at for at in places if grid["columns"][at]["kind"] == "timestamp"}
        rows = [tuple(_plain(row[at]) if at in at_utc else row[at] for at in places) for row in grid["rows"]]
        return Outcome(f"SELECT {len(rows)}", columns, rows, (_told(answer),))


_SHOWN_BUDGET = ("limit", "spent", "left")


def _plain(value: Any) -> Any:
    return value.removesuffix(_UTC) if isinstance(value, str) else value


def _told(answer: Mapping[str, Any]) -> tuple[str, str]:
    if answer["synthetic"]:
        return "WARNING", (
            "These figures are about people who never existed: the budget does not cover the question, and a "
            "synthetic stand-in answered, free of charge."
        )
    left = ", ".join(f"{losses.from_dict(one['analyst'])} on {table}" for table, one in answer["left"].items())
    price = "Answered before, so it is free." if answer["free"] else f"It cost {losses.from_dict(answer['price'])}."
    return "NOTICE", f"{price} Left: {left}."


def _nearest(text: str, tables: Sequence[Mapping[str, Any]]) -> str | None:
    """A question that can be asked of the table whose rows were asked for; ``None`` if it is about no one."""
    known = {str(one["name"]).casefold(): one for one in tables}
    for table in statements_of(text)[0].find_all(exp.Table):  # type: ignore[union-attr]  # it was parsed before
        found = known.get(table.name.casefold())
        if found is not None and found["public"]:
            return None
        if found is not None:
            key = next((one["name"] for one in found["columns"] if one["categories"]), None)
            shown = [] if key is None else [exp.column(key)]
            nearest = exp.select(*shown, "COUNT(*) AS n").from_(exp.table_(found["name"])).group_by(*shown)
            return f"Such as: {nearest.sql('duckdb')}"
    return "Such as: SELECT COUNT(*) AS n FROM … GROUP BY …"


def _asks_for_rows(text: str) -> bool:
    """Whether a question asks for rows: it neither counts nor adds up nor groups."""
    try:
        [tree] = statements_of(text)
    except (BadQuery, ValueError):
        return False
    return isinstance(tree, exp.Select) and not any(tree.find_all(exp.AggFunc, exp.Group, exp.Distinct))

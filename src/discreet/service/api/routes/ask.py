"""Tables, and questions about them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response

from discreet.curator.answer import Answer as Answered
from discreet.errors import NotFound
from discreet.service.api.caller import Asker, Caller, EarlyRoute, Reader
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.schemas import Asking, Auditing, Making, Pricing, TableName, Wishing
from discreet.service.api.views import Answer, Answers, Epsilon, ExactAnswer, Price, Prices, Table, View

router = APIRouter(route_class=EarlyRoute, prefix="/v1", tags=["ask"])


@router.get("/tables", responses=READS, summary="The tables visible to you")
def tables(caller: Reader) -> list[Table]:
    """Analysts see those that they may ask, others see all."""
    return [Table.of(view) for view in caller.desk.tables(caller.who)]


@router.get("/tables/{name}", responses=READS | answers(404), summary="A table")
def table(name: Annotated[TableName, Path()], caller: Reader) -> Table:
    """What its card declares, and the budget that is left."""
    return Table.of(caller.desk.table(caller.who, name))


@router.post("/price", response_model=Prices, responses=WRITES, summary="Price of questions")
async def price(given: Pricing, caller: Asker) -> Response:
    """Reads no row, charges nothing and records nothing."""
    return await caller.work(lambda: _written(Prices(prices=_prices(given, caller))))


@router.post("/ask", response_model=Answers, responses=WRITES, summary="Ask")
async def ask(given: Asking, caller: Asker) -> Response:
    """Answer a question, or several for one price in all. The same question again is free.

    What the budget does not cover is answered by the table's synthetic stand-in, if any: ``synthetic`` is then true.
    """
    desk, who = caller.desk, caller.who
    if given.dry_run:
        return await caller.work(lambda: _written(Answers(answers=[], prices=_prices(given, caller))))

    def answered() -> tuple[list[Answered], Response]:
        spend, instead = given.spend(), given.instead
        found = desk.ask(who, given.questions, spend, key=given.key, instead=instead, hand_over=False)
        return found, _written(Answers(answers=[Answer.of(one) for one in found], prices=[]))

    return (await caller.answer(answered, lambda made: desk.gave(who, *made[0])))[1]


@router.post("/ask/audited", responses=WRITES, summary="Ask a table with query auditing")
async def ask_audited(given: Auditing, caller: Asker) -> ExactAnswer:
    """Answer a question exactly, or deny it (409) if that could reveal someone's value. Nothing is charged."""
    desk, who = caller.desk, caller.who
    made = await caller.answer(
        lambda: desk.ask_audited(who, given.question, hand_over=False), lambda made: desk.gave(who, made)
    )
    return ExactAnswer.of(made)


@router.post("/epsilon", responses=WRITES, summary="The smallest epsilon for a desired error")
async def epsilon(given: Wishing, caller: Asker) -> Epsilon:
    """With it, every figure is within the error, with 95 % confidence. Reads no row."""
    found = await caller.work(
        lambda: caller.desk.epsilon_for(
            caller.who, given.question, given.error, delta=given.delta, expect=given.expect, rows=given.rows
        )
    )
    return Epsilon(epsilon=str(found), about=float(found))


@router.post("/methods/price", responses=WRITES, summary="Price of a method")
async def method_price(given: Making, caller: Asker) -> Price:
    """Reads no row and charges nothing."""
    return await caller.work(lambda: Price.of(caller.desk.quote(caller.who, given.method.method(), given.table)))


@router.post("/methods/release", responses=WRITES, summary="Run a method")
async def method_release(given: Making, caller: Asker) -> Answer:
    """Release a distribution, bounds, a macro-table or a model for the loss that it promises. Repeating it is free."""
    desk, who = caller.desk, caller.who

    def made() -> Answered:
        found = desk.release_of(who, given.method.method(), given.table, key=given.key, hand_over=False)
        left = desk.table(who, given.table).left
        if left is None:
            raise NotFound("There is no such table, or it is not visible to you.")
        return Answered(found.release, found.identity, {given.table: left}, found.free)

    return Answer.of(await caller.answer(made, lambda one: desk.gave(who, one)))


def _written(view: View) -> Response:
    """What is asked for most often is written here, in the thread that made it, and not checked a second time."""
    return Response(view.model_dump_json(), media_type="application/json")


def _prices(given: Pricing, caller: Caller) -> list[Price]:
    return [Price.of(one) for one in caller.desk.price(caller.who, given.questions, given.spend(), rows=given.rows)]

"""Files that a steward brings, cards drafted and checked on them, and tables made of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from discreet.core.card import Card
from discreet.core.cardfile import parse_cards
from discreet.errors import BadInput
from discreet.service.api.caller import EarlyRoute, Holder, Manager
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.guard import UPLOADS
from discreet.service.api.records import DraftOut, MisfitsOut, RevisedOut, UploadOut
from discreet.service.api.schemas import CardText, DataSource, NewTable, RevisedCard, TableName

router = APIRouter(route_class=EarlyRoute, tags=["data"])


@router.post(UPLOADS, status_code=201, responses=WRITES, summary="Upload a file")
async def upload(
    request: Request,
    caller: Manager,
    name: Annotated[
        str, Query(min_length=1, max_length=200, description="The file's name; its ending determines the format.")
    ],
) -> UploadOut:
    """The body is the file itself. Only stewards can read it, by the name in the reply."""
    return UploadOut(upload=await caller.desk.data.upload(caller.who, name, request.stream()))


@router.get(UPLOADS, responses=READS, summary="Uploaded files")
def uploads(caller: Holder) -> list[UploadOut]:
    """Newest first."""
    return [UploadOut(upload=one) for one in caller.desk.data.uploads(caller.who)]


@router.post("/v1/data/draft", responses=WRITES | answers(404), summary="Draft a card")
async def draft(given: DataSource, caller: Manager) -> DraftOut:
    """The card as TOML, with a reason for each column: read every line, it is a guess."""
    drafted = await caller.work(lambda: caller.desk.data.draft(caller.who, given.source))
    return DraftOut(card=drafted.to_toml(), rows=drafted.rows)


@router.post("/v1/data/check", responses=WRITES | answers(404), summary="Check rows against a card")
async def check(given: CardText, caller: Manager) -> MisfitsOut:
    """What does not fit, by column; problems of the whole file have an empty name."""
    card = _card(given.card)
    found = await caller.work(lambda: caller.desk.data.misfits(caller.who, given.source, card))
    return MisfitsOut(misfits={name: list(lines) for name, lines in found.items()})


@router.post("/v1/tables", status_code=201, responses=WRITES | answers(404), summary="Register a table")
async def add(given: NewTable, caller: Manager) -> dict[str, Any]:
    """With a budget of its own. No one may query it before they get a budget on it."""
    card, budget = _card(given.card), given.budget.budget()
    await caller.work(lambda: caller.desk.data.add(caller.who, given.name, given.source, card, budget))
    return {"table": given.name}


@router.put("/v1/tables/{name}/card", responses=WRITES | answers(404), summary="Revise a table's card")
async def revise(name: TableName, given: RevisedCard, caller: Manager) -> RevisedOut:
    """Budget, analysts and what was released stay; old answers stay as they were. The unit cannot change."""
    card = _card(given.card)
    return RevisedOut(changes=list(await caller.work(lambda: caller.desk.data.revise(caller.who, name, card))))


def _card(text: str) -> Card:
    """The one card of a text; taxonomies are declared in it, since no file of the service is read."""
    cards = parse_cards(text)
    if len(cards) != 1:
        raise BadInput(f"Send the card of one table, not of {len(cards)}.")
    return next(iter(cards.values()))

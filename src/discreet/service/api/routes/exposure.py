"""Exposure: what everything that left tells together."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from discreet.service.api.caller import EarlyRoute, Manager, Overseer
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.records import ExposureOut, WhatIfOut
from discreet.service.api.schemas import Trying

router = APIRouter(route_class=EarlyRoute, prefix="/v1/exposure", tags=["exposure"])


@router.get("", responses=READS | answers(404), summary="All releases, and what they reveal together")
async def exposure(
    caller: Overseer,
    recipient: Annotated[str | None, Query(max_length=60, description="Only what this person holds.")] = None,
) -> ExposureOut:
    """Every release and answer, what it was checked with, what was spent; for stewards also the smallest groups."""
    found = await caller.work(lambda: caller.desk.exposure.overview(caller.who, recipient))
    return ExposureOut.model_validate(found.to_dict())


@router.post("/what-if", responses=WRITES, summary="Check a draft of a release")
async def what_if(given: Trying, caller: Manager) -> WhatIfOut:
    """It is checked together with all earlier releases; nothing is released or registered."""
    found = await caller.work(lambda: caller.desk.exposure.what_if(caller.who, given.draft(), given.where))
    return WhatIfOut.model_validate(found.to_dict())

"""Jobs: what takes a while, how far it is, and what came of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, TypeAlias

import anyio
from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse
from pydantic import StringConstraints

from discreet.errors import DiscreetError
from discreet.service.api.caller import Caller, EarlyRoute, Holder, Manager, Overseer, again
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.records import JobOut
from discreet.service.api.routes.releases import paper_headers
from discreet.service.api.schemas import AttackJob, CompareJob, Given, HideJob, PublishJob, SynthesizeJob, TabulateJob
from discreet.service.api.views import plain
from discreet.service.jobs.specs import read_spec

router = APIRouter(route_class=EarlyRoute, prefix="/v1/jobs", tags=["jobs"])
JobId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-z-]{4,60}$"), Path()]
Paper: TypeAlias = Literal[
    "report.html",
    "to-pass-on.html",
    "map.html",
    "holder.html",
    "holder.parquet",
]
_EVENT = {
    "type": "object",
    "description": "Each event; its data is the job, as JSON.",
    "properties": {"event": {"enum": ["progress", "over"]}, "data": {"type": "string"}},
}
_LOOK = 0.5
_HEARTBEAT = 15.0


@router.post("/publish", status_code=202, responses=WRITES, summary="Publish a table")
def publish(given: PublishJob, caller: Manager) -> JobOut:
    """Make a release of a table's rows in which privacy models hold. Nobody but stewards has it until it is shared."""
    return _submitted("publish", given, caller)


@router.post("/synthesize", status_code=202, responses=WRITES, summary="Make a table's synthetic twin")
def synthesize(given: SynthesizeJob, caller: Manager) -> JobOut:
    """It is charged to the table, and no analyst. Questions that a budget does not cover are then asked of it."""
    return _submitted("synthesize", given, caller)


@router.post("/tabulate", status_code=202, responses=WRITES, summary="Print tables")
def tabulate(given: TabulateJob, caller: Manager) -> JobOut:
    """Make tables of counts or sums from which nobody's figure can be told."""
    return _submitted("tabulate", given, caller)


@router.post("/hide", status_code=202, responses=WRITES, summary="Hide itemsets and rules from a miner")
def hide(given: HideJob, caller: Manager) -> JobOut:
    """A release of a table's transactions in which a miner finds none of the secrets. Nobody is anonymous by it."""
    return _submitted("hide", given, caller)


@router.post("/attack", status_code=202, responses=WRITES, summary="Attack a release")
def attack(given: AttackJob, caller: Manager) -> JobOut:
    """Find out what an intruder would learn from it. What is found is for stewards alone."""
    return _submitted("attack", given, caller)


@router.post("/compare", status_code=202, responses=WRITES, summary="Compare maskings of a table")
def compare(given: CompareJob, caller: Manager) -> JobOut:
    """Put them on a risk-utility map."""
    return _submitted("compare", given, caller)


@router.get("", responses=READS, summary="Jobs")
def jobs(caller: Overseer, most: Annotated[int, Query(ge=1, le=1000)] = 50) -> list[JobOut]:
    """Newest first."""
    return [JobOut.of(job) for job in caller.desk.jobs(caller.who, most=most)]


@router.get("/{job}", responses=READS | answers(404), summary="A job")
def job(job: JobId, caller: Overseer) -> JobOut:
    """How far it is."""
    return JobOut.of(caller.desk.job(caller.who, job))


@router.delete("/{job}", status_code=204, responses=WRITES, summary="Stop a job")
def cancel(job: JobId, caller: Manager) -> None:
    """Nothing of it is left."""
    caller.desk.cancel(caller.who, job)


@router.get(
    "/{job}/events",
    responses=READS
    | answers(404)
    | {200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "Server-sent events."}},
    response_class=Response,
    summary="A job, as it goes on",
)
def events(
    job: JobId,
    caller: Overseer,
    request: Request,
    seconds: Annotated[int, Query(ge=1, le=600, description="How long to tell of it at most.")] = 60,
) -> StreamingResponse:
    """An event ``progress`` for each change, with the job as data, until it is over: then an event ``over``."""
    caller.desk.job(caller.who, job)
    return StreamingResponse(_told(request, caller, job, seconds), media_type="text/event-stream")


@router.get("/{job}/result", responses=READS | answers(400, 404), summary="What a job found")
def result(job: JobId, caller: Holder) -> dict[str, Any]:
    """As plain data. It is about the rows, and for stewards alone."""
    found: dict[str, Any] = plain(caller.desk.job_result(caller.who, job))
    return found


@router.get(
    "/{job}/papers/{name}",
    responses=READS
    | answers(400, 404)
    | {200: {"content": {"text/html": {}, "application/octet-stream": {}}, "description": "The document."}},
    response_class=Response,
    summary="A document that a job made",
)
def paper(job: JobId, name: Paper, caller: Holder) -> FileResponse:
    """For stewards alone."""
    page = name.endswith(".html")
    return FileResponse(
        caller.desk.paper(caller.who, job, name),
        media_type="text/html" if page else "application/octet-stream",
        filename=None if page else f"{job}.{name}",
        headers=paper_headers(),
    )


def _submitted(kind: str, given: Given, caller: Caller) -> JobOut:
    return JobOut.of(caller.desk.submit(caller.who, read_spec(kind, given.model_dump())))


async def _told(request: Request, caller: Caller, job: str, seconds: int) -> AsyncIterator[str]:
    """What is said of a job while it goes on, to somebody who may still know."""
    end = time.monotonic() + seconds
    last, spoke = "", time.monotonic()
    while time.monotonic() < end:
        try:
            found = await to_thread.run_sync(lambda: caller.desk.job(again(request).who, job))
        except DiscreetError:
            return
        said = JobOut.of(found).model_dump_json()
        if said != last or time.monotonic() - spoke > _HEARTBEAT:
            kind = "over" if found.over else "progress"
            yield f"event: {kind}\ndata: {said}\n\n" if said != last else ": still there\n\n"
            last, spoke = said, time.monotonic()
        if found.over:
            return
        await anyio.sleep(_LOOK)

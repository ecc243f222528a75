"""Jobs: what takes a while, how far it is, and what came of it."""

from __future__ import annotations

import inspect
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
from discreet.service.api.schemas import JobGiven, job_schema
from discreet.service.api.views import plain
from discreet.service.jobs.specs import SPECS, Combine, Spec, read_spec

router = APIRouter(route_class=EarlyRoute, prefix="/v1/jobs", tags=["jobs"])
JobId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-z-]{4,60}$"), Path()]
Paper: TypeAlias = Literal[
    "report.html", "to-pass-on.html", "map.html", "holder.html", "holder.parquet", "proof.html", "proof.json"
]
_EVENT = {
    "type": "object",
    "description": "Each event; its data is the job, as JSON.",
    "properties": {"event": {"enum": ["progress", "over"]}, "data": {"type": "string"}},
}
_LOOK = 0.5
_HEARTBEAT = 15.0


def _add_route(spec: type[Spec]) -> None:
    """The route that submits jobs of a kind."""

    def submit(given: JobGiven, caller: Manager) -> JobOut:
        job = read_spec(spec.kind, given.model_dump(exclude={"key"}))
        return JobOut.of(caller.desk.submit(caller.who, job, key=given.key))

    submit.__annotations__["given"] = job_schema(spec)
    about: dict[str, Any] = {"name": spec.kind, "summary": spec.summary, "description": inspect.getdoc(spec)}
    router.add_api_route(f"/{spec.kind}", submit, methods=["POST"], status_code=202, responses=WRITES, **about)


for _one in SPECS.values():
    if _one is not Combine:  # a steward takes part on the console, where the other parties are shown first
        _add_route(_one)


@router.get("", responses=READS, summary="Jobs")
def jobs(caller: Overseer, most: Annotated[int, Query(ge=1, le=1000)] = 50) -> list[JobOut]:
    """Newest first."""
    return [JobOut.of(job) for job in caller.desk.jobs(caller.who, most=most)]


@router.get("/{job}", responses=READS | answers(404), summary="A job")
def job(job: JobId, caller: Overseer) -> JobOut:
    """Its state and progress."""
    return JobOut.of(caller.desk.job(caller.who, job))


@router.delete("/{job}", status_code=204, responses=WRITES, summary="Stop a job")
def cancel(job: JobId, caller: Manager) -> None:
    """Everything that it made is deleted."""
    caller.desk.cancel(caller.who, job)


@router.get(
    "/{job}/events",
    responses=READS
    | answers(404)
    | {200: {"content": {"text/event-stream": {"schema": _EVENT}}, "description": "Server-sent events."}},
    response_class=Response,
    summary="Progress of a job",
)
def events(
    job: JobId,
    caller: Overseer,
    request: Request,
    seconds: Annotated[int, Query(ge=1, le=600, description="Longest time to follow it, seconds.")] = 60,
) -> StreamingResponse:
    """An event ``progress`` for each change, with the job as data, until it is over: then an event ``over``."""
    caller.desk.job(caller.who, job)
    return StreamingResponse(_told(request, caller, job, seconds), media_type="text/event-stream")


@router.get("/{job}/result", responses=READS | answers(400, 404), summary="Result of a job")
def result(job: JobId, caller: Holder) -> dict[str, Any]:
    """As plain data, for stewards only: it may reveal rows."""
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
    """For stewards only."""
    page = name.endswith(".html")
    return FileResponse(
        caller.desk.paper(caller.who, job, name),
        media_type="text/html" if page else "application/octet-stream",
        filename=None if page else f"{job}.{name}",
        headers=paper_headers(),
    )


async def _told(request: Request, caller: Caller, job: str, seconds: int) -> AsyncIterator[str]:
    """What is said of a job while it goes on, to someone who may still know."""
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

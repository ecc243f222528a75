"""Releases: what there is, what each promises, and the thing itself."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path as Folder
from typing import IO, Annotated, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import AfterValidator, AwareDatetime, StringConstraints

from discreet.core.release import MANIFEST, Release, report_page, verified
from discreet.core.spreadsheet import write_csv
from discreet.errors import BadInput
from discreet.service.api.caller import EarlyRoute, Manager, Reader, Receiver
from discreet.service.api.failures import READS, WRITES, answers
from discreet.service.api.guard import PAPER_POLICY
from discreet.service.api.records import ReleaseOut, Statement
from discreet.service.api.schemas import Sharing, TableName

router = APIRouter(route_class=EarlyRoute, prefix="/v1/releases", tags=["releases"])
_PIECE = 1 << 18
_IN_MEMORY = 1 << 22
_EARLY = (1980, 1, 1, 0, 0, 0)
"""The time of every file in a download: the same release is the same bytes."""


def _within_reach(at: dt.datetime) -> dt.datetime:
    if not 1 < at.year < 9999:
        raise ValueError("it is too far away")
    return at


ReleaseId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64}|[0-9a-z-]{8,40})$"), Path()]
Moment: TypeAlias = Annotated[AwareDatetime, AfterValidator(_within_reach)]


@router.get("", responses=READS, summary="Releases")
def releases(
    caller: Reader,
    kind: Annotated[str | None, Query(pattern="^[a-z]{1,20}$", examples=["published"])] = None,
    table: Annotated[TableName | None, Query()] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[Moment | None, Query(description="Made before this, with its offset from UTC.")] = None,
) -> list[ReleaseOut]:
    """Newest first; analysts see their own answers, and what was shared with them."""
    found = caller.desk.releases(caller.who, kind=kind, table=table, most=most, before=before)
    return [ReleaseOut.of(one) for one in found]


@router.get("/{release}", responses=READS | answers(404), summary="A release")
def release(release: ReleaseId, caller: Reader) -> ReleaseOut:
    """Entry of a release in the release index."""
    return ReleaseOut.of(caller.desk.shelved(caller.who, release))


@router.get("/{release}/statement", responses=READS | answers(404), summary="Privacy statement")
def statement(release: ReleaseId, caller: Reader) -> Statement:
    """Statement, recipe and receipt, without the contents."""
    return Statement.of(caller.desk.statement(caller.who, release))


@router.get(
    "/{release}/report",
    responses=READS | answers(404) | {200: {"content": {"text/html": {}}, "description": "A page."}},
    response_class=Response,
    summary="Report of a release",
)
def report(release: ReleaseId, caller: Receiver) -> Response:
    """The whole release as one page, which runs and loads nothing."""
    page = report_page(caller.desk.path(caller.who, release))  # a file's own headers would say how long it took
    return Response(page, media_type="text/html", headers=paper_headers())


@router.get(
    "/{release}/download",
    responses=READS | answers(404) | {200: {"content": {"application/zip": {}}, "description": "A zip archive."}},
    response_class=Response,
    summary="Download a release",
)
def download(release: ReleaseId, caller: Receiver) -> StreamingResponse:
    """The release's folder as a zip archive: unpacked, it is what ``Release.load`` reads."""
    archive = _zipped(caller.desk.path(caller.who, release))
    headers = {"Content-Disposition": f'attachment; filename="{release}.zip"'}
    return StreamingResponse(_pieces(archive), media_type="application/zip", headers=headers)


@router.get(
    "/{release}/rows.csv",
    responses=READS | answers(400, 404) | {200: {"content": {"text/csv": {}}, "description": "Rows, as CSV."}},
    response_class=Response,
    summary="Rows of a release, as CSV",
)
def rows(release: ReleaseId, caller: Receiver) -> StreamingResponse:
    """For spreadsheets, if the release is a table. The download has its statement, too."""
    rows = _rows(caller.desk.path(caller.who, release))
    if rows is None:
        raise BadInput(
            "This release is not a table.", hint=f"GET /v1/releases/{release}/download has the whole release."
        )
    headers = {"Content-Disposition": f'attachment; filename="{release}.csv"'}
    return StreamingResponse(_csv(*rows), media_type="text/csv", headers=headers)


@router.put("/{release}/shared", responses=WRITES, summary="Share a release, or stop sharing")
def share(release: ReleaseId, given: Sharing, caller: Manager) -> ReleaseOut:
    """Whether the analysts of its tables can see and download it."""
    caller.desk.share(caller.who, release, given.shared)
    return ReleaseOut.of(caller.desk.shelved(caller.who, release))


def paper_headers() -> dict[str, str]:
    """With which a page is served that is made of data."""
    return {"Content-Security-Policy": PAPER_POLICY, "X-Frame-Options": "SAMEORIGIN"}


def _zipped(folder: Folder) -> IO[bytes]:
    """A release as an archive: the files that its manifest names, each of which is what it says, and no others.

    One that is a single file is given as a folder, too.
    """
    if folder.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            return _zipped(Release.load(folder).save(Folder(scratch) / "release"))
    archive: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # closed when it was sent
    with zipfile.ZipFile(archive, "w") as packed:
        for name in sorted({*verified(folder), MANIFEST}):
            entry = zipfile.ZipInfo(name, _EARLY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with (folder / name).open("rb") as file, packed.open(entry, "w", force_zip64=True) as place:
                shutil.copyfileobj(file, place)
    archive.seek(0)
    return archive


def _rows(folder: Folder) -> tuple[pa.Schema, Iterator[pa.RecordBatch]] | None:
    """The rows of a release, a few at a time; ``None``, if it is not a table."""
    if folder.is_file():
        payload = Release.load(folder).payload
        return (payload.schema, iter(payload.to_batches())) if isinstance(payload, pa.Table) else None
    if "payload.parquet" not in verified(folder):
        return None
    file = pq.ParquetFile(folder / "payload.parquet")
    return file.schema_arrow, file.iter_batches()


def _csv(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Rows as CSV, a few at a time."""
    held = pa.BufferOutputStream()
    write_csv(_flat(schema.empty_table()), held)
    yield held.getvalue().to_pybytes()
    for batch in batches:
        held = pa.BufferOutputStream()
        write_csv(_flat(pa.Table.from_batches([batch])), held, header=False)
        yield held.getvalue().to_pybytes()


def _flat(rows: pa.Table) -> pa.Table:
    """Rows with lists, which CSV does not have, as JSON."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_nested(field.type):
            said = [None if one is None else json.dumps(one, ensure_ascii=False) for one in rows[place].to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(said, pa.string()))
    return rows


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece

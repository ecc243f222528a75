"""A release as one file, which is how a workspace keeps an answer: written at once, and with few writes to the disk.

    {"format": 1, "release": 1, "sha256": "…"}   this layout's version, that of the papers, the hash of all that follows
    {"statement.json": …, "recipe.json": …, …}   what those files of a folder hold (``core/release.py``), on one line
    …                                            the payload, if it is a table, as an Arrow stream

Its report is made when someone asks for it. As with a folder, the hash shows accidents; whether it is the file that
was given is decided by a digest kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core import document
from discreet.core.document import Format, flush_name, write
from discreet.core.release import FORMAT as PAPERS
from discreet.core.release import Release, Rows, from_papers, papers_of
from discreet.errors import BadInput, Damaged, NotFound

FORMAT: Format[dict[str, Any]] = Format("answer")
"""A step is given the first line."""
_PAYLOAD = "payload.json"
_BEGINNING = re.compile(rb'\{"format":\d+,("discreet":"[^"]*",)?"release":')
_MOST_BYTES = 1 << 20
"""Of a table: a larger one is read a few rows at a time, which a folder allows."""


def fits(release: Release[Any]) -> bool:
    """Whether a file can hold all of a release: it is small, and nothing but its report would show how it looks."""
    large = release.payload.nbytes > _MOST_BYTES if isinstance(release.payload, pa.Table) else False
    return not large and not isinstance(release.payload, Rows) and release.also is None and not release.layout


def save_file(release: Release[Any], place: Path) -> str:
    """Write a release that ``fits`` to ``place``, which must be free, for its owner alone: all of it or nothing.

    Once this returns, it is there for good, also if the power fails. What is returned is the SHA-256 of the file.
    """
    data = _dump(release)
    scratch = place.with_name(f".discreet-{os.getpid()}-{threading.get_ident()}-{time.time_ns()}")
    try:
        try:
            write(scratch, data, private=True)
            os.link(scratch, place)  # which takes no one else's place, as a move would
        finally:
            scratch.unlink(missing_ok=True)
        flush_name(place)
    except OSError as error:
        raise BadInput(f"The release could not be written to {place}: {error.strerror or error}.") from error
    return hashlib.sha256(data).hexdigest()


def load_file(place: Path, *, payload: bool = True) -> Release[Any]:
    """The release in a file, after all of it was found to be what was written; on request without its payload."""
    parts, rows = _read(place)
    try:
        found = _payload(parts, rows, place) if payload else {}
        return from_papers(lambda name, build: build(parts[name]), parts, found)
    except (BadInput, KeyError) as error:
        raise Damaged(f"{place} does not hold a release: {error}") from error


def file_digest(place: Path) -> str:
    """What ``save_file`` returned."""
    return hashlib.sha256(place.read_bytes()).hexdigest()


def is_release_file(place: Path) -> bool:
    """Whether a file looks like one of these."""
    with place.open("rb") as file:
        return _BEGINNING.match(file.read(100)) is not None


def _dump(release: Release[Any]) -> bytes:
    parts = papers_of(release)
    rows = b""
    if isinstance(release.payload, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, release.payload.schema) as writer:
            writer.write_table(release.payload)
        rows = sink.getvalue().to_pybytes()
    else:
        parts[_PAYLOAD] = release.payload
    papers = document.dumps(parts, compact=True).encode()
    digest = hashlib.sha256(papers + rows).hexdigest()
    head = FORMAT.mark() | {"release": PAPERS.version, "sha256": digest}
    return document.dumps(head, compact=True).encode() + papers + rows


def _read(place: Path) -> tuple[dict[str, Any], bytes]:
    """The papers, up to date, and the bytes behind them."""
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"There is no file {place}.") from None
    first, _, rest = data.partition(b"\n")
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise Damaged(f"{place} does not hold a release.")
    head = FORMAT.read(head, place)
    try:
        document.fields(head, "its first line", release=int, sha256=str)
        if hashlib.sha256(rest).hexdigest() != head["sha256"]:
            raise Damaged(f"{place} was changed after it was saved.", hint="Restore it from a backup.")
        papers, _, rows = rest.partition(b"\n")
        parts = document.loads(papers.decode())
        for name in parts:
            only = {name: parts[name]}
            PAPERS.migrate(only, head["release"], place)
            parts[name] = only[name]
    except (BadInput, UnicodeDecodeError) as error:
        raise Damaged(f"{place} does not hold a release: {error}") from error
    return parts, rows


def _payload(parts: dict[str, Any], rows: bytes, place: Path) -> Any:
    if _PAYLOAD in parts:
        return parts[_PAYLOAD]
    try:
        return pa.ipc.open_stream(rows).read_all()
    except (pa.ArrowException, OSError) as error:
        raise Damaged(f"{place} does not hold a release: {error}") from error

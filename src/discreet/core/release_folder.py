"""A release as a folder that can be handed over, and back.

    payload.parquet    the payload, if it is a table (and payload.csv beside it, for people, if asked for)
    payload.json       the payload, if it is anything else
    statement.json     what is promised
    recipe.json        how it was made
    receipt.json       the ledger's line, if there is one
    presentation.json  title and pictures
    report.html        all of it as one page that opens offline
    manifest.json      the format's version; size and SHA-256 of every other file

The hashes show accidents and careless tampering. They do not stop a forger, who can write a new manifest:
whoever needs that compares the manifest, or the ledger's line, with one obtained another way.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core import document, report
from discreet.core.atomic_files import FOLDER, give_name, make_private, write
from discreet.core.formats import Format
from discreet.core.picture import Picture
from discreet.core.recipe import Recipe
from discreet.core.release import Receipt, Release
from discreet.core.spreadsheet import write_csv
from discreet.core.statement import Statement
from discreet.errors import BadInput, Damaged, DataError, NotFound

FORMAT: Format[dict[str, Any]] = Format("release")
"""A step is given one JSON file of a release at a time, by its name: ``{"statement.json": …}``."""
_T = TypeVar("_T")
MANIFEST = "manifest.json"
_ALWAYS = frozenset({"statement.json", "recipe.json", "presentation.json", "report.html"})
_PAYLOADS = (
    frozenset({"payload.parquet"}),
    frozenset({"payload.parquet", "payload.csv"}),
    frozenset({"payload.json"}),
)


@dataclass(frozen=True)
class Rows:
    """A table too large to be held: a Parquet file, which moves into the folder its release is saved in."""

    path: Path

    def __str__(self) -> str:
        with pq.ParquetFile(self.path) as file:
            names = file.schema_arrow.names
            return f"a table of {file.metadata.num_rows:,} rows and {len(names):,} columns: {', '.join(names)}"


def is_release(folder: str | Path) -> bool:
    """Whether a folder holds a release."""
    return (Path(folder) / MANIFEST).is_file()


def with_rows(release: Release[Any]) -> Release[Any]:
    """The same release with its rows at hand, if they are in a folder; they are checked against their hash."""
    if isinstance(release.payload, Rows):
        return replace(release, payload=load(release.payload.path.parent).payload)
    return release


def write_rows(table: pa.Table, where: Any) -> None:
    """Write rows as they are saved: the same bytes for the same rows, so that they can be told by their hash."""
    pq.write_table(table, where, compression="zstd")


def save(
    release: Release[Any],
    folder: Path,
    *,
    csv: bool = False,
    private: bool = False,
    before_named: Callable[[Path], None] = lambda scratch: None,
) -> str:
    """Write a release to ``folder``, which must be new or empty: all of it or, on any failure, nothing.

    A ``private`` one is for its owner alone: others may read it once it is given to them. ``before_named`` is called
    with the complete folder before it gets its name.
    Once this returns, it is there for good, also if the power fails. What is returned tells it from all others: the
    SHA-256 of its manifest.
    """
    folder = folder.resolve()
    if not folder.parent.is_dir():
        raise NotFound(f"There is no folder {folder.parent} to put {folder.name} in.")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(f"{folder} exists and is not an empty folder.", hint="Save to a new folder.")
    scratch = folder.with_name(f".discreet-{os.getpid()}-{threading.get_ident()}-{time.time_ns()}")
    try:
        scratch.mkdir(mode=FOLDER if private else 0o777)
        try:
            written = _write(release, scratch, csv=csv)
            if private:
                make_private(scratch)
            before_named(scratch)
            give_name(scratch, folder)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    except OSError as error:
        raise BadInput(f"The release could not be written to {folder}: {error.strerror or error}.") from error
    return written


def manifest_digest(folder: Path) -> str:
    """What ``save`` returned for the release in ``folder``."""
    return _digest((folder / MANIFEST).read_bytes())


def load(folder: Path) -> Release[Any]:
    """The release in ``folder``, after every file was found to be what the manifest says."""
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    names = verified(folder)
    return _loaded(folder, names, _payload(folder, names))


def load_papers(folder: Path) -> Release[Any]:
    """A release without what is in it, however large that is; of the files those that are read are checked."""
    listed = _listed(folder)
    names = frozenset(name for name in listed if name.endswith(".json") and not name.startswith("payload."))
    for name in sorted(names):
        _require_saved(folder, name, listed[name])
    return _loaded(folder, names, {})


def _loaded(folder: Path, names: frozenset[str], payload: object) -> Release[Any]:
    version, _ = _manifest(folder)
    presentation = _read(
        folder, "presentation.json", lambda data: document.fields(data, "it", title=str, pictures=list), version
    )
    try:
        return Release(
            payload,
            _read(folder, "statement.json", Statement.from_dict, version),
            _read(folder, "recipe.json", Recipe.from_dict, version),
            _read(folder, "receipt.json", Receipt.from_dict, version) if "receipt.json" in names else None,
            tuple(Picture.from_dict(picture) for picture in presentation["pictures"]),
            presentation["title"],
        )
    except BadInput as error:
        raise Damaged(f"{folder} does not hold a release: {error}") from error


def _write(release: Release[Any], folder: Path, *, csv: bool) -> str:
    """Write all files, each to the disk; the digest of the manifest."""
    presentation = {"title": release.title, "pictures": [picture.to_dict() for picture in release.pictures]}
    parts: dict[str, object] = {
        "statement.json": release.statement.to_dict(),
        "recipe.json": release.recipe.to_dict(),
        "presentation.json": presentation,
    }
    if release.receipt is not None:
        parts["receipt.json"] = release.receipt.to_dict()
    contents: dict[str, bytes | memoryview] = {}
    if isinstance(release.payload, pa.Table):
        contents["payload.parquet"] = _parquet(release.payload)
        if csv:
            _write_csv(release.payload, folder)
    elif isinstance(release.payload, Rows):
        release = replace(release, payload=_move_rows(release.payload, folder, csv=csv))
    elif csv:
        raise BadInput("Only a table can be saved as CSV.", hint="Leave csv out.")
    else:
        parts["payload.json"] = release.payload
    files = {path.name: _fingerprint(path, flush=True) for path in folder.iterdir()}
    contents |= {name: document.dumps(part).encode() for name, part in parts.items()}
    contents["report.html"] = report.render(release).encode()
    for name, data in contents.items():
        write(folder / name, data)
        files[name] = {"sha256": _digest(data), "bytes": len(data)}
    manifest = document.dumps(FORMAT.mark() | {"files": dict(sorted(files.items()))}).encode()
    write(folder / MANIFEST, manifest)
    return _digest(manifest)


def _parquet(table: pa.Table) -> memoryview:
    written = pa.BufferOutputStream()
    try:
        write_rows(table, written)
    except pa.ArrowException as error:
        raise DataError(f"The table cannot be saved: {error}.") from error
    data = written.getvalue()
    for field, saved in zip(table.schema, pq.read_schema(pa.BufferReader(data)), strict=True):
        if field.type != saved.type:
            raise DataError(
                f"Column {field.name!r} is {field.type}, which Parquet keeps as {saved.type}.",
                hint="Cast it first, so that nothing is lost unseen.",
            )
    return memoryview(data)


def _write_csv(table: pa.Table, folder: Path) -> None:
    try:
        write_csv(table, folder / "payload.csv")
    except pa.ArrowException as error:
        raise DataError(f"The table cannot be saved: {error}.") from error


def _move_rows(rows: Rows, folder: Path, *, csv: bool) -> Rows:
    """Rows are neither read again nor held; as CSV they pass through a few at a time."""
    place = folder / "payload.parquet"
    shutil.move(rows.path, place)
    if csv:
        with pq.ParquetFile(place) as file, (folder / "payload.csv").open("wb") as sink:
            write_csv(file.schema_arrow.empty_table(), sink)
            for batch in file.iter_batches():
                write_csv(pa.Table.from_batches([batch]), sink, header=False)
    return Rows(place)


def verified(folder: Path) -> frozenset[str]:
    """The names of the files, each of which is there, whole, and expected."""
    listed = _listed(folder)
    names = frozenset(listed)
    payload = frozenset(name for name in names if name.startswith("payload."))
    if payload not in _PAYLOADS or names - payload - {"receipt.json"} != _ALWAYS:
        raise Damaged(f"{MANIFEST} in {folder} does not list the files of a release.")
    found = {path.name for path in folder.iterdir()} - {MANIFEST}
    for name in sorted(found - names):
        raise Damaged(f"{name} in {folder} is not part of the release.", hint="Take it away and try again.")
    for name in sorted(names):
        if name not in found:
            raise Damaged(f"{name} is missing from {folder}.")
        _require_saved(folder, name, listed[name])
    return names


def _require_saved(folder: Path, name: str, listed: object) -> None:
    if not (folder / name).is_file() or _fingerprint(folder / name) != listed:
        raise Damaged(f"{name} in {folder} is not what was saved.", hint="Get the release again.")


def _listed(folder: Path) -> dict[str, Any]:
    _, manifest = _manifest(folder)
    try:
        return dict(document.fields(manifest, MANIFEST, files=dict)["files"])
    except BadInput as error:
        raise Damaged(f"{folder} is damaged: {error}") from error


def _manifest(folder: Path) -> tuple[int, dict[str, Any]]:
    """The format version of a release as it was saved, and its manifest, up to date."""
    if not is_release(folder):
        if not (folder / "statement.json").exists():
            raise NotFound(f"{folder} is no release.", hint="A release is a folder that discreet wrote as a whole.")
        raise Damaged(f"{MANIFEST} is missing from {folder}.")
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{MANIFEST} in {folder} cannot be read: {error}.") from error
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise Damaged(f"{MANIFEST} in {folder} is not the manifest of a release.")
    version, needs, files = manifest.pop("format"), manifest.pop("discreet", ""), {MANIFEST: manifest}
    FORMAT.migrate(files, version, folder, needs)
    return version, files[MANIFEST]


def _read(folder: Path, name: str, build: Callable[[object], _T], version: int) -> _T:
    try:
        files = {name: document.loads((folder / name).read_text(encoding="utf-8"))}
        FORMAT.migrate(files, version, folder)
        return build(files[name])
    except (BadInput, UnicodeDecodeError) as error:
        raise Damaged(f"{name} in {folder} cannot be read: {error}") from error


def _payload(folder: Path, names: frozenset[str]) -> object:
    if "payload.json" in names:
        return _read(folder, "payload.json", lambda value: value, _manifest(folder)[0])
    try:
        with pq.ParquetFile(folder / "payload.parquet") as file:  # read_table would add columns for a=b in the path
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise Damaged(f"payload.parquet in {folder} cannot be read: {error}") from error


def _fingerprint(path: Path, *, flush: bool = False) -> dict[str, object]:
    with path.open("rb", buffering=0) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if flush:
            os.fsync(file.fileno())
        return {"sha256": digest, "bytes": file.tell()}


def _digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()

"""The release, the only thing that leaves: a payload with its statement, recipe and receipt, saved as a folder.

    payload.parquet    the payload, if it is a table (and payload.csv beside it, for people, if asked for)
    linked.parquet     a second table of the same people, if there is one (and linked.csv)
    payload.json       the payload, if it is anything else
    statement.json     what is promised
    recipe.json        how it was made
    receipt.json       the ledger's line, if there is one
    presentation.json  title and pictures
    report.html        all of it as one page that opens offline
    manifest.json      the format's version; size and SHA-256 of every other file

A workspace keeps small ones as one file each (``core/release_file.py``), which is loaded in the same way.

The hashes show accidents and careless tampering. They do not stop a forger, who can write a new manifest:
anyone who needs that compares the manifest, or the ledger's line, with one obtained another way.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core import document, release_extras, report
from discreet.core import loss as losses
from discreet.core.document import FOLDER, Format, fields, give_name, make_private, write
from discreet.core.holder_copy import HolderCopy
from discreet.core.loss import Loss
from discreet.core.markup import Markup, markup
from discreet.core.report import Picture
from discreet.core.spreadsheet import write_csv
from discreet.core.statement import Recipe, Statement
from discreet.errors import BadInput, Damaged, DataError, NoPromise, NotFound

T = TypeVar("T")
_ROW_GROUP = 1 << 19
"""Rows of a table that are held while it is written to a file."""


@dataclass(frozen=True)
class Receipt:
    """The ledger's line for a release: what was charged, to whom, when."""

    account: str
    key: str
    """Charging twice under one key charges once."""
    loss: Loss
    line: int
    digest: str
    """The ledger's hash of this line and all before it."""
    at: dt.datetime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise BadInput("The time on a receipt needs its offset from UTC.")

    def __str__(self) -> str:
        at = self.at.isoformat(sep=" ", timespec="seconds")
        return f"{self.loss} charged to {self.account} (line {self.line}, {at})"

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        written = {"loss": self.loss.to_dict(), "at": self.at.isoformat()}
        return {name: written.get(name, getattr(self, name)) for name in self.__match_args__}

    @classmethod
    def from_dict(cls, data: object) -> Receipt:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "a receipt", account=str, key=str, loss=dict, line=int, digest=str, at=str)
        try:
            at = dt.datetime.fromisoformat(read["at"])
        except ValueError:
            raise BadInput(f"a receipt: {read['at']!r} is not a time.") from None
        return cls(**(read | {"loss": losses.from_dict(read["loss"]), "at": at}))


@dataclass(frozen=True, repr=False)
class Release(Generic[T]):
    """A payload with what it promises, how it was made and what was charged for it.

    A table in it is bare: dictionaries are decoded and metadata dropped, because both may still hold
    values of rows that are not in the table; how near synthetic rows are stays (``core/release_extras.py``). A
    release made with a seed carries no loss and no secrecy, since these depend on randomness no one can
    repeat; privacy models checked on the output may stay.
    """

    payload: T
    """An Arrow table, or data that ``core/document.py`` can write exactly."""
    statement: Statement
    recipe: Recipe
    receipt: Receipt | None = None
    pictures: tuple[Picture, ...] = ()
    title: str = ""
    layout: Markup = field(default=Markup(), compare=False)
    """The payload as HTML for the report, if there is a better way to show it than as rows; not saved by itself."""
    holder: HolderCopy | None = field(default=None, compare=False)
    """What stays with the holder of the data. It is never saved with the release."""
    notices: tuple[str, ...] = field(default=(), compare=False)
    """What the holder should know before handing it over, such as earlier releases of the same people; not saved."""
    also: pa.Table | Rows | None = None
    """A second table of the same people, whose rows a pseudonym links to those of the payload."""

    def __post_init__(self) -> None:
        secret = self.statement.loss is not None or self.statement.secrecy is not None
        if secret and self.recipe.seed is not None:
            raise NoPromise(
                "A release made with a seed cannot promise a privacy loss or secrecy: anyone who knows the "
                "seed can remove the noise.",
                hint="Leave the seed out, or promise only what was checked on the output.",
            )
        if self.statement.loss is not None and self.recipe.from_data:
            raise NoPromise(
                f"A release cannot promise a privacy loss on parameters taken from the data: "
                f"{', '.join(self.recipe.from_data)}.",
                hint="Declare it on the card.",
            )
        if type(self.payload).__name__ in ("DataFrame", "LazyFrame", "Table") and not isinstance(
            self.payload, pa.Table
        ):
            raise BadInput(
                f"A {type(self.payload).__name__} cannot be released as it is.",
                hint="Make it an Arrow table: payload() of a discreet table, pyarrow.table(frame) of a data frame.",
            )
        object.__setattr__(self, "title", self.title or self.recipe.method)
        if isinstance(self.payload, pa.Table):
            object.__setattr__(self, "payload", _bare(self.payload))
        if isinstance(self.also, pa.Table):
            object.__setattr__(self, "also", _bare(self.also))

    @classmethod
    def unpromised(cls, payload: T) -> Release[T]:
        """Rows as an intruder would have them who was told nothing else; nothing of it may leave."""
        return cls(payload, Statement(unit="row"), Recipe("unpromised"))

    @property
    def private(self) -> bool:
        """Whether this may be called private: something is promised, and no seed undoes it."""
        return self.statement.private and self.recipe.seed is None and not self.recipe.from_data

    @property
    def links(self) -> Any:
        """For each released row the original's row number, from 0, as the holder's copy has it; ``None`` without it."""
        return self.holder.links if self.holder is not None else None

    @property
    def promise(self) -> str:
        """The statement in plain words, and the seed if there is one."""
        return " ".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The same, what is promised first, and whatever else is to be known in a line each."""
        said = list(self.statement.lines)
        if self.recipe.seed is not None:
            said.append(f"Made with seed {self.recipe.seed}: every random choice can be repeated.")
        if self.recipe.from_data:
            said.append(f"Taken from the data: {', '.join(self.recipe.from_data)}.")
        if self.statement.private and not self.private:
            said[-1] += " So this release is not differentially private."
        return tuple(said)

    def save(self, folder: str | Path, *, csv: bool = False) -> Path:
        """Write the release to a folder that is new or empty."""
        save(self, Path(folder), csv=csv)
        return Path(folder).resolve()

    @staticmethod
    def load(folder: str | Path) -> Release[Any]:
        """The release in ``folder``, every file checked against its hash."""
        return load(Path(folder))

    def __str__(self) -> str:
        if isinstance(self.payload, pa.Table):
            payload = f"a table of {self.payload.num_rows:,} rows and {self.payload.num_columns:,} columns"
        else:
            payload = report.shortened(str(self.payload), 200)
        parts = [self.title, *self.lines, f"payload: {payload}", str(self.recipe)]
        if self.receipt is not None:
            parts.append(f"receipt: {self.receipt}")
        if self.holder is not None:
            parts.append(str(self.holder))
        parts += self.notices
        return "\n".join(parts)

    def __repr__(self) -> str:
        promised = str(self.statement.loss) if self.statement.loss is not None else ""
        promised = promised or ", ".join(claim.text for claim in self.statement.models) or "no loss promised"
        return f"<{type(self).__name__} {self.title!r}: {promised}>"

    def _repr_html_(self) -> str:
        holder = self.holder.draw() if self.holder is not None else None
        return markup(holder, report.notes(self.notices), report.fragment(cast("Release[object]", self)))


def _bare(table: pa.Table) -> pa.Table:
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"The table has two columns called {name!r}.", hint="Rename one of them.")
    plain = []
    for column in table.schema:
        kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
        if _holds_dictionary(kind):
            raise DataError(
                f"Column {column.name!r} holds dictionaries inside lists or structs.",
                hint=f"Cast it from {column.type} to plain values.",
            )
        plain.append(pa.field(column.name, kind, nullable=column.nullable))
    return table.cast(pa.schema(plain)).replace_schema_metadata(release_extras.kept(table.schema.metadata, names))


def _holds_dictionary(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.DictionaryType):
        return True
    return any(_holds_dictionary(kind.field(index).type) for index in range(kind.num_fields))


# -- a release as a folder

FORMAT: Format[dict[str, Any]] = Format("release")
"""A step is given one JSON file of a release at a time, by its name: ``{"statement.json": …}``."""
_T = TypeVar("_T")
MANIFEST = "manifest.json"
_ALWAYS = frozenset({"statement.json", "recipe.json", "presentation.json", "report.html"})
LINKED = "linked.parquet"
_PAYLOADS = (
    frozenset({"payload.parquet"}),
    frozenset({"payload.parquet", "payload.csv"}),
    frozenset({"payload.json"}),
    frozenset({"payload.parquet", LINKED}),
    frozenset({"payload.parquet", "payload.csv", LINKED, "linked.csv"}),
)


@dataclass(frozen=True)
class Rows:
    """A table too large to be held: a Parquet file, which moves into the folder its release is saved in."""

    path: Path

    @classmethod
    def written(cls, reader: pa.RecordBatchReader, place: Path) -> Rows:
        """All batches in one file, in row groups of about ``_ROW_GROUP`` rows."""
        with pq.ParquetWriter(place, reader.schema, compression="zstd") as writer:
            held: list[pa.RecordBatch] = []
            for batch in reader:
                held.append(batch)
                if sum(one.num_rows for one in held) >= _ROW_GROUP:
                    writer.write_table(pa.Table.from_batches(held))
                    held = []
            if held:
                writer.write_table(pa.Table.from_batches(held))
        return cls(place)

    def __str__(self) -> str:
        with pq.ParquetFile(self.path) as file:
            names = file.schema_arrow.names
            return f"a table of {file.metadata.num_rows:,} rows and {len(names):,} columns: {', '.join(names)}"


def is_release(folder: str | Path) -> bool:
    """Whether a folder holds a release, or a file is one."""
    folder = Path(folder)
    if folder.is_file():
        from discreet.core.release_file import is_release_file

        return is_release_file(folder)
    return (folder / MANIFEST).is_file()


def with_rows(release: Release[Any]) -> Release[Any]:
    """The same release with its rows at hand, if they are in a folder; they are checked against their hash."""
    if isinstance(release.payload, Rows):
        found = load(release.payload.path.parent)
        return replace(release, payload=found.payload, also=found.also)
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
    """What ``save`` returned for the release in ``folder``; for one that is a file, what ``save_file`` did."""
    if folder.is_file():
        from discreet.core.release_file import file_digest  # which is written in terms of this module

        return file_digest(folder)
    return _digest((folder / MANIFEST).read_bytes())


def report_page(folder: Path) -> bytes:
    """The report of a release: as it was saved, or made now for a release that is one file."""
    if folder.is_file():
        return report.render(load(folder)).encode()
    verified(folder)
    return (folder / "report.html").read_bytes()


def load(folder: Path) -> Release[Any]:
    """The release in ``folder``, after every file was found to be what the manifest says; or in that one file."""
    if folder.is_file():
        from discreet.core.release_file import load_file

        return load_file(folder)
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    names = verified(folder)
    return _loaded(folder, names, _payload(folder, names))


def load_papers(folder: Path) -> Release[Any]:
    """A release without what is in it, however large that is; of the files those that are read are checked."""
    if folder.is_file():
        from discreet.core.release_file import load_file

        return load_file(folder, payload=False)
    listed = _listed(folder)
    names = frozenset(name for name in listed if name.endswith(".json") and not name.startswith("payload."))
    for name in sorted(names):
        _require_saved(folder, name, listed[name])
    return _loaded(folder, names, {})


def _loaded(folder: Path, names: frozenset[str], payload: object) -> Release[Any]:
    version, _ = _manifest(folder)
    also = _rows_in(folder, LINKED) if LINKED in names else None
    try:
        return from_papers(lambda name, build: _read(folder, name, build, version), names, payload, also)
    except BadInput as error:
        raise Damaged(f"{folder} does not hold a release: {error}") from error


def papers_of(release: Release[Any]) -> dict[str, object]:
    """The release without its rows, as plain data by the names of its files."""
    papers: dict[str, object] = {
        "statement.json": release.statement.to_dict(),
        "recipe.json": release.recipe.to_dict(),
        "presentation.json": {
            "title": release.title,
            "pictures": [picture.to_dict() for picture in release.pictures],
        },
    }
    return papers if release.receipt is None else papers | {"receipt.json": release.receipt.to_dict()}


def from_papers(
    read: Callable[[str, Callable[[object], Any]], Any],
    names: Container[str],
    payload: object,
    also: pa.Table | None = None,
) -> Release[Any]:
    """The release that ``papers_of`` described: ``read`` builds an object from what stands under the name of a file."""
    shown = read("presentation.json", lambda data: document.fields(data, "it", title=str, pictures=list))
    return Release(
        payload,
        read("statement.json", Statement.from_dict),
        read("recipe.json", Recipe.from_dict),
        read("receipt.json", Receipt.from_dict) if "receipt.json" in names else None,
        tuple(Picture.from_dict(picture) for picture in shown["pictures"]),
        shown["title"],
        also=also,
    )


def _write(release: Release[Any], folder: Path, *, csv: bool) -> str:
    """Write all files, each to the disk; the digest of the manifest."""
    parts = papers_of(release)
    contents: dict[str, bytes | memoryview] = {}
    if isinstance(release.payload, pa.Table):
        contents["payload.parquet"] = _parquet(release.payload)
        if csv:
            _write_csv(release.payload, folder / "payload.csv")
    elif isinstance(release.payload, Rows):
        release = replace(release, payload=_move_rows(release.payload, folder / "payload.parquet", csv=csv))
    elif csv:
        raise BadInput("Only a table can be saved as CSV.", hint="Leave csv out.")
    else:
        parts["payload.json"] = release.payload
    if isinstance(release.also, pa.Table):
        contents[LINKED] = _parquet(release.also)
        if csv:
            _write_csv(release.also, folder / "linked.csv")
    elif release.also is not None:
        release = replace(release, also=_move_rows(release.also, folder / LINKED, csv=csv))
    files = {path.name: _fingerprint(path, flush=True) for path in folder.iterdir()}
    contents |= {name: document.dumps(part).encode() for name, part in parts.items()}
    contents["report.html"] = report.render(release).encode()
    files |= {name: {"sha256": _digest(data), "bytes": len(data)} for name, data in contents.items()}
    contents[MANIFEST] = manifest = document.dumps(FORMAT.mark() | {"files": dict(sorted(files.items()))}).encode()
    with ThreadPoolExecutor(len(contents)) as pool:  # a disk makes many files durable in the time of one
        list(pool.map(lambda name: write(folder / name, contents[name]), contents))
    return _digest(manifest)


def _parquet(table: pa.Table) -> memoryview:
    written = pa.BufferOutputStream()
    try:
        write_rows(table, written)
    except pa.ArrowException as error:
        raise DataError(f"The table cannot be saved: {error}.") from error
    data = written.getvalue()
    for column, saved in zip(table.schema, pq.read_schema(pa.BufferReader(data)), strict=True):
        if column.type != saved.type:
            raise DataError(
                f"Column {column.name!r} is {column.type}, which Parquet keeps as {saved.type}.",
                hint="Cast it first, so that nothing is lost silently.",
            )
    return memoryview(data)


def _write_csv(table: pa.Table, place: Path) -> None:
    try:
        write_csv(table, place)
    except pa.ArrowException as error:
        raise DataError(f"The table cannot be saved: {error}.") from error


def _move_rows(rows: Rows, place: Path, *, csv: bool) -> Rows:
    """Rows are neither read again nor held; as CSV they pass through a few at a time."""
    shutil.move(rows.path, place)
    if csv:
        with pq.ParquetFile(place) as file, place.with_suffix(".csv").open("wb") as sink:
            write_csv(file.schema_arrow.empty_table(), sink)
            for batch in file.iter_batches():
                write_csv(pa.Table.from_batches([batch]), sink, header=False)
    return Rows(place)


def verified(folder: Path) -> frozenset[str]:
    """The names of the files, each of which is there, whole, and expected."""
    listed = _listed(folder)
    names = frozenset(listed)
    payload = frozenset(name for name in names if name.startswith(("payload.", "linked.")))
    if payload not in _PAYLOADS or names - payload - {"receipt.json"} != _ALWAYS:
        raise Damaged(f"{MANIFEST} in {folder} does not list the files of a release.")
    found = {path.name for path in folder.iterdir()} - {MANIFEST}
    for name in sorted(found - names):
        raise Damaged(f"{name} in {folder} is not part of the release.", hint="Remove it and try again.")
    for name in sorted(names):
        if name not in found:
            raise Damaged(f"{name} is missing from {folder}.")
        _require_saved(folder, name, listed[name])
    return names


def _require_saved(folder: Path, name: str, listed: object) -> None:
    if not (folder / name).is_file() or _fingerprint(folder / name) != listed:
        raise Damaged(f"{name} in {folder} was changed after it was saved.", hint="Get a fresh copy of the release.")


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
            raise NotFound(f"{folder} is not a release.", hint="Name a folder that discreet wrote as a release.")
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
    return _rows_in(folder, "payload.parquet")


def _rows_in(folder: Path, name: str) -> pa.Table:
    try:
        with pq.ParquetFile(folder / name) as file:  # read_table would add columns for a=b in the path
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise Damaged(f"{name} in {folder} cannot be read: {error}") from error


def _fingerprint(path: Path, *, flush: bool = False) -> dict[str, object]:
    with path.open("rb", buffering=0) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if flush:
            os.fsync(file.fileno())
        return {"sha256": digest, "bytes": file.tell()}


def _digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()

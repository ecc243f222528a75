"""The holder's copy of a release: what stays with the steward and must never leave (links, keys, evidence, findings).

One shape for all verbs and one file format: a Parquet file of rows, with the notes and the page as its metadata, that
only its owner may read. It is written together with the release, and never inside the release's folder.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.document import fields, flush_name, open_private
from discreet.core.markup import Markup
from discreet.core.report import page as as_page
from discreet.errors import BadInput, DataError, NotFound

FORMAT = 1
LINK = "row"
"""The column of links: for each released row the original's row number, from 0."""
_METADATA = "discreet.holder"
_FIELDS = {"format": int, "kind": str, "title": str, "release": str, "notes": dict, "page": str}


def _nothing() -> Markup:
    """Contents of its page as HTML; empty by default."""
    return Markup()


@dataclass(frozen=True, repr=False)
class HolderCopy:
    """The confidential copy of a release that stays with the data holder."""

    kind: str
    """What the rows are: ``links``, ``recoding``, ``findings``, ``generators``, ``cells``, ``changes``."""
    rows: pa.Table
    notes: Mapping[str, str] = field(default_factory=dict)
    """Facts by name, as texts."""
    draw: Callable[[], Markup | str] = field(default=_nothing, compare=False)
    """HTML of the parts that a person looks at; made when it is asked for."""
    details: Any = field(default=None, compare=False)
    """The same for programs: the verb's own object, which is never written."""
    title: str = ""
    release: str = ""
    """SHA-256 of the released rows, which tells a release from all others."""

    def __str__(self) -> str:
        said = [f"Confidential holder's copy ({self.kind}, {self.rows.num_rows:,} rows):"]
        return "\n".join([*said, *(f"{name}: {value}" for name, value in self.notes.items())])

    __repr__ = __str__

    @property
    def links(self) -> np.ndarray[Any, Any] | None:
        """For each released row the original's row number, from 0, if the rows are links."""
        return self.rows.column(LINK).to_numpy() if self.kind == "links" else None

    def page(self) -> str:
        """All that a person looks at, as HTML that opens offline. It must never leave."""
        return as_page(f"{self.title} (confidential)", self.draw())

    def _repr_html_(self) -> str:
        return self.draw()

    def save(self, place: str | Path) -> None:
        """Write the file, all of it or nothing; an error if there is one already."""
        with self.saving(place):
            pass

    @contextmanager
    def saving(self, place: str | Path) -> Iterator[None]:
        """Write the file; it gets its name once the block ended well, and is gone if it did not."""
        final = Path(place).absolute()
        if final.exists():
            raise BadInput(f"There is a file {place} already.", hint="Name another, or move it away.")
        waiting = _waiting(final)
        waiting.unlink(missing_ok=True)  # of a process that was stopped
        said = {"format": FORMAT, "kind": self.kind, "title": self.title, "release": self.release}
        told = json.dumps(said | {"notes": dict(self.notes), "page": self.draw()})
        try:
            with open_private(waiting) as file, pq.ParquetWriter(file, self.rows.schema) as writer:
                writer.write_table(self.rows)
                writer.add_key_value_metadata({_METADATA: told})
            yield
            waiting.rename(final)
            flush_name(final)
        finally:
            waiting.unlink(missing_ok=True)


def read_holder_copy(place: str | Path) -> HolderCopy:
    """Read a holder's copy from a file; ``draw`` gives its page as it was written.

    That of a process that was stopped before the copy got its name is found, too.
    """
    file_at = Path(place) if Path(place).is_file() else _waiting(Path(place).absolute())
    if not file_at.is_file():
        raise NotFound(f"There is no file {place}.")
    try:
        with pq.ParquetFile(file_at) as file:
            rows, told = file.read(), (file.metadata.metadata or {}).get(_METADATA.encode())
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{place} cannot be read: {error}.") from error
    try:
        said = fields(json.loads(told or b""), "a holder's copy", **_FIELDS)
    except (ValueError, BadInput):
        raise DataError(f"{place} is not the holder's copy of a release.") from None
    if said["format"] > FORMAT:
        raise DataError(f"{place} has format {said['format']}.", hint="Install a later version of discreet.")
    plain = rows.replace_schema_metadata(None)
    return HolderCopy(
        said["kind"], plain, said["notes"], draw=lambda: said["page"], title=said["title"], release=said["release"]
    )


def _waiting(final: Path) -> Path:
    """Where a holder's copy is until its release has its name."""
    return final.with_name(f".discreet-{final.name}")


def fingerprint(release: Path | pa.Table) -> str:
    """SHA-256 of the rows of a release, in its folder or as they will be saved; empty for a release without rows."""
    if isinstance(release, pa.Table):
        digest = _Digest()
        pq.write_table(release, cast("Any", digest), compression="zstd")  # as core/release.py writes rows
        return digest.sha256.hexdigest()
    place = release / "payload.parquet"
    if not place.is_file():
        return ""
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def holder_file(folder: str | Path) -> Path:
    """Where the holder's copy of the release in ``folder`` lies, unless someone put it elsewhere: beside it."""
    place = Path(folder).absolute()
    return place.with_name(f"{place.name}.holder.parquet")


def belongs(copy: HolderCopy, release: Path | pa.Table) -> bool:
    """Whether a holder's copy is of this release."""
    return bool(copy.release) and copy.release == fingerprint(release)


class _Digest(io.RawIOBase):
    """A sink of which nothing but the hash is left."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written

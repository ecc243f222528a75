"""Releases of sessions: the result with its statement, and the transcript as the holder's copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.card import Card
from discreet.core.holder_copy import HolderCopy
from discreet.core.release import Receipt, Release
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.releases.method import Bench, Made, Method
from discreet.releases.pipeline import release
from discreet.verbs.combine.picture import MessageDiagram
from discreet.verbs.combine.terms import Result, Terms
from discreet.verbs.combine.transcript import TranscriptEntry

_COLUMN_TYPES: dict[str, pa.DataType] = {
    "number": pa.int64(),
    **dict.fromkeys(("sender", "receivers", "kind", "contents"), pa.string()),
    "sealed": pa.bool_(),
}


def release_session(
    terms: Terms,
    result: Result,
    statement: Statement,
    transcript: HolderCopy,
    *,
    title: str = "",
    session: str = "",
    seed: int | None = None,
    receipt: Receipt | None = None,
    to: Path | None = None,
) -> Release[Any]:
    """Release the result of a session, in the new folder ``to`` or in memory; ``session`` is the manifest's digest."""
    made = Made(
        result.value,
        {**({"session": session} if session else {}), "included": list(result.parties)},
        result.revealed,
        pictures=() if result.picture is None else (result.picture,),
        seed=seed,
        holder=transcript,
        title=title,
    )
    return release(_PlayedSession(terms, statement, made), None, to=to, receipt=receipt)


def transcript_copy(
    entries: Sequence[TranscriptEntry], draw: Callable[[], MessageDiagram], details: Any = None
) -> HolderCopy:
    """Holder's copy of a session: the messages this party saw, which must not leave with the result."""
    fields = ((one.number, one.of, ", ".join(one.to), one.kind, one.what, one.sealed) for one in entries)
    rows = [dict(zip(_COLUMN_TYPES, row, strict=True)) for row in fields]
    table = pa.Table.from_pylist(rows, pa.schema(_COLUMN_TYPES))
    return HolderCopy("transcript", table, draw=lambda: draw()._repr_html_(), details=details)


@dataclass(frozen=True)
class _PlayedSession(Method[Any]):
    """A session that has been played, as a method of the pipeline."""

    terms: Terms
    statement: Statement
    made: Made[Any]

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"combine {self.terms.protocol}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {key: value for key, value in self.terms.to_dict().items() if value not in (None, "")}

    def promise(self, card: Card) -> Statement:
        return self.statement

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        return self.made

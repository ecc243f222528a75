"""Folders for what a job makes, while it runs and afterwards.

    published/<id>/             the release it made, if it made one
    published/<id>.<paper>      what the holder keeps beside that, for no one else's eyes
    papers/<id>/                what there is besides for the holder alone, and ``result.json``
    papers/.<id>.<run>/         the same while a run of the job makes it
    papers/points/              measured points of risk–utility maps, which no comparison measures again
    papers/<table>.secret       secret that keeps perturbations consistent between tables

A run makes everything in a folder of its own. When all is there it is given its final names: anyone who is interrupted
while doing so, or someone after them, does the rest.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.core.document import FOLDER, fields, settle, write
from discreet.errors import NotFound

_MADE = "made.json"
_RESULT = "result.json"
BESIDE = dict.fromkeys(("publish", "tabulate", "hide", "learn"), ("holder.html", "holder.parquet"))
"""What lies beside a release, by the kind of the job."""
WITHIN = {
    "attack": ("report.html", "to-pass-on.html"),
    "compare": ("map.html",),
    "prove": ("proof.html", "proof.json"),
}
"""Documents of a job that are stored with its result."""


@dataclass(frozen=True)
class Made:
    """What a run made, as its process says when all of it is in the run's folder."""

    said: str
    """In a sentence or two, for anyone who asked for it."""
    title: str = ""
    """Of the release; this and the rest are empty if there is none."""
    method: str = ""
    private: bool = False
    rows: int = 0
    """How many rows were published from."""
    answer: str = ""
    """Identity of the release in the store, if a curator made it; else empty."""


@dataclass(frozen=True)
class Run:
    """The folder in which a run makes what it makes."""

    folder: Path

    @property
    def release(self) -> Path:
        """Where the release is written."""
        return self.folder / "release"

    def beside(self, name: str) -> Path:
        """Where a paper is written that will lie beside the release."""
        return self.folder / f"release.{name}"

    def paper(self, name: str) -> Path:
        """Where any other paper is written."""
        return self.folder / "making" / name

    @property
    def scratch(self) -> Path:
        """Where files go that are in no one's way, such as rows that do not fit in memory."""
        return self.folder / "scratch"

    def begin(self) -> None:
        """Empty folders, for their owner alone."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (self.folder, self.folder / "making", self.scratch):
            folder.mkdir(mode=FOLDER)

    def end(self, made: Made, result: object) -> None:
        """Write down that all of it is there, once it is."""
        write(self.paper(_RESULT), json.dumps(result, ensure_ascii=False, default=str).encode(), private=True)
        settle(self.folder / "making", self.folder / "papers")
        write(self.folder / _MADE, json.dumps(asdict(made), ensure_ascii=False).encode(), private=True)

    def made(self) -> Made:
        """What ``end`` wrote down."""
        read = json.loads((self.folder / _MADE).read_text(encoding="utf-8"))
        return Made(**fields(read, _MADE, said=str, title=str, method=str, private=bool, rows=int, answer=str))


class Places:
    """The folders of a workspace that jobs write to."""

    def __init__(self, workspace: Path) -> None:
        self.published = workspace / "published"
        self.papers = workspace / "papers"

    def prepare(self) -> None:
        """See to it that the folders are there."""
        self.published.mkdir(mode=FOLDER, exist_ok=True)
        self.papers.mkdir(mode=FOLDER, exist_ok=True)

    @property
    def points(self) -> Path:
        """Of all comparisons."""
        return self.papers / "points"

    def secret(self, table: str) -> Path:
        """Of all tables made of the same rows."""
        return self.papers / f"{table}.secret"

    def run(self, id: str, number: int) -> Run:
        """The folder of a run."""
        return Run(self.papers / f".{id}.{number}")

    def release(self, id: str) -> Path:
        """Where the release of a job lies."""
        return self.published / id

    def put_away(self, id: str, number: int) -> None:
        """Give all results of a run their final names: the holder's documents first, so that no release lacks them."""
        run = self.run(id, number)
        for paper in () if self.release(id).exists() else run.folder.glob("release.*"):
            with suppress(FileNotFoundError):  # someone else is at it, too
                settle(paper, self.published / f"{id}.{paper.name.removeprefix('release.')}")
        for made, place in ((run.folder / "papers", self.papers / id), (run.release, self.release(id))):
            if made.is_dir() and not place.exists():
                settle(made, place)

    def clear(self, id: str, number: int) -> None:
        """Leave nothing of what a run had begun."""
        shutil.rmtree(self.run(id, number).folder, ignore_errors=True)

    def paper(self, id: str, kind: str, name: str) -> Path:
        """A paper of a job that is done."""
        place = None
        if name in BESIDE.get(kind, ()):
            place = self.published / f"{id}.{name}"
        elif name in WITHIN.get(kind, ()):
            place = self.papers / id / name
        if place is None or not place.is_file():
            raise NotFound("This job has no such document.", hint=_listed(kind))
        return place

    def result(self, id: str) -> dict[str, Any]:
        """What a job that is done found."""
        place = self.papers / id / _RESULT
        if not place.is_file():
            raise NotFound("The result of this job is gone.", hint="Restore it from a copy.")
        found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        return found


def _listed(kind: str) -> str:
    known = (*BESIDE.get(kind, ()), *WITHIN.get(kind, ()))
    return f"A job of the kind {kind} may have {' and '.join(known)}."

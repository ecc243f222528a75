"""The synthetic twin of a table: rows of people who never existed, on which questions are answered when the budget is
gone.

The twin is a release like any other: it went through the one door, was charged to its table, and is kept in the store.
Which of a table's releases is its twin is noted in ``tables/visits/synthetic.json``, after it was kept: a crash before
that leaves a release that was paid for, and making the same again notes it for nothing. A newer note replaces an older
one; what was released before stays where it is.

Why answers on it are private: they are worked out of the twin alone, which everybody in the table was promised a loss
for, and of public tables. Whatever is made of a release loses nobody any more than the release did (post-processing;
Dwork and others 2006). So nothing is charged, and no noise is added. That a question is answered here tells that the
budget does not cover it, which whoever asks may know.

Nothing was paid for such an answer, and the same twin gives the same again. So it is not sealed as others are
(``store.py``); it is kept beside them, for whoever wants it with its papers, and the oldest make room for newer ones:
nobody fills the disk by asking for nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.card import Card
from discreet.core.document import FOLDER, dumps, fields, flush_name, give_name, write
from discreet.core.release import Release, load_papers, save, verified
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.curator.answer import KEPT, ON_SYNTHETIC, marked
from discreet.curator.bounded_tables import Twins
from discreet.curator.synthetic_error import Nearness, measured_nearness
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, BadQuery, BudgetExceeded, Damaged, DiscreetError, NotFound, Refused
from discreet.releases.method import Answering, Made, Method
from discreet.releases.pipeline import Given, Pipeline, Request, answered, request
from discreet.releases.store import Store
from discreet.verbs.ask.answer import exact_answer
from discreet.verbs.ask.question import planned

_FILE = "synthetic.json"
_PAYLOAD = "payload.parquet"
_MOST = 500
"""How many answers of twins are kept."""


@dataclass(frozen=True)
class Synthetic:
    """The synthetic twin of a table."""

    name: str
    """The table's."""
    identity: str
    """What it is kept under."""
    papers: Release[Any]
    """What it promises, how it was made and what was charged for it; without its rows."""
    rows: Table
    nearness: Nearness

    @property
    def statement(self) -> Statement:
        """What was promised to everybody in the table when it was released."""
        return self.papers.statement


class Synthetics:
    """The synthetic twins of a workspace's tables, each opened when it is first needed. Threads may share it."""

    def __init__(self, workspace: Workspace, store: Store, twins: Twins, pipeline: Pipeline) -> None:
        self._workspace = workspace
        self._pipeline = pipeline
        self._store = store
        self._twins = twins
        self._opened: dict[str, Synthetic] = {}
        self._lock = threading.Lock()

    def make(self, method: Method[Any], table: str) -> Given:
        """Make the twin of a table through the door, and note it; a method that makes none is refused before that."""
        asked = request(method, self._twins.open(table), table, self._workspace.tables[table].id)
        _card(asked.table.card, method.makes(asked.table.card), method.name)
        asked = replace(asked, title=f"The synthetic twin of {table}")
        given = self._pipeline.one(asked, None, f"synthetic: {asked.identity}")
        self.note(table, given.identity)
        return given

    def noted(self, table: str) -> str | None:
        """What the synthetic twin of a table is kept under, if it has one."""
        place = self._note(table)
        try:
            said = fields(json.loads(place.read_text(encoding="utf-8")), _FILE, release=str)
        except FileNotFoundError:
            return None
        except (ValueError, BadInput) as error:
            raise Damaged(f"{place} does not say what it should: {error}", hint="Make the twin again.") from None
        return str(said["release"])

    def note(self, table: str, identity: str) -> Synthetic:
        """Let a release that is kept be the synthetic twin of a table; an error if it cannot be asked as one."""
        found = self._open(table, identity)
        if found is None:
            raise NotFound(f"There is no release {identity} to be the synthetic twin of {table}.")
        place = self._note(table)
        draft = place.with_name(f".{_FILE}-{os.getpid()}-{threading.get_ident()}")
        draft.unlink(missing_ok=True)
        write(draft, json.dumps({"release": identity}).encode(), private=True)
        give_name(draft, place)
        return found

    def withdraw(self, table: str) -> None:
        """Let a table have no synthetic twin, so that nothing is answered on it any more."""
        place = self._note(table)
        place.unlink(missing_ok=True)
        flush_name(place)

    def find(self, table: str) -> Synthetic | None:
        """The synthetic twin of a table, if it has one."""
        identity = self.noted(table)
        if identity is None:
            return None
        with self._lock:
            known = self._opened.get(table)
            if known is None or known.identity != identity:
                known = self._open(table, identity)  # none, if a copy was made between the release and its note
                if known is not None:
                    self._opened[table] = known
            return known

    def have(self, asked: Sequence[Request[Any]]) -> bool:
        """Whether all tables that are asked about have one."""
        return all(self.noted(table) is not None for one in asked for table in one.tables)

    def instead(self, asked: Request[Any], refusal: BudgetExceeded) -> Given:
        """The answer of the twin to a question that a budget does not cover; else the refusal, and why."""
        if not self.have([asked]):
            raise refusal
        try:
            return self._answer(asked)
        except (BadInput, Refused) as reason:
            raise BudgetExceeded(
                refusal.message,
                asked=refusal.asked,
                left=refusal.left,
                account=refusal.account,
                hint=f"Nor can it be asked of a synthetic twin: {reason} {refusal.hint}",
            ) from None

    def _answer(self, asked: Request[Any]) -> Given:
        if len(asked.tables) != 1:
            raise BadQuery(
                f"Those of {' and '.join(asked.tables)} were made apart. Nobody in one is in the other, so nothing "
                "follows from what they say together.",
                hint="Ask about one of them at a time.",
            )
        [name] = asked.tables
        found = self.find(name)
        if found is None:
            raise NotFound(f"That of {name} is not in this copy of the workspace.")
        public = {other: id_ for other, id_ in sorted(asked.twins.items()) if other != name}
        again = planned(asked.text, {name: found.rows} | {other: self._twins.open(other) for other in public})
        said = [ON_SYNTHETIC, again.text, name, found.identity, public]
        identity = hashlib.sha256(dumps(said).encode()).hexdigest()
        payload = marked(exact_answer(again.plan, found.nearness.errors(again.plan, found.rows)))
        release = _release(found, again.text, public, payload)
        _keep(release, self._workspace.folder / KEPT / identity)
        return Given(release, identity, free=True)

    def _note(self, table: str) -> Path:
        return self._workspace.folder / "tables" / table / _FILE

    def _open(self, table: str, identity: str) -> Synthetic | None:
        place = self._store.find_folder(identity, table)
        if place is None:
            return None
        papers = load_papers(place)
        made_of = papers.recipe.parameters.get("twins")
        if papers.statement.loss is None or made_of != {table: self._workspace.tables[table].id}:
            raise Damaged(f"The release {identity} was not made of {table}.", hint="Make the twin again.")
        names = pq.read_schema(place / _PAYLOAD).names if (place / _PAYLOAD).is_file() else ()
        card = _card(self._workspace.card(table), names, papers.recipe.method)
        rows = self._workspace.open_rows(card, place / _PAYLOAD)
        return Synthetic(table, identity, papers, rows, measured_nearness(place / _PAYLOAD, rows))


def _card(card: Card, names: Sequence[str], method: str) -> Card:
    """The card of the twin's rows: what was declared of the columns it has, whose row it is only if it says so."""
    kept = [column for column in card.columns if column.name in names]
    if not names:
        raise BadInput(f"{method} makes no rows, so it makes no synthetic twin of {card.name}.")
    if {column.name for column in kept} != set(names):
        raise BadInput(f"What {method} makes does not have the columns of {card.name}, so it is no twin of it.")
    return replace(card, columns=tuple(kept)) if card.unit in names else card.without_unit(kept)


def _keep(release: Release[pa.Table], place: Path) -> None:
    """Keep an answer of a twin, and no more of them than a few hundred. If it cannot be kept, it is given all the same:
    it will be made again."""
    with suppress(BadInput, OSError):  # there is no room, or somebody else keeps the same
        place.parent.mkdir(mode=FOLDER, exist_ok=True)
        if place.is_dir():
            with suppress(DiscreetError):
                verified(place)
                os.utime(place)
                return
            _discard(place)
        save(release, place, private=True)
        others = [one for one in place.parent.iterdir() if not one.name.startswith(".")]
        for one in sorted(others, key=lambda one: one.stat().st_mtime)[:-_MOST]:
            _discard(one)


def _discard(place: Path) -> None:
    """Take a folder away: all of it at once, for whoever looks."""
    gone = place.with_name(f".gone-{os.getpid()}-{threading.get_ident()}")
    place.rename(gone)
    shutil.rmtree(gone)


def _release(found: Synthetic, question: str, public: Mapping[str, str], payload: pa.Table) -> Release[pa.Table]:
    """An answer with what it promises: what the twin did, and no more is lost by it."""
    name, promised = found.name, found.statement
    caveats = (
        f"This answer is synthetic: it was made of the synthetic twin of {name}, which had been released for "
        f"{promised.loss}. Nothing of {name} was looked at for it, so nothing more is lost by it (post-processing).",
        "Its figures are about people who never existed. An error bar says how far a figure may be from that of the "
        "table, with 95 % confidence; where there is none, no bound is known.",
    )
    steps = (
        f"the question was answered on the rows of {name}'s synthetic stand-in, without noise",
        "error bars follow from how far it was measured to be from the table, privately, when it was made",
    )
    answer = Answering(
        ON_SYNTHETIC,
        replace(promised, models=()),
        Made(payload, steps=steps, caveats=caveats, title=f"An answer about the synthetic stand-in of {name}"),
        {"question": question, "table": name, "synthetic": found.identity, "public": dict(public)},
    )
    return answered(answer, None, found.papers.receipt)

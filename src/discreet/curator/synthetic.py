"""Synthetic stand-ins of tables, on which questions are answered when the budget is gone, and how far they are off.

The stand-in is a release like any other: it went through the pipeline, was charged to its table, and is stored. Which
of a table's releases is its stand-in is noted in ``tables/visits/synthetic.json``, after it was stored: a crash before
that leaves a release that was paid for, and making the same again notes it for nothing. A newer note replaces an older
one; what was released before stays where it is.

Why answers on it are private: they are computed from the stand-in alone, for which everyone in the table was promised
a loss, and from public tables. Whatever is made of a release loses no one any more than the release did
(post-processing; Dwork and others 2006). So nothing is charged, and no noise is added. That a question is answered here
tells that the budget does not cover it, which anyone who asks may know.

Nothing was paid for such an answer, and the same stand-in gives the same again. So it is not sealed as others are
(``store.py``); it is kept beside them, for anyone who wants it with its documentation, and the oldest make room for
newer ones: no one fills the disk by asking for nothing.

Why an error bound holds. For some columns, the stand-in and the table have counts S(x) and T(x) of every combination x
of codes. Whatever condition A on those columns is counted, T(A) - S(A) is the sum of T(x) - S(x) over the x in A: at
most the sum of all that are above 0, and at least that of all below. Both sums were bounded when the stand-in was made,
privately and with 95 % confidence, and the larger bound is the *reach* of those columns. So

* a count over those columns is off by at most the reach R, whatever is counted and however it is grouped;
* a sum of whole steps g(x), each within ±M, is off by at most 2 M R: what there is too much of and too little of is
  each at most R rows, of at most M. If no g(x) is below 0, or none above, each of the two moves the sum its own way,
  and M R is enough;
* an average follows from its sum and its count, as ``verbs/ask/postprocess.py`` has it. Both are taken over the same
  columns, so that one reach bounds both: two that hold with 95 % confidence each would hold together with less.

For the same reason, of several reaches that would do that of the fewest columns is taken, and then the first by name,
and not the smallest.

This holds where a figure is worked out of a row's codes alone, so only columns count of which every value has a code
of its own (``verbs/synthesize/distances.py`` measures, and says which those are). A figure that looks into a bin of
numbers has no bound; nor has one over more columns than were compared, of joined rows, or of rows that were put
together; nor has a median or a spread.
"""

from __future__ import annotations

import hashlib
import json
import math
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
from sqlglot import exp

from discreet.core.card import Card
from discreet.core.document import FOLDER, dumps, fields, flush_name, give_name, write
from discreet.core.release import Release, Rows, load_papers, save, verified
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.curator.answer import KEPT, ON_SYNTHETIC, marked
from discreet.curator.workspace import Workspace
from discreet.engines.contribution import UNIT, numbered
from discreet.errors import BadInput, BadQuery, BudgetExceeded, Damaged, DiscreetError, NotFound, Refused
from discreet.releases.method import Answering, Made, Method
from discreet.releases.pipeline import Given, Pipeline, Request, answered, request
from discreet.releases.store import Store
from discreet.verbs.ask.answer import exact_answer
from discreet.verbs.ask.plan import Part, Plan
from discreet.verbs.ask.postprocess import Count, Mean, Total
from discreet.verbs.ask.question import planned
from discreet.verbs.ask.rows import table_rows

_FILE = "synthetic.json"
_PAYLOAD = "payload.parquet"
_MOST = 500
"""Largest number of stored answers of stand-ins."""


@dataclass(frozen=True)
class Nearness:
    """How far counts over columns may be off, for those columns of which every value has a code of its own."""

    reach: Mapping[frozenset[str], float]
    """By columns: the most rows that a count over them is off by, with 95 % confidence."""
    rows: int
    """Number of rows of the stand-in."""

    def errors(self, plan: Plan, stand_in: Table) -> dict[str, dict[str, int]]:
        """Error bound of each measure of the figures in a plan on the stand-in, where there is one."""
        return {name: one for part in plan.parts for name, one in self._errors(part, stand_in).items()}

    def _errors(self, plan: Part, stand_in: Table) -> dict[str, dict[str, int]]:
        seen = _condition(plan, stand_in)
        if seen is None or not plan.declared:
            return {}
        seen = seen.union(*(_columns(key.sql) for key in plan.keys.values()))
        names = {numbered(place): column.name for place, column in enumerate(stand_in.card.columns)}
        found: dict[str, dict[str, int]] = {}
        for name, figure in plan.figures.items():
            if not isinstance(figure, Count | Total | Mean):
                continue
            used = seen.union(*(_columns(plan.measures[one].sql) for one in figure.made_of))
            rows = None if UNIT in used else self._rows_off(frozenset(names[column] for column in used))
            if rows is not None:
                found[name] = {one: self._off(plan, one, rows, figure) for one in figure.made_of}
        return found

    def _rows_off(self, columns: frozenset[str]) -> int | None:
        """The most rows that a count over columns is off by, if that is known; as many as there are bound nothing."""
        around = [others for others in self.reach if columns <= others]
        if not around:
            return None
        rows = math.ceil(self.reach[min(around, key=lambda one: (len(one), sorted(one)))])
        return rows if rows < self.rows else None

    def _off(self, plan: Part, measure: str, rows: int, figure: Count | Total | Mean) -> int:
        """Error bound of a measure, in its own steps, where counts are off by at most this number of rows."""
        one = plan.measures[measure]
        if isinstance(figure, Count) or (isinstance(figure, Mean) and measure == figure.count):
            return rows
        rounding = self.rows + rows if isinstance(figure, Total) and one.rounded else 0
        return (2 if one.signed else 1) * (one.most // plan.rows.most) * rows + rounding


def measured_nearness(place: Path, stand_in: Table) -> Nearness:
    """Error bounds measured when a stand-in (with rows in the file ``place``) was made; empty if there are none."""
    from discreet.verbs.synthesize.distances import distances

    try:
        near = distances(Rows(place))
    except BadInput:
        return Nearness({}, stand_in.count())
    told = {frozenset(columns): far for columns, far in near.reach.items()}
    return Nearness({columns: far for columns, far in told.items() if columns <= set(near.exact)}, near.rows)


def _condition(plan: Part, stand_in: Table) -> frozenset[str] | None:
    """Columns that select the rows of a question; ``None`` if it is about rows derived from the stand-in's."""
    base, query = table_rows(stand_in).query, plan.rows.query
    seen: frozenset[str] = frozenset()
    while query != base:
        where, source = query.args.get("where"), query.args.get("from_")
        if where is None or source is None or query.expressions != [exp.Star()]:
            return None
        if not isinstance(source.this, exp.Subquery) or query.args.get("joins"):
            return None
        seen |= _columns(where)
        query = source.this.this
    return seen


def _columns(node: exp.Expr) -> frozenset[str]:
    return frozenset(column.name for column in node.find_all(exp.Column))


@dataclass(frozen=True)
class Synthetic:
    """The synthetic stand-in of a table."""

    name: str
    """The table's."""
    identity: str
    """What it is kept under."""
    papers: Release[Any]
    """Privacy statement, how it was made and what was charged for it; without its rows."""
    rows: Table
    nearness: Nearness

    @property
    def statement(self) -> Statement:
        """What was promised to everyone in the table when it was released."""
        return self.papers.statement


class Synthetics:
    """The synthetic stand-ins of a workspace's tables, each opened when it is first needed. Threads may share it."""

    def __init__(self, workspace: Workspace, store: Store, pipeline: Pipeline) -> None:
        self._workspace = workspace
        self._pipeline = pipeline
        self._store = store
        self._opened: dict[str, Synthetic] = {}
        self._lock = threading.Lock()

    def make(self, method: Method[Any], table: str) -> Given:
        """Make the stand-in of a table through the pipeline; a method that makes no rows is refused first."""
        asked = request(method, self._workspace.open(table), table, self._workspace.tables[table].id)
        _card(asked.table.card, method.makes(asked.table.card), method.name)
        asked = replace(asked, title=f"The synthetic stand-in of {table}")
        given = self._pipeline.one(asked, None, f"synthetic: {asked.identity}")
        self.note(table, given.identity)
        return given

    def noted(self, table: str) -> str | None:
        """Identity of the synthetic stand-in of a table, if it has one."""
        place = self._note(table)
        try:
            said = fields(json.loads(place.read_text(encoding="utf-8")), _FILE, release=str)
        except FileNotFoundError:
            return None
        except (ValueError, BadInput) as error:
            raise Damaged(
                f"{place} is not a valid record of a stand-in: {error}", hint="Make the stand-in again."
            ) from None
        return str(said["release"])

    def note(self, table: str, identity: str) -> Synthetic:
        """Use a stored release as the synthetic stand-in of a table; an error if it cannot answer questions."""
        found = self._open(table, identity)
        if found is None:
            raise NotFound(f"There is no release {identity} to be the synthetic stand-in of {table}.")
        place = self._note(table)
        draft = place.with_name(f".{_FILE}-{os.getpid()}-{threading.get_ident()}")
        draft.unlink(missing_ok=True)
        write(draft, json.dumps({"release": identity}).encode(), private=True)
        give_name(draft, place)
        return found

    def withdraw(self, table: str) -> None:
        """Remove the synthetic stand-in of a table, so that it no longer answers."""
        place = self._note(table)
        place.unlink(missing_ok=True)
        flush_name(place)

    def find(self, table: str) -> Synthetic | None:
        """The synthetic stand-in of a table, if it has one."""
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
        """The answer of the stand-in to a question that a budget does not cover; else the refusal, and why."""
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
                hint=f"The synthetic stand-in cannot answer it either: {reason} {refusal.hint}",
            ) from None

    def _answer(self, asked: Request[Any]) -> Given:
        if len(asked.tables) != 1:
            raise BadQuery(
                f"The stand-ins of {' and '.join(asked.tables)} were made separately and share no people, so "
                "they cannot be joined.",
                hint="Ask about one table at a time.",
            )
        [name] = asked.tables
        found = self.find(name)
        if found is None:
            raise NotFound(f"The stand-in of {name} is not in this copy of the workspace.")
        public = {other: id_ for other, id_ in sorted(asked.twins.items()) if other != name}
        again = planned(asked.text, {name: found.rows} | {other: self._workspace.open(other) for other in public})
        said = [ON_SYNTHETIC, again.text, name, found.identity, public]
        identity = hashlib.sha256(dumps(said).encode()).hexdigest()
        payload = marked(exact_answer(again.plan, found.nearness.errors(again.plan, found.rows)))
        release = _release(found, again.text, public, payload)
        _keep(release, self._workspace.folder / KEPT / identity)
        return Given(release, identity, free=True)

    def _note(self, table: str) -> Path:
        return self._workspace.place(table) / _FILE

    def _open(self, table: str, identity: str) -> Synthetic | None:
        place = self._store.find_folder(identity, table)
        if place is None:
            return None
        papers = load_papers(place)
        made_of = papers.recipe.parameters.get("twins")
        if papers.statement.loss is None or made_of != {table: self._workspace.tables[table].id}:
            raise Damaged(f"The release {identity} was not made from {table}.", hint="Make the stand-in again.")
        names = pq.read_schema(place / _PAYLOAD).names if (place / _PAYLOAD).is_file() else ()
        card = _card(self._workspace.card(table), names, papers.recipe.method)
        rows = self._workspace.open_rows(card, place / _PAYLOAD)
        return Synthetic(table, identity, papers, rows, measured_nearness(place / _PAYLOAD, rows))


def _card(card: Card, names: Sequence[str], method: str) -> Card:
    """Card of the stand-in's rows: the declarations of its columns, with the unit only if it has that column."""
    kept = [column for column in card.columns if column.name in names]
    if not names:
        raise BadInput(f"{method} makes no rows, so it cannot be the synthetic stand-in of {card.name}.")
    if {column.name for column in kept} != set(names):
        raise BadInput(f"{method} does not make the columns of {card.name}, so it cannot be its synthetic stand-in.")
    return replace(card, columns=tuple(kept)) if card.unit in names else card.without_unit(kept)


def _keep(release: Release[pa.Table], place: Path) -> None:
    """Store an answer of a stand-in, and delete the oldest beyond a few hundred.

    An answer that cannot be stored is given all the same: it will be made again.
    """
    with suppress(BadInput, OSError):  # there is no room, or someone else keeps the same
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
    """Take a folder away: all of it at once, for anyone who looks."""
    gone = place.with_name(f".gone-{os.getpid()}-{threading.get_ident()}")
    place.rename(gone)
    shutil.rmtree(gone)


def _release(found: Synthetic, question: str, public: Mapping[str, str], payload: pa.Table) -> Release[pa.Table]:
    """An answer with the statement of the stand-in; by post-processing no more is lost."""
    name, promised = found.name, found.statement
    caveats = (
        f"This answer is synthetic: it was computed from the synthetic stand-in of {name}, which had been "
        "released for "
        f"{promised.loss}. The rows of {name} were not used, so there is no further privacy loss (post-processing).",
        "Its figures are about people who never existed. Error bars bound the difference from the table's "
        "figure, with 95 % confidence; without one, no bound is known.",
    )
    steps = (
        f"the question was answered on the rows of {name}'s synthetic stand-in, without noise",
        "error bars follow from its distance from the table, measured privately when it was made",
    )
    answer = Answering(
        ON_SYNTHETIC,
        replace(promised, models=()),
        Made(payload, steps=steps, caveats=caveats, title=f"An answer about the synthetic stand-in of {name}"),
        {"question": question, "table": name, "synthetic": found.identity, "public": dict(public)},
    )
    return answered(answer, None, found.papers.receipt)

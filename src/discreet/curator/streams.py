"""The streams of a workspace: every step is durable before its figures are told, and is taken once.

A stream is started by a release like any other: the pipeline charges it, for all its steps, and seals its announcement.
Then it lives in the database ``streams.db`` in the workspace, or in a schema of the PostgreSQL database that has the
ledger, which all processes of this workspace share. It holds what a stream remembers of rows (true counts, and how many
rows of each unit were counted), so it is as confidential as the bounded tables.

Why this is private: the loss that was charged pays for one noise at each step (``verbs/ask/stream.py``). Anyone who
got two figures for one step would average noise away, or compare figures of different rows. So of each step there is
one:

* a step's figures, what the stream remembers from then on and whose rows were counted are written in one transaction,
  which no other process writes beside. It begins with looking which step is due: of two who come at once the second
  finds the step taken, and gets the figures that are there. What was computed before a crash, and not written, was told
  to no one;
* before they are told, the digest of what was written is sealed in the ledger, under the number of the step (a line
  that costs nothing). A key takes one line: an older copy of the database, put in the place of the newer one, meets
  the seal of the step that it would take again, and one that was edited does not fit its seal. Either is an error;
* a step is taken after the one before it was sealed. So what a crash leaves unsealed is the last step, whose figures
  are sealed and told when the stream is asked again: the same ones.

What is sealed must not tell what a stream remembers, since receipts with digests of the ledger leave with releases, and
true counts could be guessed and hashed. So a secret salt, drawn anew at each step, is hashed with them.

Anyone who can write to the database and to the ledger could put both back. The release of a step carries the receipt of
its seal, which ``workspace restore --receipts`` and ``verify`` compare with the ledger.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from discreet.budget.entries import START, Charged
from discreet.budget.ledger import SqlLedger
from discreet.budget.store import Contents, Session, Store, digest, lines_after, require_head
from discreet.core.card import Card
from discreet.core.cardfile import dump_cards, parse_cards
from discreet.core.document import Format, dumps, fields, loads
from discreet.core.exact import whole
from discreet.core.loss import Concentrated, Pure, from_dict
from discreet.core.release import Receipt, Release
from discreet.core.table import Table
from discreet.curator.workspace import Workspace
from discreet.engines.bounded_table import bounded
from discreet.engines.read import read
from discreet.errors import BadInput, Damaged, LedgerError, NoPromise, NotFound, Taken
from discreet.noise.entropy import SYSTEM
from discreet.releases.method import Answering, Made, loss_of
from discreet.releases.pipeline import answered
from discreet.releases.store import ALSO_CHARGED
from discreet.releases.store import Store as Releases
from discreet.verbs.ask.stream import Stream, StreamState, Totals

FORMAT: Format[Session] = Format("streams", error=LedgerError)
FILE = "streams.db"
STREAMS = Contents(
    format=FORMAT,
    application=0x64635374,  # "dcSt"
    schema=(
        "CREATE TABLE lines (number integer PRIMARY KEY, stream text NOT NULL, step integer NOT NULL, "
        "content text NOT NULL, digest text NOT NULL)",
        "CREATE UNIQUE INDEX lines_step ON lines (stream, step)",
        "CREATE TABLE streams (stream text PRIMARY KEY, subject text NOT NULL, called text NOT NULL, "
        "content text NOT NULL, step integer NOT NULL, state text NOT NULL)",
        "CREATE UNIQUE INDEX streams_called ON streams (subject, called)",
        "CREATE TABLE contributions (stream text NOT NULL, unit text NOT NULL, counted integer NOT NULL, "
        "PRIMARY KEY (stream, unit))",
    ),
    lines="lines",
    begin=lambda session: None,
    again="Take the step again: it is taken once.",
    remedy="No stream goes on until it is repaired, or a step could be told twice: restore the newest copy, or a "
    "backup into a new folder (discreet workspace restore).",
)
"""Contents of a store of streams. Its lines are the steps that were taken."""
_MODULUS = 2**256
_UNITS_PER_QUERY = 500
"""Maximum number of units looked up by one query."""
_STREAM = "SELECT stream, called, content, step, state FROM streams WHERE subject = ? AND called = ?"
_COUNTED = (
    "INSERT INTO contributions (stream, unit, counted) VALUES (?, ?, ?) "
    "ON CONFLICT (stream, unit) DO UPDATE SET counted = excluded.counted"
)


class RunningStream:
    """A stream that was started. Threads and processes may share it."""

    def __init__(self, streams: Streams, table: str, row: _Row) -> None:
        self._streams = streams
        self._row = row
        self.table = table
        self.declared: Stream = row.stream
        """What is counted, over how many steps and for what loss."""

    @property
    def called(self) -> str:
        """Its name."""
        return self.declared.called

    @property
    def step(self) -> int:
        """How many steps were taken."""
        return self._streams.row(self.table, self.called).step

    def advance(self, rows: Any = None, *, step: int | None = None) -> Release[pa.Table]:
        """Take the next step with the ``rows`` that have arrived, and give its figures; ``None``: no rows.

        ``rows`` is a source, as ``read`` takes them, with the columns of the table's card. ``step`` is the number of
        the step: one that was taken is not taken again, its figures are given and the rows are not counted. So a
        program that names the step can repeat what it does not know to have worked.
        """
        if rows is None:
            return self.release(self._streams.advance(self._row, self.table, None, step))
        arrived = read(rows, self._row.card)
        try:
            return self.release(self._streams.advance(self._row, self.table, bounded(arrived), step))
        finally:
            arrived.engine.close()

    def release(self, step: int | None = None, *, window: int | None = None) -> Release[pa.Table]:
        """The figures after a step (default: the last): totals since the beginning, or sums over the last ``window``
        steps. Costs nothing, and is the same whenever it is asked."""
        return self._streams.release(self._row, self.table, step, window)

    def history(self, *, window: int | None = None) -> pa.Table:
        """The figures after every step so far, with a column ``step``. Costs nothing."""
        return self._streams.history(self._row, self.table, window)

    def __repr__(self) -> str:
        return f"RunningStream({self.called!r}, step {self.step:,} of {self.declared.horizon:,})"


@dataclass(frozen=True)
class _Row:
    """The stored record of a stream."""

    identity: str
    stream: Stream
    card: Card
    """Card of the bounded table when it was started: the rows of all steps are bounded by it."""
    step: int
    state: str


class Streams:
    """The streams of a workspace. Threads may share it."""

    def __init__(self, workspace: Workspace, ledger: SqlLedger, releases: Releases) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self._releases = releases
        self._store: Store | None = None
        self._receipts: dict[str, Receipt] = {}
        self._lock = threading.Lock()

    def start(self, stream: Stream, card: Card, table: str, identity: str) -> RunningStream:
        """A stream whose announcement was released, as it is or from its beginning."""
        store = self._database(create=True)
        loss = loss_of(stream.epsilon, stream.rho)
        said = {"parameters": dict(stream.parameters), "loss": loss.to_dict(), "card": dump_cards([card])}
        with store.writing() as session:
            asked = "SELECT stream FROM streams WHERE subject = ? AND called = ?"
            known = session.rows(asked, (table, stream.called))
            if known not in ([], [(identity,)]):
                raise BadInput(
                    f"There is a stream {stream.called!r} of {table} already, with other settings.",
                    hint="Choose another name.",
                )
            if not known:
                self._require_new(identity, 1)
                state = _state_text(stream.start(card), 0)
                row = (identity, table, stream.called, dumps(said), 0, state)
                session.run(
                    "INSERT INTO streams (stream, subject, called, content, step, state) VALUES (?, ?, ?, ?, ?, ?)",
                    [row],
                )
        return self.find(table, stream.called)

    def find(self, table: str, called: str) -> RunningStream:
        """A stream of a table that was started."""
        row = self.row(table, called)
        self._receipt(row.identity)  # which says if it is not there
        return RunningStream(self, table, row)

    def row(self, table: str, called: str) -> _Row:
        """The stored record of a stream."""
        store = self._database()
        found = store.rows(_STREAM, (table, called)) if store is not None else []
        if not found:
            known = ", ".join(repr(one) for subject, one in self.all() if subject == table) or "none"
            raise NotFound(f"There is no stream {called!r} of {table}; there are {known}.")
        return _row(found[0])

    def all(self) -> list[tuple[str, str]]:
        """Table and name of all streams."""
        store = self._database()
        asked = "SELECT subject, called FROM streams ORDER BY subject, called"
        return [] if store is None else [(subject, called) for subject, called in store.rows(asked)]

    def advance(self, stream: _Row, table: str, arrived: Table | None, step: int | None) -> int:
        """Take a step with bounded rows, unless it was taken; its number."""
        store = self._database(create=True)
        with store.writing() as session:
            row = _row(session.rows(_STREAM, (table, stream.stream.called))[0])
            due = row.step + 1
            number = due if step is None else step
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= due:
                raise BadInput(f"The next step of the stream is {due:,}, not {step!r}.", hint="Take steps in order.")
            if number < due:
                return number
            if due > row.stream.horizon:
                raise NoPromise(
                    f"This stream was declared to have {row.stream.horizon:,} steps, and all are used.",
                    hint="Start another, at its price.",
                )
            if row.step:
                content = self._content(session, row.identity, row.step)
                self._seal(row.identity, row.step, content)
                _require_state(row, content)
            self._require_new(row.identity, due)
            content, line = self._step(session, row, arrived)
        if store.witness:
            store.witness.write(*line)
        self._seal(row.identity, number, content)
        return number

    def _step(self, session: Session, row: _Row, arrived: Table | None) -> tuple[str, tuple[int, str]]:
        """Write a step and what it leaves; what was written, and number and digest of its line."""
        arrivals = row.stream.arrivals(arrived, row.step + 1)
        counted = _counts_of(session, row.identity, list(dict.fromkeys(arrivals.units or ())))
        before, checksum = _state_of(row.state)
        state, now = row.stream.advance(row.card, before, arrivals, counted)
        changed = {unit: counted[unit] for unit in now if unit in counted}
        text = _state_text(state, (checksum - _checksum(changed) + _checksum(now)) % _MODULUS)
        said = {"stream": row.identity, "step": state.step, "totals": state.totals, "state": _sha256(text)}
        content = json.dumps(said, sort_keys=True, separators=(",", ":"))
        [(last,)] = session.rows("SELECT MAX(number) FROM lines")
        previous = session.rows("SELECT digest FROM lines WHERE number = ?", (last,))[0][0] if last else START
        line = ((last or 0) + 1, digest(previous, content))
        session.run(
            "INSERT INTO lines (number, stream, step, content, digest) VALUES (?, ?, ?, ?, ?)",
            [(line[0], row.identity, state.step, content, line[1])],
        )
        session.run("UPDATE streams SET step = ?, state = ? WHERE stream = ?", [(state.step, text, row.identity)])
        session.run(_COUNTED, [(row.identity, unit, many) for unit, many in now.items()])
        return content, line

    def release(self, stream: _Row, table: str, step: int | None, window: int | None) -> Release[pa.Table]:
        """The release of a step's figures, which were sealed first."""
        row = self.row(table, stream.stream.called)
        number = row.step if step is None else step
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= row.step:
            raise NotFound(f"The stream {row.stream.called!r} has taken {row.step:,} steps; there is no step {step!r}.")
        payload, seal = self._figures(row, number, window)
        over = "" if window is None else f", over {window:,} steps"
        answer = Answering(
            row.stream.name,
            row.stream.promise(row.card),
            Made(
                payload,
                {ALSO_CHARGED: [seal.to_dict()]},
                row.stream.steps(row.card),
                title=f"{row.stream.called}, step {number:,}{over}",
            ),
            {**row.stream.parameters, "table": table, "step": number, "window": window},
        )
        return answered(answer, None, self._receipt(row.identity))

    def history(self, stream: _Row, table: str, window: int | None) -> pa.Table:
        """The figures after every step, which were sealed first."""
        row, tables = self.row(table, stream.stream.called), []
        for step in range(1, row.step + 1):
            found, _ = self._figures(row, step, window)
            tables.append(found.add_column(0, "step", pa.array([step] * found.num_rows, pa.int64())))
        return pa.concat_tables(tables) if tables else pa.table({"step": pa.array([], pa.int64())})

    def _figures(self, row: _Row, step: int, window: int | None) -> tuple[pa.Table, Receipt]:
        """The figures of a step, and the receipt of its seal."""
        totals, seal = self._totals_of(row, step)
        earlier = 0 if window is None else max(step - whole(window, "window"), 0)
        before = self._totals_of(row, earlier)[0] if earlier else None
        return row.stream.figures(row.card, totals, step, window, before), seal

    def verify(self) -> None:
        """Go through all steps again: the chain of their digests, and the seal of each that was told."""
        if (store := self._database()) is None:
            return
        what = f"The database of streams {store.place}"
        with store.reading() as session:
            lines = list(lines_after(session, STREAMS, (0, START), what, also=", stream, step"))
            for row in map(_row, session.rows("SELECT stream, called, content, step, state FROM streams")):
                if row.step:
                    _require_state(row, self._content(session, row.identity, row.step))
                asked = "SELECT unit, counted FROM contributions WHERE stream = ?"
                if _checksum(dict(session.rows(asked, (row.identity,)))) != _state_of(row.state)[1]:
                    raise _unsealed(row.step)
        for _, content, _, stream, step in lines:
            if self._ledger.find_line(_key(stream, step)) is not None:
                self._seal(stream, step, content)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None

    def _totals_of(self, row: _Row, step: int) -> tuple[Totals, Receipt]:
        """The totals of a step, and the receipt of its seal."""
        with self._database().reading() as session:
            content = self._content(session, row.identity, step)
        seal = self._seal(row.identity, step, content)
        return tuple(tuple(one) for one in json.loads(content)["totals"]), seal

    def _content(self, session: Session, identity: str, step: int) -> str:
        found = session.rows("SELECT content FROM lines WHERE stream = ? AND step = ?", (identity, step))
        if not found:
            raise _unsealed(step)
        return str(found[0][0])

    def _seal(self, identity: str, step: int, content: str) -> Receipt:
        """Seal a step that is durable: a line of the ledger, or an error if another one is there."""
        said, key = json.loads(content), _key(identity, step)
        if (said["stream"], said["step"]) != (identity, step):
            raise _unsealed(step)
        line = self._ledger.find_line(key)
        if line is None:
            try:
                return self._ledger.charge(self._receipt(identity).account, Pure(0), key=key, what=_sha256(content))
            except Taken:  # someone was faster
                line = self._ledger.find_line(key)
        if line is None or not isinstance(line.entry, Charged) or line.entry.purpose != _sha256(content):
            raise _unsealed(step)
        return line.receipt

    def _receipt(self, identity: str) -> Receipt:
        """The receipt of the charge for all steps of a stream."""
        if identity not in self._receipts:
            found = self._releases.receipts_at(identity)
            if not found:
                raise Damaged(
                    f"The announcement of a stream is not in {self._workspace.releases}.",
                    hint="Restore the workspace from a backup.",
                )
            self._receipts[identity] = found[0]
        return self._receipts[identity]

    def _require_new(self, identity: str, step: int) -> None:
        """An error if a step was sealed that the database does not have."""
        if self._ledger.find_line(_key(identity, step)) is not None:
            raise _unsealed(step)

    def _database(self, *, create: bool = False) -> Any:
        """The database; ``None`` if it was never made."""
        with self._lock:
            if self._store is None:
                home = self._workspace.home(FILE)
                store = home.find_or_create(STREAMS) if create else home.find(STREAMS)
                if store is None:
                    return None
                try:
                    head = store.witness.head() if store.witness else None
                    with store.reading() as session:
                        what = f"The database of streams {store.place}"
                        require_head(session, "lines", head, what, STREAMS.remedy)
                except BaseException:
                    store.close()
                    raise
                self._store = store
            return self._store


def _key(identity: str, step: int) -> str:
    return f"step {step} of {identity}"


def _unsealed(step: int) -> Damaged:
    return Damaged(
        f"Step {step:,} of the stream is not the one that was sealed in the ledger: the database of streams is an "
        "older copy, or was edited.",
        hint=STREAMS.remedy,
    )


def _row(found: Sequence[Any]) -> _Row:
    identity, called, content, step, state = found
    try:
        return _Row(identity, *_declaration(content), step, state)
    except (BadInput, TypeError, ValueError):
        raise Damaged(f"The record of the stream {called!r} is invalid.", hint=STREAMS.remedy) from None


@lru_cache(maxsize=64)
def _declaration(content: str) -> tuple[Stream, Card]:
    """What a stream was declared to count, and the card it was started by."""
    said = fields(loads(content), "a stream", parameters=dict, loss=dict, card=str)
    loss = from_dict(said["loss"])
    if not isinstance(loss, Pure | Concentrated):
        raise BadInput("A stream has a pure or a concentrated loss.")
    [card] = parse_cards(said["card"]).values()
    return Stream.of(said["parameters"], loss), card


def _state_text(state: StreamState, checksum: int) -> str:
    """What a stream remembers, with the checksum of whose rows were counted, and a salt."""
    said = {"step": state.step, "counters": state.counters, "counted": f"{checksum:x}", "salt": SYSTEM.bytes(32).hex()}
    return json.dumps(said, separators=(",", ":"))


def _state_of(text: str) -> tuple[StreamState, int]:
    said = json.loads(text)
    counters = tuple(tuple(tuple(one) for one in cells) for cells in said["counters"])
    return StreamState(said["step"], counters), int(said["counted"], 16)


def _checksum(counted: Mapping[str, int]) -> int:
    """A sum over units, so that it can be brought up to date."""
    return sum(int(_sha256(f"{many} {unit}"), 16) for unit, many in counted.items()) % _MODULUS


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _require_state(row: _Row, content: str) -> None:
    """An error if what a stream remembers is not what its last step left."""
    if json.loads(content)["state"] != _sha256(row.state):
        raise _unsealed(row.step)


def _counts_of(session: Session, identity: str, units: Sequence[str]) -> Mapping[str, int]:
    """How many rows of each of some units were counted."""
    found: dict[str, int] = {}
    for some in _parts(units):
        places = ", ".join("?" * len(some))
        asked = f"SELECT unit, counted FROM contributions WHERE stream = ? AND unit IN ({places})"  # noqa: S608
        found |= dict(session.rows(asked, (identity, *some)))
    return found


def _parts(units: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(units), _UNITS_PER_QUERY):
        yield units[at : at + _UNITS_PER_QUERY]

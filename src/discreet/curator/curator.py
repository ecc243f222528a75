"""The curator: the one door between analysts and the data.

Why this is private. A question becomes an answer in one order only: planned and priced without looking, charged for
good (``budget/ledger.py``), computed on the bounded twin (``twin.py``), sealed and kept (``store.py``), given. A crash
at any point may waste what was charged; it never lets an answer out that was not. What fails after the charge is
told apart by nobody: whether the data made it fail is not said, and nothing is given back, or errors would be a free
oracle.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import pyarrow as pa

from discreet.ask.answer import answer
from discreet.ask.plan import plan
from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger, Verdict
from discreet.budget.opening import create_ledger, open_ledger
from discreet.core.exact import Number, exact
from discreet.core.loss import Loss, sequential
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Receipt, Release
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.curator.answer import Answer, Left
from discreet.curator.question import Question, Quote, expected_errors, normal, pose, smallest_epsilon
from discreet.curator.store import Store
from discreet.curator.workspace import Given, Workspace, new_workspace, open_workspace
from discreet.errors import BadInput, BadQuery, NotFound, Refused

ANALYST = "analyst"
_Charge: TypeAlias = Callable[[str, str, list[Question]], Receipt]
_LONGEST_NAME = 60
_LONGEST_TEXT = 15_000


class Curator:
    """Answers questions about the tables of a workspace, and keeps account of what they cost."""

    def __init__(self, folder: str | Path) -> None:
        """Open the workspace in ``folder``."""
        self.workspace: Workspace = open_workspace(Path(folder))
        self.ledger: SqlLedger = open_ledger(self.workspace.ledger_place)
        self._store = Store(self.workspace.releases, self.ledger)
        self._opened: dict[str, Table] = {}
        self._lock = threading.Lock()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        tables: Mapping[str, Given],
        budget: Budget | Loss,
        *,
        ledger: str | None = None,
        analyst: str | None = ANALYST,
    ) -> Self:
        """Make a workspace in a new folder: all of it or, on any failure, nothing.

        ``tables`` are sources, as ``read`` takes them, each with its card. Each table gets ``budget``, and so does
        ``analyst``; ``None`` lets nobody ask until ``add_analyst``. ``ledger`` is the address of a PostgreSQL
        database that several curators share; without one it is a file in the folder.
        """
        with new_workspace(Path(folder), tables, ledger) as workspace, _new_ledger(workspace) as book:
            for name in tables:
                book.open_account(name, budget)
                if analyst is not None:
                    book.open_account(_account(name, analyst), budget)
            book.close()  # before the folder gets its name
        return cls(folder)

    def add_analyst(self, name: str, budget: Budget | Loss, tables: Sequence[str] | None = None) -> None:
        """Let somebody ask about ``tables`` (default: all), each within a budget of their own below the table's."""
        for table in self.workspace.tables if tables is None else tables:
            if table not in self.workspace.tables:
                raise NotFound(f"There is no table {table!r}; there are {', '.join(self.workspace.tables)}.")
            self.ledger.open_account(_account(table, name), budget)

    def ask(
        self, sql: str, *, epsilon: Number, delta: Number = 0, analyst: str = ANALYST, key: str | None = None
    ) -> Answer:
        """Answer a question, for ``epsilon`` and, where groups are not declared on the card, ``delta``.

        The same question again is free, and gets the same answer. A retry after a failure is charged once; ``key``
        makes that an error if the retry asks something else.
        """
        question = self._pose(sql, epsilon, delta, analyst)
        return self._answered([question], analyst, f"ask {analyst}: {key or question.identity}", self._charge)[0]

    def ask_all(
        self, questions: Sequence[str], *, epsilon: Number, delta: Number = 0, analyst: str = ANALYST
    ) -> list[Answer]:
        """Answer several questions about one table for ``epsilon`` and ``delta`` in all, shared equally.

        One charge pays for those that were not answered before: for all of them or, if it is refused, for none.
        """
        posed = self._pose_all(questions, epsilon, delta, analyst)
        if len({one.table for one in posed}) > 1:
            raise BadQuery("Questions that are charged together are about one table.", hint="Ask table by table.")
        named = hashlib.sha256("\n".join(one.identity for one in posed).encode()).hexdigest()
        return self._answered(posed, analyst, f"batch {analyst}: {named}", self._charge_batch)

    def price(
        self, sql: str, *, epsilon: Number, delta: Number = 0, analyst: str = ANALYST, rows: int | None = None
    ) -> Quote:
        """What ``ask`` would cost, and how far off its figures would be; no row is looked at, nothing is charged.

        ``rows`` is how many rows you expect in a group: the error of an average hangs on it.
        """
        return self.price_all([sql], epsilon=epsilon, delta=delta, analyst=analyst, rows=rows)[0]

    def price_all(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number,
        delta: Number = 0,
        analyst: str = ANALYST,
        rows: int | None = None,
    ) -> list[Quote]:
        """What each question of ``ask_all`` would cost, as ``price`` says it."""
        return [
            Quote(
                one.price.loss,
                expected_errors(one.plan, one.price, rows),
                self._left(one.table, analyst).analyst,
                self._store.place(one.identity).is_dir(),
            )
            for one in self._pose_all(questions, epsilon, delta, analyst)
        ]

    def epsilon_for(
        self,
        sql: str,
        error: Number,
        *,
        delta: Number = 0,
        expect: Number | None = None,
        rows: int | None = None,
        analyst: str = ANALYST,
    ) -> Fraction:
        """The smallest epsilon for which every figure is off by at most ``error``, with 95 % confidence.

        ``error`` is in the figure's own unit, such as 50, or a share of the figure you ``expect``, such as "5%".
        For averages give the ``rows`` you expect in a group. No row is looked at.
        """
        return smallest_epsilon(plan(normal(sql), self._tables(analyst)), delta, error, expect, rows)

    def left(self, table: str, analyst: str = ANALYST) -> Left:
        """What may still be spent on a table."""
        if table not in self.workspace.tables:
            raise NotFound(f"There is no table {table!r}; there are {', '.join(self.workspace.tables)}.")
        return self._left(table, analyst)

    def verify(self) -> Verdict:
        """Go through the ledger line by line, and compare it with the receipts of all answers that were given.

        The twins in the folder are compared with what was cut.
        """
        self.workspace.require_twins()
        return self.ledger.verify(self._store.receipts())

    def close(self) -> None:
        """Let go of the ledger and the engines."""
        self.ledger.close()
        for table in self._opened.values():
            table.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Curator({str(self.workspace.folder)!r})"

    def _pose_all(self, questions: Sequence[str], epsilon: Number, delta: Number, analyst: str) -> list[Question]:
        if not questions:
            raise BadInput("There is no question to answer.")
        share, chance = exact(epsilon, "epsilon") / len(questions), exact(delta, "delta") / len(questions)
        return [self._pose(one, share, chance, analyst) for one in questions]

    def _pose(self, sql: str, epsilon: Number, delta: Number, analyst: str) -> Question:
        twins = {name: one.id for name, one in self.workspace.tables.items()}
        return pose(sql, self._tables(analyst), twins, epsilon, delta)

    def _tables(self, analyst: str) -> dict[str, Table]:
        """The tables somebody may ask about: those the ledger has an account for."""
        allowed = [name for name in self.workspace.tables if self._may(name, analyst)]
        if not allowed:
            raise Refused(f"{analyst} may ask about nothing here.", hint="The data's holder adds analysts.")
        with self._lock:
            for name in allowed:
                if name not in self._opened:
                    self._opened[name] = self.workspace.open(name)
            return {name: self._opened[name] for name in allowed}

    def _may(self, table: str, analyst: str) -> bool:
        try:
            self.ledger.account(_account(table, analyst))
        except NotFound:
            return False
        return True

    def _answered(self, questions: list[Question], analyst: str, key: str, charge: _Charge) -> list[Answer]:
        table = questions[0].table
        found = {one.identity: self._store.find(one.identity, table) for one in questions}
        due = {one.identity: one for one in questions if found[one.identity] is None}
        if due:
            receipt = charge(_account(table, analyst), key, list(due.values()))
            for identity, one in due.items():
                self._store.keep(identity, self._made(one, receipt))
                found[identity] = self._store.find(identity, table)
        left = self._left(table, analyst)
        given = [(one.identity, found[one.identity]) for one in questions]
        return [Answer(release, left, identity not in due) for identity, release in given if release is not None]

    def _charge(self, account: str, key: str, due: list[Question]) -> Receipt:
        """Charge what is due; the same again under the same key is charged once, anything else is an error."""
        said = "\n".join(one.text for one in due)[:_LONGEST_TEXT]
        named = hashlib.sha256("\n".join(one.identity for one in due).encode()).hexdigest()
        return self.ledger.charge(account, sequential(one.price.loss for one in due), key=key, what=f"{said}\n{named}")

    def _charge_batch(self, account: str, key: str, due: list[Question]) -> Receipt:
        """As ``_charge``; but after a crash half way only some of a batch is due.

        The key names all its questions. What was answered when it was charged is sealed, and so cannot become due
        again: what is due now was due, and paid for, then.
        """
        return self.ledger.find(key) or self._charge(account, key, due)

    def _made(self, question: Question, receipt: Receipt) -> Release[pa.Table]:
        table = self._opened[question.table]
        try:
            figures = answer(question.plan, question.price, table)
            return _release(question, table, figures, receipt)
        except Exception:  # noqa: BLE001  # whatever went wrong may depend on somebody's row
            raise Refused(
                "The question could not be answered; it was charged.", hint="Ask the data's holder to look into it."
            ) from None

    def _left(self, table: str, analyst: str) -> Left:
        return Left(self.ledger.account(_account(table, analyst)).left, self.ledger.account(table).left)


def _release(question: Question, table: Table, figures: pa.Table, receipt: Receipt) -> Release[pa.Table]:
    card = table.card
    unit = card.unit or "row"
    assumes = ["What the card declares (bounds, categories, rows per unit) was declared without looking at the data."]
    if card.unit is None:
        assumes.append("Every row is about somebody else.")
        kept = "every row was kept as one unit"
    else:
        assumes.append(f"The column {unit} says whose row it is, and nobody has two values of it.")
        kept = f"at most {card.rows_per_unit} rows of each {unit} were kept"
    steps = (
        f"{kept}; values outside their declared bounds were moved to them",
        "the figures were measured as whole numbers and given exact noise; the error bars hold with 95 % confidence",
    )
    return Release(
        figures,
        Statement(unit, question.price.loss, evidence=Evidence.PROVED, assumes=tuple(assumes)),
        Recipe(
            "ask",
            {"question": question.text, "table": question.table, "twin": question.twin},
            steps,
            versions=versions(table.engine),
            from_data=card.from_data,
        ),
        receipt,
        title=f"An answer about {question.table}",
    )


def _account(table: str, analyst: str) -> str:
    if not isinstance(analyst, str) or not 0 < len(analyst) <= _LONGEST_NAME or "/" in analyst:
        raise BadInput(f"An analyst's name has 1 to {_LONGEST_NAME} characters and no slash, not {analyst!r:.80}.")
    return f"{table}/{analyst}"


def _new_ledger(workspace: Workspace) -> SqlLedger:
    """A new ledger in the folder; one in PostgreSQL may be there already, with other curators' accounts."""
    if workspace.ledger == workspace.ledger_place:
        try:
            return open_ledger(workspace.ledger_place)
        except NotFound:
            pass
    return create_ledger(workspace.ledger_place)

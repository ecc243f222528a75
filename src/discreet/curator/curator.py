"""The curator: a workspace's tables, its ledger, and the one door between analysts and the data.

Everything that leaves does so through ``releases/pipeline.py``, which says why that is private; here is what can be
asked for."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger, create_ledger
from discreet.budget.verify import Verdict
from discreet.core.card import Card
from discreet.core.exact import Number, exact
from discreet.core.loss import Loss
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.curator.answer import Answer, Left, is_synthetic
from discreet.curator.audited import AuditedAnswer, Audits, require_noise
from discreet.curator.streams import RunningStream, Streams
from discreet.curator.synthetic import Synthetic, Synthetics
from discreet.curator.tables import Given as Source
from discreet.curator.tables import (
    Public,
    add_version,
    card_changes,
    card_for,
    inheritance,
    require_names,
    write_record,
)
from discreet.curator.workspace import LEDGER, Workspace, new_workspace, open_books, open_workspace
from discreet.engines.limits import limited
from discreet.errors import BadInput, BudgetExceeded, NotFound, Refused, Taken
from discreet.releases.method import Method
from discreet.releases.pipeline import Given, Pipeline, Request, account_of, request
from discreet.releases.store import Store
from discreet.verbs.ask.plan import Plan
from discreet.verbs.ask.price import Quote, smallest_epsilon
from discreet.verbs.ask.query_auditing.policy import Policy
from discreet.verbs.ask.question import Planned, SqlMethod, normal, planned, pose
from discreet.verbs.ask.shapes import Shapes
from discreet.verbs.ask.spelling import today
from discreet.verbs.ask.stream import Stream
from discreet.verbs.ask.thresholds import Thresholds, ThresholdSession

ANALYST = "analyst"
"""Who asks, unless someone else is named."""
MADE = "made for the holder: "
"""How the keys of charges begin for what ``make_for_holder`` made."""
_LATELY = 256
"""How many plans are kept: a question is priced before it is asked, and by some again and again."""
_NODES = 100_000
"""Nodes of all plans that are kept: some hundred megabytes."""
T = TypeVar("T")


class Curator:
    """Answers questions about the tables of a workspace, and keeps account of what they cost."""

    def __init__(self, folder: str | Path) -> None:
        """Open the workspace in ``folder``."""
        self.workspace: Workspace = open_workspace(Path(folder))
        self.ledger: SqlLedger = open_books(self.workspace)
        self._store = Store(self.workspace.releases, self.ledger)
        self._pipeline = Pipeline(
            self.ledger, self._store, self.workspace.limits, lambda names: require_noise(self.ledger, names)
        )
        self._synthetics = Synthetics(self.workspace, self._store, self._pipeline)
        self._audits = Audits(self.workspace, self.ledger, self._store)
        self._streams = Streams(self.workspace, self.ledger, self._store)
        self._plans = _Plans()
        self._shapes = Shapes()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        tables: Mapping[str, Source],
        budget: Budget | Loss,
        *,
        ledger: str | None = None,
        analyst: str | None = ANALYST,
        public: Mapping[str, Public] | None = None,
    ) -> Self:
        """Make a workspace in a new folder: all of it or, on any failure, nothing.

        ``tables`` are sources, as ``read`` takes them, each with its card. Each table gets ``budget``, and so does
        ``analyst``; ``None`` lets no one ask until ``add_analyst``. ``ledger`` is the address of a PostgreSQL
        database that several curators share; without one it is a file in the folder. ``public`` are sources that are
        about no one, for questions to join with: they need no card, and no budget.
        """
        with new_workspace(Path(folder), tables, ledger, public) as workspace, _new_ledger(workspace) as book:
            for name in workspace.private:
                book.open_account(name, budget)
                if analyst is not None:
                    book.open_account(account_of(name, analyst), budget)
            book.close()  # before the folder gets its name
        return cls(folder)

    def add_analyst(self, name: str, budget: Budget | Loss, tables: Sequence[str] | None = None) -> None:
        """Let someone ask about ``tables`` (default: all), each within a budget of their own below the table's."""
        chosen = self.workspace.private if tables is None else tuple(tables)
        for table in chosen:
            self._require_private(table)
        for table in chosen:
            self.ledger.open_account(account_of(table, name), budget)

    def add_table(self, name: str, source: Any, card: Card | str | Path, budget: Budget | Loss) -> None:
        """Register a further table, with a budget of its own; ``add_analyst`` decides who may query it.

        What left beside its card counts in the workspace's register from now on.
        On any failure the workspace is as it was; the same again goes on where a crash was.
        """
        self.workspace.refresh()
        if name in self.workspace.tables:
            raise BadInput(
                f"This workspace already has a table {name}.",
                hint="Choose another name, or revise the card of the existing table.",
            )
        require_names([*self.workspace.tables, name])
        inherited = inheritance(name, (source, card))
        record = add_version(self.workspace.folder, name, (source, card), None)
        if inherited is not None:
            inherited.adopt(card_for(name, source, card), self.workspace.register)
        if not record.public:
            self.ledger.open_account(name, budget)
        write_record(self.workspace.folder, name, record)
        self.workspace.refresh()

    def revise_card(self, name: str, card: Card | str | Path, source: Any = None) -> tuple[str, ...]:
        """Register a table again under a revised card: what changed, one line each.

        A new bounded table is cut from the rows where they came from, or from ``source``. Budget, analysts and register
        stay, old answers stay as they were, and new questions are about the new bounded table. A synthetic stand-in
        stays released, and answers no more. What left beside the card since it was registered counts from now on.
        """
        self.workspace.refresh()
        if name not in self.workspace.tables:
            raise NotFound(f"There is no table {name!r}; there are {', '.join(self.workspace.tables)}.")
        known = self.workspace.tables[name]
        if not known.public and self.audited(name) is not None:
            raise Refused(
                f"{name} has query auditing, which rests on its present card.",
                hint="Register the rows as a table with another name.",
            )
        earlier = self.workspace.full_card(name)
        given = self.workspace.source(name) if source is None else source
        later = card_for(name, given, card)
        changes = card_changes(earlier, later)
        if not changes and source is None:
            raise BadInput(f"The card of {name} is unchanged.", hint="Change the card, or give other rows.")
        inherited = inheritance(name, (given, card))
        record = add_version(self.workspace.folder, name, (given, later), (known, earlier))
        if inherited is not None:
            inherited.adopt(later, self.workspace.register)
        write_record(self.workspace.folder, name, record)
        self.workspace.refresh()
        return changes

    def audit(self, table: str, columns: Mapping[str, str], *, by: Sequence[str] = ()) -> Policy:
        """From now on answer questions about a table exactly, or deny them (``ask_audited``), and none with noise.

        ``columns`` says how each audited column is watched over: "sum" (SUM and AVG), "extremes" (MAX and MIN), or
        "bounded=1000:look" (SUM and AVG of numbers whose bounds are known, where an answer may be looked at before it
        is denied). Conditions and groups may use the columns ``by``, which everyone may know of everyone. This is
        decided once, before anything was spent on the table, and nothing can be charged to it from then on.
        """
        self._require_private(table)
        return self._audits.start(table, columns, by)

    def audited(self, table: str) -> Policy | None:
        """How a table is audited, if it is."""
        self._require_private(table)
        return self._audits.policy(table)

    def make_synthetic(self, method: Method[Any], table: str) -> Given:
        """Make the synthetic stand-in of a table, by a method that makes rows, for the loss that it promises.

        It is the holder's to make, for everyone who may ask the table: so the table is charged, and no analyst. It
        takes the place of an earlier one where questions are asked of it, and the same again is free. If there was a
        crash on the way, making it again is charged once.
        """
        self._require_private(table)
        return self._synthetics.make(method, table)

    def synthetic(self, table: str) -> Synthetic | None:
        """The synthetic stand-in of a table, if it has one."""
        self._require_private(table)
        return self._synthetics.find(table)

    def set_synthetic(self, table: str, release: str | None) -> None:
        """Choose which synthetic stand-in of a table answers, or none. What was released stays released."""
        self._require_private(table)
        if release is None:
            self._synthetics.withdraw(table)
        else:
            self._synthetics.note(table, release)

    def left(self, table: str, analyst: str = ANALYST) -> Left:
        """What may still be spent on a table."""
        self._require_private(table)
        return self._left([table], analyst)[table]

    def watch(self, took: Callable[[str, float], None]) -> None:
        """Have ``took`` called with the name of every step on the way to an answer, and how many seconds it took."""
        self._pipeline.steps.took = took

    def verify(self) -> Verdict:
        """Go through the ledger line by line, and compare it with the receipts of all answers that were given.

        The bounded tables in the folder are compared with their recorded digests, steps of streams with their seals.
        """
        self.workspace.require_twins()
        self._streams.verify()
        return self.ledger.verify(self._store.receipts())

    def close(self) -> None:
        """Let go of the ledger, the streams and the engines."""
        self._streams.close()
        self.ledger.close()
        self.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Curator({str(self.workspace.folder)!r})"

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str = ANALYST,
        key: str | None = None,
        instead: bool = True,
    ) -> Answer:
        """Answer a question, for ``epsilon`` (and, where groups are not declared on the card, ``delta``) or ``rho``.

        The same question again is free, and gets the same answer, however it is written and whatever it calls its
        tables and columns (``verbs/ask/question.py`` says what is the same). A retry after a crash is charged once;
        ``key`` makes that an error if the retry asks something else. A question about several private tables costs each
        of them as much: a person may be in all of them.

        If the budget does not cover it and the table has a synthetic stand-in (``make_synthetic``), that is asked
        ``instead``, for nothing: the answer says so (``Answer.synthetic``).
        """
        with limited(self.workspace.limits):
            with self._pipeline.steps.timed("plan"):
                asked = self._asked(sql, analyst, epsilon, delta, rho)
            try:
                given = self._pipeline.one(asked, analyst, f"ask {analyst}: {key or asked.identity}")
            except BudgetExceeded as refusal:
                if not instead:
                    raise
                given = self._synthetics.instead(asked, refusal)
            return self._answer(asked, given, analyst)

    def ask_all(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str = ANALYST,
        instead: bool = True,
    ) -> list[Answer]:
        """Answer several questions for ``epsilon`` and ``delta``, or ``rho``, in all, shared equally.

        Each table is charged once, for those questions about it that were not answered before: for all of them or, if
        that is refused, for none. Then all of those are asked of synthetic stand-ins ``instead``, as in ``ask``.
        """
        with limited(self.workspace.limits, times=len(questions)):
            with self._pipeline.steps.timed("plan"):
                asked = self._all_asked(questions, analyst, epsilon, delta, rho)
            named = hashlib.sha256("\n".join(one.identity for one in asked).encode()).hexdigest()
            try:
                given = self._pipeline.several(asked, analyst, f"batch {analyst}: {named}")
            except BudgetExceeded as refusal:
                if not instead:
                    raise
                given = [self._pipeline.answered(one) or self._synthetics.instead(one, refusal) for one in asked]
            return [self._answer(one, got, analyst) for one, got in zip(asked, given, strict=True)]

    def ask_audited(self, sql: str, *, analyst: str = ANALYST) -> AuditedAnswer:
        """Answer a question about an audited table exactly; ``Refused`` if that could reveal someone's value.

        What counts is all that anyone was answered about the table. Nothing is charged, and what became of the
        question is written to the ledger before it is answered or denied.
        """
        table = self._audits.table_of(sql)
        self._table(table, analyst)  # which says whether they may
        with limited(self.workspace.limits):
            return self._audits.ask(normal(sql), table, analyst)

    def release(self, method: Method[T], table: str, *, analyst: str = ANALYST, key: str | None = None) -> Release[T]:
        """Run a method on a table, for the loss that it promises, and release what comes out.

        The same again is free, and gets the same release. ``key`` is as for ``ask``.
        """
        return self.given(method, table, analyst=analyst, key=key).release

    def given(self, method: Method[T], table: str, *, analyst: str = ANALYST, key: str | None = None) -> Given:
        """As ``release``; also the key that it is stored under, and whether it was free."""
        asked = self._request(method, table, analyst)
        return self._pipeline.one(asked, analyst, f"release {analyst}: {key or asked.identity}")

    def make_for_holder(self, method: Method[Any], table: str) -> Given:
        """As ``given``, for the table's holder: the table is charged, and no analyst.

        The same again is free. If there was a crash on the way, making it again is charged once.
        """
        self._require_private(table)
        asked = request(method, self.workspace.open(table), table, self.workspace.tables[table].id)
        asked = replace(asked, title=f"{table}, {method.name}")
        return self._pipeline.one(asked, None, f"{MADE}{asked.identity}")

    def quote(
        self, method: Method[T], table: str, *, analyst: str = ANALYST, has: Callable[[str], bool] | None = None
    ) -> Quote:
        """What ``release`` would cost, and how far off its figures would be; nothing is looked at or charged.

        ``has`` is as for ``price_all``.
        """
        asked = self._request(method, table, analyst)
        return self._quote(asked, method.expected_errors(asked.table.card), analyst, has)

    def stream(self, stream: Stream, table: str, *, analyst: str = ANALYST) -> RunningStream:
        """Start a stream of rows about the people of ``table``, charged now for all its steps; or find it again.

        The rows come later, step by step (``RunningStream.advance``), in the columns of the table's card as it is: a
        stream keeps to it, also after it is revised. What a stream remembers is kept in the workspace, so it goes on
        after a restart, and on any host that shares the ledger. A name is taken once per table.
        """
        asked = self._request(stream, table, analyst)
        try:
            given = self._pipeline.one(asked, analyst, f"stream of {table}: {stream.called}")
        except Taken:
            raise BadInput(
                f"There is a stream {stream.called!r} of {table} already, with other settings.",
                hint="Choose another name.",
            ) from None
        return self._streams.start(stream, asked.table.card, table, given.identity)

    def thresholds(
        self, table: str, *, epsilon: Number, positives: int = 1, analyst: str = ANALYST
    ) -> ThresholdSession:
        """Start a session that compares counts with thresholds until ``positives`` have reached theirs, charged now.

        Any number of counts may be below theirs. The session lives as long as this object; another one is charged anew.
        """
        declared = Thresholds(epsilon, positives)
        self.release(declared, table, analyst=analyst)

        def planned(sql: str, use: Callable[[Plan], T]) -> T:
            with limited(self.workspace.limits):
                return use(self._plan(sql, self._tables(analyst), self._identities()).plan)

        return ThresholdSession(declared, self._table(table, analyst).card, planned)

    def find_stream(self, table: str, called: str) -> RunningStream:
        """A stream of a table that was started before."""
        self._require_private(table)
        return self._streams.find(table, called)

    def streams(self) -> tuple[RunningStream, ...]:
        """All streams that were started."""
        return tuple(self._streams.find(table, called) for table, called in self._streams.all())

    def price(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str = ANALYST,
        rows: int | None = None,
    ) -> Quote:
        """What ``ask`` would cost, and how far off its figures would be; no row is looked at, nothing is charged.

        ``rows`` is how many rows you expect in a group: the error of an average depends on it.
        """
        return self.price_all([sql], epsilon=epsilon, delta=delta, rho=rho, analyst=analyst, rows=rows)[0]

    def price_all(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
        analyst: str = ANALYST,
        rows: int | None = None,
        has: Callable[[str], bool] | None = None,
    ) -> list[Quote]:
        """What each question of ``ask_all`` would cost, as ``price`` says it; and whether synthetic data would answer.

        What others asked is not told: a question counts as answered if the analyst ``has`` the answer that is kept
        under an identity. By default that is so if it was charged to them.
        """
        with limited(self.workspace.limits, times=len(questions)):
            asked = self._all_asked(questions, analyst, epsilon, delta, rho)
        quotes = [
            replace(self._quote(one, one.method.expected(rows), analyst, has), columns=one.method.columns)
            for one in asked
        ]
        due = [one for one, quote in zip(asked, quotes, strict=True) if not quote.answered]
        if not self._synthetics.have(asked) or not self._pipeline.refuses(due, analyst):
            return quotes
        both = zip(quotes, asked, strict=True)
        return [quote if quote.answered else replace(quote, synthetic=one.tables) for quote, one in both]

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
        with limited(self.workspace.limits):
            return smallest_epsilon(
                self._plan(sql, self._tables(analyst), self._identities()).plan, delta, error, expect, rows
            )

    def _all_asked(
        self, questions: Sequence[str], analyst: str, epsilon: Number | None, delta: Number, rho: Number | None
    ) -> list[Request[SqlMethod]]:
        if not questions:
            raise BadInput("There is no question to answer.")
        share, chance, part = (
            None if whole is None else exact(whole, what) / len(questions)
            for whole, what in ((epsilon, "epsilon"), (delta, "delta"), (rho, "rho"))
        )
        return [self._asked(one, analyst, share, chance or 0, part) for one in questions]

    def _asked(
        self, sql: str, analyst: str, epsilon: Number | None, delta: Number, rho: Number | None
    ) -> Request[SqlMethod]:
        while True:
            tables = self._tables(analyst)
            twins = self._identities()
            question = pose(self._plan(sql, tables, twins), twins, epsilon=epsilon, delta=delta, rho=rho)
            method = SqlMethod(question, tuple(tables[name].card for name in question.tables))
            table = tables[question.tables[0]]
            if self._identities() == twins:  # else a card was revised meanwhile
                break
        promise = method.promise(table.card)
        return Request(method, table, question.tables, question.twins, question.text, promise, question.identity)

    def _identities(self) -> dict[str, str]:
        """The identity of every bounded table."""
        return {name: one.id for name, one in self.workspace.tables.items()}

    def _plan(self, sql: str, tables: Mapping[str, Table], twins: Mapping[str, str]) -> Planned:
        named = tuple(f"{name} {twins[name]}" for name in tables)
        asked = f"{today()} {sql}", named
        found = self._plans.find(asked) or self._shapes.find(sql, named)
        if found is None:
            found = planned(sql, tables)
            self._plans.keep(asked, found)
            self._shapes.learn(sql, found, tables, named)
        return found

    def _request(self, method: Method[T], table: str, analyst: str) -> Request[Method[T]]:
        return request(method, self._table(table, analyst), table, self.workspace.tables[table].id)

    def _quote(
        self,
        asked: Request[Any],
        errors: Mapping[str, float | None],
        analyst: str,
        has: Callable[[str], bool] | None,
    ) -> Quote:
        left = self._left(asked.tables[:1], analyst)[asked.tables[0]]
        answered = self._pipeline.charged(asked, analyst) if has is None else has(asked.identity)
        return Quote(asked.loss, errors, left.analyst, answered)

    def _answer(self, asked: Request[SqlMethod], given: Given, analyst: str) -> Answer:
        release = given.release if is_synthetic(given.release) else asked.method.named(given.release)
        return Answer(release, given.identity, self._left(asked.tables, analyst), given.free)

    def _table(self, name: str, analyst: str) -> Table:
        tables = self._tables(analyst)
        known = [one for one in tables if one in self.workspace.private]
        if name not in known:
            raise NotFound(f"There is no table about people called {name!r}; there are {', '.join(known)}.")
        return tables[name]

    def _require_private(self, name: str) -> None:
        if name not in self.workspace.private:
            known = ", ".join(self.workspace.private)
            raise NotFound(f"There is no table about people called {name!r}; there are {known}.")

    def _tables(self, analyst: str) -> Mapping[str, Table]:
        """The tables someone may ask about: those the ledger has an account for, and the public ones."""
        accounts = {account_of(name, analyst): name for name in self.workspace.private}
        found = self.ledger.find_accounts(*accounts)
        allowed = [name for account, name in accounts.items() if account in found]
        if not allowed:
            raise Refused(f"{analyst} may not query any table here.", hint="Ask the data holder for access.")
        allowed += [name for name, one in self.workspace.tables.items() if one.public]
        return self.workspace.among(allowed)

    def _left(self, tables: Sequence[str], analyst: str) -> dict[str, Left]:
        own = {table: account_of(table, analyst) for table in tables}
        found = self.ledger.find_accounts(*own, *own.values())
        for name in own.values() - found.keys():
            self.ledger.account(name)  # which says that there is none
        return {table: Left(found[name].left, found[table].left) for table, name in own.items()}


class _Plans:
    """The plans of the last questions, by text and tables. Threads may share it.

    A short question may have a large plan, so nodes are counted.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, tuple[str, ...]], tuple[Planned, int]] = OrderedDict()
        self._nodes = 0
        self._lock = threading.Lock()

    def find(self, asked: tuple[str, tuple[str, ...]]) -> Planned | None:
        """The plan of a question, if it is here."""
        with self._lock:
            if asked not in self._kept:
                return None
            self._kept.move_to_end(asked)
            return self._kept[asked][0]

    def keep(self, asked: tuple[str, tuple[str, ...]], made: Planned) -> None:
        """Keep a plan, and no longer those that were not asked for longest."""
        trees = (*(part.query for part in made.plan.parts), made.plan.after)
        nodes = len(asked[0]) + sum(1 for tree in trees for _ in tree.walk())
        with self._lock:
            self._nodes += nodes - self._kept.pop(asked, (made, 0))[1]
            self._kept[asked] = made, nodes
            while self._nodes > _NODES or len(self._kept) > _LATELY:
                self._nodes -= self._kept.popitem(last=False)[1][1]


def _new_ledger(workspace: Workspace) -> SqlLedger:
    """A new ledger in the folder; one in PostgreSQL may be there already, with other curators' accounts."""
    if workspace.ledger == workspace.ledger_place:
        try:
            return open_books(workspace)
        except NotFound:
            pass
    return create_ledger(workspace.ledger_place, witness=workspace.folder / LEDGER)

"""Query auditing in a workspace: one history of questions for all analysts, written to the ledger before any answer.

What becomes of the n-th question of a table is the ledger's line under the key of the bounded table and n. A key takes
one line: of two who ask at the same moment one is the n-th, and the other finds the line taken, learns what it says,
and is weighed again. So whatever was answered was weighed with all that was answered before, also by other processes,
and by other people, who might put their answers together.

The line is durable before the answer is given: a crash in between leaves an answer in the history that no one has seen,
which denies too much and never too little; anyone who asks it again gets it. What was denied stays denied.

A table is asked with noise and under a budget, or audited, never both. That it is audited stands in the ledger, where
it is as durable as what was charged, and cannot be taken back. It holds for the table's account: anyone who shares the
ledger shares it. Why noise cannot come in between: before the table is called audited its limit is set to nothing, so
from then on the ledger itself refuses every loss, also to those who looked before; only then is it seen whether
anything was spent.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from discreet.budget.entries import Account, Charged, Line
from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.core.card import ExposurePolicy
from discreet.core.document import fields
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.core.text import number
from discreet.curator.workspace import Workspace, open_books
from discreet.errors import BadInput, Damaged, NotFound, Refused, Taken
from discreet.releases.facts import Opaque
from discreet.releases.method import Answering, Made, kept_rows, require_decided
from discreet.releases.pipeline import account_of, answered
from discreet.releases.register import Entry, Register, same_people
from discreet.releases.registration import weigh
from discreet.releases.store import Store
from discreet.verbs.ask.query_auditing.audit import Audit, Decision, Outcome
from discreet.verbs.ask.query_auditing.facts import written
from discreet.verbs.ask.query_auditing.policy import Policy, promised
from discreet.verbs.ask.query_auditing.question import AuditedQuestion, table_of

METHOD = "ask-audited"
"""Method of an audited answer, in a recipe."""
_KEY = "audited: "
_SHOWN = 200
"""Characters of a question that the register quotes."""


@dataclass(frozen=True)
class Audited:
    """Query-auditing policy of an account, and the bounded table it is for."""

    policy: Policy
    twin: str
    """Identity of the bounded table that is asked: the history is about its rows."""


def write_policy(ledger: SqlLedger, table: str, twin: str, policy: Policy) -> None:
    """Put a table under query auditing; an error if another policy or workspace audits it already."""
    found = find_audited(ledger, table)
    if found is not None:
        require_twin(found, table, twin)
        if found.policy != policy:
            raise _other_policy(table)
        return
    before = ledger.account(table)
    _require_unspent(before)
    ledger.set_limit(table, Budget(before.budget.nothing.core), why="query auditing from now on: no further charges")
    try:
        _require_unspent(ledger.account(table))
    except Refused:
        ledger.set_limit(table, before.budget, why="not audited: a question was answered with noise meanwhile")
        raise
    said = json.dumps({"policy": policy.to_dict(), "twin": twin}, sort_keys=True)
    try:
        ledger.charge(table, Pure(0), key=_KEY + table, what=f"audited from now on: {policy}\n{said}")
    except Taken:
        raise _other_policy(table) from None


def find_audited(ledger: SqlLedger, table: str) -> Audited | None:
    """Query-auditing policy of a table; None without one."""
    line = ledger.find_line(_KEY + table)
    if line is None:
        return None
    try:
        if not isinstance(line.entry, Charged):
            raise BadInput("no charge")
        said = json.loads(line.entry.purpose.rpartition("\n")[2])
        read = fields(said, "an audited table", policy=dict, twin=str)
        return Audited(Policy.from_dict(read["policy"]), read["twin"])
    except (ValueError, BadInput):
        raise Damaged("The ledger's entry about query auditing is invalid.") from None


def require_twin(found: Audited, table: str, twin: str) -> None:
    """An error if another bounded table of the account is audited: its history is about other rows."""
    if found.twin != twin:
        raise Refused(
            f"Another workspace with the same ledger already has query auditing of {table}, with the one "
            "history there can be.",
            hint="Ask there, or use a workspace with a ledger of its own.",
        )


def require_noise(ledger: SqlLedger, tables: Iterable[str]) -> None:
    """An error if one of these tables is under query auditing, and so not answered with noise."""
    for table in tables:
        if ledger.find(_KEY + table) is not None:
            raise Refused(
                f"{table} has query auditing: questions are answered exactly or denied, never with noise.",
                hint="Ask it with --audited, or ask_audited.",
            )


def _require_unspent(account: Account) -> None:
    if account.total != account.budget.nothing:
        raise Refused(
            f"Questions about {account.name} were answered with noise: query auditing is no longer possible.",
            hint="Register it in a separate workspace. The noisy answers stay known.",
        )


def _other_policy(table: str) -> Refused:
    return Refused(f"{table} already has query auditing under another policy, which cannot be changed.")


@dataclass(frozen=True)
class AuditedAnswer:
    """An exact answer that query auditing allowed."""

    release: Release[pa.Table]
    identity: str
    """Identity under which the answer is stored."""
    free: bool
    """Whether the question had been answered before."""

    @property
    def table(self) -> pa.Table:
        """The figures, exactly as they are in the table."""
        return self.release.payload

    @property
    def statement(self) -> Statement:
        """The privacy statement of the answer, with its limits."""
        return self.release.statement


@dataclass
class _History:
    """History of the questions about one table, as far as this process has read it."""

    audit: Audit
    lines: int = 0
    became: dict[str, tuple[AuditedQuestion, Decision, Line]] = field(default_factory=dict)
    """Decision and ledger line of each question, by its text."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Audits:
    """Tables of a workspace that are under query auditing. Threads may share it."""

    def __init__(self, workspace: Workspace, ledger: SqlLedger, store: Store) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self._store = store
        self._histories: dict[str, _History] = {}
        self._lock = threading.Lock()

    def start(self, table: str, columns: Mapping[str, str], by: Sequence[str]) -> Policy:
        """Put a table under query auditing from now on."""
        policy = Policy.of(columns, by, self._workspace.card(table))
        twin = self._workspace.open(table)
        require_decided(promised(policy, twin.card, [*columns]), twin.card)
        Audit(twin, policy)  # which says what could not be answered, while that can be changed
        self._require_whole(table, twin)
        write_policy(self._ledger, table, self._workspace.tables[table].id, policy)
        return policy

    def _require_whole(self, table: str, twin: Table) -> None:
        """An error if bounding left out rows: which ones are left out depends on their values."""
        left_out = self._workspace.tables[table].left_out
        if left_out < 0:
            try:
                left_out = self._workspace.original(table).count() - twin.count()
            except NotFound as error:
                raise Refused(
                    f"Whether every row of {table} counts cannot be checked: {error.message}",
                    hint="Restore the source, or register the table again.",
                ) from None
        if left_out > 0:
            raise Refused(
                f"{left_out:,} rows of {table} lack a required value, or exceed the card's rows per person: "
                "their selection would reveal people.",
                hint="Remove them, or correct the card, and register the table again.",
            )

    def policy(self, table: str) -> Policy | None:
        """Query-auditing policy of a table; None without one."""
        found = find_audited(self._ledger, table)
        return None if found is None else found.policy

    def table_of(self, text: str) -> str:
        """The table of a question, as the workspace spells it."""
        said = table_of(text)
        for name in self._workspace.private:
            if name.casefold() == said.casefold():
                return name
        known = ", ".join(self._workspace.private)
        raise NotFound(f"There is no table about people called {said!r}; there are {known}.")

    def ask(self, text: str, table: str, analyst: str) -> AuditedAnswer:
        """Decide on a question: an answer, or a refusal.

        An answer is in the register before it is given, as every release is, and after all that it was to be refused
        for: so of an answer and a release that are made at the same moment, the later one in the register gives way.
        """
        history = self._history(table)
        for other in self._workspace.private:
            if other != table and self.is_audited(other):
                self.register_answers(other)
        with history.lock:
            question = history.audit.question(text)
            self._catch_up(history, table)
            before = text in history.became
            if not before:
                self._require_alone(table, question)
            while text not in history.became:
                self._require_untouched(table)
                decision = history.audit.decide(question)
                line = account_of(table, analyst), Pure(0)
                try:
                    key = self._key(table, history.lines + 1)
                    print_ = history.audit.fingerprint(question, decision)
                    self._ledger.charge(*line, key=key, what=_written(text, decision, print_))
                except Taken:  # someone was faster: what they asked counts for this one
                    pass
                self._catch_up(history, table)
            _, decision, found = history.became[text]
        if decision.outcome is not Outcome.ANSWERED:
            raise _denied(decision.outcome)
        self.register_answers(table)
        self._require_alone(table, question, found)
        with history.lock:
            release = self._release(history.audit, question, decision, table, found)
        identity = self._identity(text, table)
        return AuditedAnswer(self._store.keep(identity, table, release), identity, before)

    def register_answers(self, table: str) -> None:
        """Write all answers down in the register that are not there yet, so that what leaves is checked with them."""
        history, workspace = self._history(table), self._workspace
        with history.lock:
            self._catch_up(history, table)
            with Register(workspace.register) as register:
                there = {one.told.get("line") for one in register.entries() if one.method == METHOD}
            due = [(text, *one) for text, one in history.became.items() if one[2].number not in there]
            due = [one for one in due if one[2].outcome is Outcome.ANSWERED]
            if not due:
                return
            bounded = workspace.open(table)
            card = replace(bounded.card, population=workspace.full_card(table).population)
            policy = ExposurePolicy(despite="query auditing allowed the answer", undecided="warn")
            listed = replace(
                bounded, card=card, source=workspace.lineage(table), registers=(workspace.register,), policy=policy
            )
            for text, question, decision, line in due:
                told = history.audit.sums(question, decision.told)
                columns = tuple(dict.fromkeys(column for _, column in question.weighed))
                facts = (
                    Opaque("an audited answer that is not a sum of whole numbers", columns) if told is None else told
                )
                weigh(listed, facts, text[:_SHOWN], judge=False).register(None, METHOD, 0, line=line.number)

    def _require_alone(self, table: str, question: AuditedQuestion, answer: Line | None = None) -> None:
        """An error if exact figures of the columns have left by other means, which query auditing does not weigh: in a
        release, or in an answer about another table of the same people. With an answer, before it was registered."""
        asked = {column for _, column in question.weighed}
        out = self._others(table, answer)
        if any(asked & set(one.told.get("tells", ())) for one in out):
            raise Refused(
                "Denied: exact figures of these columns were released elsewhere, and auditing does not cover "
                "both together.",
                hint="Ask about other columns, or use a table that is answered with noise.",
            )

    def _not_checked(self, table: str) -> tuple[str, ...]:
        """What an answer says of earlier releases that no figures describe."""
        left = sum(one.facts == "opaque" for one in self._others(table))
        others = number(left, "earlier release")
        return (f"Not checked together with {others} of the same people: no figures describe it.",) if left else ()

    def _others(self, table: str, answer: Line | None = None) -> list[Entry]:
        """What is in the register of the same people, before an answer, and is no answer about the table."""
        people = self._workspace.full_card(table).people
        mine = Entry(0, people, table, self._workspace.lineage(table), "", METHOD, 0)
        with Register(self._workspace.register) as register:
            entries = register.entries()
        answers = [one for one in entries if (one.method, one.table) == (METHOD, table)]
        until = next((one.number for one in answers if answer and one.told.get("line") == answer.number), len(entries))
        return [one for one in entries[:until] if same_people(mine, one) and one not in answers]

    def is_audited(self, table: str) -> bool:
        """Whether a table of this workspace is under query auditing."""
        found = find_audited(self._ledger, table)
        return found is not None and found.twin == self._workspace.tables[table].id

    def _history(self, table: str) -> _History:
        with self._lock:
            if table not in self._histories:
                found = find_audited(self._ledger, table)
                if found is None:
                    raise Refused(
                        f"{table} has no query auditing: it is asked under a budget.",
                        hint="Its holder can start auditing: discreet workspace audit.",
                    )
                require_twin(found, table, self._workspace.tables[table].id)
                self._histories[table] = _History(Audit(self._workspace.open(table), found.policy))
            return self._histories[table]

    def _catch_up(self, history: _History, table: str) -> None:
        """Read decisions on questions from the ledger since the last time."""
        while (line := self._ledger.find_line(self._key(table, history.lines + 1))) is not None:
            text, outcome, told, print_ = _read(line)
            question = history.audit.question(text)
            decision = Decision(outcome, history.audit.read(told))
            if print_ != history.audit.fingerprint(question, decision):
                raise Damaged(f"The sets of the question in entry {line.number} of the ledger have changed.")
            history.audit.learn(question, decision)
            history.became.setdefault(text, (question, decision, line))
            history.lines += 1

    def _require_untouched(self, table: str) -> None:
        account = self._ledger.account(table)
        if account.total != account.budget.nothing:
            raise Refused(f"{table} was answered with noise after auditing began: it is closed.")

    def _release(
        self, audit: Audit, question: AuditedQuestion, decision: Decision, table: str, line: Line
    ) -> Release[pa.Table]:
        columns = [column for _, column in question.weighed]
        steps = (
            kept_rows(audit.card),
            "the question was audited together with all earlier audited answers, and answered without noise",
        )
        answer = Answering(
            METHOD,
            promised(audit.policy, audit.card, columns),
            Made(
                audit.answer(question, decision.told),
                steps=steps,
                caveats=self._not_checked(table),
                title=f"An audited answer about {table}",
            ),
            {"question": question.text, "table": table, "twins": {table: self._workspace.tables[table].id}},
        )
        return answered(answer, self._workspace.open(table), line.receipt)

    def _key(self, table: str, number: int) -> str:
        return f"audited {self._workspace.tables[table].id}: {number}"

    def _identity(self, text: str, table: str) -> str:
        said = [METHOD, table, self._workspace.tables[table].id, text]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def register_answers(workspace: Workspace) -> None:
    """Write the audited answers of a workspace down in its register, before something else is released."""
    with open_books(workspace) as ledger:
        audits = Audits(workspace, ledger, Store(workspace.releases, ledger))
        for table in workspace.private:
            if audits.is_audited(table):
                audits.register_answers(table)


def _written(text: str, decision: Decision, print_: str) -> str:
    """A line for people, and one for ``_read``: the decision, the exact figures as texts, and their sets."""
    told = [[how, column, [written(one) for one in some]] for (how, column), some in decision.told.items()]
    said = json.dumps([decision.outcome.value, told, print_], separators=(",", ":"))
    return f"{_prefix(decision.outcome)}{text}\n{said}"


def _read(line: Line) -> tuple[str, Outcome, dict[tuple[str, str], Any], str]:
    try:
        if not isinstance(line.entry, Charged):
            raise BadInput("no charge")
        text, _, said = line.entry.purpose.rpartition("\n")
        outcome, told, print_ = json.loads(said)
        became = Outcome(outcome)
        figures = {(how, column): some for how, column, some in told}
        return text.removeprefix(_prefix(became)), became, figures, print_
    except (ValueError, TypeError, BadInput):
        raise Damaged(f"Entry {line.number} of the ledger is not an audited question.") from None


def _prefix(outcome: Outcome) -> str:
    return f"audited, {outcome.value}: "


def _denied(outcome: Outcome) -> Refused:
    if outcome is Outcome.CLOSED:
        return Refused(
            "Denied: together with earlier answers this one would reveal too much. Its bounded columns are "
            "closed permanently.",
            hint="This denial depends on the data: the answer was near a bound. No more questions about "
            "these columns are answered.",
        )
    if outcome is Outcome.SHUT:
        return Refused(
            "Denied: this asks about a column that is closed permanently since an earlier denial.",
            hint="Earlier answers remain available. Ask about other columns.",
        )
    return Refused(
        "Denied: together with earlier answers this one could reveal a person's value.",
        hint="The denial depends only on earlier questions and answers, not on this answer. Ask about more "
        "people, or other groups.",
    )

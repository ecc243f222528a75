"""Operations: everything that someone who is signed in may do, and nothing else.

The API and the console both come here, and only here, so that there is one place which says who may do what and one
place which writes down what was done. Every method takes anyone who asks first; what they may not do is refused before
anything is looked at, and what they may not even know of is "not found". What is about people is in ``access.py``, what
is about budgets in ``budgets.py``, and who may do what in ``permissions.py``.

The audit log holds who did what to which table, release, account or person, and why something left despite exposure. It
holds no question, no answer and no secret: questions are in the ledger, answers in the release store.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self

from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.release import Release, load_papers
from discreet.curator.answer import Answer, Left
from discreet.curator.audited import AuditedAnswer, find_audited
from discreet.curator.curator import Curator
from discreet.curator.people.audit import Audit
from discreet.curator.people.people import People
from discreet.curator.people.person import Person, Role
from discreet.curator.people.state import State
from discreet.curator.release_index import HOLDER, SYNTHETIC, Shelf, Shelved
from discreet.curator.synthetic import Synthetic
from discreet.engines.limits import limited
from discreet.errors import BadInput, Damaged, NotFound
from discreet.releases.method import Method
from discreet.releases.pipeline import Given
from discreet.releases.register import Entry, Register
from discreet.service.jobs.jobs import Jobs
from discreet.service.jobs.order import Estimate, JobLimits
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import SPECS, Attack, Spec
from discreet.service.operations.access import AccessOperations
from discreet.service.operations.budgets import BudgetOperations
from discreet.service.operations.data import DataOperations
from discreet.service.operations.exposure import ExposureOperations
from discreet.service.operations.permissions import READERS, REQUEST, Permissions, listed
from discreet.service.operations.saved import SavedQuestionOperations
from discreet.service.operations.surveys import SurveyOperations
from discreet.service.redact import without_paths
from discreet.service.sessions import SessionView, names_of, view_of
from discreet.service.views import Spend, TableView
from discreet.verbs.ask.price import Quote

ASKED_FOR = "ask for "
"""How the audit log begins when a job is submitted; a line of its own says how it ended."""


class Operations:
    """A workspace, the people who may use it, and what each of them may do.

    ``access`` has what is about people, passwords and tokens, ``budgets`` what is about the ledger, ``data`` what is
    about files and cards, ``exposure`` what everything that left tells together, ``saved`` their saved
    questions, ``surveys`` what is asked of people.
    """

    def __init__(self, folder: str | Path, *, jobs: JobLimits | None = None) -> None:
        """Open the workspace in ``folder`` for people to sign in to; ``jobs`` says how many run at once.

        Threads may share this.
        """
        self._curator = Curator(folder)
        self.workspace = self._curator.workspace
        self._state = State.open(self.workspace)
        self.people = People(self._state)
        audit = Audit(self._state)
        self._may = Permissions(self.workspace, audit)
        self.access = AccessOperations(self._curator, self.people, audit, self._may)
        self.budgets = BudgetOperations(self._curator, audit, self._may)
        self.data = DataOperations(self._curator, self._may)
        self.saved = SavedQuestionOperations(self._state, self._may)
        self._shelf = Shelf(self._state, self.workspace)
        self.exposure = ExposureOperations(self._curator, self._shelf, self._may)
        self.surveys = SurveyOperations(self.workspace, self._shelf, self._may)
        self._jobs = Jobs(self._state, self.workspace.folder, limits=jobs)
        self._watching: list[Callable[[str, bool], None]] = []

    def watch(self, answered: Callable[[str, bool], None], took: Callable[[str, float], None]) -> None:
        """Have every answer counted, whichever way it was asked for, and every step on the way to one timed.

        ``answered`` is called with the kind of an answer (question, synthetic, audited, method) and whether it was
        free, ``took`` with the name of a step and how many seconds it took.
        """
        self._watching.append(answered)
        self._curator.watch(took)

    def start(self, *, jobs: bool = True) -> None:
        """List what was released by command line, and begin to work on ``jobs`` that wait."""
        self._shelf.adopt()
        if jobs:
            self._jobs.start()

    def close(self, grace: float = 0.0) -> None:
        """Shut down, giving running jobs this number of seconds, and close everything."""
        self._jobs.stop(grace)
        self.surveys.stop()
        self._state.close()
        self._curator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Tables

    def tables(self, who: Person) -> list[TableView]:
        """The tables that someone may know of: analysts those they may ask, others all."""
        self._may.require(who)
        self.workspace.refresh()
        views = [self._view(who, name) for name in self.workspace.tables]
        if who.role in READERS:
            return views
        mine = any(view.left is not None for view in views)
        return [view for view in views if view.left is not None or (view.public and mine)]

    def table(self, who: Person, name: str) -> TableView:
        """One of them."""
        found = [view for view in self.tables(who) if view.name == name]
        if not found:
            raise NotFound(
                "There is no such table, or it is not visible to you.",
                hint="GET /v1/tables lists those that there are.",
            )
        return found[0]

    # Asking

    def price(self, who: Person, questions: Sequence[str], spend: Spend, *, rows: int | None = None) -> list[Quote]:
        """What ``ask`` would cost; no row is looked at, nothing is charged or written down.

        That a question was answered before is told to those who have the answer, and not what others asked.
        """
        self._may.require_asker(who)
        has = partial(self._has, who)
        return self._curator.price_all(questions, **spend.arguments(), rows=rows, analyst=who.name, has=has)

    def epsilon_for(
        self,
        who: Person,
        question: str,
        error: Number,
        *,
        delta: Number = 0,
        expect: Number | None = None,
        rows: int | None = None,
    ) -> Fraction:
        """The smallest epsilon for which every figure is off by at most ``error``; no row is looked at."""
        self._may.require_asker(who)
        return self._curator.epsilon_for(question, error, delta=delta, expect=expect, rows=rows, analyst=who.name)

    def ask(
        self,
        who: Person,
        questions: Sequence[str],
        spend: Spend,
        *,
        key: str | None = None,
        instead: bool = True,
        hand_over: bool = True,
    ) -> list[Answer]:
        """Answer one question, or several for one price; charged to anyone who asks.

        What the budget does not cover is asked of synthetic stand-ins ``instead``, where there are some. Without
        ``hand_over`` no one can see that there is an answer until ``gave`` is called with it.
        """
        with self._may.noted(who.name, "ask") as about:
            self._may.require_asker(who)
            arguments = spend.arguments() | {"analyst": who.name, "instead": instead}
            if len(questions) == 1:
                given = [self._curator.ask(questions[0], key=key, **arguments)]
            elif key is not None:
                raise BadInput("A key applies to one question.", hint="Leave it out: a batch is charged once anyway.")
            else:
                given = self._curator.ask_all(questions, **arguments)
            if hand_over:
                self.gave(who, *given)
            about |= {"tables": listed(name for one in given for name in one.left_on)}
            about |= {"releases": listed(one.identity for one in given)}
            about["free"] = str(sum(one.free for one in given))
            if synthetic := sum(one.synthetic for one in given):
                about["synthetic"] = str(synthetic)
            return given

    def ask_audited(self, who: Person, question: str, *, hand_over: bool = True) -> AuditedAnswer:
        """Answer a question about an audited table exactly, or refuse it; nothing is charged."""
        with self._may.noted(who.name, "ask audited") as about:
            self._may.require_asker(who)
            given = self._curator.ask_audited(question, analyst=who.name)
            table = given.release.recipe.parameters["table"]
            if hand_over:
                self.gave(who, given)
            about |= {"tables": table, "releases": given.identity, "free": str(int(given.free))}
            return given

    def quote(self, who: Person, method: Method[Any], table: str) -> Quote:
        """What ``release_of`` would cost; nothing is looked at or charged."""
        self._may.require_asker(who)
        with limited(self.workspace.limits):
            return self._curator.quote(method, table, analyst=who.name, has=partial(self._has, who))

    def release_of(
        self, who: Person, method: Method[Any], table: str, *, key: str | None = None, hand_over: bool = True
    ) -> Given:
        """Run a method that promises a loss on a table, charged to anyone who asks."""
        with self._may.noted(who.name, "release", table=table, method=method.name) as about:
            self._may.require_asker(who)
            with limited(self.workspace.limits):
                given = self._curator.given(method, table, analyst=who.name, key=key)
            if hand_over:
                self.gave(who, given, table=table)
            about |= {"releases": given.identity, "free": str(int(given.free))}
            return given

    def instead(self, who: Person, table: str) -> str | None:
        """The table's synthetic stand-in, which answers when the budget is spent, if someone may see it."""
        self._may.require(who)
        found = None
        with suppress(Damaged):  # which concerns anyone who asks it, and no one else
            found = self._curator.synthetic(table) if table in self.workspace.private else None
        return found.identity if found and self._may_see(who, self._stand_in(found)) else None

    # Releases

    def releases(
        self,
        who: Person,
        *,
        kind: str | None = None,
        table: str | None = None,
        most: int = 100,
        before: dt.datetime | None = None,
    ) -> list[Shelved]:
        """What was released, newest first: for an analyst their own and what was shared with them."""
        self._may.require(who)
        if who.role in READERS:
            tables = None if table is None else [table]
            return self._shelf.all(tables=tables, kind=kind, most=most, before=before)
        mine = [view.name for view in self.tables(who) if table in (None, view.name)]
        found = self._shelf.all(tables=mine, kind=kind, most=most, before=before, seen_by=who.name)
        return [one for one in found if self._may_see(who, one)]

    def shelved(self, who: Person, release: str) -> Shelved:
        """Entry of a release in the release index."""
        self._may.require(who)
        try:
            found = self._shelf.find(release, adopt=who.role is Role.STEWARD)
        except NotFound:
            found = None
        if found is None or not self._may_see(who, found):
            raise NotFound("There is no such release, or it is not visible to you.")
        return found

    def release(self, who: Person, release: str) -> Release[Any]:
        """A release, whole: its hashes are checked."""
        return Release.load(self.path(who, release))

    def statement(self, who: Person, release: str) -> Release[Any]:
        """A release without what is in it: title, statement, recipe, receipt. Auditors may read this."""
        return load_papers(self._shelf.path(self.shelved(who, release).id))

    def path(self, who: Person, release: str) -> Path:
        """Where a release is, to hand it over; that is written down."""
        with self._may.noted(who.name, "read", release=release):
            self._may.require(who, Role.STEWARD, Role.ANALYST)
            return self._shelf.path(self.shelved(who, release).id)

    def share(self, who: Person, release: str, shared: bool) -> None:
        """Share a release with the analysts of its tables, or stop that. A stand-in answers while it is shared."""
        with self._may.noted(who.name, "share" if shared else "stop sharing", release=release):
            self._may.require_steward(who)
            one = self.shelved(who, release)
            if one.kind == SYNTHETIC:
                self._have_answer(one, shared)
            self._shelf.share(one.id, shared)

    def published(self, who: Person, table: str) -> list[Entry]:
        """Earlier releases of a table."""
        self._may.require(who, *READERS)
        with Register(self.workspace.register) as register:
            return [one for one in register.entries() if one.table == table]

    def full_card(self, who: Person, table: str) -> Card:
        """All of a table's card, hierarchies and identifiers too: for anyone who publishes it."""
        self._may.require_steward(who)
        if table not in self.workspace.private:
            raise NotFound(f"There is no table about people called {table!r}.")
        return self.workspace.full_card(table)

    # Jobs

    def submit(self, who: Person, spec: Spec, *, key: str | None = None) -> Job:
        """Submit a job; under the same idempotency ``key`` again it is the same job, also when that is done."""
        with self._may.noted(who.name, f"{ASKED_FOR}{spec.kind}", **spec.about()) as about:
            self._may.require_steward(who)
            if isinstance(spec, Attack):
                self.shelved(who, spec.release)
            if reason := self.exposure.require_override(who, spec):
                about["despite"] = reason
            job = self._jobs.submit(spec, who.name, key=key, request=REQUEST.get())
            about["job"] = job.id
            return job

    def job_estimate(self, who: Person, kind: str, table: str) -> Estimate:
        """What the latest jobs of a kind on a table took."""
        self._may.require(who, *READERS)
        return self._jobs.estimate(kind, table)

    def jobs(self, who: Person, *, most: int = 50) -> list[Job]:
        """Jobs, newest first."""
        self._may.require(who, *READERS)
        return [self._for(who, job) for job in self._jobs.all(most=most)]

    def job_counts(self, who: Person) -> Mapping[str, int]:
        """Number of jobs in each state."""
        self._may.require(who, *READERS)
        return self._jobs.counts()

    @property
    def jobs_alive(self) -> bool:
        """Whether jobs that wait will be worked on, if that was started here."""
        return self._jobs.alive

    def job(self, who: Person, job: str) -> Job:
        """One of them."""
        self._may.require(who, *READERS)
        return self._for(who, self._jobs.find(job))

    def cancel(self, who: Person, job: str) -> None:
        """Stop a job; nothing of it is left."""
        with self._may.noted(who.name, "cancel", job=job):
            self._may.require_steward(who)
            self._jobs.cancel(job)

    def job_result(self, who: Person, job: str) -> Mapping[str, Any]:
        """Result of a job, as plain data. It is about the rows, and for the holder alone."""
        with self._may.noted(who.name, "read result", job=job):
            self._may.require_steward(who)
            return self._jobs.result(job)

    def paper(self, who: Person, job: str, name: str) -> Path:
        """A document that a job made for the holder alone."""
        with self._may.noted(who.name, "read paper", job=job, paper=name):
            self._may.require_steward(who)
            return self._jobs.paper(job, name)

    # Sessions with other holders

    def sessions(self, who: Person) -> list[str]:
        """The names of the sessions that this workspace can take part in."""
        self._may.require_steward(who)
        return names_of(self.workspace)

    def session(self, who: Person, name: str) -> SessionView:
        """Who takes part in one, what is computed, and what every coalition would learn."""
        self._may.require_steward(who)
        return view_of(self.workspace, name)

    # Who may

    def _may_see(self, who: Person, one: Shelved) -> bool:
        if who.role in READERS:
            return True
        asks = all(self._left(who, name) is not None for name in one.tables if name in self.workspace.private)
        return asks and (one.shared or self._shelf.has(one.id, who.name))

    def _has(self, who: Person, release: str) -> bool:
        return self._shelf.has(release, who.name)

    def _left(self, who: Person, table: str) -> Left | None:
        try:
            return self._curator.left(table, who.name)
        except (NotFound, BadInput):
            return None

    def _view(self, who: Person, name: str) -> TableView:
        registered = self.workspace.tables[name]
        left = None if registered.public else self._left(who, name)
        synthetic = None if registered.public else self.instead(who, name)
        audited = not registered.public and find_audited(self._curator.ledger, name) is not None
        return TableView(name, self.workspace.card(name), registered.public, left, synthetic, audited)

    def _stand_in(self, found: Synthetic) -> Shelved:
        """The entry of a stand-in that answers; one made outside the service is listed and shared now."""
        with suppress(NotFound):
            if (one := self._shelf.find(found.identity)).shared:
                return one
        self._shelf.put(Shelved.synthetic(found.identity, found.papers, found.name, by=HOLDER))
        self._shelf.share(found.identity, True)
        return self._shelf.find(found.identity)

    def _have_answer(self, one: Shelved, shared: bool) -> None:
        """Let a stand-in that is shared answer, unless another does; and one that is not no longer."""
        [table] = one.tables
        now = self._curator.synthetic(table)
        if shared and now is None:
            self._curator.set_synthetic(table, one.id)
        elif not shared and now is not None and now.identity == one.id:
            self._curator.set_synthetic(table, None)

    def _for(self, who: Person, job: Job) -> Job:
        """A job as someone may see it. What it says of how far it is, and of what went wrong, may be about the rows;
        and what it is to hide is a secret."""
        if who.role is Role.STEWARD:
            said, error = (without_paths(text, self.workspace.folder) for text in (job.said, job.error))
            return replace(job, said=said, error=error)
        untold = SPECS[job.kind].untold if job.kind in SPECS else ()
        spec = {name: value for name, value in job.spec.items() if name not in untold}
        return replace(job, spec=spec, said="", error=job.error and "Only stewards see the error.")

    # What was done

    def gave(self, who: Person, *answers: Answer | AuditedAnswer | Given, table: str = "") -> None:
        """List answers, and count them. Who asks the same later gets the same answer, and has it from then on.

        ``table`` is the one that a method was run on, which what it gives does not say.
        """
        for one in answers:
            kind: str = "method"
            tables: tuple[str, ...] = (table,)
            if isinstance(one, Answer):
                kind, tables = "synthetic" if one.synthetic else "question", tuple(one.left_on)
            elif isinstance(one, AuditedAnswer):
                kind, tables = "audited", (one.release.recipe.parameters["table"],)
            self._shelf.put(Shelved.answer(one.identity, one.release, tables, by=who.name))
            for answered in self._watching:
                answered(kind, one.free)

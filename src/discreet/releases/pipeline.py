"""The one pipeline: every release of every verb is made here, in one order.

    already made?  →  promised  →  earlier releases looked up  →  charged, for good  →  run
                   →  written and read back  →  models re-checked  →  sealed and kept  →  registered  →  handed out

``release`` is for a method without a ledger: what it makes goes to a folder or stays in memory, and is written down in
the registers of its table. ``Pipeline`` is the same with a ledger and a store: a curator's.

Why this is private. What is promised is worked out from cards alone, and nothing is claimed of what was made but what
was promised and then checked on what was written. With a ledger, the loss is charged to every table that is looked at,
durably, before any row is (``budget/ledger.py``); a unit may be in all those tables at once, so each is charged the
full loss. What comes out is kept before it is given, and given once (``releases/store.py``). A crash at any point may
waste what was charged; it never lets anything out that was not charged, or not registered. All failures after the
charge look alike: the message does not say whether the data were the reason, or the limits on time and memory, and
nothing is refunded, or errors would be a free oracle. What rows, limits or noise made fail has failed for good: to try
again would be another draw, or another look at the clock, for the same charge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from discreet.budget.entries import Charged, budget_refusal, tightest_refusal
from discreet.budget.ledger import SqlLedger
from discreet.core.document import dumps
from discreet.core.holder_copy import fingerprint
from discreet.core.loss import Loss, sequential
from discreet.core.release import LINKED, Receipt, Release, Rows
from discreet.core.release import save as save_folder
from discreet.core.statement import Evidence, Recipe, Statement, versions
from discreet.core.table import Table
from discreet.engines.limits import Limits, limited
from discreet.errors import (
    BadInput,
    BudgetExceeded,
    EngineError,
    LoginFailed,
    NoPromise,
    NotFound,
    Refused,
    Taken,
    Unreachable,
)
from discreet.noise.entropy import Watched
from discreet.releases.method import Answering, Bench, Made, Method, Progress, require_decided, silent
from discreet.releases.register import Entry, earlier_releases, notice, with_registers_beside
from discreet.releases.registration import NO_REGISTER, Weighed, facts_of, require_register, weigh
from discreet.releases.steps import Steps
from discreet.releases.store import ALSO_CHARGED, Store, failure

M = TypeVar("M", bound=Method[Any])
_LONGEST_NAME = 60
_LONGEST_TEXT = 15_000
_OVERFLOWN = pa.scalar(-(2**63), pa.int64())


@dataclass(frozen=True)
class Request(Generic[M]):
    """What is to be released, as far as it is known before any row is looked at."""

    method: M
    table: Table
    """Bounded table that the method runs on."""
    tables: tuple[str, ...]
    """The private tables that are looked at, in order: all of them are charged."""
    twins: Mapping[str, str]
    """Identities of the bounded tables of all tables read, including public ones."""
    text: str
    """What the ledger says it was spent on."""
    statement: Statement
    identity: str
    """Identity of the request: equal only for equal requests on the same bounded tables at the same loss."""
    title: str = ""
    """Of the release; by default it says what was asked about."""

    @property
    def loss(self) -> Loss:
        """What is charged to each of them."""
        if self.statement.loss is None:
            raise NoPromise(
                f"{self.method.name} has no bound on its privacy loss, so no budget can be charged.",
                hint="In a workspace, use a method whose loss is known beforehand.",
            )
        return self.statement.loss


@dataclass(frozen=True)
class Given:
    """What came through the door."""

    release: Release[Any]
    identity: str
    """What it is kept under."""
    free: bool
    """Whether nothing was charged for it, because it had been answered before."""

    def _repr_html_(self) -> str:
        return self.release._repr_html_()


def request(method: M, table: Table, name: str, twin: str) -> Request[M]:
    """Request to run a method on the bounded table of ``name``."""
    statement = method.promise(table.card)
    loss = None if statement.loss is None else statement.loss.to_dict()
    said = [method.name, dict(method.parameters), name, twin, loss]
    identity = hashlib.sha256(dumps(said).encode()).hexdigest()
    shown = ", ".join(f"{key} = {_plain(value)}" for key, value in method.parameters.items())
    return Request(method, table, (name,), {name: twin}, f"{method.name} of {name}: {shown}", statement, identity)


def account_of(table: str, analyst: str | None) -> str:
    """The account that an analyst's spending on a table is charged to; without an analyst, the table's own account."""
    if analyst is None:
        return table
    if not isinstance(analyst, str) or not 0 < len(analyst) <= _LONGEST_NAME or "/" in analyst:
        raise BadInput(f"An analyst's name needs 1 to {_LONGEST_NAME} characters and no slash, not {analyst!r:.80}.")
    return f"{table}/{analyst}"


class Pipeline:
    """The pipeline with a ledger, which is charged, and a store, in which releases are sealed and kept."""

    def __init__(self, ledger: SqlLedger, store: Store, limits: Limits, admit: Callable[[Sequence[str]], None]) -> None:
        self._ledger = ledger
        self._admit = admit
        self._store = store
        self._limits = limits
        self.steps = Steps()

    def one(self, asked: Request[Any], analyst: str | None, key: str) -> Given:
        """Give what was asked. The same under the same ``key`` is charged once, anything else is an error.

        Without an analyst it is charged to the tables alone: what their holder has made, for everyone.
        """
        keys = {table: f"{key} on {table}" for table in asked.tables[1:]} | {asked.tables[0]: key}
        return self._given([asked], analyst, keys, batch=False)[0]

    def several(self, asked: Sequence[Request[Any]], analyst: str, key: str) -> list[Given]:
        """Give all that was asked, of which each table is charged its own part, or nothing. ``key`` names all of it."""
        keys = {table: f"{key} on {table}" for one in asked for table in one.tables}
        return self._given(asked, analyst, keys, batch=True)

    def _given(
        self, asked: Sequence[Request[Any]], analyst: str | None, keys: Mapping[str, str], *, batch: bool
    ) -> list[Given]:
        found = {one.identity: self._store.find(one.identity, one.tables[0]) for one in asked}
        due = {one.identity: one for one in asked if found[one.identity] is None}
        if due:
            with self.steps.timed("charge"):
                receipts = self._charged(list(due.values()), analyst, keys, batch=batch)
            found |= {name: self._kept(one, [receipts[table] for table in one.tables]) for name, one in due.items()}
        given = [(one.identity, found[one.identity]) for one in asked]
        return [Given(release, identity, identity not in due) for identity, release in given if release is not None]

    def _kept(self, one: Request[Any], receipts: Sequence[Receipt]) -> Release[Any]:
        """Make what was charged, and keep it: that it was made, or that it failed."""
        with self.steps.timed("rows"), limited(self._limits, whole=False):
            statement = one.statement.noted(self._ledger.renewals({paid.account for paid in receipts}))
            made = _made(replace(one, statement=statement), receipts, Watched())
        with self.steps.timed("keep"):
            if made is None:
                return self._store.fail(one.identity, one.tables[0])
            stand_in = bool(one.method.makes(one.table.card))  # whose rows are asked in their turn
            return self._store.keep(one.identity, one.tables[0], made, apart=stand_in)

    def _charged(
        self, due: Sequence[Request[Any]], analyst: str | None, keys: Mapping[str, str], *, batch: bool
    ) -> dict[str, Receipt]:
        """Charge every table for what is due on it.

        After a crash half way only some of a batch is due, and its key names all of it. What had been answered when it
        was charged was sealed, and so cannot become due again: what is due now was due, and paid for, then. So a
        batch that was charged is not charged again, although it would be for less.
        """
        self._admit(sorted({name for one in due for name in one.twins}))
        tables = sorted({table for one in due for table in one.tables})
        receipts = {table: found for table in tables if batch and (found := self._ledger.find(keys[table])) is not None}
        charges = {
            table: _Charge(account_of(table, analyst), [one for one in due if table in one.tables], keys[table])
            for table in tables
            if table not in receipts
        }
        if len(charges) > 1 and (refusal := self._refusal(charges)):
            raise refusal  # before the first charge, if one would be refused: else those before it would be wasted
        for table, charge in charges.items():
            receipts[table] = self._receipt(charge)
        if any(one.line < self._store.restored for one in receipts.values()):
            raise Refused(
                "This question was being answered while the backup was made that this workspace was restored from. "
                "It is not answered again, since a second answer would have other noise.",
                hint="Look for the answer where you kept it; or ask at another price, which is charged in full.",
            )
        return receipts

    def _receipt(self, charge: _Charge) -> Receipt:
        """Charge a table. What was charged under the same key for the same is paid for, in whatever words."""
        try:
            return self._ledger.charge(charge.account, charge.loss, key=charge.key, what=charge.what)
        except Taken:
            line = self._ledger.find_line(charge.key)
            if line is None or not isinstance(line.entry, Charged):
                raise
            named = line.entry.purpose.rpartition("\n")[2]
            if (line.entry.account, line.entry.loss, named) != (charge.account, charge.loss, charge.named):
                raise
            return line.receipt

    def answered(self, asked: Request[Any]) -> Given | None:
        """What was asked, if it was given before."""
        found = self._store.find(asked.identity, asked.tables[0])
        return None if found is None else Given(found, asked.identity, free=True)

    def charged(self, asked: Request[Any], analyst: str) -> bool:
        """Whether what was asked was given before, and charged to this analyst."""
        return account_of(asked.tables[0], analyst) in {one.account for one in self._store.receipts_at(asked.identity)}

    def refuses(self, due: Sequence[Request[Any]], analyst: str) -> bool:
        """Whether the budgets do not cover all of this now; nothing is charged."""
        charges = {
            table: _Charge(account_of(table, analyst), [one for one in due if table in one.tables], "")
            for table in {table for one in due for table in one.tables}
        }
        try:
            return self._refusal(charges) is not None
        except NoPromise:  # a loss of a kind that the budget is not kept in, which is refused for that
            return False

    def _refusal(self, charges: Mapping[str, _Charge]) -> BudgetExceeded | None:
        """Why one of the charges would be refused, if one would be.

        Someone who charges at the same moment may still come in between; what is wasted then is not given back.
        """
        for table, charge in charges.items():
            if charge.key and self._ledger.find(charge.key) is not None:
                continue
            refusals = [
                budget_refusal(account, account.total, charge.loss)
                for account in (self._ledger.account(table), self._ledger.account(charge.account))
                if not account.admits(charge.loss)
            ]
            if refusals:
                return tightest_refusal(refusals)
        return None


@dataclass(frozen=True)
class _Charge:
    """What one table is charged for."""

    account: str
    due: Sequence[Request[Any]]
    key: str

    @property
    def loss(self) -> Loss:
        return sequential(one.loss for one in self.due)

    @property
    def what(self) -> str:
        """What is due, for people, and its fingerprint, so that the same key cannot pay for anything else."""
        return "\n".join(one.text for one in self.due)[:_LONGEST_TEXT] + f"\n{self.named}"

    @property
    def named(self) -> str:
        """The fingerprint of what is due."""
        return hashlib.sha256("\n".join(one.identity for one in self.due).encode()).hexdigest()


def _plain(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _made(asked: Request[Any], receipts: Sequence[Receipt], entropy: Watched) -> Release[Any] | None:
    """What was asked; ``None`` if rows, limits or noise made it fail, and an error if something else did."""
    try:
        made = asked.method.make(asked.table, Bench(entropy))
        require_finite(made.payload)
        made = asked.method.recheck(made, made.payload, asked.statement)
        parameters: dict[str, Any] = {"twins": dict(sorted(asked.twins.items()))}
        if len(receipts) > 1:
            parameters[ALSO_CHARGED] = [one.to_dict() for one in receipts[1:]]
        title = asked.title or f"An answer about {' and '.join(asked.tables)}"
        made = replace(made, parameters={**made.parameters, **parameters}, title=title)
        return draft(asked.method, asked.table, asked.statement, made, receipts[0])
    except (Unreachable, LoginFailed):  # neither rows nor noise are why
        pass
    except Exception as error:  # noqa: BLE001  # whatever went wrong may depend on someone's row
        if entropy.drawn or isinstance(error, Refused | EngineError):
            return None
    raise failure() from None


def require_finite(payload: object) -> None:
    """An error if a figure or an error bar is no number: NaN, infinite, or what whole numbers become on overflow."""
    for column in payload.columns if isinstance(payload, pa.Table) else ():
        if pa.types.is_floating(column.type) and pc.any(pc.invert(pc.is_finite(column))).as_py():
            raise Refused("A figure is not finite.")
        if pa.types.is_int64(column.type) and pc.any(pc.equal(column, _OVERFLOWN)).as_py():
            raise Refused("A figure is not finite.")


def release(
    method: Method[Any],
    table: Table | None,
    *,
    to: str | Path | None = None,
    csv: bool = False,
    holder: str | Path | None = None,
    receipt: Receipt | None = None,
    progress: Progress = silent,
) -> Release[Any]:
    """Make a release by ``method`` without a ledger, in the new folder ``to`` (``csv``: rows also as CSV) or in memory.

    ``holder`` is a new file for the holder's copy, outside of ``to``. ``table`` is what the release is of, if it is of
    a table; ``receipt`` is of a charge that was made for it elsewhere.
    """
    require_places(to, csv=csv, holder=holder)
    table = None if table is None else with_registers_beside(table)
    card: Any = None if table is None else table.card  # of no table: a survey's reports, several parties' figures
    statement = method.promise(card)
    require_decided(statement, card)
    folder = None if to is None else Path(to).absolute()
    before = [] if table is None else earlier_releases(table, folder.parent if folder is not None else None)
    forgotten = require_register(table, before) if table is not None and statement.loss is None else ()
    with _scratch(folder) as scratch:
        bench = Bench(progress=_part(progress, 0.0, 0.8), scratch=scratch, folder=folder)
        made = method.make(table, bench)  # type: ignore[arg-type]
        require_decided(statement, *(other.card for other in made.others))
        if isinstance(made.payload, Table):
            progress(0.8, "writing")
            made = replace(made, payload=_written(made.payload, scratch, "payload.parquet"))
            if isinstance(made.also, Table):
                made = replace(made, also=_written(made.also, scratch, LINKED))
        progress(0.85, "checking")
        made = method.recheck(made, made.payload, statement)
        if table is not None:
            misfits = {one.column: one.count for one in table.misfits} if statement.loss is None else {}
            taken = {"taken_for_missing": misfits} if misfits else {}
            made = replace(made, parameters={"table": table.card.name, **taken, **made.parameters})
        if holder is not None and made.holder is None:
            raise BadInput(
                f"{method.name} has no holder's copy: everything is in the release.",
                hint="Leave holder out.",
            )
        weighed: list[Weighed] = []
        if table is not None:
            progress(0.9, "checking together with earlier releases")
            weighed, made = _weighed(method, made, table, statement)
            made = replace(made, caveats=(*made.caveats, *forgotten))
            before = [one for one in before if not one.number or one in weighed[0].left_out]
        elif statement.loss is None:
            made = replace(made, caveats=(*made.caveats, NO_TABLE))
        finished = draft(method, table, statement, made, receipt)
        if table is not None and weighed and weighed[0].unchecked:
            from discreet.releases.joint_attack import attack_together

            progress(0.93, "attacking together with earlier releases")
            attacked = attack_together(finished, table, weighed[0].unchecked)
            weighed[0] = replace(weighed[0], attack=attacked)
            finished = replace(finished, notices=(attacked, *finished.notices))
        if text := notice(before):
            finished = replace(finished, notices=(text, *finished.notices))
        progress(0.95, "saving")
        finished = _handed_out(
            finished, f"{method.verb} {method.name}".strip(), weighed, folder, csv=csv, holder=holder
        )
    progress(1.0, "done")
    return finished


def _weighed(
    method: Method[Any], made: Made[Any], table: Table, statement: Statement
) -> tuple[list[Weighed], Made[Any]]:
    """What a result reveals together with earlier releases, for each table that it tells of, and the result with what
    is to be said of that."""
    tables = [table, *map(with_registers_beside, made.others)]
    facts = facts_of(method, made, table, statement.loss)
    title, tried = made.title or method.name, partial(_remedies, method, made, table)
    weighed = [weigh(table, facts, title, tried), *(weigh(one, facts, title) for one in tables[1:])]
    told = dict.fromkeys(caveat for one in weighed for caveat in one.caveats)
    unknown = () if statement.loss is not None or all(one.registers for one in tables) else (NO_REGISTER,)
    notices = (*(text for one in weighed for text in one.notices), *made.notices)
    return weighed, replace(made, caveats=(*made.caveats, *told, *unknown), notices=notices)


def _remedies(method: Method[Any], made: Made[Any], table: Table, clashing: Sequence[Entry]) -> tuple[str, ...]:
    from discreet.releases.remedies import remedies  # of a release that is refused

    return remedies(method, made, table, clashing)


def answered(answer: Answering, table: Table | None, receipt: Receipt | None) -> Release[Any]:
    """The release of an answer that was charged, checked and registered where it was worked out."""
    require_decided(answer.statement, None if table is None else table.card)
    return draft(answer, table, answer.statement, answer.result, receipt)


NO_TABLE = "Not checked together with other releases of the same people: its table was not read with a card file."


def require_places(to: str | Path | None, *, csv: bool = False, holder: str | Path | None = None) -> None:
    """An error, before any work is done, if what will be made has no place to go."""
    if csv and to is None:
        raise BadInput("csv needs a folder to write to.", hint="Add to=FOLDER.")
    if to is not None and Path(to).exists() and not (Path(to).is_dir() and not any(Path(to).iterdir())):
        raise BadInput(f"{to} exists and is not an empty folder.", hint="Publish to a new folder.")
    if holder is not None and Path(holder).exists():
        raise BadInput(f"There is a file {holder} already.", hint="Name another, or move it away.")
    if to is not None and holder is not None and Path(holder).resolve().is_relative_to(Path(to).resolve()):
        raise BadInput(
            f"The holder's copy is confidential, but {holder} is inside the release folder {to}.",
            hint="Choose another folder.",
        )
    for place in (to, holder):
        if place is not None and not Path(place).absolute().parent.is_dir():
            raise NotFound(f"There is no folder {Path(place).absolute().parent} to put {Path(place).name} in.")


def _handed_out(
    finished: Release[Any],
    label: str,
    weighed: Sequence[Weighed],
    folder: Path | None,
    *,
    csv: bool,
    holder: str | Path | None,
) -> Release[Any]:
    """Register the release and write the holder's copy; only then does the release get its name, and then the copy.

    A crash before the register's line leaves nothing; one after it, a line for a release that no one has; one after the
    release has its name, the holder's copy under the name that ``read_holder_copy`` finds it by.
    """
    copy = finished.holder
    if copy is not None and holder is not None:
        page = copy.draw()  # while the rows are where they were written
        copy = replace(copy, draw=lambda: page)
    with ExitStack() as saved:

        def before_named(scratch: Path | None) -> None:
            nonlocal copy
            lines: list[Entry] = []
            for one in weighed:
                rows = finished.recipe.parameters.get("rows")
                lines += one.register(folder, label, rows if type(rows) is int else one.table.count(), lines=lines)
            if copy is not None:
                source = scratch if scratch is not None else finished.payload
                known = fingerprint(source) if isinstance(source, Path | pa.Table) else ""
                copy = replace(copy, release=known)
                if holder is not None:
                    saved.enter_context(copy.saving(holder))

        if folder is None:
            before_named(None)
            return replace(finished, holder=copy)
        save_folder(finished, folder, csv=csv, before_named=before_named)
    rows = isinstance(finished.payload, pa.Table | Rows)
    also = None if finished.also is None else Rows(folder / LINKED)
    payload = Rows(folder / "payload.parquet") if rows else finished.payload
    return replace(finished, payload=payload, also=also, holder=copy)


@contextmanager
def _scratch(folder: Path | None) -> Iterator[Path | None]:
    """A folder beside the release's own for files on their way into it."""
    if folder is None:
        yield None
        return
    with TemporaryDirectory(prefix=".discreet-", dir=folder.resolve().parent) as scratch:
        yield Path(scratch)


def _written(out: Table, scratch: Path | None, name: str) -> pa.Table | Rows:
    """The rows of a table as they will leave: in memory, or a file in the scratch folder."""
    if scratch is None:
        return out.fetch()
    with out.stream() as reader:
        return Rows.written(reader, scratch / name)


def _part(progress: Progress, low: float, high: float) -> Progress:
    """Progress of a part of the work, which goes from ``low`` to ``high``."""
    return lambda done, what: progress(low + (high - low) * done, what)


def draft(
    method: Method[Any], table: Table | None, statement: Statement, made: Made[Any], receipt: Receipt | None
) -> Release[Any]:
    """The release as it will leave. It claims what was promised, and nothing that the method came up with later.

    Only what ``release`` and ``Pipeline`` give back has been checked and registered; a method may look at the draft of
    its own release to attack it first.
    """
    said = replace(
        statement,
        models=(*statement.models, *made.claims),
        evidence=Evidence.CHECKED if made.claims and statement.evidence is Evidence.ARGUED else statement.evidence,
        assumes=(*statement.assumes, *made.assumes),
        caveats=(*statement.caveats, *made.caveats),
    )
    recipe = Recipe(
        method.name,
        {**method.parameters, **made.parameters},
        made.steps,
        seed=made.seed,
        versions=versions(table.engine if table is not None else None),
        from_data=made.from_data or (table.card.from_data if table is not None and statement.loss is not None else ()),
    )
    holder = made.holder and replace(made.holder, title=made.holder.title or made.title)
    return Release(
        made.payload,
        said,
        recipe,
        receipt,
        made.pictures,
        made.title,
        layout=made.layout,
        holder=holder,
        notices=made.notices,
        also=made.also,
    )

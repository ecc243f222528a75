"""The one door: whatever leaves a private table goes through here, in one order.

    already answered?  →  promised  →  charged, for good  →  run on the bounded twin  →  models re-checked
                       →  every figure finite?  →  sealed and kept  →  given

Why this is private. What is promised is worked out from cards alone. It is charged to every table that is looked at,
durably, before any row is (``budget/ledger.py``); a unit may be in all those tables at once, so each is charged the
full loss. What comes out is kept before it is given, and given once (``store.py``). A crash at any point may waste
what was charged; it never lets anything out that was not. What fails after the charge is told apart by nobody: whether
the data made it fail, or took more time or memory than a question may, is not said, and nothing is given back, or
errors would be a free oracle. What rows, limits or noise made fail has failed for good (``store.py``): to try again
would be another draw, or another look at the clock, for the same charge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from discreet.budget.entries import Charged
from discreet.budget.ledger import SqlLedger
from discreet.budget.rules import exceeded, tightest
from discreet.core.document import dumps
from discreet.core.loss import Loss, sequential
from discreet.core.method import Method
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Receipt, Release
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.curator.noise_or_audit import require_noise
from discreet.curator.store import ALSO_CHARGED, Store, failure
from discreet.engines.limits import Limits, limited
from discreet.errors import BadInput, BudgetExceeded, LoginFailed, NoPromise, Refused, Taken, Unreachable
from discreet.noise.entropy import Watched

M = TypeVar("M", bound=Method[Any])
_LONGEST_NAME = 60
_LONGEST_TEXT = 15_000
_OVERFLOWN = pa.scalar(-(2**63), pa.int64())


@dataclass(frozen=True)
class Request(Generic[M]):
    """What is to be released, as far as it is known before any row is looked at."""

    method: M
    table: Table
    """The bounded twin that the method is run on."""
    tables: tuple[str, ...]
    """The private tables that are looked at, in order: all of them are charged."""
    twins: Mapping[str, str]
    """The identities of the twins of all tables that are looked at, public ones too."""
    text: str
    """What the ledger says it was spent on."""
    statement: Statement
    identity: str
    """The same for the same request of the same twins at the same loss, and for no other."""
    title: str = ""
    """Of the release; by default it says what was asked about."""

    @property
    def loss(self) -> Loss:
        """What is charged to each of them."""
        if self.statement.loss is None:
            raise NoPromise(
                f"{self.method.name} promises no bound on a privacy loss, so no budget can be charged for it.",
                hint="What leaves by a curator has a loss that is known beforehand.",
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
    """A method to be run on the twin of the table called ``name``."""
    statement = method.promise(table.card)
    loss = None if statement.loss is None else statement.loss.to_dict()
    said = [method.name, dict(method.parameters), name, twin, loss]
    identity = hashlib.sha256(dumps(said).encode()).hexdigest()
    shown = ", ".join(f"{key} = {_plain(value)}" for key, value in method.parameters.items())
    return Request(method, table, (name,), {name: twin}, f"{method.name} of {name}: {shown}", statement, identity)


def account_of(table: str, analyst: str | None) -> str:
    """The account of what an analyst spends on a table, which lies below the table's own; of nobody, that itself."""
    if analyst is None:
        return table
    if not isinstance(analyst, str) or not 0 < len(analyst) <= _LONGEST_NAME or "/" in analyst:
        raise BadInput(f"An analyst's name has 1 to {_LONGEST_NAME} characters and no slash, not {analyst!r:.80}.")
    return f"{table}/{analyst}"


class Door:
    """Charges a ledger and keeps what it gives in a store."""

    def __init__(self, ledger: SqlLedger, store: Store, limits: Limits) -> None:
        self._ledger = ledger
        self._store = store
        self._limits = limits

    def one(self, asked: Request[Any], analyst: str | None, key: str) -> Given:
        """Give what was asked. The same under the same ``key`` is charged once, anything else is an error.

        Without an analyst it is charged to the tables alone: what their holder has made, for everybody.
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
            receipts = self._charged(list(due.values()), analyst, keys, batch=batch)
            for identity, one in due.items():
                found[identity] = self._kept(one, [receipts[table] for table in one.tables])
        given = [(one.identity, found[one.identity]) for one in asked]
        return [Given(release, identity, identity not in due) for identity, release in given if release is not None]

    def _kept(self, one: Request[Any], receipts: Sequence[Receipt]) -> Release[Any]:
        """Make what was charged, and keep it: that it was made, or that it failed."""
        entropy = Watched()
        with limited(self._limits, whole=False):
            made = _made(one, receipts, entropy)
        if made is None:
            return self._store.fail(one.identity, one.tables[0])
        return self._store.keep(one.identity, one.tables[0], made)

    def _charged(
        self, due: Sequence[Request[Any]], analyst: str | None, keys: Mapping[str, str], *, batch: bool
    ) -> dict[str, Receipt]:
        """Charge every table for what is due on it.

        After a crash half way only some of a batch is due, and its key names all of it. What had been answered when it
        was charged was sealed, and so cannot become due again: what is due now was due, and paid for, then. So a
        batch that was charged is not charged again, although it would be for less.
        """
        require_noise(self._ledger, sorted({name for one in due for name in one.twins}))
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
        found = self._store.receipts_at(asked.identity)
        return account_of(asked.tables[0], analyst) in {one.account for one in found}

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

        Somebody who charges at the same moment may still come in between; what is wasted then is not given back.
        """
        for table, charge in charges.items():
            if charge.key and self._ledger.find(charge.key) is not None:
                continue
            refusals = [
                exceeded(account, account.total, charge.loss)
                for account in (self._ledger.account(table), self._ledger.account(charge.account))
                if not account.budget.admits(account.total, charge.loss)
            ]
            if refusals:
                return tightest(refusals)
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
        payload = asked.method.run(asked.table, entropy)
        broken = [claim for claim in asked.statement.models if not asked.method.holds(claim, payload)]
        if broken:
            raise Refused(f"Not so: {broken[0]}.")  # said to nobody: it is caught below
        _require_finite(payload)
        return _release(asked, payload, receipts)
    except (Unreachable, LoginFailed):  # neither rows nor noise are why
        pass
    except Exception as error:  # noqa: BLE001  # whatever went wrong may depend on somebody's row
        if entropy.drawn or isinstance(error, Refused):
            return None
    raise failure() from None


def _require_finite(payload: object) -> None:
    """An error if a figure or an error bar is no number: NaN, infinite, or what whole numbers become on overflow."""
    for column in payload.columns if isinstance(payload, pa.Table) else ():
        if pa.types.is_floating(column.type) and pc.any(pc.invert(pc.is_finite(column))).as_py():
            raise Refused("A figure is not finite.")
        if pa.types.is_int64(column.type) and pc.any(pc.equal(column, _OVERFLOWN)).as_py():
            raise Refused("A figure is not finite.")


def _release(asked: Request[Any], payload: object, receipts: Sequence[Receipt]) -> Release[Any]:
    parameters = {**asked.method.parameters, "twins": dict(sorted(asked.twins.items()))}
    if len(receipts) > 1:
        parameters[ALSO_CHARGED] = [one.to_dict() for one in receipts[1:]]
    recipe = Recipe(
        asked.method.name,
        parameters,
        asked.method.steps(asked.table.card),
        versions=versions(asked.table.engine),
        from_data=asked.table.card.from_data,
    )
    return Release(
        payload,
        asked.statement,
        recipe,
        receipts[0],
        asked.method.pictures(payload),
        title=asked.title or f"An answer about {' and '.join(asked.tables)}",
    )

"""How a table is asked: with noise and under a budget, or audited. Never both.

That a table is audited stands in the ledger, where it is as durable as what was charged, and cannot be taken back. It
holds for the table's account: whoever shares the ledger shares it.

Why noise cannot come in between. Before the table is called audited its limit is set to nothing, so from then on the
ledger itself refuses every loss, also to those who looked before; only then is it seen whether anything was spent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.budget.entries import Account, Charged
from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.core.document import fields
from discreet.core.loss import Pure
from discreet.errors import BadInput, Damaged, Refused, Taken
from discreet.verbs.ask.query_auditing.policy import Policy

_KEY = "audited: "


@dataclass(frozen=True)
class Audited:
    """That an account is audited."""

    policy: Policy
    twin: str
    """The one twin that is asked: the history is about its rows."""


def write_policy(ledger: SqlLedger, table: str, twin: str, policy: Policy) -> None:
    """Write down that a table is audited; an error if it is under another policy, or elsewhere."""
    found = find_audited(ledger, table)
    if found is not None:
        require_twin(found, table, twin)
        if found.policy != policy:
            raise _other_policy(table)
        return
    before = ledger.account(table)
    _require_unspent(before)
    ledger.set_limit(table, Budget(before.budget.nothing.core), why="audited from now on: nothing is charged any more")
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
    """How a table is audited, if it is."""
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
        raise Damaged("The ledger's line about an audited table is none.") from None


def require_twin(found: Audited, table: str, twin: str) -> None:
    """An error if another twin under the same account is the audited one: its history is not about this one's rows."""
    if found.twin != twin:
        raise Refused(
            f"Another workspace with the same ledger audits {table}: there is one history, and it is about that one.",
            hint="Ask there, or use a workspace with a ledger of its own.",
        )


def require_noise(ledger: SqlLedger, tables: Iterable[str]) -> None:
    """An error if one of these tables is audited."""
    for table in tables:
        if ledger.find(_KEY + table) is not None:
            raise Refused(
                f"{table} is audited: its questions are answered exactly or denied, and never with noise.",
                hint="Ask it with --audited, or ask_audited.",
            )


def _require_unspent(account: Account) -> None:
    if account.total != account.budget.nothing:
        raise Refused(
            f"Questions about {account.name} were answered with noise: it cannot be audited from here on.",
            hint="Register it in a workspace of its own. What was answered with noise is known there too.",
        )


def _other_policy(table: str) -> Refused:
    return Refused(f"{table} is audited already, under another policy, which cannot be changed.")

"""How a table is asked: with noise and under a budget, or audited. Never both.

That a table is audited stands in the ledger, where it is as durable as what was charged, and cannot be taken back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from discreet.ask.audited.policy import Policy
from discreet.budget.ledger import SqlLedger
from discreet.budget.lines import Charged
from discreet.core.loss import Pure
from discreet.errors import Damaged, Refused, Taken

_KEY = "audited: "


def write_policy(ledger: SqlLedger, table: str, twin: str, policy: Policy) -> None:
    """Write down that a table is audited; an error if it is under another policy."""
    account = ledger.account(table)
    if account.total != account.budget.nothing:
        raise Refused(
            f"Questions about {table} were answered with noise: it cannot be audited from here on.",
            hint="Register it in a workspace of its own. What was answered with noise is known there too.",
        )
    said = f"audited from now on: {policy}\n{json.dumps(policy.to_dict(), sort_keys=True)}"
    try:
        ledger.charge(table, Pure(0), key=_KEY + twin, what=said)
    except Taken:
        raise Refused(f"{table} is audited already, under another policy, which cannot be changed.") from None


def find_policy(ledger: SqlLedger, twin: str) -> Policy | None:
    """Under which policy a table is audited, if it is."""
    line = ledger.find_line(_KEY + twin)
    if line is None:
        return None
    if not isinstance(line.entry, Charged):
        raise Damaged("The ledger's line about an audited table is none.")
    return Policy.from_dict(json.loads(line.entry.purpose.rpartition("\n")[2]))


def require_noise(ledger: SqlLedger, twins: Mapping[str, str]) -> None:
    """An error if one of these tables, each with its twin, is audited."""
    for table, twin in twins.items():
        if ledger.find(_KEY + twin) is not None:
            raise Refused(
                f"{table} is audited: its questions are answered exactly or denied, and never with noise.",
                hint="Ask it with --audited, or ask_audited.",
            )

"""Where a party's loss is charged: on the ledger of a workspace, or on a small one beside the party's key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.budget.ledger import SqlLedger
    from discreet.core.loss import Loss
    from discreet.verbs.combine.running import OnLedger, Seated

ACCOUNT = "combine"
"""The one account of a ledger beside a key."""


@contextmanager
def charging(
    place: Seated, workspace: Path | None, account: str | None, budget: str | None, beside: Path
) -> Iterator[OnLedger | None]:
    """What charges a loss while the block runs; nothing if no ledger is named, or there is no noise to charge."""
    from discreet.verbs.combine.horizontal_or_vertical import statement
    from discreet.verbs.combine.running import OnLedger

    if (workspace is None) != (account is None) or (workspace is not None and budget is not None):
        raise BadInput(
            "A workspace's ledger is charged on one of its accounts.",
            hint='Say --ledger clinic --account visits, or --budget "epsilon=3" alone.',
        )
    what = f"combine {place.manifest.name} ({place.manifest.terms.function})"
    if (workspace is None and budget is None) or statement(place.manifest.terms).loss is None:
        yield None
        return
    from discreet.budget.opening import create_ledger, open_ledger

    if workspace is not None:
        from discreet.curator.books import open_books
        from discreet.curator.workspace import open_workspace

        with open_books(open_workspace(workspace)) as ledger:
            ledger.account(str(account))
            yield OnLedger(ledger, str(account), what)
    else:
        from discreet.cli.workspace import loss_of

        file, limit = beside / f"{place.name}.ledger", loss_of(str(budget))
        with open_ledger(file) if file.exists() else create_ledger(file) as ledger:
            _limit(ledger, limit, file)
            yield OnLedger(ledger, ACCOUNT, what)


def unit_of(workspace: Path, account: str) -> str:
    """The column that says whose each row is, by the card of the account's table."""
    from discreet.curator.workspace import open_workspace
    from discreet.verbs.combine.running import EACH_ROW

    return open_workspace(workspace).full_card(account.partition("/")[0]).unit or EACH_ROW


def _limit(ledger: SqlLedger, limit: Loss, file: Path) -> None:
    """Open the account, or give it the limit that is said now."""
    from discreet.budget.filter import Budget

    found = ledger.find_accounts(ACCOUNT).get(ACCOUNT)
    if found is None:
        ledger.open_account(ACCOUNT, limit)
    elif found.budget != Budget(limit):
        ledger.set_limit(ACCOUNT, limit, why="said with --budget")
        typer.echo(f"The limit in {file} was {found.budget}; from now on it is {limit}.", err=True)

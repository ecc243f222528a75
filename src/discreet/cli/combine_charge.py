"""Where a party's loss is charged: on the ledger of a workspace, or on a small one beside the party's key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.combine.running import Seated
    from discreet.combine.session import Charge
    from discreet.core.loss import Loss
    from discreet.core.release import Receipt

ACCOUNT = "combine"
"""The one account of a ledger beside a key."""


@contextmanager
def charging(
    place: Seated, workspace: Path | None, account: str | None, budget: str | None, beside: Path
) -> Iterator[Charge | None]:
    """What charges a loss while the block runs; nothing if no ledger is named."""
    from discreet.budget.opening import create_ledger, open_ledger

    if (workspace is None) != (account is None) or (workspace is not None and budget is not None):
        raise BadInput(
            "A workspace's ledger is charged on one of its accounts.",
            hint='Say --ledger clinic --account visits, or --budget "epsilon=3" alone.',
        )
    with ExitStack() as stack:
        if workspace is not None:
            from discreet.curator.workspace import open_workspace

            ledger = stack.enter_context(open_ledger(open_workspace(workspace).ledger_place))
            ledger.account(str(account))
        elif budget is not None:
            from discreet.cli.workspace import loss_of

            file, limit = beside / f"{place.name}.ledger", loss_of(budget)
            ledger = stack.enter_context(open_ledger(file) if file.exists() else create_ledger(file))
            ledger.open_account(ACCOUNT, limit)
        else:
            yield None
            return

        def charge(loss: Loss, key: str) -> Receipt:
            what = f"combine {place.manifest.name} ({place.manifest.terms.function})"
            return ledger.charge(account or ACCOUNT, loss, key=key, what=what)

        yield charge

"""The ledger of a workspace, opened only if it knows of every answer that is in the workspace.

``budget/verify.py`` checks what a ledger says of itself, and how far it had come. The answers in the workspace are a
second witness, which nobody has to keep: each has the receipts of its charges. An answer that the ledger has sealed was
charged in that ledger. One without a seal is what a crash between keeping and sealing leaves, and then its charge is
there; or the ledger is an older copy than the answer, and then it is not.
"""

from __future__ import annotations

from contextlib import suppress

from discreet.budget.ledger import SqlLedger, open_ledger
from discreet.budget.store import REMEDY
from discreet.core.release import Receipt
from discreet.curator.workspace import LEDGER, Workspace
from discreet.errors import Damaged, Unsound
from discreet.releases.store import SEAL, Store


def open_books(workspace: Workspace) -> SqlLedger:
    """The ledger of a workspace; ``Unsound`` if it is not what was written, or older than an answer."""
    answers = {place.name for place in workspace.releases.iterdir() if not place.name.startswith(".")}
    ledger = open_ledger(workspace.ledger_place, witness=workspace.folder / LEDGER)
    try:
        for identity in answers - {key.removeprefix(SEAL) for key in ledger.keys(SEAL)}:
            with suppress(Damaged):  # which is told to whoever asks for that answer
                for receipt in Store(workspace.releases, ledger).receipts_at(identity):
                    _require_charge(ledger, receipt, identity)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _require_charge(ledger: SqlLedger, receipt: Receipt, identity: str) -> None:
    if ledger.find(receipt.key) != receipt:
        raise Unsound(
            f"The ledger is an older copy than the answer {identity}, which was charged to {receipt.account} on line "
            f"{receipt.line:,}: that charge is not in it.",
            hint=REMEDY,
        )

"""A process that charges a ledger until it is killed or the budget is spent.

Run as ``python ledger_worker.py``. Every line on its input is an order in JSON: to start a child, whose
process id is said, or to wait for one. Children are forked, as importing takes longer than charging. A child
appends the receipt of every charge that *returned* to a file, so that the file holds all answers that may
have been handed out.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from pathlib import Path

import psycopg  # noqa: F401  # now, rather than in every child

from discreet.budget.ledger import SqlLedger, create_ledger, open_ledger, open_postgres
from discreet.core.loss import Pure
from discreet.errors import BudgetExceeded, LedgerError


def opened(where: str, schema: str | None, witness: str) -> SqlLedger:
    return open_postgres(where, schema=schema, witness=Path(witness)) if schema else open_ledger(where)


def charge(
    where: str,
    schema: str | None,
    witness: str,
    said: str,
    name: str,
    loss: str,
    threads: int,
    charges: int | None,
) -> None:
    """Charge ``loss`` under the keys name-0-0, name-0-1 … until told to stop by the budget."""
    ledger = opened(where, schema, witness)
    out = os.open(said, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def client(thread: int) -> None:
        number = 0
        try:
            while charges is None or number < charges:
                receipt = ledger.charge("t/a", Pure(loss), key=f"{name}-{thread}-{number}", what="a question")
                os.write(out, (json.dumps(receipt.to_dict()) + "\n").encode())
                number += 1
        except BudgetExceeded:
            return

    clients = [threading.Thread(target=client, args=(n,)) for n in range(threads)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    ledger.close()


def create(where: str) -> None:
    """Make ledger after ledger."""
    number = 0
    while True:
        number += 1
        try:
            create_ledger(Path(where) / f"{os.getpid()}-{number}.ledger").close()
        except LedgerError:
            return


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        what = order.pop("do")
        if what == "wait":
            print(os.waitstatus_to_exitcode(os.waitpid(order["child"], 0)[1]), flush=True)
            continue
        child = os.fork()
        if child == 0:
            try:
                {"charge": charge, "create": create}[what](**order)
            except BaseException:  # noqa: BLE001  # a child must not return into the loop
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()

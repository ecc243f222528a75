"""Many connections at once, for two minutes: nothing over budget, no fault, no error of the protocol."""

import os
import threading
import time

import psycopg
import pytest
from tests.service.wire.wire import Wire, query, rows

SECONDS = float(os.environ.get("SECONDS", "120"))
CONNECTIONS = 64
PRICE = "0.0005"


def charged(clinic, table):
    return clinic.desk._curator.ledger.account(table)


@pytest.mark.slow
def test_64_connections_for_two_minutes_stay_within_budget_and_cap(endpoint, clinic):
    wrong, seen, lock = [], {}, threading.Lock()
    end = time.monotonic() + SECONDS

    def work(number):
        try:
            with endpoint.connect(epsilon=PRICE) as connection:
                connection.execute("SET discreet.max_per_connection = 0.01")
                count = 0
                while time.monotonic() < end:
                    count += 1
                    table = ("patients", "visits")[count % 2]
                    condition = f"'{number % 8} {count % 200}' <> ''"
                    text = f"SELECT COUNT(*) AS n FROM {table} WHERE {condition}"
                    try:
                        [row] = connection.execute(text).fetchall()
                        with lock:
                            assert seen.setdefault(text, row) == row, "one question, one answer"
                        connection.execute("SELECT relname FROM pg_class").fetchall()
                    except psycopg.Error as error:
                        if error.sqlstate not in ("53400", "53000"):
                            raise
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for table in ("patients/ann", "visits/ann"):
        account = charged(clinic, table)
        assert account.budget.covers(account.total)
    assert '"status": 5' not in endpoint.service.log.getvalue()
    assert clinic.desk._curator.verify().sound
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"])
        assert rows(wire.ask(query("SELECT 1"))) == [["1"]]
    assert not endpoint.service.app.state.postgres._connections or len(seen) > 0


def test_a_client_that_does_not_read_holds_up_no_one(endpoint):
    slow = [Wire(endpoint.port) for _ in range(8)]
    for wire in slow:
        wire.sign_in("ann", endpoint.tokens["ann"])
        wire.send(*[query("SELECT * FROM pg_type, pg_settings") for _ in range(20)])
    with Wire(endpoint.port) as quick:
        quick.sign_in("ann", endpoint.tokens["ann"])
        assert rows(quick.ask(query("SELECT 1"))) == [["1"]]
    for wire in slow:
        wire.socket.close()

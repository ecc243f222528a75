"""Questions: what they cost, what they are told, and that each is what the API would do."""

import threading

import psycopg
import pytest
from tests.service.wire.wire import (
    FLUSH,
    SYNC,
    Wire,
    bind,
    describe,
    execute,
    fields,
    letters,
    message,
    parse,
    query,
    rows,
)

from discreet.core.loss import Pure

COUNT = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"


@pytest.fixture
def wire(endpoint):
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"], **{"discreet.epsilon": "0.001"})
        yield wire


def spent(clinic, table="patients"):
    return clinic.desk._curator.ledger.account(f"{table}/ann").spent.epsilon


def error(found):
    return next(fields(data) for letter, data in found if letter == "E")


def test_an_answer_has_its_error_bars_and_costs_once(endpoint, clinic):
    asked = f"{COUNT} ORDER BY sex"
    before = spent(clinic)
    with endpoint.connect(epsilon="0.003") as connection:
        first = connection.execute(asked)
        assert [one.name for one in first.description] == ["sex", "n", "n_error"]
        found = first.fetchall()
        assert {sex for sex, _, _ in found} == {"F", "M"}
        assert all(isinstance(n, int) and error > 0 for _, n, error in found)
        assert connection.execute(asked.lower()).fetchall() == found
        connection.execute("SET discreet.error_bars = off")
        assert connection.execute(asked).fetchall() == [row[:2] for row in found]
    assert spent(clinic) - before == Pure("0.003").epsilon
    http = endpoint.service.client(endpoint.tokens["ann"])
    answer = http.post("/v1/ask", json={"questions": [asked], "epsilon": "0.003"}).json()["answers"][0]
    assert answer["free"]
    assert answer["answer"]["rows"] == [list(row) for row in found]
    assert endpoint.service.log.getvalue().count('"route": "/v1/ask"') >= 4, "each is a request like any other"


def test_prices_and_budgets_are_told_and_cost_nothing(endpoint, clinic):
    before = spent(clinic)
    with endpoint.connect(epsilon="0.25") as connection:
        lines = [line for (line,) in connection.execute(f"EXPLAIN {COUNT}").fetchall()]
        assert lines[0].startswith("This would cost ε = 0.25; ")
        assert lines[1].startswith("  n: ±")
        budget = {row[0]: row[1:] for row in connection.execute("SHOW discreet.budget").fetchall()}
        assert set(budget) == {"patients", "patients/ann", "visits", "visits/ann", "this connection"}
        assert budget["this connection"] == ("ε = 1", "ε = 0", "ε = 1")
        with pytest.raises(psycopg.Error, match="would ask the question"):
            connection.execute(f"EXPLAIN ANALYZE {COUNT}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("EXPLAIN SELECT * FROM visits")
    assert spent(clinic) == before


def test_without_an_epsilon_nothing_is_asked(endpoint):
    with endpoint.connect(epsilon="") as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
            connection.execute(COUNT)
        assert "SET discreet.epsilon" in caught.value.diag.message_hint
        connection.execute("SET discreet.error = 400")
        found = connection.execute(f"{COUNT} ORDER BY n").fetchall()
        assert all(0 < error <= 400 for *_, error in found)
        connection.execute("SET discreet.epsilon = 0.001")
        with pytest.raises(psycopg.Error, match="more than"):
            connection.execute(COUNT)
        connection.execute("SET discreet.error = '5%'")
        with pytest.raises(psycopg.Error, match="needs the size of the answer"):
            connection.execute(COUNT)


def test_the_cap_of_a_connection_counts_what_was_charged_and_leaves_repeats_free(endpoint, clinic):
    with endpoint.connect() as connection:
        connection.execute("SET discreet.max_per_connection = 0.002")
        asked = [f"SELECT COUNT(*) AS n FROM visits WHERE cost > {number}" for number in range(3)]
        first = [connection.execute(one).fetchall() for one in asked[:2]]
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(asked[2])
        assert caught.value.sqlstate == "53400"
        assert "This connection may spend ε = 0.002 in all" in str(caught.value)
        before = spent(clinic, "visits")
        assert [connection.execute(one).fetchall() for one in asked[:2]] == first
        for wrong in (
            "SELECT COUNT(*) FROM nowhere",
            "SELECT COUNT(nothing) FROM visits",
            "SELECT COUNT(* FROM visits",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(wrong)
        connection.execute("DISCARD ALL")
        connection.execute("SET discreet.max_per_connection = 0.003")
        assert connection.execute("SHOW discreet.budget").fetchall()[-1] == (
            "this connection", "ε = 0.003", "ε = 0.002", "ε = 0.001",
        )  # fmt: skip
        assert spent(clinic, "visits") == before
    with endpoint.connect(epsilon="0.001") as another:
        assert another.execute("SHOW discreet.budget").fetchall()[-1][2] == "ε = 0"


def test_the_service_limits_what_a_connection_may_set(clinic):
    from dataclasses import replace
    from fractions import Fraction

    from tests.service.serving import MANY, serving

    with serving(clinic.desk, replace(MANY, postgres_port=0, postgres_cap=Fraction(1, 100))) as service:
        port = service.app.state.postgres.port
        with psycopg.connect(host="127.0.0.1", port=port, user="ann", password=clinic.tokens["ann"]) as connection:
            assert connection.execute("SHOW discreet.max_per_connection").fetchone() == ("1/100",)
            with pytest.raises(psycopg.Error, match=r"at most ε = 0\.01"):
                connection.execute("SET discreet.max_per_connection = 0.02")


def test_a_budget_that_is_spent_is_an_error_of_its_own(endpoint):
    with endpoint.connect(epsilon="40") as connection:
        connection.execute("SET discreet.max_per_connection = 100")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT COUNT(*) AS n FROM visits")
        assert caught.value.sqlstate == "53400"
        assert connection.execute("SHOW discreet.budget").fetchall()[-1][2] == "ε = 0"


@pytest.mark.parametrize(
    "preview",
    ["SELECT * FROM visits LIMIT 100", 'SELECT "visits"."ward", "visits"."cost" FROM "public"."visits" LIMIT 2000'],
)
def test_a_preview_is_refused_with_a_question_that_works(endpoint, preview):
    with endpoint.connect() as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Rows of people are not shown") as caught:
            connection.execute(preview)
        instead = caught.value.diag.message_hint.removeprefix("Such as: ")
        assert connection.execute(instead).fetchall()


@pytest.mark.parametrize("asked", ["SELECT * FROM visits LIMIT 0", "SELECT * FROM visits WHERE 1 = 0"])
def test_the_columns_of_a_table_are_told_by_a_question_without_rows(endpoint, asked):
    with endpoint.connect() as connection:
        found = connection.execute(asked)
        assert found.fetchall() == []
        assert [one.name for one in found.description][:2] == ["patient_id", "admitted"]


def test_parameters_are_literals_and_never_text_of_the_question(endpoint):
    hostile = "x' OR '1'='1"
    with endpoint.connect() as connection:
        asked = "SELECT COUNT(*) AS n FROM visits WHERE ward = %s AND cost > %s AND length_of_stay IN (%s, %s)"
        first = connection.execute(asked, (hostile, 100, 3, -4)).fetchall()
        written = asked.replace("%s", "{}").format("'x'' OR ''1''=''1'", 100, 3, -4)
        assert connection.execute(written).fetchall() == first, "the same question, and free"
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            [row] = cursor.execute(
                "SELECT AVG(cost) AS c, COUNT(*) AS n FROM visits WHERE cost > %s", (1.5,)
            ).fetchall()
            assert [type(one) for one in row] == [float, int, float, int]


def test_a_client_may_leave_types_open_and_ask_for_columns_first(wire, clinic):
    before = spent(clinic, "visits")
    asked = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > $1 GROUP BY ward LIMIT $2"
    told = wire.ask(parse(asked, "s"), describe("S", "s"), SYNC)
    assert letters(told) == "1tTZ"
    assert told[1][1] == b"\0\2" + (1700).to_bytes(4) + (20).to_bytes(4)
    columns = told[2][1]
    assert columns.count(b"\0\0\0\0\0\0") >= 5
    assert spent(clinic, "visits") == before, "describing asks nothing"
    told = wire.ask(bind(b"10", b"3", statement="s"), describe("P"), execute(), SYNC)
    assert letters(told) in ("2TDDDCZ", "2TNDDDCZ")
    assert next(data for letter, data in told if letter == "T") == columns
    assert rows(wire.ask(bind(b"10", b"3", statement="s"), execute(), SYNC)) == rows(told)
    described = wire.ask(bind(b"99", b"3", statement="s"), describe("P"), SYNC)
    assert letters(described) == "2TZ"
    assert described[1][1] == columns


def test_rows_come_in_parts_if_a_client_wants_that(wire):
    asked = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    wire.ask(query("BEGIN"))
    told = wire.ask(parse(asked), bind(portal="p"), describe("P", "p"), execute("p", 4), SYNC)
    assert letters(told).replace("N", "") == "12TDDDDsZ"
    more = wire.ask(execute("p", 4), execute("p", 100), SYNC)
    assert letters(more) == "DDDDsDDDDDCZ"
    assert len({ward for ward, *_ in rows(told) + rows(more)}) == 13
    assert letters(wire.ask(message("C", b"Pp\0"), SYNC)) == "3Z"
    assert error(wire.ask(execute("p"), SYNC))["C"] == "42704"
    assert wire.ask(query("ROLLBACK"))[-1][1] == b"I"


def test_after_an_error_messages_are_skipped_until_sync(wire):
    told = wire.ask(parse("SELECT * FROM visits"), bind(), execute(), parse("SELECT 1"), bind(), execute(), SYNC)
    assert letters(told) == "12EZ"
    wire.send(parse("SELECT 1 FROM", "broken"), bind(statement="broken"), execute(), FLUSH)
    assert wire.until("E")[-1][0] == "E", "it is told at once: a client may wait for it"
    assert letters(wire.ask(SYNC)) == "Z"
    assert letters(wire.ask(parse(""), bind(), describe("P"), execute(), SYNC)) == "12nIZ"
    told = wire.ask(parse("SELECT 1", "a"), bind(statement="a"), describe("P"), parse("SELECT 2", "b"), SYNC)
    assert letters(told) == "12T1Z", "in the order in which it was asked"


def test_several_statements_in_a_text_end_with_the_first_that_fails(wire):
    told = wire.ask(query("SET discreet.epsilon = 0.002; SELECT 1; SELECT * FROM visits; SELECT 2"))
    assert letters(told) == "CTDCEZ"
    assert letters(wire.ask(query("  ; ; "))) == "IZ"
    assert letters(wire.ask(query(""))) == "IZ"
    assert rows(wire.ask(query("SHOW discreet.epsilon"))) == [["0.002"]]


def test_transactions_are_told_as_they_are_and_take_back_what_was_set(wire):
    def status(text):
        return wire.ask(query(text))[-1][1].decode()

    assert [status(one) for one in ("BEGIN", "SET discreet.delta = 1e-9", "SELECT 1")] == ["T"] * 3
    assert status("nonsense") == "E"
    assert error(wire.ask(query("SELECT 1")))["C"] == "25P02"
    assert status("COMMIT") == "I"
    assert rows(wire.ask(query("SHOW discreet.delta"))) == [["0"]]
    assert [status(one) for one in ("BEGIN", "SET LOCAL discreet.delta = 1e-9", "COMMIT")] == ["T", "T", "I"]
    assert rows(wire.ask(query("SHOW discreet.delta"))) == [["0"]]
    assert [status(one) for one in ("BEGIN", "SAVEPOINT a", "nonsense", "ROLLBACK TO a", "RELEASE a")] == [*"TTETT"]
    assert [status(one) for one in ("ROLLBACK TO a", "ROLLBACK")] == ["E", "I"]
    assert error(wire.ask(query("SAVEPOINT a")))["C"] == "25P01"


@pytest.mark.parametrize(
    "text",
    [
        "SET discreet.epsilon = -1", "SET discreet.epsilon = nan", "SET discreet.epsilon = 0",
        "SET discreet.nothing = 1",
        "SET discreet.delta = 1", "SET discreet.error_bars = maybe", "SET discreet.rows = 0", "SET nothing_known = 1",
        "SET client_encoding = latin1", "SET DateStyle = German", "SET ROLE steward", "SET SESSION AUTHORIZATION bob",
        "SET is_superuser = on", "SET discreet.max_per_connection = 'inf'", "SET discreet.max_per_connection = ''",
        "INSERT INTO visits VALUES (1)", "DELETE FROM visits", "COPY visits TO '/tmp/x'", "CREATE TABLE x (a int)",
        "PREPARE x AS SELECT 1", "DECLARE c CURSOR FOR SELECT 1", "LISTEN x", "DO $$ x $$", "VACUUM", "CALL x()",
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_an_error_with_a_hint_or_a_reason(wire, text):
    told = wire.ask(query(text))
    assert letters(told) == "EZ"
    found = error(told)
    assert found["C"] not in ("XX000", "00000")
    assert found["M"]


def test_parameters_of_postgresql_that_clients_set_are_kept_and_told_again(wire):
    for name, value in (("extra_float_digits", "3"), ("application_name", "a tool"), ("TimeZone", "Europe/Berlin")):
        told = wire.ask(query(f"SET {name} = '{value}'"))
        assert letters(told).replace("S", "") == "CZ"
        assert rows(wire.ask(query(f"SHOW {name.upper()}"))) == [[value]]
    assert rows(wire.ask(query("SET TIME ZONE 'UTC'; SHOW timezone"))) == [["UTC"]]
    assert letters(wire.ask(query("RESET ALL"))) == "CZ"
    assert rows(wire.ask(query("SHOW discreet.epsilon"))) == [["0.001"]], "what the client connected with"
    assert len(rows(wire.ask(query("SHOW ALL")))) > 40


def test_answers_and_refusals_are_released_at_a_step_of_the_analysts_turn(endpoint, stepped):
    with endpoint.connect() as connection:
        connection.execute("SELECT COUNT(*) AS n FROM visits WHERE cost > 12345")
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT * FROM visits")
    assert stepped == [("ann", "answered"), ("ann", "BadQuery")]


def slow(monkeypatch, clinic):
    """Questions that wait until they are told to go on, and whether one has begun."""
    begun, go = threading.Event(), threading.Event()
    asked = clinic.desk.ask

    def waiting(*args, **kwargs):
        begun.set()
        go.wait(60)
        return asked(*args, **kwargs)

    monkeypatch.setattr(clinic.desk, "ask", waiting)
    return begun, go


def test_a_cancelled_question_is_charged_if_it_had_begun_and_then_free(endpoint, clinic, monkeypatch):
    text = "SELECT COUNT(*) AS n FROM visits WHERE length_of_stay = 17"
    before = spent(clinic, "visits")
    begun, go = slow(monkeypatch, clinic)
    with endpoint.connect() as connection:
        threading.Thread(target=lambda: (begun.wait(60), connection.cancel_safe())).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(text)
        assert connection.execute("SHOW discreet.budget").fetchall()[-1][2] == "ε = 0.001", "it counts"
        go.set()
        monkeypatch.undo()
        assert connection.execute(text).fetchall()
        assert connection.execute("SHOW discreet.budget").fetchall()[-1][2] == "ε = 0.001", "the repeat was free"
    assert spent(clinic, "visits") - before == Pure("0.001").epsilon


def test_a_question_that_is_cancelled_in_line_is_never_asked(endpoint, clinic, monkeypatch):
    begun, go = slow(monkeypatch, clinic)
    before = spent(clinic, "visits")
    first, second = endpoint.connect(), endpoint.connect()
    turns = endpoint.service.app.state.turns
    with first, second:
        other = threading.Thread(target=lambda: first.execute("SELECT COUNT(*) AS n FROM visits WHERE cost < 7"))
        other.start()
        assert begun.wait(60)

        def cancel():
            while not turns._lines:
                threading.Event().wait(0.005)
            second.cancel_safe()

        threading.Thread(target=cancel).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            second.execute("SELECT COUNT(*) AS n FROM visits WHERE cost < 8")
        go.set()
        other.join()
    assert spent(clinic, "visits") - before == Pure("0.001").epsilon


def test_who_does_not_know_the_key_cancels_nothing(endpoint, clinic, monkeypatch):
    begun, go = slow(monkeypatch, clinic)
    with endpoint.connect() as connection:

        def cancel():
            begun.wait(60)
            with Wire(endpoint.port) as wire:
                wire.send(
                    (16).to_bytes(4) + (80877102).to_bytes(4) + connection.info.backend_pid.to_bytes(4) + b"guess"[:4]
                )
                assert wire.rest() == []
            go.set()

        threading.Thread(target=cancel).start()
        assert connection.execute("SELECT COUNT(*) AS n FROM visits WHERE cost < 9").fetchall()

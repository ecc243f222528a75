"""The catalogue: it tells what the cards say of the tables that someone may ask, and can do nothing else."""

import resource
from contextlib import suppress

import pytest
from tests.service.wire.wire import Wire, fields, letters, query, rows

from discreet.core.loss import Approximate
from discreet.curator.people.person import Role
from discreet.errors import BadQuery, TooMany
from discreet.service.postgres.catalogue import Catalogue
from discreet.service.postgres.catalogue_sql import rewritten
from discreet.service.postgres.statements import tree_of

NAMES = "SELECT table_name FROM information_schema.tables ORDER BY 1"


@pytest.fixture
def wire(endpoint):
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"])
        yield wire


@pytest.fixture(scope="module")
def catalogue():
    """A catalogue of one table."""
    column = {"name": "ward", "kind": "text", "required": True, "note": "", "bounds": None, "categories": ["a"]}
    made = Catalogue([{"name": "visits", "note": "Stays", "columns": [column]}], "ann", "clinic", "PostgreSQL 15.0")
    yield made
    made.close()


def run(catalogue, text):
    return catalogue.run(rewritten(tree_of(text), catalogue.tables, {"a.b": "c"}.get)).rows


def test_someone_sees_the_tables_that_they_may_ask_and_no_one_elses(endpoint, clinic):
    name = clinic.desk.access.add_person(
        clinic.steward, "cleo", Role.ANALYST, budget=Approximate(1, "1e-6"), tables=["visits"]
    )
    clinic.desk.people.change_password("cleo", name, clinic.password("cleo"))
    token = clinic.desk.people.new_token("cleo", "tests").text
    with Wire(endpoint.port) as ann, Wire(endpoint.port) as cleo:
        ann.sign_in("ann", endpoint.tokens["ann"])
        cleo.sign_in("cleo", token, **{"discreet.epsilon": "0.001"})
        for _ in range(2):
            assert rows(ann.ask(query(NAMES))) == [["patients"], ["visits"]]
            assert rows(cleo.ask(query(NAMES))) == [["visits"]]
        for hidden in ("patients", "nowhere"):
            said = [
                cleo.ask(query(text.format(hidden)))
                for text in ("SELECT * FROM {} LIMIT 0", "SELECT '{}'::regclass::oid", "SELECT COUNT(*) FROM {}")
            ]
            told = [[data.replace(hidden.encode(), b"it") for letter, data in one if letter in "ED"] for one in said]
            if hidden == "patients":
                first = told
        assert told == first, "a table of others is told like one that does not exist"


def test_columns_and_their_descriptions_are_those_of_the_card(wire, clinic):
    asked = (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) FROM "
        "pg_catalog.pg_attribute a WHERE a.attrelid = 'public.visits'::regclass AND attnum > 0 ORDER BY attnum"
    )
    found = rows(wire.ask(query(asked)))
    [table] = [one for one in clinic.desk.tables(clinic.ann) if one.name == "visits"]
    assert [row[0] for row in found] == [one.name for one in table.card.columns]
    assert ["length_of_stay", "bigint", "Nights. From 0 to 60."] in found


def test_functions_and_syntax_of_postgresql_that_clients_use(catalogue):
    assert run(catalogue, "SELECT 1") == [(1,)]
    assert run(catalogue, "SELECT pg_catalog.pg_table_is_visible(1), has_table_privilege('x', 'SELECT')") == [
        (True, True)
    ]
    assert run(catalogue, "SELECT obj_description(c.oid) FROM pg_class c WHERE relname ~ '^vis'") == [("Stays",)]
    assert run(catalogue, "SELECT 'visits'::regclass::text, current_setting('a.b'), 3 = ANY('{3,4}'::int4[])") == [
        ("visits", "c", True)
    ]
    assert run(catalogue, "SELECT x FROM unnest(ARRAY['a','b']) x WHERE x <> ALL (ARRAY['a'])") == [("b",)]
    assert run(catalogue, "SELECT g FROM generate_series(1, 3) g") == [(1,), (2,), (3,)]
    assert len(run(catalogue, "SELECT g FROM generate_series(1, 9000000000) g")) <= 10_001


HOSTILE = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT * FROM glob('/*')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM pragma_version()",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM main.sqlite_master",
    "SELECT * FROM temp.information_schema.tables",
    "SELECT * FROM system.information_schema.tables",
    "SELECT * FROM pg.pg_class",
    "SELECT * FROM main.visits",
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit'), getvariable('x')",
    "SELECT pg_read_file('/etc/passwd') IS NOT NULL OR error('x')",
    "SELECT lo_import('/etc/passwd'), read_text('/etc/passwd')",
    "SELECT query('SELECT 1')",
    "SELECT * FROM query_table('visits')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT repeat('x', 1000000000)",
    "SELECT lpad('x', 1000000000)",
    "SELECT replace('a', 'a', repeat('x', 100))",
    "SELECT replace(relname, 'a', 'aaaaaaaaaaaaaaa') FROM pg_class",
    "SELECT generate_series(1, 1000000000)",
    "SELECT range(1000000000)",
    "SELECT list_transform([1], x -> x)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r, pg_class",
    "COPY pg_class TO '/tmp/x'",
    "ATTACH '/tmp/x' AS pg_x",
    "INSTALL pg_httpfs",
    "SET memory_limit = '90GB'",
    "PRAGMA pg_x",
    "CREATE TABLE pg_x AS SELECT 1",
    "DELETE FROM pg_class",
    "SELECT 1 INTO pg_x FROM pg_class",
    "SELECT * FROM pg_class FOR UPDATE",
    "VALUES (1), (pg_x.y)",
    "SELECT $1 FROM pg_class",
    "SELECT nextval('pg_x')",
    "SELECT * FROM pg_class PIVOT (count(*) FOR relname IN ('a'))",
    "SELECT COLUMNS('rel.*') FROM pg_class",
    "FROM pg_class",
    "SELECT * FROM pg_class TABLESAMPLE 10%",
    "SELECT * FROM (DESCRIBE pg_class)",
    "SELECT * FROM (SUMMARIZE pg_class)",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_catalogue_reads_writes_and_computes_nothing_that_is_not_listed(catalogue, text):
    try:
        found = run(catalogue, text)
    except (BadQuery, TooMany) as error:
        assert "root:" not in str(error)
        return
    assert text in (
        "SELECT * FROM main.visits", "FROM pg_class", "SELECT * FROM pg_class FOR UPDATE",
        "SELECT * FROM pg_class TABLESAMPLE 10%", "SELECT * FROM temp.information_schema.tables",
        "SELECT * FROM system.information_schema.tables",
        "SELECT * FROM pg_class PIVOT (count(*) FOR relname IN ('a'))",
    ), "read as what is here"  # fmt: skip
    assert "visits" in str(found) or not found or text.endswith("('a'))")


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT 'x' || 'y' AS s FROM pg_type), " + ", ".join(
            f"{chr(98 + n)} AS (SELECT s || s AS s FROM {chr(97 + n)})" for n in range(24)
        ) + " SELECT max(s) FROM y",
        "SELECT string_agg(a.attname, ',') FROM pg_type, pg_settings a1, pg_attribute a, pg_type t, pg_type u",
        "SELECT array_agg(t.typname) FROM pg_type t, pg_type u, pg_type v, pg_type w, pg_type x",
        "SELECT count(*) FROM pg_type t, pg_type u, pg_type v, pg_type w, pg_type x, pg_type y, pg_type z",
        "SELECT DISTINCT t.typname || u.typname || v.typname FROM pg_type t, pg_type u, pg_type v, pg_type w",
    ],
)  # fmt: skip
def test_large_results_are_stopped_before_they_take_time_memory_or_disk(catalogue, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(BadQuery, TooMany):
        assert len(run(catalogue, text)) <= 20_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000, "kilobytes"
    assert not list(tmp_path.iterdir())


def test_what_is_wrong_is_told_and_the_catalogue_answers_on(wire):
    for text in HOSTILE:
        told = wire.ask(query(text))
        assert letters(told)[-1] == "Z"
        assert all(fields(data)["C"] != "XX000" for letter, data in told if letter == "E"), text
    assert rows(wire.ask(query(NAMES))) == [["patients"], ["visits"]]

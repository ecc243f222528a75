"""What BI tools and SQL editors send when they connect, look around and draw: each is answered."""

import pytest
from tests.service.wire.wire import Wire, letters, query, rows

LOOKS = (
    "SELECT current_schema(), session_user, version()",
    "SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate ORDER BY db.datname",
    "SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d "
    "ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname",
    "SELECT c.oid, c.*, d.description, pg_catalog.pg_get_partkeydef(c.oid) AS k FROM pg_catalog.pg_class c LEFT OUTER "
    "JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass "
    "WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')",
    "SELECT a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def, dsc.description FROM "
    "pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN "
    "pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN "
    "pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) "
    "WHERE NOT a.attisdropped AND c.relname = 'visits' ORDER BY a.attnum",
    "SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS b FROM pg_catalog.pg_type t "
    "LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid WHERE c.relkind IS NULL OR c.relkind = 'c'",
    "SELECT c.column_name AS name, c.ordinal_position - 1 AS place, col_description(CAST(CAST(format('%I.%I', "
    "CAST(c.table_schema AS text), CAST(c.table_name AS text)) AS regclass) AS oid), c.ordinal_position) AS said "
    "FROM information_schema.columns c WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' "
    "AND c.table_name IN ('visits') ORDER BY 2",
    "WITH p AS (SELECT t.schemaname, t.name, pg_catalog.has_any_column_privilege(current_user, '\"' || t.schemaname || "
    "'\".\"' || replace(t.name, '\"', '\"\"') || '\"', 'update') AS u FROM (SELECT schemaname, tablename AS name FROM "
    "pg_catalog.pg_tables UNION SELECT schemaname, viewname FROM pg_views) t WHERE t.schemaname !~ '^pg_' AND "
    "pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) SELECT p.* FROM p",
    "SELECT name, setting FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'",
    "SELECT n.nspname, c.relname, c.reltuples::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'v', 'm', 'p') AND n.nspname NOT IN ('information_schema', 'pg_catalog')",
    "SHOW search_path",
    "SHOW TRANSACTION ISOLATION LEVEL",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SET extra_float_digits = 3",
    "SELECT 1",
)
CHARTS = (
    'SELECT "public"."visits"."ward" AS "ward", COUNT(*) AS "count" FROM "public"."visits" '
    'GROUP BY "public"."visits"."ward" ORDER BY "public"."visits"."ward" ASC',
    "SELECT ward AS ward, count(*) AS count FROM public.visits GROUP BY ward ORDER BY count DESC LIMIT 10000",
    'SELECT outcome AS outcome, AVG(cost) AS "AVG(cost)" FROM (SELECT * FROM visits) AS virtual_table '
    "WHERE ward IN ('Surgery', 'Urology') GROUP BY outcome ORDER BY \"AVG(cost)\" DESC LIMIT 50",
    "SELECT sum(cost) AS total, count(*) AS n FROM visits WHERE admitted >= TIMESTAMP '2024-01-01 00:00:00'",
)


@pytest.fixture(scope="module")
def wire(endpoint):
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"], options="-c discreet.epsilon=0.001 -c client_min_messages=warning")
        yield wire


@pytest.mark.parametrize("text", LOOKS)
def test_what_a_tool_looks_up_is_answered(wire, text):
    told = wire.ask(query(text))
    assert letters(told)[-2:] == "CZ", told
    assert rows(told) or text.startswith("SET")


@pytest.mark.parametrize("text", CHARTS)
def test_what_a_tool_draws_is_answered(wire, text):
    told = wire.ask(query(text))
    assert letters(told)[-2:] == "CZ", told
    assert rows(told)

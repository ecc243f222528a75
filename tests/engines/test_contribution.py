"""What may be computed of a row: nothing that reads another row, draws a number or tells the time."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from discreet.core import sql
from discreet.engines.contribution import row_wise
from discreet.engines.duckdb import DuckDB
from discreet.engines.measures import clamped
from discreet.errors import BadQuery

REFUSED = [
    "random()",
    "c0 + random()",
    "uuid()",
    "current_timestamp",
    "now()",
    "nextval('s')",
    "(SELECT MAX(c0) FROM t)",
    "c0 IN (SELECT c0 FROM t)",
    "EXISTS (SELECT 1 FROM t)",
    "SUM(c0)",
    "COUNT(*) OVER ()",
    "LAG(c0) OVER (ORDER BY c0)",
    "UNNEST([c0, c0])",
    "generate_series(1, c0)",
    "c9",
    "other.c0",
    "list_transform([c0], x -> x)",
    "getenv('HOME')",
    "read_text('file')",
    "TRY(c0)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_whatever_looks_beyond_its_row_is_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        row_wise(sqlglot.parse_one(text, dialect="duckdb"), ("c0", "c1"))


def test_what_can_fail_is_attempted_and_what_cannot_stays() -> None:
    assert row_wise(sql.column("c0"), ("c0",)) == sql.column("c0")
    assert sql.is_attempt(row_wise(sql.column("c0") + 1, ("c0",)))


@pytest.mark.parametrize("value", ["NULL", "'NaN'", "'inf'", "'-inf'", "-0.0", "1e308", "-1e308", "5e-324", "0.5", "7"])
def test_a_clamped_number_is_missing_or_between_its_ends(duckdb: DuckDB, value: str) -> None:
    number = exp.cast(sqlglot.parse_one(value), exp.DType.DOUBLE)
    query = exp.select(sql.named(clamped(number, sql.literal(-2.0), sql.literal(3.0)), "x"))
    found = duckdb.fetch(query).column(0)[0].as_py()
    assert found is None if value == "NULL" else -2 <= found <= 3

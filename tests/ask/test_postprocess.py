"""What is made of noisy figures never fails once they are paid for: whatever they are, there is a value or NULL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.ask.test_plan import planned

from discreet.core.kind import Kind
from discreet.verbs.ask.postprocess import ERROR, work_out

WHOLE = [0, 1, -1, 2**63 - 1, -(2**63)]
REALS = [0.0, float("nan"), float("inf"), -1e308, 5e-324]
KEYS = {
    Kind.TEXT: (pa.string(), ["", "true", "1", "2001-01-01", "%"]),
    Kind.INTEGER: (pa.int64(), WHOLE),
    Kind.REAL: (pa.float64(), REALS),
    Kind.DECIMAL: (
        pa.decimal128(38, 20),
        [Decimal(10**17) + Decimal("1e-20"), None, Decimal(0), Decimal(-1), Decimal(1)],
    ),
    Kind.BOOLEAN: (pa.bool_(), [True, False, None, True, False]),
    Kind.DATE: (
        pa.date32(),
        [dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(2000, 2, 29), dt.date(1970, 1, 1)],
    ),
    Kind.TIMESTAMP: (pa.timestamp("us"), [dt.datetime(1, 1, 1), None, dt.datetime(9999, 12, 31), None, None]),
}
EXPRESSIONS = [
    "COUNT(*) * COUNT(*) * 9223372036854775807",
    "COUNT(*) - 9223372036854775807 - SUM(age)",
    "-COUNT(*)",
    "ABS(COUNT(*))",
    "COUNT(*) / COUNT(age) / (SUM(income) - SUM(income))",
    "SQRT(SUM(change))",
    "LN(COUNT(*))",
    "CAST(SUM(income) * 1e300 AS INTEGER)",
    "CAST(AVG(income) AS DECIMAL(5, 2))",
    "CAST(COUNT(*) AS TINYINT)",
    "CAST(COUNT(*) AS BOOLEAN)",
    "CAST(COUNT(*) AS VARCHAR)",
    "ROUND(AVG(income), 300)",
    "FLOOR(SUM(income) * 1e308)",
    "CASE WHEN note THEN COUNT(*) ELSE 0 END",
    "note = COUNT(*)",
    "note IN (1, COUNT(*))",
    "CAST(note AS DOUBLE) + 1",
    "paid * paid * paid",
    "COALESCE(paid, COUNT(*))",
    "paid BETWEEN 1 AND COUNT(*)",
    "GREATEST(COUNT(*) * 2, grade)",
    "LEAST(income, COUNT(*))",
    "NULLIF(COUNT(*), grade)",
    "COUNT(*) + 'a'",
    "CAST(note AS VARCHAR) = 'x'",
    "COUNT(*) * 0.1 * 0.1 * 0.12345678901234567890123456789",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_any_figures_give_a_value_or_null(text: str) -> None:
    keys = "note, paid, grade, income, seen, born"
    asked = f"SELECT {keys}, {text} AS x, COUNT(*) AS n FROM visits GROUP BY {keys} HAVING {text} OR note OR n > 0"
    made = planned(f"{asked} ORDER BY {text}, n LIMIT 3")
    columns: dict[str, pa.Array] = {}
    for name, value in made.keys.items():
        type_, values = KEYS[value.kind]
        columns[name] = pa.array(values, type_)
    for place, name in enumerate(made.figures):
        columns[name] = pa.array(WHOLE if place % 2 else REALS)
        columns[f"{name}{ERROR}"] = pa.array(REALS)
    for rolled in range(len(WHOLE)):
        turned = {
            name: pa.concat_arrays([one[rolled:], one[:rolled]]) if name in made.figures else one
            for name, one in columns.items()
        }
        assert work_out(made.after, pa.table(turned)).num_rows <= 3

"""Ordinary analytic questions as people write them, on a hospital, a shop and a census sample.

They are of the kinds that TPC-H, dashboards, epidemiologists and the documentation of SmartNoise, Tumult Analytics,
Qrlew and Snowflake ask, in words of our own. ``test_ordinary_questions.py`` counts how many are answered.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind


@dataclass(frozen=True)
class Ordinary:
    """A question, and what is special about it."""

    kind: str
    text: str


def _all(kind: str, *texts: str) -> tuple[Ordinary, ...]:
    return tuple(Ordinary(kind, text) for text in texts)


QUESTIONS: tuple[Ordinary, ...] = (
    *_all(
        "plain aggregates",
        "SELECT COUNT(*) FROM patients",
        "SELECT ward, COUNT(*) AS visits, ROUND(AVG(cost), 2) AS cost FROM visits GROUP BY ward ORDER BY visits DESC",
        "SELECT segment, SUM(price * (1 - discount)) AS revenue FROM customers JOIN orders USING (customer_id) "
        "GROUP BY segment HAVING SUM(price * (1 - discount)) > 1000 ORDER BY revenue DESC LIMIT 3",
        "SELECT SUM(price * discount) AS revenue FROM orders WHERE ordered >= DATE '2024-01-01' "
        "AND ordered < DATE '2024-01-01' + INTERVAL '1' YEAR AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24",
        "SELECT EXTRACT(YEAR FROM ordered) AS year, SUM(CASE WHEN status = 'returned' THEN price ELSE 0 END) / "
        "SUM(price) AS share FROM orders GROUP BY 1 ORDER BY 1",
        "SELECT outcome, STDDEV(length_of_stay), VARIANCE(length_of_stay) FROM visits GROUP BY outcome",
        "SELECT priority, COUNT(*) FILTER (WHERE status = 'late') AS late, COUNT(*) AS n FROM orders GROUP BY priority",
        "SELECT sex, insurance, COUNT(*) AS n FROM patients GROUP BY ALL ORDER BY ALL",
        "SELECT region, SUM(price) AS revenue FROM customers JOIN orders USING (customer_id) JOIN nations ON "
        "nations.nation = customers.nation GROUP BY region",
    ),
    *_all(
        "counting distinct values",
        "SELECT COUNT(DISTINCT diagnosis) FROM visits",
        "SELECT ward, COUNT(DISTINCT diagnosis) AS diagnoses FROM visits GROUP BY ward",
        "SELECT COUNT(DISTINCT product) AS sold FROM orders WHERE ordered >= DATE '2024-07-01'",
        "SELECT COUNT(DISTINCT CAST(ordered AS DATE)) AS days FROM orders",
        "SELECT ward, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY ward",
        "SELECT COUNT(DISTINCT patient_id) FILTER (WHERE outcome = 'died') AS deaths FROM visits",
    ),
    *_all(
        "semi- and anti-joins",
        "SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE diagnosis = 'Asthma')",
        "SELECT sex, COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = "
        "p.patient_id AND v.outcome = 'died') GROUP BY sex",
        "SELECT COUNT(*) FROM customers WHERE NOT EXISTS (SELECT * FROM orders WHERE orders.customer_id = "
        "customers.customer_id)",
        "SELECT insurance, COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE "
        "ward = 'Emergency') GROUP BY insurance",
        "SELECT AVG(cost) FROM visits WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY patient_id "
        "HAVING COUNT(*) > 2)",
        "SELECT COUNT(*) FROM orders WHERE nation IN (SELECT nation FROM nations WHERE region = 'EUROPE')",
    ),
    *_all(
        "windows within one person",
        "SELECT COUNT(*) AS readmissions FROM (SELECT patient_id, DATE_DIFF('day', LAG(admitted) OVER (PARTITION BY "
        "patient_id ORDER BY admitted), admitted) AS gap FROM visits) WHERE gap <= 30",
        "SELECT AVG(cost) AS first_visit FROM (SELECT patient_id, cost, ROW_NUMBER() OVER (PARTITION BY patient_id "
        "ORDER BY admitted) AS place FROM visits) WHERE place = 1",
        "SELECT diagnosis, COUNT(*) AS n FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id "
        "ORDER BY admitted) = 1) GROUP BY diagnosis",
        "SELECT AVG(share) FROM (SELECT customer_id, price / NULLIF(SUM(price) OVER (PARTITION BY customer_id), 0) "
        "AS share FROM orders)",
    ),
    *_all(
        "joins",
        "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id AND v.cost > 10000",
        "SELECT COUNT(*) AS visits FROM patients AS p LEFT JOIN visits AS v ON v.patient_id = p.patient_id AND "
        "v.admitted >= '2025-01-01' AND p.birth_date < '1960-01-01' WHERE v.ward IS NULL",
        "SELECT COUNT(*) FROM customers FULL JOIN orders USING (customer_id)",
        "SELECT n.region, AVG(o.price) FROM orders o LEFT JOIN nations n ON o.nation = n.nation GROUP BY n.region",
        "WITH old AS (SELECT * FROM patients WHERE birth_date < DATE '1950-01-01') SELECT a.sex, COUNT(*) AS n "
        "FROM old a JOIN old b ON a.patient_id = b.patient_id GROUP BY a.sex",
        "WITH spent AS (SELECT customer_id, SUM(price) AS total FROM orders GROUP BY customer_id) SELECT segment, "
        "AVG(total) FROM customers JOIN spent USING (customer_id) GROUP BY segment",
        "SELECT COUNT(*) FROM visits RIGHT JOIN patients USING (patient_id)",
    ),
    *_all(
        "dates",
        "SELECT DATE_TRUNC('week', admitted) AS week, COUNT(*) AS n FROM visits GROUP BY week ORDER BY week",
        "SELECT COUNT(*) FROM orders WHERE ordered >= CURRENT_DATE - INTERVAL '5 years'",
        "SELECT DATE_PART('year', AGE(birth_date)) // 10 * 10 AS age, COUNT(*) AS n FROM patients GROUP BY 1",
        "SELECT DATE_DIFF('year', birth_date, CURRENT_DATE) >= 65 AS senior, COUNT(*) FROM patients GROUP BY senior",
        "SELECT EXTRACT(DOW FROM admitted) AS weekday, EXTRACT(HOUR FROM admitted) AS hour, COUNT(*) FROM visits "
        "GROUP BY ALL",
        "SELECT STRFTIME(admitted, '%Y-%m') AS month, SUM(cost) AS cost FROM visits GROUP BY month",
    ),
    *_all(
        "texts",
        "SELECT COUNT(*) FROM visits WHERE diagnosis ILIKE '%cancer%'",
        "SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(diagnosis, '(cancer|Leukaemia)$')",
        "SELECT COUNT(*) FROM orders WHERE product ~ '^[a-c][0-9]+'",
        "SELECT SPLIT_PART(product, '-', 1) AS family, COUNT(*) AS n FROM orders GROUP BY family",
        "SELECT REGEXP_REPLACE(product, '[0-9]+', '') AS letters, COUNT(*) AS n FROM orders GROUP BY letters",
    ),
    *_all(
        "groups alone",
        "SELECT insurance FROM patients GROUP BY insurance",
        "SELECT DISTINCT product FROM orders",
        "SELECT DISTINCT ward, outcome FROM visits ORDER BY ward, outcome",
    ),
    *_all(
        "spellings",
        "SELECT TOP 5 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC",
        "SELECT ward, COUNT(*)::numeric / 12 AS monthly FROM public.visits GROUP BY ward",
        "SELECT [ward], COUNT(*) AS [number of visits] FROM [visits] GROUP BY [ward]",
        "SELECT `ward`, COUNT(*) AS n FROM visits GROUP BY `ward`",
        "SELECT DATEADD(month, DATEDIFF(month, 0, admitted), 0) AS month, COUNT(*) FROM visits GROUP BY "
        "DATEADD(month, DATEDIFF(month, 0, admitted), 0)",
        "SELECT date_format(admitted, 'yyyy-MM') AS month, COUNT(*) FROM visits GROUP BY 1",
        "SELECT to_char(admitted, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY 1",
        "SELECT ward, SUM(IIF(outcome = 'died', 1, 0)) AS deaths FROM visits GROUP BY ward",
        "SELECT PI() AS pi, 'hospital' AS place, AVG(cost) AS cost FROM visits",
    ),
    *_all(
        "on noisy results",
        "SELECT ward, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward",
        "SELECT ward, n, RANK() OVER (ORDER BY n DESC) AS place FROM (SELECT ward, COUNT(*) AS n FROM visits "
        "GROUP BY ward)",
        "SELECT month, SUM(n) OVER (ORDER BY month) AS so_far FROM (SELECT DATE_TRUNC('month', admitted) AS month, "
        "COUNT(*) AS n FROM visits GROUP BY 1)",
        "SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        "SELECT 'patients' AS what, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits', COUNT(*) FROM visits",
        "WITH a AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), d AS (SELECT ward, COUNT(*) AS deaths "
        "FROM visits WHERE outcome = 'died' GROUP BY ward) SELECT a.ward, deaths / n AS lethality FROM a JOIN d "
        "USING (ward)",
        "SELECT CASE WHEN AVG(cost) > 10000 THEN 'dear' ELSE 'cheap' END AS how, ward FROM visits GROUP BY ward",
        "SELECT COUNT(*) FILTER (WHERE outcome = 'died') * 1.0 / COUNT(*) AS lethality FROM visits",
    ),
    *_all(
        "totals and subtotals",
        "SELECT sex, insurance, COUNT(*) AS n FROM patients GROUP BY ROLLUP (sex, insurance)",
        "SELECT sex, insurance, COUNT(*) AS n FROM patients GROUP BY CUBE (sex, insurance)",
        "SELECT ward, outcome, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((ward, outcome), (ward), ())",
    ),
    *_all(
        "quantiles, modes and selections",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS half FROM visits",
        "SELECT QUANTILE_CONT(length_of_stay, [0.25, 0.5, 0.75]) AS quartiles FROM visits",
        "SELECT ward, MEDIAN(length_of_stay) AS stay FROM visits GROUP BY ward",
        "SELECT MODE(diagnosis) FROM visits",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT REGR_SLOPE(cost, length_of_stay) AS a_night, REGR_INTERCEPT(cost, length_of_stay) AS base, "
        "REGR_R2(cost, length_of_stay) AS fit FROM visits",
    ),
    *_all(
        "what no one may have",
        "SELECT * FROM patients LIMIT 10",
        "SELECT name, birth_date FROM patients WHERE zip = '10115'",
        "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(cost) FROM visits)",
    ),
)
"""Each is to be answered, but for a few that are to be refused with a question that works."""

SMARTNOISE: tuple[str, ...] = (
    "SELECT SUM(age) FROM PUMS.PUMS",
    "SELECT COUNT(*), VAR(age) AS var_age FROM PUMS.PUMS",
    "SELECT married, educ, income, AVG(age) FROM PUMS.PUMS GROUP BY married, educ, income",
    "SELECT p.married, AVG(age) AS mean FROM PUMS.PUMS AS p GROUP BY married",
    "SELECT TOP 5 educ, AVG(income) FROM PUMS.PUMS GROUP BY educ",
    "SELECT COUNT(married), AVG(age) FROM PUMS.PUMS",
    "SELECT 3 AS three, p.married, educ, AVG(income) FROM PUMS.PUMS AS p GROUP BY educ, married",
    "SELECT educ FROM PUMS.PUMS GROUP BY educ",
    "SELECT SUM(age) AS age FROM PUMS.PUMS",
    "SELECT (SUM(age)) AS age FROM PUMS.PUMS",
    "SELECT SUM(age) * 1 AS age FROM PUMS.PUMS",
    "SELECT SUM(age), COUNT(*) FROM PUMS.PUMS",
    "SELECT PI(), POWER(AVG(age), 2) FROM PUMS.PUMS",
    "SELECT SUM(age) FROM PUMS.PUMS GROUP BY married, CASE WHEN age > 90 THEN 1 ELSE 0 END",
    "SELECT COUNT(DISTINCT pid) AS people FROM PUMS.PUMS",
    "SELECT COUNT(DISTINCT educ) FROM PUMS.PUMS",
    "SELECT DISTINCT educ FROM PUMS.PUMS",
    "SELECT sex, COUNT(*) AS n FROM (SELECT * FROM PUMS.PUMS WHERE age > 30) AS older GROUP BY sex",
    "SELECT STDDEV(age), MIN(age), MAX(age) FROM PUMS.PUMS WHERE married = TRUE",
)
"""What SmartNoise takes for valid: its validator's own fixtures, and the kinds of its manual. ``RAND()`` is left out: a
random number beside a figure is no figure."""


def _column(name: str, kind: Kind, **more: object) -> Column:
    return Column(name, kind, **more)  # type: ignore[arg-type]


NATIONS = ("France", "Germany", "Japan", "Kenya", "Peru")
_DAYS = (dt.date(2023, 1, 1), dt.date(2024, 12, 31))
CARDS = {
    "customers": Card(
        "customers",
        (
            _column("customer_id", Kind.INTEGER, role=Role.IDENTIFIER),
            _column("segment", Kind.TEXT, categories=("consumer", "corporate", "home office")),
            _column("nation", Kind.TEXT, categories=NATIONS),
        ),
        unit="customer_id",
        rows_per_unit=1,
    ),
    "orders": Card(
        "orders",
        (
            _column("customer_id", Kind.INTEGER, role=Role.IDENTIFIER),
            _column("product", Kind.TEXT, max_length=20),
            _column("nation", Kind.TEXT, categories=NATIONS),
            _column("status", Kind.TEXT, categories=("shipped", "late", "returned")),
            _column("priority", Kind.TEXT, categories=("high", "low")),
            _column("price", Kind.REAL, bounds=(0.0, 500.0)),
            _column("discount", Kind.REAL, bounds=(0.0, 0.5)),
            _column("quantity", Kind.INTEGER, bounds=(1, 50)),
            _column("ordered", Kind.DATE, bounds=_DAYS),
        ),
        unit="customer_id",
        rows_per_unit=6,
    ),
    "PUMS": Card(
        "PUMS",
        (
            _column("pid", Kind.INTEGER, role=Role.IDENTIFIER),
            _column("age", Kind.INTEGER, bounds=(0, 110)),
            _column("sex", Kind.INTEGER, categories=(0, 1)),
            _column("educ", Kind.INTEGER, bounds=(1, 16)),
            _column("income", Kind.REAL, bounds=(0.0, 200_000.0)),
            _column("married", Kind.BOOLEAN),
        ),
        unit="pid",
        rows_per_unit=1,
    ),
}
NATION_ROWS = pa.table(
    {"nation": list(NATIONS), "region": ["EUROPE", "EUROPE", "ASIA", "AFRICA", "AMERICA"]},
)


def shop(seed: int = 1, people: int = 300) -> dict[str, pa.Table]:
    """Rows for the cards: customers, their orders, and a census sample."""
    random = Random(seed)  # noqa: S311
    customers = [
        {"customer_id": one, "segment": random.choice(("consumer", "corporate", "home office")), "nation": nation}
        for one in range(people)
        for nation in random.sample(NATIONS, 1)
    ]
    orders = [
        {
            "customer_id": who["customer_id"],
            "product": f"{random.choice('abcd')}{random.randint(1, 9)}-{random.choice(('red', 'blue'))}",
            "nation": who["nation"],
            "status": random.choice(("shipped", "shipped", "late", "returned")),
            "priority": random.choice(("high", "low")),
            "price": random.uniform(1, 500),
            "discount": random.choice((0.0, 0.05, 0.06, 0.1)),
            "quantity": random.randint(1, 50),
            "ordered": _DAYS[0] + dt.timedelta(days=random.randrange(730)),
        }
        for who in customers
        for _ in range(random.randint(0, 6))
    ]
    census = [
        {
            "pid": one,
            "age": random.randint(18, 95),
            "sex": random.randint(0, 1),
            "educ": random.randint(1, 16),
            "income": float(random.randint(0, 200) * 1000),
            "married": random.random() < 0.5,
        }
        for one in range(people)
    ]
    return {
        name: pa.Table.from_pylist(rows)
        for name, rows in (("customers", customers), ("orders", orders), ("PUMS", census))
    }

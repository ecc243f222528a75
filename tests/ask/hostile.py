"""Random questions made of everything that is accepted, hostile data, and an analysis that lies about it."""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded
from discreet.verbs.ask import source
from discreet.verbs.ask.value import Reader, Value

CITIES = ("Oslo", "Rome", "it's")
WHOLES = (0, 1, -1, 7, 50, 2**31, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63), None)
REALS = (
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    5e-324,
    1e-200,
    1e308,
    -1e308,
    2.0**53,
    float("inf"),
    -float("inf"),
    float("nan"),
    None,
)
DECIMALS = (Decimal("0.00"), Decimal("0.01"), Decimal("-9.99"), Decimal(10) ** 35, -(Decimal(10) ** 35), None)
TEXTS = (
    "",
    "a",
    "Oslo",
    "true",
    "1",
    "%",
    "\x00",
    "ﬀ",
    "İ",
    "e\u0301",
    "👩‍👩‍👧",
    "z" * 20_000,
    "2001-01-01",
    " ",
    None,
)
DATES = (dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(9999, 12, 31), None)
MOMENTS = tuple(None if day is None else dt.datetime.combine(day, dt.time(23, 59, 59, 999999)) for day in DATES)


@dataclass(frozen=True)
class Neighbours:
    """The same tables with and without one unit, cut to their cards."""

    present: dict[str, Table]
    absent: dict[str, Table]


def neighbours(random: Random, engine: Engine, name: str) -> Neighbours:
    """Tables ``t`` and ``q`` about the same people and a public table ``p``, of hostile values."""
    cards = _cards(random)
    people = range(random.choice((1, 3, 6)))
    rows = {
        "t": [(who, *_row(random)) for who in people for _ in range(random.choice((1, 2, 5)))],
        "q": [(who, *_row(random)) for who in people for _ in range(random.choice((0, 1, 4)))],
        "p": [(random.choice((*CITIES, None)), random.choice((1, 2, 50)), random.random()) for _ in range(6)],
    }
    rows["t"] += [(0, *_row(random)) for _ in range(random.choice((0, 3, 20)))]  # the unit that goes, with many rows
    found: list[dict[str, Table]] = [{}, {}]
    for card in cards:
        for which, tables in enumerate(found):
            kept = [row for row in rows[card.name] if which == 0 or card.public or row[0] != 0]
            if which == 1 and card.unit is None and not card.public:
                kept = rows[card.name][1:] if card.name == "t" else rows[card.name]
            tables[card.name] = _loaded(engine, card, kept, f"{name}_{card.name}_{which}")
    return Neighbours(*found)


def _cards(random: Random) -> list[Card]:
    rows, groups = random.choice(((1, None), (2, None), (3, None), (2, 1), (3, 1), (3, 2)))
    low, high = random.choice(((0, 1), (-3, 4), (0, 100_000), (-(2**31), 2**31), (-(2**60), 2**60)))
    least, most = random.choice(((0.0, 1.0), (-1.0, 1.0), (0.1, 0.3), (-7.25, 1e6), (1e-3, 5e-3), (-1e15, 1e15)))
    columns = (
        Column("u", Kind.INTEGER),
        Column("i", Kind.INTEGER, bounds=(low, high), required=random.random() < 0.3),
        Column("x", Kind.REAL, bounds=(least, most)),
        Column("d", Kind.DECIMAL, bounds=(Decimal("-10.00"), Decimal("10.00"))),
        Column("w", Kind.REAL),
        Column("k", Kind.INTEGER),
        Column("c", Kind.TEXT, categories=CITIES),
        Column("b", Kind.BOOLEAN),
        Column("s", Kind.TEXT),
        Column("day", Kind.DATE, bounds=(dt.date(1900, 1, 1), dt.date(2030, 1, 1))),
        Column("at", Kind.TIMESTAMP),
    )
    people = [
        Card("t", columns, unit="u", rows_per_unit=rows, groups_per_unit=groups, at_least={2: 5, 3: 1}.get(rows)),
        Card("q", columns, unit="u", rows_per_unit=random.choice((1, 2))),
    ]
    if random.random() < 0.2:  # every row is a person's own
        people = [replace(one, unit=None, rows_per_unit=None, groups_per_unit=None) for one in people]
    return [
        *people,
        Card(
            "p",
            (
                Column("pc", Kind.TEXT, categories=CITIES),
                Column("pg", Kind.INTEGER, categories=(1, 2, 50)),
                Column("px", Kind.REAL, bounds=(0.0, 1.0)),
            ),
            public=True,
        ),
    ]


def _row(random: Random) -> tuple[object, ...]:
    values = (
        WHOLES,
        REALS,
        DECIMALS,
        REALS,
        WHOLES,
        (*CITIES, "else", None),
        (True, False, None),
        TEXTS,
        DATES,
        MOMENTS,
    )
    return tuple(map(random.choice, values))


def _loaded(engine: Engine, card: Card, rows: list[tuple[object, ...]], name: str) -> Table:
    types = {
        Kind.INTEGER: pa.int64(), Kind.REAL: pa.float64(), Kind.DECIMAL: pa.decimal128(38, 2), Kind.TEXT: pa.string(),
        Kind.BOOLEAN: pa.bool_(), Kind.DATE: pa.date32(), Kind.TIMESTAMP: pa.timestamp("us"),
    }  # fmt: skip
    if engine.dialect != "duckdb":  # PostgreSQL holds no text with a zero in it
        rows = [tuple("zero" if value == "\x00" else value for value in row) for row in rows]
    values = list(zip(*rows, strict=True)) or [()] * len(card.columns)
    arrays = [pa.array(list(one), types[column.kind]) for one, column in zip(values, card.columns, strict=True)]
    engine.load(name, pa.table(arrays, names=[column.name for column in card.columns]))
    shown = [sql.column(column.name) for column in card.columns]
    table = Table(card, engine, exp.select(*shown).from_(sql.table(name)))
    if card.public:
        return table
    kept = bounded(table)
    engine.store(f"{name}_kept", kept.relation)
    return replace(
        kept,
        relation=exp.select(*map(sql.column, (c.name for c in kept.card.columns))).from_(sql.table(f"{name}_kept")),
    )


_PAIRS = (
    "COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_COUNT", "REGR_AVGX",
    "REGR_AVGY",
)  # fmt: skip


_OF_OTHER = ("o.c = t.c", "o.i > 3", "o.b", "o.s = t.c AND o.x < 1")


class Questions:
    """Random questions; each may use every function there is."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def question(self) -> str:
        """A question with one to three figures."""
        keys = [self._key() for _ in range(self._one_of((0, 0, 1, 2)))]
        figures = [self._figure() for _ in range(self._one_of((1, 1, 2, 3)))]
        shown = ", ".join(f"{one} AS a{place}" for place, one in enumerate([*keys, *figures]))
        text = f"SELECT {shown} FROM {self._source()}"
        if self._random.random() < 0.5:
            text += f" WHERE {self.truth(2)}"
        return text + (f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else "")

    def nested(self) -> str:
        """A question around others: what is made of their figures must not matter."""
        inner = f"SELECT c AS a0, {self._figure()} AS a1 FROM {self._source()} WHERE {self.truth(1)} GROUP BY 1"
        other = f"SELECT c AS a0, {self._figure()} AS a1 FROM t GROUP BY 1"
        return self._one_of(
            (
                lambda: f"SELECT a0, SUM(a1) OVER (ORDER BY a0) AS s, LAG(a1) OVER (ORDER BY a1) AS l FROM ({inner})",
                lambda: f"SELECT COUNT(*) AS k, SUM(a1) AS s, MAX(a1) AS m FROM ({inner}) WHERE a1 > 0 OR a0 = 'Oslo'",
                lambda: f"{inner} UNION ALL {other}",
                lambda: (
                    f"WITH a AS ({inner}), b AS ({other}) SELECT a0, a.a1 / b.a1 AS q FROM a FULL JOIN b USING (a0)"
                ),
                lambda: f"SELECT c, b, {self._figure()} AS s FROM {self._source()} GROUP BY CUBE (c, b)",
                lambda: f"SELECT {self._key()} AS k FROM {self._source()} GROUP BY k ORDER BY COUNT(*) DESC LIMIT 1",
                lambda: (
                    f"SELECT c, {self._figure()} / (SELECT {self._figure()} FROM {self._source()}) AS s FROM "
                    f"{self._source()} GROUP BY c HAVING COUNT(*) > (SELECT COUNT(*) FROM q) LIMIT 2 OFFSET 1"
                ),
                lambda: f"WITH a AS ({other}) SELECT x.a1, y.s FROM a x CROSS JOIN (SELECT SUM(a1) AS s FROM a) y",
            )
        )()

    def in_other_words(self) -> str:
        """A question with aggregates that are rarer than those of others."""
        number = self.number(self._one_of((1, 2)))
        rare = self._one_of(
            (
                f"APPROX_DISTINCT({self._one_of((self.whole, self.number, self.text, self.day))(1)})",
                f"{self._one_of(('STDDEV_POP', 'STDDEV_SAMP', 'VARIANCE_POP'))}({number})",
                f"{self._one_of(('QUANTILE', 'APPROX_QUANTILE'))}({number}, 0.3)",
                f"QUANTILE_CONT({number}, [0.1, 0.5])",
                f"{self._one_of(('PERCENTILE_CONT', 'PERCENTILE_DISC'))}(0.25) WITHIN GROUP (ORDER BY {number})",
            )
        )
        only = self._one_of(("", f" FILTER (WHERE {self.truth(1)})"))
        keys = self._one_of(("", ", c"))
        return f"SELECT {rare}{only} AS a0{keys} FROM {self._source()} WHERE {self.truth(1)}" + (
            f" GROUP BY {keys[2:]}" if keys else ""
        )

    def _key(self) -> str:
        kind = self._one_of((self.text, self.truth, self.whole, self.day, self.number))
        return self._one_of((lambda: "c", lambda: "i", lambda: kind(1)))()

    def _figure(self) -> str:
        made = self._one_of(
            (
                lambda: "COUNT(*)",
                lambda: "COUNT(DISTINCT u)",
                lambda: (
                    f"COUNT(DISTINCT {self._one_of((self.whole, self.number, self.text, self.truth, self.day))(1)})"
                ),
                lambda: f"COUNT({self._one_of((self.number, self.text, self.truth, self.day))(2)})",
                lambda: f"COUNT_IF({self.truth(2)})",
                lambda: f"{self._one_of(_PAIRS)}({self.number(1)}, {self.number(1)})",
                *(
                    lambda name=name: (
                        f"{name}({self.number(self._one_of((1, 2, 3)))}{', 0.9' if name == 'QUANTILE_CONT' else ''})"
                    )
                    for name in (
                        "SUM",
                        "SUM",
                        "SUM",
                        "AVG",
                        "VARIANCE",
                        "STDDEV",
                        "MEDIAN",
                        "MODE",
                        "QUANTILE_CONT",
                        "MIN",
                        "MAX",
                    )
                ),
            )
        )()
        return made if self._random.random() < 0.8 else f"{made} FILTER (WHERE {self.truth(2)})"

    def _source(self) -> str:
        inner = lambda: (  # noqa: E731
            f"SELECT u, {self.whole(1)} AS i, {self.number(1)} AS x, d, w, {self.whole(1)} AS k, {self.text(1)} AS c, "
            f"{self.truth(1)} AS b, {self.text(1)} AS s, {self.day(1)} AS day, at FROM "
        )
        per_unit = (
            f"SELECT u, {self._one_of(('SUM', 'MAX', 'MIN', 'COUNT', 'COUNT(DISTINCT'))}"
            f"({self.whole(1)}) AS i, {self._one_of(('SUM', 'AVG', 'MIN'))}({self.number(1)}) AS x, MAX(d) AS d, "
            f"MIN(w) AS w, COUNT(*) AS k, c, MAX(i) > 3 AS b, MAX(s) AS s, MIN(day) AS day, MAX(at) AS at FROM t "
            f"GROUP BY u, c HAVING {self._one_of(('COUNT(*) > 0', 'SUM(x) > 0', 'MAX(w) IS NULL'))}"
        ).replace("COUNT(DISTINCT(", "COUNT(DISTINCT ")
        return self._one_of(
            (
                lambda: "t",
                lambda: "t",
                lambda: f"({inner()} t WHERE {self._asks()})",
                lambda: f"t {self._one_of(('SEMI', 'ANTI'))} JOIN q AS o ON t.u = o.u AND {self._one_of(_OF_OTHER)}",
                lambda: f"({self._windows()})",
                lambda: (
                    f"t {self._one_of(('', 'LEFT ', 'RIGHT '))}JOIN (SELECT u, i AS qi, x AS qx, c AS qc FROM q) AS o "
                    f"ON t.u = o.u AND {self._one_of(('i < qi', 'qx > 1', 'c = qc', 'x <> qx', self.truth(1)))}"
                ),
                lambda: (
                    "t FULL JOIN (SELECT u, i AS qi, c AS qc FROM q) AS o ON t.u = o.u"
                    f"{self._one_of(('', ' AND c = qc', ' AND i > 3', ' AND qi IS NULL'))}"
                ),
                lambda: f"({inner()} t WHERE {self.truth(1)})",
                lambda: f"({inner()} t UNION ALL {inner()} t)",
                lambda: f"({inner()} t UNION ALL {inner()} q)",
                lambda: f"(SELECT DISTINCT {inner().removeprefix('SELECT ')} t)",
                lambda: f"({per_unit})",
                lambda: f"t {self._one_of(('', 'LEFT '))}JOIN p ON c = pc",
                lambda: f"t {self._one_of(('', 'LEFT '))}JOIN p ON {self.text(1)} = pc",
                lambda: f"t {self._one_of(('', 'LEFT '))}JOIN (SELECT u, i AS qi, c AS qc FROM q) AS other USING (u)",
                lambda: (
                    f"({inner()} t) JOIN (SELECT u, {self.whole(1)} AS qi FROM q) AS other USING (u) JOIN p ON c = pc"
                ),
            )
        )()

    def _asks(self) -> str:
        """A condition that asks another table."""
        asked = self._one_of(
            (
                lambda: f"u IN (SELECT u FROM q WHERE {self.truth(1)})",
                lambda: f"u IN (SELECT u FROM q GROUP BY u HAVING {self._one_of(('COUNT(*) > 1', 'SUM(x) > 0'))})",
                lambda: f"EXISTS (SELECT 1 FROM q WHERE q.u = t.u AND {self.text(1)} = t.c)",
                lambda: f"EXISTS (SELECT 1 FROM q WHERE q.u = t.u AND {self.truth(1)})",
                lambda: f"{self.text(1)} IN (SELECT pc FROM p WHERE px < 0.5)",
                lambda: "EXISTS (SELECT 1 FROM p WHERE pc = t.c)",
            )
        )()
        return self._one_of((asked, f"NOT {asked}", f"({asked} OR {self.truth(1)})"))

    def _windows(self) -> str:
        """Rows with windows within one person."""
        order = self._one_of((self.whole, self.number, self.text, self.day))(1)
        over = f"OVER (PARTITION BY u{self._one_of(('', ', c'))} ORDER BY {order} {self._one_of(('', 'DESC'))})"
        all_ = f"OVER (PARTITION BY u{self._one_of(('', ', b'))})"
        whole, number = self.whole(1), self.number(1)
        first = self._one_of(("ROW_NUMBER()", "RANK()", "DENSE_RANK()", f"LAG({whole})", f"LEAD({whole}, 2)"))
        rows = (
            f"SELECT u, {first} {over} AS i, "
            f"{self._one_of(('SUM', 'AVG', 'MAX', 'MIN'))}({number}) {self._one_of((over, all_))} AS x, d, w, "
            f"COUNT({self._one_of(('*', 's'))}) {self._one_of((over, all_))} AS k, c, b, "
            f"{self._one_of(('LAG', 'FIRST_VALUE'))}(s) {over} AS s, LEAD(day) {over} AS day, at FROM t"
        )
        return rows + self._one_of(("", f" QUALIFY ROW_NUMBER() {over} <= 2", f" QUALIFY COUNT(*) {all_} > 1"))

    def number(self, depth: int) -> str:
        """A number."""
        if depth <= 0:
            return str(
                self._one_of(("i", "x", "d", "w", "k", "0", "1", "-3", "0.5", "1e-9", "0.92", "0.10119999999999998"))
            )
        n, b = (lambda: self.number(depth - 1)), (lambda: self.truth(depth - 1))
        return self._one_of(
            (
                lambda: f"({n()} {self._one_of('+-*')} {n()})",
                lambda: f"({n()} / {self._one_of((lambda: f'GREATEST({n()}, 1)', n))()})",
                lambda: f"(-({n()}))",
                lambda: f"ABS({n()})",
                lambda: f"(1 - SIGN({n()}))",
                lambda: f"POWER({n()}, {self._one_of((1, 2, 3, 8))})",
                lambda: f"{self._one_of(('LEAST', 'GREATEST', 'COALESCE', 'NULLIF'))}({n()}, {n()})",
                lambda: f"LEAST(GREATEST({n()}, -2), 5)",
                lambda: f"SQRT({self._one_of((lambda: f'GREATEST({n()}, 0)', n))()})",
                lambda: f"LN({self._one_of((lambda: f'GREATEST({n()}, 1)', n))()})",
                lambda: f"EXP({self._one_of((lambda: f'LEAST({n()}, 10)', n))()})",
                lambda: f"CASE WHEN {b()} THEN {n()} WHEN {b()} THEN {n()} ELSE {n()} END",
                lambda: f"CASE {n()} WHEN {n()} THEN {n()} END",
                lambda: f"IF({b()}, {n()}, {n()})",
                lambda: f"CAST({n()} AS DOUBLE)",
                lambda: f"(SUM_SCALE * {n()})".replace("SUM_SCALE", "10000000"),
                lambda: self.whole(depth - 1),
            )
        )()

    def whole(self, depth: int) -> str:
        """A whole number."""
        if depth <= 0:
            return str(self._one_of(("i", "k", "0", "1", "2", "-7", "1000000")))
        w = lambda: self.whole(depth - 1)  # noqa: E731
        return self._one_of(
            (
                lambda: f"({w()} {self._one_of('+-*')} {w()})",
                lambda: f"{self._one_of(('ROUND', 'FLOOR', 'CEIL'))}({self.number(depth - 1)})",
                lambda: f"({w()} % {self._one_of((7, 2, -3))})",
                lambda: f"WIDTH_BUCKET({self.number(depth - 1)}, 0, 10, 4)",
                lambda: f"NULLIF({w()}, NULLIF({self._one_of((0, 1, 5))}, {self._one_of((0, 1, 5))}))",
                lambda: f"({w()} // {self._one_of((7, 2, -3))})",
                lambda: f"LENGTH({self.text(depth - 1)})",
                lambda: f"STRPOS({self.text(depth - 1)}, 'a')",
                lambda: f"CAST({self._one_of((self.number, self.truth))(depth - 1)} AS BIGINT)",
                lambda: f"{self._one_of(('YEAR', 'QUARTER', 'MONTH', 'DAY'))}({self.day(depth - 1)})",
                lambda: f"EXTRACT({self._one_of(('year', 'week', 'doy', 'dow', 'day'))} FROM {self.day(depth - 1)})",
                lambda: f"EXTRACT({self._one_of(('hour', 'minute'))} FROM at)",
                lambda: f"DATE_DIFF('{self._one_of(('day', 'month', 'year'))}', {self.day(depth - 1)}, {self.day(0)})",
                lambda: f"EXTRACT(year FROM AGE({self.day(0)}, {self.day(depth - 1)}))",
                lambda: f"LEAST(GREATEST({w()}, -5), 1000)",
            )
        )()

    def text(self, depth: int) -> str:
        """A text."""
        if depth <= 0:
            return str(self._one_of(("s", "c", "'Oslo'", "'%'", "''")))
        t = lambda: self.text(depth - 1)  # noqa: E731
        return self._one_of(
            (
                lambda: f"{self._one_of(('LOWER', 'UPPER', 'TRIM'))}({t()})",
                lambda: f"({t()} || {t()})",
                lambda: f"CONCAT({t()}, {t()})",
                lambda: f"SUBSTRING({t()}, {self._one_of((1, 2, 100))}, 3)",
                lambda: f"LEFT({t()}, 2)",
                lambda: f"SPLIT_PART({t()}, '{self._one_of(('l', '-'))}', {self._one_of((1, 2))})",
                lambda: f"STRFTIME({self._one_of((self.day(depth - 1), 'at'))}, '{self._one_of(('%Y-%m', '%d.%m.'))}')",
                lambda: f"COALESCE({t()}, {t()})",
                lambda: f"CASE WHEN {self.truth(depth - 1)} THEN {t()} ELSE {t()} END",
                lambda: f"CAST({self._one_of((self.whole, self.day))(depth - 1)} AS VARCHAR)",
            )
        )()

    def truth(self, depth: int) -> str:
        """A condition."""
        if depth <= 0:
            return str(self._one_of(("b", "TRUE", "i > 3", "c = 'Oslo'", "u = 0", "s IS NULL")))
        n, b = (lambda: self.number(depth - 1)), (lambda: self.truth(depth - 1))
        return self._one_of(
            (
                lambda: f"{n()} {self._one_of(('<', '<=', '>', '>=', '=', '<>'))} {n()}",
                lambda: f"{self.text(depth - 1)} {self._one_of(('<', '=', '<>'))} {self.text(depth - 1)}",
                lambda: f"{self.day(depth - 1)} {self._one_of(('<', '='))} {self.day(depth - 1)}",
                lambda: f"({b()} {self._one_of(('AND', 'OR'))} {b()})",
                lambda: f"NOT ({b()})",
                lambda: f"({n()}) IS NULL",
                lambda: f"({b()}) IS {self._one_of(('TRUE', 'FALSE'))}",
                lambda: f"{n()} IN (0, 1, NULL)",
                lambda: f"{n()} BETWEEN {n()} AND {n()}",
                lambda: f"{n()} IS {self._one_of(('', 'NOT '))}DISTINCT FROM {n()}",
                lambda: f"{self.text(depth - 1)} {self._one_of(('LIKE', 'ILIKE'))} '%a_'",
                lambda: f"{self.text(depth - 1)} LIKE '10!%' ESCAPE '!'",
                lambda: f"STARTS_WITH({self.text(depth - 1)}, 'O')",
                lambda: (
                    f"REGEXP_MATCHES({self.text(depth - 1)}, '{self._one_of(('^[a-z0-9]?$', 'O.{1,2}o|1', '^z*$'))}')"
                ),
                lambda: f"{self.text(depth - 1)} ~* '[^OS]l'",
            )
        )()

    def day(self, depth: int) -> str:
        """A date."""
        if depth <= 0:
            return str(self._one_of(("day", "DATE '2020-02-29'", "CAST(at AS DATE)", "DATE(at)")))
        return self._one_of(
            (
                lambda: (
                    f"DATE_TRUNC('{self._one_of(('day', 'week', 'month', 'quarter', 'year'))}', {self.day(depth - 1)})"
                ),
                lambda: (
                    f"({self.day(depth - 1)} {self._one_of('+-')} INTERVAL {self._one_of((1, 40))} "
                    f"{self._one_of(('DAY', 'MONTH', 'YEAR'))})"
                ),
                lambda: f"DATE_ADD({self.day(depth - 1)}, INTERVAL 3 DAY)",
                lambda: f"({self.day(depth - 1)} + 3)",
                lambda: f"COALESCE({self.day(depth - 1)}, {self.day(0)})",
            )
        )()

    def _one_of(self, several: Any) -> Any:
        return self._random.choice(several)


Lie = Callable[[Value, Random], Value]


def _within(change: Callable[[Fraction, Fraction, Random], tuple[Fraction, Fraction]]) -> Lie:
    def lie(value: Value, random: Random) -> Value:
        if not value.number:
            return value
        low, high = value.within or (Fraction(-5), Fraction(5))
        return replace(value, within=change(low, high, random))

    return lie


LIES: dict[str, Lie] = {
    "narrow": _within(lambda low, high, _: (low + (high - low) * Fraction(49, 100), low + (high - low) / 2)),
    "a point": _within(lambda low, high, _: ((low + high) / 2,) * 2),
    "nothing": _within(lambda low, high, _: (Fraction(0), Fraction(0))),
    "empty": _within(lambda low, high, _: (high + 1, low) if high - low < 2**40 else (low, high)),
    "shifted": _within(
        lambda low, high, random: (low + random.choice((-3, 1, 1000)), high + random.choice((-3, 1, 1000)))
    ),
    "wider": _within(lambda low, high, _: (low - 1000, high + 1000)),
    "small whole numbers": lambda value, _: replace(value, domain=(0, 1)) if value.kind is Kind.INTEGER else value,
    "one value": lambda value, _: replace(value, domain=value.domain[:1]) if value.domain else value,
    "never NULL": lambda value, _: replace(value, required=True),
    "a column": lambda value, _: replace(value, name="x"),
    "always positive": _within(lambda low, high, _: (Fraction(1), max(high, Fraction(2)))),
}
"""What a wrong analysis may say of a value."""


@contextmanager
def lying(seed: int, rate: float = 0.4) -> Iterator[None]:
    """The analysis of expressions, and of joins, lies about some of them: about the same every time it is asked."""
    honest, many = Reader.of, source.multiplicity

    def of(self: Reader, node: exp.Expr | None) -> Value:
        value = honest(self, node)
        random = Random(zlib.crc32(f"{seed} {node!r}".encode()))  # noqa: S311
        if type(value) is Value and random.random() < rate and not isinstance(node, exp.Literal):
            return LIES[random.choice(list(LIES))](value, random)
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "of", of)
        patch.setattr(source, "multiplicity", lambda *given: seed % 3 or many(*given))
        yield

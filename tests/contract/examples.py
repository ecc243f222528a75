"""One example or more of every method that goes through the door, and tables of people with hostile values for them.

A new method is added to ``EXAMPLES`` and gets the tests of ``test_coupled_replay.py``.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa
from sqlglot import exp
from tests.contract.replay import Outcome, leaves

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.release import Receipt
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded, bounded_card
from discreet.engines.duckdb import DuckDB
from discreet.noise.entropy import SYSTEM
from discreet.releases.method import Bench, Method
from discreet.releases.pipeline import draft, request
from discreet.verbs.ask.bounds import Bounds
from discreet.verbs.ask.distribution import Distribution
from discreet.verbs.ask.stream import Stream
from discreet.verbs.learn.private.additive import Additive
from discreet.verbs.learn.private.components import PrincipalComponents
from discreet.verbs.learn.private.k_means import KMeans
from discreet.verbs.learn.private.logistic import Logistic
from discreet.verbs.learn.private.naive_bayes import NaiveBayes
from discreet.verbs.learn.private.noisy_tree import NoisyTree
from discreet.verbs.learn.private.ridge import Ridge
from discreet.verbs.publish.safepub import SafePub
from discreet.verbs.synthesize.private import Synthesize
from discreet.verbs.tabulate.private.macro_table import MacroTable

Row = tuple[Any, ...]
Person = tuple[Row, ...]
"""All rows of one person, without the column that says whose they are."""
TYPES = {
    "a": pa.string(),
    "b": pa.int64(),
    "c": pa.bool_(),
    "r": pa.float64(),
    "d": pa.decimal128(38, 2),
    "day": pa.date32(),
    "at": pa.timestamp("us"),
    "i": pa.int64(),
    "s": pa.string(),
}
_BIG = 2**63 - 1
PLAIN: dict[str, tuple[Any, ...]] = {
    "a": ("x", "y", "é'"),
    "b": (0, 1, 2, 3),
    "c": (False, True),
    "r": (0.0, 0.5, 9.75),
    "d": (Decimal("0.00"), Decimal("12.34"), Decimal("99.99")),
    "day": (dt.date(2020, 1, 1), dt.date(2021, 6, 15), dt.date(2023, 12, 31)),
    "at": (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31, 23, 59, 59, 999_999)),
    "i": (0, 1, -5, 1000),
    "s": ("", "word"),
}
HOSTILE: dict[str, tuple[Any, ...]] = {
    "a": (None, "", "X", "x ", "é", "x" * 5_000, "\x00", "NULL"),
    "b": (None, -1, 4, _BIG, -_BIG - 1),
    "c": (None,),
    "r": (None, math.nan, math.inf, -math.inf, -0.0, 5e-324, -5e-324, 1.7e308, 10.000000000000002),
    "d": (None, Decimal(10) ** 35, -(Decimal(10) ** 35), Decimal("-0.01"), Decimal("100.00")),
    "day": (None, dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "at": (None, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    "i": (None, _BIG, -_BIG - 1, 2**53 + 1),
    "s": (None, "\U0001f9d1\u200d\U0001f4bb", "\u0000", "y" * 5_000),
}


def card(names: str, rows_per_unit: int | None = 3, *, required: bool = False, impossible: Sequence[str] = ()) -> Card:
    """A card of some columns, one letter or word each, of people with so many rows; ``None``: a row is a person."""
    columns = (
        Column("who", Kind.INTEGER, role="identifier"),
        Column("a", Kind.TEXT, categories=PLAIN["a"], required=required),
        Column("b", Kind.INTEGER, bounds=(0, 3), required=required),
        Column("c", Kind.BOOLEAN, required=required),
        Column("r", Kind.REAL, bounds=(0.0, 10.0)),
        Column("d", Kind.DECIMAL, bounds=(Decimal("0.00"), Decimal("99.99"))),
        Column("day", Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2023, 12, 31))),
        Column("at", Kind.TIMESTAMP, bounds=(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))),
        Column("i", Kind.INTEGER),
        Column("s", Kind.TEXT),
    )
    shown = tuple(column for column in columns if column.name in ("who", *names.split()))
    unit = None if rows_per_unit is None else "who"
    return Card("people", shown, unit=unit, rows_per_unit=rows_per_unit, impossible=tuple(impossible))


@dataclass(frozen=True)
class People:
    """A private table on an engine: people, each with rows."""

    card: Card
    people: tuple[tuple[int, Person], ...]
    """Each with the number that says whose rows they are."""
    engine: DuckDB

    @property
    def rows(self) -> list[Row]:
        """All rows, as they came in."""
        return [(who, *row) for who, person in self.people for row in person]

    @cached_property
    def table(self) -> Table:
        """The bounded table, as a curator has it."""
        source, kept = (self.engine.new_name(like) for like in ("people", "bounded"))
        schema = pa.schema([("who", pa.int64()), *TYPES.items()])
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        self.engine.load(source, pa.Table.from_arrays(arrays, schema=schema))
        shown = [sql.column(column.name) for column in self.card.columns]
        raw = Table(self.card, self.engine, exp.select(*shown).from_(sql.table(source)))
        cut = bounded(raw)
        self.engine.store(kept, cut.relation)
        self.engine.run(f"DROP TABLE {sql.table(source).sql('duckdb')}")
        names = [column.name for column in cut.card.columns]
        return Table(cut.card, self.engine, exp.select(*map(sql.column, names)).from_(sql.table(kept)))


@dataclass(frozen=True)
class Example:
    """A way to make something of a private table."""

    of: type
    run: Callable[[People], Outcome]
    card: Card
    method: Method[Any] | None = None
    few: bool = False
    """Whether a run takes long enough to be tried less often."""
    alike: int = 1
    """How often the same people come again, where small classes are dropped."""


def through_the_door(method: Method[Any]) -> Callable[[People], Outcome]:
    """What the door does with a method once it was charged."""

    def run(people: People) -> Outcome:
        asked = request(method, people.table, "people", "id")
        receipt = Receipt("people", "key", asked.loss, 1, "digest", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
        made = method.make(people.table, Bench(SYSTEM))
        made = method.recheck(made, made.payload, asked.statement)
        return Outcome(asked.loss, leaves(draft(method, people.table, asked.statement, made, receipt)))

    return run


def streamed(stream: Stream) -> Callable[[People], Outcome]:
    """A stream of what people do: ``b`` says in which step a raw row arrives."""

    def run(people: People) -> Outcome:
        bounds = bounded_card(people.card)
        state, counted, told = stream.start(bounds), dict[str, int](), []
        for step in range(stream.horizon):
            arrived = tuple(
                (who, tuple(row for row in rows if (row[1] or 0) % stream.horizon == step))
                for who, rows in people.people
            )
            arrivals = stream.arrivals(People(people.card, arrived, people.engine).table, step + 1)
            state, now = stream.advance(bounds, state, arrivals, counted)
            counted |= now
            told.append(repr(stream.figures(bounds, state.totals, step + 1).to_pylist()))
        loss = stream.promise(bounds).loss
        assert loss is not None
        return Outcome(loss, {"figures": "\n".join(told).encode()})

    return run


def _method(method: Method[Any], card: Card, *, few: bool = False, alike: int = 1) -> Example:
    return Example(type(method), through_the_door(method), card, method, few, alike)


def _stream(stream: Stream, card: Card) -> Example:
    return Example(Stream, streamed(stream), card)


PEOPLE = card("a b c")
FEW = ["a", "b", "c"]
EXAMPLES: dict[str, Example] = {
    "distribution of whole numbers": _method(Distribution("b", 4, epsilon="0.7"), PEOPLE),
    "distribution of reals by rho": _method(Distribution("r", 20, rho="0.1"), card("b r")),
    "distribution of decimals": _method(Distribution("d", 7, epsilon=2), card("d", None)),
    "distribution of days": _method(Distribution("day", 24, epsilon="1/3"), card("day")),
    "distribution of moments": _method(Distribution("at", 20, epsilon=1), card("a at", 2, required=True)),
    "bounds of whole numbers": _method(Bounds("i", "0.5"), card("i"), few=True),
    "bounds of reals": _method(Bounds("r", 3), card("r", None), few=True),
    "bounds of decimals": _method(Bounds("d", 1), card("d", 1), few=True),
    "macro-table": _method(MacroTable([["a", "b"], ["c"]], epsilon=1), PEOPLE),
    "macro-table by rho": _method(MacroTable([["a", "b"], ["b", "c"], ["a"]], rho="0.2"), card("a b c", None)),
    "macro-table of least squares": _method(MacroTable.every(FEW, 2, epsilon="0.4", whole=False), PEOPLE),
    "macro-table of required columns": _method(MacroTable([FEW], epsilon=1), card("a b c", required=True)),
    "synthesize by aim": _method(Synthesize(epsilon=1, by="aim"), PEOPLE, few=True),
    "synthesize by aim with delta": _method(Synthesize(epsilon=1, delta="1e-6"), card("a b c", None), few=True),
    "synthesize by mst": _method(Synthesize(rho="0.5", by="mst"), card("a b c r"), few=True),
    "synthesize by mst with epsilon": _method(Synthesize(epsilon=2, by="mst", rows=50), card("a b c", 1)),
    "synthesize by mwem": _method(Synthesize(epsilon=1, by="mwem"), card("a b c", required=True), few=True),
    "synthesize by bayes": _method(Synthesize(epsilon=1, delta="1e-6", by="bayes"), PEOPLE),
    "synthesize what is possible": _method(
        Synthesize(rho=1, by="mst"), card("a b c", 2, impossible=["b > 2 AND c", "a = 'x' AND b < 1"]), few=True
    ),
    "synthesize column by column": _method(
        Synthesize(epsilon=1, by="independent", quantiles=["r"], bins=16), card("r d at"), few=True
    ),
    "synthesize people": _method(Synthesize(rho=1, by="mst", person=["c"]), PEOPLE, few=True),
    "additive": _method(Additive(target="a", epsilon=1, bins=3), card("a b c r")),
    "additive with delta by group": _method(
        Additive(target="c", epsilon=1, delta="1e-6", by="a"), card("a b c day", required=True)
    ),
    "naive Bayes": _method(NaiveBayes(target="c", epsilon=2), card("a b c d", None)),
    "naive Bayes of normal numbers": _method(NaiveBayes(target="a", rho="0.3", numbers="gaussian"), card("a b r day")),
    "logistic": _method(Logistic(target="a", epsilon=1), card("a b c r", 2)),
    "logistic with delta": _method(Logistic(target="c", epsilon=1, delta="1e-6", by="a"), card("a c d", None)),
    "noisy tree": _method(NoisyTree(target="a", epsilon=8, depth=2), card("a b c day")),
    "noisy tree by rho": _method(NoisyTree(target="c", rho=9, depth=2, bins=4), card("a c r", 1, required=True)),
    "k-means": _method(KMeans(count=3, epsilon=4), card("b r d")),
    "k-means by rho": _method(KMeans(count=2, rho=2), card("r day", None)),
    "principal components": _method(PrincipalComponents(epsilon=1), card("b r day")),
    "principal components by rho": _method(PrincipalComponents(count=1, rho=1), card("r d", 1)),
    "ridge": _method(Ridge(target="b", epsilon=1), PEOPLE),
    "ridge by rho": _method(Ridge(target="r", rho="0.2"), card("a b r d day", 2)),
    "safepub": _method(SafePub(2, "1/50", {"a": 0, "s": 0, "c": 1}), card("a c s", 1), alike=5),
    "safepub of numbers": _method(SafePub(3, "1/100", {"r": 0, "b": 0}), card("b r", None), alike=8),
    "stream": _stream(Stream("a", 2, epsilon=1), card("a b", 1)),
    "stream by groups": _stream(Stream("a", 2, by=["a", "r"], bins=2, rho="0.1"), card("a b r", None)),
    "stream of sums": _stream(Stream("a", 2, sums=["r", "d"], count=False, rho="0.1"), card("b r d", 1)),
    "stream of periods": _stream(
        Stream("a", 2, time="day", begin="2020-01-01", every="100 weeks", late=1, rho="0.1"), card("b day", 2)
    ),
}
"""By name. A method's class has one example or more: a test says so."""


def person(random: Random, rows: int, hostile: float) -> Person:
    """Somebody with so many rows, of whose values a share is hostile; now and then all rows are the same."""
    made = [
        tuple(random.choice(HOSTILE[name] if random.random() < hostile else PLAIN[name]) for name in TYPES)
        for _ in range(rows)
    ]
    return tuple(made[:1] * rows if random.random() < 0.3 else made)


def somebody(card: Card, random: Random) -> Person:
    """Somebody with up to three times as many rows as the card allows."""
    many = 1 if card.unit is None else random.randint(1, 3 * (card.rows_per_unit or 1))
    return person(random, many, random.choice((0.0, 0.2, 1.0)))


def neighbours(example: Example, engine: DuckDB, seed: int, many: int) -> tuple[People, list[People]]:
    """A table, and so many of which each has one person more, or less."""
    random, card = Random(seed), example.card  # noqa: S311  # it makes examples
    few = [somebody(card, random) for _ in range(random.choice((0, 1, 4, 30) if example.alike == 1 else (3, 6)))]
    often = [random.randint(max(1, example.alike - 2), example.alike) for _ in few]
    people = list(enumerate(one for one, times in zip(few, often, strict=True) for _ in range(times)))
    less = random.sample(people, min(many // 2, len(people)))
    more = [random.choice(few) if few and random.random() < 0.5 else somebody(card, random) for _ in less]
    more += [somebody(card, random) for _ in range(many - len(less) - len(more))]
    found = [[one for one in people if one is not gone] for gone in less]
    found += [[(-1, one), *people] if random.random() < 0.5 else [*people, (-1, one)] for one in more]
    return People(card, tuple(people), engine), [People(card, tuple(one), engine) for one in found]

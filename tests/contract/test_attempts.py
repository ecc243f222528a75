"""Attempts to read one person's value past the questions themselves: by engines, retries, rivals, errors, the service.

Each is what somebody tried who wanted to know more than was charged for. Most never worked, and must not begin to.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one
from tests.curator.clinics import clinic

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.table import Table
from discreet.curator.backup import back_up
from discreet.curator.curator import Curator
from discreet.engines.bounded_table import Cut, bounded
from discreet.engines.contribution import owned_rows
from discreet.engines.duckdb import DuckDB
from discreet.engines.limits import fetch
from discreet.engines.measures import counted, measured_query
from discreet.engines.postgres import Postgres
from discreet.engines.read import read
from discreet.errors import EngineError, Refused, Unreachable
from discreet.noise.entropy import Entropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.answer import measured
from discreet.verbs.ask.plan import plan

FAILS_ABOVE = (
    "SELECT CASE WHEN COUNT(*) > {} THEN -999999999999999999 * 9 - 223372036854775817 ELSE 0 END AS n FROM visits"
)
"""Fails, after noise was drawn, if the noisy count is above a number: what is shown would be -2**63."""


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    """A clinic of a thousand visits."""
    with clinic(tmp_path / "clinic") as made:
        yield made


# -- what an engine makes of others' rows, when somebody is there


_MOST = 2**63 - 1
HERS = {
    "a value on which a part fails that stands twice": (5, _MOST),
    "a missing value": (None, 1),
    "a value beyond all others": (_MOST - 1, 9),
}


@pytest.mark.parametrize("hers", HERS)
def test_a_value_on_which_something_fails_changes_no_other_row(tmp_path: Path, hers: str) -> None:
    """DuckDB's optimiser moves constants, folds by statistics, and takes parts out of TRY: all depends on all rows."""
    here, there = (_counted(tmp_path / name, people) for name, people in (("w", [HERS[hers]]), ("wo", [])))
    assert all(abs(one - other) <= 1 for one, other in zip(here, there, strict=True)), (here, there)


VALUES = Card(
    "t",
    (
        Column("p", Kind.INTEGER),
        Column("d", Kind.DECIMAL, bounds=(-(Decimal(10) ** 6), Decimal(10) ** 6)),
        Column("e", Kind.DECIMAL),
        Column("r", Kind.REAL, bounds=(-1e6, 1e6)),
        Column("x", Kind.REAL),
        Column("n", Kind.INTEGER, bounds=(-(10**9), 10**9)),
        Column("day", Kind.DATE),
        Column("s", Kind.TEXT),
    ),
    unit="p",
    rows_per_unit=1,
)
PLAIN = (Decimal("3.00"), 1.5, 5, dt.date(2020, 5, 5), "a")
HOSTILE = [
    (Decimal("1.234567890123456789"), 1e308, -_MOST, dt.date(1, 1, 1), "\u0130"),
    (Decimal("999999999999999999.999999999999999999"), -5e-324, _MOST, dt.date(9999, 12, 31), "'" * 999),
    (Decimal(0), math.nan, 0, dt.date(1900, 2, 28), ""),
    (Decimal("-0.000000000000000001"), -0.0, 1, None, None),
    (None, -math.inf, None, dt.date(2020, 2, 29), "A"),
]
COMPUTED = ["d / 3", "d * d", "d", "e", "x", "CAST(n AS TEXT)", "r * 10", "r / 3", "FLOOR(r)", "n % 7", "ABS(n)",
            "UPPER(s)",
            "DATE_TRUNC('month', day)", "DATE_DIFF('day', day, DATE '2020-01-01')", "COALESCE(d, n)"]  # fmt: skip


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_nobodys_value_makes_a_question_fail_or_changes_anybody_elses(
    name: str, request: pytest.FixtureRequest, fresh: Callable[[], str]
) -> None:
    """Digits that Arrow has no room for, numbers that overflow, ends of the calendar, as names of groups."""
    engine: Engine = request.getfixturevalue(name)
    there, *others = (_bounded(engine, fresh, more) for more in ([], *([one] for one in HOSTILE)))
    for computed in COMPUTED:
        text = f"SELECT {computed} AS k, COUNT(*) AS n FROM t GROUP BY 1"
        without = _groups(text, there)
        for table in others:
            found = _groups(text, table)
            moved = sum(abs(found[key] - without[key]) for key in found.keys() | without.keys())
            assert moved <= 1, (computed, found, without)


def _bounded(engine: Engine, fresh: Callable[[], str], more: Sequence[tuple[object, ...]]) -> Table:
    d, r, n, day, text = zip(*[PLAIN] * 20, *more, strict=True)
    decimals, reals = pa.array(d, pa.decimal128(38, 18)), pa.array(r, pa.float64())
    others = [pa.array(n, pa.int64()), pa.array(day, pa.date32()), pa.array(text, pa.string())]
    columns = [pa.array(range(len(d))), decimals, decimals, reals, reals, *others]
    source, kept = fresh(), fresh()
    names = [column.name for column in VALUES.columns]
    engine.load(source, pa.table(columns, names=names))
    shown = exp.select(*map(sql.column, names)).from_(sql.table(source))
    return bounded(Table(VALUES, engine, shown)).store(kept)


def _groups(text: str, table: Table) -> Counter[object]:
    found = measured(plan(text, {"t": table}).parts[0])
    figures = next(iter(found.figures.values())).tolist()
    return Counter(dict(zip(map(str, found.keys.column(0).to_pylist()), figures, strict=True)))


def test_texts_are_equal_only_if_they_are_the_same_whatever_a_database_holds(
    postgres: Postgres, postgres_address: str, fresh: Callable[[], str]
) -> None:
    """Under a collation that is not deterministic (ICU's, which this server lacks) OSLO and oslo are one group, and the
    name of that group would be that of some row: a thousand people would move by one."""
    source, kept = fresh(), fresh()
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(f'CREATE TABLE {source} (p TEXT COLLATE "POSIX", city VARCHAR(9) COLLATE "POSIX", n INT)')
        connection.execute(f"INSERT INTO {source} VALUES ('a', 'oslo', 1), ('b', 'OSLO', 2)")
    columns = (Column("p", Kind.TEXT), Column("city", Kind.TEXT, categories=("oslo",)), Column("n", Kind.INTEGER))
    table = bounded(read(f"{postgres_address}#{source}", Card("t", columns, unit="p", rows_per_unit=1)))
    table.store(kept)
    with psycopg.connect(postgres_address) as connection:
        found = connection.execute(
            "SELECT attname, collname FROM pg_attribute LEFT JOIN pg_collation ON attcollation = pg_collation.oid "
            "WHERE attrelid = %s::regclass AND attnum > 0",
            [kept],
        ).fetchall()
    assert dict(found) == {"p": "default", "city": "default", "n": None}
    assert postgres.fetch(table.relation).num_rows == 2


def test_nobody_has_more_rows_than_the_card_allows_whatever_names_them(
    postgres_address: str, fresh: Callable[[], str]
) -> None:
    """A NUMERIC of PostgreSQL has any number of digits, of which 18 are kept: two units became one."""
    source = fresh()
    units = ["1", "1.0000000000000000001", "1e30", "NaN", "Infinity", "2.000", "2", "-0.0000000000000000004", "0"]
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {source} (p NUMERIC, n INT)")
        for unit in units:
            connection.execute(f"INSERT INTO {source} SELECT %s::numeric, i FROM generate_series(1, 5) AS i", [unit])
    card = Card("t", (Column("p", Kind.DECIMAL), Column("n", Kind.INTEGER)), unit="p", rows_per_unit=2)
    found = Counter(bounded(read(f"{postgres_address}#{source}", card)).fetch().column("p").to_pylist())
    assert found == {0: 2, 1: 2, 2: 2}


def test_which_rows_of_somebody_count_does_not_depend_on_how_much_memory_others_take(
    duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows can be made whose hashes differ in the last bit alone, which one of two ways to cut them did not compare."""
    hashed = duckdb.run("SELECT hash(0::BIGINT)")[0][0] & ~1
    values = [_unhashed(hashed | bit) for bit in (0, 1)]
    found = [one for (one,) in duckdb.run(f"SELECT hash(UNNEST([{values[0]}, {values[1]}]::BIGINT[]))")]
    assert found == [hashed, hashed | 1]
    low, high = sorted(values)
    card = Card("t", (Column("p", Kind.INTEGER), Column("x", Kind.INTEGER)), unit="p", rows_per_unit=1)
    rows = pa.table({"p": [who for who in range(64) for _ in range(2)], "x": [low, high] * 64})
    quick = bounded(read(rows, card, engine=duckdb)).fetch().sort_by("p")

    def no_memory(*_: object) -> None:
        raise EngineError("There is no memory.")

    monkeypatch.setattr(Cut, "_found", no_memory)
    assert bounded(read(rows, card, engine=duckdb)).fetch().sort_by("p").equals(quick)


def _unhashed(hashed: int) -> int:
    """The whole number of 64 bits that DuckDB gives this hash."""
    for _ in range(2):
        hashed ^= hashed >> 32
        hashed = hashed * pow(0xD6E8FEB86659FD93, -1, 2**64) % 2**64
    hashed ^= hashed >> 32
    return hashed - 2**64 if hashed >= 2**63 else hashed


def _counted(folder: Path, more: list[tuple[int | None, int]]) -> list[int]:
    """Counts of conditions that fail on the rows of a thousand people, by what a curator counts with."""
    x, z = zip(*[(_MOST, 1)] * 1000, *more, strict=True)
    columns = (Column("p", Kind.INTEGER), Column("x", Kind.INTEGER), Column("z", Kind.INTEGER))
    card = Card("t", columns, unit="p", rows_per_unit=1)
    with Curator.create(folder, {"t": (pa.table({"p": range(len(x)), "x": x, "z": z}), card)}, Pure(1)) as curator:
        table = curator.workspace.open("t")
        rows = owned_rows(table)
        twice = {"a": parse_one("c2 * 4"), "b": parse_one("CASE WHEN c2 * 4 > 5 THEN 1 ELSE 0 END")}
        found = []
        for text in ("c1 + 10 > 5", "(c1 + 10) IS NOT NULL", "c1 + 10 > 5 OR c2 < 5", "c1 + 10 < 5 AND c2 > 5"):
            some = rows.where(parse_one(f"CASE WHEN {text} THEN TRUE ELSE FALSE END"))
            measures = {name: counted(some, one).sql for name, one in twice.items()} | {"n": counted(some).sql}
            told = fetch(table.engine, measured_query(some, {}, measures)).to_pylist()[0]
            found += [told["n"], told["a"], told["b"]]
        return found


# -- one charge, one draw


def test_a_question_that_fails_on_its_noise_is_not_drawn_again(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked until it did not fail, it told how often fresh noise was above a number: a free draw for every retry."""
    drawn: list[int] = []
    original = Entropy.bytes

    def counted(entropy: Entropy, count: int) -> bytes:
        drawn.append(count)
        return original(entropy, count)

    monkeypatch.setattr(Entropy, "bytes", counted)
    fails = FAILS_ABOVE.format(-(10**9))
    with pytest.raises(Refused, match="it was charged") as first:
        curator.ask(fails, epsilon="0.1")
    assert drawn
    drawn.clear()
    for _ in range(3):
        with pytest.raises(Refused, match="it was charged") as again:
            curator.ask(fails, epsilon="0.1")
        assert str(again.value) == str(first.value)
    assert not drawn
    assert curator.verify().sound


def test_a_question_that_took_too_long_is_not_tried_again(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes about as long as it may would tell, by how often it does, of somebody's rows."""
    engine = curator.workspace.open("visits").engine
    original, asked = type(engine).fetch, []

    def slow(*arguments: object, **options: object) -> pa.Table:
        asked.append(arguments)
        raise EngineError("The query exceeded its time limit.")

    monkeypatch.setattr(type(engine), "fetch", slow)
    with pytest.raises(Refused, match="it was charged"):
        curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.1")
    assert asked
    monkeypatch.setattr(type(engine), "fetch", original)
    with pytest.raises(Refused, match="it was charged"):
        curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.1")


def test_a_question_that_found_no_data_is_tried_again(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was looked at: it is charged once, and answered when the data is there."""
    engine = curator.workspace.open("visits").engine

    def gone(*_: object, **__: object) -> pa.Table:
        raise Unreachable("No answer.")

    with monkeypatch.context() as patch:
        patch.setattr(type(engine), "fetch", gone)
        with pytest.raises(Refused, match="it was charged"):
            curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.1")
    assert not curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.1").free
    assert curator.left("visits").analyst.epsilon == Fraction("2.9")  # type: ignore[union-attr]


def test_a_failure_stays_one_in_another_process_and_in_a_copy(tmp_path: Path) -> None:
    fails = FAILS_ABOVE.format(-(10**9))
    with clinic(tmp_path / "clinic") as curator, pytest.raises(Refused):
        curator.ask(fails, epsilon="0.1")
    back_up(tmp_path / "clinic", tmp_path / "copy.tar.gz")
    with Curator(tmp_path / "clinic") as curator, pytest.raises(Refused, match="it was charged"):
        curator.ask(fails, epsilon="0.1")


def test_rivals_see_one_outcome_of_a_question_that_may_fail(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """SqlMethod by many at once, each would have had its own draw, and seen whether that one failed."""
    turns = iter(range(100))
    monkeypatch.setattr(
        DiscreteLaplace, "add_all", lambda _, values, entropy: (entropy.bytes(1), values + _away(turns))[1]
    )

    def outcome(_: int) -> str:
        try:
            return str(curator.ask(FAILS_ABOVE.format(1000), epsilon="0.1").table.to_pylist())
        except Refused as refusal:
            return str(refusal)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(outcome, range(16)))) == 1


def _away(turns: Iterator[int]) -> np.int64:
    return np.int64(1000 if next(turns) % 2 else -1000)

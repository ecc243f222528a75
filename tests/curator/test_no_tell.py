"""Nothing in an answer, and no error, may hang on one person's row but by noise."""

import datetime as dt

import pyarrow as pa
import pytest

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.errors import BadQuery, CardError

PEOPLE = 400


def curator(folder, columns, values, **others):
    card = Card("t", (Column("u", Kind.INTEGER), *columns), unit="u", rows_per_unit=1)
    table = pa.table({"u": range(len(next(iter(values.values())))), **values})
    return Curator.create(folder, {"t": (table, card), **others}, Approximate(100, "1e-5"))


@pytest.mark.parametrize("sick", [True, False])
def test_the_sign_of_zero_is_not_shown(tmp_path, sick):
    columns = (Column("x", Kind.REAL, bounds=(0.0, 1.0)), Column("sick", Kind.BOOLEAN))
    values = {"x": [0.5] * PEOPLE, "sick": [sick] + [False] * (PEOPLE - 1)}
    with curator(tmp_path / "w", columns, values) as made:
        text = "SELECT CASE WHEN sick THEN -(x * 0.0) ELSE x * 0.0 END AS k, COUNT(*) AS n FROM t GROUP BY 1"
        shown = made.ask(text, epsilon=10, delta="1e-9").table["k"].to_pylist()
    assert [str(key) for key in shown] == ["0.0"]


@pytest.mark.parametrize(
    "moment",
    [
        pa.array([1_700_000_000_000_000_123], pa.timestamp("ns")),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([2**40], pa.timestamp("s")),
    ],
    ids=["finer than microseconds", "after the calendar", "in seconds"],
)
def test_no_moment_is_an_error(tmp_path, moment):
    with curator(tmp_path / "w", (Column("at", Kind.TIMESTAMP),), {"at": moment}) as made:
        for text in (
            "SELECT at, COUNT(*) AS n FROM t GROUP BY at",
            "SELECT CAST(at AS DATE) d, COUNT(*) n FROM t GROUP BY 1",
        ):
            assert made.ask(text, epsilon="0.001", delta="1e-9").table.num_rows in (0, 1)


def test_no_day_is_an_error(tmp_path):
    days = pa.array([2**30, -(2**30), 0], pa.date32())
    columns = (Column("day", Kind.DATE), Column("at", Kind.TIMESTAMP))
    with curator(tmp_path / "w", columns, {"day": days, "at": [dt.datetime(2001, 1, 1)] * 3}) as made:
        made.ask("SELECT day, COUNT(*) AS n FROM t GROUP BY day", epsilon="0.001", delta="1e-9")
        made.ask("SELECT COUNT(*) AS n FROM t WHERE day = at", epsilon="0.001")


def test_a_group_is_listed_once_however_its_zone_is_written(tmp_path):
    noon = dt.datetime(2001, 1, 1, 12)
    zoned = noon.replace(tzinfo=dt.UTC)
    tables = {
        name: (
            pa.table({"u": range(9), "at": pa.array([at] * 9, type_)}),
            Card(name, (Column("u", Kind.INTEGER), Column("at", Kind.TIMESTAMP, categories=(at,))), "u", 1),
        )
        for name, at, type_ in (
            ("t", noon, pa.timestamp("us")),
            ("z", zoned, pa.timestamp("us", "UTC")),
        )
    }
    with Curator.create(tmp_path / "w", tables, Approximate(100, "1e-5")) as made:
        text = "SELECT at, COUNT(*) AS n FROM (SELECT u, at FROM t UNION ALL SELECT u, at FROM z) AS b GROUP BY at"
        assert made.ask(text, epsilon=50).table.num_rows == 1
    with pytest.raises(CardError, match="time zone"):
        Card("t", (Column("at", Kind.TIMESTAMP, categories=(noon, zoned)),))


def test_public_tables_do_not_grow_for_nothing(tmp_path):
    many = pa.table({"k": [0] * 100})
    card = Card("p", (Column("k", Kind.INTEGER),), public=True)
    people = Card("t", (Column("u", Kind.INTEGER), Column("k", Kind.INTEGER, bounds=(0, 9))), "u", 1)
    tables = {"t": (pa.table({"u": range(3), "k": [0] * 3}), people)}
    public = {"p": (many, card)}
    with Curator.create(tmp_path / "w", tables, Approximate(1, "1e-5"), public=public) as made:
        grown = "(SELECT a.k AS k FROM p AS a JOIN p AS b ON a.k = b.k) AS g"
        with pytest.raises(BadQuery, match="only on a unique key"):
            made.price(f"SELECT COUNT(*) AS n FROM t JOIN {grown} ON t.k = g.k", epsilon=1)
        joins = " ".join(f"JOIN p AS p{i} ON t.k = p{i}.k" for i in range(4))
        with pytest.raises(BadQuery, match="1,000,000"):
            made.price(f"SELECT COUNT(*) AS n FROM t {joins}", epsilon=1)

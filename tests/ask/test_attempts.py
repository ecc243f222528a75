"""Attempts to read one person out of answers, by what lies beside the analysis of expressions.

Some worked once: columns called like those that the cut of rows works out, texts that a database holds for equal, and
the mark that Arrow takes off the first text of a file. Each is replayed with and without one person, who is unit 0: the
exact loss of all that noise is added to is at most what is charged.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.ask.hostile import Neighbours
from tests.ask.test_sabotage import planned, require_bounded
from tests.ask.visits import Silent

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type
from discreet.core.table import Table
from discreet.engines import contribution, measures
from discreet.engines.bounded_table import bounded
from discreet.engines.contribution import owned_rows
from discreet.engines.duckdb import DuckDB
from discreet.engines.measures import cell_counts
from discreet.engines.postgres import Postgres
from discreet.errors import BadQuery
from discreet.verbs.ask.answer import answer, measured
from discreet.verbs.ask.distribution import Distribution
from discreet.verbs.ask.plan import Plan, plan
from discreet.verbs.ask.price import price

_number = itertools.count()
PERSON = Column("person", Kind.INTEGER)
Row = Sequence[Any]


def cut(table: Table) -> Table:
    """The bounded table, stored where the rows are, as a workspace does it."""
    return bounded(table).store(f"attempt_{next(_number)}")


def shown(card: Card, engine: Engine, name: str) -> Table:
    return Table(card, engine, exp.select(*(sql.column(one.name) for one in card.columns)).from_(sql.table(name)))


def loaded(engine: Engine, card: Card, rows: Iterable[Row]) -> Table:
    """Rows on an engine, cut to their card."""
    name, columns = f"attempt_{next(_number)}", list(zip(*rows, strict=True))
    types = [arrow_type(one.kind, scale=2) for one in card.columns]
    arrays = [pa.array(list(some), type_) for some, type_ in zip(columns, types, strict=True)]
    engine.load(name, pa.table(arrays, names=[one.name for one in card.columns]))
    return cut(shown(card, engine, name))


def with_and_without(made: Callable[[Iterable[Row]], Table], rows: Sequence[Row]) -> Neighbours:
    """The table ``t`` with and without unit 0, which is the first column."""
    return Neighbours({"t": made(rows)}, {"t": made([row for row in rows if row[0] != 0])})


def require_private(text: str, both: Neighbours) -> None:
    """What is asked is answered, and moves by no more than is charged."""
    plans = planned(text, both)
    assert plans is not None, text
    assert require_bounded(text, plans) is not None, text


# -- columns with the names of those that are worked out


@pytest.mark.parametrize("most", [2, 20])
@pytest.mark.parametrize("name", ["place", "hash", "unit", "smallest", "last", "tied"])
def test_no_name_of_a_column_lets_a_unit_have_more_rows(duckdb: DuckDB, name: str, most: int) -> None:
    columns = (PERSON, Column(f"discreet_{name}", Kind.INTEGER, bounds=(0, 9)), Column("c0", Kind.INTEGER))
    card = Card("t", columns, unit="person", rows_per_unit=most)
    rows = [(person, 0, row) for person in range(3) for row in range(60)]
    both = with_and_without(lambda some: loaded(duckdb, card, some), rows)
    assert both.present["t"].count() == 3 * most
    require_private("SELECT COUNT(*) AS n FROM t", both)


@pytest.mark.parametrize("name", ["discreet_count", "discreet_unit"])
def test_no_column_is_taken_for_the_count_or_for_the_unit(duckdb: DuckDB, name: str) -> None:
    """A count that is its own key moves all of a cell with one row."""
    card = Card("t", (PERSON, Column(name, Kind.INTEGER, bounds=(0, 99))), unit="person", rows_per_unit=1)
    table = loaded(duckdb, card, [(person, 7) for person in range(30)])
    with pytest.raises(BadQuery):
        cell_counts(owned_rows(table, rename=False), {name: sql.column(name)})


# -- texts and units that a database holds for equal


def raw(postgres: Postgres, card: Card, types: str, rows: Iterable[Row]) -> Table:
    """Rows of PostgreSQL's own types, given as texts and cast one after another, cut to their card."""
    name, columns = f"attempt_{next(_number)}", [one.name for one in card.columns]
    texts = pa.table([pa.array([str(row[at]) for row in rows]) for at in range(len(columns))], names=columns)
    postgres.load(f"{name}_texts", texts)
    cast = [
        sql.named(exp.cast(sql.column(one), type_, dialect="postgres"), one)
        for one, type_ in zip(columns, types.split(), strict=True)
    ]
    postgres.store(name, exp.select(*cast).from_(sql.table(f"{name}_texts")))
    return cut(shown(card, postgres, name))


@pytest.mark.parametrize("categories", [None, ("1 day", "1", "1.0", "24:00:00")])
@pytest.mark.parametrize(
    ("type_", "own", "others"), [("interval", "24:00:00", "1 day"), ("jsonb", "1.0", "1"), ("text", "A", "a")]
)
def test_no_row_speaks_for_a_group_of_equal_texts(
    postgres: Postgres, type_: str, own: str, others: str, categories: tuple[str, ...] | None
) -> None:
    card = Card("t", (PERSON, Column("c", Kind.TEXT, categories=categories)), unit="person", rows_per_unit=1)
    rows = [(0, own), *((person, others) for person in range(1, 30))]
    both = with_and_without(lambda some: raw(postgres, card, f"bigint {type_}", list(some)), rows)
    require_private("SELECT c, COUNT(*) AS n FROM t GROUP BY c", both)


@pytest.mark.parametrize("kind", ["text", "decimal"])
def test_no_two_units_become_one(postgres: Postgres, kind: str) -> None:
    """Else a row made of both would turn from one end of its bounds to the other with one of them."""
    types, units = {
        "text": ("interval bigint", ("24:00:00", "1 day")),
        "decimal": ("numeric bigint", (Decimal("1.0000000000000000001"), Decimal("1.0000000000000000002"))),
    }[kind]
    card = Card("t", (Column("u", Kind(kind)), Column("v", Kind.INTEGER, bounds=(0, 9))), unit="u", rows_per_unit=2)
    both = Neighbours(*({"t": raw(postgres, card, types, [(one, 1) for one in some])} for some in (units, units[:1])))
    require_private(
        "SELECT SUM(CASE n WHEN 1 THEN -9 ELSE 9 END) AS s FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u)", both
    )


def test_the_first_text_of_an_answer_keeps_its_mark(postgres: Postgres) -> None:
    """Which group comes first depends on who is in the table."""
    texts = ("a", "\ufeffa")
    card = Card("t", (PERSON, Column("c", Kind.TEXT, categories=texts)), unit="person", rows_per_unit=1)
    rows = [(0, "a"), *((person, texts[1]) for person in range(1, 30))]
    both = with_and_without(lambda some: raw(postgres, card, "bigint text", list(some)), rows)
    require_private("SELECT c, COUNT(*) AS n FROM t GROUP BY c", both)


@pytest.mark.parametrize("state", ["22012", "54000", "XX000"])
def test_an_attempt_fails_on_one_row_whatever_the_server_calls_it(postgres: Postgres, state: str) -> None:
    name = f"fails_{state.lower()}"
    body = f"BEGIN IF x = 3 THEN RAISE EXCEPTION SQLSTATE '{state}'; END IF; RETURN x; END"
    with postgres._transaction(writes=True) as connection:
        connection.execute(f"CREATE FUNCTION {name}(x bigint) RETURNS bigint LANGUAGE plpgsql AS $${body}$$")
    postgres.load(f"{name}_rows", pa.table({"x": [1, 2, 3, 4]}))
    tried = sql.attempt(exp.Anonymous(this=name, expressions=[sql.column("x")]))
    found = postgres.fetch(exp.select(sql.named(tried, "y")).from_(sql.table(f"{name}_rows")))
    assert found.column("y").to_pylist() == [1, 2, None, 4]


def test_no_column_is_taken_for_what_is_computed_of_a_row(duckdb: DuckDB) -> None:
    """A bin that is somebody's own number may be none of those there are, and then there is no answer."""
    others = [Column(f"{name}0", Kind.INTEGER) for name in ("v", contribution.VALUE)]
    card = Card("t", (PERSON, Column("x", Kind.INTEGER, bounds=(0, 99)), *others), unit="person", rows_per_unit=1)
    rows = [(person, person % 100, *[10**6 if person == 0 else 0] * 2) for person in range(30)]
    both = with_and_without(lambda some: loaded(duckdb, card, some), rows)
    counts = [Distribution("x", bins=10, epsilon=1).run(one["t"], Silent()) for one in (both.present, both.absent)]
    assert [round(sum(one.column("n").to_pylist())) for one in counts] == [30, 29]


# -- whether there is an answer


def test_no_unit_decides_whether_there_are_too_many_groups(duckdb: DuckDB) -> None:
    """A limit on groups is no secret: whoever knows how many others there are would see who makes one too many."""
    card = Card("t", (PERSON, Column("s", Kind.TEXT)), unit="person", rows_per_unit=1)
    keys = ", ".join(f"s || '{place}'" for place in range(39))  # the longer a group's keys are, the fewer there may be
    for people in (6_856, 6_857):
        table = loaded(duckdb, card, [(person, str(person)) for person in range(people)])
        made = plan(f"SELECT COUNT(*) AS n FROM t GROUP BY {keys}", {"t": table})
        assert answer(made, price(made, "1e-6", "1e-30"), Silent()).num_rows == 0


def test_quantiles_are_of_the_groups_that_are_shown(duckdb: DuckDB) -> None:
    """There are so few that none is hidden for want of room, whatever others there are."""
    card = Card(
        "t", (PERSON, Column("s", Kind.TEXT), Column("x", Kind.INTEGER, bounds=(0, 9))), unit="person", rows_per_unit=1
    )
    alone = [(person, str(person), 9) for person in range(2_000, 9_000)]
    table = loaded(duckdb, card, [*((person, "many", 3) for person in range(1_000)), *alone])
    made = plan("SELECT s, MEDIAN(x) AS m, COUNT(*) AS n FROM t GROUP BY s", {"t": table})
    found = answer(made, price(made, 3, "1e-9"), Silent())
    assert found.select(["s", "m"]).to_pylist() == [{"s": "many", "m": 3.0}]
    assert abs(found.column("n")[0].as_py() - 1_000) < 100


def test_a_group_that_is_too_large_for_the_quick_way_has_the_same_answer(
    duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups before it may have had their noise already: it is drawn again."""
    columns = (PERSON, Column("s", Kind.TEXT), Column("x", Kind.REAL, bounds=(0.0, 1.0)))
    card = Card("t", columns, unit="person", rows_per_unit=1)
    rows = [
        *((person, "many", 0.5) for person in range(2_000)),
        *((person, "few", 1.0) for person in range(2_000, 2_500)),
    ]
    table = loaded(duckdb, card, rows)
    text = "SELECT s, SUM(x) AS n FROM t GROUP BY s"
    bound = next(one.most for one in plan(text, {"t": table}).measures.values() if one.large is not None)
    monkeypatch.setattr(measures, "_EXACT", 1_000 * bound)
    made = plan(text, {"t": table})
    assert duckdb.fetch(made.query).column("m1").null_count == 1
    found = answer(made, price(made, 10, "1e-6"))
    assert found.column("s").to_pylist() == ["few", "many"]
    assert found.column("n").to_pylist() == pytest.approx([500, 1_000], abs=20)


@pytest.mark.parametrize("hidden", [0, 40_000])
def test_how_an_answer_is_held_tells_nothing_of_groups_that_are_not_shown(duckdb: DuckDB, hidden: int) -> None:
    card = Card("t", (PERSON, Column("s", Kind.TEXT)), unit="person", rows_per_unit=1)
    alone = [(10_000 + person, str(person)) for person in range(hidden)]
    table = loaded(duckdb, card, [*((person, f"many {person % 3}") for person in range(3_000)), *alone])
    made = plan("SELECT s, COUNT(*) AS n FROM t GROUP BY s", {"t": table})
    found = answer(made, price(made, 1, "1e-9"))
    assert [one.num_chunks for one in found.columns] == [1, 1, 1]
    assert found.get_total_buffer_size() < 200 and found.schema.metadata is None


# -- attempts that never worked

OWN = {  # who goes, and who stays: some of them look alike
    Kind.INTEGER: (0, [1, -1, 2**63 - 1, -(2**63)]),
    Kind.TEXT: ("a", ["A", "a ", "", "ﬀ", "ff", "e\u0301", "é", "\x00"]),
    Kind.REAL: (0.0, [5e-324, -5e-324, float("inf"), -float("inf"), 1e308]),
    Kind.DECIMAL: (Decimal("0.00"), [Decimal("0.01"), Decimal("-0.01"), Decimal(10) ** 35]),
    Kind.DATE: (dt.date(1, 1, 1), [dt.date(9999, 12, 31), dt.date(1970, 1, 1)]),
    Kind.BOOLEAN: (False, [True]),
}
SHAPES = [
    "COUNT(DISTINCT u) AS n, COUNT(*) AS m FROM t",
    "s, COUNT(DISTINCT u) AS n FROM t GROUP BY s",
    "w, COUNT(*) AS n FROM t GROUP BY w",
    "-x AS k, MEDIAN(x) AS n FROM t GROUP BY -x",
    "at, SUM(x) AS n FROM t GROUP BY at",
    "SUM(n) AS n FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u HAVING MAX(x) > 0)",
    "SUM(n) AS n FROM (SELECT u, s, COUNT(DISTINCT w) AS n FROM t GROUP BY u, s)",
    "k, COUNT(*) AS n FROM (SELECT u, COUNT(*) AS k FROM (SELECT DISTINCT u, w FROM t) GROUP BY u) GROUP BY k",
    "COUNT(*) AS n FROM (SELECT DISTINCT u, -x AS x FROM t)",
    "COUNT(*) AS n FROM (SELECT u, x FROM t UNION ALL SELECT u, x FROM t UNION ALL SELECT u, x FROM t)",
    "SUM(l.x) AS n FROM t AS l LEFT JOIN t AS r ON l.u = r.u AND l.s = r.s",
    "COUNT(*) AS n FROM t LEFT JOIN p ON s = name",
    "COUNT(*) AS n FROM (SELECT u, s FROM t UNION ALL SELECT u, s FROM t) JOIN p ON s = name",
    "name, COUNT(*) AS n FROM t JOIN p ON s = name GROUP BY name",
    "COUNT(*) FILTER (WHERE s = 'it''s \\''' OR s LIKE '%''; --%') AS n FROM t",
    "WIDTH_BUCKET(w, 0, 1, 4) AS k, COUNT(*) AS n FROM t GROUP BY k",
    "SUM(x) FILTER (WHERE w IS NULL) AS n, CORR(x, CASE WHEN w > 0 THEN 1 ELSE 0 END) AS c FROM t",
]


COLUMNS = (
    Column("s", Kind.TEXT),
    Column("w", Kind.REAL),
    Column("x", Kind.REAL, bounds=(-1.0, 3.0)),
    Column("at", Kind.TIMESTAMP),
)
TEXTS = ("Oslo", "oslo", "it's \\'", "'; --", "", None)
REALS = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 0.5, None)
MOMENTS = (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None)
VALUES = [(TEXTS[i % 6], REALS[i % 7], REALS[-i % 7], MOMENTS[i % 3]) for i in range(42)]


@pytest.fixture(scope="module")
def hostile(duckdb: DuckDB) -> dict[Kind | None, Neighbours]:
    """By the kind of the unit, a table of hostile values with and without somebody; by ``None``, without a unit."""
    public = loaded_public(duckdb, [("Oslo", 1), ("Oslo", 2), ("oslo", 3), ("", 4), (None, 5)])
    found: dict[Kind | None, Neighbours] = {}
    for kind, (own, others) in OWN.items():
        card = Card("t", (Column("u", kind), *COLUMNS), unit="u", rows_per_unit=3, groups_per_unit=2)
        rows = [(own, *some) for some in VALUES] + [(other, *some) for other in others for some in VALUES[::5]]
        sides = ([row for row in rows if there or row[0] != own] for there in (True, False))
        found[kind] = Neighbours(*({"t": loaded(duckdb, card, some), "p": public} for some in sides))
    alone = Card("t", COLUMNS)
    found[None] = Neighbours(*({"t": loaded(duckdb, alone, some), "p": public} for some in (VALUES, VALUES[1:])))
    return found


def loaded_public(duckdb: DuckDB, rows: Sequence[Row]) -> Table:
    card = Card("p", (Column("name", Kind.TEXT), Column("n", Kind.INTEGER)), public=True)
    return loaded(duckdb, card, rows)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_kind_of_unit_moves_a_measure_further(hostile: dict[Kind | None, Neighbours], shape: str) -> None:
    accepted = 0
    for both in hostile.values():
        if plans := planned(f"SELECT {shape}", both):
            accepted += require_bounded(shape, plans) is not None
    assert accepted, "no kind of unit can be asked this"


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_measured_of_all_is_the_sum_of_what_is_measured_of_each_half(duckdb: DuckDB, shape: str) -> None:
    """So nobody's row changes what another's is counted as, whatever is asked."""
    columns = (Column("u", Kind.INTEGER), *COLUMNS)
    card = Card("t", columns, unit="u", rows_per_unit=3, groups_per_unit=2)
    rows = [(i % 9, *VALUES[i % 42]) for i in range(200)]
    public = loaded_public(duckdb, [("Oslo", 1), ("Oslo", 2), ("oslo", 3)])
    whole, *halves = (
        sums(plan(f"SELECT {shape}", {"t": loaded(duckdb, card, [row for row in rows if row[0] in some]), "p": public}))
        for some in (range(9), range(4), range(4, 9))
    )
    both = {key: halves[0].get(key, 0) + halves[1].get(key, 0) for key in halves[0].keys() | halves[1].keys()}
    assert whole == {key: figure for key, figure in both.items() if figure}


def sums(made: Plan) -> dict[Any, int]:
    """What was measured, by measure and group, where it is not 0."""
    found = measured(made.parts[0])
    counted: dict[Any, int] = {}
    for name, figures in found.figures.items():
        counted |= {(name, repr(group)): n for group, n in zip(found.groups, figures.tolist(), strict=True)}
    for name, groups in found.sliced.items():
        for group, slices in groups.items():
            counted |= {(name, repr(group), at): n for at, n in enumerate(slices.tolist())}
    return {key: n for key, n in counted.items() if n}

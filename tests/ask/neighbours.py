"""Random cards, tables, questions, and neighbouring tables: one unit's rows taken out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

from hypothesis import strategies as st

from discreet.core.card import Card, Column
from discreet.core.kind import Kind

Row = tuple[object, ...]
CITIES = ("Oslo", "Rome", "it's")


@dataclass(frozen=True)
class Pair:
    """A bounded table, as rows, with and without one unit, and a question about it and perhaps about others."""

    card: Card
    rows: tuple[Row, ...]
    text: str
    others: tuple[tuple[Card, tuple[Row, ...]], ...] = ()

    @property
    def tables(self) -> list[tuple[Card, tuple[Row, ...], tuple[Row, ...]]]:
        """Every table, with and without the first row's unit: all its rows go, in all tables about people."""
        gone = self.rows[0][0]
        both = []
        for card, rows in ((self.card, self.rows), *self.others):
            if card.public:
                left = rows
            elif card.unit is None:
                left = rows[1:] if card is self.card else rows
            else:
                left = tuple(row for row in rows if row[0] != gone or self.card.unit is None)
            both.append((card, rows, left))
        return both


_whole_bounds = st.sampled_from([(0, 1), (0, 120), (-3, 4), (-51, 50), (7, 8), (2**31, 2**31 + 9), (-(2**60), 2**60)])
_real_bounds = st.sampled_from(
    [
        (0.0, 1.0),
        (-1.0, 1.0),
        (0.1, 0.3),
        (-7.25, 1e6),
        (1e9, 1000000000.0000001),
        (1e-3, 5e-3),
        (-1e15, 1e15),
        (1.0, 2.0),
    ]
)
_decimal_bounds = st.sampled_from([("-10", "10"), ("0.01", "0.03"), ("1000000000000000", "1000000000000000.01")])


def _whole(low: int, high: int) -> st.SearchStrategy[int]:
    return st.sampled_from([low, high]) | st.integers(low, high)


def _real(low: float, high: float) -> st.SearchStrategy[float]:
    near = [x for x in (low, high, (low + high) / 2, 0.0, 5e-324, 1e-200, 1e-9) if low <= x <= high]
    return st.sampled_from(near) | st.floats(low, high)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """A pair; the first unit, which is taken out, has as many rows as it may, more often than not."""
    whole, real = draw(_whole_bounds), draw(_real_bounds)
    low, high = draw(_decimal_bounds)
    most = draw(st.integers(1, 3))
    unit = draw(st.booleans()) or most > 1
    required = draw(st.booleans())  # and missing all the same: no loss may hang on it
    card = Card(
        "t",
        (
            Column("u", Kind.INTEGER),
            Column("i", Kind.INTEGER, bounds=whole, required=required),
            Column("x", Kind.REAL, bounds=real, required=required),
            Column("d", Kind.DECIMAL, bounds=(Decimal(low), Decimal(high))),
            Column("c", Kind.TEXT, categories=CITIES),
            Column("g", Kind.INTEGER, categories=(1, 2, 50)),
            Column("b", Kind.BOOLEAN, categories=(False, True)),
            Column("s", Kind.TEXT),
        ),
        unit="u" if unit else None,
        rows_per_unit=most if unit else None,
    )
    missing = st.none()
    row = st.tuples(
        missing | _whole(*whole),
        missing | _real(*real),
        missing | st.integers(int(Decimal(low) * 100), int(Decimal(high) * 100)).map(lambda n: Decimal(n).scaleb(-2)),
        missing | st.sampled_from(CITIES),
        missing | st.sampled_from((1, 2, 50)),
        missing | st.booleans(),
        missing | st.sampled_from(("", "a", "true", "1", "2001-01-01", "%")),
    )
    first = draw(st.lists(row, min_size=1, max_size=most))
    others = draw(st.lists(st.lists(row, min_size=1, max_size=most), max_size=3))
    rows = [(person, *values) for person, mine in enumerate([first, *others]) for values in mine]
    return Pair(card, tuple(rows), draw(questions()))


_numbers = st.sampled_from(["i", "x", "d", "g"]) | st.sampled_from(
    ["0", "1", "2", "-3", "0.5", "1e-9", "0.99999999999999984", "1000000"]
)
_texts = st.sampled_from(["c", "s", "'Oslo'", "'%'", "LOWER(s)", "c || s", "SUBSTRING(s, 1, 2)"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def call(shape: str, count: int) -> st.SearchStrategy[str]:
        return st.tuples(*[inner] * count).map(lambda parts: shape.format(*parts))

    return st.one_of(
        *(call(f"({{}} {operator} {{}})", 2) for operator in ("+", "-", "*")),
        call("({} / ({} + 2))", 2),
        call("({} / GREATEST({}, 1))", 2),
        *(call(f"{name}({{}})", 1) for name in ("ABS", "ROUND", "FLOOR", "CEIL", "-")),
        *(call(f"{name}({{}}, {{}})", 2) for name in ("LEAST", "GREATEST", "COALESCE")),
        call("CASE WHEN {} > {} THEN {} WHEN b THEN {} END", 4),
        call("(ROUND({}) % 7)", 1),
        call("WIDTH_BUCKET({}, 0, 10, 4)", 1),
    )


values = st.recursive(_numbers, _combined, max_leaves=3)


@st.composite
def _condition(draw: st.DrawFn) -> str:
    shapes = [
        lambda: f"{draw(values)} {draw(st.sampled_from(['<', '>=', '=', '<>']))} {draw(values)}",
        lambda: f"({draw(_texts)} = {draw(_texts)}) = (b OR {draw(values)} > 1)",
        lambda: f"{draw(_texts)} LIKE '%a%' OR NOT b",
        lambda: f"{draw(values)} IN (1, 0.5, 2)",
        lambda: f"({draw(values)} > 1) IS NULL",
        lambda: f"{draw(values)} BETWEEN 0 AND {draw(values)}",
    ]
    return draw(st.sampled_from(shapes))()


_aggregates = st.one_of(
    st.just("COUNT(*)"),
    st.just("COUNT(DISTINCT u)"),
    st.tuples(st.sampled_from(["c", "g", "s", "i", "x", "b"]), st.sampled_from(["", " FILTER (WHERE b)"])).map(
        lambda pair: f"COUNT(DISTINCT {pair[0]}){pair[1]}"
    ),
    st.tuples(st.sampled_from(["COUNT", "SUM", "AVG", "VARIANCE"]), values).map(lambda pair: f"{pair[0]}({pair[1]})"),
    st.tuples(values, values).map(lambda pair: f"COVAR_POP({pair[0]}, {pair[1]})"),
    st.tuples(values, _condition()).map(lambda pair: f"SUM({pair[0]}) FILTER (WHERE {pair[1]})"),
)
_keys = st.sampled_from(
    ["c", "g", "b", "s", "x", "d", "i > 3", "COALESCE(c, s)", "CASE WHEN b THEN 'y' ELSE c END", "LENGTH(s)"]
)


@st.composite
def questions(draw: st.DrawFn) -> str:
    """A question about the table ``t``. Most can be asked."""
    keys = draw(st.lists(_keys, max_size=2, unique=True))
    figures = draw(st.lists(_aggregates, min_size=1, max_size=2))
    source = "t"
    if draw(st.integers(0, 4)) == 0:
        swapped = "u, i AS x, x AS i, d, c, g, b, s"
        source = f"(SELECT {swapped} FROM t WHERE {draw(_condition())})"
    shown = [f"{one} AS a{place}" for place, one in enumerate([*keys, *figures])]
    text = f"SELECT {', '.join(shown)} FROM {source}"
    if draw(st.booleans()):
        text += f" WHERE {draw(_condition())}"
    if keys:
        text += f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}"
    return text


_COPIES = "u, i, x, d, c, g, b, s"
SOURCES = (
    "t JOIN p ON c = pc",
    "t LEFT JOIN p ON g = pg",
    "p JOIN t ON pg = g AND pc = c",
    "t JOIN p ON COALESCE(c, 'none') = COALESCE(pc, 'none')",
    "t JOIN q USING (u)",
    "t LEFT JOIN q ON q.u = t.u AND c = qc",
    "q JOIN t USING (u)",
    "q LEFT JOIN t ON t.u = q.u JOIN p ON g = pg",
    "t JOIN (SELECT u, i AS qi FROM t WHERE b) AS again USING (u)",
    f"(SELECT {_COPIES} FROM t UNION ALL SELECT * FROM q)",
    f"(SELECT {_COPIES} FROM t UNION ALL SELECT u, qi, qx, qd, qc, pg, qb, qs FROM q JOIN p ON qc = pc)",
    f"(SELECT {_COPIES} FROM t UNION ALL SELECT u, g, x, d, c, i, b, s FROM t)",
    f"(SELECT DISTINCT {_COPIES} FROM t)",
    "(SELECT DISTINCT u, c, g, i, 0.5 AS x, d, b, s FROM t)",
    "(SELECT u, SUM(i) AS i, AVG(x) AS x, MAX(d) AS d, c, MIN(g) AS g, b, MAX(s) AS s FROM t GROUP BY u, c, b)",
    "(SELECT u, COUNT(*) AS i, SUM(x) AS x, MIN(d) AS d, MAX(c) AS c, COUNT(DISTINCT g) AS g, MAX(i) > 3 AS b, "
    "MIN(s) AS s FROM t GROUP BY u HAVING SUM(x) > 0.3 OR COUNT(*) > 1)",
    "(SELECT t.u, COUNT(qi) AS i, SUM(x * 0.1) AS x, AVG(d) AS d, c, 1 AS g, SUM(g) > 2 AS b, MAX(qs) AS s FROM t "
    "LEFT JOIN q ON q.u = t.u GROUP BY t.u, c)",
    f"(SELECT u, AVG(i) AS i, SUM(x) AS x, SUM(d) AS d, c, COUNT(*) AS g, TRUE AS b, s FROM (SELECT {_COPIES} "
    "FROM t UNION ALL SELECT * FROM q) GROUP BY 1, c, s)",
    "t FULL JOIN q ON t.u = q.u",
    "t FULL JOIN q ON t.u = q.u AND t.c = q.qc AND t.g = q.qg",
    "q RIGHT JOIN t USING (u)",
    "t LEFT JOIN q ON q.u = t.u AND i <= qi AND b AND qx BETWEEN x AND 9",
    "p JOIN t ON pc = c AND pg >= g",
    "(SELECT * FROM t WHERE u IN (SELECT u FROM q))",
    "(SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.u = t.u AND qc = c) OR u IN (SELECT u FROM t WHERE b))",
    "(SELECT * FROM t WHERE c IN (SELECT pc FROM p WHERE pg < 50) OR EXISTS (SELECT 1 FROM p WHERE pg = t.g))",
    "(SELECT u, i, x, d, c, g, b, LAG(s) OVER (PARTITION BY u ORDER BY i) AS s FROM t)",
    "(SELECT u, SUM(i) OVER (PARTITION BY u ORDER BY x DESC) AS i, AVG(x) OVER (PARTITION BY u, c) AS x, d, c, "
    "ROW_NUMBER() OVER (PARTITION BY u ORDER BY d) AS g, b, FIRST_VALUE(s) OVER (PARTITION BY u ORDER BY s) AS s "
    "FROM t)",
    "(SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY u ORDER BY x) = 1)",
    "(SELECT u, i, x, d, c, g, b, s FROM (SELECT *, RANK() OVER (PARTITION BY u ORDER BY c) AS k FROM t) WHERE k <= 1)",
)
"""What a question about several tables can be about: every shape there is."""


@st.composite
def several(draw: st.DrawFn) -> Pair:
    """A pair of several tables: ``t``, a second one about the same people, ``q``, and a public one, ``p``."""
    pair = draw(pairs())
    unit = Card(
        "q",
        (Column("u", Kind.INTEGER), *(replace(column, name=f"q{column.name}") for column in pair.card.columns[1:])),
        unit="u",
        rows_per_unit=draw(st.integers(1, 2)),
    )
    mine = st.lists(st.sampled_from([row[1:] for row in pair.rows]), max_size=unit.rows_per_unit)
    rows = [(person, *values) for person in range(4) for values in draw(mine)]
    public = Card(
        "p",
        (
            Column("pc", Kind.TEXT, categories=CITIES),
            Column("pg", Kind.INTEGER, categories=(1, 2, 50)),
            Column("px", Kind.REAL, bounds=(-1.0, 7.0)),
        ),
        public=True,
    )
    place = st.tuples(
        st.none() | st.sampled_from(CITIES), st.none() | st.sampled_from((1, 2, 50)), st.sampled_from((-1.0, 0.1, 7.0))
    )
    card = pair.card
    if card.rows_per_unit:
        card = replace(card, groups_per_unit=draw(st.integers(1, card.rows_per_unit)))
    text = pair.text.replace("FROM t", f"FROM {draw(st.sampled_from(SOURCES))}", 1)
    return Pair(card, pair.rows, text, ((unit, tuple(rows)), (public, tuple(draw(st.lists(place, max_size=4))))))


def world(random: Random) -> Pair:
    """Few values, so that rows of several tables find each other; the first unit has as many rows as it may."""
    most = random.choice((2, 3))

    def row() -> Row:
        texts = random.choice(CITIES), random.choice((1, 2, 50)), random.choice((True, False)), random.choice("ab")
        return random.choice((-3, 4, 4)), random.choice((-1.0, 0.1, 1.0)), Decimal(random.choice((-10, 3, 10))), *texts

    def many(person: int, at_most: int) -> list[Row]:
        rows = at_most if person == 0 else random.randint(0, at_most)
        same = row()
        return [(person, *(same if random.random() < 0.7 else row())) for _ in range(rows)]

    bounds: tuple[tuple[str, Kind, tuple[object, object]], ...] = (
        ("i", Kind.INTEGER, (-3, 4)),
        ("x", Kind.REAL, (-1.0, 1.0)),
        ("d", Kind.DECIMAL, (Decimal(-10), Decimal(10))),
    )
    columns = (
        Column("u", Kind.INTEGER),
        *(Column(name, kind, bounds=ends) for name, kind, ends in bounds),  # type: ignore[arg-type]
        Column("c", Kind.TEXT, categories=CITIES),
        Column("g", Kind.INTEGER, categories=(1, 2, 50)),
        Column("b", Kind.BOOLEAN, categories=(False, True)),
        Column("s", Kind.TEXT),
    )
    t = Card("t", columns, unit="u", rows_per_unit=most, groups_per_unit=random.randint(1, most))
    named = (columns[0], *(replace(column, name=f"q{column.name}") for column in columns[1:]))
    q = Card("q", named, unit="u", rows_per_unit=2)
    p = Card("p", (replace(columns[4], name="pc"), replace(columns[5], name="pg")), public=True)
    own = [one for person in range(3) for one in many(person, most)]
    other = [one for person in (0, 2, 3) for one in many(person, 2)]
    other[0] = (0, *own[0][1:])
    places = [(own[0][4], own[0][5])] * random.randint(1, 2) + [(random.choice(CITIES), 50), (None, 2)]
    return Pair(t, tuple(own), "", ((q, tuple(other)), (p, tuple(places))))

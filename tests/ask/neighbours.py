"""Random cards, tables, questions, and neighbouring tables: one unit's rows taken out."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from discreet.core.card import Card, Column
from discreet.core.kind import Kind

Row = tuple[object, ...]
CITIES = ("Oslo", "Rome", "it's")


@dataclass(frozen=True)
class Pair:
    """A bounded table, as rows, with and without one unit, and a question about it."""

    card: Card
    rows: tuple[Row, ...]
    text: str

    @property
    def neighbour(self) -> tuple[Row, ...]:
        """The table without the first row's unit: its other rows go too."""
        if self.card.unit is None:
            return self.rows[1:]
        return tuple(row for row in self.rows if row[0] != self.rows[0][0])


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
    card = Card(
        "t",
        (
            Column("u", Kind.INTEGER),
            Column("i", Kind.INTEGER, bounds=whole),
            Column("x", Kind.REAL, bounds=real),
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

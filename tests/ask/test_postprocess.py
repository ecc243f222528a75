"""What is made of noisy figures never fails once they are paid for: whatever they are, there is a value or NULL."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.ask.test_plan import planned

from discreet.core.kind import Kind
from discreet.engines.limits import Limits, limited
from discreet.errors import EngineError
from discreet.verbs.ask.postprocess import ERROR, NOISY, Association, Count, Mean, Spread, Total, work_out

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
        assert work_out(made.after, {NOISY: pa.table(turned)}).num_rows <= 3


# -- figures of noisy measures, worked out by hand


def numbers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.int64)


HALF = Fraction(1, 2)
MEAN = Mean("t", HALF, "n", Fraction(50), (Fraction(0), Fraction(100)), exp.column("x"), rounded=True)


def test_what_is_made_of_figures_has_the_time_of_its_question() -> None:
    """A long expression that overflows in each of a hundred thousand groups took minutes."""
    nodes = ", ".join(f"COUNT(*) + {place}" for place in range(60))
    after = planned(f"SELECT LEAST({nodes}) * 9007199254740991 * 9007199254740991 AS n FROM visits").after
    names = {one.name for one in after.find_all(exp.Column)}
    noisy = pa.table({name: pa.array(range(2_000_000), pa.int64()) for name in names})
    with limited(Limits(seconds=0.05)), pytest.raises(EngineError, match="exceeded its time limit"):
        work_out(after, {NOISY: noisy})


def test_an_average_is_the_centre_and_the_mean_distance_within_the_bounds() -> None:
    noisy = {"t": numbers(40, 40, -40, 1000, -1000, 7), "n": numbers(4, 0, -3, 1, 1, 2)}
    assert MEAN.worth(noisy).tolist() == [55, 70, 30, 100, 0, 51.75]
    assert MEAN.apart(noisy).tolist() == [5, 20, -20, 50, -50, 1.75]
    assert MEAN.people(noisy).tolist() == [4, 1, 1, 1, 1, 2]
    assert MEAN.reach == (-50, 50)
    assert MEAN.made_of == {"t", "n"}


def test_the_error_of_an_average_counts_with_the_fewest_rows_there_may_be() -> None:
    noisy, off = {"t": numbers(40, 40, 40, -40, 400), "n": numbers(10, 5, 4, 10, 10)}, {"t": 6, "n": 4}
    # (6 / 2 + |mean distance| · 4) / (n - 4), and half a step for rounding; with no row left, all of the bounds
    assert MEAN.error(noisy, off).tolist() == pytest.approx([11 / 6 + 0.5, 19.5, 100, 11 / 6 + 0.5, 83 / 6 + 0.5])
    exact = replace(MEAN, rounded=False)
    assert exact.error(noisy, off).tolist() == pytest.approx([11 / 6, 19, 100, 11 / 6, 83 / 6])
    assert exact.error({"t": numbers(4000), "n": numbers(10)}, off).tolist() == [100], "never more than the bounds"


def test_noises_of_a_sum_and_a_count_add_up_as_squares_and_bounds_as_they_are() -> None:
    noisy, off, spreads = {"t": numbers(400, 400, 7), "n": numbers(100, 40, 2)}, {"t": 6, "n": 4}, {"t": 6.0, "n": 4.0}
    exact = replace(MEAN, rounded=False)
    together, apart = exact.error(noisy, off, spreads), exact.error(noisy, off)
    for far, distance, people in zip(together.tolist()[:2], (2, 5), (100, 40), strict=True):
        assert far * people == pytest.approx(np.hypot(3, (distance + far) * 4))
    assert together[2] == 100, "of two rows, give or take four, nothing is known"
    assert (together[:2] < apart[:2]).all()


def test_a_figure_that_bends_where_noise_may_take_it_has_no_error() -> None:
    squares = Total("q", Fraction(1))
    noisy = {"t": numbers(40, 40, 0), "n": numbers(4000, 4, 4000), "q": numbers(4_000_000, 120, 0)}
    spreads = {"t": 20.0, "n": 3.0, "q": 400.0}
    far = Spread(MEAN, squares, sample=False, root=False).error(noisy, {}, spreads)
    assert far is not None
    assert far[0] == pytest.approx(np.hypot(400 / 4000, 3 * 1000 / 4000), rel=0.01)
    assert np.isnan(far[1:]).all(), "few rows; and no spread, of which there is none less"


def test_counts_and_sums_have_the_errors_of_their_noise() -> None:
    noisy, off = {"m": numbers(7, -3)}, {"m": 5}
    assert Count("m").worth(noisy).tolist() == [7, -3]
    assert Count("m").error(noisy, off).tolist() == [5, 5]
    total = Total("m", HALF, Fraction(10))
    assert total.worth(noisy).tolist() == [3.5, -1.5]
    assert total.error(noisy, off).tolist() == [2.5, 2.5]
    assert total.mean(noisy, numbers(1, 2)).tolist() == [13.5, 9.25]
    assert Count("m").made_of == total.made_of == {"m"}


def test_a_spread_is_the_mean_square_less_the_square_of_the_mean() -> None:
    noisy = {"t": numbers(40, 40, 40), "n": numbers(4, 1, 4), "q": numbers(120, 1200, 1)}
    squares = Total("q", Fraction(1))  # mean squares of 30, 1200 and 1/4; mean distances of 5, 20 and 5
    for sample, root, expected in (
        (False, False, [5, 800, 0]),
        (True, False, [5 * 4 / 3, 800, 0]),
        (False, True, [5**0.5, 800**0.5, 0]),
    ):
        figure = Spread(MEAN, squares, sample, root)
        assert figure.worth(noisy).tolist() == pytest.approx(expected)
        assert figure.error(noisy, {}) is None
        assert figure.made_of == {"t", "n", "q"}


def test_an_association_is_the_mean_product_less_the_product_of_means() -> None:
    other = replace(MEAN, total="u")
    noisy = {"t": numbers(40, 40), "u": numbers(16, -16), "n": numbers(4, 4), "p": numbers(60, -60)}
    noisy |= {"a": numbers(116, 100), "b": numbers(52, 16)}  # variances 4 and 9; none and none
    products = Total("p", Fraction(1))
    covariance = Association(MEAN, other, products, (), False)
    assert covariance.worth(noisy).tolist() == pytest.approx([15 - 5 * 2, -15 + 5 * 2])
    assert replace(covariance, sample=True).worth(noisy).tolist() == pytest.approx([20 / 3, -20 / 3])
    assert covariance.made_of == {"t", "u", "n", "p"}
    both = (Total("a", Fraction(1)), Total("b", Fraction(1)))
    correlation = Association(MEAN, other, products, both, False)
    assert correlation.worth(noisy).tolist() == pytest.approx([5 / (2 * 3), 0]), "without a spread there is none"
    assert correlation.worth(noisy | {"p": numbers(600, -600)}).tolist() == [1, 0]
    assert correlation.worth(noisy | {"p": numbers(-600, 0)}).tolist()[0] == -1
    assert correlation.made_of == {"t", "u", "n", "p", "a", "b"}
    one = {"t": numbers(0), "u": numbers(0), "n": numbers(1), "p": numbers(6)}
    assert replace(covariance, sample=True).worth(one).tolist() == [6], "of one row there is no sample"

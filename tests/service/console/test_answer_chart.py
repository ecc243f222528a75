"""The chart that fits an answer: which one it is, that errors are always in it, and what it says in words."""

import datetime as dt

import pyarrow as pa
import pytest

from discreet.service.console.answer_chart import BARS, drawing, figures
from discreet.service.console.answer_view import relative_error

MONTHS = [dt.date(2024, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 3, 1)]


def answer(**columns):
    return pa.table(columns)


def counted(**keys):
    """An answer with these keys, whose figure n is 10, 20, 30 … and may be off by 4."""
    rows = len(next(iter(keys.values())))
    return answer(**keys, n=[10 * place for place in range(1, rows + 1)], n_error=[4] * rows)


def series(drawn, kind):
    return [one for one in drawn.options["series"] if one["type"] == kind]


def test_figures_are_the_columns_with_an_error_bar():
    table = answer(sex=["F"], n=[1], n_error=[2.0], other_error=[1.0])
    assert figures(table) == {"n": "n_error"}


def test_texts_are_bars_with_error_bars():
    drawn = drawing(counted(sex=["F", "M"]), "n", mark=" (synthetic)")
    assert drawn.kind == "bars"
    assert drawn.options["yAxis"]["data"] == ["F", "M"]
    assert [one["value"] for one in series(drawn, "bar")[0]["data"]] == [10, 20]
    assert [one["value"] for one in series(drawn, "boxplot")[0]["data"]] == [[6, 10, 10, 10, 14], [16, 20, 20, 20, 24]]
    assert series(drawn, "bar")[0]["data"][0]["name"] == "F: 10 ± 4"
    assert drawn.label == "n (synthetic) by sex, with 95 % error bars"
    assert drawn.notes == ()


def test_of_many_bars_the_largest_are_drawn_in_their_order():
    rows = BARS + 5
    drawn = drawing(counted(ward=[f"w{place}" for place in range(rows)]), "n")
    assert drawn.options["yAxis"]["data"] == [f"w{place}" for place in range(5, rows)]
    assert drawn.notes == (f"The {BARS} largest of {rows} groups are drawn; the table has all.",)


def test_dates_are_a_line_in_order_with_a_band():
    drawn = drawing(counted(month=MONTHS[::-1]), "n")
    assert drawn.kind == "line"
    assert drawn.options["xAxis"]["data"] == ["2024-01", "2024-02", "2024-03"]
    low, reach, line = series(drawn, "line")
    assert low["data"] == [26, 16, 6]
    assert reach["data"] == [8, 8, 8]
    assert "areaStyle" in reach
    assert low["stack"] == reach["stack"]
    assert [one["value"] for one in line["data"]] == [30, 20, 10]
    assert drawn.notes == ("The band is the 95 % error of each point.",)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("SELECT EXTRACT(YEAR FROM born) AS year, COUNT(*) AS n FROM p GROUP BY EXTRACT(YEAR FROM born)", "line"),
        ("SELECT YEAR(born) AS year, COUNT(*) AS n FROM p GROUP BY year", "line"),
        ("SELECT (WIDTH_BUCKET(x, 0, 9, 3) - 1) * 3 AS year FROM p GROUP BY WIDTH_BUCKET(x, 0, 9, 3)", "distribution"),
        ("SELECT year, COUNT(*) AS n FROM p GROUP BY year", "distribution"),
        ("this is not SQL (", "distribution"),
        ("", "distribution"),
    ],
)
def test_numbers_are_a_distribution_unless_they_are_parts_of_dates(question, kind):
    drawn = drawing(counted(year=[2003, 2001, 2002]), "n", question=question)
    assert drawn.kind == kind
    names = ["2001", "2002", "2003"] if kind == "line" else ["2,001", "2,002", "2,003"]
    assert drawn.options["xAxis"]["data"] == names


def test_two_groupings_are_a_heat_map_with_stated_errors():
    drawn = drawing(counted(sex=["F", "F", "F", "M", "M", "M"], month=MONTHS * 2), "n")
    assert drawn.kind == "heat map"
    assert drawn.options["xAxis"]["data"] == ["2024-01", "2024-02", "2024-03"]
    assert drawn.options["yAxis"]["data"] == ["F", "M"]
    cells = drawn.options["series"][0]["data"]
    assert [one["value"] for one in cells] == [[0, 0, 10], [1, 0, 20], [2, 0, 30], [0, 1, 40], [1, 1, 50], [2, 1, 60]]
    assert cells[4]["name"] == "2024-02 · M: 50 ± 4"
    shades = [one["itemStyle"]["opacity"] for one in cells]
    assert shades == sorted(shades)
    assert (shades[0], shades[-1]) == (0.06, 1)
    assert drawn.ends == ("10", "60")
    assert drawn.notes[0] == "Error of each figure, 95 times in 100: ± 4."
    assert drawn.notes[0] in drawn.label


def test_of_two_lists_the_longer_has_the_rows():
    drawn = drawing(counted(ward=["a", "b", "c"] * 2, sex=["F"] * 3 + ["M"] * 3), "n")
    assert drawn.options["yAxis"]["data"] == ["a", "b", "c"]


def test_unknown_errors_are_said():
    table = answer(sex=["F", "M"], middle=[3.0, 4.0], middle_error=pa.array([None, 1.0], pa.float64()))
    drawn = drawing(table, "middle")
    assert drawn.notes == ("Where no error bar is drawn, the error is not known.",)
    assert series(drawn, "bar")[0]["data"][0]["name"] == "F: 3 ± unknown"
    assert series(drawn, "boxplot")[0]["data"][0]["value"] == []
    pairs = answer(a=["x", "y"], b=["u", "v"], middle=[1.0, 2.0], middle_error=pa.array([None, None], pa.float64()))
    assert drawing(pairs, "middle").notes[0] == "The errors of these figures are not known."


def test_a_missing_value_is_a_group_of_its_own():
    assert drawing(counted(zip=["1", None]), "n").options["yAxis"]["data"] == ["1", "no value"]


@pytest.mark.parametrize(
    "table",
    [
        answer(n=[1], n_error=[2]),
        counted(sex=["F"]),
        counted(a=["x", "y"], b=["x", "y"], c=["x", "y"]),
        counted(a=[f"{one}" for one in range(200)], b=[f"{one}" for one in range(200)]),
        answer(sex=["F", "M"], n=pa.array([None, None], pa.int64()), n_error=pa.array([None, None], pa.int64())),
    ],
)
def test_what_no_chart_fits_has_none(table):
    assert drawing(table, "n") is None


@pytest.mark.parametrize(
    ("value", "off", "said"),
    [
        (100, 18, "18 %"),
        (-100, 17.2, "18 %"),
        (1000, 4, "0.4 %"),
        (1000, 99.1, "10.0 %"),
        (1_000_000, 4, "0.1 %"),
        (10, 10, "100 %"),
        (3, 4.5, "over 100 %"),
        (0, 4, ""),
        ("F", 4, ""),
    ],
)
def test_an_error_is_told_as_a_share_of_its_figure(value, off, said):
    assert relative_error(value, off) == said

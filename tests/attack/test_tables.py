"""Files that agree with published tables, beside all files there are."""

import itertools
from statistics import mean, median

import pytest

from discreet.errors import BadInput, DataError
from discreet.samples.cases import block7, block7_lines
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.tables import Published, rebuild

EVEN = range(0, 90, 2)


def test_the_block_of_seven_people_is_rebuilt():
    """The fictional block of Garfinkel, Abowd and Martindale (2018): small counts are left out, and do not help."""
    columns = {"age": EVEN, "sex": "FM", "race": "BW", "married": "SM"}
    block = block7()
    people = [tuple(row.values()) for row in block.fetch().to_pylist()]
    lines = [Published(**line) for line in block7_lines(EVEN)]
    found = rebuild(columns, lines, known=block)
    assert found.unique and found.complete and found.solutions == 1
    assert sorted(found.people) == sorted(found.determined) == people
    assert found.finding.outcome is Outcome.BROKE
    assert found.finding.figure == 1.0
    assert found.finding.victims == (0, 1, 2, 3, 4)


def by_hand(columns, size, agrees):
    """Every file of ``size`` people, and those who are in all that agree."""
    kinds = list(itertools.product(*columns.values()))
    files = [file for file in itertools.combinations_with_replacement(kinds, size) if agrees(file)]
    common = [min((file.count(kind) for file in files), default=0) for kind in kinds]
    return len(files), sorted(kind for kind, count in zip(kinds, common, strict=True) for _ in range(count))


@pytest.mark.parametrize("average", ["2.0", "2.5", "3", "0.8", "5.0"])
def test_all_files_are_found_and_who_is_in_all_of_them(average):
    columns = {"x": range(6), "sex": "FM"}
    low, high = (float(average) + side * 0.5 * 10 ** -len(average.partition(".")[2]) for side in (-1, 1))

    def agrees(file):
        women = [x for x, sex in file if sex == "F"]
        if len(women) != 2 or median(women) != 1.5 or median(x for x, _ in file) != 2:
            return False
        return low <= mean(x for x, _ in file) <= high

    lines = [
        Published({}, 4, {"x": average}, {"x": "2"}),
        Published({"sex": "F"}, 2, medians={"x": "1.5"}),
    ]
    solutions, common = by_hand(columns, 4, agrees)
    if not solutions:
        with pytest.raises(DataError):
            rebuild(columns, lines)
        return
    found = rebuild(columns, lines)
    assert (found.solutions, found.complete) == (solutions, True)
    assert sorted(found.determined) == common
    assert found.unique == (solutions == 1)
    assert agrees(found.people)


def test_equal_people_are_counted_as_many():
    columns = {"x": range(3), "sex": "FM"}
    lines = [Published({}, 3), Published({"x": [1]}, (2, 3)), Published({"sex": "F"}, (2, 3))]

    def agrees(file):
        return sum(x == 1 for x, _ in file) >= 2 and sum(sex == "F" for _, sex in file) >= 2

    solutions, common = by_hand(columns, 3, agrees)
    found = rebuild(columns, lines)
    assert (found.solutions, sorted(found.determined)) == (solutions, common)
    assert common == [(1, "F")]


def test_counting_stops_and_says_so_but_who_is_determined_is_exact():
    columns = {"x": range(20)}
    found = rebuild(columns, [Published({}, 3), Published({"x": [7]}, (1, 3))], most=4)
    assert (found.solutions, found.complete) == (4, False)
    assert found.determined == ((7,),)
    assert found.finding.figure == pytest.approx(1 / 3)


def test_totals_alone_determine_nobody():
    found = rebuild({"x": range(20)}, [Published({}, 3)], most=2)
    assert found.determined == ()
    assert found.finding.outcome is Outcome.NOTHING


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "total number of people"),
        ([Published({"x": [1]}, 2)], "total number of people"),
        ([Published({}, 2), Published({"y": [1]}, 2)], "not a column"),
        ([Published({}, 2), Published({"x": [1]}, None, {"x": "1"})], "needs the count"),
        ([Published({}, 2, {"x": "one"})], "not a printed number"),
        ([Published({}, 2, {"x": "NaN"})], "finite"),
        ([Published({}, 2, {"s": "1"})], "whole numbers"),
        ([Published({}, 2, medians={"x": "0.25"})], "median"),
        ([Published({}, 2), Published({"x": [1]}, 3)], "No microdata"),
    ],
)
def test_what_cannot_be_is_said(lines, why):
    with pytest.raises(BadInput, match=why):
        rebuild({"x": range(4), "s": "ab"}, lines)


def test_too_many_kinds_are_refused():
    with pytest.raises(BadInput, match="kinds"):
        rebuild({name: range(100) for name in "abc"}, [Published({}, 2)])

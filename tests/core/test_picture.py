"""Small charts as SVG: well formed, to scale, readable aloud."""

from xml.etree import ElementTree

import pytest

from discreet.core.report import Axis, bars, beside, curves, stacked
from discreet.errors import BadInput

SVG = "{http://www.w3.org/2000/svg}"
X, Y = Axis("x <&>", (0.0, 5.0, 10.0)), Axis("y", (1.0, 10.0, 100.0), log=True)


def parsed(picture):
    return ElementTree.fromstring(picture.svg)  # noqa: S314


def points(picture):
    """The points of each line, as they are drawn."""
    return [
        [tuple(map(float, pair.split(","))) for pair in one.get("points").split()]
        for one in parsed(picture).iter(f"{SVG}polyline")
    ]


def test_lines_are_to_scale_on_both_kinds_of_axis():
    (line,) = points(curves("t", X, Y, {"a": [(0, 1), (5, 10), (10, 100)]}))
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11) and x2 > x0
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.11) and y0 > y2, "up is more"


def test_what_lies_beyond_the_marks_is_shown_at_the_edge():
    (line,) = points(curves("t", X, Y, {"a": [(-5, 0.01), (20, 1e9)]}))
    (inside,) = points(curves("t", X, Y, {"a": [(0, 1), (10, 100)]}))
    assert line == inside


def test_lines_differ_without_colour_and_names_are_written():
    made = curves("t <1>", X, Y, {"a&b": [(0, 1), (1, 2)], "c": [(0, 2), (1, 3)]}, dots={"here": (5, 10)})
    root = parsed(made)
    assert {one.get("class") for one in root.iter(f"{SVG}polyline")} == {"line line0", "line line1"}
    assert "stroke-dasharray" in root.find(f"{SVG}style").text
    words = {one.text for one in root.iter(f"{SVG}text")}
    assert {"a&b", "c", "here", "x <&>", "y"} <= words
    assert root.find(f"{SVG}title").text == "t <1>"
    assert "a&b: 1 at 0 to 2 at 1" in root.find(f"{SVG}desc").text
    assert len(list(root.iter(f"{SVG}circle"))) == 1


def test_bars_beside_each_other_differ_in_colour_and_their_names_are_not_cut():
    name = "a name that is much longer than the room beside a bar"
    made = beside("t", [name, "b"], {"found": [50.0, 0.0], "guessing": [25.0, 5.0]})
    root = parsed(made)
    words = [one.text for one in root.iter(f"{SVG}text")]
    assert words == ["found", "guessing", name, "50", "25", "b", "0", "5"]
    drawn = [(one.get("class"), float(one.get("width"))) for one in root.iter(f"{SVG}rect")]
    assert [kind for kind, _ in drawn] == ["bar bar0", "bar bar1"] * 3
    widths = [width for _, width in drawn][2:]
    assert widths == pytest.approx([widths[0], widths[0] / 2, 0, widths[0] / 10], abs=0.1)
    assert ".bar1{fill:" in root.find(f"{SVG}style").text
    assert f"{name}: found 50, guessing 25; b: found 0, guessing 5" == root.find(f"{SVG}desc").text
    for labels, series in (([], {"a": []}), (["a"], {}), (["a"], {"x": [1, 2]}), (["a"], {"x": [-1]})):
        with pytest.raises(BadInput):
            beside("t", labels, series)


def test_pictures_can_be_stacked():
    one, other = bars("one", ["a"], [1]), curves("other", X, Y, {"a": [(0, 1), (1, 2)]})
    root = parsed(stacked("both", [one, other]))
    inside = root.findall(f"{SVG}svg")
    assert [one.find(f"{SVG}title").text for one in inside] == ["one", "other"]
    first, second = ((int(one.get("y")), int(one.get("height"))) for one in inside)
    assert sum(first) < second[0] and sum(second) <= int(root.get("height"))


@pytest.mark.parametrize(
    "lines",
    [{}, {"a": [(0, 1)]}, {"a": [(0, 1), (1, float("nan"))]}, {str(n): [(0, 1), (1, 2)] for n in range(4)}],
)
def test_what_cannot_be_drawn_is_an_error(lines):
    with pytest.raises(BadInput):
        curves("t", X, Y, lines)

"""The page a release is read on: complete, offline, and deaf to what data says; and its charts."""

from __future__ import annotations

import base64
import datetime as dt
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from discreet.core.loss import Pure
from discreet.core.release import Receipt, Release
from discreet.core.report import Axis, Picture, bars, curves, grouped_bars, listing, render, shortened, stacked
from discreet.core.statement import Claim, Evidence, Recipe, Secrecy, Statement
from discreet.errors import BadInput

EVIL = '"><script>alert(1)</script><img src=x onerror="alert(2)">&'
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """The tags and addresses of a page, and whether every tag is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def evil() -> Release[pa.Table]:
    """A release in which everything that can be text is an attack."""
    return Release(
        pa.table({EVIL: [EVIL, None]}),
        Statement(EVIL, Pure(1), (Claim(EVIL, EVIL),), assumes=(EVIL,), caveats=(EVIL,)),
        Recipe(EVIL, {EVIL: [EVIL]}, (EVIL,), versions={EVIL: EVIL}),
        Receipt(EVIL, EVIL, Pure(1), 1, EVIL, dt.datetime(2025, 1, 1, tzinfo=dt.UTC)),
        (bars(EVIL, [EVIL], [1], caption=EVIL), Picture(EVIL, EVIL, f"<svg>{EVIL}</svg>")),
        EVIL,
    )


@pytest.mark.parametrize("html", [render(evil()), evil()._repr_html_()], ids=["page", "notebook"])
def test_nothing_in_a_release_becomes_markup(html: str) -> None:
    page = Page(html)
    assert page.open == []
    assert "script" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert EVIL in page.text


@pytest.mark.parametrize("payload", [EVIL, [EVIL], {EVIL: {EVIL: (EVIL,)}}])
def test_payloads_that_are_no_tables_are_escaped_too(payload: object) -> None:
    page = Page(render(Release(payload, Statement("person"), Recipe("copy"))))
    assert page.open == []
    assert page.tags.isdisjoint({"script", "img"})
    assert EVIL in page.text


def test_the_page_asks_nobody_for_anything() -> None:
    page = Page(render(evil()))
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'; img-src data:") in page.attributes
    addresses = [value or "" for name, value in page.attributes if name in ("src", "href", "action", "data")]
    assert addresses
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    assert "url(" not in render(evil())
    assert "@import" not in render(evil())


@pytest.mark.parametrize(
    ("statement", "recipe", "badge"),
    [
        (Statement("person", Pure(1)), Recipe("noise"), "Differentially private, ε = 1"),
        (
            Statement("person", models=(Claim("k", "2-anonymous"),), evidence=Evidence.CHECKED),
            Recipe("recode"),
            "2-anonymous, checked",
        ),
        (
            Statement("person", models=(Claim("protection-intervals", "x" * 50),)),
            Recipe("x"),
            "Protection intervals, argued",
        ),
        (
            Statement("party", secrecy=Secrecy(("a", "b"), (("a",),)), evidence=Evidence.PROVED),
            Recipe("sum"),
            "Computed without sharing data",
        ),
        (Statement("person"), Recipe("copy"), "No privacy promise"),
        (Statement("person", models=(Claim("k", "2-anonymous"),)), Recipe("swap", seed=1), "Not private"),
        (Statement("person"), Recipe("swap", seed=0), "Not private"),
        (
            Statement("secret", models=(Claim("hidden", "one"),), of_holder=True),
            Recipe("hide"),
            "Secrets hidden; people are not protected",
        ),
    ],
)
def test_the_badge_says_what_may_be_said(statement: Statement, recipe: Recipe, badge: str) -> None:
    html = render(Release(1, statement, recipe))
    assert re.findall(r'<span class="badge \w+">([^<]+)</span>', html) == [badge]


def test_null_is_seen_and_is_not_the_word() -> None:
    html = render(Release(pa.table({"x": ["NULL", None, ""]}), Statement("person"), Recipe("copy")))
    assert html.count('<td class="text"><span class="null">NULL</span></td>') == 1
    assert html.count('<td class="text">NULL</td>') == 1


def test_a_large_table_is_shown_in_part_and_says_so() -> None:
    table = pa.table({f"c{index}": range(1000) for index in range(100)})
    html = render(Release(table, Statement("person"), Recipe("copy")))
    assert html.count("<tr>") == 11
    assert html.count("<th ") == 12
    assert "1,000 rows, 100 columns; the first 10 rows and 12 columns are shown." in html


def test_every_arrow_type_has_a_text() -> None:
    table = pa.table(
        {
            "nanoseconds": pa.array([1], pa.timestamp("ns")),
            "zone": pa.array([1], pa.timestamp("us", "UTC")),
            "duration": pa.array([1], pa.duration("us")),
            "bytes": [b"\xff"],
            "list": [[1, None]],
            "nothing": pa.nulls(1),
        }
    )
    html = render(Release(table, Statement("person"), Recipe("copy")))
    assert "1970-01-01 00:00:00.000000001" in html
    assert "[1, None]" in html


def test_the_page_holds_recipe_receipt_and_pictures() -> None:
    release = Release(
        {"mean": 3300},
        Statement("person", Pure(1)),
        Recipe("mean", {"bounds": (1000, 10000)}, ("clamp", "add noise")),
        Receipt("research", "q-1", Pure(1), 1234, "abc", dt.datetime(2025, 1, 1, tzinfo=dt.UTC)),
        (bars("Incomes", ["low", "high"], [8, 2], caption="Most are low."),),
    )
    text = Page(render(release)).text
    for part in (
        "1000, 10000",
        "clamp",
        "add noise",
        "research",
        "1,234",
        "Incomes",
        "Most are low.",
        "3300",
    ):
        assert part in text


def test_long_text_is_cut_where_it_says() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"


def test_bars_are_well_formed_and_read_aloud() -> None:
    picture = bars("Counts <1", ["a & b", "bell \x07", "half \ud800"], [3, -1.5, 0])
    assert base64.b64encode(picture.svg.encode()).decode() in picture.figure
    root = ElementTree.fromstring(picture.svg)  # noqa: S314  # our own text
    texts = {element.tag.split("}")[1]: element.text for element in root}
    assert texts["title"] == "Counts <1"
    assert texts["desc"] == "a & b: 3; bell \N{REPLACEMENT CHARACTER}: -1.5; half \N{REPLACEMENT CHARACTER}: 0"


def test_bars_are_as_long_as_their_values_and_stay_inside() -> None:
    root = ElementTree.fromstring(bars("x", ["a", "b", "c"], [10, 5, -5]).svg)  # noqa: S314
    rects = [element.attrib for element in root if element.tag.endswith("rect")]
    left, width = ([float(rect[name]) for rect in rects] for name in ("x", "width"))
    assert width[0] == pytest.approx(2 * width[1], abs=0.2)
    assert left[2] + width[2] == pytest.approx(left[0], abs=0.2)
    assert min(left) > 180
    assert max(left[index] + width[index] for index in range(3)) < 640


@pytest.mark.parametrize(
    ("labels", "values"), [([], []), (["a"], [1, 2]), (["a"], [float("nan")]), (["a"], [float("inf")])]
)
def test_bars_need_a_finite_value_a_label(labels: list[str], values: list[float]) -> None:
    with pytest.raises(BadInput, match="Bars need"):
        bars("x", labels, values)


def test_parameters_are_said_in_words_and_prose_is_not_cut() -> None:
    recipe = Recipe("noise", {"noise_variance": {"a_b": 1.0}, "smallest_class": 5})
    page = Page(Release(1, Statement("person"), recipe)._repr_html_())
    assert page.text.count("_") - page.text.count("a_b") == 0
    assert "variance of the noise" in page.text
    assert "a_b: 1" in page.text, "a column keeps its name"
    assert "smallest class" in page.text
    long = "word " * 100
    html = listing(["a", "b"], ["prose", "text"], [[long + EVIL, None], [None, long]])
    assert Page(html).text == f"ab{long}{EVIL}NULLNULL{shortened(long, 120)}"
    assert "script" not in Page(html).tags


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
    made = grouped_bars("t", [name, "b"], {"found": [50.0, 0.0], "guessing": [25.0, 5.0]})
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
            grouped_bars("t", labels, series)


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

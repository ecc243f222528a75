"""The page a release is read on: complete, offline, and deaf to what data says."""

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
from discreet.core.report import Picture, bars, listing, render, shortened
from discreet.core.statement import Claim, Recipe, Statement
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
        (Statement("person", Pure(1)), Recipe("noise"), "Privacy promised"),
        (Statement("person"), Recipe("copy"), "No promise"),
        (Statement("person", models=(Claim("k", "2-anonymous"),)), Recipe("swap", seed=1), "Not private"),
        (Statement("person"), Recipe("swap", seed=0), "Not private"),
        (
            Statement("secret", models=(Claim("hidden", "one"),), of_holder=True),
            Recipe("hide"),
            "Secrets hidden; nobody is protected",
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

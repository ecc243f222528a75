"""Sessions as pictures."""

from xml.etree import ElementTree

import pytest

from discreet.errors import BadInput
from discreet.verbs.combine.picture import draw_messages
from discreet.verbs.combine.transcript import TranscriptEntry

NORTH = ("north", "east", "south", "west")
SVG = "{http://www.w3.org/2000/svg}"


def ring(parties, kind="so far"):
    around = zip(parties, parties[1:] + parties[:1], strict=True)
    return [
        TranscriptEntry(number, of, (to,), kind, f"{number * 1000:,}", sealed=True, short=f"{number * 1000:,}")
        for number, (of, to) in enumerate(around, 1)
    ]


def tree(picture):
    return ElementTree.fromstring(picture.svg)  # noqa: S314  # our own


def paths(picture):
    return [one for one in tree(picture).iter(f"{SVG}path") if "marker-end" in one.attrib]


@pytest.mark.parametrize("count", [2, 3, 4, 7, 30])
def test_every_message_has_an_arrow_that_stays_inside_and_does_not_touch_names(count):
    parties = tuple(f"party{at}" for at in range(count))
    picture = draw_messages("A ring", parties, ring(parties))
    found = paths(picture)
    assert len(found) == count
    whole = tree(picture)
    _, _, width, high = map(float, whole.attrib["viewBox"].split())
    for path in found:
        places = [float(word) for word in path.attrib["d"].replace("M", " ").replace("Q", " ").split()]
        assert all(0 <= x <= width for x in places[::2])
        assert all(0 <= y <= high for y in places[1::2])


def test_what_is_told_to_all_is_dashed_and_has_its_number_once():
    told = TranscriptEntry(1, "north", NORTH[1:], "total", "1,000", short="1,000")
    picture = draw_messages("The end", NORTH, [told])
    assert [path.attrib["class"] for path in paths(picture)] == ["w t"] * 3
    assert picture.svg.count(">1,000<") == 1
    assert "north to east, south, west (total): 1,000" in picture.svg


def test_each_kind_is_a_step_and_too_many_are_not_drawn():
    lines = [one for step in range(30) for one in ring(NORTH, f"step {step}")]
    picture = draw_messages("Many", NORTH, lines, caption="So it was.")
    assert ">24. step 23<" in picture.svg
    assert "25. step" not in picture.svg
    assert picture.caption == "So it was. 6 further steps not drawn."
    assert len(picture.lines) == 120


def test_a_crowd_is_drawn_in_part_and_listed_in_full():
    crowd = tuple(f"p{at}" for at in range(40))
    pairs = [(of, to) for of in crowd for to in crowd if of != to]
    picture = draw_messages(
        "A crowd", crowd, [TranscriptEntry(at, *pair, "piece", "x", sealed=True) for at, pair in _ones(pairs)]
    )
    assert len(paths(picture)) == 600
    assert "first 600 arrows" in picture.caption
    assert len(picture.lines) == 40 * 39


def _ones(pairs):
    return enumerate(((of, (to,)) for of, to in pairs), 1)


def test_what_is_told_to_a_crowd_is_one_mark_a_party():
    crowd = tuple(f"p{at}" for at in range(16))
    told = [
        TranscriptEntry(at, of, tuple(one for one in crowd if one != of), "key", "x") for at, of in enumerate(crowd, 1)
    ]
    picture = draw_messages("A crowd", crowd, told)
    assert not paths(picture)
    assert len([one for one in tree(picture).iter(f"{SVG}circle") if one.attrib["class"] == "w t"]) == 16
    assert "1. public keys (a dashed ring: sent to all)" in picture.svg
    assert "first" not in picture.caption


def test_steps_are_named_in_plain_words():
    lines = [*ring(NORTH, "sum 1/so far 2"), *ring(NORTH, "sum 2/masked")]
    assert ">1. sum 1: the running sum, passed on (ring 2)<" in draw_messages("Two", NORTH, lines).svg
    assert ">1. the running sum, passed on (ring 2)<" in draw_messages("One", NORTH, lines[:4]).svg
    assert ">2. sum 2: masked values<" in draw_messages("Two", NORTH, lines).svg


def test_a_result_of_several_lines_stays_a_table_and_reprs_are_short():
    picture = draw_messages("A ring", NORTH, ring(NORTH), caption="x  y\n1  2")
    assert "<pre>x  y\n1  2</pre>" in picture._repr_html_()
    assert 'class="dcl"' in picture._repr_html_()
    assert repr(picture) == "<MessageDiagram: A ring, 4 messages>"


def test_names_and_values_cannot_break_the_picture():
    parties = ("<b>", 'a"quote&', "a-name-that-is-rather-long")
    picture = draw_messages("<i>", parties, ring(parties), values={"<b>": "<u>1"}, me="<b>")
    tree(picture)
    for tag in ("<b>", "<u>", "<i>"):
        assert tag not in picture.page
    assert "a-name-that…" in picture.svg
    assert 'class="p me"' in picture.svg


def test_only_parties_can_look():
    with pytest.raises(BadInput, match="nobody is not one of"):
        draw_messages("A ring", NORTH, ring(NORTH), me="nobody")


def test_the_page_opens_offline_and_the_text_lists_what_was_said():
    picture = draw_messages("A ring", NORTH, ring(NORTH), caption="Done.")
    assert picture.page.startswith("<!doctype html>")
    assert "http" not in picture.page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert str(picture).splitlines() == ["A ring", *map(str, ring(NORTH)), "Done."]
    assert draw_messages("Nothing", NORTH, []).svg.count("<rect") == 4

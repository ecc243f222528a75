"""Text becomes HTML and SVG by being escaped, and in no other way."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.markup import (
    Markup,
    Template,
    drawing,
    listed,
    markup,
    more,
    page,
    script_data,
    table,
    tag,
)

HOSTILE = "</p><script>alert('1')</script>\"&amp;"


class Read(HTMLParser):
    """What a browser sees: elements, their attributes, and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data):
        self.text += data


@given(st.text(), st.text())
def test_text_and_attributes_come_out_as_they_went_in(text, value):
    plain = "".join(c for c in text + value if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    read = Read(tag("p", plain, title=plain))
    assert read.tags == [("p", {"title": plain})]
    assert read.text == plain


@given(st.text())
def test_any_text_can_be_drawn(text):
    root = ElementTree.fromstring(drawing(10, 20, text, tag("text", text, x=1.25, class_=text), said=text))  # noqa: S314
    assert root.get("viewBox") == "0 0 10 20" and root.find("{*}text").get("x") == "1.2"


def test_only_markup_is_taken_as_it_is():
    assert markup(HOSTILE) == "&lt;/p&gt;&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&quot;&amp;amp;"
    assert markup(Markup("<b>"), "<b>", 3, None, "", [["<"], (one for one in ">")]) == "<b>&lt;b&gt;3&lt;&gt;"
    assert type(tag("p")) is type(markup()) is Markup
    joined = tag("b", "x") + "<i>"  # a plain text again: it is escaped, not trusted
    assert markup(joined) == "&lt;b&gt;x&lt;/b&gt;&lt;i&gt;"


def test_elements_are_written_as_html_wants_them():
    assert tag("input", type="text", value='"', hidden=True, disabled=False, id=None) == (
        '<input type="text" value="&quot;" hidden>'
    )
    assert (
        tag("line", x1=0, x2=1.25, text_anchor="end", class_="a")
        == '<line x1="0" x2="1.2" text-anchor="end" class="a"/>'
    )
    assert tag("i", style="width:3%") == '<i style="width:3%"></i>'
    assert tag("label", "a", for_="b") == '<label for="b">a</label>'


def test_tables_and_lists():
    made = table(("a", tag("th", "b", class_="n")), [("<1>", tag("td", 2)), tag("tr", tag("td", 3))], caption="c")
    assert made == (
        '<table><caption>c</caption><thead><tr><th scope="col">a</th><th class="n">b</th></tr></thead><tbody>'
        "<tr><td>&lt;1&gt;</td><td>2</td></tr><tr><td>3</td></tr></tbody></table>"
    )
    assert listed([]) == "" and listed("<", 1) == "<ul><li>&lt;</li></ul>"
    assert listed(["a", "b", "c"], 2) == "<ul><li>a</li><li>b</li></ul><p>and 1 more.</p>"
    assert more(2, 2) == "" and more(1_003, 2) == "<p>and 1,001 more.</p>"


def test_a_page_runs_nothing_and_shows_its_title_as_text():
    read = Read(page(HOSTILE, tag("p", "x"), sheet="p{}"))
    assert ("meta", {"http-equiv": "Content-Security-Policy"} | {"content": read.tags[3][1]["content"]}) == read.tags[3]
    assert read.tags[3][1]["content"].startswith("default-src 'none'")
    assert "script" not in {name for name, _ in read.tags} and HOSTILE in read.text
    bare = page("t", head=tag("link", href="/a.css"), policy=None, class_="c", style="color:red")
    assert "Content-Security-Policy" not in bare
    assert '<html lang="en" style="color:red">' in bare and '<body class="c">' in bare and 'href="/a.css"' in bare


def test_a_template_escapes_what_it_is_filled_with():
    form = Template("<p>$a</p>$b")
    assert form.filled(a="<", b=tag("i", "x")) == "<p>&lt;</p><i>x</i>"
    with pytest.raises(KeyError):
        form.filled(a="x")


def test_data_within_a_script_cannot_end_it():
    data = {"text": HOSTILE}
    written = script_data(data)
    assert "<" not in written and "&" not in written and json.loads(written) == data

"""HTML and SVG, built from elements: text becomes markup by being escaped, and in no other way."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable
from html import escape
from typing import TypeAlias, Union

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Control characters and halves of surrogate pairs, which XML has no way to write."""
_VOID = frozenset({"br", "img", "input", "link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "polyline", "rect"})
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What browsers let an offline page do: nothing but show itself."""


class Markup(str):
    """Text that is HTML or SVG already. Of a literal only: whatever else is text goes through ``tag`` or ``markup``."""

    __slots__ = ()


Child: TypeAlias = Union[str, int, "Iterable[Child]", None]
Value: TypeAlias = str | int | float | bool | None


def markup(*children: Child) -> Markup:
    """All children in a row: markup as it is, other text escaped, None and "" left out."""
    return Markup("".join(_written(children)))


def tag(name: str, /, *children: Child, **attributes: Value) -> Markup:
    """An element. ``class_`` is written class, and ``text_anchor`` text-anchor; a number that is not whole has one
    decimal; None and False leave an attribute out, and True writes its name alone."""
    opened = "".join([f"<{name}", *(_attribute(key, value) for key, value in attributes.items())])
    if name in _VOID:
        return Markup(f"{opened}>")
    inside = "".join(_written(children))
    return Markup(f"{opened}/>" if name in _SHAPES and not inside else f"{opened}>{inside}</{name}>")


class Template:
    """A page of ours with places like ``$title``, which ``filled`` gives what stands there."""

    def __init__(self, text: str) -> None:
        self._text = string.Template(text)

    def filled(self, **places: Child) -> Markup:
        """The page: markup as it is, other text escaped."""
        return Markup(self._text.substitute({name: markup(child) for name, child in places.items()}))


def script_data(data: object) -> Markup:
    """Plain data within a script element: nothing in it can end the element that it stands in."""
    return Markup(json.dumps(data, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026"))


def style(sheet: str) -> Markup:
    """A style sheet of ours within a page or drawing."""
    return Markup(f"<style>{sheet}</style>")


def table(heads: Iterable[Child], rows: Iterable[Iterable[Child]], caption: str = "", **attributes: Value) -> Markup:
    """A table of ``th`` elements and rows of ``td`` elements; what is not an element is put into one."""
    head = tag("tr", (_cell("th", one, scope="col") for one in heads))
    body = (row if isinstance(row, Markup) else tag("tr", (_cell("td", one) for one in row)) for row in rows)
    over = tag("caption", caption) if caption else None
    return tag("table", over, tag("thead", head), tag("tbody", body), **attributes)


def listed(items: Iterable[Child], most: int | None = None) -> Markup:
    """Items as a list, the first ``most`` of them, and how many more there are; nothing, if there are none."""
    every = list(items)
    shown = tag("ul", (tag("li", one) for one in every[:most]))
    return markup(shown, more(len(every), most or len(every))) if every else Markup()


def more(count: int, shown: int) -> Markup:
    """How many there are beyond those that are shown; nothing, if all are."""
    return tag("p", f"and {count - shown:,} more.") if count > shown else Markup()


def page(
    title: str,
    *body: Child,
    sheet: str = "",
    head: Child = None,
    policy: str | None = POLICY,
    class_: str | None = None,
    **attributes: Value,
) -> Markup:
    """A page of its own; by its policy it can run or fetch nothing. ``class_`` is the body's, attributes are the
    whole page's."""
    lines = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy) if policy else None,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        style(sheet) if sheet else None,
        head,
    )
    parts = tag("head", _lines(lines)), tag("body", _lines(body), class_=class_)
    return markup(Markup("<!doctype html>\n"), tag("html", _lines(parts), lang="en", **attributes), "\n")


def drawing(
    width: int, height: int, title: str, *inside: Child, said: str = "", sheet: str = "", class_: str | None = None
) -> Markup:
    """An SVG image with what is read aloud of it."""
    about = tag("title", title), tag("desc", said) if said else None, style(sheet)
    return tag(
        "svg",
        about,
        inside,
        xmlns="http://www.w3.org/2000/svg",
        class_=class_,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )


def _written(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str | int):
            yield _escaped(str(child))
        elif child is not None:
            yield from _written(child)


def _attribute(key: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    return f' {name}="{_escaped(text, quote=False).replace(chr(34), "&quot;")}"'


def _cell(name: str, child: Child, **attributes: Value) -> Markup:
    whole = isinstance(child, Markup) and child.startswith(("<th", "<td"))
    return Markup(child) if whole else tag(name, child, **attributes)


def _lines(children: Iterable[Child]) -> Iterable[Child]:
    """Children on lines of their own."""
    return "\n", *((child, "\n") for child in children if child)


def _escaped(text: str, *, quote: bool = True) -> str:
    return escape(_UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text), quote)

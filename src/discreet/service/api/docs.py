"""What can be requested, as one plain page made from the OpenAPI document: no script, nothing from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from discreet.core.report import listing, section, styled
from discreet.core.report import page as whole_page


def page(document: Mapping[str, Any]) -> str:
    """The page."""
    said = str(document["info"]["description"])
    sections = [f"<header><h1>{escape(document['info']['title'])}</h1></header>"]
    sections += [f"<p>{escape(paragraph)}</p>" for paragraph in said.split("\n\n")]
    sections.append('<p>For programs: <a href="openapi.json">openapi.json</a></p>')
    by_tag: dict[str, list[list[str | None]]] = {}
    for tag, row in _rows(document):
        by_tag.setdefault(tag, []).append(row)
    for tag, rows in by_tag.items():
        table = listing(["request", "what it does", "answers"], ["text", "prose", "prose"], rows)
        sections.append(section(tag.capitalize(), table))
    return whole_page(document["info"]["title"], styled(sections))


def _rows(document: Mapping[str, Any]) -> Iterator[tuple[str, list[str | None]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            words = f"{operation['summary']}. {operation['description']}"
            yield operation["tags"][0], [f"{method.upper()} {path}", words, ", ".join(operation["responses"])]

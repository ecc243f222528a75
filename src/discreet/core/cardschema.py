"""The JSON schema of cards, for editors that complete and check TOML while it is typed.

It says which fields there are and what they look like. What contradicts what (bounds the wrong way round,
a unit that is no column) is for `parse_cards` to say.
"""

from __future__ import annotations

from typing import Any

from discreet.core.card import Role
from discreet.core.cardfile import FORMAT
from discreet.core.kind import Kind

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_WHOLE = {"type": "integer", "minimum": 1}
_TRUTH = {"type": "boolean"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_POINT = {"type": ["number", "string"], "description": "A number, or a date."}


def card_schema() -> dict[str, Any]:
    """The schema, as data."""
    table = _object(
        {
            "unit": _said(_TEXT, "The column that says whose row it is; left out: a row is a person."),
            "rows_per_unit": _said(_WHOLE, "The most rows a person may have."),
            "groups_per_unit": _said(_WHOLE, "In how many groups of a question a person counts."),
            "public": _said(_TRUTH, "Whether it is about nobody, and may be looked at by anybody."),
            "impossible": _said(_list(_TEXT), "SQL conditions that no row can meet."),
            "rows_are_people": _said(_TRUTH, "Every row is about somebody else, though identifiers repeat."),
            "note": _said(_TEXT, "For people."),
            "columns": {"type": "object", "minProperties": 1, "additionalProperties": _column()},
        },
        required=["columns"],
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "discreet data card",
        **_object(
            {
                "discreet": _said({"const": FORMAT}, "The format of the card."),
                "tables": {"type": "object", "minProperties": 1, "additionalProperties": table},
                "hierarchies": {"type": "object", "additionalProperties": {"$ref": "#/$defs/hierarchy"}},
            },
            required=["tables"],
        ),
        "$defs": {"hierarchy": {"oneOf": [_hierarchy(*one) for one in _HIERARCHIES]}},
    }


def _column() -> dict[str, Any]:
    return _object(
        {
            "kind": _said({"enum": [kind.value for kind in Kind]}, "What the values are."),
            "role": _said({"enum": [role.value for role in Role]}, "What the column can do to a person."),
            "bounds": _said(
                {"type": "array", "items": _POINT, "minItems": 2, "maxItems": 2},
                "The smallest and the largest value that counts.",
            ),
            "categories": _said(
                {"type": "array", "items": _SCALAR, "minItems": 1, "uniqueItems": True}, "Every value there can be."
            ),
            "required": _said({"type": "boolean"}, "Rows without a value here do not count."),
            "may_leave": _said({"type": "boolean"}, "Long text with many values may be in a release."),
            "longest": _said(_WHOLE, "The most characters of a text that count."),
            "hierarchy": {"oneOf": [_said(_TEXT, "A shared hierarchy, by name."), {"$ref": "#/$defs/hierarchy"}]},
            "from_data": _said(
                {"type": "array", "items": {"enum": ["bounds", "categories"]}}, "Read off the data: not private."
            ),
            "note": _said(_TEXT, "For people."),
        },
        required=["kind"],
    )


def _hierarchy(name: str, what: str, required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    other = _said(_TEXT, "The label of values the hierarchy does not know.")
    fields = {"type": {"const": name}, **properties, "other": other}
    return _said(_object(fields, required=["type", *required]), what)


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


def _said(schema: dict[str, Any], what: str) -> dict[str, Any]:
    return {**schema, "description": what}


_RANGE = _object({"from": _POINT, "to": _POINT, "label": _TEXT}, required=[])
_HIERARCHIES: tuple[tuple[str, str, list[str], dict[str, Any]], ...] = (
    (
        "intervals",
        "Numbers in intervals of growing width.",
        ["widths"],
        {"widths": _list(_NUMBER), "anchor": _NUMBER, "bottom": _NUMBER, "top": _NUMBER},
    ),
    ("ranges", "Declared ranges, a list a level.", ["levels"], {"levels": _list(_list(_RANGE))}),
    ("coding", "Top and bottom coding.", [], {"bottom": _POINT, "top": _POINT}),
    (
        "mask",
        "Characters replaced one after the other.",
        ["length"],
        {"length": _WHOLE, "steps": _list(_WHOLE), "side": {"enum": ["right", "left"]}, "character": _TEXT},
    ),
    (
        "taxonomy",
        "A tree of groups, here or in a file beside the card.",
        [],
        {"tree": {"type": ["object", "array"]}, "file": _TEXT},
    ),
    (
        "ordered",
        "Ordered values in runs of growing size.",
        ["order", "sizes"],
        {"order": _list(_SCALAR), "sizes": _list(_WHOLE)},
    ),
    (
        "dates",
        "Coarser and coarser times.",
        [],
        {"levels": _list({"enum": ["hour", "day", "month", "quarter", "year", "decade"]})},
    ),
)

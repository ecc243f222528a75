"""What can be requested, as one plain page made from the OpenAPI document: no script, nothing from outside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from discreet.core.markup import Markup, markup, tag
from discreet.core.report import heading, listing, section, styled
from discreet.core.report import page as whole_page

Schema: TypeAlias = Mapping[str, Any]


def page(document: Mapping[str, Any]) -> str:
    """The page."""
    said = str(document["info"]["description"])
    sections = [heading(document["info"]["title"])]
    sections += [tag("p", paragraph) for paragraph in said.split("\n\n")]
    sections.append(tag("p", "For programs: ", tag("a", "openapi.json", href="openapi.json")))
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((f"{method.upper()} {path}", operation))
    for group, operations in by_tag.items():
        rows = [
            [name, f"{one['summary']}. {one['description']}", ", ".join(one["responses"])] for name, one in operations
        ]
        table = listing(["request", "what it does", "answers"], ["text", "prose", "prose"], rows)
        brought = [_brought(name, one, schemas) for name, one in operations]
        sections.append(section(group.capitalize(), table, brought))
    return whole_page(document["info"]["title"], styled(sections))


def _brought(name: str, operation: Mapping[str, Any], schemas: Schema) -> Markup:
    """What a request brings, field by field, and an example; nothing if it brings nothing."""
    rows = [
        [
            one["name"],
            f"{one['in']}: {_kind(one['schema'], schemas)}",
            _needed(one["required"], one["schema"]),
            _said(one),
        ]
        for one in operation.get("parameters", ())
    ]
    example = None
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        rows += list(_fields(body, schemas))
        example = tag("pre", json.dumps(_example(body, schemas), ensure_ascii=False, indent=2))
    if not rows:
        return Markup()
    table = listing(["field", "type", "needed", "what it is"], ["text", "prose", "prose", "prose"], rows)
    return markup(tag("h3", name), table, example)


def _fields(schema: Schema, schemas: Schema, within: str = "") -> Iterator[list[str | None]]:
    """The fields of an object, and of those in it."""
    found = _resolved(schema, schemas)
    for name, field in found.get("properties", {}).items():
        needed = _needed(name in found.get("required", ()), field)
        yield [f"{within}{name}", _kind(field, schemas), needed, _said(field)]
        for shape in _shapes(field, schemas):
            yield from _fields(shape, schemas, f"{within}{name}.")


def _needed(required: bool, schema: Schema) -> str:
    return "yes" if required else f"else {json.dumps(schema['default'])}" if "default" in schema else "no"


def _said(schema: Schema) -> str:
    """What a field is, in words: its own, or those of what it may be."""
    own = schema.get("description")
    return str(own) if own else next((said for one in schema.get("anyOf", ()) if (said := _said(one))), "")


def _kind(schema: Schema, schemas: Schema) -> str:
    """What may be given, in a few words."""
    found = _resolved(schema, schemas)
    if choices := found.get("anyOf") or found.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(one, schemas) for one in choices))
    if "const" in found or "enum" in found:
        return " or ".join(json.dumps(one) for one in found.get("enum", [found.get("const")]))
    if found.get("type") == "array":
        return f"list of {_kind(found['items'], schemas)}"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        str(found.get("type", "anything")), str(found.get("type", "anything"))
    )


def _shapes(schema: Schema, schemas: Schema) -> list[Schema]:
    """The objects that a field may be."""
    found = _resolved(schema, schemas)
    if "properties" in found:
        return [found]
    return [shape for one in (*found.get("anyOf", ()), *found.get("oneOf", ())) for shape in _shapes(one, schemas)]


def _example(schema: Schema, schemas: Schema) -> Any:
    """Something that may be sent."""
    found = _resolved(schema, schemas)
    if "examples" in found:
        return found["examples"][0]
    if "const" in found or "enum" in found:
        return found.get("const", found.get("enum", [None])[0])
    if "default" in found:
        return found["default"]
    if choices := found.get("anyOf") or found.get("oneOf"):
        return _example(choices[0], schemas)
    if found.get("type") == "object":
        fields = found.get("properties", {}).items()
        needed = found.get("required", ())
        return {name: _example(one, schemas) for name, one in fields if name in needed or "examples" in one}
    if found.get("type") == "array":
        return [_example(found["items"], schemas)]
    return {"string": "text", "integer": 1, "number": 0.5, "boolean": True}.get(str(found.get("type")))


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = schemas[schema["$ref"].rpartition("/")[2]]
    return found

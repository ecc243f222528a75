"""Hierarchies from tables of a card, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.core.catalogue import parameters_of
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.protocol import Hierarchy
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.text import meant
from discreet.errors import HierarchyError, NotFound


def from_fields(table: Mapping[str, object], *, folder: Path | None) -> Hierarchy:
    """The hierarchy a card's table declares. Files it names are looked for in ``folder``."""
    name = table.get("type")
    types = HIERARCHIES.names()
    if not isinstance(name, str) or name not in types:
        given = "is missing" if name is None else f"{name!r} is not known"
        raise HierarchyError(
            f"The type of the hierarchy {given}{meant(str(name), types)}: it is one of {', '.join(types)}."
        )
    given_fields = {field: value for field, value in table.items() if field != "type"}
    kind = HIERARCHIES.entry(name).kind
    required, optional = ((), ("tree", "file", "other")) if name == "taxonomy" else _names(kind)
    allowed = (*required, *optional)
    problems = [f"{field!r} is no field of it{meant(field, allowed)}" for field in given_fields if field not in allowed]
    problems += [f"{field} is missing" for field in required if field not in given_fields]
    known = {field: value for field, value in given_fields.items() if field in allowed}
    hierarchy: Hierarchy | None = None
    if all(field in known for field in required):
        try:
            hierarchy = _taxonomy(known, folder) if name == "taxonomy" else kind(**known)
        except HierarchyError as error:
            if not problems:
                raise
            problems.append(str(error).removeprefix(f"{name}: ").rstrip("."))
    if problems or hierarchy is None:
        raise HierarchyError(f"{name}: {'; '.join(problems)}.", hint=f"Its fields are {', '.join(allowed)}.")
    return hierarchy


def to_fields(hierarchy: Hierarchy) -> dict[str, Any]:
    """What a card says of a hierarchy; ``from_fields`` reads it back."""
    other = {} if hierarchy.other is None else {"other": hierarchy.other}
    return {"type": hierarchy.type, **hierarchy.fields(), **other}


def _taxonomy(known: Mapping[str, Any], folder: Path | None) -> Hierarchy:
    other = known.get("other")
    if ("tree" in known) == ("file" in known):
        raise HierarchyError("taxonomy: declare its tree or its file, one of them.")
    if "tree" in known:
        return Taxonomy.from_tree(known["tree"], other)
    file = known["file"]
    if not isinstance(file, str) or not file:
        raise HierarchyError(f"taxonomy: file must be the name of a file, got {file!r}.")
    if folder is None:
        raise HierarchyError(
            f"taxonomy: file {file!r} cannot be looked for: this card lies in no folder.",
            hint="Read the card from its file, or declare the tree in the card.",
        )
    try:
        return Taxonomy.from_csv(folder / file, other)
    except NotFound:
        raise HierarchyError(f"taxonomy: there is no file {file!r} beside the card.") from None


def _names(hierarchy: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that must and those that may be declared."""
    declared = parameters_of(hierarchy)
    required = tuple(one.name for one in declared if one.required)
    return required, tuple(one.name for one in declared if not one.required)

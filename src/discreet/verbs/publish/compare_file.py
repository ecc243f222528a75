"""A menu: the masking methods to be compared, as a TOML file says them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import BadInput, DataError, NotFound

EXAMPLE = """\
# The masking methods that `discreet compare` puts on the map. Each is written as for `discreet publish --method`;
# columns that are not named ("... on age, income") are all quasi-identifiers a method can mask.

methods = [
  "resample samples=3",
  "shuffle",
]

# A method with values to try for what stands in braces; with several names in braces, all combinations.
[[vary]]
method = "noise alpha={alpha}"
alpha = [0.03, 0.1, 0.3, 1]

[[vary]]
method = "multiply alpha={alpha}"
alpha = [0.05, 0.1, 0.5]

[[vary]]
method = "rank-swap p={p}"
p = [2, 5, 10, 25]

[[vary]]
method = "microaggregate k={k}"
k = [3, 5, 10, 25]
"""
"""The menu that is taken when none is given."""


def read_menu(path: str | Path) -> tuple[str, ...]:
    """The methods of a menu file."""
    place = Path(path)
    if not place.is_file():
        raise NotFound(
            f"There is no menu {path}.", hint="Write one to start from: discreet compare --example menu.toml"
        )
    try:
        return menu(place.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a text in UTF-8.") from None


def menu(text: str = EXAMPLE, source: str = "the menu") -> tuple[str, ...]:
    """The methods that ``text`` names, each once, in its order."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise DataError(f"{source} is not TOML: {problem}.") from None
    unknown = [name for name in said if name not in ("methods", "vary")]
    if unknown:
        raise BadInput(f"{source}: {unknown[0]!r} means nothing.", hint="A menu has methods and [[vary]].")
    plain, varied = said.get("methods", []), said.get("vary", [])
    if not isinstance(plain, list) or not all(isinstance(one, str) for one in plain):
        raise BadInput(f"{source}: methods is a list of texts.", hint='Such as methods = ["noise alpha=0.1"].')
    if not isinstance(varied, list) or not all(isinstance(one, dict) for one in varied):
        raise BadInput(f"{source}: vary is written as [[vary]].", hint='Below it: method = "noise alpha={alpha}".')
    found = [*plain, *(text for one in varied for text in _varied(one, source))]
    if not found:
        raise BadInput(f"{source} names no method.", hint='Such as methods = ["noise alpha=0.1"].')
    return tuple(dict.fromkeys(found))


def _varied(said: Mapping[str, Any], source: str) -> list[str]:
    """All combinations of the values to try."""
    values = {name: value if isinstance(value, list) else [value] for name, value in said.items() if name != "method"}
    method = said.get("method")
    if not isinstance(method, str):
        raise BadInput(f"{source}: a [[vary]] has no method.", hint='Such as method = "noise alpha={alpha}".')
    for name in values:
        if f"{{{name}}}" not in method:
            raise BadInput(f"{source}: {method!r} has no place for {name}.", hint=f"Write {{{name}}} where it belongs.")
    found = []
    for chosen in product(*values.values()):
        text = method
        for name, value in zip(values, chosen, strict=True):
            text = text.replace(f"{{{name}}}", str(value))
        if "{" in text:
            raise BadInput(f"{source}: nothing is given for the braces in {text!r}.", hint="Give a list of values.")
        found.append(text)
    return found

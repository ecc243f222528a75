"""The sides of a table that is given: which codes are totals of which, as somebody says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from discreet.core.card import Card
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.hierarchy.taxonomy_file import read_paths
from discreet.core.words import meant
from discreet.errors import BadInput
from discreet.tabulate.dimension import Dimension

Tree: TypeAlias = Mapping[str, str | None] | str | Path
"""The total of each code, or a file that says so: a child and its parent on each line, or all labels of a code."""


def declared(card: Card | None, name: str) -> Tree | None:
    """The tree that the card declares for a column, if it has a taxonomy there."""
    hierarchy = card[name].hierarchy if card is not None and name in card else None
    return _above(hierarchy.paths) if isinstance(hierarchy, Taxonomy) else None


def side_of(name: str, codes: Sequence[str], tree: Tree | None, total: str) -> Dimension:
    """The codes that occur and the totals above them, in the order of the tree or of the file.

    A total that is not in the file and would have a single part is left out.
    """
    present = dict.fromkeys(codes)
    if isinstance(tree, str | Path):
        tree = _above(read_paths(Path(tree)))
    if tree is None:
        above: dict[str, str] = dict.fromkeys((code for code in present if code != total), total)
    else:
        above = {code: parent if parent is not None else total for code, parent in tree.items() if code != total}
        for parent in list(above.values()):
            above.setdefault(parent, total)
        above.pop(total, None)
        strange = [code for code in present if code not in above and code != total]
        if strange:
            raise BadInput(
                f"{name}: nobody says of what {strange[0]!r} is a part{meant(strange[0], above)}.",
                hint=f"Give every code its total; {total!r} is the total of all.",
            )
    above = _needed(above, present, total)
    tops = [code for code, parent in above.items() if parent == total]
    if total not in present and len(tops) == 1:
        return Dimension.from_parents(name, {**above, tops[0]: None})
    return Dimension.from_parents(name, {total: None, **above})


def _needed(above: Mapping[str, str], present: Mapping[str, None], total: str) -> dict[str, str]:
    """The codes that are in the file, and those totals that are not but have two parts or more."""
    parts: dict[str, list[str]] = {}
    for code, parent in above.items():
        parts.setdefault(parent, []).append(code)
    found: dict[str, str] = {}

    def below(code: str, seen: frozenset[str]) -> list[str]:
        """The codes to be shown right below one."""
        if code in seen:
            raise BadInput(f"{code!r} is its own total, over others.")
        shown: list[str] = []
        for part in parts.get(code, ()):
            own = below(part, seen | {code})
            if part in present or len(own) > 1:
                shown.append(part)
                found.update(dict.fromkeys(own, part))
            else:
                shown += own
        return shown

    found.update(dict.fromkeys(below(total, frozenset()), total))
    missing = next((code for code in present if code not in found and code != total), None)
    if missing is not None:
        raise BadInput(f"{missing!r} is its own total, over others.")
    return {code: found[code] for code in above if code in found}


def _above(paths: Sequence[Sequence[str]]) -> dict[str, str | None]:
    """The label above each label, from paths upwards."""
    found: dict[str, str | None] = {}
    for path in paths:
        lean = [label for place, label in enumerate(path) if place == 0 or label != path[place - 1]]
        for label, parent in zip(lean, [*lean[1:], None], strict=True):
            found.setdefault(label, parent)
    return found

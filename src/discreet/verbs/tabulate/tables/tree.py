"""Hierarchies of the codes in a table of figures: declared, or read from a file of parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from discreet.core.card import Card
from discreet.core.hierarchy.taxonomy import Taxonomy, read_paths
from discreet.core.text import meant
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.tabulate.tables.crosstable import TOTAL, Dimension, Numbers

Tree: TypeAlias = Mapping[str, str | None] | str | Path
"""The total of each code, or a file that says so: a child and its parent on each line, or all labels of a code."""

_CALLED = frozenset({"total", "sum", "all", "overall", "grand total"})


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
                f"{name}: {strange[0]!r} has no parent{meant(strange[0], above)}.",
                hint=f"Give every code its parent; {total!r} is the grand total.",
            )
    above, aliases = _needed(above, present, total)
    tops = [code for code, parent in above.items() if parent == total]
    if total not in present and len(tops) == 1:
        made = Dimension.from_parents(name, {**above, tops[0]: None})
        return replace(made, aliases={**aliases, total: tops[0]})
    return replace(Dimension.from_parents(name, {total: None, **above}), aliases=aliases)


def totals_of(sides: Sequence[str], total: str | Mapping[str, str]) -> dict[str, str]:
    """What the total of each side is called."""
    if isinstance(total, str):
        return dict.fromkeys(sides, total)
    for name in total:
        if name not in sides:
            raise NotFound(
                f"{name!r} is not a dimension of the table{meant(name, sides)}; it is by {', '.join(sides)}."
            )
    return {name: total.get(name, TOTAL) for name in sides}


def require_no_other_total(
    name: str, codes: Sequence[Sequence[str]], place: int, total: str, figures: Numbers, *, rounded: bool
) -> None:
    """Raise an error if the side at ``place`` lacks its ``total``, and a code is called so or is the sum of all others.

    Read as one more part it would be added to what it is the total of, and give every hidden figure away.
    """
    present = dict.fromkeys(codes[place])
    if total in present:
        return
    likely = {total.casefold(), TOTAL.casefold()}
    called = [code for code in present if code.casefold() in likely | _CALLED]
    everywhere = [code for code in called if len(codes) > 1 and all(code in side for side in codes)]
    found = [code for code in called if code.casefold() in likely or code in everywhere]
    numbers = {code: number for number, code in enumerate(present)}
    own = np.array([numbers[code] for code in codes[place]], np.int64)
    others = list(zip(*(one for side, one in enumerate(codes) if side != place), strict=True)) or [()] * len(own)
    combinations = {other: number for number, other in enumerate(dict.fromkeys(others))}
    where = np.array([combinations[other] for other in others], np.int64)
    sums = np.zeros(len(combinations), np.int64)
    np.add.at(sums, where, figures)
    off = np.abs(2 * figures - sums[where]) > (len(present) / 2 if rounded else 0)
    agrees = np.bincount(own[~off], sums[where][~off] != 0, minlength=len(present)) == (sums != 0).sum()
    agrees &= ~np.bincount(own[off], minlength=len(present)).astype(bool) & bool(sums.any())
    for code, number in numbers.items():
        telling = len(combinations) > 1 and len(present) > 2
        if agrees[number] and (telling or code.casefold() in _CALLED):
            found.append(code)
    if found:
        raise DataError(
            f"{name}: {found[0]!r} looks like the total, but the total is given as {total!r}.",
            hint=f"Write total={found[0]!r} if it is; otherwise give its parent by parents={{{name!r}: …}}.",
        )


def _needed(above: Mapping[str, str], present: Mapping[str, None], total: str) -> tuple[dict[str, str], dict[str, str]]:
    """The codes that are in the file, and those totals that are not but have two parts or more; and what stands for
    each of those that have one."""
    parts: dict[str, list[str]] = {}
    for code, parent in above.items():
        parts.setdefault(parent, []).append(code)
    found: dict[str, str] = {}
    aliases: dict[str, str] = {}

    def below(code: str, seen: frozenset[str]) -> list[str]:
        """The codes to be shown right below one."""
        if code in seen:
            raise BadInput(f"{code!r} is part of a cycle of totals.")
        shown: list[str] = []
        for part in parts.get(code, ()):
            own = below(part, seen | {code})
            if part in present or len(own) > 1:
                shown.append(part)
                found.update(dict.fromkeys(own, part))
            else:
                shown += own
                aliases.update((part, one) for one in own)
        return shown

    found.update(dict.fromkeys(below(total, frozenset()), total))
    missing = next((code for code in present if code not in found and code != total), None)
    if missing is not None:
        raise BadInput(f"{missing!r} is part of a cycle of totals.")
    return {code: found[code] for code in above if code in found}, aliases


def _above(paths: Sequence[Sequence[str]]) -> dict[str, str | None]:
    """The label above each label, from paths upwards."""
    found: dict[str, str | None] = {}
    for path in paths:
        lean = [label for place, label in enumerate(path) if place == 0 or label != path[place - 1]]
        for label, parent in zip(lean, [*lean[1:], None], strict=True):
            found.setdefault(label, parent)
    return found

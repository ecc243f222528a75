"""Listed values in named groups: what taxonomies and ordered groupings have in common.

A path is a value and its labels upwards, below the top. All paths of a hierarchy are equally long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from sqlglot import exp

from discreet.core import sql
from discreet.core.hierarchy import terms
from discreet.core.hierarchy.declared import wrong_label
from discreet.core.kind import Kind

Path = tuple[str, ...]

PLAIN = 16
"""Up to this many labels a CASE with an IN for each is about as fast as anything, and reads better."""


def spelled(value: object) -> str | None:
    """A listed value as the text engines give it; ``None`` if it is no text, whole number or boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def level_off(paths: Iterable[Sequence[str]]) -> tuple[Path, ...]:
    """Equally long paths: where there is less to say of a value, it stays itself on the lower levels."""
    lean = [(path[0], *_without_first(path)) for path in paths]
    longest = max(map(len, lean), default=0)
    return tuple((path[0],) * (longest - len(path)) + path for path in lean)


def wrong_paths(paths: Sequence[Path], other: str | None, lines: Sequence[int] | None = None) -> list[str]:
    """Values listed twice, labels with two labels above them, labels that mean two things; with ``lines`` where."""

    def at(*numbers: int) -> str:
        return f" (lines {', '.join(str(lines[n]) for n in sorted(set(numbers)))})" if lines else ""

    problems: list[str] = []
    first: dict[str, int] = {}
    for number, path in enumerate(paths):
        before = first.setdefault(path[0], number)
        if before != number and paths[before][:2] == path[:2]:
            problems.append(f"{path[0]!r} is listed twice{at(before, number)}")
    above: dict[tuple[int, str], int] = {}
    for number, path in enumerate(paths):
        for level, (label, parent) in enumerate(pairwise(path)):
            before = above.setdefault((level, label), number)
            if (rival := paths[before][level + 1]) != parent:
                problems.append(f"{label!r} lies in both {rival!r} and {parent!r}{at(before, number)}")
    for label in dict.fromkeys(label for path in paths for label in path):
        problems += wrong_label(label, "a label")
    problems += [
        f"the label {label!r} ends in a space"
        for label in dict.fromkeys(label for path in paths for label in path[1:] if label != path[0])
        if label.endswith(" ")
    ]
    meanings = _meanings(paths)
    for label, groups in meanings.items():
        if len(set(groups.values())) > 1:
            shown = " and ".join(f"level {level}" for level in sorted(groups))
            where = at(*(first[min(values, key=first.__getitem__)] for values in groups.values()))
            problems.append(f"{label!r} stands for different things on {shown}{where}")
    if other in meanings:
        problems.append(f"other {other!r} is a label already")
    return problems


def lookup(value: exp.Expr, paths: Sequence[Path], level: int, kind: Kind) -> exp.Expr:
    """The label of a listed value on a level.

    Values that stay themselves are taken first. A few labels are told apart by an IN for each; many by their
    number in binary, an IN for each digit, which cuts the label out of one long text. An IN is one probe of a
    hash table on each engine, so this takes log2 of the probes of the plain form.
    """
    value = as_listed(value, kind)
    same = [path[0] for path in paths if path[level] == path[0]]
    groups: dict[str, list[str]] = {}
    for path in paths:
        if path[level] != path[0]:
            groups.setdefault(path[level], []).append(path[0])
    if not groups:
        return value
    grouped = _plain(value, groups) if len(groups) <= PLAIN else _numbered(value, groups)
    return exp.case().when(among(value, same), value).else_(grouped) if same else grouped


def among(value: exp.Expr, values: Iterable[str]) -> exp.Expr:
    """Whether a value is one of these."""
    return exp.In(this=value.copy(), expressions=[sql.literal(item) for item in values])


def as_listed(value: exp.Expr, kind: Kind) -> exp.Expr:
    """A value as the text it is listed by."""
    return value.copy() if kind is Kind.TEXT else terms.as_text(value)


def _plain(value: exp.Expr, groups: Mapping[str, Sequence[str]]) -> exp.Expr:
    *labels, last = groups
    chosen = exp.case()
    for label in labels:
        chosen = chosen.when(among(value, groups[label]), sql.literal(label))
    return chosen.else_(sql.literal(last)) if labels else sql.literal(last)


def _numbered(value: exp.Expr, groups: Mapping[str, Sequence[str]]) -> exp.Expr:
    width = max(map(len, groups))
    start: exp.Expr = exp.Literal.number(1)
    for digit in range((len(groups) - 1).bit_length()):
        ones = [item for number, items in enumerate(groups.values()) if number >> digit & 1 for item in items]
        offset = exp.Literal.number(width << digit)
        start = start + exp.case().when(among(value, ones), offset).else_(exp.Literal.number(0))
    labels = sql.literal("".join(label.ljust(width) for label in groups))
    cut = exp.Substring(this=labels, start=start, length=exp.Literal.number(width))
    return exp.Trim(this=cut, position="TRAILING", expression=sql.literal(" "))


def _without_first(path: Sequence[str]) -> list[str]:
    """The path above its value, which may repeat itself at the lower end."""
    runs = [(label, list(run)) for label, run in groupby(path)]
    return [label for _, run in runs[1:] for label in run]


def _meanings(paths: Sequence[Path]) -> dict[str, dict[int, frozenset[str]]]:
    """For each label and each level it is on, the values it stands for."""
    found: dict[str, dict[int, set[str]]] = {}
    for path in paths:
        for level, label in enumerate(path):
            found.setdefault(label, {}).setdefault(level, set()).add(path[0])
    return {label: {level: frozenset(values) for level, values in levels.items()} for label, levels in found.items()}

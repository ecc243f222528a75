"""Taxonomies in CSV files, with the line of everything that is wrong.

Two shapes are read, told apart by the number of columns:

- two: a child and its parent, in any order of rows; a parent that is nobody's child lies below the top;
- more: a value, its labels upwards and ``*`` at the end, as ARX writes them. A last column without ``*``
  is a level of its own.

Columns are divided by ``;`` or ``,``. Names are taken as they are, spaces included.
"""

from __future__ import annotations

import csv
from pathlib import Path as FilePath

from discreet.core.hierarchy.declared import refuse
from discreet.core.hierarchy.grouping import Path, level_off, wrong_paths
from discreet.core.hierarchy.protocol import TOP
from discreet.errors import HierarchyError, NotFound

Row = tuple[int, list[str]]


def read_paths(file: FilePath) -> list[Path]:
    """The paths a file declares, in the order of its rows."""
    rows = _rows(file)
    problems = [f"line {line}: a name is missing" for line, cells in rows if not all(cells)]
    width = len(rows[0][1])
    problems += [
        f"line {line} has {len(cells)} columns, line {rows[0][0]} has {width}"
        for line, cells in rows
        if len(cells) != width
    ]
    refuse(file.name, problems)
    return _from_pairs(file.name, rows) if width == 2 else _from_rows(file.name, rows)


def _rows(file: FilePath) -> list[Row]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound(f"There is no taxonomy file {file}.") from None
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"{file.name} is not UTF-8 text: byte {error.start + 1} cannot be read.", hint="Save it as UTF-8."
        ) from None
    except OSError as error:
        raise HierarchyError(f"{file.name} cannot be read: {error.strerror}.") from None
    readings = [_split(file, text, delimiter) for delimiter in ";,"]
    if not readings[0]:
        raise HierarchyError(f"{file.name} is empty: expected a value and its labels on each line.")
    best = max(readings, key=lambda rows: (_even(rows), len(rows[0][1])))
    if len(best[0][1]) < 2:
        raise HierarchyError(
            f"{file.name} has one column only: expected columns divided by ; or , on line {best[0][0]}."
        )
    return best


def _split(file: FilePath, text: str, delimiter: str) -> list[Row]:
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise HierarchyError(f"{file.name}, line {reader.line_num}: {error}.") from None


def _even(rows: list[Row]) -> bool:
    return len(rows[0][1]) > 1 and all(len(cells) == len(rows[0][1]) for _, cells in rows)


def _from_rows(name: str, rows: list[Row]) -> list[Path]:
    """Paths from rows that hold one each; the same row twice says nothing new."""
    if all(cells[-1] == TOP for _, cells in rows):
        rows = [(line, cells[:-1]) for line, cells in rows]
    lines: dict[Path, int] = {}
    for line, cells in rows:
        lines.setdefault(tuple(cells), line)
    paths = level_off(lines)
    refuse(name, wrong_paths(paths, None, list(lines.values())))
    return list(lines)


def _from_pairs(name: str, rows: list[Row]) -> list[Path]:
    if [cell.casefold() for cell in rows[0][1]] == ["child", "parent"]:
        rows = rows[1:]
    parents: dict[str, tuple[str, int]] = {}
    problems = []
    for line, (child, parent) in rows:
        known, before = parents.setdefault(child, (parent, line))
        if known != parent:
            problems.append(f"{child!r} lies in both {known!r} and {parent!r} (lines {before}, {line})")
        if child == TOP:
            problems.append(f"line {line}: {TOP!r} is the top and has no parent")
    problems += _circles(parents)
    refuse(name, problems)
    inner = {parent for parent, _ in parents.values()}
    return [_upwards(child, parents) for child in parents if child not in inner]


def _circles(parents: dict[str, tuple[str, int]]) -> list[str]:
    """Chains of parents that come back to where they began, each told once."""
    problems, done = [], set[str]()
    for start in parents:
        chain: dict[str, int] = {}
        node = start
        while node in parents and node not in chain and node not in done:
            chain[node] = parents[node][1]
            node = parents[node][0]
        if node in chain:
            circle = list(chain)[list(chain).index(node) :]
            lines = ", ".join(str(chain[label]) for label in circle)
            shown = " → ".join((*circle, node))
            problems.append(f"{shown} goes round in a circle (lines {lines})")
        done.update(chain)
    return problems


def _upwards(leaf: str, parents: dict[str, tuple[str, int]]) -> Path:
    path = [leaf]
    while path[-1] in parents and parents[path[-1]][0] != TOP:
        path.append(parents[path[-1]][0])
    return tuple(path)

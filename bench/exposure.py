"""Joint exposure: what it costs to check a release together with all earlier ones, and how much they tell together.

- ``pair``: town × ill of 400 people, then of those under 79, who are all but one: CPU s until it is refused.
- ``stored``: 1,000 tables of 10^6 people are out, by town, sex and age bands with random age filters and tens to
  hundreds of cells each; a new one is released. CPU s for the check, and MB of the process.
- ``workspace``: 20 releases are out; CPU s of the check on top of a release.
- Growth in releases, people and cells.
- The law: the share of all counts (an atom, a value) that are determined as tables pile up. ``--law FILE`` keeps it
  for docs/pictures/make.py, with the growth in releases.

Stored tables are written into a register as releases write them, all at once, since making them takes an hour.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.harness import contest, options, report, result, take_part

Work = Callable[[], object]
ILL = ("none", "cold", "flu", "hiv")
CARD = f"""discreet = 1
[tables.p]
unit = "id"
rows_per_unit = 1
[tables.p.columns.id]
kind = "integer"
role = "identifier"
[tables.p.columns.town]
kind = "text"
role = "quasi"
[tables.p.columns.sex]
kind = "text"
role = "quasi"
[tables.p.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 120]
[tables.p.columns.ill]
kind = "text"
role = "sensitive"
categories = {json.dumps(ILL)}
"""
TOWNS, AGES = 20, 100
LAW = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def _people(count: int, seed: int = 1) -> dict[str, Any]:
    """Towns of different sizes, few people of more than 90 years, and illnesses that come with age."""
    import numpy as np

    rng = np.random.default_rng(seed)
    town = rng.choice(TOWNS, count, p=np.arange(1, TOWNS + 1) / np.arange(1, TOWNS + 1).sum())
    age = np.minimum(
        AGES - 1, np.where(rng.random(count) < 0.9, rng.integers(0, 80, count), 80 + rng.geometric(0.25, count))
    )
    ill = np.searchsorted([0.6, 0.8, 0.92], rng.random(count) * (0.95 + 0.0005 * age))
    return {"town": town, "sex": rng.integers(0, 2, count), "age": age, "ill": ill}


def _table(folder: Path, count: int) -> tuple[Any, dict[str, Any]]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import discreet as dc

    people = _people(count)
    columns = {
        "id": np.arange(count),
        "town": np.array([f"t{n:02}" for n in range(TOWNS)])[people["town"]],
        "sex": np.array(["f", "m"])[people["sex"]],
        "age": people["age"],
        "ill": np.array(ILL)[people["ill"]],
    }
    pq.write_table(pa.table(columns), folder / "p.parquet")
    (folder / "p.toml").write_text(CARD)
    return dc.read(folder / "p.parquet", card=folder / "p.toml"), people


def _groups(rng: Any, cells: int) -> Any:
    """A random table's group of every combination of town, sex and age: a filter, and some sides."""
    import numpy as np

    town, sex, age = np.unravel_index(np.arange(TOWNS * 2 * AGES), (TOWNS, 2, AGES))
    low, high = sorted(rng.choice(AGES + 1, 2, replace=False).tolist())
    band = (age + int(rng.integers(0, 5))) // int(rng.choice([5, 10, 20]))
    sides = [[town], [town, sex], [sex, band], [band], [town, band]][int(rng.integers(0, cells))]
    group = np.zeros(len(town), np.int64)
    for side in sides:
        group = group * (int(side.max()) + 1) + side
    return np.where((age >= low) & (age < high), np.unique(group, return_inverse=True)[1], -1)


def _space(people: dict[str, Any], tables: int, cells: int = 5) -> Any:
    """What a register knows of so many tables: people with their atoms, and the figures of every table."""
    import numpy as np
    import pyarrow as pa

    from discreet.releases.atoms import People, Space
    from discreet.releases.records import Told

    rng = np.random.default_rng(tables)
    at = np.ravel_multi_index((people["town"], people["sex"], people["age"]), (TOWNS, 2, AGES))
    groups = np.stack([_groups(rng, cells) for _ in range(tables)])
    there = np.unique(at)
    _, atom = np.unique(groups[:, there], axis=1, return_inverse=True)
    atom_of = np.full(TOWNS * 2 * AGES, -1)
    atom_of[there] = atom.ravel()
    first = there[np.unique(atom.ravel(), return_index=True)[1]]
    told = []
    for number, group in enumerate(groups, 1):
        mine = group[at] >= 0
        width = int(group.max()) + 1
        counts = np.bincount(group[at][mine] * 4 + people["ill"][mine], minlength=4 * width).astype(np.float64)
        places = np.arange(4 * width)
        told.append(
            Told(
                number, f"table {number}", group[first], ("ill",), tuple((one,) for one in ILL), np.arange(4), 4,
                np.arange(4 * width + 1), places, counts, counts, places[counts > 0],
            )
        )  # fmt: skip
    ids = pa.array(np.arange(len(at)))
    ill = pa.array(list(ILL)).take(pa.array(people["ill"]))
    held = People(ids.cast(pa.string()), ids, np.ones(len(at), np.int64), atom_of[at], {"ill": ill})
    return Space(held, tuple(told), ("id",))


def _fill(table: Any, space: Any) -> None:
    """Write down tables as if each had been released."""
    import numpy as np

    from discreet.releases.atoms import dump_people, dump_told
    from discreet.releases.register import Register, entry_of

    same = np.arange(space.people.atoms)
    with Register(table.registers[0]) as register:
        for one in space.told:
            entry = entry_of(
                table,
                None,
                "tabulate suppress",
                len(space.people),
                title=one.title,
                facts="figures",
                told={"unit": "id"},
            )
            last = one.number == len(space.told)
            register.add(entry, dump_told({"1": [one]}, {"1": same}), dump_people({"1": space}) if last else None)


def pair(**_: object) -> Work:
    from sqlglot import parse_one

    import discreet as dc
    from discreet.errors import Exposed

    folder = Path(tempfile.mkdtemp())
    table, _ = _table(folder, 400)
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "p.parquet").to_pylist()
    rows = [row | {"town": row["town"][:2], "age": 79 if not n else row["age"] % 79} for n, row in enumerate(rows)]
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows), folder / "p.parquet")
    table = dc.read(folder / "p.parquet", card=folder / "p.toml")
    dc.tabulate(table, "town × ill", rules="min=2")

    def work() -> object:
        try:
            dc.tabulate(table.where(parse_one("age < 79")), "town × ill", rules="min=2")
        except Exposed:
            return "refused"
        return "released"

    return work


def stored(people: int, tables: int, cells: int = 5, **_: object) -> Work:
    from sqlglot import parse_one

    import discreet as dc
    from discreet.errors import Exposed
    from discreet.releases import pipeline

    table, known = _table(Path(tempfile.mkdtemp()), people)
    space = _space(known, tables, cells)
    _fill(table, space)
    atoms = space.people.atoms
    del known, space
    spent = {}
    weigh = pipeline.weigh

    def timed(*given: Any) -> Any:
        began = time.process_time()
        try:
            return weigh(*given)
        finally:
            spent["check"] = time.process_time() - began

    pipeline.weigh = timed  # type: ignore[assignment]

    def work() -> object:
        try:
            dc.tabulate(table.where(parse_one("age < 87")), "town × sex × ill", rules="min=3")
            said = "released"
        except Exposed as error:
            said = "undecided" if "not decided" in str(error) else "refused"
        return {"said": said, "atoms": atoms, **{name: round(value, 2) for name, value in spent.items()}}

    return work


def workspace(releases: int, **_: object) -> Work:
    """The check on top of a release, beside as many others of the same people."""
    import discreet as dc

    table, _ = _table(Path(tempfile.mkdtemp()), 20_000)
    for _ in range(releases):
        dc.tabulate(table.despite("a benchmark"), "town × ill", rules="min=3")

    def work() -> object:
        began = time.process_time()
        dc.tabulate(replace(table, registers=()), "town × sex × ill", rules="min=3")
        alone = time.process_time() - began
        began = time.process_time()
        dc.tabulate(table.despite("a benchmark"), "town × sex × ill", rules="min=3")
        return {"on top": round(time.process_time() - began - alone, 3)}

    return work


def law(people: int, most: int, **_: object) -> Work:
    """The share of counts that are determined after so many tables."""
    import numpy as np

    from discreet.releases.joint_counts import CountSystem, Target
    from discreet.verbs.attack.intruder.determined import Verdict

    known = _people(people)
    space = _space(known, most)

    def shares() -> Iterator[tuple[int, float, float]]:
        for tables in (one for one in LAW if one <= most):
            told = space.told[:tables]
            covered = np.flatnonzero(np.any([one.group >= 0 for one in told], axis=0))
            targets = [Target((int(atom),), "ill", value) for atom in covered for value in ILL]
            verdicts = CountSystem.of(space, told).verdicts(targets, 600.0, reals=True)
            share = [one is Verdict.DETERMINED for one in verdicts]
            size = space.people.sizes[[one.atoms[0] for one in targets]]
            yield tables, float(np.mean(share)), float(np.average(share, weights=size))

    return lambda: [[n, round(share, 4), round(of_people, 4)] for n, share, of_people in shares()]


CONTESTANTS = {"pair": pair, "stored": stored, "workspace": workspace, "law": law}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument(
        "--law", type=Path, help="file for the shares of counts that are determined, and the growth in releases"
    )
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    people, tables = (100_000, 100) if chosen.quick else (1_000_000, 1_000)

    def one(name: str, **given: Any) -> Any:
        return contest("exposure", [name], given, turns=1)[name]

    refused = one("pair")
    assert refused.answer == "refused"
    checked = one("stored", people=people, tables=tables)
    rows = [["the pair", "1", "400", f"{refused.cpu:.2f}", f"{refused.memory:.0f}", "refused"]]
    growth = {"tables": (10, 100, 300), "people": (10_000, 100_000), "cells": (1, 3)}
    changes = [{name: value} for name, values in growth.items() for value in values]
    varied: list[dict[str, int]] = [{}, *([] if chosen.quick else changes)]
    growing: list[tuple[int, float]] = []
    for change in varied:
        size = {"people": people, "tables": tables} | change
        held = checked if not change else one("stored", **size)
        if not {"people", "cells"} & change.keys():
            growing.append((size["tables"], held.answer["check"]))
        rows.append(
            [
                ", ".join(f"{name} {value:,}" for name, value in change.items()) or "stored",
                f"{size['tables']:,}",
                f"{size['people']:,}",
                f"{held.answer['check']:.2f}",
                f"{held.memory:.0f}",
                f"{held.answer['said']}, {held.answer['atoms']:,} atoms",
            ]
        )
    added = one("workspace", releases=20)
    rows.append(["a workspace, on top", "20", "20,000", f"{added.answer['on top']:.2f}", f"{added.memory:.0f}", ""])
    report(rows, ("", "releases", "people", "CPU s", "MB", ""))
    shares = one("law", people=people, most=tables)
    print()
    report(
        [[f"{n:,}", f"{share:.1%}", f"{of_people:.1%}"] for n, share, of_people in shares.answer],
        ("tables", "of all counts determined", "weighted by people"),
    )
    print(f"\n{shares.cpu:.1f} CPU s")
    if chosen.law:
        kept = {"people": people, "shares": shares.answer, "growth": sorted(growing)}
        chosen.law.write_text(json.dumps(kept) + "\n")
    result(
        pair_cpu_s=(refused.cpu, 1.0, True),
        stored_cpu_s=(checked.answer["check"], 60.0, True),
        stored_mb=(checked.memory, 2048.0, True),
        workspace_cpu_s=(added.answer["on top"], 1.0, True),
    )


if __name__ == "__main__":
    main()

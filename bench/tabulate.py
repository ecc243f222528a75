"""Protecting tables: how much is hidden, how long it takes, and what an audit costs.

Tables are made up: the respondents of an inner cell are many or few, their contributions log-normal, and a tenth of
the cells is empty; sensitive is what the p% rule with p = 10 says. Seeds are in ``TABLES``. Where many cells are
sensitive they protect each other; few are the harder case. All run in processes of their own.

- ``optimum``: small tables, ours beside one integer program with a flow of its own for every sensitive cell and side,
  given to HiGHS as a whole: the weight hidden must be the same. No table protection package is installable here; the
  program is what their optimal methods solve.
- ``nested``, ``plain``, ``cube``: tables of up to 90,000 cells, by value: CPU s, the proven gap, cells hidden. The cube
  is protected part by part, and certified as a whole.
- ``audit``: the exact interval of every hidden cell of about 10,000, beside SciPy's linear programs on the same
  system, of which a few are run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.harness import Measured, contest, options, report, result, take_part

Work = Callable[[], object]

TABLES: dict[str, tuple[list[list[int]], int, float]] = {
    "9 × 17": ([[8], [16]], 1, 20),
    "15 × 15": ([[14], [14]], 2, 20),
    "4 × 5 × 6": ([[3], [4], [5]], 3, 20),
    "nested 13 × 9": ([[3, 3], [2, 3]], 4, 20),
    "nested 45 × 37": ([[4, 10], [6, 5]], 5, 15),
    "nested 75 × 45": ([[6, 4, 2], [4, 10]], 6, 15),
    "100 × 100": ([[99], [99]], 7, 30),
    "300 × 300": ([[299], [299]], 8, 30),
    "300 × 300, few sensitive": ([[299], [299]], 8, 100),
    "37 × 37 × 37, nested": ([[6, 5], [6, 5], [6, 5]], 9, 30),
    "37 × 37 × 37, many sensitive": ([[6, 5], [6, 5], [6, 5]], 10, 8),
}
"""For each side into how many parts every total falls, level by level; a seed; how many respondents a cell has."""
SMALL = ("9 × 17", "15 × 15", "4 × 5 × 6", "nested 13 × 9")
MINUTES = 60.0
_GAP, _FEW = 0.02, 40


def made(name: str) -> tuple[Any, Any]:
    """A table and what must be kept from intruders; nobody is looked at as an insider, as in the packages' optima."""
    from dataclasses import replace

    import numpy as np

    from discreet.verbs.tabulate.protection import protect
    from discreet.verbs.tabulate.rules import parse_rules
    from discreet.verbs.tabulate.tables.cells import Cells
    from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, summed
    from discreet.verbs.tabulate.tables.respondents import merged

    shape, seed, people = TABLES[name]
    sides = tuple(_side(f"side {place}", parts) for place, parts in enumerate(shape))
    rng = np.random.default_rng(seed)
    inner = tuple(len(side.leaves) for side in sides)
    counts = rng.poisson(people * rng.lognormal(0, 1, inner))
    counts[rng.random(inner) < 0.1] = 0
    whose = np.repeat(np.arange(counts.size), counts.ravel())
    given = np.ceil(100 * rng.lognormal(0, 1.6, len(whose))).astype(np.int64)
    order = np.lexsort((-given, whose))
    rank = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts.ravel(), counts.ravel())
    largest = np.zeros((counts.size, 2), np.int64)
    for place in (0, 1):
        largest[whose[order][rank == place], place] = given[order][rank == place]
    known = Contributions(summed(sides, counts), merged(sides, largest.reshape(*inner, 2)))
    total = np.zeros(counts.size, np.int64)
    np.add.at(total, whose, given)
    cells = Cells.of(CrossTable(sides, summed(sides, total.reshape(inner)), "value", 0, known))
    return cells, replace(protect(cells, parse_rules("p=10")), insiders=(), within=())


def ours(table: str, how: str, seconds: float, **_: object) -> Work:
    import numpy as np

    from discreet.verbs.tabulate.intruder.audit import short
    from discreet.verbs.tabulate.method import ProtectionProblem
    from discreet.verbs.tabulate.suppress.suppress import Suppress

    _warm()
    cells, protection = made(table)
    way = Suppress(how, seconds=seconds)

    def work() -> object:
        outcome = way.apply(ProtectionProblem(cells, protection))
        assert outcome.pattern is not None
        assert not short(cells, protection, outcome.hidden), "a sensitive cell is short of its interval"
        return {
            "cells": len(cells),
            "sensitive": int(protection.sensitive.sum()),
            "added": int((outcome.hidden & ~protection.sensitive).sum()),
            "weight": float(np.abs(cells.values)[outcome.hidden & ~protection.sensitive].sum()),
            "gap": outcome.pattern.gap,
        }

    return work


def whole(table: str, **_: object) -> Work:
    """One program: which cells are hidden, and for each sensitive cell and side changes that only hidden cells make."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import block_diag, csr_array, eye_array, hstack, vstack

    cells, protection = made(table)
    size = len(cells)
    asked = [
        (cell, sign, level)
        for cell in np.flatnonzero(protection.sensitive)
        for sign, level in ((1, protection.above[cell]), (-1, protection.below[cell]))
        if level > 0
    ]
    flows = len(asked)
    most = [np.full(size, float(level)) for _, _, level in asked]
    fall = [np.minimum(one, cells.values - cells.lower) for one in most]
    keep = block_diag([cells.relations.astype(float)] * flows, format="csr")
    rows = [hstack([csr_array((keep.shape[0], size)), keep])]
    low, high = [np.zeros(keep.shape[0])], [np.zeros(keep.shape[0])]
    moves = eye_array(flows * size, format="csr")
    rise = vstack([csr_array(np.diag(one)) for one in most])
    drop = vstack([csr_array(np.diag(one)) for one in fall])
    rows += [hstack([-rise, moves]), hstack([drop, moves])]
    low += [np.full(flows * size, -np.inf), np.zeros(flows * size)]
    high += [np.zeros(flows * size), np.full(flows * size, np.inf)]
    least = np.concatenate([protection.sensitive.astype(float), np.full(flows * size, -np.inf)])
    top = np.concatenate([(protection.sensitive | (cells.values > 0)).astype(float), np.full(flows * size, np.inf)])
    for number, (cell, sign, level) in enumerate(asked):
        least[size * (number + 1) + cell] = top[size * (number + 1) + cell] = sign * level
    cost = np.concatenate([np.where(protection.sensitive, 0.0, np.maximum(cells.values, 1)), np.zeros(flows * size)])
    whole_numbers = np.concatenate([np.ones(size), np.zeros(flows * size)])
    limits = LinearConstraint(vstack(rows, format="csr"), np.concatenate(low), np.concatenate(high))

    def work() -> object:
        found = milp(cost, constraints=limits, bounds=Bounds(least, top), integrality=whole_numbers)
        return {"weight": round(float(found.fun))}

    return work


def audited(table: str, **_: object) -> Work:
    from discreet.verbs.tabulate.intruder.audit import intervals

    _warm()
    cells, hidden = _protected(table)

    def work() -> object:
        found = intervals(cells, hidden)
        wide = found.high - found.low
        return {"hidden": int(hidden.sum()), "determined": int((hidden & (wide == 0)).sum())}

    return work


def audited_by_scipy(table: str, few: int, **_: object) -> Work:
    """The same intervals of a few cells, each by two linear programs over all hidden cells."""
    import numpy as np
    from scipy.optimize import linprog

    from discreet.verbs.tabulate.intruder.audit import intervals

    cells, hidden = _protected(table)
    which = np.flatnonzero(hidden)
    system = cells.relations[:, which].astype(float)
    rest = -(cells.relations.astype(float) @ np.where(hidden, 0, cells.values))
    some = np.random.default_rng(1).choice(len(which), few, replace=False)
    told = intervals(cells, hidden, only=which[some])

    def work() -> object:
        for place in some:
            goal = np.zeros(len(which))
            goal[place] = 1.0
            for sign, ours_says in ((1, told.low), (-1, told.high)):
                found = linprog(sign * goal, A_eq=system, b_eq=rest, bounds=(0, None), method="highs")
                said = sign * found.fun if found.status == 0 else np.inf * -sign
                assert np.isclose(said, ours_says[which[place]], rtol=1e-6, atol=1e-6), "an interval is wrong"
        return {"programs": 2 * few}

    return work


CONTESTANTS: dict[str, Callable[..., Work]] = {
    "ours": ours,
    "whole": whole,
    "audited": audited,
    "audited_by_scipy": audited_by_scipy,
}


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    worst, lines = 0.0, []
    for table in SMALL[: 2 if chosen.quick else None]:
        mine, plain = (_once(one, table=table, how="optimal", seconds=MINUTES) for one in ("ours", "whole"))
        hidden, best = _told(mine)["weight"], _told(plain)["weight"]
        worst = max(worst, hidden / best if best else 1.0)
        lines.append([table, f"{hidden:,.0f}", f"{best:,.0f}", f"{mine.cpu:.2f}", f"{plain.cpu:.2f}"])
    report(lines, ["optimum: table", "hidden by us", "one program", "our CPU s", "its CPU s"])
    figures = {"weight_over_optimum": (worst, 1.0, True)}
    large = [("nested 45 × 37", "optimal", 60.0), ("nested 75 × 45", "optimal", 60.0), ("100 × 100", "optimal", 60.0)]
    if not chosen.quick:
        large += [("300 × 300", "optimal", 540.0), ("300 × 300, few sensitive", "optimal", 540.0)]
        large += [("37 × 37 × 37, nested", "fast", 840.0), ("37 × 37 × 37, nested", "modular", 840.0)]
    lines = []
    for table, how, seconds in large:
        found = _once("ours", table=table, how=how, seconds=seconds)
        told = _told(found)
        lines.append(
            [
                f"{table} ({how})",
                *(f"{told[one]:,.0f}" for one in ("cells", "sensitive", "added", "weight")),
                f"{told['gap']:.2%}",
                f"{found.cpu:.1f}",
                f"{found.memory:.0f}",
            ]
        )
        if table == "300 × 300":
            figures |= {"plain_gap": (told["gap"], _GAP, True), "plain_cpu_s": (found.cpu, 600.0, True)}
        if how == "modular":
            figures["cube_cpu_s"] = (found.cpu, 900.0, True)
    print()
    report(lines, ["table", "cells", "sensitive", "added", "weight", "gap", "CPU s", "MB"])
    name = "100 × 100" if chosen.quick else "37 × 37 × 37, many sensitive"
    ran, peer = _once("audited", table=name), _once("audited_by_scipy", table=name, few=_FEW if not chosen.quick else 5)
    told, each = _told(ran), peer.cpu / _told(peer)["programs"]
    ratio = each * 2 * told["hidden"] / ran.cpu
    print(
        f"\naudit, {name}: {told['hidden']:,.0f} hidden cells, {told['determined']:,.0f} determined: "
        f"{ran.cpu:.1f} CPU s; SciPy {each:.2f} CPU s a program, {ratio:,.0f} × as long for all"
    )
    result(**figures, audit_cpu_s=(ran.cpu, 600.0, True), audit_speed_up=(ratio, 1.0, False))


def _side(name: str, parts: list[int]) -> Any:
    from itertools import product

    from discreet.verbs.tabulate.tables.crosstable import Dimension

    def path(places: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(".".join(map(str, places[: depth + 1])) for depth in reversed(range(len(places))))

    return Dimension.from_paths(name, [path(places) for places in product(*map(range, parts))])


def _protected(table: str) -> tuple[Any, Any]:
    """A table and what is hidden of it."""
    from discreet.verbs.tabulate.method import ProtectionProblem
    from discreet.verbs.tabulate.suppress.suppress import Suppress

    cells, protection = made(table)
    return cells, Suppress("fast", seconds=300.0).apply(ProtectionProblem(cells, protection)).hidden


def _warm() -> None:
    """Compile off the clock."""
    from discreet.verbs.tabulate.method import ProtectionProblem
    from discreet.verbs.tabulate.suppress.suppress import Suppress

    for name in ("9 × 17", "nested 13 × 9"):
        cells, protection = made(name)
        for how in ("optimal", "modular"):
            Suppress(how, seconds=5.0).apply(ProtectionProblem(cells, protection))


def _once(contestant: str, **arguments: object) -> Measured:
    return contest("tabulate", [contestant], arguments, turns=1)[contestant]


def _told(measured: Measured) -> dict[str, float]:
    assert isinstance(measured.answer, dict)
    return measured.answer


if __name__ == "__main__":
    main()

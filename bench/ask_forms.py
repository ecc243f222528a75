"""Totals, several quantiles and the largest group, each for one epsilon: how far off answers are, beside OpenDP's.

The same people, and the same loss for each whole question. Ours is asked in SQL. OpenDP has no totals, so its three
groupings share the epsilon; so do its three quantiles, among the same 1,024 candidates; its largest group is chosen by
``noisy_max``. The largest of noisy counts is there for comparison. Peers are asked if ``--peer-python`` names an
interpreter that has ``opendp``. SmartNoise has none of the three; the versions that can be installed beside OpenDP 0.16
are none.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from bench.harness import contest, options, report, result, take_part

PEOPLE = 20_000
FIRST, SECOND = [f"a{n}" for n in range(4)], [f"b{n}" for n in range(5)]
KINDS = [f"c{n:02}" for n in range(20)]
MOST = 100.0
SHARES = (0.25, 0.5, 0.75)
CANDIDATES = [(2 * n + 1) * MOST / 2048 for n in range(1024)]
EPSILON, LITTLE = "1", "0.02"
"""For figures; and for a choice, which is hardly ever wrong at more."""
OURS, COUNTS, OPENDP = "discreet", "largest of noisy counts", "OpenDP"
FORMS = ("ROLLUP", "quantiles", "largest group")
CLOSE = 1.05
"""How much more of an error is taken for none: mechanisms are drawn from."""
Answers = dict[str, Callable[[], Any]]


def people() -> list[tuple[str, str, str, float]]:
    """Groups of many sizes, lopsided numbers, and kinds of which the first two are nearly as frequent."""
    draw = random.Random(1)  # noqa: S311
    weights = [1.02, *(1 / (1 + n / 9) for n in range(len(KINDS) - 1))]
    kinds = draw.choices(KINDS, weights, k=PEOPLE)
    return [
        (draw.choice(FIRST), draw.choice(SECOND), kind, min(draw.lognormvariate(3, 0.6), MOST - 1e-9)) for kind in kinds
    ]


def ours() -> Answers:
    """Asked in SQL."""
    import pyarrow as pa

    from discreet.core.card import Card, Column
    from discreet.core.kind import Kind
    from discreet.engines.read import read
    from discreet.verbs.ask.answer import answer
    from discreet.verbs.ask.plan import plan
    from discreet.verbs.ask.price import price

    columns = (
        *(
            Column(name, Kind.TEXT, categories=tuple(some))
            for name, some in zip("abc", (FIRST, SECOND, KINDS), strict=True)
        ),
        Column("x", Kind.REAL, bounds=(0.0, MOST)),
    )
    rows = {name: list(values) for name, values in zip("abcx", zip(*people(), strict=True), strict=True)}
    tables = {"t": read(pa.table(rows), Card("t", columns))}

    def asked(text: str, epsilon: str) -> Callable[[], dict[str, list[Any]]]:
        made = plan(text, tables)
        paid = price(made, epsilon)
        return lambda: answer(made, paid).to_pydict()

    totals = asked("SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b)", EPSILON)
    quantiles = asked(f"SELECT QUANTILE_CONT(x, {list(SHARES)}) AS q FROM t", EPSILON)
    largest = asked("SELECT c FROM t GROUP BY c ORDER BY COUNT(*) DESC LIMIT 1", LITTLE)
    shown = asked("SELECT c, COUNT(*) AS n FROM t GROUP BY c ORDER BY n DESC LIMIT 1", LITTLE)

    def rollup() -> dict[tuple[str | None, str | None], int]:
        found = totals()
        return dict(zip(zip(found["a"], found["b"], strict=True), found["n"], strict=True))

    return {
        "ROLLUP": rollup,
        "quantiles": lambda: _first(quantiles()),
        "largest group": lambda: largest()["c"][0],
        COUNTS: lambda: shown()["c"][0],
    }


def _first(found: dict[str, list[Any]]) -> list[float]:
    return [values[0] for name, values in found.items() if not name.endswith("_error")]


def opendp() -> Answers:
    """Asked by its building blocks, which spend no time on planning."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows = people()
    texts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    numbers = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()

    def counts(values: list[str], categories: list[str], epsilon: float) -> Callable[[], dict[str, int]]:
        made = texts >> dp.t.then_count_by_categories(categories, null_category=False) >> dp.m.then_laplace(1 / epsilon)
        return lambda: dict(zip(categories, made(values), strict=True))

    cells = [f"{a} {b}" for a, b in product(FIRST, SECOND)]
    third = float(EPSILON) / 3
    groupings = [
        counts([f"{a} {b}" for a, b, *_ in rows], cells, third),
        counts([f"{a} *" for a, *_ in rows], [f"{a} *" for a in FIRST], third),
        counts(["* *"] * len(rows), ["* *"], third),
    ]

    def rollup() -> dict[tuple[str | None, ...], int]:
        told = {key: n for grouping in groupings for key, n in grouping().items()}
        return {tuple(None if part == "*" else part for part in key.split()): n for key, n in told.items()}

    values = [x for *_, x in rows]

    def quantile(share: float) -> Callable[[], float]:
        scored = numbers >> dp.t.then_quantile_score_candidates(CANDIDATES, share)
        chosen = dp.binary_search_chain(
            lambda scale: scored >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True), 1, third
        )
        return lambda: CANDIDATES[chosen(values)]

    quantiles = [quantile(share) for share in SHARES]
    kinds = [kind for _, _, kind, _ in rows]
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32", monotonic=True)
    largest = dp.binary_search_chain(
        lambda scale: space >> dp.m.then_noisy_max(dp.max_divergence(), scale), 1, float(LITTLE)
    )
    counted = Counter(kinds)
    many = [counted[kind] for kind in KINDS]
    return {
        "ROLLUP": rollup,
        "quantiles": lambda: [one() for one in quantiles],
        "largest group": lambda: KINDS[largest(many)],
    }


def errors(name: str) -> Callable[..., Callable[[], object]]:
    """Many answers of each form: root mean square errors of totals, and how far others are off in the mean."""

    def start(folder: str, times: int, pythons: dict[str, str]) -> Callable[[], object]:
        python = pythons.get(name, sys.executable)
        if sys.executable != python:
            os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
        asked = {OURS: ours, OPENDP: opendp}[name]()

        def work() -> object:
            far = {form: math.fsum(_far(form, ask()) for _ in range(times)) / times for form, ask in asked.items()}
            far["ROLLUP"] = math.sqrt(far["ROLLUP"])
            (Path(folder) / f"{name}.json").write_text(json.dumps(far))
            return len(FORMS)

        return work

    return start


_ROWS: list[tuple[str, str, str, float]] = []


def _far(form: str, told: Any) -> float:
    """How far an answer is off: squared, of totals; in the column's unit, of quantiles; in people, of choices."""
    rows = _ROWS or _ROWS.extend(people()) or _ROWS
    if form == "ROLLUP":
        true = Counter((one, other) for a, b, *_ in rows for one, other in ((a, b), (a, None), (None, None)))
        assert told.keys() == true.keys()
        return math.fsum((n - true[key]) ** 2 for key, n in told.items()) / len(true)
    if form == "quantiles":
        values = sorted(x for *_, x in rows)
        true = [values[int(share * len(values))] for share in SHARES]
        return math.fsum(abs(one - other) for one, other in zip(told, true, strict=True)) / len(SHARES)
    counts = Counter(kind for _, _, kind, _ in rows)
    return max(counts.values()) - counts[told]


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with opendp")
    chosen = parser.parse_args()
    contestants = {name: errors(name) for name in (OURS, OPENDP)}
    if chosen.contestant:
        take_part(contestants, chosen)
        return
    pythons = {OPENDP: chosen.peer_python} if chosen.peer_python else {}
    with tempfile.TemporaryDirectory() as folder:
        told = {"folder": folder, "times": 40 if chosen.quick else 400, "pythons": pythons}
        contest("ask_forms", [OURS, *pythons], told, turns=1)
        far = {name: json.loads((Path(folder) / f"{name}.json").read_text()) for name in (OURS, *pythons)}
    far[COUNTS] = {"largest group": far[OURS].pop(COUNTS)}
    report(
        [[name, *(f"{one[form]:.3f}" if form in one else "–" for form in FORMS)] for name, one in far.items()],
        ["how far off", *FORMS],
    )
    figures = {"choice_to_noisy_counts": (far[OURS][FORMS[2]] / far[COUNTS][FORMS[2]], 1.0, True)}
    for name in pythons:
        for form in FORMS:
            ratio = far[OURS][form] / far[name][form]
            figures[f"{form.replace(' ', '_').lower()}_to_{name.lower()}"] = (ratio, CLOSE, True)
    result(**figures)


if __name__ == "__main__":
    main()

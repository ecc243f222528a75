"""All two-way tables of Adult at epsilon 1: how far off, made as one macro-table and counted one by one.

Counted one by one, each of the 36 tables gets discrete Laplace noise for a thirty-sixth of epsilon. What theory
predicts for both is worked out in closed form from the numbers of categories alone: variances, and from the
characteristic functions of the noises the expected sizes of errors. It is compared with what is measured over several
runs, before and after counts are made whole numbers and not below zero. That all tables agree exactly is asserted in
every run.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.adult import NAMES, adult, from_samples
from bench.harness import options, report, result

EPSILON = 1
RUNS, FEW = 100, 20
MOST_STANDARD_ERRORS = 4.0
LEAST_FACTOR = 1.5
Numbers = np.ndarray[Any, Any]


# -- what theory predicts


def expected_size(draws: Sequence[Any]) -> float:
    """E|x| of a sum of discrete Laplace noises: 2/π ∫ (1 - φ(t)) / t² dt over t > 0, φ the characteristic function.

    φ of one draw of variance V is 1 / (1 + V (1 - cos t)). In units of the sum's deviation the integrand is 1/2 at
    zero, and beyond 40 what is left of the integral is that of 1 / t², as long as φ is small there.
    """
    deviation = math.sqrt(sum(one.variance for one in draws))
    t = np.linspace(0, 40, 8_001)[1:] / deviation
    logs = np.zeros_like(t)
    for one in draws:
        for size, times in zip(one.sizes, one.times, strict=True):
            logs -= times * np.log1p(2 * one.noise.variance * np.sin(size * t / 2) ** 2)
    inside = np.concatenate([[deviation**2 / 2], (1 - np.exp(logs)) / t**2])
    return float(2 / math.pi * (np.trapezoid(inside, np.concatenate([[0.0], t])) + 1 / t[-1]))


# -- what is measured


def measured(plan: Any, noise: Any, true: Sequence[Numbers], tables: dict[Any, Numbers]) -> dict[str, float]:
    """The summed sizes of the errors of all cells of all tables in one run, each way."""
    from discreet.noise.entropy import SYSTEM

    alone = [noise.add_all(table, SYSTEM) for table in tables.values()]
    noisy = [one.add_all(table, SYSTEM) for one, table in zip(plan.counts.noises, true, strict=True)]
    agreed = plan.counts.agreed(noisy)
    near = {columns: plan.counts.table(agreed, columns) for columns in plan.workload.printed}
    whole = plan.whole(near)
    for columns, table in tables.items():
        assert whole[columns].min() >= 0
        for name in columns:
            axis = [one for one in plan.sides if one in columns and one != name]
            place = [one for one in plan.sides if one in columns].index(axis[0])
            assert (whole[columns].sum(axis=place) == whole[frozenset([name])]).all(), "tables agree exactly"
        assert whole[columns].shape == table.shape
    off = {
        "one by one": zip(alone, tables.values(), strict=True),
        "least squares": [(near[columns], table) for columns, table in tables.items()],
        "whole": [(whole[columns], table) for columns, table in tables.items()],
    }
    return {name: float(sum(np.abs(a - b).sum() for a, b in pairs)) for name, pairs in off.items()}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--data", metavar="FOLDER", help="where adult.csv and its hierarchies are")
    chosen = parser.parse_args()

    from discreet.core.loss import Pure
    from discreet.noise.deviation import Weighted
    from discreet.noise.laplace import DiscreteLaplace
    from discreet.verbs.tabulate.private.macro_table import MacroTable

    with tempfile.TemporaryDirectory() as folder:
        if not chosen.data:
            from_samples(Path(folder), None)
        table = adult(Path(chosen.data or folder))
    began = time.process_time()
    plan = MacroTable.every(NAMES, 2, epsilon=EPSILON, levels=False).plan(table.card)
    planned = time.process_time() - began
    silent = replace(plan.counts, noises=(DiscreteLaplace("1/1000"),) * len(plan.counts.noises))
    true = silent.measure(table)
    tables = {columns: silent.table(true, columns) for columns in plan.workload.tables}
    noise = DiscreteLaplace.for_loss(Pure(f"{EPSILON}/{len(tables)}"))

    one = [Weighted(noise, np.ones(1), np.ones(1))]
    precision = plan.counts.precision
    cells = {columns: dict.fromkeys(columns, 1) for columns in tables}
    sizes = {columns: plan.workload.size(columns) for columns in tables}
    predicted = {
        "one by one": sum(sizes.values()) * expected_size(one),
        "least squares": sum(sizes[columns] * expected_size(precision.weights(cells[columns])) for columns in tables),
    }
    squares = sum(sizes[columns] * precision.variance(cells[columns]) for columns in tables)
    squares_apart = sum(sizes.values()) * noise.variance

    began = time.process_time()
    runs = [measured(plan, noise, true, tables) for _ in range(FEW if chosen.quick else RUNS)]
    each = (time.process_time() - began) / len(runs)
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    spread = {name: float(np.std([run[name] for run in runs], ddof=1)) / math.sqrt(len(runs)) for name in runs[0]}
    print(
        f"{table.count():,} rows, {len(tables)} tables of {sum(sizes.values()):,} cells in all, epsilon {EPSILON}; "
        f"{len(plan.counts.sets)} tables are counted; planned in {planned:.2f} CPU s, each of {len(runs)} runs "
        f"{each:.2f} CPU s"
    )
    lines = [
        [
            name,
            f"{predicted[name]:,.0f}" if name in predicted else "",
            f"{mean[name]:,.0f} ± {spread[name]:,.0f}",
            f"{mean['one by one'] / mean[name]:.2f}",
        ]
        for name in mean
    ]
    report(lines, ["summed size of all errors", "predicted", "measured", "× less"])
    factor = predicted["one by one"] / predicted["least squares"]
    print(f"predicted: {factor:.3f} × less in size, {squares_apart / squares:.3f} × less in squares")
    off = max(abs(mean[name] - predicted[name]) / spread[name] for name in predicted)
    result(
        l1_factor_predicted=(factor, LEAST_FACTOR, False),
        l1_factor_measured=(mean["one by one"] / mean["least squares"], LEAST_FACTOR, False),
        off_in_standard_errors=(off, MOST_STANDARD_ERRORS, True),
        l1_factor_whole=(mean["one by one"] / mean["whole"], factor, False),
    )


if __name__ == "__main__":
    main()

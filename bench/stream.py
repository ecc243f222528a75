"""Streams: the largest error of our counter beside the tree, the square root and what no factorisation can beat.

All with Gaussian noise at the same loss, so that errors are ratios of standard deviations, worked out exactly and not
drawn. The square root has the smallest largest error of all lower triangular Toeplitz factorisations. No factorisation
at all can have less than ‖A‖* / n, with A the matrix of prefix sums (Matoušek, Nikolov, Talwar 2020): the best lies
between. Then a step of the counter, and a step of a stream in a workspace, which waits for the disk three times.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from bench.harness import options, report, result

STEPS = (100, 1_000, 10_000, 100_000)
GOAL_STEPS = 10_000
GOAL = 1.01
TREE_GOAL = 3.0
MOST_MEMORY = 20
"""Whole numbers that a counter of 10,000 steps may remember."""


def square_root(steps: int) -> float:
    """The largest error of the square root, in deviations at ρ = 1/2: Σ g²."""
    series = np.concatenate(([1.0], np.cumprod(1 - 1 / (2 * np.arange(1, steps)))))
    return float((series**2).sum())


def tree(steps: int) -> float:
    """That of the binary tree: a change is in one stretch of each length, a total made of up to as many."""
    levels = steps.bit_length()
    most = max((2 ** (levels - 1) - 1).bit_count(), steps.bit_count())
    return math.sqrt(levels * most)


def least(steps: int) -> float:
    """‖A‖* / n: the singular values of prefix sums are 1 / (2 sin((2j - 1) π / (4n + 2)))."""
    j = np.arange(1, steps + 1)
    return float((1 / (2 * np.sin((2 * j - 1) * np.pi / (4 * steps + 2)))).mean())


def counter_step(steps: int) -> float:
    """CPU microseconds of a step."""
    from discreet.core.loss import Concentrated
    from discreet.noise.continual import BufferedCounter

    counter = BufferedCounter.for_loss(Concentrated(1), GOAL_STEPS)
    state, began = counter.start(), time.process_time()
    for value in range(steps):
        state = counter.advance(state, value)
    return (time.process_time() - began) / steps * 1e6


def durable_step(steps: int) -> float:
    """CPU milliseconds of a step of a stream in a workspace, with ten rows."""
    import discreet as dc

    columns = (dc.Column("who", dc.Kind.INTEGER, "identifier"), dc.Column("sex", dc.Kind.TEXT, categories=["F", "M"]))
    card = dc.Card("visits", columns, unit="who", rows_per_unit=5)
    rows = pa.table({"who": list(range(10)), "sex": ["F", "M"] * 5})
    with TemporaryDirectory() as scratch:
        place = Path(scratch) / "clinic"
        with dc.Curator.create(place, {"visits": (rows, card)}, dc.Concentrated(1)) as curator:
            stream = curator.stream(dc.Stream("arrivals", 1_000, by=["sex"], rho="1/2"), "visits")
            began = time.process_time()
            for _ in range(steps):
                stream.advance(rows)
            return (time.process_time() - began) / steps * 1e3


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    from discreet.core.loss import Concentrated
    from discreet.noise.continual import BufferedCounter

    rows, ratios, memory = [], {}, 0
    for steps in STEPS[:3] if chosen.quick else STEPS:
        counter = BufferedCounter.for_loss(Concentrated("1/2"), steps)
        ours, remembered = math.sqrt(counter.variance(steps)), len(counter.start())
        beside = {"square root": square_root(steps), "tree": tree(steps), "least": least(steps)}
        errors = [f"{one:.4f}" for one in (ours, *beside.values(), ours / beside["square root"])]
        rows.append([f"{steps:,} steps", *errors, str(remembered)])
        if steps == GOAL_STEPS:
            ratios, memory = {name: ours / one for name, one in beside.items()}, remembered
    report(rows, ["largest error", "ours", "square root", "tree", "no less than", "ours / square root", "remembers"])
    took = counter_step(200 if chosen.quick else 2_000)
    durable = durable_step(5 if chosen.quick else 50)
    print(f"\na step of the counter takes {took:.0f} CPU µs; of a stream in a workspace {durable:.1f} CPU ms")
    result(
        error_to_best_toeplitz=(ratios["square root"], GOAL, True),
        error_of_tree_to_ours=(1 / ratios["tree"], TREE_GOAL, False),
        error_to_no_less_than=(ratios["least"], 1.12, True),
        numbers_remembered=(memory, MOST_MEMORY, True),
    )


if __name__ == "__main__":
    main()

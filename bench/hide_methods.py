"""Hiding itemsets in made-up baskets in the manner of T10I4D100K: how long each way takes, and what it loses.

Several requests: five itemsets of medium support, five of the most frequent ones, twenty of all kinds, and five with a
margin of a fifth. Every way must hide all of them (checked by mining), no heuristic may take longer than a minute, and
the exact way must lose at most as many non-sensitive itemsets as the best heuristic on every request.
"""

from __future__ import annotations

import time
from typing import Any

from bench.harness import options, report, result

SHARE = 0.005
MINUTE = 60.0


def requests(sets: list[tuple[int, frozenset[str]]]) -> dict[str, tuple[list[frozenset[str]], float]]:
    """Names of requests, each with its itemsets and its margin. ``sets`` are itemsets of two or more, by support."""
    middle = [one for _, one in sets[len(sets) // 2 :: max(1, len(sets) // 12)]][:5]
    return {
        "5 of medium support": (middle, 0.0),
        "the 5 most frequent": ([one for _, one in sets[-5:]], 0.0),
        "20 of all kinds": ([one for _, one in sets[:: len(sets) // 20]][:20], 0.0),
        "5, margin 20 %": (middle, 0.2),
    }


def tried(problem: Any, way: Any) -> dict[str, Any]:
    """What one way does to one request."""
    from discreet.verbs.hide.io import found_in

    begun, clock = time.process_time(), time.perf_counter()
    outcome = way.apply(problem)
    cpu, wall = time.process_time() - begun, time.perf_counter() - clock
    effects = problem.effects(outcome.after)
    return {
        "lost": len(effects.itemsets.lost),
        "new": len(effects.itemsets.artificial),
        "taken": effects.taken_out,
        "visible": len(found_in(outcome.after, problem.secrets)),
        "cpu": cpu,
        "wall": wall,
        "proved": dict(outcome.facts).get("fewest non-sensitive itemsets lost", ""),
    }


def main() -> None:
    """Print a table for each request, and the figures."""
    chosen = options(__doc__ or "").parse_args()
    from discreet.samples.baskets import baskets
    from discreet.verbs.hide.methods.exact import HEURISTICS, Exact
    from discreet.verbs.hide.mining.frequent import frequent, least_of
    from discreet.verbs.hide.problem import HidingProblem
    from discreet.verbs.hide.secrets import Thresholds, parse_secrets
    from discreet.verbs.hide.transactions import Transactions

    rows = 10_000 if chosen.quick else 100_000
    held = Transactions.of(baskets(rows))
    mined = frequent(held, least_of(SHARE, rows))
    sets = sorted(
        ((support, one) for one, support in mined if len(one) > 1), key=lambda pair: (pair[0], sorted(pair[1]))
    )
    slowest, worse, failures, appeared = 0.0, -(10**9), 0, 0
    for name, (secrets, margin) in requests(sets).items():
        thresholds = Thresholds.of(rows, SHARE, None, margin)
        problem = HidingProblem(held, parse_secrets(held, secrets, (), thresholds), thresholds.least)
        found = {way.name: tried(problem, way) for way in (*HEURISTICS, Exact(seconds=10 if chosen.quick else 60))}
        print(f"\n{name}, of {len(mined):,} frequent itemsets:")
        lines = [
            [way, f"{one['lost']:,}", f"{one['taken']:,}", f"{one['cpu']:.2f}", f"{one['wall']:.2f}", one["proved"]]
            for way, one in found.items()
        ]
        report(lines, ["", "lost", "removed", "CPU s", "s", "fewest lost"])
        exact = found.pop("exact")
        best = min(one["lost"] for one in found.values())
        slowest = max(slowest, *(one["wall"] for one in found.values()))
        worse = max(worse, exact["lost"] - best)
        failures += exact["visible"] + sum(one["visible"] for one in found.values())
        appeared += exact["new"] + sum(one["new"] for one in found.values())
    result(
        slowest_heuristic_seconds=(slowest, MINUTE, True),
        exact_lost_over_best_heuristic=(float(worse), 0.0, True),
        secrets_still_visible=(float(failures), 0.0, True),
        artificial_itemsets=(float(appeared), 0.0, True),
    )


if __name__ == "__main__":
    main()

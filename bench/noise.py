"""Exact discrete noise: ours beside OpenDP's, in arrays and one at a time.

Ours includes building the tables. Both samples are compared: they must be of one law. OpenDP may live in an
interpreter of its own (--peer-python), where it needs no other package. Without it, only ours is measured.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from bench.harness import RESULT, options, report, result, take_part

ARRAY_GOAL, SINGLE_GOAL = 20, 3
SCALES = (3, 3000)
POINTS = (-2, -1, 0, 1, 2)
CHECKED = 5_000
FALSE_ALARM = 1e-9


def ours(noise: str, scale: int, count: int, single: bool) -> Callable[[], object]:
    import numpy as np

    from discreet.noise.additive import Additive
    from discreet.noise.gaussian import DiscreteGaussian
    from discreet.noise.laplace import DiscreteLaplace

    made: Additive = DiscreteLaplace(scale) if noise == "Laplace" else DiscreteGaussian(scale**2)
    values = np.zeros(count, dtype=np.int64)
    if single:
        return lambda: shares([made.add(0) for _ in range(count)], scale)
    return lambda: shares(made.add_all(values), scale)


def opendp(noise: str, scale: int, count: int, single: bool) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    make: Any = dp.m.make_laplace if noise == "Laplace" else dp.m.make_gaussian
    one = dp.atom_domain(T="i64")
    many = dp.l1_distance(T="i64") if noise == "Laplace" else dp.l2_distance(T="f64")
    if single:
        measurement = make(one, dp.absolute_distance(T="i64"), scale=float(scale))
        return lambda: shares([measurement(0) for _ in range(count)], scale)
    measurement = make(dp.vector_domain(one), many, scale=float(scale))
    values = [0] * count
    return lambda: shares(measurement(values), scale)


def shares(drawn: Any, scale: int) -> list[float]:
    """How many of the draws lie up to -2, -1, 0, 1 and 2 scales: the law, in short; it costs both sides the same."""
    first = sorted(drawn[:CHECKED])
    return [bisect_right(first, k * scale) / len(first) for k in POINTS]


CONTESTANTS = {"ours": ours, "OpenDP": opendp}


def turn(python: str, name: str, arguments: dict[str, Any]) -> tuple[float, list[float]]:
    """CPU microseconds a draw, in a process of its own, and what was drawn."""
    command = [python, "-m", "bench.noise", "--contestant", name, "--arguments", json.dumps(arguments)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(run.stdout)
    return told["cpu"] / arguments["count"] * 1e6, told["answer"]


def same_law(first: list[float], second: list[float], draws: int) -> bool:
    """Whether two samples could be of one law: by Hoeffding's bound a share is rarely this far from the truth."""
    far = math.sqrt(math.log(4 * len(POINTS) / FALSE_ALARM) / (2 * draws))
    return all(abs(a - b) <= 2 * far for a, b in zip(first, second, strict=True))


def has_opendp(python: str) -> bool:
    return subprocess.run([python, "-c", "import opendp"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter that has opendp")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    pythons = {"ours": sys.executable}
    if has_opendp(chosen.peer_python):
        pythons["OpenDP"] = chosen.peer_python
    array, single, turns = (100_000, 1_000, 1) if chosen.quick else (1_000_000, 5_000, 2)
    rows: list[list[str]] = []
    ratios: dict[str, float] = {}
    drawn: dict[str, list[float]] = {}
    for noise in ("Laplace", "Gaussian"):
        for one in (False, True):
            for scale in SCALES:
                arguments = {"noise": noise, "scale": scale, "count": single if one else array, "single": one}
                best = {}
                for name, python in pythons.items():
                    best[name], drawn[name] = min(turn(python, name, arguments) for _ in range(turns))
                if "OpenDP" in best:
                    draws = min(CHECKED, single if one else array)
                    assert same_law(drawn["ours"], drawn["OpenDP"], draws), f"not the same law: {drawn}"
                ratio = best["OpenDP"] / best["ours"] if "OpenDP" in best else None
                shape = "one at a time" if one else f"array of {array:,}"
                rows.append(
                    [f"{noise}, scale {scale}, {shape}", *(f"{best[name]:.3f}" for name in best)]
                    + ([f"{ratio:.1f}"] if ratio else [])
                )
                figure = f"{noise.lower()}_{'single' if one else 'array'}_times_faster"
                if ratio:
                    ratios[figure] = min(ratio, ratios.get(figure, ratio))
    report(rows, ["CPU µs a draw", *pythons, *(["times faster"] if ratios else [])])
    if not ratios:
        print("OpenDP was not measured: pip install opendp, here or in the interpreter given by --peer-python.")
        print(RESULT + json.dumps({"times_faster": {"value": None, "goal": ARRAY_GOAL, "met": None}}))
        return
    result(
        **{
            name: (ratio, SINGLE_GOAL if "single" in name else ARRAY_GOAL, False)  # the worse of the two scales
            for name, ratio in ratios.items()
        }
    )


if __name__ == "__main__":
    main()

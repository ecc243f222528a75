"""Reconstruction of secrets from answers that are too exact.

- ``counts``: 500 secret bits from 2,000 counts of random people with normal noise, by a linear program and by least
  squares, for noise from far below the square root of the people (22) to far above: the share of bits that are right,
  beside what theory expects. Noise of an eighth of the root must break, of the order of the people must not. The
  curve is kept for the picture of the documentation (``docs/pictures/make.py`` draws it).
- ``tables``: seven people from 14 published lines (Garfinkel, Abowd and Martindale 2018); the share determined.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

from bench.harness import Measured, contest, options, report, result, take_part

Work = Callable[[], object]

CURVE = Path(__file__).parent.parent / "docs" / "pictures" / "reconstruction.json"
PEOPLE, ANSWERS = 500, 2_000
NOISE = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, math.sqrt(PEOPLE))
"""Standard deviations, as shares of the square root of the people; the last is the people themselves."""
BROKEN, KEPT, APART = 0.99, 0.58, 0.05


def counts(noise: float, runs: int, **_: object) -> Work:
    import numpy as np

    from discreet.verbs.attack.reconstruct import Decoding, reconstruct

    def work() -> object:
        shares = dict.fromkeys(Decoding, 0.0)
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            bits = rng.integers(0, 2, PEOPLE)
            asked = rng.integers(0, 2, (ANSWERS, PEOPLE))
            told = asked @ bits + noise * rng.normal(size=ANSWERS)
            for by in Decoding:
                shares[by] += float(np.mean(reconstruct(asked, told, by=by).bits == bits)) / runs
        return [round(shares[by], 4) for by in Decoding]

    return work


def tables(ages: int, **_: object) -> Work:
    from discreet.samples.cases import block7_lines
    from discreet.verbs.attack.tables import Published, rebuild

    columns = {"age": range(ages), "sex": "FM", "race": "BW", "married": "SM"}
    lines = [Published(**line) for line in block7_lines(range(ages))]
    return lambda: rebuild(columns, lines).finding.figure


CONTESTANTS: dict[str, Callable[..., Work]] = {"counts": counts, "tables": tables}


def main() -> None:
    from discreet.verbs.attack.reconstruct import expected_share

    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return

    def run(name: str, **told: object) -> Measured:
        return contest("reconstruct", [name], told, turns=1)[name]

    lines, curve = [], []
    for times in NOISE:
        noise = times * math.sqrt(PEOPLE)
        found = run("counts", noise=noise, runs=1 if chosen.quick else 3)
        assert isinstance(found.answer, list)
        program, squares = found.answer
        expected = expected_share(PEOPLE, ANSWERS, noise)
        curve.append({"noise": noise, "program": program, "squares": squares, "expected": round(expected, 4)})
        lines.append(
            [f"{times:.3g} √n = {noise:.1f}", f"{program:.3f}", f"{squares:.3f}", f"{expected:.3f}", f"{found.cpu:.1f}"]
        )
    report(lines, ["noise (standard deviation)", "program", "least squares", "theory", "CPU s"])
    if not chosen.quick:
        CURVE.write_text(json.dumps(curve, indent=1) + "\n")
    block = run("tables", ages=90 if chosen.quick else 116)
    print(f"tables: {block.answer} of the people determined, {block.cpu:.1f} CPU s")
    result(
        small_noise=(min(curve[1]["program"], curve[1]["squares"]), BROKEN, False),
        large_noise=(max(curve[-1]["program"], curve[-1]["squares"]), KEPT, True),
        off_theory=(max(abs(one["squares"] - one["expected"]) for one in curve), APART, True),
        determined=(float(str(block.answer)), 1.0, False),
    )


if __name__ == "__main__":
    main()

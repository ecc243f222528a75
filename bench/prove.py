"""Proving and refuting the literature's benchmarks: the verdicts, and CPU s a program.

Ours is measured here: prover, refuter, checker and replay together. The figures of CheckDP beside it were taken on
another machine (two cores, loaded; a dash: not tried, or no such program), and those of the papers (CheckDP: at most
70 s a program; ShadowDP: at most 3 s, with one annotation a sample) on the authors' own: they say what order of time
others need, and no more.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from bench.harness import contest, options, report, result, take_part

PROGRAMS = Path(__file__).parent.parent / "tests" / "prove" / "programs"
EACH_GOAL, MEDIAN_GOAL = 10.0, 2.0
TIMEOUT = "> 240"
ROWS = {
    "laplace": "–",
    "partial_sum": "2.6",
    "prefix_sum": "–",
    "dummy_sum2": "–",
    "dummy_sum1_n": "–",
    "dummy_sum1": "–",
    "smart_sum": "7.2",
    "noisy_max": TIMEOUT,
    "noisy_max_exp": "–",
    "noisy_max_inc": "–",
    "report_noisy_max_two_sided": "–",
    "report_noisy_max_integers": "–",
    "above_threshold": "–",
    "svt": "10.0",
    "svt_inc": "18.5",
    "svt_dec": "7.0",
    "gap_svt": "18.1",
    "num_svt": "40.0",
    "adaptive_svt": TIMEOUT,
    "bad_svt1": "6.5",
    "bad_svt2": TIMEOUT,
    "bad_svt3": TIMEOUT,
    "bad_gap_svt": TIMEOUT,
    "bad_noisy_max": TIMEOUT,
    "bad_partial_sum": "1.6",
    "bad_smart_sum": "3.1",
    "bad_adaptive_svt": TIMEOUT,
    "one_time_pad": "–",
    "mean": "–",
    "private_mean": "–",
    "lecture_private_mean": "–",
    "randomised_response": "–",
}
"""The programs, and what CheckDP took for each."""
QUICK = ("laplace", "partial_sum", "noisy_max", "svt", "bad_svt1", "bad_noisy_max", "mean")


def proving(name: str) -> Callable[..., Callable[[], object]]:
    def start(**_: object) -> Callable[[], object]:
        from discreet.verbs.prove.prove import prove

        prove(PROGRAMS / "laplace.dp")  # z3 and flint are loaded, and warm
        return lambda: prove(PROGRAMS / f"{name}.dp").word

    return start


CONTESTANTS = {name: proving(name) for name in ROWS}


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    rows, times, right = [], [], 0
    names = QUICK if chosen.quick else tuple(ROWS)
    for name in names:
        expected = (PROGRAMS / f"{name}.dp").read_text().split(maxsplit=3)[2].upper()
        found = contest("prove", [name], {}, turns=1)[name]
        right += found.answer == expected
        times.append(found.cpu)
        said = str(found.answer) if found.answer == expected else f"{found.answer}, not {expected}"
        rows.append([name, said, f"{found.cpu:.2f}", ROWS[name]])
    report(rows, ["program", "verdict", "ours, CPU s", "CheckDP, s (another machine)"])
    print(
        "Published, on their authors' machines: CheckDP at most 70 s a program, ShadowDP at most 3 s with annotations."
    )
    result(
        right_verdicts=(right / len(names), 1.0, False),
        slowest_cpu_s=(max(times), EACH_GOAL, True),
        median_cpu_s=(statistics.median(times), MEDIAN_GOAL, True),
    )


if __name__ == "__main__":
    main()

"""What every benchmark shares: a contestant runs in a process of its own and is measured from outside.

Machines are noisy, so contestants take turns, the best of several turns counts, and CPU seconds are compared,
never wall time. Only what a contestant does between ``begin`` and ``end`` counts as its CPU time; its peak
memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

RESULT = "RESULT "


@dataclass(frozen=True)
class Measured:
    """The best of several turns: CPU seconds of the work, peak memory of the process in MB, what it returned."""

    cpu: float
    memory: float
    answer: object


def options(description: str) -> argparse.ArgumentParser:
    """The options every script takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="under a minute, on less data")
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    parser.add_argument("--arguments", default="{}", help=argparse.SUPPRESS)
    return parser


def contest(
    module: str, names: Sequence[str], arguments: Mapping[str, object], *, turns: int = 3
) -> dict[str, Measured]:
    """Let the named contestants of ``bench.module`` take turns; the same answer is expected of all."""
    best: dict[str, Measured] = {}
    for _ in range(turns):
        for name in names:
            one = _turn(module, name, arguments)
            held = best.get(name, one)
            best[name] = Measured(min(one.cpu, held.cpu), min(one.memory, held.memory), one.answer)
    answers = {json.dumps(measured.answer) for measured in best.values()}
    assert len(answers) == 1, f"contestants disagree: { ({n: m.answer for n, m in best.items()}) }"
    return best


def take_part(contestants: Mapping[str, Callable[..., Callable[[], object]]], chosen: argparse.Namespace) -> None:
    """In the contestant's own process: prepare, then do the work on the clock and report."""
    work = contestants[chosen.contestant](**json.loads(chosen.arguments))
    began = time.process_time()
    answer = work()
    print(json.dumps({"cpu": time.process_time() - began, "answer": answer}))


def report(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> None:
    """A table for people."""
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    for row in [headers, ["-" * width for width in widths], *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells))


def result(**figures: tuple[float, float, bool]) -> None:
    """The last line: every figure with its goal and whether it was met (``True``: at most the goal)."""
    print(
        RESULT
        + json.dumps(
            {
                name: {
                    "value": round(value, 4),
                    "goal": goal,
                    "better": "lower" if lower else "higher",
                    "met": value <= goal if lower else value >= goal,
                }
                for name, (value, goal, lower) in figures.items()
            }
        )
    )


def _turn(module: str, name: str, arguments: Mapping[str, object]) -> Measured:
    command = [
        sys.executable,
        "-m",
        f"bench.{module}",
        "--contestant",
        name,
        "--arguments",
        json.dumps(arguments),
    ]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"{name} failed"
    told = json.loads(said)
    return Measured(told["cpu"], usage.ru_maxrss / 1024, told["answer"])

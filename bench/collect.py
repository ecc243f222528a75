"""Frequencies under local privacy, devices and collector together: ours beside pure-ldp, multi-freq-ldpy and OpenDP.

Everybody has the answers in memory, in the form they want them in, and has collected from a few people before, off the
clock: what is measured is a report of each person and the estimate for all values, with ε = 1. Ours is a million
people; peers that would take minutes get fewer, and people per CPU second are compared. Errors are squared, averaged
over values and runs, and divided by what theory says of the protocol: 1 is right. multi-freq-ldpy cuts its estimates
off at 0 and scales them, so that its errors are those of another figure. pure-ldp's FastLH is left out: its devices
share a few functions, which is another protocol.

``--peer-python`` names an interpreter that has the peers: ``pure-ldp multi-freq-ldpy opendp scikit-learn statsmodels
"numpy<2" "xxhash<3"`` (they fail with later ones). Without it, only ours is measured. At last, ten million people with
Hadamard response and a thousand values in one process, and reports that are counted both here and by Spark.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.harness import Measured, contest, options, report, result, take_part

OURS, PURE, MULTI, OPENDP = "discreet", "pure-ldp", "multi-freq-ldpy", "OpenDP"
SPEED_GOAL, ERROR_GOAL, MEMORY_GOAL = 10.0, 0.05, 2_000.0
PEOPLE = 1_000_000
FEW = 1_000
SIZES = (100, 1000)
PEERS: Mapping[str, tuple[str, ...]] = {
    "grr": (PURE, MULTI, OPENDP),
    "oue": (PURE, MULTI),
    "olh": (PURE, MULTI),
    "subset": (MULTI,),
    "hadamard": (PURE,),
}
SLOW: Mapping[tuple[str, str], tuple[int, int]] = {
    (OPENDP, "grr"): (20_000, 20_000),
    (PURE, "oue"): (100_000, 50_000),
    (MULTI, "oue"): (500_000, 50_000),
    (PURE, "olh"): (30_000, 3_000),
    (MULTI, "olh"): (30_000, 3_000),
    (MULTI, "subset"): (100_000, 20_000),
    (PURE, "hadamard"): (200_000, 200_000),
}
"""How many people a peer gets, with the first and the second size."""
FIGURES, PER_RUN = 20_000, 100_000
"""So many squared errors are averaged, with a deviation of a hundredth, of runs with so many people each."""
HADAMARD_PEOPLE, SPARK_REPORTS = 10_000_000, 100_000_000

Collect = Callable[[Any], Any]


# -- what is measured


def contestant(name: str) -> Callable[..., Callable[[], object]]:
    """Collects from people and says how far the estimate is off: the mean square, a person."""

    def start(protocol: str, d: int, people: int, python: str) -> Callable[[], object]:
        if name != OURS and sys.executable != python:  # go on as the same script in the peers' interpreter
            os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
        import numpy as np

        values = np.random.default_rng(people).integers(0, d, people)
        true, answers = np.bincount(values, minlength=d), values if name == OURS else values.tolist()
        collect = COLLECTORS[name](protocol, d)
        collect(answers[:FEW])
        return lambda: float(((collect(answers) - true) ** 2).mean() / people)

    return start


def ours(protocol: str, d: int) -> Collect:
    from discreet.verbs.collect.protocol_choice import frequency_oracle

    client: Any = frequency_oracle(protocol)(d, 1)
    return lambda answers: client.estimate(client.randomize(answers)).counts


def pure_ldp(protocol: str, d: int) -> Collect:
    from pure_ldp import frequency_oracles as its  # type: ignore[import-not-found]

    device, collector, also = {
        "grr": (its.DEClient, its.DEServer, {}),
        "oue": (its.UEClient, its.UEServer, {"use_oue": True}),
        "olh": (its.LHClient, its.LHServer, {"use_olh": True}),
        "hadamard": (its.HadamardResponseClient, its.HadamardResponseServer, {}),
    }[protocol]
    server = collector(epsilon=1, d=d, index_mapper=int, **also)
    functions = {"hash_funcs": server.get_hash_funcs()} if protocol == "hadamard" else {}
    client = device(epsilon=1, d=d, index_mapper=int, **also, **functions)

    def collect(answers: Any) -> Any:
        server.reset()
        for answer in answers:
            server.aggregate(client.privatise(answer))
        return server.estimate_all(range(d), suppress_warnings=True)

    return collect


def multi_freq(protocol: str, d: int) -> Collect:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE  # type: ignore[import-not-found]

    device, collector = {
        "grr": (GRR.GRR_Client, GRR.GRR_Aggregator_MI),
        "oue": (UE.UE_Client, lambda reports, _, epsilon: UE.UE_Aggregator_MI(reports, epsilon)),
        "olh": (LH.LH_Client, LH.LH_Aggregator_MI),
        "subset": (SS.SS_Client, SS.SS_Aggregator_MI),
    }[protocol]
    return lambda answers: collector([device(answer, d, 1.0) for answer in answers], d, 1.0) * len(answers)


def opendp(_: str, d: int) -> Collect:
    """Its reports are counted and corrected by NumPy: it has no estimate of its own."""
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    p = math.e / (math.e + d - 1)
    q = (1 - p) / (d - 1)
    device = dp.m.make_randomized_response(list(range(d)), p)

    def collect(answers: Any) -> Any:
        counted = np.bincount([device(answer) for answer in answers], minlength=d)
        return (counted - len(answers) * q) / (p - q)

    return collect


COLLECTORS: dict[str, Callable[[str, int], Collect]] = {OURS: ours, PURE: pure_ldp, MULTI: multi_freq, OPENDP: opendp}
CONTESTANTS = {name: contestant(name) for name in COLLECTORS}


# -- the contests


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with the peers")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    less, python = 10 if chosen.quick else 1, _peer(chosen.peer_python)
    lines, figures = [], {}
    for protocol, peers in PEERS.items():
        for place, d in enumerate(SIZES[:1] if chosen.quick else SIZES):
            people = {peer: SLOW.get((peer, protocol), (PEOPLE, PEOPLE))[place] // less for peer in peers if python}
            people[OURS] = PEOPLE
            found = _taken(protocol, d, people, python, turns=1 if chosen.quick else 2)
            speed = {name: people[name] / measured.cpu for name, measured in found.items()}
            variance = _variance(protocol, d)
            error = _error(protocol, d, PER_RUN // less, variance)
            for name, measured in found.items():
                off = error if name == OURS else float(str(measured.answer)) / variance
                ratio = f"{speed[OURS] / speed[name]:.0f}"
                lines.append(
                    [f"{protocol}, {d}", name, f"{people[name]:,}", f"{speed[name]:,.0f}", ratio, f"{off:.3f}"]
                )
            figures[f"{protocol}_{d}_error"] = (abs(error - 1), ERROR_GOAL, True)
            if theirs := {name: of for name, of in speed.items() if name != OURS}:
                figures[f"{protocol}_{d}_vs_best_peer"] = (speed[OURS] / max(theirs.values()), SPEED_GOAL, False)
    report(lines, ["protocol, values", "", "people", "a CPU second", "ours is faster by", "error² / theory"])
    memory = _taken("hadamard", SIZES[-1], {OURS: HADAMARD_PEOPLE // less}, "", turns=1)[OURS].memory
    print(f"\n{HADAMARD_PEOPLE // less:,} people, Hadamard response, {SIZES[-1]} values: {memory:,.0f} MB at most.")
    with tempfile.TemporaryDirectory() as folder:
        different = _on_spark(Path(folder), SPARK_REPORTS // (less * less))
    figures |= {"hadamard_MB": (memory, MEMORY_GOAL, True), "spark_differs_in": (different, 0.0, True)}
    result(**figures)


def _taken(protocol: str, d: int, people: Mapping[str, int], python: str, *, turns: int) -> dict[str, Measured]:
    """The best of several turns of everybody. They are not expected to have the same answer."""
    best: dict[str, Measured] = {}
    for _ in range(turns):
        for name, many in people.items():
            told = {"protocol": protocol, "d": d, "people": many, "python": python}
            one = contest("collect", [name], told, turns=1)[name]
            best[name] = min(best.get(name, one), one, key=lambda measured: measured.cpu)
    return best


def _variance(protocol: str, d: int) -> float:
    """What theory says of a squared error, a person, where all values are as frequent."""
    from discreet.verbs.collect.protocol_choice import frequency_oracle

    client: Any = frequency_oracle(protocol)(d, 1)
    return float(client.variance(1, 1 / d))


def _error(protocol: str, d: int, people: int, variance: float) -> float:
    """The mean of our squared errors beside what theory says."""
    runs = FIGURES // d
    told = {"protocol": protocol, "d": d, "people": people, "python": ""}
    work = CONTESTANTS[OURS](**told)
    return sum(float(str(work())) for _ in range(runs)) / runs / variance


def _peer(python: str | None) -> str:
    """The path that an interpreter with the peers knows itself under."""
    if python is None:
        return ""
    command = [python, "-c", "import sys, pure_ldp, multi_freq_ldpy, opendp; print(sys.executable)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _on_spark(folder: Path, reports: int) -> float:
    """In how many counts Spark's tally of a column of reports differs from that of this process."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from discreet.verbs.collect.frequency.hadamard import Hadamard
    from discreet.verbs.collect.spark import tally

    client, parts = Hadamard(SIZES[-1], 1), 20
    mine, values = client.tally(), np.arange(reports // parts) % SIZES[-1]
    for part in range(parts):
        made = client.randomize(values)
        mine.add(made)
        pq.write_table(pa.table({"report": made}), folder / f"{part}.parquet")
    os.chdir(folder)  # Spark leaves folders where it is started
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    began = time.monotonic()
    counted = tally(client, session.read.parquet(f"file://{folder}"), "report")
    seconds = time.monotonic() - began
    session.stop()
    print(f"{counted.reports:,} reports counted by Spark in {seconds:.0f} s of the clock.")
    return float((counted.counts != mine.counts).sum() + (counted.reports != mine.reports))


if __name__ == "__main__":
    main()

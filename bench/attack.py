"""Linking attacks at scale, beside a peer, and against a recipe.

- ``nearest``: the nearest of 100,000 rows for each of 100,000 people by 10 attributes, exactly; CPU s, compiling
  excluded. Close (noise of a tenth of a standard deviation) and independent (the hardest case).
- ``F1``: Fellegi–Sunter by expectation and maximisation beside Splink on the same pairs of two files of people with
  misspellings and gaps, same levels of agreement; the best F1 over thresholds, of several pairs of files. Splink is
  asked if ``--peer-python`` names an interpreter that has it.
- ``rank swap``: Abalone, p = 2 %: the share re-identified by the intersection attack, beside distance linkage.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.harness import Measured, contest, options, report, result, take_part

Work = Callable[[], object]

NEAREST_GOAL, SWAP_GOAL = 60.0, 0.88
OURS, SPLINK = "discreet", "Splink"
FILES = 4
FIELDS = {"first": (0.92, 0.8), "last": (0.92, 0.8), "year": (), "sex": (), "street": ()}
"""What two records are compared by: the Jaro–Winkler limits between equal and different."""


def nearest(*, close: bool) -> Callable[..., Work]:
    def start(people: int, **_: object) -> Work:
        import numpy as np

        from discreet.verbs.attack.linkage_kernels import Points
        from discreet.verbs.attack.linkage_kernels import nearest_rows as search

        rng = np.random.default_rng(1)
        known = rng.normal(size=(people, 10))
        shown = known + 0.1 * rng.normal(size=known.shape) if close else rng.normal(size=known.shape)
        bare = np.zeros((people, 0), np.int64)

        def work(count: int) -> object:
            mine, theirs = (Points(side[:count], bare[:count], np.zeros(0)) for side in (known, shown))
            return round(float(search(mine, theirs, np.arange(count))[2].mean()), 6)

        work(100)
        return lambda: work(people)

    return start


def swapped(**_: object) -> Work:
    from discreet import samples
    from discreet.verbs.attack.distance import DistanceLinkage
    from discreet.verbs.attack.transparency import RankSwapIntersection
    from discreet.verbs.publish.mask.swap import RankSwap
    from discreet.verbs.publish.publish import publish

    table = samples.abalone()
    release: Any = publish(table, RankSwap(2), seed=1)
    attacks = (DistanceLinkage(), RankSwapIntersection())
    return lambda: [attack.run(release, table, release.links).figure for attack in attacks]


def fellegi_sunter(files: list[str], **_: object) -> Work:
    import duckdb
    import numpy as np

    from discreet.verbs.attack.probabilistic import estimate

    def level(name: str, limits: tuple[float, ...]) -> str:
        near = "".join(
            f"when jaro_winkler_similarity(l.{name}, r.{name}) >= {limit} then {place} "
            for place, limit in enumerate(limits, 1)
        )
        return (
            f"case when l.{name} is null or r.{name} is null then -1 when l.{name} = r.{name} then 0 {near}"
            f"else {len(limits) + 1} end as {name}"
        )

    levels = ", ".join(level(name, limits) for name, limits in FIELDS.items())
    pairs = f"select l.unique_id = r.unique_id as same, {levels} from '{files[0]}' l join '{files[1]}' r using (region)"

    def work() -> object:
        held = duckdb.connect().execute(pairs).fetchnumpy()
        patterns = np.column_stack([held[name] for name in FIELDS]).astype(np.int64)
        seen, which, counts = np.unique(patterns, axis=0, return_inverse=True, return_counts=True)
        model = estimate(seen, counts, tuple(len(limits) + 2 for limits in FIELDS.values()))
        return _best_f1(model.posterior(seen)[which.ravel()], np.asarray(held["same"], dtype=bool))

    return work


def splink(files: list[str], python: str, **_: object) -> Work:
    if sys.executable != python:  # go on as the same script in the peer's interpreter
        os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
    import duckdb
    import splink.comparison_library as compare
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[
            compare.JaroWinklerAtThresholds(name, list(limits)) if limits else compare.ExactMatch(name)
            for name, limits in FIELDS.items()
        ],
        blocking_rules_to_generate_predictions=[block_on("region")],
    )

    def work() -> object:
        engine = DuckDBAPI(duckdb.connect())
        tables = [engine.register(duckdb.read_parquet(file).to_arrow_table()) for file in files]
        linker = Linker(tables, settings, log_level=None)
        linker.training.estimate_u_using_random_sampling(max_pairs=1e8, seed=1)
        linker.training.estimate_parameters_using_expectation_maximisation(block_on("region"))
        found = linker.inference.predict().as_pyarrow_table()
        same = [a == b for a, b in zip(found["unique_id_l"].to_pylist(), found["unique_id_r"].to_pylist(), strict=True)]
        return _best_f1(found["match_probability"].to_pylist(), same)

    return work


def _best_f1(scores: Any, same: Any) -> float:
    """The best F1 that any threshold gives, in plain Python: the peer's interpreter may not have more."""
    totals: dict[float, list[int]] = {}
    for score, true in zip(scores, same, strict=True):
        held = totals.setdefault(float(score), [0, 0])
        held[0] += bool(true)
        held[1] += 1
    wanted = sum(true for true, _ in totals.values())
    best, right, named = 0.0, 0, 0
    for _, (true, count) in sorted(totals.items(), reverse=True):
        right, named = right + true, named + count
        best = max(best, 2 * right / (wanted + named))
    return round(best, 6)


def _files(folder: Path, people: int, seed: int) -> list[str]:
    """Two files of the same people, as two clerks wrote them down."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))

    def names(count: int) -> list[str]:
        return ["".join(rng.choice(letters, rng.integers(4, 9))) for _ in range(count)]

    def often(values: list[str]) -> list[str]:
        share = 1 / np.arange(1, len(values) + 1)
        return [values[place] for place in rng.choice(len(values), people, p=share / share.sum())]

    def clerk(value: str) -> str | None:
        fate = rng.random()
        if fate < 0.05:
            return None
        if fate < 0.25:
            at = int(rng.integers(len(value)))
            return value[:at] + str(rng.choice(letters)) + value[at + 1 :]
        return value

    truth = {"first": often(names(200)), "last": often(names(1000)), "street": often(names(300))}
    year, sex = rng.integers(1930, 2010, people), rng.integers(0, 2, people)
    region = rng.integers(0, max(people // 100, 1), people)
    made = []
    for side in "ab":
        kept = rng.random(people) < 0.8
        rows = {name: pa.array([clerk(value) for value in values]) for name, values in truth.items()}
        rows |= {
            "unique_id": pa.array(np.arange(people)),
            "year": pa.array(np.where(rng.random(people) < 0.1, rng.integers(1930, 2010, people), year)),
            "sex": pa.array(np.where(rng.random(people) < 0.02, 1 - sex, sex)),
            "region": pa.array(region),
        }
        file = folder / f"{side}{seed}.parquet"
        pq.write_table(pa.table(rows).filter(pa.array(kept)), file)
        made.append(str(file))
    return made


CONTESTANTS: dict[str, Callable[..., Work]] = {
    "nearest close": nearest(close=True),
    "nearest independent": nearest(close=False),
    "swapped": swapped,
    OURS: fellegi_sunter,
    SPLINK: splink,
}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with Splink")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    rows = 20_000 if chosen.quick else 100_000

    def run(name: str, **told: object) -> Measured:
        return contest("attack", [name], told, turns=1)[name]

    near = {name: run(f"nearest {name}", people=rows) for name in ("close", "independent")}
    lines = [[f"nearest, {name}", f"{found.cpu:.1f}", str(found.answer)] for name, found in near.items()]
    figures = {"nearest_cpu_s": (max(found.cpu for found in near.values()), NEAREST_GOAL, True)}
    swap = run("swapped")
    plain, knowing = swap.answer if isinstance(swap.answer, list) else (0.0, 0.0)
    lines += [
        ["rank swap, distance", "", f"{plain:.4f}"],
        ["rank swap, intersection", f"{swap.cpu:.2f}", f"{knowing:.4f}"],
    ]
    figures["rank_swap_intersection"] = (knowing, SWAP_GOAL, False)
    with tempfile.TemporaryDirectory() as folder:
        pairs = [_files(Path(folder), 2_000 if chosen.quick else 10_000, seed) for seed in range(1, FILES + 1)]
        names = [OURS, SPLINK] if (peer := _peer(chosen.peer_python)) else [OURS]
        scores = {}
        for name in names:
            found = [run(name, files=files, python=peer) for files in pairs]
            scores[name] = [float(str(one.answer)) for one in found]
            told = " ".join(f"{score:.4f}" for score in scores[name])
            lines.append([f"Fellegi–Sunter, {name}", f"{sum(one.cpu for one in found):.1f}", told])
        if peer:
            figures["f1_vs_splink"] = (sum(scores[OURS]) / sum(scores[SPLINK]), 1.0, False)
    report(lines, ["attack", "CPU s", "share found, or F1"])
    result(**figures)


def _peer(python: str | None) -> str | None:
    """The path that an interpreter with Splink knows itself under."""
    if python is None:
        return None
    command = [python, "-c", "import sys, splink; print(sys.executable)"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


if __name__ == "__main__":
    main()

"""Learners with a privacy loss beside peers: Adult, linear regression, k-means, and a table of ten million rows.

*Adult*: income, learnt from four fifths and told of the other fifth, five times, with delta 1e-6; the area under the
ROC curve and the accuracy. Ours are called as anyone would call them, with the sample's card. Peers get the same rows
and the same declared bounds: diffprivlib's logistic regression (columns as 0 and 1, numbers between their bounds),
Gaussian naive Bayes and random forest, all with a pure epsilon, which is all that it has; interpret's DP-EBM with the
same delta. Also what a boosted model loses that learns from our synthetic rows. *Linear regression*: the squared error
on rows that were not learnt from, less that of least squares, in variances of the target; with one column, which is
what OpenDP's learns from, and with several. *Intervals*: how often they have the planted coefficient in them.
*k-means*: the sum of squared distances, as a multiple of scikit-learn's. *Rows*: CPU seconds of the whole call, a
Parquet file of ten million rows on DuckDB, beside one query that works out the same counts or sums.

``--peer-python`` names an interpreter with diffprivlib, interpret-core and opendp, and with a scikit-learn below 1.7,
which diffprivlib needs. Without it the figures of ``PUBLISHED`` are compared with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from bench.harness import contest, options, report, result, take_part

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0)
AUC_GOALS = {0.1: 0.870, 0.5: 0.890, 1.0: 0.895}
ACCURACY_GOAL, INERTIA_GOAL, CPU_GOAL = 0.847, 1.1, 2.0
PUBLISHED = {"interpret DP-EBM": {0.1: (0.853, 0.777), 0.5: (0.876, 0.788), 1.0: (0.886, 0.795)}}
"""Area under the curve and accuracy, measured before on the same rows with three seeds."""
OURS = ("additive", "naive-bayes", "logistic", "noisy-tree")
ADULT_PEERS = ("interpret DP-EBM", "diffprivlib logistic", "diffprivlib naive Bayes", "diffprivlib forest")
LINES = ("ours", "diffprivlib", "OpenDP")
LINE_EPSILONS = (0.1, 1.0)
BLOBS = ((2, 5), (3, 5), (4, 8), (6, 8))
"""Columns and clusters of the data sets of k-means."""
POINTS = 100_000
MANY = 10_000_000
Scores = dict[float, list[tuple[float, float]]]


# -- Adult


def adult_ours(method: str) -> Callable[..., Callable[[], object]]:
    def start(source: str, turns: int, epsilons: Sequence[float], **_: object) -> Callable[[], object]:
        import numpy as np

        import discreet as dc
        from discreet import samples
        from discreet.engines.read import read

        adult = samples.adult()
        rows, orders = adult.fetch(), np.load(source)["orders"]

        def one(turn: int, epsilon: float) -> tuple[float, float]:
            cut = 4 * rows.num_rows // 5
            taught, tested = rows.take(orders[turn][:cut]), rows.take(orders[turn][cut:])
            learnt = dc.learn(read(taught, adult.card), method, target="income", epsilon=epsilon, delta=DELTA)
            model, rich = dc.load_model(learnt), np.array(tested.column("income")) == ">50K"
            if method == "noisy-tree":  # which has answers and no probabilities
                return scored(rich, np.array(model.predict(tested)) == ">50K")
            return scored(rich, model.predict_proba(tested).column(">50K").to_numpy())

        return lambda: {epsilon: [one(turn, epsilon) for turn in range(turns)] for epsilon in epsilons}

    return start


def adult_synthetic(source: str, turns: int, epsilons: Sequence[float], **_: object) -> Callable[[], object]:
    """A boosted model that learns from synthetic rows."""
    import numpy as np
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    import discreet as dc
    from discreet import samples
    from discreet.engines.read import read

    adult = samples.adult()
    rows, orders = adult.fetch(), np.load(source)["orders"]
    texts = [one.name for one in adult.card.columns if one.categories or one.bounds is None]
    texts = [name for name in texts if name != "income"]

    def one(turn: int, epsilon: float) -> tuple[float, float]:
        cut = 4 * rows.num_rows // 5
        taught, tested = rows.take(orders[turn][:cut]), rows.take(orders[turn][cut:]).to_pandas()
        release = dc.synthesize(read(taught, adult.card), f"epsilon={epsilon} delta={DELTA}")
        made = release.payload.to_pandas()
        coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        model = make_pipeline(
            make_column_transformer((coder, texts), remainder="passthrough"),
            HistGradientBoostingClassifier(random_state=0),
        )
        model.fit(made.drop(columns="income"), made["income"] == ">50K")
        return scored(tested["income"] == ">50K", model.predict_proba(tested.drop(columns="income"))[:, 1])

    return lambda: {epsilon: [one(turn, epsilon) for turn in range(turns)] for epsilon in epsilons}


def adult_peer(name: str) -> Callable[..., Callable[[], object]]:
    def start(source: str, turns: int, epsilons: Sequence[float], **_: object) -> Callable[[], object]:
        import numpy as np

        held: Mapping[str, Any] = np.load(source)
        numbers, values, sizes, rich = held["numbers"], held["values"], held["sizes"], held["rich"]
        low, high = held["bounds"].T
        columns = len(low)
        flags = np.concatenate([np.eye(size)[values[:, at]] for at, size in enumerate(sizes)], axis=1)
        scaled = np.concatenate([(numbers - low) / (high - low), flags], axis=1)
        raw = np.concatenate([numbers, values], axis=1)

        def one(turn: int, epsilon: float) -> tuple[float, float]:
            order = held["orders"][turn]
            cut = 4 * len(order) // 5
            taught, tested = order[:cut], order[cut:]
            used = raw
            if name == "diffprivlib logistic":
                from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]

                used = scaled
                model = LogisticRegression(epsilon=epsilon, data_norm=(columns + len(sizes)) ** 0.5, max_iter=500)
            elif name == "diffprivlib naive Bayes":
                from diffprivlib.models import GaussianNB

                used = scaled
                model = GaussianNB(epsilon=epsilon, bounds=(0, 1), priors=None)
            elif name == "diffprivlib forest":
                from diffprivlib.models import RandomForestClassifier

                ends = np.append(low, sizes * 0), np.append(high, sizes - 1)
                model = RandomForestClassifier(
                    n_estimators=20, max_depth=6, epsilon=epsilon, bounds=ends, classes=[False, True]
                )
            else:
                from interpret.privacy import DPExplainableBoostingClassifier  # type: ignore[import-not-found]

                kinds = ["continuous"] * columns + ["nominal"] * len(sizes)
                ends = {at: (float(low[at]), float(high[at])) for at in range(columns)}
                model = DPExplainableBoostingClassifier(
                    feature_types=kinds, epsilon=epsilon, delta=DELTA, privacy_bounds=ends, n_jobs=1
                )
            model.fit(used[taught], rich[taught])
            return scored(rich[tested], model.predict_proba(used[tested])[:, 1])

        return lambda: {epsilon: [one(turn, epsilon) for turn in range(turns)] for epsilon in epsilons}

    return start


def scored(truth: Any, chance: Any) -> tuple[float, float]:
    """Area under the curve, and accuracy."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, chance)), float(((chance > 0.5) == truth).mean())


def adult(folder: Path, python: str, turns: int) -> dict[str, tuple[float, float, bool]]:
    source = folder / "adult.npz"
    _write_adult(source, turns)
    told = {"source": str(source), "turns": turns, "epsilons": EPSILONS}
    names = [*OURS, *(["synthetic"] if turns > 2 else []), *(ADULT_PEERS if python else [])]
    found: dict[str, Scores] = {}
    lines = []
    for name in names:
        cpu, answer = turn(python if name in ADULT_PEERS else sys.executable, name, told)
        found[name] = {float(epsilon): scores for epsilon, scores in answer.items()}
        lines.append([name, *_cells(found[name]), f"{cpu / turns / len(EPSILONS):.2f}"])
    if not python:
        lines += [
            [f"{name} (before)", *_cells({epsilon: [one] for epsilon, one in its.items()}), "–"]
            for name, its in PUBLISHED.items()
        ]
    print(f"Adult, {turns} random fifths told: area under the curve / accuracy, and CPU seconds of a fit")
    report(lines, ["", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "CPU s"])
    best = found["additive"]
    figures = {
        f"adult_auc_{epsilon:g}": (mean(one for one, _ in best[epsilon]), AUC_GOALS[epsilon], False)
        for epsilon in EPSILONS
    }
    return {**figures, "adult_accuracy_1": (mean(one for _, one in best[1.0]), ACCURACY_GOAL, False)}


def _cells(scores: Scores) -> list[str]:
    return [
        f"{mean(one for one, _ in scores[epsilon]):.4f} / {mean(one for _, one in scores[epsilon]):.4f}"
        for epsilon in EPSILONS
    ]


def _write_adult(source: Path, turns: int) -> None:
    """Adult as numbers and codes, a missing value as one more code, with the order of the rows in each turn."""
    import numpy as np

    from discreet import samples

    table = samples.adult()
    rows = table.fetch().to_pandas()
    numbers = [one for one in table.card.columns if one.bounds is not None]
    named = [one for one in table.card.columns if one.bounds is None and one.name != "income"]
    values = [sorted(rows[one.name].dropna().unique()) for one in named]
    codes = [
        rows[one.name].map({value: at for at, value in enumerate(listed)}).fillna(len(listed)).to_numpy(int)
        for one, listed in zip(named, values, strict=True)
    ]
    np.savez(
        source,
        numbers=rows[[one.name for one in numbers]].to_numpy(float),
        bounds=np.array([one.bounds for one in numbers], float),
        values=np.stack(codes, axis=1),
        sizes=np.array([len(listed) + 1 for listed in values]),
        rich=(rows["income"] == ">50K").to_numpy(),
        orders=np.stack([np.random.default_rng(turn).permutation(len(rows)) for turn in range(turns)]),
    )


# -- linear regression


def lines_of(name: str) -> Callable[..., Callable[[], object]]:
    def start(source: str, turns: int, epsilons: Sequence[float], **_: object) -> Callable[[], object]:
        import numpy as np

        held = np.load(source)
        x, y, low, high = held["x"], held["y"], held["low"], held["high"]
        learner = {"ours": _ours_line, "diffprivlib": _diffprivlib_line, "OpenDP": _opendp_line}[name]

        def one(turn: int, epsilon: float) -> float:
            order = np.random.default_rng(turn).permutation(len(y))
            taught, tested = order[: 4 * len(y) // 5], order[4 * len(y) // 5 :]
            told = np.clip(learner(x[taught], y[taught], x[tested], (low, high), epsilon), low[-1], high[-1])
            flat = np.column_stack([np.ones(len(x)), x])
            best = flat[tested] @ np.linalg.lstsq(flat[taught], y[taught], rcond=None)[0]
            errors = [float(((one - y[tested]) ** 2).mean()) for one in (told, best)]
            return (errors[0] - errors[1]) / float(y.var())

        return lambda: {epsilon: mean(one(turn, epsilon) for turn in range(turns)) for epsilon in epsilons}

    return start


def _ours_line(x: Any, y: Any, asked: Any, bounds: tuple[Any, Any], epsilon: float) -> Any:
    import numpy as np
    import pyarrow as pa

    import discreet as dc
    from discreet.core.card import Card, Column
    from discreet.core.kind import Kind
    from discreet.engines.read import read

    low, high = bounds
    names = [*(f"x{at}" for at in range(x.shape[1])), "y"]
    ends = zip(names, low.tolist(), high.tolist(), strict=True)
    card = Card("rows", tuple(Column(name, Kind.REAL, bounds=both, required=True) for name, *both in ends))
    taught = pa.table(dict(zip(names, np.column_stack([x, y]).T, strict=True)))
    model = dc.load_model(dc.learn(read(taught, card), "ridge", target="y", epsilon=epsilon))
    return np.array(model.predict(pa.table(dict(zip(names, asked.T, strict=False)))))


def _diffprivlib_line(x: Any, y: Any, asked: Any, bounds: tuple[Any, Any], epsilon: float) -> Any:
    from diffprivlib.models import LinearRegression

    low, high = bounds
    model = LinearRegression(epsilon=epsilon, bounds_X=(low[:-1], high[:-1]), bounds_y=(low[-1], high[-1]))
    return model.fit(x, y).predict(asked)


def _opendp_line(x: Any, y: Any, asked: Any, bounds: tuple[Any, Any], epsilon: float) -> Any:
    import opendp.prelude as dp  # type: ignore[import-not-found]

    low, high = bounds
    dp.enable_features("contrib", "floating-point", "honest-but-curious", "idealized-numerics")

    def made(scale: float) -> Any:
        ends = [(float(low[0]), float(high[0]))]
        return dp.sklearn.linear_model.LinearRegression(
            dp.max_divergence(), x_bounds=ends, y_bounds=(float(low[1]), float(high[1])), scale=scale
        )

    return made(made(1.0).measurement.map(1) / epsilon).fit(x, y).predict(asked)


def regression(folder: Path, python: str, turns: int, *, quick: bool) -> dict[str, tuple[float, float, bool]]:
    import numpy as np

    lines, figures = [], {}
    for place, (data, (names, x, y, low, high)) in enumerate(_line_data().items()):
        for many in (x.shape[1],) if quick else (1, x.shape[1]):
            source = folder / f"line{place}-{many}.npz"
            np.savez(source, x=x[:, :many], y=y, low=[*low[:many], low[-1]], high=[*high[:many], high[-1]])
            told = {"source": str(source), "epsilons": LINE_EPSILONS, "turns": turns}
            others = () if not python else LINES[1:] if many == 1 else LINES[1:2]
            found = {"ours": turn(sys.executable, "line ours", told)[1]}
            found |= {name: turn(python, f"line {name}", told)[1] for name in others}
            for epsilon in map(str, LINE_EPSILONS):
                cells = [f"{found[name][epsilon]:.4f}" if name in found else "–" for name in LINES]
                lines.append([f"{data} by {names[0] if many == 1 else f'{many} columns'}, ε = {epsilon}", *cells])
                if others:
                    peer = min(found[name][epsilon] for name in others)
                    figures[f"line_{place}_{many}_{epsilon}"] = (found["ours"][epsilon], peer, True)
    print(f"\nLinear regression: squared error above that of least squares, in variances; mean of {turns} turns")
    report(lines, ["", *LINES])
    return figures


def _line_data() -> dict[str, tuple[list[str], Any, Any, list[float], list[float]]]:
    """Columns and target of each data set, with what is declared of their bounds (the target's last)."""
    import numpy as np

    from discreet import samples

    found = {}
    for table, names, target in (
        (samples.abalone(), ["shell_weight", "length", "diameter", "height", "whole_weight"], "rings"),
        (samples.adult(), ["education_num", "age", "capital_gain", "capital_loss"], "hours_per_week"),
    ):
        rows = table.fetch().select([*names, target]).drop_null().to_pandas()
        bounds = [table.card[name].bounds or (0, 0) for name in (*names, target)]
        low, high = ([float(ends[side]) for ends in bounds] for side in (0, 1))  # type: ignore[arg-type]
        what = f"{table.card.name}'s {target}"
        found[what] = (names, rows[names].to_numpy(float), rows[target].to_numpy(float), low, high)
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (20_000, 6))
    y = np.clip(30 + x @ np.array([4.0, -2.0, 1.0, 0.0, 2.0, -1.0]) + rng.normal(0, 8, len(x)), 0, 100)
    found["a planted line"] = ([f"x{at}" for at in range(6)], x, y, [0.0] * 7, [10.0] * 6 + [100.0])
    return found


# -- intervals


def covered(epsilon: float, rows: int, runs: int, **_: object) -> Callable[[], object]:
    """How often the interval of a coefficient has the planted one in it, and in how many runs there are intervals."""
    import numpy as np

    from discreet.core.card import Card, Column
    from discreet.core.kind import Kind
    from discreet.noise.entropy import SYSTEM
    from discreet.verbs.learn.private.coding import FINE, CodedRows
    from discreet.verbs.learn.private.meter import Lesson, Meter
    from discreet.verbs.learn.private.ridge import Ridge

    columns = (
        Column("x", Kind.REAL, bounds=(0.0, 10.0), required=True),
        Column("group", Kind.TEXT, categories=("a", "b", "c")),
        Column("z", Kind.REAL, bounds=(-1.0, 1.0), required=True),
        Column("y", Kind.REAL, bounds=(0.0, 100.0), required=True),
    )
    planted = {"x": 3.0, "z": -8.0, "group = b": 5.0, "group = c": 10.0}
    method, card = Ridge(target="y", epsilon=epsilon), Card("planted", columns)
    codings, target, rng = method.codings(card), method.target_coding(card), np.random.default_rng(rows)

    def one() -> list[bool]:
        x, z = rng.integers(0, FINE + 1, rows), np.clip(np.rint(rng.normal(0.5, 0.2, rows) * FINE), 0, FINE)
        group = rng.integers(0, 3, rows)
        y = 20 + 30 * x / FINE - 8 * (2 * z / FINE - 1) + 5 * group + rng.normal(0, 8, rows)
        codes = tuple(one.astype(np.uint16) for one in (x, group, z))
        coded = CodedRows(codes, np.clip(np.rint(y / 100 * FINE), 0, FINE).astype(np.int64))
        lesson = Lesson(Meter(coded, method.allowance, 1, SYSTEM), coded, codings, target)
        told = method.fit(lesson).report["coefficients"] or []
        return [one["low"] <= planted[one["column"]] <= one["high"] for one in told if one["column"] in planted]

    def work() -> object:
        found = [one() for _ in range(runs)]
        every = [one for run in found for one in run]
        return [mean(every) if every else 0.0, sum(map(bool, found)) / runs]

    return work


def coverage(*, quick: bool) -> dict[str, tuple[float, float, bool]]:
    lines, seen = [], []
    for epsilon in (1.0,) if quick else (0.5, 1.0, 3.0):
        for rows in (10_000,) if quick else (10_000, 30_000, 100_000):
            told = {"epsilon": epsilon, "rows": rows, "runs": 50 if quick else 500}
            share, some = turn(sys.executable, "intervals", told)[1]
            seen.append(share)
            lines.append([f"ε = {epsilon:g}, {rows:,} rows", f"{share:.1%}", f"{some:.0%}"])
    print(f"\nIntervals of ridge's four coefficients at 95 %, {50 if quick else 500} runs")
    report(lines, ["", "planted one within", "runs with intervals"])
    if quick:
        return {}
    return {"least_coverage": (min(seen), 0.93, False), "most_coverage": (max(seen), 0.97, True)}


# -- k-means


def centres_of(name: str) -> Callable[..., Callable[[], object]]:
    def start(source: str, count: int, turns: int, **_: object) -> Callable[[], object]:
        import numpy as np

        points = np.load(source)["points"]

        def inertia(centres: Any) -> float:
            return float(((points[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum())

        def ours() -> Any:
            import pyarrow as pa

            import discreet as dc
            from discreet.core.card import Card, Column
            from discreet.core.kind import Kind
            from discreet.engines.read import read

            names = [f"x{at}" for at in range(points.shape[1])]
            card = Card("p", tuple(Column(one, Kind.REAL, bounds=(0.0, 1.0)) for one in names))
            rows = read(pa.table(dict(zip(names, points.T, strict=True))), card)
            return np.array(dc.load_model(dc.learn(rows, "k-means", count=count, epsilon=1)).centres)

        def plain() -> Any:
            from sklearn.cluster import KMeans

            return KMeans(count, n_init=10, random_state=0).fit(points).cluster_centers_

        def theirs() -> Any:
            from diffprivlib.models import KMeans

            return KMeans(count, epsilon=1, bounds=(0, 1)).fit(points).cluster_centers_

        made = {"ours": ours, "scikit-learn": plain, "diffprivlib": theirs}[name]
        return lambda: [inertia(made()) for _ in range(1 if name == "scikit-learn" else turns)]

    return start


def clusters(
    folder: Path, python: str, turns: int, blobs: Sequence[tuple[int, int]]
) -> dict[str, tuple[float, float, bool]]:
    import numpy as np

    lines, worst = [], 0.0
    for columns, count in blobs:
        rng, source = np.random.default_rng(columns), folder / f"blobs{columns}.npz"
        middles, wide = rng.uniform(0.15, 0.85, (count, columns)), rng.uniform(0.03, 0.1, (count, 1))
        which = rng.integers(0, count, POINTS)
        points = np.clip(middles[which] + wide[which] * rng.normal(size=(POINTS, columns)), 0, 1)
        np.savez(source, points=points)
        told = {"source": str(source), "count": count, "turns": turns}
        best = turn(sys.executable, "centres scikit-learn", told)[1][0]
        found = {"ours": mean(turn(sys.executable, "centres ours", told)[1]) / best}
        if python:
            found["diffprivlib"] = mean(turn(python, "centres diffprivlib", told)[1]) / best
        worst = max(worst, found["ours"])
        cells = [f"{found[name]:.3f}" if name in found else "–" for name in ("ours", "diffprivlib")]
        lines.append([f"{columns} columns, {count} clusters", *cells])
    print(f"\nk-means, ε = 1, {POINTS:,} points: squared distances in scikit-learn's; mean of {turns} turns")
    report(lines, ["", "ours", "diffprivlib"])
    return {"k_means_inertia": (worst, INERTIA_GOAL, True)}


# -- many rows


def many_ours(method: str) -> Callable[..., Callable[[], object]]:
    def start(source: str, **_: object) -> Callable[[], object]:
        import discreet as dc
        from discreet.core.card import Card, Column
        from discreet.core.kind import Kind
        from discreet.engines.read import read

        values = tuple("abcdefgh")
        card = Card(
            "many",
            (
                *(Column(name, Kind.REAL, bounds=(0.0, 100.0)) for name in ("p", "q", "v")),
                Column("n", Kind.INTEGER, bounds=(0, 119)),
                *(Column(name, Kind.TEXT, categories=values) for name in ("a", "b")),
                Column("y", Kind.TEXT, categories=("no", "yes")),
            ),
        )
        table = read(Path(source), card)

        def work() -> object:
            assert not dc.learn(table, method).payload["says_nothing"]
            return ""

        return work

    return start


def plain(query: str) -> Callable[..., Callable[[], object]]:
    def start(source: str, **_: object) -> Callable[[], object]:
        import duckdb

        connection = duckdb.connect()

        def work() -> object:
            connection.execute(query.format(source=f"'{source}'")).fetchall()
            return ""

        return work

    return start


_COUNTS = (
    "SELECT y, i, j, k, a, b, count(*) FROM (SELECT y, a, b, floor(p / 6.25)::INT AS i, floor(q / 6.25)::INT AS j, "
    "n // 8 AS k FROM {source}) GROUP BY GROUPING SETS ((y, i), (y, j), (y, k), (y, a), (y, b))"
)
_SUMS = (
    "SELECT a, b, count(*), "
    + ", ".join(
        f"sum({one}{'' if other is None else f' * {other}'})"
        for at, one in enumerate("pqnv")
        for other in (None, *"pqnv"[at:])
    )
    + " FROM {source} GROUP BY a, b"
)
ON = "on p, q, n, a, b"
MANY_ROWS = {
    "naive Bayes": (f"naive-bayes target=y epsilon=1 {ON}", "counts", _COUNTS),
    "additive": (f"additive target=y epsilon=1 {ON}", "counts", _COUNTS),
    "ridge": (f"ridge target=v epsilon=1 {ON}", "sums", _SUMS),
}


def many(folder: Path, rows: int) -> dict[str, tuple[float, float, bool]]:
    source = folder / "many.parquet"
    _write_many(source, rows)
    lines, figures = [], {}
    for name, (_, least, _) in MANY_ROWS.items():
        taken = contest(
            "learn", [f"many {name}", f"plain {least}"], {"source": str(source)}, turns=1 if rows < MANY else 2
        )
        cpu, floor = (one.cpu for one in taken.values())
        memory = next(iter(taken.values())).memory
        figures[f"many_{name.replace(' ', '_')}"] = (cpu / floor, CPU_GOAL, True)
        lines.append([name, f"{cpu:.2f}", f"{floor:.2f}", f"{cpu / floor:.1f}", f"{memory:,.0f}"])
    print(f"\n{rows:,} rows, 5 columns, on DuckDB: CPU seconds, with the error report, and those of one plain query")
    report(lines, ["", "ours", "query", "ratio", "MB"])
    return figures


def _write_many(source: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer, values = np.random.default_rng(0), None, np.array(list("abcdefgh"))
    for first in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - first)
        x, a = rng.normal(0, 1, (size, 2)), rng.integers(0, 8, size)
        z = x[:, 0] - 0.5 * x[:, 1] + 0.3 * (a - 3.5) + rng.normal(0, 1, size)
        held = {name: np.clip(10 * one + 50, 0, 100) for name, one in (("p", x[:, 0]), ("q", x[:, 1]), ("v", z))}
        held |= {"n": rng.integers(0, 120, size), "a": values[a], "b": values[rng.integers(0, 8, size)]}
        table = pa.table({**held, "y": np.where(z > 0, "yes", "no")})
        writer = writer or pq.ParquetWriter(source, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


# -- the contests


CONTESTANTS: dict[str, Callable[..., Callable[[], object]]] = {
    **{name: adult_ours(name) for name in OURS},
    "synthetic": adult_synthetic,
    **{name: adult_peer(name) for name in ADULT_PEERS},
    **{f"line {name}": lines_of(name) for name in LINES},
    "intervals": covered,
    **{f"centres {name}": centres_of(name) for name in ("ours", "scikit-learn", "diffprivlib")},
    **{f"many {name}": many_ours(method) for name, (method, _, _) in MANY_ROWS.items()},
    "plain counts": plain(_COUNTS),
    "plain sums": plain(_SUMS),
}


def turn(python: str, name: str, arguments: dict[str, Any]) -> tuple[float, Any]:
    """CPU seconds, and what was found, in a process of its own."""
    command = [python, "-m", "bench.learn", "--contestant", name, "--arguments", json.dumps(arguments)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(run.stdout.splitlines()[-1])
    return told["cpu"], told["answer"]


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", default="", help="an interpreter with the peers")
    parser.add_argument(
        "--only", choices=("adult", "regression", "intervals", "clusters", "many"), help="one of the contests"
    )
    chosen = parser.parse_args()
    if chosen.contestant:
        warnings.simplefilter("ignore")
        take_part(CONTESTANTS, chosen)
        return
    quick, python = chosen.quick, chosen.peer_python
    with tempfile.TemporaryDirectory() as name:
        folder, figures = Path(name), {}
        if chosen.only in (None, "adult"):
            figures |= adult(folder, python, 1 if quick else 5)
        if chosen.only in (None, "regression"):
            figures |= regression(folder, python, 3 if quick else 10, quick=quick)
        if chosen.only in (None, "intervals"):
            figures |= coverage(quick=quick)
        if chosen.only in (None, "clusters"):
            figures |= clusters(folder, python, 1 if quick else 5, BLOBS[1:3] if quick else BLOBS)
        if chosen.only in (None, "many"):
            figures |= many(folder, MANY // 10 if quick else MANY)
    result(**figures)


if __name__ == "__main__":
    main()

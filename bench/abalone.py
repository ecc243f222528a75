"""The reference table of masking methods: Abalone, 20 rows, our figures beside the published ones.

Herranz, Matwin, Nin and Torra (2010): probabilistic information loss (PIL), disclosure risk (DR), and accuracy and AUC
of four models, in per cent; the class is the sex. They do not say all that is needed to repeat their maskings. What was
taken for alpha, p, g and the attributes an intruder knows is in ``METHODS`` and ``SETS``; docs/abalone.md says why.

- ``PIL``, ``DR``: Spearman's rank correlation with the published column over all 20 rows.
- ``DR without variants``: the same without the four p-sensitive and l-diverse rows.
- ``readings``: the same for other ways to make one figure of intervals and linkage (``READINGS``).
- ``ceiling``: the highest that any figure could reach that rises with the parts it is made of, however it weighs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, ClassVar, Literal

from bench.harness import options, report, result

GOAL = 0.9
SETS = 24
"""Intruders who link know half of the eight attributes: every 24th of the 70 sets of four."""
JOINT = ("joint RSID", "joint SDID")
STANDARD = ("RSID", "SDID", "DLD half lot", "PLD half lot")
"""What DR is made of: see ``parts``."""
READINGS: Mapping[str, tuple[str, ...]] = {
    "RSID": ("RSID",),
    "SDID": ("SDID",),
    "RSID and SDID": ("RSID", "SDID"),
    "intervals of all attributes at once": JOINT,
    "no intervals": (),
}
"""Interval disclosure as it may be read; each with half or all attributes known, with torn intruders who draw lots,
name nobody, or are right if the group is right, and with DLD and PLD, the larger of them, or DLD alone."""
TORN: Mapping[str, Callable[[Any], Any]] = {
    "lot": lambda credits: credits,
    "nobody": lambda credits: credits == 1,
    "group": lambda credits: credits > 0,
}
VARIANTS = ("CBFS 2-sensitive k=25", "CBFS 3-sensitive k=25", "CBFS 2-diverse k=25", "CBFS 3-diverse k=25")
MODELS = ("decision tree", "naive Bayes", "nearest neighbours", "support vectors")
PUBLISHED: Mapping[str, tuple[float, ...]] = {
    "original": (0, 100, 54.22, 54.78, 53.93, 54.56, 71.60, 73.30, 71.60, 70.30),
    "noise 3": (7.90, 74.56, 54.39, 51.81, 53.36, 54.49, 73.09, 73.41, 71.48, 70.50),
    "noise 10": (24.65, 38.95, 53.67, 51.88, 51.62, 54.37, 73.24, 73.42, 70.55, 70.49),
    "noise 100": (73.94, 4.10, 51.04, 52.21, 48.17, 53.20, 72.06, 73.98, 66.47, 69.50),
    "multiplicative 5": (13.50, 50.81, 54.44, 51.90, 52.36, 54.39, 73.51, 73.42, 71.22, 70.50),
    "multiplicative 10": (24.81, 24.75, 54.20, 51.76, 54.20, 54.32, 73.15, 73.42, 72.67, 70.41),
    "multiplicative 100": (74.29, 0.00, 50.73, 52.12, 50.90, 53.27, 71.00, 73.90, 68.10, 69.52),
    "rank swap p=2": (22.12, 51.12, 53.19, 51.23, 53.99, 54.37, 70.95, 73.24, 74.15, 70.57),
    "rank swap p=10": (29.00, 23.49, 53.55, 51.85, 54.35, 54.18, 71.84, 73.52, 73.17, 70.40),
    "rank swap p=50": (39.96, 7.80, 40.63, 50.56, 37.32, 53.20, 59.24, 73.17, 57.75, 69.50),
    "CBFS k=5": (39.05, 13.73, 54.56, 51.64, 54.01, 54.54, 74.10, 73.29, 73.26, 70.62),
    "CBFS k=25": (58.08, 6.65, 53.31, 51.95, 53.05, 54.01, 73.48, 73.10, 74.22, 70.23),
    "CBFS k=100": (63.55, 4.32, 51.30, 51.59, 53.53, 54.10, 71.16, 73.24, 74.56, 70.31),
    "CBFS 2-sensitive k=25": (58.08, 0.55, 53.31, 52.00, 53.05, 54.13, 73.44, 73.10, 74.22, 70.30),
    "CBFS 3-sensitive k=25": (73.00, 0.00, 45.00, 42.00, 43.00, 41.00, 62.00, 61.00, 63.00, 60.00),
    "CBFS 2-diverse k=25": (61.55, 0.40, 52.72, 51.57, 52.84, 54.37, 72.13, 73.24, 73.09, 70.36),
    "CBFS 3-diverse k=25": (86.00, 0.00, 38.00, 39.00, 38.00, 40.00, 60.00, 61.00, 62.00, 63.00),
    "IPSO g=2": (65.09, 1.66, 52.81, 51.52, 50.11, 53.39, 72.36, 73.61, 68.06, 69.66),
    "IPSO g=3": (58.93, 4.93, 51.45, 51.09, 49.87, 52.41, 69.58, 73.22, 68.24, 68.81),
    "IPSO g=4": (58.56, 1.81, 52.05, 51.23, 50.68, 52.52, 70.41, 73.22, 68.52, 69.00),
}


@dataclass(frozen=True)
class Together:
    """Several maskers, each on columns of its own, each seeing the original; none: the table as it is."""

    maskers: tuple[Any, ...] = ()
    name: ClassVar[str] = "together"

    def mask(self, table: Any, seed: int | None = None) -> Any:
        from discreet.verbs.publish.mask.masker import Masked

        rows = table.payload()
        for place, masker in enumerate(self.maskers):
            made = masker.mask(table, None if seed is None else seed + place).rows
            for name in masker.columns:
                rows = rows.set_column(rows.column_names.index(name), name, made[name])
        return Masked(rows, {}, (), ())


def ipso(version: Literal["A", "B", "C"], names: Sequence[str], g: int) -> Together:
    """``g`` columns at a time, each part drawn by itself, given the sex."""
    from discreet.verbs.publish.mask.ipso import Ipso

    return Together(tuple(Ipso(version, names[at : at + g], ("sex",)) for at in range(0, len(names), g)))


def methods(table: Any) -> dict[str, Any]:
    """The 20 rows as they are read here."""
    import numpy as np

    from discreet.models.diversity import EntropyLDiversity, PSensitivity, RecursiveLDiversity
    from discreet.verbs.publish.mask.microaggregate import Microaggregate
    from discreet.verbs.publish.mask.multiply import Multiply
    from discreet.verbs.publish.mask.noise import Noise
    from discreet.verbs.publish.mask.swap import RankSwap

    names, rows = table.quasi(), table.payload()

    def times(alpha: float) -> Together:
        """Factors such that what is added deviates by ``alpha`` of the column's deviation."""
        made = []
        for name in names:
            values = rows[name].to_numpy().astype(float)
            made.append(Multiply(alpha * float(values.std() / np.sqrt((values**2).mean())), (name,)))
        return Together(tuple(made))

    def grouped(k: int, diverse: Any = None) -> Microaggregate:
        return Microaggregate(k, algorithm="cbfs", diverse=diverse)

    return {
        "original": Together(),
        **{f"noise {a}": Noise(a / 100) for a in (3, 10, 100)},
        **{f"multiplicative {a}": times(a / 100) for a in (5, 10, 100)},
        **{f"rank swap p={p}": RankSwap(p, law="normal") for p in (2, 10, 50)},
        **{f"CBFS k={k}": grouped(k) for k in (5, 25, 100)},
        "CBFS 2-sensitive k=25": grouped(25, PSensitivity(2, 25, "sex")),
        "CBFS 3-sensitive k=25": grouped(25, PSensitivity(3, 25, "sex")),
        "CBFS 2-diverse k=25": grouped(25, EntropyLDiversity(2, "sex")),
        "CBFS 3-diverse k=25": grouped(25, RecursiveLDiversity(2, 3, "sex")),
        **{f"IPSO g={g}": ipso("B", table.quasi(), g) for g in (2, 3, 4)},
    }


def others(table: Any) -> dict[str, dict[str, Any]]:
    """Other readings of some rows, by what is read otherwise."""
    from discreet.verbs.publish.mask.multiply import Multiply
    from discreet.verbs.publish.mask.noise import Noise
    from discreet.verbs.publish.mask.swap import RankSwap

    return {
        "values moved into the card's bounds": {f"noise {a}": Noise(a / 100) for a in (3, 10, 100)},
        "factors deviate by alpha": {f"multiplicative {a}": Multiply(a / 100) for a in (5, 10, 100)},
        "ranks swapped in a window": {f"rank swap p={p}": RankSwap(p) for p in (2, 10, 50)},
        "IPSO A": {f"IPSO g={g}": ipso("A", table.quasi(), g) for g in (2, 3, 4)},
        "IPSO C": {f"IPSO g={g}": ipso("C", table.quasi(), g) for g in (2, 3, 4)},
    }


def read_otherwise(found: Mapping[str, tuple[float, ...]]) -> None:
    """PIL of the other readings, and what they make of the rank correlation."""
    from discreet import samples
    from discreet.utility.information_loss import pil
    from discreet.utility.pair import pair
    from discreet.verbs.publish.publish import publish

    bounded, cells = samples.abalone(), []
    for what, maskers in others(bounded).items():
        table = bounded if "bounds" in what else unbounded(bounded)
        lost = {
            name: 100 * pil(pair(table, publish(table, masker, seed=1), target="sex"))
            for name, masker in maskers.items()
        }
        now = rank_correlation([lost.get(n, found[n][0]) for n in found], [PUBLISHED[n][0] for n in found])
        told = (" / ".join(f"{value:.0f}" for value in row) for row in (lost.values(), [PUBLISHED[n][0] for n in lost]))
        cells.append([what, *told, f"{now:.3f}"])
    print("\nread otherwise: PIL, in %")
    report(cells, ["what", "ours", "published", "Spearman"])


def unbounded(table: Any, step: int = 1) -> Any:
    """The table without declared bounds: publish moves what lies beyond them, which the literature does not. Every so
    manieth row."""
    from dataclasses import replace

    import numpy as np

    from discreet.engines.read import read

    columns = tuple(replace(column, bounds=None) for column in table.card.columns)
    rows = table.fetch()
    return read(rows.take(np.arange(0, rows.num_rows, step)), replace(table.card, columns=columns))


def measured(table: Any, masker: Any, sets: Sequence[tuple[str, ...]], folds: int) -> tuple[Any, dict[str, float]]:
    """PIL, DR, four accuracies and four AUCs, in per cent; and the parts of the risk."""
    from discreet.utility.information_loss import pil
    from discreet.utility.learning import scores
    from discreet.utility.pair import pair
    from discreet.verbs.attack.risk import DisclosureRisk
    from discreet.verbs.publish.publish import publish

    release: Any = publish(table, masker, seed=1)
    two = pair(table, release, target="sex")
    risk = parts(table, release, sets)
    rank, deviation, distance, probabilistic = (risk[name] for name in STANDARD)
    dr = DisclosureRisk((rank + deviation) / 2, distance, probabilistic).total
    learned = scores(two, folds=folds)
    figures = (pil(two), dr, *(learned[m].accuracy for m in MODELS), *(learned[m].auc for m in MODELS))
    return tuple(100 * figure for figure in figures), risk


def parts(table: Any, release: Any, sets: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """Interval disclosure, of each attribute and of all at once; linkage, by what is known and what the torn do; how
    often the sex of a nearest row is right (correct attribution probability: Elliot 2014)."""
    import numpy as np

    from discreet.verbs.attack.distance import DistanceLinkage
    from discreet.verbs.attack.linkage import linkage_data
    from discreet.verbs.attack.probabilistic import ProbabilisticLinkage
    from discreet.verbs.attack.risk import Width, ends

    data = linkage_data(release, table, release.links, table.quasi())
    own, ordered = data.released[data.truth], np.sort(data.released, axis=0)
    found: dict[str, float] = {}
    for name, width in (("RSID", Width.RANK), ("SDID", Width.DEVIATION)):
        inside = np.zeros((10, *own.shape), bool)
        for per_cent, column in product(range(1, 11), range(own.shape[1])):
            low, high = ends(width, per_cent, ordered[:, column], own[:, column])
            true = data.known[:, column]
            inside[per_cent - 1, :, column] = (low <= true) & (true <= high)
        found |= {name: float(inside.mean()), f"joint {name}": float(inside.all(axis=2).mean())}
    attacks = (("DLD", DistanceLinkage()), ("PLD", ProbabilisticLinkage()))
    for (name, attack), (known, columns) in product(attacks, (("half", sets), ("all", [table.quasi()]))):
        seen = [linkage_data(release, table, release.links, some) for some in columns]
        credits = np.concatenate([attack.link(one, release.recipe).success for one in seen])
        found |= {f"{name} {known} {torn}": float(right(credits).mean()) for torn, right in TORN.items()}
    return found | {"attribution": attribution(table, release)}


def attribution(table: Any, release: Any) -> float:
    """How often a nearest released row has the person's sex; of equally near ones each counts its share."""
    import numpy as np
    from scipy.spatial import cKDTree

    def points(rows: Any) -> Any:
        return np.column_stack([rows[name].to_numpy() for name in table.quasi()]).astype(float)

    people, rows = points(table.payload()), points(release.payload)
    places, at = np.unique(rows / people.std(axis=0), axis=0, return_inverse=True)
    nearest = cKDTree(places).query(people / people.std(axis=0))[1]
    shown, true = (np.asarray(side["sex"].to_pylist()) for side in (release.payload, table.payload()))
    right = np.zeros(len(true))
    for sex in np.unique(true):
        share = np.bincount(at.ravel()[shown == sex], minlength=len(places)) / np.bincount(at.ravel())
        right[true == sex] = share[nearest[true == sex]]
    return float(right.mean())


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(ours, theirs)[0])


def ceiling(rows: Sequence[Sequence[float]], theirs: Sequence[float]) -> float:
    """The highest rank correlation with ``theirs`` of any figure that is the same for equal rows, and higher for a row
    that has more of something and less of nothing. All orders that are possible are built from below."""
    import numpy as np
    from scipy.stats import rankdata

    kinds, which = np.unique(np.round(rows, 9), axis=0, return_inverse=True)
    ranks = rankdata(theirs) - (len(theirs) + 1) / 2
    size, weight = np.bincount(which.ravel()), np.bincount(which.ravel(), weights=ranks)
    under = [{o for o, other in enumerate(kinds) if o != k and (other <= kind).all()} for k, kind in enumerate(kinds)]
    built: list[dict[frozenset[int], dict[int, float]]] = [{} for _ in range(len(kinds) + 1)]
    built[0][frozenset()] = {0: 0.0}
    for done, orders in enumerate(built):
        for placed, best in orders.items():
            below = sum(size[k] for k in placed)
            free = [k for k in range(len(kinds)) if k not in placed and under[k] <= placed]
            for level in (some for count in range(len(free)) for some in combinations(free, count + 1)):
                tied = sum(size[k] for k in level)
                gain = sum(weight[k] for k in level) * (below + (tied + 1) / 2)
                next_ = built[done + len(level)].setdefault(placed | set(level), {})
                for ties, value in best.items():
                    now = ties + tied**3 - tied
                    next_[now] = max(next_.get(now, -np.inf), value + gain)
    (full,) = built[-1].values()
    count = len(theirs) ** 3 - len(theirs)
    return max(float(value / np.sqrt((count - ties) / 12 * (ranks @ ranks))) for ties, value in full.items())


def readings(risk: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, ...], list[float]]:
    """Every reading of DR, by what it takes: the risk of each row."""
    found: dict[tuple[str, ...], list[float]] = {}
    joins: Mapping[str, Callable[[float, float], float]] = {
        "DLD and PLD": lambda distance, probabilistic: (distance + probabilistic) / 2,
        "the larger": max,
        "DLD": lambda distance, _: distance,
    }
    for (name, intervals), known, torn, join in product(READINGS.items(), ("half", "all"), TORN, joins):
        made = []
        for row in risk.values():
            linked = joins[join](row[f"DLD {known} {torn}"], row[f"PLD {known} {torn}"])
            shown = sum(row[i] for i in intervals) / len(intervals) if intervals else linked
            made.append((shown + linked) / 2)
        found[name, known, torn, join] = made
    return found


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    from discreet import samples

    began = time.process_time()
    table = unbounded(samples.abalone(), 3 if chosen.quick else 1)
    sets = [*combinations(table.quasi(), 4)][:: 70 if chosen.quick else SETS]
    found: dict[str, tuple[float, ...]] = {}
    risk: dict[str, dict[str, float]] = {}
    for name, masker in methods(table).items():
        found[name], risk[name] = measured(table, masker, sets, 3 if chosen.quick else 10)
    heads = ["method", "PIL", "DR", *(f"acc {m}" for m in ("DT", "NB", "kNN", "SVM"))]
    heads += [f"AUC {m}" for m in ("DT", "NB", "kNN", "SVM")]
    cells = [
        [name, *(f"{a:.1f} ({b:.1f})" for a, b in zip(figures, PUBLISHED[name], strict=True))]
        for name, figures in found.items()
    ]
    print("ours (published), in %")
    report(cells, heads)
    names = list(found)

    def against(place: int, rows: Sequence[str] = names) -> float:
        return rank_correlation([found[n][place] for n in rows], [PUBLISHED[n][place] for n in rows])

    plain = [n for n in names if n not in VARIANTS]
    accuracy = rank_correlation(
        [sum(found[n][2:6]) for n in names],
        [sum(PUBLISHED[n][2:6]) for n in names],
    )
    print(f"\nSpearman, 20 rows: PIL {against(0):.3f}, DR {against(1):.3f}, mean accuracy {accuracy:.3f}")
    each = ", ".join(f"{head} {against(place):.2f}" for place, head in enumerate(heads[1:]) if place > 1)
    print(f"by model: {each}")
    print(f"DR without the four variants: {against(1, plain):.3f}")
    explained(risk)
    if not chosen.quick:
        read_otherwise(found)
    print(f"CPU s: {time.process_time() - began:.0f}")
    result(PIL=(against(0), GOAL, False), DR=(against(1), GOAL, False))


def explained(risk: Mapping[str, Mapping[str, float]]) -> None:
    """What the published DR can be explained by, and what not."""
    theirs = [PUBLISHED[name][1] for name in risk]
    shown = ("RSID", "SDID", *JOINT, "DLD half lot", "PLD half lot", "DLD all lot", "PLD all lot", "attribution")
    print("\nparts of the risk, in %")
    report([[name, *(f"{100 * row[part]:.1f}" for part in shown)] for name, row in risk.items()], ["method", *shown])
    tried = {reading: rank_correlation(made, theirs) for reading, made in readings(risk).items()}
    best = max(tried, key=lambda reading: tried[reading])
    print(f"\n{len(tried)} readings of DR: {min(tried.values()):.3f} to {tried[best]:.3f} ({', '.join(best)})")
    alone = rank_correlation([row["attribution"] for row in risk.values()], theirs)
    print(f"attribution of the sex alone: {alone:.3f}")
    for what, named in (
        ("intervals and linkage, half known", STANDARD),
        ("all of these but attribution", shown[:-1]),
        ("intervals and linkage, half known, and attribution", (*STANDARD, "attribution")),
    ):
        print(f"ceiling of {what}: {ceiling([[row[part] for part in named] for row in risk.values()], theirs):.3f}")


if __name__ == "__main__":
    main()

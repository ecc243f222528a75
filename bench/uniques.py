"""Synthetic does not mean safe, nor does a promise with a large epsilon: a histogram of Adult over six columns.

Every combination of values is counted, with exact noise, and as many rows are written as the noisy counts say. That is
differentially private, and the rows are synthetic. At epsilon 10 nearly everybody who is alone in the table is in them,
and nearly every row that seems to be somebody is. At epsilon 1 as good as none is: what is there is noise.
"""

from __future__ import annotations

from typing import Any

from bench.harness import options, result

COLUMNS = ("age", "sex", "race", "marital_status", "education", "income")
EPSILONS = ("1", "3", "10")


def histogram(table: Any, epsilon: str) -> Any:
    """A release of rows by noisy counts of every combination of the table's columns, under ``epsilon``."""
    import numpy as np

    from discreet.core.release import Release
    from discreet.core.statement import Recipe
    from discreet.verbs.tabulate.private.macro_table import MacroTable

    names = [column.name for column in table.card.columns]
    counts = MacroTable([names], epsilon=epsilon, levels=False, whole=False)
    cells = counts.run(table)
    leaves = cells.filter(~np.any([cells[name].is_null().to_numpy() for name in names], axis=0))
    many = np.maximum(np.rint(leaves["n"].to_numpy()), 0).astype(np.int64)
    rows = leaves.select(names).take(np.repeat(np.arange(len(many)), many))
    return Release(
        rows,
        counts.promise(table.card),
        Recipe("synthesize", {"epsilon": epsilon}),
        title=f"a histogram at ε = {epsilon}",
    )


def main() -> None:
    """Print what the attack finds at each epsilon."""
    chosen = options(__doc__ or "").parse_args()
    from dataclasses import replace

    from discreet import samples
    from discreet.engines.read import read
    from discreet.verbs.attack.sample_uniques import MatchedUniques

    whole = samples.adult()
    card = replace(whole.card, columns=tuple(whole.card[name] for name in COLUMNS[: 5 if chosen.quick else None]))
    table = read(whole.fetch().select([column.name for column in card.columns]).drop_null(), card)
    found = {}
    for epsilon in EPSILONS:
        release = histogram(table, epsilon)
        finding = MatchedUniques().run(release, table)
        found[epsilon] = {
            "uniques": finding.details["unique"],
            "matched": round(finding.figure, 4),
            "guessing": round(finding.baseline, 4),
            "rows": release.payload.num_rows,
            "alone and somebody": round(finding.details["unique released rows that match a unique person"], 4),
        }
        print(f"epsilon {epsilon}: {found[epsilon]}")
    most, least = found[EPSILONS[-1]], found[EPSILONS[0]]
    result(
        matched_at_10=(most["matched"], 0.99, False),
        alone_and_somebody_at_1=(least["alone and somebody"], 0.2, True),
    )


if __name__ == "__main__":
    main()

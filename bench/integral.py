"""Integral privacy on Adult: a tree for income from 1,000 samples of half of the people, and how it compares.

CPU seconds are those of the whole search, with the check of every set that was found and the comparison. The accuracies
are on people who were set aside: the tree that recurs, the same kind of tree learnt from all others at once, and one
that is differentially private with epsilon 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from bench.harness import contest, options, report, result, take_part

OURS = "discreet"
SECONDS_GOAL, GENERATORS_GOAL, LOST_GOAL = 60.0, 20, 0.01


def search(tries: int) -> Callable[[], object]:
    """Ready to learn: the table is there."""
    import discreet as dc

    table = dc.samples.adult()
    learn = dc.Learn(dc.DecisionTree("income", gain=0.002), integral=20, tries=tries)

    def work() -> object:
        release = dc.learn(table, learn, seed=1)
        generators, compared = release.holder.details[:2]
        sets = {"generators": len(generators.sets), "left_out": generators.left_out}
        return {**sets, "scores": dict(compared.scores)}

    return work


def main() -> None:
    """Run it and say what was measured."""
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part({OURS: search}, chosen)
        return
    tries = 200 if chosen.quick else 1000
    measured = contest("integral", [OURS], {"tries": tries}, turns=1)[OURS]
    answer = cast("dict[str, Any]", measured.answer)
    print(f"{tries:,} trees for income, of half of four fifths of 32,561 people each, in {measured.cpu:.1f} CPU s.")
    print(f"{answer['generators']} sets give the tree; everybody is left out by {answer['left_out']} of them at least.")
    report([[name, f"{score:.4f}"] for name, score in answer["scores"].items()], ["tree", "accuracy"])
    integral, plain, _ = answer["scores"].values()
    result(
        cpu=(measured.cpu, SECONDS_GOAL * tries / 1000, True),
        generators=(answer["generators"], GENERATORS_GOAL, False),
        accuracy_lost=(plain - integral, LOST_GOAL, True),
        memory=(measured.memory, 1000.0, True),
    )


if __name__ == "__main__":
    main()

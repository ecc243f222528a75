"""Distance to the closest record: a release that was made of somebody's row tends to have one near it.

Chen, Yu, Zhang and Fritz (2020), "GAN-Leaks: a taxonomy of membership inference attacks against generative models".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import Finding, Outcome, failed, share
from discreet.verbs.attack.gower import closest
from discreet.verbs.attack.guesses import GUESSES, attacked, sides
from discreet.verbs.attack.scope import not_values

Array = npt.NDArray[Any]

_MEANING = (
    "The share of people of whom the attacker tells rightly whether they are in the data, half of them being so; one "
    "half is best, 1 means that membership is no secret."
)


@declare(ATTACKS, "membership by the closest record", rank=33)
class ClosestRecord:
    """Whoever has a released row within some distance is taken for a member. The distance is learnt from every other
    person of either kind, and judged by the rest.

    People of one release are not independent of each other, so that no epsilon is claimed.
    """

    control: Table | None = None
    """People of the same kind who are not in the data: without them nothing can be told."""
    guesses: int = GUESSES

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        if self.control is None:
            return "Membership can be told only beside people who are not in the data, and there is no control."
        return not_values(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people whose membership is told; ``links`` are not needed."""
        knows = "The attacker knows the row in question, and the membership of some others."
        try:
            both = sides(release, known, self.control)
            if both.control is None:
                raise DataError("Membership can be told only beside people who are not in the data.")
            who = [attacked(people, both.sight.shown, self.guesses) for people in (both.people, both.control)]
            count = min(map(len, who))
            if count < 2:
                raise DataError("Membership takes two people of either kind or more: one to learn from, one to judge.")
            who = [some[np.arange(count) * len(some) // count] for some in who]  # evenly spaced: rows may be sorted
            near = [
                -closest(people[some], both.sight.shown, both.sight.numeric)
                for people, some in zip((both.people, both.control), who, strict=True)
            ]
        except BadInput as problem:
            return failed(self.name, knows, str(problem))
        limit = best_threshold(near[0][::2], near[1][::2])
        right = np.concatenate([near[0][1::2] > limit, near[1][1::2] <= limit])
        members = who[0][1::2]
        details = {"columns": list(both.sight.columns), "AUC": round(auc(*near), 4), "distance": -limit}
        found = share(self.name, knows, right.astype(float), 0.5, _MEANING, details=details)
        victims = tuple(int(members[at]) for at in found.victims if at < len(members))
        return replace(found, victims=victims if found.outcome is Outcome.BROKE else ())


def nearness(wanted: Table, release: Release[Any]) -> Array:
    """Of each row how near the closest released one is: minus its distance."""
    both = sides(release, wanted, None)
    return -closest(both.people, both.sight.shown, both.sight.numeric)


def best_threshold(members: Array, others: Array) -> float:
    """The score that parts members (above) from others best."""
    values = np.concatenate([members, others])
    order = np.argsort(values, kind="stable")
    values, inside = values[order], (np.arange(len(values)) < len(members))[order]
    right = len(members) + np.concatenate([[0], np.cumsum(np.where(inside, -1, 1))])
    apart = np.concatenate([[True], values[1:] > values[:-1], [True]])
    best = int(np.argmax(np.where(apart, right, -1)))
    ends = np.concatenate([[values[0] - 1.0], values, [values[-1] + 1.0]])
    return float((ends[best] + ends[best + 1]) / 2)


def auc(members: Array, others: Array) -> float:
    """The probability that a member's score exceeds another's; ties count half."""
    there = np.sort(others)
    below, above = (np.searchsorted(there, members, side) for side in ("left", "right"))
    return float((below + above).mean() / 2 / len(there)) if len(members) and len(there) else 0.5
